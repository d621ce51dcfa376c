"""All shards of a run, handed to an engine that runs them on other machines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from fathom.models.protocol import Client
from fathom.printing import several
from fathom.run.executors import DirectExecutor
from fathom.run.request import RunRequest
from fathom.run.session import Work
from fathom.run.shards.cutting import Shard, cut
from fathom.run.shards.files import Plan, check_plan, failed, finished_rows, join_plan, plan_of, state_of
from fathom.run.shards.progress import NOTHING, READERS, counted, together
from fathom.run.shards.store import Store
from fathom.runfile.progress import Progress, RunSummary
from fathom.types import FathomError, Json, Sample

Engine: TypeAlias = Callable[[Sequence[Shard]], Iterator[tuple[Shard, Progress | str]]]
"""Runs shards elsewhere; yields each with its final state, or with what went wrong, in the order in which they end."""


class AllShards(DirectExecutor):
    """Has an engine run all shards elsewhere.

    Nothing is kept here: a driver that is started again finds the finished shards in the store, and the engine's tasks
    find what unfinished ones have.

    Args:
        store: Where the shards are.
        of: Number of shards.
        engine: Runs them.
        folder: An empty folder of this machine.
        request: What is asked in all shards.

    Raises:
        FathomError: The store cannot be read, or holds another run.
    """

    def __init__(self, store: Store, of: int, engine: Engine, folder: Path, request: RunRequest) -> None:
        super().__init__(folder, request)
        self._store = store
        self._engine = engine
        self._cut = cut(request.facts(), of)
        started = check_plan(store, self._plan(request.manifest))
        state = state_of(store, of)
        # Shards that are not finished, or have failed requests.
        self._todo = sorted((*state.unfinished, *state.missing))
        self._state = replace(NOTHING, total=sum(self._cut.samples.values()) * request.settings.epochs)
        with ThreadPoolExecutor(READERS) as readers:
            read = readers.map(lambda shard: finished_rows(store, shard, self._cut.digest) or [], state.finished)
            for shard, rows in zip(state.finished if started else (), read, strict=False):
                if any(map(failed, rows)):
                    self._todo.append(shard)
                    continue
                self._state = together(self._state, counted(rows))

    def facts(self) -> Iterator[Sample]:
        """See ``DirectExecutor``."""
        left = {shard.number for shard in self._todo}
        return (sample for sample in self.request.facts() if self._cut.numbers[sample.item] in left)

    def samples(self) -> Iterator[Sample]:
        """See ``DirectExecutor``."""
        return (self.request.sample(sample.id) for sample in self.facts())

    def join(self, manifest: Mapping[str, Json]) -> None:
        """Write the plan into the store, or join the run whose plan is there; see ``DirectExecutor``."""
        join_plan(self._store, self._plan(manifest))

    def _plan(self, manifest: Mapping[str, Json]) -> Plan:
        return plan_of(self._cut, self.request.settings.epochs, manifest)

    def execute(self, client: Client, work: Work, total: int, tell: Callable[[str], None]) -> RunSummary:
        """Run the shards, and wait for all of them; the progress is reported after every shard.

        Raises:
            FathomError: Some shards failed; the message says how many and why. All others are finished.
        """
        wrong: list[tuple[Shard, str]] = []
        began = monotonic()
        with work.watch(self.out, work.terms.max_connections):
            for shard, came in self._engine(self._todo):
                if isinstance(came, str):
                    wrong.append((shard, came))
                    continue
                self._state = replace(together(self._state, came), seconds=monotonic() - began)
                work.progress(self._state)
            if wrong:
                first, why = min(wrong)
                raise FathomError(
                    f"{self._store.where}: {len(wrong):,} of {self._cut.of:,} shards failed, the first one "
                    f"({first.number}/{first.of}) with: {why.rstrip('.')}. All others are kept; run the same command "
                    "again"
                )
        errors = self._state.counts["error"]
        hints = (f"{several(errors, 'sample')} failed; run the same command again to retry them",) if errors else ()
        where = self._store.where
        return RunSummary(Path(where), self._state, hints=(*hints, f"fathom merge {where} --out RUN"), shard=where)
