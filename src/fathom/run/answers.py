"""From a model's raw output to a reply: reasoning apart from the answer, and the right status.

The rules, in order:

* the provider stopped because the prompt left no room (``model_length``) -> ``overflow``;
* a content filter, or a reply that the provider marks as a refusal -> ``refused``;
* a stop at the output cap -> ``incomplete``: cut, inside reasoning or inside the answer. The text is kept to be looked
  at, and not scored: half an answer is not a wrong answer. ``fathom.run.manner`` knows the tasks where it is whole;
* no visible text but reasoning -> ``incomplete``: the model reasoned and then said nothing;
* everything else -> ``ok``. An empty reply is ``ok``: the scorer calls it invalid.

Logs of Inspect are judged by the same rules (``fathom.rows.inspect_log``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from fathom.run.failures import shorten
from fathom.types import Reply, Status

_OPEN = re.compile(r"<think(?:ing)?\b[^>]*>", re.IGNORECASE)
_CLOSE = re.compile(r"</think(?:ing)?>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Output:
    """What a provider returned, before it is judged.

    Attributes:
        text: Visible text; may still hold inline ``<think>`` blocks.
        reasoning: Reasoning that came apart from the text.
        stop: ``stop``, ``max_tokens``, ``model_length``, ``content_filter`` or as the provider says.
        tokens_in: Prompt tokens, cached ones included; None if unknown.
        tokens_out: Completion tokens, reasoning included; None if unknown.
        tokens_reasoning: Reasoning tokens; None if unknown.
        refusal: Whether the provider marked the text as a refusal.
        seconds: Time of the request.
        tokens_cached: Prompt tokens read from the provider's cache; None if unknown.
    """

    text: str
    reasoning: str = ""
    stop: str = "stop"
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    refusal: bool = False
    seconds: float = 0.0
    tokens_cached: int | None = None


def to_reply(output: Output) -> Reply:
    """Judge an output by the rules of this module.

    Returns:
        The reply, with inline reasoning moved from its text to ``reasoning``. Where a provider reports an error as
        text (a prompt too long, a filter), that text becomes ``error``.
    """
    text, inline = split_reasoning(output.text)
    reasoning = "\n\n".join(part for part in (output.reasoning.strip(), inline) if part)
    status, error = _judge(output, text, reasoning)
    # A provider's error text stands where the completion would; without completion tokens nothing was generated.
    if status in ("overflow", "refused") and not output.tokens_out and not output.refusal:
        error, text = shorten(text) or error, ""
    return Reply(
        status=status,
        text=text,
        reasoning=reasoning,
        stop=output.stop,
        tokens_in=output.tokens_in,
        tokens_out=output.tokens_out,
        tokens_reasoning=output.tokens_reasoning,
        seconds=output.seconds,
        error=error,
        tokens_cached=output.tokens_cached,
    )


def _judge(output: Output, text: str, reasoning: str) -> tuple[Status, str]:
    if output.stop == "model_length":
        return "overflow", "the prompt and the reply do not fit the model's window"
    if output.stop == "content_filter" or output.refusal:
        return "refused", "the provider's content filter stopped the reply"
    if output.stop == "max_tokens":
        where = "inside the answer" if text else "before any answer"
        return "incomplete", f"stopped at the output cap {where}; raise --max-output-tokens"
    if reasoning and not text:
        return "incomplete", "reasoning without an answer"
    return "ok", ""


def split_reasoning(text: str) -> tuple[str, str]:
    """Part a reply's answer from reasoning written inline.

    Args:
        text: A reply, with any number of ``<think>...</think>`` blocks; a block that is never closed reaches to the
            end, one that is never opened (the chat template opened it) starts at the beginning.

    Returns:
        The answer and the reasoning, both stripped where a block was found; the text as it is where none was.
    """
    first_open, first_close = _OPEN.search(text), _CLOSE.search(text)
    if first_open is None and first_close is None:
        return text.strip(), ""
    answer, thoughts = [], []
    rest = text
    if first_close is not None and (first_open is None or first_close.start() < first_open.start()):
        thoughts.append(text[: first_close.start()])
        rest = text[first_close.end() :]
    while (opened := _OPEN.search(rest)) is not None:
        answer.append(rest[: opened.start()])
        closed = _CLOSE.search(rest, opened.end())
        thoughts.append(rest[opened.end() : closed.start() if closed else len(rest)])
        rest = rest[closed.end() :] if closed else ""
    answer.append(rest)
    return "".join(answer).strip(), "\n\n".join(thought.strip() for thought in thoughts if thought.strip())
