"""TSort: restore the order of the shuffled segments of a continuous passage of a book.

Ada-LEval, section 3 and appendix A. Segments, which the prompt numbers and calls parts, are consecutive whole
paragraphs, across ends of chapters; headings, notes and marks of notes are excluded. A segment has as many paragraphs
as its limit allows, and before and after the segments are the adjacent paragraphs. A paragraph that exceeds a segment's
limit excludes the case; of one next to the segments the nearest sentences are used.

The segments are never in their true order, so that two can only be in one order: ``tsort_2`` distinguishes replies that
follow the format from those that repeat the given order, and nothing more.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import factorial, log2
from pathlib import PurePosixPath
from random import Random
from typing import TypeAlias

from fathom.benchmarks.ada.scoring import segment_order
from fathom.documents.corpus.books import Book, is_dated, read_book, without_notes
from fathom.storage.toml import packaged_toml
from fathom.types import (
    Arranged,
    Candidate,
    CandidatePool,
    Counter,
    Document,
    Draw,
    Ending,
    Facet,
    FathomError,
    Measure,
    Ordering,
    Part,
    Plan,
    Resources,
    Sample,
    Score,
    Span,
    Task,
    Whole,
    Wording,
)

# ------------------------------------------------------------------------------------------------------------ segments

INSTRUCTIONS = 200  # tokens that Table 11 reserves for them
MOST_BESIDE = 500  # maximum tokens of the text before the segments, and of that after them
STRIDE = 64  # paragraphs between starts, twice as many beyond 16k
GAP = "\n\n"
TAIL = 16  # characters that decide how a text joins with the gap after it

Paragraph: TypeAlias = tuple[Span, ...]
"""A paragraph as one or several pieces, with notes removed from it."""

_SENTENCE_END = re.compile(
    r"(?<![.!?…。．！？])"  # a run of punctuation is checked once
    r"(?:(?<!\b[A-Z])(?<!\b(?:Mr|Dr|St|No))(?<!\b(?:Mrs|Rev))[.!?…]+[\"'”’)\]_]*(?=\s)|[。．！？…]+[\"'”’」』）)]*)"
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum tokens of the parts of a case at one length, and the number of paragraphs between starts."""

    before: int
    segment: int
    after: int
    stride: int


@dataclass(frozen=True, slots=True)
class Story:
    """The paragraphs of all chapters of a book, and their positions in tokens of the joined text.

    Attributes:
        begins: Tokens before each paragraph.
        ends: Tokens up to the end of each.
    """

    document: Document
    paragraphs: tuple[Paragraph, ...]
    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def name(self) -> str:
        """Title of the book, or the name of its file."""
        return self.document.title or PurePosixPath(self.document.source).name.split(".")[0]


def limits(length: int, segments: int, instructions: int = INSTRUCTIONS) -> Limits:
    """The limits of a case: Table 11 of the paper at 2k to 128k and four segments, and a formula beyond.

    For a length of u times 1,024 tokens the prompt has 1,000 u tokens. The text before the segments and that after them
    take 100 tokens at 1k and 100 more with each doubling, up to 500; the segments share the rest equally.

    Args:
        length: Budget of the prompt in tokens.
        instructions: Tokens of all text not from the book, if more than the paper's 200.

    Returns:
        The limits, rounded down; that of a segment is 0 if the length is too short.
    """
    units = length / 1024
    beside = int(min(MOST_BESIDE, 100 * (1 + log2(units)) if units > 1 else 100 * units))
    shared = 1000 * units - 2 * beside - max(INSTRUCTIONS, instructions)
    return Limits(beside, max(0, int(shared / segments)), beside, STRIDE if length <= 16 * 1024 else 2 * STRIDE)


def story_of(document: Document, book: Book, counter: Counter) -> Story:
    """The paragraphs of all chapters of a book, counted."""
    paragraphs: list[Paragraph] = []
    begins, ends, at = [], [], 0
    for chapter in book.chapters:
        for paragraph in chapter.paragraphs:
            pieces = tuple(Span(document.id, start, end) for start, end in without_notes(book.text, paragraph))
            text = "".join(book.text[piece.start : piece.end] for piece in pieces)
            if not text.strip():
                continue
            whole = len(pieces) == 1
            size = counter.between(document, pieces[0].start, pieces[0].end) if whole else counter.count(text)
            paragraphs.append(pieces)
            begins.append(at)
            ends.append(at + size)
            # The gap may merge with the last character before it.
            at += size + counter.count(text[-TAIL:] + GAP) - counter.count(text[-TAIL:])
    return Story(document, tuple(paragraphs), tuple(begins), tuple(ends))


def cut(
    story: Story, paragraph: int, most: Limits, segments: int, counter: Counter
) -> tuple[Sequence[Paragraph], ...] | None:
    """The texts of a case whose first segment begins with a given paragraph.

    Each has as many whole paragraphs as its limit allows. If the paragraph next to the segments exceeds the limit of
    the text before or after them, its nearest sentences are used.

    Returns:
        The text before, each segment in order, and the text after; None if the book ends too early, or if a paragraph
        exceeds a segment's limit or has no sentence that fits the text before or after.
    """
    first = bisect_left(story.begins, story.ends[paragraph - 1] - most.before, hi=paragraph)
    texts: list[Sequence[Paragraph]] = [story.paragraphs[first:paragraph]]
    if not texts[0]:
        texts[0] = _nearest_sentences(story, paragraph - 1, most.before, counter, ending=True)
    at = paragraph
    for room in (*[most.segment] * segments, most.after):
        if at == len(story.paragraphs) or not texts[-1]:
            return None
        end = bisect_right(story.ends, story.begins[at] + room, lo=at)
        texts.append(story.paragraphs[at:end])
        at = end
    if not texts[-1]:
        texts[-1] = _nearest_sentences(story, at, most.after, counter, ending=False)
    return tuple(texts) if texts[-1] else None


def _nearest_sentences(story: Story, number: int, room: int, counter: Counter, *, ending: bool) -> Sequence[Paragraph]:
    """The last (``ending``) or first sentences of a paragraph that fit a number of tokens; () if none."""
    piece, text = story.paragraphs[number][-1 if ending else 0], story.document.text
    stops = [match.end() for match in _SENTENCE_END.finditer(text, piece.start, piece.end)]
    for stop in stops if ending else reversed(stops):
        following = piece.end - len(text[stop : piece.end].lstrip())
        span = Span(piece.doc, following, piece.end) if ending else Span(piece.doc, piece.start, stop)
        if span.start < span.end and counter.between(story.document, span.start, span.end) <= room:
            return ((span,),)
    return ()


SEGMENTS = 4  # the paper's number
MOST_SEGMENTS = 12
PROMPTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "prompts.toml")["tsort"]

WORDING = Wording(PROMPTS, optional=frozenset({"count", "example", "first", "last"}), extra=frozenset({"example"}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Start(Candidate):
    """A candidate for the case whose first segment begins with paragraph ``paragraph`` (from 0) of a story."""

    story: Story
    paragraph: int


def pool(resources: Resources, segments: int) -> CandidatePool:
    """A candidate for each paragraph at which a case can begin at some length of the build.

    Books without chapters, books of letters or diaries, and books too short for a case, are left out.

    Raises:
        FathomError: The text of a book was not normalised by ``fathom.documents.corpus``, so that offsets would differ.
    """
    allowed = {length: _limits(resources, length, segments) for length in resources.lengths}
    candidates: list[Start] = []
    notes = []
    for document in resources.documents:
        book = read_book(document.text, document.language)
        if book.text != document.text:
            raise FathomError(f"{document.source}: the text is not normalised; read it with fathom.documents.corpus")
        story = story_of(document, book, resources.counter)
        if not book.chapters:
            notes.append(f"{story.name}: no chapters were found; skipped")
            continue
        if is_dated(book):
            notes.append(f"{story.name}: letters or a diary, whose dates tell the order; skipped")
            continue
        if book.guessed:
            notes.append(f"{story.name}: paragraphs are not marked; they were guessed from short lines")
        starts = _starts(story, allowed, resources, segments)
        candidates += starts
        if not starts:
            notes.append(f"{story.name}: too short, or its paragraphs too long, for any of the lengths; skipped")
    return CandidatePool((), candidates, tuple(notes))


def _starts(story: Story, allowed: Mapping[int, Limits], resources: Resources, segments: int) -> list[Start]:
    starts = []
    for paragraph in range(STRIDE, len(story.paragraphs), STRIDE):
        able = tuple(
            length
            for length, most in allowed.items()
            if paragraph % most.stride == 0 and cut(story, paragraph, most, segments, resources.counter)
        )
        if able:
            spans = story.paragraphs[paragraph]
            starts.append(Start(story.document, spans, lengths=able, story=story, paragraph=paragraph))
    return starts


def _limits(resources: Resources, length: int, segments: int) -> Limits:
    nothing: list[list[Part]] = [[]] * segments
    order = tuple(range(1, segments + 1))
    frame = _prompt(resources.texts_of(PROMPTS), [], nothing, [], order)
    return limits(length, segments, resources.counter.count("".join(part for part in frame if isinstance(part, str))))


def plan(draw: Draw, segments: int) -> Plan:
    """A case at one start, with its shuffled segments."""
    start = draw.candidate
    assert isinstance(start, Start)
    example_seed = draw.rng.random()
    return Whole(partial(arrange, start, draw.resources, _shuffle(segments, draw.rng), example_seed))


def _shuffle(segments: int, rng: Random) -> tuple[int, ...]:
    """Numbers of the segments in the order of the book; never 1, 2, 3, ..."""
    order = list(range(1, segments + 1))
    while order == sorted(order):
        rng.shuffle(order)
    return tuple(order)


def arrange(
    start: Start, resources: Resources, order: Sequence[int], example_seed: float, length: int, measure: Measure
) -> Arranged | None:
    """The prompt of a case at one length, None if it does not fit.

    Args:
        start: Book and first paragraph.
        resources: Language and counter.
        order: The number in the prompt of the first segment of the book, of the second, and so on.
        example_seed: Seed of the example order in the instructions, which differs between lengths.
        length: Budget in tokens.
        measure: Counts a prompt.
    """
    story, most = start.story, _limits(resources, length, len(order))
    texts = cut(story, start.paragraph, most, len(order), resources.counter)
    if texts is None or start.paragraph % most.stride:
        return None
    before, *segments, after = map(_text, texts)
    example = Random(f"{example_seed}|{length}").sample(range(1, len(order) + 1), len(order))
    prompts = resources.texts_of(PROMPTS)
    parts = _prompt(prompts, before, [segments[order.index(n + 1)] for n in range(len(order))], after, example)
    if measure(parts) > length:
        return None
    ending = Ending(
        prompts["question"].format(count=len(order)),
        (json.dumps(list(order)),),
        1 / factorial(len(order)),
        {"example": _example_of(prompts, example), "book": story.name, "paragraph": start.paragraph},
        inputs={"segments": len(order), **_own_headings(resources, len(order))},
    )
    return Arranged(tuple(parts), ending)


def _example_of(prompts: Mapping[str, str], example: Sequence[int]) -> str:
    """The example that the instructions show: the drawn one, unless their wording has one."""
    return prompts.get("example", json.dumps(list(example)))


def _own_headings(resources: Resources, segments: int) -> dict[str, Facet]:
    """The headings of the texts in a prompt that are not ours, so that the texts are found (``ordering``)."""
    if not resources.wording:
        return {}
    texts = resources.texts_of(PROMPTS)
    for name in ("before", "part", "after"):
        if not texts[name].strip():
            raise FathomError(f"tsort: {name}: the heading is empty; texts need headings to be told apart")
    headings = _headings(texts, segments)
    return {"headings": json.dumps(headings, ensure_ascii=False)}


def _text(paragraphs: Sequence[Paragraph]) -> list[Part]:
    """Paragraphs separated by blank lines."""
    parts: list[Part] = []
    for pieces in paragraphs:
        parts += [GAP] * bool(parts) + list(pieces)
    return parts


def _prompt(
    prompts: Mapping[str, str],
    before: Sequence[Part],
    segments: Sequence[Sequence[Part]],
    after: Sequence[Part],
    example: Sequence[int],
) -> list[Part]:
    """The whole prompt: instructions, each text with its heading, and the question."""
    count, shown = len(segments), json.dumps(list(example))
    parts: list[Part] = [prompts["intro"].format(count=count, example=shown, first=example[0], last=example[-1])]
    for heading, text in zip(_headings(prompts, count), (before, *segments, after), strict=True):
        parts += [GAP + heading, *text]
    return [*parts, GAP + prompts["question"].format(count=count)]


def _headings(prompts: Mapping[str, str], segments: int) -> list[str]:
    numbered = [prompts["part"].format(number=number) for number in range(1, segments + 1)]
    return [prompts["before"], *numbered, prompts["after"]]


def ordering(sample: Sample, texts: Mapping[str, str]) -> Ordering:
    """The segments that a sample asks to order, and the texts around them.

    They are separated by the headings, which are literal parts of the recipe.

    Raises:
        FathomError: The prompt was truncated, so that some segments are missing.
    """
    if "cut_from" in sample.facets:
        raise FathomError(f"sample {sample.id}: its prompt was truncated, so that some of its parts are missing")
    own = sample.inputs.get("headings")
    waiting = (
        json.loads(own) if isinstance(own, str) else _headings(PROMPTS[sample.language], int(sample.inputs["segments"]))
    )
    pieces: list[str] = []
    for part in sample.parts[:-1]:
        if isinstance(part, str) and waiting and part.endswith(GAP + waiting[0]):
            waiting.pop(0)
            pieces.append("")
        elif pieces:
            pieces[-1] += part if isinstance(part, str) else texts[part.doc][part.start : part.end]
    before, *segments, after = pieces
    return Ordering(before, tuple(segments), after)


def score(reply: str, sample: Sample) -> Score:
    """1 if the order in the reply is the book's; valid if it contains every number once."""
    order = segment_order(reply, len(json.loads(sample.targets[0])))
    written = None if order is None else json.dumps(order)
    return Score(float(written in sample.targets), order is not None, written, "order of segments")


def _task(segments: int) -> Task:
    return Task(
        name="tsort" if segments == SEGMENTS else f"tsort_{segments}",
        title="TSort" if segments == SEGMENTS else f"TSort {segments}",
        plan=partial(plan, segments=segments),
        score=score,
        metric="accuracy",
        # The paper's cap. An order takes a few tokens, but a smaller cap would penalize models that think aloud;
        # replies in the wrong format are counted separately.
        max_output_tokens=1024,
        description=f"the order of {segments} shuffled parts of a book",
        answer="order",
        source="Ada-LEval, section 3 and Table 11",
        pool=partial(pool, segments=segments),
        needs="books in chapters",
        gold=("book",),
        noise=(),
        official="ada/tsort" if segments == SEGMENTS else "",
        ordering=ordering,
        wording=WORDING,
        version=2,
        shortcut="100%: the reverse of the order given, which is never the true one" if segments == 2 else "",
    )


TASKS = tuple(_task(segments) for segments in (SEGMENTS, 2, 3, *range(5, MOST_SEGMENTS + 1)))
