"""The annals as text: papers become headings and paragraphs in English or Chinese."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from random import Random
from typing import Any

from fathom.world.facts import Paper, Record, fillers
from fathom.world.names import Names, grammar
from fathom.world.types import Language, Naming, Passage

LEAD, TAIL, REMARK = 0.3, 0.55, 0.4
"""Shares of records that begin with a phrase of their genre, and that a sentence without facts follows; share of papers
with a remark on something else."""
_SLOTTED = ("{person}", "{firm}", "{count}")


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes facts of a world in one language."""

    seed: int
    language: Language
    naming: Naming = "invented"

    @property
    def names(self) -> Names:
        """The names of the world."""
        return Names(self.seed, self.language, self.naming)

    @property
    def grammar(self) -> Mapping[str, Any]:
        """The sentence plans of the language."""
        return grammar(self.language)

    def value(self, slot: str, value: int) -> str:
        """A value as it stands in texts and options."""
        if slot == "person":
            return self.names.person(value)
        if slot == "firm":
            return self.names.firm(value)
        if slot == "money":
            return f"{value:,} crowns" if self.language == "en" else f"{value}银元"
        if slot == "count":
            return str(value)
        return str(self.grammar[f"{slot}s"][value])

    def work(self, work: int) -> str:
        """A work with its article."""
        return str(self.grammar["works"][work])

    def date(self, day: int) -> str:
        """A date as in headings."""
        when = date.fromordinal(day)
        if self.language == "en":
            return f"{when.day} {self.grammar['months'][when.month - 1]} {when.year}"
        return f"{when.year}年{when.month}月{when.day}日"

    def fill(self, plan: str, record: Record, town: str = "") -> str:
        """A sentence plan with the values of a record."""
        work = self.work(record.work)
        values = {slot: self.value(slot, value) for slot, value in record.values.items()}
        return plan.format(work=work, Work=work[0].upper() + work[1:], town=town, **values)

    def heading(self, paper: Paper) -> str:
        """The heading of a paper: mark, kind, town, district and date."""
        names = self.names
        kind = self.grammar["kinds"][paper.genre].format(town=names.town(paper.town), writer=names.person(paper.writer))
        district, when = names.district(paper.district), self.date(paper.day)
        return str(self.grammar["heading"]).format(mark=names.mark(paper.mark), kind=kind, district=district, date=when)

    def about(self, what: str, paper: Paper, record: Record) -> str:
        """The ``claim`` or ``noun`` of an act, with the town."""
        return self.fill(self.grammar["acts"][record.act][what], record, self.names.town(paper.town))

    def question(self, town: int, record: Record, slot: str) -> str:
        """The question for a value of a record."""
        return self.fill(self.grammar["acts"][record.act]["ask"][slot], record, self.names.town(town))

    def in_other_words(self, town: int, record: Record, slot: str) -> str:
        """The question for a value of a record, without a content word of the sentences that tell it."""
        words = grammar("other_words")
        work, plan = words["works"][self.language][record.work], words[record.act][slot][self.language]
        return str(plan).format(work=work, town=self.names.town(town))

    def passage(self, paper: Paper, needed: frozenset[tuple[int, str]] = frozenset()) -> Passage:
        """A paper as a passage; ``needed`` are works and acts of the records that are evidence."""
        rng = Random(f"{self.seed}|{paper.mark}")
        genre, space = self.grammar["genres"][paper.genre], " " if self.language == "en" else ""
        text, evidence = rng.choice(genre["opening"]), []
        for number, record in enumerate(paper.records):
            # A paragraph ends after some records; the parser and a reader know a work only within its paragraph.
            text += "\n" if not number or rng.random() < 0.3 else space
            start = len(text)
            text += self._sentence(record, genre["lead"], rng)
            if (record.work, record.act) in needed:
                evidence.append((start, len(text)))
            tail = rng.choice(self.grammar["acts"][record.act]["tail"])
            if rng.random() < TAIL:
                text += space + tail
        remark = rng.choice(self.grammar["remarks"]["text"]) if rng.random() < REMARK else ""
        text += "\n" * bool(remark or paper.links) + remark
        for number, (cause, effect) in enumerate(rng.sample(paper.links, len(paper.links))):
            text += space * bool(remark or number)
            start = len(text)
            text += self.link(cause, effect, rng)
            if (cause, "link") in needed:
                evidence.append((start, len(text)))
        text += "\n" + rng.choice(genre["closing"])
        return Passage(f"annals/{paper.mark}", text, self.heading(paper), tuple(evidence))

    def link(self, cause: int, effect: int, rng: Random) -> str:
        """A sentence that says what an incident led to."""
        words = self.incident(cause), self.incident(effect)
        capital = [word[0].upper() + word[1:] for word in words]
        plan = str(rng.choice(self.grammar["incidents"]["text"]))
        return plan.format(cause=words[0], effect=words[1], Cause=capital[0], Effect=capital[1])

    def incident(self, number: int) -> str:
        """The name of an incident."""
        return str(self.grammar["incidents"]["names"][number])

    def _sentence(self, record: Record, leads: list[str], rng: Random) -> str:
        plans = self.grammar["acts"][record.act]["text"]
        plan = str(rng.choice(plans))
        lead, leading = rng.choice(leads), rng.random() < LEAD
        if not leading:
            return self.fill(plan, record)
        if plan.startswith(tuple(self.grammar["fronted"])):
            plan = plans[0]
        if plan.startswith("{Work}"):
            plan = "{work}" + plan.removeprefix("{Work}")
        elif not plan.startswith(_SLOTTED):
            plan = plan[0].lower() + plan[1:]
        return lead + self.fill(plan, record)


@cache
def filler_passages(writer: Writer, group: int) -> tuple[Passage, ...]:
    """A group of passages that fill contexts, which many items share (``facts.fillers``)."""
    return tuple(map(writer.passage, fillers(writer.seed, group)))
