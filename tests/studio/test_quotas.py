"""The balanced design and audits drawn from it."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.studio.quotas import Design, audit_sample, progress
from fathom.studio.types import Sample, State
from fathom.types import FathomError

SMALL = Design(("T3.2 Single-Hop Fact QA", "own"), ("en", "zh"), (8192, 16384), 2)


def made(id: str, task: str = "own", language: str = "en", bucket: int = 8192, state: State = "accepted") -> Sample:
    return Sample(id, task, language, bucket, ("d",), state=state)


def whole(design: Design, state: State = "accepted") -> list[Sample]:
    cells = [cell for cell in design.cells() for _ in range(design.each)]
    return [made(f"s{number}", *cell, state=state) for number, cell in enumerate(cells)]


def test_the_papers_design_has_1500_samples() -> None:
    assert Design().total == 1500
    assert len(Design().cells()) == 300


def test_what_is_missing_of_every_combination() -> None:
    samples = [
        made("a"),
        made("b", state="audited"),
        made("c", state="rejected"),
        made("d", language="zh", state="expert_review"),
        made("e", bucket=4096, state="drafted"),
    ]
    cells = {(one.task, one.language, one.bucket): one for one in progress(SMALL, samples)}
    assert sum(one.wanted for one in cells.values()) == SMALL.total
    assert (cells["own", "en", 8192].accepted, cells["own", "en", 8192].missing) == (2, 0)
    zh = cells["own", "zh", 8192]
    assert (zh.accepted, zh.under_way, zh.missing, zh.to_begin) == (0, 1, 2, 1)
    assert cells["own", "en", 4096].wanted == cells["own", "en", 4096].missing == 0
    assert list(cells)[-1] == ("own", "en", 4096)


def test_an_audit_of_the_papers_design_is_balanced_in_every_margin() -> None:
    drawn = audit_sample(whole(Design()), 300, seed=3)
    assert len(drawn) == 300
    assert set(Counter((one.task, one.language, one.bucket) for one in drawn).values()) == {1}
    few = audit_sample(whole(Design()), 50)
    assert set(Counter(one.task for one in few).values()) == {2}
    assert set(Counter(one.language for one in few).values()) == {25}
    assert set(Counter(one.bucket for one in few).values()) <= {8, 9}


@given(st.integers(0, 1000), st.integers(1, 30), st.integers(0, 30))
@settings(max_examples=30, deadline=None)
def test_an_audit_depends_on_seed_and_ids_only_and_grows(seed: int, size: int, more: int) -> None:
    samples = whole(SMALL)
    mixed = samples.copy()
    Random(seed).shuffle(mixed)
    drawn = audit_sample(samples, size, seed=seed)
    assert audit_sample(mixed, size, seed=seed) == drawn
    assert audit_sample(samples, size + more, seed=seed)[: len(drawn)] == drawn


def test_audits_continue_where_they_were() -> None:
    samples = whole(SMALL)
    first = {one.id for one in audit_sample(samples, 4)}
    rest = audit_sample(samples, 8, audited=first)
    assert len(rest) == 4
    assert not first & {one.id for one in rest}
    both = [one for one in samples if one.id in first or one in rest]
    assert set(Counter((one.task, one.language, one.bucket) for one in both).values()) == {1}


def test_each_sample_of_a_combination_is_audited_equally_often() -> None:
    samples = whole(SMALL)
    counts = Counter(one.id for seed in range(2000) for one in audit_sample(samples, 8, seed=seed))
    assert min(counts.values()) > 900  # of 1,000 expected
    assert max(counts.values()) < 1100


def test_only_accepted_samples_are_audited_and_an_empty_audit_is_refused() -> None:
    assert audit_sample([made("a", state="revision"), made("b", state="audited")], 5) == ()
    with pytest.raises(FathomError, match="at least 1"):
        audit_sample([], 0)
