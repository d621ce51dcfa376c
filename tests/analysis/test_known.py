"""The prior-knowledge filter: who loses what under which policy, and what it does to means that knowledge inflates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fathom.analysis.known import POLICIES, Filtered, Policy, known_filter
from fathom.rows import to_frame
from fathom.stats.intervals import jeffreys_interval
from fathom.stats.side_rows import is_side_row
from fathom.types import Facet, FathomError, Row, Status

LENGTHS = (2048, 8192)


def asked(
    model: str,
    item: int,
    value: float | None,
    *,
    length: int = 0,
    task: str = "qa",
    question: int = 0,
    epoch: int = 1,
    answer: str | None = "Paris",
    status: Status = "ok",
    variant: str = "",
    context: str = "none",
    target: str = "",
) -> Row:
    """One row, closed book unless a length is given; ``question`` 0 means that the item has one only."""
    facets: dict[str, Facet] = {"question": question} if question else {}
    if not length:
        facets["context"] = context
    name = f"{task}/en/{item:04d}"
    end = length or context
    return Row(
        "hundred", task, name, f"{name}@{end}" + (f"/q{question}" if question else ""), model, length, value,
        variant=variant, epoch=epoch, status=status, answer=answer, facets=facets, valid=value is not None,
        target=target or f"answer {item}.{question}",
    )  # fmt: skip


def table(knows: Mapping[str, Sequence[float | None]], *, reads: float = 0.25, task: str = "qa") -> pl.DataFrame:
    """Models with their closed-book scores, item by item, and the score ``reads`` at every length."""
    rows = []
    for model, scores in knows.items():
        for item, score in enumerate(scores):
            rows.append(asked(model, item, score, task=task))
            rows += [asked(model, item, reads, length=length, task=task) for length in LENGTHS]
    return to_frame(rows)


def left(found: Filtered, model: str) -> list[int]:
    """Numbers of the items that a model still has rows with a context of."""
    kept = found.rows.filter((pl.col("length") > 0) & (pl.col("model") == model))
    assert kept.group_by("item").len()["len"].eq(len(LENGTHS)).all(), "an item goes at all lengths or at none"
    return sorted({int(name.rpartition("/")[2]) for name in kept["item"]})


KNOWS = {"a": [1.0, 0.5, 0.0, 0.4], "b": [0.0, 1.0, 0.0, 0.0], "c": [0.0, 0.0, 0.0, 1.0]}


@pytest.mark.parametrize(
    ("policy", "panel", "a", "b", "c"),
    [
        ("own", None, [2, 3], [0, 2, 3], [0, 1, 2]),
        ("intersection", None, [2], [2], [2]),
        ("panel", ["b"], [0, 2, 3], [0, 2, 3], [0, 2, 3]),
        ("panel", ["a", "c"], [2], [2], [2]),
        ("none", None, [0, 1, 2, 3], [0, 1, 2, 3], [0, 1, 2, 3]),
    ],
)
def test_who_loses_what(policy: Policy, panel: list[str] | None, a: list[int], b: list[int], c: list[int]) -> None:
    found = known_filter(table(KNOWS), policy, panel=panel)
    assert (left(found, "a"), left(found, "b"), left(found, "c")) == (a, b, c)
    assert [one.removed for one in found.removed] == [4 - len(a), 4 - len(b), 4 - len(c)]
    assert [one.known for one in found.removed] == [2, 1, 1]
    assert found.removed[0].share == (4 - len(a)) / 4
    assert len(found.rows.filter(is_side_row())) == 12


def test_one_model_loses_its_own_questions_by_default() -> None:
    rows = table({"a": KNOWS["a"]})
    assert known_filter(rows).rows.equals(known_filter(rows, "own").rows)


def test_the_threshold_is_part_of_what_is_known() -> None:
    rows = table({"a": [0.0, 0.49, 0.5, 1.0]})
    assert left(known_filter(rows, "own"), "a") == [0, 1]
    assert left(known_filter(rows, "own", threshold=0.4), "a") == [0]
    assert left(known_filter(rows, "own", threshold=1.0), "a") == [0, 1, 2]


def test_what_is_told_of_the_filter_is_what_was_asked_for() -> None:
    rows = table({"a": [0.0, 0.45, 0.5, 1.0]})
    assert [known_filter(rows, threshold=one).removed[0].known for one in (0.4, 0.5, 1.0)] == [3, 2, 1]
    first, again, other = (known_filter(rows, seed=seed).removed[0] for seed in (0, 0, 1))
    assert first == again
    assert first.score == other.score
    assert first.interval != other.interval
    # Each question counts once, however many models it is excluded for.
    assert known_filter(table(KNOWS)).distinct == (3, 4)
    with pytest.raises(FathomError, match=r"^no closed-book rows of any panel; models that have some: a$"):
        known_filter(rows, "panel", panel=[])


def test_an_answer_that_abstains_is_not_known() -> None:
    rows = to_frame(
        [
            asked("a", 0, 1.0, answer="It is UNANSWERABLE without the text."),
            asked("a", 0, 0.5, length=2048),
            asked("a", 1, 1.0, answer=None),
            asked("a", 1, 0.5, length=2048),
        ]
    )
    found = known_filter(rows)
    assert found.rows.filter(pl.col("length") > 0)["item"].to_list() == ["qa/en/0000"]
    (one,) = found.removed
    assert (one.asked, one.abstained, one.known, one.removed, one.score) == (2, 1, 1, 1, 0.5)


def test_questions_over_one_context_are_removed_one_by_one() -> None:
    rows = to_frame(
        asked("a", 0, value if not length else 0.5, length=length, question=number, target="yes")
        for number, value in ((1, 1.0), (2, 0.0), (3, 0.0))
        for length in (0, *LENGTHS)
    )
    found = known_filter(rows)
    assert found.rows.filter(pl.col("length") > 0)["sample"].to_list() == [
        f"qa/en/0000@{length}/q{number}" for number in (2, 3) for length in LENGTHS
    ]
    (one,) = found.removed
    assert (one.questions, one.known, one.removed) == (3, 1, 1)
    assert one.score == pytest.approx(1 / 3)


def test_the_score_without_context_is_a_mean_over_items() -> None:
    answers = ((0, 1, 1.0), (0, 2, 0.0), (0, 3, 0.0), (1, 0, 1.0))
    rows = to_frame(asked("a", item, value, question=number) for item, number, value in answers)
    (one,) = known_filter(rows).removed
    assert one.score == pytest.approx((1 / 3 + 1) / 2)
    assert one.score is not None
    assert one.interval is not None
    assert one.interval.low < one.score < one.interval.high


def test_items_of_one_document_are_resampled_together_without_a_context_too() -> None:
    rows = [asked("a", item, float(item < 12)) for item in range(20)]
    rows = [replace(one, facets={**one.facets, "cluster": place // 2}) for place, one in enumerate(rows)]
    (one,) = known_filter(to_frame(rows)).removed
    assert (one.asked, one.score, one.interval) == (20, 0.6, jeffreys_interval(6, 10))


def test_epochs_are_averaged_first_and_all_of_them_go() -> None:
    rows = to_frame(
        [
            *(asked("a", 0, value, epoch=epoch) for epoch, value in ((1, 1.0), (2, 0.0), (3, 1.0))),
            *(asked("a", 1, value, epoch=epoch) for epoch, value in ((1, 1.0), (2, 0.0), (3, 0.0))),
            *(asked("a", item, 0.5, length=2048, epoch=epoch) for item in (0, 1) for epoch in (1, 2, 3)),
        ]
    )
    kept = known_filter(rows).rows.filter(pl.col("length") > 0)
    assert kept["item"].to_list() == ["qa/en/0001"] * 3


def test_an_answer_that_is_missing_makes_no_question_known() -> None:
    """Without the epochs that went wrong, one lucky guess would be the mean."""
    for lost in (0.0, None):
        rows = to_frame(
            [
                *(asked("a", 0, value, epoch=epoch) for epoch, value in ((1, 1.0), (2, lost), (3, lost))),
                *(asked("a", 0, 0.0, length=2048, epoch=epoch) for epoch in (1, 2, 3)),
            ]
        )
        found = known_filter(rows)
        assert len(found.rows.filter(pl.col("length") > 0)) == 3
        assert found.removed[0].score == pytest.approx(1 / 3)


def test_what_has_no_score_is_kept_and_said() -> None:
    rows = pl.concat(
        [
            table({"a": [1.0, None, 0.0]}),
            to_frame([asked("a", 7, None, status="error", answer=None), asked("a", 7, 0.5, length=2048)]),
        ]
    )
    found = known_filter(rows)
    assert len(found.rows.filter(pl.col("length") > 0)["item"].unique()) == 3
    assert (found.removed[0].asked, found.removed[0].unscored) == (4, 2)
    assert any("2 of 4 closed-book answers have no score" in note for note in found.notes)


def test_tasks_without_closed_book_rows_are_left_alone() -> None:
    other = table({"a": [1.0, 1.0]}, task="kv").filter(pl.col("length") > 0)
    found = known_filter(pl.concat([other, table({"a": [1.0, 0.0]})]))
    assert found.rows.filter(pl.col("task") == "kv").equals(other)
    assert {one.task for one in found.removed} == {"qa"}
    bare = known_filter(other)
    assert bare.rows.equals(other)
    assert (bare.removed, bare.notes) == ((), ())
    assert known_filter(other.clear()).rows.is_empty()


def test_an_alone_row_goes_with_its_question_and_a_closed_book_row_stays() -> None:
    rows = to_frame([asked("a", 0, 1.0), asked("a", 0, 0.5, context="alone"), asked("a", 0, 0.5, length=2048)])
    found = known_filter(rows)
    assert found.rows["sample"].to_list() == ["qa/en/0000@none"]
    assert any("No question of qa is left for a" in note for note in found.notes)


def test_an_unknown_length_is_no_question_without_context() -> None:
    log = to_frame([Row("s", "qa", "1", "1", "m", 0, 1.0)])
    assert log.filter(is_side_row()).is_empty()
    assert known_filter(log).rows.equals(log)


def test_another_question_under_the_same_name_is_not_known() -> None:
    panel = to_frame([asked("p", 0, 1.0, target="Rome"), asked("p", 1, 1.0)])
    rows = table({"a": [0.0, 0.0]})
    found = known_filter(rows, "panel", panel=panel)
    assert left(found, "a") == [0]
    assert found.notes == ("The panel was not asked 1 of 2 questions closed-book: they are kept.",)


def test_a_panel_may_judge_models_that_were_never_asked_closed_book() -> None:
    rows = table({"a": [0.0, 0.0, 0.0]}).filter(pl.col("length") > 0)
    found = known_filter(rows, "panel", panel=table({"p": [0.0, 1.0, 0.0]}))
    assert left(found, "a") == [0, 2]
    assert (found.removed[0].asked, found.removed[0].removed, found.removed[0].score) == (0, 1, None)


def test_models_over_different_questions_are_named() -> None:
    found = known_filter(table(KNOWS), "own")
    assert found.notes == (
        "a and c are averaged over different questions: 3 of 4 count for one of them only (the most of 3 such pairs). "
        "The policy 'intersection' compares them on the same questions.",
    )
    same = known_filter(table({"a": [1.0, 0.0], "b": [1.0, 0.0]}), "own")
    assert same.notes == ()
    assert known_filter(table(KNOWS)).notes == ()


def test_a_model_that_was_not_asked_closed_book_is_named() -> None:
    rows = table({"a": [1.0, 0.0], "b": [0.0, 0.0]}).filter((pl.col("model") == "a") | (pl.col("length") > 0))
    own = known_filter(rows, "own")
    assert own.unfiltered == (("b", "", "qa"),)
    assert "b was asked 0 of 2 questions of qa closed-book: the others are kept." in own.notes
    assert left(own, "b") == [0, 1]
    both = known_filter(rows)
    assert left(both, "b") == [1]
    assert any("the others have no effect on the filter" in note for note in both.notes)


def test_variants_are_systems_of_their_own() -> None:
    rows = to_frame(
        asked("m", 0, value if not length else 0.5, length=length, variant=variant)
        for variant, value in (("hot", 1.0), ("cold", 0.0))
        for length in (0, 2048)
    )
    own = known_filter(rows, "own").rows.filter(pl.col("length") > 0)
    assert own["variant"].to_list() == ["cold"]


def test_bad_orders_say_what_to_do() -> None:
    rows = table(KNOWS)
    with pytest.raises(FathomError, match="choose own, intersection, panel, none"):
        known_filter(rows, "mine")  # type: ignore[arg-type]
    with pytest.raises(FathomError, match="more than 0 and at most 1; the policy 'none' turns"):
        known_filter(rows, threshold=0)
    with pytest.raises(FathomError, match="needs a panel"):
        known_filter(rows, "panel")
    with pytest.raises(FathomError, match="no closed-book rows of x; models that have some: a, b, c"):
        known_filter(rows, "panel", panel=["a", "x"])
    with pytest.raises(FathomError, match="the panel has no closed-book rows"):
        known_filter(rows, "panel", panel=rows.filter(pl.col("length") > 0))
    with pytest.raises(FathomError, match="the policy 'own' uses no panel"):
        known_filter(rows, "own", panel=["a"])


scores = st.lists(st.lists(st.sampled_from([None, 0.0, 0.3, 0.5, 1.0]), min_size=4, max_size=4), min_size=1, max_size=3)


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@given(scores, st.sampled_from(POLICIES), st.sampled_from([0.2, 0.5, 1.0]))
def test_rules_that_hold_for_all_rows(knowledge: list[list[float | None]], policy: Policy, threshold: float) -> None:
    rows = table({f"m{number}": values for number, values in enumerate(knowledge)})
    panel = ["m0"] if policy == "panel" else None
    found = known_filter(rows, policy, threshold=threshold, panel=panel)
    kept = [left(found, f"m{number}") for number in range(len(knowledge))]
    if policy != "own":
        assert all(one == kept[0] for one in kept), "the same questions stay for all"
    assert [one.questions - one.removed for one in found.removed] == [len(one) for one in kept]
    # Rows are chosen, never changed or moved.
    numbered = rows.with_row_index()
    assert found.rows.equals(numbered.join(found.rows, on=rows.columns, how="semi", nulls_equal=True).drop("index"))
    # What is left is known to nobody who is asked, so that filtering again removes nothing.
    assert known_filter(found.rows, policy, threshold=threshold, panel=panel).rows.equals(found.rows)


def test_knowledge_no_longer_counts_as_reading() -> None:
    """Two models read alike; one knows much more, and what is known is easier to read as well."""
    rng = np.random.default_rng(5)
    rows = []
    for item in range(1500):
        ease = rng.random()
        for model, learned in (("novice", 0.1), ("expert", 0.9)):
            knows = rng.random() < learned * ease
            rows.append(asked(model, item, float(knows)))
            rows.append(asked(model, item, float(knows or rng.random() < ease), length=2048))
    table_ = to_frame(rows)

    def gap(policy: Policy) -> float:
        kept = known_filter(table_, policy).rows.filter(pl.col("length") > 0)
        means = dict(kept.group_by("model").agg(pl.col("value").mean()).rows())
        return float(means["expert"] - means["novice"])

    assert gap("none") > 0.1, "knowing passes for reading"
    # The expert is left with the hard questions: under the paper's policy it looks the worse reader of the two.
    assert gap("own") < -0.05
    assert abs(gap("intersection")) < 0.04


@pytest.mark.slow
def test_intervals_do_not_depend_on_the_threads_of_linear_algebra() -> None:
    from threadpoolctl import threadpool_limits

    rng = np.random.default_rng(3)
    tasks = [table({"a": rng.random(300).tolist()}, task=f"task {number}") for number in range(5)]

    def found(threads: int) -> Filtered:
        with threadpool_limits(threads):
            return known_filter(pl.concat(tasks))

    assert found(1).removed == found(2).removed
