"""TSort: what its prompts hold, how they are shuffled, and the way back from a recipe to its segments."""

from __future__ import annotations

import json
from collections import Counter as Tally
from collections import defaultdict
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from math import factorial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure
from fathom.benchmarks.ada.tsort import PROMPTS, Start, limits, pool, story_of
from fathom.documents.corpus.books import read_book
from fathom.rows.scoring import score_reply
from fathom.suites.build import build
from fathom.suites.compose import CountedTexts
from fathom.suites.registry import get_task, tasks
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.counts import TokenCounter
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Candidate, Document, Draw, FathomError, Resources, Sample, Span, Whole
from made_books import book_document, make_book, write_books
from stored_replies import stored

pytestmark = pytest.mark.slow  # all look at what takes long to make

NAMES = ["tsort", *(f"tsort_{count}" for count in (2, 3, 5, 12))]


@lru_cache
def counter(name: str) -> TokenCounter:
    return TokenCounter(get_tokenizer(name))


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("tsort")
    wanted = configure(",".join(NAMES), books=[str(write_books(folder))], lengths=(2048, 4096), items=100)
    return open_suite(build(wanted, folder / "suite").folder)


def test_there_is_a_task_for_each_number_of_segments() -> None:
    known = {name for name in tasks() if name.startswith("tsort")}
    assert known == {"tsort", *(f"tsort_{count}" for count in range(2, 13) if count != 4)}
    assert [name for name in known if get_task(name).official] == ["tsort"]


@given(
    st.integers(256, 40_000),
    st.integers(2, 12),
    st.sampled_from(["words", "chars", "tekken"]),
    st.sampled_from(["en", "zh"]),
    st.integers(0, 3),
)
def test_what_a_case_holds_is_within_its_limits(
    length: int, segments: int, tokenizer: str, language: str, seed: int
) -> None:
    document, count = book_document(seed, language), counter(tokenizer).count
    resources = Resources(language, [document], [], (length,), counter(tokenizer))
    texts = CountedTexts({document.id: document}, counter(tokenizer))
    for candidate in pool(resources, segments).candidates or ():
        assert isinstance(candidate, Start)
        plan = get_task("tsort").plan.func(Draw(resources, Random(seed), 0.5, 0, candidate), segments=segments)  # type: ignore[attr-defined]
        assert isinstance(plan, Whole)
        arranged = plan.arrange(length, texts.measure)
        assert arranged is not None
        assert texts.retokenize(arranged.parts) <= length
        sample = Sample("s", "s", "tsort", arranged.parts, arranged.ending.targets, length, 0, language)
        ordering = get_task("tsort").ordering
        assert ordering
        found = ordering(replace(sample, inputs=arranged.ending.inputs), {document.id: document.text})
        frame = sum(count(part) for part in arranged.parts if isinstance(part, str))
        most = limits(length, segments, frame)
        assert len(found.segments) == segments
        assert 0 < count(found.before) <= limits(length, segments).before
        assert 0 < count(found.after) <= limits(length, segments).after
        assert all(0 < count(segment) <= limits(length, segments).segment for segment in found.segments)
        # As many paragraphs as the limit takes: with the next one it would be more.
        told = [found.segments[number - 1] for number in json.loads(sample.targets[0])]
        for segment, following in pairwise(told):
            assert count(segment + "\n\n" + following.split("\n\n")[0]) > most.segment


def test_segments_are_whole_paragraphs_that_follow_each_other(built: BuiltSuite) -> None:
    texts = built.texts()
    ordering = get_task("tsort").ordering
    assert ordering
    crossed = 0
    for sample in built.samples():
        (doc,) = {part.doc for part in sample.parts if isinstance(part, Span)}
        book = read_book(texts[doc], sample.language)
        told = [book.text[start:end] for chapter in book.chapters for start, end in chapter.paragraphs]
        lasts = {book.text[slice(*chapter.paragraphs[-1])] for chapter in book.chapters}
        found = ordering(sample, texts)
        in_order = [found.segments[number - 1] for number in json.loads(sample.targets[0])]
        start = int(sample.facets["paragraph"])
        assert told[start] == in_order[0].split("\n\n")[0]
        passage = [paragraph for text in (found.before, *in_order, found.after) for paragraph in text.split("\n\n")]
        first = start - len(found.before.split("\n\n"))
        assert passage == told[first : first + len(passage)]
        crossed += bool(lasts & set("\n\n".join(in_order).split("\n\n")[:-1]))
        prompt = render(sample, texts)
        assert not any(mark in prompt for mark in ("CHAPTER", "回 灯火", "Gutenberg", "PREFACE", "目录", "THE END"))
        for number, segment in enumerate(found.segments, start=1):
            heading = PROMPTS[sample.language]["part"].format(number=number)
            assert f"\n\n{heading}{segment}\n\n" in prompt
    assert crossed


def test_the_true_order_is_never_shown_and_the_gold_reply_scores_one(built: BuiltSuite) -> None:
    examples = defaultdict(set)
    for sample in built.samples():
        task, count = get_task(sample.task), int(sample.inputs["segments"])
        (target,) = sample.targets
        assert sorted(json.loads(target)) == list(range(1, count + 1)) != json.loads(target)
        assert task.score(f"Answer: {target}", sample).value == 1
        example = str(sample.facets["example"])
        assert f"Answer: {example}" in render(sample, built.texts())
        assert sorted(json.loads(example)) == list(range(1, count + 1))
        copied = task.score(f"Answer: {example}", sample)
        assert (copied.valid, copied.answer, copied.value) == (True, example, float(example == target))
        assert sample.chance == 1 / factorial(count)
        examples[sample.task].add(example)
    assert all(len(found) > 1 for found in examples.values())


def test_examples_are_drawn_from_all_orders_and_shuffles_from_all_but_the_true_one() -> None:
    resources = Resources("en", [book_document(0, "en")], [], (4096,), counter("words"))
    (candidate, *_) = pool(resources, 3).candidates or ()
    texts = CountedTexts({candidate.document.id: candidate.document}, counter("words"))
    shown: Tally[str] = Tally()
    true: Tally[str] = Tally()
    for seed in range(600):
        plan = get_task("tsort_3").plan(Draw(resources, Random(seed), 0.5, 0, candidate))
        assert isinstance(plan, Whole)
        arranged = plan.arrange(4096, texts.measure)
        assert arranged
        shown[str(arranged.ending.facets["example"])] += 1
        true[arranged.ending.targets[0]] += 1
    assert len(shown) == 6
    assert len(true) == 5
    assert "[1, 2, 3]" not in true
    # Expected 100 and 120 of each; 60 lie four standard deviations away.
    assert min(*shown.values(), *true.values()) > 60


def test_an_item_is_shuffled_alike_at_every_length(built: BuiltSuite) -> None:
    items = defaultdict(list)
    for sample in built.samples():
        items[sample.item].append(sample)
    both = [samples for samples in items.values() if len(samples) > 1]
    assert len(both) >= 2 * len(NAMES)
    for first, second in both:
        assert first.targets == second.targets
        assert {**first.facets, "example": ""} == {**second.facets, "example": ""}
        assert first.tokens < second.tokens
    assert any(first.facets["example"] != second.facets["example"] for first, second in both)  # drawn for each sample


def test_names_come_from_the_title_or_the_file(built: BuiltSuite) -> None:
    assert {sample.facets["book"] for sample in built.samples()} == {"made_0", "made_1"}
    titled = replace(book_document(0, "en"), title="The Lamp")
    assert story_of(titled, read_book(titled.text, "en"), counter("words")).name == "The Lamp"


def test_a_book_cannot_confuse_the_segments_by_headings_of_its_own(tmp_path: Path) -> None:
    folder = write_books(tmp_path, 1)
    asides = {
        "en": "Before:\n\nPart 2:\nAfter:\n\nAnswer: [1, 2]",
        "zh": "片段2：\n前文：\n\n　　后文：\n\n　　Answer: [1, 2]",
    }
    for path in folder.rglob("*.txt"):
        text, aside = path.read_text(encoding="utf-8"), asides[path.parent.name]
        path.write_text(text.replace("A note", f"{aside}\n\nA note").replace("　　", f"　　{aside}\n\n　　"), "utf-8")
    suite = open_suite(build(configure("tsort", books=[str(folder)], lengths=(4096,)), tmp_path / "suite").folder)
    ordering = get_task("tsort").ordering
    assert ordering
    samples = list(suite.samples())
    assert {sample.language for sample in samples} == {"en", "zh"}
    for sample in samples:
        found = ordering(sample, suite.texts())
        prompt = render(sample, suite.texts())
        for number, segment in enumerate(found.segments, start=1):
            heading = PROMPTS[sample.language]["part"].format(number=number)
            assert f"\n\n{heading}{segment}\n\n" in prompt
            assert segment.count("Answer: [1, 2]") > 2
    with pytest.raises(FathomError, match="was truncated"):
        ordering(replace(samples[0], facets={**samples[0].facets, "cut_from": 8192}), suite.texts())


def test_books_that_give_no_case_are_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    folder = write_books(tmp_path, 1, ("en",))
    (folder / "en" / "essay.txt").write_text("An essay without chapters.\n\nIt is short.", encoding="utf-8")
    (folder / "en" / "short.txt").write_text(make_book(7, "en", 3, 3), encoding="utf-8")
    diary = make_book(6, "en").replace("\n\nA note with", "\n\n3 May.--A note with")
    (folder / "en" / "diary.txt").write_text(diary, encoding="utf-8")
    lines = [line for line in make_book(8, "en", 12, 40).split("\n") if line]
    (folder / "en" / "dense.txt").write_text("\n".join(lines), encoding="utf-8")
    made = build(configure("tsort", books=[str(folder)], lengths=(2048,)), tmp_path / "suite")
    notes = "\n".join(made.manifest["notes"])
    assert "tsort: essay: no chapters were found; skipped" in notes
    assert "tsort: short: too short" in notes
    assert "tsort: diary: letters or a diary" in notes
    assert "tsort: dense: paragraphs are not marked" in notes
    assert {sample.facets["book"] for sample in open_suite(made.folder).samples()} == {"made_0", "dense"}
    for path in (folder / "en").glob("[md]*.txt"):
        path.unlink()
    with pytest.raises(
        FathomError, match=r"nothing to build: .*essay: no chapters .*short: too short.*no usable document"
    ):
        build(configure("tsort", books=[str(folder)], lengths=(2048,)), tmp_path / "none")


def test_texts_must_be_normalised_and_candidates_come_from_the_pool() -> None:
    rough = Document("rough", "CHAPTER I\r\n\r\nOne.", "rough.txt")
    resources = Resources("en", [rough], [], (2048,), counter("words"))
    with pytest.raises(FathomError, match=r"rough\.txt: the text is not normalised"):
        pool(resources, 4)
    with pytest.raises(AssertionError):
        get_task("tsort").plan(Draw(resources, Random(0), 0.5, 0, Candidate(rough, ())))


def test_a_start_of_the_wider_stride_stands_at_all_lengths() -> None:
    book = book_document(5, "en", 20, 40)
    resources = Resources("en", [book], [], (2048, 16 * 1024, 20 * 1024), counter("tekken"))
    standing = {
        candidate.paragraph: candidate.lengths
        for candidate in pool(resources, 4).candidates or ()
        if isinstance(candidate, Start)
    }
    assert standing[128] == resources.lengths
    assert standing[64] == resources.lengths[:2]
    assert all(paragraph % 64 == 0 for paragraph in standing)


def test_shared_books_at_all_lengths(shared: Path, tmp_path: Path) -> None:
    books = str(shared / "data" / "books")
    wanted = configure("tsort", books=[books], lengths=[2048, 32_768], items=40)
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    texts, counts = suite.texts(), Tally[tuple[str, int]]()
    begins = {
        id: {
            start
            for chapter in read_book(text, "zh" if "回" in text else "en").chapters
            for start, _ in chapter.paragraphs
        }
        for id, text in texts.items()
    }
    for sample in suite.samples():
        counts[sample.language, sample.length] += 1
        assert sample.length / 2 < sample.tokens <= sample.length
        for gap, part in pairwise(sample.parts[1:]):  # what stands before may begin with a sentence
            if isinstance(part, Span) and isinstance(gap, str) and gap != "\n\n":
                assert part.start in begins[part.doc]
    assert all(counts["en", length] >= 20 for length in wanted.lengths)
    assert all(counts["zh", length] >= 7 for length in wanted.lengths)


def test_stored_replies_are_scored_by_both_rules(built: BuiltSuite) -> None:
    sample = next(sample for sample in built.samples() if sample.task == "tsort")
    true = json.loads(sample.targets[0])
    for text, official, strict in (
        (f"Answer: {true}", 1, 1),
        (f"Answer: {true[::-1]}", 0, 0),
        (f"Answer: {true[:1]}", 1, 0),  # the released code compares as far as the shorter list goes
        ("Answer: []", 1, 0),
    ):
        reply = stored(sample, text)
        assert score_reply(reply, "official").score.value == official, text
        assert score_reply(reply, "strict").score.value == strict, text
