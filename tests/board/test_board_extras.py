"""Figures beside the averages: of the same rows as the averages, and only of a whole benchmark."""

from __future__ import annotations

from dataclasses import replace

import polars as pl
import pytest

from fathom.board.extras import extras_of
from fathom.board.facts import merged
from fathom.rows import to_frame
from fathom.suites.registry import get_board
from made_results_board import made_rows, row

ADA, HUNDRED, PRO = get_board("ada"), get_board("hundred"), get_board("pro")

LENGTHS = (2048, 4096, 6144, 8192, 16384)


@pytest.fixture(scope="module")
def hundred() -> pl.DataFrame:
    return made_rows({"m": 0.5}, tasks=HUNDRED.tasks, lengths=LENGTHS, items=8, suite="hundred")


@pytest.mark.slow
def test_base_ability_is_the_mean_at_the_base_lengths(hundred: pl.DataFrame) -> None:
    base = extras_of(HUNDRED, hundred)["base"]
    assert base.value == pytest.approx(hundred.filter(pl.col("length") <= 6144)["value"].mean())
    assert base.n == 8 * 8
    # Lengths count alike where some items were not asked at one of them; replies that are missing leave no base.
    lost = (pl.col("length") == 6144) & (pl.col("value") == 1) & (pl.col("item").str.ends_with("0"))
    some = hundred.filter(~lost)
    at = some.filter(pl.col("length") <= 6144).group_by("task", "length").agg(pl.col("value").mean())
    assert len(some) < len(hundred)
    assert extras_of(HUNDRED, some)["base"].value == pytest.approx(at["value"].mean())
    failed = hundred.with_columns(value=pl.when(lost).then(None).otherwise("value"))
    assert "base" not in extras_of(HUNDRED, failed)


def test_longscore_is_the_change_from_it(hundred: pl.DataFrame) -> None:
    found = extras_of(HUNDRED, hundred)
    longer = hundred.filter(pl.col("length") > 6144)["value"].mean()
    assert isinstance(longer, float)
    assert found["longscore"].value == pytest.approx(longer / found["base"].value - 1)
    assert found["longscore"].error is not None


def test_there_is_none_without_all_tasks_and_no_base_without_its_lengths(hundred: pl.DataFrame) -> None:
    assert extras_of(HUNDRED, hundred.filter(pl.col("task") != "passage_count")) == {}
    assert "base" not in extras_of(HUNDRED, hundred.filter(pl.col("length") != 4096))


def test_languages_and_difficulties_are_means_of_their_questions() -> None:
    rows = [
        row(
            PRO.tasks[n % 25],
            f"q{n}",
            float(n % 3 == 0),
            8192,
            language="en" if n % 2 else "zh",
            facets={"difficulty": "Hard" if n < 10 else "Easy"},
        )
        for n in range(50)
    ]
    found = extras_of(PRO, to_frame(rows))
    assert found["english"].value == pytest.approx(sum(n % 3 == 0 for n in range(1, 50, 2)) / 25)
    assert (found["english"].n, found["hard"].n, found["easy"].n) == (25, 10, 40)
    assert "extreme" not in found


def test_shares_are_of_the_lengths_that_count() -> None:
    right = row("tsort", "a", 1.0, 2048, suite="ada", valid=True, answer="2 1", target="2 1", facets={"example": "1 2"})
    wrong = replace(right, length=16384, sample="a@16k", value=0.0, valid=False, answer=None)
    beyond = replace(wrong, length=131072, sample="a@128k")
    found = extras_of(ADA, to_frame([right, wrong, beyond]))
    assert found["followed_tsort"].value == 0.5


def test_settings_of_runs_that_differ_are_all_said() -> None:
    one: dict[str, object] = {"window": 8, "versions": {"fathom": "0.1", "inspect": "1"}, "seed": None}
    other: dict[str, object] = {"window": 8, "versions": {"fathom": "0.2", "inspect": "1"}, "limit": 5}
    found = merged([one, other, one])  # type: ignore[list-item]
    assert found == {"window": 8, "versions": {"fathom": "0.1, 0.2", "inspect": "1"}, "seed": None, "limit": 5}
