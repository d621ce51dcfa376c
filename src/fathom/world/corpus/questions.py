"""Questions about an article, with their answers and the sentences that say so."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from random import Random
from typing import Protocol, TypeAlias

from fathom.types import Question
from fathom.world.corpus.district import Draft, Event
from fathom.world.corpus.speech import Speech

DIRECT, DERIVED = 9, 3
"""The most questions for a value, and for what follows from two, of an article."""
KINDS = {
    "person": "who",
    "firm": "who",
    "money": "how much",
    "count": "how many",
    "material": "which",
    "defect": "which",
    "cause": "which",
}


Ask: TypeAlias = Callable[[], Question]


@dataclass(frozen=True, slots=True)
class Reported:
    """An event in the text of an article.

    Attributes:
        span: Start and end of its sentence.
        dated: Whether the sentence has the whole date.
    """

    event: Event
    span: tuple[int, int]
    dated: bool


class Phrase(Protocol):
    """Writes a phrase by a rule."""

    def __call__(self, rule: str, **slots: str) -> str:
        """Return the phrase."""


@dataclass(frozen=True, slots=True)
class Asker:
    """Asks about one article.

    Attributes:
        draft: What the article tells.
        reported: The events in its text.
        speech: Writes values.
        phrase: Writes questions of its own.
        rng: Draws among the questions that there could be.
    """

    draft: Draft
    reported: Sequence[Reported]
    speech: Speech
    phrase: Phrase
    rng: Random

    def questions(self) -> list[Question]:
        """Some questions, each with another text."""
        direct, derived = list(self._direct()), list(self._derived())
        chosen = self.rng.sample(derived, min(DERIVED, len(derived)))
        chosen += self.rng.sample(direct, min(DIRECT, len(direct)))
        self.rng.shuffle(chosen)
        questions = [ask() for ask in chosen]
        return list({question.text: question for question in questions}.values())

    def _direct(self) -> Iterator[Ask]:
        for reported in self.reported:
            for slot, value in reported.event.record.values.items():
                if (slot, value) != (self.draft.kind, self.draft.subject):
                    yield partial(self._value, reported, slot, value)
            if reported.dated:
                yield partial(self._when, reported)

    def _derived(self) -> Iterator[Ask]:
        if self.draft.kind in ("firm", "survey"):
            built = [reported for reported in self.reported if reported.event.record.act == "completion"]
            times = Counter(map(_built, built))  # a firm may build the same in several towns
            yield from (partial(self._where, reported) for reported in built if times[_built(reported)] == 1)
        for first, second in combinations(self.reported, 2):
            acts = {first.event.record.act, second.event.record.act}
            dated = first.dated and second.dated
            if (first.event.town, first.event.record.work) == (second.event.town, second.event.record.work):
                if acts == {"contract", "completion"}:
                    yield partial(self._difference, first, second)
                if dated:
                    yield partial(self._days, first, second)
            elif len(acts) == 1 and _siblings(first.event, second.event):
                sums, days = {_sum(first), _sum(second)}, {first.event.day, second.event.day}
                if acts == {"completion"} and len(sums) == 2:
                    yield partial(self._more, first, second)
                if dated and len(days) == 2:
                    yield partial(self._first, first, second)

    def _asked(self, kind: str, text: str, answers: tuple[str, ...], *needs: tuple[Reported, str]) -> Question:
        """A question; each need is an event and what its sentence shows of it."""
        evidence = tuple(sorted({reported.span for reported, _ in needs}))
        return Question(text, answers, evidence, {"kind": kind, "shown": tuple(shown for _, shown in needs)})

    def _value(self, reported: Reported, slot: str, value: int) -> Question:
        answers = self.speech.accepted(slot, value)
        return self._asked(KINDS[slot], self.speech.question(reported.event, slot), answers, (reported, answers[0]))

    def _when(self, reported: Reported) -> Question:
        text = self.phrase("q.when", noun=self.speech.noun(reported.event))
        return self._asked("when", text, self.speech.days(reported.event.day), *self._dates(reported))

    def _where(self, reported: Reported) -> Question:
        speech, event = self.speech, reported.event
        firm = speech.prose.value("firm", event.record.values["firm"])
        work, district = speech.prose.work(event.record.work), speech.district(self.draft.district)
        town = speech.town(event.town)
        text = self.phrase("q.where", firm=firm, work=work, district=district)
        return self._asked("where", text, (town,), (reported, town))

    def _difference(self, first: Reported, second: Reported) -> Question:
        text = self.phrase("q.difference", work=self.speech.work_of(first.event))
        answers = self.speech.accepted("money", abs(_sum(first) - _sum(second)))
        return self._asked("difference", text, answers, *self._sums(first, second))

    def _days(self, first: Reported, second: Reported) -> Question:
        text = self.phrase("q.days", noun=self.speech.noun(first.event), other=self.speech.noun(second.event))
        days = abs(first.event.day - second.event.day)
        return self._asked("duration", text, (str(days),), *self._dates(first, second))

    def _more(self, first: Reported, second: Reported) -> Question:
        most = max(first, second, key=_sum)
        return self._which("which", "q.more", most.event, *self._sums(first, second))

    def _first(self, first: Reported, second: Reported) -> Question:
        earliest = min(first.event, second.event, key=lambda event: event.day)
        return self._which("order", "q.first", earliest, *self._dates(first, second))

    def _which(self, kind: str, rule: str, right: Event, *needs: tuple[Reported, str]) -> Question:
        """Asks for one of two works of a town, or for one of two towns with a work."""
        (first, _), (second, _) = needs
        work, town = self.speech.prose.work, self.speech.town
        slots = {"act": self.speech.kind(right), "town": town(first.event.town), "work": work(first.event.record.work)}
        if first.event.town == second.event.town:
            text = self.phrase(f"{rule}.work", rival=work(second.event.record.work), **slots)
            return self._asked(kind, text, (work(right.record.work),), *needs)
        text = self.phrase(f"{rule}.town", rival=town(second.event.town), **slots)
        return self._asked(kind, text, (town(right.town),), *needs)

    def _sums(self, *reported: Reported) -> Iterator[tuple[Reported, str]]:
        return ((each, self.speech.prose.value("money", _sum(each))) for each in reported)

    def _dates(self, *reported: Reported) -> Iterator[tuple[Reported, str]]:
        return ((each, self.speech.day(each.event.day)) for each in reported)


def _sum(reported: Reported) -> int:
    """The sum of money of an act that has one."""
    return reported.event.record.values.get("money", 0)


def _built(reported: Reported) -> tuple[int, int]:
    """Which firm completed which kind of work."""
    record = reported.event.record
    return record.values["firm"], record.work


def _siblings(first: Event, second: Event) -> bool:
    """Whether two events are about works of one town, or about one work of two towns."""
    return (first.town == second.town) != (first.record.work == second.record.work)
