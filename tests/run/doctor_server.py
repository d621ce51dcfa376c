"""A server on the loopback whose model finds code words, counts and writes; each of its faults can be switched on.

A token is a word with what follows it, so that there are about as many as of fathom's tokenizer.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from scripted_server import Act, ScriptedServer, refusal

from engine_calls import choose
from fathom.run import doctor
from fathom.run.doctor import Diagnosis

OF_THE_EXAMINATION = ("timeout", "backoff", "rng", "confirm", "progress")
PIECE = re.compile(r"\w{1,6}\s*|[^\w\s]\s*|\s+")


def examine(model: str, **options: Any) -> Diagnosis:
    """Examine a model, with options of a run and of the examination."""
    own = {name: options.pop(name) for name in OF_THE_EXAMINATION if name in options}
    url = options.get("model_base_url")
    return doctor.examine(choose(model, **options), given={"--model-base-url": (url,)} if url else {}, **own)


@dataclass(frozen=True)
class Faults:
    """What the server does; by default everything is right.

    Attributes:
        window: Tokens that the model really reads, prompt and reply together.
        said: The window in the list of models; None to say nothing.
        over: What happens to longer prompts: ``refuse`` with an error, or the part that is dropped.
        usage: ``right``, ``none``, ``constant``, ``before`` (counted before the prompt is truncated) or ``prompt``.
        names: Names of the models.
        strict: Whether other names are refused.
        listed: Whether there is a list of models.
        key: The key that is needed; "" for none.
        prefix: Path of the API.
        temperature: Whether temperature 0 is accepted.
        equal: ``always``, ``alone`` (requests at once get other replies) or ``never``.
        reasoning: "", ``field`` or ``tags``.
        cap: ``obeyed``, ``ignored`` or ``unmarked`` (it is obeyed, and not said).
        stop: ``obeyed``, ``ignored`` or ``refused``.
        chat: Whether there is a chat protocol.
        completions: Whether there is a completions protocol.
        logprobs: Whether completions return log-probabilities of prompts.
        able: Whether the model finds code words.
        forgets: A code word by number that the model overlooks in prompts of more than 2,000 tokens; 0 for none.
        act: What every request gets instead; None for an answer.
        crash: Tokens of a prompt after which the server answers nothing; 0 for never.
    """

    window: int = 8192
    said: int | None = 8192
    over: str = "refuse"
    usage: str = "right"
    names: tuple[str, ...] = ("tiny",)
    strict: bool = True
    listed: bool = True
    key: str = ""
    prefix: str = "/v1"
    temperature: bool = True
    equal: str = "always"
    reasoning: str = ""
    cap: str = "obeyed"
    stop: str = "obeyed"
    chat: bool = True
    completions: bool = True
    logprobs: bool = True
    able: bool = True
    forgets: int = 0
    act: Act | None = None
    crash: int = 0


class DoctorServer(ScriptedServer):
    """Runs in a thread; use as a context manager."""

    def __init__(self, faults: Faults | None = None) -> None:
        super().__init__()
        self.faults = faults or Faults()
        self.bodies: list[dict[str, Any]] = []
        self.paths: list[str] = []
        self.crashed = False

    def __enter__(self) -> DoctorServer:
        super().__enter__()
        return self

    @property
    def address(self) -> str:
        """Its address without a path."""
        return self.base_url.removesuffix("/v1")

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        size = int(next(iter(re.findall(r"(?i)content-length: (\d+)", head)), "0"))
        sent = await reader.readexactly(size)
        method, path, _ = head.split(" ", 2)
        self.paths.append(f"{method} {path}")
        self.headers.append(head)
        self.in_flight += 1
        act = self.faults.act
        if act is None and not self.crashed:
            body = json.loads(sent) if sent else {}
            await asyncio.sleep(0.05 if self.faults.equal == "alone" else 0)
            act = self._answer(path, body, head)
        self.in_flight -= 1
        if act is None or act.reset:
            writer.transport.abort()
            return False
        if act.hang:
            await asyncio.sleep(3600)
        payload = act.body if isinstance(act.body, bytes) else json.dumps(act.body).encode()
        headers = {"Content-Type": "application/json", "Content-Length": str(len(payload)), **act.headers}
        lines = [f"HTTP/1.1 {act.status} Made", *(f"{name}: {value}" for name, value in headers.items())]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + payload)
        await writer.drain()
        return True

    def _answer(self, path: str, body: dict[str, Any], head: str) -> Act | None:
        faults = self.faults
        if faults.key and f"authorization: bearer {faults.key}\r\n".lower() not in head.lower():
            return refusal(401, "Incorrect API key provided")
        known = {f"{faults.prefix}/models"} if faults.listed else set()
        known |= {f"{faults.prefix}/chat/completions"} if faults.chat else set()
        known |= {f"{faults.prefix}/completions"} if faults.completions else set()
        if path not in known:
            return refusal(404, "Not Found")
        if path.endswith("/models"):
            window = {"max_model_len": faults.said} if faults.said else {}
            return Act(
                body={"object": "list", "data": [{"id": name, "object": "model", **window} for name in faults.names]}
            )
        self.bodies.append(body)
        if faults.strict and body["model"] not in faults.names:
            return refusal(404, f"The model `{body['model']}` does not exist.", code="model_not_found")
        if not faults.temperature and body.get("temperature") == 0:
            return refusal(400, "temperature: must be positive; 0 is not supported with this model")
        if faults.stop == "refused" and body.get("stop"):
            return refusal(400, "stop: not supported")
        return self._say(body, plain="prompt" in body)

    def _say(self, body: dict[str, Any], *, plain: bool) -> Act | None:
        faults = self.faults
        whole = PIECE.findall(body["prompt"] if plain else body["messages"][-1]["content"])
        cap = int(body.get("max_tokens") or body.get("max_completion_tokens") or 16)
        if faults.crash and len(whole) > faults.crash:
            self.crashed = True
            return None
        read = whole
        if len(whole) + cap > faults.window:
            if faults.over == "refuse":
                told = f"This model's maximum context length is {faults.window} tokens. However, you requested "
                return refusal(400, f"{told}{len(whole) + cap} tokens.", code="context_length_exceeded")
            room = faults.window - cap
            half = room // 2
            read = {"left": whole[-room:], "right": whole[:room], "middle": whole[:half] + whole[-half:]}[faults.over]
        if plain and body.get("echo"):
            return _echo(whole) if faults.logprobs else _completion("x", "length", 1, 1)
        text, thoughts = self._reply("".join(read), body), ""
        if faults.reasoning:
            thoughts = "Let me think about it. " * 5
        pieces, finish = PIECE.findall(text), "stop"
        for stop in body.get("stop") or []:
            if faults.stop == "obeyed" and stop in text:
                pieces = PIECE.findall(text[: text.index(stop)])
        spent = len(PIECE.findall(thoughts))
        if spent + len(pieces) > cap and faults.cap != "ignored":
            pieces, thoughts = pieces[: max(0, cap - spent)], "".join(PIECE.findall(thoughts)[:cap])
            finish = "stop" if faults.cap == "unmarked" else "length"
        counts = {"right": len(read), "before": len(whole), "constant": 100, "prompt": len(read)}
        tokens = 12 + counts.get(faults.usage, 0), min(cap, spent + len(pieces))
        usage: object = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)}
        if faults.usage == "none":
            usage = None
        if faults.usage == "prompt":
            usage = {"prompt_tokens": tokens[0]}
        said = "".join(pieces)
        if plain:
            return _completion(said, finish, *tokens, usage=usage)
        message = {"role": "assistant", "content": said}
        if faults.reasoning == "field":
            message["reasoning_content"] = thoughts
        elif faults.reasoning == "tags":
            message["content"] = f"<think>{thoughts}" + (f"</think>{said}" if said else "")
        choice = {"index": 0, "message": message, "finish_reason": finish}
        return Act(body={"id": "x", "object": "chat.completion", "created": 0, "choices": [choice], "usage": usage})

    def _reply(self, read: str, body: dict[str, Any]) -> str:
        faults = self.faults
        words = dict(re.findall(r"Code word (\d): ([A-Z]+)", read))
        if words:
            if len(PIECE.findall(read)) > 2000:
                words.pop(str(faults.forgets), None)
            return ", ".join(words.values()) if faults.able else "I cannot help with that."
        if "Count from 1" in read:
            return "\n".join(map(str, range(1, 101)))
        if "fifty words" in read:
            odd = {"always": "", "alone": str(self.in_flight > 1), "never": str(len(self.bodies))}[faults.equal]
            return " ".join(sha256(f"{odd}{n}".encode()).hexdigest()[:6] for n in range(50))
        return "OK."


def _completion(text: str, finish: str, tokens_in: int, tokens_out: int, **more: object) -> Act:
    usage = {"prompt_tokens": tokens_in, "completion_tokens": tokens_out, "total_tokens": tokens_in + tokens_out}
    logprobs = {"tokens": [" "], "token_logprobs": [-0.5], "text_offset": [0]}
    choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": logprobs}
    return Act(body={"object": "text_completion", "choices": [choice], "usage": usage, **more})


def _echo(tokens: list[str]) -> Act:
    logprobs = [None, *[-0.5] * len(tokens)]
    choice = {"index": 0, "text": "".join(tokens) + " ", "finish_reason": "length"}
    return Act(body={"choices": [{**choice, "logprobs": {"tokens": [*tokens, " "], "token_logprobs": logprobs}}]})
