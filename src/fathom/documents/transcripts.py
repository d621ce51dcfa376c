"""Transcripts of agents and assistants as texts: what a model saw, message after message, for questions about it.

Read are sessions of Claude Code (JSONL), and messages in OpenAI's form: a list, an object with ``messages``, or lines
of either. Everything in them is text: nothing is executed or opened, and what looks like a key becomes ``***``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from fathom.safety.secrets import hide_in_text
from fathom.storage.foreign import read_text
from fathom.types import FathomError

EXPECTED = "messages of OpenAI's form (JSON or JSONL) or a session of Claude Code (JSONL)"
ROLES = {"user": "User", "human": "User", "assistant": "Assistant", "system": "System", "developer": "System"}
MOST_TOKENS = 1_000_000_000
"""No request has more: larger numbers are errors."""
MOST_ARGUMENTS = 2000
"""Characters of the arguments of a tool call."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message of a conversation.

    Attributes:
        role: Who speaks: User, Assistant, System or Tool.
        text: What is said, and which tools are called.
        is_summary: Whether it stands for all messages before it, which a compaction removed from the context.
    """

    role: str
    text: str
    is_summary: bool = False


@dataclass(frozen=True, slots=True)
class Usage:
    """What the requests of a conversation to one model took, as far as it records them.

    Attributes:
        model: Name of the model, "" if unknown.
        tokens_in: Prompt tokens, those of caches included.
        tokens_out: Tokens of the replies.
        tokens_cached: Prompt tokens read from a cache.
        tokens_written: Prompt tokens written to a cache.
    """

    model: str
    tokens_in: int
    tokens_out: int
    tokens_cached: int = 0
    tokens_written: int = 0


def usage_of(entries: Iterable[Mapping[str, object]]) -> list[Usage]:
    """The recorded usage of a conversation by model, of other agents in its file too; empty if it records none.

    Claude Code writes a line for each part of a reply, all with the usage of the request, which grows while the reply
    does: of equal ids the largest counts. The request that writes the summary of a compaction is not among its lines.
    Errors that a program writes in place of a reply have no tokens and do not count.

    Args:
        entries: Messages, or lines of a session; their ``usage`` has the names of Anthropic or OpenAI.
    """
    largest: dict[object, Usage] = {}
    model = ""
    for number, entry in enumerate(entries):
        inner = entry.get("message")
        message = inner if isinstance(inner, dict) else entry
        if not isinstance(usage := message.get("usage"), dict):
            continue
        details = usage.get("prompt_tokens_details") or usage.get("input_tokens_details")
        inside = _tokens(details, "cached_tokens") if isinstance(details, dict) else 0
        read, written = _tokens(usage, "cache_read_input_tokens"), _tokens(usage, "cache_creation_input_tokens")
        tokens_in = _tokens(usage, "input_tokens", "prompt_tokens") + read + written
        if not (tokens_in + (tokens_out := _tokens(usage, "output_tokens", "completion_tokens"))):
            continue
        model = str(message.get("model") or model)
        own = Usage(model, tokens_in, tokens_out, read or inside, written)
        key = message.get("id") if isinstance(message.get("id"), str) else number
        largest[key] = max(largest.get(key, own), own, key=lambda each: (each.tokens_in, each.tokens_out))
    by_model: dict[str, list[Usage]] = {}
    for own in largest.values():
        by_model.setdefault(own.model, []).append(own)
    return [
        Usage(name, *(sum(counts) for counts in zip(*(astuple(each)[1:] for each in requests), strict=True)))
        for name, requests in by_model.items()
    ]


def _tokens(usage: Mapping[str, object], *names: str) -> int:
    """The first of some counts; 0 without one that is a whole number from 0."""
    counts = (usage.get(name) for name in names)
    return next((count for count in counts if type(count) is int and 0 < count <= MOST_TOKENS), 0)


def read_conversations(path: Path) -> list[list[Mapping[str, object]]]:
    """The conversations of a file: their messages, or the lines of a session.

    Raises:
        FathomError: It cannot be read, or has no conversation.
    """
    try:
        entries = list(_entries(read_text(path), lines=path.suffix.casefold() in (".jsonl", ".ndjson")))
    except (OSError, ValueError, RecursionError) as error:
        raise FathomError(f"{path}: cannot be read as {EXPECTED}: {error}") from None
    read = [list(conversation) for conversation in _conversations(entries)]
    if not (conversations := [entries for entries in read if messages_of(entries)]):
        raise FathomError(f"{path}: it has no messages; expected {EXPECTED}")
    return conversations


def _entries(text: str, *, lines: bool) -> Iterator[object]:
    if not lines:
        yield json.loads(text)
        return
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                yield json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from None


def _conversations(entries: Sequence[object]) -> Iterator[Sequence[Mapping[str, object]]]:
    """Objects with messages and lists of messages, each a conversation; all single messages are one."""
    single: list[Mapping[str, object]] = []
    for entry in entries:
        if isinstance(entry, list):
            yield from _conversations(entry)
        elif isinstance(entry, dict) and isinstance(listed := entry.get("messages"), list):
            messages = [message for message in listed if isinstance(message, dict)]
            # Where messages have a usage each, that of the whole is their sum.
            is_told = any(isinstance(message.get("usage"), dict) for message in messages)
            whole = {name: entry[name] for name in ("usage", "model") if name in entry and not is_told}
            yield [*messages, whole]
        elif isinstance(entry, dict):
            single.append(entry)
    if single:
        yield single


def messages_of(entries: Iterable[Mapping[str, object]]) -> list[Message]:
    """The messages of a conversation, without those of other agents, notes of the program, and thoughts.

    Args:
        entries: Messages, or lines of a session, which have a message each.
    """
    messages = []
    for entry in entries:
        if entry.get("isSidechain") or entry.get("isMeta"):
            continue
        inner = entry.get("message")
        message = inner if isinstance(inner, dict) else entry
        role = str(message.get("role") or entry.get("type") or "")
        if called := _item(entry):
            messages.append(called)
            continue
        text = "\n".join(filter(None, (_text(message.get("content")), *_calls(message.get("tool_calls"))))).strip()
        if text and (role in ROLES or role in ("tool", "function")) and ("role" in message or inner is not None):
            is_result = role == "user" and _only_results(message.get("content"))
            name = "Tool" if is_result else ROLES.get(role, "Tool")
            messages.append(Message(name, _safe_text(text), bool(entry.get("isCompactSummary"))))
    return messages


def _item(entry: Mapping[str, object]) -> Message | None:
    """A tool call or its result among the items of OpenAI's Responses API; None for another entry."""
    if entry.get("type") == "function_call":
        return Message("Assistant", _safe_text(_call(entry.get("name"), entry.get("arguments"))))
    if entry.get("type") == "function_call_output":
        return Message("Tool", _safe_text(f"[result] {_text(entry.get('output'))}"))
    return None


def _safe_text(text: str) -> str:
    """A text without keys, and with a sign for halves of characters, which no file can have."""
    return hide_in_text(text.encode("utf-8", "replace").decode("utf-8"))


def _only_results(content: object) -> bool:
    """Whether a message is nothing but the results of tools."""
    blocks = content if isinstance(content, list) else []
    return bool(blocks) and all(isinstance(block, dict) and block.get("type") == "tool_result" for block in blocks)


def _text(content: object) -> str:
    """The text of a message's content: a text, or blocks of several kinds."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = []
    for block in content:
        kind = block.get("type") if isinstance(block, dict) else None
        if isinstance(block, str):
            texts.append(block)
        elif kind in ("text", "input_text", "output_text"):
            texts.append(str(block.get("text") or ""))
        elif kind == "tool_use":
            texts.append(_call(block.get("name"), block.get("input")))
        elif kind == "tool_result":
            texts.append(f"[result] {_text(block.get('content'))}")
        elif isinstance(kind, str) and "image" in kind:
            texts.append("[image]")
    return "\n".join(filter(None, texts))


def _calls(calls: object) -> Iterator[str]:
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict):
            function = call.get("function")
            inner = function if isinstance(function, dict) else {"name": function, "arguments": call.get("arguments")}
            yield _call(inner.get("name"), inner.get("arguments"))


def _call(name: object, arguments: object) -> str:
    given = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    cut = f" [cut after {MOST_ARGUMENTS} characters]" if len(given) > MOST_ARGUMENTS else ""
    return f"[calls {name}] {given[:MOST_ARGUMENTS]}{cut}"


def in_context(messages: Sequence[Message]) -> Sequence[Message]:
    """The messages that a model saw last: from the last summary of a compaction on."""
    last = max((place for place, message in enumerate(messages) if message.is_summary), default=0)
    return messages[last:]


def as_text(messages: Iterable[Message]) -> str:
    """A conversation as a text of numbered messages."""
    return "\n\n".join(
        f"[Message {number}]\n{message.role}: {message.text}" for number, message in enumerate(messages, start=1)
    )
