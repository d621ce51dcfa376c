"""Shards as tasks of a Ray cluster."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from fathom.parallel.on_ray import RETRIES, connected, said_by
from fathom.run.shards.cutting import Shard
from fathom.run.shards.spread import Engine
from fathom.runfile.progress import Progress, RunSummary
from fathom.types import FathomError


def ray_engine(work: Callable[..., RunSummary], address: str | None, gpus: int = 0) -> Engine:
    """An engine that runs each shard as a task, with one CPU and as many at once as the cluster has CPUs.

    Args:
        work: Runs a shard, given as ``shard``, on any machine (``run_shard``).
        address: Address of the cluster; by default that of ``RAY_ADDRESS`` or of this machine, else a new one.
        gpus: GPUs that a shard takes for vLLM in tasks of its own. Then there are as many shards at once as that
            allows, and they take no CPU, which those tasks need.
    """
    import ray

    def engine(todo: Sequence[Shard]) -> Iterator[tuple[Shard, Progress | str]]:
        with connected(address):
            task = ray.remote(num_cpus=0 if gpus else 1, max_retries=RETRIES)(_run)
            most = max(1, int(ray.cluster_resources().get("GPU", 0)) // gpus) if gpus else len(todo)
            left, waiting = iter(todo), dict[Any, Shard]()
            while True:
                while len(waiting) < most and (next_shard := next(left, None)) is not None:
                    waiting[task.remote(work, next_shard)] = next_shard
                if not waiting:
                    return
                (ended,), _ = ray.wait(list(waiting), num_returns=1)
                shard = waiting.pop(ended)
                try:
                    came = ray.get(ended)
                except ray.exceptions.RayError as error:
                    came = said_by(error)
                yield shard, came

    return engine


def _run(work: Callable[..., RunSummary], shard: Shard) -> Progress | str:
    try:
        done = work(shard=shard)
    except FathomError as error:
        return str(error)
    assert done.progress is not None, "nothing asks whether to start"
    return done.progress
