"""The state of a run as a value, computed from its plan and its replies."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from fathom.analysis import CurvePoint
from fathom.stats.intervals import Interval

Cell: TypeAlias = tuple[str, int]
"""A task and a length; 0 is the length of prompts that are not whole: without context, truncated or padded."""
RECENT = 30
"""Replies that the rates are of."""
SURE = 2
"""Replies for each connection from which the number of requests at once is observed instead of assumed."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A reply, as far as the progress depends on it.

    Attributes:
        task: Name of its task.
        length: Length in tokens; see ``Cell``.
        tokens: Tokens of the prompt, by the suite's tokenizer.
        seconds: How long the request took.
        at: Seconds since the epoch when it came.
        tokens_in: Prompt tokens, as counted by the provider if it does.
        tokens_out: Completion tokens.
        cost: US dollars; None if the price is unknown.
        failed: Whether the request failed, so that it will be repeated.
        waiting: Whether a judge has to score it.
    """

    task: str
    length: int
    tokens: int
    seconds: float
    at: float
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    failed: bool = False
    waiting: bool = False


@dataclass(frozen=True, slots=True)
class Planned:
    """What is asked of a cell.

    Attributes:
        replies: Number of replies that it will have.
        tokens: Prompt tokens of all of them.
    """

    replies: int
    tokens: int


@dataclass(frozen=True, slots=True)
class LiveLength:
    """What is known at one length.

    Attributes:
        length: Length in tokens.
        finished: Replies so far, without those that failed.
        planned: Replies that there will be.
        failed: Requests that failed.
        waiting: Replies that wait for a judge.
        mean: Mean score of the tasks so far, in [0, 1]; None without one.
        interval: Its 95% interval; None without a mean.
        complete: Whether every task that has a score anywhere has one here.
    """

    length: int
    finished: int
    planned: int
    failed: int
    waiting: int
    mean: float | None
    interval: Interval | None
    complete: bool = True


@dataclass(frozen=True, slots=True)
class Live:
    """The state of a run.

    Attributes:
        finished: Replies so far, failed ones among them.
        total: Replies that there will be.
        failed: Requests that failed.
        waiting: Replies that wait for a judge.
        lengths: What is known at each length, ascending; prompts that are no point of the curve are left out.
        tokens_in: Prompt tokens so far.
        tokens_out: Completion tokens so far.
        cost: US dollars so far, as far as prices are known; None if none is.
        rate: Requests per second, lately; None if unknown.
        speed: Tokens per second, prompts and replies, lately; None if unknown.
        left: Seconds to the end, estimated from what prompts of each task and length took; None if unknown.
        last: Seconds since the epoch of the last reply; None without one.
        in_batches: Requests that a provider has answered in batches that have not ended.
    """

    finished: int
    total: int
    failed: int = 0
    waiting: int = 0
    lengths: tuple[LiveLength, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = 0.0
    rate: float | None = None
    speed: float | None = None
    left: float | None = None
    last: float | None = None
    in_batches: int = 0


@dataclass(frozen=True, slots=True)
class Clock:
    """What the estimate of the remaining time depends on, besides replies.

    Attributes:
        now: Seconds since the epoch.
        since: When the processes at work began; replies before say nothing of their speed.
        connections: Requests in flight at once; None if unknown.
        working: Whether a process is at work.
    """

    now: float
    since: float
    connections: int | None = None
    working: bool = True


def live(
    plan: Mapping[Cell, Planned],
    replies: Sequence[Finished],
    curve: Iterable[CurvePoint],
    clock: Clock,
    total: int | None = None,
) -> Live:
    """The state of a run.

    Args:
        plan: What is asked of each cell; cells that earlier versions did not store are left out.
        replies: The last reply to each sample and epoch.
        curve: The points of the mean over tasks, of the replies that have a score.
        clock: The time.
        total: Replies that there will be, if not all that were ever planned.
    """
    done: defaultdict[Cell, int] = defaultdict(int)
    failed: defaultdict[int, int] = defaultdict(int)
    waiting: defaultdict[int, int] = defaultdict(int)
    for reply in replies:
        failed[reply.length] += reply.failed
        done[reply.task, reply.length] += not reply.failed
        waiting[reply.length] += reply.waiting
    points = {point.length: point for point in curve}
    planned = {cell: max(done[cell], plan[cell].replies if cell in plan else 0) for cell in {*plan, *done}}
    total = max(len(replies), sum(planned.values()) if total is None else total)
    costs = [reply.cost for reply in replies if reply.cost is not None]
    rate, speed = _rates([reply for reply in replies if reply.at >= clock.since], clock.now)
    last = max((reply.at for reply in replies), default=None)
    return Live(
        finished=len(replies),
        total=total,
        failed=sum(reply.failed for reply in replies),
        waiting=sum(waiting.values()),
        lengths=tuple(
            _at_length(length, planned, done, (failed[length], waiting[length]), points.get(length))
            for length in sorted({length for _, length in planned if length})
        ),
        tokens_in=sum(reply.tokens_in for reply in replies),
        tokens_out=sum(reply.tokens_out for reply in replies),
        cost=sum(costs) if costs or not replies else None,
        rate=rate if clock.working else None,
        speed=speed if clock.working else None,
        left=seconds_left(plan, replies, clock, total) if clock.working else None,
        last=last,
    )


def _at_length(
    length: int,
    planned: Mapping[Cell, int],
    done: Mapping[Cell, int],
    unscored: tuple[int, int],
    point: CurvePoint | None,
) -> LiveLength:
    return LiveLength(
        length=length,
        finished=sum(count for (_, at), count in done.items() if at == length),
        planned=sum(count for (_, at), count in planned.items() if at == length),
        failed=unscored[0],
        waiting=unscored[1],
        mean=None if point is None else point.mean,
        interval=None if point is None else point.interval,
        complete=point is None or point.complete,
    )


def _rates(replies: Sequence[Finished], now: float) -> tuple[float | None, float | None]:
    """Requests and tokens per second of the last replies."""
    recent = sorted(replies, key=lambda reply: reply.at)[-RECENT:]
    if not recent:
        return None, None
    # The first of them began the stretch in which the others came, unless it is the first of all.
    begun = recent[0].at if len(recent) == RECENT else recent[0].at - recent[0].seconds
    counted = recent[1:] if len(recent) == RECENT else recent
    span = max(now - begun, 1e-3)
    return len(counted) / span, sum(reply.tokens_in + reply.tokens_out for reply in counted) / span


# ------------------------------------------------------------------------------------------------ the remaining time


def seconds_left(
    plan: Mapping[Cell, Planned], replies: Sequence[Finished], clock: Clock, total: int | None = None
) -> float | None:
    """The seconds until a run ends, from what its requests took so far; None before the first one.

    A request of a cell takes as long as those of this cell took. Of a cell without any it takes what the line through
    all requests says of so many prompt tokens, times what the task took of that at other lengths. Requests that are in
    flight at once share the time.

    Args:
        plan: What is asked of each cell.
        replies: The last reply to each sample and epoch.
        clock: The time.
        total: Replies that there will be, if not all that were ever planned.
    """
    done: defaultdict[Cell, int] = defaultdict(int)
    for reply in replies:
        done[reply.task, reply.length] += not reply.failed
    left = {cell: asked.replies - done[cell] for cell, asked in plan.items() if asked.replies > done[cell]}
    if not left:
        return 0.0 if plan else None
    # Requests that were not sent took no time.
    timed = [reply for reply in replies if reply.at >= clock.since and reply.seconds > 0]
    if not timed:
        return None
    expected = _Expected(timed)
    work = sum(count * expected((*cell, plan[cell].tokens / plan[cell].replies)) for cell, count in left.items())
    if total is not None and total > len(replies):
        work *= min(1.0, (total - len(replies)) / sum(left.values()))
    last = max(reply.at for reply in timed)
    at_once = min(_at_once(timed, clock, last), sum(left.values()))
    return max(0.0, work / at_once - max(0.0, clock.now - last))


def _at_once(timed: Sequence[Finished], clock: Clock, last: float) -> float:
    """Requests in flight at once, on average."""
    busy = sum(min(reply.seconds, max(0.0, reply.at - clock.since)) for reply in timed)
    observed = max(1.0, busy / max(last - clock.since, 1e-3))
    if clock.connections is None:
        return observed
    # The first replies are few of those that are under way.
    return min(observed, clock.connections) if len(timed) >= SURE * clock.connections else float(clock.connections)


class _Expected:
    """The seconds of a request, as a function of task, length and prompt tokens."""

    def __init__(self, timed: Sequence[Finished]) -> None:
        sums: defaultdict[Cell, list[float]] = defaultdict(lambda: [0, 0.0, 0.0])
        for reply in timed:
            own = sums[reply.task, reply.length]
            own[0], own[1], own[2] = own[0] + 1, own[1] + reply.tokens, own[2] + reply.seconds
        self._means = {cell: seconds / count for cell, (count, _, seconds) in sums.items()}
        self._start, self._slope = _line(
            [(count, tokens / count, secs / count) for count, tokens, secs in sums.values()]
        )
        tasks: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
        for (task, _), (count, tokens, seconds) in sums.items():
            tasks[task][0] += seconds
            tasks[task][1] += count * self._start + tokens * self._slope
        self._tasks = {task: taken / predicted if predicted > 0 else 1.0 for task, (taken, predicted) in tasks.items()}

    def __call__(self, of: tuple[str, int, float]) -> float:
        task, length, tokens = of
        known = self._means.get((task, length))
        return (self._start + self._slope * tokens) * self._tasks.get(task, 1.0) if known is None else known


def _line(points: Sequence[tuple[float, float, float]]) -> tuple[float, float]:
    """Start and slope, neither below 0, of the line through points (weight, tokens, seconds) by least squares.

    Each point counts by its relative error: long prompts are not more important than short ones.
    """
    weights = [(weight / max(seconds, 1e-6) ** 2, tokens, seconds) for weight, tokens, seconds in points]
    mass = sum(weight for weight, _, _ in weights)
    middle = sum(weight * tokens for weight, tokens, _ in weights) / mass
    level = sum(weight * seconds for weight, _, seconds in weights) / mass
    spread = sum(weight * (tokens - middle) ** 2 for weight, tokens, _ in weights)
    together = sum(weight * (tokens - middle) * (seconds - level) for weight, tokens, seconds in weights)
    squares = sum(weight * tokens**2 for weight, tokens, _ in weights)
    through_origin = sum(weight * tokens * seconds for weight, tokens, seconds in weights) / squares if squares else 0.0
    if spread <= 1e-12 * max(squares, 1e-12):  # all prompts are of one length: longer ones take longer
        return (0.0, through_origin) if squares else (level, 0.0)
    slope = together / spread
    if slope <= 0:
        return level, 0.0
    start = level - slope * middle
    return (start, slope) if start >= 0 else (0.0, through_origin)
