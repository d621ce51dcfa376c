"""Runs one shard of a suite on any machine, or all shards on a Ray cluster."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

from fathom.models.hugging_face import is_local
from fathom.models.protocol import is_ray_vllm
from fathom.models.ray_vllm import gpus_of
from fathom.models.settings import Limits
from fathom.run.engine import ignore
from fathom.run.request import request_of
from fathom.run.runner import NO_CALLBACKS, Callbacks, execute
from fathom.run.shards.cutting import Shard
from fathom.run.shards.files import check_place, read_plan
from fathom.run.shards.lease import leased
from fathom.run.shards.on_ray import ray_engine
from fathom.run.shards.scratch import scratch_folder
from fathom.run.shards.share import OneShard
from fathom.run.shards.spread import AllShards
from fathom.run.shards.store import FolderStore, ObjectStore, Store, open_store
from fathom.runfile.manifest import FILE
from fathom.runfile.progress import RunSummary
from fathom.runfile.settings import RunSettings
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError, Json

SHARDS = 64
"""Shards of a run on a cluster, unless told otherwise."""


def refuse_run_limits(settings: Limits) -> None:
    """Check that settings can be followed when several machines work on a run without seeing each other.

    Raises:
        FathomError: There is a limit of a whole run, of which a shard sees only its own part.
    """
    for flag, limit in (("`max_tokens_total`", settings.max_tokens_total), ("`max_cost`", settings.max_cost)):
        if limit is not None:
            raise FathomError(
                f"{flag} limits a whole run, and a shard cannot see what the others use; leave it out. Before it "
                "starts, each shard prints the most that it can cost; `limit` makes a run smaller"
            )


def open_shards(place: str | Path) -> Store:
    """Open the folder or object store of a run in shards.

    Raises:
        FathomError: It cannot be opened, or is the folder of an ordinary run.
    """
    store = open_store(place)
    if isinstance(store, FolderStore) and (Path(store.where) / FILE).exists():
        raise FathomError(f"{store.where}: holds a run that is not in shards; give another `out`")
    return store


def run_shard(
    suite: Path,
    model: str,
    settings: RunSettings,
    *,
    out: str | Path,
    shard: Shard,
    verified: bool = False,
    command: Mapping[str, Json] | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> RunSummary:
    """Run one shard of a suite against a model; repeating the call resumes it, on any machine.

    Args:
        suite: A suite folder written by ``fathom build``.
        settings: Which samples are asked, how, and up to which limits.
        out: The folder or object store of all shards (``store.open_store``).
        verified: Whether the driver of all shards has checked the whole suite.
        command: See ``fathom.run.run``.
        callbacks: Functions of the caller.

    If another process works on the shard, this one waits until it has ended (``shards.lease``).

    Returns:
        The final state of the shard.

    Raises:
        FathomError: See ``fathom.run.run``; the store cannot be used or holds another run, or a setting does not go
            with shards.
    """
    refuse_run_limits(settings)
    store = open_shards(out)
    request = request_of(replace(open_suite(Path(suite)), known=verified), model, settings, command)
    check_place(store)
    with scratch_folder() as place, leased(store, shard, callbacks.tell or ignore) as lease:
        done = execute(request, OneShard(store, shard, place / shard.name, request, lease), callbacks)
    return replace(done, folder=Path(out), shard=f"{store.where.rstrip('/')}/{shard.name}")


def run_on_ray(
    suite: Path,
    model: str,
    settings: RunSettings,
    *,
    out: str | Path,
    shards: int | None,
    address: str | None,
    command: Mapping[str, Json] | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> RunSummary:
    """Run all shards of a suite as tasks of a Ray cluster; repeating the call resumes.

    Args:
        suite: A suite folder, which all machines have at the same path.
        model: The model; not one that is computed in this process.
        settings: Which samples are asked, how, and up to which limits.
        out: The folder or object store of all shards.
        shards: Number of shards; by default that of the run in ``out``, else ``SHARDS``.
        address: Address of the cluster; see ``ray_engine``.
        command: See ``fathom.run.run``.
        callbacks: Functions of the caller.

    Returns:
        The final state of all shards.

    Raises:
        FathomError: See ``run_shard``; or some shards failed.
    """
    refuse_run_limits(settings)
    if is_local(model):
        raise FathomError(
            f"`engine` ray: {model} is computed in the process that asks, and tasks have no GPU; serve it and give "
            "`model_base_url`, let vLLM compute it as ray-vllm/PATH, or run shards as jobs with `shard`"
        )
    store = open_shards(out)
    plan = read_plan(store)
    of = shards or (plan.shards if plan else SHARDS)
    resolved = settings.but(subset=settings.subset and settings.subset.resolve())
    place = out if isinstance(store, ObjectStore) else Path(store.where).resolve()
    work = partial(run_shard, Path(suite).resolve(), model, resolved, out=place, verified=True, command=command)
    gpus = gpus_of(settings.model_args or {}) if is_ray_vllm(model) else 0
    built = open_suite(Path(suite))
    built.check()
    request = request_of(built, model, settings, command)
    with scratch_folder() as folder:
        return execute(
            request, AllShards(store, of, ray_engine(work, address, gpus), folder / "run", request), callbacks
        )
