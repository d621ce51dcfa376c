"""Candidates of BestAnswer: what of a thread is gold or a distractor, and which threads have tags in common."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.ada.bestanswer import CandidateThread, ThreadIndex, candidate_thread, in_common
from fathom.documents.corpus.stackexchange import thread_documents
from fathom.types import Document, Span
from made_threads import answer, thread, write_lines


def documents(folder: Path, *threads: Mapping[str, Any]) -> tuple[Document, ...]:
    return thread_documents(str(write_lines(folder / "given.jsonl", threads))).documents


def texts(document: Document, spans: Iterable[Span]) -> list[str]:
    return [document.text[span.start : span.end] for span in spans]


def test_only_answers_before_the_accepted_one_count_and_each_text_once(tmp_path: Path) -> None:
    given = [
        answer(1, "Late by far.", day=9),
        answer(2, "Turn it off.", day=2),
        answer(3, "Turn  it\noff.", day=3),
        answer(4, "Open the valve.", day=5, accepted=True),
        answer(5, "Open the\nvalve.", day=4),
        answer(6, "", day=4, html='<p>See <img src="a.png"></p>'),
        answer(7, "", day=4),
    ]
    found = candidate_thread(documents(tmp_path, thread(1, given))[0])
    assert found
    assert found.gold
    assert texts(found.document, [found.gold]) == ["Open the valve."]
    assert texts(found.document, found.before) == ["Turn it off."]
    assert [text for text in texts(found.document, found.answers) if "\n" not in text] == [
        "Turn it off.",
        "Open the valve.",
        "Late by far.",
    ]


def test_an_accepted_answer_with_an_image_is_no_gold_but_its_neighbours_are_distractors(tmp_path: Path) -> None:
    shown = answer(1, "", accepted=True, html='Look: <img src="a.png">')
    one, other = documents(
        tmp_path, thread(1, [shown, answer(2, "Mine.", day=2)]), thread(2, [answer(3, "Not accepted.")])
    )
    for document, kept in ((one, ["Mine."]), (other, ["Not accepted."])):
        found = candidate_thread(document)
        assert found
        assert found.gold is None
        assert texts(document, found.answers) == kept
    assert candidate_thread(Document("x", "A text like any other.", "made")) is None


@pytest.mark.parametrize(
    ("one", "other", "share"),
    [
        ("a", "a", 1),
        ("a b", "a", 1 / 2),
        ("a b c", "a", 1 / 3),
        ("a b c d e", "a b", 2 / 5),
        ("a", "b", 0),
        ("", "", 0),
    ],
)
def test_tags_in_common_are_a_share_of_the_larger_number(one: str, other: str, share: float) -> None:
    assert in_common(frozenset(one.split()), frozenset(other.split())) == share
    assert in_common(frozenset(other.split()), frozenset(one.split())) == share


def test_similar_and_loose_threads_are_of_the_same_site(tmp_path: Path) -> None:
    tags = (["a", "b", "c"], ["a", "b"], ["a", "x", "y"], ["a"], ["z"])
    made = [thread(n, [answer(n, f"Answer {n}.", accepted=True)], some) for n, some in enumerate(tags)]
    made += [thread(n, [answer(n, f"Answer {n}.", accepted=True)], ["untagged"]) for n in (5, 6)]
    made.append({**thread(9, [answer(9, "Answer 9.")], ["a", "b", "c"]), "id": "elsewhere:9"})
    threads = [found for document in documents(tmp_path, *made) if (found := candidate_thread(document))]
    index = ThreadIndex(threads)
    named = {thread.document.id: thread.document.meta["thread"] for thread in threads}

    def names(found: Iterable[CandidateThread]) -> list[str]:
        return sorted(str(named[thread.document.id]) for thread in found)

    assert names(index.similar(threads[0])) == ["made:1"]
    assert names(index.loose(threads[0])) == ["made:2", "made:3"]
    for alone in threads[4:7]:
        assert names(index.similar(alone)) == names(index.loose(alone)) == []


@given(st.integers(0, 10**6))
def test_every_other_thread_with_a_tag_in_common_is_near_once(seed: int) -> None:
    rng = random.Random(seed)
    span = Span("", 0, 0)
    threads = [
        CandidateThread(
            Document(str(n), "", ""), "s", frozenset(rng.sample("abcdef", rng.randint(0, 6))), span, None, (), ()
        )
        for n in range(12)
    ]
    index = ThreadIndex(threads)
    for one in threads:
        for found, wanted in ((index.similar(one), True), (index.loose(one), False)):
            shares = {o.document.id: in_common(one.tags, o.tags) for o in threads if o is not one}
            expected = sorted(name for name, share in shares.items() if share and (share >= 0.4) == wanted)
            assert sorted(other.document.id for other in found) == expected
