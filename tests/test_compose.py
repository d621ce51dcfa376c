"""Composing, by examples that can be counted by hand, and budgets under tokenizers that merge where they like."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal
from zlib import crc32

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.suites.compose import Composed, CorpusTooSmallError, CountedTexts, UnfitError, compose, compose_alone
from fathom.suites.compose.draft import arrange, merged
from fathom.suites.compose.texts import bounds
from fathom.suites.compose.truncate import cut_sample, truncated
from fathom.tokens.counts import TokenCounter
from fathom.tokens.tokenizers import Tokenizer, get_tokenizer
from fathom.types import (
    Arranged,
    Document,
    Ending,
    FathomError,
    Haystack,
    Layout,
    Measure,
    Needle,
    Part,
    Passages,
    Plan,
    Sample,
    Span,
    Whole,
)
from made import make_document

WHAT = Ending("What?", ("x",), 0.0)


def document(name: str, sentences: int) -> Document:
    """Sentences of five words: "a0 w w w end."."""
    return Document(name, " ".join(f"{name}{number} w w w end." for number in range(sentences)), "made")


def counted_texts(*documents: Document, tokenizer: Tokenizer | None = None) -> CountedTexts:
    counter = TokenCounter(tokenizer or get_tokenizer("words"))
    return CountedTexts({document.id: document for document in documents}, counter)


def wholes(texts: CountedTexts) -> list[Span]:
    return [Span(document.id, 0, len(document.text)) for document in texts.documents.values()]


def text_of(texts: CountedTexts, parts: Sequence[Part]) -> str:
    return "".join(p if isinstance(p, str) else texts.documents[p.doc].text[p.start : p.end] for p in parts)


def sizes(texts: CountedTexts, parts: Sequence[Part]) -> list[str | tuple[str, int]]:
    """Literal text as it is, borrowed text as its document and number of words."""
    return [part if isinstance(part, str) else (part.doc, texts.tokens(part)) for part in parts]


def haystack(*depths: float) -> Haystack:
    return Haystack("Read this.", tuple(Needle(f"Needle {n}.", depth) for n, depth in enumerate(depths)), WHAT)


SENTENCES = counted_texts(document("a", 3), document("b", 2))
LONG = counted_texts(*(document(name, 12) for name in "abcd"))
SHORT = counted_texts(*(document(name, 2) for name in "abcdefg"))
A, B, C, D, E, *_ = wholes(SHORT)


# ---------------------------------------------------------------------------------------------------- running text

AS, BS = ("a0 w w w end.", "a1 w w w end.", "a2 w w w end."), ("b0 w w w end.", "b1 w w w end.")


@pytest.mark.parametrize(
    ("depths", "context"),
    [
        ((), f"{' '.join(AS)}\n\n{' '.join(BS)}"),
        ((0.0,), f"Needle 0.\n\n{' '.join(AS)}\n\n{' '.join(BS)}"),
        ((0.29,), f"{AS[0]} Needle 0. {AS[1]} {AS[2]}\n\n{' '.join(BS)}"),  # 7.25 of 25 words: 5 are nearer than 10
        ((0.31,), f"{AS[0]} {AS[1]} Needle 0. {AS[2]}\n\n{' '.join(BS)}"),
        ((0.59,), f"{' '.join(AS)}\n\nNeedle 0.\n\n{' '.join(BS)}"),
        ((0.6,), f"{' '.join(AS)}\n\nNeedle 0.\n\n{' '.join(BS)}"),
        ((1.0,), f"{' '.join(AS)}\n\n{' '.join(BS)}\n\nNeedle 0."),
        ((1.0, 0.0), f"Needle 1.\n\n{' '.join(AS)}\n\n{' '.join(BS)}\n\nNeedle 0."),
        ((0.4, 0.4, 0.4), f"{AS[0]} {AS[1]} Needle 0. Needle 1. Needle 2. {AS[2]}\n\n{' '.join(BS)}"),
        ((0.0, 0.0), f"Needle 0.\n\nNeedle 1.\n\n{' '.join(AS)}\n\n{' '.join(BS)}"),
        ((0.8, 0.2), f"{AS[0]} Needle 1. {AS[1]} {AS[2]}\n\n{BS[0]} Needle 0. {BS[1]}"),
    ],
)
def test_needles_stand_at_the_sentence_end_nearest_to_their_depth(depths: tuple[float, ...], context: str) -> None:
    draft = arrange(haystack(*depths), wholes(SENTENCES), 25, 0, SENTENCES)
    assert text_of(SENTENCES, draft.parts(SENTENCES.counter)) == f"Read this.\n\n{context}\n\nWhat?"
    assert draft.depth == (depths[0] if len(depths) == 1 else None)
    assert not draft.missing
    assert arrange(haystack(*depths), wholes(SENTENCES), 26, 0, SENTENCES).missing
    assert not arrange(haystack(*depths), wholes(SENTENCES), 26, 1, SENTENCES).missing


@pytest.mark.parametrize(
    ("depth", "context"),
    [
        (0.4, "One two three four.\nNeedle 0.\nFive six  seven\n\neight nine"),
        (0.9, "One two three four.\nFive six  seven\n\neight nine\n\nNeedle 0."),
        (0.7, "One two three four.\nFive six  seven\n\nNeedle 0.\n\neight nine"),
    ],
)
def test_needles_are_set_apart_as_the_text_behind_them_is(depth: float, context: str) -> None:
    texts = counted_texts(Document("t", "One two three four.\nFive six  seven\n\neight nine", "made"))
    draft = arrange(haystack(depth), wholes(texts), 9, 0, texts)
    assert text_of(texts, draft.parts(texts.counter)) == f"Read this.\n\n{context}\n\nWhat?"


def test_a_needle_is_not_set_apart_by_more_than_a_paragraph() -> None:
    texts = counted_texts(Document("t", "One two.\n\n\nThree four.", "made"))
    draft = arrange(haystack(0.5), wholes(texts), 4, 0, texts)
    assert text_of(texts, draft.parts(texts.counter)) == (
        "Read this.\n\nOne two.\n\nNeedle 0.\n\n\nThree four.\n\nWhat?"
    )


def test_needles_in_the_middle_of_something_are_paragraphs() -> None:
    """A text without a sentence end may be cut at a word end every 600 letters."""
    texts = counted_texts(Document("t", " ".join(["river"] * 300), "made"), document("b", 2))
    draft = arrange(haystack(0.3, 0.3, 0.6), wholes(texts), 310, 0, texts)
    first, second, third = (" ".join(["river"] * count) for count in (100, 99, 101))
    assert text_of(texts, draft.parts(texts.counter)) == (
        f"Read this.\n\n{first}\n\nNeedle 0.\n\nNeedle 1.\n\n{second}\n\nNeedle 2.\n\n{third}\n\n"
        "b0 w w w end. b1 w w w end.\n\nWhat?"
    )


def test_without_fillers_there_are_the_needles() -> None:
    draft = arrange(haystack(0.5, 0.2), [], 0, 0, SENTENCES)
    assert text_of(SENTENCES, draft.parts(SENTENCES.counter)) == "Read this.\n\nNeedle 0.\n\nNeedle 1.\n\nWhat?"


@pytest.mark.parametrize(
    ("length", "taken"),
    [
        (65, [("a", 60)]),
        (77, [("a", 36), ("b", 36)]),  # 12 words would be a scrap: the document before gives 24 away
        (88, [("a", 36), ("b", 47)]),
        (89, [("a", 60), ("b", 24)]),
        (126, [("a", 60), ("b", 36), ("c", 25)]),
        (245, [("a", 60), ("b", 60), ("c", 60), ("d", 60)]),
    ],
)
def test_the_last_filler_is_cut_and_no_scrap_is_left(length: int, taken: list[tuple[str, int]]) -> None:
    plan = Haystack("Read this.", (Needle("Needle 0.", 1.0),), WHAT)
    (made,) = compose(plan, length, wholes(LONG), LONG, exact=True)
    assert made.tokens == length
    assert [part for part in sizes(LONG, made.parts) if isinstance(part, tuple)] == taken
    assert made.ending is WHAT
    assert made.depth == 1.0


def test_a_filler_too_short_to_spare_a_scrap_stays_whole() -> None:
    texts = counted_texts(document("a", 9), document("b", 12))  # 45 words: less than two scraps
    (made,) = compose(haystack(1.0), 5 + 45 + 7, wholes(texts), texts, exact=True)
    assert [part for part in sizes(texts, made.parts) if isinstance(part, tuple)] == [("a", 45), ("b", 7)]


def test_prompts_end_with_a_sentence_where_the_budget_need_not_be_filled() -> None:
    assert bounds(1000, exact=True) == (1000, 1000)
    assert bounds(1000, exact=False) == (990, 997)
    assert bounds(250, exact=False) == (248, 250)
    texts = counted_texts(*(document(name, 60) for name in "abcd"))
    (made,) = compose(haystack(0.0), 1000, wholes(texts), texts)
    assert made.tokens == 5 + 3 * 300 + 85  # 88 words are left, and may be three fewer
    assert text_of(texts, made.parts).endswith("end.\n\nWhat?")


@pytest.mark.parametrize(
    ("length", "fillers", "error", "said"),
    [
        (1000, wholes(LONG), CorpusTooSmallError, "755 of 1,000 tokens are missing"),
        (245 + 3, wholes(LONG), CorpusTooSmallError, "3 of 248 tokens are missing"),
        (40, [], CorpusTooSmallError, "35 of 40 tokens are missing"),
    ],
)
def test_a_corpus_that_is_too_small_says_what_is_missing(
    length: int, fillers: list[Span], error: type[FathomError], said: str
) -> None:
    with pytest.raises(error) as caught:
        compose(haystack(0.5), length, fillers, LONG)
    assert str(caught.value) == f"the corpus is too small: {said} (duplicate passages count once)"


def test_one_percent_of_a_budget_may_be_missing() -> None:
    texts = counted_texts(document("a", 98))
    (made,) = compose(haystack(0.5), 500, wholes(texts), texts)
    assert made.tokens == 495


def test_a_budget_below_what_must_stand_there_says_how_much_that_is() -> None:
    (made,) = compose(haystack(0.5), 5, wholes(LONG), LONG)
    assert text_of(LONG, made.parts) == "Read this.\n\nNeedle 0.\n\nWhat?"
    with pytest.raises(FathomError) as caught:
        compose(haystack(0.5), 4, wholes(LONG), LONG)
    assert str(caught.value) == "4 tokens are too few: the question and its gold text alone take 5"


# -------------------------------------------------------------------------------------------------- numbered passages


def passages(
    gold: Sequence[tuple[Span, float]],
    *,
    copies: tuple[int, ...] = (),
    shuffle: tuple[tuple[float, ...], ...] = (),
    endings: tuple[Ending, ...] = (WHAT,),
    layouts: list[Layout] | None = None,
) -> Passages:
    def finish(layout: Layout) -> tuple[Ending, ...]:
        if layouts is not None:
            layouts.append(layout)
        return endings

    return Passages("Read.", "P{number}:\n", tuple(gold), finish, copies, shuffle)


@pytest.mark.parametrize(
    ("gold", "order", "depth"),
    [
        ([(A, 0.0)], "acde", 0.0),
        ([(A, 0.24)], "acde", 0.0),
        ([(A, 0.26)], "cade", 1 / 3),  # as if a fourth passage followed: each of four places is as likely
        ([(A, 0.5)], "cdae", 2 / 3),
        ([(A, 1.0)], "cdea", 1.0),
        ([(A, 0.5), (B, 0.5)], "cdabe", None),
        ([(A, 1.0), (B, 0.0)], "bcdea", None),
    ],
)
def test_gold_passages_stand_at_their_depths_among_the_others(
    gold: list[tuple[Span, float]], order: str, depth: float | None
) -> None:
    layouts: list[Layout] = []
    draft = arrange(passages(gold, layouts=layouts), [C, D, E], 33, 0, SHORT)
    texts = [f"\n\nP{n}:\n{SHORT.documents[name].text}" for n, name in enumerate(order, start=1)]
    assert text_of(SHORT, draft.parts(SHORT.counter)) == f"Read.{''.join(texts)}\n\nWhat?"
    assert draft.depth == (None if depth is None else pytest.approx(depth))
    assert not draft.missing
    assert draft.fillers == (C, D, E)
    (layout,) = layouts
    assert [span.doc for span in layout.spans] == list(order)
    assert layout.gold == tuple(place for place, name in enumerate(order) if name in "ab")
    assert layout.fillers == tuple("cde".find(name) for name in order)
    assert arrange(passages(gold), [C, D, E], 34, 0, SHORT).missing
    assert [span.doc for span in arrange(passages(gold), [C, D, E], 22, 0, SHORT).fillers] == ["c", "d"]


def test_gold_passages_alone_have_no_depth() -> None:
    draft = arrange(passages([(A, 0.5)]), [], 0, 0, SHORT)
    assert sizes(SHORT, draft.body) == ["Read.", "\n\nP1:\n", ("a", 10)]
    assert draft.depth is None


@pytest.mark.parametrize(
    ("copies", "shuffle", "room", "order"),
    [
        ((2, 1, 3), (), 66, "ccdaeee"),
        ((2, 1, 3), ((0.1, 0.9), (0.5,), (0.0, 0.6, 1.0)), 66, "ecdaece"),
        ((1, 1, 1), ((0.9,), (0.5,), (0.1,)), 33, "edac"),
        ((5, 1), (), 33, "ccac"),  # as many copies as there is room for
        ((2, 2), (), 22, "cac"),
    ],
)
def test_copies_are_taken_as_often_as_asked_and_mixed_as_asked(
    copies: tuple[int, ...], shuffle: tuple[tuple[float, ...], ...], room: int, order: str
) -> None:
    layouts: list[Layout] = []
    plan = passages([(A, 0.5)], copies=copies, shuffle=shuffle, layouts=layouts)
    arrange(plan, [C, D, E][: len(copies)], room, 0, SHORT)
    assert "".join(span.doc for span in layouts[0].spans) == order
    assert layouts[0].fillers == tuple("cde".find(name) for name in order)


def test_a_copy_that_is_cut_stands_once() -> None:
    draft = arrange(passages([], copies=(3, 3)), [C, D], 40, 0, SHORT)
    assert [part for part in sizes(SHORT, draft.body) if isinstance(part, tuple)] == [("c", 10)] * 3 + [("d", 6)]
    # Of a passage that stands more than once no copy is made shorter.
    long = counted_texts(document("a", 20), document("b", 20))
    draft = arrange(passages([], copies=(2, 1)), wholes(long), 202 + 5, 0, long)
    assert [part for part in sizes(long, draft.body) if isinstance(part, tuple)] == [("a", 100), ("a", 100), ("b", 4)]


def test_a_passage_of_which_not_a_word_fits_is_left_out() -> None:
    draft = arrange(passages([]), [C, D], 12, 0, SHORT)
    assert [part for part in sizes(SHORT, draft.body) if isinstance(part, tuple)] == [("c", 10)]
    assert draft.fillers == (C,)
    assert not draft.missing


# -------------------------------------------------------------------------------------------------- several questions


def test_questions_over_one_context_differ_in_where_its_last_filler_ends() -> None:
    endings = tuple(Ending(text, ("x",), 0.0) for text in ("What is it, and why so long?", "What?", "Which one?"))
    gold = Span("a", 0, 20)
    made = compose(passages([(gold, 0.4)], endings=endings), 150, wholes(LONG)[1:], LONG, exact=True)
    assert [one.ending for one in made] == list(endings)
    assert [one.tokens for one in made] == [150] * 3
    assert [one.depth for one in made] == pytest.approx([60 / 136] * 3)
    for one, last, ending in zip(made, (34, 40, 39), endings, strict=True):
        assert sizes(LONG, one.parts) == [
            "Read.\n\nP1:\n", ("b", 60), "\n\nP2:\n", ("a", 8), "\n\nP3:\n", ("c", 36), "\n\nP4:\n", ("d", last),
            f"\n\n{ending.question}",
        ]  # fmt: skip


def test_a_question_for_which_there_is_room_takes_nothing_from_the_context() -> None:
    """From 693 to 700 tokens all is well: only the last question is too long for that, and costs a sentence."""
    texts = counted_texts(*(document(name, 60) for name in "abcd"))
    questions = ("What is it, and why so long?", "What?", "Which one?", "why " * 9)
    endings = tuple(Ending(text, ("x",), 0.0) for text in questions)
    made = compose(passages([(Span("a", 0, 20), 0.4)], endings=endings), 700, wholes(texts)[1:], texts)
    assert [one.tokens for one in made] == [700, 694, 695, 697]
    taken = [[part[1] for part in sizes(texts, one.parts) if isinstance(part, tuple)] for one in made]
    assert taken == [[300, 8, 300, last] for last in (80, 80, 80, 75)]


def test_the_last_filler_that_can_spare_it_ends_earlier() -> None:
    """Of 40 words the last passage cannot spare 21; nor of 36 the one before; of 60 the first can."""
    endings = (WHAT, Ending("why " * 22, ("x",), 0.0))
    made = compose(passages([(Span("a", 0, 20), 0.4)], endings=endings), 150, wholes(LONG)[1:], LONG, exact=True)
    taken = [[part for part in sizes(LONG, one.parts) if isinstance(part, tuple)] for one in made]
    assert taken == [
        [("b", 60), ("a", 8), ("c", 36), ("d", 40)],
        [("b", 39), ("a", 8), ("c", 36), ("d", 40)],
    ]


def test_a_question_that_no_filler_can_make_room_for_has_a_context_of_its_own() -> None:
    endings = (WHAT, Ending("why " * 60, ("x",), 0.0))
    made = compose(passages([(Span("a", 0, 20), 0.4)], endings=endings), 150, wholes(LONG)[1:], LONG, exact=True)
    assert [one.ending for one in made] == list(endings)
    taken = [part for part in sizes(LONG, made[1].parts) if isinstance(part, tuple)]
    assert taken == [("b", 36), ("a", 8), ("c", 42)]
    assert [one.tokens for one in made] == [150, 150]


def test_gold_passages_alone_make_a_prompt_for_each_question() -> None:
    endings = (WHAT, Ending("Which one of all?", ("y",), 0.0))
    made = compose_alone(passages([(B, 0.9), (A, 0.1)], endings=endings), SHORT)
    assert [sizes(SHORT, one.parts) for one in made] == [
        ["Read.\n\nP1:\n", ("a", 10), "\n\nP2:\n", ("b", 10), f"\n\n{ending.question}"] for ending in endings
    ]
    assert [(one.tokens, one.ending, one.depth) for one in made] == [(24, endings[0], None), (27, endings[1], None)]


def test_neighbouring_strings_become_one_part_and_empty_ones_none() -> None:
    assert merged(["", "a", "", "b", A, "", "c", B, C, ""]) == ("ab", A, "c", B, C)
    assert merged([]) == ()


# -------------------------------------------------------------------------------------------------------- whole texts


def whole(
    parts: Sequence[Part] | None,
    over: float = 0.0,
    cut: Literal["never", "tidy", "even"] = "never",
    question: Ending = WHAT,
) -> tuple[Whole, list[int]]:
    asked: list[int] = []
    ending = replace(question, facets={"kind": "k"})

    def made(length: int, measure: Measure) -> Arranged | None:
        asked.append(length)
        return None if parts is None else Arranged(tuple(parts), ending, 0.25)

    return Whole(made, over, cut), asked


def test_whole_texts_stand_as_they_are_where_they_fit() -> None:
    parts: list[Part] = ["Read. ", "All.\n\n", *wholes(SENTENCES), "\n\nWhat?"]
    plan, asked = whole(parts)
    (made,) = compose(plan, 28, [], SENTENCES)
    assert asked == [28]
    assert (made.parts, made.tokens, made.depth) == (merged(parts), 27, 0.25)
    assert made.ending.facets == {"kind": "k"}
    with pytest.raises(UnfitError, match=r"^its texts take 27 tokens$"):
        compose(plan, 26, [], SENTENCES)
    (over,) = compose(whole(parts, over=0.1)[0], 25, [], SENTENCES)
    assert over.tokens == 27
    assert compose(whole(parts, over=math.inf)[0], 1, [], SENTENCES)[0].tokens == 27
    with pytest.raises(UnfitError, match=r"^no whole texts fill this length$"):
        compose(whole(None)[0], 30, [], SENTENCES)


@pytest.mark.parametrize(
    ("cut", "exact", "kept"),
    [
        ("tidy", False, [("a", 45), ("a", 52)]),
        ("tidy", True, [("a", 45), ("a", 53)]),
        ("even", False, [("a", 49), ("a", 49)]),
    ],
)
def test_whole_texts_lose_their_middle_where_their_plan_allows_it(
    cut: Literal["tidy", "even"], exact: bool, kept: list[tuple[str, int]]
) -> None:
    texts = counted_texts(document("a", 60))
    plan, _ = whole(["Read. ", *wholes(texts), "\n\nWhat?"], cut=cut)
    (made,) = compose(plan, 100, [], texts, exact=exact)
    assert [part for part in sizes(texts, made.parts) if isinstance(part, tuple)] == kept
    assert made.tokens == 2 + sum(size for _, size in kept)
    assert made.ending.facets == {"kind": "k", "whole_tokens": 302}
    assert made.depth == 0.25
    long, _ = whole(["Read. " * 200, *wholes(texts), "\n\nWhat?"], cut=cut)
    with pytest.raises(UnfitError, match=r"^its texts take 501 tokens$"):
        compose(long, 100, [], texts)


# ------------------------------------------------------------------------------------------------------- cut prompts

SIXTY = counted_texts(document("a", 60), document("b", 60))
FIRST, SECOND = wholes(SIXTY)


CUT_PROMPT: tuple[Part, ...] = ("Read.\n\n", FIRST, "\n\nWhat?")
HEADED: tuple[Part, ...] = ("Read.\n\n", "P1:\n", FIRST, "\n\nP2: " + "h " * 20 + "\n", SECOND, "\n\nWhat?")


@pytest.mark.parametrize(
    ("prompt", "length", "options", "kept"),
    [
        (CUT_PROMPT, 302, {}, [("a", 300)]),
        (CUT_PROMPT, 301, {}, [("a", 145), ("a", 152)]),  # 99% of the budget do where they end with a sentence
        (CUT_PROMPT, 202, {}, [("a", 100), ("a", 99)]),
        (CUT_PROMPT, 202, {"exact": True}, [("a", 100), ("a", 100)]),
        (CUT_PROMPT, 101, {}, [("a", 45), ("a", 53)]),  # six of the first 50 words may be left out to end well
        (CUT_PROMPT, 101, {"exact": True, "even": True}, [("a", 49), ("a", 50)]),
        (CUT_PROMPT, 11, {"exact": True}, [("a", 4), ("a", 5)]),
        (CUT_PROMPT, 3, {"exact": True}, [("a", 1)]),
        (CUT_PROMPT, 2, {}, []),
        (CUT_PROMPT, 1, {}, None),
        (HEADED, 80, {}, [("a", 35), ("b", 42)]),
        (HEADED, 600, {}, [("a", 295), ("b", 298)]),
        (HEADED, 625, {}, [("a", 300), ("b", 300)]),
    ],
)
def test_a_cut_prompt_is_a_beginning_and_an_end(
    prompt: tuple[Part, ...], length: int, options: dict[str, bool], kept: list[tuple[str, int]] | None
) -> None:
    cut = truncated(prompt, "What?", length, SIXTY, **options)
    assert (cut and [part for part in sizes(SIXTY, cut) if isinstance(part, tuple)]) == kept
    if cut is not None:
        text, full = text_of(SIXTY, cut), text_of(SIXTY, prompt)
        assert SIXTY.counter.tokenizer.count(text) <= length
        seam = next((n for n, pair in enumerate(zip(text, full, strict=False)) if len(set(pair)) > 1), len(text))
        assert full.endswith(text[seam:])
        assert text.startswith("Read.\n\n")
        assert text.endswith("\n\nWhat?")


@pytest.mark.parametrize(
    ("length", "kept"),
    [
        (2, ""),
        (3, " w"),
        (4, "a0 w"),
        (7, "a0 w a3 w w"),
        (8, "a0 w w a3 w w"),
        (12, "a0 w w w end. w end. a3 w w"),
        (20, "a0 w w w end. a1 w w w end. a2 w w w end. a3 w w"),
    ],
)
def test_a_text_that_ends_within_a_sentence_is_cut_between_its_words(length: int, kept: str) -> None:
    prompt: tuple[Part, ...] = ("Read.\n\n", Span("a", 0, 48), "\n\nWhat?")
    cut = truncated(prompt, "What?", length, SIXTY)
    assert cut is not None
    assert text_of(SIXTY, cut) == f"Read.\n\n{kept}\n\nWhat?"


def test_where_a_heading_is_too_long_the_beginning_takes_what_the_end_could_not() -> None:
    """Of the second passage all would fit beside half the first, and its heading of 101 words would not."""
    short = Span("b", 0, 27)
    prompt: tuple[Part, ...] = ("Read.\n\n", FIRST, "\n\nP2: " + "h " * 100 + "\n", short, "\n\nWhat?")
    cut = truncated(prompt, "What?", 202, SIXTY)
    assert cut is not None
    assert sizes(SIXTY, cut) == ["Read.\n\n", ("a", 190), ("b", 9), "\n\nWhat?"]


def test_a_cut_sample_is_the_sample_over_less() -> None:
    sample = Sample(
        id="item@302", item="item", task="kv", parts=CUT_PROMPT, targets=("x",), length=302, tokens=302,
        chance=0.25, facets={"depth": 0.5}, thinking="Think.", thinking_tokens=1,
    )  # fmt: skip
    cut = cut_sample(sample, "What?", 202, SIXTY)
    assert cut is not None
    expected = truncated(CUT_PROMPT, "What?", 202, SIXTY)
    assert expected is not None
    assert cut == replace(
        sample, id="item@302/cut202", parts=expected, length=202, tokens=201,
        facets={"depth": 0.5, "cut_from": 302}, thinking="", thinking_tokens=0,
    )  # fmt: skip
    exact = cut_sample(sample, "What?", 202, SIXTY, exact=True)
    assert exact is not None
    assert exact.tokens == 202
    assert cut_sample(sample, "What?", 1, SIXTY) is None


# ------------------------------------------------------------------------------- tokenizers that merge where they like


@dataclass(frozen=True)
class Hostile:
    """A tokenizer of which only the count is known, as a function of the whole text."""

    name: str
    counted: Callable[[str], int]

    @property
    def fingerprint(self) -> str:
        return self.name

    def count(self, text: str) -> int:
        return self.counted(text)

    def head(self, text: str, tokens: int) -> str:
        raise NotImplementedError

    def tail(self, text: str, tokens: int) -> str:
        raise NotImplementedError


def by(pattern: str) -> Callable[[str], int]:
    return lambda text: len(re.findall(pattern, text, re.DOTALL))


HOSTILE = {
    # A sentence end and the next word are one token, and so are it and all line ends that follow.
    "over every seam": by(r"[.!?:] +\w+|\W?\n+|\w+|[^\w\s]| +"),
    # From the first place on, whatever is put before it shifts all tokens.
    "in blocks": lambda text: -(-len(text) // 7),
    "in pairs of words": by(r"\S+\s+\S+|\S+"),
    # A letter more can be many tokens fewer.
    "at random": lambda text: len(text.split()) + (crc32(text.encode()) % 9 if text else 0),
}
HOSTILE_SHELVES = {
    name: counted_texts(*(make_document(seed) for seed in range(12)), tokenizer=Hostile(name, count))
    for name, count in {**HOSTILE, "chars": len}.items()
}


def plan_of(kind: str, texts: CountedTexts, depth: float, words: int) -> Plan:
    question = Ending("Why? " + "why " * words, ("x",), 0.0)
    documents = wholes(texts)
    if kind == "running text":
        return Haystack("Read this.", (Needle("A needle.", depth), Needle("Another.", 1 - depth)), question)
    if kind == "passages":
        return passages(
            [(replace(documents[0], end=150), depth)], endings=(question, WHAT, Ending("Who? When?", (), 0.0))
        )
    parts = ["Read all of it.\n", *(part for span in documents for part in ("\n\nNext:\n", span)), question.question]
    return whole(parts, cut="tidy" if kind == "tidy" else "even", question=question)[0]


def assert_all_there(kind: str, texts: CountedTexts, made: Composed) -> None:
    """A prompt has its beginning, its question, its needles or gold passage once, and its passages are numbered."""
    text = text_of(texts, made.parts)
    assert text.endswith(made.ending.question)
    if kind == "running text":
        assert text.startswith("Read this.\n\n")
        assert (text.count("A needle."), text.count("Another.")) == (1, 1)
        assert text.endswith("\n\n" + made.ending.question)
    elif kind == "passages":
        assert text.startswith("Read.\n\nP1:\n")
        spans = [part for part in made.parts if isinstance(part, Span)]
        assert re.findall(r"P(\d+):\n", text) == [str(number) for number in range(1, len(spans) + 1)]
        assert spans.count(replace(wholes(texts)[0], end=150)) == 1
        assert text.endswith("\n\n" + made.ending.question)
    else:
        assert text.startswith("Read all of it.\n")


@pytest.mark.parametrize("name", sorted(HOSTILE))
@given(
    kind=st.sampled_from(["running text", "passages", "tidy", "even"]),
    length=st.integers(150, 1500),
    depth=st.floats(0, 1),
    words=st.integers(0, 30),
    seed=st.integers(0, 99),
)
@settings(max_examples=25)
def test_no_prompt_exceeds_an_exact_budget_whatever_is_merged(
    name: str, kind: str, length: int, depth: float, words: int, seed: int
) -> None:
    texts = HOSTILE_SHELVES[name]
    fillers = wholes(texts)[1:]
    Random(seed).shuffle(fillers)
    try:
        made = compose(plan_of(kind, texts, depth, words), length, fillers, texts, exact=True)
    except FathomError:  # that no prompt of this length was found is no prompt that is too long
        assert name != "over every seam"
        return
    for one in made:
        assert texts.counter.tokenizer.count(text_of(texts, one.parts)) == one.tokens <= length
        assert_all_there(kind, texts, one)
        if kind != "tidy" and kind != "even":
            assert one.tokens >= 0.99 * length


@given(
    kind=st.sampled_from(["running text", "passages", "tidy", "even"]),
    length=st.integers(150, 1500),
    depth=st.floats(0, 1),
    words=st.integers(0, 30),
)
@settings(max_examples=40)
def test_no_prompt_exceeds_its_budget_where_tokens_reach_over_every_seam(
    kind: str, length: int, depth: float, words: int
) -> None:
    texts = HOSTILE_SHELVES["over every seam"]
    for one in compose(plan_of(kind, texts, depth, words), length, wholes(texts)[1:], texts):
        assert texts.counter.tokenizer.count(text_of(texts, one.parts)) == one.tokens <= length
        assert_all_there(kind, texts, one)


def fits(texts: CountedTexts, made: Composed) -> int:
    """Tokens of a prompt, which are those it says it has."""
    tokens = texts.counter.tokenizer.count(text_of(texts, made.parts))
    assert tokens == made.tokens
    return tokens


@pytest.mark.parametrize(
    ("name", "length"),
    [("in blocks", 150), ("in blocks", 206), ("in pairs of words", 220), ("at random", 150)],
)
@pytest.mark.parametrize("depth", [0.3, 0.95])
def test_a_cut_passage_is_made_longer_letter_by_letter_where_the_search_jumps_over_the_length(
    name: str, length: int, depth: float
) -> None:
    texts = HOSTILE_SHELVES[name]
    made = compose(plan_of("passages", texts, depth, 3), length, wholes(texts)[1:], texts, exact=True)
    assert [fits(texts, one) for one in made] == [length] * 3
    for one in made:
        assert_all_there("passages", texts, one)
    # One context: the passages are the same, and but for the last filler they end where they did.
    gold = replace(wholes(texts)[0], end=150)
    spans = [[part for part in one.parts if isinstance(part, Span) and part != gold] for one in made]
    assert len({tuple((span.doc, span.start) for span in found) for found in spans}) == 1
    assert len({tuple(span.end for span in found[:-1]) for found in spans}) == 1


def test_running_text_comes_as_near_to_its_length_as_words_allow() -> None:
    """Each word with its space is two tokens there, and 195 is reached by none."""
    texts = HOSTILE_SHELVES["over every seam"]
    fillers = wholes(texts)[1:]
    Random(30).shuffle(fillers)
    (made,) = compose(plan_of("running text", texts, 0.65625, 26), 195, fillers, texts, exact=True)
    assert fits(texts, made) == 194


def test_gold_is_never_made_longer_to_fill_a_budget() -> None:
    """Beside 150 letters of gold there is no room for the heading of another passage, and 5 letters are missing."""
    texts = HOSTILE_SHELVES["chars"]
    with pytest.raises(FathomError) as caught:
        compose(plan_of("passages", texts, 0.3, 3), 185, wholes(texts)[1:], texts)
    assert str(caught.value) == "no document of the corpus can be truncated to fit: 5 of 185 tokens are missing"


def test_running_text_is_made_longer_behind_its_last_needle() -> None:
    draft = arrange(haystack(0.2, 0.5), [Span("a", 0, 41), Span("b", 0, 13)], 20, 0, SENTENCES)
    assert [sizes(SENTENCES, [span]) for span in draft.fillers] == [[("a", 5)], [("b", 5)]]
    assert [(span.start, span.end) for span in draft.fillers] == [(27, 41), (0, 13)]


@pytest.mark.parametrize(
    ("name", "length", "even"),
    [
        ("over every seam", 852, True),
        ("over every seam", 522, False),
        ("in blocks", 797, False),
        ("at random", 104, True),
        ("at random", 192, False),
        ("at random", 280, False),
    ],
)
def test_a_cut_prompt_is_made_longer_letter_by_letter_too(name: str, length: int, even: bool) -> None:
    texts = HOSTILE_SHELVES[name]
    heading = "\n\nNext one of them is this, a long heading:\n"
    prompt = ("Read all of it.\n", *(part for span in wholes(texts) for part in (heading, span)), "\n\nWhy? why why")
    cut = truncated(prompt, "Why? why why", length, texts, exact=True, even=even)
    assert cut is not None
    text, full = text_of(texts, cut), text_of(texts, prompt)
    assert texts.counter.tokenizer.count(text) == length
    assert any(text[:seam] == full[:seam] and full.endswith(text[seam:]) for seam in range(len(text)))


def test_a_passage_of_which_not_a_letter_fits_is_left_out() -> None:
    """A word, or a part of one, is three tokens: of the second passage there would be its heading and nothing else."""
    texts = counted_texts(
        document("c", 2), document("d", 2), tokenizer=Hostile("dear", lambda text: 3 * len(text.split()))
    )
    for room, taken in ((38, [30]), (39, [30, 3]), (41, [30, 3])):
        draft = arrange(passages([]), [C, D], room, 0, texts)
        assert [texts.tokens(span) for span in draft.fillers] == taken


def test_whole_texts_that_fit_only_by_their_pieces_do_not_fit_an_exact_budget() -> None:
    """A text of 40 letters is one token, and so are two of them; in a run beyond 100 letters each is one."""
    counted = by(r"(?<!x)x{1,100}(?!x)|x|[^\sx]+")
    documents = [Document(f"x{number}", "x" * 40, "made") for number in range(6)]
    texts = counted_texts(*documents, tokenizer=Hostile("runs", counted))
    plan, _ = whole(["Read. ", *wholes(texts), "\n\nWhat?"])
    (made,) = compose(plan, 300, [], texts, exact=True)
    assert made.tokens == 242
    assert texts.measure(made.parts) < 242
    with pytest.raises(UnfitError, match=r"^its texts take 242 tokens$"):
        compose(plan, 241, [], texts, exact=True)
