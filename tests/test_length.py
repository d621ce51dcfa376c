from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_calls import configure
from fathom.suites.build import build
from fathom.suites.compose import CountedTexts, compose
from fathom.suites.suitefile import open_suite
from fathom.tokens.counts import TokenCounter
from fathom.tokens.length import format_length, named_lengths, parse_length, question_part, render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Ending, FathomError, Haystack, Layout, Needle, Part, Passages, Sample, Span
from made import make_document, write_corpus

EVERY_TASK = (
    "kv_retrieval,counting_stars,counting_stars_corrected,passkey,passkey_100,"
    "passage_count,passage_retrieval,single_doc_qa"
)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("256", 256), ("8k", 8192), ("1.5k", 1536), ("1m", 1048576), (" 128K ", 131072), ("2_000_000", 2000000)],
)
def test_lengths_are_read_as_people_write_them(text: str, tokens: int) -> None:
    assert parse_length(text) == tokens


@pytest.mark.parametrize("text", ["", "8kb", "-1", "255", "3m", "2000001", "0.3k", "a", "1e5"])
def test_impossible_lengths_are_explained(text: str) -> None:
    with pytest.raises(FathomError, match="length"):
        parse_length(text)


@given(st.integers(256, 2_000_000))
def test_names_of_lengths_read_back(tokens: int) -> None:
    assert parse_length(format_length(tokens)) == tokens


def shelf_of(count: int, tokenizer: str, language: str = "en") -> CountedTexts:
    documents = [make_document(seed, language) for seed in range(count)]
    return CountedTexts({document.id: document for document in documents}, TokenCounter(get_tokenizer(tokenizer)))


def whole(texts: CountedTexts) -> list[Span]:
    return [Span(document.id, 0, len(document.text)) for document in texts.documents.values()]


def text_of(texts: CountedTexts, parts: tuple[str | Span, ...]) -> str:
    return "".join(p if isinstance(p, str) else texts.documents[p.doc].text[p.start : p.end] for p in parts)


def haystack(depths: list[float]) -> Haystack:
    needles = tuple(Needle(f"Needle {number} is hidden here.", depth) for number, depth in enumerate(depths))
    return Haystack("Read this.", needles, Ending("What was hidden?", ("all",), 0.0))


@cache
def stocked(tokenizer: str, language: str) -> CountedTexts:
    """The documents that most tests compose from, made by the first of them."""
    return shelf_of(60, tokenizer, language)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("tokenizer", ["tekken", "words", "chars"])
@given(
    length=st.integers(256, 4000),
    depths=st.lists(st.floats(0, 1), min_size=1, max_size=4),
    seed=st.integers(0, 10**6),
    exact=st.booleans(),
)
@settings(max_examples=30)
def test_running_text_fills_its_budget(
    tokenizer: str, language: str, length: int, depths: list[float], seed: int, exact: bool
) -> None:
    texts = stocked(tokenizer, language)
    fillers = whole(texts)
    Random(seed).shuffle(fillers)
    (made,) = compose(haystack(depths), length, fillers, texts, exact=exact)
    text = text_of(texts, made.parts)
    tokens = texts.counter.tokenizer.count(text)
    assert tokens == made.tokens
    assert 0.99 * length <= tokens <= length
    if exact and tokenizer != "tekken":
        assert tokens == length
    for number in range(len(depths)):
        assert text.count(f"Needle {number} is hidden here.") == 1


def passages(gold: tuple[tuple[Span, float], ...], copies: tuple[int, ...] = ()) -> Passages:
    def finish(layout: Layout) -> tuple[Ending, ...]:
        question = f"There are {len(layout.spans)}. Which are gold?"
        return (Ending(question, tuple(str(g + 1) for g in layout.gold), 0.0),)

    shuffle = tuple((0.1 * (n % 7), 0.5, 0.9) for n in range(len(copies)))
    return Passages("Read these.", "Passage {number}:\n", gold, finish, copies, shuffle)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("tokenizer", ["tekken", "words", "chars"])
@given(length=st.integers(1500, 6000), depth=st.floats(0, 1), seed=st.integers(0, 10**6), repeat=st.booleans())
@settings(max_examples=25)
def test_passages_fill_their_budget_and_hold_gold_at_its_number(
    tokenizer: str, language: str, length: int, depth: float, seed: int, repeat: bool
) -> None:
    texts = stocked(tokenizer, language)
    order_ = whole(texts)
    Random(seed).shuffle(order_)
    gold, fillers = order_[0], order_[1:]
    gold = Span(gold.doc, 0, min(gold.end, 200))
    copies = tuple(1 + (seed + n) % 3 for n in range(len(fillers))) if repeat else ()
    (made,) = compose(passages(((gold, depth),), copies), length, fillers, texts)
    text = text_of(texts, made.parts)
    assert 0.99 * length <= texts.counter.tokenizer.count(text) <= length
    number = int(made.ending.targets[0])
    after = text.split(f"Passage {number}:\n")[1]
    assert after.startswith(texts.documents[gold.doc].text[gold.start : gold.end])


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["tekken", "words", "chars"])
@given(
    length=st.integers(2000, 6000),
    depth=st.floats(0, 1),
    seed=st.integers(0, 10**6),
    sizes=st.lists(st.integers(1, 60), min_size=2, max_size=4),
    exact=st.booleans(),
)
@settings(max_examples=25)
def test_questions_over_one_context_share_it_and_fill_the_budget(
    tokenizer: str, length: int, depth: float, seed: int, sizes: list[int], exact: bool
) -> None:
    texts = stocked(tokenizer, "en")
    order_ = whole(texts)
    Random(seed).shuffle(order_)
    gold, fillers = Span(order_[0].doc, 0, 200), order_[1:]
    questions = tuple(Ending(f"Question {n}? " + "why " * size, ("x",), 0.0) for n, size in enumerate(sizes))
    plan = Passages("Read these.", "Passage {number}:\n", ((gold, depth),), lambda layout: questions)
    made = compose(plan, length, fillers, texts, exact=exact)
    prompts = [text_of(texts, one.parts) for one in made]
    for text, question in zip(prompts, questions, strict=True):
        assert text.endswith(question.question)
        assert 0.99 * length <= texts.counter.tokenizer.count(text) <= length
        if exact and tokenizer != "tekken":
            assert texts.counter.tokenizer.count(text) == length
    bodies = [text.removesuffix(question.question) for text, question in zip(prompts, questions, strict=True)]
    # They differ by where the passage that fills the budget ends, and in nothing else.
    assert len({tuple(body.count(f"Passage {n}:") for n in range(40)) for body in bodies}) == 1
    longest = max(bodies, key=len)
    for body in bodies:
        shared = next((n for n, pair in enumerate(zip(body, longest, strict=False)) if len(set(pair)) > 1), len(body))
        assert longest[shared:].endswith(body[shared:])
    assert len(longest) - min(map(len, bodies)) < 12 * max(sizes) + 0.02 * len(longest)


@given(depth=st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), length=st.integers(2000, 8000))
@settings(max_examples=20)
def test_a_needle_lies_at_its_depth(depth: float, length: int) -> None:
    texts = stocked("tekken", "en")
    (made,) = compose(haystack([depth]), length, whole(texts), texts)
    before, _, after = text_of(texts, made.parts).partition("Needle 0 is hidden here.")
    found = len(before) / (len(before) + len(after))
    assert abs(found - depth) < 0.05


def test_a_corpus_that_runs_out_says_how_many_tokens_are_missing() -> None:
    texts = shelf_of(3, "words")
    available = sum(texts.counter.size(document) for document in texts.documents.values())
    with pytest.raises(FathomError, match=r"too small: [\d,]+ of 9,000 tokens are missing") as caught:
        compose(haystack([0.5]), 9000, whole(texts), texts)
    missing = int(str(caught.value).split(": ")[1].split(" of")[0].replace(",", ""))
    assert abs(missing - (9000 - available)) < 60


def test_a_length_below_the_question_is_explained() -> None:
    texts = stocked("words", "en")
    plan = Haystack("Read this. " * 200, (Needle("needle", 0.5),), Ending("What?", ("x",), 0.0))
    with pytest.raises(FathomError, match="too few"):
        compose(plan, 300, whole(texts), texts)


@pytest.mark.slow
@pytest.mark.parametrize("tokenizer", ["tekken", "words", "chars"])
def test_every_prompt_of_a_built_suite_is_within_its_budget(tmp_path: Path, tokenizer: str) -> None:
    corpus = write_corpus(tmp_path, 120, ("en", "zh"))
    lengths = (1500, 2048, 6000)
    wanted = configure(EVERY_TASK, corpus=(str(corpus),), lengths=lengths, items=3, tokenizer=tokenizer)
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    texts, engine = suite.texts(), get_tokenizer(tokenizer)
    seen: dict[str, set[int]] = {}
    for sample in suite.samples():
        tokens = engine.count(render(sample, texts))
        assert tokens == sample.tokens
        assert 0.99 * sample.length <= tokens <= sample.length, sample.id
        seen.setdefault(sample.item, set()).add(sample.length)
    assert len(seen) == 8 * 2 * 3
    assert all(found == set(lengths) for found in seen.values())


@pytest.mark.slow
def test_lengths_of_an_item_are_nested(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 150)
    wanted = configure(EVERY_TASK, corpus=(str(corpus),), lengths=(1500, 3000, 6000), items=2)
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    borrowed: dict[str, list[list[str]]] = {}
    for sample in suite.samples():
        docs = list(dict.fromkeys(part.doc for part in sample.parts if isinstance(part, Span)))
        borrowed.setdefault(sample.item, []).append(docs)
    for item, (short, middle, long) in borrowed.items():
        # The last filler of a shorter length is cut, and a scrap may have been left out; all others are there again.
        assert set(short) <= set(middle) <= set(long), item
        assert len(short) < len(long)


@pytest.mark.slow
def test_prompts_of_odd_texts_are_within_their_budget_too(tmp_path: Path) -> None:
    import json

    from test_counts import ODD

    corpus = tmp_path / "odd.jsonl"
    rows = [{"text": f"{kind} {n}: {text[7 * n :]}"} for kind, text in ODD.items() for n in range(3)]
    corpus.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    wanted = configure(
        "passkey,counting_stars,passage_count", corpus=[str(corpus)], lengths=[1024, 8192], items=4, languages=["en"]
    )
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    texts, engine = suite.texts(), get_tokenizer("tekken")
    for sample in suite.samples():
        assert 0.99 * sample.length <= engine.count(render(sample, texts)) <= sample.length, sample.id


def test_needles_in_text_without_sentence_ends_are_paragraphs_of_their_own() -> None:
    from fathom.documents.corpus import document_id
    from fathom.types import Document

    text = "river market tower " * 2000
    made = Document(document_id(text.strip()), text.strip(), "made")
    texts = CountedTexts({made.id: made}, TokenCounter(get_tokenizer("words")))
    (found,) = compose(haystack([0.3, 0.3, 0.7]), 3000, whole(texts), texts)
    body = text_of(texts, found.parts)
    assert body.count("\n\nNeedle 0 is hidden here.\n\nNeedle 1 is hidden here.\n\n") == 1
    assert body.count("\n\nNeedle 2 is hidden here.\n\n") == 1
    assert "\n\n\n" not in body
    assert 2970 <= get_tokenizer("words").count(body) <= 3000
    for number in range(3):
        body = body.replace(f"Needle {number} is hidden here.", "")
    assert set(body.split()) == {"Read", "this.", "river", "market", "tower", "What", "was", "hidden?"}
    assert [a + b for a, b in zip(body.split()[2:], body.split()[3:], strict=False)].count("rivertower") == 0


def test_many_lengths_are_named_by_the_first_ones_and_the_last() -> None:
    assert named_lengths([]) == "none"
    assert named_lengths([2048, 6000]) == "2k, 6000"
    assert named_lengths(range(2000, 24_001, 2000)).count(",") == 11
    assert named_lengths(range(2000, 128_001, 2000)) == "2000, 4000, 6000, ..., 128000 (64 lengths)"


def asked_of(plan: Haystack | Passages, **more: Any) -> str:
    """The question of a composed prompt, as its recipe tells it."""
    (made,) = compose(plan, 1500, whole(stocked("words", "en")), stocked("words", "en"))
    return question_part(Sample("a", "a", "t", made.parts, made.ending.targets, 1500, made.tokens, **more))


@pytest.mark.parametrize("depths", [(0,), (0.5,), (1,), (0, 1), (0.5, 1), (0.2, 0.9, 1, 1)])
def test_a_question_is_what_follows_the_whole_context(depths: tuple[float, ...]) -> None:
    needles = tuple(Needle(f"The number of the gate is {number}1337.", depth) for number, depth in enumerate(depths))
    targets = tuple(f"{number}1337" for number in range(len(depths)))
    ending = Ending("Think of the gates.\n\nWhat is the number?", targets, 0.0)
    assert asked_of(Haystack("Read this.", needles, ending)).strip() == ending.question
    assert asked_of(Haystack("Read this.", needles, ending), asked="What is the number?").strip() == ending.question


def test_a_question_comes_after_the_last_passage() -> None:
    gold = whole(stocked("words", "en"))[0]
    question = "There are 1. Which are gold?"
    plan = passages(((Span(gold.doc, 0, 200), 1.0),))
    assert asked_of(plan).startswith("\n\nThere are ")
    assert asked_of(plan, asked="Passage 1") == ""  # it stands before a text, so the context has the question
    assert asked_of(plan, asked=question.replace("1", "none")) == ""


@pytest.mark.parametrize("parts", [(), ("All in one.",), ("Read: ", Span("a", 0, 3)), (Span("a", 0, 3), " \n")])
def test_a_recipe_that_does_not_tell_its_question_says_so(parts: tuple[Part, ...]) -> None:
    assert question_part(Sample("a", "a", "t", parts, ("x",), 256, 200)) == ""
