"""Sizes and times of the files of shards, for the arithmetic in the guide to many machines.

    python performance/shard_sizes.py

Processor time, so that other programs on the machine matter less.
"""

from __future__ import annotations

import resource
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "run"))

from run_suites import make_suite, sample

from fathom.run.chosen import choose
from fathom.run.ledger import Ledger
from fathom.run.manifest import describe_run
from fathom.run.shards.cutting import Shard, cut, shards
from fathom.run.shards.files import Row, finished_file, join_plan, key_of, plan_of, read_rows, write_rows
from fathom.run.shards.merging import merge
from fathom.run.shards.share import Share
from fathom.run.shards.store import FolderStore
from fathom.run.worker import this_worker
from fathom.suitefile import open_suite
from fathom.types import Reply, Sample

Result = TypeVar("Result")
SAMPLES, OF, WORDS = 20_000, 20, 60


def timed(work: Callable[[], Result]) -> tuple[Result, float]:
    """What a function returns, and the seconds of processor time that it took."""
    began = time.process_time()
    return work(), time.process_time() - began


def rows_of(folder: Path, samples: list[Sample]) -> list[Row]:
    """Rows of a store with a reply of random words to each sample."""
    rng, folder = Random(1), folder / f"of-{len(samples)}"
    folder.mkdir()
    with closing(Ledger(folder, this_worker())) as ledger:
        for one in samples:
            text = " ".join(f"w{rng.randrange(9999)}" for _ in range(WORDS))
            reply = Reply("ok", text, tokens_in=1_000_000, tokens_out=100, seconds=60.0)
            ledger.finish(one, 1, reply, prompt_hash=f"{rng.getrandbits(64):016x}", cost=0.0)
    return Share(FolderStore(folder), Shard(1, 1), folder).rows()


def main() -> None:
    """Print everything."""
    one, before = sample(0), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many = (replace(one, id=f"single_doc_qa-{n}@1m", item=f"single_doc_qa-{n}", tokens=1_000_000) for n in range(10**6))
    cut(many, 1000)
    print(f"cutting 1,000,000 items: {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.0f} MB")
    with TemporaryDirectory() as name:
        folder = Path(name)
        suite = make_suite(folder, SAMPLES)
        built = open_suite(suite)
        made, seconds = timed(lambda: cut(built.samples(parts=False), OF))
        print(f"reading and cutting: {seconds / SAMPLES * 1e6:.0f} us a sample")
        rows = rows_of(folder, [sample(number) for number in range(1000)])
        for size in (1, 64, 1000):
            data, writing = timed(lambda size=size: write_rows(rows[:size], Shard(1, 1), "run"))  # type: ignore[misc]
            _, reading = timed(lambda data=data: read_rows(data, "", Shard(1, 1), "run"))  # type: ignore[misc]
            times = f"written in {writing * 1e3:.1f} ms, read in {reading * 1e3:.1f} ms"
            print(f"{size:,} replies: {len(data):,} bytes, {times}")
        store, by_shard = FolderStore(folder / "parts"), defaultdict(list)
        facts = list(built.samples(parts=False))
        items = {one.id: one.item for one in facts}
        for row in rows_of(folder, facts):
            by_shard[made.numbers[items[key_of(row)[0]]]].append(row)
        manifest = describe_run(suite, built.manifest, choose("fathom/lexical").settings)
        join_plan(store, plan_of(made, 1, manifest))
        for shard in shards(OF):
            store.write(finished_file(shard), write_rows(by_shard[shard.number], shard, made.digest))
        _, seconds = timed(lambda: merge(folder / "parts", folder / "run"))
        print(f"merging: {seconds / SAMPLES * 1e6:.0f} us a reply")


if __name__ == "__main__":
    main()
