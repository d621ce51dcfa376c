"""A run that stops as soon as replies enough are there."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from run_suites import make_suite

from engine_calls import run
from fathom.api import gate
from fathom.api import run as run_by_api
from fathom.rows import load, write_rows
from fathom.run import session
from fathom.runfile.store import replies
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError
from fathom.types.samples import place_of


@pytest.fixture(autouse=True)
def looks_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LOOK_SECONDS", 0.0)
    monkeypatch.setattr(session, "LOOKING_SHARE", math.inf)


@pytest.mark.slow
def test_it_ends_when_enough_is_there_and_the_same_call_asks_for_nothing_more(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 400)

    def enough(folder: Path) -> str:
        return "PASS: it is enough" if len(list(replies(folder))) >= 5 else ""

    for _ in range(2):
        summary = run(suite, "fathom/first", out=tmp_path / "run", max_connections=1, enough=enough)
        assert summary.progress is not None
        assert 5 <= summary.progress.finished < 400
        assert summary.hints[0].startswith("PASS: it is enough; ")
        assert len(list(replies(tmp_path / "run"))) == summary.progress.finished
    rest = run(suite, "fathom/first", out=tmp_path / "run", max_connections=1)
    assert rest.progress is not None
    assert rest.progress.finished == 400


def test_items_are_asked_in_the_order_of_the_bets(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 40)
    run(suite, "fathom/first", out=tmp_path / "run", max_connections=1, enough=lambda folder: "")
    stored = sorted(replies(tmp_path / "run"), key=lambda reply: reply.finished_at)
    samples = list(open_suite(suite).samples())
    hashed = sorted(samples, key=lambda sample: place_of(sample.task, sample.item))
    assert [reply.sample for reply in stored] == [sample.id for sample in hashed]


def test_a_look_that_fails_is_repeated(tmp_path: Path) -> None:
    suite, looks = make_suite(tmp_path, 400), []

    def enough(folder: Path) -> str:
        looks.append(folder)
        if len(looks) == 2:
            raise FathomError("the file is being replaced")
        return "FAIL: it is enough" if len(looks) > 2 else ""

    summary = run(suite, "fathom/first", out=tmp_path / "run", max_connections=1, enough=enough)
    assert summary.hints[0].startswith("FAIL: it is enough")


@pytest.mark.slow
def test_a_model_that_is_worse_fails_before_all_is_asked(tmp_path: Path) -> None:
    suite, base = make_suite(tmp_path, 700), tmp_path / "base.parquet"
    run_by_api(suite, "fathom/lexical", tmp_path / "base")
    write_rows(load([tmp_path / "base"]).with_columns(value=pl.lit(1.0)), base)
    summary = run_by_api(suite, "fathom/lexical", tmp_path / "run", until=base, margin=0.1, max_connections=1)
    assert summary.progress is not None
    assert summary.progress.finished < 700
    (decided,) = [hint for hint in summary.hints if hint.startswith("FAIL")]
    spared = 700 - summary.progress.finished
    tokens = spared * summary.progress.tokens_in / summary.progress.finished
    assert f"{spared} of 700 requests and about {tokens:,.0f} prompt tokens were spared" in decided
    again = gate(tmp_path / "run", baseline=base, margin=0.1, sequential=True)
    assert (again.decision, again.looks) == ("FAIL", "any")


def test_a_defect_of_the_looks_is_told_and_all_is_asked(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 20)
    told: list[str] = []
    looks = [""]
    summary = run(
        suite, "fathom/first", out=tmp_path / "run", max_connections=1, tell=told.append, enough=lambda _: looks.pop()
    )
    assert summary.progress is not None
    assert summary.progress.finished == 20
    assert any("cannot be decided while the run goes on" in line for line in told)


@pytest.mark.parametrize("other", [{"shard": "1/2"}, {"batch": True}])
def test_shards_and_batches_cannot_stop_early(tmp_path: Path, other: dict[str, Any]) -> None:
    suite = make_suite(tmp_path, 2)
    with pytest.raises(FathomError, match="`until` looks at the replies of this process"):
        run_by_api(suite, "fathom/first", tmp_path / "run", until=tmp_path / "base", **other)


def test_a_baseline_that_cannot_decide_is_refused_before_anything_is_asked(tmp_path: Path) -> None:
    suite, other = make_suite(tmp_path / "a", 30), tmp_path / "rows.parquet"
    run_by_api(suite, "fathom/lexical", tmp_path / "base")
    rows = load([tmp_path / "base"])
    write_rows(rows.with_columns(suite=pl.lit("another"), sample=pl.col("sample") + "x"), other)
    waits = pl.int_range(pl.len()) > 5
    part = rows.with_columns(
        status=pl.when(waits).then(pl.lit("error")).otherwise("status"),
        detail=pl.when(waits).then(pl.lit("not asked yet")).otherwise("detail"),
        value=pl.when(~waits).then("value"),
    )
    write_rows(part, tmp_path / "part.parquet")
    for until, words in (
        (tmp_path / "run", "is this run itself"),
        (other, "it is of another suite"),
        (tmp_path / "part.parquet", "is unfinished: 24 of 30 prompts were not asked"),
    ):
        with pytest.raises(FathomError, match=words):
            run_by_api(suite, "fathom/lexical", tmp_path / "run", until=until)
        assert not (tmp_path / "run").exists() or not list(replies(tmp_path / "run"))
    alone: tuple[dict[str, Any], ...] = ({"margin": 0.05}, {"alpha": 0.1})
    for given in alone:
        with pytest.raises(FathomError, match="is for `until`, which is missing"):
            run_by_api(suite, "fathom/lexical", tmp_path / "run", **given)
    with pytest.raises(FathomError, match="margin 3: expected a fraction"):
        run_by_api(suite, "fathom/lexical", tmp_path / "run", until=tmp_path / "base", margin=3.0)


def test_what_is_decided_by_the_last_reply_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "LOOK_SECONDS", 1000.0)
    suite = make_suite(tmp_path, 20)
    summary = run(
        suite, "fathom/first", out=tmp_path / "run", max_connections=1,
        enough=lambda folder: "PASS: all is there" if len(list(replies(folder))) == 20 else "",
    )  # fmt: skip
    assert summary.hints[0] == "PASS: all is there"
