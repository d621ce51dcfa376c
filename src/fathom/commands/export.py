"""Write samples with their full text as JSON Lines, for other tools."""

import json
import sys
from contextlib import nullcontext
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Literal

from fathom.commands.forms import RECORDS, form_of
from fathom.options.declare import Options, arg, command, opt, unset
from fathom.options.values import MaybePath
from fathom.printing import several
from fathom.runfile.settings import Subset, Tasks
from fathom.suites.settings import Lengths, Where


class ExportOptions(Options):
    folder: Annotated[Path | str, arg("A built suite.")]
    out: Annotated[MaybePath, opt("File to write; standard output if left out.", "-o")] = unset
    _: KW_ONLY
    format: Annotated[Literal["jsonl"], opt()] = "jsonl"
    lengths: Lengths = unset
    tasks: Tasks = unset
    subset: Subset = unset
    where: Where = unset


@command(ExportOptions)
def export(options: ExportOptions) -> int:
    """Write samples with their full text, one JSON object a line, for other tools; returns their number."""
    from fathom.run.subset import members_of
    from fathom.storage.atomic import whole_file
    from fathom.suites.subsetfile import read_subset
    from fathom.suites.suitefile import open_suite
    from fathom.suites.suitefile.records import exported

    if options.out is not None:
        form_of(options.out, RECORDS, "an export", default="jsonl")
    suite, count = open_suite(Path(options.folder)), 0
    only = members_of(read_subset(options.subset), suite) if options.subset else None
    chosen = exported(suite, tasks=options.tasks, lengths=options.lengths, only=only, where=options.where)
    with nullcontext(sys.stdout) if options.out is None else whole_file(options.out) as stream:
        for record in chosen:
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def main(line: ExportOptions) -> None:
    """Write, and say how many."""
    count = export.body(line)
    if line.out:
        print(f"{line.out}: {several(count, 'sample')}")
