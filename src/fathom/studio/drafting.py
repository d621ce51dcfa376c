"""Models draft candidates.

A candidate is a question with its answer in components, each with quotes from the documents, a design rationale and the
solution process. Quotes are looked up in the documents; what is not found there is no evidence.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated

from annotated_types import MaxLen, MinLen

from fathom.benchmarks.pro.official import fold
from fathom.models.protocol import is_baseline
from fathom.storage.toml import packaged_toml
from fathom.storage.validation import Items, Text, Words
from fathom.studio.asking import Answer, Asking, Prompt, UnreadableReplyError, ask_model, failure_of, limited, read_list
from fathom.studio.candidates import (
    Drafts,
    RejectedDraft,
    candidate_id,
    questions_of,
    shortened_text,
    without_repeats,
)
from fathom.studio.exports import Collection, context_of, joined
from fathom.studio.faults import REFERENCES, faults_of
from fathom.studio.offline import draft_offline
from fathom.studio.records import RecordError, from_record
from fathom.studio.tasks import StudioTask, find_task, wording_of
from fathom.studio.types import Candidate, Component, Content, Evidence, Requirement, Sample
from fathom.types import FathomError, Json

DRAFT_TOKENS = 8192
"""Output cap of a reply with candidates; a model that reasons gets more."""
CANDIDATES = 3
TOGETHER = 16
"""Samples whose prompts are in memory at once."""
MOST_CANDIDATES = 100
MOST_COMPONENTS = 500
MOST_QUOTE = 5000
_LANGUAGES = {"en": "English", "zh": "Chinese"}

_DRAFT: str = packaged_toml(__package__, "requests.toml")["draft"]["samples"]
_REFERENCES = (
    f"The answer has {REFERENCES} elements, each one whole reference: they differ in wording and agree in content."
)
_REQUIREMENTS: Mapping[Requirement, str] = {
    "full": "the question needs the whole text; nobody who reads only parts of it can answer",
    "partial": "the question needs a few parts of the text only, which have to be found",
}


@dataclass(frozen=True, slots=True)
class _Component:
    """An element of an answer, as a model writes it."""

    text: Words
    quotes: Items[Text]


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A candidate, as a model writes it."""

    question: Words
    answer: Annotated[tuple[_Component, ...], MinLen(1), MaxLen(MOST_COMPONENTS)]
    rationale: Words
    solution: Words


def draft_prompt(
    sample: Sample, collection: Collection, *, requirement: Requirement | None = None, count: int = CANDIDATES
) -> str:
    """The prompt that asks for candidates.

    Args:
        sample: Task, language and documents; it needs no content yet.
        collection: Where the documents and the task are.
        requirement: Requirement of the questions; None for that of the task.

    Raises:
        FathomError: A document is missing, or the task has no wording in the language.
    """
    task = find_task(collection.tasks, sample.task)
    wording = wording_of(task, sample.language)
    return _DRAFT.format(
        task=f"{task.name}. {wording.task}",
        guideline=task.guideline,
        requirement=_REQUIREMENTS[requirement or task.requirement],
        language=_LANGUAGES.get(sample.language, sample.language),
        output=f"{wording.output} {_REFERENCES}" if task.published and task.is_summary else wording.output,
        example="\n".join(wording.example),
        context=joined(context_of(sample, collection), collection.texts),
        count=count,
    )


@dataclass(frozen=True, slots=True)
class DraftSettings:
    """What models are asked for.

    Attributes:
        requirement: Requirement of the questions; None for that of the task.
        count: Candidates of each model for each sample.
        max_cost: US dollars at which no further request is sent; None for no limit.

    Raises:
        FathomError: The number is below 1.
    """

    requirement: Requirement | None = None
    count: int = CANDIDATES
    max_cost: float | None = None

    def __post_init__(self) -> None:
        if self.count < 1:
            raise FathomError(f"{self.count} candidates: expected at least 1")


def draft(
    samples: Sequence[Sample],
    collection: Collection,
    drafters: Sequence[Asking],
    wanted: DraftSettings | None = None,
    each: Callable[[Sample, Drafts], None] | None = None,
) -> Drafts:
    """Have models draft candidates for samples.

    Offline baselines draft too (``fathom.studio.offline``), so that the studio can be tried without a model.

    Args:
        samples: Task, language and documents of each; they need no content yet.
        collection: Where the documents and the tasks are; what its other samples ask about them is not asked again.
        wanted: What they are asked for; None for the defaults.
        each: Called with what one model drafted for one sample, as soon as it comes, so that it can be stored.

    Returns:
        All candidates, and what was rejected.

    Raises:
        FathomError: A model is unknown or unreachable, something of a sample is missing, or it was interrupted. What
            was drafted so far was passed to ``each``.
    """
    wanted = wanted or DraftSettings()
    known = {sample.id: list(sample.candidates) for sample in samples}
    asked = questions_of((*collection.samples, *samples))
    whole = Drafts()
    costs: list[float | None] = []

    def take(sample: Sample, drafted: Drafts) -> None:
        nonlocal whole
        elsewhere = set[str]().union(*(asked[id] for id in sample.documents))
        new = without_repeats(drafted, known[sample.id], elsewhere)
        known[sample.id] += new.candidates
        for id in sample.documents:
            asked[id].update(fold(candidate.content.question) for candidate in new.candidates)
        whole += new
        costs.append(new.cost)
        if each is not None:
            each(sample, new)

    for start in range(0, len(samples), TOGETHER):
        part = samples[start : start + TOGETHER]
        for asking in drafters:
            if is_baseline(asking.model):
                for sample in part:
                    take(sample, draft_offline(sample, collection, asking, wanted.requirement, wanted.count))
            else:
                _ask_for_drafts(part, collection, limited(asking, wanted.max_cost, costs), wanted, take)
    return whole


def _ask_for_drafts(
    samples: Sequence[Sample],
    collection: Collection,
    asking: Asking,
    wanted: DraftSettings,
    take: Callable[[Sample, Drafts], None],
) -> None:
    by_id = {sample.id: sample for sample in samples}

    def came(answer: Answer) -> None:
        sample = by_id[answer.prompt.key]
        drafted = read_candidates(answer, sample, collection, drafter=asking.model, requirement=wanted.requirement)
        take(sample, drafted + Drafts(notes=tuple(f"{asking.model}: {note}" for note in answer.notes), cost=0.0))

    prompts = [
        Prompt(sample.id, draft_prompt(sample, collection, requirement=wanted.requirement, count=wanted.count))
        for sample in samples
    ]
    for answer in ask_model(asking, prompts, cap=DRAFT_TOKENS, answered=came):
        if not answer.was_sent:
            came(answer)


def read_candidates(
    answer: Answer,
    sample: Sample,
    collection: Collection,
    *,
    drafter: str,
    requirement: Requirement | None = None,
) -> Drafts:
    """The candidates in a reply, each checked.

    Args:
        sample: Task, language and documents.
        collection: Where the documents and the task are.
        requirement: Requirement that was asked for.
    """
    if reason := failure_of(answer):
        return Drafts(rejected=(RejectedDraft(drafter, reason),), cost=answer.cost)
    try:
        listed = read_list(answer.text, "candidates", most=MOST_CANDIDATES, empty=False)
    except UnreadableReplyError as error:
        return Drafts(rejected=(RejectedDraft(drafter, str(error), shortened_text(answer.text)),), cost=answer.cost)
    task = find_task(collection.tasks, sample.task)
    texts = {id: collection.texts[id] for id in sample.documents}
    candidates, rejected, notes = [], [], []
    for number, value in enumerate(listed, start=1):
        try:
            content, remarks = _content(value, task, sample.language, requirement or task.requirement, texts)
        except (UnreadableReplyError, RecordError) as error:
            rejected.append(RejectedDraft(drafter, f"candidate {number}: {error}", shortened_text(str(value))))
            continue
        cost = None if answer.cost is None else answer.cost / len(listed)
        seconds = answer.reply.seconds / len(listed)
        candidates.append(Candidate(candidate_id(drafter, number, sample), drafter, content, cost, seconds))
        notes += [f"{drafter}: candidate {number}: {remark}" for remark in remarks]
    return Drafts(tuple(candidates), tuple(rejected), tuple(notes), answer.cost)


def _content(
    value: Json, task: StudioTask, language: str, requirement: Requirement, texts: Mapping[str, str]
) -> tuple[Content, list[str]]:
    """The content of a candidate, and what of its evidence was left out or is to be added."""
    written = from_record(_Candidate, value, "")
    components, remarks = [], []
    for place, component in enumerate(written.answer):
        evidence_of = {quote: find_quote(quote, texts) for quote in component.quotes}
        lost = [shortened_text(quote, 60) for quote, evidence in evidence_of.items() if evidence is None]
        remarks += [f"answer[{place}]: a quote is not in the documents: {quote!r}" for quote in lost]
        components.append(Component(component.text, tuple(dict.fromkeys(filter(None, evidence_of.values())))))
    content = Content(
        question=written.question,
        components=tuple(components),
        rationale=written.rationale,
        solution=written.solution,
        requirement=requirement,
    )
    for fault in faults_of(content, task, language):
        if fault.name != "references":  # people can add them
            raise UnreadableReplyError(str(fault))
        remarks.append(str(fault))
    return content, remarks


def find_quote(quote: str, texts: Mapping[str, str]) -> Evidence | None:
    """The first place of a quote in some documents: letter by letter, else with any white space for white space.

    Args:
        texts: Texts by id.
    """
    words = quote.split()
    if not words or len(quote) > MOST_QUOTE:
        return None
    exact = quote.strip()
    for id, text in texts.items():
        if (start := text.find(exact)) >= 0:
            return Evidence(id, start, start + len(exact), exact)
    loose = re.compile(r"\s+".join(map(re.escape, words)))
    for id, text in texts.items():
        if match := loose.search(text):
            return Evidence(id, match.start(), match.end(), match.group())
    return None
