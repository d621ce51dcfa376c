"""Shards as tasks of a Ray cluster."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fathom.run.progress import Progress
from fathom.run.shards.cutting import Shard
from fathom.run.shards.spread import Engine
from fathom.types import FathomError

RETRIES = 100
"""How often a task is started again after its process or machine died; it resumes."""


def ray_engine(call: Mapping[str, Any], address: str | None) -> Engine:
    """An engine that runs each shard as a task, with one CPU and as many at once as the cluster has CPUs.

    Args:
        call: Arguments of ``run_shard`` except the shard; paths must hold on all machines.
        address: Address of the cluster; by default that of ``RAY_ADDRESS`` or of this machine, else a new one.
    """
    import ray

    def engine(todo: Sequence[Shard]) -> Iterator[tuple[Shard, Progress | str]]:
        ours = not ray.is_initialized()
        if ours:
            try:
                ray.init(address=address, log_to_driver=False, logging_level="ERROR")
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise FathomError(f"--address {address or '(this machine)'}: no Ray cluster: {error}") from None
        try:
            task = ray.remote(num_cpus=1, max_retries=RETRIES)(_run)
            waiting = {task.remote(dict(call), shard): shard for shard in todo}
            while waiting:
                (ended,), _ = ray.wait(list(waiting), num_returns=1)
                shard = waiting.pop(ended)
                try:
                    came = ray.get(ended)
                except ray.exceptions.RayError as error:
                    came = f"{type(error).__name__}: {str(error).strip().splitlines()[-1]}"
                yield shard, came
        finally:
            if ours:
                ray.shutdown()

    return engine


def _run(call: Mapping[str, Any], shard: Shard) -> Progress | str:
    from fathom.run.shards.running import run_shard

    try:
        done = run_shard(**call, shard=shard)
    except FathomError as error:
        return str(error)
    assert done.progress is not None, "nothing asks whether to start"
    return done.progress
