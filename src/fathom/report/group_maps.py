"""Heat maps of models by groups of questions: length, task, how much of the context is needed (figures 7 to 9)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import altair as alt

from fathom.analysis import GroupScore
from fathom.report import words
from fathom.report.breakdown import REQUIREMENT, cells_of, groups_of
from fathom.report.by_question import ByQuestion
from fathom.report.colours import CHANGE, change_step
from fathom.report.drawing import Size
from fathom.report.heatmaps import Tile, heat_map, scored_tile
from fathom.report.labels import label, legend
from fathom.report.labels import title as headed
from fathom.report.results import ALL, System

CELL = Size(46, 19)
WIDEST = 330
DIFFERENCE = "Partial − Full"
# Names of tasks stand so many on a line beneath the heading.
NAMES = 3


def group_map(found: ByQuestion, dimension: str, *, title: bool = False) -> alt.LayerChart | None:
    """Scores of models by groups of questions; None where there are no such groups.

    Args:
        found: What was measured over questions.
        dimension: What they are grouped by.
        title: Whether the chart says itself what it shows.

    Returns:
        A chart: models down, the highest overall score first, groups to the right after the mean over all questions,
        the score in each cell in percent without decimals.
    """
    cells, groups = cells_of(found, dimension), groups_of(found, dimension)
    if not cells:
        return None
    names = {group: label(dimension, group) for group in groups}
    columns, differing = ["all", *names.values()], tuple(groups) == REQUIREMENT
    tiles = [
        tile for system, scores in cells.items() for tile in _tiles(System(*system).name, scores, names, differing)
    ]
    if differing:
        columns.append(DIFFERENCE)
    width = (2 if differing else 1) * CELL.width
    size = Size(width * len(columns), CELL.height * len(cells))
    heading = f"{headed(dimension)}, percent" if title else ""
    return heat_map(
        tiles,
        columns,
        [System(*system).name for system in cells],
        size,
        title=heading,
        note=_lines(legend(groups)) if title else (),
        widest=WIDEST,
    )


def _tiles(line: str, scores: Mapping[str, GroupScore], names: Mapping[str, str], differing: bool) -> Iterable[Tile]:
    for group, one in scores.items():
        yield scored_tile("all" if group == ALL else names[group], line, one.score)
    full, partial = (scores.get(group) for group in REQUIREMENT)
    if differing and full and partial:
        change = partial.score - full.score
        yield Tile(DIFFERENCE, line, CHANGE[change_step(change)].light, words.change(change))


def _lines(names: Sequence[str]) -> list[str]:
    return [" · ".join(names[start : start + NAMES]) for start in range(0, len(names), NAMES)]
