"""Runs in batches that are killed at random points until they are done.

Kills happen when the provider gets a request, before or after it has done what it was asked for (so also between a
batch and the note of its name), and at any time in between. A process that has loaded everything (the nursery, itself
a fork of the starter of all tests) forks one that runs, because loading takes longer than the run.
"""

from __future__ import annotations

import os
import signal
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import TracebackType
from typing import Self

from batch_server import BatchServer, Faults, JudgeServer, Moment, tokens
from run_suites import make_suite

from fathom.run import replies
from fathom.runfile.judgements import judgements, spent
from judged_runs import make_run, sample
from processes import start_program

NURSERY = """
import importlib, os, sys, warnings
warnings.simplefilter("ignore")
from pathlib import Path
from fathom.run import judge, run
from fathom.run.batches import open as opening
from fathom.run.batches.sender import Pace
from fathom.runfile.settings import JudgeSettings, RunSettings
opening.PACE = Pace(first=0.005, longest=0.02, settle=float(sys.argv[1]), patience=20.0)
print("ready", flush=True)
for line in sys.stdin:
    suite, model, out, url, epochs, modules = line.rstrip("\\n").split("\\t")
    child = os.fork()
    if child == 0:
        try:
            if suite:
                settings = RunSettings(model_base_url=url, max_output_tokens=50, epochs=int(epochs), retries=60,
                                       backoff=0.005, batch=True)
                run(Path(suite), model, settings, out=Path(out))
            else:
                judge(Path(out), model, JudgeSettings(model_base_url=url, retries=60, backoff=0.005, batch=True))
            if modules:
                Path(modules).write_text(" ".join(sys.modules))
        except BaseException as error:
            print(f"{type(error).__name__}: {error}", file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    print(child, flush=True)
    status = os.waitpid(child, 0)[1]
    for name in Path(modules).read_text().split() if modules else ():
        try:
            importlib.import_module(name)
        except Exception:
            pass
    if modules:
        if "inspect_ai.model._model_info" in sys.modules:
            sys.modules["inspect_ai.model._model_info"].get_model_info("openai/gpt-4o")  # reads large tables once
    print(status, flush=True)
"""


@dataclass(frozen=True)
class Outcome:
    """What became of one run.

    Attributes:
        kills: How often it was killed.
        lost: Samples without their reply.
        twice: Samples that were paid twice, without the provider having lost the first reply.
        owed: What the provider answered, in US dollars, without replies that it lost.
        counted: What the run says it paid.
        batches: Batches at the provider.
    """

    kills: int
    lost: int
    twice: int
    owed: float
    counted: float
    batches: int


class Nursery:
    """Starts runs quickly; use as a context manager.

    Args:
        prices: A table of prices.
        settle: Seconds for which a run looks for a batch: longer than the provider hides one on a busy machine.
    """

    def __init__(self, prices: Path, settle: float = 1.0) -> None:
        keys = {f"{name}_API_KEY": "key-of-a-test" for name in ("OPENAI", "ANTHROPIC", "GOOGLE")}
        env = {**os.environ, "FATHOM_PRICES": str(prices), **keys}
        pipe = subprocess.PIPE
        self._process = start_program(NURSERY, str(settle), env=env, stdin=pipe, stdout=pipe, stderr=None)

    def __enter__(self) -> Self:
        assert self._line() == "ready"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().decode().strip()

    def warm_up(self, place: Path, kind: type[BatchServer]) -> None:
        """Load what a run loads, so that those to come need not."""
        with kind() as server:
            self.start(
                make_suite(place, 2, name="warm"), kind.model, place / "warm-run", server.url, 1, place / "modules"
            )
            assert self.wait() == 0

    def start(self, *words: str | Path | int) -> int:
        """Start a run; the number of its process."""
        assert self._process.stdin is not None
        self._process.stdin.write(("\t".join(map(str, words)) + "\n").encode())
        self._process.stdin.flush()
        return int(self._line())

    def wait(self) -> int:
        """Wait for the end of the run; its status, which is the signal that killed it."""
        return int(self._line())


def faults_of(rng: Random) -> Faults:
    """Some faults of a provider, most of the time a few of them."""

    def share(most: float) -> float:
        return rng.uniform(0, most) if rng.random() < 0.4 else 0.0

    return Faults(
        busy=share(0.3),
        expired=share(0.5),
        dropped=share(0.3),
        lost=share(0.1),
        doubled=share(0.5),
        broken=share(0.15),
        unsure=share(0.4),
        late=share(0.5),
        looks=rng.choice([0, 1, 3]),
        most=rng.choice([1_000_000, 1_000_000, 7]),
    )


def killed_run(
    place: Path, nursery: Nursery, kind: type[BatchServer], seed: int, count: int, *, epochs: int = 1
) -> Outcome:
    """Run a suite, kill the run at random points, and resume it until it is done.

    Args:
        place: An empty folder.
        nursery: Starts the processes.
        kind: The provider; a million tokens of its model cost 1 and 5 dollars in batches.
        seed: Decides faults and kills.
        count: Samples of the suite.
        epochs: Repetitions of each.
    """
    rng = Random(seed)
    suite, out = make_suite(place, count), place / "run"
    with kind(faults_of(rng), seed) as server:
        kills = until_done(nursery, server, rng, suite, kind.model, out, server.url, epochs, "")
        stored = {(int(one.item[4:]), one.epoch): one for one in replies(out)}
        right = sum(one.reply.text.startswith(f"answer {key[0]}") for key, one in stored.items())
        counted = sum(one.cost or 0.0 for one in stored.values())
        return outcome(server, kills, lost=count * epochs - right, counted=counted)


def killed_judge(place: Path, nursery: Nursery, seed: int, count: int) -> Outcome:
    """Judge answers and summaries in batches, kill the judging at random points, and resume it until it is done.

    Args:
        place: An empty folder.
        nursery: Starts the processes.
        seed: Decides faults and kills.
        count: Replies, half of which are summaries, for each of which a judge is asked four times.
    """
    rng, tasks = Random(seed), ("single_doc_qa", "single_doc_summary")
    replied = [(sample(number, tasks[number % 2]), f"It is {number}. So it is.") for number in range(count)]
    out = make_run(place / "run", replied)
    with JudgeServer(faults_of(rng), seed) as server:
        kills = until_done(nursery, server, rng, "", server.model, out, server.url, 1, "", events=25)
        found = judgements(out, server.model)
        right = sum(one.status == "ok" for one in found.values())
        return outcome(server, kills, lost=count - right, counted=spent(out, server.model).paid)


def until_done(nursery: Nursery, server: BatchServer, rng: Random, *words: str | Path | int, events: int = 8) -> int:
    """Start a process again and again, killed at random points, until it is done.

    Args:
        nursery: Starts it.
        server: The provider.
        rng: Decides when it is killed.
        words: What the nursery is told.
        events: A request among so many, at which it is killed.

    Returns:
        How often it was killed.
    """
    kills, most = 0, rng.randrange(1, 5)
    while True:
        at, moment = len(server.events) + rng.randrange(events), rng.choice(["before", "after"])

        def strikes(event: int, now: Moment, at: int = at, moment: str = moment) -> bool:
            return event >= at and now == moment

        server.kill = strikes if kills < most and rng.random() < 0.75 else lambda event, now: False
        with server.lock:
            server.victim = nursery.start(*words)
        timer = threading.Timer(rng.uniform(0.0, 0.4), os.kill, (server.victim, signal.SIGKILL))
        if kills < most and rng.random() < 0.5:
            timer.start()
        status = nursery.wait()
        timer.cancel()
        server.victim = 0
        if status == 0:
            return kills
        assert status == signal.SIGKILL, f"{words}: failed with status {status}"
        kills += 1


def outcome(server: BatchServer, kills: int, *, lost: int, counted: float) -> Outcome:
    """What the provider knows of it, by prices of 1 and 5 dollars for a million tokens."""
    lost_dollars = sum(
        times * (tokens(key[0])[0] * 1.0 + tokens(key[0])[1] * 5.0) / 1e6 for key, times in server.lost.items()
    )
    return Outcome(
        kills=kills,
        lost=lost,
        twice=sum(times - 1 - server.lost[key] for key, times in server.paid.items()),
        owed=server.owed(1.0, 5.0) - lost_dollars,
        counted=counted,
        batches=len(server.batches),
    )
