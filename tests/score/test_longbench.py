from __future__ import annotations

import gzip
import json
from difflib import SequenceMatcher
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.longbench.official import FIRST_LINE
from fathom.score.files import score_file
from fathom.score.registry import RULES, ScoringRow, get_scorer
from fathom.score.rouge import OFFICIAL_STEPS
from fathom.score.text import common_length, similarity

GOLDEN = ("edge/longbench_v1", "real/longbench_v1", "real/minilongbench")
SUITES = ("longbench_v1", "minilongbench")
LETTERS = st.text("ab c\n.#`/", max_size=12)
ROUGES = ("rouge", "rouge_unlimited", "rouge_lcs", "rouge_zh", "rouge_zh_unlimited", "rouge_zh_lcs")
NAMES = ("qa_f1", "qa_f1_zh", *ROUGES, "classification", "count", "code_sim", "code_sim_difflib")


def scores(
    metric: str, said: object, *gold: object, dataset: str = "", classes: object = None, suite: str = "longbench_v1"
) -> list[float | None]:
    row = ScoringRow(said, list(gold), classes, dataset=dataset)
    return [get_scorer(f"{suite}/{metric}", rule)(row).value for rule in RULES]


def stop(metric: str, said: object, *gold: object, dataset: str = "", suite: str = "longbench_v1") -> str:
    verdict = get_scorer(f"{suite}/{metric}")(ScoringRow(said, list(gold), dataset=dataset))
    return verdict.detail.split(":")[0] if verdict.value is None else str(verdict.value)


# ------------------------------------------------------------------------------------- the released scorers


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_official_equals_the_released_code(shared: Path, name: str) -> None:
    summary = score_file(shared / "golden" / f"{name}.jsonl.gz", check=True)
    assert summary.rows > 300
    assert (summary.differences, summary.failures) == ([], [])


@pytest.mark.slow
@pytest.mark.parametrize("name", GOLDEN)
def test_crashes_notes_and_the_other_likeness_of_code(shared: Path, name: str) -> None:
    with gzip.open(shared / "golden" / f"{name}.jsonl.gz", "rt", encoding="utf-8") as lines:
        rows = list(map(json.loads, lines))
    for row in rows:
        given_row = ScoringRow(row["prediction"], row["answers"], row.get("all_classes"), dataset=row["dataset"])
        extra = row.get("extra", {})
        if "raises" in row:
            official = get_scorer(f"{row['suite']}/{row['metric']}")(given_row)
            assert official.detail.startswith(row["raises"]), row["case_id"]
        if "note" in row:
            strict = get_scorer(f"{row['suite']}/{row['metric']}", "strict")(given_row)
            same = extra.get("recursion_borderline", False)
            assert (strict.value == pytest.approx(row["score"], abs=1e-9)) == same, row["case_id"]
            if "score_without_recursion_limit" in extra:
                assert strict.value == pytest.approx(extra["score_without_recursion_limit"], abs=1e-9)
        if "score_without_recursion_limit" in extra:
            other = get_scorer(f"{row['suite']}/{row['metric']}_unlimited")(given_row)
            assert other.value == pytest.approx(extra["score_without_recursion_limit"], abs=1e-9), row["case_id"]
        if row["metric"] == "code_sim":
            other = get_scorer(f"{row['suite']}/code_sim_difflib")(given_row)
            expected = extra.get("score_with_difflib_backend", row["score"])
            assert other.value == (None if expected is None else pytest.approx(expected, abs=1e-9)), row["case_id"]


def test_what_stops_the_released_code() -> None:
    for metric in ("qa_f1", "qa_f1_zh", "rouge_zh", "code_sim", "code_sim_difflib"):
        assert stop(metric, None, "x") == "AttributeError"
    for metric in ("classification", "count"):
        assert stop(metric, None, "x") == "TypeError"
    assert stop("rouge", None, "x") == stop("rouge", "x", None) == stop("rouge", "...", "x") == "0.0"
    assert stop("retrieval", None, "Paragraph 1") == stop("retrieval_zh", None, "段落1") == "TypeError"
    assert stop("retrieval", None, "1") == stop("retrieval", "1", "段落1") == "IndexError"
    assert stop("retrieval", "1", 1) == stop("code_sim", "x", 5) == "TypeError"
    assert stop("qa_f1", "x", 5) == "AttributeError"
    assert stop("code_sim", "x", None) == "0.0"
    for dataset in FIRST_LINE:
        assert stop("rouge", None, "x", dataset=dataset) == "AttributeError"
        assert stop("rouge", None, "x", dataset=dataset, suite="minilongbench") == "0.0"


def test_minilongbench_reads_more_than_the_first_line_unless_strict() -> None:
    said = "\nParis\nQuestion: Where is London?"
    assert scores("qa_f1", said, "Paris", dataset="triviaqa") == [1.0, 1.0]
    assert scores("qa_f1", said, "Paris", dataset="triviaqa", suite="minilongbench") == [pytest.approx(1 / 3), 1.0]
    assert scores("qa_f1", said, "Paris", dataset="hotpotqa") == [pytest.approx(1 / 3), 1.0]
    assert scores("qa_f1", "Here it is:\nParis", "Paris", dataset="triviaqa") == [0.0, 1.0]


# ---------------------------------------------------------------------------------------------- both rules


def test_words() -> None:
    assert scores("qa_f1", "The Paris!", "Rome", "paris") == [1.0, 1.0]
    assert scores("qa_f1", "<think>Rome</think>Paris", "Paris") == [0.0, 1.0]
    assert scores("qa_f1", "“Paris”", "Paris") == [0.0, 1.0]
    assert scores("qa_f1_zh", "（北京）", "上海", "北京") == [1.0, 1.0]
    assert scores("qa_f1_zh", "《北京》", "北京") == [pytest.approx(2 / 3), 1.0]
    assert scores("qa_f1", "", "Paris") == scores("qa_f1", " ", "Paris") == [0.0, 0.0]


@pytest.mark.parametrize("suite", SUITES)
def test_only_strict_scores_summaries_of_any_length(suite: str) -> None:
    long = " ".join(f"w{n}" for n in range(OFFICIAL_STEPS + 200))
    assert scores("rouge", long, long, suite=suite) == [0.0, pytest.approx(1.0)]
    assert scores("rouge", "a b. c", "x", "a b. c", suite=suite) == [pytest.approx(1.0)] * 2
    assert scores("rouge_zh", "会议讨论预算", "会议讨论预算", suite=suite) == [pytest.approx(1.0)] * 2


def test_the_three_ways_of_rouge_by_name(shared: Path) -> None:
    long = " ".join(f"w{n}" for n in range(OFFICIAL_STEPS + 200))
    assert [scores(name, long, long)[0] for name in ROUGES[:3]] == [0.0, pytest.approx(1.0), 1.0]
    # Three words of the first and four of the second; the package counts different ones, two and four.
    assert [scores(name, "a a b", "a b c d")[0] for name in ROUGES[:3]] == pytest.approx([2 / 3, 2 / 3, 4 / 7])
    assert scores("rouge_zh_lcs", "会议讨论预算", "预算讨论会议") == [pytest.approx(1 / 3)] * 2
    assert scores("rouge_zh_lcs", None, "会议")[0] is None
    assert scores("rouge_lcs", None, "a") == [0.0, None]
    fits = dict.fromkeys(("", "_unlimited", "_lcs"), 0)
    with gzip.open(shared / "golden" / "real" / "minilongbench.jsonl.gz", "rt", encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["suite"] == "minilongbench" and row["metric"].startswith("rouge"):
                for name in fits:
                    scorer = get_scorer(f"minilongbench/{row['metric']}{name}")
                    found = scorer(ScoringRow(row["prediction"], row["answers"], dataset=row["dataset"])).value
                    fits[name] += found == pytest.approx(row["extra"]["published_example_score"], abs=1e-4)
    assert fits == {"": 5, "_unlimited": 5, "_lcs": 29}


def test_strict_rouge_of_minilongbench_counts_every_word_once() -> None:
    # Two of three words and of four are in the same order; the package sees two different words in the first text.
    assert scores("rouge", "a a b", "a b c d", suite="minilongbench") == [pytest.approx(2 / 3), pytest.approx(4 / 7)]
    assert scores("rouge", "a", "", suite="minilongbench") == [0.0, 0.0]


@pytest.mark.parametrize(
    ("said", "gold", "official", "strict"),
    [
        ("City or State", "City", 0.5, 0.5),
        ("city", "City", 0.0, 1.0),
        ("the statement names City", "City", 1.0, 1.0),
        ("Other location", "Other location", 1.0, 1.0),
        ("Other location", "Other", 0.5, 0.0),
        ("abc", "abc", 1.0, 1.0),
        ("体育类", "体育", 1.0, 1.0),
        ("nothing", "City", 0.0, 0.0),
        ("", "City", 0.0, 0.0),
    ],
)
def test_classification(said: str, gold: str, official: float, strict: float) -> None:
    classes = ["Other", "State", "City", "Other location", "体育", "x", "b", "abc"]
    assert scores("classification", said, gold, classes=classes) == [official, strict]


def test_classes_that_the_released_code_passes_over_or_cannot_see() -> None:
    assert scores("classification", "abc", "abc", classes=["a", "x", "b", "abc"]) == [0.5, 1.0]
    assert scores("classification", "a", "a", classes=["a", "a"]) == [0.5, 1.0]
    assert scores("classification", "a", "a", classes=None) == [None, None]
    assert scores("classification", "a", "a", classes=[]) == [0.0, 0.0]
    assert scores("classification", "a", 5, classes=["a"]) == [None, 0.0]
    assert scores("classification", "b", 5, classes=["a"]) == [0.0, 0.0]


@pytest.mark.parametrize(
    ("said", "official", "strict"),
    [
        ("Paragraph 12", 1.0, 1.0),
        ("Paragraph 12: it names 3 studies", 0.5, 1.0),
        ("<think>3 or 5?</think>Paragraph 12", 1 / 3, 1.0),
        ("１２", 0.0, 1.0),
        ("Paragraph 1", 0.0, 0.0),
        ("none", 0.0, 0.0),
    ],
)
def test_numbers(said: str, official: float, strict: float) -> None:
    assert scores("retrieval", said, "Paragraph 12") == [pytest.approx(official), strict]
    assert scores("retrieval_zh", said, "段落12") == [pytest.approx(official), strict]
    assert scores("count", said, "12") == scores("count", said, 12) == [pytest.approx(official), strict]


def test_gold_answers_without_the_form_that_the_released_code_expects() -> None:
    assert scores("retrieval", "3", "paragraph 3") == scores("retrieval_zh", "3", "3") == [None, 1.0]
    assert scores("retrieval", "3", "none") == [None, None]
    for metric in NAMES:
        assert scores(metric, "3", classes=[]) == [0.0, None]
        assert scores(metric, None, "3")[1] is None


@pytest.mark.parametrize(
    ("said", "gold", "official", "strict"),
    [
        ("\n    return x\nmore", "    return x", 1.0, 1.0),
        ("return x", "    return x", 0.8, 1.0),
        ("# why\nreturn x", "return x", 1.0, 1.0),
        ("`return x`", "return x", 0.0, 1.0),
        ("y = a // b\nz", "y = a // b", 0.0, 1.0),
        ("```python\nreturn x\n```", "return x", 1.0, 1.0),
        ("So:\n```\nreturn x\n```", "return x", 0.0, 1.0),
        ("So:\n```py\nreturn x", "return x", 0.0, 1.0),
        ("return x\n```\nbecause", "return x", 1.0, 1.0),
        ("return x\n}\n```\nOr:\n```py\npass\n```", "return x", 1.0, 1.0),
        ("abcdefgh", "abcdefgx", 0.88, 0.875),
        ("# only", "return x", 0.0, 0.0),
        ("", "return x", 0.0, 0.0),
    ],
)
def test_code(said: str, gold: str, official: float, strict: float) -> None:
    for metric in ("code_sim", "code_sim_difflib"):
        assert scores(metric, said, gold) == [pytest.approx(official), pytest.approx(strict)]


def test_the_two_likenesses_of_code_differ() -> None:
    # Four letters are in the same order, but difflib takes the first longest run and then only what is beside it.
    assert scores("code_sim", "acabba", "aabcac") == [0.67, pytest.approx(8 / 12)]
    assert scores("code_sim_difflib", "acabba", "aabcac") == [0.33, pytest.approx(4 / 12)]


# --------------------------------------------------------------------------------------------- any replies


@given(LETTERS, LETTERS)
def test_common_length_is_that_of_the_table(first: str, second: str) -> None:
    above = [0] * (len(second) + 1)
    for letter in first:
        row = [0]
        for at, other in enumerate(second):
            row.append(above[at] + 1 if letter == other else max(above[at + 1], row[at]))
        above = row
    assert common_length(first, second) == common_length(list(second), list(first)) == above[-1]
    assert similarity(first, second) >= SequenceMatcher(None, first, second, autojunk=False).ratio() - 1e-9


@pytest.mark.slow
@given(LETTERS, LETTERS, st.sampled_from(["", "trec"]), st.sampled_from(SUITES))
def test_every_reply_has_a_score_from_0_to_1(said: str, gold: str, dataset: str, suite: str) -> None:
    for metric in NAMES:
        for value in scores(metric, said, gold, dataset=dataset, classes=["a", "ab", gold], suite=suite):
            assert value is None or 0.0 <= value <= 1.0
    assert None not in scores("qa_f1", said, gold, dataset=dataset, suite=suite)


@pytest.mark.slow
@given(st.text("abcd", min_size=1, max_size=8), st.sampled_from(["{}", "{}\n", "<think>x</think>{}"]))
def test_the_gold_answer_alone_is_right(gold: str, frame: str) -> None:
    for metric in ("qa_f1", "qa_f1_zh", "rouge", "rouge_zh", "classification", "code_sim", "code_sim_difflib"):
        if metric.startswith("qa") and gold == "a":
            continue  # an article
        official, strict = scores(metric, frame.format(gold), gold, classes=[gold])
        assert strict == pytest.approx(1.0)
        assert "think" in frame or official == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("metric", "said", "gold", "expected"),
    [
        # Inputs of ours, values as the released code gives them (THUDM/LongBench at 2e00731: eval.py, metrics.py).
        ("qa_f1", "b", "ab", 1.0),
        ("qa_f1", "ab", "ab", 0.0),
        ("qa_f1", "ab", "", 0.0),
        ("qa_f1", "ab", None, "TypeError"),
        ("rouge", "ab", 5, "TypeError"),
        ("count", "5", {"5": 1}, 1.0),
        ("retrieval", "5", "", 0.0),
        ("classification", "City", [["City"]], 0.0),
        ("code_sim", "x = 1", [[]], 0.0),
    ],
)
def test_gold_answers_that_are_no_list_of_texts(metric: str, said: str, gold: object, expected: float | str) -> None:
    found = get_scorer(f"longbench_v1/{metric}")(ScoringRow(said, gold, ["City"]))
    assert (found.detail.split(":")[0] if found.value is None else found.value) == expected
