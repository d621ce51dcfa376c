"""What ``fathom bisect`` found as tables, Markdown, JSON and one page without scripts."""

import json
from dataclasses import asdict, replace
from html import escape
from pathlib import Path

from fathom.printing import printable
from fathom.report import words
from fathom.report.charts import LayerChart, Line, Points
from fathom.report.drawing import length_axis, score_axis, series_of
from fathom.report.figure import inline
from fathom.report.markdown import escaped, table_lines
from fathom.report.table import Cell, Column, Table
from fathom.run.bisect.compare import JSON, MARKDOWN, PAGE
from fathom.run.bisect.outcomes import KINDS, AtLength, Bisection
from fathom.storage.atomic import whole_file

_KINDS = {
    "answers": "the code words that are found",
    "texts": "the text of replies",
    "numbers": "log-probabilities of the same tokens",
    "repeats": "what a repetition from the prefix cache changes",
}
_LAYERS = {"harness": "the harness", "stack": "the stack", "model": "the model"}
_STYLE = """
body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#1c1e21;background:#fff}
table{border-collapse:collapse;margin:.5rem 0 1rem}
td,th{padding:.2rem .7rem;text-align:right;border-bottom:1px solid #ddd}
td:first-child,th:first-child{text-align:left}
.verdict{font-size:1.25rem;border-left:.35rem solid #888;padding-left:.8rem}
.PASS{border-color:#2a7d46}.FAIL{border-color:#b3261e}code,pre{font-size:.9em;white-space:pre-wrap}
@media(prefers-color-scheme:dark){body{color:#e6e6e6;background:#16181c}td,th{border-color:#3a3d44}}
"""


def tables(result: Bisection) -> list[Table]:
    """What was seen at each length, and what differs."""
    numbers = any(row.nats is not None for row in result.lengths)
    about = (
        "Shares of the code words that are found, and of prompts whose repetition by the same server has another text "
        "(noise); texts that differ between A and B. p: that nothing differs, at any look, Holm over the lengths."
    )
    columns = [
        Column("Length", number=False),
        Column("Prompts"),
        *(Column(f"{title} {side}") for title in ("Found", "Noise") for side in ("A", "B")),
        Column("Texts"),
        *([Column("Nats", help="Mean difference of log-probabilities")] if numbers else []),
        *(Column(f"Tokens {side}") for side in ("A", "B")),
        Column("p"),
    ]
    rows = tuple(_row(row, numbers) for row in result.lengths)
    made = [Table("lengths", "", "By length", about, tuple(columns), rows, denominator="none")]
    kinds = tuple(
        (Cell(_KINDS[kind]), Cell(f"{result.kinds[kind]:.3g}"))
        for kind in KINDS
        if kind in result.kinds and result.lengths
    )
    what = Table(
        "kinds",
        "",
        "What differs",
        f"The money that a bet on a difference has made of 1; all of them together decide at {1 / result.alpha:g}.",
        (Column("What", number=False), Column("Evidence")),
        kinds,
        denominator="none",
    )
    return [*made, what]


def _row(row: AtLength, numbers: bool) -> tuple[Cell, ...]:
    return (
        Cell(words.length(row.length)),
        Cell(words.count(row.prompts)),
        *(Cell(words.percent(share)) for share in (row.recall_a, row.recall_b, row.noise_a, row.noise_b, row.texts)),
        *([Cell(words.ABSENT if row.nats is None else f"{row.nats:.3f}")] if numbers else []),
        *(Cell(words.count(tokens)) for tokens in (row.tokens_a, row.tokens_b)),
        Cell(words.chance_of(row.p).removeprefix("p ")),
    )


def sentences(result: Bisection) -> list[str]:
    """The decision and what it rests on, a sentence each."""
    named = result.named
    lines = [f"{result.decision}: {result.reason}"]
    if named.layer:
        lines.append(f"It is {_LAYERS[named.layer]}, not {_others(named.layer)}")
    lines += [f"Seen: {because}" for because in named.because]
    if (first := result.first) is not None:
        numbers = [
            "" if value is None else f" ({value:.2f})" for value in (first.logprob_a, first.logprob_b)
        ]  # log-probabilities
        lines.append(
            f"First difference, {words.length(first.length)}, at {first.token} of the reply, after {first.before!r}: A "
            f"{first.a!r}{numbers[0]}, B {first.b!r}{numbers[1]}"
        )
    lines += [f"Next: {step}" for step in named.next]
    return lines + [f"Note: {note}" for note in result.notes]


def _others(layer: str) -> str:
    return " or ".join(name for key, name in _LAYERS.items() if key != layer)


def as_markdown(result: Bisection) -> str:
    """Everything as GitHub's Markdown."""
    parts = [
        f"**{result.decision}**: {escaped(result.reason)}",
        f"A is {escaped(result.a)}, B is {escaped(result.b)}.",
    ]
    parts.append("\n".join(f"- {escaped(printable(line))}" for line in sentences(result)[1:]))
    for table in tables(result):
        parts += [f"#### {table.title}\n\n{table.about}", "\n".join(table_lines(table))]
    parts.append(f"{result.requests} requests, {result.tokens_in:,} tokens.")
    return "\n\n".join(filter(None, parts))


def chart(result: Bisection) -> LayerChart:
    """The share of code words that each side finds, by length."""
    records = [
        {
            "system": side,
            "length": row.length,
            "score": share,
            "says": f"{side}, {words.length(row.length)}: {share:.0%}",
        }
        for side, shares in (("A", "recall_a"), ("B", "recall_b"))
        for row in result.lengths
        for share in (getattr(row, shares),)
    ]
    from fathom.report.charts import Size

    size = Size(560, 220)
    return LayerChart(
        layers=(Line(records=records, x="length", y="score"), Points(records=records, x="length", y="score")),
        x=replace(length_axis([row.length for row in result.lengths], size), title="Length of the prompt, in tokens"),
        y=replace(score_axis(), title="Code words found"),
        size=size,
        series=series_of(["A", "B"], columns=2, dashed=True),
    )


def write(result: Bisection, folder: Path) -> None:
    """Write JSON, Markdown and the page into the folder.

    Raises:
        FathomError: A file cannot be written.
    """
    with whole_file(folder / JSON) as stream:
        json.dump(asdict(result), stream, indent=1)
    with whole_file(folder / MARKDOWN) as stream:
        stream.write(as_markdown(result) + "\n")
    with whole_file(folder / PAGE) as stream:
        stream.write(_page(result))


def _page(result: Bisection) -> str:
    lines = "".join(f"<li>{escape(printable(line))}</li>" for line in sentences(result)[1:])
    shown = "".join(
        f"<h2>{escape(table.title)}</h2><p>{escape(table.about)}</p>{_html(table)}" for table in tables(result)
    )
    figure = inline(chart(result), "Code words found by length") if result.lengths else ""
    return (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>fathom bisect: {escape(result.decision)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style>'
        f'<p class="verdict {result.decision}"><b>{result.decision}</b> {escape(printable(result.reason))}</p>'
        f"<p>A is <code>{escape(result.a)}</code>, B is <code>{escape(result.b)}</code>. {result.requests} requests, "
        f"{result.tokens_in:,} tokens.</p><ul>{lines}</ul>{figure}{shown}</html>\n"
    )


def _html(table: Table) -> str:
    head = "".join(f"<th>{escape(column.label)}</th>" for column in table.columns)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell.text)}</td>' for cell in row)}</tr>" for row in table.rows)
    return f"<table><tr>{head}</tr>{rows}</table>"
