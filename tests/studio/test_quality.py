"""The five-dimension study: means, and agreement of raters."""

import json

import pytest

from fathom.studio.quality import DIMENSIONS, LEVELS, Level, Rated, Rating, as_records, quality, read_rating
from fathom.types import FathomError


def rated(sample: str, rater: str, level: Level = "yes", correctness: Level = "yes") -> Rated:
    return Rated(sample, rater, Rating(level, level, level, level, correctness))


def test_means_and_agreement_by_dimension() -> None:
    ratings = [rated(f"s{n}", name, "yes" if n % 4 else "no") for n in range(20) for name in ("a", "b", "c")]
    found = {one.dimension: one for one in quality(ratings)}
    assert tuple(found) == DIMENSIONS
    task = found["task"]
    assert (task.mean, task.samples, task.raters) == (0.75, 20, 3)
    assert task.interval.low < 0.75 < task.interval.high
    assert task.kappa is not None
    assert task.kappa.value == pytest.approx(1)
    assert task.alpha is not None
    assert task.alpha.value == pytest.approx(1)
    right = found["correctness"]
    assert right.mean == 1
    assert right.alpha is not None
    assert right.alpha.value is None


def test_the_last_rating_of_a_person_counts_and_missing_ones_leave_kappa_out() -> None:
    ratings = [rated("a", "x", "no"), rated("a", "x", "yes"), rated("a", "y"), rated("b", "x", "no")]
    task = quality(ratings)[0]
    assert task.mean == 0.5
    assert task.kappa is None
    assert task.alpha is not None
    one = quality([rated("a", "x")])[0]
    assert (one.kappa, one.alpha) == (None, None)
    assert quality(reversed(ratings[1:])) == quality(ratings)


def test_a_table_for_people() -> None:
    rows = as_records(quality([rated("a", "x"), rated("a", "y", "no"), rated("b", "x", "partly"), rated("b", "y")]))
    assert [row["dimension"] for row in rows] == list(DIMENSIONS)
    assert rows[4]["kappa"] is None
    assert str(rows[0]["mean"]).startswith("0.625 [")


def test_ratings_of_notes_are_checked() -> None:
    good = dict.fromkeys(DIMENSIONS, "partly")
    assert read_rating(json.dumps(good)) == Rating("partly", "partly", "partly", "partly", "partly")
    assert LEVELS["partly"] == 0.5
    for bad in ("{", "[]", json.dumps(good | {"task": "maybe"}), json.dumps(good | {"x": "yes"}), "[" * 100_000):
        with pytest.raises(FathomError):
            read_rating(bad)
    with pytest.raises(FathomError, match="no sample is rated yet"):
        quality([])
