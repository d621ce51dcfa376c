"""Suites of samples: ``build``, ``show`` and ``export``."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom import plugins
from fathom.atomic import whole_file
from fathom.types import FathomError, Span

if TYPE_CHECKING:
    pass


def use_plugin(path: Path | str) -> None:
    """Run a Python file that declares tasks, suites, scorers and so on, and use them (``fathom --plugin FILE``).

    Raises:
        FathomError: It cannot be read or run, or declares nothing.
    """
    plugins.use(Path(path))


def show(folder: Path | str, sample: str = "", *, text: bool = False, thinking: bool = False) -> dict[str, Any]:
    """One sample of a suite: its facts and where its text comes from (command ``fathom show``).

    Args:
        folder: A built suite.
        sample: Sample or item id; "" for the first sample.
        text: Add the whole prompt.
        thinking: Show the sample with the prompt that asks for thoughts before the answer.

    Raises:
        FathomError: There is no such suite or sample, or the sample has no prompt that asks for thoughts.
    """
    from fathom.length import render
    from fathom.length import thinking as with_thinking
    from fathom.suitefile import open_suite

    suite = open_suite(Path(folder))
    found = suite.sample(sample)
    if thinking:
        if not found.thinking_tokens:
            raise FathomError(
                f"{folder}: sample {found.id!r} has no prompt that asks for thoughts; show it without --thinking"
            )
        found = with_thinking(found)
    borrowed = list(dict.fromkeys(part.doc for part in found.parts if isinstance(part, Span)))
    there = suite.documents(borrowed)
    if missing := [name for name in borrowed if name not in there]:
        raise FathomError(f"sample {found.id}: document {missing[0]} is missing; build the suite again with --force")
    documents = {name: there[name] for name in borrowed}
    facts: dict[str, Any] = {
        "id": found.id,
        "item": found.item,
        "task": found.task,
        "language": found.language,
        "length": found.length,
        "tokens": found.tokens,
        "tokenizer": suite.manifest["tokenizer"],
        "targets": list(found.targets),
        "chance": found.chance,
        "facets": dict(found.facets),
        "inputs": dict(found.inputs),
        "parts": len(found.parts),
        "documents": [f"{one.title or '-'} ({one.source})" for one in documents.values()],
    }
    if text:
        facts["prompt"] = render(found, {name: document.text for name, document in documents.items()})
    return facts


def export(
    folder: Path | str,
    out: Path | str | None = None,
    *,
    format: str = "jsonl",
    lengths: Sequence[int] | None = None,
    tasks: Sequence[str] | None = None,
    subset: Path | str | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
) -> int:
    """Write samples with their full text for other tools, one JSON object a line (command ``fathom export``).

    Args:
        folder: A built suite.
        out: File to write; standard output where None.
        format: ``jsonl``.
        lengths: Only these lengths.
        tasks: Only these tasks.
        subset: File of a subset: only samples that it names, or whose item it names.
        where: Only samples with one of these values of each facet named, see ``build``.

    Returns:
        Number of samples written.

    Raises:
        FathomError: There is no such suite, format or subset, the suite lacks members of the subset, or the file cannot
            be written.
    """
    from fathom.length import render, thinking
    from fathom.suitefile import open_suite

    if format != "jsonl":
        raise FathomError(f"--format {format}: only jsonl is known")
    suite = open_suite(Path(folder))
    only = None
    if subset is not None:
        from fathom.run.subset import members_of
        from fathom.subsetfile import read_subset

        only = members_of(read_subset(Path(subset)), suite)
    texts = suite.texts()
    count = 0
    with nullcontext(sys.stdout) if out is None else whole_file(Path(out)) as stream:
        for sample in suite.samples(tasks=tasks, lengths=lengths, only=only, where=where):
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
