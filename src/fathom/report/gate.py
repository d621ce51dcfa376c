"""What a gate decided, as tables, Markdown and JUnit XML."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from fathom.analysis.gate import Claim, Flip, Gate
from fathom.options.terminal import print_json
from fathom.printing import printable
from fathom.report import words
from fathom.report.markdown import escaped, table_lines
from fathom.report.table import Cell, Column, Table
from fathom.report.terminal import show
from fathom.storage.atomic import whole_file

SHOWN = 10
"""Flipped samples of each direction that are shown; JSON has all of them."""

LOOKS = {
    "one": "They hold for one look at finished runs; with --sequential for any number of looks.",
    "any": "Intervals and p hold at all looks together, also while replies come.",
}
"""What the errors of a gate hold for."""


def tables(gate: Gate) -> list[Table]:
    """The claims, and the samples that flipped; differences are candidate minus baseline."""
    about = (
        f"{'Recovery of the candidate minus that of the' if gate.on == 'recovery' else 'Candidate minus'} baseline in "
        f"percentage points, paired, with 95% intervals. Margin {100 * gate.margin:g} "
        f"points, level {gate.alpha:g}. p worse: that the candidate is worse (Holm over all claims); p margin: "
        f"against a loss of the margin or more. {LOOKS[gate.looks]}"
    )
    columns = (
        Column("Claim", number=False),
        Column("Decision", number=False),
        Column("Difference"),
        Column("p worse"),
        Column("p margin"),
        Column("Items"),
    )
    rows = tuple((Cell(printable(claim.name)), Cell(claim.decision), *_figures(claim)) for claim in gate.claims)
    made = [Table("claims", "", "Claims", about, columns, rows, denominator="shared")] if rows else []
    for title, flips in (("Lost", gate.lost), ("Gained", gate.gained)):
        if flips:
            text = f"{words.several(len(flips), 'sample')} that only the {_right(title)} got right"
            text += f"; the first {SHOWN} are shown, --json has all of them." if len(flips) > SHOWN else "."
            made.append(Table(title.lower(), "", title, text, FLIPS, _flips(flips), denominator="none"))
    return made


FLIPS = (
    Column("Sample", number=False),
    Column("Task", number=False),
    Column("Length"),
    Column("Candidate"),
    Column("Baseline"),
)


def _right(title: str) -> str:
    return "baseline" if title == "Lost" else "candidate"


def _figures(claim: Claim) -> tuple[Cell, ...]:
    return (
        Cell(words.change(claim.difference), words.bounds(claim.interval, signed=True)),
        *(Cell(words.chance_of(p).removeprefix("p ")) for p in (claim.p_worse, claim.p_margin)),
        Cell(words.count(claim.items)),
    )


def _flips(flips: Sequence[Flip]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (
            Cell(printable(flip.sample)),
            Cell(printable(flip.task)),
            Cell(words.length(flip.length)),
            Cell(words.percent(flip.candidate)),
            Cell(words.percent(flip.baseline)),
        )
        for flip in flips[:SHOWN]
    )


def print_gate(gate: Gate, *, as_json: bool, markdown: bool) -> None:
    """Print a decision: as JSON, as Markdown, or as tables."""
    if as_json:
        print_json(gate)
    elif markdown:
        print(as_markdown(gate))
    else:
        print(f"{gate.decision}: {gate.reason}")
        show(tables(gate))


def as_markdown(gate: Gate) -> str:
    """The decision, the claims and the flips as GitHub's Markdown."""
    parts = [f"**{gate.decision}**: {escaped(gate.reason)}"]
    for table in tables(gate):
        text = " ".join(filter(None, (table.about, table.divided_by)))
        parts += [f"#### {table.title}\n\n{text}", "\n".join(table_lines(table))]
    return "\n\n".join(parts)


def write_junit(gate: Gate, path: Path) -> None:
    """Write a JUnit XML file: a failure for FAIL, an error for what could not be decided.

    Raises:
        FathomError: The file cannot be written.
    """
    cases = [(claim.name, claim.decision, _difference_text(claim)) for claim in gate.claims] or [
        ("gate", gate.decision, gate.reason)
    ]
    if gate.gaps:
        cases.append(("comparable", "INCONCLUSIVE", "; ".join(gate.gaps)))
    suite = ElementTree.Element("testsuite", name="fathom gate", tests=str(len(cases)))
    for kind, decision in (("failures", "FAIL"), ("errors", "INCONCLUSIVE")):
        suite.set(kind, str(sum(other == decision for _, other, _ in cases)))
    for name, decision, message in cases:
        case = ElementTree.SubElement(suite, "testcase", classname="fathom.gate", name=printable(name))
        if decision != "PASS":
            kind = "failure" if decision == "FAIL" else "error"
            ElementTree.SubElement(case, kind, message=printable(message), type=decision)
    with whole_file(path) as stream:
        stream.write(ElementTree.tostring(suite, encoding="unicode", xml_declaration=True))


def _difference_text(claim: Claim) -> str:
    interval = words.bounds(claim.interval, signed=True)
    return f"{words.change(claim.difference)} points {interval}, {words.several(claim.items, 'item')}"
