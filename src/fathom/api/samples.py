"""Suites of samples: ``build``, ``show`` and ``export``."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom import plugins
from fathom.atomic import whole_file
from fathom.types import FathomError, Span

if TYPE_CHECKING:
    from fathom.build import Built
    from fathom.corpus import Fields


def build(
    target: str,
    out: Path | str,
    *,
    lengths: Sequence[int] | None = None,
    items: int | None = None,
    corpus: Sequence[str] | None = None,
    fields: Fields | None = None,
    tokenizer: str | None = None,
    seed: int = 0,
    depths: Sequence[float] = (),
    languages: Sequence[str] | None = None,
    exact: bool = False,
    data: Sequence[Path | str] | None = None,
    qa: Sequence[str] | None = None,
    summaries: Sequence[str] | None = None,
    noise: Sequence[str] | None = None,
    books: Sequence[str] | None = None,
    threads: Sequence[str] | None = None,
    cases: Sequence[str] | None = None,
    closed_book: bool | None = None,
    alone: bool = False,
    common: bool = False,
    truncate: Sequence[int] = (),
    prompts: str = "own",
    where: Mapping[str, Sequence[str]] | None = None,
    skip_bad: bool = False,
    force: bool = False,
    progress: Callable[[int, int], None] | None = None,
    reading: Callable[[int, int | None], None] | None = None,
) -> Built:
    """Build length-controlled samples from documents (command ``fathom build``).

    Args:
        target: Name of a suite, names of tasks joined by commas, or a Python file that declares a suite or tasks,
            which is run (``lost_umbrella.py``).
        out: Folder to write.
        lengths: Lengths of the whole prompt in tokens; the suite's own by default.
        items: Items per task and language, the same ones at every length.
        corpus: Where documents come from: ``world``, ``world?seed=7``, folders, or files.
        fields: Names of the fields in corpus files.
        tokenizer: What lengths are counted in (``fathom.tokens``).
        seed: Seed of all draws.
        depths: Depths in [0, 1] of the gold text to sweep; empty for a random one per item.
        languages: Languages of the prompts; by default those of the corpus.
        exact: Fill each length to the last token.
        data: Folders in which the suite's data sources are looked for.
        qa: Documents with questions, as corpus specifications.
        summaries: Documents with summaries.
        noise: Documents to fill contexts with.
        books: Books in chapters, as corpus specifications.
        threads: Dumps or JSONL files of Stack Exchange threads: ``PATH``, ``PATH?tags=python,c&top=2500``.
        cases: Files with published cases of BestAnswer.
        closed_book: Whether questions are also asked without any context; by default as the suite says.
        alone: Whether questions are also asked over their own document alone.
        common: Whether to make only items that stand at every length; tasks of whole texts cannot fill all of them.
        truncate: Lengths in tokens to which the prompts of the longest length are also cut, out of their middle.
        prompts: Whose words records of published benchmarks are asked in: ``own``, or ``official`` for the publishers'
            templates, which are looked for in ``data``.
        where: Only samples with one of these values of each facet named, for instance
            ``{"difficulty": ("Hard", "Extreme")}``; ``task``, ``language``, ``length`` and ``item`` count as facets.
        skip_bad: Go on without the rows of published records that cannot be used.
        force: Replace another suite in the folder, or an earlier format of this one.
        progress: Called with (samples made, samples in all).
        reading: Called with the bytes read of a file of threads and the bytes in all, None where that is not known.

    Raises:
        FathomError: See ``fathom.build.build``.
    """
    from fathom.build import build, order

    wanted = order(
        plugins.target_of(plugins.use(Path(target))) if target.endswith(".py") else target,
        lengths=tuple(lengths) if lengths is not None else None,
        items=items,
        corpus=tuple(corpus) if corpus else None,
        fields=fields,
        tokenizer=tokenizer,
        seed=seed,
        depths=tuple(depths),
        languages=tuple(languages) if languages else None,
        exact=exact,
        data=tuple(map(str, data)) if data else None,
        qa=qa,
        summaries=summaries,
        noise=noise,
        books=books,
        threads=threads,
        cases=cases,
        closed_book=closed_book,
        alone=alone,
        common=common,
        truncate=tuple(truncate),
        prompts=prompts,
        where=where,
        skip_bad=skip_bad,
    )
    return build(wanted, Path(out), force=force, progress=progress, reading=reading)


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
