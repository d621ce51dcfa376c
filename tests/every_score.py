"""Every score that analysis gives a model, by name: what relabelling its replies must never raise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

import polars as pl

from fathom.analysis import (
    agreement,
    answers,
    breakdown,
    categories,
    compare,
    known_filter,
    neighbours,
    position,
    profiles,
    repeats,
    thinking_gain,
    truncation,
)
from fathom.analysis.average import average_scores_of
from fathom.analysis.curve import curve_of
from fathom.analysis.effective import effective_length_of
from fathom.analysis.longscore import longscore_of
from fathom.analysis.profile import Profile
from fathom.analysis.steady import steady_of
from fathom.types import FathomError

Scores: TypeAlias = dict[tuple[object, ...], float]
"""A score by what it is of; a score that is not given is not there."""
PLAIN = ("average", "curve", "breakdown", "categories", "repeats", "neighbours", "thinking", "compare", "known")
"""Names of scores that are means of replies, and no ratios of them."""


def every_score(rows: pl.DataFrame, model: str) -> Scores:
    """Every score of one model."""
    found: Scores = {}
    for key, value in _all(rows, model):
        if isinstance(value, float | int) and value == value:  # NaN is no score
            assert key not in found, key
            found[key] = float(value)
    return found


def risen(before: Scores, after: Scores, names: tuple[str, ...] | None = None) -> list[str]:
    """The scores that are higher after than before, or are there only after."""
    return [
        f"{key}: {before.get(key)} -> {value}"
        for key, value in after.items()
        if (names is None or key[0] in names) and (key not in before or value > before[key] + 1e-12)
    ]


def _all(rows: pl.DataFrame, model: str) -> Iterator[tuple[tuple[object, ...], Any]]:
    for base in ("paper", "code"):
        ready = profiles(rows, replicates=40, base=base)
        yield from _of_profiles([one for one in ready if one.model == model], base)
        for long in longscore_of(ready):  # beside the other models: over the lengths that all of them have
            if long.model == model:
                yield ("longscore shared", base, long.variant, long.task), long.shared_average
    left = known_filter(rows, "own").rows
    for one in average_scores_of([one for one in profiles(left, replicates=40) if one.model == model]):
        yield ("known", one.variant, one.task), one.mean
    yield from _of_questions(rows, model)
    yield from _of_pairs(rows, model)
    for by in ("category", "kind"):
        for compensated in (False, True):
            for group in categories(rows, by=by, compensated=compensated):
                if group.model == model:
                    yield ("categories", by, compensated, group.variant, group.group, group.task), group.score
    for point in position(rows):
        if point.model == model:
            place = point.length, point.depth_low, point.depth_high
            yield ("position", point.variant, point.task, *place), point.mean
    for answer in answers(rows):
        if answer.model == model:
            here = answer.variant, answer.task, answer.length
            yield ("answers", *here), answer.accuracy.value
            yield ("followed", *here), answer.followed.value
            for third in answer.thirds:
                yield ("answers", *here, third.name), third.accuracy and third.accuracy.value
    for cut in truncation(rows, replicates=50):
        if cut.model == model:
            where = cut.variant, cut.task, cut.cut_from, cut.length
            yield ("truncation full", *where), cut.full
            yield ("truncation", *where), cut.score


def _of_profiles(ready: list[Profile], base: str) -> Iterator[tuple[tuple[object, ...], Any]]:
    for one in average_scores_of(ready):
        yield ("average", base, one.variant, one.task), one.mean
    for point in curve_of(ready):
        yield ("curve", base, point.variant, point.task, point.length), point.mean
    for long in longscore_of(ready):
        key = base, long.variant, long.task
        yield ("longscore", *key), long.average
        for beyond in long.points:
            yield ("longscore at", *key, beyond.length), beyond.value
    for reach in effective_length_of(ready):
        yield ("effective", base, reach.variant, reach.task, reach.definition), reach.tokens
    for kept in steady_of(ready):
        key = base, kept.variant, kept.task
        for name in ("retention", "log_ratio", "area"):
            estimate = getattr(kept, name)
            yield (name, *key), estimate and estimate.value
        for name in ("l85", "l50"):
            length = getattr(kept, name)
            yield (name, *key), length and length.tokens
        for at in kept.points:
            yield ("retention at", *key, at.length), at.retention and at.retention.value
            yield ("log_ratio at", *key, at.length), at.log_ratio and at.log_ratio.value


def _of_questions(rows: pl.DataFrame, model: str) -> Iterator[tuple[tuple[object, ...], Any]]:
    by = ("overall", "length", "language", "task", "suite", "run", "category")
    try:
        groups = breakdown(rows, by=by, measures=("mean", "best_of", "pass_at"))
    except FathomError as error:
        assert "no complete cell has a score" in str(error)  # noqa: PT017  # any other error is a defect
        groups = []
    for group in groups:
        if group.model == model:
            key = group.variant, group.dimension, group.group, group.measure, group.n
            yield ("breakdown", *key), group.score
    for one in repeats(rows):
        if one.model == model:
            yield ("repeats", one.variant), one.mean
            for number, mean in enumerate(one.run_means):
                yield ("repeats", one.variant, "run", number), mean
            for trend in one.trend:
                for name in ("best_of", "best_of_unbiased", "pass_at", "pass_at_unbiased"):
                    yield ("repeats", one.variant, name, trend.n), getattr(trend, name)
    above = 0  # other models: a variant of the same one that leaves the order lets the next one up
    for place in neighbours(rows):
        if place.model == model:
            yield ("neighbours", place.variant), place.score
            yield ("rank", place.variant), -above
        else:
            above += 1
    for gain in thinking_gain(rows, by=("overall", "length", "task")):
        if gain.model == model:
            yield ("thinking", gain.dimension, gain.group, "off"), gain.without
            yield ("thinking", gain.dimension, gain.group, "on"), gain.thinking


def _of_pairs(rows: pl.DataFrame, model: str) -> Iterator[tuple[tuple[object, ...], Any]]:
    systems = rows.select("model", "variant").unique(maintain_order=True).rows()
    own, others = ([one for one in systems if (one[0] == model) is mine] for mine in (True, False))
    for _, variant in own:
        for other in others:
            sides = {"variant_a": variant, "variant_b": other[1], "replicates": 50}
            for one in compare(rows, model, other[0], **sides):
                yield ("compare", variant, other, one.task, one.length), one.difference
            turned = {"variant_a": other[1], "variant_b": variant, "replicates": 50}
            for one in compare(rows, other[0], model, **turned):
                yield ("compare", "turned", variant, other, one.task, one.length), -one.difference
    try:
        pairs = agreement(rows)
    except FathomError:  # there is one system only
        return
    for both in pairs:
        first, second = (both.model_a, both.variant_a), (both.model_b, both.variant_b)
        for side, score in ((first, both.score_a), (second, both.score_b)):
            if side[0] == model:
                yield ("agreement", side, first, second, both.task, both.length), score
