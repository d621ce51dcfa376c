"""Splits books into cases: segments of whole paragraphs and the text around them, within limits for each length."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from math import log2
from pathlib import PurePosixPath
from typing import TypeAlias

from fathom.documents.corpus.books import Book, without_notes
from fathom.types import Counter, Document, Span

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
        document: The book.
        paragraphs: Each paragraph.
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
        segments: Number of segments.
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
