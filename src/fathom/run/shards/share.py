"""One shard of a run: restored from its store into a folder of this machine, and saved reply by reply."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote

from fathom.run.shards.cutting import Cut, Shard, cut
from fathom.run.shards.files import (
    COLUMNS,
    Row,
    check_plan,
    failed,
    finished_file,
    finished_rows,
    join_plan,
    key_of,
    one_each,
    plan_of,
    stored_rows,
    write_rows,
)
from fathom.run.shards.store import Store
from fathom.runfile.ledger import Key, Ledger
from fathom.runfile.store import FILE, clear_errors
from fathom.runfile.worker import this_worker
from fathom.types import Json, Sample

MOST_PARTS = 64
"""Files of an unfinished shard that are then replaced by one."""

Facts: TypeAlias = Callable[[], Iterator[Sample]]
"""Streams samples; can be called again."""


class Share:
    """What ``runner.run`` needs of a shard: its samples, its earlier replies, and where replies are kept.

    The shard is an ordinary run in a folder of this machine. A reply is also written to the store before the next
    request takes its place, together with all others that came meanwhile. So a machine that is lost costs the requests
    in flight, and a slow store costs no more than one write for each round of replies.

    Args:
        store: Where the shards are.
        shard: Which shard it is.
        folder: An empty folder of this machine.
        verified: Whether the driver of all shards has checked the whole suite, so that this one need not.
    """

    def __init__(self, store: Store, shard: Shard, folder: Path, *, verified: bool = False) -> None:
        self.verified = verified
        self._store = store
        self._shard = shard
        self._folder = folder
        self._own_parts = f"{shard.name}/{this_worker().id}-"
        self._cut: Cut | None = None
        self._finished = False
        self._restored: list[str] = []
        self._waiting: dict[Key, None] = {}
        self._writing = asyncio.Lock()
        self._parts: list[tuple[str, Sequence[Key]]] = []
        self._written = 0

    @property
    def of(self) -> int:
        """Number of shards."""
        return self._shard.of

    def take(
        self, facts: Facts, recipe: Callable[[str], Sample], epochs: int, manifest: Mapping[str, Json]
    ) -> tuple[Facts, Facts]:
        """Find the samples of the shard, and restore its replies into the folder.

        Args:
            facts: Streams all samples of the run without recipes.
            recipe: The sample with its recipe, by id.
            epochs: Repetitions of each sample.
            manifest: What ``run.json`` will say.

        Returns:
            The samples of the shard without and with recipes, as functions that stream them.

        Raises:
            FathomError: The store cannot be read, or holds another run.
        """
        self._cut = made = cut(facts(), self.of)
        check_plan(self._store, plan_of(made, epochs, manifest))
        rows, self._finished, self._restored = stored_rows(self._store, self._shard, made.digest)
        if rows:
            self._folder.mkdir(parents=True, exist_ok=True)
            with closing(Ledger(self._folder, this_worker())) as ledger:
                list(ledger.adopt(rows))
        # Failed requests are sent again, and so change a finished shard.
        self._finished = self._finished and not any(map(failed, rows))

        # Kept, so that a shard of a large suite reads all of it twice and not five times.
        mine = [one for one in facts() if made.numbers[one.item] == self._shard.number]
        return lambda: iter(mine), lambda: (recipe(one.id) for one in mine)

    def join(self, epochs: int, manifest: Mapping[str, Json]) -> None:
        """Write the plan into the store, or join the run whose plan is there.

        Raises:
            FathomError: The store holds another run.
        """
        assert self._cut is not None, "take comes first"
        join_plan(self._store, plan_of(self._cut, epochs, manifest))

    async def committed(self, sample: str, epoch: int) -> None:
        """Return once a reply is in the store; replies that come meanwhile share the next write."""
        self._waiting[sample, epoch] = None
        async with self._writing:
            if (sample, epoch) not in self._waiting:
                return
            keys = list(self._waiting)
            await asyncio.to_thread(self._save, keys)
            for key in keys:
                del self._waiting[key]

    def finish(self) -> None:
        """Write the file of the shard, and remove what it replaces.

        Another process may have finished the same shard meanwhile: its replies are kept. If it is still at work, the
        parts that it has written since are left to it.
        """
        assert self._cut is not None, "take comes first"
        if not self._finished:
            before = finished_rows(self._store, self._shard, self._cut.digest) or []
            rows = sorted(one_each((*before, *self.rows())), key=key_of)
            self._store.write(finished_file(self._shard), write_rows(rows, self._shard, self._cut.digest))
        for name in self._store.names(self._shard.name):
            if name.startswith(self._own_parts) or name in self._restored:
                self._store.remove(name)

    def _save(self, keys: Sequence[Key]) -> None:
        self._write(keys)
        if len(self._parts) >= MOST_PARTS:
            small, self._parts = self._parts, []
            self._write([key for _, part in small for key in part])
            self._parts = []  # one is written once more, not again and again
            for name, _ in small:
                self._store.remove(name)

    def _write(self, keys: Sequence[Key]) -> None:
        assert self._cut is not None, "take comes first"
        self._written += 1
        name = f"{self._own_parts}{self._written:06d}.parquet"
        self._store.write(name, write_rows(self.rows(keys), self._shard, self._cut.digest))
        self._parts.append((name, keys))

    def rows(self, keys: Sequence[Key] | None = None) -> list[Row]:
        """Rows of the folder: all, or those of some samples and epochs."""
        query, path = f"SELECT {', '.join(COLUMNS)} FROM replies", self._folder / FILE
        with (
            clear_errors(self._folder),
            closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as db,
        ):
            if keys is None:
                return db.execute(query).fetchall()
            one = f"{query} WHERE sample = ? AND epoch = ?"
            return [row for key in keys for row in db.execute(one, key)]
