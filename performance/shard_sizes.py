"""Sizes and times of the files of shards, for the arithmetic in the guide to many machines.

    python performance/shard_sizes.py [--shards 10 100 1000]

Runs of so many shards of 1,000 replies are merged. Processor time, so that other programs on the machine matter less.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TypeVar

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "run"))

from run_suites import make_suite, sample

from fathom.models.settings import Reasoning, Sampling
from fathom.run.chosen import choose
from fathom.run.shards.cutting import Shard, cut, shards
from fathom.run.shards.files import COLUMNS, Plan, Row, finished_file, join_plan, read_rows, write_rows
from fathom.run.shards.merging import merge
from fathom.run.shards.share import rows_in
from fathom.run.shards.store import FolderStore
from fathom.runfile.ledger import Ledger
from fathom.runfile.manifest import describe_run
from fathom.runfile.worker import this_worker
from fathom.storage.checksums import row_checksum
from fathom.suites.suitefile import open_suite
from fathom.types import Json, Reply, Sample

Result = TypeVar("Result")
SAMPLES, EACH, WORDS = 20_000, 1000, 60


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
    return rows_in(folder)


def in_shard(row: Row, number: int) -> Row:
    """The row as that of a sample of another shard, which has an id of its own."""
    values = dict(zip(COLUMNS[:-1], row, strict=False))
    item = f"item{number * EACH + int(values['item'].removeprefix('item'))}"
    made = tuple((values | {"sample": f"{item}@256", "item": item}).values())
    return *made, row_checksum(made)


def merging(folder: Path, of: int, rows: Sequence[Row], manifest: Mapping[str, Json]) -> float:
    """Seconds of processor time to merge a run of so many shards, each with as many rows as are given."""
    store = FolderStore(folder / "parts")
    join_plan(store, Plan(of, of * len(rows), 1, "run", manifest))
    for shard in shards(of):
        made = [in_shard(row, shard.number) for row in rows]
        store.write(finished_file(shard), write_rows(made, shard, "run"))
    _, seconds = timed(lambda: merge(folder / "parts", folder / "run"))
    return seconds


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--shards", type=int, nargs="+", default=[10, 100, 1000])
    options = parser.parse_args()
    one, before = sample(0), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    many = (replace(one, id=f"single_doc_qa-{n}@1m", item=f"single_doc_qa-{n}", tokens=1_000_000) for n in range(10**6))
    cut(many, 1000)
    print(f"cutting 1,000,000 items: {(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024:.0f} MB")
    with TemporaryDirectory() as name:
        folder = Path(name)
        suite = make_suite(folder, SAMPLES)
        built = open_suite(suite)
        _, seconds = timed(lambda: cut(built.samples(parts=False), 20))
        print(f"reading and cutting: {seconds / SAMPLES * 1e6:.0f} us a sample")
        rows = rows_of(folder, [sample(number) for number in range(EACH)])
        for size in (1, 64, EACH):
            data, writing = timed(lambda size=size: write_rows(rows[:size], Shard(1, 1), "run"))  # type: ignore[misc]
            _, reading = timed(lambda data=data: read_rows(data, "", Shard(1, 1), "run"))  # type: ignore[misc]
            times = f"written in {writing * 1e3:.1f} ms, read in {reading * 1e3:.1f} ms"
            print(f"{size:,} replies: {len(data):,} bytes, {times}")
        manifest = describe_run(suite, built.manifest, choose("fathom/lexical", Sampling(), Reasoning()).settings)
        for of in options.shards:
            with TemporaryDirectory() as place:
                seconds = merging(Path(place), of, rows, manifest)
            each = f"{seconds / of / EACH * 1e6:.0f} us a reply"
            print(f"merging {of:,} shards of {EACH:,} replies: {seconds:.0f} s, {each}", flush=True)


if __name__ == "__main__":
    main()
