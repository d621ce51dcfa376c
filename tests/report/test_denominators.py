"""Every table of the program names what its shares and means are over."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

import fathom
from fathom import analysis
from fathom.report.measure import measure
from fathom.report.page import page
from fathom.report.results import Results
from fathom.report.studies import as_markup, tables_of
from fathom.report.summary import summary, summary_text
from fathom.report.table import Cell, Column, Table
from fathom.report.tables import tables_of as report_tables
from fathom.report.terminal import show
from fathom.rows import to_frame
from fathom.types import Row
from fathom.types.denominators import DENOMINATORS

MAKERS = ("Table", "table_of")
SOURCES = sorted((Path(fathom.__file__).parent).rglob("*.py"))


def constructors() -> Iterator[tuple[str, ast.Call]]:
    """Every place where a table is made: in modules that import one of ``MAKERS``, and where they are defined."""
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = any(
            isinstance(node, ast.ImportFrom)
            and node.module in ("fathom.report.table", "fathom.report")
            and any(name.name in MAKERS for name in node.names)
            for node in ast.walk(tree)
        )
        for node in ast.walk(tree):
            if imported and isinstance(node, ast.Call) and getattr(node.func, "id", "") in MAKERS:
                yield f"{path.name}:{node.lineno}", node


@pytest.mark.slow
def test_every_table_of_the_program_names_its_denominator() -> None:
    made = list(constructors())
    assert len(made) >= 30
    without = [place for place, call in made if "denominator" not in {keyword.arg for keyword in call.keywords}]
    assert without == []
    with pytest.raises(TypeError, match="denominator"):
        Table("name", "", "Title", "", (), ())  # type: ignore[call-arg]


def rows_of_everything() -> list[Row]:
    """Two models with lengths, depths, groups, repeats, thinking, options and truncated prompts."""
    rng = np.random.default_rng(0)
    rows = []
    for model, right in (("a", 0.9), ("b", 0.5)):
        for thinking in ("on", "off"):
            for item in range(6):
                for length in (2048, 8192):
                    for epoch in (1, 2):
                        name = f"qa/{item}"
                        facets = {
                            "depth": (0.0, 0.5, 1.0)[item % 3],
                            "difficulty": ("Easy", "Hard")[item % 2],
                            "category": ("one", "two")[item % 2],
                            "thinking": thinking,
                            "example": "A",
                            "answers": 4,
                            "gold": 1 + item % 4,
                        }
                        rows.append(
                            Row(
                                "s", "qa", name, f"{name}@{length}", model, length, float(rng.random() < right),
                                variant=thinking, epoch=epoch, status="ok", valid=True, chance=0.25, facets=facets,
                                answer="A", target="ABCD"[item % 4], tokens_reasoning=20, language="en",
                            )
                        )  # fmt: skip
    return rows


@pytest.fixture(scope="module")
def results() -> Results:
    return measure(to_frame(rows_of_everything()))


@pytest.fixture(scope="module")
def found(results: Results) -> list[Table]:
    rows = to_frame(rows_of_everything())
    studies: list[Sequence[Any]] = [
        analysis.curve(rows),
        analysis.longscore(rows),
        analysis.effective_length(rows),
        analysis.position(rows),
        analysis.position_contrasts(rows),
        analysis.breakdown(rows, by=("overall", "difficulty")),
        analysis.repeats(rows),
        analysis.neighbours(rows),
        analysis.thinking_gain(rows),
        analysis.categories(rows),
        analysis.answers(rows),
        analysis.counts(rows),
        analysis.compare(rows, "a", "b", variant_a="on", variant_b="on"),
        analysis.agreement(rows),
    ]
    return [*report_tables(results), *(table for study in studies for table in tables_of(study))]


@pytest.mark.slow
def test_tables_with_shares_or_intervals_have_one(found: list[Table]) -> None:
    assert len({table.name.rstrip("0123456789-") for table in found}) >= 16
    for table in found:
        named = {table.denominator, *(column.denominator for column in table.columns)} - {"none", None}
        assert named <= set(DENOMINATORS)
        has_interval = any(cell.interval for row in table.rows for cell in row)
        assert named or not has_interval, table.name
        assert bool(table.divided_by) is bool(named)


@pytest.mark.slow
def test_differences_are_over_what_is_shared_and_scores_over_what_is_scored(found: list[Table]) -> None:
    over = {table.name: table.divided_by for table in found}
    assert over["headline"] == "Denominator: scored; Difference: shared; Scored: asked."
    assert over["pair-1"] == "Denominator: shared."
    assert over["position-1"] == "Denominator: scored."
    assert over["thinking"] == "Denominator: shared; Tokens: received."
    assert over["answers-1-form"] == "Denominator: scored; Copies: answered."
    assert over["counts"] == over["settings"] == ""


def test_columns_with_the_denominator_of_the_table_are_not_named_again() -> None:
    columns = (
        Column("Model"),
        Column("A", denominator="scored"),
        Column("B", denominator="shared"),
        Column("C", denominator="shared"),
    )
    table = Table("t", "", "T", "", columns, ((Cell("m"),) * 4,), denominator="scored")
    assert table.divided_by == "Denominator: scored; B, C: shared."
    assert dataclasses.replace(table, denominator="none").divided_by == "Denominator: A: scored; B, C: shared."


def test_every_output_shows_the_denominator_and_the_page_explains_them(results: Results) -> None:
    line = report_tables(results)[0].divided_by
    out = StringIO()
    show([report_tables(results)[0]], Console(file=out, width=200))
    shown = page(results)
    assert line in out.getvalue()
    assert line in as_markup(report_tables(results)[0])
    assert line in summary_text(summary(results), "Report")
    assert line in shown
    assert f'<p class="divided">{report_tables(results)[1].divided_by}</p>' in shown
    for name, meaning in DENOMINATORS.items():
        assert f"{name.capitalize()}: {meaning}." in shown
