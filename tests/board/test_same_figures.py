"""One engine: report, ranks, ``compare``, board, downloads and data of the page agree where the rows are the same."""

from __future__ import annotations

import io
from random import Random
from typing import Any

import polars as pl
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from fathom.analysis import compare
from fathom.board.board_data import board_files
from fathom.board.differences import OVERALL
from fathom.board.downloads import downloads
from fathom.board.measured import measured
from fathom.board.results import Batch
from fathom.board.table import Table, model_keys, table
from fathom.report.measure import measure
from fathom.report.results import ALL, Results, System
from fathom.rows import to_frame
from fathom.rows.table import RowsTable
from fathom.stats.intervals import Interval
from fathom.stats.ranks import MaxT
from fathom.types.boards import Board, Category, Part
from made_results_board import row

TASKS, LENGTHS = ("find", "count", "order"), (1024, 2048)
BOARD = Board(
    id="alike",
    title="Alike",
    suites=("made",),
    about="Nothing.",
    rule="mean of tasks",
    categories=tuple(Category(task, task, (Part((task,)),)) for task in TASKS),
    lengths=LENGTHS,
)
SCORES = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.0])


@st.composite
def made(draw: st.DrawFn) -> pl.DataFrame:
    """Rows of two or three models on the same questions of three tasks at two lengths."""
    models, items = draw(st.integers(2, 3)), draw(st.integers(3, 9))
    cells = [
        (task, f"{task}/{n}", length, f"m{model}")
        for model in range(models)
        for task in TASKS
        for n in range(items)
        for length in LENGTHS
    ]
    values = draw(st.lists(SCORES, min_size=len(cells), max_size=len(cells)))
    pairs = zip(cells, values, strict=True)
    return to_frame([row(task, item, value, length, model=model) for (task, item, length, model), value in pairs])


def board_of(rows: pl.DataFrame) -> Table:
    entries = measured([BOARD], Batch(RowsTable(rows))).entries
    return table(BOARD, entries[BOARD.id], model_keys(entries))


def ends(interval: Interval | None) -> Any:
    assert interval is not None
    return pytest.approx([interval.low, interval.high], abs=1.1e-5)


@pytest.mark.slow
@settings(max_examples=4, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
@given(made())
def test_the_same_rows_give_the_same_figures_everywhere(rows: pl.DataFrame) -> None:
    report, board = measure(rows), board_of(rows)
    files = dict(board_files(board))
    frame = pl.read_parquet(io.BytesIO(downloads([board], "2026-01-01")["all.parquet"]))
    _scores(report, board, files, frame)
    _ranks(report, board, files, frame)
    _differences(rows, report, board, files)


def _scores(report: Results, board: Table, files: dict[str, Any], frame: pl.DataFrame) -> None:
    for line, shown in zip(board.entries, files["boards/alike"]["entries"], strict=True):
        headline = report.average[System(line.entry.model, ""), ALL]
        overall = line.standing.overall
        assert overall is not None
        assert overall.value == pytest.approx(headline.mean)
        assert shown["overall"][1] == ends(headline.interval)
        assert shown["overall"][1] == ends(overall.interval)
        (low, high), *_ = frame.filter(figure="overall", key=line.key).select("low", "high").rows()
        assert shown["overall"][1] == [low, high]
        for task, own in zip(TASKS, files["cells/alike"]["overTasks"][line.key], strict=True):
            assert own[1] == ends(report.average[System(line.entry.model, ""), task].interval)


def _ranks(report: Results, board: Table, files: dict[str, Any], frame: pl.DataFrame) -> None:
    ranks = {one.model: [one.best, one.worst] for one in report.ranking}
    assert {file["model"]: file["rank"] for file in files["boards/alike"]["entries"]} == ranks
    lines = frame.filter(figure="overall").select("model", "rank_low", "rank_high").rows()
    assert {model: [low, high] for model, low, high in lines} == ranks
    for line in board.entries:
        signs = files[f"pairs/alike/{line.key}"]["sure"]
        assert line.rank == (1 + signs.count("-"), len(signs) - signs.count("+"))


def _differences(rows: pl.DataFrame, report: Results, board: Table, files: dict[str, Any]) -> None:
    """Of ``compare``, of the table of ranks, of the board, and in the data of the page."""
    ranked = {one.model: one for one in report.ranking}
    places = [one.model for one in report.ranking]
    for first, line in enumerate(board.entries):
        for below, other in enumerate(board.entries[first + 1 :], start=first + 1):
            pairs = {one.task: one for one in compare(rows, line.entry.model, other.entry.model) if one.length is None}
            gap = ranked[line.entry.model].gaps[places.index(other.entry.model)]
            pairs_of_line = files[f"pairs/alike/{line.key}"]
            shown = dict(zip(TASKS, pairs_of_line["tasks"][other.key], strict=True))
            overall = [column[below] for column in pairs_of_line["overall"]]
            for task, data in {OVERALL: overall, **shown}.items():
                found, own = pairs[task or ALL], board.ranking.between[task][first, below]
                said = [found.difference, found.interval.low, found.interval.high, found.p_value]
                assert [unit / 100_000 for unit in data[:4]] == pytest.approx(said, abs=1.1e-5)
                assert (data[4], own.shared) == (found.items, found.items)
                for one in (own.gap, *([gap] if task == OVERALL and gap is not None else [])):
                    assert [one.difference, one.interval.low, one.interval.high, one.p_value] == pytest.approx(said)


@pytest.mark.slow
@pytest.mark.parametrize("shared", [False, True])
def test_ranks_in_a_report_and_on_a_board_are_of_the_same_random_signs(
    shared: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a difference between the two critical values has a rank in one and none in the other."""
    drawn = Random(5)

    def facets(document: int) -> dict[str, str]:
        return {"cluster": f"document {document}"} if shared else {}

    rows = to_frame(
        [
            row(task, f"{task}/{n}", drawn.random(), length, model=f"m{model}", facets=facets(n))
            for model in range(3)
            for task in TASKS
            for n in range(7)
            for length in LENGTHS
        ]
    )
    critical = MaxT.critical
    found: list[float] = []

    def noted(tested: MaxT) -> float:
        found.append(critical(tested))
        return found[-1]

    monkeypatch.setattr(MaxT, "critical", noted)
    measure(rows)
    of_report = found.copy()
    board_of(rows)
    assert of_report[-1] == pytest.approx(found[-1], rel=1e-9)
    assert len(found) > len(of_report)
