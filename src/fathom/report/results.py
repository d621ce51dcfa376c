"""What a report has measured, as values: its systems, their scores, and what each section has measured itself."""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Generic, NamedTuple, Protocol, TypeVar, cast

import polars as pl

from fathom import analysis
from fathom.analysis.drops import Drop
from fathom.analysis.ranking import Ranked
from fathom.printing import printable
from fathom.report.by_question import ByQuestion
from fathom.report.setups import ComparedSetups
from fathom.stats.outcomes import ScorerError, Unanswered, Unmeasured

ALL = "all"
SUMMED = (
    *("replies", "scored", "valid", "invalid", "cut", "unanswered", "overflow", "missing", "scorer_error", "refused"),
    *("error", "not_asked", "not_judged"),
    "truncated",
    *("tokens_in", "tokens_out", "tokens_reasoning"),
)
Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class OfSystem(Protocol):
    """A value of a model and its variant, such as a score."""

    @property
    def model(self) -> str:
        """Name of the model."""

    @property
    def variant(self) -> str:
        """Name of the variant, "" if there is only one."""


class System(NamedTuple):
    """A model and the variant of it that ran ("" if there is only one)."""

    model: str
    variant: str

    @property
    def name(self) -> str:
        """Model and variant as one name, without control characters."""
        return printable(f"{self.model} · {self.variant}" if self.variant else self.model)


class PartRows(NamedTuple):
    """The rows of some models.

    Attributes:
        replies: All but published averages.
        asked: Those with a whole context.
        left: All rows that the closed-book filter leaves; the same below.
        counted: These with the scores that count (``fathom.stats.outcomes``).
        scored: Those of them with a whole context.
        averages: Published averages.
        seed: Seed of the bootstrap.
        unanswered: How unanswered replies count.
    """

    replies: pl.DataFrame
    asked: pl.DataFrame
    left: pl.DataFrame
    counted: pl.DataFrame
    scored: pl.DataFrame
    averages: pl.DataFrame
    seed: int
    unanswered: Unanswered


@dataclass(frozen=True)
class Measurement(Generic[Value]):
    """What a section measures on the rows of every model; ``results[measurement]`` are its values.

    Attributes:
        name: Unique among all measurements.
        measure: Gives the values of some models, from their rows and what ``common`` gives of all rows.
        common: What must be known of all rows before any are measured; the parts are concatenated without repetition.
            None for nothing.
        finish: Turns the values of all models into those of the report, such as with adjusted p-values.
    """

    name: str
    measure: Callable[[PartRows, Any], Iterable[Value]]
    common: Callable[[PartRows], pl.DataFrame] | None = None
    finish: Callable[[Sequence[Value]], Sequence[Value]] = tuple


@dataclass(frozen=True)
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
        by_task: Counts by system and task (``all`` too) of the replies that means are taken over.
        by_length: Counts by system and length of every reply with a context.
        by_cell: Counts by system, task (``all`` too) and length of every reply with a context.
        settings: Settings that the rows record: name and value.
        suites: Names of the suites, without the suffix that distinguishes suites of one name.
        filtered: Result of the closed-book filter; None if the results were not measured on rows.
        by_question: Results with equal weight for every question, and published averages.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).
        notes: What was not measured, beside what the rows say, such as unfinished runs.
        made: How the report was made, beside what the rows say: name and value.
        unmeasured: Cells without a score.
        scorer_errors: Replies that could not be scored, by model and exception.
        drops: The largest loss of each model on each task, if it is significant; the largest first.
        setups: Setups of one model compared with a base, if the report is about them.
        of_sections: What sections have measured, by the names of their measurements.
    """

    systems: tuple[System, ...]
    ranking: tuple[Ranked, ...]
    tasks: tuple[str, ...]
    lengths: tuple[int, ...]
    average: Mapping[tuple[System, str], analysis.AverageScore]
    curve: Mapping[tuple[System, str, int], analysis.CurvePoint]
    longscore: Mapping[tuple[System, str], analysis.LongScore]
    effective: Mapping[tuple[System, str, analysis.Definition], analysis.EffectiveLength]
    by_task: Mapping[tuple[System, str], analysis.Counts] = field(default_factory=dict)
    by_length: Mapping[tuple[System, int], analysis.Counts] = field(default_factory=dict)
    by_cell: Mapping[tuple[System, str, int], analysis.Counts] = field(default_factory=dict)
    settings: tuple[tuple[str, str], ...] = ()
    suites: tuple[str, ...] = ()
    filtered: analysis.Filtered | None = None
    by_question: ByQuestion = field(default_factory=ByQuestion)
    unanswered: Unanswered = "zero"
    notes: tuple[str, ...] = ()
    made: tuple[tuple[str, str], ...] = ()
    unmeasured: tuple[Unmeasured, ...] = ()
    scorer_errors: tuple[ScorerError, ...] = ()
    drops: tuple[Drop, ...] = ()
    setups: ComparedSetups | None = None
    of_sections: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)

    def __getitem__(self, measurement: Measurement[Value]) -> tuple[Value, ...]:
        """The values of a section's measurement; none if it was not measured."""
        return cast(tuple[Value, ...], self.of_sections.get(measurement.name, ()))

    @property
    def by_average(self) -> bool:
        """Whether systems are ranked by their average scores, and not by their means over questions."""
        return not self.by_question.ranking

    @property
    def ranked(self) -> tuple[Ranked, ...]:
        """The one ranking of the report, the highest score first."""
        return self.ranking if self.by_average else self.by_question.ranking

    @property
    def with_mean(self) -> tuple[str, ...]:
        """The tasks, and ``all`` for their mean unless there is exactly one."""
        return self.tasks if len(self.tasks) == 1 else (*self.tasks, ALL)

    def every(self, system: System, task: str = ALL) -> analysis.Counts | None:
        """Counts of every reply of a system with a context, on one task or on all; None if there is no reply."""
        return self._every.get((system, task))

    @cached_property
    def _every(self) -> Mapping[tuple[System, str], analysis.Counts]:
        cells = grouped(self.by_cell.items(), lambda cell: cell[0][:2])
        return {key: total([counts for _, counts in own]) for key, own in cells.items()}

    def only(self, systems: Sequence[System]) -> "Results":
        """The results of some systems, in their order; their ranks and differences stay those among all."""

        def of_keys(values: Mapping[Key, Value]) -> dict[Key, Value]:
            return {key: value for key, value in values.items() if cast(tuple[Any, ...], key)[0] in chosen}

        def of_models(values: Iterable[Any]) -> tuple[Any, ...]:
            return tuple(value for value in values if not hasattr(value, "model") or system_of(value) in chosen)

        chosen = set(systems)
        return replace(
            self,
            systems=tuple(systems),
            average=of_keys(self.average),
            curve=of_keys(self.curve),
            longscore=of_keys(self.longscore),
            effective=of_keys(self.effective),
            by_task=of_keys(self.by_task),
            by_length=of_keys(self.by_length),
            by_cell=of_keys(self.by_cell),
            filtered=self.filtered and replace(self.filtered, removed=of_models(self.filtered.removed)),
            by_question=self.by_question.only([*systems, *sorted(self.by_question.published - chosen)]),
            unmeasured=of_models(self.unmeasured),
            scorer_errors=of_models(self.scorer_errors),
            drops=of_models(self.drops),
            of_sections={name: of_models(values) for name, values in self.of_sections.items()},
        )

    def of_system(self, system: System) -> str:
        """ " (NAME)" behind what a sentence says of a system; "" if there is only one."""
        return f" ({system.name})" if len(self.systems) > 1 else ""

    def points(self, task: str) -> list[analysis.CurvePoint]:
        """Scores of a task (or ``all``) by system and length."""
        return [point for (_, name, _), point in self.curve.items() if name == task]

    def longscores(self, task: str) -> list[analysis.LongScore]:
        """LongScores of a task (or ``all``) by system."""
        return [score for (_, name), score in self.longscore.items() if name == task]


def system_of(measured: OfSystem) -> System:
    """The system of a value."""
    return System(measured.model, measured.variant)


def task_title(task: str) -> str:
    """The name of a task as readers see it; "all tasks" for their mean."""
    return "all tasks" if task == ALL else task


def grouped(values: Iterable[Value], key: Callable[[Value], Key]) -> dict[Key, list[Value]]:
    """Values by a key, in their order."""
    groups: dict[Key, list[Value]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups


def total(counts: Sequence[analysis.Counts]) -> analysis.Counts:
    """Adds up counts of one system; a sum of unknown counts is unknown.

    Raises:
        ValueError: ``counts`` is empty.
    """
    if not counts:
        raise ValueError("no counts to add up")
    costs = [part.cost for part in counts if part.cost is not None]
    tasks, lengths = {part.task for part in counts}, {part.length for part in counts}
    return replace(
        counts[0],
        task=counts[0].task if len(tasks) == 1 else None,
        length=counts[0].length if len(lengths) == 1 else None,
        cost=sum(costs) if costs else None,
        seconds=sum(part.seconds for part in counts),
        **{name: sum(getattr(part, name) for part in counts) for name in SUMMED},
    )
