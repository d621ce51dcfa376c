"""``run_shard``: one shard of a run, on any machine."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from fathom.models.hugging_face import is_local
from fathom.models.protocol import is_ray_vllm
from fathom.models.ray_vllm import gpus_of
from fathom.run.runner import run
from fathom.run.shards.cutting import Shard
from fathom.run.shards.files import read_plan
from fathom.run.shards.on_ray import ray_engine
from fathom.run.shards.scratch import scratch_folder
from fathom.run.shards.share import Share
from fathom.run.shards.spread import Spread
from fathom.run.shards.store import FolderStore, ObjectStore, Store, open_store
from fathom.runfile.manifest import FILE
from fathom.runfile.progress import RunSummary
from fathom.types import FathomError

ALONE = {
    "max_tokens_total": "--max-tokens-total",
    "max_cost": "--max-cost",
}
"""Limits of a whole run, of which a shard sees only its own part."""


SHARDS = 64
"""Shards of a run on a cluster, unless told otherwise."""


def check_shared(options: Mapping[str, Any]) -> None:
    """Check that options can be followed when several machines work on a run without seeing each other.

    Raises:
        FathomError: One cannot; the message names it.
    """
    for name, flag in ALONE.items():
        if options.get(name) is not None:
            raise FathomError(
                f"{flag} limits a whole run, and a shard cannot see what the others use; leave it out. Before it "
                "starts, each shard prints the most that it can cost; --limit makes a run smaller"
            )


def open_shards(place: str | Path) -> Store:
    """Open the folder or object store of a run in shards.

    Raises:
        FathomError: It cannot be opened, or is the folder of an ordinary run.
    """
    store = open_store(place)
    if isinstance(store, FolderStore) and (Path(store.where) / FILE).exists():
        raise FathomError(f"{store.where}: holds a run that is not in shards; give another --out")
    return store


def run_shard(
    suite: Path, model: str, *, out: str | Path, shard: Shard, verified: bool = False, **options: Any
) -> RunSummary:
    """Run one shard of a suite against a model; repeating the call resumes it, on any machine.

    Args:
        suite: A suite folder written by ``fathom build``.
        model: The model.
        out: The folder or object store of all shards (``store.open_store``).
        shard: Which shard.
        verified: Whether the driver of all shards has checked the whole suite.
        options: All others of ``fathom.run.run``.

    Returns:
        The final state of the shard.

    Raises:
        FathomError: See ``fathom.run.run``; the store cannot be used or holds another run, or an option does not go
            with shards.
    """
    check_shared(options)
    store = open_shards(out)
    with scratch_folder() as place:
        folder = place / shard.name
        done = run(suite, model, out=folder, share=Share(store, shard, folder, verified=verified), **options)
    return replace(done, folder=Path(out), shard=f"{store.where.rstrip('/')}/{shard.name}")


def run_on_ray(
    suite: Path, model: str, *, out: str | Path, shards: int | None, address: str | None, **options: Any
) -> RunSummary:
    """Run all shards of a suite as tasks of a Ray cluster; repeating the call resumes.

    Args:
        suite: A suite folder, which all machines have at the same path.
        model: The model; not one that is computed in this process.
        out: The folder or object store of all shards.
        shards: Number of shards; by default that of the run in ``out``, else ``SHARDS``.
        address: Address of the cluster; see ``ray_engine``.
        options: All others of ``fathom.run.run``.

    Returns:
        The final state of all shards.

    Raises:
        FathomError: See ``run_shard``; or some shards failed.
    """
    check_shared(options)
    if is_local(model):
        raise FathomError(
            f"--engine ray: {model} is computed in the process that asks, and tasks have no GPU; serve it and give "
            "--model-base-url, let vLLM compute it as ray-vllm/PATH, or run shards as jobs with --shard"
        )
    store = open_shards(out)
    plan = read_plan(store)
    of = shards or (plan.shards if plan else SHARDS)
    subset = options.get("subset")
    here = {"confirm": None, "progress": None, "subset": subset and Path(subset).resolve()}
    place = out if isinstance(store, ObjectStore) else Path(store.where).resolve()
    call = {**options, **here, "suite": Path(suite).resolve(), "model": model, "out": place, "verified": True}
    gpus = gpus_of(options.get("model_args") or {}) if is_ray_vllm(model) else 0
    spread = Spread(store, of, ray_engine(partial(_run_one, call), address, gpus))
    with scratch_folder() as folder:
        return run(suite, model, out=folder / "run", share=spread, **options)


def _run_one(call: Mapping[str, Any], shard: Shard) -> RunSummary:
    return run_shard(**call, shard=shard)
