"""Results in a notebook: the tables first, all else folded, every text escaped, pictures that a notebook keeps."""

from __future__ import annotations

import ast
import base64
import dataclasses
import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from report_rows import make_rows

from fathom import api
from fathom.analysis import curve
from fathom.printing import readable
from fathom.report.made import Report, measured
from fathom.report.notebook import LEFT_OUT
from fathom.report.studies import StudyResults, as_markup
from fathom.report.table import Cell, Column, Table
from fathom.types import FathomError

html = pytest.importorskip("lxml.html")

HOSTILE = "<img src=x onerror=alert(1)>&\"'</td></table><script>alert(1)</script>"
ALLOWED = {
    *("div", "h3", "p", "table", "thead", "tbody", "tr", "th", "td", "caption", "br", "small", "sup", "img"),
    *("details", "summary", "ul", "li"),
}


def elements(page: str) -> Any:
    return html.fragment_fromstring(page, create_parent="div")


def only_ours(page: str) -> None:
    """Nothing in the page is an element or an attribute that a text from outside has brought along."""
    for one in elements(page).iter():
        assert one.tag in ALLOWED, one.tag
        assert set(one.attrib) <= {"scope", "alt", "src"}, one.attrib
        assert one.get("src", "data:image/svg+xml;base64,").startswith("data:image/svg+xml;base64,")


@pytest.fixture(scope="module")
def rows() -> pl.DataFrame:
    return make_rows(models=2, tasks=2, items=6, lengths=(2048, 8192, 32768))


@pytest.fixture(scope="module")
def made(rows: pl.DataFrame) -> Report:
    return measured(rows, notes=["one run is unfinished"])


@pytest.mark.slow
def test_a_report_begins_with_the_answer_what_was_not_measured_and_the_ranking(made: Report) -> None:
    page = elements(made._repr_html_())
    answers = list(map(str, made.summary.answers))
    assert answers
    assert [part.text for part in page[: len(answers) + 1]] == [*answers, "Not measured:"]
    assert "one run is unfinished." in page[len(answers) + 1].text_content()
    assert page.find("h3").text == "At a glance"
    first = page.find("table")
    names = [line[0].text for line in first.findall("tbody/tr")]
    assert names == [line[0].text for line in made[0].rows]
    (drawing,) = page.findall("img")
    assert drawing.get("alt")
    svg = base64.b64decode(drawing.get("src").partition(",")[2]).decode()
    assert svg.startswith("<svg")
    assert all(name.partition("?")[0] in svg for name in names)


def test_the_rest_is_folded_or_only_in_the_page(made: Report) -> None:
    page = elements(made._repr_html_())
    (more,) = page.findall("details")
    folded = [one.text for one in more.iter("h3")]
    shown = [one.text for one in page.findall("h3")]
    left = [table.title for table in made if table.section in LEFT_OUT]
    assert left
    assert sorted(folded + shown + left) == sorted(table.title for table in made)
    assert shown == ["At a glance"]


def test_a_report_without_any_score_has_no_picture_and_says_so(rows: pl.DataFrame) -> None:
    without = rows.with_columns(pl.lit(None, pl.Float64).alias("value"), pl.lit("error").alias("status"))
    page = measured(without)._repr_html_()
    assert "<img" not in page
    assert "has no scored replies and therefore no score." in page


@pytest.mark.slow
def test_a_model_that_left_all_unanswered_has_a_score_of_0(rows: pl.DataFrame) -> None:
    silent = pl.col("model") == "acme/long-1"
    changed = rows.with_columns(
        pl.when(silent).then(None).otherwise(pl.col("value")).alias("value"),
        pl.when(silent).then(pl.lit("refused")).otherwise(pl.col("status")).alias("status"),
        pl.when(silent).then(False).otherwise(pl.col("answered")).alias("answered"),
    )
    zero, drop = measured(changed)._repr_html_(), measured(changed, unanswered="drop")._repr_html_()
    assert "has no scored replies" not in zero
    assert "has no scored replies and therefore no score." in drop


@pytest.mark.slow
def test_texts_from_outside_are_text_in_reports_and_studies(rows: pl.DataFrame) -> None:
    named = pl.when(pl.col("model") == "acme/long-1").then(pl.lit(HOSTILE)).otherwise(pl.col("model"))
    task = pl.when(pl.col("task") == "kv_retrieval").then(pl.lit("t" + HOSTILE)).otherwise(pl.col("task"))
    hostile = rows.with_columns(named.alias("model"), task.alias("task"), pl.lit(HOSTILE).alias("variant"))
    shown = [
        measured(hostile, notes=[HOSTILE])._repr_html_(),
        StudyResults(curve(hostile))._repr_html_(),
    ]
    for page in shown:
        only_ours(page)
        assert "onerror=alert(1)" in elements(page).text_content()
        assert "<script" not in page


def test_texts_from_outside_are_text_in_tables() -> None:
    cell = Cell(HOSTILE, HOSTILE, HOSTILE, below=(HOSTILE,))
    table = Table(HOSTILE, "", HOSTILE, HOSTILE, (Column(HOSTILE, group=HOSTILE),), ((cell,),), denominator="none")
    page = as_markup(table)
    only_ours(page)
    assert page.count("&lt;img src=x") == 8  # title, about, group, heading, and a cell with its interval, line and note


def test_a_note_has_the_number_of_its_cells() -> None:
    cells = (Cell("1.0", note="first"), Cell("2.0"), Cell("3.0", note="second"), Cell("4.0", note="first"))
    page = elements(as_markup(Table("t", "", "T", "", tuple(map(Column, "abcd")), (cells,), denominator="none")))
    assert [one.text_content() for one in page.iter("td")] == ["1.01", "2.0", "3.02", "4.01"]
    assert [one.text_content() for one in page.findall("p")] == ["1 first", "2 second"]


@readable
@dataclasses.dataclass(frozen=True)
class Named:
    name: str
    more: tuple[Any, ...] = ()


def test_texts_from_outside_are_text_in_values() -> None:
    shown: Any = Named(HOSTILE, (Named(HOSTILE), Named(HOSTILE)))
    page = shown._repr_html_()
    only_ours(page)
    assert elements(page).text_content().count("onerror=alert(1)") == 3


def test_large_arrays_show_their_shape() -> None:
    assert repr(Named("x", (1,))) == "Named\n  name  x\n  more  1"
    held: Any = Named(pl.DataFrame({"a": range(1200), "b": range(1200)}))  # type: ignore[arg-type]
    assert repr(held) == "Named\n  name  1,200 x 2 values"


def returned() -> Iterator[tuple[str, type]]:
    """Functions of the API with the class that each returns, where it is one."""
    for name, function in vars(api).items():
        if not hasattr(function, "options"):
            continue
        module = sys.modules[function.body.__module__]
        nodes = ast.walk(ast.parse(Path(str(module.__file__)).read_text("utf-8")))
        imported = {
            one.asname or one.name: (node.module, one.name)
            for node in nodes
            if isinstance(node, ast.ImportFrom) and node.module
            for one in node.names
        }
        said = inspect.signature(function.body).return_annotation
        for word in re.findall(r"\w+", said) if isinstance(said, str) and "[" not in said else ():
            if word in imported:
                yield name, getattr(importlib.import_module(imported[word][0]), imported[word][1])
        if isinstance(said, type):
            yield name, said


def test_every_value_of_the_api_shows_itself() -> None:
    kinds = {(name, kind) for name, kind in returned() if dataclasses.is_dataclass(kind)}
    assert len(kinds) > 20
    assert sorted(name for name, kind in kinds if not hasattr(kind, "_repr_html_")) == []


def test_an_error_is_its_message_in_a_notebook() -> None:
    kinds: list[type[FathomError]] = [FathomError, *FathomError.__subclasses__()]
    own_init = FathomError.__init__
    for kind in kinds:
        if kind.__init__ is not own_init:
            continue
        assert kind("a\nb")._render_traceback_() == [f"{kind.__name__}: a\nb"]
