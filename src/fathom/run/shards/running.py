"""``run_shard``: one shard of a run, on any machine."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from fathom.run.manifest import FILE
from fathom.run.progress import RunSummary
from fathom.run.runner import run
from fathom.run.shards.cutting import Shard
from fathom.run.shards.share import Share
from fathom.run.shards.store import FolderStore, Store, open_store
from fathom.types import FathomError

ALONE = {
    "max_tokens_total": "--max-tokens-total",
    "max_cost": "--max-cost",
}
"""Limits of a whole run, of which a shard sees only its own part."""


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


def run_shard(suite: Path, model: str, *, out: str | Path, shard: Shard, **options: Any) -> RunSummary:
    """Run one shard of a suite against a model; repeating the call resumes it, on any machine.

    Args:
        suite: A suite folder written by ``fathom build``.
        model: The model.
        out: The folder or object store of all shards (``store.open_store``).
        shard: Which shard.
        options: All others of ``fathom.run.run``.

    Returns:
        The final state of the shard.

    Raises:
        FathomError: See ``fathom.run.run``; the store cannot be used or holds another run, or an option does not go
            with shards.
    """
    check_shared(options)
    store = open_shards(out)
    with TemporaryDirectory(prefix="fathom-shard-") as place:
        folder = Path(place) / shard.name
        done = run(suite, model, out=folder, share=Share(store, shard, folder), **options)
    return replace(done, folder=Path(out), shard=f"{store.where.rstrip('/')}/{shard.name}")
