"""Scores of replies in a file of anyone's: one row in, one row out, in order."""

import json
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TypeVar

from fathom.atomic import whole_file
from fathom.printing import readable
from fathom.records import COMPRESSED, TABLES, Fault, Record, format_of, read_records
from fathom.score.registry import RULES, Scorer, ScoringRow, get_scorer
from fathom.types import FathomError, Verdict

TOLERANCE = 1e-9
EXAMPLES = 20
_AS_JSON = {"answers", "all_classes", "extra", "score"}
_MOST_SHOWN = 60  # characters of what stands where a score should

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Difference:
    """A row whose own score is not what the metric gives.

    Attributes:
        index: Number of the row, from 0.
        case_id: Its ``case_id``, or "".
        metric: Full name of the metric.
        stated: Whether the row has a score of its own.
        expected: That score; None stands for null, where a scorer stops.
        score: The score that the metric gives; None where it stops.
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
        wanted = f"expected {_shown(self.expected)}" if self.stated else "the row has no score to compare with"
        return f"{wanted}, got {_shown(self.score)}" + (f" ({self.error})" if self.error else "")


@dataclass(slots=True)
class MetricCount:
    """Counts of the rows of one metric.

    Attributes:
        rows: Rows read.
        scored: Rows with a score; ``total`` is the sum of their scores.
        valid: Rows whose reply had the asked form.
        checked: Rows whose own score was compared.
        equal: Rows of those that agreed.
    """

    rows: int = 0
    scored: int = 0
    valid: int = 0
    total: float = 0.0
    checked: int = 0
    equal: int = 0

    @property
    def mean(self) -> float | None:
        """Mean of the scores, None where nothing was scored."""
        return self.total / self.scored if self.scored else None


@readable
@dataclass(slots=True)
class ScoreSummary:
    """What scoring a file came to.

    Attributes:
        rows: Rows read.
        by_metric: Counts by full name of the metric; "" for rows that name none.
        unscored: Rows without a score.
        errors: The first of them, as (index, error).
        differing: Rows that were checked and differ from their own score, or have none.
        differences: The first of them.
        unchecked: Rows to check that could not be scored: not JSON, a field missing, no such metric.
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


def score_file(
    path: str | Path,
    *,
    metric: str | None = None,
    rule: str = "official",
    check: bool = False,
    out: str | Path | IO[str] | None = None,
) -> ScoreSummary:
    """Score the rows of a file.

    Rows are ``{"prediction", "answers", "all_classes"?, "language"?, "dataset"?, "extra"?, "suite"?, "metric"?,
    "case_id"?, "score"?}``; what is written is ``{"index", "case_id"?, "score", "valid", "error"?}``, one line a row
    and in their order. A row that cannot be scored has the score null and says why; the others go on.

    Args:
        path: A file of ``fathom.records.TABLES``, also with ``.gz`` or ``.zst``. In CSV a cell of ``answers`` is one
            answer or a list as JSON; ``all_classes``, ``extra`` and ``score`` are JSON.
        metric: ``SUITE/METRIC`` for all rows; None for what each row names.
        rule: ``official``, equal to the released code of the paper, or ``strict``, with its known faults mended.
        check: Whether to compare with the rows' own ``score``, to 1e-9; null there stands for a scorer that stops.
            A row that has no score of its own counts as different; one that cannot be scored is counted apart.
        out: File or open stream to write to; None to write nothing. A file appears when it is complete.

    Returns:
        Counts by metric, the first errors and the first differences.

    Raises:
        FathomError: The file cannot be opened, or the metric or rule is not known.
    """
    if rule not in RULES:
        raise FathomError(f"unknown rule {rule!r}; it is {' or '.join(RULES)}")
    scorer = get_scorer(metric, rule) if metric else None
    file = Path(path)
    kinds = f"{', '.join(TABLES)}, each also with {' or '.join(COMPRESSED)}"
    if not file.is_file():
        raise FathomError(f"{file}: no such file; name one that ends in {kinds}")
    if (suffix := format_of(file.name)) not in TABLES:
        raise FathomError(f"{file}: cannot tell how to read it; its name should end in {kinds}")
    summary = ScoreSummary()
    with _writer(out) as stream:
        for index, record in enumerate(read_records(file)):
            row, problem = _checked(record, texts=suffix in (".csv", ".tsv"))
            name = metric or _metric_of(row)
            verdict = problem or _score(row, name, scorer, rule)
            written = _written(index, row, verdict)
            if stream:
                stream.write(json.dumps(written) + "\n")
            _count(summary, index, name, verdict)
            if check and problem is None and verdict.grader == rule:
                _compare(summary, index, name, row, verdict)
            elif check:
                summary.unchecked += 1
                _keep(summary.failures, (index, verdict.detail))
    return summary


def _checked(record: Record | Fault, *, texts: bool) -> tuple[Mapping[str, object], Verdict | None]:
    """A row, or an empty one and the reason why there is none."""
    if isinstance(record, Fault):
        return {}, _unscored(record.reason)
    missing = [name for name in ("prediction", "answers") if name not in record.fields]
    if missing:
        return record.fields, _unscored(f"missing field {' and '.join(map(repr, missing))}")
    return _from_texts(record.fields) if texts else record.fields, None


def _from_texts(cells: Mapping[str, object]) -> Mapping[str, object]:
    """A row of CSV: lists, objects and numbers stand there as JSON; a single answer may stand as it is."""
    row: dict[str, object] = {name: cell for name, cell in cells.items() if cell is not None}
    for name in _AS_JSON & row.keys():
        with suppress(ValueError, RecursionError):
            row[name] = json.loads(str(row[name]))
    answers = row.get("answers")
    return {"prediction": "", **row, "answers": answers if isinstance(answers, list) else [cells["answers"] or ""]}


def _metric_of(row: Mapping[str, object]) -> str:
    suite, name = row.get("suite"), row.get("metric")
    return f"{suite}/{name}" if isinstance(suite, str) and isinstance(name, str) else ""


def _score(row: Mapping[str, object], name: str, scorer: Scorer | None, rule: str) -> Verdict:
    if not name:
        return _unscored("the row names no metric: give --metric SUITE/METRIC, or the fields 'suite' and 'metric'")
    try:
        scorer = scorer or get_scorer(name, rule)
    except FathomError as error:
        return _unscored(str(error))
    language, dataset, extra = row.get("language"), row.get("dataset"), row.get("extra")
    return scorer(
        ScoringRow(
            row["prediction"],
            row["answers"],
            row.get("all_classes"),
            language if isinstance(language, str) else "",
            dataset if isinstance(dataset, str) else "",
            extra if isinstance(extra, dict) else {},
        )
    )


def _unscored(reason: str) -> Verdict:
    return Verdict(None, valid=False, detail=reason)


def _written(index: int, row: Mapping[str, object], verdict: Verdict) -> dict[str, object]:
    named = {"case_id": row["case_id"]} if "case_id" in row else {}
    error = {"error": verdict.detail or "not scored"} if verdict.value is None else {}
    return {"index": index, **named, "score": verdict.value, "valid": verdict.valid, **error}


def _count(summary: ScoreSummary, index: int, name: str, verdict: Verdict) -> None:
    summary.rows += 1
    count = summary.by_metric.setdefault(name, MetricCount())
    count.rows += 1
    count.valid += verdict.valid
    if verdict.value is None:
        summary.unscored += 1
        _keep(summary.errors, (index, verdict.detail))
    else:
        count.scored += 1
        count.total += verdict.value


def _compare(summary: ScoreSummary, index: int, name: str, row: Mapping[str, object], verdict: Verdict) -> None:
    count = summary.by_metric[name]
    count.checked += 1
    expected, stated = row.get("score"), "score" in row
    if stated and _same(expected, verdict.value):
        count.equal += 1
        return
    summary.differing += 1
    case = row.get("case_id")
    shown = case if isinstance(case, str) else ""
    _keep(summary.differences, Difference(index, shown, name, stated, expected, verdict.value, verdict.detail))


def _keep(examples: list[T], example: T) -> None:
    if len(examples) < EXAMPLES:
        examples.append(example)


def _shown(score: object) -> str:
    """A score, or what stands in its place, in a few words."""
    return "no score" if score is None else json.dumps(score)[:_MOST_SHOWN]


def _same(expected: object, score: float | None) -> bool:
    if expected is None or score is None:
        return expected is None and score is None
    if not isinstance(expected, int | float) or isinstance(expected, bool):
        return False
    # An integer of any size may stand there, which no float can hold.
    return abs(expected) < 2**53 and math.isclose(expected, score, rel_tol=0.0, abs_tol=TOLERANCE)


@contextmanager
def _writer(out: str | Path | IO[str] | None) -> Iterator[IO[str] | None]:
    """A stream to write to; a file is written beside its place and moved there when it is complete."""
    if not isinstance(out, str | Path):
        yield out
        return
    with whole_file(Path(out)) as stream:
        yield stream
