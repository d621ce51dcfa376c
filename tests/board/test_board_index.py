"""The index of all models, the start board, and stated facts about models: data, without a browser."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest

from fathom.board.build import SiteSettings, build_site
from fathom.board.derived import derived
from fathom.board.downloads import plain_page
from fathom.board.measured import measured
from fathom.board.model import ModelFacts
from fathom.board.model_facts import parameters_of, read_model_facts
from fathom.board.results import Batch
from fathom.board.site_data import index_file, start_board
from fathom.board.table import Table, model_keys, table
from fathom.rows import RowsTable, write_rows
from fathom.types import FathomError
from made_results_board import made_rows

APART = {"a": -2.0, "b": 0.0, "c": 2.0}
ALIKE = {"a": 0.0, "b": 0.05, "c": 0.1}


def tables(**abilities: dict[str, float]) -> dict[str, Table]:
    """A board for each suite, of models of these abilities."""
    batches = [Batch(RowsTable(made_rows(own, suite=suite, tasks=("find",)))) for suite, own in abilities.items()]
    boards = derived((batch.rows for batch in batches), ())
    entries = {
        board.id: measured([board], batch).entries[board.id] for board, batch in zip(boards, batches, strict=True)
    }
    keys = model_keys(entries)
    return {board.id: table(board, entries[board.id], keys) for board in boards}


def published(one: Table) -> Table:
    """The same board, as if a paper had printed it."""
    origin = replace(one.entries[0].entry.origin, provenance="published")
    return replace(one, entries=tuple(replace(line, entry=replace(line.entry, origin=origin)) for line in one.entries))


# ---------------------------------------------------------------------------------------------------- start


def test_the_site_begins_with_the_board_that_tells_the_most() -> None:
    made = tables(alike=ALIKE, apart=APART)
    significant = {name: int(one.ranking.ranks.significant.sum()) for name, one in made.items()}
    assert significant["apart"] > significant["alike"]
    assert start_board([made["alike"], made["apart"]]) is made["apart"]
    assert start_board([made["apart"], made["alike"]]) is made["apart"]


def test_own_results_come_before_those_of_papers() -> None:
    made = tables(few={"a": -2.0, "b": 2.0}, many=APART)
    assert start_board([made["few"], made["many"]]) is made["many"]
    assert start_board([made["few"], published(made["many"])]) is made["few"]
    # Without own results all pairs count.
    assert start_board([published(made["few"]), published(made["many"])]).board.id == "many"


@pytest.mark.slow
def test_the_larger_board_is_first_if_none_tells_anything_and_then_the_first() -> None:
    made = tables(two={"a": 0.0, "b": 0.0}, three=ALIKE, others=ALIKE)
    same = [one for one in made.values() if not one.ranking.ranks.significant.any()]
    assert len(same) == 3
    assert start_board([made["two"], made["three"], made["others"]]) is made["three"]
    assert start_board([made["others"], made["three"]]) is made["others"]


def test_a_board_without_ranks_can_be_the_only_one(tmp_path: Path) -> None:
    csv = "board,model,task,value\nhundred,m,overall,50\n"
    (tmp_path / "mine.csv").write_text(csv, "utf-8")
    (tmp_path / "mine.toml").write_text('title = "t"\ndate = "2026-01"\nurl = "https://example.org"\n', "utf-8")
    build_site(SiteSettings(published=False, more=(tmp_path / "mine.csv",), examples=False), tmp_path / "site")
    assert data(tmp_path / "site", "site")["default"] == "hundred"


# ---------------------------------------------------------------------------------------------------- index


def data(site: Path, name: str) -> Any:
    text = (site / "data" / f"{name}.js").read_text("ascii")
    return json.loads(text.split(", ", 1)[1].removesuffix(");\n"))


@pytest.mark.slow
def test_the_index_has_the_figures_of_the_boards(published_site: Path) -> None:
    boards = [data(published_site, f"boards/{one['id']}") for one in data(published_site, "site")["boards"]]
    index = data(published_site, "index")["models"]
    assert {model["key"] for model in index} == {entry["modelKey"] for board in boards for entry in board["entries"]}
    assert [model["key"] for model in index] == sorted(model["key"] for model in index)
    for model in index:
        for board, best in zip(boards, model["boards"], strict=True):
            own = [entry for entry in board["entries"] if entry["modelKey"] == model["key"]]
            if not own:
                assert best is None
                continue
            key, overall, rank, count = best
            assert (key, overall, rank) == tuple(own[0][name] for name in ("key", "overall", "rank"))
            assert count == len(own)
            # No other entry is complete and better.
            better = [entry for entry in own if entry["complete"] and entry["overall"][0] > (overall or [0])[0]]
            assert not better
    for board, said in zip(boards, data(published_site, "site")["boards"], strict=True):
        assert said["ranked"] == sum(entry["rank"] is not None for entry in board["entries"])


def test_the_index_is_that_of_the_tables() -> None:
    made = list(tables(one=APART, two={"c": 1.0, "d": 0.0}).values())
    index = index_file(made)["models"]
    assert isinstance(index, list)
    by_model = {model["model"]: model["boards"] for model in index}
    assert [[best is not None for best in by_model[name]] for name in "abcd"] == [[1, 0], [1, 0], [1, 1], [0, 1]]
    for place, one in enumerate(made):
        for line in one.entries:
            overall = line.standing.overall
            assert overall is not None
            key, estimate, rank, _ = by_model[line.entry.model][place]
            assert (key, rank) == (line.key, list(line.rank or ()))
            assert estimate[0] == pytest.approx(overall.value, abs=1e-5)


@pytest.mark.slow
def test_the_plain_page_has_every_entry_as_text(published_site: Path) -> None:
    page = (published_site / "downloads" / "index.html").read_text("utf-8")
    assert "<script" not in page
    for one in data(published_site, "site")["boards"]:
        board, part = (
            data(published_site, f"boards/{one['id']}"),
            page.split(f'<h2 id="{one["id"]}">')[1].split("<h2")[0],
        )
        assert part.count('<th scope="row">') == len(board["entries"])
        for entry, row in zip(board["entries"], part.split("<tr>")[2:], strict=True):
            assert escape(entry["model"]) in row
            if entry["overall"]:
                # The data has four digits, so that the page's last one may be rounded the other way.
                shown = re.search(r"<td>(\d+\.\d)", row)
                assert shown
                assert float(shown[1]) == pytest.approx(100 * entry["overall"][0], abs=0.0551)
        for ending in ("csv", "parquet", "json"):
            assert (published_site / "downloads" / f"{one['id']}.{ending}").is_file()


def test_hostile_names_are_text_on_the_plain_page() -> None:
    made = tables(one={"<script>alert(1)</script>": 0.0, 'x" onload="y': 1.0})
    page = plain_page(list(made.values()), "<b>title</b>").decode()
    assert "<script" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page


# ---------------------------------------------------------------------------------------------------- facts


def test_facts_of_a_file_are_on_the_board_and_in_the_index(tmp_path: Path) -> None:
    write_rows(made_rows(APART), tmp_path / "rows.parquet")
    facts = tmp_path / "models.toml"
    facts.write_text('[a]\nweights = "open"\nparameters = "8.2B"\n[b]\nweights = "closed"\n[other]\n', "utf-8")
    wanted = SiteSettings((tmp_path / "rows.parquet",), published=False, examples=False, models=facts)
    build_site(wanted, tmp_path / "site")
    stated = {"a": ("open", 8_200_000_000), "b": ("closed", None), "c": (None, None)}
    for entry in data(tmp_path / "site", "boards/made")["entries"]:
        assert (entry.get("weights"), entry.get("parameters")) == stated[entry["model"]]
    for model in data(tmp_path / "site", "index")["models"]:
        assert (model.get("weights"), model.get("parameters")) == stated[model["model"]]


@pytest.mark.parametrize(
    ("value", "count"),
    [("8.2B", 8_200_000_000), ("350M", 350_000_000), ("1.1T", 1_100_000_000_000), ("7", 7), (70_000, 70_000),
     (8.2e9, 8_200_000_000), ("1000T", 10**15)],
)  # fmt: skip
def test_sizes_are_numbers_or_texts_with_a_unit(value: object, count: int) -> None:
    assert parameters_of(value) == count


@pytest.mark.parametrize(
    "value", ["", "0", "0B", "8 B", "8b", "-8B", "8.B", "8BB", "1001T", True, -1, 1e300, float("nan"), [], None]
)
def test_other_sizes_are_refused(value: object) -> None:
    assert parameters_of(value) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[m]\nweights = "free"\n', "'m': weights = 'free', expected open or closed"),
        ("[m]\nweights = true\n", "weights = True"),
        ('[m]\nparameters = "large"\n', "parameters = 'large', expected a number of parameters"),
        ("[m]\nsize = 8\n", "unknown field 'size'; expected weights or parameters"),
        ('weights = "open"\n', "'weights': expected a table"),
        ("[m\n", "not valid TOML"),
    ],
)
def test_wrong_facts_name_file_model_and_field(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "models.toml"
    path.write_text(text, "utf-8")
    with pytest.raises(FathomError) as error:
        read_model_facts(path)
    assert str(path) in str(error.value)
    assert said in str(error.value)


def test_no_file_no_facts(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="cannot be read"):
        read_model_facts(tmp_path / "none.toml")
    (tmp_path / "empty.toml").write_text("[m]\n", "utf-8")
    assert read_model_facts(tmp_path / "empty.toml") == {"m": ModelFacts()}
