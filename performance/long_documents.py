"""Memory and time of builds over one very long document and over folders of very many files.

The text has no two equal sentences. Each build is a process of its own; its memory is the largest resident set that the
system reports for it, all memory of libraries included. ``many-files`` are in folders of 1,000, ``one-folder`` has all
of them in one. The files have about 1,000 characters each.

    python performance/long_documents.py text:100 text:1000 text:3000         # MB
    python performance/long_documents.py jsonl:100 jsonl:1000                 # one record of this size
    python performance/long_documents.py many-files:10000 many-files:1000000 one-folder:1000000
    python performance/long_documents.py text:100 --command "build kv_retrieval --lengths 128k --items 5"

Folders of a million files take 4 GB of a disk with blocks of 4 KiB, and minutes to make; each is deleted after its
build.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

MB = 1_000_000
FILE = 1_000  # characters
FOLDER = 1_000  # files
RUN = "import sys; from fathom.cli import main; sys.exit(main())"
COMMAND = "build passkey --lengths 4k,128k --items 5"


def paragraphs(seed: int) -> Iterator[str]:
    """Paragraphs of about 700 characters, forever; no two sentences are equal."""
    rng = Random(seed)
    syllables = [first + vowel + last for first in "bdfgklmnprst" for vowel in "aeiou" for last in ("", "n", "r", "s")]
    words = ["".join(rng.choices(syllables, k=rng.choice((1, 1, 2, 2, 3)))) for _ in range(20_000)]
    number = 0
    while True:
        sentences = []
        for _ in range(6):
            number += 1
            said = " ".join(rng.choices(words, k=17))
            sentences.append(f"{said.capitalize()} {number:,}.")
        yield " ".join(sentences)


def write_text(path: Path, megabytes: int, *, before: str = "", between: str = "\n\n", after: str = "") -> None:
    """One text of a size, between what a format needs."""
    left = megabytes * MB
    with path.open("w", encoding="utf-8") as file:
        file.write(before)
        for paragraph in paragraphs(megabytes):
            file.write(paragraph + between)
            left -= len(paragraph) + 2
            if left <= 0:
                break
        file.write(after)


def write_folder(path: Path, files: int, in_each: int) -> None:
    """Files of about 1,000 characters."""
    source = paragraphs(files)
    for number in range(files):
        folder = path / f"{number // in_each:04d}"
        if number % in_each == 0:
            folder.mkdir(parents=True)
        (folder / f"{number:07d}.txt").write_text(f"{next(source)}\n\n{next(source)}"[:FILE], encoding="utf-8")


def make(kind: str, size: int, scratch: Path) -> Path:
    """The documents of a kind and size."""
    if kind == "text":
        write_text(path := scratch / "document.txt", size)
    elif kind == "jsonl":
        write_text(
            path := scratch / "documents.jsonl",
            size,
            before='{"text": "',
            between="\\n\\n",
            after='", "title": "Long"}\n',
        )
    else:
        write_folder(path := scratch / "documents", size, FOLDER if kind == "many-files" else size)
    return path


def measured(command: list[str], environment: dict[str, str]) -> tuple[int, float, float, float]:
    """Exit status, largest resident set in MB, seconds of processors and of the clock of a command."""
    start = time.perf_counter()
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    child = os.posix_spawn(command[0], command, environment, file_actions=quiet)
    _, status, usage = os.wait4(child, 0)
    return (
        os.waitstatus_to_exitcode(status),
        usage.ru_maxrss * 1024 / MB,
        usage.ru_utime + usage.ru_stime,
        time.perf_counter() - start,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="+", metavar="KIND:SIZE")
    parser.add_argument("--command", default=COMMAND, help="without --corpus and --out")
    parser.add_argument("--scratch", type=Path, help="a folder for the documents, on a disk")
    parser.add_argument("--kept", action="store_true", help="use documents that are there already, and keep them")
    wanted = parser.parse_args()
    print(f"fathom {wanted.command}")
    print(f"{'documents':>24} {'made in':>9} {'memory MB':>10} {'processor s':>11} {'seconds':>9}")
    for case in wanted.cases:
        kind, _, size = case.partition(":")
        scratch = Path(wanted.scratch or tempfile.gettempdir()) / f"long-documents-{kind}-{size}"
        start = time.perf_counter()
        if not (wanted.kept and scratch.is_dir()):
            scratch.mkdir(parents=True)
            # In another process: the memory of this one counts as that of those it starts.
            if (writer := os.fork()) == 0:
                make(kind, int(size), scratch)
                os._exit(0)
            os.waitpid(writer, 0)
        made = time.perf_counter() - start
        corpus = next(path for path in sorted(scratch.iterdir()) if path.name.startswith("document"))
        out = Path(tempfile.mkdtemp(prefix="long-documents-out-"))
        command = [sys.executable, "-c", RUN, *shlex.split(wanted.command), "--corpus", str(corpus)]
        command += ["--out", str(out / "suite"), "--quiet"]
        code, memory, spent, seconds = measured(command, {**os.environ, "FATHOM_CACHE": str(out / "cache")})
        failed = f"  failed: {code}" if code else ""
        print(
            f"{kind:>14} {int(size):>9,} {made:8.1f}s {memory:10,.0f} {spent:10.1f} {seconds:9.1f}{failed}", flush=True
        )
        shutil.rmtree(out)
        if not wanted.kept:
            shutil.rmtree(scratch)


if __name__ == "__main__":
    main()
