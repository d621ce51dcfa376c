"""Thinking: how much the same model gains by reasoning before it answers, and how many tokens it takes.

Rows say in the facet ``thinking`` whether a reply was given with it ("on") or without ("off").
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.analysis.breakdown import check_dimensions, groups_of, not_there, place, published
from fathom.analysis.neighbours import shared_questions
from fathom.analysis.questions import ModelReplies, asked
from fathom.stats.columns import facet
from fathom.stats.differences import Resampler, paired
from fathom.stats.intervals import Floats, Interval
from fathom.stats.outcomes import Unanswered, scored_rows
from fathom.stats.ranks import with_adjusted

MODES = ("off", "on")
NO_REPLY = ("error", "overflow")
"""Statuses of rows without a reply: the request failed, or was never sent."""


@dataclass(frozen=True, slots=True)
class ThinkingGain:
    """Gain of one model by thinking in one group of questions.

    Attributes:
        dimension: Dimension of the groups.
        group: The value in common; ``all`` for ``overall``.
        without: Score without thinking.
        thinking: Score with thinking.
        gain: ``thinking`` minus ``without``.
        interval: 95% interval of the gain, paired over items; None for published averages.
        questions: Questions with both scores; None if unknown.
        model_kind: ``thinking``, ``mixed`` or ``instruct``; "" if unknown.
        p_value: Two-sided p-value of the gain; None for published averages.
        p_adjusted: The p-value adjusted by Holm's method for all gains of the table, of all models and groups; None
            for published averages.
        tokens: Mean reasoning tokens of replies with thinking to questions of the group, including replies that were
            truncated while reasoning and those to questions without a score. A reply without known tokens counts as 0;
            None if none are known for any reply of the model with thinking.
    """

    model: str
    dimension: str
    group: str
    without: float
    thinking: float
    gain: float
    interval: Interval | None
    questions: int | None
    model_kind: str
    tokens: float | None
    p_value: float | None = None
    p_adjusted: float | None = None


def thinking_gain(
    rows: pl.DataFrame, *, by: Sequence[str] = ("overall",), unanswered: Unanswered = "zero", seed: int = 0
) -> list[ThinkingGain]:
    """Gain by thinking, for each model that was asked both with and without it.

    Scores are over the questions with a score in both modes. Variants of a model with the same mode are averaged.
    Questions of one item are resampled together (``fathom.stats.intervals``).

    Args:
        rows: A rows table; may be empty. Published averages are used for models without replies.
        by: Dimensions, see ``fathom.analysis.breakdown``.
        seed: Seed of the intervals (Bayesian bootstrap over items).

    Returns:
        Gains in the order in which the rows name models, then by dimension in the order of ``by``, and group. Models
        with one mode only, or without a question with a score in both modes, are left out.

    Raises:
        FathomError: No question has the dimension.
    """
    check_dimensions(by)
    gains, lacking = gains_of(rows, by=by, unanswered=unanswered, seed=seed)
    if lacking:
        raise not_there(lacking[0], rows)
    return gains


def gains_of(
    rows: pl.DataFrame, *, by: Sequence[str], unanswered: Unanswered = "zero", seed: int = 0
) -> tuple[list[ThinkingGain], list[str]]:
    """The gains, and the dimensions that no question has; arguments as in :func:`thinking_gain`."""
    mode = facet("thinking").alias("variant")
    # Counted before variants are combined, because a cell is of one variant.
    replies = scored_rows(rows, unanswered).with_columns(mode).filter(pl.col("variant").is_in(MODES))
    modes = {(model.model, model.variant): model for model in asked(replies, unanswered)}
    models = rows["model"].unique(maintain_order=True).to_list()
    measured = {model: pair for model in models if (pair := _pair(modes, model))}
    thoughts = _thoughts(replies)
    cells = [cell for off, on in measured.values() for cell in _cells(off, on, by, thoughts)]
    resampler = Resampler(seed)
    gains = [_gain(cell, resampler) for cell in cells]
    averages = [gain for gain in _of_averages(rows) if gain.model not in measured]
    gains += (gain for gain in averages if gain.dimension in by)
    whole = all(model.blank.is_empty() for pair in measured.values() for model in pair)
    present = {gain.dimension for gain in gains}
    lacking = [name for name in by if name not in present] if (measured or averages) and whole else []
    order = {model: number for number, model in enumerate(models)}
    ordered = sorted(gains, key=lambda gain: (order[gain.model], by.index(gain.dimension), place(gain.group)))
    return with_adjusted(ordered), lacking


def _pair(modes: Mapping[tuple[str, str], ModelReplies], model: str) -> tuple[ModelReplies, ModelReplies] | None:
    """The replies of a model without and with thinking; None if no question has a score in both modes."""
    off, on = (modes.get((model, mode)) for mode in MODES)
    return (off, on) if off and on and len(shared_questions(off, on)[0]) else None


@dataclass(frozen=True, slots=True, eq=False)
class _Cell:
    """The questions of one group: ``both`` are their scores without and with thinking, ``tokens`` reasoning tokens."""

    model: str
    dimension: str
    group: str
    about: pl.DataFrame
    both: Floats
    tokens: float | None


def _cells(off: ModelReplies, on: ModelReplies, by: Sequence[str], thoughts: pl.DataFrame) -> Iterable[_Cell]:
    without, thinking = shared_questions(off, on)
    about = on.about[thinking]
    both = np.stack([off.means[without], on.means[thinking]], axis=1)
    thoughts = thoughts.filter(pl.col("model") == on.model)
    for dimension in by:
        groups = groups_of(about, dimension)
        tokens = _tokens(thoughts, dimension)
        blank = {*groups_of(off.blank, dimension), *groups_of(on.blank, dimension)}
        for group in groups.drop_nulls().unique():
            if group in blank:
                continue
            here = (groups == group).fill_null(False)
            yield _Cell(on.model, dimension, group, about.filter(here), both[here.to_numpy()], tokens.get(group))


def _thoughts(rows: pl.DataFrame) -> pl.DataFrame:
    """Replies with thinking, scored or not, of models with some known reasoning tokens."""
    replies = rows.filter(pl.col("variant") == "on", ~pl.col("status").is_in(NO_REPLY))
    return replies.filter(pl.col("tokens_reasoning").is_not_null().any().over("model"))


def _tokens(thoughts: pl.DataFrame, dimension: str) -> Mapping[str, float]:
    """Mean number of reasoning tokens of the replies to the questions of each group."""
    named = thoughts.select(groups_of(thoughts, dimension).alias("group"), pl.col("tokens_reasoning").fill_null(0))
    return dict(named.drop_nulls("group").group_by("group").agg(pl.col("tokens_reasoning").mean()).iter_rows())


def _gain(cell: _Cell, resampler: Resampler) -> ThinkingGain:
    without, thinking = (float(mean) for mean in cell.both.mean(axis=0))
    on, off = cell.both[:, 1:], cell.both[:, :1]
    gap = paired(on, off, "questions", resampler, cell.about["cluster"].to_list()).gap([0])
    kinds = cell.about.select(facet("model_kind").alias("kind"))["kind"].drop_nulls()
    return ThinkingGain(
        model=cell.model,
        dimension=cell.dimension,
        group=cell.group,
        without=without,
        thinking=thinking,
        gain=gap.difference,
        interval=gap.interval,
        p_value=gap.p_value,
        questions=len(cell.about),
        model_kind=kinds[0] if len(kinds) else "",
        tokens=cell.tokens,
    )


def _of_averages(rows: pl.DataFrame) -> Iterable[ThinkingGain]:
    lines = published(rows).filter(pl.col("measure") == "mean")
    keys = ["model", "dimension", "group"]
    on = lines.filter(pl.col("thinking") == "on").unique(keys, keep="first", maintain_order=True)
    off = lines.filter(pl.col("thinking") == "off").unique(keys, keep="first", maintain_order=True)
    for line in on.join(off, on=keys, suffix="_off", maintain_order="left").iter_rows(named=True):
        counts = {line["questions"], line["questions_off"]}
        yield ThinkingGain(
            model=line["model"],
            dimension=line["dimension"],
            group=line["group"],
            without=line["value_off"],
            thinking=line["value"],
            gain=line["value"] - line["value_off"],
            interval=None,
            questions=counts.pop() if len(counts) == 1 else None,
            model_kind=line["model_kind"] or line["model_kind_off"],
            tokens=None,
        )
