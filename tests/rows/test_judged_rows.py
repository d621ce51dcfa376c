"""Rows say who gave which score: a judge, the rule of a paper, or the task's own scorer."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from engine_calls import judge
from fathom import api
from fathom.rows import load, rows_from_run
from fathom.types import FathomError, Reply
from judged_runs import GOOD, TASKS, Judge, install_tasks, make_run, sample


@pytest.fixture(autouse=True)
def there(monkeypatch: pytest.MonkeyPatch) -> Judge:
    install_tasks(monkeypatch)
    one = Judge(lambda prompt: "Hm." if "[sample 1]" in prompt else GOOD)
    monkeypatch.setattr(sys.modules["fathom.run.cases.model"], "open_client", lambda settings, tokenizer: one)
    return one


def ask(run: Path, model: str = "lab/judge", **settings: Any) -> None:
    judge(run, model, **({"max_connections": 1, "retries": 0} | settings))


def seen(frame: pl.DataFrame, *columns: str) -> list[tuple[Any, ...]]:
    return frame.sort("sample").select(columns).rows()


def test_judged_rows(tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "run",
        [
            (sample(0), "blue"),
            (sample(1), "red"),
            (sample(2), " "),
            (sample(3), Reply("refused", error="no")),
            (sample(4, "summaries", references=("It is blue.",)), "It is red. It is blue."),
            (sample(5, "unpublished"), "blue"),
        ],
    )
    ask(run)
    make_run(run, [(sample(6), "blue")])
    frame = rows_from_run(run)
    qa, summary = "judge lab/judge (qa v1)", "judge lab/judge (summary v1)"
    found = seen(frame, "sample", "value", "valid", "answer", "metric", "grader", "detail")
    assert [(row[0].split("@")[0], *row[1:-1]) for row in found] == [
        ("answers/0", pytest.approx(2 / 6), True, "blue", "judge_qa", qa),
        ("answers/1", None, True, "red", "judge_qa", qa),
        ("answers/2", 0.0, False, None, "judge_qa", ""),
        ("answers/3", 0.0, False, None, "judge_qa", ""),
        ("answers/6", None, True, "blue", "judge_qa", qa),
        ("summaries/4", pytest.approx(0.5), True, "It is red. It is blue.", "judge_summary", summary),
        ("unpublished/5", 1.0, True, "blue", "accuracy", "equal"),
    ]
    details = [row[-1] for row in found]
    assert details[0] == "fluency 1, correctness 2"
    assert details[1].startswith("judgement unreadable: the judge's reply for answer could not be parsed")
    assert details[2:5] == ["empty reply", "no", "not judged yet by lab/judge: run `fathom judge`"]
    assert details[5] == "fluency 1, precision 0.5, recall 0.5"


def test_a_judge_that_did_not_answer(tmp_path: Path, there: Judge) -> None:
    run = make_run(tmp_path / "run", [(sample(0), "blue"), (sample(2), "red")])
    there.says = lambda prompt: GOOD if "[sample 0]" in prompt else Reply("error", error="gone")
    ask(run)
    assert seen(rows_from_run(run), "value", "detail") == [
        (pytest.approx(2 / 6), "fluency 1, correctness 2"),
        (None, "not judged yet, the judge did not answer: the judge, asked for answer: gone"),
    ]


def test_another_reply_or_version_is_not_judged_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from fathom.score import judge as rubrics

    run = make_run(tmp_path / "run", [(sample(0), "blue"), (sample(2), "red")])
    ask(run)
    assert rows_from_run(run)["value"].null_count() == 0
    make_run(run, [(sample(0), "blue!")])
    assert rows_from_run(run)["value"].null_count() == 1
    newer = {name: replace(rubric, version=rubric.version + 1) for name, rubric in rubrics.rubrics().items()}
    monkeypatch.setattr(rubrics, "rubrics", lambda: newer)
    assert rows_from_run(run)["value"].null_count() == 2


# ------------------------------------------------------------------------------------------- who is the judge


def test_without_a_judge_tasks_score_themselves(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(sample(0), "blue"), (sample(2), "red")])
    own = [(1.0, "accuracy", "equal", "compared"), (0.0, "accuracy", "equal", "compared")]
    columns = ("value", "metric", "grader", "detail")
    assert seen(rows_from_run(run), *columns) == own
    ask(run)
    assert seen(rows_from_run(run, judge="none"), *columns) == own
    assert seen(load([run], judge="none"), *columns) == own
    assert seen(rows_from_run(run), "metric") == [("judge_qa",)] * 2


def test_several_judges_must_be_told_apart(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(sample(0), "blue")])
    ask(run)
    ask(run, temperature=0.5)
    ask(run, "lab/other")
    with pytest.raises(FathomError, match=r"lab/judge, lab/judge temperature=0.5, lab/other: choose one with `judge`"):
        rows_from_run(run)
    for name in ("lab/judge", "lab/judge temperature=0.5", "lab/other"):
        assert seen(rows_from_run(run, judge=name), "grader") == [(f"judge {name} (qa v1)",)]
    with pytest.raises(FathomError, match=r"`judge` lab/nobody: .*judged by lab/judge, "):
        rows_from_run(run, judge="lab/nobody")


def test_settings_of_a_judge_may_be_left_out_where_that_is_clear(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(sample(0), "blue")])
    ask(run, temperature=0.5)
    assert seen(rows_from_run(run, judge="lab/judge"), "grader") == [("judge lab/judge temperature=0.5 (qa v1)",)]


def test_a_named_judge_that_was_never_asked(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(sample(0), "blue")])
    assert seen(rows_from_run(run, judge="lab/x"), "value", "detail") == [
        (None, "not judged yet by lab/x: run `fathom judge`")
    ]


def test_a_judge_that_never_answered_is_none(tmp_path: Path, there: Judge) -> None:
    run = make_run(tmp_path / "run", [(sample(0), "blue")])
    there.says = lambda prompt: Reply("error", error="gone")
    ask(run)
    assert seen(rows_from_run(run), "metric") == [("accuracy",)]


def test_runs_read_together_have_one_judge(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, [(sample(0), "blue")], model=name) for name in ("a", "b")]
    ask(runs[0])
    frame = load(runs)
    assert frame["metric"].to_list() == ["judge_qa"] * 2
    assert frame["value"].to_list() == [pytest.approx(2 / 6), None]
    ask(runs[1], "lab/other")
    with pytest.raises(FathomError, match="choose one with `judge`"):
        load(runs)
    assert load(runs, judge="lab/other")["value"].to_list() == [None, pytest.approx(2 / 6)]


def test_the_public_face_passes_the_judge_on(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(sample(0), "blue")])
    api.judge([run], "lab/judge")
    api.judge([run], "lab/other")
    assert api.rows([run], judge="lab/other")["value"].to_list() == [pytest.approx(2 / 6)]
    (found,) = api.analyze("counts", [run], judge="none")
    assert found.scored == 1
    with pytest.raises(FathomError, match="choose one with `judge`"):
        api.analyze("counts", [run])


# ----------------------------------------------------------------------------------------------------- rules


def test_the_official_rule(tmp_path: Path) -> None:
    run = make_run(
        tmp_path / "run",
        [
            (sample(0), "a blue\nsky"),
            (sample(2, "plain", references=("7",)), "7 of 9"),
            (sample(3, "unpublished"), "blue"),
            (sample(4, "summaries", references=("It is blue.",)), "It is red. It is blue. So it is. Yes."),
            (sample(5, "plain", references=("7",)), Reply("error", error="gone")),
        ],
    )
    ask(run)
    columns = ("task", "value", "metric", "grader", "rule")
    judged, official = "judge lab/judge", "official"
    assert seen(load([run], "official"), *columns) == [
        ("answers", pytest.approx(2 / 6), "judge_qa", f"{judged} (qa v1)", official),
        ("plain", 1.0, "hundred/first_number", "official", official),
        ("plain", None, "hundred/first_number", "", official),
        ("summaries", pytest.approx(1 / 4), "judge_summary", f"{judged} (summary v1)", official),
        ("unpublished", None, "", "official", official),
    ]
    assert seen(load([run], "strict"), "value") == [
        (pytest.approx(2 / 6),),
        (0.0,),
        (None,),
        (pytest.approx(1 / 3),),
        (1.0,),
    ]
    without = load([run], "official", "none").sort("sample")
    # The paper's code looks at the first line and drops articles.
    assert without.row(0, named=True)["value"] == 1.0
    assert without.row(0, named=True)["metric"] == TASKS["answers"].official
    assert without["detail"].to_list()[-1] == "task 'unpublished' has no official rule"


def test_a_run_that_was_not_judged_is_in_no_mean_and_told(tmp_path: Path) -> None:
    """Its empty replies alone, at 0, would be its mean beside runs that were judged."""
    judged = make_run(tmp_path / "judged", [(sample(0), "blue"), (sample(2), " ")])
    ask(judged)
    said = [(sample(0), "blue"), (sample(1), "red"), (sample(2), " "), (sample(3, "plain"), "7")]
    bare = make_run(tmp_path / "bare", said, "lab/n")
    rows = api.rows([judged, bare])
    values = {(model, name): value for model, name, value in rows.select("model", "sample", "value").rows()}
    assert values["lab/m", sample(2).id] == 0.0
    assert (values["lab/n", sample(0).id], values["lab/n", sample(2).id]) == (None, 0.0)
    told: list[str] = []
    found = api.analyze("breakdown", [judged, bare], by="overall", tell=told.append)
    assert [one.model for one in found] == ["lab/m"]
    assert [note for note in told if "judged" in note] == [
        "lab/n: 2 replies (answers) not judged yet, which count as missing; run `fathom judge` on that run too, or "
        "compare with --judge none"
    ]


def test_the_lines_of_one_answer_are_one_target(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = replace(TASKS["unpublished"], name="lines", lines=True)
    monkeypatch.setitem(TASKS, "lines", lines)
    both = ("blue", "green")
    run = make_run(
        tmp_path / "run",
        [(sample(0, "lines", references=both), "blue"), (sample(1, "unpublished", references=both), "blue")],
    )
    assert seen(rows_from_run(run), "task", "target") == [("lines", "blue\ngreen"), ("unpublished", "blue")]


def test_a_run_whose_replies_for_the_judge_are_all_empty_scores_nothing(tmp_path: Path) -> None:
    judged = make_run(tmp_path / "judged", [(sample(0), "blue")])
    ask(judged)
    blank = make_run(tmp_path / "blank", [(sample(0), " \n"), (sample(3, "plain"), "7")], "lab/n")
    ask(blank)
    rows = api.rows([judged, blank])
    assert rows.filter(pl.col("model") == "lab/n", pl.col("task") == "answers")["value"].to_list() == [0.0]
