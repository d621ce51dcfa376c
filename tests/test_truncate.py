"""Prompts cut shorter: exact budgets, both ends kept, nothing asked away; and the builds that hold them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from engine_calls import configure
from fathom.options.values import depths_of
from fathom.run.options import check_choice
from fathom.suites.build import build
from fathom.suites.compose import CountedTexts, compose
from fathom.suites.compose.truncate import truncated
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.counts import TokenCounter
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Document, Ending, FathomError, Haystack, Layout, Needle, Part, Passages, Sample, Span
from made import make_document, write_corpus
from made_threads import made_thread

INTRO, QUESTION = "Read all of this with care.", "What, after all, was hidden?"
TASKS = "passkey,passage_count,single_doc_qa"


@cache
def shelf_of(tokenizer: str, language: str) -> CountedTexts:
    """The documents that tests cut prompts of, made by the first of them."""
    documents = [make_document(seed, language) for seed in range(60)]
    return CountedTexts({document.id: document for document in documents}, TokenCounter(get_tokenizer(tokenizer)))


def text_of(texts: CountedTexts, parts: Sequence[Part]) -> str:
    return "".join(p if isinstance(p, str) else texts.documents[p.doc].text[p.start : p.end] for p in parts)


def full_prompt(texts: CountedTexts, length: int, kind: str, depth: float) -> tuple[Part, ...]:
    whole = [Span(document.id, 0, len(document.text)) for document in texts.documents.values()]
    if kind == "haystack":
        plan: Haystack | Passages = Haystack(INTRO, (Needle("A needle.", depth),), Ending(QUESTION, ("x",), 0.0))
        return compose(plan, length, whole, texts)[0].parts

    def finish(layout: Layout) -> tuple[Ending, ...]:
        return (Ending(QUESTION, ("x",), 0.0),)

    short = Span(whole[0].doc, 0, 60)
    return compose(Passages(INTRO, "Passage {number}:\n", ((short, depth),), finish), length, whole[1:], texts)[0].parts


def alike(first: str, second: str) -> int:
    """Characters that two texts have in common at their beginning."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((place for place, (one, other) in pairs if one != other), min(len(first), len(second)))


def is_cut_of(cut: str, full: str) -> bool:
    """Whether a text is a beginning and an end of another, joined."""
    kept = 0
    while kept < len(cut) and cut[kept] == full[kept]:
        kept += 1
    return any(full.endswith(cut[start:]) for start in range(kept, -1, -1))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("tokenizer", ["tekken", "words", "chars"])
@given(length=st.integers(100, 2500))
@settings(max_examples=10)
def test_an_even_cut_keeps_half_the_tokens_at_either_end(tokenizer: str, language: str, length: int) -> None:
    texts = shelf_of(tokenizer, language)
    count = texts.counter.tokenizer.count
    spans = [Span(document.id, 0, len(document.text)) for document in texts.documents.values()]
    parts: tuple[Part, ...] = (f"{INTRO}\n\n", *spans, f"\n\n{QUESTION}")
    cut = truncated(parts, QUESTION, length, texts, exact=True, even=True)
    assert cut is not None
    text, full = text_of(texts, cut), text_of(texts, parts)
    assert length - 2 <= count(text) <= length
    start = alike(text, full)
    end = alike(text[::-1], full[::-1])
    assert start + end >= len(text)
    assert count(text[:start]) >= length // 2 - 2
    assert count(text[-end:]) >= length - length // 2 - 2


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("tokenizer", ["tekken", "words", "chars"])
@given(
    length=st.integers(256, 2500),
    kind=st.sampled_from(["haystack", "passages"]),
    depth=st.floats(0, 1),
    exact=st.booleans(),
)
@example(length=372, kind="passages", depth=0.5, exact=False)  # the end stops before a heading that is too long
@settings(max_examples=20)
def test_a_cut_prompt_fills_its_budget_and_keeps_both_ends(
    tokenizer: str, language: str, length: int, kind: str, depth: float, exact: bool
) -> None:
    texts = shelf_of(tokenizer, language)
    parts = full_prompt(texts, 2700, kind, depth)
    cut = truncated(parts, QUESTION, length, texts, exact=exact)
    assert cut is not None
    text, full = text_of(texts, cut), text_of(texts, parts)
    tokens = texts.counter.tokenizer.count(text)
    assert tokens == texts.measure(cut)
    assert tokens <= length
    assert tokens >= 0.99 * length - (1 if exact else 0)
    assert text.startswith(INTRO)
    assert text.endswith(QUESTION)
    assert is_cut_of(text, full)


@given(length=st.integers(40, 600), sizes=st.lists(st.integers(1, 90), min_size=1, max_size=12))
def test_literal_text_between_stays_whole_or_goes_whole(length: int, sizes: list[int]) -> None:
    texts = shelf_of("words", "en")
    spans = [Span(document.id, 0, 200) for document in texts.documents.values()]
    parts: list[Part] = ["Begin."]
    for number, (span, size) in enumerate(zip(spans, sizes, strict=False)):
        parts += [f"\n\n<{number}{' word' * size}>\n", span]
    parts.append("\n\nEnd?")
    cut = truncated(parts, "End?", length, texts)
    if cut is None:  # the first heading is part of what introduces the text
        assert texts.measure([*parts[:2], parts[-1]]) > length
        return
    text = text_of(texts, cut)
    assert texts.counter.tokenizer.count(text) <= length
    assert text.count("<") == text.count(">")
    assert is_cut_of(text, text_of(texts, parts))


def test_both_halves_are_kept_about_alike() -> None:
    texts = shelf_of("words", "en")
    parts = full_prompt(texts, 3000, "haystack", 0.5)
    cut = truncated(parts, QUESTION, 1000, texts)
    assert cut is not None
    seam = next(n for n, (one, other) in enumerate(zip(cut, parts, strict=False)) if one != other)
    beginning = text_of(texts, cut[: seam + 1])
    assert 430 <= texts.counter.tokenizer.count(beginning) <= 500
    assert beginning.endswith(".")


def test_a_prompt_that_fits_stays_as_it_is() -> None:
    texts = shelf_of("words", "en")
    parts = full_prompt(texts, 500, "haystack", 0.5)
    assert truncated(parts, QUESTION, 500, texts) == parts


@pytest.mark.parametrize(
    "parts",
    [
        ("Only literal text, " + "word " * 300, ),
        ("Short. " + "word " * 300, Span(make_document(0).id, 0, 100), "What?"),
    ],
)  # fmt: skip
def test_what_must_stay_may_be_too_long(parts: tuple[Part, ...]) -> None:
    assert truncated(parts, "What?", 256, shelf_of("words", "en")) is None


def test_a_question_inside_a_borrowed_text_stays() -> None:
    text = "\n\n".join(f"Answer A{n} says that {'it may be so ' * 9}." for n in range(60)) + "\n\nWhich one is best?"
    document = Document("case", text, "made", "en", "")
    texts = CountedTexts({"case": document}, TokenCounter(get_tokenizer("words")))
    cut = truncated([Span("case", 0, len(text))], "Which one is best?", 256, texts)
    assert cut is not None
    said = text_of(texts, cut)
    assert said.startswith("Answer A0")
    assert said.endswith("\n\nWhich one is best?")
    assert 0.99 * 256 <= texts.counter.tokenizer.count(said) <= 256


# ------------------------------------------------------------------------------------------------- builds


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("cut")
    corpus = write_corpus(folder, 60)
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024, 4096), items=3, truncate=(2048, 1024, 512))
    build(wanted, folder / "suite")
    return open_suite(folder / "suite")


def test_cut_samples_stand_beside_the_full_ones(built: BuiltSuite) -> None:
    samples = {sample.id: sample for sample in built.samples()}
    cuts = [sample for sample in samples.values() if "cut_from" in sample.facets]
    full = [sample for sample in samples.values() if sample.length == 4096]
    assert len(cuts) == 3 * len(full)
    assert built.manifest["truncate"] == [512, 1024, 2048]
    for cut in cuts:
        whole = samples[cut.id.rpartition("/cut")[0]]
        assert cut.id == f"{whole.id}/cut{cut.length}"
        assert whole.length == 4096 == cut.facets["cut_from"]
        same = ("item", "task", "targets", "chance", "language", "asked")
        assert all(getattr(cut, name) == getattr(whole, name) for name in same)
        assert {**cut.facets} == {**whole.facets, "cut_from": 4096}


def test_their_prompts_are_as_long_as_they_say(built: BuiltSuite) -> None:
    texts, tokenizer = built.texts(), get_tokenizer(built.manifest["tokenizer"])
    prompts = {sample.id: render(sample, texts) for sample in built.samples()}
    for sample in built.samples():
        assert tokenizer.count(prompts[sample.id]) == sample.tokens <= sample.length
        assert sample.tokens >= 0.99 * sample.length
        if "cut_from" in sample.facets:
            assert is_cut_of(prompts[sample.id], prompts[sample.id.rpartition("/cut")[0]])


def test_common_beginnings_follow_each_other(built: BuiltSuite) -> None:
    def context(sample: Sample) -> tuple[str, object]:
        return sample.item, sample.facets.get("cut_from", sample.length)

    runs = [[sample.length for sample in run] for _, run in groupby(built.samples(), context)]
    assert len(runs) == len({context(sample) for sample in built.samples()})
    assert all(run == sorted(run, reverse=True) for run in runs)


def test_limits_count_them_as_cells_of_their_own(built: BuiltSuite) -> None:
    found = Counter((s.task, s.length, s.facets.get("cut_from")) for s in built.samples(limit=1))
    assert set(found.values()) == {1}
    assert len(found) == 3 * 5


def test_lengths_choose_by_what_prompts_were_cut_to(built: BuiltSuite) -> None:
    assert {(s.length, s.facets.get("cut_from")) for s in built.samples(lengths=[1024])} == {(1024, None), (1024, 4096)}
    assert {s.facets.get("cut_from") for s in built.samples(lengths=[4096])} == {None}
    check_choice(built.manifest, None, (512, 2048, 4096))
    with pytest.raises(FathomError, match="was built at 512, 1k, 2k, 4k"):
        check_choice(built.manifest, None, (8192,))


def test_an_item_is_shown_over_its_whole_context(built: BuiltSuite) -> None:
    item = next(built.samples()).item
    assert "cut_from" not in built.sample(item).facets
    assert built.sample(f"{item}@4096/cut512").length == 512


def test_swept_depths_and_closed_questions_go_with_it(tmp_path: Path) -> None:
    wanted = configure(
        "passkey,single_doc_qa",
        corpus=(str(write_corpus(tmp_path, 60)),),
        lengths=(2048,),
        items=2,
        depths=(0.0, 1.0),
        truncate=(512,),
        closed_book=True,
    )
    build(wanted, tmp_path / "suite")
    samples = list(open_suite(tmp_path / "suite").samples())
    cuts = [sample for sample in samples if "cut_from" in sample.facets]
    assert {sample.facets["depth"] for sample in cuts if sample.task == "passkey"} == {0.0, 1.0}
    assert "passkey/en/0000@2048/d0/cut512" in {sample.id for sample in cuts}
    assert not any(sample.facets.get("context") for sample in cuts)
    assert any(sample.length == 0 for sample in samples)


@pytest.mark.slow
def test_a_question_longer_than_the_cut_leaves_a_note(tmp_path: Path) -> None:
    rows = [
        {
            "text": " ".join(f"Volume {n} has page {page}." for page in range(400)),
            "questions": ["Which volume is it? " + ("Say it. " * 75 if n == 0 else "")],
            "answers": [[f"Volume {n}"]],
        }
        for n in range(8)
    ]
    (tmp_path / "own.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    wanted = configure(
        "single_doc_qa", corpus=(str(tmp_path / "own.jsonl"),), lengths=(4096,), items=8, truncate=(256,)
    )
    made = build(wanted, tmp_path / "suite").manifest
    assert made["samples"] == {"single_doc_qa": 15}
    assert any("1 of 8 prompts in language 'en' cannot be truncated to 256" in note for note in made["notes"])


def test_a_longest_length_that_nothing_fills_leaves_a_note(tmp_path: Path) -> None:
    threads = tmp_path / "made.jsonl"
    threads.write_text("".join(json.dumps(made_thread(n)) + "\n" for n in range(20)), encoding="utf-8")
    lengths = (1024, 131_072)
    wanted = configure(
        "bestanswer", lengths=lengths, items=2, tokenizer="words", threads=[str(threads)], truncate=(512,)
    )
    notes = build(wanted, tmp_path / "suite").manifest["notes"]
    assert "bestanswer: nothing truncated in language 'en': no prompt has 128k" in notes


@pytest.mark.parametrize("truncate", [(4096,), (512, 8192)])
def test_only_lengths_below_the_longest_can_be_cut_to(truncate: tuple[int, ...]) -> None:
    with pytest.raises(FathomError, match="`truncate`"):
        configure("passkey", lengths=(1024, 4096), truncate=truncate)


def test_depths_have_names() -> None:
    assert depths_of("random") == ()
    assert depths_of("front, middle,rear") == (0.0, 0.5, 1.0)
    assert depths_of("0,Rear,0.25") == (0.0, 1.0, 0.25)
    with pytest.raises(FathomError, match="front, middle, end"):
        depths_of("behind")
