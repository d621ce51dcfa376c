"""What thinking adds, over the questions that a model answered both ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from repeated import frame
from simulated import row

from fathom.analysis import ThinkingGain, thinking_gain
from fathom.rows import to_frame
from fathom.types import Facet, FathomError, Row


def replies(mode: str, scores: Sequence[float | None], model: str = "m", tokens: int | None = None) -> list[Row]:
    variant = "thinking" if mode == "on" else "non-thinking"
    made = []
    for item, value in enumerate(scores):
        facets: dict[str, Facet] = {"thinking": mode, "model_kind": "mixed", "half": "first" if item < 2 else "second"}
        status = "ok" if value is not None else "incomplete"
        one = row(value, model=model, variant=variant, item=item, facets=facets, status=status)  # type: ignore[arg-type]
        made.append(replace(one, tokens_reasoning=tokens))
    return made


def average(mode: str, value: float, model: str = "told", dimension: str = "overall", group: str = "all") -> Row:
    facets: dict[str, Facet] = {
        "aggregate": dimension, "group": group, "measure": "mean", "n": 3, "thinking": mode, "model_kind": "thinking",
    }  # fmt: skip
    name = f"{dimension} {group} {mode}"
    return Row("longbench_pro", "all", name, name, model, 0, value, variant=mode, valid=True, facets=facets)


def only(rows: Sequence[Row], **options: Any) -> ThinkingGain:
    (found,) = thinking_gain(to_frame(rows), **options)
    return found


def test_the_gain_is_over_questions_with_both_scores() -> None:
    found = only([*replies("off", [0.0, 0.5, 1.0]), *replies("on", [1.0, 1.0, 1.0, 0.0], tokens=900)])
    assert (found.model, found.dimension, found.group, found.questions) == ("m", "overall", "all", 3)
    assert (found.without, found.thinking, found.gain) == (0.5, 1.0, 0.5)
    assert found.interval is not None
    assert found.interval.low <= 0.5 <= found.interval.high
    assert (found.model_kind, found.tokens) == ("mixed", 900.0)


def test_replies_without_an_answer_count_as_wrong() -> None:
    rows = [*replies("off", [1.0, 1.0]), *replies("on", [1.0, None])]
    found = only(rows)
    assert (found.gain, found.questions, found.tokens) == (-0.5, 2, None)
    assert only(rows, unanswered="drop").gain == 0.0


def test_groups_with_a_cell_that_is_not_measured_have_no_gain() -> None:
    rows = [*replies("off", [0.0, 1.0]), *replies("on", [1.0, 1.0])]
    longer = [replace(one, length=8192, sample=f"{one.item}@8192") for one in rows]
    longer[3] = replace(longer[3], value=None, status="error")
    found = thinking_gain(to_frame([*rows, *longer]), by=("overall", "length"))
    assert [(one.group, one.gain) for one in found] == [("2k", 0.5)]


@pytest.mark.parametrize("lost", ["a", "b", "c"])
def test_a_group_that_is_not_measured_takes_no_other_group_with_it(lost: str) -> None:
    rows = [
        replace(one, task=task, item=f"{task}/{one.item}", sample=f"{task}/{one.item}@{length}", length=length)
        for task in "abc"
        for length in (2048, 8192)
        for one in [*replies("off", [0.0, 1.0]), *replies("on", [1.0, 1.0])]
    ]
    first = next(place for place, one in enumerate(rows) if one.task == lost)
    rows[first] = replace(rows[first], value=None, status="error")
    found = thinking_gain(to_frame(rows), by=("task",))
    assert [(one.group, one.gain) for one in found] == [(task, 0.5) for task in "abc" if task != lost]


def test_variants_of_one_mode_are_measured_each_for_itself() -> None:
    """Among the many replies of one variant, those that another misses are few."""
    off, on = replies("off", [0.0] * 60), replies("on", [1.0] * 60)
    short = [replace(one, variant="low") for one in on[:3]]
    assert only([*off, *on, *short]).gain == 1.0
    short[0] = replace(short[0], value=None, status="error")
    assert thinking_gain(to_frame([*off, *on, *short])) == []


def counted(counts: Sequence[int | None], model: str = "m", status: str = "ok") -> list[Row]:
    """Replies with thinking and so many reasoning tokens, one a question; they have scores where they are ok."""
    value = 1.0 if status == "ok" else None
    made = replies("on", [value] * len(counts), model)
    return [
        replace(one, tokens_reasoning=count, status=status)  # type: ignore[arg-type]
        for one, count in zip(made, counts, strict=True)
    ]


def test_reasoning_tokens_are_those_of_all_replies() -> None:
    off = replies("off", [0.0, 0.0, 0.0])
    # The longest thoughts are those that were cut, and what did not think counts too.
    assert only([*off, *counted([100, None, 500])]).tokens == 200.0
    cut = [replace(one, epoch=2) for one in counted([1000], status="incomplete")]
    assert only([*off, *counted([100, None, 500]), *cut]).tokens == 400.0
    # A question that has no scored reply is in no gain, but its thoughts are.
    unpaired = [replace(one, item="kv/9", sample="kv/9") for one in cut]
    found = only([*off, *counted([100, None, 500]), *unpaired])
    assert (found.questions, found.tokens) == (3, 400.0)
    refused = [replace(one, epoch=2) for one in counted([None], status="refused")]
    assert only([*off, *counted([100, None, 500]), *refused]).tokens == 150.0


@pytest.mark.parametrize("status", ["error", "overflow"])
def test_requests_without_a_reply_have_no_thoughts(status: str) -> None:
    failed = [replace(one, epoch=2) for one in counted([None], status=status)]
    assert only([*replies("off", [0.0] * 50), *counted([100] * 50), *failed]).tokens == 100.0


def test_reasoning_tokens_go_by_group_and_are_absent_where_none_are_known() -> None:
    off = [one for model in ("m", "quiet") for one in replies("off", [0.0] * 4, model)]
    # The second half of "m" has no count: nothing was thought there. Of "quiet" nothing is known; counts of replies
    # without thinking say nothing.
    rows = [*off, *counted([100, 200, None, None]), *counted([None] * 4, "quiet"), *replies("off", [0.0], "quiet", 9)]
    found = {(one.model, one.group): one.tokens for one in thinking_gain(to_frame(rows), by=("overall", "half"))}
    assert found == {
        ("m", "all"): 75.0, ("m", "first"): 150.0, ("m", "second"): 0.0,
        ("quiet", "all"): None, ("quiet", "first"): None, ("quiet", "second"): None,
    }  # fmt: skip


def test_groups_and_models_with_one_mode() -> None:
    rows = [*replies("on", [1.0], "thinker"), *replies("off", [0.0, 0.0, 1.0]), *replies("on", [1.0, 0.0, 1.0])]
    found = thinking_gain(to_frame(rows), by=("half", "overall"))
    assert [(one.dimension, one.group, one.gain) for one in found] == [
        ("half", "first", 0.5),
        ("half", "second", 0.0),
        ("overall", "all", pytest.approx(1 / 3)),
    ]
    assert thinking_gain(to_frame(replies("on", [1.0]))) == []
    assert thinking_gain(to_frame([row(1.0)])) == []
    # Asked both ways, but no question twice: nothing is paired, which is no fault of what is grouped by.
    apart = [*replies("on", [1.0]), *replies("off", [0.0, 1.0])[1:]]
    assert thinking_gain(to_frame(apart)) == []
    with pytest.raises(FathomError, match="'domain' to group by"):
        thinking_gain(to_frame(rows), by=("domain",))


def test_published_averages_have_gains_without_intervals() -> None:
    rows = [average("on", 0.75), average("off", 0.5), average("on", 0.5, "one mode")]
    rows += [average("on", 0.25, dimension="language", group="zh"), average("off", 0.5, dimension="language")]
    found = only(rows)
    assert (found.model, found.without, found.thinking, found.gain) == ("told", 0.5, 0.75, 0.25)
    assert (found.interval, found.questions, found.tokens, found.model_kind) == (None, None, None, "thinking")


def told(one: Row, **facts: Facet) -> Row:
    return replace(one, facets={**one.facets, **facts})


def test_published_averages_over_other_questions_have_no_number_of_questions() -> None:
    on, off = average("on", 0.75), average("off", 0.5)
    assert only([told(on, questions=100), told(off, questions=100)]).questions == 100
    assert only([told(on, questions=100), told(off, questions=90)]).questions is None
    assert only([told(on, questions=100), off]).questions is None


def test_published_gains_are_of_means_and_know_the_kind_that_either_names() -> None:
    best = told(average("on", 1.0), measure="best_of")
    on, off = told(average("on", 0.75), model_kind=""), told(average("off", 0.5), model_kind="mixed")
    found = only([best, on, off])
    assert (found.gain, found.model_kind) == (0.25, "mixed")


def test_a_published_gain_of_a_model_of_unknown_kind_names_no_kind() -> None:
    rows = [average("on", 0.75), average("off", 0.5)]
    unknown = [
        replace(one, facets={name: value for name, value in one.facets.items() if name != "model_kind"}) for one in rows
    ]
    assert only(unknown).model_kind == ""


def test_replies_go_before_published_averages() -> None:
    rows = [average("on", 0.9, "m"), average("off", 0.1, "m"), *replies("off", [0.0]), *replies("on", [0.0])]
    assert only(rows).gain == 0.0


@pytest.mark.slow
@pytest.mark.long
def test_intervals_hold_the_true_gain_as_often_as_they_say() -> None:
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(100):
        shares = rng.beta(2, 2, (80, 1)) * 0.8
        modes = {"off": 0.0, "on": 0.2}
        (found,) = thinking_gain(
            pl.concat(
                frame((rng.random((80, 1)) < shares + extra).astype(float), "m", mode, f'{{"thinking": "{mode}"}}')
                for mode, extra in modes.items()
            )
        )
        assert found.interval is not None
        held += found.interval.low <= 0.2 <= found.interval.high
    assert 0.88 <= held / 100 <= 1.0  # 0.95 with three standard errors
