"""A server on the loopback whose model reads the whole prompt for code words; faults of servers can be switched on.

A token is four characters. What the model writes and the log-probabilities of its tokens depend on what it reads.
"""

from __future__ import annotations

import asyncio
import json
import re
from dataclasses import dataclass
from hashlib import sha256
from random import Random
from typing import Any

from scripted_server import Act, ScriptedServer, refusal

SIZE = 4
"""Characters of a token."""
WORD = re.compile(r"Code word (\d+): ([A-Z]+)")
FACTS = {"capital of France": "Paris", "days has a week": "7", "Repeat exactly": "the green boat left at nine."}


@dataclass(frozen=True)
class Fault:
    """What a server does; by default everything is right.

    Attributes:
        cut: Tokens to which prompts are cut; 0 for never.
        lost: The part that is cut away: ``beginning``, ``middle`` or ``end``.
        hidden: Whether the prompt is counted before it is cut.
        refuse: Tokens from which prompts are refused; 0 for never.
        window: Tokens before the end that the model attends to; 0 for all.
        rope: Tokens up to which positions are right; 0 for all.
        graded: Whether beyond that words are lost more and more, and not all at once.
        stale: Share of the prompts that are computed from a wrong block if the cache has them.
        cache: Noise of log-probabilities at 128k tokens, smaller in proportion to the length's square root.
        weights: Noise of log-probabilities at every length.
        template: Tokens that the template adds less than the right one; None for the right one.
        leaks: Whether replies end with marks of a template.
        weaker: Share of the code words that another model misses; its texts and numbers are others too.
        other: Whether it is another model, which knows other facts.
        characters: Characters of a token, of another tokenizer.
        sampled: Share of the replies that are drawn anew at every request.
        logprobs: Whether log-probabilities are returned.
        counts: Whether the tokens that a cache has are reported.
        salted: Whether the salt of a request is obeyed.
        raw: Whether texts without a chat template are taken.
    """

    cut: int = 0
    lost: str = "beginning"
    hidden: bool = False
    refuse: int = 0
    window: int = 0
    rope: int = 0
    graded: bool = False
    stale: float = 0.0
    cache: float = 0.0
    weights: float = 0.0
    template: int | None = None
    leaks: bool = False
    weaker: float = 0.0
    other: bool = False
    characters: int = SIZE
    sampled: float = 0.0
    logprobs: bool = True
    counts: bool = True
    salted: bool = True
    raw: bool = True


class FakeModel:
    """A model with its server's faults, without a server.

    Args:
        fault: The faults.
        seed: Of what is drawn anew at every request; that of another server must be another one.
    """

    def __init__(self, fault: Fault | None = None, seed: int = 0) -> None:
        self.fault, self.seed = fault or Fault(), seed
        self.requests = 0
        self._cached: dict[tuple[str, str], int] = {}

    def answer(self, body: dict[str, Any]) -> dict[str, Any] | None:
        """The completion; None if the prompt is too long."""
        fault = self.fault
        self.requests += 1
        raw = "prompt" in body
        prompt: str = body["prompt"] if raw else body["messages"][-1]["content"]
        whole = len(prompt) // fault.characters + (0 if raw else 12 - (fault.template or 0))
        if fault.refuse and whole > fault.refuse:
            return None
        read, counted = prompt, whole
        if fault.cut and whole > fault.cut:
            room = fault.cut * fault.characters
            read = {
                "beginning": prompt[-room:],
                "end": prompt[:room],
                "middle": prompt[: room // 2] + prompt[-(room // 2) :],
            }[fault.lost]
            counted = whole if fault.hidden else fault.cut
        cached = self._from_cache(prompt, body)
        text, logprobs = self._write(read, raw=raw, stale=cached > 0)
        tokens = re.findall(r"\s*\S+\s*", text)
        cap = int(body.get("max_tokens") or 16)
        finish = "stop" if len(tokens) <= cap and not (fault.leaks and not raw) else "length"
        details = {"prompt_tokens_details": {"cached_tokens": cached}} if fault.counts else {}
        usage = {"prompt_tokens": counted, "completion_tokens": len(tokens), **details}
        numbers = logprobs[: len(tokens)] if fault.logprobs and body.get("logprobs") else []
        if raw:
            given = {"tokens": tokens, "token_logprobs": numbers} if numbers else None
            choice = {"index": 0, "text": text, "finish_reason": finish, "logprobs": given}
        else:
            content = [{"token": token, "logprob": value} for token, value in zip(tokens, numbers, strict=False)]
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": finish}
            choice |= {"logprobs": {"content": content}} if content else {}
        return {"id": "x", "object": "chat.completion", "created": 0, "choices": [choice], "usage": usage}

    def _from_cache(self, prompt: str, body: dict[str, Any]) -> int:
        """Tokens of the prompt that the cache has; it keeps the prompt for the next."""
        salt = str(body.get("cache_salt", "")) if self.fault.salted else ""
        key = salt, sha256(prompt.encode()).hexdigest()
        cached = self._cached.get(key, 0)
        self._cached[key] = len(prompt) // self.fault.characters
        if self.fault.salted and body.get("cache_prompt") is False:
            return 0
        return cached if len(prompt) > 1000 else 0

    def _write(self, read: str, *, raw: bool, stale: bool) -> tuple[str, list[float]]:
        """What the model writes, and the log-probabilities of its tokens."""
        fault = self.fault
        body = re.sub(r"^Request \w+\.\n\n", "", read)  # a number in front changes nothing
        name = sha256(f"{'other' if fault.other or fault.weaker else ''}{body}".encode()).hexdigest()
        rng = Random(name)
        length = len(read) // SIZE
        drawn = Random(f"{self.seed} {name} {self.requests}") if fault.sampled else rng
        words = self._words(read, Random(f"words {name}"))
        if stale and fault.stale and Random(f"stale {name}").random() < fault.stale:
            words = [(number, word[::-1]) for number, word in words]
        if fault.sampled:
            words = [pair for pair in words if drawn.random() > fault.sampled / 2]
        noise = fault.weights + fault.cache * (length / 131_072) ** 0.5
        noisy = Random(f"noise {name}")
        parts = []
        numbers = []
        for index in range(400):
            close = rng.random()  # how much more likely the token is than the next
            shift = noisy.gauss(0, noise) if noise else 0.0
            shift += drawn.gauss(0, fault.sampled) if fault.sampled else 0.0
            numbers.append(-min(3.0, abs(0.05 + close + shift)))
            if index < len(words):
                number, word = words[index]
                parts.append(f"{number}: {word}" if close / 4 > abs(shift) else f"{number}. {word}")
        if raw:
            text = " ".join(f"{Random(f'{name} {n}').randrange(1000)}" for n in range(16))
        elif fault.rope and not fault.graded and length > fault.rope:
            text = "the the of of " * 6
        elif "Code word" in read or "code words" in read.lower():
            text = "\n".join(parts) or "I found none."
        else:
            text = next((said for asked, said in FACTS.items() if asked in read), "OK.")
            text = f"Perhaps {sum(map(ord, text))}" if fault.other else text
        if fault.template is not None and not raw and fault.leaks:
            text += "\n<|im_end|>\n<|im_start|>user\nAnd now?"
        elif fault.template is not None and not raw:
            text = f"Sure! Here it is: {text}"
        return text, numbers

    def _words(self, read: str, rng: Random) -> list[tuple[str, str]]:
        """The code words that it sees, with their numbers."""
        fault, length = self.fault, len(read) // SIZE
        words = []
        for match in WORD.finditer(read):
            back = (len(read) - match.start()) // SIZE
            lost = rng.random()
            if fault.window and back > fault.window:
                continue
            if (
                fault.rope
                and length > fault.rope
                and (not fault.graded or lost < 0.25 + 0.3 * (length / fault.rope - 1))
            ):
                continue
            if lost < fault.weaker:
                continue
            words.append((match[1], match[2]))
        return words


class BisectServer(ScriptedServer):
    """Runs in a thread; use as a context manager."""

    def __init__(self, fault: Fault | None = None, seed: int = 0) -> None:
        super().__init__()
        self.model, self.name = FakeModel(fault, seed), "tiny"

    def __enter__(self) -> BisectServer:
        super().__enter__()
        return self

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        size = int(next(iter(re.findall(r"(?i)content-length: (\d+)", head)), "0"))
        sent = await reader.readexactly(size)
        _, path, _ = head.split(" ", 2)
        if path.endswith("/models"):
            act = Act(body={"object": "list", "data": [{"id": self.name, "object": "model"}]})
        elif path.endswith("/completions") and (path.endswith("/chat/completions") or self.model.fault.raw):
            answer = self.model.answer(json.loads(sent))
            told = "This model's maximum context length is smaller than the prompt"
            act = refusal(400, told, code="context_length_exceeded") if answer is None else Act(body=answer)
        else:
            act = refusal(404, "Not Found")
        payload = json.dumps(act.body).encode()
        lines = [f"HTTP/1.1 {act.status} Made", "Content-Type: application/json", f"Content-Length: {len(payload)}"]
        writer.write("\r\n".join(lines).encode() + b"\r\n\r\n" + payload)
        await writer.drain()
        return True
