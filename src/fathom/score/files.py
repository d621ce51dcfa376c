"""Scores replies in any file: one row in, one row out, in order."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, Any

from fathom.documents.records import COMPRESSED, TABLES, Fault, Record, format_of, read_records
from fathom.parallel.units import Engine, ResultsFile, run_units
from fathom.printing import readable
from fathom.score.registry import RULES, Scorer, ScoringRow, get_scorer
from fathom.storage.atomic import whole_file
from fathom.storage.checksums import file_facts
from fathom.storage.time_limits import TooLongError, within_time
from fathom.storage.versions import fathom_version
from fathom.types import FathomError, Score
from fathom.types.choices import rule_or_default

TOLERANCE = 1e-9
EXAMPLES = 20
UNIT = 500
"""Rows that an engine scores together."""
_AS_JSON = {"answers", "all_classes", "extra", "score"}
_MOST_SHOWN = 60  # characters shown of an invalid score


@dataclass(frozen=True, slots=True)
class Difference:
    """A row whose own score differs from the metric's.

    Attributes:
        index: Number of the row, from 0.
        case_id: Its ``case_id``, or "".
        metric: Full name of the metric.
        stated: Whether the row has its own score.
        expected: That score; None for null, where a scorer stops.
        score: The metric's score; None where it stops.
        error: Why it stops.
    """

    index: int
    case_id: str
    metric: str
    stated: bool
    expected: object
    score: float | None
    error: str

    def __str__(self) -> str:
        wanted = f"expected {_score_text(self.expected)}" if self.stated else "the row has no score to compare with"
        return f"{wanted}, got {_score_text(self.score)}" + (f" ({self.error})" if self.error else "")


@dataclass(slots=True)
class MetricCount:
    """Counts of the rows of one metric.

    Attributes:
        scored: Rows with a score; ``total`` is the sum of their scores.
        valid: Rows whose reply had the requested form.
        checked: Rows whose own score was compared.
        equal: Compared rows that agreed.
    """

    rows: int = 0
    scored: int = 0
    valid: int = 0
    total: float = 0.0
    checked: int = 0
    equal: int = 0

    @property
    def mean(self) -> float | None:
        """Mean of the scores, None if nothing was scored."""
        return self.total / self.scored if self.scored else None


@readable
@dataclass(slots=True)
class ScoreSummary:
    """The result of scoring a file.

    Attributes:
        by_metric: Counts by full name of the metric; "" for rows without one.
        unscored: Rows without a score.
        errors: The first of them, as (index, error).
        differing: Checked rows whose own score differs or is missing.
        differences: The first of them.
        unchecked: Rows that could not be scored: not JSON, a field missing, an unknown metric.
        failures: The first of them, as (index, error).
    """

    rows: int = 0
    by_metric: dict[str, MetricCount] = field(default_factory=dict)
    unscored: int = 0
    errors: list[tuple[int, str]] = field(default_factory=list)
    differing: int = 0
    differences: list[Difference] = field(default_factory=list)
    unchecked: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)
    rule: str = ""

    def add(self, index: int, name: str, scored: Score) -> None:
        """Count a row by its index, the full name of its metric and its score."""
        self.rows += 1
        count = self.by_metric.setdefault(name, MetricCount())
        count.rows += 1
        count.valid += scored.valid
        if scored.value is not None:
            count.scored += 1
            count.total += scored.value
            return
        self.unscored += 1
        if self.unscored <= EXAMPLES:
            self.errors.append((index, scored.detail))

    def compare(self, index: int, name: str, row: Mapping[str, object], scored: Score, *, scorable: bool) -> None:
        """Compare the score of an added row with the row's own, if the row could be scored."""
        if not scorable:
            self.unchecked += 1
            if self.unchecked <= EXAMPLES:
                self.failures.append((index, scored.detail))
            return
        count = self.by_metric[name]
        count.checked += 1
        expected, stated = row.get("score"), "score" in row
        if stated and _same(expected, scored.value):
            count.equal += 1
            return
        self.differing += 1
        if self.differing <= EXAMPLES:
            case = row["case_id"] if isinstance(row.get("case_id"), str) else ""
            self.differences.append(Difference(index, str(case), name, stated, expected, scored.value, scored.detail))

    def records(self, check: bool) -> list[dict[str, object]]:
        """A row per metric for a table, with the mean in percent; ``check`` adds how many scores are equal."""
        return [
            {
                "metric": name or "(none named)",
                "rows": count.rows,
                "scored": count.scored,
                "valid": count.valid,
                "mean": "-" if count.mean is None else f"{100 * count.mean:.1f}",
            }
            | ({"equal": f"{count.equal} of {count.checked}"} if check else {})
            for name, count in self.by_metric.items()
        ]


def score_file(
    path: str | Path,
    *,
    metric: str | None = None,
    rule: str | None = None,
    check: bool = False,
    out: str | Path | IO[str] | None = None,
    engine: Engine | None = None,
) -> ScoreSummary:
    """Score the rows of a file.

    Rows are ``{"prediction", "answers", "all_classes"?, "language"?, "dataset"?, "extra"?, "suite"?, "metric"?,
    "case_id"?, "score"?}``; output is ``{"index", "case_id"?, "score", "valid", "rule", "error"?}``, one line per row,
    in their order. A row that cannot be scored has the score null and the reason; the others are scored.

    Args:
        path: A file of ``documents.records.TABLES``, also with ``.gz`` or ``.zst``. In CSV, a cell of ``answers`` is
            one answer or a JSON list; ``all_classes``, ``extra`` and ``score`` are JSON.
        metric: ``SUITE/METRIC`` for all rows; None to use that of each row.
        rule: ``strict``, with known faults of the paper's code corrected, or ``official``, equal to that code; None for
            strict, or with ``check`` official.
        check: Whether to compare with the rows' own ``score``, to 1e-9; null stands for a scorer that stops. A row
            without its own score counts as different; one that cannot be scored is counted separately.
        out: File or open stream to write to; None to write nothing. A file only appears when it is complete.
        engine: Scores the rows elsewhere, ``UNIT`` at a time; all are then held in memory, and if ``out`` is a file,
            scores are kept beside it until all are there: the same call resumes.

    Returns:
        Counts by metric, the first errors and the first differences.

    Raises:
        FathomError: The file cannot be opened, or the metric or rule is unknown.
    """
    rule = rule_or_default(rule, compared=check)
    if rule not in RULES:
        raise FathomError(f"unknown rule {rule!r}; expected {' or '.join(RULES)}")
    if metric:
        get_scorer(metric, rule)
    file = Path(path)
    kinds = f"{', '.join(TABLES)}, each also with {' or '.join(COMPRESSED)}"
    if not file.is_file():
        raise FathomError(f"{file}: no such file; name one that ends in {kinds}")
    if (suffix := format_of(file.name)) not in TABLES:
        raise FathomError(f"{file}: unknown format; the name should end in {kinds}")
    summary, texts = ScoreSummary(rule=rule), suffix in (".csv", ".tsv")
    kept = Path(f"{out}.part") if engine and isinstance(out, str | Path) else None
    rows = _scored(file, metric, rule, texts=texts) if engine is None else _on(engine, file, metric, rule, texts, kept)
    with _writer(out) as stream:
        for index, (row, problem, scored) in enumerate(rows):
            name = metric or _metric_of(row)
            written = _written(index, row, scored, rule)
            if stream:
                stream.write(json.dumps(written) + "\n")
            summary.add(index, name, scored)
            if check:
                summary.compare(index, name, row, scored, scorable=problem is None and scored.grader == rule)
    if kept is not None:
        kept.unlink(missing_ok=True)
    return summary


def _scored(
    records: Path | Sequence[Record | Fault], metric: str | None, rule: str, *, texts: bool
) -> Iterator[tuple[Mapping[str, object], Score | None, Score]]:
    """Each row, why it cannot be scored, and its score."""
    scorer = get_scorer(metric, rule) if metric else None
    for record in read_records(records) if isinstance(records, Path) else records:
        row, problem = _checked(record, texts=texts)
        yield row, problem, problem or _score(row, metric or _metric_of(row), scorer, rule)


def _on(
    engine: Engine, file: Path, metric: str | None, rule: str, texts: bool, kept: Path | None
) -> Iterator[tuple[Mapping[str, object], Score | None, Score]]:
    """``_scored`` on an engine."""
    records = list(read_records(file))
    parts = [records[start : start + UNIT] for start in range(0, len(records), UNIT)]
    units = {f"rows from {number * UNIT}": part for number, part in enumerate(parts)}
    keep = None if kept is None else ResultsFile(kept, fathom_version(), metric, rule, file_facts(file))
    done: list[list[dict[str, Any]]] = run_units(
        units, partial(_scores, metric, rule, texts), keep=keep, workers=engine
    )
    for part, scores in zip(parts, done, strict=True):
        for record, scored in zip(part, scores, strict=True):
            row, problem = _checked(record, texts=texts)
            yield row, problem, Score(**scored)


def _scores(metric: str | None, rule: str, texts: bool, records: Sequence[Record | Fault]) -> list[dict[str, Any]]:
    return [asdict(scored) for _, _, scored in _scored(records, metric, rule, texts=texts)]


def _checked(record: Record | Fault, *, texts: bool) -> tuple[Mapping[str, object], Score | None]:
    """A row, or an empty one and the reason."""
    if isinstance(record, Fault):
        return {}, _unscored(record.reason)
    missing = [name for name in ("prediction", "answers") if name not in record.fields]
    if missing:
        return record.fields, _unscored(f"missing field {' and '.join(map(repr, missing))}")
    return _from_texts(record.fields) if texts else record.fields, None


def _from_texts(cells: Mapping[str, object]) -> Mapping[str, object]:
    """A row of CSV, with lists, objects and numbers parsed from JSON; a single answer may be plain."""
    row: dict[str, object] = {name: cell for name, cell in cells.items() if cell is not None}
    for name in _AS_JSON & row.keys():
        with suppress(ValueError, RecursionError):
            row[name] = json.loads(str(row[name]))
    answers = row.get("answers")
    return {"prediction": "", **row, "answers": answers if isinstance(answers, list) else [cells["answers"] or ""]}


def _metric_of(row: Mapping[str, object]) -> str:
    suite, name = row.get("suite"), row.get("metric")
    return f"{suite}/{name}" if isinstance(suite, str) and isinstance(name, str) else ""


def _score(row: Mapping[str, object], name: str, scorer: Scorer | None, rule: str) -> Score:
    if not name:
        return _unscored("the row has no metric: give `metric` SUITE/METRIC, or the fields 'suite' and 'metric'")
    try:
        scorer = scorer or get_scorer(name, rule)
    except FathomError as error:
        return _unscored(str(error))
    texts = {name: value for name in ("language", "dataset", "asked") if isinstance(value := row.get(name), str)}
    extra = row.get("extra")
    extra = extra if isinstance(extra, dict) else {}
    prediction = row["prediction"]
    try:
        with within_time(len(prediction) if isinstance(prediction, str) else 0):
            return scorer(ScoringRow(prediction, row["answers"], row.get("all_classes"), extra=extra, **texts))
    except TooLongError as error:
        return _unscored(f"scoring {error}; it was stopped")
    except FathomError:  # also a missing library
        raise
    except Exception as error:  # scorers may come from any package, and one row must not stop the others
        return _unscored(f"the scorer fails: {type(error).__name__} in {name}: {error}")


def _unscored(reason: str) -> Score:
    return Score(None, valid=False, detail=reason)


def _written(index: int, row: Mapping[str, object], scored: Score, rule: str) -> dict[str, object]:
    named = {"case_id": row["case_id"]} if "case_id" in row else {}
    error = {"error": scored.detail or "not scored"} if scored.value is None else {}
    return {"index": index, **named, "score": scored.value, "valid": scored.valid, "rule": rule, **error}


def _score_text(score: object) -> str:
    """A score, or an invalid value, in short."""
    return "no score" if score is None else json.dumps(score)[:_MOST_SHOWN]


def _same(expected: object, score: float | None) -> bool:
    if expected is None or score is None:
        return expected is None and score is None
    if not isinstance(expected, int | float) or isinstance(expected, bool):
        return False
    # An integer of any size may be given, which no float can hold.
    return abs(expected) < 2**53 and math.isclose(expected, score, rel_tol=0.0, abs_tol=TOLERANCE)


@contextmanager
def _writer(out: str | Path | IO[str] | None) -> Iterator[IO[str] | None]:
    """A stream to write to; a file is written elsewhere and moved to its place when complete."""
    if not isinstance(out, str | Path):
        yield out
        return
    with whole_file(Path(out)) as stream:
        yield stream
