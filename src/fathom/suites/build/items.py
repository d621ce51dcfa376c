"""Builds items: each is drawn once per task and language, and composed at every length."""

from bisect import bisect_left
from collections import Counter as Tally
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import accumulate, chain, cycle, islice
from random import Random
from typing import TypeAlias, TypeGuard

from fathom.documents.corpus.synthetic import NEUTRAL
from fathom.documents.sources.errata import Erratum
from fathom.printing import several
from fathom.suites.build.clusters import cluster_of
from fathom.suites.build.config import RECORDS, BuildConfig, not_given
from fathom.suites.build.gold import GoldChecks, measured
from fathom.suites.build.material import Material
from fathom.suites.build.notes import (
    RecordCounts,
    about_records,
    missing,
    not_drawn,
    published,
    questions_left_out,
    short,
    uncut,
)
from fathom.suites.build.wording import facets, missing_text
from fathom.suites.compose import Composed, CorpusTooSmallError, CountedTexts, UnfitError, compose, compose_alone
from fathom.suites.compose.truncate import cut_sample
from fathom.suites.registry import get_task
from fathom.suites.suitefile import Values, Where, all_values, facts_of, is_where, may_match, values_of
from fathom.suites.suitefile.pools import PoolUse
from fathom.suites.tasks import passages
from fathom.suites.tasks.related import related
from fathom.tokens.length import format_length
from fathom.types import (
    Candidate,
    CandidatePool,
    Draw,
    Ending,
    Facet,
    FathomError,
    Haystack,
    Json,
    Passages,
    Plan,
    Resources,
    Sample,
    Span,
    Task,
)
from fathom.types.samples import PADDED, UNNAMED

Kin: TypeAlias = Mapping[str, frozenset[str]]

SEVERAL = 8  # minimum number of distractors in a context of passages
PIECE = 256  # tokens of neutral text: as long as a paragraph or two
SECTION = 4096  # tokens; a whole novel as filler would start every context with its first page


def expected(wanted: BuildConfig, material: Material) -> int:
    """Number of contexts if the corpus has material for every item."""
    where = dict(wanted.where)
    tasks = [task for task in map(get_task, wanted.tasks) if may_match({"task": task.name, **task.facets}, where)]
    per_task = (
        (len(wanted.depths) or 1 if task.positioned else 1) * own.items * len(own.lengths)
        for task in tasks
        if task.gold != RECORDS
        for own in (wanted.of(task.name),)
    )
    # A published record has one length.
    records = sum(map(len, material.roles["record"].values())) if any(task.gold == RECORDS for task in tasks) else 0
    records = min(records, len(wanted.only) or records)
    return sum(per_task) * len(material.languages()) + records


@dataclass
class Part:
    """What is built of a task in one language.

    Attributes:
        contexts: The samples of each context; empty where they are not held.
        notes: Messages about them.
        gold: What was found in the gold texts, by ``TASK/LANGUAGE``.
        pools: Lengths whose contexts use most of their pool (``PoolUse.records``).
        left_out: The questions that are not asked: task, document, question, and why.
        clusters: The cluster of each item about a document (``cluster_of``).
        values: The facets of its samples, if only some are wanted.
        records: Counts of its published records; those of other tasks are all 0.
    """

    contexts: list[list[Sample]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    gold: dict[str, Mapping[str, Json]] = field(default_factory=dict)
    pools: list[Json] = field(default_factory=list)
    left_out: list[list[str]] = field(default_factory=list)
    clusters: dict[str, str] = field(default_factory=dict)
    values: Values = field(default_factory=dict)
    records: RecordCounts = field(default_factory=RecordCounts)


@dataclass(frozen=True)
class _Shared:
    """What all tasks of a build share.

    Attributes:
        texts: The counted texts of all documents.
        errata: Faulty questions.
        kin: Documents that are editions of one another; found when it is first asked for.
        neutral: Neutral text in a language, in pieces.
    """

    texts: CountedTexts
    errata: Mapping[str, Erratum]
    kin: Callable[[], Kin]
    neutral: Callable[[str], Sequence[Span]]

    @classmethod
    def of(cls, material: Material, texts: CountedTexts) -> "_Shared":
        """What the tasks of this material share."""

        def neutral(language: str) -> Sequence[Span]:
            (document,) = material.of(("neutral",), language)
            return texts.counter.pieces(document, PIECE)

        return cls(texts, material.errata, cache(lambda: related(texts.documents.values())), cache(neutral))


class Contexts:
    """The samples of a suite, context by context: by task and item, lengths ascending.

    Common prefixes are then adjacent. What is found on the way is complete when all contexts were taken.

    Attributes:
        notes: Messages, after those of the material.
        values: The facets of all samples, if only some are wanted.
        gold: What was found in the gold texts of each task, by ``TASK/LANGUAGE``.
        pools: Lengths whose contexts use most of their pool (``PoolUse.records``).
        left_out: The questions that are not asked, by task (``Part``).
        clusters: The cluster of each item about a document.
    """

    def __init__(
        self,
        wanted: BuildConfig,
        material: Material,
        texts: CountedTexts,
        built: Mapping[str, Mapping[str, Part]] | None = None,
    ) -> None:
        """Nothing is built yet.

        Args:
            built: The parts by language of tasks that were built before, by name; they are not built again.
        """
        self.notes = list(material.notes)
        self.values = _values_of_tasks(wanted)
        self.gold: dict[str, Mapping[str, Json]] = {}
        self.pools: list[Json] = []
        self.left_out: list[list[str]] = []
        self.clusters: dict[str, str] = {}
        self._wanted, self._material, self._built = wanted, material, built
        self._shared = _Shared.of(material, texts)

    def __iter__(self) -> Iterator[list[Sample]]:
        """Build, and yield the samples of each context; once."""
        wanted, material, built = self._wanted, self._material, self._built
        records: dict[str, RecordCounts] = {}
        unsaid: dict[tuple[str, str], list[str]] = {}  # tasks by language and what they have no official prompt for
        for task, own, note in _configs(wanted):
            if note:
                self.notes.append(note)
                continue
            if task.gold == RECORDS:
                records[task.name] = RecordCounts()
            if own.depths and not task.positioned:
                self.notes.append(f"{task.name}: --depths has no effect: it has no single gold text")
            for resources in _resources(task, own, material, self._shared.texts):
                if isinstance(resources, str):
                    self.notes.append(resources)
                    continue
                language = resources.language
                if wanted.prompts == "official":
                    text = missing_text(task, language, material.wording)
                    unsaid.setdefault((language, text), []).append(task.name)
                if built is not None:
                    part = built[task.name][language]
                    yield from part.contexts
                else:
                    part = yield from _build_part(own, task, resources, self._shared)
                self._add(part)
                if task.gold == RECORDS:
                    records[task.name] += part.records
        self.notes = about_records([*self.notes, *_not_given(wanted)], wanted, records)
        self.notes += [f"{', '.join(names)}: {why}" for (_, why), names in unsaid.items() if why]

    def _add(self, part: Part) -> None:
        self.values = all_values((self.values, part.values))
        self.notes += part.notes
        self.gold |= part.gold
        self.pools += part.pools
        self.left_out += part.left_out
        self.clusters |= part.clusters


def names_of_tasks(wanted: BuildConfig) -> list[str]:
    """The tasks that can have samples."""
    return [task.name for task, _, note in _configs(wanted) if not note]


def build_task(wanted: BuildConfig, material: Material, texts: CountedTexts, name: str) -> dict[str, Part]:
    """Build one of the tasks on its own: its samples do not depend on the other tasks.

    Returns:
        Its parts by language.
    """
    own, task, shared = wanted.of(name), get_task(name), _Shared.of(material, texts)
    return {
        resources.language: _collected(_build_part(own, task, resources, shared))
        for resources in _resources(task, own, material, texts)
        if not isinstance(resources, str)
    }


def _collected(contexts: Generator[list[Sample], None, Part]) -> Part:
    """A part with all of its contexts."""
    collected = []
    while True:
        try:
            collected.append(next(contexts))
        except StopIteration as end:
            part: Part = end.value
            return replace(part, contexts=collected)


def _values_of_tasks(wanted: BuildConfig) -> Values:
    """The facets of all tasks, if only some samples are wanted."""
    tasks = map(get_task, wanted.tasks) if wanted.where else ()
    return values_of({"task": task.name, **task.facets} for task in tasks)


def _resources(task: Task, own: BuildConfig, material: Material, texts: CountedTexts) -> Iterator[Resources | str]:
    """What a task is built from, by language; in its place a note if the task is skipped in one."""
    for language in material.languages():
        golds, noise = material.of(task.gold, language), material.of(task.noise, language)
        if language not in task.languages:
            # Records exist in the language of their task only.
            if task.gold != RECORDS and (golds or noise):
                yield f"{task.name}: skipped: it has no prompts in language {language!r}"
            continue
        publishers = material.templates
        templates = (publishers.prompts, publishers.caps) if publishers else (None, {})
        wording = material.wording.tasks.get((task.name, language))
        resources = replace(
            Resources(language, golds, noise, own.lengths, texts.counter, *templates),
            wording=wording.texts if wording else {},
        )
        if not (lacking := _lacking(task, resources)):
            yield resources
        elif task.gold != RECORDS:
            yield f"{task.name}: skipped in language {language!r}: {lacking}"


def _configs(wanted: BuildConfig) -> Iterator[tuple[Task, BuildConfig, str]]:
    """The tasks whose documents are given, with their own configurations; a note says why a task is skipped."""
    for name in wanted.tasks:
        task, own = get_task(name), wanted.of(name)
        if may_match({"task": name, **task.facets}, dict(wanted.where)):
            if not own.lengths:
                yield task, own, f"{name}: skipped: the requested lengths exceed its longest"
            elif not not_given(wanted, task):
                yield task, own, ""


def _not_given(wanted: BuildConfig) -> list[str]:
    """Notes on tasks without documents, by the option that would give them."""
    without: dict[str, list[str]] = {}
    for task in map(get_task, wanted.tasks):
        possible = may_match({"task": task.name, **task.facets}, dict(wanted.where)) and wanted.of(task.name).lengths
        if possible and (option := not_given(wanted, task)):
            without.setdefault(option, []).append(task.name)
    return [f"{', '.join(names)}: skipped; give {option}" for option, names in without.items()]


def _build_part(
    wanted: BuildConfig, task: Task, resources: Resources, shared: _Shared
) -> Generator[list[Sample], None, Part]:
    """The samples of a task in one language, context by context; returns what there is to say of them."""
    checks, use = GoldChecks(shared.errata), PoolUse(task.name, resources.language)
    pool = task.pool(resources) if task.pool else running_text(resources)
    if task.gold_in_text:
        pool = checks.check(task, pool)
    part = Part(notes=[f"{task.name}: {note}" for note in pool.notes])
    part.left_out = [[task.name, each.document, each.question, each.reason] for each in pool.left_out]
    part.notes += questions_left_out(task, pool.left_out)
    avoided = shared.kin() if pool.fillers and pool.candidates else {}
    where, made, drawn = dict(wanted.where), 0, 0
    fixed = task.gold == RECORDS and all(candidate.lengths for candidate in pool.candidates or ())
    each_length = wanted.each_length and fixed
    most = wanted.items * (len(wanted.lengths) if each_length else 1)
    lengths: Tally[int] = Tally()  # number of contexts
    asked: Tally[int] = Tally()  # number of longest prompts, by the length to which they were truncated
    for index, item, candidate in _candidates(wanted, task, resources, pool):
        if made == most:
            break
        if each_length and candidate and lengths[(candidate.lengths or (0,))[0]] == wanted.items:
            continue
        fillers = _distractors(pool, candidate, avoided)
        contexts = list(_item(wanted, task, resources, fillers, candidate, index, item, shared))
        if task.gold_in_text and task.gold == RECORDS:
            contexts = [measured(task, candidate, samples) for samples in contexts]
        if each_length and any("whole_tokens" in sample.facets for sample in chain.from_iterable(contexts)):
            continue  # it is longer than any length, and truncated it would ask something else
        at = Tally(max(sample.length for sample in samples) for samples in contexts)
        if where:
            part.values = all_values((part.values, values_of(map(facts_of, chain.from_iterable(contexts)))))
            contexts = [kept for samples in contexts if (kept := _matching(samples, where))]
        if not contexts or (wanted.common and len(at) < len(wanted.lengths)):
            continue
        made += 1
        checks.add_built(task, candidate, chain.from_iterable(contexts))
        if candidate:
            drawn += len(candidate.questions)
            part.clusters[item] = candidate.cluster or cluster_of(candidate.document)
        lengths.update(at)
        for samples in contexts:
            full = (sample for sample in samples if fillers and sample.whole)
            if first := next(full, None):
                use.add(first.length, first.parts, fillers)
            asked.update(
                sample.length
                for sample in samples
                if sample.facets.get("cut_from", sample.length if sample.whole else 0) == wanted.lengths[-1]
            )
            if task.gold == RECORDS and len(contexts) == 1:  # others are composed at several lengths
                part.records.update(samples)
            yield samples
    if task.gold == RECORDS:
        part.records.items, part.records.stated, part.records.elsewhere = made, pool.stated, pool.elsewhere
        part.records.published = published(wanted, task, pool)
    else:
        part.notes += short(wanted, task, resources, made) + missing(wanted, task, resources, made, lengths)
    if made == most:
        part.notes += not_drawn(wanted, task, pool, drawn)
    part.notes += [*uncut(wanted, task, resources, asked), *checks.notes(task)]
    if checks.checked:
        part.gold[f"{task.name}/{resources.language}"] = checks.record()
    part.pools = use.records()
    return part


def _candidates(
    wanted: BuildConfig, task: Task, resources: Resources, pool: CandidatePool
) -> Iterator[tuple[int, str, Candidate | None]]:
    """The candidates that items may be made of, in order: number, name of the item, candidate if the task has any."""
    key = f"{wanted.seed}|{task.first_name}|{resources.language}"
    deck = [None] * wanted.items if pool.candidates is None else _deck(pool, wanted.lengths, key)
    for index, candidate in enumerate(deck):
        fit = candidate.lengths if candidate else None
        if wanted.common and fit is not None and len(fit) < len(wanted.lengths):
            continue  # excluded without composing it
        name = candidate.name if candidate and candidate.name else f"{index:04d}"
        item = f"{task.first_name}/{resources.language}/{name}"
        if not wanted.only or item in wanted.only:
            yield index, item, candidate


def _matching(samples: Iterable[Sample], where: Where) -> list[Sample]:
    return [sample for sample in samples if is_where(facts_of(sample), where)]


def _lacking(task: Task, resources: Resources) -> str:
    """Which documents a task needs and lacks; "" if none."""
    if task.gold and not resources.documents:
        return f"no documents for {' or '.join(task.gold)}; it needs {task.needs or 'text'}"
    if task.noise and not resources.noise:
        return f"no documents for {' or '.join(task.noise)} to fill contexts with"
    return ""


def running_text(resources: Resources) -> CandidatePool:
    """The candidate pool of tasks that only need text: documents, long ones in sections."""
    return CandidatePool(passages(resources, SECTION))


def _deck(pool: CandidatePool, lengths: Sequence[int], key: str) -> list[Candidate]:
    """The candidates in the order in which items use them, shuffled by the seed.

    Those that fit more lengths come first, so that lengths share as many items as possible; then every document is used
    once before any is used twice.
    """
    candidates = list(pool.candidates or ())
    if not pool.shuffled:
        return candidates
    Random(f"{key}|deck").shuffle(candidates)
    dealt: dict[tuple[int, str], int] = {}
    rounds: list[tuple[int, int, Candidate]] = []
    for candidate in candidates:
        absent = 0 if candidate.lengths is None else len(lengths) - len(candidate.lengths)
        turn = dealt.get((absent, candidate.document.id), 0)
        rounds.append((absent, turn, candidate))
        dealt[absent, candidate.document.id] = turn + 1
    return [candidate for _, _, candidate in sorted(rounds, key=lambda entry: entry[:2])]


def _distractors(pool: CandidatePool, candidate: Candidate | None, kin: Kin) -> list[Span]:
    """Fillers for one item: from other documents than the one it is about, and not from another edition of it."""
    avoided = {candidate.document.id, *kin.get(candidate.document.id, ())} if candidate else frozenset[str]()
    return [span for span in pool.fillers if span.doc not in avoided]


def _fillers(
    plan: Plan, fillers: Sequence[Span], lengths: Sequence[int], texts: CountedTexts
) -> Mapping[int, Sequence[Span]]:
    """For each length the fillers of one item, truncated so that every length takes several.

    A numbered passage is all that a context has of its filler. Where the fillers are too few for that, they are longer.
    In running text, the rest of a truncated filler may follow after all others.
    """
    if not isinstance(plan, Passages):
        return dict.fromkeys(lengths, _split(fillers, lengths, texts))
    by_length: dict[int, Sequence[Span]] = {}
    short: Sequence[Span] = _several(fillers, lengths, texts)[0]
    for length in lengths:
        by_length[length] = short = _lengthened(fillers, short, length, texts)
    return by_length


def _several(
    fillers: Sequence[Span], lengths: Sequence[int], texts: CountedTexts, taken: int = 0
) -> tuple[list[Span], list[Span], int]:
    """Fillers truncated so that none is longer than an eighth of those before it, what remains of each, tokens counted.

    The first ones depend on the shortest length. None is truncated or counted that even the longest does not need.
    """
    drawn, rests = list[Span](), list[Span]()
    for number, span in enumerate(fillers):
        if taken > lengths[-1]:
            drawn += fillers[number:]
            break
        most = max(lengths[0], taken) // SEVERAL
        if texts.tokens(span) > most:
            document = texts.documents[span.doc]
            end = max(span.start + 1, texts.counter.cut(document, span.start, span.end, most // 2, most))
            rest = document.text[end : span.end]
            if rest.strip():
                rests.append(Span(span.doc, end + len(rest) - len(rest.lstrip()), span.end))
            span = Span(span.doc, span.start, end)
        drawn.append(span)
        taken += texts.tokens(span)
    return drawn, rests, taken


def _split(fillers: Sequence[Span], lengths: Sequence[int], texts: CountedTexts) -> list[Span]:
    """Truncated fillers, then what remains of them, truncated in the same way, up to the longest length."""
    drawn, rests, taken = _several(fillers, lengths, texts)
    while rests and taken <= lengths[-1]:
        more, rests, taken = _several(rests, lengths, texts, taken)
        drawn += more
    return [*drawn, *rests]


def _lengthened(fillers: Sequence[Span], short: Sequence[Span], length: int, texts: CountedTexts) -> Sequence[Span]:
    """The truncated fillers if they fill a length; else all up to the same number of tokens, the least that does."""
    if any(total >= length for total in accumulate(map(texts.tokens, short))):
        return short
    sizes, least = list(map(texts.tokens, fillers)), list(map(texts.tokens, short))
    # A cut at the end of a sentence leaves up to an eighth of a filler.
    goal = length * SEVERAL // (SEVERAL - 1) + 1
    most = bisect_left(range(max(sizes, default=0)), goal, key=lambda most: _total(sizes, least, most))
    longer = []
    for span, size, before, now in zip(fillers, sizes, least, short, strict=True):
        if size > most > before:
            document = texts.documents[span.doc]
            end = texts.counter.cut(document, span.start, span.end, most - most // SEVERAL, most)
            now = Span(span.doc, span.start, max(now.end, end))
        longer.append(span if size <= most else now)
    return longer


def _total(sizes: Sequence[int], least: Sequence[int], most: int) -> int:
    return sum(max(before, min(size, most)) for size, before in zip(sizes, least, strict=True))


def _item(
    wanted: BuildConfig,
    task: Task,
    resources: Resources,
    stocked: Sequence[Span],
    candidate: Candidate | None,
    index: int,
    item: str,
    shared: _Shared,
) -> Iterator[list[Sample]]:
    """One item at every length and depth, the samples of each context together.

    Closed-book questions come before those of the first context.
    """
    texts = shared.texts
    key = f"{wanted.seed}|{task.first_name}|{resources.language}"
    fillers = list(stocked)
    Random(f"{key}|{index}|fillers").shuffle(fillers)
    taken: Mapping[int, Sequence[Span]] | None = None if task.pool else dict.fromkeys(wanted.lengths, fillers)
    dealt = wanted.depth_of(task.name, index)
    anywhere = Random(f"{key}|{index}|depth").random() if dealt is None else dealt
    swept = wanted.depths if task.positioned else ()
    first = True
    for depth in swept or (anywhere,):
        plan = task.plan(Draw(resources, Random(f"{key}|{index}"), depth, len(fillers), candidate))
        taken = taken or _fillers(plan, fillers, wanted.lengths, texts)
        for length in wanted.lengths if candidate is None or candidate.lengths is None else candidate.lengths:
            try:
                made = compose(plan, length, taken[length], texts, exact=wanted.exact)
            except UnfitError:
                continue
            except CorpusTooSmallError as error:
                documents = several(len(resources.noise), "document")
                has = f"{documents} in language {resources.language!r} to fill contexts with"
                hint = "give more, drop the length, or choose other languages with `languages`"
                raise FathomError(f"{item} at {format_length(length)}: {error}; {has}; {hint}") from error
            except FathomError as error:
                raise FathomError(f"{item} at {format_length(length)}: {error}") from error
            made = _measured(made, candidate)
            endings = [prompt.ending for prompt in made]
            beside = _side_samples(wanted, task, resources, item, candidate, plan, endings, texts) if first else []
            first = False
            end = f"@{length}" + (f"/d{depth:g}" if len(swept) > 1 else "")
            where = facets(wanted, task, resources.wording)
            if task.positioned:
                where["depth"] = round(depth, 4)
            plain = list(_samples(task, resources.language, item, end, made, length, where))
            full = [
                _thinking(sample, ending, texts, wanted.exact) for sample, ending in zip(plain, endings, strict=True)
            ]
            padded = _padded(task, plan, plain, shared, wanted.exact) if wanted.is_padded(index) else ()
            yield [
                *beside,
                *full,
                *padded,
                *(_unnamed(full, made, shared.texts.counting(wanted.exact)) if wanted.unnamed else ()),
                *(_cut(wanted, full, endings, texts) if length == wanted.lengths[-1] else ()),
            ]


def _measured(made: Sequence[Composed], candidate: Candidate | None) -> tuple[Composed, ...]:
    """The composed prompts with the facets of their candidate's questions."""
    known = candidate.facets if candidate and candidate.facets else ({},) * len(made)
    return tuple(
        replace(prompt, ending=replace(prompt.ending, facets={**prompt.ending.facets, **facets}))
        for prompt, facets in zip(made, known, strict=True)
    )


def _cut(
    wanted: BuildConfig, full: Sequence[Sample], endings: Sequence[Ending], texts: CountedTexts
) -> Iterator[Sample]:
    """The longest prompts of a context, truncated to other lengths; the longest first, for common prefixes."""
    for length in reversed(wanted.truncate):
        for sample, ending in zip(full, endings, strict=True):
            if cut := cut_sample(sample, ending.question, length, texts, exact=wanted.exact):
                yield cut


def _samples(
    task: Task, language: str, item: str, end: str, made: Sequence[Composed], length: int, where: Mapping[str, Facet]
) -> Iterator[Sample]:
    """The samples of the questions over one context."""
    for number, prompt in enumerate(made, start=1):
        facts = {**task.facets, **prompt.ending.facets, **where}
        if "depth" in where and prompt.depth is not None:
            facts["depth_reached"] = round(prompt.depth, 4)
        if len(made) > 1:
            facts["question"] = number
        yield Sample(
            id=f"{item}{end}" + (f"/q{number}" if len(made) > 1 else ""),
            item=item,
            task=task.name,
            parts=prompt.parts,
            targets=prompt.ending.targets,
            length=length,
            tokens=prompt.tokens,
            language=language,
            chance=prompt.ending.chance,
            facets=facts,
            asked=prompt.ending.asked,
            inputs={**task.inputs, **prompt.ending.inputs},
        )


def _thinking(sample: Sample, ending: Ending, texts: CountedTexts, exact: bool) -> Sample:
    """The sample with its thinking prompt, if its task has one."""
    last = sample.parts[-1] if sample.parts else ""
    if not ending.thinking or not isinstance(last, str) or not last.endswith(ending.question):
        return sample
    end = last[: len(last) - len(ending.question)] + ending.thinking
    tokens = texts.counting(exact)((*sample.parts[:-1], end))
    return replace(sample, thinking=end, thinking_tokens=tokens)


def _has_evidence(plan: Plan, task: Task) -> TypeGuard[Haystack | Passages]:
    """Whether the plan says which part of the context the questions need."""
    return isinstance(plan, Haystack) or (task.gold_alone and isinstance(plan, Passages))


def _padded(task: Task, plan: Plan, full: Sequence[Sample], shared: _Shared, exact: bool) -> list[Sample]:
    """The samples of a context with neutral text in place of all but the evidence."""
    first = full[0]
    if not _has_evidence(plan, task) or first.language not in NEUTRAL:
        return []
    neutral = shared.neutral(first.language)
    if isinstance(plan, Passages) and plan.shuffle:  # it has a place for each filler, of which there may be fewer
        plan = replace(plan, shuffle=tuple(islice(cycle(plan.shuffle), max(len(plan.shuffle), len(neutral)))))
    made = compose(plan, first.length, neutral, shared.texts, exact=exact)
    padded = []
    for sample, prompt in zip(full, made, strict=True):
        own = replace(
            sample,
            id=f"{sample.id}/{PADDED}",
            parts=prompt.parts,
            tokens=prompt.tokens,
            targets=prompt.ending.targets,
            chance=prompt.ending.chance,
            facets={**sample.facets, **prompt.ending.facets, "context": PADDED},
        )
        padded.append(_thinking(own, prompt.ending, shared.texts, exact))
    return padded


def _unnamed(
    full: Sequence[Sample], made: Sequence[Composed], count: Callable[[tuple[str | Span, ...]], int]
) -> Iterator[Sample]:
    """The samples of a context whose questions do not name their passages."""
    for sample, prompt in zip(full, made, strict=True):
        question, last = prompt.ending.question, sample.parts[-1]
        if prompt.ending.unnamed and isinstance(last, str) and last.endswith(question):
            parts = (*sample.parts[:-1], last.removesuffix(question) + prompt.ending.unnamed)
            facets = {**sample.facets, "context": UNNAMED}
            yield replace(sample, id=f"{sample.id}/{UNNAMED}", parts=parts, tokens=count(parts), facets=facets)


def _side_samples(
    wanted: BuildConfig,
    task: Task,
    resources: Resources,
    item: str,
    candidate: Candidate | None,
    plan: Plan,
    endings: Sequence[Ending],
    texts: CountedTexts,
) -> list[Sample]:
    """The questions of an item without its long context: closed-book, and over the gold text alone."""
    samples_made = []
    if wanted.closed_book:
        marks = facets(wanted, task, resources.wording, "closed")
        bare = [replace(ending, facets={}, inputs={}) for ending in endings]
        made = [Composed((prompt.closed,), texts.counter.count(prompt.closed), prompt, None) for prompt in bare]
        samples = _samples(task, resources.language, item, "@none", made, 0, {"context": "none", **marks})
        samples_made += [sample for sample, prompt in zip(samples, bare, strict=True) if prompt.closed]
    if wanted.alone and _has_evidence(plan, task):
        alone = _measured(compose_alone(plan, texts), candidate)
        needles = {"evidence": "needles"} if isinstance(plan, Haystack) else {}
        samples_made += _samples(
            task,
            resources.language,
            item,
            "@alone",
            alone,
            0,
            {"context": "alone", **needles, **facets(wanted, task, resources.wording)},
        )
    return samples_made
