"""`fathom search-best`: several models asked in rounds, and those that are beaten asked no more."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from fathom.analysis.best import BestCandidate, best_models
from fathom.api import build, run, search_best
from fathom.rows import load
from fathom.run import Preflight
from fathom.run.best_search import BestFound
from fathom.stats.outcomes import not_asked
from fathom.types import FathomError

BEST, HALF, GUESS = "fathom/lexical", "fathom/lexical?window=1k&truncate=right", "fathom/guess"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("best") / "suite"
    build("passkey", lengths="1k,1536", items=60, out=folder)
    return folder


def asked(folder: Path) -> int:
    return int(load([folder]).select((~not_asked().fill_null(False)).sum()).item())


@pytest.mark.slow
def test_beaten_models_are_dropped_and_the_best_is_left(suite: Path, tmp_path: Path) -> None:
    states = list[BestFound]()
    found = search_best(suite, [GUESS, HALF, BEST], tmp_path / "out", per_round=4, told=states.append)
    assert found.reached
    assert [own.model for own in found.models if own.may_be_best] == [BEST]
    assert found.items[0] < found.items[2] < 60  # the worst is dropped first
    assert found.items[1] == found.items[2]
    assert [asked(folder) for folder in found.runs] == [2 * items for items in found.items]  # at both lengths
    whole = [load([folder]) for folder in found.runs]
    assert {len(rows) for rows in whole} == {120}  # runs of the whole suite, unfinished
    sizes = [int(rows.filter(~not_asked().fill_null(False))["tokens"].sum()) for rows in whole]
    assert found.tokens == pytest.approx(sum(sizes), rel=0.02)
    assert found.spared == pytest.approx(3 * max(sizes) - sum(sizes), rel=0.02)
    # The state of the last round is that of the rows, read anew.
    assert best_models(pl.concat(whole)) == list(found.models)
    assert [state.items[2] for state in states] == list(range(4, found.items[2] + 1, 4))
    # The same call asks for nothing, and a plain run of the winner goes on.
    again = search_best(suite, [GUESS, HALF, BEST], tmp_path / "out", per_round=4)
    assert again.models == found.models
    assert [asked(folder) for folder in found.runs] == [2 * items for items in found.items]
    assert run(suite, BEST, found.runs[2]).progress is not None
    assert asked(found.runs[2]) == 120


@pytest.mark.slow
def test_a_budget_ends_it_and_what_is_ahead_of_each_model_is_confirmed_once(suite: Path, tmp_path: Path) -> None:
    plans = list[Preflight]()

    def confirm(plan: Preflight) -> bool:
        plans.append(plan)
        return True

    how: dict[str, Any] = {"per_round": 2, "budget": 3, "confirm": confirm}
    found = search_best(suite, [BEST, "fathom/lexical?window=4k"], tmp_path / "out", **how)
    assert (found.reached, found.items, found.spared) == (False, (3, 3), 0)
    assert [plan.requests for plan in plans] == [120, 120]  # the most that it can be
    assert [(own.best, own.worst) for own in found.models] == [(1, 2), (1, 2)]
    assert "2 may be the best" in str(found)
    with pytest.raises(FathomError, match="not confirmed"):
        search_best(suite, [BEST, GUESS], tmp_path / "no", confirm=lambda plan: False)
    assert search_best(suite, [BEST, GUESS], tmp_path / "no", budget=1).items == (1, 1)


@pytest.mark.slow
def test_one_model_and_unknown_servers_are_refused(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=f"there is one: {BEST}"):
        search_best(suite, [BEST], tmp_path / "out")
    with pytest.raises(FathomError, match="server other: expected one of the models"):
        search_best(suite, [BEST, GUESS], tmp_path / "out", server={"other": "http://127.0.0.1:1"})


def test_a_model_that_is_given_twice_is_named(suite: Path, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=f"model {GUESS}: given twice"):
        search_best(suite, [BEST, GUESS, GUESS], tmp_path / "out")


def test_an_alpha_that_is_no_probability_is_refused_before_anything_is_asked(suite: Path, tmp_path: Path) -> None:
    for alpha in (0, 1, 2):
        with pytest.raises(FathomError, match=f"alpha={alpha}: expected a number between 0 and 1"):
            search_best(suite, [BEST, GUESS], tmp_path / "out", alpha=alpha)
    assert not (tmp_path / "out").exists()


def test_a_search_of_which_no_model_is_left_ends_and_says_so(
    suite: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def all_out(rows: pl.DataFrame, *, alpha: float) -> list[BestCandidate]:
        return [replace(own, may_be_best=False) for own in best_models(rows, alpha=alpha)]

    monkeypatch.setattr("fathom.run.best_search.best_models", all_out)
    found = search_best(suite, [BEST, HALF, GUESS], tmp_path / "out", per_round=1)
    assert (found.reached, found.items) == (False, (1, 1, 1))
    assert "contradict each other" in str(found)


@pytest.mark.slow
def test_a_resumed_search_states_what_the_folders_have_and_asks_no_beaten_model(suite: Path, tmp_path: Path) -> None:
    how: dict[str, Any] = {"per_round": 4}
    found = search_best(suite, [GUESS, HALF, BEST], tmp_path / "out", **how)
    states, plans = list[BestFound](), list[Preflight]()

    def confirm(plan: Preflight) -> bool:
        plans.append(plan)
        return True

    again = search_best(suite, [GUESS, HALF, BEST], tmp_path / "out", per_round=50, told=states.append, confirm=confirm)
    assert (again.items, again.tokens, again.spared) == (found.items, found.tokens, found.spared)
    assert (len(states), len(plans)) == (1, 1)  # only the one that is left
