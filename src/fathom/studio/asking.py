"""Asks models for the studio, through the clients of ``fathom.run``: many prompts, and replies that are JSON.

A reply is data from a stranger: it is parsed strictly, and what does not parse is reported, never repaired.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from fathom.models.clients import negotiation_of, open_client
from fathom.models.loop import drive
from fathom.models.prices import cost_of, find_price, total_cost
from fathom.models.protocol import Call, Client, Settings
from fathom.models.settings import AskSettings
from fathom.run.engine import Engine, ignore, terms_of
from fathom.run.options import check_settings
from fathom.run.preflight import sent_cap
from fathom.run.queue import Queue, Queued
from fathom.run.server_facts import explaining
from fathom.score.dialects import without_reasoning
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import AnswerKind, FathomError, Json, Reply

MOST_REPLY = 1_000_000
"""Maximum characters of a reply that is parsed."""
_DEFAULTS = AskSettings()
_FENCE = re.compile(r"^[ \t]*```[ \t]*(?:json)?[ \t]*$", re.IGNORECASE | re.MULTILINE)


class UnreadableReplyError(FathomError):
    """A reply does not have the requested form; the message says what is wrong."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """One request to a model.

    Attributes:
        key: Its name; with the seed and the repetition it decides what baselines answer at random.
        answer: The kind of answer that it asks for; used by offline baselines only.
        repetition: Number of the repetition, from 1, for several replies to one prompt.
    """

    key: str
    text: str
    answer: AnswerKind = "words"
    repetition: int = 1


@dataclass(frozen=True, slots=True)
class Answer:
    """The reply to a prompt.

    Attributes:
        reply: The reply; its status says whether there is one.
        cost: US dollars; None if unknown.
        notes: What its server was found to refuse since the last answer.
    """

    prompt: Prompt
    reply: Reply
    cost: float | None
    notes: tuple[str, ...] = ()

    @property
    def was_sent(self) -> bool:
        """Whether the prompt was sent at all; it is not beyond a limit of cost."""
        return self.reply.attempts > 0

    @property
    def text(self) -> str:
        """The reply without reasoning."""
        return without_reasoning(self.reply.text).strip()


@dataclass(frozen=True, slots=True)
class Asking:
    """How a model is asked.

    Attributes:
        model: ``PROVIDER/NAME`` as in Inspect, or an offline baseline.
        settings: How. The cap on replies is by default that of the request, plus room for reasoning if the model is
            known to reason; at the cost no further request is sent.
    """

    model: str
    settings: AskSettings = _DEFAULTS

    def __post_init__(self) -> None:
        check_settings(self.client_settings())

    def client_settings(self) -> Settings:
        """The settings of the client."""
        given = self.settings
        return Settings(
            model=self.model,
            temperature=given.temperature,
            seed=given.seed,
            max_output_tokens=given.max_output_tokens,
            base_url=given.base_url,
            chosen_temperature=given.temperature is not None,
        )


def limited(asking: Asking, max_cost: float | None, costs: Iterable[float | None]) -> Asking:
    """A model that is asked again, with what earlier requests left of a limit of cost.

    Args:
        max_cost: The limit of all requests, in US dollars; None for none.
        costs: What each earlier request cost; None where it is unknown, such as after a failure, counts as nothing.
    """
    if max_cost is None:
        return asking
    left = max(0.0, max_cost - sum(filter(None, costs)))
    return replace(asking, settings=asking.settings.but(max_cost=left))


def ask_model(
    asking: Asking,
    prompts: Sequence[Prompt],
    *,
    cap: int,
    answered: Callable[[Answer], None] | None = None,
) -> list[Answer]:
    """Send prompts to a model.

    Args:
        asking: The model and how it is asked.
        cap: Output cap in tokens of a reply without reasoning.
        answered: Called with each answer as it comes.

    Returns:
        The answers in the order of the prompts; those that were not sent or failed have the status ``error``.

    Raises:
        FathomError: The model is unknown, or the server is unreachable or denies all requests. Answers so far have been
            passed to ``answered``.
    """
    client = open_client(asking.client_settings(), lambda: get_tokenizer("words"))  # for windows of baselines
    return drive(_ask_all(client, asking, prompts, cap, answered or ignore))


async def _ask_all(
    client: Client, asking: Asking, prompts: Sequence[Prompt], cap: int, answered: Callable[[Answer], None]
) -> list[Answer]:
    price, most = find_price(asking.model, asking.settings.base_url), asking.settings.max_cost
    sent = sent_cap(asking.client_settings(), price)(cap)
    engine = Engine(client, terms_of(asking.settings, client, price))
    answers: dict[int, Answer] = {}
    noted: tuple[str, ...] = ()
    spent = 0.0

    def check_limit() -> None:
        if most is not None and spent >= most:
            engine.stop = f"not sent: ${spent:,.2f} spent, `max_cost` is ${most:,.2f}"

    async def send(queued: Queued[tuple[int, Prompt]]) -> None:
        nonlocal spent, noted
        number, prompt = queued.job
        call = Call(prompt.key, prompt.repetition, asking.settings.seed, sent, answer=prompt.answer)
        reply = await engine.ask(prompt.text, call)
        new = tuple(note for note in negotiation_of(client).describe() if note not in noted)
        noted += new
        answer = answers[number] = Answer(prompt, reply, cost_of(reply, price), new)
        spent += answer.cost or 0.0
        check_limit()
        answered(answer)

    check_limit()
    try:
        async with explaining(client):
            await engine.work_through(Queue(enumerate(prompts), lambda job: "", 0), send)
    except FathomError as error:
        raise FathomError(f"{asking.model}: {error}") from None
    finally:
        await client.close()
    unsent = Reply(status="error", attempts=0, error=engine.stop)
    return [answers.get(number) or Answer(prompt, unsent, 0.0) for number, prompt in enumerate(prompts)]


def read_json(reply: str) -> Json:
    """The JSON value that a reply is, alone or in one fenced block between sentences.

    Raises:
        UnreadableReplyError: It is not JSON, or has other text around it without a fence, a name twice in an object, or
            numbers that JSON does not have.
    """
    if not reply.strip():
        raise UnreadableReplyError("the reply is empty")
    if len(reply) > MOST_REPLY:
        raise UnreadableReplyError(f"the reply has {len(reply):,} characters; at most {MOST_REPLY:,} are read")
    fences = list(_FENCE.finditer(reply))
    text = reply[fences[0].end() : fences[-1].start()] if len(fences) > 1 else reply
    try:
        value: Json = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except RecursionError:
        raise UnreadableReplyError("the reply is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise UnreadableReplyError(f"the reply is not JSON alone: {error}") from None
    return value


def read_list(reply: str, name: str, *, most: int, empty: bool = True) -> list[Json]:
    """The list in a reply that is a JSON object with one field.

    Args:
        most: Maximum length of the list.
        empty: Whether it may be empty.

    Raises:
        UnreadableReplyError: The reply is something else.
    """
    value = read_json(reply)
    if not isinstance(value, dict) or set(value) != {name}:
        raise UnreadableReplyError(f'expected an object with the field "{name}" only')
    listed = value[name]
    if not isinstance(listed, list) or not (listed or empty):
        raise UnreadableReplyError(f"{name}: expected a list" + ("" if empty else " of at least one"))
    if len(listed) > most:
        raise UnreadableReplyError(f"{name}: {len(listed):,} of them; at most {most} are read")
    return listed


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise UnreadableReplyError("the reply names a field twice")
    return fields


def _no_constant(name: str) -> None:
    raise UnreadableReplyError(f"the reply contains {name}, which is not JSON")


def failure_of(answer: Answer) -> str:
    """Why an answer cannot be read; "" if it can."""
    reply = answer.reply
    if reply.status == "incomplete":
        return "the reply reached the output cap; raise `max_output_tokens`"
    if reply.status != "ok":
        return reply.error or f"the request ended as {reply.status}"
    return "" if answer.text else "the reply is empty"


@dataclass(frozen=True, slots=True)
class AskPlan:
    """What is ahead: requests, and the most that they cost.

    Attributes:
        tokens_in: Tokens of all prompts, about.
        cost_most: US dollars if every reply reaches its cap; None if a price is unknown.
    """

    models: tuple[str, ...]
    requests: int
    tokens_in: int
    cost_most: float | None

    def __str__(self) -> str:
        """One line."""
        cost = "of unknown price" if self.cost_most is None else f"at most ${self.cost_most:,.2f}"
        names = ", ".join(self.models)
        return f"{self.requests:,} requests to {names}: about {self.tokens_in:,} tokens of prompts, {cost}"


def plan_requests(models: Sequence[Asking], tokens: Sequence[int], *, cap: int) -> AskPlan:
    """What is ahead if every model gets some prompts.

    Args:
        tokens: Tokens of each prompt, about.
        cap: Output cap of a reply without reasoning.
    """
    costs = []
    for asking in models:
        price = find_price(asking.model, asking.settings.base_url)
        sent = sent_cap(asking.client_settings(), price)(cap)
        costs += [0.0 if price.is_free else price.cost(count, sent) for count in tokens]
    names = tuple(asking.model for asking in models)
    return AskPlan(names, len(models) * len(tokens), len(models) * sum(tokens), total_cost(costs))
