"""One shard of a run: restored from its store into a folder of this machine, and saved reply by reply."""

import asyncio
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from urllib.parse import quote

from fathom.models.protocol import Client
from fathom.printing import several
from fathom.run.executors import DirectExecutor
from fathom.run.request import RunRequest
from fathom.run.session import Work
from fathom.run.shards.cutting import Shard, cut
from fathom.run.shards.files import (
    COLUMNS,
    Plan,
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
from fathom.run.shards.lease import Lease
from fathom.run.shards.store import Store
from fathom.runfile.ledger import Key, Ledger
from fathom.runfile.progress import RunSummary
from fathom.runfile.store import FILE, clear_errors
from fathom.runfile.worker import this_worker
from fathom.types import FathomError, Json, Sample

MOST_PARTS = 64
"""Files of an unfinished shard that are then replaced by one."""


class OneShard(DirectExecutor):
    """Asks the samples of one shard from this process.

    The shard is an ordinary run in a folder of this machine. A reply is also written to the store before the next
    request takes its place, together with all others that came meanwhile. So a machine that is lost costs the requests
    in flight, and a slow store costs no more than one write for each round of replies.

    Args:
        store: Where the shards are.
        shard: Which shard it is.
        folder: An empty folder of this machine; receives the replies that the shard has already.
        request: What is asked in all shards.
        lease: Of the shard, held by this process.

    Raises:
        FathomError: The store cannot be read, or holds another run.
    """

    def __init__(self, store: Store, shard: Shard, folder: Path, request: RunRequest, lease: Lease) -> None:
        super().__init__(folder, request)
        self._store = store
        self._lease = lease
        self._shard = shard
        self._cut = cut(request.facts(), shard.of)
        self._joined = self._plan(request.manifest)
        check_plan(store, self._joined)
        rows, finished, self._restored = stored_rows(store, shard, self._cut.digest)
        if rows:
            folder.mkdir(parents=True, exist_ok=True)
            with closing(Ledger(folder, this_worker())) as ledger:
                list(ledger.adopt(rows))
        # Failed requests are sent again, and so change a finished shard.
        self._finished = finished and not any(map(failed, rows))
        # Kept, so that a shard of a large suite reads all of it twice and not five times.
        self._mine = [sample for sample in request.facts() if self._cut.numbers[sample.item] == shard.number]
        self._own_parts = f"{shard.name}/{this_worker().id}-"
        self._waiting: dict[Key, None] = {}
        self._writing = asyncio.Lock()
        self._parts: list[tuple[str, Sequence[Key]]] = []
        self._written = 0

    def facts(self) -> Iterator[Sample]:
        """See ``DirectExecutor``."""
        return iter(self._mine)

    def samples(self) -> Iterator[Sample]:
        """See ``DirectExecutor``."""
        return (self.request.sample(sample.id) for sample in self._mine)

    def join(self, manifest: Mapping[str, Json]) -> None:
        """Write the plan into the store, or join the run whose plan is there; see ``DirectExecutor``."""
        self._joined = self._plan(manifest)
        join_plan(self._store, self._joined)
        super().join(manifest)

    def execute(self, client: Client, work: Work, total: int, tell: Callable[[str], None]) -> RunSummary:
        """See ``DirectExecutor``; afterwards the shard has one file.

        Raises:
            FathomError: See ``DirectExecutor``, or the store cannot be used any more; the message names the file with
                the replies that it lacks.
        """
        try:
            done = super().execute(client, replace(work, committed=self.committed), total, tell)
            self.finish()
        except FathomError as error:
            if kept := self._keep_missing():
                raise FathomError(f"{str(error).rstrip('.')}. {kept}") from error
            raise
        return done

    def _keep_missing(self) -> str:
        """Keep the replies that the store lacks on this machine, and say where; "" if it has all of them."""
        try:
            rows = rows_in(self.out)
        except FathomError:
            return ""  # the folder of this machine is gone: the message says so
        try:
            stored = {key_of(row) for row in stored_rows(self._store, self._shard, self._cut.digest)[0]}
        except FathomError:
            stored = set()
        missing = [row for row in rows if key_of(row) not in stored and not failed(row)]
        if not missing:
            return ""
        folder = Path(tempfile.mkdtemp(prefix="fathom-kept-"))
        file = folder / f"{self._own_parts.partition('/')[2]}999999.parquet"
        file.write_bytes(write_rows(missing, self._shard, self._cut.digest))
        where = f"{self._store.where}/{self._shard.name}/"
        kept = several(len(missing), "missing reply is", "missing replies are")
        return f"{kept} kept in {file}: copy it into {where} to have them"

    def _plan(self, manifest: Mapping[str, Json]) -> Plan:
        return plan_of(self._cut, self.request.settings.epochs, manifest)

    async def committed(self, sample: str, epoch: int) -> None:
        """Return once a reply is in the store; replies that come meanwhile share the next write."""
        self._lease.check()
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
        if not self._finished:
            before = finished_rows(self._store, self._shard, self._cut.digest) or []
            rows = sorted(one_each((*before, *rows_in(self.out))), key=key_of)
            join_plan(self._store, self._joined)  # the folder may have been removed meanwhile
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
        self._written += 1
        name = f"{self._own_parts}{self._written:06d}.parquet"
        self._store.write(name, write_rows(rows_in(self.out, keys), self._shard, self._cut.digest))
        self._parts.append((name, keys))


def rows_in(folder: Path, keys: Sequence[Key] | None = None) -> list[Row]:
    """Rows of a run folder: all, or those of some samples and epochs."""
    query, path = f"SELECT {', '.join(COLUMNS)} FROM replies", folder / FILE
    with (
        clear_errors(folder),
        closing(sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True)) as db,
    ):
        if keys is None:
            return db.execute(query).fetchall()
        return [row for key in keys for row in db.execute(f"{query} WHERE sample = ? AND epoch = ?", key)]
