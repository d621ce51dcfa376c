"""Tables that are read in parts of whole models give the same results, and are never in memory as a whole."""

import os
import subprocess
import sys
from io import BytesIO
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pytest

from fathom import api
from fathom.board.build import SiteSettings, build_site
from fathom.report.made import measured
from fathom.rows import RowsTable, schema, to_frame, write_rows
from fathom.rows.runs import scan
from fathom.types import FathomError, Row

MODELS = ("a", "b", "c", "d")
MOST = 150
"""Rows of a part; a model has fewer, all models have more."""


@pytest.fixture(scope="module")
def frame() -> pl.DataFrame:
    """Rows of all models in turn: repeats, closed-book answers, categories, missing and unanswered replies."""
    rng, rows = Random(4), []
    for epoch in (1, 2):
        for task, length in ((task, length) for task in ("find", "count") for length in (0, 2048, 8192)):
            for item in range(10):
                for place, model in enumerate(MODELS):
                    about = {"category": ("near", "far")[item % 2], "difficulty": ("Easy", "Hard")[item % 2]}
                    about |= {"context": "none"} if not length else {"depth": str(item % 5 / 4)}
                    value = float(rng.random() < 0.3 + place / 6) if length else float(item == 3)
                    lost = place == 3 and task == "count" and length == 8192 and item < 2
                    rows.append(
                        Row(
                            suite="made",
                            task=task,
                            item=f"{task}-{item}",
                            sample=f"{task}-{item}@{length}",
                            model=model,
                            variant="high" if model == "d" and epoch == 2 else "",
                            length=length,
                            value=None if lost else value,
                            epoch=1 if model == "d" else epoch,
                            valid=value == 1,
                            status="error" if lost else "ok",
                            answer=str(item % 4),
                            target="1",
                            chance=0.25 if task == "count" else 0.0,
                            metric="exact",
                            grader=f"rule of {task}",
                            tokenizer=f"tokenizer of {model}",
                            answered=rng.random() < 0.9,
                            facets=about,
                        )
                    )
    return to_frame(rows)


@pytest.fixture
def table(frame: pl.DataFrame, tmp_path: Path) -> Path:
    write_rows(frame, tmp_path / "rows.parquet")
    return tmp_path / "rows.parquet"


@pytest.fixture
def parts(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    """Reading in parts, with the shapes of all tables that come into memory."""
    shapes: list[tuple[int, int]] = []
    collect = pl.LazyFrame.collect

    def collected(self: pl.LazyFrame, *given: Any, **options: Any) -> Any:
        found = collect(self, *given, **options)
        shapes.append(found.shape)
        return found

    monkeypatch.setattr(pl.LazyFrame, "collect", collected)
    monkeypatch.setattr(schema, "LARGE", MOST)
    monkeypatch.setattr("fathom.report.measure.PART", MOST)
    monkeypatch.setattr("fathom.report.measure.cores", lambda most: 1)
    return shapes


def test_parts_are_whole_models_in_the_order_of_the_rows(frame: pl.DataFrame, table: Path, parts: object) -> None:
    read = scan([table])
    assert read.is_large
    assert [name for name, _ in read.models] == list(MODELS)
    found = list(read.parts())
    assert [part["model"].unique(maintain_order=True).to_list() for part in found] == [[name] for name in MODELS]
    for name, part in zip(MODELS, found, strict=True):
        assert part.equals(frame.filter(model=name))
    small = RowsTable(frame.filter(pl.col("model").is_in(["a"])))
    assert [len(part) for part in small.parts()] == [small.count]


def report_of(table: Path) -> dict[str, Any]:
    made = api.report(table, out=table.with_suffix(".json"))
    return made.numbers() | {"tables": list(made)}


def board_of(table: Path) -> dict[str, bytes]:
    site = table.with_suffix("")
    api.board_build(table, out=site, published=False, examples=False, date="2026-11-01")
    return {str(path.relative_to(site)): path.read_bytes() for path in sorted(site.rglob("*")) if path.is_file()}


def compared(table: Path) -> list[Any]:
    return list(api.analyze_compare(table))


@pytest.mark.slow
@pytest.mark.parametrize("measure", [report_of, board_of, compared])
def test_results_in_parts_are_those_of_the_whole(measure: Any, table: Path, request: pytest.FixtureRequest) -> None:
    whole = measure(table)
    shapes = request.getfixturevalue("parts")
    assert measure(table) == whole
    rows = len(MODELS) * 120
    assert max(height for height, _ in shapes) <= MOST < rows


@pytest.mark.slow
@pytest.mark.parametrize("most", [MOST, 10_000], ids=["files", "memory"])
def test_a_report_by_processes_is_that_of_one(
    most: int, table: Path, monkeypatch: pytest.MonkeyPatch, parts: object
) -> None:
    one = report_of(table)
    told: list[tuple[int, int]] = []
    monkeypatch.setattr(schema, "LARGE", most)
    monkeypatch.setattr("fathom.report.measure.cores", lambda most: 2)
    monkeypatch.delattr("fathom.report.measure._measured")  # the processes have it
    made = api.report(table, out=table.with_suffix(".json"), progress=lambda *done: told.append(done))
    assert made.numbers() | {"tables": list(made)} == one
    assert told == [(done, 2 * len(MODELS)) for done in range(1, 2 * len(MODELS) + 1)]


@pytest.mark.slow
def test_a_page_drawn_by_processes_is_that_of_one(frame: pl.DataFrame, monkeypatch: pytest.MonkeyPatch) -> None:
    made = measured(frame)
    one = made.html()
    monkeypatch.setattr("fathom.report.sections.position.MANY_DRAWINGS", 1)
    monkeypatch.setattr("fathom.report.sections.position.cores", lambda most: 2)
    monkeypatch.delattr("fathom.report.sections.position.line_figures")  # the processes have it
    assert made.html() == one


@pytest.mark.slow
def test_boards_made_by_processes_are_those_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def built(name: str) -> dict[str, bytes]:
        build_site(
            SiteSettings(examples=False, boards=("ada", "hundred", "leader-32k", "leader-128k")), tmp_path / name
        )
        files = (path for path in (tmp_path / name).rglob("*") if path.is_file())
        return {str(path.relative_to(tmp_path / name)): path.read_bytes() for path in files}

    one = built("one")
    monkeypatch.setattr("fathom.board.build.MANY_PAIRS", 1)
    monkeypatch.setattr("fathom.board.build.cores", lambda most: 2)
    monkeypatch.delattr("fathom.board.table.ranking")  # the processes have it
    assert built("many") == one


@pytest.mark.slow
def test_parts_for_other_processes_are_small_and_do_not_depend_on_the_folder(
    frame: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: object
) -> None:
    monkeypatch.chdir(tmp_path)
    write_rows(frame, Path("rows.parquet"))
    write_rows(frame, Path("rows.csv"))
    half = frame.filter(pl.col("model").is_in(["a", "b"]))
    write_rows(half, Path("half.jsonl"))
    write_rows(frame.filter(~pl.col("model").is_in(["a", "b"])), Path("other.csv"))
    whole = len(frame.lazy().serialize())
    found = [scan([Path("rows.parquet")]), scan([Path("rows.csv")]), scan([Path("half.jsonl"), Path("other.csv")])]
    found += [RowsTable(frame), RowsTable(frame.with_row_index("number")).each(lambda rows, _: rows.drop("number"))]
    sent = [[part.rows.serialize() for part in table.divided(MOST)] for table in found]
    for own in sent[:3]:
        assert max(map(len, own)) < whole / 4
    assert max(len(part) for own in sent[3:] for part in own) < whole / 2
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    for own in sent:
        assert len(own) == len(MODELS)
        read = pl.concat(pl.LazyFrame.deserialize(BytesIO(part)).collect() for part in own)
        assert read.equals(frame.sort("model", maintain_order=True))


MEASURED = """
import sys
import polars as pl
from fathom.report.measure import measure
results = measure(pl.read_parquet(sys.argv[1]))
print(pl.thread_pool_size(), len(results.of_sections["depths"]))
for measured in (results.average, results.by_cell, results.of_sections):
    print(measured)
"""


@pytest.mark.slow
def test_numbers_do_not_depend_on_the_threads_of_polars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    rng = Random(9)
    made = [
        Row("made", "find", f"item-{item}", f"item-{item}@{length}", "m", length, rng.random(), seconds=rng.random(),
            cost=rng.random(), valid=True, status="ok", answered=True,
            facets={"depth": item % 5 / 4, "difficulty": ("Easy", "Hard")[item % 2]})
        for item in range(2500)
        for length in (2048, 8192)
    ]  # fmt: skip
    write_rows(to_frame(made), tmp_path / "rows.parquet")

    monkeypatch.setattr(sys, "argv", ["", str(tmp_path / "rows.parquet")])
    exec(MEASURED, {})  # noqa: S102  # as the other process does
    threads, *one = capsys.readouterr().out.splitlines()
    assert threads == "1 10"  # conftest.py says so
    code = [sys.executable, "-c", MEASURED, str(tmp_path / "rows.parquet")]
    environment = os.environ | {"POLARS_MAX_THREADS": "4"}
    said = subprocess.run(code, env=environment, capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["4 10", *one]


def test_rows_are_written_without_reading_them_as_a_whole(
    frame: pl.DataFrame, table: Path, parts: list[tuple[int, int]]
) -> None:
    out = table.with_name("copy.parquet")
    from fathom.commands.rows import RowsOptions, _written

    assert _written(RowsOptions(table, out)).count == len(frame)
    assert max(height for height, _ in parts) <= MOST
    assert pl.read_parquet(out).equals(frame)


def test_a_reply_that_is_there_twice_counts_once(frame: pl.DataFrame, table: Path, parts: object) -> None:
    again = table.with_name("again.parquet")
    write_rows(frame.head(7), again)
    read = scan([table, again])
    assert read.read().equals(frame)
    assert pl.concat(read.slices()).collect().equals(frame)
    write_rows(frame.head(1).with_columns(value=0.5), again)
    with pytest.raises(FathomError, match=r"again\.parquet: 2 different replies of model 'a'"):
        scan([table, again])


def test_a_bad_value_of_a_large_table_is_named(frame: pl.DataFrame, table: Path, parts: object) -> None:
    write_rows(frame.with_columns(value=pl.when(pl.int_range(pl.len()) == 333).then(7.0).otherwise("value")), table)
    with pytest.raises(FathomError, match=r"rows\.parquet: row 334: value is 7\.0"):
        scan([table])


def test_a_table_that_is_gone_is_named(table: Path, parts: object) -> None:
    read = scan([table])
    table.unlink()
    with pytest.raises(FathomError, match=r"rows\.parquet: cannot be read"):
        list(read.parts())
