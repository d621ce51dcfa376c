"""What thinking adds to scores, where a model was asked with and without it."""

from __future__ import annotations

from collections.abc import Sequence

from fathom.analysis import ThinkingGain
from fathom.analysis.groups import place
from fathom.printing import printable
from fathom.report import words
from fathom.report.by_question import OVERALL
from fathom.report.labels import NAMES, label, legend, title
from fathom.report.results import Results
from fathom.report.table import Cell, Column, Table

ABOUT = (
    "Scores in percent without and with thinking over the questions that were answered in both modes, and the gain in "
    "percentage points, paired question by question, with its 95% interval. A published average has no interval."
)
GROUPS = "Then the gain on the questions of each {of}."
TOKENS = "Tokens are those of reasoning, on average over all replies with thinking, also those that were cut."
GAINS = (
    "Gain by thinking in percentage points, on the questions of a group that were answered in both modes, with its 95% "
    "interval; beneath it the scores in percent without and with thinking. A published average has no interval."
)


def thinking_tables(results: Results) -> list[Table]:
    """One table: models down, the highest gain first; the gain over all questions, then by groups of them."""
    found = results.by_question.gains
    return [_whole(found)] if any(one.dimension == OVERALL for one in found) else []


def gain_tables(found: Sequence[ThinkingGain]) -> list[Table]:
    """Tables of any gains, for a terminal: one for each dimension, the highest gain first; none of none.

    Args:
        found: What ``fathom.analysis.thinking_gain`` gave.
    """
    whole = {one.model: one.gain for one in found if one.dimension == OVERALL}
    ranked = sorted(found, key=lambda one: -whole.get(one.model, 0.0))
    made: list[Table] = []
    for dimension in dict.fromkeys(one.dimension for one in found):
        part = [one for one in ranked if one.dimension == dimension]
        made.append(_whole(part) if dimension == OVERALL else _by_group(part, dimension, first=not made))
    return made


def _whole(found: Sequence[ThinkingGain]) -> Table:
    whole = {one.model: one for one in found if one.dimension == OVERALL}
    groups = sorted(
        {(one.dimension, one.group) for one in found if one.dimension != OVERALL},
        key=lambda pair: (list(NAMES).index(pair[0]), place(pair[1])),
    )
    gains = {(one.model, one.dimension, one.group): one for one in found}
    counted = any(one.tokens is not None for one in whole.values())
    columns = (
        Column("Model", number=False),
        Column("Kind", number=False, help="What the model is made for"),
        Column("Without"),
        Column("With"),
        Column("Gain"),
        Column("Questions", help="Those that were answered in both modes"),
        *([Column("Tokens", help="Reasoning tokens of a reply with thinking, on average")] if counted else []),
        *(Column(label(*pair), group=f"Gain by {NAMES[pair[0]]}") for pair in groups),
    )
    rows = tuple(
        (
            Cell(printable(one.model)),
            Cell(printable(one.model_kind) or words.ABSENT),
            Cell(words.percent(one.without)),
            Cell(words.percent(one.thinking)),
            _gain(one),
            Cell(words.count(one.questions)),
            *([Cell(words.count(one.tokens))] if counted else []),
            *(_gain(gains.get((one.model, *pair))) for pair in groups),
        )
        for one in sorted(whole.values(), key=lambda one: -one.gain)
    )
    names = words.listed([NAMES[name] for name in dict.fromkeys(name for name, _ in groups)])
    said = (ABOUT, GROUPS.format(of=names) if names else "", TOKENS if counted else "")
    return Table("thinking", "thinking", "Thinking", " ".join(filter(None, said)), columns, rows)


def _by_group(found: Sequence[ThinkingGain], dimension: str, *, first: bool) -> Table:
    """Gains in the groups of one dimension: models down, groups to the right."""
    groups = sorted({one.group for one in found}, key=place)
    gains = {(one.model, one.group): one for one in found}
    counted = any(one.tokens is not None for one in found)
    columns = (Column("Model", number=False), *(Column(label(dimension, group)) for group in groups))
    rows = tuple(
        (Cell(printable(model)), *(_detailed(gains.get((model, group)), counted=counted) for group in groups))
        for model in dict.fromkeys(one.model for one in found)
    )
    names = "; ".join(legend(groups))
    said = (GAINS if first else "", TOKENS if first and counted else "", f"{names}." if names else "")
    name = f"thinking-{dimension.replace('_', '-')}"
    return Table(name, "thinking", title(dimension, "Gain"), " ".join(filter(None, said)), columns, rows)


def _detailed(one: ThinkingGain | None, *, counted: bool) -> Cell:
    """A gain with what stands behind it."""
    if one is None:
        return Cell()
    scores = f"{words.percent(one.without)} → {words.percent(one.thinking)}"
    tokens = [f"{words.count(one.tokens)} tokens"] if counted else []
    return Cell(words.change(one.gain), words.bounds(one.interval, signed=True), beneath=(scores, *tokens))


def _gain(one: ThinkingGain | None) -> Cell:
    return Cell(words.change(one.gain), words.bounds(one.interval, signed=True)) if one else Cell()
