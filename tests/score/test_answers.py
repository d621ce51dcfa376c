from __future__ import annotations

import uuid

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from fathom.score.answers import choice_number, digits, first_number, last_uuid, passage_number, short_answer

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
    assert last_uuid(reply) == found


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
        ("unanswerable", None),
    ],
)
def test_passage_number(reply: str, passage: str | None) -> None:
    assert passage_number(reply) == passage


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
        ("Answer:", "Answer:"),
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


@given(st.integers(0, 99_999), number_frames, thoughts, st.booleans())
def test_a_number_is_read_however_it_is_dressed(number: int, frame: str, thought: str, wide: bool) -> None:
    shown = str(number).translate(WIDE) if wide else str(number)
    reply = thought + frame.format(shown)
    assert first_number(reply) == passage_number(reply) == str(number)
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
    assert last_uuid(thought + frame.format(shown)) == str(value)


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


@given(st.text())
@example("Answer: " * 50)
def test_any_text_is_read_or_left(reply: str) -> None:
    for found in (first_number(reply), passage_number(reply), digits(reply), short_answer(reply), last_uuid(reply)):
        assert found is None or found.strip()
    assert choice_number(reply, 5) in (None, "1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    "piece", ["1,111", "\n", " ", "Answer: ", "(1", "<think>", "a1b2c3d4-", "答案是", "**", "1 ", "["]
)
def test_long_degenerate_replies_come_to_an_end(piece: str) -> None:
    # In quadratic time this test would take minutes.
    reply = piece * 20_000
    for read in (first_number, passage_number, digits, short_answer, last_uuid):
        assert read(reply) is None or read(reply)
    assert choice_number(reply, 5) in (None, "1")
