"""Measures everything that a report shows: in parts of whole models, of many models in several processes."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import chain, pairwise
from operator import add
from typing import Any, NamedTuple, TypeVar

import polars as pl

from fathom import analysis
from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.drops import drops_of
from fathom.analysis.grid import Grid, grids, of_scores
from fathom.analysis.known import Filtered, without
from fathom.analysis.profile import profiles_of
from fathom.analysis.ranking import Ranked, ranking_of, ranking_of_profiles
from fathom.parallel.units import MOST_PROCESSES, Progress, cores, one_thread, run_units
from fathom.printing import printable
from fathom.report.by_question import Outline, PartByQuestion, outline_of, part_by_question, together
from fathom.report.results import ALL, Key, PartRows, Results, System, grouped, system_of, total
from fathom.report.sections import MEASUREMENTS
from fathom.report.sections.settings import NAMES, Recorded, distinct, recorded, settings_of, settings_of_averages
from fathom.report.setups import ComparedSetups, setup_name
from fathom.rows.table import Part, RowsTable
from fathom.stats.intervals import ROOM, kept_draws
from fathom.stats.outcomes import ScorerError, Unanswered, Unmeasured, counted, scored_rows, scorer_errors
from fathom.stats.outcomes import unmeasured as cells_unmeasured
from fathom.stats.side_rows import is_aggregate, is_side_row
from fathom.types import FathomError

PART = 25_000
"""Rows of a part, unless one model has more: those of fewer rows are no work for several processes."""
ROWS = 400_000
"""Rows that all processes hold at once, unless one model has more."""
Result = TypeVar("Result")


@one_thread()
def measure(
    rows: pl.DataFrame | RowsTable | Filtered,
    *,
    seed: int = 0,
    unanswered: Unanswered = "zero",
    base_lengths: Sequence[int] = BASE_LENGTHS,
    progress: Progress | None = None,
) -> Results:
    """Measures everything that a report shows.

    Args:
        rows: A rows table (``fathom.rows``), to which the closed-book filter is applied with its defaults; or the
            result of the filter.
        seed: Seed of the bootstrap.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).
        base_lengths: Lengths whose mean score is the base of effective lengths.
        progress: See :func:`measured_parts`.

    Returns:
        The results, with control characters in names replaced. Published averages without replies have only
        breakdowns and settings.

    Raises:
        FathomError: There are no rows, or none with a context.
    """
    filtered = rows if isinstance(rows, Filtered) else analysis.known_filter(rows, seed=seed)
    if not filtered.table.count:
        raise FathomError("There are no rows to report on: run a suite first (`fathom run`) or name another file.")
    whole, measured = measured_parts(filtered, seed=seed, unanswered=unanswered, progress=progress)
    averages = pl.concat([part.averages for part in measured])
    by_questions = [part.by_question for part in measured]
    kinds = whole.recorded.kinds
    if kinds.is_empty() and not averages.is_empty():
        alone = measure_profiles(())
        by_question = together(by_questions, seed=seed)
        return replace(alone, settings=tuple(settings_of_averages(averages)), by_question=by_question)
    if kinds.is_empty():
        raise FathomError(
            "All rows are closed-book or have truncated prompts, so that there is no length to report on: run the "
            "suite with its whole prompts."
        )
    by_cell = _joined(part.by_cell for part in measured)
    by_task = _joined(part.by_task for part in measured)
    scores = measure_profiles(_joined(part.profiles for part in measured), base_lengths)
    ranking = ranking_of(_joined(part.grids for part in measured), list(scores.average.values()), seed=seed)
    systems = [System(*pair) for pair in kinds.select("model", "variant").unique(maintain_order=True).rows()]
    # Without average scores that can be compared, the mean over questions is the score of the report.
    unranked = len(ranking) < min(2, len(systems))
    by_question = together(by_questions, seed=seed, ranked=unranked)
    return replace(
        scores,
        systems=_in_order(systems, by_question.ranking or ranking, scores),
        ranking=tuple(ranking),
        tasks=numbered(task for task in kinds["task"].unique(maintain_order=True) if task != ALL),
        lengths=tuple(sorted(set(kinds["length"]))),
        by_task=_totals(by_task, lambda counts: (system_of(counts), counts.task or ALL))
        | _totals(by_task, lambda counts: (system_of(counts), ALL)),
        by_length=_totals(by_cell, lambda counts: (system_of(counts), counts.length or 0)),
        by_cell=_by_cell(by_cell),
        settings=(*settings_of(whole.recorded), *settings_of_averages(averages)),
        suites=tuple(dict.fromkeys(name.partition("#")[0] for name in distinct(kinds, "suite"))),
        filtered=filtered,
        by_question=by_question,
        unanswered=unanswered,
        unmeasured=_joined(part.unmeasured for part in measured),
        scorer_errors=_joined(part.scorer_errors for part in measured),
        of_sections={
            measurement.name: tuple(
                measurement.finish(_joined(part.of_sections[measurement.name] for part in measured))
            )
            for measurement in MEASUREMENTS
        },
    )


def measure_profiles(ready: Sequence[analysis.Profile], base_lengths: Sequence[int] = BASE_LENGTHS) -> Results:
    """Measures what profiles alone contain, for figures: no counts, no positions, no settings.

    Args:
        ready: Profiles of rows, or of a published table of scores.
        base_lengths: Lengths whose mean score is the base of effective lengths.
    """
    average = {(system_of(score), score.task): score for score in analysis.average_scores_of(ready)}
    effective = analysis.effective_length_of(ready, base_lengths)
    scores = Results(
        systems=(),
        ranking=tuple(ranking_of_profiles(ready, list(average.values()))),
        tasks=tuple(dict.fromkeys(profile.task for profile in ready if profile.task != ALL)),
        lengths=tuple(sorted({int(length) for profile in ready for length in profile.lengths})),
        average=average,
        curve={(system_of(point), point.task, point.length): point for point in analysis.curve_of(ready)},
        longscore={(system_of(score), score.task): score for score in analysis.longscore_of(ready)},
        effective={(system_of(length), length.task, length.definition): length for length in effective},
        drops=tuple(drops_of(ready)),
    )
    systems = dict.fromkeys(system_of(profile) for profile in ready)
    return replace(scores, systems=_in_order(systems, scores.ranking, scores))


@one_thread()
def measure_scores(filtered: Filtered, *, seed: int = 0, unanswered: Unanswered = "zero") -> Results:
    """Measures scores and counts of replies alone, in this process, with the figures of a whole report.

    Args:
        filtered: Result of the closed-book filter.
        seed: Seed of the bootstrap.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).
    """
    study = _Study(filtered.gone, unanswered, seed, ROOM)
    profiles, counts = list[analysis.Profile](), list[analysis.Counts]()
    with kept_draws():
        for part in filtered.table.divided(PART):
            rows = study.read(part)
            profiles += profiles_of(grids(rows.scored), seed=seed)
            counts += analysis.cell_counts(rows.asked)
    scores = measure_profiles(profiles)
    return replace(scores, by_cell=_by_cell(counts), filtered=filtered, unanswered=unanswered)


def with_setups(results: Results, compared: ComparedSetups) -> Results:
    """The results with a comparison of setups, in whose order the systems are.

    Setups with unchanged weights and trained ones are not ranked against each other.

    Raises:
        FathomError: The results have no rows of a setup.
    """
    order = [System(setup_name(result.setup), "") for result in (compared.reference, *compared.others)]
    absent = [system.name for system in order if system not in results.systems]
    if absent:
        raise FathomError(f"the report has no rows of the setup {absent[0]!r}: give it the rows of the comparison")
    systems = (*order, *(system for system in results.systems if system not in order))
    ordered = replace(results, systems=systems, setups=compared)
    if len(compared.families) < 2:
        return ordered
    return replace(ordered, ranking=(), by_question=replace(results.by_question, ranking=()))


def _joined(parts: Iterable[Iterable[Result]]) -> tuple[Result, ...]:
    """What was measured on the parts of the rows, in their order."""
    return tuple(chain.from_iterable(parts))


def _in_order(systems: Iterable[System], ranking: Sequence[Ranked], scores: Results) -> tuple[System, ...]:
    """Systems in the order of their ranks, then the others by average score."""
    places = {system_of(ranked): place for place, ranked in enumerate(ranking)}

    def mean(system: System) -> float:
        score = scores.average.get((system, ALL))
        return score.mean if score is not None and score.mean is not None else -1.0

    return tuple(sorted(systems, key=lambda system: (places.get(system, len(places)), -mean(system))))


def _totals(counts: Iterable[analysis.Counts], key: Callable[[analysis.Counts], Key]) -> dict[Key, analysis.Counts]:
    return {name: total(group) for name, group in grouped(counts, key).items()}


def _by_cell(counts: Sequence[analysis.Counts]) -> dict[tuple[System, str, int], analysis.Counts]:
    """Counts by system, task (``all`` too) and length."""
    return _totals(counts, lambda own: (system_of(own), own.task or ALL, own.length or 0)) | _totals(
        counts, lambda own: (system_of(own), ALL, own.length or 0)
    )


def numbered(names: Iterable[str]) -> tuple[str, ...]:
    """Names in their order, but names that differ only in numbers sorted by these: ``t2`` before ``t10``."""
    alike = grouped(names, lambda name: re.sub("[0-9]+", "0", name))
    return tuple(
        name
        for group in alike.values()
        for name in sorted(group, key=lambda name: [int(digits) for digits in re.findall("[0-9]+", name)])
    )


# ---------------------------------------------------------------------------------------------- parts of the rows


class Whole(NamedTuple):
    """What the rows of all models have in common, before any is measured.

    Attributes:
        recorded: What settings are made of.
        outline: See ``fathom.report.by_question``.
        common: What sections need to know (``Measurement.common``), by the names of their measurements.
    """

    recorded: Recorded
    outline: Outline
    common: Mapping[str, pl.DataFrame]


class Measured(NamedTuple):
    """What is measured on some models; see ``Results``."""

    profiles: Sequence[analysis.Profile]
    grids: Sequence[Grid]
    by_cell: Sequence[analysis.Counts]
    by_task: Sequence[analysis.Counts]
    unmeasured: Sequence[Unmeasured]
    scorer_errors: Sequence[ScorerError]
    by_question: PartByQuestion
    averages: pl.DataFrame
    of_sections: Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """What every process needs to know of a report.

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

    def read(self, part: Part) -> PartRows:
        """A part, with control characters in names replaced."""
        rows = part.read()
        whole = rows.with_columns(_printable(rows[name]) for name in NAMES)
        # Counted after the filter: an excluded question is in no cell.
        left = without(rows.lazy(), self.gone).collect()
        left = left.with_columns(_printable(left[name]) for name in NAMES)
        counting = counted(left, self.unanswered)
        published = whole.select(is_aggregate()).to_series()
        return PartRows(
            replies=whole.filter(~published) if published.any() else whole,
            asked=whole.filter(~is_side_row()),
            left=left,
            counted=counting,
            scored=scored_rows(counting),
            averages=counting.filter(is_aggregate()) if published.any() else counting.clear(),
            seed=self.seed,
            unanswered=self.unanswered,
        )

    def outline(self, parts: Sequence[Part]) -> list[Whole]:
        """What parts have in common, each by itself."""
        return [_outlined(self.read(part)) for part in parts]

    def measure(self, whole: Whole, parts: Sequence[Part]) -> list[Measured]:
        """The measures of parts."""
        with kept_draws(self.room):
            return [_measured(self.read(part), whole) for part in parts]


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

    def done_by(work: Callable[[Sequence[Part]], list[Result]], before: int) -> list[Result]:
        tell = None if progress is None else lambda done, _: progress(before + done, 2 * len(units))
        return list(chain.from_iterable(run_units(units, work, workers=workers, progress=tell)))

    whole = _together(done_by(study.outline, 0))
    with kept_draws():  # of units that need no other process
        return whole, done_by(partial(study.measure, whole), len(units))


def _shares(parts: Sequence[Part], most: int) -> dict[str, Sequence[Part]]:
    """The parts in at most so many units of work, in their order: models of one unit share weights that are drawn."""
    count = min(len(parts), most)
    ends = [len(parts) * n // count for n in range(count + 1)]
    return {str(start): parts[start:end] for start, end in pairwise(ends)}


def _together(parts: Sequence[Whole]) -> Whole:
    """What all parts have in common."""
    return Whole(
        recorded=reduce(add, (part.recorded for part in parts)),
        outline=reduce(add, (part.outline for part in parts)),
        common={name: pl.concat([part.common[name] for part in parts]).unique() for name in parts[0].common},
    )


def _outlined(rows: PartRows) -> Whole:
    return Whole(
        recorded=recorded(rows.asked),
        outline=outline_of(rows.scored, rows.averages),
        common={asked.name: asked.common(rows) for asked in MEASUREMENTS if asked.common is not None},
    )


def _measured(rows: PartRows, whole: Whole) -> Measured:
    tables = grids(rows.scored)
    return Measured(
        profiles=profiles_of(tables, seed=rows.seed),
        grids=list(map(of_scores, tables)),
        by_cell=analysis.cell_counts(rows.asked),
        by_task=analysis.cell_counts(rows.left.filter(~is_side_row())),
        unmeasured=cells_unmeasured(rows.scored),
        scorer_errors=scorer_errors(rows.replies),
        by_question=part_by_question(rows.scored, rows.averages, whole.outline, seed=rows.seed),
        averages=rows.averages,
        of_sections={
            measurement.name: list(measurement.measure(rows, whole.common.get(measurement.name)))
            for measurement in MEASUREMENTS
        },
    )


def _printable(names: pl.Series) -> pl.Series:
    known = names.drop_nulls().unique()
    return names.replace({name: printable(name) for name in known if printable(name) != name})
