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
    passkey (20.0%). All 500 replies scored."

    Args:
        results: What was measured.
        system: The model.
    """
    task = results.with_mean[-1]
    points = _points(results, system, task)
    if not points:
        return ""
    lengths = results.effective.get((system, task, "own_base"))
    reach = "" if lengths is None or len(points) < 2 else _reach(lengths, points)
    scores = _scores(points, None if lengths is None or not reach else lengths.tokens)
    sentence = f"{reach}; it scores {scores}" if reach else f"scores {scores}"
    measured = {point.length for point in points}
    absent = [words.tokens(length) for length in results.lengths if length and length not in measured]
    sentence += f"; not measured at {words.listed(absent)}" if absent else ""
    weakest = _weakest(results, system)
    counts = results.every(system)
    replies = "" if counts is None else f" {_scored(counts.scored, counts.replies)}"
    return f"{sentence}{f'; weakest task: {weakest}' if weakest else ''}.{replies}"


def _points(results: Results, system: System, task: str) -> list[CurvePoint]:
    """The points of a curve that can be compared with each other, by length."""
    own = (results.curve.get((system, task, length)) for length in results.lengths if length)
    return [point for point in own if point is not None and point.mean is not None and point.complete]


def _reach(effective: EffectiveLength, points: Sequence[CurvePoint]) -> str:
    """Up to which length the score is kept."""
    tested = [point.length for point in points]
    base = [length for length in tested if length in BASE_LENGTHS] or tested[:1]
    of = f"{OWN_BASE_SHARE:.0%} of its score at {_span(base)}"
    if effective.interval is None or math.isnan(effective.threshold):
        return ""
    if effective.tokens is None:
        return f"does not keep {of} at any length"
    longest = effective.censored == "above"
    to = words.tokens(effective.tokens)
    where = f"{to}, the longest length measured" if longest else f"{to} {words.token_bounds(effective.interval)}"
    sure = f", or perhaps only up to {words.tokens(effective.interval.low)}" if longest and _unsure(effective) else ""
    return f"keeps {of} up to {where}{sure}"


def _unsure(effective: EffectiveLength) -> bool:
    """Whether the interval begins below the length."""
    interval, tokens = effective.interval, effective.tokens
    return interval is not None and tokens is not None and interval.low < tokens


def _span(lengths: Sequence[int]) -> str:
    named = list(map(words.tokens, lengths))
    return named[0] if len(named) == 1 else f"{named[0]} to {named[-1]}"


def _scores(points: Sequence[CurvePoint], kept: int | float | None) -> str:
    """The scores at the last length that is kept, or the first, and at the longest."""
    within = [point for point in points if kept is not None and point.length <= kept] or points[:1]
    shown = list({point.length: point for point in (within[-1], points[-1])}.values())
    if len(shown) == 1 and len(points) > 1:
        shown = [points[0], points[-1]]
    return " and ".join(f"{words.percent(point.mean)}% at {words.tokens(point.length)}" for point in shown)


def _weakest(results: Results, system: System) -> str:
    """The task with the lowest average score, if there are several and they differ."""
    averages = [results.average.get((system, task)) for task in results.tasks]
    scores = {average.task: average.mean for average in averages if average is not None and average.mean is not None}
    if len(scores) < 2 or min(scores.values()) == max(scores.values()):
        return ""
    task = min(scores, key=lambda task: scores[task])
    return f"{task} ({words.percent(scores[task])}%)"


def _scored(scored: int, replies: int) -> str:
    if scored == replies:
        return f"All {words.several(replies, 'reply', 'replies')} scored." if replies > 1 else "The reply is scored."
    return f"{words.count(scored)} of {words.several(replies, 'reply', 'replies')} scored."


def answers(results: Results, systems: Iterable[System]) -> list[tuple[System, str]]:
    """The answers of models that have one."""
    return [(system, sentence) for system in systems if (sentence := answer(results, system))]
