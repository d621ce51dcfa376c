"""Killed anywhere and started again, a run repeats no finished request; two processes share one run."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from run_suites import FILLER, make_suite, sample
from scripted_server import Act, ScriptedServer, answer_all, completion

from engine_calls import run
from fathom.models.overflow import Overflow
from fathom.models.prices import FREE, Limit
from fathom.models.protocol import Call
from fathom.models.retry import Retry
from fathom.run import Progress, replies, status
from fathom.run.engine import Terms
from fathom.run.session import Session, Work
from fathom.runfile import ledger as ledger_module
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import Worker, retire, this_worker
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Reply, Sample
from processes import Program, start_program, until

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


PROGRAM = """
import sys
from pathlib import Path
from fathom.run import run
from fathom.runfile.settings import RunSettings
suite, out, url = sys.argv[1:]
settings = RunSettings(model_base_url=url, max_output_tokens=50, epochs=2, max_connections=4, backoff=0.01)
run(Path(suite), "openai/scripted", settings, out=Path(out))
"""

# The same without Inspect, which takes seconds to load: a baseline that asks the server.
LIGHT_PROGRAM = """
import json, sys, urllib.request
from pathlib import Path
from fathom.models import baselines
from fathom.run import run
from fathom.runfile.settings import RunSettings
suite, out, url = sys.argv[1:]
def read(prompt, answer, rng, form):
    body = json.dumps({"messages": [{"content": prompt}]}).encode()
    with urllib.request.urlopen(url + "/chat/completions", body) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
baselines.get_baseline = lambda name: read
settings = RunSettings(max_output_tokens=50, epochs=2, max_connections=4)
run(Path(suite), "fathom/ask", settings, out=Path(out))
"""


def start(suite: Path, out: Path, server: ScriptedServer, program: str = PROGRAM) -> Program:
    return start_program(program, suite, out, server.base_url)


def slowly(number: int, before: int) -> Act:
    return Act(body=completion(f"answer {number}").body, delay=0.01)


@pytest.mark.slow
def test_kill_9_repeats_no_finished_request(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 60), tmp_path / "run"
    with ScriptedServer(slowly) as server:
        process = start(suite, out, server)
        until(lambda: sum(server.answered.values()) >= 30, process)
        seen = status(out)
        assert seen.alive == 1
        assert seen.total == 120
        assert 0 < seen.finished < 120
        assert seen.rate is not None
        assert seen.eta is not None
        process.send_signal(signal.SIGKILL)
        process.communicate()
        assert status(out).alive == 0
        finished = Counter(int(row.item.removeprefix("item")) for row in replies(out))
        in_flight = sum(server.prompts.values()) - sum(finished.values())
        assert in_flight <= 4  # one reply at most for each connection was under way when it died
        before = Counter(server.prompts)
        server.script = answer_all
        run(suite, "openai/scripted", out=out, model_base_url=server.base_url, max_output_tokens=50, epochs=2)
    for number, count in finished.items():
        assert server.prompts[number] - before[number] == 2 - count
    rows = [(row.sample, row.epoch) for row in replies(out)]
    assert len(rows) == len(set(rows)) == 120
    assert status(out).finished == status(out).total == 120


@pytest.mark.slow
def test_two_processes_share_a_run(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 50), tmp_path / "run"
    ready = False

    def together(number: int, before: int) -> Act:
        return Act(body=completion("nine").body, delay=0.01 if ready else 0.2)

    with ScriptedServer(together) as server:
        first, second = (start(suite, out, server, LIGHT_PROGRAM) for _ in range(2))
        try:
            until(lambda: (out / "run.json").exists() and status(out).alive == 2, first)
            ready = True
        finally:
            errors = [process.communicate()[1].decode() for process in (first, second)]
        assert [process.returncode for process in (first, second)] == [0, 0], errors
    assert all(count == 2 for count in server.prompts.values())
    assert len(server.prompts) == 50
    assert status(out).finished == 100


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"temperature": 0.5}, "temperature = 0.0.*temperature = 0.5"),
        ({"max_output_tokens": 60}, "max_output_tokens"),
        ({"seed": 1}, "seed"),
        ({"on_overflow": "middle"}, "on_overflow"),
        ({"window": 4096}, "window"),
        ({"reasoning_effort": "low"}, "reasoning_effort"),
        ({"model_args": {"emulate_tools": True}}, "model_args.emulate_tools"),
    ],
)
def test_another_setting_is_named(
    tmp_path: Path, server: ScriptedServer, change: dict[str, object], named: str
) -> None:
    suite, out = make_suite(tmp_path, 1), tmp_path / "run"
    options: dict[str, object] = {"out": out, "model_base_url": server.base_url, "max_output_tokens": 50}
    run(suite, "openai/scripted", **options)  # type: ignore[arg-type]  # options of a test
    with pytest.raises(FathomError, match=f"(?s)run.json.*{named}"):
        run(suite, "openai/scripted", **(options | change))  # type: ignore[arg-type]  # options of a test
    assert sum(server.prompts.values()) == 1


def test_another_suite_or_model_is_named(tmp_path: Path, server: ScriptedServer) -> None:
    out = tmp_path / "run"

    def go(suite: Path, model: str) -> None:
        run(suite, model, out=out, model_base_url=server.base_url, max_output_tokens=50)

    go(make_suite(tmp_path, 1), "openai/scripted")
    with pytest.raises(FathomError, match=r"suite fingerprint = 'f00d'.*'beef'"):
        go(make_suite(tmp_path, 1, name="other", fingerprint="beef"), "openai/scripted")
    with pytest.raises(FathomError, match="model = 'openai/scripted'"):
        go(make_suite(tmp_path, 1), "openai/else")


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, server: ScriptedServer) -> None:
    suite = make_suite(tmp_path, 1)
    with pytest.raises(FathomError, match="contains other files"):
        run(suite, "openai/scripted", out=suite, model_base_url=server.base_url, max_output_tokens=50)
    with pytest.raises(FathomError, match="is a file"):
        run(suite, "openai/scripted", out=suite / "manifest.json", model_base_url=server.base_url)


@pytest.mark.slow
def test_ctrl_c_keeps_replies_and_says_how_to_go_on(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 30), tmp_path / "run"
    with ScriptedServer() as server:
        server.script = lambda number, before: Act(hang=True) if number >= 10 else completion("nine")

        def interrupt(state: Progress) -> None:
            if state.finished == 10:
                os.kill(os.getpid(), signal.SIGINT)

        options = {"out": out, "model_base_url": server.base_url, "max_output_tokens": 50, "max_connections": 2}
        with pytest.raises(FathomError, match=r"interrupted.*Run the same command again"):
            run(suite, "openai/scripted", progress=interrupt, **options)  # type: ignore[arg-type]  # options of a test
        server.script = answer_all
        run(suite, "openai/scripted", **options)  # type: ignore[arg-type]  # options of a test
    assert all(server.prompts[number] == 1 for number in range(10))
    assert len(list(replies(out))) == 30


# ------------------------------------------------------------------------- any interleaving of kills and restarts


class Killed(BaseException):
    """Stands for ``kill -9``: nothing after it runs, so the claims of the process stay behind."""


class Client:
    window: int | None = None
    policy: Overflow = "refuse"

    def __init__(self, lives: int, replied: Counter[tuple[str, int]]) -> None:
        self.lives, self.replied = lives, replied

    async def complete(self, prompt: str, call: Call) -> Reply:
        await asyncio.sleep(0)
        if self.lives == 0:
            raise Killed
        self.lives -= 1
        self.replied[call.sample, call.epoch] += 1
        return Reply(status="ok", text="nine")

    async def close(self) -> None: ...


SAMPLES = [sample(number) for number in range(12)]


def work(epochs: int, connections: int) -> Work:
    def samples() -> Iterator[Sample]:
        return iter(SAMPLES)

    return Work(
        samples=samples,
        texts=lambda: {"doc": FILLER},
        epochs=epochs,
        terms=Terms(FREE, connections, Retry()),
        seed=0,
        limit=Limit(None, "", "refuse"),
        caps=lambda task: 10,
        tokenizer=lambda: get_tokenizer("words"),
        progress=lambda state: None,
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    lives=st.lists(st.integers(0, 9), max_size=6),
    epochs=st.integers(1, 2),
    connections=st.integers(1, 5),
)
def test_any_kills_and_restarts_give_every_reply_once(lives: list[int], epochs: int, connections: int) -> None:
    """A process that is killed after some replies leaves claims; the next takes them over and repeats nothing."""
    living: set[str] = set()
    replied: Counter[tuple[str, int]] = Counter()
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(ledger_module, "is_alive", lambda worker, beat, now: worker.id in living)

        def live(count: int) -> None:
            worker = this_worker()
            living.add(worker.id)
            ledger = Ledger(Path(place), worker)
            session = Session(ledger, Client(count, replied), work(epochs, connections), 0)
            try:
                asyncio.run(session.work_through())
            except BaseExceptionGroup:
                living.discard(worker.id)

        for count in lives:
            live(count)
        live(-1)
        rows = Counter((row.sample, row.epoch) for row in replies(Path(place)))
    assert set(rows) == {(one.id, epoch) for one in SAMPLES for epoch in range(1, epochs + 1)}
    assert set(rows.values()) == {1}
    # Only requests that were under way at a kill were made twice: never more than one for each connection.
    assert sum(replied.values()) - len(rows) <= len(lives) * connections


# -------------------------------------------------------------------------------------- two processes, one run


class Waiting(Client):
    """Does something before its first answer; its later answers wait for the gate."""

    def __init__(self, first: Callable[[], None] = lambda: None) -> None:
        super().__init__(-1, Counter())
        self.first, self.gate, self.asked = first, asyncio.Event(), asyncio.Event()

    async def complete(self, prompt: str, call: Call) -> Reply:
        self.asked.set()
        if not self.replied:
            self.first()
        await self.gate.wait()
        return await super().complete(prompt, call)


@pytest.fixture
def ledgers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Ledger]]:
    """Two processes that joined one run, as it were."""
    monkeypatch.setattr("fathom.run.session.CLAIM_POLL_SECONDS", 0.01)
    pair = [Ledger(tmp_path, this_worker()) for _ in range(2)]
    yield pair
    for ledger in pair:
        ledger.close()


def test_the_first_to_finish_waits_and_both_tell_the_whole(ledgers: list[Ledger]) -> None:
    async def both() -> list[Progress | None]:
        slow, quick = Waiting(), Waiting()
        quick.gate.set()

        def told(state: Progress) -> None:
            if state.asked == 4:  # all that the slow one did not claim
                slow.gate.set()

        held = Session(ledgers[0], slow, work(1, 1), 12)
        rest = Session(ledgers[1], quick, replace(work(1, 1), progress=told), 12)
        async with asyncio.TaskGroup() as group:
            group.create_task(held.work_through())
            await slow.asked.wait()
            group.create_task(rest.work_through())
        assert (sum(slow.replied.values()), sum(quick.replied.values())) == (8, 4)
        return [held.summary().progress, rest.summary().progress]

    for progress in asyncio.run(both()):
        assert progress is not None
        assert (progress.finished, progress.total, progress.counts["ok"]) == (12, 12, 12)


def test_what_a_dead_fellow_held_is_taken_over_while_waiting(ledgers: list[Ledger]) -> None:
    dead, living = ledgers
    dead.claim([(one.id, 1) for one in SAMPLES[:8]])

    def told(state: Progress) -> None:
        if state.asked == 4:
            retire(dead.worker)

    session = Session(living, Client(-1, Counter()), replace(work(1, 1), progress=told), 12)
    asyncio.run(session.work_through())
    progress = session.summary().progress
    assert progress is not None
    assert (progress.finished, progress.asked) == (12, 12)


@pytest.mark.parametrize("limit", [{"max_cost": 20.0}, {"max_tokens_total": 5000}])
def test_limits_count_what_others_spend(ledgers: list[Ledger], limit: dict[str, float]) -> None:
    other, mine = ledgers

    def spend() -> None:
        other.finish(SAMPLES[11], 1, Reply("ok", tokens_in=10_000), prompt_hash="abc", cost=100.0)

    client = Waiting(first=spend)
    client.gate.set()
    asked = work(1, 1)
    asked = replace(asked, terms=replace(asked.terms, **limit))  # type: ignore[arg-type]  # options of a test
    session = Session(mine, client, asked, 12)
    with pytest.raises(FathomError, match=f"`{next(iter(limit))}` is"):
        asyncio.run(session.work_through())
    assert sum(client.replied.values()) == 8  # as many as were claimed before the other spent


@pytest.mark.slow
@settings(max_examples=30, deadline=None)
@given(
    steps=st.lists(
        st.tuples(st.sampled_from(["start", "claim", "finish", "kill"]), st.integers(0, 3)), min_size=1, max_size=40
    )
)
def test_no_pair_is_ever_held_by_two_living_processes(steps: list[tuple[str, int]]) -> None:
    keys = [(one.id, 1) for one in SAMPLES]
    by_id = {one.id: one for one in SAMPLES}
    held: dict[int, list[tuple[str, int]]] = {}
    open_ledgers: dict[int, Ledger] = {}
    finished: set[tuple[str, int]] = set()
    with TemporaryDirectory() as place, pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            ledger_module,
            "is_alive",
            lambda worker, beat, now: worker.id in {ledger.worker.id for ledger in open_ledgers.values()},
        )
        for number, (step, who) in enumerate(steps):
            if step == "start" and who not in open_ledgers:
                open_ledgers[who] = Ledger(Path(place), Worker(f"w{number}", 1, "here", "", time.time()))
                held[who] = []
            elif who not in open_ledgers:
                continue
            elif step == "claim":
                others = {key for other, mine in held.items() if other != who for key in mine}
                mine, _ = open_ledgers[who].claim(keys[number % 5 : number % 5 + 4])
                assert not set(mine) & others
                assert not set(mine) & finished
                held[who] += mine
            elif step == "finish" and held[who]:
                key = held[who].pop()
                open_ledgers[who].finish(by_id[key[0]], 1, Reply(status="ok"), prompt_hash="", cost=None)
                finished.add(key)
            elif step == "kill":
                del open_ledgers[who], held[who]
        assert {(row.sample, row.epoch) for row in replies(Path(place))} == finished if open_ledgers else True
        for ledger in open_ledgers.values():
            ledger.close()
