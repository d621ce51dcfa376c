"""The five-dimension study: who rates what, means, and agreement of raters."""

import json

import numpy as np
import pytest

from fathom.studio.log import NoteEntry
from fathom.studio.quality import (
    DIMENSIONS,
    LEVELS,
    Level,
    Rating,
    makings,
    qualities,
    rated_samples,
    ratings_of,
    read_rating,
    study,
    to_rate,
    without_origin,
)
from fathom.studio.quotas import Design
from fathom.studio.states import RATING
from fathom.studio.types import Candidate, Content, Note, Prediction, Review, Ruling, Sample
from fathom.types import FathomError
from studio_histories import history

ALL_RATED = Design(rate_one_in=1, raters=2)


def note(sample: str, rater: str, level: Level = "yes", seconds: float = 60.0, number: int = 1) -> NoteEntry:
    return NoteEntry(number, "", rater, Note(RATING, sample, json.dumps(dict.fromkeys(DIMENSIONS, level)), seconds))


def test_results_are_of_samples_with_all_ratings_only() -> None:
    drawn = [history("a", origin="people"), history("b", origin="models"), history("c", origin="models")]
    notes = [note("a", "x"), note("a", "y", "no"), note("b", "x", "no"), note("b", "y", "no"), note("c", "x")]
    found = study(drawn, notes, ALL_RATED)
    assert (found.drawn, found.complete, found.begun, found.raters, found.minutes) == (3, 2, 1, 2, 1.0)
    means = {(one.origin, one.dimension): (one.mean, one.samples) for one in found.qualities}
    assert means["people", "task"] == (0.5, 1)
    assert means["models", "all"] == (0.0, 1)
    assert means["all", "correctness"] == (0.25, 2)
    assert study(drawn, [], ALL_RATED).qualities == ()


def test_as_many_ratings_count_as_a_sample_needs_and_the_first_of_each_person() -> None:
    notes = [note("a", "x", "no"), note("a", "x"), note("a", "y"), note("a", "z", "no")]
    found = ratings_of([history("a")], notes, ALL_RATED)
    assert {name: one.task for name, one in found["a"].items()} == {"x": "no", "y": "yes"}


def test_a_rating_counts_for_the_content_that_was_rated() -> None:
    """An audit may find a problem after the rating, and the next round another answer."""
    drawn = [history("a", edited=7)]
    notes = [note("a", "x", "no", number=6), note("a", "x", number=8), note("a", "y", "partly", number=9)]
    assert {name: one.task for name, one in ratings_of(drawn, notes, ALL_RATED)["a"].items()} == {
        "x": "yes", "y": "partly",
    }  # fmt: skip
    assert to_rate(drawn, ratings_of(drawn, notes[:1], ALL_RATED), ALL_RATED, "x") == ["a"]


def test_nobody_rates_what_they_worked_on_or_rated_or_what_is_complete() -> None:
    drawn = [
        history("mine", workers=("eve",)),
        history("rated"),
        history("complete"),
        history("back", state="reconstruct"),
        history("free", workers=("ann",)),
        history("half"),
    ]
    notes = [note("rated", "eve"), note("complete", "x"), note("complete", "y"), note("half", "x")]
    ratings = ratings_of(drawn, notes, ALL_RATED)
    assert to_rate(drawn, ratings, ALL_RATED, "eve") == ["free", "half"]
    assert to_rate(drawn, ratings, ALL_RATED, "ann") == ["mine", "rated", "half"]


def test_the_study_is_drawn_evenly_over_origins() -> None:
    samples = [
        history(f"s{at}", origin=("people", "models", "together", "together")[at % 4], accepted=at + 1)
        for at in range(80)
    ]
    found = rated_samples(samples, Design(), "studio")
    assert {origin: sum(one.origin == origin for one in found) for origin in ("people", "models", "together")} == {
        "people": 2, "models": 2, "together": 4,
    }  # fmt: skip


def test_means_and_agreement_of_each_dimension() -> None:
    task = np.array([[1.0, 1.0, 1.0] if at % 4 else [0.0, 0.0, 0.0] for at in range(20)])
    values = np.stack([task, task, task, task, np.ones_like(task)], axis=2)
    found = {one.dimension: one for one in qualities("all", values)}
    assert tuple(found) == (*DIMENSIONS, "all")
    assert (found["task"].mean, found["task"].samples) == (0.75, 20)
    assert found["task"].interval.low < 0.75 < found["task"].interval.high
    assert found["task"].kappa is not None
    assert found["task"].alpha is not None
    assert found["task"].kappa.value == pytest.approx(1)
    assert found["task"].alpha.value == pytest.approx(1)
    assert found["correctness"].alpha is not None
    assert found["correctness"].alpha.value is None
    assert found["all"].mean == pytest.approx(0.8)
    assert found["correctness"].as_record()["alpha"] is None
    assert qualities("all", values[:, :1])[0].kappa is None


def test_kappa_of_the_study_is_that_of_a_textbook() -> None:
    """Two raters: 3 of 4 samples alike, 5 of 8 ratings yes."""
    table = np.array([[1, 1], [0, 0], [1, 1], [1, 0]], dtype=float)
    found = qualities("all", np.repeat(table[:, :, None], 5, axis=2))[0]
    chance = (5 / 8) ** 2 + (3 / 8) ** 2
    assert found.kappa is not None
    assert found.kappa.value == pytest.approx((0.75 - chance) / (1 - chance))


def test_minutes_until_acceptance_by_origin_and_length() -> None:
    samples = [
        history("a", accepted=1, origin="models", seconds=600),
        history("b", accepted=2, origin="models", seconds=1200),
        history("c", accepted=3, origin="people", seconds=60),
        history("d", origin="people", seconds=6000),
    ]
    people, models = makings(samples, Design())
    assert (people.origin, people.minutes, people.interval) == ("people", 1.0, None)
    assert (models.minutes, models.samples) == (15.0, 2)
    assert models.interval is not None
    assert 10 <= models.interval.low < 15 < models.interval.high <= 20
    assert models.as_record()["length"] == "8k"


def test_a_rater_sees_nothing_of_the_origin() -> None:
    content = Content("Who?", rationale="why")
    sample = Sample(
        "s", "qa", "en", 8192, ("d",), "accepted", 7, content, "ann", writers=("ann",),
        candidates=(Candidate("c", "model/a", content),), predictions=(Prediction("m", ("Ida",)),),
        reviews=(Review("bo", 1, (), (), "pass"),), rulings=(Ruling("eve", "expert_review", 1, "pass", "good", ""),),
    )  # fmt: skip
    seen = without_origin(sample)
    assert seen == Sample("s", "qa", "en", 8192, ("d",), "accepted", 7, content)


def test_ratings_of_notes_are_checked() -> None:
    good = dict.fromkeys(DIMENSIONS, "partly")
    assert read_rating(json.dumps(good)) == Rating("partly", "partly", "partly", "partly", "partly")
    assert LEVELS["partly"] == 0.5
    for bad in ("{", "[]", json.dumps(good | {"task": "maybe"}), json.dumps(good | {"x": "yes"}), "[" * 100_000):
        with pytest.raises(FathomError):
            read_rating(bad)
