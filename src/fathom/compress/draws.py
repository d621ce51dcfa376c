"""Draws of a validation: made in processes with one thread each, and kept in a file until all are made."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from fathom.atomic import whole_file
from fathom.types import FathomError

Rows: TypeAlias = list[dict[str, object]]


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it, linear algebra uses one thread.

    The matrices here are small: waking threads costs more than they save, and sums do not depend on their number.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def made(
    draw: Callable[..., Rows],
    draws: Mapping[str, Sequence[Any]],
    *,
    workers: int | None = 1,
    kept: "Kept | None" = None,
    progress: Callable[[int, int], None] | None = None,
) -> list[Rows]:
    """Make draws that do not depend on each other.

    Args:
        draw: Makes one draw; its values can be written as JSON.
        draws: Arguments of each draw by its name.
        workers: Processes; None for one for each core. With 1 there is no other process.
        kept: What was made before, which is not made again; draws are added as they end.
        progress: Called with (draws made, draws in all).

    Returns:
        What the draws returned, in their order.
    """
    import joblib

    found = {} if kept is None else {name: rows for name, rows in kept.read().items() if name in draws}
    left = [name for name in draws if name not in found]
    # A process is not worth its start for a few draws.
    count = min(workers or joblib.cpu_count(), max(1, len(left) // 2))
    calls = (joblib.delayed(_named_draw)(draw, name, draws[name]) for name in left)
    if progress is not None and found:
        progress(len(found), len(draws))
    with joblib.parallel_config("loky", n_jobs=count):
        for name, rows in joblib.Parallel(return_as="generator_unordered", batch_size=1)(calls):
            found[name] = rows
            if kept is not None:
                kept.add(name, rows)
            if progress is not None:
                progress(len(found), len(draws))
    return [found[name] for name in draws]


def _named_draw(draw: Callable[..., Rows], name: str, arguments: Sequence[Any]) -> tuple[str, Rows]:
    with one_thread():
        return name, draw(*arguments)


class Kept:
    """Draws in a file: a line of JSON for each, after a first line that says what they are of."""

    def __init__(self, path: Path, *of: object) -> None:
        """Draws of a file that need not exist.

        Args:
            path: The file.
            of: What all draws depend on: arrays, or what can be written as JSON. Draws of anything else are not read.
        """
        self.path = path
        self._of = _digest(of)
        self._begun = False

    def read(self) -> dict[str, Rows]:
        """The draws of the file by name; none if it is of other scores. An incomplete last line is left out.

        Raises:
            FathomError: The file cannot be read.
        """
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise FathomError(f"{self.path}: cannot be read: {error.strerror or error}") from error
        found = [one for one in map(_parsed, lines[:-1]) if one is not None]
        if not found or found[0] != {"of": self._of}:
            return {}
        # A line that was cut off has no end: the next draw must not continue it.
        self._begun = lines[-1] == b""
        return {one["name"]: one["rows"] for one in found[1:] if one.keys() == {"name", "rows"}}

    def add(self, name: str, rows: Rows) -> None:
        """Add a draw.

        Raises:
            FathomError: The file cannot be written.
        """
        if not self._begun:
            lines: list[dict[str, object]] = [{"of": self._of}]
            lines += ({"name": one, "rows": rows} for one, rows in self.read().items())
            with whole_file(self.path, "wb") as stream:
                stream.writelines(map(_line, lines))
            self._begun = True
        try:
            with self.path.open("ab") as stream:
                stream.write(_line({"name": name, "rows": rows}))
        except OSError as error:
            raise FathomError(
                f"{self.path}: cannot be written: {error.strerror or error}; the draws that it holds are kept"
            ) from error


def _line(content: Mapping[str, object]) -> bytes:
    return json.dumps(content, allow_nan=False).encode() + b"\n"


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _digest(parts: Sequence[object]) -> str:
    import numpy as np

    found = hashlib.sha256()
    for part in parts:
        if isinstance(part, np.ndarray):
            found.update(f"{part.dtype} {part.shape} ".encode() + np.ascontiguousarray(part).tobytes())
        else:
            found.update(json.dumps(part).encode() + b"\n")
    return found.hexdigest()
