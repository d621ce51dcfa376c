"""All shards of a run, handed to an engine that runs them on other machines."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TypeAlias

from fathom.run.shards.cutting import Cut, Shard, cut
from fathom.run.shards.files import check_plan, failed, finished_rows, join_plan, plan_of, state_of
from fathom.run.shards.progress import NOTHING, READERS, counted, together
from fathom.run.shards.share import Facts
from fathom.run.shards.store import Store
from fathom.runfile.progress import Progress, RunSummary
from fathom.types import FathomError, Json, Sample

Engine: TypeAlias = Callable[[Sequence[Shard]], Iterator[tuple[Shard, Progress | str]]]
"""Runs shards elsewhere; yields each with its final state, or with what went wrong, in the order in which they end."""


class Spread:
    """What ``runner.run`` needs of a run whose shards run elsewhere.

    Nothing is kept here: a driver that is started again finds the finished shards in the store, and the engine's tasks
    find what unfinished ones have.

    Args:
        store: Where the shards are.
        of: Number of shards.
        engine: Runs them.
    """

    def __init__(self, store: Store, of: int, engine: Engine) -> None:
        self._store = store
        self._of = of
        self._engine = engine
        self._cut: Cut | None = None
        self._todo: list[Shard] = []
        self._state = NOTHING

    def take(
        self, facts: Facts, recipe: Callable[[str], Sample], epochs: int, manifest: Mapping[str, Json]
    ) -> tuple[Facts, Facts]:
        """Find the shards that are not finished, or have failed requests.

        Args:
            facts: Streams all samples of the run without recipes.
            recipe: The sample with its recipe, by id.
            epochs: Repetitions of each sample.
            manifest: What ``run.json`` will say.

        Returns:
            The samples of these shards without and with recipes, as functions that stream them.

        Raises:
            FathomError: The store cannot be read, or holds another run.
        """
        self._cut = made = cut(facts(), self._of)
        started = check_plan(self._store, plan_of(made, epochs, manifest))
        found = state_of(self._store, self._of)
        self._todo = sorted((*found.unfinished, *found.missing))
        total = sum(made.samples.values()) * epochs
        self._state = replace(self._state, total=total)
        with ThreadPoolExecutor(READERS) as readers:
            read = readers.map(lambda one: finished_rows(self._store, one, made.digest) or [], found.finished)
            for shard, rows in zip(found.finished if started else (), read, strict=False):
                if any(map(failed, rows)):
                    self._todo.append(shard)
                    continue
                self._state = together(self._state, counted(rows))
        left = {one.number for one in self._todo}

        def mine() -> Iterator[Sample]:
            return (one for one in facts() if made.numbers[one.item] in left)

        return mine, lambda: (recipe(one.id) for one in mine())

    def join(self, epochs: int, manifest: Mapping[str, Json]) -> None:
        """Write the plan into the store, or join the run whose plan is there.

        Raises:
            FathomError: The store holds another run.
        """
        assert self._cut is not None, "take comes first"
        join_plan(self._store, plan_of(self._cut, epochs, manifest))

    def hand_out(self, progress: Callable[[Progress], None]) -> RunSummary:
        """Run the shards, and wait for all of them.

        Args:
            progress: Called after every shard.

        Raises:
            FathomError: Some shards failed; the message says how many and why. All others are finished.
        """
        wrong: list[tuple[Shard, str]] = []
        began = monotonic()
        for shard, came in self._engine(self._todo):
            if isinstance(came, str):
                wrong.append((shard, came))
                continue
            self._state = replace(together(self._state, came), seconds=monotonic() - began)
            progress(self._state)
        if wrong:
            first, why = min(wrong)
            raise FathomError(
                f"{self._store.where}: {len(wrong):,} of {self._of:,} shards failed, the first one "
                f"({first.number}/{first.of}) with: {why.rstrip('.')}. All others are kept; run the same command again"
            )
        errors = self._state.counts["error"]
        hints = (f"{errors:,} samples failed; run the same command again to retry them",) if errors else ()
        where = self._store.where
        return RunSummary(Path(where), self._state, hints=(*hints, f"fathom merge {where} --out RUN"), shard=where)
