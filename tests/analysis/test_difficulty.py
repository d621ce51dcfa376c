"""Difficulty from three tiers of models: labels, their stability, and files that name the tiers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from simulated import row

from fathom.analysis import LABELS, TIERS, Difficulty, difficulty, label_table, read_tiers
from fathom.analysis.difficulty import BOUNDS, _fitted, difficulty_record
from fathom.rows import to_frame
from fathom.types import Facet, FathomError, Row

SIZE = 5
NAMES = {tier: tuple(f"{tier} {number}" for number in range(SIZE)) for tier in TIERS}


def replies(model: str, scores: Sequence[float | Sequence[float | None] | None], **facets: Facet) -> list[Row]:
    """Replies of one model: a score for each question, or one for each repeat of it."""
    return [
        row(value, model=model, item=item, epoch=epoch, facets=facets, status="ok" if value is not None else "overflow")
        for item, values in enumerate(scores)
        for epoch, value in enumerate(values if isinstance(values, list | tuple) else [values], 1)
    ]


def table(right: Mapping[str, Sequence[int]]) -> pl.DataFrame:
    """Rows in which the first so many models of each tier answer each question right."""
    return to_frame(
        one
        for tier, counts in right.items()
        for number, name in enumerate(NAMES[tier])
        for one in replies(name, [float(number < count) for count in counts])
    )


def labels(found: Difficulty) -> list[str]:
    return [one.label for one in found.labels]


@pytest.mark.slow
def test_labels_are_those_of_the_paper() -> None:
    counts = {"high": (0, 1, 2, 5, 2, 2), "middle": (5, 5, 1, 0, 2, 2), "low": (5, 5, 5, 5, 1, 2)}
    found = difficulty(table(counts), NAMES)
    assert labels(found) == ["Extreme", "Extreme", "Hard", "Hard", "Moderate", "Easy"]
    assert [one.right for one in found.labels] == list(zip(*counts.values(), strict=True))
    assert found.counts == {"Easy": 1, "Moderate": 1, "Hard": 2, "Extreme": 2}
    assert list(found.counts) == list(LABELS)
    assert found.notes == ()
    assert labels(difficulty(table(counts), NAMES, allowed=2)) == ["Extreme"] * 3 + ["Hard"] + ["Extreme"] * 2
    assert labels(difficulty(table(counts), NAMES, allowed=0))[:2] == ["Extreme", "Easy"]


@pytest.mark.parametrize(
    ("correct", "label"), [("majority", "Extreme"), ("any", "Hard"), ("all", "Extreme"), ("mean", "Extreme")]
)
def test_one_right_repeat_of_three_is_right_by_one_rule_only(correct: str, label: str) -> None:
    rows = [one for name in NAMES["high"] for one in replies(name, [[1.0, 0.0, 0.9]])]
    rows += [one for tier in ("middle", "low") for name in NAMES[tier] for one in replies(name, [0.0])]
    found = difficulty(to_frame(rows), NAMES, correct=correct)  # type: ignore[arg-type]  # one of them
    assert labels(found) == [label]


@pytest.mark.parametrize(
    ("correct", "right"), [("majority", [1, 0, 1]), ("any", [1, 1, 1]), ("all", [0, 0, 1]), ("mean", [0, 1, 1])]
)
def test_rules_for_summaries(correct: str, right: list[int]) -> None:
    """Above 0.65 is right; half of the repeats is not most of them."""
    scores = [[0.66, 0.66, 0.1], [0.64, 0.7], [0.7, 0.66]]
    tiers = {"high": ["a", "b"], "mid": ["c", "d"], "low": ["e", "f"]}
    rows = [one for name in "abcdef" for one in replies(name, scores, pass_above=0.65)]
    found = difficulty(to_frame(rows), tiers, correct=correct)  # type: ignore[arg-type]  # one of them
    assert [one.right for one in found.labels] == [(2 * count,) * 3 for count in right]


def test_a_cut_reply_is_wrong_and_a_question_not_asked_has_no_label() -> None:
    tiers = {"high": ["a", "b"], "mid": ["c", "d"], "low": ["e", "f"]}
    rows = [one for name in "abcde" for one in replies(name, [1.0] * 4, difficulty="Moderate")]
    rows += replies("f", [None, 1.0])
    rows += [row(None, model="f", item=2, status="error"), row(1.0, model="f", item=3)]
    found = difficulty(to_frame(rows), tiers)
    assert [(one.item, one.label, one.right) for one in found.labels] == [
        ("kv/0", "Moderate", (2, 2, 1)),
        ("kv/1", "Easy", (2, 2, 2)),
        ("kv/3", "Easy", (2, 2, 2)),
    ]
    assert found.notes == (
        "1 of 4 questions have no label: some models of the tiers have no reply to them.",
        "1 of 3 questions have the same label as in their records.",
    )


def test_models_of_several_variants_are_named_with_them() -> None:
    rows = [one for name in "abcdef" for one in replies(name, [1.0])]
    frame = pl.concat([to_frame(rows), to_frame(row(0.0, model="a", variant=name) for name in ("x", "y"))])
    frame = frame.filter((pl.col("model") != "a") | (pl.col("variant") != ""))
    tiers = {"high": ["a · y", "b"], "mid": ["c", "d"], "low": ["e", "f"]}
    assert difficulty(frame, tiers).labels[0].right == (1, 2, 2)
    with pytest.raises(FathomError, match=r"'a' has several variants: choose one of 'a · x', 'a · y'"):
        difficulty(frame, tiers | {"high": ["a", "b"]})
    with pytest.raises(FathomError, match=r"unknown model 'a · z'; did you mean a · "):
        difficulty(frame, tiers | {"high": ["a · z", "b"]})


def test_what_cannot_be_labelled_is_said() -> None:
    frame = table(dict.fromkeys(TIERS, (3,)))
    with pytest.raises(FathomError) as few:
        difficulty(frame, NAMES | {"low": ("low 0",)})
    assert str(few.value) == (
        "tier 'low' has too few models (1): 1 may be correct on a question beyond the tier, so that no question can be "
        "within it. Give more models, or allow fewer"
    )
    with pytest.raises(FathomError, match="choose majority, any, all, mean"):
        difficulty(frame, NAMES, correct="most")  # type: ignore[arg-type]  # not one of them
    with pytest.raises(FathomError, match=r"^`allowed` -1: expected 0 or more models$"):
        difficulty(frame, NAMES, allowed=-1)
    with pytest.raises(FathomError, match="did you mean high 0"):
        difficulty(frame, NAMES | {"high": ("hihg 0", "high 1")})


def test_questions_that_nobody_shares_give_no_labels() -> None:
    rows = [row(1.0, model=name, item=number) for number, name in enumerate("abcdef")]
    found = difficulty(to_frame(rows), {"high": ["a", "b"], "mid": ["c", "d"], "low": ["e", "f"]})
    assert (found.labels, found.moved) == ((), {})
    assert math.isnan(found.agreement)
    assert found.notes == ("6 of 6 questions have no label: some models of the tiers have no reply to them.",)
    assert label_table(found).is_empty()


# ---------------------------------------------------------------------------------------------- stability


@pytest.mark.slow
@pytest.mark.parametrize("questions", [1, 2, 30])
def test_tiers_that_are_all_right_or_all_wrong_are_stable_but_not_for_sure(questions: int) -> None:
    """Where no question tells the models of a tier apart, more questions leave less doubt, and some is left."""
    for right, label in (((0, 0, 0), "Extreme"), ((0, 5, 5), "Extreme"), ((5, 5, 5), "Easy"), ((5, 0, 5), "Hard")):
        counts = {tier: (count,) * questions for tier, count in zip(TIERS, right, strict=True)}
        found = difficulty(table(counts), NAMES)
        assert labels(found) == [label] * questions
        assert 1 - 0.2 / questions < found.agreement < 1
        assert found.moved[label, label] == pytest.approx(found.agreement)


def test_questions_that_are_all_alike_say_what_a_coin_of_their_chance_says() -> None:
    found = difficulty(table(dict.fromkeys(TIERS, (2,) * 300)), NAMES)
    beyond = 0.6**SIZE + SIZE * 0.4 * 0.6 ** (SIZE - 1)
    assert found.moved["Easy", "Extreme"] == pytest.approx(beyond, abs=0.02)
    assert found.agreement == pytest.approx((1 - beyond) ** 3, abs=0.02)


@pytest.mark.slow
def test_tiers_of_one_model_and_of_many_have_shares() -> None:
    tiers = {"high": ["a"], "mid": ["b", "c"], "low": [f"d{number}" for number in range(60)]}
    names = [name for models in tiers.values() for name in models]
    rows = [one for place, name in enumerate(names) for one in replies(name, [1.0, 0.0, float(place < 1), place % 2])]
    found = difficulty(to_frame(rows), tiers, allowed=0)
    assert labels(found) == ["Easy", "Extreme", "Hard", "Extreme"]
    assert all(0 < one.stability < 1 for one in found.labels)


@pytest.mark.parametrize(("times", "least"), [(1, 0.85), (10, 0.9)])
def test_models_that_agree_on_every_question_leave_little_doubt(times: int, least: float) -> None:
    counts = {"high": (0, 5, 5, 5), "middle": (0, 0, 5, 5), "low": (0, 0, 0, 5)}
    found = difficulty(table({tier: right * times for tier, right in counts.items()}), NAMES)
    assert found.counts == dict.fromkeys(LABELS, times)
    assert least < min(one.stability for one in found.labels) < 1


@pytest.mark.slow
def test_what_is_fitted_to_any_number_of_questions_stays_within_its_bounds() -> None:
    """A million questions on which the models of a tier always agree would have an endless spread."""
    kinds = np.array([[0, 0, 0], [5, 0, 0], [5, 5, 0], [5, 5, 5]])
    fitted = _fitted(kinds, np.full(4, 1e6), (SIZE, SIZE, SIZE))
    assert all(low <= value <= high for value, (low, high) in zip(fitted.tolist(), BOUNDS, strict=True))


Easiness: TypeAlias = Callable[[np.random.Generator, tuple[int, ...]], NDArray[np.float64]]


def normal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.standard_normal(shape)


def heavy_tailed(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return rng.standard_t(2, shape) / 1.5


def bimodal(rng: np.random.Generator, shape: tuple[int, ...]) -> NDArray[np.float64]:
    return np.where(rng.random(shape) < 0.5, -1.3, 1.3) + rng.normal(0, 0.3, shape)


def said_and_true(easiness: Easiness, common: float, spread: float) -> dict[str, tuple[float, float]]:
    """Mean stability and the share of other models' labels that are the same, of all questions and by label.

    1,500 questions and five models a tier; ``common`` is the correlation of the tiers' easiness.
    """
    rng = np.random.default_rng(11)
    value = math.sqrt(common) * easiness(rng, (1500,)) + math.sqrt(1 - common) * easiness(rng, (3, 1500))
    chance = 1 / (1 + np.exp(-(spread * value + np.array([[1.5], [0.0], [-1.5]]))))

    def drawn() -> NDArray[np.int64]:
        return np.asarray(rng.binomial(SIZE, chance), dtype=np.int64)

    right = drawn()
    stable = {one.item: one.stability for one in difficulty(table(dict(zip(TIERS, right, strict=True))), NAMES).labels}
    stability = np.array([stable[f"kv/{number}"] for number in range(1500)])
    label = places(right)
    same = np.mean([places(drawn()) == label for _ in range(20)], axis=0)
    of = {"all": label >= 0, **{name: label == place for place, name in enumerate(LABELS)}}
    return {name: (float(stability[chosen].mean()), float(same[chosen].mean())) for name, chosen in of.items()}


def places(right: NDArray[np.int64]) -> NDArray[np.int64]:
    """Places of the labels in ``LABELS``, from how many models of the high, mid and low tier are right."""
    return np.where(right[0] <= 1, 3, np.where(right[1] <= 1, 2, np.where(right[2] <= 1, 1, 0)))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("spread", [1.6, 3.0])
@pytest.mark.parametrize("common", [1.0, 0.5, 0.0])
def test_the_stability_foretells_what_other_models_of_the_tiers_say(common: float, spread: float) -> None:
    """Whatever the tiers have in common, for all questions and for each label."""
    found = said_and_true(normal, common, spread)
    for name, (said, true) in found.items():
        assert said == pytest.approx(true, abs=0.015 if name == "all" else 0.045), found


@pytest.mark.slow
@pytest.mark.parametrize(
    ("easiness", "common", "off"),
    [(heavy_tailed, 1.0, 0.07), (heavy_tailed, 0.5, 0.09), (bimodal, 1.0, 0.25), (bimodal, 0.5, 0.06)],
)
def test_difficulties_that_are_not_normal_keep_the_mean_but_not_each_label(
    easiness: Easiness, common: float, off: float
) -> None:
    """Two kinds of questions, easy and hard for all tiers alike, are what the model fits worst."""
    found = said_and_true(easiness, common, 1.6)
    for name, (said, true) in found.items():
        assert said == pytest.approx(true, abs=0.02 if name == "all" else off), found


@pytest.mark.slow
def test_labels_follow_thresholds_that_are_known() -> None:
    """Models right up to a known hardness: questions between the tiers' limits have the label between them."""
    limits = {"low": 0.25, "middle": 0.5, "high": 0.75}
    hardness = np.linspace(0.0, 1.0, 201)
    rng = np.random.default_rng(5)
    rows = [
        one
        for tier, limit in limits.items()
        for name in NAMES[tier]
        for one in replies(name, (hardness < limit + rng.normal(0, 0.02)).astype(float).tolist())
    ]
    found = difficulty(to_frame(rows), NAMES)
    expected = [LABELS[sum(hard >= limit for limit in limits.values())] for hard in hardness]
    clear = [min(abs(hard - limit) for limit in limits.values()) > 0.06 for hard in hardness]
    by_item = {one.item: one for one in found.labels}
    for number, (label, far) in enumerate(zip(expected, clear, strict=True)):
        if far:
            assert by_item[f"kv/{number}"].label == label
            assert by_item[f"kv/{number}"].stability > 0.75
    assert 0.75 < found.agreement < 1.0


@pytest.mark.slow
@settings(max_examples=4)
@given(st.lists(st.tuples(*[st.integers(0, SIZE)] * 3), min_size=1, max_size=8), st.integers(0, 3))
def test_shares_add_up_and_more_right_answers_are_never_harder(
    counts: list[tuple[int, int, int]], allowed: int
) -> None:
    frame = table(dict(zip(TIERS, zip(*counts, strict=True), strict=True)))
    found = difficulty(frame, NAMES, allowed=allowed)
    assert sum(found.counts.values()) == len(found.labels) == len(counts)
    for label in set(labels(found)):
        assert sum(found.moved[label, other] for other in LABELS) == pytest.approx(1)
    assert found == difficulty(frame, NAMES, allowed=allowed)
    more = [tuple(min(SIZE, count + 1) for count in one) for one in counts]
    easier = difficulty(table(dict(zip(TIERS, zip(*more, strict=True), strict=True))), NAMES, allowed=allowed)
    for before, after in zip(found.labels, easier.labels, strict=True):
        assert LABELS.index(after.label) <= LABELS.index(before.label)


# -------------------------------------------------------------------------------------------------- tiers


def test_a_table_of_labels() -> None:
    found = difficulty(table({"high": (5,), "middle": (5,), "low": (1,)}), NAMES)
    (line,) = label_table(found).to_dicts()
    stability = line.pop("stability")
    assert stability == found.labels[0].stability
    assert line == {
        "suite": "s", "item": "kv/0", "id": "0", "label": "Moderate",
        "right_high": 5, "right_middle": 5, "right_low": 1,
    }  # fmt: skip


def test_the_record_of_a_result_has_all_of_it() -> None:
    found = difficulty(table({"high": (5, 0), "middle": (5, 5), "low": (1, 5)}), NAMES)
    record = difficulty_record(found)
    assert record["counts"] == {"Easy": 0, "Moderate": 1, "Hard": 0, "Extreme": 1}
    assert (record["agreement"], record["notes"]) == (found.agreement, [])
    assert record["labels"] == label_table(found).to_dicts()
    assert {(one["from"], one["to"]): one["share"] for one in record["moved"]} == found.moved


def test_questions_at_several_lengths_are_named_by_their_samples() -> None:
    rows = [row(1.0, model=name, length=length) for name in "abcdef" for length in (2048, 4096)]
    found = difficulty(to_frame(rows), {"high": ["a", "b"], "mid": ["c", "d"], "low": ["e", "f"]})
    assert [one.item for one in found.labels] == ["kv/0@2048", "kv/0@4096"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('high = ["a"]\nmid = ["b"]\n', "no tier 'low'; expected three lists"),
        ('high = ["a"]\nmid = ["b"]\nlow = "c"\n', "tier 'low' is not a list of texts"),
        ('high = ["a"]\nmid = ["b", 3]\nlow = ["c"]\n', "tier 'middle' is not a list of texts"),
        ('high = ["a"]\nmid = ["b"]\nmiddle = ["d"]\nlow = ["c"]\n', "tiers 'mid' and 'middle' are the same"),
        ('high = []\nmid = ["b"]\nlow = ["c"]\n', "tier 'high' names no model"),
        ('high = ["a"]\nmid = ["b"]\nlow = ["a"]\n', "model 'a' is in the tiers 'high' and 'low'"),
        ('high = ["a", "a"]\nmid = ["b"]\nlow = ["c"]\n', "model 'a' is twice in the tier 'high'"),
        ('high = ["a"]\nmid = ["b"]\nlow = ["c"]\ntop = ["d"]\n', "unknown tier 'top'"),
        ("high = [", "not valid TOML"),
    ],
)
def test_wrong_tiers_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "tiers.toml"
    path.write_text(text)
    with pytest.raises(FathomError, match=said) as caught:
        read_tiers(path)
    assert str(path) in str(caught.value)


def test_tiers_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tiers.toml"
    path.write_text('high = ["a · thinking"]\nmid = ["b"]\nlow = ["c", "d"]\n')
    expected = {"high": ("a · thinking",), "middle": ("b",), "low": ("c", "d")}
    assert read_tiers(path) == expected
    path.write_text(path.read_text().replace("mid", "middle"))
    assert read_tiers(path) == expected
    with pytest.raises(FathomError, match="No such file"):
        read_tiers(tmp_path / "none.toml")
