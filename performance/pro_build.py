"""CPU time of a first build of LongBench Pro, and what it was while every document was tokenized sentence by sentence.

    python performance/pro_records.py --corpus BOOKS --corpus 'LEVAL?text=input' --out records.json
    python performance/pro_build.py records.json              # an eighth of the records, both ways
    python performance/pro_build.py records.json --every 1    # all records, both ways
    python performance/pro_build.py records.json --every 1 --once    # all records, as it is

Each build is a process of its own with an empty cache of token counts; then one more with that cache. Both ways must
give the same suite, byte for byte. CPU time, because it depends less on what else the machine does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

BUILD = "from fathom.cli import main; main()"
# The way of the earlier versions: cut points of every document.
SENTENCES = "from fathom.suites.compose import CountedTexts; CountedTexts._at_once = lambda self, parts: None; "


def sample(records: Path, every: int, out: Path) -> float:
    """Write every so many records of a file of ``pro_records.py``, which has one a line, and give their megabytes."""
    number, written = 0, 0
    with records.open("rb") as stream, out.open("wb") as kept:
        kept.write(b"[")
        for line in stream:
            if not line.startswith(b"{"):
                continue
            # Lengths and numbers have periods of 30 and 5 records: an offset that moves takes from all of them.
            if (number + number // every) % every == 0:
                kept.write((b",\n" if written else b"\n") + line.rstrip().rstrip(b","))
                written += 1
            number += 1
        kept.write(b"\n]\n")
    print(f"{written:,} of {number:,} records, {out.stat().st_size / 1e6:,.0f} MB")
    return out.stat().st_size / 1e6


def built(code: str, data: Path, tokenizer: str, out: Path, cache: Path) -> float:
    """CPU seconds of a build in a process of its own."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = ["build", "pro", "--data", str(data), "--tokenizer", tokenizer, "--out", str(out), "--quiet"]
    environment = {**os.environ, "FATHOM_CACHE": str(cache)}
    done = subprocess.run([sys.executable, "-c", code, *command], env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def checksums(folder: Path) -> dict[str, str]:
    """SHA-256 of each file of a suite."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def main() -> None:
    """Build as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("records", type=Path, help="what pro_records.py wrote")
    parser.add_argument("--every", type=int, default=8, help="take one record of so many")
    parser.add_argument("--tokenizer", default="tekken")
    parser.add_argument("--once", action="store_true", help="do not build sentence by sentence")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        data = place / "records.json"
        size = sample(chosen.records, chosen.every, data)
        ways = {"as it is": BUILD} | ({} if chosen.once else {"sentence by sentence": SENTENCES + BUILD})
        print(f"{'tokenized':<22}{'first build':>13}{'MB a second':>13}{'second build':>14}   (CPU seconds)")
        found = []
        for way, code in ways.items():
            cache = place / f"cache {way}"
            first = built(code, data, chosen.tokenizer, place / way, cache)
            again = built(code, data, chosen.tokenizer, place / f"{way}, again", cache)
            found += [checksums(place / way), checksums(place / f"{way}, again")]
            print(f"{way:<22}{first:>13.1f}{size / first:>13.1f}{again:>14.1f}", flush=True)
        same = all(one == found[0] for one in found)
        print(f"{len(found)} suites, {'equal byte for byte' if same else 'NOT EQUAL'}")
    if not same:
        sys.exit(1)


if __name__ == "__main__":
    main()
