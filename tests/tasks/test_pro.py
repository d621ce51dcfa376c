"""LongBench Pro's tasks: prompts as they are published, lengths as records state them, chances, choices and notes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from command_line import Call
from engine_calls import configure
from fathom.benchmarks.pro.secondary_tasks import LENGTHS, METRIC_NAMES, SECONDARY, SUMMARY_PASSES_ABOVE
from fathom.benchmarks.pro.tasks import chance_of, options_of
from fathom.suites.build import build
from fathom.suites.registry import get_suite, get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render, thinking
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Sample
from made_records_pro import make_all, make_pro, write_pro

NAMES = tuple(task.task for task in SECONDARY)
BY_TASK = {task.task: task for task in SECONDARY}


def made(folder: Path, target: str = "pro", rows: Sequence[dict[str, Any]] | None = None, **choices: Any) -> BuiltSuite:
    data = write_pro(folder / "data", 100, rows=rows)
    wanted = configure(target, data=[str(data)], **{"tokenizer": "words", **choices})
    return open_suite(build(wanted, folder / "suite", force=True).folder)


def notes_of(suite: BuiltSuite) -> list[str]:
    return list(suite.manifest["notes"])


def as_published(row: dict[str, Any], kind: str) -> str:
    """The prompt of the released code, which strips the whole of it."""
    return str(row["context"] + "\n\n\n\n" + row[f"question_{kind}"]).strip()


# ------------------------------------------------------------------------------------------------------- prompts


def test_both_prompts_are_those_of_the_released_code_to_the_last_character(tmp_path: Path) -> None:
    blanks = ("", " \n\t ", "\u3000\u00a0\r\n", "\x0b\x1c\u2028")
    rows = make_all(100)
    for number, row in enumerate(rows):
        before, after = blanks[number % 4], blanks[number // 4 % 4]
        for name in ("context", "question_nonthinking", "question_thinking"):
            row[name] = before + row[name] + "\r\n\u200b\0 \n\n\n x" + after
    suite = made(tmp_path, rows=rows)
    texts, by_id = suite.texts(), {row["id"]: row for row in rows}
    count = get_tokenizer("words").count
    found = list(suite.samples())
    assert len(found) == 100
    for sample in found:
        row = by_id[sample.item.rsplit("/", 1)[1]]
        plain, thoughtful = render(sample, texts), render(thinking(sample), texts)
        assert plain == as_published(row, "nonthinking")
        assert thoughtful == as_published(row, "thinking")
        assert sample.asked == row["question_nonthinking"].rstrip()
        # Counts of parts are added up, so that a word at a join can count twice.
        assert abs(sample.tokens - count(plain)) <= 2
        assert abs(sample.thinking_tokens - count(thoughtful)) <= 2


def test_samples_say_what_their_records_say(tmp_path: Path) -> None:
    rows = make_all(100)
    del rows[8]["difficulty"]
    samples = list(made(tmp_path, rows=rows).samples())
    assert len(samples) == 100
    for sample in samples:
        task, language, name = sample.item.split("/")
        row = next(row for row in rows if row["id"] == name)
        assert (task, language) == (sample.task, sample.language)
        assert BY_TASK[task].name == row["secondary_task"]
        assert sample.targets == tuple(row["answer"])
        assert sample.length == LENGTHS[row["token_length"]]
        facts = {
            "primary_task": row["primary_task"],
            "secondary_task": row["secondary_task"],
            "contextual_requirement": row["contextual_requirement"],
        }
        facts |= {"difficulty": row["difficulty"]} if "difficulty" in row else {}
        facts |= {"pass_above": SUMMARY_PASSES_ABOVE} if task.startswith("pro_t4") else {}
        assert sample.facets == facts
        assert sample.inputs == {"dataset": row["secondary_task"]}


def test_records_stand_at_the_length_that_they_state_and_are_never_cut(tmp_path: Path) -> None:
    long = make_pro(1, length="8k", sentences=1500)
    suite = made(tmp_path, rows=[make_pro(0, length="256k"), long])
    short, over = sorted(suite.samples(), key=lambda sample: sample.tokens)
    assert (short.length, over.length) == (262144, 8192)
    assert over.tokens > 8192
    assert render(over, suite.texts()) == as_published(long, "nonthinking")
    assert notes_of(suite)[1:] == [
        "each record is at its stated length: 8k 1, 256k 1",
        "prompts with more tokens (words) than their stated length: 8k 1",
    ]


def test_questions_with_the_same_context_are_different_items(tmp_path: Path) -> None:
    rows = [make_pro(0), {**make_pro(25, language="English"), "context": make_pro(0)["context"]}]
    assert len({sample.item for sample in made(tmp_path, rows=rows).samples()}) == 2


# ------------------------------------------------------------------------------------------------ what is chosen


CHOICES: list[tuple[str, dict[str, Any], dict[str, set[str]]]] = [
    ("pro", {"where": {"difficulty": ["Hard", "Extreme"]}}, {"difficulty": {"Hard", "Extreme"}}),
    ("pro", {"where": {"contextual_requirement": ["Full"]}}, {"contextual_requirement": {"Full"}}),
    ("pro", {"where": {"language": ["zh"]}}, {"language": {"Chinese"}}),
    ("pro", {"languages": ["zh"]}, {"language": {"Chinese"}}),
    ("pro", {"lengths": (8192,)}, {"token_length": {"8k"}}),
    ("pro", {"lengths": (16384, 32768)}, {"token_length": {"16k"}}),
    ("pro", {"where": {"length": ["16k"]}}, {"token_length": {"16k"}}),
    (
        "pro",
        {"where": {"primary_task": ["T1. Retrieval & Ranking"], "difficulty": ["easy"]}},
        {"primary_task": {"T1. Retrieval & Ranking"}, "difficulty": {"Easy"}},
    ),
    (
        "pro_t7_1,pro_t11_2",
        {},
        {
            "secondary_task": {
                "T7.1 Global Conflict & Inconsistency Localization",
                "T11.2 Short-Range Reference Resolution & State Query",
            }
        },
    ),
]


@pytest.mark.parametrize(("target", "choices", "kept"), CHOICES, ids=[f"{one[0]}-{one[1]}" for one in CHOICES])
def test_what_is_asked_for_is_built_and_nothing_else(
    tmp_path: Path, target: str, choices: dict[str, Any], kept: dict[str, set[str]]
) -> None:
    expected = {row["id"] for row in make_all(100) if all(row[name] in values for name, values in kept.items())}
    suite = made(tmp_path, target, **choices)
    assert {sample.item.rsplit("/", 1)[1] for sample in suite.samples()} == expected
    assert 0 < len(expected) < 100


def test_the_command_takes_the_same_choices(tmp_path: Path, call: Call) -> None:
    write_pro(tmp_path / "data", 100, name="my own.jsonl")
    words = ["build", "pro", "--data", tmp_path / "data" / "my own.jsonl", "--out", "suite", "--tokenizer", "words"]
    words += ["--lengths", "8k,16k", "--language", "zh", "--where", "difficulty=Hard,Extreme"]
    code, out, error = call(*words, "--where", "primary_task=T7. Consistency & Compliance Checking")
    assert code == 0, error
    expected = sum(
        row["language"] == "Chinese"
        and row["difficulty"] in ("Hard", "Extreme")
        and row["primary_task"].startswith("T7")
        for row in make_all(100)
    )
    assert f"suite: {expected} samples" in out + error
    assert len(list(open_suite(tmp_path / "suite").samples())) == expected == 3


def test_what_is_left_out_is_said_once_for_all_tasks(tmp_path: Path) -> None:
    assert notes_of(made(tmp_path, lengths=(8192,))) == [
        "pro_t1_1, pro_t1_2, pro_t2_1 and 22 more: records skipped, because the build lacks their stated length: 50",
        "each record is at its stated length: 8k 50",
    ]
    assert notes_of(made(tmp_path)) == ["each record is at its stated length: 8k 50, 16k 50"]


def test_own_benchmarks_of_any_size_are_built_without_a_word_of_what_was_published(tmp_path: Path) -> None:
    rows = [make_pro(number, SECONDARY[4], sentences=1) for number in range(70)]
    suite = made(tmp_path, "pro_t3_1", rows=rows)
    assert len(list(suite.samples())) == 70
    assert notes_of(suite) == ["each record is at its stated length: 8k 50, 16k 20"]
    others = ", ".join(name for name in NAMES if name != "pro_t3_1")
    absent = [note for note in notes_of(made(tmp_path, rows=rows)) if "skipped" in note]
    assert absent == [f"skipped, because the data have none of their records: {others}"]


def test_where_no_record_has_the_lengths_the_error_says_so(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"nothing to build: .*none of their records at these lengths: pro_t1_1, "):
        made(tmp_path, lengths=(4096,))


@pytest.mark.parametrize(
    ("choices", "why"),
    [
        (
            {"where": {"difficulty": ["Hrad"]}},
            "`where` difficulty=Hrad matches no sample: none has one of these values of ",
        ),
        ({"where": {"foo": ["bar"]}}, "`where` foo=bar matches no sample: none has the facet 'foo'. Available values:"),
    ],
)
def test_where_nothing_is_left_the_error_names_what_there_is(tmp_path: Path, choices: dict[str, Any], why: str) -> None:
    with pytest.raises(FathomError) as caught:
        made(tmp_path, **choices)
    message = str(caught.value)
    assert message.startswith(f"nothing to build: {why}")
    assert "\n  contextual_requirement: Full, Partial\n" in message
    assert "\n  difficulty: Easy, Extreme, Hard, Moderate\n" in message
    assert "\n  length: 8k, 16k\n" in message
    assert "\n  task: pro_t1_1, pro_t1_2, pro_t2_1, pro_t2_2, pro_t3_1, pro_t3_2 and 19 more" in message
    assert len(message) < 2000


def test_a_run_that_chooses_nothing_names_what_there_is(tmp_path: Path, call: Call) -> None:
    folder = made(tmp_path, where={"difficulty": ["Easy", "Hard"]}).folder
    words = ["run", folder, "--model", "fathom/guess", "--out", tmp_path / "run", "--quiet"]
    code, _, error = call(*words, "--where", "difficulty=Extreme")
    assert code == 2
    assert (
        f"{folder}: --where difficulty=Extreme matches no sample: none has one of these values of difficulty." in error
    )
    assert "\n  difficulty: Easy, Hard\n" in error
    code, _, error = call(*words, "--where", "difficulty=Easy", "--where", "length=16k", "--tasks", "pro_t1_1")
    assert code == 2
    assert "matches no sample: none matches all conditions. Available values:\n" in error


def test_there_is_no_question_without_the_context(tmp_path: Path) -> None:
    suite = made(tmp_path, "pro_t1_1", closed_book=True)
    assert all(sample.length for sample in suite.samples())
    assert "pro_t1_1: no closed-book prompt exists" in notes_of(suite)


# ------------------------------------------------------------------------------------------------------- chance


OPTIONS = "\n".join(f"{letter}. keeper {letter}" for letter in "ABCD")


@pytest.mark.parametrize(
    ("question", "answer", "chance"),
    [
        (f"Who?\n{OPTIONS}\n\n[Answer]\nB", ["C"], 1 / 4),
        (f"Who?\n{OPTIONS}\nE. nobody\n\n[Answer]\nA", ["E"], 1 / 5),
        (f"Who?\n{OPTIONS}\n[Answer]\nB", ["AC"], 1 / 15),
        (f"Who?\n{OPTIONS}\n[Answer]\nABD", ["C"], 1 / 15),
        (f"Who?\n{OPTIONS}\n[Answer]\nA/AC/BCD", ["C"], 1 / 15),
        (f"Who?\n{OPTIONS}\n[Answer]\nA/B/C/D", ["C"], 1 / 4),
        (f'Say "[Answer]" first.\n{OPTIONS}\nExample:\n[Answer]\nBC\n', ["C"], 1 / 15),
        (f"Who?\n{OPTIONS}\n[Answer]\nNO", ["C"], 1 / 15),
        (f"谁？\n{OPTIONS}\n[答案]\nAB", ["C"], 1 / 15),
        ("谁？\nA、甲\nB、乙\nC、丙\n[答案]\nA", ["B"], 1 / 3),
        ("谁？\nA：甲\nB：乙", ["B"], 1 / 2),
        ("谁？\nA是甲\nB是乙", ["B"], 1 / 2),
        ("谁？\n（A）甲\n（B）乙\n（C）丙", ["B"], 1 / 3),
        ("Who?\n(A) one\n(B) two\n(C) three", ["A"], 1 / 3),
        ("Who?\nA) one\nB) two\nC) three", ["A"], 1 / 3),
        ("Who?\n  A: one\n  B: two", ["A"], 1 / 2),
        ("Who?\nA one\nB two", ["A"], 1 / 2),
        ("A man asks who.\nA. one\nB. two\nC. three", ["A"], 1 / 3),
        ("A. one\nmore of it\n\nB. two\nC. three", ["A"], 1 / 3),
        ("A. one\nC. three", ["A"], 0),
        ("A. one\nC. three\nD. four", ["C"], 0),
        ("A. one\nB. two", ["C"], 0),
        ("A. one\nB. two", ["A", "B"], 0),
        ("A. one\nB. two", ["one"], 0),
        ("A. one\nB. two", ["a"], 0),
        ("Apples\nBread", ["A"], 0),
        ("Who keeps it?", ["A"], 0),
        (OPTIONS, [" D "], 1 / 4),
    ],
)
def test_chance_follows_from_the_options_of_the_question(question: str, answer: list[str], chance: float) -> None:
    assert chance_of(question, answer) == pytest.approx(chance)


@given(st.text("AB.C)(:\n 文x[]/答案"), st.lists(st.text("ABC a"), max_size=2))
def test_chance_is_never_more_than_a_half(question: str, answers: list[str]) -> None:
    assert 0 <= chance_of(question, answers) <= 0.5
    assert options_of(question) in ("", "AB", "ABC")


def test_only_accuracy_has_a_chance(tmp_path: Path) -> None:
    found: dict[str, set[float]] = {}
    rows = [make_pro(n, question_nonthinking=f"Who?\n{OPTIONS}", answer=["A"]) for n in range(25)]
    for sample in made(tmp_path, rows=rows).samples():
        found.setdefault(get_task(sample.task).metric, set()).add(sample.chance)
    assert found == {metric: {0.25 if metric == "accuracy" else 0.0} for metric in METRIC_NAMES.values()}


# --------------------------------------------------------------------------------------------------- declarations


def test_the_suite_is_all_25_tasks_at_six_lengths() -> None:
    suite = get_suite("pro")
    assert suite.tasks == NAMES
    assert suite.lengths == tuple(1024 * thousand for thousand in (8, 16, 32, 64, 128, 256))
    assert dict(suite.sources) == {"record": ("longbench_pro",)}


@pytest.mark.parametrize("name", NAMES)
def test_tasks_are_scored_by_the_metric_of_the_paper(name: str) -> None:
    task, about = get_task(name), BY_TASK[name]
    assert (task.metric, task.official) == (METRIC_NAMES[about.metric], f"longbench_pro/{about.metric}")
    assert (task.max_output_tokens, task.capped, task.languages) == (1024, True, ("en", "zh"))
    assert task.rubric == ("similarity" if about.metric == "Summary" else "")


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("name", [name for name in NAMES if not name.startswith("pro_t4")])
def test_the_right_answer_scores_one_and_no_answer_none(name: str, language: str) -> None:
    row = make_pro(0, BY_TASK[name], "English" if language == "en" else "Chinese")
    inputs = {"dataset": row["secondary_task"]}
    sample = Sample("i@8192", "i", name, (), tuple(row["answer"]), 8192, 1, language, inputs=inputs)
    score = get_task(name).score
    right = score("[Answer]\n" + "\n".join(row["answer"]), sample)
    assert right.value == pytest.approx(1)
    assert right.valid
    assert score("", sample).value == 0
    wrong = score("[Answer]\nI do not know", sample)
    assert wrong.value == 0
