"""The state of a run as text: a panel of lines for a terminal of any width, and one line for a log."""

from fathom.report import words
from fathom.report.live.state import Live, LiveLength
from fathom.report.results import ALL, Results, System

NARROW = 48
"""Columns from which lengths have bars."""
WIDEST = 60
"""Columns of a bar at most."""
JUDGE = "waiting for the judge"


def panel_lines(state: Live, title: str, width: int) -> list[str]:
    """The lines of the panel.

    Args:
        state: The run.
        title: What is run.
        width: Columns of the terminal; no line is longer.
    """
    head = _headline(state)
    first = f"{title}  {head}" if len(title) + 2 + len(head) <= width else head
    lines = [first, *_table(state.lengths, width), *_wrapped(_facts(state), width)]
    return [line[:width] for line in lines]


def result_lines(results: Results, system: System, width: int) -> list[str]:
    """The same lines by length of a model that has been measured, as its report has them.

    Args:
        results: What was measured.
        width: Columns of the terminal.
    """
    task = results.with_mean[-1]
    rows = []
    for length in filter(None, results.lengths):
        counts, point = results.by_cell.get((system, ALL, length)), results.curve.get((system, task, length))
        if counts is not None:
            absent = counts.error + counts.not_asked + counts.not_judged
            rows.append(
                LiveLength(
                    length=length,
                    finished=counts.replies - absent,
                    planned=counts.replies,
                    failed=counts.error,
                    waiting=counts.not_judged,
                    mean=None if point is None else point.mean,
                    interval=None if point is None else point.interval,
                    complete=point is None or point.mean is None or point.complete,
                )
            )
    return [line[:width] for line in _table(tuple(rows), width)]


def log_line(state: Live) -> str:
    """The same figures in one line."""
    scores = ", ".join(
        f"{words.tokens(row.length)} {_score(row)} {words.whole_bounds(row.interval)}".rstrip()
        for row in state.lengths
        if row.mean is not None
    )
    return "; ".join(filter(None, (_headline(state), scores and f"scores {scores}", *_facts(state))))


def _headline(state: Live) -> str:
    share = f" ({state.finished / state.total:.0%})" if state.total else ""
    left = "" if state.left is None or state.finished >= state.total else f", about {words.duration(state.left)} left"
    return f"{state.finished:,} of {words.several(state.total, 'reply')}{share}{left}"


def _facts(state: Live) -> list[str]:
    """What is used and how fast it goes."""
    facts = [f"{_short(state.tokens_in)} tokens in, {_short(state.tokens_out)} out"]
    if state.cost:
        facts.append(words.money(state.cost))
    if state.in_batches:
        facts.append(f"{state.in_batches:,} answered in batches")
    if state.failed:
        facts.append(f"{state.failed:,} failed")
    if state.waiting:
        facts.append(f"{state.waiting:,} {JUDGE}")
    if state.rate is not None:
        facts.append(f"{_figure(state.rate)} replies/s")
    if state.speed is not None:
        facts.append(f"{_short(state.speed)} tokens/s")
    return facts


def _table(rows: tuple[LiveLength, ...], width: int) -> list[str]:
    """A line for each length: length, score, interval, bar, replies."""
    cells = [
        (words.tokens(row.length), _score(row), words.whole_bounds(row.interval), _replies(row), row) for row in rows
    ]
    if not cells:
        return []
    sizes = [max(len(str(cell[place])) for cell in cells) for place in range(4)]
    bar = width - sum(sizes) - 2 * 5
    lines = []
    for length, score, interval, replies, row in cells:
        line = f"  {length:>{sizes[0]}}  {score:>{sizes[1]}}  {interval:<{sizes[2]}}"
        line += f"  {_bar(row, min(bar, WIDEST))}" if width >= NARROW and bar >= 8 else ""
        lines.append(f"{line}  {replies:>{sizes[3]}}")
    return lines


def _score(row: LiveLength) -> str:
    return words.ABSENT if row.mean is None else f"{100 * row.mean:.0f}%"


def _replies(row: LiveLength) -> str:
    replies = f"{row.finished:,} of {row.planned:,}"
    if row.failed:
        replies += f", {row.failed:,} failed"
    if row.waiting:
        replies += f", {row.waiting:,} {JUDGE}" if row.waiting == row.finished else f", {row.waiting:,} to judge"
    return replies if row.complete else f"{replies}, not all tasks"


def _bar(row: LiveLength, width: int) -> str:
    """The score as a bar: up to the interval, up to the mean, up to the end of the interval, and the rest."""
    if row.mean is None or row.interval is None:
        return "░" * width
    low, mean, high = (round(share * width) for share in (row.interval.low, row.mean, row.interval.high))
    return "█" * low + "▓" * (mean - low) + "▒" * (high - mean) + "░" * (width - high)


def _wrapped(facts: list[str], width: int) -> list[str]:
    """Facts in lines of at most so many columns, none divided."""
    lines: list[str] = []
    for fact in facts:
        if lines and len(lines[-1]) + 3 + len(fact) <= width:
            lines[-1] += f" · {fact}"
        else:
            lines.append(f"  {fact}")
    return lines


def _short(number: float) -> str:
    """A count in a few characters: "950", "34.2k", "1.2M"."""
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if number >= size:
            return f"{number / size:.1f}{unit}"
    return f"{number:.0f}"


def _figure(rate: float) -> str:
    return f"{rate:.0f}" if rate >= 10 else f"{rate:.1f}" if rate >= 1 else f"{rate:.2f}"
