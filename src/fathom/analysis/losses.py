"""Losses of models by the tokens before, as means over the same texts, with differences and where they rise."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import TypeAlias

from fathom.stats.student import lower_tail, upper_quantile

SHORTEST = 128
"""Tokens of the first part of a text."""
MOST_PARTS = 8
LEVEL = 0.95

LossesByText: TypeAlias = Mapping[str, Mapping[str, Sequence[float]]]
"""The loss of each part of a text, by the name of the model and the id of the text."""


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of a model in one part of the texts.

    Attributes:
        model: Its name.
        start: Tokens before the part, by the tokenizer that cut the texts.
        end: Tokens up to its end.
        texts: Number of texts.
        loss: Mean over texts of the negative log-likelihood, in nats per token of the tokenizer that cut them.
        low: Lower end of its 95% interval (Student, over texts); None with fewer than two texts.
        high: Upper end.
        difference: To the first model, in nats, of the same texts; None for the first model.
        difference_low: Lower end of the difference's 95% interval.
        difference_high: Upper end.
    """

    model: str
    start: int
    end: int
    texts: int
    loss: float
    low: float | None
    high: float | None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None


@dataclass(frozen=True, slots=True)
class Rise:
    """Where the loss of a model clearly rises.

    Attributes:
        model: Its name.
        before: Its part with the least loss.
        after: The first later part whose loss is clearly higher in the same texts.
    """

    model: str
    before: Loss
    after: Loss


def parts_of(length: int) -> tuple[int, ...]:
    """The ends of the parts of a text: its length halved again and again, at most eight times.

    Args:
        length: Tokens of the texts.
    """
    ends = [length]
    while len(ends) < MOST_PARTS and ends[-1] // 2 >= SHORTEST:
        ends.append(ends[-1] // 2)
    return tuple(reversed(ends))


def compared(measured: LossesByText, ends: Sequence[int]) -> list[Loss]:
    """The losses of all models, with the differences to the first of them.

    Args:
        measured: The losses of the parts of each text; all models have the same texts.
        ends: The ends of the parts, in tokens.

    Returns:
        One for each model and part, in their order.
    """
    losses = list[Loss]()
    base = next(iter(measured.values()), {})
    for number, (model, texts) in enumerate(measured.items()):
        for place, (start, end) in enumerate(zip((0, *ends), ends, strict=False)):
            mean, low, high = mean_with_interval([parts[place] for parts in texts.values()])
            paired = [parts[place] - base[name][place] for name, parts in texts.items()]
            difference = mean_with_interval(paired) if number else (None, None, None)
            losses.append(Loss(model, start, end, len(texts), mean, low, high, *difference))
    return losses


def mean_with_interval(values: Sequence[float]) -> tuple[float, float | None, float | None]:
    """The mean of some values, and the ends of its 95% interval by Student's distribution; None for one value."""
    mean = fmean(values)
    if len(values) < 2:
        return mean, None, None
    half = upper_quantile((1 - LEVEL) / 2, len(values) - 1) * stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def rises_in(measured: LossesByText, losses: Sequence[Loss]) -> list[Rise]:
    """Where the loss of each model clearly rises.

    The level of 5% is shared by all pairs of parts of a model (Bonferroni), because the part with the least loss is
    chosen after the losses were seen.

    Args:
        measured: The losses of the parts of each text.
        losses: As ``compared`` returns them.
    """
    rises = list[Rise]()
    for model, texts in measured.items():
        parts = [loss for loss in losses if loss.model == model]
        level, best = 0.05 / max(1, math.comb(len(parts), 2)), 0
        for place, loss in enumerate(parts):
            if _p_value([of_text[place] - of_text[best] for of_text in texts.values()]) <= level:
                rises.append(Rise(model, parts[best], loss))
                break
            if loss.loss <= parts[best].loss:
                best = place
    return rises


def _p_value(differences: Sequence[float]) -> float:
    """How likely such differences, or larger ones, are without a true one: one-sided, by Student's distribution."""
    if len(differences) < 2 or not (spread := stdev(differences)):
        return float(len(differences) < 2 or differences[0] <= 0)
    return lower_tail(-fmean(differences) / spread * math.sqrt(len(differences)), len(differences) - 1)
