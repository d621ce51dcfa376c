"""Words, values, dates and questions of the annals in English or Chinese."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from fathom.world.facts import Paper, Record
from fathom.world.names import Names, grammar
from fathom.world.private import digest
from fathom.world.types import Language, Naming


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes facts of a world in one language; ``density`` is that of ``Dials``."""

    seed: int
    language: Language
    naming: Naming = "invented"
    density: float = 1.0
    family: str = field(default_factory=digest)

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

    def incident(self, number: int) -> str:
        """The name of an incident."""
        table = self.grammar["incidents"]
        if number < len(table["names"]):
            return str(table["names"][number])
        plan, trade = divmod(number - len(table["names"]), len(table["trades"]))
        return str(table["of_trades"][plan]).format(trade=table["trades"][trade])
