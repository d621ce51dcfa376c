"""The page of progress: what is there and missing, time and cost, agreement of reviewers, and audits."""

import math
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from starlette.responses import Response

from fathom.studio.policies import POLICIES
from fathom.studio.quotas import Cell, Design, next_drafts, progress
from fathom.studio.statistics import Audits, agreements, audits, efforts, pairs_of, total
from fathom.studio.types import STATES, State
from fathom.studio.web.visit import Visit
from fathom.tokens.length import format_length

SHADES = 4
"""Shades of the cells of the matrix."""


@dataclass(frozen=True, slots=True)
class Square:
    """A cell of the matrix, or a sum of cells.

    Attributes:
        text: What it says.
        more: Samples under way beside it; 0 for none.
        shade: How much of what is wanted is there, from 0 to ``SHADES``.
    """

    text: str
    more: int
    shade: int


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the matrix: a task, or the sum of all.

    Attributes:
        squares: One for each language and length, and their sum.
    """

    name: str
    squares: tuple[Square, ...]


def progress_page(visit: Visit) -> Response:
    """What is there and missing, time and cost, agreement, and audits."""
    design, state = visit.settings.design, visit.query("state")
    chosen = state if state in STATES else None
    hourly = _price(visit.query("hourly"), design.hourly)
    cells = visit.histories.cached("quotas", lambda all_: progress(design, all_))
    spent = visit.histories.cached(("efforts", hourly), lambda all_: efforts(all_, hourly=hourly))
    inside, outside = cells[: len(design.cells())], cells[len(design.cells()) :]
    available = visit.store.available()
    staff = visit.store.staff()
    drawn, histories, experts = audits_of(visit), visit.histories.all(), staff.names("expert")
    wanted = {(cell.language, cell.bucket) for cell in inside if cell.to_begin}
    return visit.page(
        "progress",
        design=design,
        sums={name: sum(getattr(cell, name) for cell in inside) for name in ("done", "under_way", "to_begin")},
        outside=sum(cell.done + cell.under_way for cell in outside),
        state=chosen or "",
        states=STATES,
        counts=visit.store.counts(),
        rows=matrix(design, inside, chosen),
        lengths=[format_length(length) for length in design.lengths],
        drafts=[[shlex.quote(word) for word in words] for words in next_drafts(inside, available)],
        lacking=[f"{language} {format_length(bucket)}" for language, bucket in sorted(wanted - available.keys())],
        spent=[effort for effort in spent if effort.samples or effort.actions or effort.model_cost],
        total=total(spent),
        hourly=hourly,
        agreed=visit.histories.cached("agreements", lambda all_: agreements(pairs_of(all_), design.seed)),
        audits=drawn,
        policy=POLICIES[staff.policy],
        unaudited=sum(not experts - histories[id].barred for id in drawn.waiting) if experts else 0,
    )


def audits_of(visit: Visit) -> Audits:
    """The audit sample of the studio."""
    design = visit.settings.design
    return visit.histories.cached("audits", lambda all_: audits(all_, design, visit.histories.start))


def matrix(design: Design, cells: Iterable[Cell], state: State | None) -> list[Row]:
    """The matrix of tasks by languages and lengths, with sums.

    Args:
        design: What is wanted.
        cells: Its combinations.
        state: State whose samples are counted; None for those accepted and under way.
    """
    by_key = {(cell.task, cell.language, cell.bucket): cell for cell in cells}
    columns = [(language, length) for language in design.languages for length in design.lengths]
    lines = {task: [by_key[task, *column] for column in columns] for task in design.tasks}
    rows = [
        Row(task, (*(_square([cell], state) for cell in line), _square(line, state))) for task, line in lines.items()
    ]
    sums = [_square(column, state) for column in zip(*lines.values(), strict=True)]
    return [*rows, Row("All tasks", (*sums, _square(list(by_key.values()), state)))]


def _square(cells: Sequence[Cell], state: State | None) -> Square:
    if state is not None:
        count = sum(cell.states.get(state, 0) for cell in cells)
        return Square(f"{count:,}", 0, min(count, SHADES) if len(cells) == 1 else 0)
    wanted, missing = sum(cell.wanted for cell in cells), sum(cell.missing for cell in cells)
    done, under_way = sum(cell.done for cell in cells), sum(cell.under_way for cell in cells)
    shade = SHADES if not missing else math.ceil((wanted - missing) / wanted * (SHADES - 1))
    return Square(f"{done:,}", under_way, shade)


def _price(text: str, default: float) -> float:
    try:
        price = float(text)
    except ValueError:
        return default
    return price if 0 <= price < 1e6 else default
