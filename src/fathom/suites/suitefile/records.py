"""Samples of a suite as records, for people and for other tools."""

from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from fathom.suites.suitefile import BuiltSuite
from fathom.tokens.length import render, thinking
from fathom.types import Document, FathomError, Sample, Span


def facts_of(suite: BuiltSuite, name: str, *, text: bool = False, thoughts: bool = False) -> dict[str, Any]:
    """The facts of one sample, and the documents that its text comes from.

    Args:
        name: Id of the sample or of its item; the first sample if empty.
        text: Whether the whole prompt is among the facts.
        thoughts: Whether the prompt is the one that asks for thoughts before the answer.

    Raises:
        FathomError: There is no such sample or prompt, or a document is missing.
    """
    sample = suite.sample(name)
    if thoughts:
        if not sample.thinking_tokens:
            raise FathomError(
                f"{suite.folder}: sample {sample.id!r} has no prompt that asks for thoughts; show it without `thinking`"
            )
        sample = thinking(sample)
    borrowed = list(dict.fromkeys(part.doc for part in sample.parts if isinstance(part, Span)))
    texts = suite.documents(borrowed)
    if missing := [id for id in borrowed if id not in texts]:
        raise FathomError(f"sample {sample.id}: document {missing[0]} is missing; build the suite again with `force`")
    return {
        **_head(sample),
        "tokenizer": suite.manifest["tokenizer"],
        **_tail(sample),
        "parts": len(sample.parts),
        "documents": [_cited(sample, texts[id]) for id in borrowed],
        **({"prompt": render(sample, {id: texts[id].text for id in borrowed})} if text else {}),
    }


def _cited(sample: Sample, document: Document) -> str:
    """Title and source of a document, and the pages that a sample uses, if it has pages."""
    spans = [part for part in sample.parts if isinstance(part, Span) and part.doc == document.id]
    pages_cited = (document.page_of(offset) for span in spans for offset in (span.start, span.end - 1))
    pages = sorted({page for page in pages_cited if page})
    which = f", page {pages[0]}" if pages else ""
    if len(pages) > 1:
        which = f", pages {pages[0]}-{pages[-1]}"
    return f"{document.title or '-'} ({document.source}{which})"


def exported(
    suite: BuiltSuite,
    *,
    tasks: Sequence[str] | None = None,
    lengths: Sequence[int] | None = None,
    only: AbstractSet[str] | None = None,
    where: Mapping[str, Sequence[str]] | None = None,
) -> Iterator[dict[str, Any]]:
    """Samples with their full text; the arguments are those of ``BuiltSuite.samples``."""
    texts = suite.texts()
    for sample in suite.samples(tasks=tasks, lengths=lengths, only=only, where=where):
        yield {
            **_head(sample),
            "prompt": render(sample, texts),
            **_tail(sample),
            "asked": sample.asked,
            **({"thinking": render(thinking(sample), texts)} if sample.thinking else {}),
        }


def _head(sample: Sample) -> dict[str, Any]:
    return {name: getattr(sample, name) for name in ("id", "item", "task", "language", "length", "tokens")}


def _tail(sample: Sample) -> dict[str, Any]:
    facets, inputs = dict(sample.facets), dict(sample.inputs)
    return {"targets": list(sample.targets), "chance": sample.chance, "facets": facets, "inputs": inputs}
