"""Transcripts of agents and assistants as texts: what a model saw, message after message, for questions about it.

Read are sessions of Claude Code (JSONL), and messages in OpenAI's form: a list, an object with ``messages``, or lines
of either. Everything in them is text: nothing is executed or opened, and what looks like a key becomes ``***``.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.safety.secrets import hide_in_text
from fathom.storage.foreign import read_text
from fathom.types import FathomError

EXPECTED = "messages of OpenAI's form (JSON or JSONL) or a session of Claude Code (JSONL)"
ROLES = {"user": "User", "human": "User", "assistant": "Assistant", "system": "System", "developer": "System"}
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


def read_conversations(path: Path) -> list[list[Message]]:
    """The conversations of a file.

    Raises:
        FathomError: It cannot be read, or has no conversation.
    """
    try:
        entries = list(_entries(read_text(path), lines=path.suffix.casefold() in (".jsonl", ".ndjson")))
    except (OSError, ValueError, RecursionError) as error:
        raise FathomError(f"{path}: cannot be read as {EXPECTED}: {error}") from None
    read = [messages_of(conversation) for conversation in _conversations(entries)]
    if not (conversations := [messages for messages in read if messages]):
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
            yield [message for message in listed if isinstance(message, dict)]
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
