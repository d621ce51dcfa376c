"""How the samples of a task are asked: where replies end, whether a chat template is used, and a second request."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from fathom.registry import task_name, tasks
from fathom.run.model import CHAT_TEMPLATES, ChatTemplate
from fathom.types import AnswerKind, FathomError, Reply, Sample


@dataclass(frozen=True, slots=True)
class Manner:
    """How the samples of one task are asked.

    Attributes:
        stop: Texts at which a reply ends.
        tell: Whether the model may be told so; a reply is cut there in any case.
        continued: Whether prompts go to the model as they are, without a chat template.
        endless: Whether replies have no end of their own, as continuations of a text have none: one that reaches the
            output cap is whole.
        capped: Whether the output cap that is sent is part of the task: an answer that reaches it is whole.
        follow_up: The second prompt, given the first reply and the sample; None where one request is all.
        second_cap: Output cap of the second request; None for that of the first.
        answer: The kind of answer that is asked for, in the second request where there are two.
    """

    stop: tuple[str, ...] = ()
    tell: bool = True
    continued: bool = False
    endless: bool = False
    capped: bool = False
    follow_up: Callable[[str, Sample], str] | None = None
    second_cap: int | None = None
    answer: AnswerKind = "words"

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

    def caps(self, first: int) -> tuple[int, ...]:
        """Output caps of all requests for one sample, given that of the first."""
        return (first, first if self.second_cap is None else self.second_cap)[: self.requests]

    @property
    def answers(self) -> tuple[AnswerKind, ...]:
        """The kinds of answer that all requests for one sample ask for; the first of two asks for thoughts."""
        return ("words", self.answer)[-self.requests :]


Manners: TypeAlias = Callable[[str], Manner]
Thoughts: TypeAlias = Literal["", "native", "visible"]
PLAIN = Manner()


def manners(
    chat_template: ChatTemplate,
    *,
    reasons: bool,
    sent: Callable[[int], int] = lambda cap: cap,
    thoughts: Thoughts = "",
) -> Manners:
    """How samples are asked, by task name.

    Args:
        chat_template: See ``Settings``.
        reasons: Whether the model is expected to reason. It is then not told where replies end: its thoughts would end
            there too, and hosted reasoning models refuse to be told.
        sent: The output cap that is sent, given a task's own. Only where they are equal is a reply whole that reaches
            it: another cap is the user's choice, or has room for thoughts.
        thoughts: Whether the run is one with thinking, and then whether the model reasons natively or its thoughts are
            visible, because the prompt asks for them. No cap is then the task's own, and what ends an answer does not
            end visible thoughts.

    Returns:
        A function from task name to manner; a task that is not installed is asked plainly.
    """
    known = tasks()

    def manner(name: str) -> Manner:
        task = known.get(task_name(name))
        if task is None:
            return Manner(continued=chat_template == "never", endless=chat_template == "never")
        continued = chat_template == "never" or (chat_template == "by-task" and task.continued)
        own = (task.max_output_tokens, *(() if task.follow_up_tokens is None else (task.follow_up_tokens,)))
        return Manner(
            stop=() if thoughts == "visible" else task.stop,
            tell=not reasons,
            continued=continued,
            endless=continued or task.continued,
            capped=task.capped and not thoughts and all(sent(cap) == cap for cap in own),
            follow_up=task.follow_up,
            second_cap=None if task.follow_up_tokens is None else sent(task.follow_up_tokens),
            answer=task.answer,
        )

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
    A reply that ran into the output cap after its end, or that has no end of its own, is whole; so is an answer to a
    task whose cap is part of it.
    """
    if reply.status not in ("ok", "incomplete"):
        return reply
    if not reply.text:
        # A completions server hides no thoughts: nothing but white space up to the cap is all that was said.
        blank = manner.continued and reply.stop == "max_tokens" and not reply.reasoning
        return replace(reply, status="ok", error="") if blank else reply
    places = [place for text in manner.stop if text and (place := reply.text.find(text)) >= 0]
    if places:
        return replace(reply, text=reply.text[: min(places)], status="ok", stop="stop", error="")
    if manner.endless:
        return replace(reply, status="ok", error="")
    return answered_to_cap(reply) if manner.capped else reply


def answered_to_cap(reply: Reply) -> Reply:
    """A reply to a task whose output cap is part of it (``Task.capped``), stopped at that cap.

    It is whole if it shows text and all its tokens were text: thoughts take of them, so that a reply that holds any is
    as incomplete as elsewhere.
    """
    thought = bool(reply.reasoning or reply.tokens_reasoning)
    if reply.status != "incomplete" or reply.stop != "max_tokens" or not reply.text or thought:
        return reply
    return replace(reply, status="ok", error="")


def together(first: Reply, second: Reply) -> Reply:
    """Two requests as one reply: the second, with the first as its reasoning.

    Args:
        first: The reply to the sample's own prompt, with visible text.
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
