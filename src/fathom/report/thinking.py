"""What thinking adds to scores, where a model was asked with and without it."""

from __future__ import annotations

from fathom.analysis import ThinkingGain
from fathom.analysis.groups import place
from fathom.printing import printable
from fathom.report import words
from fathom.report.by_question import OVERALL
from fathom.report.labels import NAMES, label
from fathom.report.results import Results
from fathom.report.table import Cell, Column, Table

ABOUT = (
    "Scores in percent without and with thinking over the questions that were answered in both modes, and the gain in "
    "percentage points, paired question by question, with its 95% interval; then the gain on the questions of each "
    "difficulty and length. A published average has no interval."
)


def thinking_tables(results: Results) -> list[Table]:
    """One table: models down, the highest gain first; the gain over all questions, then by groups of them."""
    found = results.by_question.gains
    whole = {one.model: one for one in found if one.dimension == OVERALL}
    if not whole:
        return []
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
            *([Cell(words.count(one.tokens))] if counted else []),
            *(_gain(gains.get((one.model, *pair))) for pair in groups),
        )
        for one in sorted(whole.values(), key=lambda one: -one.gain)
    )
    return [Table("thinking", "thinking", "Thinking", ABOUT, columns, rows)]


def _gain(one: ThinkingGain | None) -> Cell:
    return Cell(words.change(one.gain), words.bounds(one.interval, signed=True)) if one else Cell()
