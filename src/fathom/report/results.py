"""Everything a report shows, measured once from the rows."""

import re
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeVar

import polars as pl

from fathom import analysis
from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.counts import Graded, all_graders
from fathom.analysis.drops import Drop, drops_of
from fathom.analysis.ranking import Ranked, ranking_of, ranking_of_profiles
from fathom.parallel.units import Progress, one_thread
from fathom.printing import printable
from fathom.report.by_question import ByQuestion, together
from fathom.report.parts import Whole, measured_parts
from fathom.report.setups import ComparedSetups, shown
from fathom.rows.table import RowsTable
from fathom.stats.columns import facet
from fathom.stats.outcomes import ScorerError, Unanswered, Unmeasured
from fathom.stats.ranks import with_adjusted
from fathom.types import FathomError

ALL = "all"
DRAFTED = "Questions drafted by"

SUMMED = (
    *("replies", "scored", "valid", "invalid", "cut", "unanswered", "overflow", "missing", "scorer_error", "refused"),
    *("error", "not_asked", "not_judged"),
    "truncated",
    *("tokens_in", "tokens_out", "tokens_reasoning"),
)
Measure = TypeVar(
    "Measure",
    analysis.AnswerPoint,
    analysis.AverageScore,
    analysis.CurvePoint,
    analysis.LongScore,
    analysis.EffectiveLength,
    analysis.PositionPoint,
    analysis.PositionContrast,
    analysis.DepthCell,
    analysis.Truncation,
    analysis.CategoryScore,
    analysis.Counts,
    analysis.Profile,
    analysis.Known,
    Drop,
    Ranked,
    ScorerError,
    Unmeasured,
)
Key = TypeVar("Key", bound=Hashable)


class System(NamedTuple):
    """A model and the variant of it that ran ("" if there is only one)."""

    model: str
    variant: str

    @property
    def name(self) -> str:
        """Model and variant as one name, without control characters."""
        return printable(f"{self.model} · {self.variant}" if self.variant else self.model)


@dataclass(frozen=True, slots=True)
class Results:
    """What was measured; a missing key was not measured.

    Attributes:
        systems: Models and variants: the ranked ones by score, then the others.
        ranking: Systems whose averages are over the same tasks and lengths, the highest first, with their ranks.
        tasks: Names of the tasks, in the order of the rows and of the numbers in their names.
        lengths: Lengths in tokens, ascending.
        average: Average score by system and task (``all`` too).
        curve: Score by system, task (``all`` too) and length.
        longscore: LongScore by system and task (``all`` too).
        effective: Effective length by system, task (``all`` too) and definition.
        position: Score by depth, if depths vary.
        depths: Score by depth and length, if depths are a grid.
        by_task: Counts by system and task (``all`` too) of the replies that means are taken over.
        by_length: Counts by system and length of every reply with a context.
        by_cell: Counts by system, task (``all`` too) and length of every reply with a context.
        settings: Settings that the rows record: name and value.
        suites: Names of the suites, without the suffix that distinguishes suites of one name.
        filtered: Result of the closed-book filter; None if the results were not measured on rows.
        graded: Graders of the scores.
        answers: Validity and shortcuts of tasks that ask for one of several answers or an order.
        contrasts: Differences between front, middle and end, if depths vary.
        truncation: Whole prompts compared with truncated ones, if there are any.
        categories: Scores of categories of tasks, if there are several.
        by_question: Results with equal weight for every question, and published averages.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).
        notes: What was not measured, beside what the rows say, such as unfinished runs.
        made: How the report was made, beside what the rows say: name and value.
        unmeasured: Cells without a score.
        scorer_errors: Replies that could not be scored, by model and exception.
        drops: The largest loss of each model on each task, if it is significant; the largest first.
        setups: Setups of one model compared with a base, if the report is about them.
    """

    systems: tuple[System, ...]
    ranking: tuple[Ranked, ...]
    tasks: tuple[str, ...]
    lengths: tuple[int, ...]
    average: Mapping[tuple[System, str], analysis.AverageScore]
    curve: Mapping[tuple[System, str, int], analysis.CurvePoint]
    longscore: Mapping[tuple[System, str], analysis.LongScore]
    effective: Mapping[tuple[System, str, analysis.Definition], analysis.EffectiveLength]
    position: tuple[analysis.PositionPoint, ...]
    by_task: Mapping[tuple[System, str], analysis.Counts]
    by_length: Mapping[tuple[System, int], analysis.Counts]
    by_cell: Mapping[tuple[System, str, int], analysis.Counts]
    settings: tuple[tuple[str, str], ...]
    suites: tuple[str, ...] = ()
    filtered: analysis.Filtered | None = None
    graded: tuple[Graded, ...] = ()
    answers: tuple[analysis.AnswerPoint, ...] = ()
    depths: tuple[analysis.DepthCell, ...] = ()
    contrasts: tuple[analysis.PositionContrast, ...] = ()
    truncation: tuple[analysis.Truncation, ...] = ()
    categories: tuple[analysis.CategoryScore, ...] = ()
    by_question: ByQuestion = field(default_factory=ByQuestion)
    unanswered: Unanswered = "zero"
    notes: tuple[str, ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    scorer_errors: tuple[ScorerError, ...] = ()
    drops: tuple[Drop, ...] = ()
    setups: ComparedSetups | None = None

    @property
    def by_average(self) -> bool:
        """Whether systems are ranked by their average scores, and not by their means over questions."""
        return not self.by_question.ranking

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        """The one ranking of the report, the highest score first."""
        return self.ranking if self.by_average else self.by_question.ranking

    def every(self, system: System, task: str = ALL) -> analysis.Counts | None:
        """Counts of every reply of a system with a context, on one task or on all; None if there is no reply."""
        found = [one for (name, about, _), one in self.by_cell.items() if (name, about) == (system, task)]
        return total(found) if found else None


def system_of(measure: Measure) -> System:
    """The system of a measure."""
    return System(measure.model, measure.variant)


@one_thread()
def measure(
    rows: pl.DataFrame | RowsTable | analysis.Filtered,
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
        progress: See ``fathom.report.parts.measured_parts``.

    Returns:
        The results, with control characters in names replaced. Published averages without replies have only
        breakdowns and settings.

    Raises:
        FathomError: There are no rows, or none with a context.
    """
    filtered = rows if isinstance(rows, analysis.Filtered) else analysis.known_filter(rows, seed=seed)
    if not filtered.table.count:
        raise FathomError("There are no rows to report on: run a suite first (`fathom run`) or name another file.")
    whole, measured = measured_parts(filtered, seed=seed, unanswered=unanswered, progress=progress)
    averages = pl.concat([part.averages for part in measured])
    by_questions = [part.by_question for part in measured]
    if whole.kinds.is_empty() and not averages.is_empty():
        alone = measure_profiles(())
        by_question = together(by_questions, seed=seed)
        return replace(alone, settings=tuple(settings_of_averages(averages)), by_question=by_question)
    if whole.kinds.is_empty():
        raise FathomError(
            "All rows are closed-book or have truncated prompts, so that there is no length to report on: run the "
            "suite with its whole prompts."
        )
    by_cell = _joined(part.by_cell for part in measured)
    scores = measure_profiles(_joined(part.profiles for part in measured), base_lengths)
    ranking = ranking_of(_joined(part.grids for part in measured), list(scores.average.values()), seed=seed)
    systems = [System(*pair) for pair in whole.kinds.select("model", "variant").unique(maintain_order=True).rows()]
    # Without average scores that can be compared, the mean over questions is the score of the report.
    unranked = len(ranking) < min(2, len(systems))
    by_question = together(by_questions, seed=seed, ranked=unranked)
    return replace(
        scores,
        systems=_in_order(systems, by_question.ranking or ranking, scores),
        ranking=tuple(ranking),
        tasks=numbered(task for task in whole.kinds["task"].unique(maintain_order=True) if task != ALL),
        lengths=tuple(sorted(set(whole.kinds["length"]))),
        position=_joined(part.position for part in measured),
        by_task=_by_task(_joined(part.by_task for part in measured)),
        by_length=_totals(by_cell, lambda one: (system_of(one), one.length or 0)),
        by_cell=_totals(by_cell, lambda one: (system_of(one), one.task or ALL, one.length or 0))
        | _totals(by_cell, lambda one: (system_of(one), ALL, one.length or 0)),
        settings=(*settings_of(whole), *settings_of_averages(averages)),
        suites=tuple(dict.fromkeys(name.partition("#")[0] for name in distinct(whole.kinds, "suite"))),
        filtered=filtered,
        graded=tuple(all_graders([part.graded for part in measured])),
        answers=_joined(part.answers for part in measured),
        depths=_joined(part.depths for part in measured),
        contrasts=tuple(with_adjusted(_joined(part.contrasts for part in measured))),
        truncation=_joined(part.truncation for part in measured),
        categories=_joined(part.categories for part in measured),
        by_question=by_question,
        unanswered=unanswered,
        unmeasured=_joined(part.unmeasured for part in measured),
        scorer_errors=_joined(part.scorer_errors for part in measured),
    )


Found = TypeVar("Found")


def _joined(parts: Iterable[Iterable[Found]]) -> tuple[Found, ...]:
    """What was found in the parts of the rows, in their order."""
    return tuple(one for part in parts for one in part)


def with_setups(results: Results, compared: ComparedSetups) -> Results:
    """The results with a comparison of setups, in whose order the systems are.

    Setups with unchanged weights and trained ones are not ranked against each other.

    Raises:
        FathomError: The results have no rows of a setup.
    """
    order = [System(shown(one.setup), "") for one in (compared.reference, *compared.others)]
    absent = [one.name for one in order if one not in results.systems]
    if absent:
        raise FathomError(f"the report has no rows of the setup {absent[0]!r}: give it the rows of the comparison")
    systems = (*order, *(one for one in results.systems if one not in order))
    ordered = replace(results, systems=systems, setups=compared)
    if len(compared.families) < 2:
        return ordered
    return replace(ordered, ranking=(), by_question=replace(results.by_question, ranking=()))


def measure_profiles(ready: Sequence[analysis.Profile], base_lengths: Sequence[int] = BASE_LENGTHS) -> Results:
    """Measures what profiles alone contain, for figures: no counts, no positions, no settings.

    Args:
        ready: Profiles of rows, or of a published table of scores.
        base_lengths: Lengths whose mean score is the base of effective lengths.
    """
    average = {(system_of(one), one.task): one for one in analysis.average_scores_of(ready)}
    effective = analysis.effective_length_of(ready, base_lengths)
    scores = Results(
        systems=(),
        ranking=tuple(ranking_of_profiles(ready, list(average.values()))),
        tasks=tuple(dict.fromkeys(profile.task for profile in ready if profile.task != ALL)),
        lengths=tuple(sorted({int(length) for profile in ready for length in profile.lengths})),
        average=average,
        curve={(system_of(one), one.task, one.length): one for one in analysis.curve_of(ready)},
        longscore={(system_of(one), one.task): one for one in analysis.longscore_of(ready)},
        effective={(system_of(one), one.task, one.definition): one for one in effective},
        position=(),
        by_task={},
        by_length={},
        by_cell={},
        settings=(),
        drops=tuple(drops_of(ready)),
    )
    systems = dict.fromkeys(system_of(profile) for profile in ready)
    return replace(scores, systems=_in_order(systems, scores.ranking, scores))


def _in_order(systems: Iterable[System], ranking: Sequence[Ranked], scores: Results) -> tuple[System, ...]:
    """Systems in the order of their ranks, then the others by average score."""
    places = {system_of(one): place for place, one in enumerate(ranking)}
    return tuple(
        sorted(
            systems,
            key=lambda system: (places.get(system, len(places)), -_mean(scores.average.get((system, ALL)))),
        )
    )


def _by_task(counted: Sequence[analysis.Counts]) -> dict[tuple[System, str], analysis.Counts]:
    return _totals(counted, lambda one: (system_of(one), one.task or ALL)) | _totals(
        counted, lambda one: (system_of(one), ALL)
    )


def _mean(point: analysis.AverageScore | None) -> float:
    return point.mean if point is not None and point.mean is not None else -1.0


def numbered(names: Iterable[str]) -> tuple[str, ...]:
    """Names in their order, but names that differ only in numbers sorted by these: ``t2`` before ``t10``."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(re.sub("[0-9]+", "0", name), []).append(name)
    return tuple(
        name
        for group in alike.values()
        for name in sorted(group, key=lambda one: [int(digits) for digits in re.findall("[0-9]+", one)])
    )


def total(counts: Sequence[analysis.Counts]) -> analysis.Counts:
    """Adds up counts of one system; a sum of unknown counts is unknown.

    Raises:
        ValueError: ``counts`` is empty.
    """
    if not counts:
        raise ValueError("no counts to add up")
    costs = [one.cost for one in counts if one.cost is not None]
    tasks, lengths = {one.task for one in counts}, {one.length for one in counts}
    return replace(
        counts[0],
        task=counts[0].task if len(tasks) == 1 else None,
        length=counts[0].length if len(lengths) == 1 else None,
        cost=sum(costs) if costs else None,
        seconds=sum(one.seconds for one in counts),
        **{name: sum(getattr(one, name) for one in counts) for name in SUMMED},
    )


def _totals(counted: Iterable[analysis.Counts], key: Callable[[analysis.Counts], Key]) -> dict[Key, analysis.Counts]:
    groups: dict[Key, list[analysis.Counts]] = {}
    for one in counted:
        groups.setdefault(key(one), []).append(one)
    return {name: total(group) for name, group in groups.items()}


def settings_of(whole: Whole) -> list[tuple[str, str]]:
    """Settings by name, without those that the rows do not record.

    Args:
        whole: What the rows of all questions with a context have in common.
    """
    named = {
        "Suite": "suite",
        "Source of the rows": "source",
        "Tokenizer of the lengths": "tokenizer",
        "Scoring rule": "rule",
        "Graded by": "grader",
        "Languages": "language",
        "fathom version": "fathom_version",
    }
    settings = [(label, ", ".join(distinct(whole.kinds, column))) for label, column in named.items()]
    versions = whole.kinds.select("task", "task_version", "metric").unique(maintain_order=True).sort("task").rows()
    settings.append(("Epochs per sample", str(whole.epochs)))
    settings.extend(
        (f"Task {task}", f"version {version}" + (f", scored by {metric}" if metric else ""))
        for task, version, metric in versions
    )
    settings.extend(
        (f"Items of {task}", f"{items:,} with {questions:,} questions; questions of one item share a context")
        for task, items, questions in _several_questions(whole.questions)
    )
    if whole.drafted:
        settings.append((DRAFTED, ", ".join(printable(name) for name in sorted(whole.drafted))))
    settings.append(("Fields for breakdowns", ", ".join(printable(name) for name in sorted(whole.facets))))
    return [(label, value) for label, value in settings if value]


def settings_of_averages(rows: pl.DataFrame) -> list[tuple[str, str]]:
    """Settings of published averages; empty without any.

    Args:
        rows: Rows that are published averages; may be empty.
    """
    whole = rows.filter(facet("aggregate") == "overall", facet("measure") == "mean")
    if whole.is_empty():
        return []
    count = whole.select(
        *(facet(name).cast(pl.Int64, strict=False).alias(name) for name in ("questions", "n", "failed_replies"))
    )
    said = [
        ("Published averages", f"{', '.join(distinct(whole, 'suite'))}, from {', '.join(distinct(whole, 'source'))}"),
        ("Models published", f"{whole['model'].n_unique():,}, {len(whole):,} with their modes"),
        ("Questions of each", _range(count["questions"])),
        ("Repeats of each", _range(count["n"])),
        ("Failed replies of each", _range(count["failed_replies"])),
    ]
    return [(label, value) for label, value in said if value]


def _range(values: pl.Series) -> str:
    """ "1,500", or "0 to 69" if values differ; "" if none is known."""
    known = sorted(values.drop_nulls().unique())
    return " to ".join(f"{value:,}" for value in dict.fromkeys((*known[:1], *known[-1:])))


def _several_questions(questions: pl.DataFrame) -> list[tuple[str, int, int]]:
    """Tasks whose items have several questions, with their numbers of items and of questions."""
    table = questions.group_by("task", maintain_order=True).agg(
        items=pl.struct("suite", "item").n_unique(), questions=pl.len()
    )
    return [(str(task), int(items), int(questions)) for task, items, questions in table.rows()]


def distinct(rows: pl.DataFrame, column: str) -> list[str]:
    """The different values of a column of names, in the order of the rows, without empty values."""
    return [str(value) for value in rows[column].drop_nulls().unique(maintain_order=True) if str(value)]
