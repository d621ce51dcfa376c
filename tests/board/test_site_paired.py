"""Comparisons in a browser: their figures are those of ``fathom.stats.differences``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from board_tabs import VIEWS, Open, sites, tabs
from chromium import browsers
from fathom.stats.differences import PAIRED_REPLICATES, PSEUDO_ITEMS, Differences, Gap, drawn_means, gap_of, paired

pytestmark = [pytest.mark.browser, pytest.mark.slow]
browser = pytest.fixture(browsers, scope="module")
site = pytest.fixture(sites, scope="module")
opened = pytest.fixture(tabs)


def test_figures_of_a_comparison_are_those_of_the_analysis(opened: Open, site: Path) -> None:
    tab = opened()
    found = tab.evaluate(
        """async ([a, b]) => {
          const whole = await fathom.whole('leader-128k');
          const entries = [a, b].map(whole.entry);
          return fathom.tested(whole, await fathom.questions(whole.board, entries), ...entries);
        }""",
        PAIR,
    )
    board = data(site, "boards/leader-128k")
    weights = dict.fromkeys((task["id"] for task in board["tasks"]), 0.0)
    for category in board["categories"]:
        for part in category["parts"]:
            for task in part["tasks"]:
                weights[task] += 1 / len(board["categories"]) / len(category["parts"]) / len(part["tasks"])
    first, second = (data(site, f"items/leader-128k/{key}") for key in PAIR)
    parts = {task: analysed(task, first[task], second[task]) for task in weights}
    for row in found[1:]:
        assert row["paired"]
        agree(row, parts[row["task"]][0].gap([0]))
    draws, point = np.zeros(PAIRED_REPLICATES), 0.0
    for task, (part, _) in parts.items():
        own = [drawn_means(side, [0], pseudo=PSEUDO_ITEMS / len(weights)) for side in (part.first, part.second)]
        draws += weights[task] * (own[0] - own[1])
        point += weights[task] * float(part.gaps[0, 0])
    assert found[0]["tasks"] == 12
    assert found[0]["items"] == sum(items for _, items in parts.values())
    agree(found[0], gap_of(draws, point))


PAIR = ["line-1", "line-5"]


def data(site: Path, name: str) -> Any:
    text = (site.parent / "data" / f"{name}.js").read_text(encoding="ascii")
    return json.loads(text.removeprefix(f'fathom.add("{name}", ').removesuffix(");\n"))


def analysed(task: str, first: list[float | None], second: list[float | None]) -> tuple[Differences, int]:
    both = [(a, b) for a, b in zip(first, second, strict=True) if a is not None and b is not None]
    table = np.array(both, dtype=np.float64)
    names = [f"{number:05d}" for number in range(len(table))]
    return paired(names, table[:, :1], table[:, 1:], task, 0), len(table)


def agree(row: dict[str, Any], gap: Gap) -> None:
    """Differences are equal; ends of intervals and p-values are, but for the error of so many replicates."""
    width = gap.interval.high - gap.interval.low
    assert row["difference"] == pytest.approx(gap.difference, abs=1e-9)
    assert row["low"] == pytest.approx(gap.interval.low, abs=0.08 * width)
    assert row["high"] == pytest.approx(gap.interval.high, abs=0.08 * width)
    assert row["p"] == pytest.approx(gap.p_value, abs=6 * math.sqrt(2 * gap.p_value / 4_000) + 6e-4)


def test_the_same_page_gives_the_same_figures(opened: Open) -> None:
    shown = []
    for _ in range(2):
        tab = opened(VIEWS["compare"])
        tab.get_by_text("Task by task").first.wait_for()
        shown.append(tab.locator("table.texts").first.inner_text())
    assert shown[0] == shown[1]


def test_lines_without_questions_are_compared_by_their_means(opened: Open) -> None:
    tab = opened("#/compare?board=leader-128k&lines=line-1,line-12")
    tab.get_by_text("Task by task").first.wait_for()
    row = tab.locator("table.texts").first.locator("tbody tr").first.inner_text()
    assert "unpaired" in row
