"""Ranks of the lines of a board (``fathom.stats.ranks``), with normal quantiles.

What lines have in common in their scores of the same questions cancels in their difference; where they share a part of
the questions, so does what is common to that part (the covariance of the means over it). What errors of few questions
have more than the textbook's (``fathom.board.means``) does not; for right and wrong it is about
what adding a question to each side of the comparison does (Agresti and Min 2005, "Simple Improved Confidence Intervals
for Comparing Matched Proportions", Statistics in Medicine 24). Lines without common questions are independent.

Published lines have errors that are the greatest their means allow, so that they differ less often than they could.
Their questions need not be those that were asked here: as in the papers' own tables, a rank says no more than that a
difference is not chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fathom.board.model import Entry, Items, Standing
from fathom.stats.intervals import LEVEL, Floats
from fathom.stats.ranks import Ranks, ranks_of
from fathom.types.boards import Board


@dataclass(frozen=True, slots=True, eq=False)
class Ranking:
    """The lines of a board that can be ranked, best first; all arrays are in this order.

    Attributes:
        lines: Places of the lines among the entries that were given.
        ranks: Their ranks.
        differences: Score of the line of the row less that of the column; shape (lines, lines).
        errors: Their standard errors.
        paired: Whether both lines answered some questions in common, so that their errors are not independent.
    """

    lines: tuple[int, ...]
    ranks: Ranks
    differences: Floats
    errors: Floats
    paired: NDArray[np.bool_]


def ranking(board: Board, entries: Sequence[Entry], standings: Sequence[Standing], level: float = LEVEL) -> Ranking:
    """Ranks the lines whose overall score is complete and has an error.

    Args:
        board: Says how tasks are averaged.
        entries: Its lines.
        standings: Their averages, in the same order.
        level: Confidence of each line's range.
    """
    scores = {
        place: standing.overall
        for place, standing in enumerate(standings)
        if standing.complete and standing.overall is not None and standing.overall.error is not None
    }
    lines = sorted(scores, key=lambda place: (-scores[place].value, place))
    values = np.array([scores[place].value for place in lines], dtype=np.float64)
    variances = np.array([(scores[place].error or 0.0) ** 2 for place in lines], dtype=np.float64)
    covariance, paired = _together(board, [entries[place] for place in lines])
    spread = variances[:, None] + variances[None, :] - 2 * covariance
    errors = np.sqrt(np.maximum(spread, 0.0))
    np.fill_diagonal(errors, 0.0)
    differences = values[:, None] - values[None, :]
    return Ranking(
        lines=tuple(lines),
        ranks=ranks_of(differences, _p_values(differences, errors), level),
        differences=differences,
        errors=errors,
        paired=paired,
    )


def _p_values(differences: Floats, errors: Floats) -> Floats:
    from scipy.special import ndtr

    with np.errstate(divide="ignore", invalid="ignore"):
        distance = np.where(differences == 0, 0.0, np.abs(differences) / errors)
    p: Floats = 2 * ndtr(-distance)
    return p


def weights(board: Board, entry: Entry) -> dict[str, float]:
    """What each task of a complete line weighs in its overall score; they sum to 1."""
    if board.weighting == "questions":
        counts = {task: len(items.names) for task, items in entry.items.items() if task in board.tasks}
        return {task: count / sum(counts.values()) for task, count in counts.items()}
    found = dict.fromkeys(board.tasks, 0.0)
    for category in board.categories:
        for part in category.parts:
            for task in part.tasks:
                found[task] += 1 / (len(board.categories) * len(category.parts) * len(part.tasks))
    return found


def _together(board: Board, entries: Sequence[Entry]) -> tuple[Floats, NDArray[np.bool_]]:
    """Covariance of the overall scores through the questions that lines have in common, and who has some."""
    covariance = np.zeros((len(entries), len(entries)))
    paired = np.zeros(covariance.shape, dtype=np.bool_)
    shares = [weights(board, entry) if entry.items else {} for entry in entries]
    for task in board.tasks:
        there = [place for place, entry in enumerate(entries) if task in entry.items]
        if len(there) < 2:
            continue
        rows, known = _shared([entries[place].items[task] for place in there])
        rows *= np.array([shares[place][task] for place in there])[:, None]
        block = np.ix_(there, there)
        covariance[block] += rows @ rows.T
        paired[block] |= known @ known.T > 1
    np.fill_diagonal(paired, False)
    return covariance, paired


def _shared(items: Sequence[Items]) -> tuple[Floats, Floats]:
    """What each question adds to the error of each line, and where it is known; questions of one line alone are left.

    Returns:
        Lines x questions: deviation from the line's mean over its number of questions, 0 where not asked; and 1 or 0.
    """
    sets, counts = Counter(one.names for one in items), Counter[str]()
    for names, lines in sets.items():
        counts.update(dict.fromkeys(names, lines))
    column = {name: place for place, name in enumerate(name for name, count in counts.items() if count > 1)}
    rows = np.zeros((len(items), len(column)))
    known = np.zeros(rows.shape)
    places = {names: [(column[name], at) for at, name in enumerate(names) if name in column] for names in sets}
    for line, one in enumerate(items):
        n = len(one.names)
        if n < 2 or not places[one.names]:
            continue
        columns, at = np.array(places[one.names]).T
        deviations = (one.scores - one.scores.mean()) / np.sqrt(n * (n - 1))
        rows[line, columns] = deviations[at]
        known[line, columns] = 1.0
    return rows, known
