"""A conversation that is read as it goes on, and compacted whenever its context is full, before the question is known.

That is how assistants and agents work for long: messages are added until the context is full; then a part of it is
replaced by something shorter, and so on. The question comes last, and is answered from what is left. The ways to
compact differ in three choices only (``Way``), so that they can be compared at the same size of context.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from fathom.models.baselines.retrieval import rank
from fathom.run.systems.prompts import BREAK, Passage, joined, passages_of
from fathom.run.systems.system import Forecasted, Request, Task, answered_by, followed_by, too_long
from fathom.types import Reply

UNKNOWN = 8192
"""Tokens of the context where neither an option nor the window says."""
AROUND = 512
"""Tokens of instructions and question."""
MESSAGE = 256
"""Tokens of the passages that are kept or compacted, at most."""
RECENT = 0.5
"""Share of the context that the last messages keep."""

Notes: TypeAlias = Literal["none", "rewritten", "added"]


class Way(NamedTuple):
    """A way to compact.

    Attributes:
        recent: Share of the context whose last messages stay as they are.
        notes: What the model writes on all other messages: nothing, a summary that is rewritten at each compaction, or
            a list of facts to which each compaction adds, and whose oldest lines go when it is too long.
        recall: Whether messages that are gone are searched when the question is there.
    """

    recent: float
    notes: Notes
    recall: bool = False


WAYS: Mapping[str, Way] = MappingProxyType(
    {
        "recent": Way(RECENT, "none"),
        "summary": Way(0.0, "rewritten"),
        "summary-recent": Way(RECENT, "rewritten"),
        "facts": Way(RECENT, "added"),
        "recall": Way(RECENT, "none", recall=True),
    }
)
"""The values of the option ``keep``."""


class _Words(NamedTuple):
    opening: str
    so_far: str
    messages: str
    rewritten: str
    added: str
    limit: Callable[[int], int]
    instead: str


_WORDS: Mapping[str, _Words] = MappingProxyType(
    {
        "en": _Words(
            opening="The context of a conversation is full. Its older messages are replaced by notes, from which the "
            "conversation goes on; what is not in the notes is lost.\n\n",
            so_far="[Notes so far]\n",
            messages="[Messages]\n",
            rewritten="Write notes that replace the notes so far and these messages: names, numbers, dates, what was "
            "decided, what must never be done from now on, and what was wrong or changed. Reply with the new notes "
            "only, in at most {limit} words.",
            added="List the facts of these messages, one in a line: names, numbers, dates, what was decided, what must "
            "never be done from now on, and what was wrong or changed. Reply with the list only, in at most {limit} "
            "words.",
            limit=lambda tokens: max(10, tokens * 3 // 5),
            instead="(Notes on the earlier messages:)\n",
        ),
        "zh": _Words(
            opening="一段对话的上下文已满，较早的消息将由笔记代替，对话将据此继续；没有写进笔记的内容会丢失。\n\n",
            so_far="[已有的笔记]\n",
            messages="[消息]\n",
            rewritten="请写出代替已有笔记和这些消息的新笔记：人名、数字、日期、已经决定的事、从现在起绝不能做的事，"
            "以及说错或改动的内容。请只回答新的笔记，不超过{limit}字。",
            added="请列出这些消息中的事实，每行一条：人名、数字、日期、已经决定的事、从现在起绝不能做的事，以及说错或"
            "改动的内容。请只回答这份清单，不超过{limit}字。",
            limit=lambda tokens: max(10, tokens * 4 // 5),
            instead="（以下是对较早消息的笔记。）\n",
        ),
    }
)


@dataclass(frozen=True)
class Memory:
    """Reads a text message by message, compacts what was read whenever the context is full, and then answers.

    Attributes:
        way: What is kept.
        context: Tokens of the context; None for half of the window.
        notes: Tokens of the notes, or of the messages that are recalled; at most a quarter of the context.
        sent: The output cap that is sent for notes of so many tokens: with room for reasoning.
    """

    way: Way
    context: int | None
    notes: int
    sent: Callable[[int], int] = lambda notes: notes

    def sizes(self, window: int | None) -> tuple[int, int]:
        """Tokens of the context and of the notes.

        Args:
            window: Tokens of prompt and reply; None if unknown.
        """
        size = self.context or (UNKNOWN if window is None else window // 2)
        if window is not None:
            size = min(size, window - self.sent(self.notes) - AROUND)
        return size, max(1, min(self.notes, size // 4))

    def most(self, tokens: int, cap: int, window: int | None) -> Forecasted:
        """A request for every compaction if the model writes notes, and one for the answer."""
        size, notes = self.sizes(window)
        counted = tokens + tokens // 10  # by sentences
        if counted <= size or size < 4:
            return Forecasted(1, tokens, cap, longest=tokens)
        kept = (0 if self.way.notes == "none" and not self.way.recall else notes) + int(self.way.recent * size)
        requests = 0 if self.way.notes == "none" else -(-counted // max(1, size - kept - MESSAGE))
        read = (requests + 1) * (size + AROUND)
        return Forecasted(requests + 1, read, requests * self.sent(notes) + cap, longest=size + AROUND)

    async def answer(self, task: Task) -> Reply:
        """Read and compact, then ask."""
        size, notes = self.sizes(task.room(0))
        if size < MESSAGE:
            reason = (
                f"the window leaves {size} tokens for the context, and {MESSAGE} are needed: give a larger window, or "
                "a smaller value of notes"
            )
            return Reply(status="overflow", stop="not_sent", attempts=0, error=reason)
        messages = await asyncio.to_thread(messages_of, task)
        if sum(message.tokens for message in messages) <= size and too_long(task, task.prompt.whole, "") is None:
            return await answered_by(task.send, task.prompt.whole)
        reading = _Reading(self, task, size, notes)
        for message in messages:
            if not await reading.add(message):
                return reading.ended(reading.earlier)
        prompt = await asyncio.to_thread(reading.prompt)
        over = too_long(task, prompt, "the context with the question")
        return reading.ended(followed_by(reading.earlier, over) if over else await reading.asked(prompt))


@dataclass(frozen=True, slots=True)
class Message:
    """A message, or a passage of a long one.

    Attributes:
        passage: Its text and its place.
        tokens: Its tokens, with its heading.
        after: Characters of the text after it.
    """

    passage: Passage
    tokens: int
    after: int


def messages_of(task: Task) -> list[Message]:
    """The text of a task in messages."""
    passages = passages_of(task.prompt.units, MESSAGE, task.tokenizer)
    headings = [passage.heading if not passage.place else "" for passage in passages]
    ends = list(accumulate(len(head) + len(each.text) for head, each in zip(headings, passages, strict=True)))
    return [
        Message(passage, passage.tokens + (task.tokenizer.count(heading) if heading else 0), ends[-1] - end)
        for passage, heading, end in zip(passages, headings, ends, strict=True)
    ]


@dataclass
class _Reading:
    """A conversation as it is read.

    Attributes:
        memory: How it is compacted.
        task: What is asked at its end.
        size: Tokens of the context.
        most: Tokens of the notes.
        held: Messages that are in the context.
        gone: Messages that are not.
        notes: The notes on them.
        earlier: All replies so far; None before the first.
        compacted: For each compaction, the characters after the last message that it took.
    """

    memory: Memory
    task: Task
    size: int
    most: int
    held: list[Message] = field(default_factory=list)
    gone: list[Message] = field(default_factory=list)
    notes: str = ""
    earlier: Reply | None = None
    compacted: list[int] = field(default_factory=list)

    @property
    def words(self) -> _Words:
        return _WORDS.get(self.task.language, _WORDS["en"])

    def _tokens(self) -> int:
        beside = self.most if self.memory.way.recall and self.gone else self.task.tokenizer.count(self.notes)
        return beside + sum(message.tokens for message in self.held)

    async def add(self, message: Message) -> bool:
        """Take a message, after a compaction if there is no room for it; False if that failed."""
        if self.held and self._tokens() + message.tokens > self.size and not await self._compact():
            return False
        self.held.append(message)
        return True

    async def _compact(self) -> bool:
        room, first = int(self.memory.way.recent * self.size), len(self.held)
        while first > 1 and self.held[first - 1].tokens <= room:
            first -= 1
            room -= self.held[first].tokens
        old, self.held = self.held[:first], self.held[first:]
        self.gone += old
        self.compacted.append(old[-1].after)
        return self.memory.way.notes == "none" or await self._note(old)

    async def _note(self, old: Sequence[Message]) -> bool:
        words, is_added = self.words, self.memory.way.notes == "added"
        tokens = max(1, self.most // 2) if is_added else self.most
        before = "" if is_added or not self.notes else f"{words.so_far}{self.notes}{BREAK}"
        closing = (words.added if is_added else words.rewritten).format(limit=words.limit(tokens))
        text = joined([message.passage for message in old]).strip()
        reply = await self.task.send(
            Request(f"{words.opening}{before}{words.messages}{text}{BREAK}{closing}", notes=tokens)
        )
        is_answered = reply.status in ("ok", "incomplete")
        written = reply.text.strip()
        if is_answered and written:  # a reply that was cut off while it reasoned has no text
            self.notes = self._shortened(f"{self.notes}\n{written}".strip() if is_added else written)
            reply = replace(reply, text=f"[{len(self.compacted)}]\n{written}")
        self.earlier = followed_by(self.earlier, reply)
        return is_answered

    def _shortened(self, notes: str) -> str:
        """Notes within their limit: the last lines of a list, the beginning of a summary or of a single line."""
        lines, count = notes.split("\n"), self.task.tokenizer.count
        while self.memory.way.notes == "added" and len(lines) > 1 and count("\n".join(lines)) > self.most:
            del lines[0]
        kept = "\n".join(lines)
        while (tokens := count(kept)) > self.most:
            kept = kept[: min(len(kept) - 1, len(kept) * self.most // tokens)]
        return kept

    def prompt(self) -> str:
        """What is asked at the end: the notes or what is recalled, the messages in the context, and the question."""
        passages = [message.passage for message in self.held]
        if self.memory.way.recall:
            passages += self._recalled()
        text = joined(passages)
        if self.notes:
            text = f"{self.words.instead}{self.notes}{BREAK}{text}"
        return self.task.prompt.with_text(text)

    def _recalled(self) -> list[Passage]:
        """The messages that are gone and resemble the question most, as many as notes would take."""
        scores = rank(self.task.prompt.query, [message.passage.body for message in self.gone])
        recalled, room = [], self.most
        for place in sorted(range(len(scores)), key=lambda place: -scores[place]):
            if scores[place] > 0 and self.gone[place].tokens <= room:
                room -= self.gone[place].tokens
                recalled.append(self.gone[place].passage)
        return recalled

    async def asked(self, prompt: str) -> Reply:
        """The answer, with the tokens, the time and the notes of all requests."""
        return await answered_by(self.task.send, prompt, self.earlier)

    def ended(self, reply: Reply | None) -> Reply:
        """The reply, with what was compacted."""
        assert reply is not None, "a compaction that fails has a reply"
        return replace(reply, compacted=tuple(self.compacted))
