"""Items: for every task and language, each drawn once and composed at every length."""

from collections import Counter as Tally
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from random import Random
from typing import TypeAlias

from fathom.build.material import Material
from fathom.build.notes import Standing, about_records, missing, published, short, uncut
from fathom.build.order import RECORDS, Order, not_given
from fathom.compose import Composed, CorpusTooSmallError, Shelf, UnfitError, compose, compose_alone
from fathom.compose.truncate import cut_sample
from fathom.length import format_length
from fathom.registry import get_task
from fathom.suitefile import Values, Where, may_be, wanted_of
from fathom.tasks import passages
from fathom.tasks.related import related
from fathom.types import Card, Draw, Ending, Facet, FathomError, Passages, Plan, Sample, Scene, Span, Stock, Task

Kin: TypeAlias = Mapping[str, frozenset[str]]

SEVERAL = 8  # distractors at least that a context of passages has, the gold passages aside
SECTION = 4096  # tokens; a novel as one filler would begin every context with its first page


def expected(wanted: Order, material: Material) -> int:
    """Contexts of a build whose corpus has material for every item."""
    where = dict(wanted.where)
    tasks = [task for task in map(get_task, wanted.tasks) if may_be({"task": task.name, **task.facets}, where, {})]
    per_task = (
        (len(wanted.depths) or 1 if task.positioned else 1) * own.items * len(own.lengths)
        for task in tasks
        if task.gold != RECORDS
        for own in (wanted.of(task.name),)
    )
    # A published record stands at one length.
    records = sum(map(len, material.roles["record"].values())) if any(task.gold == RECORDS for task in tasks) else 0
    records = min(records, len(wanted.only) or records)
    return sum(per_task) * len(material.languages()) + records


def contexts(
    wanted: Order, material: Material, shelf: Shelf, notes: list[str], values: Values
) -> Iterator[list[Sample]]:
    """The samples of one context after the other: task by task, item by item, lengths ascending.

    Common prefixes then follow each other. What there is to say is added to ``notes``, and to ``values`` the facets of
    all samples that could be chosen, where some are.
    """
    kin = cache(lambda: related(shelf.documents.values()))
    records: dict[str, Standing] = {}
    for task, own in _orders(wanted, notes, values):
        if task.gold == RECORDS:
            records[task.name] = Standing()
        if own.depths and not task.positioned:
            notes.append(f"{task.name}: no single gold text to place, so that depths change nothing")
        for language in material.languages():
            golds, noise = material.of(task.gold, language), material.of(task.noise, language)
            if language not in task.languages:
                # Records are in the language of their task, and those of other tasks in other ones.
                if task.gold != RECORDS and (golds or noise):
                    notes.append(f"{task.name}: has no prompts in language {language!r}; left out")
                continue
            said = material.templates
            templates = (said.prompts, said.caps) if said else (None, {})
            scene = Scene(language, golds, noise, own.lengths, shelf.counter, *templates)
            if not (lacking := _lacking(task, scene)):
                yield from _of_scene(own, task, scene, shelf, kin, notes, values, records.get(task.name))
            elif task.gold != RECORDS:
                notes.append(f"{task.name}: left out in language {language!r}: {lacking}")
    notes[:] = about_records(notes, wanted, records)


def _orders(wanted: Order, notes: list[str], values: Values) -> Iterator[tuple[Task, Order]]:
    """The tasks of which there can be samples, with their own orders; why others are left out is noted."""
    without: dict[str, list[str]] = {}  # tasks by the option that would give them documents
    for name in wanted.tasks:
        task, own = get_task(name), wanted.of(name)
        if not may_be({"task": name, **task.facets}, dict(wanted.where), values):
            continue
        if not own.lengths:
            notes.append(f"{name}: left out; the lengths that are asked for are beyond its longest")
        elif option := not_given(wanted, task):
            without.setdefault(option, []).append(name)
        else:
            yield task, own
    notes += [f"{', '.join(names)}: left out; give {option}" for option, names in without.items()]


def _of_scene(
    wanted: Order,
    task: Task,
    scene: Scene,
    shelf: Shelf,
    kin: Callable[[], Kin],
    notes: list[str],
    values: Values,
    standing: Standing | None,
) -> Iterator[list[Sample]]:
    """The samples of a task in one language."""
    stock = task.stock(scene) if task.stock else running_text(scene)
    notes += [f"{task.name}: {note}" for note in stock.notes]
    avoided = kin() if stock.fillers and stock.cards else {}
    key = f"{wanted.seed}|{task.first_name}|{scene.language}"
    deck = [None] * wanted.items if stock.cards is None else _deck(stock, wanted.lengths, key)
    made = 0
    stand: Tally[int] = Tally()
    asked: Tally[int] = Tally()  # over the longest prompts, by the length that they were cut to
    for index, card in enumerate(deck):
        if made == wanted.items:
            break
        if wanted.common and card and card.lengths is not None and len(card.lengths) < len(wanted.lengths):
            continue  # known without composing it
        item = f"{task.first_name}/{scene.language}/" + (card.name if card and card.name else f"{index:04d}")
        if wanted.only and item not in wanted.only:
            continue
        contexts = list(_item(wanted, task, scene, _distractors(stock, card, avoided), card, index, item, shelf))
        at = Tally(max(sample.length for sample in samples) for samples in contexts)
        contexts = _chosen(contexts, dict(wanted.where), values)
        if not contexts or (wanted.common and len(at) < len(wanted.lengths)):
            continue
        made += 1
        stand.update(at)
        for samples in contexts:
            asked.update(
                sample.length
                for sample in samples
                if wanted.lengths[-1] in (sample.length, sample.facets.get("cut_from"))
            )
            if standing and len(contexts) == 1:  # what is made of records for many lengths stands at all of them
                standing.update(samples)
            yield samples
    if standing:
        standing.items += made
        standing.stated = stock.stated
        standing.elsewhere += stock.elsewhere
        standing.published = published(wanted, task, stock)
    else:
        notes += short(wanted, task, scene, made)
        notes += missing(wanted, task, scene, made, stand)
    notes += uncut(wanted, task, scene, asked)


def _chosen(contexts: Sequence[list[Sample]], where: Where, values: Values) -> list[list[Sample]]:
    """The samples that an order asks for, by their facets; contexts of which none is left are left out."""
    if not where:
        return list(contexts)
    return [kept for samples in contexts if (kept := wanted_of(samples, where, values))]


def _lacking(task: Task, scene: Scene) -> str:
    """Which documents a task cannot do without are not there at all; "" if none."""
    if task.gold and not scene.documents:
        return f"there is no document for {' or '.join(task.gold)}; it needs {task.needs or 'text'}"
    if task.noise and not scene.noise:
        return f"there is no document for {' or '.join(task.noise)} to fill contexts with"
    return ""


def running_text(scene: Scene) -> Stock:
    """The stock of tasks that only need text: documents, the long ones in sections."""
    return Stock(passages(scene, SECTION))


def _deck(stock: Stock, lengths: Sequence[int], key: str) -> list[Card]:
    """The cards in the order in which they are dealt, which the seed decides.

    Those that can stand at more lengths come first, so that the lengths have as many items in common as can be; then
    every document once before any comes twice.
    """
    cards = list(stock.cards or ())
    if not stock.shuffled:
        return cards
    Random(f"{key}|deck").shuffle(cards)
    dealt: dict[tuple[int, str], int] = {}
    rounds: list[tuple[int, int, Card]] = []
    for card in cards:
        absent = 0 if card.lengths is None else len(lengths) - len(card.lengths)
        turn = dealt.get((absent, card.document.id), 0)
        rounds.append((absent, turn, card))
        dealt[absent, card.document.id] = turn + 1
    return [card for _, _, card in sorted(rounds, key=lambda entry: entry[:2])]


def _distractors(stock: Stock, card: Card | None, kin: Kin) -> list[Span]:
    """Fillers for one item: not of the document that it is about, nor of another edition of it."""
    avoided = {card.document.id, *kin.get(card.document.id, ())} if card else frozenset[str]()
    return [span for span in stock.fillers if span.doc not in avoided]


def _several(fillers: Sequence[Span], lengths: Sequence[int], shelf: Shelf) -> list[Span]:
    """Fillers cut so that every length takes several: none is longer than an eighth of what stands before it.

    The first ones are measured by the shortest length. What is left of a filler that was cut comes after all others.
    """
    waiting, taken = deque(fillers), 0
    found: list[Span] = []
    while waiting and taken <= lengths[-1]:
        span = waiting.popleft()
        most = max(lengths[0], taken) // SEVERAL
        if shelf.tokens(span) > most:
            document = shelf.documents[span.doc]
            end = max(span.start + 1, shelf.counter.cut(document, span.start, span.end, most // 2, most))
            rest = document.text[end : span.end]
            if rest.strip():
                waiting.append(Span(span.doc, end + len(rest) - len(rest.lstrip()), span.end))
            span = Span(span.doc, span.start, end)
        found.append(span)
        taken += shelf.tokens(span)
    return [*found, *waiting]


def _item(
    wanted: Order,
    task: Task,
    scene: Scene,
    stocked: Sequence[Span],
    card: Card | None,
    index: int,
    item: str,
    shelf: Shelf,
) -> Iterator[list[Sample]]:
    """One item at every length and depth, the samples of each context together.

    Its questions without a long context stand before those of the first one.
    """
    key = f"{wanted.seed}|{task.first_name}|{scene.language}"
    fillers = list(stocked)
    Random(f"{key}|{index}|fillers").shuffle(fillers)
    if task.stock:
        fillers = _several(fillers, wanted.lengths, shelf)
    dealt = wanted.depth_of(task.name, index)
    anywhere = Random(f"{key}|{index}|depth").random() if dealt is None else dealt
    swept = wanted.depths if task.positioned else ()
    first = True
    for depth in swept or (anywhere,):
        plan = task.plan(Draw(scene, Random(f"{key}|{index}"), depth, len(fillers), card))
        for length in wanted.lengths if card is None or card.lengths is None else card.lengths:
            try:
                made = compose(plan, length, fillers, shelf, exact=wanted.exact)
            except UnfitError:
                continue
            except CorpusTooSmallError as error:
                held = f"documents in language {scene.language!r} to fill contexts with: {len(scene.noise):,}"
                hint = "give more, drop the length, or name other languages with --languages"
                raise FathomError(f"{item} at {format_length(length)}: {error}; {held}; {hint}") from error
            except FathomError as error:
                raise FathomError(f"{item} at {format_length(length)}: {error}") from error
            endings = [one.ending for one in made]
            beside = _side_samples(wanted, task, scene, item, plan, endings, shelf) if first else []
            first = False
            end = f"@{length}" + (f"/d{depth:g}" if len(swept) > 1 else "")
            where: dict[str, Facet] = {"depth": round(depth, 4)} if task.positioned else {}
            plain = (
                _sample(task, scene, item, end, number, len(made), one, length, where)
                for number, one in enumerate(made, start=1)
            )
            full = [
                _thinking(sample, ending, shelf, wanted.exact) for sample, ending in zip(plain, endings, strict=True)
            ]
            yield [*beside, *full, *(_cut(wanted, full, endings, shelf) if length == wanted.lengths[-1] else ())]


def _cut(wanted: Order, full: Sequence[Sample], endings: Sequence[Ending], shelf: Shelf) -> Iterator[Sample]:
    """The longest prompts of a context, cut; the longest first, since its beginning holds those of the others."""
    for length in reversed(wanted.truncate):
        for sample, ending in zip(full, endings, strict=True):
            if cut := cut_sample(sample, ending.question, length, shelf, exact=wanted.exact):
                yield cut


def _sample(
    task: Task,
    scene: Scene,
    item: str,
    end: str,
    number: int,
    questions: int,
    made: Composed,
    length: int,
    where: Mapping[str, Facet],
) -> Sample:
    """One sample: question ``number`` of ``questions`` over a context."""
    facets = {**task.facets, **made.ending.facets, **where}
    if where and made.depth is not None:
        facets["depth_reached"] = round(made.depth, 4)
    if questions > 1:
        facets["question"] = number
    return Sample(
        id=f"{item}{end}" + (f"/q{number}" if questions > 1 else ""),
        item=item,
        task=task.name,
        parts=made.parts,
        targets=made.ending.targets,
        length=length,
        tokens=made.tokens,
        language=scene.language,
        chance=made.ending.chance,
        facets=facets,
        asked=made.ending.asked,
        inputs={**task.inputs, **made.ending.inputs},
    )


def _thinking(sample: Sample, ending: Ending, shelf: Shelf, exact: bool) -> Sample:
    """The sample with the prompt that asks for thoughts, where its task has one."""
    last = sample.parts[-1] if sample.parts else ""
    if not ending.thinking or not isinstance(last, str) or not last.endswith(ending.question):
        return sample
    end = last[: len(last) - len(ending.question)] + ending.thinking
    tokens = shelf.counting(exact)((*sample.parts[:-1], end))
    return replace(sample, thinking=end, thinking_tokens=tokens)


def _side_samples(
    wanted: Order, task: Task, scene: Scene, item: str, plan: Plan, endings: Sequence[Ending], shelf: Shelf
) -> list[Sample]:
    """The questions of an item without its long context: on their own, and over the gold text alone."""
    found = []
    if wanted.closed_book:
        for number, ending in enumerate(endings, start=1):
            if ending.closed:
                bare = replace(ending, facets={}, inputs={})
                made = Composed((ending.closed,), shelf.counter.count(ending.closed), bare, None)
                context = {"context": "none"}
                found.append(_sample(task, scene, item, "@none", number, len(endings), made, 0, context))
    if wanted.alone and task.gold_alone and isinstance(plan, Passages):
        for number, made in enumerate(compose_alone(plan, shelf), start=1):
            context = {"context": "alone"}
            found.append(_sample(task, scene, item, "@alone", number, len(endings), made, 0, context))
    return found
