"""Reports on many models: all rankings on one page, details of ten models each on further pages."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest
from report_rows import make_rows

from fathom.report.made import Report, measured, write
from fathom.report.page import EACH, MANY
from fathom.report.results import Results
from fathom.report.table import Replies

MODELS = 13

pytestmark = pytest.mark.slow  # pages take long to make


@pytest.fixture(scope="module")
def many() -> Report:
    """A report on models that differ in their scores."""
    rows = make_rows(models=1, tasks=2, lengths=(1024, 4096), items=8, depths=False, failures=False)
    lower = (pl.col("item").rank("dense") + 3 * pl.col("task").rank("dense")) % MODELS
    models = [
        rows.with_columns(
            model=pl.lit(f"model-{number:02}"),
            variant=pl.lit(""),
            value=pl.when(lower < number).then(0.0).otherwise(pl.col("value")),
        )
        for number in range(MODELS)
    ]
    return measured(pl.concat(models), link=address)


def address(replies: Replies) -> str:
    return f"replies/{replies.model}.html"


def pages_of(report: Report, folder: Path) -> tuple[str, dict[str, str]]:
    write(report, folder / "report.html")
    details = {path.name: path.read_text("utf-8") for path in sorted((folder / "report-details").glob("*"))}
    return (folder / "report.html").read_text("utf-8"), details


def test_many_models_have_one_ranking_and_details_on_further_pages(many: Report, tmp_path: Path) -> None:
    first, details = pages_of(many, tmp_path)
    names = [system.name for system in many.results.systems]
    assert list(details) == [f"models-{EACH + 1}-{MODELS}.html"]
    (other,) = details.values()
    ranking = re.search('<table id="headline">.*?</table>', first, re.S)
    assert ranking is not None
    plain = re.sub("<[^>]*>", "", ranking[0])
    assert [name for name in names if name in plain] == names
    assert [f'id="scores-{number}"' in first for number in range(1, MODELS + 1)] == [True] * EACH + [False] * 3
    assert [f'id="scores-{number}"' in other for number in range(1, EACH + 1)] == [True] * 3 + [False] * 7
    assert all(name in other for name in names[EACH:])
    assert not any(name in other for name in names[:EACH])


def test_names_in_the_ranking_link_to_the_page_with_their_details(many: Report, tmp_path: Path) -> None:
    first, details = pages_of(many, tmp_path)
    links = set(re.findall(r'href="(report-details/[^"]*)"', first))
    assert links == {f"report-details/{name}" for name in details}
    assert all((tmp_path / link).is_file() for link in links)
    assert all('href="../report.html"' in page for page in details.values())


def test_addresses_of_replies_are_relative_to_each_page(many: Report, tmp_path: Path) -> None:
    first, details = pages_of(many, tmp_path)
    assert 'href="replies/' in first
    assert "../replies/" not in first
    assert all('href="../replies/' in page and 'href="replies/' not in page for page in details.values())


def test_figures_of_a_model_are_the_same_on_its_page_as_on_a_page_of_all(many: Report, tmp_path: Path) -> None:
    _, details = pages_of(many, tmp_path)
    (other,) = details.values()
    whole = many.html()
    for place, number in enumerate(range(EACH + 1, MODELS + 1), start=1):
        tables = [
            re.findall(f'<table id="{name}".*?<tbody>(.*?)</tbody>', page, re.S)
            for name, page in ((f"scores-{place}", other), (f"scores-{number}", whole))
        ]
        plain = [re.sub("<[^>]*>", " ", table[0]).replace("../", "") for table in tables]
        assert plain[0] == plain[1]


def test_pages_of_an_earlier_report_on_more_models_are_removed_and_other_files_stay(
    many: Report, tmp_path: Path
) -> None:
    folder = tmp_path / "report-details"
    folder.mkdir()
    for name in ("models-21-30.html", "mine.html"):
        (folder / name).write_text("earlier", "utf-8")
    write(many, tmp_path / "report.html")
    assert sorted(path.name for path in folder.iterdir()) == ["mine.html", f"models-{EACH + 1}-{MODELS}.html"]


def test_few_models_have_one_page(many: Report, tmp_path: Path) -> None:
    few = Report(many)
    few.results, few.title, few.link = many.results.only(many.results.systems[:MANY]), many.title, None
    write(few, tmp_path / "report.html")
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert (tmp_path / "report.html").read_text("utf-8") == few.html()


def test_results_of_some_models_keep_their_ranks_among_all(many: Report) -> None:
    results: Results = many.results
    part = results.only(results.systems[EACH:])
    assert part.ranked == results.ranked
    assert [part.every(system) for system in part.systems] == [results.every(system) for system in part.systems]
    assert part.every(results.systems[0]) is None
