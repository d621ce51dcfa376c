"""Outcomes of replies and how they count: the one rule for every mean that fathom prints.

* Replies with content are scored, also if they were truncated at the output cap: ``answered`` or ``cut``.
* A refusal, an empty reply, or reasoning without an answer before the output cap is ``unanswered`` and counts 0.
* A failed request, or a reply without a judgement, is ``missing``. A cell with missing replies is incomplete. Up to a
  share of ``MISSING_AT_MOST`` of a cell they count 0, so that no failure can raise a score; with more the cell has no
  score.
* A reply on which the task's scorer raised an exception is a ``scorer_error``. It counts as a missing one does, but has
  its own name, as running again cannot help: the scorer must be corrected.
* Prompts that did not fit the window (``overflow``) count 0; with a share of more than ``OVERFLOW_AT_MOST`` of a cell,
  its length does not fit, and the cell has no score.

A cell is one model on one task at one length. ``drop`` leaves unanswered, overflowing and missing replies out of the
means. A length that does not fit has no score either way, and a cell with too many missing replies is used in no
headline, effective length or rank.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import polars as pl

from fathom.printing import several
from fathom.stats.columns import facet
from fathom.stats.side_rows import is_aggregate, is_side_row
from fathom.types import FathomError
from fathom.types.choices import Unanswered as Unanswered

UNANSWERED: tuple[Unanswered, ...] = get_args(Unanswered)
Outcome: TypeAlias = Literal["answered", "cut", "unanswered", "overflow", "missing", "scorer_error"]
OUTCOMES: tuple[Outcome, ...] = get_args(Outcome)
OVERFLOW_AT_MOST = 0.2
"""Share of the prompts of a cell above which their length does not fit."""
MISSING_AT_MOST = 0.02
"""Share of replies that are missing or scorer errors above which a cell has no score and is used in no result."""
ASKED_AGAIN_AT_MOST = 0.05
"""Share of replies that were asked for more than once above which a gate decides nothing and boards say so."""
COUNTED: tuple[Outcome, ...] = ("unanswered", "cut", "overflow", "missing", "scorer_error")
"""Outcomes whose numbers every mean carries."""
SHOWN_FROM = 0.005
"""Difference between the two means of ``UNANSWERED`` from which both are shown: half a point."""

LOST: tuple[Outcome, ...] = ("missing", "scorer_error")
"""Outcomes of replies without a score that is known."""
SCORER_FAILED = "scorer failed: "
"""How ``detail`` of a row begins if the scorer raised an exception; its type, the scorer and the message follow."""
MESSAGE_CHARACTERS = 200
"""Characters of an exception's message that a sentence quotes."""

NOT_ASKED, NOT_JUDGED = "not asked yet", "not judged yet"
"""How ``detail`` of a row begins if the prompt was never sent, or if no judge has scored the reply."""

DOES_NOT_FIT, MISSING = "does not fit", "missing"
_CELL = ["suite", "model", "variant", "task", "length", "_context", "_cut_from", "_published"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """What a mean would be with all missing replies wrong, and with all of them right.

    Replies that could not be scored count as missing ones. It is no interval: other items are not considered.

    Attributes:
        low: The mean with all of them wrong (0).
        high: The mean with all of them right (1).
    """

    low: float
    high: float


def bounds_of(low: float, high: float) -> Bounds | None:
    """The bounds of a mean; None if they are NaN, if nothing is missing, or if everything is.

    Args:
        low: The mean with all missing replies wrong, in [0, 1] or NaN.
        high: The mean with all of them right.
    """
    return Bounds(low, high) if 1e-12 < high - low < 1 - 1e-12 else None


@dataclass(frozen=True, slots=True)
class Unmeasured:
    """A cell without a score.

    Attributes:
        variant: Name of the variant, "" if there is only one.
        length: Length in tokens.
        reason: ``DOES_NOT_FIT`` or ``MISSING``.
        replies: Replies (prompts) of the cell.
        failed: Number of them that did not fit, or that are missing although they were asked.
        scorer_errors: Number of them on which the scorer raised an exception, if the reason is ``MISSING``.
        cause: The first of these exceptions, as ``TypeError in passkey.score``; "" without one.
        not_asked: Number of prompts that were never sent, if the reason is ``MISSING``.
    """

    model: str
    variant: str
    task: str
    length: int
    reason: str
    replies: int
    failed: int
    scorer_errors: int = 0
    cause: str = ""
    not_asked: int = 0

    def __str__(self) -> str:
        """The reason: "18 of 20 prompts did not fit"."""
        if self.reason == DOES_NOT_FIT:
            return f"{self.failed:,} of {self.replies:,} prompts did not fit"
        parts = [
            (self.failed, f"replies {'is' if self.failed == 1 else 'are'} missing"),
            (self.not_asked, f"prompts {'was' if self.not_asked == 1 else 'were'} not asked"),
            (self.scorer_errors, f"replies could not be scored: {self.cause}"),
        ]
        return ", and ".join(f"{number:,} of {self.replies:,} {what}" for number, what in parts if number)


@dataclass(frozen=True, slots=True)
class ScorerError:
    """Replies of one model on which a scorer raised the same exception.

    Attributes:
        variant: Name of the variant, "" if there is only one.
        cause: Type of the exception, and the scorer: ``TypeError in passkey.score``.
        sample: Id of the sample of the first of them.
    """

    model: str
    variant: str
    cause: str
    replies: int
    sample: str
    message: str

    def __str__(self) -> str:
        """A sentence without a full stop."""
        replies = several(self.replies, "reply")
        which = f"sample {self.sample}" if self.replies == 1 else f"the first in sample {self.sample}"
        message = (self.message.splitlines() or [""])[0][:MESSAGE_CHARACTERS]
        return f"{replies} could not be scored: {self.cause} ({which}{message and ': '}{message})"


def outcome() -> pl.Expr:
    """Outcome of the reply of a row: one of ``OUTCOMES``.

    It depends only on the status, on whether the reply has visible text (``answered``, null if unknown), on whether
    there is a score, and, if there is none, on whether ``detail`` begins with ``SCORER_FAILED``.
    """
    failed = pl.col("detail").str.starts_with(SCORER_FAILED).fill_null(False)
    status, value, visible = pl.col("status"), pl.col("value").fill_nan(None), pl.col("answered")
    silent = (visible == False) | (visible.is_null() & value.is_null() & (status == "incomplete"))  # noqa: E712
    return (
        pl.when(status == "error")
        .then(pl.lit("missing"))
        .when(status == "overflow")
        .then(pl.lit("overflow"))
        .when((status == "refused") | silent.fill_null(False))
        .then(pl.lit("unanswered"))
        .when(value.is_null())
        .then(pl.when(failed).then(pl.lit("scorer_error")).otherwise(pl.lit("missing")))
        .when(status == "incomplete")
        .then(pl.lit("cut"))
        .otherwise(pl.lit("answered"))
    )


def not_asked() -> pl.Expr:
    """Whether the prompt of a row was never sent."""
    return (pl.col("status") == "error") & pl.col("detail").str.starts_with(NOT_ASKED).fill_null(False)


def alone(unanswered: Unanswered = "zero") -> pl.Expr:
    """Value of the reply of a row, regardless of the others of its cell; null if missing or a scorer error.

    Args:
        unanswered: See :func:`counted`; with ``drop`` unanswered replies are null too.
    """
    value, ended = pl.col("value").fill_nan(None), outcome()
    scored = pl.when(ended.is_in(["answered", "cut"])).then(value)
    if unanswered == "drop":
        return scored
    return scored.when(ended.is_in(["unanswered", "overflow"])).then(0.0)


def counted(rows: pl.DataFrame, unanswered: Unanswered = "zero") -> pl.DataFrame:
    """Rows with the scores that means are taken over.

    Args:
        rows: A rows table; may be empty. Rows that were counted before are returned unchanged, so that the choice is
            made once.
        unanswered: ``zero``: unanswered replies count 0, under every scoring rule. ``drop``: means are over answered
            replies.

    Returns:
        The rows with ``value`` and ``chance`` as they count, null if they do not, and the columns ``outcome``;
        ``side`` (``fathom.stats.side_rows``);
        ``other``, the value under the other choice of ``unanswered``; ``reason``, why the cell of the row cannot be
        used (``does not fit``, ``missing``, "" for most); ``blank``, whether the cell has no score: a mean
        over it and other cells would be that of an easier test; and ``lowest`` and ``highest``, the value if all
        missing replies were wrong or right, null in a cell that does not fit.

    Raises:
        FathomError: ``unanswered`` is neither of the two.
    """
    if unanswered not in UNANSWERED:
        raise FathomError(f"unanswered is {unanswered!r}: expected 'zero' or 'drop'")
    if "outcome" in rows.columns:
        return rows
    ended = pl.col("outcome")
    cells = rows.with_columns(
        outcome().alias("outcome"),
        facet("context").fill_null("").alias("_context"),
        facet("cut_from").fill_null("").alias("_cut_from"),
        is_aggregate().alias("_published"),
        is_side_row().alias("side"),
    ).with_columns(
        _overflow=(ended == "overflow").mean().over(_CELL),
        _missing=ended.is_in(LOST).mean().over(_CELL),
    )
    unfit, lost = pl.col("_overflow") > OVERFLOW_AT_MOST, pl.col("_missing") > MISSING_AT_MOST
    zero = pl.when(~(unfit | lost)).then(alone("zero").fill_null(0.0))
    dropped = pl.when(~unfit).then(alone("drop"))
    first, second = (zero, dropped) if unanswered == "zero" else (dropped, zero)
    reason = pl.when(unfit).then(pl.lit(DOES_NOT_FIT)).when(lost).then(pl.lit(MISSING)).otherwise(pl.lit(""))
    return cells.with_columns(
        first.alias("value"),
        second.alias("other"),
        reason.alias("reason"),
        blank=unfit | lost if unanswered == "zero" else unfit,
        lowest=_if_missing(0.0, unfit, unanswered),
        highest=_if_missing(1.0, unfit, unanswered),
        chance=pl.col("chance").fill_nan(None),
    ).drop(*_CELL[-3:], "_overflow", "_missing")


def _if_missing(value: float, unfit: pl.Expr, unanswered: Unanswered) -> pl.Expr:
    lost = pl.col("outcome").is_in(LOST)
    return pl.when(~unfit).then(pl.when(lost).then(value).otherwise(alone(unanswered)))


def scored_rows(rows: pl.DataFrame, unanswered: Unanswered = "zero") -> pl.DataFrame:
    """The rows of questions with their whole context, with the scores that count; see :func:`counted`.

    Rows that were counted before are filtered alone, whatever ``unanswered`` is.
    """
    if "outcome" not in rows.columns:
        return counted(rows.filter(~is_side_row()), unanswered)
    return rows.filter(~rows["side"]) if rows["side"].any() else rows


def blank_by_other() -> pl.Expr:
    """Counted rows of cells that have no score under the other choice of ``unanswered``.

    With ``zero`` no cell with too many missing replies has a score; with ``drop`` the other choice has none.
    """
    return (pl.col("reason") == DOES_NOT_FIT) | ((pl.col("reason") == MISSING) & ~pl.col("blank"))


def over_suites(rows: pl.DataFrame, *also: str) -> pl.DataFrame:
    """Counted rows for means over all items of a task at a length, whatever their suite.

    If several suites share a task and the cell of one has no score, the mean has none: that of the other suites
    would be over other questions.

    Args:
        rows: Rows from :func:`counted` or :func:`scored_rows`; may be empty.
        also: Columns that distinguish means, besides model, variant, task and length.

    Returns:
        The rows with ``value`` and ``other`` null, and ``blank`` true, in all cells of such a task at such a length.
    """
    keys = ["model", "variant", "task", "length", *also]
    blank, blank_other = pl.col("blank").any().over(keys), blank_by_other().any().over(keys)
    return rows.with_columns(
        value=pl.when(~blank).then("value"), other=pl.when(~blank_other).then("other"), blank=blank
    )


def unmeasured(rows: pl.DataFrame) -> list[Unmeasured]:
    """The cells without a score, in the order of the rows.

    Args:
        rows: Rows from :func:`counted` or :func:`scored_rows`; may be empty.
    """
    keys = ["model", "variant", "task", "length"]
    unmeasured_rows = rows.filter(pl.col("reason") != "")
    lost = pl.col("reason") == MISSING
    unasked = lost & not_asked()
    failed = pl.col("outcome") == pl.when(lost).then(pl.lit("missing")).otherwise(pl.lit("overflow"))
    errors = lost & (pl.col("outcome") == "scorer_error")
    table = unmeasured_rows.group_by(*keys, "reason", maintain_order=True).agg(
        replies=pl.len(),
        failed=(failed & ~unasked).sum(),
        scorer_errors=errors.sum(),
        cause=_cause().filter(errors).first().fill_null(""),
        not_asked=unasked.sum(),
    )
    return [Unmeasured(**row) for row in table.iter_rows(named=True)]


def _cause() -> pl.Expr:
    """The type of a scorer's exception and the scorer, as in ``ScorerError.cause``."""
    return pl.col("detail").str.strip_prefix(SCORER_FAILED).str.split(": ").list.first()


def scorer_errors(rows: pl.DataFrame) -> list[ScorerError]:
    """The exceptions that scorers raised, in the order of the rows.

    Args:
        rows: A rows table, counted or not; may be empty.
    """
    known = pl.col("outcome") if "outcome" in rows.columns else outcome()
    failed = rows.filter(known == "scorer_error")
    causes = failed.with_columns(cause=_cause()).group_by("model", "variant", "cause", maintain_order=True)
    table = causes.agg(pl.len().alias("replies"), pl.col("sample", "detail").first())
    return [
        ScorerError(model, variant, cause, replies, sample, detail[len(SCORER_FAILED) + len(cause) + 2 :])
        for model, variant, cause, replies, sample, detail in table.iter_rows()
    ]


def asked_again(rows: pl.DataFrame, above: float = 0.0) -> str:
    """How many replies were asked for more than once, without a full stop; "" if their share is not above a limit.

    Args:
        rows: Rows of one model.
    """
    again = int((rows["asked_again"] > 0).sum())
    return f"asked more than once: {again:,} of {len(rows):,} replies" if again > above * len(rows) else ""


CHOSEN = "the server, or who ran it, may have chosen among several replies"
"""What it can mean that many replies were asked for more than once."""


def tally(rows: pl.DataFrame) -> dict[str, Any]:
    """Number of counted rows with each outcome of ``COUNTED``."""
    return {name: int((rows["outcome"] == name).sum()) for name in COUNTED}


def tallies(rows: pl.DataFrame, by: Sequence[str]) -> dict[tuple[object, ...], Mapping[str, int]]:
    """The same for every group of counted rows with the same values in some columns."""
    numbers = rows.group_by(*by).agg((pl.col("outcome") == name).sum().alias(f"_{name}") for name in COUNTED)
    counts: dict[tuple[object, ...], Mapping[str, int]] = {}
    for line in numbers.iter_rows(named=True):
        counts[tuple(line[name] for name in by)] = {name: int(line[f"_{name}"]) for name in COUNTED}
    return counts


def added(parts: Iterable[Mapping[str, int]]) -> dict[str, Any]:
    """The sum of tallies; zeros for none."""
    every = list(parts)
    return {name: sum(part[name] for part in every) for name in COUNTED}


def nothing_measured(rows: pl.DataFrame) -> FathomError:
    """The error of a study without any scored cell."""
    first = next(iter(unmeasured(scored_rows(rows))), None)
    mend = "finish the run or judge the replies"
    if first and first.scorer_errors:
        mend = "correct the scorer" if not first.failed else f"{mend}, and correct the scorer"
    where = f" ({first.model} on {first.task} at {first.length:,} tokens: {first})" if first else ""
    return FathomError(f"no complete cell has a score{where}: {mend}, choose other lengths, or give `unanswered` drop")


def differ(first: float | None, second: float | None) -> bool:
    """Whether two means of the same replies differ so much that both must be shown."""
    if first is None or second is None:
        return (first is None) != (second is None)
    return abs(first - second) >= SHOWN_FROM - 1e-12
