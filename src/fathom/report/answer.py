"""The answer of a report: up to which length a model keeps its score, and what it scores there, in one sentence."""

import math
from collections.abc import Iterable, Sequence

from fathom.analysis import CurvePoint, EffectiveLength
from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.effective import OWN_BASE_SHARE
from fathom.report import words
from fathom.report.results import Results, System


def answer(results: Results, system: System) -> str:
    """What a model keeps, scores and is weakest at, without its name; "" without a score.

    For instance "keeps 85% of its score at 2k up to 8k [6k, 16k]; it scores 63.0% at 8k and 43.0% at 16k; weakest task:
    passkey (20.0%). All 500 replies scored." Only lengths at which every task has a score are compared.

    Args:
        results: What was measured.
    """
    task = results.with_mean[-1]
    measured = [point for point in _points(results, system, task) if point.mean is not None]
    points = [point for point in measured if point.complete]
    if not points:
        return ""
    effective = results.effective.get((system, task, "own_base"))
    reach = "" if effective is None or len(points) < 2 else _reach(effective, points, whole=points == measured)
    scores = _scores(points, effective if reach else None)
    parts = [f"{reach}; it scores {scores}" if reach else f"scores {scores}"]
    if some := [words.tokens(point.length) for point in measured if not point.complete]:
        parts.append(f"not all tasks have a score at {words.listed(some)}")
    lengths = {point.length for point in measured}
    if absent := [words.tokens(length) for length in results.lengths if length and length not in lengths]:
        parts.append(f"not measured at {words.listed(absent)}")
    if weakest := _weakest(results, system, [point.length for point in points]):
        parts.append(f"weakest task: {weakest}")
    counts = results.every(system)
    replies = "" if counts is None else f" {_scored(counts.scored, counts.replies)}"
    return f"{'; '.join(parts)}.{replies}"


def _points(results: Results, system: System, task: str) -> list[CurvePoint]:
    """The points of a curve by length."""
    points = (results.curve.get((system, task, length)) for length in results.lengths if length)
    return [point for point in points if point is not None]


def _base(points: Sequence[CurvePoint]) -> list[int]:
    """The lengths whose mean is the base, else the shortest."""
    lengths = [point.length for point in points]
    return [length for length in lengths if length in BASE_LENGTHS] or lengths[:1]


def _reach(effective: EffectiveLength, points: Sequence[CurvePoint], *, whole: bool) -> str:
    """Up to which length the score is kept."""
    if effective.interval is None or math.isnan(effective.threshold):
        return ""
    base = _base(points)
    of = f"{OWN_BASE_SHARE:.0%} of its score at {_span(base)}"
    if effective.tokens is None:
        return f"does not keep {of} at any length"
    to = words.tokens(effective.tokens)
    if effective.censored == "above":
        end = "measured" if whole else "with a score on every task"
        sure = f", or perhaps only up to {words.tokens(effective.interval.low)}" if _unsure(effective) else ""
        return f"keeps {of} up to {to}, the longest length {end}{sure}"
    if len(base) == 1 and effective.tokens <= base[0]:
        return f"does not keep {of} at longer ones"
    return f"keeps {of} up to {to} {words.token_bounds(effective.interval)}"


def _unsure(effective: EffectiveLength) -> bool:
    """Whether the interval begins below the length."""
    interval, tokens = effective.interval, effective.tokens
    return interval is not None and tokens is not None and interval.low < tokens


def _span(lengths: Sequence[int]) -> str:
    names = list(map(words.tokens, lengths))
    return names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"


def _scores(points: Sequence[CurvePoint], effective: EffectiveLength | None) -> str:
    """The scores at the last length that is kept, the next and the longest; else at the first and the longest."""
    kept = None if effective is None else effective.tokens
    within = [point for point in points if kept is not None and point.length <= kept]
    beyond = [point for point in points if kept is not None and point.length > kept]
    first = next(point for point in points if point.length == _base(points)[0])
    shown = [*within[-1:], *beyond[:1], points[-1]] if beyond else [first, points[-1]]
    scores = {point.length: f"{words.percent(point.mean)}% at {words.tokens(point.length)}" for point in shown}
    return words.listed(list(scores.values()))


def _weakest(results: Results, system: System, lengths: Sequence[int]) -> str:
    """The task with the lowest mean score over lengths that all tasks have, if there are several and they differ."""
    means: dict[str, float] = {}
    for task in results.tasks:
        points = [results.curve.get((system, task, length)) for length in lengths]
        scores = [point.mean for point in points if point is not None and point.mean is not None]
        if len(scores) == len(lengths):
            means[task] = sum(scores) / len(scores)
    if len(means) < 2 or min(means.values()) == max(means.values()):
        return ""
    task = min(means, key=lambda task: means[task])
    return f"{task} ({words.percent(means[task])}%)"


def _scored(scored: int, replies: int) -> str:
    if scored == replies:
        return f"All {words.several(replies, 'reply')} scored." if replies > 1 else "The reply is scored."
    return f"{words.count(scored)} of {words.several(replies, 'reply')} scored."


def answers(results: Results, systems: Iterable[System]) -> list[tuple[System, str]]:
    """The answers of models that have one."""
    return [(system, sentence) for system in systems if (sentence := answer(results, system))]
