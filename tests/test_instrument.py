"""The instrument checks itself: a reader behind a window is measured with an effective length of that window."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathom import api
from fathom.analysis import EffectiveLength

LENGTHS = (2048, 4096, 6144, 8192, 16384, 32768)


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("instrument") / "suite"
    return api.build(
        "kv_retrieval,passkey", folder, lengths=LENGTHS, items=30, corpus=["world?seed=5"], tokenizer="words"
    ).folder


@pytest.mark.slow
@pytest.mark.parametrize("window", [4096, pytest.param(16384, marks=pytest.mark.long)])
def test_a_reader_behind_a_window_is_measured_with_that_window(suite: Path, window: int, tmp_path: Path) -> None:
    model = f"fathom/lexical?window={window}&truncate=middle"
    run = api.run(suite, model, tmp_path / "run").folder
    found = [one for one in api.analyze("length", [run]) if isinstance(one, EffectiveLength)]
    checked = 0
    for one in found:
        if one.task in ("kv_retrieval", "passkey") and one.definition in ("ruler", "own_base"):
            assert one.interval is not None
            assert one.interval.low <= window <= one.interval.high, one
            assert one.interval.high <= 2 * window, one
            checked += 1
        if one.definition == "half_base":
            # The middle that is cut out holds the gold text with probability 1 - window / length: half of the base is
            # lost at twice the window.
            assert one.interval is not None
            assert one.interval.low <= 2 * window <= one.interval.high, one
    assert checked == 4


@pytest.mark.slow
def test_a_reader_without_a_window_reads_to_the_end(suite: Path, tmp_path: Path) -> None:
    run = api.run(suite, "fathom/lexical", tmp_path / "run").folder
    for one in api.analyze("length", [run]):
        assert one.censored == "above", one


@pytest.mark.slow
def test_a_guesser_has_no_effective_length(suite: Path, tmp_path: Path) -> None:
    run = api.run(suite, "fathom/guess", tmp_path / "run").folder
    for one in api.analyze("length", [run]):
        assert one.tokens is None, one
    for score in api.analyze("longscore", [run]):
        assert score.average is None
        assert score.undefined
