"""How a task's prompts are sent: stop sequences, chat template, and a second request."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from fathom.models.protocol import ChatTemplate
from fathom.suites.registry import task_name, tasks
from fathom.tokens.tokenizers import Tokenizer
from fathom.types import AnswerKind, Reply, Sample


@dataclass(frozen=True, slots=True)
class RequestMode:
    """How the samples of one task are sent.

    Attributes:
        stop: Texts that end a reply.
        tell: Whether to send them to the model; replies are trimmed there in any case.
        continued: Whether prompts are sent without a chat template.
        endless: Whether replies have no natural end, as continuations of a text: one that reaches the output cap is
            complete.
        capped: Whether the output cap sent is part of the task: an answer that reaches it is complete.
        follow_up: The second prompt, given the first reply and the sample; None for a single request.
        second_cap: Output cap of the second request; None for that of the first.
        answer: The kind of answer requested, in the second request if there are two.
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
    def stop_sent(self) -> tuple[str, ...]:
        """The stop sequences to send.

        White space alone is not sent to a chat model: some providers refuse it, and a model that starts with an empty
        line would say nothing.
        """
        if not self.tell:
            return ()
        return self.stop if self.continued else tuple(text for text in self.stop if text.strip())

    @property
    def requests(self) -> int:
        """Number of requests per sample."""
        return 1 if self.follow_up is None else 2

    def caps(self, first: int) -> tuple[int, ...]:
        """Output caps of all requests for one sample, given that of the first."""
        return (first, first if self.second_cap is None else self.second_cap)[: self.requests]

    @property
    def answers(self) -> tuple[AnswerKind, ...]:
        """The kinds of answer that the requests for one sample ask for; the first of two asks for reasoning."""
        return ("words", self.answer)[-self.requests :]


RequestModes: TypeAlias = Callable[[str], RequestMode]
Thoughts: TypeAlias = Literal["", "native", "visible"]
PLAIN = RequestMode()


def request_modes(
    chat_template: ChatTemplate,
    *,
    reasons: bool,
    sent: Callable[[int], int] = lambda cap: cap,
    thoughts: Thoughts = "",
) -> RequestModes:
    """The request mode of each task.

    Args:
        chat_template: See ``Settings``.
        reasons: Whether the model is expected to reason. Stop sequences are then not sent: its reasoning would end
            there too, and hosted reasoning models refuse them.
        sent: The output cap that is sent, given the task's own. A reply that reaches the cap is complete only if they
            are equal: any other cap is the user's choice, or includes room for reasoning.
        thoughts: For a run with thinking, whether the model reasons natively or its thoughts are visible because the
            prompt asks for them. No cap is then the task's own, and stop sequences do not apply to visible thoughts.

    Returns:
        A function from task name to request mode; a task that is not installed gets the default.
    """
    known = tasks()

    def request_mode(name: str) -> RequestMode:
        task = known.get(task_name(name))
        if task is None:
            return RequestMode(continued=chat_template == "never", endless=chat_template == "never")
        continued = chat_template == "never" or (chat_template == "by-task" and task.continued)
        own = (task.max_output_tokens, *(() if task.follow_up_tokens is None else (task.follow_up_tokens,)))
        return RequestMode(
            stop=() if thoughts == "visible" else task.stop,
            tell=not reasons,
            continued=continued,
            endless=continued or task.continued,
            capped=task.capped and not thoughts and all(sent(cap) == cap for cap in own),
            follow_up=task.follow_up,
            second_cap=None if task.follow_up_tokens is None else sent(task.follow_up_tokens),
            answer=task.answer,
        )

    return request_mode


def ended(reply: Reply, request_mode: RequestMode) -> Reply:
    """The reply up to the task's stop sequences.

    Servers omit the stop sequence; some do not support the option, and reasoning models are not sent it. A reply that
    reached the output cap after its end, or has no natural end, is complete; so is an answer to a task whose cap is
    part of it.
    """
    if reply.status not in ("ok", "incomplete"):
        return reply
    if not reply.text:
        # A completions server hides no reasoning: white space up to the cap is the whole reply.
        blank = request_mode.continued and reply.stop == "max_tokens" and not reply.reasoning
        return replace(reply, status="ok", error="") if blank else reply
    places = [place for text in request_mode.stop if text and (place := reply.text.find(text)) >= 0]
    if places:
        return replace(reply, text=reply.text[: min(places)], status="ok", stop="stop", error="")
    if request_mode.endless:
        return replace(reply, status="ok", error="")
    return answered_to_cap(reply) if request_mode.capped else reply


def answered_to_cap(reply: Reply) -> Reply:
    """A reply to a task whose output cap is part of it (``Task.capped``), stopped at that cap.

    It is complete if it has text and all its tokens were text: with reasoning among them it is incomplete, as
    elsewhere.
    """
    thought = bool(reply.reasoning or reply.tokens_reasoning)
    if reply.status != "incomplete" or reply.stop != "max_tokens" or not reply.text or thought:
        return reply
    return replace(reply, status="ok", error="")


def within(reply: Reply, cap: int, tokenizer: Tokenizer) -> Reply:
    """An answer that was given under a larger cap, as its own cap leaves it.

    Args:
        reply: The reply, with its tokens as the server counts them.
        cap: Output cap of the answer.
        tokenizer: Counts and truncates answers for which the server's count is missing or too large.
    """
    short = reply.tokens_out is not None and reply.tokens_out <= cap
    if short or not reply.answered or tokenizer.count(reply.text) <= cap:
        return reply
    reason = "stopped at the output cap inside the answer; raise --max-output-tokens"
    return replace(reply, text=tokenizer.head(reply.text, cap), status="incomplete", stop="max_tokens", error=reason)


def together(first: Reply, second: Reply) -> Reply:
    """Combine two requests into one reply: the second, with the first as its reasoning.

    Args:
        first: The reply to the sample's own prompt, with visible text.
        second: The reply to the follow-up; its status, text and stop reason count.

    Returns:
        The reply with the summed tokens, seconds and attempts; None for a number that one of them lacks.
    """
    texts = (first.reasoning, first.text, second.reasoning)
    return replace(
        second,
        reasoning="\n\n".join(text for text in texts if text.strip()),
        tokens_in=_sum(first.tokens_in, second.tokens_in),
        tokens_out=_sum(first.tokens_out, second.tokens_out),
        tokens_reasoning=_sum(first.tokens_reasoning, second.tokens_reasoning),
        tokens_cached=_sum(first.tokens_cached, second.tokens_cached),
        tokens_written=_sum(first.tokens_written, second.tokens_written),
        seconds=first.seconds + second.seconds,
        attempts=first.attempts + second.attempts,
        truncated=first.truncated + second.truncated,
    )


def _sum(first: int | None, second: int | None) -> int | None:
    return None if first is None or second is None else first + second
