"""What checksums cost: of a suite of 1 GB when it is opened, and of a reply when it is written and read.

Prints seconds of a processor, and ratios to the same work without checksums in the same process: to reading the file of
a suite, to writing and reading rows without a checksum for a store. The medians of several turns, in turn.

    python performance/checksums.py
    python performance/checksums.py --gigabytes 0.1 --rows 2000
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from fathom.runfile.ledger import Ledger
from fathom.runfile.store import CHECKED, COLUMNS, FILE, replies
from fathom.runfile.store_checks import check_rows, know_checksums
from fathom.runfile.worker import this_worker
from fathom.storage.checksums import check_file, file_facts
from fathom.types import Reply, Sample

TURNS = 5
BLOCK = 1 << 20


def main() -> None:
    """Measure both and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--rows", type=int, default=20_000)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        of_a_suite(Path(name), chosen.gigabytes)
        of_a_store(Path(name), chosen.rows)


def seconds(work: Callable[[], object]) -> float:
    """How long a piece of work keeps a processor: nothing here waits, and other work on the machine does not count."""
    start = time.process_time()
    work()
    return time.process_time() - start


def of_a_suite(folder: Path, gigabytes: float) -> None:
    """Reading a file, and comparing it with its checksum."""
    path = folder / "documents.parquet"
    block = os.urandom(BLOCK)
    with path.open("wb") as stream:
        for _ in range(int(gigabytes * 1e9 / BLOCK)):
            stream.write(block)
    stated = file_facts(path)
    size = path.stat().st_size / 1e9

    def read() -> None:
        with path.open("rb", buffering=0) as stream:
            while stream.read(BLOCK):
                pass

    plain, checked = [], []
    for _ in range(TURNS):
        plain.append(seconds(read))
        checked.append(seconds(lambda: check_file(path, stated, "")))
    first, second = statistics.median(plain), statistics.median(checked)
    print(
        f"suite of {size:.2f} GB: read from memory in {first:.2f} s, compared in {second:.2f} s "
        f"({second / first:.1f} times, {size / second:.2f} GB a second)"
    )
    path.unlink()


def of_a_store(folder: Path, rows: int) -> None:
    """Writing replies with and without checksums, and reading them."""
    samples = [Sample(f"t/en/{n}@8192", f"t/en/{n}", "t", (), ("gold",), 8192, 8100) for n in range(rows)]
    reply = Reply("ok", "What the model says to it. " * 30, stop="stop", tokens_in=8100, tokens_out=200, seconds=1.5)
    writing: list[list[float]] = [[], []]
    for turn in range(2 * TURNS):
        run = folder / f"run{turn}"
        run.mkdir()
        ledger = Ledger(run, this_worker())
        if turn % 2:  # a store whose checksums cost nothing
            ledger._db.create_function("row_checksum", -1, lambda *values: 0, deterministic=True)

        def write(ledger: Ledger = ledger) -> None:
            for sample in samples:
                ledger.finish(sample, 1, reply, prompt_hash="0" * 16, cost=0.01)

        writing[turn % 2].append(seconds(write) / rows)
        ledger.close()
    with_sums, without = map(statistics.median, writing)
    print(f"a reply written: {with_sums * 1e6:.0f} microseconds, {(with_sums - without) * 1e6:+.0f} for its checksum")
    run = folder / "run0"
    db = sqlite3.connect(run / FILE)
    know_checksums(db)
    plain = [seconds(lambda: db.execute(f"SELECT {COLUMNS} FROM replies").fetchall()) for _ in range(TURNS)]
    checked = [seconds(lambda: check_rows(db, run / FILE, CHECKED)) for _ in range(TURNS)]
    whole = [seconds(lambda: list(replies(run))) for _ in range(TURNS)]
    db.close()
    first, second, third = map(statistics.median, (plain, checked, whole))
    print(
        f"{rows:,} replies: fetched in {first:.2f} s, compared in {second:.2f} s ({second / first:.1f} times), "
        f"read by commands in {third:.2f} s altogether"
    )


if __name__ == "__main__":
    main()
