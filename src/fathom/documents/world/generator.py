"""Generates articles: cluster, outline, prose, questions, document."""

import string
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from fathom.documents.corpus.text import document_id
from fathom.documents.world.articles import accounts, annals, biography, event_report, firm_history, portrait
from fathom.documents.world.cluster import cluster_of, namer_of
from fathom.documents.world.draws import NAMES_PER_CLUSTER, KeyedRandom
from fathom.documents.world.facts import Name
from fathom.documents.world.forms import ChineseForms, EnglishForms, Forms
from fathom.documents.world.grammar import load
from fathom.documents.world.outline import Ask, Context, Outline
from fathom.documents.world.prose import LINES, Subject, Unit, Writer
from fathom.types import Document, Question

# The subjects of a cluster, in the order in which articles are numbered before they are shuffled.
# A new article kind is one outline function and its entries here.
ARTICLES: tuple[tuple[Callable[[Context, int], Outline], int], ...] = (
    *((biography, rank) for rank in range(3)),
    *((portrait, rank) for rank in range(4)),
    *((firm_history, rank) for rank in range(2)),
    *((event_report, rank) for rank in range(3)),
    *((annals, rank) for rank in range(2)),
    *((accounts, rank) for rank in range(2)),
)
# Characters of the shortest and the longest article: about 330 and 2,700 tokens (tekken).
LENGTHS = {"en": (1450, 11200), "zh": (430, 3500)}
MOST_QUESTIONS = 12
BYSTANDERS = 64
_AFTER = frozenset(string.ascii_letters + string.digits)
_BEFORE = _AFTER | {",", "."}
Tagged = Mapping[str, tuple[int, int]]


@lru_cache(maxsize=256)  # suites of one seed begin with the same articles, as the examples of a board's tasks do
def article(seed: int, language: str, index: int) -> Document:
    """Generate one article of the world.

    Args:
        language: ``en`` or ``zh``.
        index: Number of the article, from 0 without limit.

    Returns:
        The article with its questions and summary; it depends only on the three arguments.

    Raises:
        FathomError: The language is unknown.
    """
    outline, writer = _begin(seed, language, index)
    title = writer.phrase(f"{outline.kind}.title", outline.slots)
    text, spans = _compose(_paragraphs(writer, outline, language), writer.spaced)
    return Document(
        id=document_id(text),
        text=text,
        source=f"world:{seed}/{language}/{index}",
        language=language,
        title=title,
        licence="CC0-1.0",
        questions=tuple(_questions(writer, outline, text, spans)),
        summary=writer.phrase(f"{outline.kind}.summary", outline.slots),
        meta={
            "kind": outline.kind,
            "cluster": index // len(ARTICLES),
            "index": index,
            "subject": outline.subject.full,
        },
    )


def heading(seed: int, language: str, index: int) -> tuple[str, str]:
    """The title and the kind of an article, without generating it: fast, for listing many thousands."""
    outline, writer = _begin(seed, language, index)
    return writer.phrase(f"{outline.kind}.title", outline.slots), outline.kind


def generate(seed: int, language: str) -> Iterator[Document]:
    """Yield the articles of the world without end."""
    index = 0
    while True:
        yield article(seed, language, index)
        index += 1


def _begin(seed: int, language: str, index: int) -> tuple[Outline, Writer]:
    """The outline and the writer of article ``index``."""
    number, place = divmod(index, len(ARTICLES))
    order = KeyedRandom("order", seed, language, number).shuffled(range(len(ARTICLES)))
    outline_of, rank = ARTICLES[order[place]]
    grammar = load(language)
    rng = KeyedRandom("article", seed, language, index)
    cluster = cluster_of(seed, language, number)
    outline = outline_of(Context(cluster, rng, grammar), rank)
    style = rng.random()
    forms: Forms = ChineseForms(cluster.currency, style) if language == "zh" else EnglishForms(cluster.currency, style)
    strangers = _bystanders(seed, language, index, outline.subject, rng)
    return outline, Writer(grammar, forms, rng, outline.subject, strangers, spaced=language != "zh")


def _bystanders(seed: int, language: str, index: int, subject: Subject, rng: KeyedRandom) -> Callable[[], Name]:
    """Names for minor people in this article."""
    namer = namer_of(seed, language)
    number, place = divmod(index, len(ARTICLES))
    next_one = iter(range((number + 1) * NAMES_PER_CLUSTER - (place + 1) * BYSTANDERS, 1 << 62))

    def someone() -> Name:
        while True:
            name = namer.extra(next(next_one), "f" if rng.chance(0.45) else "m")
            if name.short != subject.short:
                return name

    return someone


def _paragraphs(writer: Writer, outline: Outline, language: str) -> list[list[Unit]]:
    """Write the core sections, then others in random order until the article is long enough."""
    shortest, longest = LENGTHS[language]
    rng, sections = writer.rng, outline.sections
    goal = shortest * (longest / shortest) ** (((rng.random() + rng.random()) / 2) ** 1.3)
    order = [place for place, section in enumerate(sections) if section.core]
    order += rng.shuffled([place for place, section in enumerate(sections) if not section.core])
    written: dict[int, list[Unit]] = {}
    size = 0
    for place in order:
        if size >= goal and not sections[place].core:
            break
        written[place] = writer.paragraph(sections[place].beats)
        size += sum(len(text) for _, text in written[place])
    return [written[place] for place in sorted(written) if written[place]]


def _compose(paragraphs: Sequence[Sequence[Unit]], spaced: bool) -> tuple[str, Tagged]:
    """Join units to a text; returns it with the spans of each tag."""
    parts: list[str] = []
    spans: dict[str, tuple[int, int]] = {}
    size = 0
    for number, units in enumerate(paragraphs):
        for rank, (tag, text) in enumerate(units):
            line = text.startswith(LINES)
            joint = "\n\n" if number and not rank else "" if not rank else "\n" if line else " " if spaced else ""
            parts += [joint, text]
            start = size + len(joint)
            size = start + len(text)
            spans.setdefault(tag, (start, size))
    return "".join(parts), spans


def _questions(writer: Writer, outline: Outline, text: str, spans: Tagged) -> Iterator[Question]:
    """Questions whose evidence is in the text."""
    asked: list[tuple[Ask, list[tuple[int, int]], list[str]]] = []
    for ask in outline.asks:
        places, shown = [], []
        for need in ask.needs:
            span = spans.get(need.tag)
            form = span and _written_form(writer.forms, need.value, need.how, text[span[0] : span[1]])
            if span and form:
                places.append(span)
                shown.append(form)
        if len(places) == len(ask.needs):
            asked.append((ask, places, shown))
    chosen = writer.rng.sample(range(len(asked)), MOST_QUESTIONS)
    for number in sorted(chosen):
        ask, places, shown = asked[number]
        yield Question(
            text=writer.phrase(ask.rule, {key: _ruled(writer, value) for key, value in ask.slots.items()}),
            answers=_accepted(writer, ask.answer, ask.how, ask.slots),
            evidence=tuple(sorted(set(places))),
            meta={"kind": ask.kind, "shown": tuple(shown)},
        )


def _ruled(writer: Writer, value: object) -> object:
    if isinstance(value, str) and value in writer.grammar:
        return writer.phrase(value, {}, capital=False)
    return value


def _accepted(writer: Writer, value: object, how: str, slots: Mapping[str, object]) -> tuple[str, ...]:
    if how == "rule":
        return (writer.phrase(str(value), slots, capital=False),)
    if isinstance(value, Name):
        return tuple(dict.fromkeys((value.full, value.short)))
    return writer.forms.accepted(value, how)


def _written_form(forms: Forms, value: object, how: str, text: str) -> str | None:
    """The written form of a value that occurs in a text."""
    candidates = (value.full, value.short) if isinstance(value, Name) else forms.accepted(value, how)
    if isinstance(value, int) or how in ("date", "year"):
        return next((form for form in candidates if _stands(form, text)), None)
    return next((form for form in candidates if form in text), None)


def _stands(form: str, text: str) -> bool:
    """Whether a number or date occurs in the text as a separate word."""
    start = text.find(form)
    while start >= 0:
        before, after = text[max(0, start - 1) : start], text[start + len(form) : start + len(form) + 1]
        if before not in _BEFORE and after not in _AFTER:
            return True
        start = text.find(form, start + 1)
    return False
