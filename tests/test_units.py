"""Units of work: processes, other engines, and what is kept when one ends in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fathom.parallel.units import ResultsFile, one_thread, run_units
from fathom.types import FathomError

UNITS = {f"unit {number}": number for number in range(4)}


def threads(unit: int) -> list[Any]:
    """The process, and its threads: libraries that a unit loads have one thread too."""
    import scipy.linalg
    from threadpoolctl import threadpool_info

    assert scipy.linalg.norm(np.ones((2, 2))) == pytest.approx(2)
    return [os.getpid(), max(one["num_threads"] for one in threadpool_info())]


def polars_threads(unit: int) -> int:
    return int(os.environ["POLARS_MAX_THREADS"])


def killed(unit: int) -> int:
    if unit == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return unit


@pytest.mark.slow
def test_processes_have_one_thread_each() -> None:
    found = run_units(UNITS, threads, workers=2)
    assert os.getpid() not in {process for process, _ in found}
    assert {count for _, count in found} == {1}


@pytest.mark.slow
def test_a_killed_process_is_named_and_the_rest_is_kept(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="a process was killed"):
        run_units(UNITS, killed, workers=2, keep=ResultsFile(tmp_path / "units.part", "these"))
    kept = ResultsFile(tmp_path / "units.part", "these").read()
    assert all(kept[name] == UNITS[name] for name in kept)
    assert "unit 2" not in kept


def test_results_of_another_engine_have_the_order_of_the_units(tmp_path: Path) -> None:
    asked = list[str]()

    def backwards(work: Callable[[Any], Any], units: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name in reversed(list(units)):
            asked.append(name)
            yield name, work(units[name])

    path = tmp_path / "units.part"
    ResultsFile(path, "these").add("unit 1", -1)
    results = run_units(UNITS, lambda unit: unit * 10, keep=ResultsFile(path, "these"), workers=backwards)
    assert results == [0, -1, 20, 30]
    assert asked == ["unit 3", "unit 2", "unit 0"]


def test_what_was_done_is_not_done_again(tmp_path: Path) -> None:
    path, asked = tmp_path / "units.part", list[int]()

    def work(number: int) -> list[dict[str, int]]:
        asked.append(number)
        if number == 2 and len(asked) == 3:
            raise KeyboardInterrupt
        return [{"number": number}]

    with pytest.raises(KeyboardInterrupt):
        run_units(UNITS, work, keep=ResultsFile(path, "these"))
    told: list[tuple[int, int]] = []
    found = run_units(UNITS, work, keep=ResultsFile(path, "these"), progress=lambda *done: told.append(done))
    assert found == [[{"number": number}] for number in range(4)]
    assert asked == [0, 1, 2, 2, 3]
    assert told == [(2, 4), (3, 4), (4, 4)]


@pytest.mark.slow
def test_a_line_that_was_cut_off_is_done_again(tmp_path: Path) -> None:
    path = tmp_path / "units.part"

    def done() -> list[list[int]]:
        return run_units(UNITS, lambda number: [number], keep=ResultsFile(path, "these"))

    whole = done()
    content = path.read_bytes()
    for end in range(0, len(content), 5):
        path.write_bytes(content[:end])
        assert done() == whole
        assert [tuple(json.loads(line)) for line in path.read_bytes().splitlines()] == [
            ("of",),
            *[("name", "result")] * len(UNITS),
        ]


def test_linear_algebra_has_one_thread_and_others_afterwards() -> None:
    from threadpoolctl import threadpool_info

    def threads() -> list[int]:
        return [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]

    assert np.ones((2, 2)) @ np.ones(2) == pytest.approx([2, 2])
    before = threads()
    with one_thread():
        assert threads() == [1] * len(before)
    assert threads() == before


def test_linear_algebra_has_one_thread_until_the_last_user_has_ended() -> None:
    from threadpoolctl import threadpool_info, threadpool_limits

    def threads() -> set[int]:
        return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}

    with threadpool_limits(2):
        first, second = one_thread(), one_thread()
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {1}
        second.__exit__(None, None, None)
        assert threads() == {2}


@pytest.mark.slow
def test_processes_have_as_many_threads_of_polars_as_somebody_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    from joblib.externals.loky import get_reusable_executor

    monkeypatch.setattr("fathom.parallel.units.cores", lambda: 6)
    for given, expected in (("1", 1), ("5", 3)):
        get_reusable_executor().shutdown()  # processes of other tests have what was set when they started
        monkeypatch.setenv("POLARS_MAX_THREADS", given)
        assert set(run_units(UNITS, polars_threads, workers=2)) == {expected}
        assert os.environ["POLARS_MAX_THREADS"] == given


@pytest.mark.slow
def test_what_is_used_is_loaded_first() -> None:
    code = (
        "from fathom.parallel.units import one_thread; from threadpoolctl import threadpool_info\n"
        "with one_thread('scipy.linalg'): print(sorted({one['num_threads'] for one in threadpool_info()}))"
    )
    many = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], env=many, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[1]"
