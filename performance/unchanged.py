"""Records what must stay equal while code is reorganised, and compares two such recordings.

    python performance/unchanged.py --out before.json                         # of this checkout
    python performance/unchanged.py --out before.json --source CHECKOUT/src   # of another one
    python performance/unchanged.py --against before.json                     # prints what differs; exit status 1 if any

A recording has the manifest of a small build of every suite and task, from the generated corpus and made-up records;
the files of a report, of a board and of browse pages about offline baselines; the help of every command; and of every
kind of run its ``run.json``, its rows, what it printed, and the requests that a server on the loopback got.

Texts are recorded as they are, so that differences can be shown, and larger files by their SHA-256 (``--folder`` keeps
everything, to look at these). Times, this version's number, addresses of servers and the place of the folder are
replaced first. Every command is a process of its own, in which all replies take no time. Needs the extras ``batch`` and
``test``.
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
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zlib import crc32

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "src"), str(ROOT / "tests"), str(ROOT / "tests" / "run")]

from batch_server import AnthropicServer, BatchServer, Faults, GoogleServer, JudgeServer
from embedding_server import by_length
from made_books import write_books
from made_infinitebench import write_infinite
from made_records import write_records, write_templates
from made_records_pro import write_pro
from made_records_v2 import write_v2, write_v2_templates
from made_shots import write_shots
from made_threads import write_cases, write_threads
from scripted_likelihood import echo

FATHOM = "import time; time.perf_counter = lambda: 0.0; from fathom.cli import main; main()"
"""The program, with a clock that measures no time."""
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
KEY = "made-up-key"
HOPS = frozenset({"host", "content-length", "user-agent", "connection", "accept-encoding", "accept-language"})
"""Headers that depend on the machine and on the versions of libraries."""
SHOWN = 200  # characters at either end of long texts in requests

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
    r'|(?P<checksum>(?<="checksum":)\s*"[0-9a-f]{64}")'
)


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
        """Run code with this fathom; nothing of the machine's environment takes part, and no proxy."""
        home, source = self.folder / "home", str(self.source.resolve())
        environment = {
            **{
                "PATH": os.environ["PATH"],
                "PYTHONPATH": source,
                "HOME": str(home),
                "FATHOM_CACHE": str(home / "cache"),
            },
            **{"COLUMNS": "120", "LC_ALL": "C.UTF-8", "TZ": "UTC", "NO_PROXY": "127.0.0.1", "HF_HUB_OFFLINE": "1"},
            **{"POLARS_MAX_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"},
            **dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"), KEY),
        }
        command = [sys.executable, "-c", code, *words]
        return subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=300)

    def fathom(self, *words: str) -> str:
        """What a command prints; an error where it fails."""
        done = self.python(FATHOM, *words)
        if done.returncode:
            raise RuntimeError(f"exit status {done.returncode}: fathom {' '.join(words)}\n{done.stderr}")
        return done.stdout


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
        content = {name: value for name, value in content.items() if name not in ("checksum", "started")}
        if isinstance(content.get("versions"), dict):
            content["versions"] = dict.fromkeys(content["versions"], "<version>")
        return self.text(json.dumps(content, indent=1, ensure_ascii=False))

    def digest(self, path: Path) -> str:
        """SHA-256 of a file."""
        content = path.read_bytes()
        try:
            content = self.text(content.decode()).encode()
        except UnicodeDecodeError:
            pass
        return hashlib.sha256(content).hexdigest()

    def digests(self, name: str, folder: Path) -> dict[str, str]:
        """SHA-256 of every file below a folder but Parquet, whose dates are compressed; the tables are in CSV too."""
        paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".parquet")
        return {f"{name}/{path.relative_to(folder).as_posix()}": self.digest(path) for path in paths}


Recording = dict[str, str]

# -------------------------------------------------------------------------------------------------- help and suites


def described(checkout: Checkout) -> tuple[str, Recording]:
    """The version, and the help of every command."""
    done = checkout.python(HELP)
    if done.returncode:
        raise RuntimeError(done.stderr)
    found = json.loads(done.stdout)
    if not Path(found["place"]).is_relative_to(checkout.source.resolve()):
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
    suites = json.loads(checkout.fathom("list", "suites", "--json"))
    inside = {task for suite in suites for task in suite["tasks"]}
    found = {suite["suite"]: (suite["suite"], BUILDS.get(suite["suite"], (*WORLD, *SMALL))) for suite in suites}
    needs: dict[str, list[str]] = {}
    for task in json.loads(checkout.fathom("list", "tasks", "--json")):
        if task["task"] not in inside:
            needs.setdefault(task["needs"], []).append(task["task"])
    options = (*WORLD, "--books", "books", *SMALL)
    return {**found, **VARIANTS, **{f"tasks, {need}": (",".join(names), options) for need, names in needs.items()}}


def build(checkout: Checkout, neutral: Neutral, name: str, target: str, options: Sequence[str]) -> Recording:
    """The manifest of a suite, with the SHA-256 of its files; why it was not built, where it was not."""
    out = checkout.folder / "suites" / name
    done = checkout.python(FATHOM, "build", target, *options, "--out", f"suites/{name}")
    if done.returncode:
        print(f"suite {name}: skipped: {done.stderr.strip()[:300]}", file=sys.stderr)
        return {f"suite/{name}": neutral.text(f"skipped: {done.stderr}")}
    return {f"suite/{name}": neutral.json(out / "manifest.json")}


# ---------------------------------------------------------------------------------------------- pages about baselines


def pages(checkout: Checkout, neutral: Neutral) -> Recording:
    """A report, a board and browse pages about two offline baselines."""
    runs = []
    for model in ("guess", "lexical"):
        runs.append(f"pages/runs/{model}")
        checkout.fathom("run", "suites/hundred", "--model", f"fathom/{model}", "--out", runs[-1], "--yes", "--quiet")
    folder = checkout.folder / "pages"
    texts = {
        "report/markdown": checkout.fathom("report", *runs, "--out", "-", "--format", "markdown", "--quiet"),
        "report/numbers": checkout.fathom("report", *runs, "--out", "-", "--format", "json", "--quiet"),
        "report/rows": rows(checkout, *runs),
    }
    checkout.fathom("report", *runs, "--out", "pages/report.html", "--quiet")
    checkout.fathom("browse", *runs, "--out", "pages/browse", "--quiet")
    checkout.fathom("board", "build", *runs, "--out", "pages/board", "--date", "2026-01-01", "--quiet")
    return {
        **{name: neutral.text(text) for name, text in texts.items()},
        "report/html": neutral.digest(folder / "report.html"),
        **neutral.digests("browse", folder / "browse"),
        **neutral.digests("board", folder / "board"),
    }


def rows(checkout: Checkout, *runs: str) -> str:
    """The rows of runs as CSV."""
    path = f"{runs[0]}.csv"
    checkout.fathom("rows", *runs, "--out", path)
    return (checkout.folder / path).read_text("utf-8")


# -------------------------------------------------------------------------------------------------- runs and servers


class _Recorder(BatchServer):
    """A server that keeps its requests; its reply depends on nothing else, and a batch ends at once."""

    def __init__(self) -> None:
        super().__init__(Faults(looks=0))
        self.seen: list[str] = []

    def answer(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
        self.seen.append(_request(method, path, headers, body))
        if path == "/v1/completions":
            return 200, json.dumps(echo(json.loads(body)).body).encode()
        if path == "/v1/embeddings":
            vectors = [{"index": at, "embedding": by_length(text)} for at, text in enumerate(json.loads(body)["input"])]
            return 200, json.dumps({"data": vectors, "usage": {"prompt_tokens": 1, "total_tokens": 1}}).encode()
        return super().answer(method, path, headers, body)

    def sample_of(self, body: Mapping[str, Any]) -> tuple[int, int]:
        """A number that stands for the request."""
        return crc32(json.dumps(body, sort_keys=True).encode()) % 1_000_000, 0


class OpenAI(_Recorder, JudgeServer):
    """Chats, completions, embeddings and batches; replies are those of a judge."""


class Anthropic(_Recorder, AnthropicServer):
    """Batches of Anthropic."""


class Google(_Recorder, GoogleServer):
    """Batches of Google."""


def _request(method: str, path: str, headers: Mapping[str, str], body: bytes) -> str:
    """A request as text: its line, headers that matter without key and boundary, and its body."""
    kept = {name.lower(): value.replace(KEY, "<key>") for name, value in headers.items()}
    kept = {name: kept[name] for name in sorted(kept) if name not in HOPS and not name.startswith("x-stainless")}
    boundary = re.search(r"boundary=(\S+)", kept.get("content-type", ""))
    lines = [f"{method} {path}", *(f"{name}: {value}" for name, value in kept.items()), "", *_body(body)]
    text = "\n".join(lines)
    return text.replace(boundary[1], "<boundary>") if boundary else text


def _body(body: bytes) -> Iterator[str]:
    """The lines of a body; of JSON with sorted names and short texts."""
    for line in body.decode("utf-8", "replace").splitlines():
        try:
            yield json.dumps(_short(json.loads(line)), indent=1, sort_keys=True, ensure_ascii=False)
        except ValueError:
            yield line


def _short(value: Any) -> Any:
    """The same value with the middle of long texts replaced by their SHA-256."""
    if isinstance(value, dict):
        return {name: _short(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [_short(inner) for inner in value]
    if not isinstance(value, str) or len(value) <= 2 * SHOWN:
        return value
    digest = hashlib.sha256(value.encode()).hexdigest()
    return f"{value[:SHOWN]} <{len(value)} characters, {digest}> {value[-SHOWN:]}"


Words = tuple[str, ...]


@dataclass(frozen=True)
class Run:
    """A kind of run: commands, in which ``{url}`` is the server and ``{out}`` the run's folder.

    Attributes:
        commands: What is called, in this order.
        server: What answers.
        files: Further files of the folder to record, in JSON.
        finished: The run folder, below that of the run.
    """

    commands: tuple[Words, ...]
    server: Callable[[], _Recorder] = OpenAI
    files: tuple[str, ...] = ()
    finished: str = "run"
    printed: bool = field(default=True)


def asked(suite: str, *options: str, model: str = "openai/m", out: str = "{out}/run") -> Words:
    """The words of a run against the server."""
    words = ("run", f"suites/{suite}", "--model", model, "--model-base-url", "{url}", "--out", out, "--yes", "--quiet")
    return (*words, *options)


def through(system: str, *options: str) -> Run:
    """A run of a system around the model."""
    return Run((asked("starter", "--system", system, "--limit", "1", *options),))


EMBEDDED = ("--embedding-base-url", "{url}")
ORDERS = ("likelihood", "suites/ada", "--model", "openai/m", "--model-base-url", "{url}", "--out", "{out}/run", "--yes")
ORDERS = (*ORDERS, "--quiet", "--limit", "1", "--lengths", "1k")
SHARD = asked("starter", out="{out}/shards")
LEXICAL = ("run", "suites/hundred", "--model", "fathom/lexical", "--out", "{out}/run", "--yes", "--quiet")
JUDGE = ("judge", "{out}/run", "--judge", "openai/judge", "--judge-base-url", "{url}", "--yes", "--quiet")
SELECT = ("compress", "select", "suites/starter", "--budget", "5", "--out", "{out}/subset.json")
THINKING = ("--model-kind", "mixed", "--thinking-switch", "enable_thinking", "--window", "32k", "--thinking")
BATCH = ("--batch", "--limit", "1")
RUNS: Mapping[str, Run] = {
    "plain": Run((asked("starter", "--epochs", "2", "--temperature", "0.5", "-G", "top_p=0.9", "--seed", "7"),)),
    "truncated": Run((asked("starter", "--window", "1200", "--on-overflow", "middle", "--max-output-tokens", "100"),)),
    "reasoning": Run((asked("starter", "--limit", "1", "--reasoning-effort", "low", model="openai/gpt-5"),)),
    "tasks": Run((asked("hundred", "--tasks", "single_doc_qa,multi_doc_summary", "--lengths", "1k"),)),
    "completions": Run((asked("longbench, official", "--chat-template", "by-task"),)),
    "second request": Run((asked("longbench_v2_cot"),)),
    "thinking on": Run((asked("pro", *THINKING, "on"),)),
    "thinking off": Run((asked("pro", *THINKING, "off"),)),
    "batch of OpenAI": Run((asked("starter", *BATCH),)),
    "batch of Anthropic": Run((asked("starter", *BATCH, model="anthropic/m"),), Anthropic),
    "batch of Google": Run((asked("starter", *BATCH, model="google/m"),), Google),
    "shards": Run(
        ((*SHARD, "--shard", "1/2"), (*SHARD, "--shard", "2/2"), ("merge", "{out}/shards", "--out", "{out}/run")),
        files=("shards/shards.json",),
    ),
    "subset": Run((SELECT, asked("starter", "--subset", "{out}/subset.json")), files=("subset.json",)),
    "judge": Run((LEXICAL, JUDGE)),
    "judge, batch": Run((LEXICAL, (*JUDGE, "--batch"))),
    "likelihood of orders": Run((ORDERS,)),
    "likelihood of pairs": Run(((*ORDERS, "--method", "pairs"),)),
    "system: retrieval": through("retrieval?top=2"),
    "system: embeddings": through("retrieval?top=2&by=embed/m", *EMBEDDED),
    "system: map-reduce": through("map-reduce?chunk=512"),
    "system: compaction": through("compaction?chunk=512"),
    "system: agent": through("agent?steps=3"),
}


def run(checkout: Checkout, neutral: Neutral, name: str, kind: Run) -> Recording:
    """What a run leaves and prints, and what it asked its server."""
    out = f"runs/{re.sub(r'[^a-z]+', '-', name.lower())}"
    (checkout.folder / out).mkdir(parents=True)
    with kind.server() as server:
        printed = [
            checkout.fathom(*(word.format(url=server.url, out=out) for word in words)) for words in kind.commands
        ]
    files = {name: checkout.folder / out / name for name in (f"{kind.finished}/run.json", *kind.files)}
    return {
        **{f"run/{name}/{Path(file).name}": neutral.json(path) for file, path in files.items()},
        f"run/{name}/printed": neutral.text("".join(printed)),
        f"run/{name}/rows": neutral.text(rows(checkout, f"{out}/{kind.finished}")),
        f"run/{name}/requests": neutral.text("\n\n".join(sorted(server.seen))),
    }


# -------------------------------------------------------------------------------------------- recording and comparing


def record(source: Path, folder: Path, jobs: int) -> Recording:
    """Everything, with so many processes at a time."""
    checkout = Checkout(source, folder)
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
            lines = [line if len(line) <= 200 else f"{line[:200]}..." for line in diff[:20]]
            more = [f"... {len(diff) - 20} more lines"] if len(diff) > 20 else []
            yield "\n    ".join([f"{name}: differs", *lines, *more])


def main() -> int:
    """Record, write, compare."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path, default=ROOT / "src", help="the folder src of a checkout")
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
