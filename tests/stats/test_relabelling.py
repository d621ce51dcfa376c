"""Not answering never pays: whatever wrong replies are said to be, no score of their model rises.

A table of replies is taken as it is; then some replies of one model that score nothing are given another status, or are
emptied, or lose their score. Every score that analysis gives the model must be as it was, lower, or not there.
"""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from every_score import PLAIN, Scores, every_score, risen
from fathom.rows import to_frame
from fathom.types import STATUSES, Facet, Row, Status

LENGTHS = (1024, 2048, 4096, 6144, 8192, 32768)
CATEGORIES = ("single_doc_qa", "synthetic")


@dataclass(frozen=True)
class Shape:
    """What a made table of replies is like."""

    models: int = 2
    tasks: int = 2
    lengths: tuple[int, ...] = LENGTHS[1:5]
    items: int = 4
    epochs: int = 1
    suites: int = 1
    modes: bool = False
    side: bool = False
    right: float = 0.6
    partly: bool = False
    holes: bool = False


def made(shape: Shape, rng: random.Random) -> list[Row]:
    """A table of replies: models in a few variants, asked the same questions, with rows beside the curves."""
    rows = []
    asked = [
        (f"s{suite}", f"t{task}", item, length, epoch)
        for suite, task, item, length in product(
            range(shape.suites), range(shape.tasks), range(shape.items), shape.lengths
        )
        if not (suite and task)  # the second suite shares one task with the first
        for epoch in range(1, shape.epochs + 1)
    ]
    skipped = (rng.randrange(shape.tasks), rng.choice(shape.lengths)) if shape.holes else None
    for model, mode in product(range(shape.models), ("off", "on") if shape.modes else ("",)):
        skill = rng.random()
        for suite, task, item, length, epoch in asked:
            if skipped is not None and (task, length) == (f"t{skipped[0]}", skipped[1]):
                continue
            facets: dict[str, Facet] = {"depth": (item % 3) / 2, "category": CATEGORIES[int(task[1:]) % 2]}
            facets |= {"kind": f"k{item % 2}", "thinking": mode} if mode else {"kind": f"k{item % 2}"}
            one = Row(
                suite,
                task,
                f"{task}/{item}",
                f"{task}/{item}@{length}",
                f"m{model}",
                length,
                _value(rng, (shape.right + skill) / 2, shape.partly),
                variant=mode,
                epoch=epoch,
                valid=rng.random() < 0.8,
                status="incomplete" if rng.random() < 0.1 else "ok",
                chance=rng.choice((0.0, 0.0, 0.05)),
                answered=rng.choice((True, None)),
                answer=rng.choice(("A1", "A2", None)),
                facets=facets,
            )
            rows.append(one)
            if shape.side and length == shape.lengths[-1]:
                rows += _beside(one, rng, shape)
    return rows


def _value(rng: random.Random, right: float, partly: bool) -> float:
    if partly and rng.random() < 0.4:
        return rng.choice((0.25, 0.5, 0.9))
    return float(rng.random() < right)


def _beside(one: Row, rng: random.Random, shape: Shape) -> list[Row]:
    """The same question without its context, over the gold document alone, and over a prompt that was cut."""
    fresh = [replace(one, value=_value(rng, shape.right, shape.partly), status="ok") for _ in range(3)]
    return [
        replace(fresh[0], sample=f"{one.item}@none", length=0, facets={**one.facets, "context": "none"}),
        replace(fresh[1], sample=f"{one.item}@alone", length=0, facets={**one.facets, "context": "alone"}),
        replace(fresh[2], sample=f"{one.sample}@cut", length=512, facets={**one.facets, "cut_from": one.length}),
    ]


def relabelled(
    rows: list[Row], model: str, rng: random.Random, share: float, statuses: tuple[Status, ...], most: float = 0.0
) -> list[Row]:
    """Some of a model's replies with a score of at most ``most`` said to be something else, or emptied."""
    changed = []
    for one in rows:
        if one.model == model and one.value is not None and one.value <= most and rng.random() < share:
            answered = rng.choice((True, False, None))
            status, value = rng.choice(statuses), rng.choice((None, 0.0))
            one = replace(one, status=status, value=value, answered=answered, valid=one.valid and answered is not False)
        changed.append(one)
    return changed


@lru_cache(maxsize=1)
def honest(shape: Shape, seed: int) -> tuple[list[Row], str, Scores]:
    """A table of replies, one of its models, and every score of that model: for all that is said of the same table."""
    rng = random.Random(seed)
    rows = made(shape, rng)
    model = f"m{rng.randrange(shape.models)}"
    return rows, model, every_score(to_frame(rows), model)


def check(shape: Shape, seed: int, share: float, statuses: tuple[Status, ...]) -> None:
    """No score of any model rises by relabelling its wrong replies."""
    rows, model, before = honest(shape, seed)
    assert before
    changed = relabelled(rows, model, random.Random(f"{seed} relabelled"), share, statuses)
    assert risen(before, every_score(to_frame(changed), model)) == []


SHAPES = st.builds(
    Shape,
    models=st.integers(1, 2),
    tasks=st.integers(1, 3),
    lengths=st.lists(st.sampled_from(LENGTHS), min_size=2, max_size=4, unique=True).map(
        lambda some: tuple(sorted(some))
    ),
    items=st.integers(1, 5),
    epochs=st.integers(1, 3),
    suites=st.integers(1, 2),
    modes=st.booleans(),
    side=st.booleans(),
    right=st.sampled_from((0.2, 0.6, 0.95)),
    partly=st.booleans(),
    holes=st.booleans(),
)
SEEDS = st.integers(0, 10**6)
SOME = st.sets(st.sampled_from(STATUSES), min_size=1).map(lambda some: tuple(sorted(some)))


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=8)
@given(shape=SHAPES, seed=SEEDS, share=st.sampled_from((0.05, 0.3, 1.0)), statuses=SOME)
def test_relabelling_wrong_replies_raises_no_score(
    shape: Shape, seed: int, share: float, statuses: tuple[Status, ...]
) -> None:
    check(shape, seed, share, statuses)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("share", [0.03, 1.0])
@pytest.mark.parametrize("status", STATUSES)
def test_no_status_raises_a_score(status: Status, share: float) -> None:
    """Cells of 60 replies: a few of them missing leave the cell its score."""
    check(Shape(tasks=2, lengths=(2048, 8192), items=60), 7, share, (status,))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_no_mixture_raises_a_score(seed: int) -> None:
    """Models in two modes, a task that two suites share, and rows beside the curves."""
    lengths = (LENGTHS[:3], LENGTHS[1:4], LENGTHS[3:], (2048, 8192))[seed]
    shape = Shape(tasks=2, lengths=lengths, items=5, epochs=2, suites=2, modes=True, side=True, holes=seed % 2 == 1)
    check(shape, seed, 0.4, STATUSES)


@pytest.mark.slow
@pytest.mark.long
@settings(max_examples=5)
@given(shape=SHAPES.map(lambda one: replace(one, partly=True, side=False)), seed=SEEDS, statuses=SOME)
def test_relabelling_partly_right_replies_raises_no_plain_mean(
    shape: Shape, seed: int, statuses: tuple[Status, ...]
) -> None:
    """A ratio to a base may rise where the base falls; a mean of replies may not."""
    rng = random.Random(seed)
    rows = made(shape, rng)
    model = f"m{rng.randrange(shape.models)}"
    before = every_score(to_frame(rows), model)
    after = every_score(to_frame(relabelled(rows, model, rng, 0.5, statuses, most=0.9)), model)
    assert risen(before, after, PLAIN) == []


@pytest.mark.slow
def test_the_check_sees_a_score_that_rises() -> None:
    """What the rule replaced, leaving out what was not answered, is found to raise scores."""
    rows = made(Shape(models=1, tasks=1, items=6), random.Random(3))
    dropped = [one for one in rows if one.value]
    assert 0 < len(dropped) < len(rows)
    before, after = (every_score(to_frame(some), "m0") for some in (rows, dropped))
    assert risen(before, after, ("average",))


@pytest.mark.slow
def test_every_kind_of_score_is_looked_at() -> None:
    shape = Shape(models=2, tasks=2, lengths=(2048, 4096, 8192, 32768), items=5, epochs=2, modes=True, side=True)
    found = {key[0] for key in every_score(to_frame(made(shape, random.Random(5))), "m0")}
    assert found >= {
        *PLAIN, "longscore", "longscore at", "effective", "retention", "log_ratio", "area", "l85", "l50", "rank",
        "position", "answers", "followed", "agreement", "truncation", "truncation full",
    }  # fmt: skip
