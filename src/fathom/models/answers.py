"""From a model's raw output to a reply: separates reasoning from the answer and sets the status.

The rules, in order:

* the provider stopped because the prompt left no room (``model_length``) -> ``overflow``;
* a content filter, or a reply that the provider marks as a refusal -> ``refused``;
* a stop at the output cap -> ``incomplete``: truncated, in the reasoning or in the answer. Visible text is scored as it
  is and counted as truncated. ``fathom.models.request_mode`` knows the tasks where such a reply is complete;
* no visible text but reasoning -> ``incomplete``: the model reasoned and then said nothing;
* nothing at all, with an unknown stop reason -> ``error``: something other than the model failed;
* more than ``MOST_CHARACTERS`` -> ``error``;
* everything else -> ``ok``. An empty reply is ``ok``: the scorer calls it invalid.

Inspect logs are read by the same rules (``fathom.rows.inspect_log``).
"""

from dataclasses import dataclass

from fathom.models.failures import Failure, shorten
from fathom.models.protocol import RequestError
from fathom.score.dialects import split_reasoning
from fathom.types import Reply, Status

MOST_CHARACTERS = 8_000_000
"""Text and reasoning of a reply together; no output cap of a model comes near. About 8 MB."""

LARGE_TEXT = 1_000_000
"""Replies of at least this many characters are processed in a thread, so that they do not block the event loop."""


@dataclass(frozen=True, slots=True)
class Output:
    """What a provider returned, before it is classified.

    Attributes:
        text: Visible text; may still hold inline reasoning (``fathom.score.dialects``).
        reasoning: Reasoning that came apart from the text.
        stop: ``stop``, ``max_tokens``, ``model_length``, ``content_filter`` or as the provider says.
        tokens_in: Prompt tokens, cached ones included; None if unknown.
        tokens_out: Completion tokens, reasoning included; None if unknown.
        tokens_reasoning: Reasoning tokens; None if unknown.
        refusal: Whether the provider marked the text as a refusal.
        seconds: Time of the request.
        tokens_cached: Prompt tokens read from the provider's cache; None if unknown.
        tokens_written: Prompt tokens written to it for a price; None if unknown.
        served: Name of the model that answered, and its fingerprint; "" if unknown.
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
    tokens_written: int | None = None
    served: str = ""


def to_reply(output: Output) -> Reply:
    """Classify an output by the rules of this module.

    Returns:
        The reply, with inline reasoning moved from its text to ``reasoning``. Where a provider reports an error as
        text (a prompt too long, a filter), that text becomes ``error``.
    """
    if (long := too_long(output.text, output.reasoning)) is not None:
        return Reply(status="error", stop=output.stop, seconds=output.seconds, error=long.message)
    text, inline = split_reasoning(output.text)
    reasoning = "\n\n".join(part for part in (output.reasoning.strip(), inline) if part)
    status, error = _judge(output, text, reasoning)
    # Some providers return an error text as the completion; without completion tokens nothing was generated.
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
        tokens_written=output.tokens_written,
        served=output.served,
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
        stopped = output.stop == "stop" and bool(output.reasoning)
        parser = ", although the model stopped by itself: the server's reasoning parser may have taken the answer"
        return "incomplete", f"reasoning without an answer{parser if stopped else ''}"
    if output.stop == "unknown" and not text:
        return "error", "the reply says nothing, and stopped for an unknown reason"
    return "ok", ""


def too_long(text: str, reasoning: str) -> Failure | None:
    """The failure for a reply with too many characters; None for others."""
    characters = len(text) + len(reasoning)
    if characters <= MOST_CHARACTERS:
        return None
    reason = f"the reply holds {characters:,} characters, more than the {MOST_CHARACTERS:,} (8 MB) that are kept"
    return Failure("bad", reason)


def checked(reply: Reply) -> Reply:
    """The reply, if it is not an error.

    Raises:
        RequestError: Its status is ``error``; temporary errors are retried.
    """
    if reply.status != "error":
        return reply
    raise RequestError(Failure("busy" if reply.stop == "unknown" else "bad", reply.error))
