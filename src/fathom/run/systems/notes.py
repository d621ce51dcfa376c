"""Systems that read a text part by part and answer from their notes: map-reduce and compaction.

A request for notes has the prompt's own form, with a part in place of the text, and ends with what the notes are to be.
The request for the answer has it too, with the notes in place of the text, so that every scorer can read the reply.
"""

import asyncio
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

from fathom.run.systems.prompts import BREAK, Unit, parts_of
from fathom.run.systems.system import Forecasted, Request, Task, answered_by, followed_by, too_long
from fathom.types import Reply

UNKNOWN = 8192
"""Tokens of a part where neither an option nor the window says."""
AROUND = 512
"""Tokens of instructions and question, for forecasts."""
SPARE = 32
"""Tokens by which counts of parts may be off once they are joined."""
_MANY = re.compile(r"\n{2,}")


class Words(NamedTuple):
    """What is said around parts and notes, in one language.

    Attributes:
        part: Before a part that is read by itself.
        next_part: Before a part that is read with notes on those before it.
        so_far: Heading of these notes.
        this_part: Heading of a part.
        note: Asks for notes on a part; ends the prompt.
        rewrite: Asks for the notes anew; ends the prompt.
        limit: How long notes may be, given tokens.
        instead: Before the notes from which the question is answered.
        nothing: What notes say where a part has nothing to do with the question.
    """

    part: str
    next_part: str
    so_far: str
    this_part: str
    note: str
    rewrite: str
    limit: Callable[[int], int]
    instead: str
    heading: str
    nothing: str


_WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "en": Words(
            part="This is part {n} of {total} of a prompt whose text is too long to be read at once. Take notes on "
            "this part; the prompt is answered later, from the notes on all parts.\n\n",
            next_part="This is part {n} of {total} of a prompt whose text is too long to be read at once. You keep "
            "notes while you read it part by part; the prompt is answered at the end, from the notes alone.\n\n",
            so_far="[Notes so far]\n",
            this_part="[Part {n} of {total}]\n",
            note="Reply with notes on this part only, and with no answer yet, in at most {limit} words: all that it "
            "says about what is asked, with names, numbers and quotations as they stand there, each below the heading "
            "that it has in the text. If it says nothing about it, reply with the word: nothing",
            rewrite="Reply with the new notes only, and with no answer yet, in at most {limit} words: keep what still "
            "matters of the notes so far and add all that this part says about what is asked, with names, numbers and "
            "quotations as they stand there, each below the heading that it has in the text.",
            limit=lambda tokens: max(10, tokens * 3 // 5),
            instead="(The text is too long to be read at once. Here are notes on it instead, in its order.)\n\n",
            heading="[Notes on part {n} of {total}]\n",
            nothing="nothing",
        ),
        "zh": Words(
            part="正文太长，无法一次读完，这里只是第{n}部分，共{total}部分。请先为这一部分做笔记，最后再根据所有部分的"
            "笔记作答。\n\n",
            next_part="正文太长，无法一次读完，这里只是第{n}部分，共{total}部分。请边读边记笔记，读完之后只根据笔记"
            "作答。\n\n",
            so_far="[已有的笔记]\n",
            this_part="[第{n}部分，共{total}部分]\n",
            note="请只回答这一部分的笔记，先不要作答，不超过{limit}字：记下其中与所问有关的全部内容，人名、数字和引文照"
            "抄原文，并写在原文的标题之下。如果没有有关内容，只写：无",
            rewrite="请只回答新的笔记，先不要作答，不超过{limit}字：保留已有笔记中仍然有用的内容，补充这一部分中与所问"
            "有关的全部内容，人名、数字和引文照抄原文，并写在原文的标题之下。",
            limit=lambda tokens: max(10, tokens * 4 // 5),
            instead="（正文太长，无法一次读完。下面是按原文顺序所做的笔记。）\n\n",
            heading="[第{n}部分的笔记，共{total}部分]\n",
            nothing="无",
        ),
    }
)


def _words(task: Task) -> Words:
    return _WORDS.get(task.language, _WORDS["en"])


@dataclass(frozen=True)
class _Notes:
    """Options of both systems.

    Attributes:
        chunk: Tokens of a part; None for half of the window.
        notes: Tokens of the notes on a part, or of those that are kept.
        sent: The output cap that is sent for notes of so many tokens: with room for reasoning.
    """

    chunk: int | None
    notes: int
    sent: Callable[[int], int] = lambda notes: notes

    def size(self, window: int | None, room: int | None) -> int:
        """Tokens of a part."""
        half = UNKNOWN if window is None else max(1, window // 2)
        wanted = self.chunk or half
        return wanted if room is None else max(min(wanted, room), min(wanted, self.notes))

    def too_narrow(self, room: int | None, window: int | None) -> Reply | None:
        """The reply where parts would be shorter than their notes, which would take ever more requests."""
        if room is None or room >= min(self.size(window, None), self.notes):
            return None
        reason = (
            f"the window leaves {room} tokens for a part, fewer than its notes may have: give a smaller value of notes"
        )
        return Reply(status="overflow", stop="not_sent", attempts=0, error=reason)


class MapReduce(_Notes):
    """Notes on each part by itself, then the answer from all of them.

    Notes that are too long together are noted in the same way, as often as it takes. The parts of a sample are sent one
    after the other; other samples are worked on meanwhile. A text of one part is sent whole.
    """

    def most(self, tokens: int, cap: int, window: int | None) -> Forecasted:
        """A request for every part, for every group of notes that are too long together, and for the answer."""
        sent = self.sent(self.notes)
        room = None if window is None else max(1, window - sent - AROUND)
        size = self.size(window, room)
        if _parts(tokens, size) <= 1:
            return Forecasted(1, tokens, cap, longest=tokens)
        requests, read, left = 0, 0, tokens
        fits = None if window is None else window - cap - AROUND
        for _ in range(64):
            parts = _parts(left, size)
            requests, read = requests + parts, read + _counted(left) + parts * AROUND
            shorter = parts * (self.notes + SPARE)
            if fits is None or shorter <= fits or parts == 1 or not _shrinks(shorter, left):
                left = shorter
                break
            left = shorter
        last = left if fits is None else min(left, max(1, fits))
        longest = max(_counted(size), last) + AROUND
        return Forecasted(requests + 1, read + last + AROUND, requests * sent + cap, longest)

    async def answer(self, task: Task) -> Reply:
        """Take notes until they fit, and ask over them."""
        units: Sequence[Unit] = task.prompt.units
        earlier: Reply | None = None
        rounds = 0
        while True:
            room = _room_for_part(task, self.sent(self.notes), "")
            if narrow := self.too_narrow(room, _window(task)):
                return followed_by(earlier, narrow)
            parts = await _cut(units, self.size(_window(task), room), task)
            if earlier is None and len(parts) == 1 and too_long(task, task.prompt.whole, "") is None:
                return await answered_by(task.send, task.prompt.whole)
            taken: list[str] = []
            for number, part in enumerate(parts, start=1):
                note, earlier = await self._noted(task, part, {"n": number, "total": len(parts)}, earlier)
                if earlier.status not in ("ok", "incomplete"):
                    return earlier
                taken += [note] if note else []
            prompt = _answering(task, BREAK.join(taken) or _words(task).nothing)
            over, rounds = too_long(task, prompt, "the notes with the question"), rounds + 1
            if over is None:
                return replace(await answered_by(task.send, prompt, earlier), compacted=(0,) * rounds)
            if not _shrinks(sum(map(len, taken)), sum(len(unit.text) for unit in units)):
                return followed_by(earlier, over)  # notes on the notes would take request after request
            units = [Unit("", text + BREAK) for text in taken]

    async def _noted(self, task: Task, part: str, about: Mapping[str, int], earlier: Reply | None) -> tuple[str, Reply]:
        """The notes on a part below their heading, "" for none; and all replies so far, of which the last may have
        failed.
        """
        words = _words(task)
        text = words.this_part.format(**about) + part
        prompt = _asking(task, words.part.format(**about), text, words.note, self.notes)
        if over := too_long(task, prompt, "one part with the question", self.sent(self.notes)):
            return "", followed_by(earlier, over)
        reply = await task.send(Request(prompt, notes=self.notes))
        if reply.status not in ("ok", "incomplete"):
            return "", followed_by(earlier, reply)
        note = words.heading.format(**about) + reply.text.strip()
        return "" if _is_nothing(reply.text, words) else note, followed_by(earlier, replace(reply, text=note))


class Compaction(_Notes):
    """One part after the other, with notes that are rewritten each time, then the answer from the notes."""

    def most(self, tokens: int, cap: int, window: int | None) -> Forecasted:
        """A request for every part, and one for the answer."""
        sent = self.sent(self.notes)
        kept = self.notes + self.notes // 2
        room = None if window is None else max(1, window - sent - AROUND - kept)
        size = self.size(window, room)
        parts = _parts(tokens, size)
        if parts <= 1:
            return Forecasted(1, tokens, cap, longest=tokens)
        read = _counted(tokens) + parts * (AROUND + kept)
        longest = _counted(size) + kept + AROUND
        return Forecasted(parts + 1, read + kept + AROUND, parts * sent + cap, longest)

    async def answer(self, task: Task) -> Reply:
        """Keep notes part by part, and ask over them."""
        words = _words(task)
        room = _room_for_part(task, self.sent(self.notes), words.so_far, kept=self.notes + self.notes // 2)
        if narrow := self.too_narrow(room, _window(task)):
            return narrow
        parts = await _cut(task.prompt.units, self.size(_window(task), room), task)
        if len(parts) == 1 and too_long(task, task.prompt.whole, "") is None:
            return await answered_by(task.send, task.prompt.whole)
        kept = ""
        earlier: Reply | None = None
        for number, part in enumerate(parts, start=1):
            about = {"n": number, "total": len(parts)}
            so_far = f"{words.so_far}{kept}{BREAK}" if kept else ""
            text = f"{so_far}{words.this_part.format(**about)}{part}"
            prompt = _asking(task, words.next_part.format(**about), text, words.rewrite, self.notes)
            if over := too_long(task, prompt, "one part with the notes so far", self.sent(self.notes)):
                return followed_by(earlier, over)
            reply = await task.send(Request(prompt, notes=self.notes))
            if reply.status not in ("ok", "incomplete"):
                return followed_by(earlier, reply)
            earlier = followed_by(earlier, replace(reply, text=words.heading.format(**about) + reply.text.strip()))
            # Notes without text are those of a reply that was cut off while it reasoned.
            kept = reply.text.strip() or kept
        prompt = _answering(task, kept or words.nothing)
        if over := too_long(task, prompt, "the notes with the question"):
            return followed_by(earlier, over)
        after = tuple(sum(map(len, parts[number:])) for number in range(1, len(parts) + 1))
        return replace(await answered_by(task.send, prompt, earlier), compacted=after)


def _asking(task: Task, opening: str, text: str, closing: str, notes: int) -> str:
    """The prompt that asks for notes: what is asked stands in its last paragraph, before what the notes are to be."""
    end = closing.format(limit=_words(task).limit(notes))
    after = _MANY.sub("\n", task.prompt.after.strip())
    return f"{opening}{task.prompt.before}{text}{BREAK}{after}\n{end}"


def _answering(task: Task, notes: str) -> str:
    """The prompt with notes in place of the text."""
    after = task.prompt.after
    return task.prompt.with_text(_words(task).instead + notes + ("" if after.startswith("\n") else BREAK))


def _room_for_part(task: Task, cap: int, heading: str, kept: int = 0) -> int | None:
    """Tokens that a part may have; None if the window is unknown."""
    room = task.room(cap)
    if room is None:
        return None
    words = _words(task)
    opening, closing = max(words.part, words.next_part, key=len), max(words.note, words.rewrite, key=len)
    around = task.tokenizer.count(_asking(task, opening, heading + words.this_part, closing, 10_000))
    return room - around - kept - SPARE - room // 50


def _window(task: Task) -> int | None:
    return task.room(0)


async def _cut(units: Sequence[Unit], tokens: int, task: Task) -> list[str]:
    """The text in parts, in a thread: a long one takes a while to be counted."""
    return await asyncio.to_thread(parts_of, units, tokens, task.tokenizer)


def _shrinks(after: int, before: int) -> bool:
    """Whether notes are so much shorter than what they are on that noting them again will come to an end."""
    return 4 * after <= 3 * before


def _is_nothing(notes: str, words: Words) -> bool:
    return notes.strip().strip(".。").casefold() in ("", words.nothing)


def _parts(tokens: int, size: int) -> int:
    """Parts of a text, at most: each is filled but for a passage, and headings are repeated."""
    return -(-_counted(tokens) // max(1, size - size // 8)) if _counted(tokens) > size else 1


def _counted(tokens: int) -> int:
    """Tokens of a text that is counted by sentences."""
    return tokens + tokens // 10
