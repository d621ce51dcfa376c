"""LongLeader's tables 2, 5, 6 and 7: every average that they print, recomputed from their cells.

Missing cells count as 0, as in the paper. Table 2 is of the whole benchmark, Table 6 of its second half alone. An
average agrees when the printed one is ours rounded to two digits. Those that do not are listed in ``OTHERWISE`` with
the reason: three were computed from averages that had been rounded before, two follow from a summarization score that
no cells give, and one is a hundredth off.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fathom.board.model import Entry
from fathom.board.published import published, published_files
from fathom.board.standing import averages_as_paper
from fathom.suites.registry import get_board
from fathom.types.boards import Board, Category

LEADER_32K, LEADER_128K = get_board("leader-32k"), get_board("leader-128k")

SECOND_HALF = replace(
    LEADER_128K,
    categories=tuple(
        Category(category.id, category.title, (part,))
        for category in LEADER_128K.categories
        for part in category.parts
        if part.title == "32k to 128k"
    ),
)
EXTENDED = ("PoI", "YaRN", "ABF")
# Table, model, average: what is printed and what the cells give, in percent.
OTHERWISE = {
    ("Table 2", "Claude-3-Sonnet", "sum"): (24.44, 24.03),  # half of 28.50 + 19.56 is 24.03
    ("Table 2", "Claude-3-Sonnet", "overall"): (41.04, 40.97),  # the mean of the printed averages, 24.44 among them
    ("Table 2", "Claude-2.1", "overall"): (33.44, 33.43),  # the mean of the printed averages: 33.435
    ("Table 2", "Llama-2-7b-chat", "syr"): (7.32, 7.31),  # half of 10.50 + 4.13, both rounded: 7.315
    ("Table 2", "Mistral-7B-Instruct-v0.2", "syr"): (74.20, 74.19),  # half of 95.66 + 52.73, both rounded: 74.195
    ("Table 7", "Llama-2-13b YaRN", "overall"): (32.61, 32.60),  # the printed averages give 32.60, too
}
NOT_PRINTED = {"Table 2": 4, "Table 6": 16}
"""Averages over nothing but missing cells; the paper prints N/A, and counts them as 0 in the mean."""


def averages(board: Board, entry: Entry, prefix: str = "") -> Iterator[tuple[str, float, float | None]]:
    """Name, ours and what is printed, in percent."""
    overall, categories = averages_as_paper(board, entry)
    for name, ours in {**categories, "overall": overall}.items():
        key = prefix.rstrip("/") if prefix and name == "overall" else prefix + name
        printed = entry.printed.get(key)
        yield name, 100 * ours, None if printed is None else 100 * printed.value


def every() -> Iterator[tuple[str, str, str, float, float | None]]:
    """Table, model, average, ours and what is printed."""
    boards = published()
    for entry in boards["leader-32k"]:
        table = "Table 7" if entry.variant in EXTENDED else "Table 5"
        for found in averages(LEADER_32K, entry):
            yield table, f"{entry.model} {entry.variant}".strip(), *found
    for entry in boards["leader-128k"]:
        for found in averages(LEADER_128K, entry):
            yield "Table 2", entry.model, *found
        for found in averages(SECOND_HALF, entry, "beyond-32k/"):
            yield "Table 6", entry.model, *found


@pytest.mark.parametrize(("table", "printed", "otherwise"), [("Table 5", 36, 0), ("Table 6", 20, 0)])
def test_tables_of_cells_recompute(table: str, printed: int, otherwise: int) -> None:
    check(table, printed, otherwise)


@pytest.mark.parametrize(("table", "printed", "otherwise"), [("Table 2", 38, 5), ("Table 7", 36, 1)])
def test_tables_with_slips_recompute_but_for_them(table: str, printed: int, otherwise: int) -> None:
    check(table, printed, otherwise)


def check(table: str, printed: int, otherwise: int) -> None:
    found = [one for one in every() if one[0] == table]
    there = [(model, name, ours, theirs) for _, model, name, ours, theirs in found if theirs is not None]
    apart = {
        (table, model, name): (round(theirs, 2), round(ours, 2))
        for model, name, ours, theirs in there
        if abs(ours - theirs) > 0.005 + 1e-9
    }
    assert apart == {key: values for key, values in OTHERWISE.items() if key[0] == table}
    assert (len(there), len(apart)) == (printed, otherwise)
    silent = [(model, name, ours) for _, model, name, ours, theirs in found if theirs is None]
    assert all(ours == 0 for _, _, ours in silent)
    assert len(silent) == NOT_PRINTED.get(table, 0)


def test_the_reasons_for_what_does_not_agree() -> None:
    lines = {entry.model: entry for entry in published()["leader-128k"]}
    short = {entry.model: entry for entry in published()["leader-32k"]}

    def two_halves(model: str, name: str) -> float:
        halves = short[model].printed[name].value, lines[model].printed[f"beyond-32k/{name}"].value
        return 100 * sum(halves) / 2

    def of_printed(model: str) -> float:
        printed = [lines[model].printed.get(category.id) for category in LEADER_128K.categories]
        return 100 * sum(one.value for one in printed if one is not None) / len(printed)

    assert two_halves("Claude-3-Sonnet", "sum") == pytest.approx(24.03)
    assert of_printed("Claude-3-Sonnet") == pytest.approx(41.04, abs=0.005)
    assert of_printed("Claude-2.1") == pytest.approx(33.435)
    assert two_halves("Llama-2-7b-chat", "syr") == pytest.approx(7.315)
    assert two_halves("Mistral-7B-Instruct-v0.2", "syr") == pytest.approx(74.195)


def test_bestchoice_was_asked_5000_times_and_not_4200() -> None:
    """Exact matches are whole numbers: all twelve printed scores fit 5,000 questions, and ten do not fit Table 3's."""
    cells = [entry.cells["leader_bestchoice", 0] for entry in published()["leader-32k"]]
    scores = [cell.value for cell in cells if cell is not None]
    assert len(scores) == 12
    assert all(whole(score, 5000) for score in scores)
    assert sum(whole(score, 4200) for score in scores) == 2


def test_the_other_numbers_of_table_3_fit_the_exact_matches() -> None:
    names = ("passkey", "_kv_", "en_mc", "code_debug", "math_find")
    checked = set()
    for entry in [*published()["leader-32k"], *published()["leader-128k"]]:
        for (task, _), cell in entry.cells.items():
            if cell is not None and any(name in task for name in names):
                assert cell.n is not None
                assert whole(cell.value, cell.n), (entry.model, task)
                checked.add((entry.model, entry.variant, task))
    assert len(checked) == 12 * 4 + 6 * 4 + 2 * 3


def whole(score: float, questions: int) -> bool:
    """Whether a score that is printed to a hundredth of a percent can be of so many questions, right or wrong."""
    right = score * questions
    return abs(right - round(right)) <= 0.00005 * questions + 1e-6


def test_the_figures_are_those_of_the_paper(shared: Path) -> None:
    with (shared / "golden" / "published" / "paper_longleader.csv").open(encoding="utf-8") as stream:
        theirs = [row for row in csv.DictReader(stream) if row["metric"] == "score_percent"]
    path = next(file for file in published_files() if file.parent.name == "leader")
    with path.open(encoding="utf-8") as stream:
        ours = list(csv.DictReader(stream))
    for table in ("Table 2", "Table 5", "Table 6", "Table 7"):
        values = sorted(row["value"] or "N/A" for row in theirs if row["table"] == table)
        assert values == sorted(row["value"] for row in ours if row["table"] == table)
    # In the order of the paper, task by task: the columns are the models.
    cells = [row["value"] or "N/A" for row in theirs if row["table"] == "Table 5" and not row["task"].endswith("AVG")]
    assert cells == [row["value"] for row in ours if row["table"] == "Table 5" and row["n"]]
