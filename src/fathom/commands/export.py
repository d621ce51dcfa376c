"""Write samples with their full text, one JSON object a line, for other tools."""

import json
import sys
from contextlib import nullcontext
from dataclasses import KW_ONLY
from pathlib import Path
from typing import Annotated, Literal

from fathom.commands.shared import Lengths, MaybePath, Subset, Tasks, Where
from fathom.options.declare import Options, arg, command, opt, unset


class ExportOptions(Options):
    folder: Annotated[Path | str, arg("A built suite.")]
    out: Annotated[MaybePath, opt("File to write; standard output if left out.", "-o")] = unset
    _: KW_ONLY
    format: Annotated[Literal["jsonl"], opt("jsonl.")] = "jsonl"
    lengths: Lengths = unset
    tasks: Tasks = unset
    subset: Subset = unset
    where: Where = unset


@command(ExportOptions)
def export(options: ExportOptions) -> int:
    """Write samples with their full text, one JSON object a line, for other tools; returns their number."""
    from fathom.atomic import whole_file
    from fathom.length import render, thinking
    from fathom.suitefile import open_suite

    suite = open_suite(Path(options.folder))
    only = None
    if options.subset is not None:
        from fathom.run.subset import members_of
        from fathom.subsetfile import read_subset

        only = members_of(read_subset(Path(options.subset)), suite)
    texts = suite.texts()
    count = 0
    with nullcontext(sys.stdout) if options.out is None else whole_file(Path(options.out)) as stream:
        for sample in suite.samples(tasks=options.tasks, lengths=options.lengths, only=only, where=options.where):
            record = {
                "id": sample.id,
                "item": sample.item,
                "task": sample.task,
                "language": sample.language,
                "length": sample.length,
                "tokens": sample.tokens,
                "prompt": render(sample, texts),
                "targets": list(sample.targets),
                "chance": sample.chance,
                "facets": dict(sample.facets),
                "inputs": dict(sample.inputs),
                "asked": sample.asked,
                **({"thinking": render(thinking(sample), texts)} if sample.thinking else {}),
            }
            stream.write(json.dumps(record, ensure_ascii=False) + "\n")
            count += 1
    return count


def main(line: ExportOptions) -> None:
    """Write, and say how many."""
    count = export.body(line)
    if line.out:
        print(f"{line.out}: {count:,} samples")
