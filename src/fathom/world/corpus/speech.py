"""Names, values and dates in one language, as texts write them and as answers may give them."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from math import prod
from typing import Any

from fathom.world.corpus.district import Event
from fathom.world.corpus.writer import hanzi, hanzi_digits
from fathom.world.names import DISTRICTS, TOWNS, Names
from fathom.world.plans import load
from fathom.world.prose import Writer

PREFIXES = {
    "en": ("Upper ", "Lower ", "Great ", "Little ", "Old ", "New ", "East ", "West ", "North ", "South "),
    "zh": tuple("上下大小老新东西南北"),
}


class CorpusNames(Names):
    """Names of people and firms from many parts: a corpus has thousands of bystanders."""

    __slots__ = ()

    def person(self, number: int) -> str:
        """Given name and surname; in Chinese three characters."""
        given, second = ("given.f", "second.f") if number % 2 else ("given.m", "second.m")
        if self.language == "en":
            return self._drawn("person", number // 2, given, " ", "family.a", "family.b")
        return self._drawn("person", number // 2, "family.a", given, second)

    def firm(self, number: int) -> str:
        """Two surnames; in Chinese two or three characters and the kind of firm."""
        if self.language == "en":
            names = (self._drawn(part, number, "family.a", "family.b") for part in ("founder", "partner"))
            return " & ".join(names)
        return self._drawn("firm", number, "firm.a", "firm.b", "firm.end")

    def _drawn(self, kind: str, number: int, *rules: str) -> str:
        """One word of each rule; other numbers have other words."""
        lists = [load(self.language).words(rule) if rule != " " else (" ",) for rule in rules]
        rest, parts = self._number(kind, number, prod(map(len, lists))), []
        for words in lists:
            rest, place = divmod(rest, len(words))
            parts.append(words[place])
        return "".join(parts)


class Prose(Writer):
    """Words and values of the annals, with the names of the corpus."""

    __slots__ = ()

    @property
    def names(self) -> Names:
        """The names of the world."""
        return CorpusNames(self.seed, self.language)


@dataclass(frozen=True, slots=True)
class Speech:
    """How an article writes.

    Attributes:
        prose: Words and values of the language.
        other_dates: Whether dates have the month first in English, and characters in Chinese.
    """

    prose: Prose
    other_dates: bool = False

    @property
    def spaced(self) -> bool:
        """Whether words are separated by spaces."""
        return self.prose.language == "en"

    @property
    def _acts(self) -> Mapping[str, Any]:
        acts: Mapping[str, Any] = self.prose.grammar["acts"]
        return acts

    def _endless(self, name: Callable[[int], str], number: int, count: int) -> str:
        """A name; after the last one, the same with ``Upper`` and so on."""
        turn, number = divmod(number, count)
        text, prefixes = name(number), PREFIXES[self.prose.language]
        while turn:
            turn, prefix = divmod(turn - 1, len(prefixes))
            text = prefixes[prefix] + text
        return text

    def town(self, number: int) -> str:
        """The name of a town."""
        return self._endless(self.prose.names.town, number, TOWNS)

    def district(self, number: int) -> str:
        """The name of a district, without "district"."""
        return self._endless(self.prose.names.district, number, DISTRICTS)

    def work_of(self, event: Event) -> str:
        """A work with its town."""
        work, town = self.prose.work(event.record.work), self.town(event.town)
        return f"{work} of {town}" if self.spaced else town + work

    def values(self, event: Event) -> dict[str, str]:
        """The values of an event by slot."""
        return {slot: self.prose.value(slot, value) for slot, value in event.record.values.items()}

    def accepted(self, slot: str, value: int) -> tuple[str, ...]:
        """All written forms of a value as an answer."""
        text = self.prose.value(slot, value)
        if slot == "person":
            return (text, text.split(" ")[1]) if self.spaced else (text,)
        if slot == "money":
            return tuple(dict.fromkeys((text, text.split(" ")[0].removesuffix("银元"), str(value))))
        return (text,)

    def day(self, day: int) -> str:
        """A date."""
        when = date.fromordinal(day)
        if not self.other_dates:
            return self.prose.date(day)
        if self.spaced:
            return f"{self._month(when)} {when.day}, {when.year}"
        return f"{hanzi_digits(when.year)}年{hanzi(when.month)}月{hanzi(when.day)}日"

    def month(self, day: int) -> str:
        """The month of a date."""
        when = date.fromordinal(day)
        if self.spaced:
            return f"{self._month(when)} {when.year}"
        return (
            f"{hanzi_digits(when.year)}年{hanzi(when.month)}月" if self.other_dates else f"{when.year}年{when.month}月"
        )

    def _month(self, when: date) -> str:
        return str(self.prose.grammar["months"][when.month - 1])

    def days(self, day: int) -> tuple[str, ...]:
        """All written forms of a date as an answer."""
        return tuple(dict.fromkeys((self.day(day), self.prose.date(day), date.fromordinal(day).isoformat())))

    def question(self, event: Event, slot: str) -> str:
        """The question for a value of an event."""
        return self.prose.fill(self._acts[event.record.act]["ask"][slot], event.record, self.town(event.town))

    def noun(self, event: Event) -> str:
        """An event as a noun, with the town."""
        return self.prose.fill(self._acts[event.record.act]["noun"], event.record, self.town(event.town))

    def kind(self, event: Event) -> str:
        """What kind of act an event is, as a noun."""
        return str(self._acts[event.record.act]["kind"])

    def claim(self, event: Event) -> str:
        """An event as a sentence, with the town."""
        return self.prose.fill(self._acts[event.record.act]["claim"], event.record, self.town(event.town))

    def listed(self, items: Sequence[str]) -> str:
        """A list in words."""
        comma, last = (", ", " and ") if self.spaced else ("、", "和")
        return last.join(filter(None, (comma.join(items[:-1]), items[-1])))
