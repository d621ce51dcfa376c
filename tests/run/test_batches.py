"""Runs in batches: what is sent, kept, paid and asked again, with the clients' libraries and a provider that fails."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, replace
from itertools import count as counter
from pathlib import Path
from typing import Any

import pytest
from batch_server import AnthropicServer, BatchServer, BrokenError, Faults, GoogleServer, Made, OpenAIServer, tokens
from killed_batches import Nursery, killed_run
from run_suites import make_suite

from engine_calls import run
from fathom.run import Preflight, RunSummary, replies, status
from fathom.run.batches import open as opening
from fathom.run.batches import openai_files
from fathom.run.batches.anthropic_messages import AnthropicMessages
from fathom.run.batches.google_files import GoogleFiles
from fathom.run.batches.openai_files import OpenAIFiles
from fathom.run.batches.provider import FileForm
from fathom.run.batches.sender import TOO_MANY, Pace
from fathom.runfile.batches import Batch
from fathom.types import FathomError

pytestmark = [
    pytest.mark.slow,
    # Inspect calls tenacity in a way that tenacity's newest release deprecates.
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning"),
    # Google's library does so with aiohttp, which only plain requests use.
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]

FAST = Pace(first=0.01, longest=0.05, settle=0.1, patience=5.0)
NAMES = ("openai", "anthropic", "google")
PRICES = "".join(f'["{name}/m"]\ninput = 2.0\noutput = 10.0\nbatch = 0.5\n' for name in NAMES)


@pytest.fixture(autouse=True)
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    monkeypatch.setenv("FATHOM_PRICES", str(tmp_path / "prices.toml"))
    monkeypatch.setattr(opening, "PACE", FAST)


OPENAI_FIRST = [OpenAIServer, *(pytest.param(kind, marks=pytest.mark.long) for kind in (AnthropicServer, GoogleServer))]
"""For tests of what all providers share; what one does in its own way has tests of its own."""


@pytest.fixture(params=[OpenAIServer, AnthropicServer, GoogleServer])
def kind(request: pytest.FixtureRequest) -> type[BatchServer]:
    """Each provider whose library is installed."""
    found: type[BatchServer] = request.param
    pytest.importorskip({AnthropicServer: "anthropic", GoogleServer: "google.genai"}.get(found, "openai"))
    return found


def ask(tmp_path: Path, server: BatchServer, count: int = 10, **options: Any) -> RunSummary:
    suite = tmp_path / "suite" if (tmp_path / "suite").exists() else make_suite(tmp_path, count)
    settings = {"out": tmp_path / "run", "model_base_url": server.url, "max_output_tokens": 50, "backoff": 0.01}
    return run(suite, **{**settings, "model": server.model, "batch": True, **options})


def check(tmp_path: Path, server: BatchServer, count: int, epochs: int = 1) -> None:
    """All samples have their own replies, and the run knows to the cent what was paid for them."""
    stored = list(replies(tmp_path / "run"))
    assert len(stored) == count * epochs
    for one in stored:
        number = int(one.item.removeprefix("item"))
        assert one.reply.text.startswith(f"answer {number}")
        assert (one.reply.tokens_in, one.reply.tokens_out) == tokens(number)
    # What was answered twice had been lost by the provider.
    assert server.paid == {key: 1 + server.lost[key] for key in server.paid}
    assert len(server.paid) == count * epochs
    lost = sum((tokens(n)[0] * 1.0 + tokens(n)[1] * 5.0) / 1e6 * times for (n, _), times in server.lost.items())
    assert sum(one.cost or 0.0 for one in stored) == pytest.approx(server.owed(1.0, 5.0) - lost)


def test_a_run_in_one_batch(tmp_path: Path) -> None:
    with OpenAIServer() as server:
        summary = ask(tmp_path, server, epochs=2)
    check(tmp_path, server, 10, epochs=2)
    assert len(server.batches) == 1
    assert not server.plain
    assert summary.progress is not None
    assert summary.progress.cost == pytest.approx(server.owed(1.0, 5.0))
    assert not list((tmp_path / "run").glob(".batch*"))


def test_requests_are_those_of_a_plain_run(tmp_path: Path, kind: type[BatchServer]) -> None:
    """A request in a batch has the body that is sent without --batch, and its reply is read alike."""
    options: dict[str, Any] = {"temperature": 0.5, "generation": {"top_p": 0.9}, "seed": 7, "epochs": 2}
    if kind is AnthropicServer:
        options = {"generation": {"top_p": 0.9}}
    if kind is GoogleServer:
        options = {"temperature": 0.5, "generation": {"top_p": 0.9}, "model": "google/gemini-2.5-flash"}
        options |= {"reasoning_tokens": 128}
    with kind() as server:
        ask(tmp_path, server, count=3, **options)
        ask(tmp_path, server, out=tmp_path / "plain", batch=False, **options)
    batched = [json.dumps(body, sort_keys=True) for _, body in server.batches[0].requests]
    assert sorted(batched) == sorted(json.dumps(body, sort_keys=True) for body in server.plain)
    stored = [list(replies(tmp_path / name)) for name in ("run", "plain")]
    same = [
        [replace(one, cost=None, finished_at=0, reply=replace(one.reply, seconds=0)) for one in run] for run in stored
    ]
    assert same[0] == same[1]


def test_requests_are_split_by_number_and_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenAIFiles, "form", FileForm(requests=4, size=1_000_000))
    with OpenAIServer() as server:
        ask(tmp_path, server)
    check(tmp_path, server, 10)
    assert [len(one.requests) for one in server.batches] == [4, 4, 2]
    size = len(server.files["file-0"]) // 4
    monkeypatch.setattr(OpenAIFiles, "form", FileForm(requests=4, size=2 * size + 100))
    with OpenAIServer() as server:
        ask(tmp_path, server, out=tmp_path / "other")
    assert [len(one.requests) for one in server.batches] == [2] * 5
    assert max(server.uploads) <= 2 * size + 100


def test_a_request_larger_than_a_batch_fails_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(OpenAIFiles, "form", FileForm(requests=4, size=100))
    with OpenAIServer() as server, pytest.raises(FathomError, match=r"all 10 samples failed.*more than a batch may"):
        ask(tmp_path, server)
    assert not server.batches


@pytest.mark.parametrize(
    "faults",
    [
        Faults(busy=0.3),
        Faults(expired=0.7),
        Faults(dropped=0.3),
        Faults(dropped=0.3, expired=0.8),
        Faults(doubled=0.5),
        Faults(lost=0.2),
        Faults(broken=0.2),
        Faults(unsure=0.5),
        Faults(most=3),
    ],
    ids=lambda faults: next(name for name, value in asdict(faults).items() if value != getattr(Faults(), name)),
)
@pytest.mark.parametrize("kind", OPENAI_FIRST, indirect=True)
def test_faults_cost_no_sample_and_nothing_twice(tmp_path: Path, kind: type[BatchServer], faults: Faults) -> None:
    with kind(faults, seed=1) as server:
        ask(tmp_path, server, count=12, retries=50)
    check(tmp_path, server, 12)


@pytest.mark.parametrize("together", [False, True])
def test_a_batch_that_was_too_much_beside_others_is_sent_again_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, together: bool
) -> None:
    """The last batch of one request fails while others are waiting, or they end before that is seen."""

    class Validating(OpenAIServer):
        def look(self, made: Made) -> None:
            super().look(made)
            if together and made.state == "failed":
                for one in self.batches:
                    if one.state == "working":
                        self.end(one)

    monkeypatch.setattr(OpenAIFiles, "form", FileForm(requests=3, size=1_000_000))
    with Validating(Faults(most=6, looks=10)) as server:
        ask(tmp_path, server, count=7)
        check(tmp_path, server, 7)
    assert {len(one.requests) for one in server.batches} == {3, 1}


def test_a_batch_that_ended_just_before_makes_room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Waiting(OpenAIServer):
        """A batch ends when the next one has been made."""

        def make(self, *args: Any) -> Made:
            made = super().make(*args)
            for one in self.batches[:-1]:
                if one.state == "working":
                    self.end(one)
            return made

    monkeypatch.setattr(OpenAIFiles, "form", FileForm(requests=4, size=1_000_000))
    with Waiting(Faults(most=4, looks=10_000)) as server:
        ask(tmp_path, server, count=8, tell=lambda line: setattr(server, "faults", Faults(most=4)))
        check(tmp_path, server, 8)
    assert [len(one.requests) for one in server.batches] == [4, 4, 4]


def test_one_request_that_is_too_much_by_itself_fails(tmp_path: Path) -> None:
    with OpenAIServer(Faults(most=0)) as server, pytest.raises(FathomError, match=r"all 2 samples failed.*token limit"):
        ask(tmp_path, server, count=2)
    assert [len(one.requests) for one in server.batches] == [2, 1, 1]


@pytest.mark.parametrize("kind", [AnthropicServer, GoogleServer])  # OpenAI tells it later
def test_refusals_count_whatever_else_fails_between_them(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    with kind(Faults(most=6)) as server:
        real, tries = server.make, counter()

        def make(*args: Any) -> Made:
            if next(tries) == TOO_MANY - 1:
                raise BrokenError
            return real(*args)

        monkeypatch.setattr(server, "make", make)
        ask(tmp_path, server, count=12, retries=TOO_MANY + 2)
    check(tmp_path, server, 12)


def test_what_is_refused_for_good_is_an_error_and_asked_again_by_the_next_run(
    tmp_path: Path, kind: type[BatchServer]
) -> None:
    with kind(Faults(refused=frozenset({3}))) as server:
        summary = ask(tmp_path, server)
        assert "1 sample failed" in summary.hints[0]
        stored = {one.item: one for one in replies(tmp_path / "run")}
        assert stored["item3"].reply.status == "error"
        assert "refused: no" in stored["item3"].reply.error
        server.faults = Faults()
        ask(tmp_path, server)
    assert len(server.batches) == 2
    check(tmp_path, server, 10)


def test_wrong_lines_do_not_keep_the_others_from_being_asked(tmp_path: Path) -> None:
    with OpenAIServer(Faults(wrong=frozenset({2, 5}))) as server:
        ask(tmp_path, server)
    errors = {one.item: one.reply.error for one in replies(tmp_path / "run") if one.reply.status == "error"}
    assert set(errors) == {"item2", "item5"}
    assert "This line is wrong" in errors["item2"]
    assert len(server.paid) == 8


def test_a_plain_run_leaves_requests_to_the_batches_that_have_them(tmp_path: Path, kind: type[BatchServer]) -> None:
    with kind(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(tmp_path, server, tell=stop)
        with pytest.raises(FathomError, match="10 requests are in batches at the provider"):
            ask(tmp_path, server, batch=False)
        server.faults = Faults()
        ask(tmp_path, server)
        assert len(server.batches) == 1
        check(tmp_path, server, 10)


def stop(line: str) -> None:
    raise FathomError("stop here")


def test_a_second_process_is_refused_and_leaves_the_file_of_the_first_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send, refused = OpenAIFiles.send, list[str]()
    other = tmp_path / "run" / ".batches-of-a-judge.fathom-0.jsonl"

    async def meanwhile(self: OpenAIFiles, batch: Batch, file: Path) -> str:
        other.touch()
        with ThreadPoolExecutor() as pool, pytest.raises(FathomError) as error:
            pool.submit(ask, tmp_path, server).result()
        refused.append(str(error.value))
        return await send(self, batch, file)

    with OpenAIServer() as server:
        monkeypatch.setattr(OpenAIFiles, "send", meanwhile)
        ask(tmp_path, server)
        check(tmp_path, server, 10)
    assert "another process works on this run" in refused[0]
    assert [one.name for one in (tmp_path / "run").glob(".batch*")] == [other.name]


def test_a_file_that_is_gone_before_its_upload_is_named(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    provider = {OpenAIServer: OpenAIFiles, AnthropicServer: AnthropicMessages, GoogleServer: GoogleFiles}[kind]
    send: Any = vars(provider)["send"]

    async def removed(self: object, batch: Batch, file: Path) -> str:
        file.unlink()
        return str(await send(self, batch, file))

    with kind() as server:
        with monkeypatch.context() as patch:
            patch.setattr(provider, "send", removed)
            with pytest.raises(FathomError, match="was removed before its upload; nothing of it was sent"):
                ask(tmp_path, server)
        ask(tmp_path, server)
        check(tmp_path, server, 10)


def test_samples_of_a_batch_are_kept_although_fewer_are_wanted_now(tmp_path: Path) -> None:
    with OpenAIServer(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(tmp_path, server, tell=stop)
        server.faults = Faults()
        ask(tmp_path, server, limit=2)
        check(tmp_path, server, 10)


def test_what_a_batch_was_cancelled_with_is_kept(tmp_path: Path) -> None:
    with OpenAIServer(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(tmp_path, server, tell=stop)
        server.batches[0].state = "cancelled"
        with pytest.raises(FathomError, match="cancelled at the provider"):
            ask(tmp_path, server)
        server.faults = Faults()
        ask(tmp_path, server)
        check(tmp_path, server, 10)


def test_the_forecast_has_the_price_and_the_deadline_of_batches(tmp_path: Path) -> None:
    plans: list[Preflight] = []

    def note(plan: Preflight) -> bool:
        plans.append(plan)
        return False

    with OpenAIServer() as server:
        for batch in (False, True):
            ask(tmp_path, server, batch=batch, confirm=note)
    assert plans[1].cost_most == pytest.approx((plans[0].cost_most or 0) / 2)
    assert "in batches, to be answered within 24 hours" in str(plans[1])
    assert "batches" not in str(plans[0])


def test_the_forecast_leaves_out_what_is_in_batches_already(tmp_path: Path) -> None:
    plans: list[Preflight] = []
    told: list[str] = []

    def note(plan: Preflight) -> bool:
        plans.append(plan)
        return False

    with OpenAIServer(Faults(looks=10_000)) as server:
        ask(tmp_path, server, confirm=note)
        with pytest.raises(FathomError, match="stop here"):
            ask(tmp_path, server, limit=2, tell=stop)
        sent = len(server.batches[0].requests)
        ask(tmp_path, server, confirm=note)
        ask(tmp_path, server, limit=2, confirm=note)
        # What is under way counts towards the limits of what is still to be sent.
        most = plans[0].cost_most or 0
        with pytest.raises(FathomError, match="more than `max_cost`"):
            ask(tmp_path, server, max_cost=most * 0.9)
        server.faults = Faults()
        ask(tmp_path, server, limit=2, tell=told.append)
    assert told[0].startswith(f"{sent} requests are in batches already, up to $")
    assert [plan.requests for plan in plans] == [10, 10 - sent, 0]
    assert [plan.total for plan in plans] == [10, 10, sent]
    assert f"{sent} requests are in batches already, up to $" in str(plans[1])
    assert plans[1].under_way is not None
    assert most == pytest.approx((plans[1].cost_most or 0) + (plans[1].under_way.cost_most or 0))


def test_the_way_out_is_named_when_the_provider_has_deleted_a_batch(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    with kind(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(tmp_path, server, tell=stop)
        with monkeypatch.context() as patch:
            answer = server.answer

            def gone(method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
                if "/batches/batch_" in path:
                    return 404, b'{"error": {"message": "No batch found", "code": 404}}'
                return answer(method, path, headers, body)

            patch.setattr(server, "answer", gone)
            with pytest.raises(FathomError, match=r"No batch.*delete \S+/batches.sqlite to.*10 requests.*paid, again"):
                ask(tmp_path, server)
        server.faults = Faults()
        (tmp_path / "run" / "batches.sqlite").unlink()
        ask(tmp_path, server)
        check(tmp_path, server, 10)


def test_what_other_batches_have_answered_is_kept_when_one_was_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(OpenAIFiles, "form", FileForm(requests=5, size=1_000_000))
    told: list[str] = []

    def stop_at_two(line: str) -> None:
        told.append(line)
        if len(told) == 2:
            stop(line)

    with OpenAIServer(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(tmp_path, server, tell=stop_at_two)
        answer, first = server.answer, server.batches[0].id

        def gone(method: str, path: str, headers: Mapping[str, str], body: bytes) -> tuple[int, bytes]:
            if path.endswith(f"/batches/{first}"):
                return 404, b'{"error": {"message": "No batch found"}}'
            return answer(method, path, headers, body)

        monkeypatch.setattr(server, "answer", gone)
        with pytest.raises(FathomError, match=r"First repeat it until the other batches \(1\) have ended.*10 req"):
            ask(tmp_path, server)
        server.faults = Faults(looks=0)
        with pytest.raises(FathomError, match=r"No batch.*delete \S+/batches.sqlite to.*5 requests.*paid, again$"):
            ask(tmp_path, server)
        assert len(list(replies(tmp_path / "run"))) == 5


def test_results_that_anthropic_has_deleted_have_a_way_out(tmp_path: Path) -> None:
    pytest.importorskip("anthropic")
    with AnthropicServer(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(tmp_path, server, tell=stop)
        server.batches[0].state = "archived"  # it has ended, and has no results
        with pytest.raises(FathomError, match=r"has deleted its results.*delete \S+/batches.sqlite"):
            ask(tmp_path, server)


def test_a_batch_that_was_never_sent_is_sent_when_that_is_certain(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The provider works on somebody else's batch of the same size, which Anthropic's list does not tell apart."""
    told: list[str] = []
    with kind(Faults(looks=3)) as server:
        with monkeypatch.context() as patch:
            for provider in (OpenAIFiles, AnthropicMessages, GoogleFiles):
                patch.setattr(provider, "send", interrupt)
            with pytest.raises(FathomError, match="batches that were sent go on at the provider"):
                ask(tmp_path, server)
        foreign = [(f"other-{number}", {"messages": f"[sample {100 + number}]"}) for number in range(10)]
        server.make(foreign, {}, "/v1/chat/completions")
        ask(tmp_path, server, tell=told.append)
        assert len(server.batches) == 2
        server.paid = Counter({key: times for key, times in server.paid.items() if key[0] < 100})
        check(tmp_path, server, 10)
    assert any("may be at the provider already" in line for line in told) == (kind is AnthropicServer)


async def interrupt(self: object, batch: object, file: object) -> str:
    raise KeyboardInterrupt


class SlowResults(AnthropicServer):
    """A batch has ended before its results can be read."""

    empty = 0

    def download(self, made: Made) -> list[tuple[str, str, dict[str, Any]]]:
        found = super().download(made)
        return found if made.downloads > self.empty else []


def test_a_batch_whose_results_are_empty_is_not_sent_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("anthropic")
    monkeypatch.setattr(opening, "PACE", replace(FAST, patience=0.3))
    with SlowResults() as server:
        server.empty = 1_000_000
        with pytest.raises(FathomError, match="cannot be read: it has ended, and its results are empty"):
            ask(tmp_path, server)
        server.empty = 0
        ask(tmp_path, server)
        check(tmp_path, server, 10)
        assert len(server.batches) == 1


@pytest.mark.parametrize("empty", [15, 1_000_000])
def test_a_batch_of_anthropic_that_ended_with_empty_results_is_not_sent_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, empty: int
) -> None:
    """Its process was killed before it knew the batch, whose results are empty for longer than one may be missing."""
    pytest.importorskip("anthropic")
    send = AnthropicMessages.send

    async def killed(self: AnthropicMessages, batch: Batch, file: Path) -> str:
        await send(self, batch, file)
        raise KeyboardInterrupt

    with SlowResults() as server:
        server.empty = empty
        with monkeypatch.context() as patch:
            patch.setattr(AnthropicMessages, "send", killed)
            with pytest.raises(FathomError, match="batches that were sent go on at the provider"):
                ask(tmp_path, server)
        if empty == 15:
            ask(tmp_path, server)
            check(tmp_path, server, 10)
        else:
            monkeypatch.setattr(opening, "PACE", replace(FAST, patience=0.5))
            with pytest.raises(FathomError, match="which may be this run's, has ended without results"):
                ask(tmp_path, server)
        assert len(server.batches) == 1


class NewestFirst(OpenAIServer):
    """It notes which pages of its list were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: set[str] = set()

    def _list(self, query: Mapping[str, list[str]]) -> tuple[int, bytes]:
        self.pages |= set(query.get("after", ()))
        return super()._list(query)


class OldestFirst(NewestFirst):
    """It lists the oldest batch first, a few at a time, and does not say where a list ends."""

    def listed(self) -> list[Made]:
        return super().listed()[::-1]

    def _list(self, query: Mapping[str, list[str]]) -> tuple[int, bytes]:
        status, body = super()._list({**query} | {"limit": ["5"]})
        found = json.loads(body)
        again = {} if found["data"] else json.loads(super()._list({"limit": ["5"]})[1])
        return status, json.dumps(found | again | {"has_more": True}).encode()


@pytest.mark.parametrize("server", [OldestFirst, NewestFirst])
@pytest.mark.parametrize("arrived", [True, False])
def test_a_batch_is_found_among_many_old_ones_whatever_the_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, server: type[NewestFirst], arrived: bool
) -> None:
    monkeypatch.setattr(openai_files, "_PAGE", 10)
    send = OpenAIFiles.send

    async def killed(self: OpenAIFiles, batch: Batch, file: Path) -> str:
        if arrived:
            await send(self, batch, file)
        raise KeyboardInterrupt

    with server() as provider:
        for age in range(45, 0, -1):
            provider.make([("x", {"messages": "[sample 100]"})], {}, "/v1/chat/completions").state = "ended"
            provider.batches[-1].created -= age * 86_400
        with monkeypatch.context() as patch:
            patch.setattr(OpenAIFiles, "send", killed)
            with pytest.raises(FathomError, match="batches that were sent go on at the provider"):
                ask(tmp_path, provider)
        ask(tmp_path, provider)
        check(tmp_path, provider, 10)
        assert len(provider.batches) == 46
        if server is NewestFirst:
            # The list is not read to its end.
            assert len(provider.pages) <= 1


class BackAfterAWhile(OpenAIServer):
    """Its list cannot be had for longer than a batch may be missing, and does not show the newest at first."""

    outage = float("inf")

    def _list(self, query: Mapping[str, list[str]]) -> tuple[int, bytes]:
        if self.batches and time.monotonic() < self.outage:
            return 503, b'{"error": {"message": "Service Unavailable"}}'
        return super()._list(query)


def test_a_batch_that_is_missing_after_an_outage_is_looked_for_as_long_as_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = OpenAIFiles.send

    async def killed(self: OpenAIFiles, batch: Batch, file: Path) -> str:
        await send(self, batch, file)
        raise KeyboardInterrupt

    with BackAfterAWhile(Faults(late=1.0)) as server:
        with monkeypatch.context() as patch:
            patch.setattr(OpenAIFiles, "send", killed)
            with pytest.raises(FathomError, match="batches that were sent go on at the provider"):
                ask(tmp_path, server)
        monkeypatch.setattr(opening, "PACE", replace(FAST, settle=0.3))
        server.outage = time.monotonic() + 1.0
        ask(tmp_path, server)
        check(tmp_path, server, 10)
        assert len(server.batches) == 1


def test_a_file_for_google_is_uploaded_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("google.genai")
    monkeypatch.setattr("google.genai._api_client.CHUNK_SIZE", 2_000)
    with GoogleServer() as server:
        ask(tmp_path, server)
        check(tmp_path, server, 10)
    assert server.events.count("POST /upload/to/file0") == -(-server.uploads[0] // 2_000) > 1


@pytest.mark.parametrize(
    ("state", "said"), [("failed", "does not say why a batch failed"), ("cancelled", "was cancelled at the provider")]
)
def test_a_batch_of_google_that_did_not_end_is_sent_again_by_the_next_run(
    tmp_path: Path, state: str, said: str
) -> None:
    pytest.importorskip("google.genai")
    with GoogleServer(Faults(looks=10_000)) as server:
        with pytest.raises(FathomError, match="stop here"):
            ask(tmp_path, server, tell=stop)
        server.batches[0].state = state
        with pytest.raises(FathomError, match=said):
            ask(tmp_path, server)
        server.faults = Faults()
        ask(tmp_path, server)
        check(tmp_path, server, 10)


def test_status_says_what_is_in_batches(tmp_path: Path) -> None:
    with OpenAIServer(Faults(looks=10_000)) as server, pytest.raises(FathomError, match="stop here"):
        ask(tmp_path, server, tell=stop)
    assert status(tmp_path / "run").facts()["batches"] == "10 requests at the provider"


def test_a_missing_library_is_named_with_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    with pytest.raises(FathomError, match=r"pip install 'fathom-eval\[batch\]'"):
        run(make_suite(tmp_path, 2), "anthropic/m", out=tmp_path / "run", batch=True)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"system": "retrieval?top=2"}, "sends several requests"),
        ({"chat_template": "never"}, "sent as chats"),
        ({"generation": {"batch": True}}, "use `batch`"),
    ],
)
def test_what_cannot_be_sent_in_batches_is_said_before_anything(
    tmp_path: Path, options: dict[str, Any], reason: str
) -> None:
    with OpenAIServer() as server, pytest.raises(FathomError, match=reason):
        ask(tmp_path, server, **options)
    assert not server.events


@pytest.mark.parametrize("model", ["fathom/lexical", "hf/some/path", "mistral/large"])
def test_models_without_a_batch_api_are_refused(tmp_path: Path, model: str) -> None:
    with pytest.raises(FathomError, match="has no batch API that fathom knows"):
        run(make_suite(tmp_path, 2), model, out=tmp_path / "run", batch=True)


def test_a_denied_key_is_said_at_once(tmp_path: Path) -> None:
    class Denying(OpenAIServer):
        def answer(self, *request: Any) -> tuple[int, bytes]:
            return 401, b'{"error": {"message": "Incorrect API key provided"}}'

    with (
        Denying() as server,
        pytest.raises(FathomError, match=r"Incorrect API key.*The key is read from OPENAI_API_KEY"),
    ):
        ask(tmp_path, server)
    assert len(server.events) == 1


def test_a_parameter_that_is_refused_is_left_out_of_the_next_batch(tmp_path: Path) -> None:
    class Refusing(OpenAIServer):
        def _line(self, outcome: tuple[str, str, dict[str, Any]]) -> bytes:
            name, _, body = outcome
            if "seed" not in body:
                return super()._line(outcome)
            error = {"message": "Unknown parameter: 'seed'.", "type": "invalid_request_error"}
            line = {"custom_id": name, "response": {"status_code": 400, "body": {"error": error}}, "error": None}
            return json.dumps(line).encode() + b"\n"

    said: list[str] = []
    with Refusing() as server:
        summary = ask(tmp_path, server, count=4, tell=said.append)
    assert [("seed" in body) for batch in server.batches for _, body in batch.requests] == [True] * 4 + [False] * 4
    assert [line for line in said if "the server refuses seed" in line] == [
        "batch batch_0000: 0 of 4 answered; the server refuses seed: all requests were sent without it"
    ]
    assert any("refuses seed" in hint for hint in summary.hints)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["observed"]["negotiated"] == {"seed": ""}
    assert {row.reply.status for row in replies(tmp_path / "run")} == {"ok"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", OPENAI_FIRST[:2], indirect=True)
def test_killed_at_any_point_no_sample_is_lost_and_none_is_paid_twice(tmp_path: Path, kind: type[BatchServer]) -> None:
    with Nursery(tmp_path / "prices.toml") as nursery:
        nursery.warm_up(tmp_path, kind)
        for seed in range(2):
            (place := tmp_path / f"{seed}").mkdir()
            found = killed_run(place, nursery, kind, seed, 12)
            assert (found.lost, found.twice) == (0, 0)
            assert found.counted == pytest.approx(found.owed)
