"""Small probes of a model: chat, output cap, stop texts, determinism, completions, log-probabilities.

A probe is a function: it asks what it needs, reads the answers and says what to do. ``PROBES`` lists them in order.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from fathom.models.failures import Failure
from fathom.models.model_settings import ModelSettings
from fathom.models.protocol import PROBE, TINY_PROMPT, Call, Client, Settings
from fathom.models.retry import Retry, request_once
from fathom.run.checks import Check
from fathom.score.dialects import split_reasoning
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import FathomError, Reply

FIRST_CAP, PLAIN_CAP, REASONING_CAP = 512, 96, 2048
"""Output caps: of the first request; of the others; of the others if the model reasons."""
SHORT_CAP = 16
SLACK = 8
"""Characters after a stop text that may belong to the same token."""
COUNTING = "Count from 1 to 100. Write one number on each line, and nothing else."
WRITING = "Write about fifty words on the sea in winter."
REPEATS = 3


@dataclass
class Prober:
    """Sends requests, with retries, and counts them.

    Attributes:
        client: The model.
        settings: How it is asked.
        retry: When a request is repeated.
        tokenizer: Counts prompts.
        sent: Called after every request.
        served_as: Name of the model on its server; "" for other protocols and local models.
        continued: Whether prompts are sent without a chat template.
        reasons: Whether a reply held reasoning.
        requests: Number of requests so far.
        tokens_in: Tokens of their prompts.
        counted: The reply to ``COUNTING``, which the output cap ended.
    """

    client: Client
    settings: Settings
    retry: Retry
    tokenizer: Tokenizer
    sent: Callable[[int], None]
    served_as: str = ""
    continued: bool = False
    reasons: bool = False
    requests: int = 0
    tokens_in: int = 0
    replies: list[Reply] = field(default_factory=list)
    counted: Reply | None = None

    @property
    def cap(self) -> int:
        """Output cap of a short answer."""
        return self.capped(REASONING_CAP if self.reasons else PLAIN_CAP)

    def capped(self, cap: int) -> int:
        """An output cap, or the user's if that is lower."""
        return min(cap, self.settings.max_output_tokens or cap)

    async def ask(self, prompt: str, cap: int, *, stop: tuple[str, ...] = ()) -> Reply | Failure:
        """The reply to a prompt, or why there is none; a prompt that does not fit is a failure too."""
        call = Call(PROBE, 1, self.settings.seed, self.capped(cap), stop, self.continued)
        for attempt in range(1, self.retry.retries + 2):
            self.requests += 1
            self.tokens_in += self.tokenizer.count(prompt)
            answer = await request_once(self.client, prompt, call, self.retry)
            self.sent(self.requests)
            if isinstance(answer, Reply):
                break
            if answer.kind != "busy" or attempt > self.retry.retries:
                return answer
            await self.retry.sleep(self.retry.wait(attempt, answer.wait))
        assert isinstance(answer, Reply)
        if answer.status == "overflow":
            return Failure("overflow", answer.error)
        if answer.status == "refused":
            return Failure("refused", answer.error)
        self.replies.append(answer)
        self.reasons = self.reasons or reasoned(answer)
        return answer


def reasoned(reply: Reply) -> bool:
    """Whether a reply holds reasoning."""
    return bool(reply.reasoning.strip() or reply.tokens_reasoning)


async def first_reply(prober: Prober) -> Reply | Failure:
    """The reply to a tiny prompt, with more room if the first attempt leaves it unfinished."""
    answer = await prober.ask(TINY_PROMPT, FIRST_CAP)
    if isinstance(answer, Reply) and answer.status == "incomplete" and not answer.text:
        again = await prober.ask(TINY_PROMPT, REASONING_CAP)
        return again if isinstance(again, Reply) else answer
    return answer


def chat_check(reply: Reply, name: str) -> Check:
    """The check of the first reply."""
    if reply.text.strip():
        shown = " ".join(reply.text.split())
        return Check(name, "ok", f"replies {shown[:40]!r}{' ...' if len(shown) > 40 else ''}")
    if reasoned(reply):
        return Check(
            name,
            "warning",
            f"replies hold reasoning and no answer within {REASONING_CAP:,} tokens",
            "Give --max-output-tokens with room for reasoning and answer",
        )
    return Check(
        name, "warning", "replies are empty", "Empty replies count 0. Check the server's chat template and log"
    )


async def check_cap(prober: Prober) -> Check:
    """Whether the server obeys the output cap and marks such replies; the prober keeps the reply."""
    name = "output cap"
    answer = await prober.ask(COUNTING, SHORT_CAP)
    if isinstance(answer, Failure):
        return Check(name, "warning", f"a cap of {SHORT_CAP} tokens fails: {answer.message}")
    prober.counted, cap = answer, prober.capped(SHORT_CAP)
    visible = prober.tokenizer.count(f"{answer.reasoning}{answer.text}")
    if (most := max(visible, answer.tokens_out or 0)) > 4 * cap + SHORT_CAP:
        return Check(
            name,
            "warning",
            f"not obeyed: {most:,} tokens came where {cap} were allowed",
            "The forecast of output tokens and costs is no upper limit on this server",
        )
    if answer.stop == "max_tokens":
        return Check(name, "ok", "obeyed, and replies that reach it are marked", "fathom counts them as incomplete")
    if answer.tokens_out == cap or (answer.text.startswith("1") and "\n" in answer.text and visible >= cap - 4):
        return Check(
            name,
            "warning",
            f"replies that reach it are not marked (they end with {answer.stop!r}, not length)",
            "fathom takes them for complete replies: give a --max-output-tokens that is not reached",
        )
    return Check(name, "unknown", "the reply ended before the cap")


async def check_stop(prober: Prober) -> Check:
    """Whether the server ends replies at a stop text: a word of the reply to ``COUNTING``."""
    reply = prober.counted
    name, trims = "stop texts", "fathom ends replies at stop texts in any case"
    if prober.reasons:
        return Check(name, "skipped", "the model reasons", "fathom sends no stop texts to models that reason")
    stop = _stop_in(reply.text) if reply is not None else ""
    if not stop:
        return Check(name, "unknown", "the reply is too short to try one", trims)
    answer = await prober.ask(COUNTING, SHORT_CAP, stop=(stop,))
    if isinstance(answer, Failure):
        return Check(
            name,
            "warning",
            f"refused: {answer.message}",
            "Samples of tasks that send stop texts (samsum) will fail; leave them out with --tasks",
        )
    # Some servers end the reply after the stop text instead of before it.
    ended = reply is not None and len(answer.text.partition(stop)[2]) <= SLACK and len(answer.text) < len(reply.text)
    if stop in answer.text and not ended:
        return Check(name, "warning", "not obeyed", f"{trims}; tokens after them are paid for")
    if reply is not None and reply.text.startswith(answer.text.strip()):
        return Check(name, "ok", "obeyed")
    return Check(name, "unknown", "the reply is another one", trims)


def _stop_in(text: str) -> str:
    """A word of a reply that is not at its start."""
    words = text.split()
    return next(
        (word for word in words[2:] if any(map(str.isalnum, word)) and text.index(word) >= len(words[0])),
        "",
    )


async def check_determinism(prober: Prober) -> Check:
    """Whether equal requests get equal replies: one after another, and at the same time."""
    name, cap = "determinism", FIRST_CAP if prober.reasons else PLAIN_CAP
    alone = [await prober.ask(WRITING, cap) for _ in range(REPEATS)]
    together = await asyncio.gather(*(prober.ask(WRITING, cap) for _ in range(REPEATS)))
    failed = next((answer for answer in [*alone, *together] if isinstance(answer, Failure)), None)
    if failed is not None:
        at_once = not any(isinstance(answer, Failure) for answer in alone)
        if at_once:
            return Check(
                name,
                "warning",
                f"{REPEATS} requests at once fail: {failed.message}",
                "Give --max-connections 1",
                "--max-connections 1",
            )
        return Check(name, "unknown", f"requests failed: {failed.message}")
    one_by_one, at_once_texts = _texts(alone), _texts(together)
    temperature = prober.settings.temperature
    if len(one_by_one) == 1 and one_by_one == at_once_texts:
        return Check(name, "ok", f"{2 * REPEATS} of {2 * REPEATS} equal requests got equal replies")
    if temperature != 0:
        how = "at the provider's temperature" if temperature is None else f"at temperature {temperature:g}"
        return Check(name, "ok", f"replies differ, as is usual {how}", "--epochs 3 shows how much scores vary")
    if len(one_by_one) == 1:
        return Check(
            name,
            "warning",
            "replies are equal one by one, and differ when requests are sent at once (batching)",
            "Scores vary a little between runs: --epochs 3 shows how much, --max-connections 1 avoids it",
        )
    return Check(
        name,
        "warning",
        f"{len(one_by_one)} different replies to {REPEATS} equal requests at temperature 0 with one seed",
        "Scores vary between runs: --epochs 3 shows how much",
    )


def _texts(answers: Sequence[Reply | Failure]) -> set[tuple[str, str]]:
    return {(answer.text, answer.reasoning) for answer in answers if isinstance(answer, Reply)}


def reasoning_check(prober: Prober, *, allowed: bool, entry: ModelSettings | None, similar: Sequence[str]) -> Check:
    """The check of reasoning.

    Args:
        prober: Has the replies.
        allowed: Whether a run adds room for reasoning to the output caps.
        entry: The model's entry in the table of models.
        similar: Similar names in that table.
    """
    name, settings = "reasoning", prober.settings
    kind = f" (the table of models says {entry.kind})" if entry is not None else ""
    if not prober.reasons:
        expected = allowed or (settings.thinking is not None and settings.thinking.native)
        return Check(
            name,
            "warning" if settings.thinking is not None and settings.thinking.native else "ok",
            f"none in {len(prober.replies)} replies{kind}",
            "It is expected: see --thinking-switch" if expected and settings.thinking is not None else "",
        )
    longest = max(len(split_reasoning(reply.text)[1]) + len(reply.reasoning) for reply in prober.replies)
    words = f"replies hold reasoning{kind}" + ("" if longest else ", of which only the length is reported")
    if settings.thinking is not None and not settings.thinking.native:
        return Check(name, "warning", f"{words}, though --thinking off", "See --thinking-switch")
    if settings.max_output_tokens is not None:
        return Check(name, "ok", words, f"It counts towards --max-output-tokens {settings.max_output_tokens}")
    if allowed:
        return Check(name, "ok", words, "fathom adds room for it to each task's output cap")
    known = "; --thinking on or off follows LongBench Pro" if entry is not None and entry.kind != "instruct" else ""
    near = f"; similar names in the table of models: {', '.join(similar)}" if entry is None and similar else ""
    return Check(
        name,
        "warning",
        words,
        "It counts towards each task's output cap: give --reasoning-tokens 16384, which raises the caps by as much"
        + known
        + near,
        "--reasoning-tokens 16384",
    )


async def check_completions(prober: Prober) -> Check | None:
    """Whether prompts can be sent without a chat template; None if all prompts are."""
    from fathom.models.completions import open_continuing_client
    from fathom.models.hugging_face import is_local

    if prober.continued:
        return None
    name, works, settings = "completions", "--chat-template by-task works", prober.settings
    needs = "--chat-template by-task and never need it (LongBench continues some texts)"
    if is_local(settings.model):
        return Check(name, "ok", "a model in this process needs no chat template", works)
    try:
        client = open_continuing_client(replace(settings, chat_template="never"))
    except FathomError as error:
        why = "needs --model-base-url" if settings.base_url is None else str(error).partition(": ")[2]
        return Check(name, "skipped", why, needs)
    other = replace(prober, client=client, continued=True, replies=[])
    try:
        answer = await other.ask("One, two, three,", SHORT_CAP)
    finally:
        prober.requests, prober.tokens_in = other.requests, other.tokens_in
        await client.close()
    if isinstance(answer, Reply):
        return Check(name, "ok", "prompts without a chat template are answered", works)
    return Check(name, "absent", f"not served: {answer.message}", needs)


async def check_logprobs(prober: Prober) -> Check | None:
    """Whether the server returns log-probabilities of prompts; None without a server."""
    from fathom.models.protocol import RequestError
    from fathom.run.likelihood.completions import ADVICE, CompletionsServer

    if not prober.served_as:
        return None
    name, needs = "log-probabilities", "fathom likelihood needs them; nothing else does"
    if prober.settings.base_url is None:
        return Check(name, "skipped", "needs --model-base-url", needs)
    server = CompletionsServer(prober.served_as, prober.settings.base_url, "auto", prober.retry)
    try:
        await server.score("The first day of the week is Monday.")
    except FathomError as error:
        reasons = str(error).replace(f" {ADVICE}", "").partition("cannot score texts (")[2].rstrip(").")
        return Check(name, "absent", f"not returned for prompts ({reasons or error})", needs)
    except RequestError as error:
        return Check(name, "absent", f"not returned: {error.failure.message}", needs)
    finally:
        await server.close()
    return Check(name, "ok", "returned for prompts, and they belong to the right tokens", "fathom likelihood works")


Probe: TypeAlias = Callable[[Prober], Awaitable[Check | None]]
PROBES: tuple[Probe, ...] = (check_cap, check_stop, check_determinism, check_completions, check_logprobs)
"""What is asked after the first reply, in order; a probe that does not concern the model has no check."""
