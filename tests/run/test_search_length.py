"""`fathom search-length`: rounds of a few questions, on an offline baseline whose window is known."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from fathom.api import build, search_length
from fathom.rows import load
from fathom.run import Preflight
from fathom.run.length_search import LengthFound
from fathom.runfile.progress import status
from fathom.types import FathomError

LENGTHS = "1k,1280,1536,1792,2k,2560,3k"


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("search") / "suite"
    build("passkey", lengths=LENGTHS, items=60, out=folder)
    return folder


@pytest.mark.slow
def test_a_window_off_the_grid_is_found_and_the_same_call_asks_for_nothing(suite: Path, tmp_path: Path) -> None:
    model, states = "fathom/lexical?window=1700&truncate=refuse", list[LengthFound]()
    found = search_length(suite, model, tmp_path / "out", told=states.append)
    assert found.reached
    assert found.interval.low in (1280, 1536)
    assert found.interval.high in (1792, 2048)
    assert found.interval.low < found.estimate < found.interval.high
    assert sum(asked.questions for asked in found.lengths) == 4 * len(found.rounds) < 100
    rows = load(list(found.rounds))
    assert rows["item"].n_unique() == len(rows)  # every question at one length only
    assert len(states) == len(found.rounds)
    stored = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("run.json")}
    again = search_length(suite, model, tmp_path / "out")
    assert again == found
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("run.json")} == stored


@pytest.mark.slow
def test_a_budget_ends_it_with_the_interval_so_far_and_other_options_need_another_folder(
    suite: Path, tmp_path: Path
) -> None:
    found = search_length(suite, "fathom/lexical", tmp_path / "out", budget=6)
    assert not found.reached
    assert found.ended == "the budget is spent"
    assert sum(asked.questions for asked in found.lengths) == 4  # whole rounds
    more = search_length(suite, "fathom/lexical", tmp_path / "out", budget=9)
    assert sum(asked.questions for asked in more.lengths) == 8
    assert more.rounds[:1] == found.rounds
    runs = sorted((tmp_path / "out").glob("round-*/run.json"))
    assert [json.loads(run.read_text()).get("step") for run in runs] == [None, None]  # a round is no step of a training
    with pytest.raises(FathomError, match="`budget` 3 is less than a round of `step` 4"):
        search_length(suite, "fathom/lexical", tmp_path / "out", budget=3)
    with pytest.raises(FathomError, match="this round asked other questions"):
        search_length(suite, "fathom/lexical", tmp_path / "out", budget=6, step=5)


def test_a_suite_of_one_length_is_refused(tmp_path: Path) -> None:
    build("passkey", lengths="1k", items=2, out=tmp_path / "suite")
    with pytest.raises(FathomError, match="needs two lengths or more"):
        search_length(tmp_path / "suite", "fathom/lexical", tmp_path / "out")


@pytest.mark.slow
def test_limits_hold_for_the_search_and_the_whole_budget_is_confirmed_once(suite: Path, tmp_path: Path) -> None:
    plans = list[Preflight]()

    def confirm(plan: Preflight) -> bool:
        plans.append(plan)
        return True

    how: dict[str, Any] = {"budget": 8, "confirm": confirm}
    found = search_length(suite, "fathom/lexical", tmp_path / "all", **how)
    assert len(found.rounds) == 2
    (plan,) = plans
    assert (plan.requests, [length.length for length in plan.lengths]) == (8, [3072])
    assert plan.tokens_in > 8 * 2900
    first = status(found.rounds[0])
    few = first.tokens_in + first.tokens_out + 500  # less than a second round takes
    with pytest.raises(FathomError, match="the earlier rounds used"):
        search_length(suite, "fathom/lexical", tmp_path / "part", max_tokens_total=few, **how)
    assert len(list((tmp_path / "part").glob("*/replies.sqlite"))) == 1
    assert len(search_length(suite, "fathom/lexical", tmp_path / "part", max_tokens_total=1_000_000, **how).rounds) == 2
    with pytest.raises(FathomError, match="not confirmed"):
        search_length(suite, "fathom/lexical", tmp_path / "no", confirm=lambda plan: False)
