"""The page "What reproduces what" has a row for each table and figure of the five papers, and its numbers come out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from fathom.analysis import longscore_of, read_scores, score_profiles
from fathom.analysis.breakdown import breakdown
from fathom.compress import released
from fathom.compress.minilongbench import published
from fathom.compress.study import measured
from fathom.compress.tables import read_matrix
from made_results_pro import rows_from_longbench_pro

PAGE = Path(__file__).parents[1] / "docs" / "explanation" / "reproduction.md"
# Tables and figures of each paper.
PAPERS = {
    "100-LongBench": (8, 14),
    "Ada-LEval": (13, 2),
    "MiniLongBench": (8, 13),
    "LongBench Pro": (5, 11),
    "LongLeader": (12, 2),
}


def section(name: str) -> str:
    text = PAGE.read_text("utf-8")
    return text[text.index(f"\n## {name}\n") :].split("\n## ")[1]


def rows(name: str) -> list[list[str]]:
    lines = [line for line in section(name).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def numbers(name: str) -> dict[str, list[str]]:
    """Cells of the rows that begin with a name, by that name."""
    return {row[0]: row[1:] for row in rows(name)}


def named(text: str, kind: str) -> set[int]:
    """Numbers of tables or figures in the first cell of a row: ``Tables 4 and 7``, ``Figures 1, 9 to 12``."""
    found: set[int] = set()
    for words in re.findall(rf"{kind}s? ([\d, ]+(?:(?:and|to) \d+)?(?:, \d+)*)", text):
        for first, last in re.findall(r"(\d+)(?: to (\d+))?", words):
            found |= set(range(int(first), int(last or first) + 1))
    return found


@pytest.mark.parametrize("paper", PAPERS)
def test_every_table_and_figure_has_a_row(paper: str) -> None:
    first = " ; ".join(row[0] for row in rows(paper))
    tables, figures = PAPERS[paper]
    assert named(first, "Table") == set(range(1, tables + 1))
    assert named(first, "Figure") == set(range(1, figures + 1))


def test_outcomes_are_those_that_the_page_explains() -> None:
    intro = PAGE.read_text("utf-8").partition("\n## ")[0]
    known = set(re.findall(r"^\| ([a-z ]+) \|", intro, re.MULTILINE)) - {"outcome"}
    for paper in PAPERS:
        assert {row[1] for row in rows(paper) if re.match(r"(Table|Figure)s? \d", row[0])} <= known


@pytest.mark.slow
def test_longscores_of_100_longbench(shared: Path) -> None:
    table = numbers("100-LongBench")
    scores = shared / "data" / "100longbench" / "scores_per_length.csv"
    checked = 0
    for where in ("open_models", "llama2_extension"):
        cells = read_scores(scores, where={"set": where})
        for one in longscore_of(score_profiles(cells)):
            if one.task != "all":
                continue
            assert one.base is not None
            if where == "open_models":
                points = [point.value for point in one.points if point.length <= 131072]
                average = sum(value for value in points if value is not None) / len(points)
                assert table[one.model][0] == f"{100 * one.base:.3f}"
                assert table[one.model][2] == f"{100 * average:.3f}"
            else:
                assert one.average is not None
                assert table[f"{one.model}, all six lengths"][0] == f"{100 * one.average:.2f}"
            checked += 1
    assert checked == 10


@pytest.mark.slow
def test_rank_correlations_of_minilongbench(shared: Path) -> None:
    folder = shared / "data" / "minilongbench"
    train, _ = released.read_split(folder)
    found = {
        (estimate, category, models): value
        for estimate, category, models, value in measured(published(folder), read_matrix(folder), train)
        .select("estimate", "category", "models", "spearman")
        .rows()
    }
    theirs = json.loads((folder / "published.json").read_text("utf-8"))
    checked = 0
    for row in rows("MiniLongBench"):
        if row[0] in ("predicted", "direct"):
            group = row[1].split()[-1] if row[1] != "all 40" else "all"
            named_there = {"all": "all", "known": "train", "new": "test"}[group]
            kind = {"predicted": "by_prediction", "direct": "direct"}[row[0]]
            assert row[2] == f"{found[row[0], 'all', group]:.4f}".lstrip("0")
            assert row[3] == f"{theirs['spearman_overall'][kind][named_there]:.4f}".lstrip("0")
            checked += 1
        elif ("direct", row[0], "all") in found:
            assert row[1] == f"{found['direct', row[0], 'all']:.4f}".lstrip("0")
            checked += 1
    assert checked == 12


@pytest.mark.slow
def test_scores_of_longbench_pro(shared: Path) -> None:
    frame = rows_from_longbench_pro(shared / "data" / "longbench_pro")
    table = numbers("LongBench Pro")
    checked = 0
    groups = {"English": "en"}
    for one in breakdown(frame, by=["language", "difficulty", "length"]):
        for name, cells in table.items():
            model, _, rest = name.partition(", ")
            words = [groups.get(word, word) for word in re.sub(r" \(.*", "", rest).split(", ")]
            mode = next((word for word in words if "thinking" in word), "thinking")
            if (one.model, one.variant) == (model, mode) and one.group in words:
                assert cells[0] == f"{100 * one.score:.3f}", name
                checked += 1
    assert checked == 12
