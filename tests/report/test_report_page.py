"""The page: complete in itself, safe against what models and people write, the same figures as the terminal."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from io import StringIO
from pathlib import Path

import polars as pl
import pytest
from report_rows import LENGTHS, make_rows
from rich.console import Console

from fathom.report.made import measured, report, write
from fathom.report.measure import measure
from fathom.report.page import page
from fathom.report.results import Results
from fathom.report.tables import tables_of
from fathom.report.terminal import show
from fathom.types import FathomError

pytestmark = pytest.mark.slow  # all look at what takes long to make

HOSTILE = "<script>alert(1)</script>&\"'[bold]\x1b[31m\x00\u202e/_?"


class Reader(HTMLParser):
    """Collects elements, their attributes, and the texts of tables by id."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.tables: dict[str, list[list[str]]] = {}
        self.texts: list[str] = []
        self._table: list[list[str]] = []
        self._in_cell = self._in_sup = False

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "table":
            self._table = self.tables.setdefault(str(dict(attrs)["id"]), [])
        elif tag == "tr":
            self._table.append([])
        elif tag in ("td", "th"):
            self._table[-1].append("")
            self._in_cell = True
        self._in_sup = self._in_sup or tag == "sup"

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self._in_cell = False
        elif tag == "sup":
            self._in_sup = False

    def handle_data(self, data: str) -> None:
        self.texts.append(data)
        if self._in_cell and not self._in_sup:
            self._table[-1][-1] += data


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


@pytest.fixture(scope="module")
def results() -> Results:
    return measure(make_rows(tasks=4, items=8))


@pytest.fixture(scope="module")
def text(results: Results) -> str:
    return page(results)


def test_the_page_shows_every_table_with_its_figures(results: Results, text: str) -> None:
    shown = read(text).tables
    for table in tables_of(results):
        lines = [[" ".join(cell.split()) for cell in row] for row in shown[table.name][-len(table.rows) :]]
        assert lines == [[str(cell) for cell in row] for row in table.rows], table.name
        for note in table.notes:
            assert note in "".join(read(text).texts)


def test_the_terminal_shows_the_same_figures(results: Results) -> None:
    out = StringIO()
    show(tables_of(results), Console(file=out, width=400), details=True)
    words = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]", "", out.getvalue())
    for table in tables_of(results):
        for row in table.rows:
            for cell in row:
                assert cell.text in words
                assert all(line in words for line in cell.small)


@pytest.mark.parametrize("width", [40, 80, 120])
def test_the_terminal_keeps_to_its_width(results: Results, width: int) -> None:
    out = StringIO()
    show(tables_of(results), Console(file=out, width=width), details=True)
    assert max(len(line) for line in out.getvalue().splitlines()) <= width
    whole = "".join(out.getvalue().split())
    assert results.systems[0].name.replace(" ", "") in whole or width == 40


def test_the_headline_is_one_block_of_120_columns(results: Results) -> None:
    out = StringIO()
    name = "fathom/lexical?window=16k&truncate=middle"
    headline = tables_of(results)[0]
    row = (replace(headline.rows[0][0], text=name), *headline.rows[0][1:])
    show([replace(headline, rows=(row, *headline.rows[1:]))], Console(file=out, width=120))
    lines = out.getvalue().splitlines()
    assert sum(line.startswith("Model") for line in lines) == 1
    start = next(number for number, line in enumerate(lines) if "=16k" in line)
    folded = [line.split()[0] for line in lines[start - 1 : start + 2]]
    assert folded == ["fathom/lexical", "?window=16k", "&truncate=middle"]


def test_the_page_loads_nothing(text: str) -> None:
    tags = read(text).tags
    assert not [
        name for name, _ in tags if name in ("img", "iframe", "object", "embed", "audio", "video", "image", "use")
    ]
    for name, attributes in tags:
        assert "src" not in attributes, name
        assert name in ("a", "link") or not {"href", "xlink:href"} & set(attributes), name
    assert {attributes["href"] for name, attributes in tags if name == "link"} == {"data:,"}
    assert not re.search(r"https?://|@import|url\(", text)


def test_the_policy_admits_the_pages_own_script_and_no_other(text: str) -> None:
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}';" in policy


def test_names_from_outside_are_text_and_nothing_else() -> None:
    rows = make_rows(models=2, tasks=2, items=4, lengths=(2048, 4096, 8192)).with_columns(
        model=pl.lit(HOSTILE) + pl.col("model"),
        task=pl.lit(HOSTILE) + pl.col("task"),
        suite=pl.lit(HOSTILE),
        answer=pl.lit(HOSTILE),
    )
    measured = measure(rows)
    text = page(measured, title=HOSTILE)
    assert text.count("<script") == 1
    assert "alert(1)" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\0" not in text
    assert not [attributes for _, attributes in read(text).tags if any(name.startswith("on") for name in attributes)]
    out = StringIO()
    show(tables_of(measured), Console(file=out, width=200, force_terminal=False), details=True)
    assert "[bold]" in out.getvalue()
    assert "\x1b" not in out.getvalue()


def test_the_same_rows_give_the_same_bytes(tmp_path: Path) -> None:
    rows = make_rows(models=1, tasks=1, items=4, lengths=(2048, 8192))
    first, second = tmp_path / "a.html", tmp_path / "deep" / "b.html"
    assert report(rows, first) == report(rows, second)
    assert first.read_bytes() == second.read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.html", "deep"]


def test_a_page_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    rows = make_rows(models=1, tasks=1, items=2, lengths=(2048,))
    with pytest.raises(FathomError, match=r"report\.html: cannot be written"):
        report(rows, tmp_path / "file" / "report.html")
    (tmp_path / "report.html").mkdir()
    with pytest.raises(FathomError, match=r"report\.html: cannot be written"):
        report(rows, tmp_path / "report.html")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "report.html"]


@pytest.mark.parametrize(
    "rows",
    [
        make_rows(models=1, tasks=1, items=1, lengths=(8192,), failures=False),
        make_rows(models=7, tasks=1, items=2, lengths=(4096, 16384)),
        make_rows(models=2, tasks=2, items=2).with_columns(
            value=pl.lit(None, dtype=pl.Float64), status=pl.lit("error")
        ),
        make_rows(models=2, tasks=3, items=2, lengths=(2048, 8192)).filter(pl.col("task") != "passkey"),
    ],
    ids=["one of everything", "more models than one chart holds", "nothing scored", "a task is missing"],
)
def test_extremes(rows: pl.DataFrame) -> None:
    text = page(measure(rows))
    assert text.startswith("<!DOCTYPE html>")
    reader = read(text)
    assert "headline" in reader.tables
    assert "NaN" not in text
    assert "None" not in "".join(reader.texts)


def test_tables_and_figures_can_be_read_without_seeing(text: str) -> None:
    tags = read(text).tags
    assert all(attributes.get("scope") for name, attributes in tags if name == "th")
    drawn = [attributes for name, attributes in tags if name == "svg" and attributes.get("aria-hidden") != "true"]
    assert drawn
    assert all(attributes.get("role") == "img" and attributes.get("aria-label") for attributes in drawn)
    assert text.count("<caption>") == text.count("<table ")
    identities = [attributes["id"] for _, attributes in tags if "id" in attributes]
    assert len(identities) == len(set(identities))
    targets = {str(attributes["href"])[1:] for name, attributes in tags if name == "a"}
    assert targets <= set(identities)


def test_an_ordinary_page_stays_small(text: str) -> None:
    assert len(text.encode()) < 500_000


def test_a_script_reads_all_numbers_of_a_page_without_javascript(tmp_path: Path) -> None:
    made = measured(make_rows(items=3, models=2, lengths=LENGTHS[:3]), title="</script><!-- of two")
    (data,) = re.findall(r'<script type="application/json" id="numbers">(.*?)</script>', made.html(), re.DOTALL)
    assert json.loads(data) == json.loads(made.text("json"))
    write(made, tmp_path / "page.html")
    assert data in (tmp_path / "page.html").read_text("utf-8")
