"""A server of chats whose model calls tools, on the loopback; what it says is a function of the conversation.

``reader`` is such a function without a model: it searches for the question, reads around the best part, and answers
as the offline baseline ``fathom/lexical`` does over all parts that it has seen. Comparisons of systems can use it in
the place of a model.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from scripted_server import Act, ScriptedServer, completion

from fathom.models.baselines import get_baseline
from fathom.run.systems import split_prompt
from fathom.run.systems.agent import NOTE
from fathom.suites.registry import get_task
from fathom.suites.suitefile import open_suite
from fathom.types import AnswerKind

Messages: TypeAlias = list[dict[str, Any]]
AROUND = 1
"""Parts before and after the best one that the reader reads."""


@dataclass(frozen=True)
class Asked:
    """A request for a turn.

    Attributes:
        messages: As they were sent.
        body: The whole request.
    """

    messages: Messages
    body: Mapping[str, Any]

    @property
    def final(self) -> bool:
        """Whether no tool can be called any more."""
        return not self.body.get("tools")

    @property
    def results(self) -> list[str]:
        """What the tools have returned so far."""
        return [message["content"] for message in self.messages if message["role"] == "tool"]

    @property
    def question(self) -> str:
        """What follows the note on the text."""
        return str(self.messages[0]["content"]).rpartition(NOTE[-40:])[2].strip()


Play: TypeAlias = Callable[[Asked], Act]


class AgentServer(ScriptedServer):
    """Answers each request by its conversation; use as a context manager."""

    def __init__(self, play: Play) -> None:
        super().__init__()
        self.play = play
        self.asked: list[Asked] = []

    def act(self, body: dict[str, Any], number: int, before: int) -> Act:
        """What the function says."""
        asked = Asked(body["messages"], body)
        self.asked.append(asked)
        return self.play(asked)


def calling(*calls: tuple[str, object], text: str | None = None, **more: object) -> Act:
    """A turn that calls tools; arguments that are a text are sent as they are."""
    made = [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": given if isinstance(given, str) else json.dumps(given)},
        }
        for number, (name, given) in enumerate(calls)
    ]
    turn = completion(text, finish="tool_calls")
    assert isinstance(turn.body, dict)
    turn.body["choices"][0]["message"] |= {"tool_calls": made, **more}
    return turn


def answering(text: str) -> Act:
    """A turn that answers."""
    return completion(text)


def by_steps(*acts: Act) -> Play:
    """Plays the acts in turn, by the number of turns so far; the last one again and again."""

    def play(asked: Asked) -> Act:
        turns = len([message for message in asked.messages if message["role"] == "assistant"])
        return acts[min(turns, len(acts) - 1)]

    return play


def reader(suite: Path) -> Play:
    """A model that needs none: searches once, reads once, and answers by ``fathom/lexical``.

    Args:
        suite: The suite, whose questions say which kind of answer they ask for.
    """
    built = open_suite(suite)
    texts = built.texts()
    kinds: dict[str, AnswerKind] = {
        split_prompt(sample, texts).after.strip(): get_task(sample.task).answer for sample in built.samples()
    }
    lexical = get_baseline("fathom/lexical")

    def play(asked: Asked) -> Act:
        if not asked.results and not asked.final:
            return calling(("search", {"query": asked.question}))
        found = _parts(asked.results[0]) if asked.results else []
        if len(asked.results) == 1 and found and not asked.final:
            best = found[0]["part"]
            return calling(("read", {"first": max(1, best - AROUND), "last": best + AROUND}))
        seen = {part["part"]: part for result in asked.results for part in _parts(result)}
        parts = [seen[number] for number in sorted(seen)]
        before = str(asked.messages[0]["content"]).partition(NOTE[:30])[0]
        text = "\n\n".join(f"{part.get('heading', '')}\n{part['text']}".strip() for part in parts)
        prompt = f"{before}{text}\n\n{asked.question}"
        return answering(lexical(prompt, kinds.get(asked.question, "words"), Random(asked.question)))

    return lambda asked: counted(play(asked), asked)


def _parts(result: str) -> list[dict[str, Any]]:
    """The parts in a result of a tool."""
    read = json.loads(result)
    return list(read.get("found") or read.get("parts") or [])


def counted(act: Act, asked: Asked) -> Act:
    """The same with the words of the request as its prompt tokens, so that systems can be compared."""
    assert isinstance(act.body, dict)
    words = len(json.dumps([asked.messages, asked.body.get("tools", [])]).split())
    usage: dict[str, object] = {**act.body["usage"], "prompt_tokens": words}
    return replace(act, body={**act.body, "usage": usage})
