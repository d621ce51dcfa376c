"""Answers of models for the answer review, the closed-book check and difficulty."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fathom.rows import to_frame
from fathom.studio.asking import Asking
from fathom.studio.difficulties import Tier, difficulty, read_tiers, results_of
from fathom.studio.predicting import (
    components_of,
    is_right,
    known_without_text,
    mined,
    predict,
    score_of,
)
from fathom.studio.tasks import find_task
from fathom.studio.types import Prediction
from fathom.types import FathomError, Row
from made_studio import TASKS, made_collection, made_sample, made_text

ONE = made_text(1)
LIST = find_task(TASKS, "T5.2")
CHOICE, SUMMARY = find_task(TASKS, "T3.2"), find_task(TASKS, "T4.1")
SAMPLE = made_sample("s1", (ONE,), task="T5.2", answer=("[2]", "Entry  Three"))
TIER_OF: dict[str, Tier] = {f"{tier}{number}": tier for tier in ("high", "middle", "low") for number in range(5)}


@pytest.mark.parametrize(
    ("reply", "components"),
    [
        ("[Answer]\n[2]\nentry three", ("[2]", "entry three")),
        ("Thoughts.\n[Answer]\n- Alpha  Beta\n2. Gamma\n\n- alpha beta", ("Alpha Beta", "Gamma")),
        ("[答案]\n1、甲\n2、乙", ("甲", "乙")),
        ("[Answer]\n", ()),
        ("no marker\nat all", ("no marker", "at all")),
    ],
)
def test_components_of_a_reply_keep_their_spelling(reply: str, components: tuple[str, ...]) -> None:
    assert components_of(reply, SAMPLE, LIST) == components


def test_a_summary_is_one_component() -> None:
    sample = made_sample("s", (ONE,), task="T4.1", answer=("A.", "B.", "C."))
    assert components_of("[Answer]\nTwo\nlines.", sample, SUMMARY) == ("Two\nlines.",)


def test_scores_are_those_of_the_benchmark() -> None:
    assert score_of("[Answer]\n[2]\nENTRY three", SAMPLE, LIST) == 1
    assert score_of("[Answer]\n[2]", SAMPLE, LIST) == pytest.approx(2 / 3)
    assert score_of("[Answer]\nB", made_sample("s", (ONE,)), CHOICE) == 1
    assert score_of("x", made_sample("s", (ONE,), answer=()), CHOICE) is None
    assert is_right(1.0, LIST)
    assert not is_right(0.99, LIST)
    assert is_right(0.66, SUMMARY)
    assert not is_right(0.65, SUMMARY)


def test_what_most_models_find_and_the_reference_lacks_comes_first() -> None:
    sample = replace(
        SAMPLE,
        predictions=(
            Prediction("a", ("[2]", "New  One", "x")),
            Prediction("b", ("new one", "Entry three")),
            Prediction("b", ("new one",)),
            Prediction("c", ("known",), closed_book=True),
        ),
    )
    found = mined(sample, LIST)
    assert [(one.text, one.models) for one in found] == [("New  One", ("a", "b")), ("x", ("a",))]
    assert mined(replace(sample, task=SUMMARY.name), SUMMARY) == ()


@pytest.mark.parametrize(
    ("scores", "known"), [([], None), ([1.0, 0.0], True), ([1.0, 0.0, 0.5], False), ([None], None), ([0.0], False)]
)
def test_a_question_is_known_if_half_of_the_closed_book_answers_are_right(
    scores: list[float | None], known: bool | None
) -> None:
    asked = tuple(Prediction(f"m{at}", (), closed_book=True, score=score) for at, score in enumerate(scores))
    sample = replace(SAMPLE, predictions=(Prediction("m", (), score=1.0), *asked))
    assert known_without_text(sample, LIST) is known


def results(high: int, middle: int, low: int, repetitions: int = 1) -> dict[str, list[bool]]:
    right = {"high": high, "middle": middle, "low": low}
    return {name: [int(name[-1]) < right[tier]] * repetitions for name, tier in TIER_OF.items()}


@pytest.mark.parametrize(
    ("right", "label"),
    [
        ((0, 5, 5), "Extreme"),
        ((1, 5, 5), "Extreme"),
        ((2, 1, 5), "Hard"),
        ((2, 2, 1), "Moderate"),
        ((2, 2, 2), "Easy"),
        ((5, 5, 5), "Easy"),
    ],
)
def test_tiers_are_those_of_the_paper(right: tuple[int, int, int], label: str) -> None:
    found = difficulty(results(*right), TIER_OF)
    assert found.label == label
    assert found.right == dict(zip(("high", "middle", "low"), right, strict=True))
    assert set(found.models.values()) == {5}


def test_a_label_is_more_stable_with_more_repetitions_and_far_from_its_limits() -> None:
    close, far = difficulty(results(2, 5, 5), TIER_OF), difficulty(results(5, 5, 5), TIER_OF)
    often = difficulty(results(2, 5, 5, repetitions=9), TIER_OF)
    assert 0 < close.stability < far.stability <= 1
    assert close.stability < often.stability
    assert difficulty(results(2, 5, 5), TIER_OF) == close


def test_a_model_is_right_if_most_of_its_repetitions_are() -> None:
    runs = {**results(0, 0, 0), "high0": [True, True, False], "high1": [True, False], "unknown": [True]}
    assert difficulty(runs, TIER_OF).right["high"] == 1


def test_too_few_models_of_a_tier_are_refused() -> None:
    with pytest.raises(FathomError, match="1 models of the low tier have results; more than 1 are needed"):
        difficulty({name: [True] for name in ("high0", "high1", "middle0", "middle1", "low0")}, TIER_OF)


def test_baselines_predict_with_and_without_the_documents() -> None:
    samples = [made_sample(f"s{number}", (ONE,)) for number in range(3)]
    collection = made_collection(*samples, texts=(ONE,))
    open_book = predict(samples, collection, Asking("fathom/guess"))
    closed = predict(samples, collection, Asking("fathom/guess"), closed_book=True)
    assert set(open_book.predictions) == set(closed.predictions) == {"s0", "s1", "s2"}
    assert not open_book.failed
    for one in open_book.predictions.values():
        assert one.components[0] in {"A", "B", "C", "D"}
        assert one.score in (0.0, 1.0)
        assert not one.closed_book
    assert all(one.closed_book for one in closed.predictions.values())


def test_results_come_from_rows_at_the_own_length_of_a_sample() -> None:
    def row(item: str, model: str, value: float | None, epoch: int = 1, length: int = 8192, **facets: Any) -> Row:
        name = f"pro_t5_2/en/{item}"
        return Row("s", "pro_t5_2", name, f"{name}@{length}", model, length, value, epoch=epoch, facets=facets)

    rows = to_frame(
        [
            row("a", "m", 1.0),
            row("a", "m", 0.5, epoch=2),
            row("a", "n", 0.9, pass_above=0.65),
            row("a", "m", 1.0, length=1024, shortened_from=8192),
            row("b", "m", 0.0),
        ]
    )
    assert results_of(rows) == {"a": {"m": [True, False], "n": [True]}, "b": {"m": [False]}}


def test_tiers_of_models_are_a_file(tmp_path: Path) -> None:
    path = tmp_path / "tiers.toml"
    path.write_text('high = ["a", "b"]\nmiddle = ["c"]\nlow = []\n', encoding="utf-8")
    assert read_tiers(path) == {"a": "high", "b": "high", "c": "middle"}
    path.write_text(path.read_text().replace("middle", "mid"))
    assert read_tiers(path) == {"a": "high", "b": "high", "c": "middle"}
    for text, message in (
        ("high = 1", "high: expected a list"),
        ('high = ["a"]\nmiddle = ["a"]\nlow = []', "a is in the tiers high and middle"),
        ("high = []\nmiddle = []\nlow = []\nlast = []", "unknown field 'last'"),
        ("high = []\nlow = []", "expected one list middle or mid"),
        ("high = []\nmiddle = []\nmid = []\nlow = []", "expected one list middle or mid"),
        ("high", "not valid TOML"),
    ):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(FathomError, match=message):
            read_tiers(path)
