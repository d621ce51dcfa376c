"""Commands of ``fathom`` that are killed, started twice, or run out of disk: what they leave, and what comes next.

Every command here is the real one in a process of its own, in a folder of its own. What it leaves in the end is
compared with what an undisturbed call leaves; what it had stored when it was disturbed has to be there still; and a
server counts who is asked again. ``performance/reliability.py`` calls all of this and prints the counts.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "run"))

from fault_server import Schedule
from run_suites import make_suite
from scripted_server import Act, Script, ScriptedServer, completion

from fathom.rows import rows_from_run
from fathom.run import replies
from fathom.runfile.judgements import FILE as JUDGEMENTS
from fathom.runfile.judgements import judgements, replies_by_prompt
from fathom.runfile.store import FILE as REPLIES
from fathom.types import FathomError
from flipped_bits import prompts
from judged_runs import GOOD, make_run, sample
from processes import MAIN, Program, start_program

ROOT = Path(__file__).parents[1]
JUDGE = "openai/scripted"
FAULTS = Schedule(seed=18, share=0.3)
SAMPLES, JUDGED = 60, 60
SECONDS = 300
"""A command that takes so long hangs."""
MOST_ROOM = 200_000  # bytes; more than any of the commands here needs


@dataclass
class Counts:
    """What came of a part.

    Attributes:
        cases: How often something was disturbed.
        repeated: Requests for replies that were stored already.
        lost: Replies that were stored and are not any more, or are other ones.
        silent: Results that are other ones without a word.
        tracebacks: Failures that are no clear message with exit code 2.
        notes: What is wrong, or worth to be known, in words.
        skipped: Why nothing was done, or "".
    """

    cases: int = 0
    repeated: int = 0
    lost: int = 0
    silent: int = 0
    tracebacks: int = 0
    notes: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def wrong(self) -> int:
        """All that should be 0."""
        return self.repeated + self.lost + self.silent + self.tracebacks

    def note(self, what: str) -> None:
        """Keep some words; of many the first ones."""
        if len(self.notes) < 20:
            self.notes.append(what[:600])


@dataclass(frozen=True)
class Ended:
    """How a process ended, and what it said on standard error."""

    code: int
    told: str

    @property
    def is_clear(self) -> bool:
        """Whether it ended well or with one message."""
        plain = "Traceback (most recent call last)" not in self.told
        return plain and (self.code == 0 or (self.code == 2 and self.told.count("fathom: ") == 1))


Stored = dict[Any, Any]


def nothing(place: Path) -> Stored:
    """What commands without a store have stored."""
    return {}


def nobody(stored: Stored, before: Counter[int], after: Counter[int]) -> int:
    """How many are asked again by commands that ask nobody."""
    return 0


@dataclass(frozen=True)
class Command:
    """A command that is disturbed.

    Attributes:
        words: Its words, given the address of its server.
        needs: What it reads, in the folder of all inputs.
        result: What it leaves, in a form that can be compared.
        stored: Replies in its store, by what was asked; read where it was disturbed and in the end.
        repeated: Requests for what was stored, by numbers of samples asked before and in the end.
        script: What its server does; None without a server.
        makes: The file or folder that it writes.
    """

    words: Callable[[str], tuple[str, ...]]
    needs: str
    makes: str
    result: Callable[[Path], object]
    stored: Callable[[Path], Stored] = nothing
    repeated: Callable[[Stored, Counter[int], Counter[int]], int] = nobody
    script: Script | None = None


# ------------------------------------------------------------------------------------------------- the commands


def slowly(act: Act) -> Act:
    """The same, as late as a server would send it."""
    return replace(act, delay=max(act.delay, 0.02))


def faulty(number: int, before: int) -> Act:
    """What the server of the run with faults does."""
    return slowly(FAULTS.script()(number, before))


def well(number: int, before: int) -> Act:
    """A server that is well."""
    return slowly(completion(f"answer {number}"))


def of_store(file: Path, read: Callable[[], Stored]) -> Stored:
    """What a store holds; nothing where it was disturbed before anything was in it."""
    if not file.exists():
        return {}
    try:
        return read()
    except FathomError as error:
        if "is empty" in str(error):
            return {}
        raise


def stored_replies(place: Path) -> Stored:
    """Replies of a run that need not be asked for again: errors are."""

    def read() -> Stored:
        kept = (one for one in replies(place / "run") if one.reply.status != "error")
        return {one.sample: (one.reply.status, one.reply.text, one.prompt_hash) for one in kept}

    return of_store(place / "run" / REPLIES, read)


def replies_of_run(place: Path) -> object:
    """All replies of a run with a right server or none."""
    return sorted((one.sample, one.epoch, one.reply.status, one.reply.text) for one in replies(place / "run"))


def replies_despite_faults(place: Path) -> object:
    """The same where some samples end as an error, or, asked again after a kill, are answered."""
    found = []
    for one in replies(place / "run"):
        number, reply = int(one.item.removeprefix("item")), (one.reply.status, one.reply.text)
        expected = FAULTS.expected(number)
        answered = expected[0] == "error" and reply == ("ok", f"answer {number}")
        found.append((number, expected if answered else reply))
    return sorted(found)


def asked_again(stored: Stored, before: Counter[int], after: Counter[int]) -> int:
    """Requests for samples whose reply was stored."""
    numbers = {int(one.split("@")[0].removeprefix("item")) for one in stored}
    return sum(after[number] - before[number] for number in numbers)


def stored_judgements(place: Path) -> Stored:
    """Replies of the judge."""
    return of_store(place / "run" / JUDGEMENTS, lambda: dict(replies_by_prompt(place / "run", JUDGE)))


def judged(place: Path) -> object:
    """Judgements, what the judge said, and the scores that follow from it."""
    rows = rows_from_run(place / "run", judge=JUDGE)
    return sorted(judgements(place / "run", JUDGE).items()), sorted(stored_judgements(place).items()), rows.write_json()


def judged_again(stored: Stored, before: Counter[int], after: Counter[int]) -> int:
    """Requests beyond one for each reply of the judge that was not stored."""
    return max(0, after.total() - before.total() - (JUDGED - len(stored)))


def content(name: str) -> Callable[[Path], object]:
    """The bytes of a file."""
    return lambda place: (place / name).read_bytes()


def table(place: Path) -> object:
    """The content of a table of rows."""
    import polars as pl

    return pl.read_parquet(place / "rows.parquet").write_json()


BUILD = ("build", "passkey,kv_retrieval,single_doc_qa", "--lengths", "1k,2k", "--items", "20", "--corpus", "world")
CHOOSE = ("compress", "select", "matrix.csv", "--budget", "40", "--out", "subset.json")
ASK = ("run", "tiny", "--model", "openai/scripted", "--max-output-tokens", "50", "--max-connections", "8", "--quiet")

COMMANDS: Mapping[str, Command] = {
    "build": Command(
        lambda url: (*BUILD, "--tokenizer", "words", "--out", "new", "--quiet"),
        "", "new", lambda place: prompts(place / "new"),
    ),
    "run offline": Command(
        lambda url: ("run", "suite", "--model", "fathom/lexical", "--out", "run", "--quiet"),
        "suite", "run", replies_of_run, stored_replies,
    ),
    "run with faults": Command(
        lambda url: (*ASK, "--model-base-url", url, "--out", "run", "--yes"),
        "tiny", "run", replies_despite_faults, stored_replies, asked_again, faulty,
    ),
    "run well": Command(
        lambda url: (*ASK, "--model-base-url", url, "--out", "run", "--yes"),
        "tiny", "run", replies_of_run, stored_replies, asked_again, well,
    ),
    "judge": Command(
        lambda url: ("judge", "run", "--judge", JUDGE, "--judge-base-url", url, "--max-connections", "8", "-y", "-q"),
        "replied/run", "run", judged, stored_judgements, judged_again, lambda number, before: slowly(completion(GOOD)),
    ),
    "compress select": Command(lambda url: CHOOSE, "matrix.csv", "subset.json", content("subset.json")),
    "report": Command(
        lambda url: ("report", "done", "--out", "page.html", "--quiet"), "done", "page.html", content("page.html"),
    ),
    "rows": Command(lambda url: ("rows", "done", "--out", "rows.parquet"), "done", "rows.parquet", table),
}  # fmt: skip


def make_inputs(world: Path) -> None:
    """Make what the commands read: suites, a finished run, a run to be judged, and scores."""
    for words in (
        (*BUILD, "--tokenizer", "words", "--out", "suite", "--quiet"),
        ("run", "suite", "--model", "fathom/lexical", "--out", "done", "--quiet"),
    ):
        ended = call(world, words)
        assert ended.code == 0, ended.told
    make_suite(world, SAMPLES, name="tiny")
    (world / "replied").mkdir()
    asked = (sample(number, "single_doc_qa") for number in range(JUDGED))
    make_run(world / "replied" / "run", [(one, f"It is {number}.") for number, one in enumerate(asked)])
    rng, models = Random(0), range(12)
    lines = [f"i{n},{','.join(str(int(rng.random() < 0.3 + model / 20)) for model in models)}" for n in range(300)]
    (world / "matrix.csv").write_text("\n".join(("item," + ",".join(f"m{model}" for model in models), *lines)))


# ------------------------------------------------------------------------------------------------ processes


def start(place: Path, words: tuple[str, ...]) -> Program:
    """Start the command in a folder; what it says goes to a file beside it."""
    environment = os.environ | {"FATHOM_CACHE": str(place.parent / "cache"), "OPENAI_API_KEY": "no-such-key-12345"}
    environment |= {"NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1", "COLUMNS": "120", "PYTHONWARNINGS": "ignore"}
    with (place.parent / f"{place.name}.told").open("wb") as told:
        return start_program(MAIN, *words, stdout=told.fileno(), stderr=told.fileno(), env=environment, cwd=place)


def call(place: Path, words: tuple[str, ...]) -> Ended:
    """Call the command in a folder, to its end."""
    process = start(place, words)
    try:
        code = process.wait(SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        code = process.wait()
    told = (place.parent / f"{place.name}.told").read_text("utf-8", errors="replace")
    return Ended(code, told)


def fresh(world: Path, place: Path, command: Command) -> Path:
    """An empty folder with what the command reads."""
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    put(world, place, command)
    return place


def put(world: Path, place: Path, command: Command) -> None:
    """Copy what the command reads."""
    source = world / command.needs
    if command.needs and source.is_dir():
        shutil.copytree(source, place / source.name)
    elif command.needs:
        shutil.copy(source, place)


@contextmanager
def serving(command: Command) -> Iterator[ScriptedServer | None]:
    """The server of a command, if it has one."""
    if command.script is None:
        yield None
        return
    with ScriptedServer(command.script, remembers=False) as server:
        yield server


def address(server: ScriptedServer | None) -> str:
    """Where it is asked."""
    return server.base_url if server else ""


def asked(server: ScriptedServer | None) -> Counter[int]:
    """How often each sample was asked, once nothing is in flight any more."""
    if server is None:
        return Counter()
    time.sleep(0.1)  # what a process has sent before it died is read
    while server.in_flight:
        time.sleep(0.01)
    return Counter(server.prompts)


@dataclass(frozen=True)
class Reference:
    """What an undisturbed call leaves, and the seconds that it takes."""

    result: object
    seconds: float


@cache
def undisturbed(world: Path, name: str) -> Reference:
    """Call a command once as it should be, for all parts that disturb it."""
    command = COMMANDS[name]
    place = fresh(world, world.parent / "undisturbed" / name.replace(" ", "-"), command)
    with serving(command) as server:
        started = time.perf_counter()
        ended = call(place, command.words(address(server)))
        seconds = time.perf_counter() - started
    assert ended.code == 0, ended.told
    return Reference(command.result(place), seconds)


def finish(
    counts: Counts, name: str, place: Path, server: ScriptedServer | None, reference: Reference, stored: Stored
) -> None:
    """Call a disturbed command again to its end, and count what is not as it should be."""
    command, before = COMMANDS[name], asked(server)
    ended = call(place, command.words(address(server)))
    if ended.code != 0:
        counts.silent += 1
        counts.tracebacks += not ended.is_clear
        counts.note(f"{name}: called again, it ended with {ended.code}: {ended.told[-500:]}")
        return
    after = command.stored(place)
    lost = [key for key, reply in stored.items() if after.get(key) != reply]
    repeated = command.repeated(stored, before, asked(server))
    differs = command.result(place) != reference.result
    counts.lost += len(lost)
    counts.repeated += repeated
    counts.silent += differs
    if lost or repeated or differs:
        counts.note(f"{name}: {len(lost)} lost, {repeated} repeated, {'another' if differs else 'the same'} result")


# ---------------------------------------------------------------------------------------------------- the parts


def kill(name: str, world: Path, place: Path, kills: int, rng: Random) -> Counts:
    """Kill a command at random moments of its time, each time in a new folder, and call it again."""
    command, counts = COMMANDS[name], Counts()
    reference = undisturbed(world, name)
    held, early, seconds = 0, 0, reference.seconds
    while counts.cases < kills and early < 3 * kills:
        fresh(world, place, command)
        with serving(command) as server:
            started = time.perf_counter()
            process = start(place, command.words(address(server)))
            try:
                process.wait(rng.uniform(0, seconds))
                early, seconds = early + 1, min(seconds, time.perf_counter() - started)
                continue
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
            counts.cases += 1
            stored = command.stored(place)
            held += bool(stored)
            finish(counts, name, place, server, reference, stored)
    if command.stored is not nothing:
        counts.note(f"{held} of {kills} had replies stored; {early} more ended before they were killed")
    return counts


def two_at_once(name: str, world: Path, place: Path, times: int) -> Counts:
    """Start a command twice at once in one folder."""
    command, counts = COMMANDS[name], Counts()
    reference = undisturbed(world, name)
    for _ in range(times):
        fresh(world, place, command)
        with serving(command) as server:
            both = [start(place, command.words(address(server))) for _ in range(2)]
            codes = [process.wait(SECONDS) for process in both]
            counts.cases += 1
            told = (place.parent / f"{place.name}.told").read_text("utf-8", errors="replace")
            if 0 not in codes or not set(codes) <= {0, 2} or "Traceback" in told:
                counts.tracebacks += 1
                counts.note(f"{name}: two at once ended with {codes}: {told[-500:]}")
                continue
            repeated = sum(max(0, number - 1) for number in asked(server).values())
            differs = command.result(place) != reference.result
            counts.repeated += repeated
            counts.silent += differs
            if repeated or differs:
                counts.note(f"{name}: {repeated} repeated, {'another' if differs else 'the same'} result")
    return counts


@contextmanager
def small_disk(place: Path, size: int) -> Iterator[Path | None]:
    """A disk of so many bytes mounted at a folder; None where mounting is not permitted."""
    place.mkdir(parents=True, exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(place)]
    try:
        mounted = subprocess.run(command, check=False, capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        yield None
        return
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def fill(disk: Path, room: int) -> Path:
    """Fill a disk up to so many bytes."""
    filler, left = disk / "filler", os.statvfs(disk)
    filler.write_bytes(bytes(max(0, left.f_bavail * left.f_frsize - room)))
    return filler


def full_disk(name: str, world: Path, place: Path, times: int, rng: Random) -> Counts:
    """Let the disk run full under a command, at random moments; make room, and call it again."""
    command, counts, failed = COMMANDS[name], Counts(), 0
    reference = undisturbed(world, name)
    for number in range(times):
        shutil.rmtree(place / "disk", ignore_errors=True)
        with ExitStack() as stack:
            disk = stack.enter_context(small_disk(place / "disk", 8_000_000))
            if disk is None:
                return Counts(skipped="no disk can be mounted here")
            server = stack.enter_context(serving(command))
            put(world, disk, command)
            filler = fill(disk, rng.randrange(MOST_ROOM) if number else 0)
            ended = call(disk, command.words(address(server)))
            counts.cases += 1
            failed += ended.code != 0
            explained = "full" in ended.told.lower() or "no space left" in ended.told.lower()
            if ended.code != 0 and not (ended.is_clear and explained):
                counts.tracebacks += 1
                counts.note(f"{name}: on a full disk it ended with {ended.code}: {ended.told[-500:]}")
            stored = command.stored(disk)
            filler.unlink()
            finish(counts, name, disk, server, reference, stored)
    counts.note(f"{failed} of {times} found the disk full")
    return counts


def read_only(world: Path, place: Path) -> Counts:
    """Read a finished run from a disk that nothing can be written to."""
    counts = Counts()
    words = {
        "status": ("status", "disk/done", "--json"),
        "rows": ("rows", "disk/done", "--out", "rows.parquet"),
        "report": ("report", "disk/done", "--out", "page.html", "--quiet"),
    }
    with small_disk(place / "disk", 8_000_000) as disk:
        if disk is None:
            return Counts(skipped="no disk can be mounted here")
        shutil.copytree(world / "done", disk / "done")
        found: list[dict[str, object]] = []
        for _ in range(2):
            shown: dict[str, object] = {}
            for name, line in words.items():
                ended = call(place, line)
                if ended.code != 0:
                    counts.tracebacks += 1
                    counts.note(f"{name}: from a read-only disk it ended with {ended.code}: {ended.told[-500:]}")
                    return counts
                shown[name] = json.loads(ended.told) if name == "status" else ""
            shown |= {"rows": table(place), "report": (place / "page.html").read_bytes()}
            found.append(shown)
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    counts.cases = len(words)
    different = [name for name in words if found[0][name] != found[1][name]]
    counts.silent = len(different)
    if different:
        counts.note(f"read from a read-only disk, {', '.join(different)} shows something else")
    return counts
