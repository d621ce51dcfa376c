"""The protocol of systems, and what a system is given."""

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

from fathom.models.protocol import Chat, Turn
from fathom.models.request_mode import together
from fathom.run.systems.prompts import SplitPrompt
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import Reply


@dataclass(frozen=True, slots=True)
class Request:
    """One request of a system.

    Attributes:
        prompt: The whole prompt.
        notes: Tokens of the notes that it asks for, at most; None for the request whose reply is the answer.
    """

    prompt: str
    notes: int | None = None


Send: TypeAlias = Callable[[Request], Awaitable[Reply]]
"""Sends one request, retries it as any other, and returns its reply."""


Converse: TypeAlias = Callable[[Chat], Awaitable[Turn]]
"""Sends a conversation, retries it as any other request, and returns what the model says.

A turn without tool calls is an answer: it is truncated at the cap of answers, and at the task's stop sequences.
"""
TURN = 1024
"""Tokens for the words and tool calls of one turn; reasoning comes on top."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a system is to do.

    Attributes:
        prompt: The prompt in three parts; its text is not empty.
        cap: Output cap of the answer, in tokens.
        room: Tokens that a prompt may have beside a reply of so many; None if the window is unknown.
        tokenizer: The suite's tokenizer.
        send: Sends a request.
        language: ISO 639-1 code of the prompt.
        converse: Continues a conversation with tools; None if the client cannot.
        turn_cap: Output cap of a turn that may call tools, in tokens.
    """

    prompt: SplitPrompt
    cap: int
    room: Callable[[int], int | None]
    tokenizer: Tokenizer
    send: Send
    language: str = "en"
    converse: Converse | None = None
    turn_cap: int = TURN


@dataclass(frozen=True, slots=True)
class Forecasted:
    """The most that a system asks for one sample.

    Attributes:
        tokens_in: Tokens of their prompts.
        tokens_out: Tokens of their replies.
        longest: Tokens of the longest prompt.
    """

    requests: int
    tokens_in: int
    tokens_out: int
    longest: int


class System(Protocol):
    """Answers a sample by requests of its own making."""

    def most(self, tokens: int, cap: int, window: int | None) -> Forecasted:
        """The most that it asks for one sample.

        Args:
            tokens: Tokens of the whole prompt.
            cap: Output cap of the answer.
            window: The model's window; None if unknown.
        """
        ...

    async def answer(self, task: Task) -> Reply:
        """Answer one sample."""
        ...


async def answered_by(send: Send, prompt: str, earlier: Reply | None = None) -> Reply:
    """The reply to the last request of a system, with the tokens, the time and the notes of those before it.

    Args:
        earlier: The replies before it (``followed_by``); None if there was none.
    """
    reply = await send(Request(prompt))
    return reply if earlier is None else followed_by(earlier, reply)


def followed_by(earlier: Reply | None, reply: Reply) -> Reply:
    """A reply with the tokens, the time and the texts of those before it; a failed request adds no tokens.

    Servers leave out the tokens of reasoning and of their cache where there are none.

    Args:
        earlier: The replies before it, combined; None if there was none.
        reply: The next one.
    """
    if earlier is None:
        return reply
    if reply.status in ("error", "overflow"):
        reply = replace(reply, tokens_in=reply.tokens_in or 0, tokens_out=reply.tokens_out or 0)
    return replace(
        together(earlier, reply),
        tokens_reasoning=_known(earlier.tokens_reasoning, reply.tokens_reasoning),
        tokens_cached=_known(earlier.tokens_cached, reply.tokens_cached),
        tokens_written=_known(earlier.tokens_written, reply.tokens_written),
    )


def _known(first: int | None, second: int | None) -> int | None:
    return None if first is None and second is None else (first or 0) + (second or 0)


def compactions_of(reply: Reply, prompt: SplitPrompt, fact: str, place: float | None = None) -> int | None:
    """How often a part of the text was compacted before the answer.

    Args:
        reply: The reply of a system.
        prompt: The prompt that it was given.
        place: Where it stands, as a share of the text: of several equal parts the nearest counts; None for the last.

    Returns:
        The number; None without the part.
    """
    text = "".join(unit.heading + unit.text for unit in prompt.units)
    starts = [match.start() for match in re.finditer(re.escape(fact), text)] if fact else []
    if not starts:
        return None
    start = starts[-1] if place is None else min(starts, key=lambda at: abs(at - place * len(text)))
    after = len(text) - start - len(fact)
    return sum(after >= rest for rest in reply.compacted)


def too_long(task: Task, prompt: str, words: str, cap: int | None = None) -> Reply | None:
    """The reply to a prompt that exceeds the window; None if it does not.

    Args:
        task: What is to be done.
        prompt: The whole prompt.
        words: What it has, for the message.
        cap: Output cap of its reply; None for that of the answer.
    """
    cap = task.cap if cap is None else cap
    room = task.room(cap)
    if room is None or (tokens := task.tokenizer.count(prompt)) <= room:
        return None
    reason = f"{words}: {tokens} tokens and a reply of {cap} exceed the window; not sent"
    return Reply(status="overflow", stop="not_sent", attempts=0, error=reason)
