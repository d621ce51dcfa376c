"""Nothing is paid twice, and nothing that was paid is lost: hostile results of batches, folders that change, shards.

Each case is made from the seed and its number, runs in this process, and is run again until it is done. The counts of
samples that are lost, paid twice, or said to be there and are not, must all be zero. Batches need the extra ``batch``.

    python performance/paid_once.py                      # 100 cases of each part
    python performance/paid_once.py --part folders --cases 1000 --seed 7
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "run"))

from batch_server import AnthropicServer, BatchServer, GoogleServer, OpenAIServer
from run_suites import make_suite
from test_batch_results import LINES
from test_moved_folders import CHANGES

from engine_calls import run, run_shard
from fathom.run import replies
from fathom.run.batches import open as opening
from fathom.run.batches import provider
from fathom.run.batches.sender import Pace
from fathom.run.shards.cutting import Shard
from fathom.run.shards.merging import merge
from fathom.run.shards.share import OneShard
from fathom.runfile import batches
from fathom.runfile.ledger import Ledger
from fathom.types import FathomError

COUNT = 8
"""Samples of each case."""
MODEL = "fathom/lexical"
NAMELESS = ("zeros", "long_id")
COUNTS = ("lost", "paid twice", "not there")


def batch_case(place: Path, rng: Random) -> Counter[str]:
    """Results of which some cannot be read, failures beside answers, no name in a response, and a wrong clock."""
    kind: Any = rng.choice([OpenAIServer, AnthropicServer, GoogleServer])
    spoiled = {number: rng.choice(list(LINES)) for number in rng.sample(range(COUNT), rng.randrange(4))}
    line, download, create = kind._line, kind.download, kind._create
    offset, nameless, first = rng.choice([-2, 0, 2]) * 86_400, rng.random() < 0.3, rng.random() < 0.5

    def hostile(self: BatchServer, outcome: tuple[str, str, Any]) -> bytes:
        number = int(outcome[0].rpartition("-")[2])
        right: bytes = line(self, outcome)
        return LINES[spoiled[number]](right) if number in spoiled and outcome[1] == "answered" else right

    def doubled(self: BatchServer, made: Any) -> Any:
        outcomes = download(self, made)
        # Nobody can tell whose a line without an id is; beside a failure it is taken for another's.
        named = [outcome for outcome in outcomes if spoiled.get(int(outcome[0].rpartition("-")[2])) not in NAMELESS]
        failures = [(name, "busy", body) for name, _, body in named]
        return failures + outcomes if first else outcomes + failures

    def made_without_a_name(self: BatchServer, asked: Any) -> tuple[int, bytes]:
        status, body = create(self, asked)
        return status, body.replace(b'"id": "batch', b'"other": "batch').replace(b'"name": "batches/', b'"other": "')

    clock = SimpleNamespace(time=lambda: time.time() + offset)
    with (
        patch.object(kind, "_line", hostile),
        patch.object(kind, "download", doubled),
        patch.object(kind, "_create", made_without_a_name if nameless else create),
        patch.object(batches, "time", clock),
        patch.object(provider, "MOST_BYTES", 2_000),
        patch.object(opening, "PACE", Pace(first=0.005, longest=0.02, settle=0.2, patience=10.0)),
        kind() as server,
    ):
        with suppress(FathomError):  # all samples failed
            options: Any = {"model_base_url": server.url, "max_output_tokens": 50, "backoff": 0.005, "batch": True}
            run(make_suite(place, COUNT), kind.model, out=place / "run", **options)
        stored = {int(row.item[4:]): row.reply.status for row in replies(place / "run")}
        right = {number for number, status in stored.items() if status == "ok"}
        twice = sum(times - 1 for times in server.paid.values())
    return Counter({"lost": len(set(range(COUNT)) - right - set(spoiled)), "paid twice": twice})


def folder_case(place: Path, rng: Random) -> Counter[str]:
    """A run folder that is removed, moved, replaced or emptied after some reply."""
    suite, out, at, change = (
        make_suite(place, COUNT),
        place / "runs" / "run",
        rng.randint(1, COUNT),
        rng.choice(CHANGES),
    )
    finish, asked, kept = Ledger.finish, Counter[str](), out

    def changing(self: Ledger, item: Any, *rest: Any, **options: Any) -> Any:
        before = finish(self, item, *rest, **options)
        asked[item.id] += 1
        if asked.total() == at:
            change(out)
        return before

    with patch.object(Ledger, "finish", changing):
        try:
            run(suite, MODEL, out=out, max_connections=rng.choice([1, 2, 8]))
        except FathomError as error:
            kept = Path(str(error).partition("is kept in ")[2].partition(": move")[0] or out)
    there = {row.sample for row in replies(kept)} if (kept / "run.json").is_file() else set()
    absent = len(asked) if kept == out and not there else 0
    if kept != out:
        shutil.rmtree(out, ignore_errors=True)
        kept.rename(out)
        with patch.object(Ledger, "finish", changing):
            run(suite, MODEL, out=out)
    twice = sum(times - 1 for times in asked.values())
    return Counter(
        {"lost": len(set(asked) - {row.sample for row in replies(out)}), "paid twice": twice} | {"not there": absent}
    )


def shard_case(place: Path, rng: Random) -> Counter[str]:
    """A store with strange files, which is removed or refuses to be written at some reply."""
    suite, out, at = make_suite(place, COUNT), place / "parts", rng.randint(1, COUNT)
    committed, asked, shard = OneShard.committed, Counter[str](), Shard(1, 1)
    strays = rng.sample(["README", "table.parquet", "deeper/p-1.parquet", ".DS_Store", "p-1.csv"], rng.randrange(4))
    for name in strays:
        (out / shard.name / name).parent.mkdir(parents=True, exist_ok=True)
        (out / shard.name / name).write_bytes(rng.randbytes(20))

    async def failing(self: OneShard, sample: str, epoch: int) -> None:
        asked[sample] += 1
        if asked.total() == at and fault == "removed":
            shutil.rmtree(out, ignore_errors=True)
        if asked.total() >= at and fault == "refused":
            raise FathomError(f"{out}: cannot be written: No space left on device")
        await committed(self, sample, epoch)

    fault = rng.choice(["none", "removed", "refused"])
    with patch.object(OneShard, "committed", failing), patch("tempfile.tempdir", str(place)):
        with suppress(FathomError):
            run_shard(suite, MODEL, out=out, shard=shard, max_connections=rng.choice([1, 4]))
        for file in place.glob("fathom-kept-*/*.parquet"):
            (out / shard.name).mkdir(parents=True, exist_ok=True)
            shutil.move(file, out / shard.name)
        fault = "none"
        run_shard(suite, MODEL, out=out, shard=shard)
    merged = {row.sample for row in replies(merge(out, place / "merged").folder)}
    return Counter({"lost": COUNT - len(merged), "paid twice": sum(times - 1 for times in asked.values())})


PARTS: dict[str, Callable[[Path, Random], Counter[str]]] = {
    "batches": batch_case,
    "folders": folder_case,
    "shards": shard_case,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100, help="of each part")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--part", choices=list(PARTS), action="append", help="only this one; can be repeated")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    os.environ |= {f"{name}_API_KEY": "key-of-a-test" for name in ("OPENAI", "ANTHROPIC", "GOOGLE")}
    wrong = 0
    print(f"{'part':10} {'cases':>6} " + " ".join(f"{name:>11}" for name in COUNTS) + f" {'stopped':>9}")
    for part in options.part or PARTS:
        total, started = Counter[str](), time.monotonic()
        for number in range(options.cases):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    total += PARTS[part](Path(folder), Random(f"{options.seed} {part} {number}"))
                except Exception as error:
                    total["stopped"] += 1
                    print(f"{part} case {number}: {type(error).__name__}: {error}", file=sys.stderr)
        counts = [total[name] for name in COUNTS]
        wrong += sum(counts) + total["stopped"]
        seconds = time.monotonic() - started
        print(
            f"{part:10} {options.cases:6} " + " ".join(f"{count:11}" for count in counts) + f" {total['stopped']:9}  "
            f"({seconds:.0f} s)",
            flush=True,
        )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
