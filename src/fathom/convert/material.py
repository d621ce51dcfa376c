"""What formats are made of: rows, the figures of the report, and the runs with their replies."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from fathom.analysis import AverageScore, Counts, CurvePoint, Filtered
from fathom.browse.replies import find_suite
from fathom.plugins.names import first_of
from fathom.printing import printable, several
from fathom.report.measure import measure
from fathom.report.results import ALL, Results, System
from fathom.rows.runs import labels
from fathom.runfile.manifest import read_manifest
from fathom.runfile.store import StoredReply, replies, unasked
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Unanswered
from fathom.stats.side_rows import is_aggregate
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import format_length, render, thinking
from fathom.types import FathomError, Row, Sample

NORMAL_95 = 1.959964
"""Half the width of a 95% interval of a normal distribution, in standard errors."""


@dataclass(frozen=True)
class RunFolder:
    """A run among the sources.

    Attributes:
        suite: Name of its suite in the rows.
        system: Its model and variant in the rows.
        manifest: Its ``run.json``, which has no secrets.
    """

    folder: Path
    suite: str
    system: System
    manifest: Mapping[str, Any]

    @property
    def started(self) -> str:
        """When it started, ISO 8601; "" if unknown."""
        return str(self.manifest.get("started") or "")

    @property
    def generation(self) -> Mapping[str, Any]:
        """Temperature, seed, output cap and more."""
        settings = self.manifest.get("generation")
        return settings if isinstance(settings, Mapping) else {}


class ScoredReply(NamedTuple):
    """A row, and the stored reply that it is the score of; None if only the row is known."""

    row: Row
    stored: StoredReply | None


class Figure(NamedTuple):
    """A score of the report.

    Attributes:
        task: Name of the task; ``all`` for the mean over tasks.
        length: Length in tokens; None for the mean over lengths.
        mean: In [0, 1]; None if there is no score.
        interval: Its 95% interval.
        chance: Chance level; None if unknown.
        items: Items at that length; None for the mean over lengths.
        counts: Outcomes of all replies.
        why: Why there is no score; "" if there is one.
    """

    task: str
    length: int | None
    mean: float | None = None
    interval: Interval | None = None
    chance: float | None = None
    items: int | None = None
    counts: Counts | None = None
    why: str = "no score"

    @property
    def name(self) -> str:
        """``TASK`` or ``TASK@8k``."""
        return self.task if self.length is None else f"{self.task}@{format_length(self.length)}"

    @property
    def standard_error(self) -> float | None:
        """Half the width of the interval as standard errors of a normal distribution; the interval is not symmetric."""
        return None if self.interval is None else (self.interval.high - self.interval.low) / (2 * NORMAL_95)


def _scored(figure: Figure, score: AverageScore | CurvePoint, gap: str) -> Figure:
    why = "" if score.mean is not None else gap or "no score"
    return figure._replace(mean=score.mean, interval=score.interval, chance=score.chance, why=why)


@dataclass(frozen=True)
class Material:
    """Everything that a format can use.

    Attributes:
        rows: All rows, with model and variant as in ``results``.
        filtered: The rows that the figures are of.
        results: The figures of the report.
        runs: The runs among the sources.
        suites: Opened suites by name, for prompts.
        notes: What is not known, as sentences.
        rule: Scoring rule of the rows.
    """

    rows: pl.DataFrame
    filtered: Filtered
    results: Results
    runs: tuple[RunFolder, ...]
    suites: Mapping[str, BuiltSuite]
    notes: tuple[str, ...] = ()

    @property
    def systems(self) -> tuple[System, ...]:
        """Models and variants that have replies."""
        return self.results.systems

    def figures(self, system: System) -> list[Figure]:
        """All figures of a system: tasks, each over all lengths and then by length; the mean over tasks first."""
        results = self.results
        tasks = [task for task in results.tasks if results.every(system, task) is not None]
        every = []
        for task in (*([ALL] if len(tasks) != 1 else []), *tasks):
            every.append(self._average(system, task))
            every += [self._point(system, task, length) for length in results.lengths]
        return [figure for figure in every if figure.counts is not None]

    def _average(self, system: System, task: str) -> Figure:
        score: AverageScore | None = self.results.average.get((system, task))
        figure = Figure(task, None, counts=self.results.every(system, task))
        return figure if score is None else _scored(figure, score, score.note)

    def _point(self, system: System, task: str, length: int) -> Figure:
        point: CurvePoint | None = self.results.curve.get((system, task, length))
        figure = Figure(task, length, counts=self.results.by_cell.get((system, task, length)))
        return figure if point is None else _scored(figure._replace(items=point.items), point, point.gap)

    def run_of(self, system: System) -> RunFolder | None:
        """The first run of a system; None if its rows are from elsewhere."""
        return next((run for run in self.runs if run.system == system), None)

    def rows_of(self, system: System, **values: object) -> pl.DataFrame:
        """The replies of a system, and with the given values of columns; published averages are not replies."""
        columns = {"model": system.model, "variant": system.variant, **values}
        return self.rows.filter(~is_aggregate(), *(pl.col(name) == value for name, value in columns.items()))

    def suites_of(self, system: System) -> list[str]:
        """Names of the suites of a system."""
        return [str(name) for name in self.rows_of(system)["suite"].unique(maintain_order=True)]

    def scored_replies(self, system: System, **values: object) -> Iterator[ScoredReply]:
        """Rows with their stored replies, one by one: memory holds one reply, and no prompt."""
        frame = self.rows_of(system, **values)
        waiting = {(row.suite, row.sample, row.epoch): row for row in map(_row, frame.iter_rows(named=True))}
        for run in self.runs:
            if run.system == system:
                for stored in chain(replies(run.folder), unasked(run.folder)):
                    row = waiting.pop((run.suite, stored.sample, stored.epoch), None)
                    if row is not None:
                        yield ScoredReply(row, stored)
        yield from (ScoredReply(row, None) for row in waiting.values())

    def prompts(self, system: System) -> "Prompts":
        """The prompts of a system's samples."""
        return Prompts(self.suites, {run.suite: run for run in self.runs if run.system == system})


class Prompts:
    """Prompts, rendered when they are asked for.

    Args:
        suites: Opened suites by name.
        runs: The runs of one system by suite.
    """

    def __init__(self, suites: Mapping[str, BuiltSuite], runs: Mapping[str, RunFolder]) -> None:
        self._runs = runs
        self._texts = {name: suite.texts() for name, suite in suites.items()}
        self._samples = {name: suite.by_id() for name, suite in suites.items()}

    def text(self, row: Row) -> str | None:
        """The prompt that a row's reply answers; None if its suite is not at hand, or it was truncated before it was
        sent."""
        sample: Sample | None = self._samples.get(row.suite, {}).get(row.sample)
        if sample is None or row.truncated:
            return None
        run = self._runs.get(row.suite)
        asked = run is not None and (run.manifest.get("thinking") or {}).get("prompt") == "thinking"
        return render(thinking(sample) if asked and sample.thinking_tokens else sample, self._texts[row.suite])


def material(
    filtered: Filtered,
    paths: Sequence[Path],
    *,
    suites: Sequence[Path] = (),
    seed: int = 0,
    unanswered: Unanswered = "zero",
) -> Material:
    """Measures rows as the report does, and finds what belongs to them.

    Args:
        filtered: Rows without questions that models answer closed-book.
        paths: Their sources; runs among them have replies.
        suites: Built suites, where they are not at the place that a run names.
        unanswered: How unanswered replies count.

    Raises:
        FathomError: There is no row with a context, or a given suite cannot be read.
    """
    results = measure(filtered, seed=seed, unanswered=unanswered)
    if not results.systems:
        raise FathomError("these results are published averages without replies: there is nothing to convert")
    folders = [path for path in paths if path.is_dir() and (path / "run.json").is_file()]
    named = labels(folders)
    runs = tuple(
        RunFolder(folder, suite, System(printable(model), printable(variant)), read_manifest(folder))
        for folder, (suite, model, variant) in named.items()
    )
    given = [open_suite(path) for path in suites]
    opened: dict[str, BuiltSuite] = {str(suite.manifest["suite"]): suite for suite in given}
    notes = []
    for run in runs:
        try:
            opened[run.suite] = find_suite(run.folder, run.manifest, given)
        except FathomError as error:
            notes.append(str(error))
    names = pl.col("model", "variant").map_elements(printable, return_dtype=pl.String)
    return Material(filtered.before.with_columns(names), filtered, results, runs, opened, tuple(notes))


def _with_name(measured: Material, model: str | None) -> list[System]:
    return [system for system in measured.systems if model in (None, system.model, system.name)]


def chosen_systems(measured: Material, model: str | None) -> list[System]:
    """The systems with a model's name, or with their own; all without one.

    Raises:
        FathomError: There is none.
    """
    systems = _with_name(measured, model)
    if not systems:
        raise FathomError(f"`model` {model}: no such model")
    return systems


def only_system(measured: Material, model: str | None, what: str) -> System:
    """The one system that a format describes.

    Raises:
        FathomError: There are several, or none with that name.
    """
    chosen = _with_name(measured, model)
    if len(chosen) == 1:
        return chosen[0]
    known = ", ".join(system.name for system in measured.systems)
    why = "there is no such model" if not chosen else "choose one with `model`"
    raise FathomError(f"{what} describes one model; {why}: {known}")


def without_score(system: System, figures: Sequence[Figure]) -> list[str]:
    """A sentence on the figures of a system that have no score: they are left out, never 0."""
    blank = [f"{figure.name} ({figure.why})" for figure in figures if figure.mean is None]
    if not blank:
        return []
    return [
        f"{system.name}: {len(blank)} of {len(figures)} figures have no score and are left out: {first_of(blank, 3)}"
    ]


def unscored(rows: pl.DataFrame) -> int:
    """Number of rows whose reply has no score: their request failed, did not fit, or was not judged."""
    return int(rows.select(pl.col("value").is_null().sum()).item())


def counts_text(counts: Counts) -> str:
    """Counts of replies in words: "120 replies: 117 scored, 2 unanswered, 1 missing"."""
    names = {"unanswered": "unanswered", "overflow": "overflow", "missing": "missing", "cut": "cut"}
    names["scorer_error"] = "not scored (error of the scorer)"
    named = [f"{getattr(counts, name)} {words}" for name, words in names.items()]
    nonzero = [words for words in named if not words.startswith("0 ")]
    return f"{several(counts.replies, 'reply')}: {', '.join([f'{counts.scored} scored', *nonzero])}"


def _row(record: Mapping[str, Any]) -> Row:
    try:
        facets = json.loads(record["facets"] or "{}")
    except ValueError:
        facets = {}
    fields = {name: record[name] for name in Row.__dataclass_fields__}
    return replace(Row(**{**fields, "facets": {}}), facets=facets if isinstance(facets, dict) else {})
