"""A server of chats and completions on the loopback that does what a script says, and remembers what it was asked.

The script sees the number in the prompt (``[sample 17]``) and how often that number was asked before, so that a test
knows what must come out for each sample.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

# A proxy of the machine must not stand between a test and its server.
os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1"


@dataclass(frozen=True)
class Act:
    """What the server does with one request.

    ``hang`` never answers, ``reset`` breaks the connection off, ``cut`` closes it half-way through the reply, ``delay``
    is in seconds; so is ``pause``, which comes before each event of a stream.
    """

    status: int = 200
    body: object = None
    headers: dict[str, str] = field(default_factory=dict)
    hang: bool = False
    cut: bool = False
    reset: bool = False
    delay: float = 0.0
    pause: float = 0.0


Script = Callable[[int, int], Act]


def completion(
    text: str | None,
    *,
    finish: str = "stop",
    reasoning: str | None = None,
    tokens_in: object = 100,
    tokens_out: object = 5,
    **more: object,
) -> Act:
    """A well-formed reply, unless its counts of tokens are odd or ``more`` takes the place of parts of its body."""
    message: dict[str, object] = {"role": "assistant", "content": text}
    if reasoning is not None:
        message["reasoning_content"] = reasoning
    return Act(
        body={
            "id": "reply",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [{"index": 0, "message": message, "finish_reason": finish}],
            "usage": {
                "prompt_tokens": tokens_in,
                "completion_tokens": tokens_out,
                "total_tokens": 105,
            },
            **more,
        }
    )


def continuation(text: str, *, finish: str = "stop", tokens_in: int = 100, tokens_out: int = 5) -> Act:
    """A well-formed reply of the completions protocol, which knows no chat."""
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": None}
    return Act(body={"id": "reply", "object": "text_completion", "created": 0, "choices": [choice], "usage": usage})


def stream(*pieces: object, usage: dict[str, object] | None = None, pause: float = 0.001, name: str = "content") -> Act:
    """A reply of the chat protocol in pieces; those that are no text are events as they are."""
    opened: object = {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]}
    texts = [
        {"choices": [{"index": 0, "delta": {name: one}, "finish_reason": None}]} if isinstance(one, str) else one
        for one in pieces
    ]
    events = [opened, *texts, *([] if usage is None else [{"choices": [], "usage": usage}])]
    common = {"id": "reply", "object": "chat.completion.chunk", "created": 0, "model": "scripted"}
    lines = [json.dumps({**common, **one}) if isinstance(one, dict) else str(one) for one in events]
    body = "".join(f"data: {line}\n\n" for line in (*lines, "[DONE]"))
    return Act(body=body, headers={"Content-Type": "text/event-stream"}, pause=pause)


def refusal(status: int, message: str, *, code: str | None = None, headers: dict[str, str] | None = None) -> Act:
    """An error in the form that OpenAI's servers and their many likes give it."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": code}
    return Act(status=status, body={"error": error}, headers=headers or {})


def answer_all(number: int, asked_before: int) -> Act:
    """The script of a model that is always well."""
    return completion(f"answer {number}")


class ScriptedServer:
    """Runs in a thread; use as a context manager."""

    def __init__(self, script: Script = answer_all, *, remembers: bool = True) -> None:
        self.script = script
        self.remembers = remembers
        self.prompts: Counter[int] = Counter()
        self.answered: Counter[int] = Counter()
        self.requests: list[dict[str, object]] = []
        self.headers: list[str] = []
        self.texts: list[str] = []
        self.in_flight = self.most_in_flight = 0
        self.base_url = ""
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join()

    def act(self, body: dict[str, Any], number: int, before: int) -> Act:
        """What to do with a request; servers that read whole conversations have their own."""
        return self.script(number, before)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._main())
        finally:
            self._loop.close()

    async def _main(self) -> None:
        self._done = asyncio.Event()
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0, limit=1 << 26)
        self.base_url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        self._ready.set()
        await self._done.wait()
        server.close()
        others = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            with suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        size = int(next(iter(re.findall(r"(?i)content-length: (\d+)", head)), "0"))
        sent = await reader.readexactly(size)
        plain = head.startswith("POST /v1/completions ")
        if not plain and not head.startswith("POST /v1/chat/completions "):
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        body = json.loads(sent)
        prompt = body["prompt"] if plain else body["messages"][-1]["content"]
        if self.remembers:
            self.texts.append(prompt[:3000])
        found = re.search(r"\[sample (\d+)\]", prompt)
        number = int(found[1]) if found else -1
        before = self.prompts[number]
        self.prompts[number] += 1
        if self.remembers:
            self.requests.append({**body, ("prompt" if plain else "messages"): len(prompt)})
            self.headers.append(head)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            act = self.act(body, number, before)
            if act.delay:
                await asyncio.sleep(act.delay)
            if act.hang:
                await asyncio.sleep(3600)
        finally:
            self.in_flight -= 1
        said = act.body if isinstance(act.body, str | bytes) else json.dumps(act.body)
        payload = said.encode() if isinstance(said, str) else said
        if act.reset:
            writer.transport.abort()
            return False
        headers = {"Content-Type": "application/json", "Content-Length": str(len(payload)), **act.headers}
        lines = [f"HTTP/1.1 {act.status} Scripted", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n")
        if act.cut:
            writer.write(payload[: len(payload) // 2])
            await writer.drain()
            return False
        for part in payload.splitlines(keepends=True) if act.pause else [payload]:
            await asyncio.sleep(act.pause)
            writer.write(part)
            await writer.drain()
        self.answered[number] += act.status == 200
        return True
