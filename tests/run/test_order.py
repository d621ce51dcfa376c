"""The order in which samples are asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_suites import make_suite, sample

from engine_calls import run
from fathom.run.order import even_order
from fathom.runfile.store import replies
from fathom.suites.suitefile import open_suite
from fathom.types import Sample

LENGTHS = (1024, 2048, 8192)


@st.composite
def suites(draw: st.DrawFn) -> list[Sample]:
    """Tasks of several items, each with questions at some of the lengths, as suites are built."""
    samples = []
    for task in "abc"[: draw(st.integers(1, 3))]:
        for item in range(draw(st.integers(1, 9))):
            questions = draw(st.integers(1, 4))
            for length in sorted(draw(st.sets(st.sampled_from(LENGTHS), min_size=1))):
                samples += [
                    replace(sample(0, length), id=f"{task}{item}@{length}/{number}", item=f"{task}/{item}", task=task)
                    for number in range(questions)
                ]
    return samples


@pytest.mark.slow
@given(suites())
def test_at_any_moment_two_cells_differ_by_at_most_one_group(samples: list[Sample]) -> None:
    cells = Counter((one.task, one.length) for one in samples)
    groups = Counter((one.task, one.length, one.item) for one in samples)
    largest = {
        cell: max(size for key, size in groups.items() if key[:2] == cell) / count for cell, count in cells.items()
    }
    finished: Counter[tuple[str, int]] = Counter()
    for place in even_order(samples):
        finished[samples[place].task, samples[place].length] += 1
        shares = {cell: finished[cell] / count for cell, count in cells.items()}
        for first, share in shares.items():
            for second, other in shares.items():
                assert abs(share - other) <= max(largest[first], largest[second]) + 1e-9


@pytest.mark.slow
@given(suites())
def test_questions_on_one_context_stay_together_and_every_sample_is_asked_once(samples: list[Sample]) -> None:
    order = even_order(samples)
    assert sorted(order) == list(range(len(samples)))
    asked = [samples[place] for place in order]
    runs = [key for key, _ in groupby(asked, key=lambda one: (one.item, one.length))]
    assert len(runs) == len(set(runs))
    for _, group in groupby(order, key=lambda place: (samples[place].item, samples[place].length)):
        places = list(group)
        assert places == list(range(places[0], places[-1] + 1))


def test_kinds_without_a_context_and_truncated_prompts_are_cells_of_their_own() -> None:
    samples = [
        replace(sample(item, length), facets=facets)
        for item in range(2)
        for length, facets in (
            (0, {"context": "none"}), (0, {"context": "alone"}), (256, {}), (256, {"cut_from": 512}),
        )
    ]  # fmt: skip
    assert even_order(samples) == list(range(8))
    assert even_order([samples[place] for place in (0, 4, 1, 5, 2, 6)]) == [0, 2, 4, 1, 3, 5]


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_run_asks_tasks_in_turn_and_resumes_with_what_is_missing(tmp_path: Path, epochs: int) -> None:
    suite = make_suite(tmp_path, 12, tasks=("passkey", "kv_retrieval"), lengths=(256, 512))
    run(suite, "fathom/first", out=tmp_path / "run", max_connections=1, epochs=epochs, tasks=["passkey"], limit=2)
    run(suite, "fathom/first", out=tmp_path / "run", max_connections=1, epochs=epochs)
    stored = sorted(replies(tmp_path / "run"), key=lambda reply: reply.finished_at)
    samples = list(open_suite(suite).samples())
    ids = [samples[place].id for place in even_order(samples)]
    early = [one.id for one in open_suite(suite).samples(tasks=["passkey"], limit=2)]
    expected = [*(id for id in ids if id in early), *(id for id in ids if id not in early)]
    assert [reply.sample for reply in stored] == [id for id in expected for _ in range(epochs)]
