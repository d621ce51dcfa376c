"""Replies of many manners are read as a careful reader reads them."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import process_time

import pytest

from fathom.benchmarks.ada.scoring import designation, segment_order
from fathom.score.answers import (
    choice_letter,
    choice_letters,
    choice_number,
    count_number,
    digits,
    free_answer,
    given_uuid,
    passage_number,
    reply_text,
    short_answer,
    stated_number,
)
from fathom.score.dialects import without_reasoning
from fathom.score.reading import contains_answer, gives_name
from fathom.score.registry import ScoringRow, get_scorer
from fathom.score.text import simplified, token_f1
from fathom.score.unwrapping import unwrapped
from fathom.suites.registry import get_task
from fathom.types import CONTAINED, Facet, Sample

KEY, VALUE, OTHER = (f"{letter * 8}-0000-4000-8000-123456789abc" for letter in "abc")
READERS: dict[str, tuple[Callable[[str], str | None], str, str]] = {
    "option": (lambda reply: choice_number(reply, 5), "3", "4"),
    "passage": (passage_number, "12", "17"),
    "count": (count_number, "12", "17"),
    "digits": (lambda reply: digits(reply, 5), "48151", "62342"),
    "number": (stated_number, "42", "57"),
    "uuid": (given_uuid, VALUE, OTHER),
    "letter": (choice_letter, "B", "D"),
    "label": (lambda reply: designation(reply, 12), "A7", "A3"),
}
GIVES = (
    "{a}", "{a}.", "**{a}**", "> {a}", "“{a}”", "\\boxed{{{a}}}", "so $\\boxed{{\\text{{{a}}}}}$.", "```text\n{a}\n```",
    '{{"why": "not {o}", "answer": "{a}"}}', '["{a}"]', "<answer>{a}</answer>", "| Answer |\n|---|\n| {a} |",
    "Sure! Here it is:\n\n{a}\n\nLet me know if you need more!", "Die Antwort lautet: {a}", "La bonne réponse est {a}.",
    "{a} is the correct answer.", "{a}\n\nExplanation: {o} comes up too.", "{a}\n\nQuestion: And now?\nAnswer: {o}",
    "It is not {o}. The answer is {a}.", "The answer is {a}, not {o}.",
    "At first {o} seemed right, but the right answer is {a}.", "{o}. Wait, no, it's {a}.", "{a}\n{a}",
    "It could be {o}. It has more of them. But the answer is {a}.",
)  # fmt: skip
GIVES_NONE = (
    "I don't know.",
    "The answer is not {a}.",
    "{a} or {o}",
    "It is either {a} or {o}.",
    "The answer is {a} and {o}.",
    "{a}\n{o}",
    "({a}) ({o})",
    "{a}, {o}",
    "It is {a}. So {o}.",
    "I doubt it is {a}.",
    "Anything but {a}",
    "All except {a}.",
    "I would not choose {a}.",
    "I don't think it's {a}",
    "Neither {a} nor {o}.",
    "我不认为是{a}。",
    "除了{a}",
)


@pytest.mark.parametrize("kind", READERS)
def test_an_answer_is_read_in_every_manner_and_none_where_none_is_given(kind: str) -> None:
    read, answer, other = READERS[kind]
    for frame in GIVES:
        assert read(frame.format(a=answer, o=other)) == answer, frame
    for frame in GIVES_NONE:
        assert read(frame.format(a=answer, o=other)) is None, frame


def test_what_only_some_kinds_of_answers_meet() -> None:
    assert passage_number("3\n\nPassage 1 is about another war.") == "3"
    assert choice_number("(2) is right. (3) is the reverse.", 5) == "2"
    assert given_uuid(f"{VALUE} is the value of the key {KEY}") == VALUE
    assert given_uuid(f"The key is {KEY} and {VALUE} and {OTHER}") is None
    assert stated_number("The 2nd largest number is 42") == "42"
    assert stated_number("The median is (41 + 43) / 2 = 42") == "42"
    for said in ("The largest is 50, so the 2nd largest is 42", "50 is the largest, 42 the median. The median is: 42",
                 "The second largest is 42, the largest is 50", "42 (the largest is 50)"):  # fmt: skip
        assert stated_number(said) == "42", said
    for said in ("3. Passage 1 is about a war.", "3: Passage 1 is old.", "I can rule out 1 and 2; passage 3 fits."):
        assert passage_number(said) == "3", said
    assert passage_number("3\n\n### Passage 31\n\nA base model goes on with the form of its prompt.") == "3"
    assert passage_number("3\n4\nThese are the passages.") is choice_letter("B\nC\nBoth fit.") is None
    assert stated_number("42.\n\nHere is the list again:\n[1") == stated_number("42.\n[11, 56, 0, ") == "42"
    assert stated_number("5,000") == "5000"
    assert choice_letter('"D". In the letter he asks for it.') == "D"
    assert choice_letter("I see no error in A, B, C, or D; notes (like 'C') are converted.") is None
    assert passage_number("1. Passage 1 is about war.\n2. Passage 2 is about peace.") is None
    for said in ("A: wrong. B: right.", "A. noon: wrong\nB. 9 May: correct", "A? No. B? Yes.", "A和C都不对，选B",
                 "A, C and D are wrong, so B", "No doubt it is B", "B — 9 May", "Unlike A, B has it."):  # fmt: skip
        assert choice_letter(said) == "B", said
    for said in (f"{VALUE} (key: {KEY})", f"{VALUE} for key {KEY}", f"{KEY} -> {VALUE}", f"{KEY}: {VALUE}",
                 f"Value: {VALUE}\nKey: {KEY}", f"The value of {KEY} is {VALUE}", f"{VALUE} 是键 {KEY} 的值。",
                 f"值：{VALUE}（键：{KEY}）", f"| Key | Value |\n|---|---|\n| {KEY} | {VALUE} |", f"{VALUE} ← {KEY}",
                 f"Looking up {KEY}... found {VALUE}"):  # fmt: skip
        assert given_uuid(said) == VALUE, said
    for said in (
        "The best is A7; A3 is second",
        "A7 > A3 > A4",
        "Looking closer, A3 is vague. Overall, A7 explains it.",
    ):
        assert designation(said, 12) == "A7", said
    assert designation("Looking closer, A3 has details. A7 lacks them.", 12) is None
    assert segment_order("1. Segment 2\n2. Segment 4\n3. Segment 1\n4. Segment 3", 4) == (2, 4, 1, 3)
    assert segment_order("[2, 4, 1, 3]\n[3, 1, 4, 2]", 4) is None
    assert choice_letters("A\nC") == "AC"
    assert choice_letter("B. 9 May") == choice_letter("D. noon: wrong\nB. 9 May: right\n\nSo B.") == "B"
    assert designation("A7 explains the cause, and A3 only repeats it.", 12) == "A7"
    assert segment_order('{"order": [2, 4, 1, 3]}', 4) == (2, 4, 1, 3)
    assert segment_order("The answer is [2, 4, 1, 3], not [3, 1, 4, 2].", 4) == (2, 4, 1, 3)
    assert segment_order("[2, 4, 1, 3] or [3, 1, 4, 2]", 4) is None


def test_a_wrapper_that_holds_no_answer_stays() -> None:
    for text in ("the set {1, 2}", "{broken", "\\boxed{never closed", "<answer></answer> B", "[true]", "{}"):
        assert unwrapped(text).strip() == text.strip()
    assert unwrapped('["a", "b"]', None) == '["a", "b"]'
    assert "Answer" not in unwrapped("\\boxed{A} or \\boxed{B}")


def test_entities_may_stand_on_one_line_and_names_may_have_commas() -> None:
    gold = json.dumps([["Ada Byron", "person-artist/author"], ["Paris, Texas", "location-GPE"]])
    pairs = dict(json.loads(gold))
    for reply in (
        "Ada Byron: person-artist/author, Paris, Texas: location-GPE",
        "Ada Byron (person-artist/author), Paris, Texas (location-GPE)",
        "person-artist/author: Ada Byron\nlocation-GPE: Paris, Texas",
        "Ada Byron:\nperson-artist/author\nParis, Texas:\nlocation-GPE",
        f"```json\n{json.dumps(pairs)}\n```",
        json.dumps({"entities": [{"entity": name, "type": kind} for name, kind in pairs.items()]}),
    ):
        row = ScoringRow(reply, [gold], dataset="fewnerd")
        assert get_scorer("leader/token_f1", "strict")(row).value == 1, reply


def test_traditional_characters_equal_simplified_ones() -> None:
    assert simplified("圖書館與東莞, Tōkyō") == "图书馆与东莞, Tōkyō"
    assert simplified("圖書\ud800館") == "图书\ud800馆"
    assert token_f1("國際圖書館", "国际图书馆", "zh") == 1
    row = ScoringRow("[答案]\n**圖書館。**", ["图书馆"], language="Chinese")
    assert get_scorer("longbench_pro/Accuracy", "strict")(row).value == 1


def test_containment_stands_beside_token_f1() -> None:
    sample = Sample("s", "s", "single_doc_qa", (), ("1834", "the year 1834"), 0, 0)
    score = get_task("single_doc_qa").score
    sentence = score("The mill burned down in the autumn of 1834", sample)
    assert sentence.value is not None
    assert 0 < sentence.value < 0.5
    assert (sentence.detail, sentence.valid) == (CONTAINED, True)
    assert score("1834", sample).detail == score("The mill burned down in 1843", sample).detail == ""
    assert not contains_answer("It was not Paris", ["Paris"])
    assert not contains_answer("Parisian", ["Paris", ""])
    assert contains_answer("It was not Paris, it is in Paris", ["the Paris"])
    assert free_answer("The answer is:\n\nParis, not Rome\n\nHope this helps!") == "Paris"
    assert free_answer("Sure, here it is:") is None


@pytest.mark.parametrize("reply", ["A7", "A3 or A7", "A7 is better than A3", "none", "**A7**\nbecause"])
def test_one_definition_of_valid_for_the_same_reply(reply: str) -> None:
    inputs: dict[str, Facet] = {"answers": 12, "dataset": "choice"}
    sample = Sample("s", "s", "bestanswer", (), ("A7",), 0, 0, inputs=inputs)
    scores = [get_task(name).score(reply, sample) for name in ("bestanswer", "leader_bestchoice")]
    assert len({(score.value, score.valid, score.answer) for score in scores}) == 1


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("(a) and (b)", "(a) and (b)"),
        ('"Yes" and "No"', '"Yes" and "No"'),
        ('{"a": 1, "b": 2}', '{"a": 1, "b": 2}'),
        ('("Paris")', "Paris"),
        ("{Paris}", "Paris"),
        ("Sure! The answer is: Paris", "Paris"),
        ("According to passage 3, Paris", "Paris"),
        ("Paris, as stated in passage 3.", "Paris"),
        ("Response: Paris", "Paris"),
        ("(" * 50_000 + ")" * 50_000, None),
    ],
)
def test_only_what_surrounds_a_whole_answer_is_removed(text: str, answer: str | None) -> None:
    assert short_answer(text) == answer


def test_a_long_reply_is_read_at_its_beginning_and_its_end() -> None:
    long = "The committee met again, and nobody knew why. " * 400
    assert choice_letter(f"{long}\nThe answer is B.") == choice_letter(f"B\n\n{long}") == "B"
    assert passage_number(f"{long} So passage 12 fits.") == passage_number(f"12. {long}") == "12"
    assert choice_letter(json.dumps({"why": long, "answer": "B"})) == "B"
    assert count_number("4815" * 5_000) is None  # no part of a longer number
    key = "4815162342" * 100
    assert digits(f"{long} {key} {long[:900]}", 1000) == key


def test_a_dump_of_numbers_or_of_the_context_is_no_answer() -> None:
    key, value = "3f0c2a14-5b6d-4e7f-8a9b-0c1d2e3f4a5b", "9d8c7b6a-5f4e-4d3c-a2b1-0a9b8c7d6e5f"
    text = "The committee met again, and nobody knew why. " * 60
    readers: dict[str, tuple[str, Callable[[str], str | None]]] = {
        value: (f"The value of the key {key} is {value}.", lambda reply: given_uuid(reply, key)),
        "48151": ("The pass key is 48151. Remember it.", lambda reply: digits(reply, 5)),
    }
    for answer, (needle, read) in readers.items():
        assert read(f"{text}{needle} {text}") is None
        assert read(needle) == read(f"{text}{needle}") == read(f"{needle} {text}") == answer
    assert digits("1838, 48151, 26, 1852", 5) is digits("12, 1838, 26, 48151", 5) is None
    assert digits("48151 (5 digits), in 1838", 5) == digits("481 51", 5) == "48151"
    assert contains_answer(f"Bram Ode paid with a tin whistle. {text[:800]}", ["a tin whistle"])
    assert gives_name(f"It is Bram Ode. {text[:800]}", ["Bram Ode"])
    assert not gives_name(f"{text}Bram Ode paid with a tin whistle. {text}", ["Bram Ode"])
    assert not contains_answer(f"{text}Bram Ode paid with a tin whistle. {text}", ["a tin whistle"])


@pytest.mark.parametrize("piece", ["</s>", "<|im_end|> ", "<think>a</think>", "<s></s>", "<thought>", "\n", "4815 "])
def test_marks_are_separated_in_linear_time(piece: str) -> None:
    def seconds(size: int) -> float:
        text = (piece * size)[:size]
        start = process_time()
        without_reasoning(text)
        choice_number(text, 5)
        return process_time() - start

    seconds(1_000)
    assert seconds(100_000) < 12 * seconds(25_000) + 0.05  # a square would be 16 times as long, and took seconds


@pytest.mark.parametrize("piece", ["1, ", "0", "A or ", "not ", " ", "\\boxed{", '{"a": ', "the answer is ", "| a |\n"])
def test_long_replies_take_linear_time(piece: str) -> None:
    row = ScoringRow("", ["x"], all_classes=["City", "x"])
    scorers = [get_scorer(f"longbench_v1/{name}", "strict") for name in ("classification", "code_sim", "count")]
    replies = [(piece * size)[:size] for size in (1_000, 16_000)]

    def seconds(reply: str) -> float:
        start = process_time()
        for read, _, _ in READERS.values():
            read(reply)
        for scorer in scorers:
            scorer(ScoringRow(reply, row.answers, row.all_classes))
        return process_time() - start

    seconds(replies[0])
    assert seconds(replies[1]) < 100 * seconds(replies[0]) + 0.05  # a square would be 256 times as long


def test_a_text_that_breaks_off_after_a_heading_is_a_text() -> None:
    assert reply_text("They counted 312 coins. The bill was paid in May. Passage 4:") is not None
    assert reply_text("支出七百银元，洗衣匠嫌多。五月付清。文章三：") is not None
    assert reply_text("Sure! Here is the summary of all documents:") is None


def test_a_number_of_choices_is_no_choice() -> None:
    assert passage_number("None of the 30 passages matches.") is None
    assert passage_number("There are 30 passages.") is None
    assert passage_number("I can't find it among the 30 passages.") is None
    assert passage_number("Out of the 30 passages, it is passage 4.") == "4"


def test_options_are_judged_one_by_one() -> None:
    judged = "A. Incorrect - dates differ.\nB. Correct - it says so.\nC. Incorrect.\nD. Incorrect."
    assert choice_letter(judged) == "B"
    assert choice_letter("(A) no (B) no (C) yes (D) no") == "C"
    assert choice_letter("B. False") == "B"  # the text of the option
    assert choice_letter("<response>B</response>") == choice_letter("assistantanalysisIt says A.assistantfinalB") == "B"
    assert free_answer("Paris【3】") == free_answer("Paris [1][2].") == "Paris"
    assert count_number("20 paragraphs minus 5 repeats gives 15.") == "15"
    assert count_number("5 of the 20 paragraphs are repeats, leaving 15.") == "15"
    assert count_number("共20段，去除5段重复，剩15段。") == "15"


@pytest.mark.parametrize(
    "reply",
    ["A1 is outdated, so A3", "A1 was tempting, though it's A3", "My vote goes to A3; A1 comes close.", "So A3 it is"],
)
def test_a_label_is_concluded(reply: str) -> None:
    assert designation(reply, 9) == "A3"


@pytest.mark.parametrize(
    ("kind", "answer", "replies"),
    [
        ("passage", None, ("Passages 12 through 14", "Passage 12 or possibly Passage 13", "passages 12-14", "12 to 14",
                           "第12段或第13段", "The passage isn't number 12", "Passage 12, maybe 13")),
        ("passage", "12", ("Passage 3 mentions it, but passage 12 is the source", "Passage 12, though 3 is similar",
                           "I compared passages 1-30. The match is 12", "While passage 3 names it, passage 12 tells.",
                           "Passage 3 is close. However, the summary describes passage 12.", "~~3~~ 12",
                           "虽然第3段提到了，但第12段才是出处。", "Passage 12 fits best, but passage 3 is related too.",
                           '{"considered": [3, 7], "best": 12}', "{'passage': 12,}", "摘要属于第12段。")),
        ("count", None, ("at least 12", "More than 12", "12 or more", "12+", "up to 12", "over 12", "fewer than 12",
                         "至少12个", "12个以上", "12 at most", "≥12", ">12", "a minimum of 12", "不到12个",
                         "12到14之间", "There are at most 12 different paragraphs.")),
        ("count", "12", ("Total 20, repeats 8, so 12.", '{"total": 20, "unique": 12}', "12, and at least 3 repeat.",
                         "20减8等于12", "共20段，重复8段，所以有12段")),
        ("number", None, ("42 or 43", "more than 42", "between 42 and 43", "42~43", "The answer isn't 42")),
        ("option", None, ("Options 1-5 are all wrong.", "Options 2 through 4", "2 or possibly 3", "1, 2, 3, 4, 5")),
        ("option", "3", ("Could be 2, but I'm going with 3", "I compared options 1-5. The match is 3", "~~2~~ 3")),
        ("letter", None, ("B-D", "Vitamin C is named in the text.", "A. x\nB. y\nC. z\nD. w", "A, B, C, or D",
                          '{"answer": true}', "Arthur C. Clarke wrote it.")),
        ("letter", "B", ("Vitamin C is named. B", "因此选择B项", "A. x\nB. y\nC. z\nD. w\n\n**B**", "~~D~~ B",
                         "(A) x (B) y (C) z (D) w\n\nB", "A) x\n**B) y**\nC) z", "A. x\nB. y ✓\nC. z", "B (Vitamin C)",
                         "- [ ] A\n- [x] B\n- [ ] C",
                         "Could be A, but I'm going with B", "A可能对，但B更好", "C is less likely than B. B",
                         '{"correct_option": "B", "why": "Plan C"}', '{"A": false, "B": true, "C": false}')),
        ("label", None, ("A7 or possibly A8", "A7 through A9", "A7-A9", "It isn't A7")),
        ("label", "A7", ("A3不错，但A7更好", "Answer: 7", "The best answer is 7", "Ranking: A7, A3, A1", "A7比A3更好",
                         "Best to worst: A7 > A3 > A1", "A3 is a decent answer, but A7 is complete.", "~~A3~~ A7",
                         "A3: partially right. A7: fully right. So A7.", "答案：7")),
        ("uuid", VALUE, (f"{KEY},{VALUE}", f"({KEY}, {VALUE})", f"['{KEY}']: {VALUE}", f"<{KEY},{VALUE}>")),
        ("uuid", None, (f"{KEY}: {VALUE}\n{VALUE}: {OTHER}", f"The value is {KEY}, {VALUE}, {OTHER}")),
        ("digits", None, ("48151, 62342, 99999, 12121", "The passkey is 48151, 62342, 99999", "It isn't 48151")),
    ],
)  # fmt: skip
def test_ranges_hedges_contrasts_and_lists_are_read(kind: str, answer: str | None, replies: tuple[str, ...]) -> None:
    for reply in replies:
        assert READERS[kind][0](reply) == answer, reply


@pytest.mark.parametrize(
    ("asked", "reply"),
    [
        ("the median", "The mean is 50 and the median is 42"),
        ("the median", "There are 5 numbers, so the median is the 3rd: 42"),
        ("the median", "Mean: 50\nMedian: 42\nMode: 11"),
        ("the median", "The median: 42 (the mean is 50)"),
        ("the median", "It's 42. The mean, by contrast, is 50."),
        ("the largest number", "min 3, max 42"),
        ("the second smallest", "3 is the smallest, 42 the second smallest"),
        ("the median", '{"count": 5, "mean": 50, "median": 42}'),
        ("the median", "一共有5个数，平均数是50，所以中位数是第3个：42"),
        ("the largest number", "The largest number is 42, the second largest is 40."),
        ("the second largest number", "The 2nd largest is 42, the 3rd largest is 40"),
        ("the second largest number", "最大的数是50，第二大的数是42"),
        ("the sum", "The mean is 14, and the sum is 42."),
        ("这些数的总和", "平均数是14，总和是42"),
        ("", "12加30等于42"),
    ],
)
def test_the_quantity_in_question_is_read(asked: str, reply: str) -> None:
    assert stated_number(reply, asked) == "42"
    row = ScoringRow(reply, ["42"], dataset="math_find", asked=asked)
    assert get_scorer("leader/exact_match", "strict")(row).value == 1


def test_the_key_in_question_is_no_value() -> None:
    for reply in (f"{KEY} {VALUE}", f"{KEY};{VALUE}", f"key,value\n{KEY},{VALUE}", f"The value is {VALUE}, key {KEY}"):
        assert given_uuid(reply, KEY) == VALUE, reply
        sample = Sample("s", "s", "kv_retrieval", (), (VALUE,), 0, 0, inputs={"key": KEY})
        assert get_task("kv_retrieval").score(reply, sample).value == 1
    assert given_uuid(f"{VALUE},{OTHER}", KEY) is given_uuid(KEY, KEY) is None


@pytest.mark.parametrize("metric", ["infinitebench/longdialogue_qa_eng", "leader/exact_match"])
def test_rejected_names_and_lists_of_names_are_no_answer(metric: str) -> None:
    score = get_scorer(metric, "strict")
    for reply in ("not Paris", "Anyone but Paris", "It isn't Paris", "Paris, Helen, Hector, Ajax",
                  "Paris\nHelen\nAjax", "The names are Paris, Helen and Ajax.", "Paris or Helen",
                  "PARIS HELEN HECTOR AJAX PRIAM NESTOR MEDON",
                  "Helen rather than Paris", "paris, helen, hector, ajax, priam", "- Paris\n- Helen"):  # fmt: skip
        assert score(ScoringRow(reply, ["PARIS"], dataset="needle")).value == 0, reply
    for reply in ("Paris, not Helen", "Paris (son of King Priam)", "Paris. In the play, Helen, Ajax and he talk.",
                  "It is Paris, the prince of Troy", "not Helen but Paris", "Prince Paris"):  # fmt: skip
        assert score(ScoringRow(reply, ["PARIS"], dataset="needle")).value == 1, reply


def test_a_rejected_answer_is_not_contained() -> None:
    for text in (
        "Anyone but Paris",
        "It certainly wasn't in Paris",
        "She has never been to Paris",
        "Rather than Paris, Rome",
    ):
        assert not contains_answer(text, ["Paris"]), text


def test_two_truths_and_sums_are_read() -> None:
    truths = get_scorer("leval/em_judge", "strict")
    for reply in ("True (fact: false)", "True, fact: False", "True; in fact: false", "**True**\nFact: False"):
        assert truths(ScoringRow(reply, ["True [fact: False]"])).value == 1, reply
    total = get_scorer("leval/em_math", "strict")
    for reply in ("42 or 43", "The answer isn't 42", "at least 42"):
        assert total(ScoringRow(reply, ["42"])).value == 0, reply


def test_entities_in_forms_of_tables_and_programs() -> None:
    pairs = [["Ada Byron", "person-artist/author"], ["Harrow Bridge", "location-bridge"]]
    (ada, author), (bridge, kind) = pairs
    for reply in (
        *("\n".join(frame.format(*pair) for pair in pairs) for frame in (
            "{}, {}", "{},{}", '"{}","{}"', "{}\n{}", "Entity: {}\nType: {}\n", "- entity: {}\n  type: {}",
            "('{}', '{}')",
            "{0} is a {1}", "{1}, {0}", "{1}:\n- {0}", "Type: {1}, Entity: {0}", "{}; {}",
        )),
        f"entity,type\n{ada},{author}\n{bridge},{kind}",
        repr({ada: author, bridge: kind}),
        repr([tuple(pair) for pair in pairs]),
        json.dumps({author: [ada], kind: [bridge]}),
    ):  # fmt: skip
        row = ScoringRow(reply, [json.dumps(pairs)], dataset="fewnerd")
        assert get_scorer("leader/token_f1", "strict")(row).value == 1, reply
