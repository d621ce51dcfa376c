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


def tables(found: Gate) -> list[Table]:
    """The claims, and the samples that flipped; differences are candidate minus baseline."""
    about = (
        f"Candidate minus baseline in percentage points, paired, with 95% intervals. Margin {100 * found.margin:g} "
        f"points, level {found.alpha:g}. p worse: that the candidate is worse (Holm over all claims); p margin: "
        "against a loss of the margin or more."
    )
    columns = (
        Column("Claim", number=False),
        Column("Decision", number=False),
        Column("Difference"),
        Column("p worse"),
        Column("p margin"),
        Column("Items"),
    )
    rows = tuple((Cell(printable(one.name)), Cell(one.decision), *_figures(one)) for one in found.claims)
    made = [Table("claims", "", "Claims", about, columns, rows, denominator="shared")] if rows else []
    for title, flips in (("Lost", found.lost), ("Gained", found.gained)):
        if flips:
            said = f"{words.several(len(flips), 'sample')} that only the {_right(title)} got right"
            said += f"; the first {SHOWN} are shown, --json has all of them." if len(flips) > SHOWN else "."
            made.append(Table(title.lower(), "", title, said, FLIPS, _flips(flips), denominator="none"))
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


def _figures(one: Claim) -> tuple[Cell, ...]:
    return (
        Cell(words.change(one.difference), words.bounds(one.interval, signed=True)),
        *(Cell(words.chance_of(p).removeprefix("p ")) for p in (one.p_worse, one.p_margin)),
        Cell(words.count(one.items)),
    )


def _flips(flips: Sequence[Flip]) -> tuple[tuple[Cell, ...], ...]:
    return tuple(
        (
            Cell(printable(one.sample)),
            Cell(printable(one.task)),
            Cell(words.length(one.length)),
            Cell(words.percent(one.candidate)),
            Cell(words.percent(one.baseline)),
        )
        for one in flips[:SHOWN]
    )


def print_gate(found: Gate, *, as_json: bool, markdown: bool) -> None:
    """Print a decision: as JSON, as Markdown, or as tables."""
    if as_json:
        print_json(found)
    elif markdown:
        print(as_markdown(found))
    else:
        print(f"{found.decision}: {found.reason}")
        show(tables(found))


def as_markdown(found: Gate) -> str:
    """The decision, the claims and the flips as GitHub's Markdown."""
    parts = [f"**{found.decision}**: {escaped(found.reason)}"]
    for table in tables(found):
        said = " ".join(filter(None, (table.about, table.divided_by)))
        parts += [f"#### {table.title}\n\n{said}", "\n".join(table_lines(table))]
    return "\n\n".join(parts)


def write_junit(found: Gate, path: Path) -> None:
    """Write a JUnit XML file: a failure for FAIL, an error for what could not be decided.

    Raises:
        FathomError: The file cannot be written.
    """
    cases = [(one.name, one.decision, _said(one)) for one in found.claims] or [("gate", found.decision, found.reason)]
    if found.gaps:
        cases.append(("comparable", "INCONCLUSIVE", "; ".join(found.gaps)))
    suite = ElementTree.Element("testsuite", name="fathom gate", tests=str(len(cases)))
    for kind, decision in (("failures", "FAIL"), ("errors", "INCONCLUSIVE")):
        suite.set(kind, str(sum(one == decision for _, one, _ in cases)))
    for name, decision, said in cases:
        case = ElementTree.SubElement(suite, "testcase", classname="fathom.gate", name=printable(name))
        if decision != "PASS":
            kind = "failure" if decision == "FAIL" else "error"
            ElementTree.SubElement(case, kind, message=printable(said), type=decision)
    with whole_file(path) as stream:
        stream.write(ElementTree.tostring(suite, encoding="unicode", xml_declaration=True))


def _said(one: Claim) -> str:
    interval = words.bounds(one.interval, signed=True)
    return f"{words.change(one.difference)} points {interval}, {words.count(one.items)} items"
