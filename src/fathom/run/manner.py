"""How the samples of a task are asked: where replies end, whether a chat template is used, and a second request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from fathom.registry import tasks
from fathom.run.model import CHAT_TEMPLATES, ChatTemplate
from fathom.types import FathomError, Reply, Sample


@dataclass(frozen=True, slots=True)
class Manner:
    """How the samples of one task are asked.

    Attributes:
        stop: Texts at which a reply ends.
        tell: Whether the model may be told so; a reply is cut there in any case.
        continued: Whether prompts go to the model as they are, without a chat template.
        endless: Whether replies have no end of their own, as continuations of a text have none: one that reaches the
            output cap is whole.
        follow_up: The second prompt, given the first reply and the sample; None where one request is all.
    """

    stop: tuple[str, ...] = ()
    tell: bool = True
    continued: bool = False
    endless: bool = False
    follow_up: Callable[[str, Sample], str] | None = None

    @property
    def told(self) -> tuple[str, ...]:
        """The texts that the model is told to end at.

        A chat model is not told of mere white space: some providers refuse that, and a model that begins with an empty
        line would say nothing.
        """
        if not self.tell:
            return ()
        return self.stop if self.continued else tuple(text for text in self.stop if text.strip())

    @property
    def requests(self) -> int:
        """Requests for one sample."""
        return 1 if self.follow_up is None else 2


Manners: TypeAlias = Callable[[str], Manner]
PLAIN = Manner()


def manners(chat_template: ChatTemplate, *, reasons: bool) -> Manners:
    """How samples are asked, by task name.

    Args:
        chat_template: See ``Settings``.
        reasons: Whether the model is expected to reason. It is then not told where replies end: its thoughts would end
            there too, and hosted reasoning models refuse to be told.

    Returns:
        A function from task name to manner; a task that is not installed is asked plainly.
    """
    known = tasks()

    def manner(name: str) -> Manner:
        task = known.get(name)
        if task is None:
            return Manner(continued=chat_template == "never", endless=chat_template == "never")
        continued = chat_template == "never" or (chat_template == "by-task" and task.continued)
        return Manner(task.stop, not reasons, continued, continued or task.continued, task.follow_up)

    return manner


def parse_chat_template(name: str) -> ChatTemplate:
    """Read a value of ``--chat-template``.

    Raises:
        FathomError: It is none.
    """
    for known in CHAT_TEMPLATES:
        if name == known:
            return known
    raise FathomError(f"--chat-template {name}: expected one of {', '.join(CHAT_TEMPLATES)}")


def ended(reply: Reply, manner: Manner) -> Reply:
    """The reply up to where replies to the task end.

    Servers leave out the text at which a reply ends; some do not know the option, and models that reason are not told.
    A reply that ran into the output cap after its end, or that has no end of its own, is whole.
    """
    if reply.status not in ("ok", "incomplete") or not reply.text:
        return reply
    places = [place for text in manner.stop if text and (place := reply.text.find(text)) >= 0]
    if places:
        return replace(reply, text=reply.text[: min(places)], status="ok", stop="stop", error="")
    return replace(reply, status="ok", error="") if manner.endless else reply


def together(first: Reply, second: Reply) -> Reply:
    """Two requests as one reply: the second, with the first as its reasoning.

    Args:
        first: The reply to the sample's own prompt, with status ``ok``.
        second: The reply to the follow-up; its status, text and stop reason count.

    Returns:
        The reply with tokens, seconds and attempts of both; a number that one of them lacks is None.
    """
    said = (first.reasoning, first.text, second.reasoning)
    return replace(
        second,
        reasoning="\n\n".join(text for text in said if text.strip()),
        tokens_in=_sum(first.tokens_in, second.tokens_in),
        tokens_out=_sum(first.tokens_out, second.tokens_out),
        tokens_reasoning=_sum(first.tokens_reasoning, second.tokens_reasoning),
        tokens_cached=_sum(first.tokens_cached, second.tokens_cached),
        seconds=first.seconds + second.seconds,
        attempts=first.attempts + second.attempts,
        truncated=first.truncated + second.truncated,
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
