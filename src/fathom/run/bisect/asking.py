"""Sends the requests of ``fathom bisect`` to one of the two, and reads log-probabilities where there are some."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from fathom.models.answers import checked, to_reply
from fathom.models.chat_client import ChatClient, output_of, read_chat
from fathom.models.clients import open_client
from fathom.models.endpoint import address_of, connect, key_of, name_on_server
from fathom.models.failures import Failure
from fathom.models.local_model import starts_server
from fathom.models.local_server import LocalServer, served_settings
from fathom.models.negotiation import Negotiation, fixed_parameters
from fathom.models.protocol import PROBE, Call, Client, RequestError, Settings
from fathom.models.retry import Retry, request_once
from fathom.models.wire import normalized
from fathom.run.bisect.outcomes import Answer, Ask, Letter
from fathom.run.bisect.prompts import CAP, FACT_CAP, RAW_CAP, REASONING_CAP, prompt_of, words_of
from fathom.run.server_identity import stated_facts
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Reply

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# What is asked for besides the reply, from all to nothing: strict servers refuse fields that they do not know. vLLM
# knows the salt of a cache, llama.cpp whether a prompt may be read from it.
_WAYS: tuple[tuple[str, ...], ...] = (("logprobs", "cache"), ("cache",), ("logprobs",), ())
FRESH = ("vLLM", "llama.cpp")
"""Servers that compute a prompt afresh when they are told so."""
_WAIT_FOR_FACTS = 5.0


class Side:
    """One of the two that are compared.

    Args:
        letter: A or B.
        settings: How it is asked.
        retry: When a request is repeated.
        seed: Of the code words.
        drawn: Drawn for this comparison, so that no cache has a prompt of another one.

    Attributes:
        letter: A or B.
        tokenizer: Counts prompts.
        facts: What its server states of itself, after ``open``.
    """

    def __init__(self, letter: Letter, settings: Settings, retry: Retry, seed: int, drawn: str = "") -> None:
        self.letter, self.tokenizer = letter, get_tokenizer()
        self.facts: Mapping[str, object] = {}
        self._settings, self._retry, self._seed, self._drawn = settings, retry, seed, drawn
        self._server: LocalServer | None = None
        self._http: AsyncOpenAI | None = None
        self._client: Client | None = None
        self._negotiation = Negotiation(fixed_parameters(settings))
        self._way, self._reasons = 0, False

    @property
    def raw(self) -> bool:
        """Whether texts without a chat template may be sent to it."""
        return self._http is not None and self._settings.base_url is not None

    async def open(self) -> None:
        """Connect, start the server of a local model, and ask what it states of itself.

        Raises:
            FathomError: The model is unknown, or its server or library is missing.
        """
        if starts_server(self._settings.model):
            self._server, settings = served_settings(self._settings)
            self._settings = replace(settings, base_url=await asyncio.to_thread(self._server.start))
        model, client = (
            self._settings.model,
            open_client(replace(self._settings, chat_template="always"), get_tokenizer),
        )
        if not isinstance(client, ChatClient):
            self._client = client
            return
        await client.close()  # it keeps no log-probabilities
        self._http = connect(model, address_of(self._settings), key_of(self._settings))
        with suppress(TimeoutError, FathomError):
            async with asyncio.timeout(_WAIT_FOR_FACTS):
                self.facts = await stated_facts(self._http, name_on_server(model))

    async def close(self) -> None:
        """Close the connections, and end the server of a local model."""
        if self._client is not None:
            await self._client.close()
        if self._http is not None:
            await self._http.close()
        if self._server is not None:
            await asyncio.to_thread(self._server.close)

    async def ask(self, ask: Ask) -> Answer:
        """The answer to one request, with retries.

        Raises:
            FathomError: There is no answer now, or none to the first prompts: the server is not there, or denies the
                request. Such a failure says nothing of a difference.
        """
        prompt = await asyncio.to_thread(prompt_of, self._seed, ask, self.tokenizer, self._drawn)
        for attempt in range(1, self._retry.retries + 2):
            answer = await self._once(prompt, ask)
            if isinstance(answer, Answer):
                if ask.calibration and answer.status != "ok":
                    raise self._stopped(answer.error or answer.status)
                return answer
            if answer.kind not in ("busy", "silent") or attempt > self._retry.retries:
                break
            await self._retry.sleep(self._retry.wait(attempt, answer.wait))
        assert isinstance(answer, Failure)
        # A server without texts that need no template denies them.
        temporary = answer.kind in ("silent", "busy", "later") or (answer.kind == "denied" and ask.probe != "raw")
        if ask.calibration or temporary:
            raise self._stopped(answer.message)
        return Answer("overflow" if answer.kind == "overflow" else "error", error=answer.message)

    def _stopped(self, why: str) -> FathomError:
        return FathomError(
            f"{self.letter} ({self._settings.model}): {why.rstrip('.')}. `fathom doctor` says what is wrong; the same "
            "command goes on"
        )

    def resume(self, answer: Answer) -> None:
        """Take into account an earlier answer, which is not asked again."""
        self._reasons = self._reasons or answer.reasons

    async def _once(self, prompt: str, ask: Ask) -> Answer | Failure:
        if self._client is not None:
            if ask.probe == "raw":
                return Failure("bad", "no texts without a chat template")
            reply = await request_once(
                self._client, prompt, Call(PROBE, 1, self._settings.seed, self._cap(ask)), self._retry
            )
            return reply if isinstance(reply, Failure) else self._answer(reply, ask)
        while True:
            failure: Failure
            try:
                async with asyncio.timeout(self._retry.timeout):
                    return await self._negotiation.send(lambda: self._sent(prompt, ask))
            except RequestError as error:
                failure = self._retry.asked_too_much(error.failure)
            except TimeoutError:
                return Failure("silent", f"no reply within {self._retry.timeout:g} seconds (--timeout)")
            if failure.kind != "bad" or self._way == len(_WAYS) - 1 or ask.probe == "raw":
                return failure
            self._way += 1

    async def _sent(self, prompt: str, ask: Ask) -> Answer:
        """Send one request."""
        import httpx2
        from openai import APIStatusError

        assert self._http is not None
        settings, raw = self._settings, ask.probe == "raw" or self._settings.chat_template == "never"
        options: dict[str, Any] = {"max_tokens": self._cap(ask), "seed": settings.seed}
        options |= {} if settings.temperature is None else {"temperature": settings.temperature}
        given = dict(settings.generation)
        more, headers, stops = (given.pop(name, None) for name in ("extra_body", "extra_headers", "stop_seqs"))
        extra: dict[str, Any] = dict(more) if isinstance(more, Mapping) else {}
        options |= given | ({"stop": stops} if stops else {})
        if "cache" in _WAYS[self._way] and settings.base_url is not None:
            extra |= {
                "cache_salt": f"fathom-{self._drawn}-{self._seed}-{self.letter}-{abs(ask.salt)}",
                "cache_prompt": ask.salt <= 0,
            }
        if "logprobs" in _WAYS[self._way]:
            options |= {"logprobs": 1 if raw else True}
        sent = self._negotiation.sent({**options, "extra_body": extra})
        more_sent = sent.pop("extra_body", {})
        body = {"model": name_on_server(settings.model), **sent, **more_sent}
        body |= {"prompt": prompt} if raw else {"messages": [{"role": "user", "content": prompt}]}
        path = "/completions" if raw else "/chat/completions"
        with_headers: Any = {"headers": headers} if headers else {}
        try:
            response = await self._http.post(
                path, cast_to=httpx2.Response, content=json.dumps(body).encode(), options=with_headers
            )
        except APIStatusError as error:
            if (output := output_of(error, settings.model)) is None:
                raise
            return self._answer(to_reply(output), ask)
        return await asyncio.to_thread(self._read, response.content, ask)

    def _read(self, content: bytes, ask: Ask) -> Answer:
        whole = json.loads(content)
        body = normalized(whole)
        choice = whole["choices"][0]
        if "text" in body["choices"][0]:
            usage = body.get("usage") or {}
            text, stop = body["choices"][0]["text"], body["choices"][0]["finish_reason"]
            counted = usage.get("prompt_tokens", -1)
            answer = Answer(text=text, ended=stop != "length", tokens_in=counted if counted > 0 else None)
            if ask.probe == "words":
                answer = replace(answer, found=self._find(text, ask))
        else:
            answer = self._answer(checked(to_reply(read_chat({"model": "", "usage": None, **body}))), ask)
            written = (choice.get("message") or {}).get("content")
            if isinstance(written, str) and answer.status == "ok":  # with the marks of a template, if it has any
                answer = replace(answer, text=written)
        tokens, logprobs = read_logprobs(choice.get("logprobs"))
        return replace(answer, tokens=tokens, logprobs=logprobs)

    def _answer(self, reply: Reply, ask: Ask) -> Answer:
        if reply.status in ("overflow", "error"):
            return Answer("overflow" if reply.status == "overflow" else "error", error=reply.error)
        reasons = bool(reply.reasoning.strip() or reply.tokens_reasoning)
        self._reasons = self._reasons or reasons
        text = "\n".join(filter(None, (reply.reasoning, reply.text)))
        return Answer(
            text=text,
            ended=reply.stop not in ("max_tokens", "length"),
            found=self._find(text, ask) if ask.probe == "words" else (),
            tokens_in=reply.tokens_in,
            cached=reply.tokens_cached,
            reasons=reasons,
        )

    def _find(self, text: str, ask: Ask) -> tuple[bool, ...]:
        upper = text.upper()
        return tuple(word in upper for word in words_of(self._seed, ask))

    def _cap(self, ask: Ask) -> int:
        cap = {"words": CAP, "facts": FACT_CAP, "raw": RAW_CAP}[ask.probe]
        if self._reasons and ask.probe != "raw":
            cap = REASONING_CAP
        return min(cap, self._settings.max_output_tokens or cap)


def read_logprobs(given: object) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """The tokens of a reply and their log-probabilities, of a chat or a text; empty where one is no finite number.

    Args:
        given: ``logprobs`` of a choice.
    """
    if not isinstance(given, Mapping):
        return (), ()
    content = given.get("content")
    if isinstance(content, list):
        pairs = [(part.get("token"), part.get("logprob")) for part in content if isinstance(part, Mapping)]
    else:
        tokens, values = given.get("tokens"), given.get("token_logprobs")
        if not isinstance(tokens, list) or not isinstance(values, list):
            return (), ()
        pairs = list(zip(tokens, values, strict=False))
    read = [(token, float(value)) for token, value in pairs if isinstance(token, str) and _finite(value)]
    if len(read) < len(pairs):
        return (), ()
    return tuple(token for token, _ in read), tuple(value for _, value in read)


def _finite(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
