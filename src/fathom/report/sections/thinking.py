"""The section on thinking: what models gain by it."""

from collections.abc import Callable, Iterable, Sequence

from fathom.analysis import ThinkingGain
from fathom.analysis.breakdown import place
from fathom.printing import printable
from fathom.report import words
from fathom.report.by_question import OVERALL, ByQuestion
from fathom.report.results import Results, grouped
from fathom.report.section import Section
from fathom.report.sections.breakdown import NAMES, label, legend, title
from fathom.report.table import Cell, Column, Table, table_of

ABOUT = (
    "Scores in percent without and with thinking over the questions that were asked in both modes, and the gain in "
    "percentage points, paired by question, with its 95% interval. A published average has no interval."
)
GROUPS = "The other columns show the gain on the questions of each {of}."
TOKENS = "Tokens are the mean number of reasoning tokens over all replies with thinking, including truncated ones."
GAINS = (
    "Gain by thinking in percentage points on the questions of a group that were asked in both modes, with its 95% "
    "interval. The small figures are the scores in percent without and with thinking. A published average has no "
    "interval."
)
THOUGHTS = Column("Tokens", help="Reasoning tokens of a reply with thinking, on average", denominator="received")


def gain_tables(gains: Sequence[ThinkingGain]) -> list[Table]:
    """Tables of gains for a terminal: one for each dimension, the highest gain first; no table without gains.

    Args:
        gains: Result of ``fathom.analysis.thinking_gain``.
    """
    whole = {gain.model: gain.gain for gain in gains if gain.dimension == OVERALL}
    ranked = sorted(gains, key=lambda gain: -whole.get(gain.model, 0.0))
    tables: list[Table] = []
    for dimension in dict.fromkeys(gain.dimension for gain in gains):
        part = [gain for gain in ranked if gain.dimension == dimension]
        family, first = "" if tables else _adjustment(gains), not tables
        tables.append(_whole(part, family) if dimension == OVERALL else _by_group(part, dimension, family, first))
    return tables


def _tables(results: Results) -> list[Table]:
    """One table with a row per model, the highest gain first: the gain over all questions, then by groups."""
    gains = results.by_question.gains
    return [_whole(gains, _adjustment(gains))] if any(gain.dimension == OVERALL for gain in gains) else []


def _whole(gains: Sequence[ThinkingGain], family: str) -> Table:
    whole = {gain.model: gain for gain in gains if gain.dimension == OVERALL}
    groups = sorted(
        {(gain.dimension, gain.group) for gain in gains if gain.dimension != OVERALL},
        key=lambda pair: (list(NAMES).index(pair[0]), place(pair[1])),
    )
    at = {(gain.model, gain.dimension, gain.group): gain for gain in gains}
    counted = any(gain.tokens is not None for gain in whole.values())
    fields: list[tuple[Column, Callable[[ThinkingGain], Cell]]] = [
        (Column("Model", number=False), lambda gain: Cell(printable(gain.model))),
        (
            Column("Kind", number=False, help="Whether the model thinks always, never or on request"),
            lambda gain: Cell(printable(gain.model_kind) or words.ABSENT),
        ),
        (Column("Without"), lambda gain: Cell(words.percent(gain.without))),
        (Column("With"), lambda gain: Cell(words.percent(gain.thinking))),
        (Column("Gain"), lambda gain: _gain(gain)),
        (Column("Questions", help="Asked in both modes"), lambda gain: Cell(words.count(gain.questions))),
    ]
    if counted:
        fields.append((THOUGHTS, lambda gain: Cell(words.count(gain.tokens))))
    for pair in groups:
        column = Column(label(*pair), group=f"Gain by {NAMES[pair[0]]}")
        fields.append((column, lambda gain, pair=pair: _gain(at.get((gain.model, *pair)))))  # type: ignore[misc]
    names = words.listed([NAMES[name] for name in dict.fromkeys(name for name, _ in groups)])
    sentences = (ABOUT, GROUPS.format(of=names) if names else "", family, TOKENS if counted else "")
    records = sorted(whole.values(), key=lambda gain: -gain.gain)
    about = " ".join(filter(None, sentences))
    return table_of("thinking", "Thinking", fields, records, about=about, denominator="shared")


def _by_group(gains: Sequence[ThinkingGain], dimension: str, family: str, first: bool) -> Table:
    """Gains in the groups of one dimension: a row per model, a column per group."""
    groups = sorted({gain.group for gain in gains}, key=place)
    counted = any(gain.tokens is not None for gain in gains)
    columns = (Column("Model", number=False), *(Column(label(dimension, group)) for group in groups))
    rows = []
    for model, own in grouped(gains, lambda gain: gain.model).items():
        at = {gain.group: gain for gain in own}
        rows.append((Cell(printable(model)), *(_detailed(at.get(group), counted=counted) for group in groups)))
    names = "; ".join(legend(groups))
    sentences = (GAINS if first else "", family, TOKENS if first and counted else "", f"{names}." if names else "")
    name = f"thinking-{dimension.replace('_', '-')}"
    about = " ".join(filter(None, sentences))
    return Table(name, "", title(dimension, "Gain"), about, columns, tuple(rows), denominator="shared")


def _detailed(gain: ThinkingGain | None, *, counted: bool) -> Cell:
    """A gain with its scores and tokens."""
    if gain is None:
        return Cell()
    scores = f"{words.percent(gain.without)} → {words.percent(gain.thinking)}"
    return _gain(gain, scores, *([f"{words.count(gain.tokens)} tokens"] if counted else []))


def _gain(gain: ThinkingGain | None, *below: str) -> Cell:
    if gain is None:
        return Cell()
    p_values: tuple[str, ...] = ()
    if gain.p_value is not None and gain.p_adjusted is not None:
        p_values = words.chances_of(gain.p_value, gain.p_adjusted)
    return Cell(words.change(gain.gain), words.bounds(gain.interval, signed=True), below=(*p_values, *below))


def _adjustment(gains: Iterable[ThinkingGain]) -> str:
    tests = sum(gain.p_value is not None for gain in gains)
    return words.adjustment(tests) if tests > 1 else ""


def sentence_on_thinking(measured: ByQuestion) -> str:
    """How many models gain by thinking; "" if fewer than two were asked in both modes."""
    gains = [gain for gain in measured.gains if gain.dimension == OVERALL]
    if len(gains) < 2:
        return ""
    higher = sum(gain.gain > 0 for gain in gains)
    most = max(gains, key=lambda gain: gain.gain)
    best = f"; {most.model} gains most, {words.change(most.gain)} points" if most.gain > 0 else ""
    verb = "scores" if higher == 1 else "score"
    return (
        f"Of {words.several(len(gains), 'model')} asked with and without thinking, {higher or 'none'} {verb} higher "
        f"with it{best}."
    )


SECTION = Section(
    name="thinking",
    title="Thinking",
    finding=lambda results: sentence_on_thinking(results.by_question),
    tables=_tables,
    studies={ThinkingGain: gain_tables},
)
