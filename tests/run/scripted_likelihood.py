"""A completions server on the loopback whose model knows the stories of ``order_suites``, in many dialects.

A token is a word or the space between two. A word is likely where it comes next in its story, and unlikely elsewhere.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from scripted_server import Act, ScriptedServer

SPACE, NEXT, ELSE = -0.125, -0.5, -4.0

Answer = Callable[[Mapping[str, Any]], Act]
# Given the request and how often this text was asked before: what to do instead of answering, or None.
Fault = Callable[[Mapping[str, Any], int], Act | None]


def tokens_of(text: str) -> list[str]:
    """Words, and what stands between them."""
    return re.findall(r"\s+|\S+", text)


def logprobs_of(tokens: list[str]) -> list[float | None]:
    """What the model thinks of each token after all that stand before it."""
    found: list[float | None] = []
    last = ""
    for token in tokens:
        if token.isspace():
            found.append(SPACE)
            continue
        found.append(NEXT if _follows(last, token) else ELSE)
        last = token
    return [None, *found[1:]]


def _follows(last: str, word: str) -> bool:
    ends = [re.fullmatch(r"s(\d+)p(\d+)w(\d+)", text) for text in (last, word)]
    if not all(ends):
        return False
    (story, piece, place), (story_b, piece_b, place_b) = ([int(n) for n in end.groups()] for end in ends if end)
    return story == story_b and (piece_b - piece, place_b - place) in ((0, 1), (1, -5))


def answer(choice: Mapping[str, object], tokens: int) -> Act:
    """A completion with one choice."""
    usage = {"prompt_tokens": tokens, "completion_tokens": 1, "total_tokens": tokens + 1}
    return Act(body={"object": "text_completion", "choices": [{"index": 0, **choice}], "usage": usage})


def written(request: Mapping[str, Any]) -> Act:
    """What a model writes after a word: a space."""
    logprobs = {"tokens": [" "], "token_logprobs": [SPACE], "text_offset": [len(request["prompt"])]}
    return answer({"text": " ", "logprobs": logprobs}, len(tokens_of(request["prompt"])))


def echo(request: Mapping[str, Any]) -> Act:
    """A server that echoes prompts with the log-probabilities of their tokens."""
    if not request.get("echo"):
        return written(request)
    tokens = tokens_of(request["prompt"])
    offsets = list(accumulate(map(len, tokens), initial=0))
    logprobs = {"tokens": [*tokens, " "], "token_logprobs": [*logprobs_of(tokens), SPACE], "text_offset": offsets}
    return answer({"text": request["prompt"] + " ", "logprobs": logprobs}, len(tokens))


def shifted(request: Mapping[str, Any]) -> Act:
    """A server whose numbers belong to the token before."""
    act = echo(request)
    if request.get("echo") and isinstance(act.body, dict):
        logprobs = act.body["choices"][0]["logprobs"]
        logprobs["token_logprobs"] = [None, ELSE, *logprobs["token_logprobs"][1:-1]]
    return act


def generated_only(request: Mapping[str, Any]) -> Act:
    """A server that takes ``echo`` and says nothing of the prompt, as llama.cpp's own does."""
    return written(request)


def vllm(request: Mapping[str, Any]) -> Act:
    """A server that knows ``prompt_logprobs``, with a BOS token and tokens that have lost the space before them."""
    if "prompt_logprobs" not in request:
        return written(request)
    tokens = [token for token in tokens_of(request["prompt"]) if not token.isspace()]
    logprobs = [ELSE, *logprobs_of(tokens)[1:]]
    places = [
        {str(place + 5): {"logprob": logprob, "rank": 3, "decoded_token": token}}
        for place, (token, logprob) in enumerate(zip(tokens, logprobs, strict=True))
    ]
    return answer({"text": " ", "logprobs": None, "prompt_logprobs": [None, *places]}, len(tokens) + 1)


class LikelihoodServer(ScriptedServer):
    """A completions server: what it answers, and which requests go wrong."""

    def __init__(self, answers: Answer = echo, fault: Fault = lambda request, before: None) -> None:
        super().__init__()
        self.answers, self.fault = answers, fault
        self.texts: list[str] = []
        self.bodies: list[dict[str, Any]] = []

    def __enter__(self) -> LikelihoodServer:
        super().__enter__()
        return self

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        size = int(next(iter(re.findall(r"(?i)content-length: (\d+)", head)), "0"))
        sent = await reader.readexactly(size)
        if head.startswith("GET "):  # it states nothing of itself
            writer.write(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            return True
        request = json.loads(sent)
        assert head.startswith("POST /v1/completions ")
        before = self.texts.count(request["prompt"])
        self.headers.append(head)
        self.texts.append(request["prompt"])
        self.bodies.append(request)
        act = self.fault(request, before) or self.answers(request)
        if act.delay:
            await asyncio.sleep(act.delay)
        if act.hang:
            await asyncio.sleep(3600)
        payload = act.body.encode() if isinstance(act.body, str) else json.dumps(act.body).encode()
        lines = [f"HTTP/1.1 {act.status} Scripted", "Content-Type: application/json", f"Content-Length: {len(payload)}"]
        lines += [f"{name}: {value}" for name, value in act.headers.items()]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + (payload[: len(payload) // 2] if act.cut else payload))
        await writer.drain()
        return not act.cut
