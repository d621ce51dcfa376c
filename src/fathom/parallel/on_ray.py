"""Units of work, and anything else, as tasks of a Ray cluster."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from fathom.parallel.units import Engine
from fathom.types import FathomError

RETRIES = 100
"""How often a task is started again after its process or machine died."""
AHEAD = 4
"""Tasks that are handed out for each CPU of the cluster; the units of all others stay with the driver."""


@contextmanager
def connected(address: str | None) -> Iterator[None]:
    """Within it, this process is connected to a cluster.

    Args:
        address: Of the cluster; by default that of ``RAY_ADDRESS`` or of this machine, else a new one.

    Raises:
        FathomError: There is no cluster.
    """
    import ray

    ours = not ray.is_initialized()
    if ours:
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR")
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise FathomError(f"`address` {address or '(this machine)'}: no Ray cluster: {error}") from None
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def in_tasks(address: str | None = None) -> Engine:
    """An engine of ``fathom.parallel.units``: a unit is a task with one CPU; what they share is sent to a machine once.

    Args:
        address: See ``connected``.

    Returns:
        The engine. It raises a FathomError if there is no cluster, or if a task dies again and again.
    """

    def engine(work: Callable[[Any], Any], units: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        import ray

        with connected(address):
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(_do)
            shared, left = ray.put(work), iter(units.items())
            most = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
            waiting: dict[Any, str] = {}
            while True:
                while len(waiting) < most and (unit := next(left, None)) is not None:
                    waiting[task.remote(shared, unit[1])] = unit[0]
                if not waiting:
                    return
                (ended,), _ = ray.wait(list(waiting), num_returns=1)
                name = waiting.pop(ended)
                try:
                    result, error = ray.get(ended)
                except ray.exceptions.RayError as died:
                    raise FathomError(f"{name}: {said_by(died)}; run the same command again") from None
                if error is not None:
                    raise error
                yield name, result

    return engine


def said_by(error: Exception) -> str:
    """What an error of Ray says, in one line."""
    return f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"


def _do(work: Callable[[Any], Any], unit: Any) -> tuple[Any, FathomError | None]:
    try:
        return work(unit), None
    except FathomError as error:
        return None, error
