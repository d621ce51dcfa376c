"""A model's card: what was measured of it, row by row, beside what its makers printed.

A row says how its score came about: benchmark and version, scorer, prompt, judge, window, date, number of items, cost.
Printed rows are facts with a source and a date, from the published results of boards and from tables of users. A
printed row is reproduced if the measured score differs from it by at most one standard error of the difference; a
printed score whose number of questions is known has the standard error of a share.
"""

import csv
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from io import TextIOWrapper
from pathlib import Path
from typing import Literal, TypeAlias

import polars as pl

from fathom.analysis.changes import folded
from fathom.analysis.curve import CurvePoint, curve
from fathom.analysis.faulty_items import FaultyItems, marked
from fathom.analysis.grid import ALL
from fathom.plugins.discovery import declared
from fathom.printing import readable
from fathom.stats.intervals import Interval, Z
from fathom.stats.outcomes import Unanswered
from fathom.storage.foreign import open_regular
from fathom.tokens.length import parse_length
from fathom.types import FathomError, Task

JUDGE = "judge "
"""What the grader of a judged reply begins with."""
Kind: TypeAlias = Literal["measured", "printed"]
WITHIN = 1.0
"""Standard errors by which a reproduced score may differ."""
NAMED = 2
"""Scorers that a row of several tasks names."""
NEEDED = ("model", "benchmark", "value", "date", "source")
COLUMNS = (
    *NEEDED,
    "variant",
    "task",
    "length",
    "n",
    "version",
    "revision",
    "scorer",
    "port",
    "prompt",
    "judge",
    "window",
    "url",
    "note",
)
_SHARED = ("version", "revision", "scorer", "port", "prompt", "judge", "date", "source")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}(-[0-9]{2})?")


@dataclass(frozen=True, slots=True)
class How:
    """How the scores of a row came about; "" and None for what is unknown.

    Attributes:
        version: Of the benchmark: a suite's fingerprint, a release, a commit.
        revision: Of the published records: commits of their data sets.
        scorer: What scored the replies, and by which rule.
        port: The program whose scorer that is, or whose scorer the rule ``official`` follows (a metric of ``fathom list
            metrics``); "" for fathom's own.
        prompt: Whose prompt was sent.
        judge: The model that judged.
        window: Context window in tokens.
        date: When it was measured or printed, ``YYYY-MM-DD`` or ``YYYY-MM``.
        source: The run, the paper, the page of the maker.
        url: Its address.
        note: What a reader must know besides.
        stale: What has changed in the benchmark since; "" for nothing known.
    """

    version: str = ""
    revision: str = ""
    scorer: str = ""
    port: str = ""
    prompt: str = ""
    judge: str = ""
    window: int | None = None
    date: str = ""
    source: str = ""
    url: str = ""
    note: str = ""
    stale: str = ""


@dataclass(frozen=True, slots=True)
class CardRow:
    """One score.

    Attributes:
        kind: Whether it was measured here or printed by somebody.
        benchmark: The suite, or the benchmark as its source names it.
        task: The task; ``all`` for the mean over tasks.
        length: Length in tokens; None for one score over all lengths, or of unknown ones.
        score: In [0, 1]; None if replies are missing, see ``How.note``.
        interval: Its 95% interval; None if it is unknown.
        n: Number of items; None if it is unknown.
        cost: US dollars of its replies; None if it is unknown.
        how: How it came about.
        faulty: Replies to items that are known to be faulty.
        without: The score without them; None if there are none, or no others.
    """

    kind: Kind
    benchmark: str
    task: str
    length: int | None
    score: float | None
    interval: Interval | None
    n: int | None
    cost: float | None = None
    how: How = How()
    faulty: int = 0
    without: float | None = None

    @property
    def error(self) -> float | None:
        """Standard error: from the interval, or else that of a share of ``n`` questions; None without either."""
        if self.interval is not None:
            return (self.interval.high - self.interval.low) / (2 * Z)
        if not self.n or self.score is None:
            return None
        return math.sqrt(self.score * (1 - self.score) / self.n)


@dataclass(frozen=True, slots=True)
class Check:
    """A printed row and the measured one that it was checked with.

    Attributes:
        printed: What was printed.
        measured: The row of the same benchmark, task and length; None if there is none.
        difference: Measured minus printed; None without both scores.
        errors: The difference in standard errors; None if they are unknown.
        reproduced: Whether it is at most one standard error; None if that cannot be said.
        differs: In what the two rows are known to differ: ``scorer``, ``port``, ``revision``, ``prompt``, ``judge``.
    """

    printed: CardRow
    measured: CardRow | None
    difference: float | None = None
    errors: float | None = None
    reproduced: bool | None = None
    differs: tuple[str, ...] = ()


@readable
@dataclass(frozen=True, slots=True)
class ModelCard:
    """The rows of a model.

    Attributes:
        model: Its name.
        rows: Measured rows first, by benchmark, then printed ones.
        checks: One for each printed row.
    """

    model: str
    rows: tuple[CardRow, ...]
    checks: tuple[Check, ...] = field(default=())


def measured_rows(
    rows: pl.DataFrame,
    facts: Mapping[str, How],
    *,
    faulty: Sequence[FaultyItems] = (),
    unanswered: Unanswered = "zero",
    seed: int = 0,
) -> list[CardRow]:
    """The rows of what was measured: for each benchmark the mean over tasks at each length, then each task.

    Args:
        rows: Replies of one model, scored.
        facts: How each suite was run, by its name in ``rows``.
        faulty: Items that are known to be faulty, without which scores are shown too.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        seed: Seed of the intervals.
    """
    made = []
    for (suite, rule), own in rows.group_by("suite", "rule", maintain_order=True):
        how = facts.get(str(suite), How())
        own = marked(own, faulty)
        without = _without_faulty(own, unanswered)
        points = curve(own, seed=seed, unanswered=unanswered)
        tasks = {point.task for point in points if point.task != ALL}
        chosen = [point for point in points if len(tasks) > 1 or point.task != ALL]
        for point in sorted(chosen, key=lambda each: (each.task != ALL, each.task, each.length)):
            named = [point.task] if point.task != ALL else sorted(tasks)
            row = _measured(str(suite), str(rule), point, own, replace(how, port=how.port or _port(str(rule), named)))
            made.append(replace(row, without=without.get((point.task, point.length)) if row.faulty else None))
    return made


def _port(rule: str, tasks: Sequence[str]) -> str:
    """The metrics whose released rule scored some tasks; "" for another rule, or if they are many."""
    known: Mapping[str, Task] = declared("tasks", lambda task: task.name) if rule == "official" else {}
    metrics = {known[task].official for task in tasks if task in known} - {""}
    return ", ".join(sorted(metrics)) if len(metrics) <= NAMED else "the released rules of its tasks"


def _without_faulty(rows: pl.DataFrame, unanswered: Unanswered) -> dict[tuple[str, int], float | None]:
    """The scores by task and length without faulty items; none if there are no such items."""
    if not rows["faulty"].any():
        return {}
    return {
        (point.task, point.length): point.mean for point in curve(rows.filter(~pl.col("faulty")), unanswered=unanswered)
    }


def _measured(suite: str, rule: str, point: CurvePoint, rows: pl.DataFrame, how: How) -> CardRow:
    own = rows.filter(pl.col("length") == point.length)
    own = own if point.task == ALL else own.filter(pl.col("task") == point.task)
    graders = [grader for grader in own["grader"].unique(maintain_order=True) if grader]
    scorer = ", ".join([*graders, f"rule {rule}"]) if len(graders) <= NAMED else f"scorers of its tasks, rule {rule}"
    judges = sorted({grader.removeprefix(JUDGE).rpartition(" (")[0] for grader in graders if grader.startswith(JUDGE)})
    cost = own["cost"].fill_nan(None).drop_nulls()
    return CardRow(
        kind="measured",
        benchmark=suite,
        task=point.task,
        length=point.length or None,
        score=point.mean,
        interval=point.interval,
        n=point.items,
        cost=float(cost.sum()) if len(cost) else None,
        how=replace(
            how,
            scorer=scorer,
            judge=", ".join(judges) or how.judge,
            note="; ".join(filter(None, (how.note, point.gap))),
        ),
        faulty=int(own["faulty"].sum()),
    )


def with_both_rules(strict: Iterable[CardRow], official: Iterable[CardRow]) -> list[CardRow]:
    """Rows under both scoring rules; those that are equal under both are one row.

    Args:
        strict: As a careful reader scores.
        official: As the benchmark's own code scores.
    """
    others = {(row.benchmark, row.task, row.length): row for row in official}
    made = []
    for row in strict:
        other = others.pop((row.benchmark, row.task, row.length), None)
        lacks = other is None or (other.score is None and row.score is not None)  # not every task has such code
        if other is None or lacks or other.how.scorer == row.how.scorer:
            made.append(row)
        elif (other.score, other.n) == (row.score, row.n):
            how = replace(row.how, scorer=f"{row.how.scorer} and official", port=row.how.port or other.how.port)
            made.append(replace(row, how=how))
        else:
            made += [row, other]
    return [*made, *others.values()]


def read_printed(path: Path) -> list[tuple[str, CardRow]]:
    """The rows of a table of printed scores, with the model of each.

    The table is a CSV with the columns of ``COLUMNS``, of which ``model``, ``benchmark``, ``value`` (in percent),
    ``date`` and ``source`` are needed in every row.

    Args:
        path: The CSV.

    Raises:
        FathomError: It cannot be read, or a field is wrong; the message names file, row and field.
    """
    if not path.is_file():
        raise FathomError(f"{path}: no such file; a table of printed scores is a CSV with {', '.join(NEEDED)}")
    try:
        with TextIOWrapper(open_regular(path), "utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, strict=True)
            names = list(reader.fieldnames or ())
            if wrong := [name for name in NEEDED if name not in names]:
                raise FathomError(f"{path}: the column {wrong[0]!r} is missing; expected {', '.join(COLUMNS)}")
            if wrong := [name for name in names if name not in COLUMNS or names.count(name) > 1]:
                raise FathomError(f"{path}: unexpected column {wrong[0]!r}; expected {', '.join(COLUMNS)}, each once")
            return [_printed(row, f"{path}, row {reader.line_num}") for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise FathomError(f"{path}: cannot be read as CSV in UTF-8: {error}") from None


def _printed(row: Mapping[str | None, str | None], where: str) -> tuple[str, CardRow]:
    if None in row or None in row.values():
        raise FathomError(f"{where}: expected as many fields as in the first row")
    given = {str(name): str(text).strip() for name, text in row.items()}
    if absent := [name for name in NEEDED if not given[name]]:
        raise FathomError(f"{where}: {absent[0]} is empty; every printed score has a source and a date")
    if not _is_date(given["date"]):
        raise FathomError(f"{where}: date = {given['date']!r}, expected YYYY-MM or YYYY-MM-DD")
    if given.get("url") and not given["url"].startswith("https://"):
        raise FathomError(f"{where}: url = {given['url']!r}, expected an address that starts with https://")
    how = {name: given.get(name, "") for name in (*_SHARED, "url", "note")}
    window = given.get("window", "")
    card = CardRow(
        kind="printed",
        benchmark=given["benchmark"],
        task=given.get("task") or ALL,
        length=_length(given.get("length", ""), "length", where),
        score=_percent(given["value"], where),
        interval=None,
        n=_count(given.get("n", ""), where),
        how=How(**how, window=_length(window, "window", where)),
    )
    return " · ".join(filter(None, (given["model"], given.get("variant", "")))), card


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        return bool(date.fromisoformat(text if len(text) > len("2026-11") else f"{text}-01"))
    except ValueError:
        return False


def _percent(text: str, where: str) -> float:
    try:
        value = float(text.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not 0 <= value <= 100:
        raise FathomError(f"{where}: value = {text!r}, expected percent, from 0 to 100")
    return value / 100


def _count(text: str, where: str) -> int | None:
    if text and not re.fullmatch(r"[1-9][0-9]{0,8}", text):
        raise FathomError(f"{where}: n = {text!r}, expected a whole number from 1, or an empty field")
    return int(text) if text else None


def _length(text: str, name: str, where: str) -> int | None:
    try:
        return parse_length(text) if text else None
    except FathomError as error:
        raise FathomError(f"{where}: {name} = {text!r}: {error}") from None


def check_printed(printed: Iterable[CardRow], measured: Sequence[CardRow], within: float = WITHIN) -> Iterator[Check]:
    """Whether measured rows reproduce printed ones, one :class:`Check` for each printed row.

    Args:
        printed: What was printed.
        measured: What was measured of the same model; a row of the same benchmark, task and length is compared, or,
            of a printed score over all lengths, the only length that was measured. A benchmark's mean is that of its
            only task where it has one.
        within: Standard errors of the difference by which a reproduced score may differ.
    """
    for row in printed:
        of = [own for own in measured if folded(own.benchmark) == folded(row.benchmark)]
        only = row.task == ALL and len({own.task for own in of}) == 1
        at = [own for own in of if only or folded(own.task) == folded(row.task)]
        at = [own for own in at if row.length in (None, own.length)]
        # Makers print what the benchmark's own scorer gives.
        at.sort(key=lambda own: "official" not in own.how.scorer)
        own = at[0] if len({each.length for each in at}) == 1 else None
        if own is None or own.score is None or row.score is None or math.isnan(own.score):
            yield Check(row, own)
            continue
        difference = own.score - row.score
        error = None if own.error is None else math.hypot(own.error, row.error or 0.0)
        errors = abs(difference) / error if error else None
        reproduced = difference == 0 if error == 0 else None if errors is None else errors <= within
        differs = tuple(
            name
            for name in ("scorer", "port", "revision", "prompt", "judge")
            if (theirs := getattr(row.how, name)) and (ours := getattr(own.how, name)) and theirs not in ours
        )
        yield Check(row, own, difference, errors, reproduced, differs)
