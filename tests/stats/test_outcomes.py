"""What becomes of a reply, how it counts, and which cells nothing may rest on."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.rows import to_frame
from fathom.stats.outcomes import (
    DOES_NOT_FIT,
    MISSING,
    MISSING_AT_MOST,
    OUTCOMES,
    OVERFLOW_AT_MOST,
    SHOWN_FROM,
    UNANSWERED,
    Unanswered,
    Unmeasured,
    added,
    alone,
    counted,
    differ,
    nothing_measured,
    outcome,
    over_suites,
    scored_rows,
    scorer_errors,
    tallies,
    tally,
    unmeasured,
)
from fathom.types import STATUSES, Facet, FathomError, Row, Status


def reply(
    value: float | None = 1.0, item: int = 0, status: Status = "ok", *, answered: bool | None = True, length: int = 8192
) -> Row:
    name = f"kv/{item}"
    one = Row("s", "kv", name, f"{name}@{length}", "m", length, value, status=status, answered=answered, valid=True)
    return replace(one, chance=0.25)


def several(count: int, value: float | None = 1.0, status: Status = "ok", start: int = 0) -> list[Row]:
    return [reply(value, start + item, status, answered=status == "ok") for item in range(count)]


def values(rows: list[Row], unanswered: Unanswered = "zero") -> list[float | None]:
    return counted(to_frame(rows), unanswered)["value"].to_list()


# -------------------------------------------------------------------------------------------------------- outcomes

SAID = {
    # status, answered, whether there is a score -> outcome
    ("ok", True, True): "answered",
    ("ok", True, False): "missing",  # nobody has judged it
    ("ok", False, True): "unanswered",
    ("ok", False, False): "unanswered",
    ("ok", None, True): "answered",
    ("ok", None, False): "missing",
    ("incomplete", True, True): "cut",
    ("incomplete", True, False): "missing",
    ("incomplete", False, True): "unanswered",
    ("incomplete", False, False): "unanswered",
    ("incomplete", None, True): "cut",
    ("incomplete", None, False): "unanswered",  # rows of earlier versions: what was cut had no score
}


@pytest.mark.parametrize(("status", "answered", "known"), list(product(STATUSES, (True, False, None), (True, False))))
def test_the_outcome_follows_from_status_text_and_score(status: Status, answered: bool | None, known: bool) -> None:
    always = {"refused": "unanswered", "overflow": "overflow", "error": "missing"}
    expected = always.get(status) or SAID[status, answered, known]
    rows = to_frame([reply(0.5 if known else None, status=status, answered=answered)])
    assert rows.select(outcome().alias("outcome"))["outcome"].to_list() == [expected]
    assert expected in OUTCOMES


def test_a_score_that_is_no_number_is_none() -> None:
    rows = to_frame([reply(float("nan"))])
    assert rows.select(outcome().alias("outcome"))["outcome"].to_list() == ["missing"]


# ------------------------------------------------------------------------------------------------------- how they count


def test_what_was_not_answered_counts_0_or_is_dropped() -> None:
    rows = [
        reply(0.5),
        reply(0.25, 1, "incomplete"),
        reply(1.0, 2, "refused"),
        reply(1.0, 3, answered=False),
        reply(None, 4, "incomplete", answered=None),
        reply(None, 5, "overflow"),
    ]
    assert values(rows) == [0.5, 0.25, 0.0, 0.0, 0.0, 0.0]
    assert values(rows, "drop") == [0.5, 0.25, None, None, None, None]
    for unanswered, other in (UNANSWERED, UNANSWERED[::-1]):
        assert counted(to_frame(rows), unanswered)["other"].to_list() == values(rows, other)
    assert counted(to_frame(rows))["chance"].to_list() == [0.25] * 6


def test_an_empty_reply_counts_0_by_the_official_rule_too() -> None:
    rows = [replace(one, rule="official") for one in (reply(0.3, answered=False), reply(None, 1, answered=False))]
    assert values(rows) == [0.0, 0.0]
    assert values(rows, "drop") == [None, None]
    assert values([replace(reply(0.3, status="error"), rule="official"), *several(99, start=1)])[0] == 0.0


def test_few_missing_replies_count_0_and_more_of_them_leave_the_cell_without_a_score() -> None:
    assert MISSING_AT_MOST == 0.02
    for lost in (several(1, None, "error", 49), [reply(None, 49)]):
        assert values(several(49) + lost) == [1.0] * 49 + [0.0]
        assert values(several(49) + lost, "drop") == [1.0] * 49 + [None]
        found = counted(to_frame(several(48) + lost))
        assert found["value"].to_list() == [None] * 49
        assert set(found["reason"]) == {MISSING}
        assert found["blank"].all()
        assert found["other"].to_list() == [1.0] * 48 + [None]
        dropped = counted(to_frame(several(48) + lost), "drop")
        assert dropped["value"].to_list() == [1.0] * 48 + [None]
        assert set(dropped["reason"]) == {MISSING}
        assert not dropped["blank"].any()


def test_few_prompts_that_do_not_fit_count_0_and_with_more_of_them_the_length_does_not_fit() -> None:
    assert OVERFLOW_AT_MOST == 0.2
    assert values(several(4) + several(1, None, "overflow", 4)) == [1.0] * 4 + [0.0]
    for unanswered in UNANSWERED:
        found = counted(to_frame(several(7) + several(2, None, "overflow", 7)), unanswered)
        assert found["value"].to_list() == found["other"].to_list() == [None] * 9
        assert set(found["reason"]) == {DOES_NOT_FIT}
        assert found["blank"].all()


@pytest.mark.slow
@given(st.integers(1, 400), st.sampled_from(["error", "overflow"]))
def test_the_thresholds_are_shares_of_the_cell(size: int, status: Status) -> None:
    least = MISSING_AT_MOST if status == "error" else OVERFLOW_AT_MOST
    few = size * (2 if status == "error" else 20) // 100
    for lost in {few, few + 1} & set(range(size + 1)):
        rows = to_frame(several(size - lost) + several(lost, None, status, size - lost))
        assert counted(rows)["blank"].any() == (lost * 100 > size * round(least * 100))


def test_epochs_are_of_one_cell() -> None:
    rows = [replace(reply(item=item), epoch=epoch) for item in range(10) for epoch in range(1, 6)]
    rows[7] = replace(rows[7], status="error", value=None)
    assert sum(one or 0 for one in values(rows)) == 49
    assert values(rows[:49]) == [None] * 49


def test_counting_twice_is_counting_once() -> None:
    rows = to_frame(several(30) + several(3, 0.0, "refused", 30) + several(2, None, "error", 33))
    for first, then in product(UNANSWERED, UNANSWERED):
        once = counted(rows, first)
        assert counted(once, then).equals(once)
        assert scored_rows(once, then).equals(once)


def test_an_unknown_choice_is_refused() -> None:
    with pytest.raises(FathomError, match=r"unanswered is 'skip': expected 'zero' or 'drop'"):
        counted(to_frame([reply()]), "skip")  # type: ignore[arg-type]  # what a command line may pass on


def test_no_row_counts_as_none() -> None:
    assert counted(to_frame([])).is_empty()
    assert unmeasured(scored_rows(to_frame([]))) == []
    assert over_suites(scored_rows(to_frame([]))).is_empty()


# ----------------------------------------------------------------------------------------------------------- the cells


@pytest.mark.parametrize(
    "apart",
    [
        {"suite": "t"},
        {"model": "n"},
        {"variant": "v"},
        {"task": "qa"},
        {"length": 4096},
        {"facets": {"context": "alone"}},
        {"facets": {"cut_from": 16384}},
        {"facets": {"aggregate": "overall"}},
    ],
    ids=str,
)
def test_one_cell_without_a_score_leaves_the_others_theirs(apart: dict[str, str | int | dict[str, Facet]]) -> None:
    """Nor do the many replies of one hide what is missing of another."""
    lost = [replace(one, **apart) for one in [*several(4), *several(1, None, "error", 4)]]  # type: ignore[arg-type]
    found = counted(to_frame([*several(200), *lost]))
    assert found["value"].to_list() == [1.0] * 200 + [None] * 5


def test_rows_beside_the_curves_are_left_out_of_scored_rows() -> None:
    facets: list[dict[str, Facet]] = [{"context": "none"}, {"context": "alone"}, {"cut_from": 9}, {"aggregate": "all"}]
    beside = [replace(reply(item=9), length=0, facets=one) for one in facets]
    assert len(scored_rows(to_frame([reply(), *beside]))) == 1


def test_cells_without_a_score_say_why() -> None:
    rows = several(2) + several(18, None, "overflow", 2)
    rows += [replace(one, length=4096) for one in several(19) + several(1, None, "error", 19)]
    first, second = unmeasured(scored_rows(to_frame(rows)))
    assert (first.model, first.task, first.length, first.reason) == ("m", "kv", 8192, DOES_NOT_FIT)
    assert str(first) == "18 of 20 prompts did not fit"
    assert (second.length, str(second)) == (4096, "1 of 20 replies is missing")
    error = nothing_measured(to_frame(rows))
    assert "(m on kv at 8,192 tokens: 18 of 20 prompts did not fit)" in str(error)


FAILED = replace(reply(None, 90), detail="scorer failed: TypeError in kv.score: a text: no number")


def test_a_reply_that_could_not_be_scored_has_its_own_name_and_counts_as_a_missing_one() -> None:
    rows = to_frame([*several(50), FAILED])
    assert counted(rows)["value"].to_list() == [1.0] * 50 + [0.0]
    assert counted(rows, "drop")["value"].to_list() == [1.0] * 50 + [None]
    assert tally(counted(rows)) == {"unanswered": 0, "cut": 0, "overflow": 0, "missing": 0, "scorer_error": 1}
    # Old rows do not name the scorer.
    older = replace(FAILED, item="kv/91", sample="kv/91@8192", detail="scorer failed: IndexError: out of range")
    rows = to_frame([*several(50), FAILED, replace(FAILED, item="kv/92", sample="kv/92@8192"), older])
    assert counted(rows)["value"].null_count() == 53
    (cell,) = unmeasured(scored_rows(rows))
    assert (cell.reason, cell.failed, cell.scorer_errors) == (MISSING, 0, 3)
    assert str(cell) == "3 of 53 replies could not be scored: TypeError in kv.score"
    first, second = scorer_errors(rows)
    assert str(first) == (
        "2 replies could not be scored: TypeError in kv.score (the first in sample kv/90@8192: a text: no number)"
    )
    assert (second.cause, second.replies, second.message) == ("IndexError", 1, "out of range")
    assert scorer_errors(counted(rows)) == [first, second]
    assert [(one.model, one.variant) for one in scorer_errors(to_frame([replace(FAILED, variant="short")]))] == [
        (FAILED.model, "short")
    ]
    assert "correct the scorer" in str(nothing_measured(to_frame([FAILED])))
    assert "finish the run" not in str(nothing_measured(to_frame([FAILED])))


def test_a_reply_without_a_score_and_without_a_detail_is_missing() -> None:
    """As rows of other programs may have them."""
    rows = to_frame([reply(None, 1)]).with_columns(detail=pl.lit(None, pl.String))
    assert counted(rows)["outcome"].to_list() == ["missing"]


def test_missing_replies_and_scorer_errors_make_a_cell_incomplete_together() -> None:
    rows = to_frame([*several(98), FAILED, *several(1, None, "error", 98)])
    assert counted(rows)["value"].null_count() == 0
    rows = to_frame([*several(97), FAILED, *several(2, None, "error", 97)])
    (cell,) = unmeasured(scored_rows(rows))
    assert str(cell) == (
        "2 of 100 replies are missing, and 1 of 100 replies could not be scored: TypeError in kv.score"
    )


def test_a_mean_over_suites_needs_the_cells_of_all_of_them() -> None:
    lost = [replace(one, suite="t") for one in several(3) + several(1, None, "error", 3)]
    rows = to_frame(several(3) + lost + [replace(one, length=4096) for one in several(2)])
    zero, drop = (over_suites(scored_rows(rows, unanswered)) for unanswered in UNANSWERED)
    assert zero["value"].to_list() == [None] * 7 + [1.0] * 2
    assert zero["blank"].to_list() == [True] * 7 + [False] * 2
    assert zero["other"].to_list() == drop["value"].to_list() == [1.0] * 6 + [None] + [1.0] * 2
    assert drop["other"].to_list() == zero["value"].to_list()
    assert not drop["blank"].any()


# -------------------------------------------------------------------------------------------------------------- numbers


def test_every_mean_can_carry_its_numbers() -> None:
    rows = several(3) + several(2, 0.0, "refused", 3) + [reply(0.5, 5, "incomplete"), reply(None, 6, "error")]
    rows.append(reply(None, 7, "overflow", length=4096))
    found = counted(to_frame(rows))
    assert tally(found) == {"unanswered": 2, "cut": 1, "overflow": 1, "missing": 1, "scorer_error": 0}
    by_length = tallies(found, ("length",))
    assert by_length[8192,] == {"unanswered": 2, "cut": 1, "overflow": 0, "missing": 1, "scorer_error": 0}
    assert added(by_length.values()) == tally(found)
    assert set(added([]).values()) == {0}


@pytest.mark.parametrize(
    ("first", "second", "far"),
    [(0.5, 0.505, True), (0.505, 0.5, True), (0.5, 0.5049, False), (None, 0.5, True), (None, None, False)],
)
def test_both_means_are_shown_from_half_a_point_on(first: float | None, second: float | None, far: bool) -> None:
    assert differ(first, second) is far


@pytest.mark.slow
@given(st.lists(st.tuples(st.sampled_from(STATUSES), st.sampled_from([True, False, None]), st.booleans()), max_size=30))
def test_every_row_has_one_outcome_and_counts_in_0_to_1(replies: list[tuple[Status, bool | None, bool]]) -> None:
    rows = to_frame(
        reply(0.5 if known else None, n, status, answered=said) for n, (status, said, known) in enumerate(replies)
    )
    for unanswered in UNANSWERED:
        found = counted(rows, unanswered)
        assert set(found["outcome"]) <= set(OUTCOMES)
        assert found.filter(pl.col("value").is_null() & ~pl.col("blank")).is_empty() or unanswered == "drop"
        assert found.filter((pl.col("value") < 0) | (pl.col("value") > 1)).is_empty()
        assert found.filter(pl.col("blank") & pl.col("value").is_not_null()).is_empty()
        assert found.filter(pl.col("blank") & (pl.col("reason") == "")).is_empty()


# ------------------------------------------------------------------------------------------------------ rows and words


def test_a_reply_counts_by_itself_whatever_became_of_the_others() -> None:
    rows = to_frame(
        [reply(0.5), reply(0.25, 1, "incomplete"), reply(1.0, 2, "refused"), reply(None, 3, "overflow"), reply(None, 4)]
    )
    assert rows.select(alone().alias("one"))["one"].to_list() == [0.5, 0.25, 0.0, 0.0, None]
    assert rows.select(alone("drop").alias("one"))["one"].to_list() == [0.5, 0.25, None, None, None]


def test_figures_that_are_no_numbers_are_none() -> None:
    found = counted(to_frame([replace(reply(float("nan"), item), chance=float("nan")) for item in range(2)]))
    assert found["chance"].to_list() == found["other"].to_list() == [None, None]
    assert set(found.columns) == {
        *to_frame([]).columns,
        *("outcome", "side", "other", "reason", "blank", "lowest", "highest"),
    }
    assert set(found["reason"]) == {"missing"}


def test_a_cell_says_in_words_what_is_wrong_with_it() -> None:
    assert str(Unmeasured("m", "", "kv", 8192, DOES_NOT_FIT, 2000, 1800)) == "1,800 of 2,000 prompts did not fit"
    assert str(Unmeasured("m", "", "kv", 8192, MISSING, 2000, 1800)) == "1,800 of 2,000 replies are missing"
    assert str(Unmeasured("m", "", "kv", 8192, MISSING, 1, 1)) == "1 of 1 replies is missing"
    assert str(Unmeasured("m", "", "kv", 8192, MISSING, 9, 0, not_asked=9)) == "9 of 9 prompts were not asked"
    rows = [replace(one, variant="v", task=task) for task in ("b", "a") for one in several(1, None, "error")]
    assert unmeasured(counted(to_frame(rows))) == [
        Unmeasured("m", "v", "b", 8192, MISSING, 1, 1),
        Unmeasured("m", "v", "a", 8192, MISSING, 1, 1),
    ]


def test_a_study_of_nothing_says_what_to_do() -> None:
    todo = "finish the run or judge the replies, choose other lengths, or give `unanswered` drop"
    where = " (m on kv at 8,192 tokens: 1 of 1 replies is missing)"
    assert str(nothing_measured(to_frame([reply(None)]))) == f"no complete cell has a score{where}: {todo}"
    assert str(nothing_measured(to_frame([]))) == f"no complete cell has a score: {todo}"


def test_means_over_suites_are_told_apart_as_asked() -> None:
    lost = [replace(one, suite="t", language="zh") for one in several(1, None, "error")]
    rows = scored_rows(to_frame(several(2) + lost))
    assert over_suites(rows)["value"].to_list() == [None] * 3
    assert over_suites(rows, "language")["value"].to_list() == [1.0, 1.0, None]
    assert over_suites(rows, "language")["blank"].to_list() == [False, False, True]
    for apart in ({"model": "n"}, {"variant": "v"}, {"task": "qa"}, {"length": 4096}):
        others = [replace(one, **apart) for one in several(2)]
        found = over_suites(scored_rows(to_frame(others + lost)))
        assert found["value"].to_list() == [1.0, 1.0, None]


def test_a_length_that_does_not_fit_has_no_score_by_either_choice() -> None:
    beyond = [replace(one, suite="t") for one in several(1, None, "overflow")]
    for unanswered in UNANSWERED:
        found = over_suites(scored_rows(to_frame(several(2) + beyond), unanswered))
        assert found["value"].to_list() == found["other"].to_list() == [None] * 3


def test_no_difference_is_shown_below_half_a_point() -> None:
    assert SHOWN_FROM == 0.005
    assert differ(0.5, None)
    assert not differ(0.9, 0.9)
    assert differ(0.305, 0.3)  # a little less than half a point in binary
