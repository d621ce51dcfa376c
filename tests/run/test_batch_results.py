"""Results of batches that cannot be read, come twice or late, or are huge, and clocks that are wrong: paid once."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from batch_server import AnthropicServer, BatchServer, GoogleServer, Made, OpenAIServer
from test_batches import FAST, PRICES, ask, check

from fathom.run import replies
from fathom.run.batches import open as opening
from fathom.run.batches import openai_files, provider
from fathom.run.batches.anthropic_messages import AnthropicMessages
from fathom.run.batches.google_files import GoogleFiles
from fathom.run.batches.openai_files import OpenAIFiles
from fathom.run.batches.provider import lines_of, read_line
from fathom.run.batches.session import BatchSession
from fathom.runfile import batches
from fathom.runfile.batches import number_of
from fathom.types import FathomError

pytestmark = [
    pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:Inheritance class AiohttpClientSession:DeprecationWarning"),
]
KINDS = (OpenAIServer, AnthropicServer, GoogleServer)
SENDERS: Mapping[type[BatchServer], Any] = dict(zip(KINDS, (OpenAIFiles, AnthropicMessages, GoogleFiles), strict=True))


@pytest.fixture(autouse=True)
def prices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "prices.toml").write_text(PRICES)
    monkeypatch.setenv("FATHOM_PRICES", str(tmp_path / "prices.toml"))
    monkeypatch.setattr(opening, "PACE", FAST)


@pytest.fixture(
    params=[KINDS[0], *(pytest.param(kind, marks=pytest.mark.long) for kind in KINDS[1:])], ids=lambda kind: kind.model
)
def kind(request: pytest.FixtureRequest) -> type[BatchServer]:
    """Each provider whose library is installed."""
    server: type[BatchServer] = request.param
    pytest.importorskip({AnthropicServer: "anthropic", GoogleServer: "google.genai"}.get(server, "openai"))
    return server


@pytest.mark.slow
@pytest.mark.parametrize("first", [True, False], ids=["before", "after"])
def test_a_failure_beside_the_answer_of_one_request_costs_nothing(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch, first: bool
) -> None:
    download = kind.download

    def doubled(self: BatchServer, made: Made) -> list[tuple[str, str, dict[str, Any]]]:
        outcomes = download(self, made)
        failures = [(name, failure, body) for failure in ("busy", "refused") for name, _, body in outcomes]
        return failures + outcomes if first else outcomes + failures

    monkeypatch.setattr(kind, "download", doubled)
    with kind() as server:
        ask(tmp_path, server, count=4)
        check(tmp_path, server, 4)
    assert len(server.batches) == 1


LINES: Mapping[str, Callable[[bytes], bytes]] = {
    "broken": lambda line: line[: len(line) // 2] + b"\n",
    "no_text": lambda line: line.replace(b"answer", b"\xff\xfe"),
    "zeros": lambda line: b"\0" * len(line) + b"\n",
    "deep": lambda line: line[:-2] + b', "more": ' + b"[" * 200_000 + b"\n",
    "list": lambda line: b"[" + line[:-1] + b"]\n",
    "long_id": lambda line: re.sub(rb'(fathom-\w{20}-)\d+"', rb"\g<1>" + b"2" * 5_000 + b'"', line),
    "too_large": lambda line: line[:-2] + b', "more": "' + b"x" * 3_000 + b'"}\n',
}


@pytest.mark.slow
@pytest.mark.parametrize("spoil", list(LINES))
def test_a_line_that_cannot_be_read_costs_its_sample_only(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch, spoil: str
) -> None:
    line = kind._line  # type: ignore[attr-defined]

    def spoiled(self: BatchServer, outcome: tuple[str, str, dict[str, Any]]) -> bytes:
        right: bytes = line(self, outcome)
        return LINES[spoil](right) if outcome[0].endswith("-2") else right

    lines: list[str] = []
    with kind() as server:
        with monkeypatch.context() as patch:
            patch.setattr(kind, "_line", spoiled)
            patch.setattr(provider, "MOST_BYTES", 2_000)
            ask(tmp_path, server, count=4, tell=lines.append)
        stored = {row.item: row.reply for row in replies(tmp_path / "run")}
        assert {item: reply.status for item, reply in stored.items() if reply.status != "ok"} == {"item2": "error"}
        (kept,) = (tmp_path / "run").glob("batches.*.results.jsonl")
        assert str(kept) in stored["item2"].error
        assert any("3 of 4 answered" in line and str(kept) in line for line in lines)
        assert len(server.batches) == 1
        # Whether it is paid again is for the user to say: by running it again.
        ask(tmp_path, server)
        assert [len(made.requests) for made in server.batches] == [4, 1]
    assert {row.reply.status for row in replies(tmp_path / "run")} == {"ok"}


@pytest.mark.slow
def test_a_number_of_thousands_of_digits_costs_nothing(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    line = kind._line  # type: ignore[attr-defined]

    def spoiled(self: BatchServer, outcome: tuple[str, str, dict[str, Any]]) -> bytes:
        digits = b"9" * 5_000
        right: bytes = line(self, outcome)
        return right.replace(b"1002", digits) if outcome[0].endswith("-2") else right

    monkeypatch.setattr(kind, "_line", spoiled)
    with kind() as server:
        ask(tmp_path, server, count=4)
    assert len(server.batches) == 1
    assert all(row.reply.text.startswith("answer") for row in replies(tmp_path / "run"))


@pytest.mark.slow
def test_a_batch_whose_only_line_cannot_be_read_ends(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kind, "_line", lambda self, outcome: b"\xff\n")
    with kind() as server, pytest.raises(FathomError, match="the only sample failed"):
        ask(tmp_path, server, count=1)
    assert len(server.batches) == 1


@pytest.mark.slow
def test_a_batch_that_is_made_without_a_name_is_found(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    create = kind._create  # type: ignore[attr-defined]

    def nameless(self: BatchServer, asked: Any) -> tuple[int, bytes]:
        status, body = create(self, asked)
        return status, json.dumps({**json.loads(body), "id": None, "name": None}).encode()

    monkeypatch.setattr(kind, "_create", nameless)
    with kind() as server:
        ask(tmp_path, server, count=4)
        check(tmp_path, server, 4)
    assert len(server.batches) == 1


@pytest.mark.slow
@pytest.mark.parametrize("days", [-2, 2, 400])
def test_a_clock_that_is_wrong_pays_nothing_twice(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch, days: int
) -> None:
    """The process was killed before it knew the name of its batch; there are older ones, and newer ones of others."""
    monkeypatch.setattr(openai_files, "_PAGE", 3)
    monkeypatch.setattr(batches, "time", SimpleNamespace(time=lambda: time.time() + days * 86_400))
    sender, send = SENDERS[kind], SENDERS[kind].send

    async def killed(self: Any, batch: Any, file: Path) -> str:
        await send(self, batch, file)
        raise KeyboardInterrupt

    def others(server: BatchServer, made_days_ago: tuple[float, ...]) -> None:
        for age in made_days_ago:
            body = {"messages": "[sample 100]"}
            made = server.make([(f"x{number}", body) for number in range(4)], {}, "/v1/chat/completions")
            made.created -= age * 86_400
            server.end(made)

    with kind() as server:
        others(server, (9, 8, 7, 6, 5))
        with monkeypatch.context() as patch:
            patch.setattr(sender, "send", killed)
            with pytest.raises(FathomError, match="batches that were sent go on at the provider"):
                ask(tmp_path, server, count=4)
        others(server, (0.3, 0.2, 0.1, 0.05))
        ask(tmp_path, server)
        assert len(server.batches) == 10
    assert {row.reply.status for row in replies(tmp_path / "run")} == {"ok"}


@pytest.mark.slow
def test_results_are_kept_until_they_are_read(
    tmp_path: Path, kind: type[BatchServer], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, kept = BatchSession.keep, list[object]()

    async def killed(self: BatchSession, asked: Any, *rest: Any) -> Any:
        kept.append(asked)
        if len(kept) == 3:
            raise KeyboardInterrupt
        return await keep(self, asked, *rest)

    with kind() as server:
        with monkeypatch.context() as patch:
            patch.setattr(BatchSession, "keep", killed)
            with pytest.raises(FathomError, match="interrupted"):
                ask(tmp_path, server, count=4)
        assert len(list(replies(tmp_path / "run"))) == 2
        monkeypatch.setattr(server, "answer", lambda *request: (404, b'{"error": {"message": "deleted"}}'))
        ask(tmp_path, server)  # the provider has nothing any more
        check(tmp_path, server, 4)
    assert not list((tmp_path / "run").glob("*.results.*"))


def test_lines_are_read_in_linear_time() -> None:
    async def parts() -> AsyncIterator[bytes]:
        for _ in range(300):
            yield b"x" * 65_536
        yield b"\n\nlast"

    async def read() -> list[int]:
        return [start if start else len(line) async for start, line in lines_of(parts())]

    began = time.process_time()
    assert asyncio.run(read()) == [300 * 65_536, 300 * 65_536 + 1, 300 * 65_536 + 2]
    assert time.process_time() - began < 2  # 20 MB; joined anew for each piece, it takes 10 times as long


def test_a_line_that_is_too_long_is_not_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider, "MOST_BYTES", 1_000)

    async def parts() -> AsyncIterator[bytes]:
        yield b"x" * 900
        yield b"y" * 5_000 + b"\n" + b"z" * 5_000

    async def read() -> list[bytes]:
        return [line async for _, line in lines_of(parts())]

    long, other = asyncio.run(read())
    assert (len(long), len(other)) == (1_001, 1_001)
    assert "longer than" in str(read_line(long))
    assert read_line(b'{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("end", ["", "x", "-1", "1" * 10, "1" * 5_000, "٣", "²"])
def test_ids_with_other_numbers_are_of_no_request(end: str) -> None:
    assert number_of("fathom-0", f"fathom-0-{end}") is None


@pytest.mark.slow
def test_a_folder_that_is_removed_while_a_batch_is_under_way_costs_nothing(
    tmp_path: Path, kind: type[BatchServer]
) -> None:
    def remove(line: str) -> None:
        if " sent; " in line:
            shutil.rmtree(tmp_path / "run")

    with kind() as server:
        with pytest.raises(FathomError, match=r"was removed, moved or replaced.*All that was paid for is kept in"):
            ask(tmp_path, server, count=4, tell=remove)
        (kept,) = tmp_path.glob("run.kept-*")
        kept.rename(tmp_path / "run")
        ask(tmp_path, server)
        check(tmp_path, server, 4)
    assert len(server.batches) == 1
