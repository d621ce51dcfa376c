from __future__ import annotations

import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fathom.score.answers import (
    choice_number,
    count_number,
    digits,
    first_number,
    given_uuid,
    passage_number,
    short_answer,
)
from fathom.score.reading import gives_name, in_digits

UUID = "1a2b3c4d-0000-4000-8000-123456789abc"
WIDE = str.maketrans("0123456789", "０１２３４５６７８９")


@pytest.mark.parametrize(
    ("reply", "number"),
    [
        ("12", "12"),
        ("There are 12 distinct paragraphs among 30.", "12"),
        ("I see 30 paragraphs, so the answer is **12**.", "12"),
        ("<think>3? 5?</think>\n共有１２段", "12"),
        ("012", "12"),
        ("12.0", "12"),
        ("1,234 words", "1234"),
        ("1,2", "1"),
        ("\\boxed{12}", "12"),
        ("Twelve.", "12"),
        ("twenty-one", "21"),
        ("十二", "12"),
        ("一百零三个", "103"),
        ("-3", "-3"),
        ("- 3", "3"),
        ("0", "0"),
        ("none at all", None),
        ("", None),
        ("<think>12", None),
        ("１２段", "12"),
        ("¹²", None),
    ],
)
def test_first_number(reply: str, number: str | None) -> None:
    assert first_number(reply) == number


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        (UUID, UUID),
        (f"Value: `{UUID.upper()}`.", UUID),
        (f"{UUID}是答案", UUID),
        (f"not ffffffff-1111-4222-8333-444455556666 but {UUID}", UUID),
        (UUID.translate(WIDE).replace("-", "－"), UUID),
        (f"{UUID}0", None),
        (f"0{UUID}", None),
        ("None", None),
    ],
)
def test_last_uuid(reply: str, found: str | None) -> None:
    assert given_uuid(reply) == found


@pytest.mark.parametrize(
    ("reply", "choice"),
    [
        ("3", "3"),
        ("3.", "3"),
        ("(3)", "3"),
        ("**Option 3**", "3"),
        ("The answer is (3) [12, 4, 5, 1].", "3"),
        ("Answer: Option 3", "3"),
        ("I first took option 1. The correct option is 3.", "3"),
        ("答案是选项3", "3"),
        ("选３", "3"),
        ("第3个", "3"),
        ("答案：第三项", "3"),
        ("three", "3"),
        ("Let me see.\n\n3\n", "3"),
        ("I choose 3", "3"),
        ("Option 1 is wrong; option 2 is right", "2"),
        ("2) [1,2,3,4]", "2"),
        ("2. 5, 12, 33, 8", "2"),
        ("(2) 5, 12, 33, 8", "2"),
        ("2: 5, 12, 33, 8", "2"),
        ("2 (5, 12, 33, 8)", "2"),
        ("2 - 5, 12, 33, 8", "2"),
        ("2, because 5 comes first", "2"),
        ("Answer: 2. 5, 12, 33, 8", "2"),
        ("The right list is:\n(2) 5, 12, 33, 8", "2"),
        ("5, 12, 33, 8 (2)", "2"),
        ("Option: three", "3"),
        ("Option: 3) 5, 12", "3"),
        ("The third option.", "3"),
        ("②", "2"),
        ("选项②：5, 12, 33, 8", "2"),
        ("⑵", "2"),
        ("选项三", "3"),
        ("选项三。", "3"),
        ("option one", "1"),
        ("I choose option 3, not option 4.", "3"),
        ("不是选项1，而是选项2", "2"),
        ("The answer is not 4 but option 2", "2"),
        ("Answer: option 3. The right choice is clear.", "3"),
        ("1. Look at the first count.\n2. Look at the second.\nOption 4", "4"),
        ("1) 5, 12\n2) 12, 5", None),
        ("5, 12, 33, 8", None),
        ("(1) and (2) differ", None),
        ("It is not option 3.", None),
        ("no one option fits", None),
        ("[1, 2, 3, 4]", None),
        ("Answer: [3, 17, 5, 9]", None),
        ("Answer: 3, 17, 5, 9", None),
        ("1 3", None),
        ("33", None),
        ("Answer: 6", None),
        ("0", None),
        ("3.5", None),
        ("-3", None),
        ("unanswerable", None),
        ("", None),
    ],
)
def test_choice_number(reply: str, choice: str | None) -> None:
    assert choice_number(reply, 5) == choice


@pytest.mark.parametrize(
    ("reply", "passage"),
    [
        ("Passage 12", "12"),
        ("12", "12"),
        ("段落12", "12"),
        ("段落 １２。", "12"),
        ("第12段", "12"),
        ("第十二段", "12"),
        ("**Paragraph 12**: it describes 3 studies from 2012", "12"),
        ("It has 3 parts and fits Passage #12", "12"),
        ("Not passage 3 but passage 12", "12"),
        ("Passage 3 is close. The answer is Passage 12.", "12"),
        ("Passage 12\n\nPassage 13 comes after it", "12"),
        ("Passage\n12", "12"),
        ("passage_12", "12"),
        ("Passage 3, not Passage 4", "3"),
        ("It is in passage 7 (not 12).", "7"),
        ("It isn't in passage 7, it is in passage 12.", "12"),
        ("The answer is not Passage 4; it is Passage 12", "12"),
        ("Passage 12 rather than passage 4", "12"),
        ("Passage 4 is wrong, passage 12 is right", "12"),
        ("It doesn't belong to passage 3 but to 12", "12"),
        ("Passage 12 is not long but it matches", "12"),
        ("I am not 100% sure. Passage 12", "12"),
        ("不是第3段，而是第12段", "12"),
        ("12 paragraphs (15 in all)", "12"),
        ("12. Because it is closer than passage 3", "12"),
        ("Passage: 12", "12"),
        ("Passage (12)", "12"),
        ("文章十二", "12"),
        ("文章：十二", "12"),
        ("第十二篇", "12"),
        ("12号文章", "12"),
        ("the twelfth passage", "12"),
        ("It is the 12th passage of 20.", "12"),
        ("the twenty-first passage", "21"),
        ("Passage twelve", "12"),
        ("Passage one", "1"),
        ("passage one hundred and twelve", "112"),
        ("The one about two men: passage 12", "12"),
        ("The answer is Passage 12. The result is beyond doubt.", "12"),
        ("1. The summary tells of war.\n2. So does passage 12.", "12"),
        ("This is not in passage 4.", None),
        ("No one can tell.", None),
        ("这是一篇关于战争的文章", None),
        ("unanswerable", None),
    ],
)
def test_passage_number(reply: str, passage: str | None) -> None:
    assert passage_number(reply) == passage


@pytest.mark.parametrize(
    ("reply", "count"),
    [
        ("12", "12"),
        ("12.", "12"),
        ("12 (of 15)", "12"),
        ("twelve", "12"),
        ("一百零三个", "103"),
        ("Out of 15 paragraphs, 12 are different.", "12"),
        ("Out of 20, I count twelve.", "12"),
        ("Of the 15 paragraphs twelve are unique", "12"),
        ("Of 15 paragraphs 12 are different", "12"),
        ("15 paragraphs in all, 12 of which are distinct", "12"),
        ("There are 15 paragraphs; 12 different ones.", "12"),
        ("There are 12 paragraphs when the 3 repetitions are left out.", "12"),
        ("There are 12 distinct paragraphs among 30.", "12"),
        ("Number of different paragraphs: 12", "12"),
        ("Number of different paragraphs:\n\n**12**", "12"),
        ("The number of distinct paragraphs is 12, not 15.", "12"),
        ("Paragraphs 1 and 4 are the same. There are 12.", "12"),
        ("Paragraphs 1 and 4 are the same. Answer: 12", "12"),
        ("I see 30 paragraphs, so the answer is **12**.", "12"),
        ("Not 15 but 12", "12"),
        ("15 - 3 = 12", "12"),
        ("共15段，去重后12段", "12"),
        ("I counted 15 paragraphs and 3 duplicates, which leaves 12.", "12"),
        ("12 paragraphs (15 in all)", "12"),
        ("1,234 different words", "1234"),
        ("one hundred and twelve different paragraphs", "112"),
        ("共有十二个不同的段落。", "12"),
        ("共有15个段落，其中12个不同。", "12"),
        ("15段中，不同的段落有十二个。", "12"),
        ("不同段落的数目：12", "12"),
        ("一共有12段", "12"),
        ("答案是十二。", "12"),
        ("<think>15?</think>12", "12"),
        ("no one can tell", None),
        ("not 15", None),
        ("我不知道", None),
        ("<think>12", None),
        ("", None),
    ],
)
def test_count_number(reply: str, count: str | None) -> None:
    assert count_number(reply) == count


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("twenty-one, Twelve and a hundred", "21, 12 and 100"),
        ("two hundred and five", "205"),
        ("the one with the second thought", "the one with the second thought"),
        ("the first passage, the fortieth option", "the 1th passage, the 40th option"),
        ("十分好，一共三思", "十分好，一共三思"),
        ("第十二篇，十二个，文章二十", "第12篇，12个，文章20"),
        ("一二三四五六七个", "一二三四五六七个"),
    ],
)
def test_numbers_in_words_become_digits(text: str, shown: str) -> None:
    assert in_digits(text) == shown


@pytest.mark.parametrize(
    ("reply", "size", "found"),
    [
        ("I found 12345 in line 1000000", 5, "12345"),
        ("I found 12345 in line 1000000", 7, "1000000"),
        ("12345 in line 1000000", 4, "1000000"),
        ("11111, no: 22222", 5, "22222"),
        ("22222, not 11111", 5, "22222"),
        ("71432 71432", 5, "71432"),
        ("12345 67890", 10, "1234567890"),
        ("123 45678", 5, "45678"),
        ("7 1 4 3 2", 5, "71432"),
        ("none", 5, None),
    ],
)
def test_digits_of_the_size_that_is_asked(reply: str, size: int, found: str | None) -> None:
    assert digits(reply, size) == found


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ("The pass key is 71432.", "71432"),
        ("71432. Remember it: 71432", "71432"),
        ("71432\n71432", "71432"),
        ("7 1 4 3 2", "71432"),
        ("7, 1, 4, 3, 2", "71432"),
        ("71,432", "71432"),
        ("00712", "00712"),
        ("密码是７１４３２。", "71432"),
        ("71432, 5 digits", "71432"),
        ("In 2024 it was 71432", "71432"),
        ("12345\n678", "12345"),
        ("no key", None),
    ],
)
def test_digits(reply: str, found: str | None) -> None:
    assert digits(reply) == found


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Paris", "Paris"),
        ("Paris.", "Paris"),
        ('Answer: "Paris"', "Paris"),
        ("答案：巴黎。", "巴黎"),
        ("**Answer:**\n\n**Paris**", "Paris"),
        ("[Answer]\nParis", "Paris"),
        ("Sure, here it is:\n```\nParis\n```", "Paris"),
        ("It lies on the Seine.\nAnswer: Paris", "Paris"),
        ("<think>Rome?</think>“Paris”", "Paris"),
        ("Paris\nIt lies on the Seine.", "Paris"),
        ("5*3 km", "5*3 km"),
        ("The answer is Paris.", "Paris"),
        ("The correct answer is: Paris", "Paris"),
        ("According to passage 3, the answer is Paris.", "Paris"),
        ("So the answer is “Paris”.", "Paris"),
        ("答案是巴黎。", "巴黎"),
        ("根据文章3，答案是：巴黎。", "巴黎"),
        ("正确答案为巴黎", "巴黎"),
        ("Answer: The answer is Paris.", "Paris"),
        ("He gave the answer is a song", "He gave the answer is a song"),
        ("Answer:", None),
        ("**Answer:**\n", None),
        ("The answer is:", None),
        ("The answer is.", None),
        ("答案：", None),
        ("答案是。", None),
        ("“”", None),
        ("\n \n", None),
        ("<think>Paris", None),
        ("...", None),
    ],
)
def test_short_answer(reply: str, answer: str | None) -> None:
    assert short_answer(reply) == answer


# ---------------------------------------------------------------------------------------------- properties

number_frames = st.sampled_from(
    ["{}", "{}.", "**{}**", "The answer is {}.", "答案是{}。", "Answer: {}", "\n{}\n", "`{}`"]
)
thoughts = st.sampled_from(["", "<think>maybe 1, 2 or 3?</think>\n", "<thinking>7\n8</thinking>"])


@pytest.mark.slow
@given(st.integers(0, 99_999), number_frames, thoughts, st.booleans())
def test_a_number_is_read_however_it_is_dressed(number: int, frame: str, thought: str, wide: bool) -> None:
    shown = str(number).translate(WIDE) if wide else str(number)
    reply = thought + frame.format(shown)
    assert first_number(reply) == passage_number(reply) == count_number(reply) == str(number)
    assert passage_number(thought + frame.format(f"Passage {shown}")) == str(number)
    assert passage_number(thought + frame.format(f"段落{shown}")) == str(number)


@given(
    st.integers(1, 9), number_frames, thoughts, st.sampled_from(["{}", "({})", "Option {}", "option ({})", "选项{}"])
)
def test_a_choice_is_read_however_it_is_dressed(number: int, frame: str, thought: str, form: str) -> None:
    assert choice_number(thought + frame.format(form.format(number)), 9) == str(number)
    assert choice_number(thought + frame.format(form.format(number)), number - 1) is None


@given(st.uuids(), number_frames, thoughts, st.booleans())
def test_a_uuid_is_read_however_it_is_dressed(value: uuid.UUID, frame: str, thought: str, upper: bool) -> None:
    shown = str(value).upper() if upper else str(value)
    assert given_uuid(thought + frame.format(shown)) == str(value)


@given(
    st.text("0123456789", min_size=5, max_size=1000),
    st.sampled_from([(5, " "), (3, ","), (1, " "), (1, "\n"), (1, ", "), (80, "\n"), (10, " "), (4, "-"), (50, " \n")]),
    st.sampled_from(["{}", "The pass key is {}.", "密码：{}", "**{}**"]),
)
@example("1" * 1000, (80, "\n"), "{}")
def test_a_passkey_is_read_in_whatever_groups(key: str, groups: tuple[int, str], frame: str) -> None:
    width, separator = groups
    broken = separator.join(key[start : start + width] for start in range(0, len(key), width))
    pieces = set(broken.split(separator))
    assert digits(frame.format(key)) == key
    # Equal groups look like the same number said again.
    if len(pieces) > 1 or width == 1 or len(key) <= width:
        assert digits(frame.format(broken)) == key


@given(st.integers(1, 999), number_frames, thoughts, st.integers(0, 999))
def test_a_count_is_told_from_the_total(number: int, frame: str, thought: str, repeated: int) -> None:
    total = number + repeated
    for said in (
        f"Out of {total} paragraphs, {number} are different.",
        f"{total} paragraphs, {number} of them unique",
        f"There are {number} different paragraphs among {total}.",
        f"共有{total}个段落，其中不同的有{number}个。",
        f"{number}, not {total}",
    ):
        assert count_number(thought + frame.format(said)) == str(number)


@given(st.integers(1, 5), st.lists(st.integers(1, 100), min_size=4, max_size=4), number_frames, thoughts)
def test_a_choice_is_read_with_its_list(number: int, values: list[int], frame: str, thought: str) -> None:
    listed = ", ".join(map(str, values))
    for said in (f"({number}) {listed}", f"{number}) {listed}", f"{number}: [{listed}]", f"Option {number}: {listed}"):
        assert choice_number(thought + frame.format(said), 5) == str(number)
        assert choice_number(f"{thought}{said} (not option {number % 5 + 1})", 5) == str(number)


@given(st.integers(0, 999), st.integers(0, 999), st.sampled_from(["Passage {}", "passage #{}", "文章{}", "第{}篇"]))
def test_a_passage_that_is_ruled_out_is_not_the_answer(number: int, other: int, name: str) -> None:
    right, wrong = name.format(number), name.format(other)
    for said in ("{}, not {}", "{} ({} is wrong)", "{}，不是{}", "{} rather than {}"):
        assert passage_number(said.format(right, wrong)) == str(number)
    assert passage_number(f"not {wrong} but {right}") == str(number)


@given(st.sampled_from(["Paris", "巴黎", "12 May 1900", "“Paris”", "the river Seine"]), st.data())
def test_a_short_answer_loses_its_frame(answer: str, data: st.DataObject) -> None:
    frames = [
        "{}",
        "Answer: {}",
        "The answer is {}.",
        "答案是{}。",
        "**Answer:** {}",
        "Sure:\n{}",
        "So, the answer is: {}",
    ]
    frame = data.draw(st.sampled_from(frames))
    assert short_answer(frame.format(answer)) == answer.strip("“”")
    assert short_answer(frame.removesuffix(".").removesuffix("。").format("")) is None


@given(st.text("abcdfgijklmpquyz ,.!?\n"))
@example("I cannot tell, sorry!")
def test_a_reply_without_a_number_is_invalid(reply: str) -> None:
    for read in (first_number, passage_number, count_number, digits, given_uuid):
        assert read(reply) is None
    assert choice_number(reply, 5) is None


@given(st.text())
@example("Answer: " * 50)
def test_any_text_is_read_or_left(reply: str) -> None:
    for read in (first_number, passage_number, count_number, digits, short_answer, given_uuid):
        found = read(reply)
        assert found is None or found.strip()
    assert choice_number(reply, 5) in (None, "1", "2", "3", "4", "5")


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        "1,111",
        "\n",
        " ",
        "Answer: ",
        "(1",
        "<think>",
        "a1b2c3d4-",
        "答案是",
        "**",
        "1 ",
        "[",
        "not ",
        "a, ",
        "十",
        "one hundred ",
        "different a b ",
        "there are ",
        "(1)\n",
        "Passage 1 is ",
    ],
)
def test_long_degenerate_replies_come_to_an_end(piece: str) -> None:
    # In quadratic time this test would take minutes.
    reply = piece * 10_000
    for read in (first_number, passage_number, count_number, digits, short_answer, given_uuid):
        assert read(reply) is None or read(reply)
    assert choice_number(reply, 5) in (None, "1")


def test_an_answer_amid_a_long_explanation_is_read_and_a_copy_of_the_context_is_not() -> None:
    told = "Then the clerk wrote another line into the ledger. " * 30
    for middle in ("\nFinal answer: 70415\n", "\n**70415**\n", "\nSo the code is 70415.\n"):
        assert digits(told + middle + told, 5) == "70415", middle
    assert digits(f"{told}The code of the door is 70415. Do not forget it. 70415 is the code. {told}", 5) is None
    thought = "The two of them talk about the harbour and the weather there. " * 20
    assert gives_name(f"{thought}\nSo $$MASK$$ is ANNE.", ["ANNE"])
    assert not gives_name(f"{thought}\nANNE: Good day.\nPAUL: And to you.\n{thought}", ["ANNE"])


def test_the_value_of_the_asked_key_is_found_among_its_neighbours() -> None:
    key, value, other, another = (f"{digit * 8}-0000-4000-8000-123456789abc" for digit in "abcd")
    quoted = f'"{other}": "{another}",\n"{key}": "{value}",\n"{another}": "{other}"\n\n'
    for end in (f"The value for {key} is {value}.", f"The value of the specified key is {value}.", f"**{value}**"):
        assert given_uuid(quoted + end, key) == value, end
    assert given_uuid(f"The key {key} has value {value}. For comparison, {other} has value {another}.", key) == value
