"""Where the rule ``strict`` of the frontier benchmarks differs from the released code: one reply for each fault."""

from __future__ import annotations

import json
from collections.abc import Mapping

import pytest
from _pytest.mark import ParameterSet
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.longproc.scoring import arithmetic
from fathom.benchmarks.mrcr.scoring import OTHERS, PREFIX
from fathom.score.registry import RULES, ScoringRow, get_scorer, metrics
from fathom.score.released import corrected
from fathom.score.stems import stem

SUITES = (
    "mrcr",
    "graphwalks",
    "ruler",
    "ruler2",
    "nolima",
    "babilong",
    "oolong",
    "longproc",
    "loft",
    "helmet",
    "judged",
)
HASH = {PREFIX: "aYooSG8CQg"}
COPY = "aYooSG8CQgA text about tapirs."
KIND = {"answer_type": "ANSWER_TYPE.LABEL"}
NUMBER = {"answer_type": "ANSWER_TYPE.NUMERIC"}
WHERE = {"question": "Where is Mary?"}
YUKI = {"character_set": ["Yuki", "Stuart", "Katie"]}
SUM = {"nums": [1, 2, 3, 4], "target": 10}
CITIES = {"ground_truth_cities": "New York**Rome", "ground_truth_durations": "2**3"}
OPTIONS = "A. 1 B. 2 C. 3 D. 4"
CHOICE = f"How many? {OPTIONS}"
LISTED = "How many?\n- **A.** 1\n- **B.** 2\n- **C.** 3\n- **D.** 4"
NAMES = {"others": '["Bonn", "Oslo"]'}
TRACE = "# Search Procedure\nstart\n |- Try 1 + 2 = 3. Add 3.\n |- Try 3 + 3 = 6. Add 6.\n"


def both(metric: str, reply: object, gold: object, extra: Mapping[str, object], dataset: str) -> list[float | None]:
    row = ScoringRow(reply, gold, extra=extra, dataset=dataset)
    return [get_scorer(metric, rule)(row).value for rule in RULES]


def case(
    fault: str, metric: str, reply: str, gold: object, scores: tuple[float | None, float | None], **more: object
) -> ParameterSet:
    extra, dataset = more.get("extra", {}), more.get("dataset", "")
    return pytest.param(metric, reply, gold, extra, dataset, scores, id=f"{metric}: {fault}")


@pytest.mark.parametrize(
    ("metric", "reply", "gold", "extra", "dataset", "scores"),
    [
        case("a blank before the random string", "mrcr/openai_mrcr", f" {COPY}", COPY, (0, 1), extra=HASH),
        case("a fence around the reply", "mrcr/openai_mrcr", f"```\n{COPY}\n```", COPY, (0, 1), extra=HASH),
        case("thoughts before it", "mrcr/openai_mrcr", f"<think>so</think>\n{COPY}", COPY, (0, 1), extra=HASH),
        case(
            "the random string in the middle",
            "mrcr/gdm_mrcr_v2",
            "Here it is: b6Yath1qpbUaA text.",
            "b6Yath1qpbUaA text.",
            (1, 0),
        ),
        case("the first node never matches", "graphwalks/card_2025", "Final Answer: [a, b]", ["a", "b"], (0.5, 1)),
        case("nothing right is right", "graphwalks/card_2026_02", "I cannot tell", ["a", "b"], (1, 0)),
        case("a line end after it", "graphwalks/card_2026_latest", "Final Answer: [a]\n", ["a"], (0, 1)),
        case("quotes", "graphwalks/nvidia_gym", 'Final Answer: ["a"]', ["a"], (0, 1)),
        case("an unreadable empty answer", "graphwalks/openbench", "none of them", [], (1, 0)),
        case("an empty gold list", "graphwalks/lm_eval_f1", "Final Answer: []", [], (0, 1)),
        case("a sentence after it", "graphwalks/lm_eval_f1", "Final Answer: [a]\nDone.", ["a"], (0, 1)),
        case("asterisks", "graphwalks/lm_eval_flexible_f1", "**Final Answer:** [a]", ["a"], (0, 1)),
        case("a number in a number", "ruler/nemo_skills_string_match_all", "81234567", ["1234567"], (1, 0)),
        case("a tab", "ruler/nemo_skills_string_match_all", "new\tyork", ["new\nyork"], (0, 1)),
        case("one of three", "ruler/lm_eval_process_results_part", "one", ["one", "two", "six"], (1 / 3, 1)),
        case("near words", "ruler2/ruler2_all", "the red boat", ["the red goat"], (2 / 3, 0)),
        case("near words", "ruler2/ruler2_part", "the red boat", ["the red goat"], (2 / 3, 0)),
        case("part of a word", "ruler2/ruler2_2steps", "81234567", ["1234567"], (1, 0)),
        case("another number", "ruler2/ruler2_all", "1234567 or 7654321", ["1234567"], (1, 1 / 2)),
        case("a list of numbers", "ruler2/ruler2_all", "1234567, 7654321, 5555555", ["1234567"], (1, 0)),
        case("separators", "ruler2/ruler2_all", "1,234,567", ["1234567"], (0, 1)),
        case("another question", "ruler2/ruler2_all", f"{CHOICE} So? {OPTIONS}", [CHOICE], (1, 1 / 2)),
        case("the question twice", "ruler2/ruler2_all", f"{CHOICE}\n{CHOICE}", [CHOICE], (1, 1)),
        case("two of four", "ruler2/ruler2_all", "1111111 2222222", ["1111111", "2222222", "3", "4"], (1 / 2, 1 / 2)),
        case("another document", "ruler2/ruler2_part", "1234567, 7654321", ["1234567", "5555555"], (1, 1 / 2)),
        case("both documents", "ruler2/ruler2_part", "1234567, 5555555", ["1234567", "5555555"], (1, 1)),
        case("everything", "ruler2/ruler2_part", "Bonn, " * 60 + "Rome", ["Rome"], (1, 0)),
        case("an answer after reasons", "ruler2/ruler2_part", "Bonn, " * 60 + "\n\nRome", ["Rome"], (1, 1)),
        case("a short list", "ruler2/ruler2_part", "Bonn, " * 20 + "Rome", ["Rome"], (1, 0)),
        case("a long answer", "ruler2/ruler2_part", f"Answer: It is Rome, {'as I read, ' * 8}", ["Rome"], (1, 1)),
        case("every name", "ruler2/ruler2_part", "Bonn, Oslo, Rome", ["Rome"], (1, 0), extra=NAMES),
        case("two names", "ruler2/ruler2_part", "Oslo or Rome", ["Rome"], (1, 1 / 2), extra=NAMES),
        case("names before it", "ruler2/ruler2_part", "Bonn? Oslo?\n**Answer:** Rome", ["Rome"], (1, 1), extra=NAMES),
        case("a document alone", "ruler2/ruler2_part", "Document 1:\nRome", ["Rome"], (1, 0)),
        case("a document in Chinese", "ruler2/ruler2_part", "**文档1：**\nRome\n\n", ["Rome"], (1, 0)),
        case("a wrong answer after it", "ruler2/ruler2_part", "Document 1:\nRome\n答案：Oslo", ["Rome"], (1, 0)),
        case("the answer after it", "ruler2/ruler2_part", "文档1：\nBonn\n答案：Rome", ["Rome"], (1, 1), extra=NAMES),
        case("options in a list", "ruler2/ruler2_all", LISTED, [CHOICE], (2 / 10, 1)),
        case("other brackets", "ruler2/ruler2_2steps", "How many? A) 1 (B) 2 **C.** 3 D. 4", [CHOICE], (7 / 10, 1)),
        case("quotes", "ruler2/ruler2_all", "the ship’s “load”", ['the ship\'s "load"'], (1 / 3, 1)),
        case("separators in both", "ruler2/ruler2_all", "It has 1,250 boats", ["1,250 boats"], (1, 1)),
        case("another one after it", "ruler2/ruler2_2steps", f"{CHOICE} So? {OPTIONS}", [CHOICE], (1, 0)),
        case("no empty line", "ruler2/ruler2_2steps", f"So? {OPTIONS}\n{CHOICE}", [CHOICE], (1, 1)),
        case("a plain letter", "ruler2/ruler2_mcq_letter", "B", ["B"], (0, 1)),
        case("every name", "nolima/contains", "Yuki, Stuart or Katie", ["Yuki"], (1, 0), extra=YUKI),
        case("another case", "nolima/EM", "YUKI", ["Yuki"], (0, 1), extra=YUKI),
        case("a name in a word", "nolima/lastline_contains", "Yukiko", ["Yuki"], (1, 0), extra=YUKI),
        case("a final stop", "nolima/lastline_EM", "It is\nYuki.", ["Yuki"], (0, 1), extra=YUKI),
        case(
            "none holds one",
            "babilong/babilong",
            "none",
            "none",
            (0, 1),
            extra={"question": "How many?"},
            dataset="qa7",
        ),
        case("a first item", "babilong/babilong", "1. The garden", "garden", (0, 1), extra=WHERE, dataset="qa1"),
        case("know holds no", "babilong/lm_eval_acc", "I know: yes", "no", (1, 0), extra=WHERE, dataset="qa6"),
        case(
            "both labels",
            "babilong/training_compare_answers",
            "kitchen or garden",
            "garden",
            (1, 0),
            extra=WHERE,
            dataset="qa1",
        ),
        case("case", "oolong/oolong_synth", "Label: Spam", "['spam']", (0, 1), extra=KIND),
        case("a final stop", "oolong/oolong_synth", "Label: spam.", "['spam']", (0, 1), extra=KIND),
        case("a colon after it", "oolong/oolong_synth", "Label: spam\nAs of 12:30", "['spam']", (0, 1), extra=KIND),
        case("separators", "oolong/oolong_synth", "Answer: 1,234", "[1234]", (0, 1), extra=NUMBER),
        case("a list of everything", "oolong/oolong_real", r"\boxed{a, b, c, d}", "a, b", (1, 2 / 3)),
        case("one item of a list", "oolong/oolong_real", r"\boxed{a}", "a, b", (0, 2 / 3)),
        case(
            "wrong in the last line",
            "longproc/path_traversal_partial_accuracy",
            "<Route>\na\nx\n</Route>",
            "a\nb",
            (1, 0.5),
        ),
        case("an empty route", "longproc/path_traversal_partial_accuracy", "<Route></Route>", "a\nb", (0.5, 0)),
        case("blanks", "longproc/path_traversal_accuracy", "<Route>\na\n  b\n</Route>", "a\nb", (0, 1)),
        case(
            "two routes", "longproc/path_traversal_accuracy", "<Route>x</Route><Route>\na\nb\n</Route>", "a\nb", (0, 1)
        ),
        case("full width", "longproc/path_traversal_accuracy", "<Route>甲，乙。</Route>", "甲,乙", (0, 1)),
        case("full width", "longproc/tom_tracking_accuracy", "- 甲：盒子。", "- 甲:盒子", (0, 1)),
        case(
            "a result below zero",
            "longproc/countdown_accuracy",
            "<Solution>\n1 - 2 = -1\n-1 + 3 = 2\n2 + 8 = 10\n</Solution>",
            TRACE,
            (1, 0),
            extra={"nums": [1, 2, 3, 8], "target": 10},
        ),
        case(
            "a result above 2000",
            "longproc/countdown_accuracy",
            "<Solution>\n49 * 48 = 2352\n2352 - 2350 = 2\n2 + 8 = 10\n</Solution>",
            TRACE,
            (1, 0),
            extra={"nums": [49, 48, 2350, 8], "target": 10},
        ),
        case("indented bullets", "longproc/tom_tracking_accuracy", "- box\n  - bag", "- box\n- bag", (0, 1)),
        case("indented bullets", "longproc/tom_tracking_partial_accuracy", "- box\n  - bag", "- box\n- bag", (0.5, 1)),
        case(
            "an equation of names",
            "longproc/countdown_accuracy",
            "<Solution>\na + b = c\nx\ny\n</Solution>",
            TRACE,
            (None, 0),
            extra=SUM,
        ),
        case(
            "an empty search",
            "longproc/countdown_partial_accuracy",
            "# Search Procedure\nstart",
            TRACE,
            (-0.5, 0),
            extra=SUM,
        ),
        case(
            "cities of two words",
            "longproc/travel_planning_accuracy",
            "<Plan>\n**Day 1-2:** Arriving.\n**Day 2:** Fly from New York to Rome.\n**Day 2-4:** Visit.\n</Plan>",
            "<Solving Procedure>\na\n",
            (0, 1),
            extra=CITIES,
        ),
        case(
            "brackets before the answer",
            "loft/retrieval_recall@1",
            "As [3] says\nFinal Answer: [7]",
            [["7", 1]],
            (0, 1),
        ),
        case(
            "fragments",
            "loft/multi_value_rag_subspan_em",
            "Final Answer: ['Par', 'Lon']",
            ["Paris", "London"],
            (1, 0),
        ),
        case("a word in a word", "loft/rag_subspan_em", "Final Answer: ['Parisian']", ["Paris"], (1, 0)),
        case("one row twice", "loft/sql_exec_acc", "Final Answer: [['b'], ['b']]", [["a"], ["b"]], (1, 0)),
        case("a list after the output", "loft/icl_em", "Output: ['b']\nBecause Zaboma ['x'] has it.", [["b"]], (1, 1)),
        case("an output after a list", "loft/icl_em", "Of ['x'] and\n**Output：** ['b']", [["b"]], (0, 1)),
        case("an output before the answer", "loft/rag_em", "Final Answer: ['b']\nOutput: ['x']", ["b"], (1, 1)),
        case("digits in groups", "loft/sql_exec_acc", "Final Answer: [['a', '14,200']]", [["a", 14200]], (0, 1)),
        case("no groups of digits", "loft/sql_exec_acc", "Final Answer: [['1,20']]", [[120]], (0, 0)),
        case("an empty list", "loft/multi_value_rag_coverage", "Final Answer: []", ["Paris"], (None, 0)),
        case("part of a word", "helmet/substring_exact_match", "pineapple", ["apple"], (1, 0)),
        case("two readings", "helmet/exact_match", "Rome\nAnswer: Paris", ["Rome"], (0, 0)),
        case("the first of two answers", "helmet/exact_match", "Answer: Rome\nAnswer: Paris", ["Rome"], (1, 0)),
        case("every option", "helmet/choice_exact_match", "A. Sea B. The river", ["B", "B. The river"], (1, 0)),
        case("a shorter run at the end", "helmet/ndcg@10", "1 > 2 > 3\nFinal: 3 > 1", {"3": 1}, (0.5, 1)),
        case("both words", "judged/aa_lcr_judgement_opencompass", "Not INCORRECT: CORRECT", None, (0, 1)),
        case("no verdict", "judged/aa_lcr_judgement_nvidia_gym", "I cannot tell", None, (0, None)),
        case("a final stop", "judged/aa_lcr_judgement_nvidia_gym", "CORRECT.", None, (0, 1)),
        case("no verdict", "judged/corpusqa_orm", "Perhaps", None, (0, None)),
        case("several lines", "judged/corpusqa_extract_answer", "The answer is: a,\nb", "a, b", (0, 1)),
        case("a thought", "judged/longcodeqa_letter", "<think>Final Answer: A</think>Final Answer: B", "B", (0, 1)),
    ],
)
def test_strict_mends_the_fault(
    metric: str,
    reply: str,
    gold: object,
    extra: Mapping[str, object],
    dataset: str,
    scores: tuple[float | None, float | None],
) -> None:
    assert both(metric, reply, gold, extra, dataset) == [
        None if score is None else pytest.approx(score, abs=1e-5) for score in scores
    ]


@pytest.mark.parametrize("name", [name for name in metrics() if name.split("/")[0] in SUITES])
def test_a_reply_that_is_no_text_has_no_strict_score(name: str) -> None:
    assert get_scorer(name, "strict")(ScoringRow(None, ["a"])).value is None


def test_a_copy_of_another_text_is_told_apart() -> None:
    extra = {**HASH, OTHERS: json.dumps(["A poem about herons.", "A text on tapirs and more."])}
    scorer = get_scorer("mrcr/openai_mrcr", "strict")
    answers = [
        scorer(ScoringRow(f"aYooSG8CQg{text}", COPY, extra=extra)).answer
        for text in ("A poem about herons.", COPY[10:])
    ]
    assert answers == ["copy of another text of the same request, number 1 of the others", "exact copy"]


def test_a_long_reply_is_compared_in_part_and_its_length_counts() -> None:
    scorer = get_scorer("mrcr/openai_mrcr", "strict")
    value = scorer(ScoringRow(f"{COPY}{'x' * 500_000}", COPY, extra=HASH)).value
    assert value == pytest.approx(2 * 20 / 500_040, rel=0.1)


@pytest.mark.parametrize("left", ["-" * 3000 + "1", "1+" * 50_000 + "1", "(" * 300 + "1", "-" * 900 + "1"])
def test_an_equation_that_is_long_or_deep_is_wrong_and_stops_nothing(left: str) -> None:
    reply = f"<Solution>\n{left} = 2\nx\ny\n</Solution>"
    official, strict = both("longproc/countdown_accuracy", reply, TRACE, SUM, "")
    assert strict == 0
    assert not official


TWO = "# Search Procedure\nstart\n |- Wrong\n"


@pytest.mark.parametrize(
    ("name", "reply", "gold", "extra", "why"),
    [
        ("countdown_accuracy", "x", TRACE, {}, "extra.nums"),
        ("countdown_accuracy", "x", TRACE, {"nums": "[1", "target": 3}, "cannot be scored"),
        ("countdown_accuracy", "x", TRACE, {"nums": "5", "target": 3}, "list of numbers"),
        ("countdown_partial_accuracy", TWO.replace("Wrong", "x"), TWO, SUM, "Unknown line"),
        ("travel_planning_accuracy", "<Plan>x</Plan>", "a", {}, "extra.ground_truth_cities"),
        ("travel_planning_partial_accuracy", "x", " ", CITIES, "empty"),
        ("travel_planning_partial_accuracy", "x", "a plan", CITIES, "lacks the gold search"),
    ],
)
def test_a_row_that_cannot_be_scored_says_why(
    name: str, reply: str, gold: str, extra: Mapping[str, object], why: str
) -> None:
    score = get_scorer(f"longproc/{name}", "strict")(ScoringRow(reply, gold, extra=extra))
    assert score.value is None
    assert why in score.detail


@pytest.mark.parametrize(
    ("metric", "reply", "gold"),
    [
        ("oolong/oolong_real", "Answer: a", " , "),
        ("loft/retrieval_recall@1", "Final Answer: ['a']", ["a"]),
        ("loft/retrieval_recall@1", "Final Answer: ['a']", [3]),
        ("loft/rag_em", "Final Answer: ['a']", [3]),
        ("loft/icl_em", "Final Answer: ['a']", ["apple"]),
        ("loft/icl_em", "Final Answer: ['a']", [[]]),
        ("loft/sql_exec_acc", "Final Answer: [['a']]", ["a", 3]),
    ],
)
def test_a_gold_answer_of_another_form_is_named_and_not_scored(metric: str, reply: str, gold: object) -> None:
    score = get_scorer(metric, "strict")(ScoringRow(reply, gold))
    assert score.value is None
    assert "cannot be scored" in score.detail


@pytest.mark.parametrize("name", [name for name in metrics() if name.startswith("loft/")])
@pytest.mark.parametrize("reply", ["Final Answer: [1]", "Final Answer: [[1], None]", "Final Answer: [{'a': [1]}]", "["])
def test_a_list_of_anything_is_a_wrong_answer_and_no_fault(name: str, reply: str) -> None:
    gold = [["a", 1]] if "retrieval" in name or "sql" in name else [["a"]] if "icl" in name else ["a"]
    assert get_scorer(name, "strict")(ScoringRow(reply, gold)).value == 0


def test_a_fault_of_a_rule_is_not_taken_for_a_row_that_cannot_be_scored() -> None:
    def faulty(reply: str, gold: object, row: ScoringRow) -> tuple[float, bool, str]:
        return {"other": 1.0}["value"] if reply == "key" else float("one"), True, reply

    for reply, raised in (("key", KeyError), ("value", ValueError)):
        with pytest.raises(raised):
            corrected(faulty)(ScoringRow(reply, ["gold"]))


@given(
    st.recursive(
        st.integers(0, 99).map(str), lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map("".join)
    )
)
def test_arithmetic_is_what_python_makes_of_it(text: str) -> None:
    try:
        assert arithmetic(text) == eval(text, {"__builtins__": {}})  # noqa: S307  # numbers and signs alone
    except ValueError:
        assert len(text) > 10


@pytest.mark.parametrize("text", ["__import__('os')", "(lambda: 1)()", "2 ** 99 ** 99", "[1]", "1 if 1 else 2"])
def test_nothing_of_a_reply_is_run(text: str) -> None:
    with pytest.raises((NameError, TypeError, SyntaxError)):
        arithmetic(text)


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("caresses", "caress"),
        ("ties", "tie"),
        ("agreed", "agre"),
        ("hopping", "hop"),
        ("failing", "fail"),
        ("filing", "file"),
        ("happy", "happi"),
        ("relational", "relat"),
        ("radically", "radic"),
        ("adoption", "adopt"),
        ("controll", "control"),
        ("dying", "die"),
    ],
)
def test_stems_are_those_of_the_paper_with_the_usual_changes(word: str, expected: str) -> None:
    assert stem(word) == expected
