"""What a report measures on the rows of each model: in parts of whole models, of many models in several processes."""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import pairwise
from operator import add
from typing import Any, NamedTuple, TypeVar

import polars as pl

from fathom import analysis
from fathom.analysis.answers import choice_tasks
from fathom.analysis.categories import category_groups, category_scores
from fathom.analysis.counts import Graded, graders
from fathom.analysis.grid import Grid, grids, of_scores
from fathom.analysis.known import Filtered, without
from fathom.analysis.profile import profiles_of
from fathom.parallel.units import MOST_PROCESSES, Progress, cores, run_units
from fathom.printing import printable
from fathom.report.by_question import Outline, PartByQuestion, outline_of, part_by_question
from fathom.rows.table import Part
from fathom.stats.columns import facet
from fathom.stats.intervals import ROOM, kept_draws
from fathom.stats.outcomes import ScorerError, Unanswered, Unmeasured, counted, scored_rows, scorer_errors
from fathom.stats.outcomes import unmeasured as cells_unmeasured
from fathom.stats.side_rows import is_aggregate, is_side_row

PART = 25_000
"""Rows of a part, unless one model has more: those of fewer rows are no work for several processes."""
ROWS = 400_000
"""Rows that all processes hold at once, unless one model has more."""
Found = TypeVar("Found")

NAMES = (
    *("model", "variant", "task", "suite", "source", "tokenizer"),
    *("rule", "grader", "language", "fathom_version", "metric"),
)
KINDS = ("model", "variant", "length", "task_version", *NAMES[2:])
"""Columns whose different values are settings of a report."""


class _Rows(NamedTuple):
    """The rows of some models.

    Attributes:
        replies: All but published averages.
        asked: Those with a whole context.
        left: All rows that the closed-book filter leaves; the same below.
        shown: These with the scores that count (``fathom.stats.outcomes``).
        kept: Those of them with a whole context.
        averages: Published averages.
    """

    replies: pl.DataFrame
    asked: pl.DataFrame
    left: pl.DataFrame
    shown: pl.DataFrame
    kept: pl.DataFrame
    averages: pl.DataFrame


class Whole(NamedTuple):
    """What the rows of all models have in common, before any is measured.

    Attributes:
        kinds: The different values of ``KINDS``, in the order of the rows of whole contexts.
        epochs: The largest number of a repeat.
        questions: The different questions of items with several.
        facets: Names of the facets.
        drafted: Models that drafted questions.
        choices: Tasks that ask for one of several answers.
        groups: Groups of categories and their tasks.
        outline: See ``fathom.report.by_question``.
    """

    kinds: pl.DataFrame
    epochs: int
    questions: pl.DataFrame
    facets: frozenset[str]
    drafted: frozenset[str]
    choices: pl.Series
    groups: pl.DataFrame
    outline: Outline


class Measured(NamedTuple):
    """What is measured on some models; see ``Results``."""

    profiles: Sequence[analysis.Profile]
    grids: Sequence[Grid]
    by_cell: Sequence[analysis.Counts]
    by_task: Sequence[analysis.Counts]
    position: Sequence[analysis.PositionPoint]
    depths: Sequence[analysis.DepthCell]
    contrasts: Sequence[analysis.PositionContrast]
    answers: Sequence[analysis.AnswerPoint]
    truncation: Sequence[analysis.Truncation]
    categories: Sequence[analysis.CategoryScore]
    unmeasured: Sequence[Unmeasured]
    scorer_errors: Sequence[ScorerError]
    graded: Sequence[Graded]
    by_question: PartByQuestion
    averages: pl.DataFrame


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """What every process is told of a report.

    Attributes:
        gone: Questions that the closed-book filter excludes.
        unanswered: How unanswered replies count.
        seed: Seed of the bootstrap.
        room: Bytes of weights that are kept.
    """

    gone: pl.DataFrame
    unanswered: Unanswered
    seed: int
    room: int

    def read(self, part: Part) -> _Rows:
        """A part, with control characters in names replaced."""
        rows = part.read()
        whole = rows.with_columns(_printable(rows[name]) for name in NAMES)
        # Counted after the filter: an excluded question is in no cell.
        left = without(rows.lazy(), self.gone).collect()
        left = left.with_columns(_printable(left[name]) for name in NAMES)
        shown = counted(left, self.unanswered)
        published = whole.select(is_aggregate()).to_series()
        return _Rows(
            replies=whole.filter(~published) if published.any() else whole,
            asked=whole.filter(~is_side_row()),
            left=left,
            shown=shown,
            kept=scored_rows(shown),
            averages=shown.filter(is_aggregate()) if published.any() else shown.clear(),
        )

    def outline(self, parts: Sequence[Part]) -> list[Whole]:
        """What parts have in common, each by itself."""
        return [_outlined(self.read(part)) for part in parts]

    def measure(self, whole: Whole, parts: Sequence[Part]) -> list[Measured]:
        """The measures of parts."""
        with kept_draws(self.room):
            return [_measured(self.read(part), whole, self.seed) for part in parts]


def measured_parts(
    filtered: Filtered, *, seed: int, unanswered: Unanswered, progress: Progress | None = None
) -> tuple[Whole, list[Measured]]:
    """Measures the rows of all models, those of many models in processes of this machine.

    Rows are measured in parts of whole models: first what they have in common, then each. The parts depend on the rows
    alone, and a process does what one would do, so that the result does not depend on their number.

    Args:
        filtered: Result of the closed-book filter.
        seed: Seed of the bootstrap.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).
        progress: Called after each unit of work.

    Returns:
        What the rows have in common, and the measures of each part, in the order of the models.

    Raises:
        FathomError: A file is damaged or gone, or a process was killed.
    """
    parts = filtered.table.divided(PART)
    largest = max(part.count for part in parts)
    workers = 1 if len(parts) == 1 else max(1, min(cores(MOST_PROCESSES), ROWS // largest))
    units = _shares(parts, len(parts) if workers == 1 else 2 * workers)
    study = _Study(filtered.gone, unanswered, seed, ROOM // workers)

    def done_by(work: Callable[[Sequence[Part]], list[Found]], before: int) -> list[Found]:
        tell = None if progress is None else lambda done, _: progress(before + done, 2 * len(units))
        return [one for own in run_units(units, work, workers=workers, progress=tell) for one in own]

    whole = _together(done_by(study.outline, 0))
    with kept_draws():  # of units that need no other process
        return whole, done_by(partial(study.measure, whole), len(units))


def _shares(parts: Sequence[Part], most: int) -> dict[str, Sequence[Part]]:
    """The parts in at most so many units of work, in their order: models of one unit share weights that are drawn."""
    count = min(len(parts), most)
    ends = [len(parts) * n // count for n in range(count + 1)]
    return {str(start): parts[start:end] for start, end in pairwise(ends)}


def _together(found: Sequence[Whole]) -> Whole:
    """What all parts have in common."""
    return Whole(
        kinds=pl.concat([one.kinds for one in found]).unique(maintain_order=True),
        epochs=max(one.epochs for one in found),
        questions=pl.concat([one.questions for one in found]).unique(maintain_order=True),
        facets=frozenset[str]().union(*(one.facets for one in found)),
        drafted=frozenset[str]().union(*(one.drafted for one in found)),
        choices=pl.concat([one.choices for one in found]).unique(),
        groups=pl.concat([one.groups for one in found]).unique(),
        outline=reduce(add, (one.outline for one in found)),
    )


def _outlined(rows: _Rows) -> Whole:
    number = facet("question")
    facets, drafted = set[str](), set[str]()
    for own in _different_facets(rows.asked):
        facets.update(own)
        drafted.update([str(own["drafted"])] if "drafted" in own else ())
    return Whole(
        kinds=rows.asked.select(KINDS).unique(maintain_order=True),
        epochs=int(rows.asked["epoch"].max() or 0),  # type: ignore[arg-type]  # of a column of whole numbers
        questions=rows.asked.select("task", "suite", "item", number.alias("question"))
        .filter(pl.col("question").is_not_null())
        .unique(maintain_order=True),
        facets=frozenset(facets),
        drafted=frozenset(drafted),
        choices=choice_tasks(rows.kept),
        groups=category_groups(rows.kept),
        outline=outline_of(rows.kept, rows.averages),
    )


def _measured(rows: _Rows, whole: Whole, seed: int) -> Measured:
    kept = rows.kept
    tables = grids(kept)
    return Measured(
        profiles=profiles_of(tables, seed=seed),
        grids=list(map(of_scores, tables)),
        by_cell=analysis.cell_counts(rows.asked),
        by_task=analysis.cell_counts(rows.left.filter(~is_side_row())),
        position=analysis.position(kept, seed=seed),
        depths=analysis.depth_grid(kept),
        contrasts=analysis.position_contrasts(kept, seed=seed),
        answers=analysis.answers(kept, seed=seed, tasks=whole.choices),
        truncation=analysis.truncation(rows.shown, seed=seed),
        categories=category_scores(kept, whole.groups, seed=seed),
        unmeasured=cells_unmeasured(kept),
        scorer_errors=scorer_errors(rows.replies),
        graded=graders(rows.replies),
        by_question=part_by_question(kept, rows.averages, whole.outline, seed=seed),
        averages=rows.averages,
    )


def _printable(names: pl.Series) -> pl.Series:
    known = names.drop_nulls().unique()
    return names.replace({name: printable(name) for name in known if printable(name) != name})


def _different_facets(rows: pl.DataFrame) -> Iterator[dict[str, Any]]:
    for text in rows["facets"].drop_nulls().unique():
        try:
            found = json.loads(text)
        except (ValueError, TypeError):
            # Rows of other tools may have any value here, which names no field for breakdowns.
            continue
        if isinstance(found, dict):
            yield found
