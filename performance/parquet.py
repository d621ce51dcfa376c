"""CPU time and memory of reading and writing Parquet and Arrow files, suites and rows tables.

    python performance/parquet.py                        # of this checkout
    python performance/parquet.py --source OTHER/src     # and of another one, in turn

Every piece of work is done in a process of its own; seconds are those of the processor, less what starting takes, and
memory is the most that the process had.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
MAKE = """
import random, sys, polars as pl
rng, words = random.Random(3), [f"w{n}" for n in range(5000)]
def table(rows, most):
    texts = [" ".join(rng.choices(words, k=rng.randrange(most))) for _ in range(rows)]
    return pl.DataFrame({"id": [str(n) for n in range(rows)], "context": texts, "answers": [["a", "b"]] * rows})
long, short = table(3000, 40_000), table(200_000, 60)
long.write_parquet(sys.argv[1] + "/one.parquet", row_group_size=3000)
long.write_parquet(sys.argv[1] + "/groups.parquet", row_group_size=100)
short.write_parquet(sys.argv[1] + "/short.parquet", row_group_size=200_000)
long.write_ipc_stream(sys.argv[1] + "/long.arrow", compat_level=pl.CompatLevel.oldest())
"""
START = """
import random, resource, sys
from pathlib import Path
from fathom.types import Document, Row, Sample, Span
import polars as pl
rng, folder = random.Random(1), Path(sys.argv[1])
def used():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
"""
READ = "from fathom.documents.records import read_records\nbefore = used()\nfor _ in read_records(folder / {!r}): pass"
DOCUMENTS = """
words = [f"w{n}" for n in range(5000)]
documents = [Document(f"d{n}", " ".join(rng.choices(words, k=20_000)), "made") for n in range(600)]
from fathom.suites.suitefile import write_documents
before = used()
write_documents(folder, documents)
"""
SAMPLES = """
from fathom.suites.suitefile import SampleWriter
def made(n):
    spans = (Span(f"d{rng.randrange(600)}", 0, rng.randrange(1, 50_000)) for _ in range(60))
    parts = (part for span in spans for part in ("Document: ", span))
    return Sample(id=f"s{n}", item=f"i{n}", task="t", parts=tuple(parts), targets=("a",), length=8192, tokens=8000)
samples = [made(n) for n in range(6000)]
before = used()
with SampleWriter(folder) as writer:
    for sample in samples: writer.add(sample)
"""
IN_ORDER = """
from fathom.suites.suitefile.samples import read_groups, sample_of
before = used()
for records in read_groups(folder / "samples.parquet"):
    for record in records: sample_of(record)
"""
BY_NAME = """
from fathom.suites.suitefile.{module} import {kind}
before = used()
values = {kind}(folder / "{file}.parquet")
names = list(values)
for _ in range(300): values[rng.choice(names)]
"""
ROWS = """
from fathom.rows import to_frame
from fathom.rows.schema import in_slices, write_rows
rows = [Row("s", f"t{n % 10}", f"i{n}", f"x{n}", f"m{n // 1000}", 2048, n % 11 / 10) for n in range(20_000)]
pl.concat([to_frame(rows)] * 50).write_parquet(folder / "made.parquet")
before = used()
write_rows(in_slices(pl.scan_parquet(folder / "made.parquet")), folder / "rows.parquet")
"""
READ_ROWS = "from fathom.rows.schema import read_table\nbefore = used()\nread_table(folder / 'rows.parquet')"
WORK = {
    "Parquet, 3,000 long texts in one row group": READ.format("one.parquet"),
    "Parquet, 3,000 long texts in groups of 100": READ.format("groups.parquet"),
    "Parquet, 200,000 short texts": READ.format("short.parquet"),
    "Arrow stream, 3,000 long texts": READ.format("long.arrow"),
    "600 documents of a suite, written": DOCUMENTS,
    "6,000 samples of a suite, written": SAMPLES,
    "these samples, read in order": IN_ORDER,
    "300 samples at random": BY_NAME.format(module="samples", kind="SamplesById", file="samples"),
    "300 documents at random": BY_NAME.format(module="texts", kind="Texts", file="documents"),
    "rows table of a million rows, written": ROWS,
    "this table, read": READ_ROWS,
}
END = "\nafter = used()\nprint(after[0] - before[0], after[1])"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, nargs="*", default=[], help="src of other checkouts, measured first")
    sources: list[Path] = [*parser.parse_args().source, SOURCE]
    with tempfile.TemporaryDirectory(prefix="fathom-parquet-") as folder:
        subprocess.run([sys.executable, "-c", MAKE, folder], check=True)
        for name, code in WORK.items():
            print(f"| {name} |", " | ".join(measured(source, code, folder) for source in sources), "|", flush=True)


def measured(source: Path, code: str, folder: str) -> str:
    """Seconds of the processor, and MB."""
    command = [sys.executable, "-c", START + code + END, folder]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])}
    seconds, peak = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    return f"{float(seconds):.2f} s, {float(peak):.0f} MB"


if __name__ == "__main__":
    main()
