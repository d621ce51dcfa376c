"""Accepted samples as a suite: recipes over the documents, for ``fathom run`` and ``fathom report``.

Every sample exists at its own length and, if wanted, at shorter ones, where its evidence is kept
(``fathom.suites.compose.keep``); all are one item, so that scores at several lengths are of the same questions. Facets
say where the evidence is: ``evidence_first`` and ``evidence_last`` in [0, 1] of the context, and ``depth`` if it is all
in one place, so that studies of position use it.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from fathom.benchmarks.pro.secondary_tasks import SUMMARY_PASSES_ABOVE
from fathom.benchmarks.pro.tasks import GAP, chance_of
from fathom.benchmarks.studio.tasks import task_of
from fathom.plugins.names import folder_name
from fathom.studio.exports import (
    Collection,
    ExportOptions,
    LeftOut,
    answer_of,
    context_of,
    document_of,
    evidence_of,
    item_name,
    prompts_of,
)
from fathom.studio.tasks import StudioTask, find_task
from fathom.studio.types import Evidence, Sample
from fathom.suites import suitefile
from fathom.suites.compose import CountedTexts
from fathom.suites.compose.keep import shortened
from fathom.suites.registry import get_task
from fathom.suites.suitefile import FORMAT as SUITE_FORMAT
from fathom.tokens.counts import CountCache, TokenCounter, cache_folder
from fathom.tokens.length import format_length
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Facet, FathomError, Json, Part, Span
from fathom.types import Sample as Recipe

ONE_PLACE = 0.1
"""Share of the context within which all evidence counts as one place."""


@dataclass(frozen=True, slots=True)
class WrittenSuite:
    """A suite that was written.

    Attributes:
        samples: Number of its samples at all lengths.
        items: Number of samples of the studio in it.
        fingerprint: Identity of its content.
        left_out: Samples and lengths that are not in it.
    """

    folder: Path
    samples: int
    items: int
    fingerprint: str
    left_out: tuple[LeftOut, ...] = ()


def write_suite(
    collection: Collection,
    out: Path,
    options: ExportOptions | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WrittenSuite:
    """Write accepted samples as a suite; a suite in the folder is replaced.

    Args:
        options: How; None for the defaults.
        progress: Called with the numbers of samples written and of all.

    Raises:
        FathomError: No sample can be exported, or the folder cannot be written.
    """
    options = options or ExportOptions()
    suitefile.check_contents(out, (*suitefile.FILES, suitefile.LEFT_OUT), "a suite")
    samples = collection.done()
    with closing(CountCache(cache_folder() / "counts.sqlite")) as cache:
        counter = TokenCounter(get_tokenizer(options.tokenizer), cache)
        counts: Counter[str] = Counter()
        used: set[str] = set()
        lengths: set[int] = set()
        items: set[str] = set()
        left_out: dict[str, LeftOut] = {}
        digest = hashlib.sha256(json.dumps([options.tokenizer, counter.tokenizer.fingerprint]).encode())
        with suitefile.fresh_folder(out) as folder:
            with suitefile.SampleWriter(folder) as writer:
                for number, sample in enumerate(_in_run_order(samples), start=1):
                    recipes, reasons = _recipes_or_reason(sample, collection, counter, options)
                    left_out |= {reason.name: reason for reason in reasons}
                    for recipe in recipes:
                        writer.add(recipe)
                        digest.update(repr((recipe.id, recipe.parts, recipe.targets, recipe.thinking)).encode())
                        counts[recipe.task] += 1
                        used |= {part.doc for part in recipe.parts if isinstance(part, Span)}
                        lengths.add(recipe.length)
                        items.add(sample.id)
                    if progress:
                        progress(number, len(samples))
            if not items:
                why = next(map(str, left_out.values()), "no sample is accepted yet")
                raise FathomError(f"nothing to export: {why}")
            documents = [document_of(collection.documents[id], collection.texts[id]) for id in sorted(used)]
            suitefile.write_documents(folder, documents)
            fingerprint = digest.hexdigest()[:16]
            facts: dict[str, Json] = {
                "suite": folder_name(options.title).lower()[:60],
                "fingerprint": fingerprint,
                "tokenizer": options.tokenizer,
                "lengths": sorted(lengths - {0}),
                "tasks": list(counts),
                "languages": sorted({sample.language for sample in samples}),
                "items": len(items),
                "seed": 0,
                "depths": [],
                "common": False,
                "truncate": [],
                "prompts": "own",
                "exact": False,
                "corpus": ["fathom studio"],
                "closed_book": options.closed_book,
                "samples": dict(counts),
                "documents": len(documents),
                "notes": [],
                "left_out": list(map(str, left_out.values())),
                "left_out_in_all": len(left_out),
                "unread": [],
                "duplicates": 0,
                "inputs": {"format": SUITE_FORMAT, "studio": fingerprint},
            }
            suitefile.write_manifest(folder, facts)
    return WrittenSuite(out, sum(counts.values()), len(items), fingerprint, tuple(left_out.values()))


def recipes_of(
    sample: Sample, collection: Collection, counter: TokenCounter, options: ExportOptions | None = None
) -> tuple[list[Recipe], list[LeftOut]]:
    """One sample as recipes: without its context if wanted, at its length, and at shorter ones.

    Args:
        collection: Where its documents and its task are.
        options: What is wanted; None for the sample at its length alone.

    Returns:
        Recipes, and the lengths at which its evidence does not fit.

    Raises:
        FathomError: It lacks a document or an answer, or its evidence is not in its documents.
    """
    options = options or ExportOptions()
    task = find_task(collection.tasks, sample.task)
    answer = answer_of(sample, task)
    evidence = evidence_of(sample, collection.texts)
    context = context_of(sample, collection)
    thinking, answering = prompts_of(sample, collection.tasks)
    texts = CountedTexts(
        {id: document_of(collection.documents[id], collection.texts[id]) for id in sample.documents}, counter
    )
    full = (*context, GAP + answering)
    keep = [Span(passage.document, passage.start, passage.end) for passage in evidence]
    bucket = sample.bucket or sum(collection.documents[id].tokens for id in sample.documents)
    whole = _recipe(sample, task, answer, bucket, full, GAP + thinking, evidence, texts)
    recipes, left_out = [whole], []
    shorter = {length for length in options.lengths if 0 < length < min(whole.tokens, bucket)}
    for length in sorted(shorter, reverse=True):
        # The longer of both prompts must fit.
        extra = max(0, whole.thinking_tokens - whole.tokens)
        parts = shortened(full, keep, length - extra, texts)
        if parts is None:
            name = f"{sample.id} at {format_length(length)}"
            left_out.append(LeftOut(name, "its evidence and question do not fit"))
            continue
        parts = _with_question_last(parts, GAP + answering)
        short = _recipe(sample, task, answer, length, parts, GAP + thinking, evidence, texts)
        recipes.append(replace(short, facets={**short.facets, "shortened_from": bucket}))
    if options.closed_book:
        bare = replace(
            whole,
            id=f"{whole.item}@none",
            parts=(answering,),
            length=0,
            tokens=counter.count(answering),
            thinking=thinking,
            thinking_tokens=counter.count(thinking),
            facets={"context": "none"},
        )
        recipes.insert(0, bare)
    return recipes, left_out


def _with_question_last(parts: tuple[Part, ...], question: str) -> tuple[Part, ...]:
    """The parts with the question as a part of its own, which another prompt can replace."""
    last = parts[-1]
    assert isinstance(last, str)
    return parts if last == question else (*parts[:-1], last.removesuffix(question), question)


def _recipes_or_reason(
    sample: Sample, collection: Collection, counter: TokenCounter, options: ExportOptions
) -> tuple[list[Recipe], list[LeftOut]]:
    try:
        return recipes_of(sample, collection, counter, options)
    except FathomError as error:
        return [], [LeftOut(sample.id, str(error))]


def _recipe(
    sample: Sample,
    task: StudioTask,
    answer: tuple[str, ...],
    length: int,
    parts: tuple[Part, ...],
    thinking: str,
    evidence: Sequence[Evidence],
    texts: CountedTexts,
) -> Recipe:
    published = task.published
    name = published.task if published else task_of(task.metric)
    declared = get_task(name)
    item = f"{name}/{sample.language}/{item_name(sample.id)}"
    answering = parts[-1]
    assert isinstance(answering, str)
    facets: dict[str, Facet] = {**declared.facets, "contextual_requirement": sample.content.requirement.title()}
    if published:
        facets |= {"primary_task": published.primary, "secondary_task": published.name}
    else:
        facets["studio_task"] = task.name
    if task.is_summary:
        facets["pass_above"] = SUMMARY_PASSES_ABOVE
    if sample.difficulty:
        facets["difficulty"] = sample.difficulty
    facets |= positions(parts, evidence, texts)
    chance = chance_of(answering, list(answer)) if task.metric == "Accuracy" else 0.0
    return Recipe(
        id=f"{item}@{length}",
        item=item,
        task=name,
        parts=parts,
        targets=answer,
        length=length,
        tokens=texts.measure(parts),
        language=sample.language,
        chance=chance,
        facets=facets,
        asked=answering.removeprefix(GAP),
        thinking=thinking,
        thinking_tokens=texts.measure((*parts[:-1], thinking)),
        inputs={
            "dataset": task.name,
            "evidence": json.dumps([[passage.document, passage.start, passage.end] for passage in evidence]),
        },
    )


def positions(parts: Sequence[Part], evidence: Sequence[Evidence], texts: CountedTexts) -> dict[str, Facet]:
    """Where evidence is in a prompt, as facets; none without evidence.

    Args:
        parts: The prompt, with the question as its last part.
        evidence: Passages of its documents.
    """
    places: list[float] = []
    at = 0
    total = sum(_size(part) for part in parts[:-1])
    for part in parts[:-1]:
        if isinstance(part, Span):
            inside = [
                passage
                for passage in evidence
                if passage.document == part.doc and part.start <= passage.start < part.end
            ]
            places += [(at + (passage.start + passage.end) / 2 - part.start) / total for passage in inside]
        at += _size(part)
    if not places:
        return {}
    first, last = min(places), max(places)
    facets: dict[str, Facet] = {"evidence_first": round(first, 4), "evidence_last": round(last, 4)}
    if last - first <= ONE_PLACE:
        facets["depth"] = round((first + last) / 2, 4)
    return facets


def _size(part: Part) -> int:
    return len(part) if isinstance(part, str) else part.end - part.start


def _in_run_order(samples: Sequence[Sample]) -> Iterator[Sample]:
    """Samples over the same documents one after the other, so that servers can reuse the common prefix."""
    yield from sorted(samples, key=lambda sample: (sample.documents, sample.task, sample.id))
