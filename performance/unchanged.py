"""Records what must stay equal while code is reorganised, and compares two such recordings.

    python performance/unchanged.py --out before.json                         # of this checkout
    python performance/unchanged.py --out before.json --source CHECKOUT/src   # of another one
    python performance/unchanged.py --against before.json                     # exit status 1 if anything differs

A recording has the manifest of a small build of every suite and task, from the generated corpus and made-up records;
the files of a report, of a board and of browse pages about offline baselines; the help of every command; and of every
kind of run its ``run.json``, its rows, what it printed, and the requests that a server on the loopback got.

Texts are recorded as they are, so that differences can be shown, and larger files by their SHA-256 (``--folder`` keeps
the files). Times, fathom's version, addresses of servers and the place of the folder are replaced first, and left out
is what follows from the bytes of source files (``corpus_state``). The kinds of runs are in unchanged_runs.py.
Needs the extra ``batch`` and pytest.
"""

from __future__ import annotations

import argparse
import difflib
import hashlib
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from made_books import write_books
from made_infinitebench import write_infinite
from made_records import write_records, write_templates
from made_records_pro import write_pro
from made_records_v2 import write_v2, write_v2_templates
from made_shots import write_shots
from made_threads import write_cases, write_threads
from unchanged_runs import KEY, RUNS, Run

SOURCE = Path(__file__).parents[1] / "src"
FATHOM = """
import json, sys, time

time.perf_counter = lambda: 0.0
from fathom.cli import main

for words in json.loads(sys.argv[1]):
    sys.argv = ["fathom", *words]
    try:
        main()
    except SystemExit as end:
        if end.code:
            raise
"""
"""Commands one after the other, with a clock by which every reply takes 0 seconds."""
HELP = """
import contextlib, io, json, re, sys
from fathom.cli import main

def help_of(*words):
    sys.argv, printed = ["fathom", *words, "--help"], io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        main()
    texts = {" ".join(["fathom", *words]): printed.getvalue()}
    for name in re.findall(r"^  (\\S+)", printed.getvalue().partition("\\nCommands:\\n")[2], re.MULTILINE):
        texts |= help_of(*words, name)
    return texts

import fathom
print(json.dumps({"place": fathom.__file__, "version": fathom.__version__, "texts": help_of()}))
"""
STATES = ("checksum", "started", "templates_state")
"""Fields of manifests that depend on the time and on the bytes of source files."""
RECORDS = ("--data", "data")
WORLD = ("--corpus", "world")
SMALL = ("--items", "1", "--lengths", "1k,2k", "--tokenizer", "words", "--quiet")
OWN_LENGTHS = ("--items", "1", "--tokenizer", "words", "--quiet")
THREADS = ("--threads", "threads.jsonl")
BUILDS: Mapping[str, Sequence[str]] = {
    "ada": ("--books", "books", *THREADS, *SMALL),
    "ada_published": ("--cases", "cases.jsonl", *SMALL),
    "hundred": (*WORLD, "--closed-book", *SMALL),
    "leader": (*WORLD, *RECORDS, *THREADS, *SMALL),
    "starter": (*WORLD, *SMALL),
    **dict.fromkeys(("longbench", "longbench_e", "longbench_v2", "longbench_v2_cot", "mini"), (*RECORDS, *SMALL)),
    "pro": (*RECORDS, *OWN_LENGTHS),
}
"""Options by suite; a suite that is not here is built from the generated corpus."""
VARIANTS: Mapping[str, tuple[str, Sequence[str]]] = {
    "starter, Chinese": ("starter", (*WORLD, "--languages", "zh", *SMALL)),
    "starter, depths": ("starter", (*WORLD, "--depths", "front,0.5,end", "--exact", "--truncate", "512", *SMALL)),
    "longbench, official": ("longbench", (*RECORDS, "--templates", "data", "--prompts", "official", *SMALL)),
}
REPLACED = re.compile(
    r"(?P<time>20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:?\d\d)?)|(?P<server>127\.0\.0\.1:\d+)"
    r'|(?P<finished>(?<="finished":)[\d.]+)|(?P<batch>\bfathom-[0-9a-f]{20}(-\d+)?\b)'
    r'|(?P<checksum>(?<="checksum":)\s*"[0-9a-f]{64}")'
)
Recording = dict[str, str]


@dataclass(frozen=True)
class Checkout:
    """A checkout whose commands are called.

    Attributes:
        source: Its folder ``src``.
        folder: Where the commands run.
    """

    source: Path
    folder: Path

    def python(self, code: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run code with this fathom, and with nothing of this machine's environment."""
        environment = {
            **{"PATH": os.environ["PATH"], "PYTHONPATH": str(self.source), "HOME": str(self.folder / "home")},
            **{"COLUMNS": "120", "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "1"},
            **{"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"},
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), KEY),
        }
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=600)

    def fathom(self, *commands: Sequence[str]) -> str:
        """What commands print, called one after the other; an error where one fails."""
        done = self.python(FATHOM, json.dumps(commands))
        if done.returncode:
            raise RuntimeError(f"exit status {done.returncode}: {commands}\n{done.stderr}")
        return done.stdout + done.stderr


@dataclass(frozen=True)
class Neutral:
    """Replaces what differs between recordings of the same code.

    Attributes:
        folder: The folder of the recording.
        version: The version of fathom.
        days: The days on which it may have been made.
    """

    folder: Path
    version: str
    days: tuple[str, ...]

    def text(self, text: str) -> str:
        """A text without places, times and version."""
        text = REPLACED.sub(lambda match: f"<{match.lastgroup}>", text.replace(str(self.folder), "<folder>"))
        text = re.sub(rf"(?<![\d.]){re.escape(self.version)}(?![\d.])", "<version>", text)
        return re.sub("|".join(self.days), "<day>", text)

    def json(self, path: Path) -> str:
        """A file of JSON without checksum, moment and versions of libraries."""
        content = json.loads(path.read_text("utf-8"))
        for fields in (content, content.get("inputs", {})):
            for name in STATES:
                fields.pop(name, None)
        inputs = content.get("inputs", {})
        if "corpus_state" in inputs:  # those of files depend on the time, that of the generator does not
            states = zip(content["corpus"], inputs["corpus_state"], strict=True)
            inputs["corpus_state"] = [
                state if spec.partition("?")[0] == "world" else "<state>" for spec, state in states
            ]
        if isinstance(content.get("versions"), dict):
            content["versions"] = dict.fromkeys(content["versions"], "<version>")
        return self.text(json.dumps(content, indent=1, ensure_ascii=False))

    def digest(self, path: Path) -> str:
        """SHA-256 of a file."""
        content = path.read_bytes()
        with suppress(UnicodeDecodeError):
            content = self.text(content.decode()).encode()
        return hashlib.sha256(content).hexdigest()

    def digests(self, name: str, folder: Path) -> dict[str, str]:
        """SHA-256 of every file below a folder but Parquet, whose dates are compressed; the tables are in CSV too."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet")
        return {f"{name}/{path.relative_to(folder).as_posix()}": self.digest(path) for path in paths}


# -------------------------------------------------------------------------------------------------- help and suites


def described(checkout: Checkout) -> tuple[str, Recording]:
    """The version, and the help of every command."""
    done = checkout.python(HELP)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = json.loads(done.stdout)
    if not Path(found["place"]).is_relative_to(checkout.source):
        raise RuntimeError(f"{found['place']} was imported, not {checkout.source}")
    return found["version"], {f"help/{name}": text for name, text in found["texts"].items()}


def write_data(folder: Path) -> None:
    """Made-up records of all data sets, books and threads."""
    data = folder / "data"
    for write in (write_records, write_v2, write_pro, write_infinite, write_shots, write_templates, write_v2_templates):
        write(data)
    write_records(data, even=True)
    write_books(folder)
    write_threads(folder, 40)
    write_cases(folder, 4)


def builds(checkout: Checkout) -> dict[str, tuple[str, Sequence[str]]]:
    """What is built and with which options, by name: every suite, and the tasks that are in none."""
    suites = json.loads(checkout.fathom(("list", "suites", "--json")))
    inside = {task for suite in suites for task in suite["tasks"]}
    found = {suite["suite"]: (suite["suite"], BUILDS.get(suite["suite"], (*WORLD, *SMALL))) for suite in suites}
    needs: dict[str, list[str]] = {}
    for task in json.loads(checkout.fathom(("list", "tasks", "--json"))):
        if task["task"] not in inside:
            needs.setdefault(task["needs"], []).append(task["task"])
    options = (*WORLD, "--books", "books", *SMALL)
    return {**found, **VARIANTS, **{f"tasks, {need}": (",".join(names), options) for need, names in needs.items()}}


def build(checkout: Checkout, neutral: Neutral, name: str, target: str, options: Sequence[str]) -> Recording:
    """The manifest of a suite, with the SHA-256 of its files; why it was not built, where it was not."""
    out = checkout.folder / "suites" / name
    done = checkout.python(FATHOM, json.dumps([["build", target, *options, "--out", f"suites/{name}"]]))
    if done.returncode:
        print(f"suite {name}: skipped: {done.stderr.strip()[:300]}", file=sys.stderr)
        return {f"suite/{name}": neutral.text(f"skipped: {done.stderr}")}
    return {f"suite/{name}": neutral.json(out / "manifest.json")}


# ---------------------------------------------------------------------------------------------- pages about baselines


def pages(checkout: Checkout, neutral: Neutral) -> Recording:
    """A report, a board and browse pages about two offline baselines."""
    runs = ("pages/guess", "pages/lexical")
    for out in runs:
        model = out.replace("pages", "fathom")
        checkout.fathom(("run", "suites/hundred", "--model", model, "--out", out, "--yes", "--quiet"))
    outs = ("report.html", "report.md", "report.json")
    reports = [("report", *runs, "--out", f"pages/{out}", "--quiet") for out in outs]
    site = ("board", "build", *runs, "--out", "pages/board", "--date", "2026-01-01", "--quiet")
    checkout.fathom(*reports, ("browse", *runs, "--out", "pages/browse", "--quiet"), site)
    folder = checkout.folder / "pages"
    return {
        "report/html": neutral.digest(folder / outs[0]),
        **{f"report/{Path(out).suffix[1:]}": neutral.text((folder / out).read_text("utf-8")) for out in outs[1:]},
        **neutral.digests("browse", folder / "browse"),
        **neutral.digests("board", folder / "board"),
    }


# -------------------------------------------------------------------------------------------------------------- runs


def run(checkout: Checkout, neutral: Neutral, name: str, kind: Run) -> Recording:
    """What a run leaves and prints, and what it asked its server."""
    out = f"runs/{re.sub(r'[^a-z]+', '-', name.lower())}"
    (checkout.folder / out).mkdir(parents=True)
    table = ("rows", "{out}/run", "--out", "{out}/rows.csv")
    with kind.server() as server:
        commands = [[word.format(url=server.url, out=out) for word in words] for words in (*kind.commands, table)]
        printed = checkout.fathom(*commands)
    folder = checkout.folder / out
    return {
        **{f"run/{name}/{Path(file).name}": neutral.json(folder / file) for file in kind.files},
        f"run/{name}/printed": neutral.text(printed),
        f"run/{name}/rows": neutral.text((folder / "rows.csv").read_text("utf-8")),
        f"run/{name}/requests": "\n\n".join(sorted(map(neutral.text, server.requests))),
    }


# -------------------------------------------------------------------------------------------- recording and comparing


def record(source: Path, folder: Path, jobs: int) -> Recording:
    """Everything, with so many processes at a time."""
    checkout = Checkout(source.resolve(), folder)
    (folder / "home").mkdir(parents=True)
    write_data(folder)
    version, found = described(checkout)
    now = datetime.now(UTC)
    neutral = Neutral(folder, version, tuple(f"{now + timedelta(hours=hours):%Y-%m-%d}" for hours in (0, 1)))
    with ThreadPoolExecutor(jobs) as pool:
        for part in pool.map(lambda job: build(checkout, neutral, job[0], *job[1]), builds(checkout).items()):
            found |= part
        all_pages = pool.submit(pages, checkout, neutral)
        for part in pool.map(lambda job: run(checkout, neutral, *job), RUNS.items()):
            found |= part
        return found | all_pages.result()


def differences(before: Recording, after: Recording) -> Iterator[str]:
    """A line for each name that is new, gone or differs; of texts with a diff."""
    for name in sorted({*before, *after}):
        old, new = before.get(name), after.get(name)
        if old is None or new is None:
            yield f"{name}: {'new' if old is None else 'gone'}"
        elif old != new:
            diff = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=1))[2:]
            lines = [line if len(line) <= 210 else f"{line[:100]} ... {line[-100:]}" for line in diff[:20]]
            more = [f"... {len(diff) - 20} more lines"] if len(diff) > 20 else []
            yield "\n    ".join([f"{name}: differs", *lines, *more])


def main() -> int:
    """Record, write, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=SOURCE, help="the folder src of a checkout")
    parser.add_argument("--out", type=Path, help="write the recording to this file")
    parser.add_argument("--against", type=Path, help="compare with this recording")
    parser.add_argument("--folder", type=Path, help="keep everything here; by default in a folder that is deleted")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    given = parser.parse_args()
    before = None if given.against is None else json.loads(given.against.read_text("utf-8"))
    start = time.monotonic()
    with nullcontext(given.folder) if given.folder else TemporaryDirectory(prefix="unchanged-") as folder:
        found = record(given.source, Path(folder).resolve(), given.jobs)
    if given.out:
        given.out.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n", "utf-8")
    print(f"{len(found)} texts and files recorded, {time.monotonic() - start:.0f} s", file=sys.stderr)
    if before is None:
        return 0
    found_differences = list(differences(before, found))
    print("\n".join(found_differences) or "nothing differs")
    return int(bool(found_differences))


if __name__ == "__main__":
    sys.exit(main())
