"""Units of work that do not depend on each other: done in processes with one thread each, and kept as they end.

A unit has a name and arguments; the work is a function of them. What does the units is an
``Engine``: this process, processes of this machine (``in_processes``), or anything else with the same signature. The
results do not depend on it.
"""

import hashlib
import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import lru_cache, partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from fathom.storage.atomic import whole_file
from fathom.storage.foreign import open_regular
from fathom.types import FathomError

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

Unit = TypeVar("Unit")
Result = TypeVar("Result")
Engine: TypeAlias = Callable[[Callable[[Any], Any], Mapping[str, Any]], Iterator[tuple[str, Any]]]
"""From the work and the units by name to names and results, as they end. The work and the units can be pickled; the
work holds what all units share, so that an engine need send it only once. Errors of the work are raised as they are."""
Workers: TypeAlias = int | Engine | None
Progress: TypeAlias = Callable[[int, int], None]
"""Called with (units done, units in all)."""
MOST_PROCESSES = 8
"""At most so many processes do work that needs memory in each."""


def run_units(
    units: Mapping[str, Unit],
    work: Callable[[Unit], Result],
    *,
    keep: "ResultsFile | None" = None,
    workers: Workers = 1,
    progress: Progress | None = None,
) -> list[Result]:
    """Do units of work, each with one thread of linear algebra.

    Args:
        units: What ``work`` is called with, by the name of the unit. A name says all that its result depends on, apart
            from what ``keep`` is of.
        work: A pure function; JSON can hold its result unless ``keep`` is None.
        keep: Results of earlier calls, whose units are not done again; results are added as they come.
        workers: What does the units: processes of this machine (None for one for each core; with 1 there is no other
            process), or an engine.
        progress: Called after each unit.

    Returns:
        The results, in the order of the units.

    Raises:
        FathomError: See ``ResultsFile`` and ``in_processes``.
    """
    results = {} if keep is None else {name: kept for name, kept in keep.read().items() if name in units}
    left = {name: unit for name, unit in units.items() if name not in results}
    if progress is not None and results:
        progress(len(results), len(units))
    engine = workers if callable(workers) else in_processes(workers)
    for name, result in engine(partial(_in_one_thread, work), left):
        results[name] = result
        if keep is not None:
            keep.add(name, result)
        if progress is not None:
            progress(len(results), len(units))
    return [results[name] for name in units]


def in_processes(count: int | None = None) -> Engine:
    """An engine: processes of this machine, or this process if one is enough.

    Args:
        count: Processes; None for one for each core. Few units get fewer.

    Returns:
        The engine. It raises a FathomError if one of its processes is killed.
    """

    def engine(work: Callable[[Any], Any], units: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        # A process is not worth its start for a few units.
        most = max(1, len(units) // 2)
        number = 1 if most == 1 else min(count or cores(), most)
        if number == 1:
            yield from ((name, work(unit)) for name, unit in units.items())
            return
        import joblib  # loads slowly
        from joblib.externals.loky.process_executor import TerminatedWorkerError

        calls = (joblib.delayed(_result_of)(work, name, unit) for name, unit in units.items())
        with (
            _limited("POLARS_MAX_THREADS", max(1, cores() // number)),
            joblib.parallel_config("loky", n_jobs=number, inner_max_num_threads=1),
        ):
            try:
                yield from joblib.Parallel(return_as="generator_unordered", batch_size=1)(calls)
            except TerminatedWorkerError as error:
                raise FathomError(
                    "a process was killed, perhaps because memory ran out: try again with fewer processes, by "
                    "LOKY_MAX_CPU_COUNT=1 in the environment or by `workers` where there is this option"
                ) from error

    return engine


def cores(most: int | None = None) -> int:
    """Processors that this process may use, at most so many; ``LOKY_MAX_CPU_COUNT`` in the environment limits them."""
    from joblib import cpu_count

    available = int(cpu_count())
    return available if most is None else min(available, most)


@contextmanager
def _limited(variable: str, most: int) -> Iterator[None]:
    """Limit a number in the environment of processes that start within it; a smaller one stays."""
    before = os.environ.get(variable)
    os.environ[variable] = str(min(int(before), most) if before and before.isdecimal() else most)
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(variable, None)
        else:
            os.environ[variable] = before


def _result_of(work: Callable[[Any], Any], name: str, unit: Any) -> tuple[str, Any]:
    return name, work(unit)


def _in_one_thread(work: Callable[[Unit], Result], unit: Unit) -> Result:
    with one_thread():
        return work(unit)


@lru_cache(maxsize=1)
def _loaded_libraries(modules: int) -> "ThreadpoolController":
    """The libraries whose threads can be limited; to look for them takes longer than many an analysis."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


class _Limit:
    """One thread for linear algebra, from when the first needs it until the last has ended, in any thread."""

    def __init__(self) -> None:
        self._lock, self._users, self._limits = Lock(), 0, ExitStack()

    def enter(self) -> None:
        with self._lock:
            loaded = _loaded_libraries(len(sys.modules))  # again, for libraries that were loaded since
            self._limits.enter_context(loaded.limit(limits=1))
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._limits.close()


_limit = _Limit()


@contextmanager
def one_thread(*modules: str) -> Iterator[None]:
    """Within it, linear algebra and OpenMP use one thread; also as a decorator.

    The matrices here are small: waking threads costs more than they save, and with one thread sums have one order.

    Args:
        modules: What is used within it, imported before: only libraries that are loaded can be limited.
    """
    for module in modules:
        import_module(module)
    _limit.enter()
    try:
        yield
    finally:
        _limit.leave()


class ResultsFile:
    """Results of units in a file: a line of JSON for each, after a first line that says what they are of."""

    def __init__(self, path: Path, *of: object) -> None:
        """Results in a file that need not exist.

        Args:
            of: What all results depend on: arrays, or what can be written as JSON. Results of anything else are not
                read.
        """
        self.path = path
        self._of = _digest(of)
        self._begun = False

    def read(self) -> dict[str, Any]:
        """The results of the file by name; none if they are of something else. An incomplete last line is left out.

        Raises:
            FathomError: The file cannot be read.
        """
        try:
            with open_regular(self.path) as stream:
                lines = stream.read().split(b"\n")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise FathomError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        records = [record for record in map(_parsed, lines[:-1]) if record is not None]
        if not records or records[0] != {"of": self._of}:
            return {}
        # A line that was cut off has no end: the next result must not continue it.
        self._begun = lines[-1] == b""
        return {record["name"]: record["result"] for record in records[1:] if record.keys() == {"name", "result"}}

    def add(self, name: str, result: object) -> None:
        """Add a result.

        Raises:
            FathomError: The file cannot be written.
        """
        if not self._begun:
            lines: list[dict[str, object]] = [{"of": self._of}]
            lines += ({"name": earlier, "result": before} for earlier, before in self.read().items())
            with whole_file(self.path, "wb") as stream:
                stream.writelines(map(_line, lines))
            self._begun = True
        try:
            with self.path.open("ab") as stream:
                stream.write(_line({"name": name, "result": result}))
        except OSError as error:
            raise FathomError(
                f"{self.path}: cannot be written: {error.strerror or error}; the results that it holds are kept"
            ) from error


def _line(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        content = json.loads(line)
    except ValueError:
        return None
    return content if isinstance(content, dict) else None


def _digest(parts: Sequence[object]) -> str:
    import numpy as np

    digest = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            digest.update(f"{part.dtype} {part.shape} ".encode() + np.ascontiguousarray(part).tobytes())
        else:
            digest.update(json.dumps(part).encode() + b"\n")
    return digest.hexdigest()
