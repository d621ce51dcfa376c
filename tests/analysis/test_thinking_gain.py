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
    found = only([*replies("off", [0.0, 0.5, 1.0, None]), *replies("on", [1.0, 1.0, 1.0, 0.0], tokens=900)])
    assert (found.model, found.dimension, found.group, found.questions) == ("m", "overall", "all", 3)
    assert (found.without, found.thinking, found.gain) == (0.5, 1.0, 0.5)
    assert found.interval is not None
    assert found.interval.low <= 0.5 <= found.interval.high
    assert (found.model_kind, found.tokens) == ("mixed", 900.0)


def test_cut_replies_can_count_as_wrong() -> None:
    rows = [*replies("off", [1.0, 1.0]), *replies("on", [1.0, None])]
    assert only(rows).gain == 0.0
    found = only(rows, unscored="zero")
    assert (found.gain, found.questions, found.tokens) == (-0.5, 2, None)


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
    assert thinking_gain(to_frame([*replies("on", [1.0, None]), *replies("off", [None, 1.0])])) == []
    with pytest.raises(FathomError, match="'domain' to group by"):
        thinking_gain(to_frame(rows), by=("domain",))


def test_published_averages_have_gains_without_intervals() -> None:
    rows = [average("on", 0.75), average("off", 0.5), average("on", 0.5, "one mode")]
    rows += [average("on", 0.25, dimension="language", group="zh"), average("off", 0.5, dimension="language")]
    found = only(rows)
    assert (found.model, found.without, found.thinking, found.gain) == ("told", 0.5, 0.75, 0.25)
    assert (found.interval, found.questions, found.tokens, found.model_kind) == (None, None, None, "thinking")


def test_replies_go_before_published_averages() -> None:
    rows = [average("on", 0.9, "m"), average("off", 0.1, "m"), *replies("off", [0.0]), *replies("on", [0.0])]
    assert only(rows).gain == 0.0


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
