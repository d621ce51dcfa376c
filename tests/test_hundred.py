"""The suite ``hundred`` from end to end: what its prompts hold, and how gold text is distributed in them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import sqrt

import pytest

from engine_calls import configure
from fathom.suites.build import build
from fathom.suites.registry import get_suite
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import Document, Sample, Span

pytestmark = pytest.mark.slow

LENGTHS = (2048, 4096, 16384)
ITEMS = 60
OVER_PASSAGES = (
    "passage_retrieval",
    "single_doc_qa",
    "multi_doc_qa",
    "single_doc_summary",
    "multi_doc_summary",
)
ONE_PASSAGE = ("passage_retrieval", "single_doc_qa", "single_doc_summary")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("hundred")
    wanted = configure("hundred", corpus=("world",), lengths=LENGTHS, items=ITEMS, tokenizer="words")
    return open_suite(build(wanted, folder / "suite").folder)


@pytest.fixture(scope="module")
def samples(built: BuiltSuite) -> list[Sample]:
    return list(built.samples())


def of(samples: Sequence[Sample], task: str, length: int) -> list[Sample]:
    """The samples of a task at one length, one for each item."""
    return [s for s in samples if (s.task, s.length) == (task, length) and s.facets.get("question", 1) == 1]


def passages(sample: Sample) -> list[Span]:
    return [part for part in sample.parts if isinstance(part, Span)]


def gold(sample: Sample) -> list[int]:
    """Indices of the gold passages."""
    return [int(number) - 1 for number in str(sample.facets["gold"]).split(", ")]


def is_uniform(values: Sequence[float]) -> bool:
    """Kolmogorov-Smirnov at 0.1%."""
    ordered, size = sorted(values), len(values)
    gap = max(max((n + 1) / size - value, value - n / size) for n, value in enumerate(ordered))
    return gap * sqrt(size) < 1.95


def test_all_eight_tasks_are_there_at_every_length(samples: list[Sample]) -> None:
    for task in get_suite("hundred").tasks:
        items = [{sample.item for sample in of(samples, task, length)} for length in LENGTHS]
        assert items[0] == items[1] == items[2]
        assert len(items[0]) == ITEMS


def test_prompts_have_99_to_100_percent_of_their_length(built: BuiltSuite, samples: list[Sample]) -> None:
    from fathom.tokens.tokenizers import get_tokenizer

    texts, count = built.texts(), get_tokenizer("words").count
    for sample in (s for s in samples if s.length):
        assert 0.99 * sample.length <= sample.tokens <= sample.length, sample.id
    for sample in samples[::37]:
        assert count(render(sample, texts)) == sample.tokens


@pytest.mark.parametrize("task", ONE_PASSAGE)
def test_gold_text_lies_anywhere_with_equal_chance(samples: list[Sample], task: str) -> None:
    longest = of(samples, task, LENGTHS[-1])
    assert is_uniform([float(sample.facets["depth"]) for sample in longest])
    assert is_uniform([float(sample.facets["depth_reached"]) for sample in longest])


def test_gold_text_is_the_first_or_the_last_of_few_passages_as_often_as_any(samples: list[Sample]) -> None:
    shortest = [sample for task in ONE_PASSAGE for sample in of(samples, task, LENGTHS[0])]
    expected = sum(1 / int(sample.facets["passages"]) for sample in shortest)
    first = sum(sample.facets["gold"] == 1 for sample in shortest)
    last = sum(sample.facets["gold"] == sample.facets["passages"] for sample in shortest)
    for found in (first, last):
        assert abs(found - expected) < 3.3 * sqrt(expected), (first, last, expected)


@pytest.mark.parametrize("task", ["multi_doc_qa", "multi_doc_summary"])
def test_several_gold_passages_lie_anywhere_and_apart(samples: list[Sample], task: str) -> None:
    longest = of(samples, task, LENGTHS[-1])
    places = [(place + 0.5) / int(sample.facets["passages"]) for sample in longest for place in gold(sample)]
    assert is_uniform(places)
    for sample in longest:
        assert len(gold(sample)) >= 2
        assert all(later - earlier > 1 for earlier, later in pairwise(gold(sample))), sample.id


@pytest.mark.parametrize("task", OVER_PASSAGES)
def test_no_distractor_is_of_the_gold_document_and_none_comes_twice(
    built: BuiltSuite, samples: list[Sample], task: str
) -> None:
    texts = built.texts()
    for sample in of(samples, task, LENGTHS[-1]):
        spans, places = passages(sample), gold(sample)
        assert len(spans) == sample.facets["passages"]
        about = {spans[place].doc for place in places}
        assert len(about) == 1
        others = [span for place, span in enumerate(spans) if place not in places]
        assert about.isdisjoint(span.doc for span in others)
        assert len({texts[span.doc][span.start : span.end] for span in spans}) == len(spans)
        for earlier, later in pairwise(sorted(spans, key=lambda span: (span.doc, span.start))):
            assert earlier.doc != later.doc or earlier.end <= later.start


@pytest.mark.parametrize("task", get_suite("hundred").tasks)
def test_longer_prompts_keep_what_shorter_ones_hold(built: BuiltSuite, samples: list[Sample], task: str) -> None:
    texts = built.texts()

    def letters(sample: Sample) -> set[tuple[str, int]]:
        return {
            (span.doc, place)
            for span in passages(sample)
            for place in range(span.start, span.end)
            if not texts[span.doc][place].isspace()
        }

    for length, longer in pairwise(LENGTHS):
        for one, other in list(zip(of(samples, task, length), of(samples, task, longer), strict=True))[:8]:
            assert one.item == other.item
            assert one.targets == other.targets or task in ("passage_retrieval", "passage_count")
            assert letters(one) <= letters(other)


@pytest.mark.parametrize("task", OVER_PASSAGES)
def test_gold_text_is_the_same_at_every_length(samples: list[Sample], task: str) -> None:
    by_length = [[[passages(s)[place] for place in gold(s)] for s in of(samples, task, length)] for length in LENGTHS]
    assert by_length[0] == by_length[1] == by_length[2]


@pytest.mark.parametrize("task", OVER_PASSAGES)
def test_there_are_several_distractors_at_every_length(samples: list[Sample], task: str) -> None:
    for length in LENGTHS:
        for sample in of(samples, task, length):
            assert int(sample.facets["passages"]) - len(gold(sample)) >= 3


def test_the_gold_passage_of_retrieval_is_cut_as_the_others_are(samples: list[Sample]) -> None:
    longest = of(samples, "passage_retrieval", LENGTHS[-1])
    sizes = [[span.end - span.start for span in passages(sample)] for sample in longest]
    # Where its length stands among those of all passages.
    ranks = [
        (sum(size < all_of[place] for size in all_of) + 0.5) / len(all_of)
        for sample, all_of in zip(longest, sizes, strict=True)
        for place in gold(sample)
    ]
    assert 0.25 < sum(ranks) / len(ranks) < 0.75


def test_passage_count_is_the_number_of_different_paragraphs(built: BuiltSuite, samples: list[Sample]) -> None:
    texts = built.texts()
    for sample in (s for s in samples if s.task == "passage_count"):
        context = render(sample, texts).rsplit("\n\n", 1)[0]
        found = re.split(r"\n\nParagraph \d+:\n", context)[1:]
        assert sample.targets == (str(len(set(found))),)
        assert max(Counter(found).values()) <= 3


def test_counting_stars_offers_five_different_lists(built: BuiltSuite, samples: list[Sample]) -> None:
    texts, right = built.texts(), Counter[str]()
    for sample in of(samples, "counting_stars", LENGTHS[0]):
        prompt = render(sample, texts)
        options = dict(re.findall(r"^\((\d)\) ([\d, ]+)$", prompt, re.MULTILINE))
        assert len(set(options.values())) == 5
        assert options[sample.targets[0]] == ", ".join(re.findall(r"penguin counted (\d+) ★", prompt))
        right[sample.targets[0]] += 1
    assert len(right) == 5
    assert max(right.values()) < ITEMS / 5 + 3.3 * sqrt(ITEMS / 5)


@pytest.mark.parametrize("task", ["single_doc_qa", "multi_doc_qa"])
def test_questions_of_one_item_share_their_context(samples: list[Sample], task: str) -> None:
    together: dict[tuple[str, int], list[Sample]] = {}
    for sample in samples:
        if sample.task == task and sample.length:
            together.setdefault((sample.item, sample.length), []).append(sample)
    several = [group for group in together.values() if len(group) > 1]
    assert len(several) > len(together) / 2
    whole = 0
    for first, *others in several:
        for other in others:
            pairs = list(zip(passages(first), passages(other), strict=True))
            assert all((one.doc, one.start) == (two.doc, two.start) for one, two in pairs)
            # At most one of them ends earlier, where the question is longer.
            different = [n for n, (one, two) in enumerate(pairs) if one != two]
            assert len(different) <= 1
            assert not set(different) & set(gold(first))
            whole += not different
    assert whole


def test_closed_book_prompts_hold_nothing_of_the_documents(built: BuiltSuite, samples: list[Sample]) -> None:
    texts = built.texts()
    closed = [sample for sample in samples if not sample.length]
    assert {sample.task for sample in closed} == {"single_doc_qa", "multi_doc_qa"}
    known = {(s.item, s.facets.get("question")): s for s in samples if s.length == LENGTHS[0]}
    assert len(closed) == len({sample.id for sample in closed})
    for sample in closed:
        assert sample.facets["context"] == "none"
        assert not passages(sample)
        prompt, same = render(sample, texts), known[sample.item, sample.facets.get("question")]
        assert (sample.asked, sample.targets) == (same.asked, same.targets)
        assert sample.asked in prompt
        bare = prompt.replace(sample.asked, "")
        for place in gold(same):
            span = passages(same)[place]
            text = texts[span.doc][span.start : span.end]
            assert not any(text[start : start + 40] in bare for start in range(0, len(text) - 40, 40))
        assert "Passage" not in bare


def test_a_document_that_shares_text_with_the_gold_one_is_no_distractor() -> None:
    from fathom.suites.tasks.related import related

    lines = [f"Sentence {n} of a report that is long enough to be known again. " for n in range(40)]
    others = [f"Quite another sentence {n}, also long enough to be told from all of the others. " for n in range(40)]
    report, edition, other = ("".join(lines), "".join(lines[:10] + others[:20]), "".join(others[20:]))
    made = [Document(name, text, name) for name, text in (("a", report), ("b", edition), ("c", other))]
    assert related(made) == {"a": {"b"}, "b": {"a"}}
