"""Contexts that use most of their pool: no distractor is in two passages, and builds, runs and reports say so."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure
from fathom import api
from fathom.rows import shared_contexts as shared_by_runs
from fathom.runfile.manifest import read_manifest
from fathom.suites.build import Built, build
from fathom.suites.build.items import _fillers
from fathom.suites.compose import CountedTexts
from fathom.suites.suitefile import open_suite
from fathom.suites.suitefile.pools import PoolUse, shared_contexts
from fathom.tokens.counts import TokenCounter
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import Document, Ending, Haystack, Passages, Span
from made import write_corpus

PASSAGES = Passages("", "[{number}]\n", (), lambda layout: ())
WHAT = Ending("What?", ("x",), 0.0)


def texts_of(sizes: list[int]) -> CountedTexts:
    """Documents of so many words, in sentences of five."""
    words = [" ".join(f"d{n}w{at}{'.' if at % 5 == 4 else ''}" for at in range(size)) for n, size in enumerate(sizes)]
    documents = {f"d{n}": Document(f"d{n}", text, "made") for n, text in enumerate(words)}
    return CountedTexts(documents, TokenCounter(get_tokenizer("words")))


def wholes(texts: CountedTexts) -> list[Span]:
    return [Span(one.id, 0, len(one.text)) for one in texts.documents.values()]


@given(st.lists(st.integers(1, 400), min_size=1, max_size=30), st.sets(st.integers(16, 2000), min_size=1, max_size=4))
def test_a_filler_is_one_passage_and_never_shorter_than_at_shorter_lengths(sizes: list[int], among: set[int]) -> None:
    texts, lengths = texts_of(sizes), sorted(among)
    found = _fillers(PASSAGES, wholes(texts), lengths, texts)
    before = [Span(span.doc, 0, 1) for span in found[lengths[0]]]
    for length in lengths:
        spans = found[length]
        assert [(span.doc, span.start) for span in spans] == [(f"d{n}", 0) for n in range(len(sizes))]
        assert all(earlier.end <= span.end for earlier, span in zip(before, spans, strict=True))
        # As much text as the length takes, or all there is.
        assert sum(map(texts.tokens, spans)) >= min(length, sum(sizes))
        before = list(spans)


def test_fillers_that_are_too_few_are_longer_by_hand() -> None:
    texts = texts_of([10, 40, 40, 40])
    found = _fillers(PASSAGES, wholes(texts), [40, 80, 160], texts)
    sizes = {length: [texts.tokens(span) for span in spans] for length, spans in found.items()}
    # An eighth of the shortest length each would give 20. For 40 with an eighth more, 46: 10 and three of 12;
    # for 80 with an eighth more, 92: 10 and three of 28, here at the end of a sentence. All have only 130.
    assert sizes == {40: [10, 12, 12, 12], 80: [10, 25, 25, 25], 160: [10, 40, 40, 40]}


def test_running_text_takes_what_remains_of_a_filler() -> None:
    texts = texts_of([100])
    spans = _fillers(Haystack("", (), WHAT), wholes(texts), [80], texts)[80]
    assert len(spans) > 1
    assert {span.doc for span in spans} == {"d0"}
    assert all(one.end <= other.start for one, other in pairwise(spans))


def test_different_fillers_are_counted_once() -> None:
    fillers = [Span("a", 0, 10), Span("a", 10, 20), Span("b", 0, 10), Span("c", 0, 10)]
    use = PoolUse("t", "en")
    # Two sections of a, one of them in two pieces around a needle; gold text of another document.
    use.add(64, ("x", Span("a", 0, 4), "needle", Span("a", 4, 10), Span("a", 10, 15), Span("gold", 0, 3)), fillers)
    assert use.records() == []  # 2 of 4: half, not more
    use.add(64, (Span("a", 0, 10), Span("b", 0, 10), Span("c", 0, 2)), fillers)
    assert use.records() == [{"task": "t", "language": "en", "length": 64, "used": 2.5, "pool": 4.0}]


def test_lengths_of_the_same_tasks_are_one_sentence_and_repeated_texts_none() -> None:
    at = [{"task": "t", "language": "en", "length": length, "used": 3.0, "pool": 4.0} for length in (2048, 4096, 8192)]
    other = {**at[0], "task": "u", "length": 16384}
    first, second = shared_contexts([*at, other, {**at[0], "task": "refrain", "used": 1.0, "pool": 1.0}])
    assert first.startswith("at 2k, 4k and 8k, contexts of t use more than half of the texts")
    assert second.startswith("at 16k, contexts of u")


def test_records_that_are_none_are_left_out() -> None:
    good = {"task": "t", "language": "en", "length": 2048, "used": 52.0, "pool": 54.0}
    (said,) = shared_contexts([{**good, "used": "52"}, None, good, {}])
    assert said.startswith(
        "at 2k, contexts of t use more than half of the texts to fill them with, up to 52 of 54 (t):"
    )


TASKS = "single_doc_qa,multi_doc_qa,single_doc_summary,multi_doc_summary,passage_retrieval,kv_retrieval"


@pytest.fixture(scope="module")
def saturated(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("saturated")
    corpus = write_corpus(folder, 24)
    return build(configure(TASKS, corpus=(str(corpus),), lengths=(512, 6000), items=3), folder / "suite")


@pytest.mark.slow
def test_no_distractor_of_a_context_is_split_into_two_passages(saturated: Built) -> None:
    checked = 0
    for sample in open_suite(saturated.folder).samples():
        # Passages of one document may be gold text of several passages, or be the unit of the task.
        if not sample.length or sample.task in ("passage_retrieval", "kv_retrieval"):
            continue
        spans = [part for part in sample.parts if isinstance(part, Span)]
        twice = {span.doc for span in spans if sum(one.doc == span.doc for one in spans) > 1}
        assert len(twice) <= 1, sample.id  # the gold document
        checked += 1
    assert checked


@pytest.mark.slow
def test_builds_runs_and_reports_say_that_contexts_share_their_text(saturated: Built, tmp_path: Path) -> None:
    pools = {(one["task"], one["length"]): one for one in saturated.manifest["pools"]}
    assert {length for _, length in pools} == {6000}
    # The gold document is not among the 24, and its item takes as many of the others as it needs.
    assert pools["single_doc_qa", 6000]["pool"] == 23
    passages = [
        sample.facets["passages"]
        for sample in open_suite(saturated.folder).samples()
        if sample.task == "single_doc_qa" and sample.length == 6000 and sample.facets.get("question", 1) == 1
    ]
    assert all(isinstance(one, int) for one in passages)
    assert pools["single_doc_qa", 6000]["used"] == round(sum(int(one) - 1 for one in passages) / 3, 1)
    (note,) = (note for note in saturated.manifest["notes"] if "share most of their context" in note)
    assert note.startswith("at 6000, contexts of single_doc_qa, multi_doc_qa, single_doc_summary and ")
    assert note.endswith("give more documents")
    api.run(saturated.folder, model="fathom/guess", out=tmp_path / "run")
    assert read_manifest(tmp_path / "run")["suite"]["pools"] == saturated.manifest["pools"]
    (said,) = shared_by_runs([tmp_path / "run", tmp_path / "run"])
    assert note == f"{said.partition(': ')[2]}; give more documents"
    page = api.report([tmp_path / "run"], out=tmp_path / "report.html").markdown()
    assert "intervals treat items as independent" in page
    told: list[str] = []
    api.analyze_length([tmp_path / "run"], tell=told.append)
    assert said in told


def test_a_suite_with_enough_documents_says_nothing(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path, 60)
    built = build(configure("single_doc_qa", corpus=(str(corpus),), lengths=(512,), items=2), tmp_path / "suite")
    assert "pools" not in built.manifest
    assert not any("share" in note for note in built.manifest["notes"])
