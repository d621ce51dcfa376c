"""Dice, names and words together: what the builders of facts draw from."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

from fathom.corpus.world.dice import Dice
from fathom.corpus.world.facts import Name, Sex, Trade
from fathom.corpus.world.grammar import load
from fathom.corpus.world.names import Namer

NAMES_PER_CLUSTER = 2048
LIVES = 3


@dataclass(slots=True)
class Scribe:
    """What is needed to invent: dice, names, words. Names of a cluster are taken one after the other."""

    dice: Dice
    namer: Namer
    number: int
    taken: int = 0
    reserved: tuple[str, ...] = ()

    def name(self, sex: Sex | None = None) -> Name:
        """Take the next unused name of the cluster that cannot be mistaken for one of its heroes."""
        drawn: Sex = sex or ("f" if self.dice.chance(0.45) else "m")
        while True:
            name = self.namer.extra(self.number * NAMES_PER_CLUSTER + self.taken, drawn)
            self.taken += 1
            if name.short not in self.reserved:
                return name

    def hero(self, rank: int) -> Name:
        """Name hero ``rank`` of the cluster and keep that name free."""
        name = self.namer.hero(self.number * LIVES + rank, "f" if self.dice.chance(0.5) else "m")
        self.reserved = (*self.reserved, name.short)
        return name

    def word(self, rule: str) -> str:
        """Draw a word from a list of the language."""
        return self.dice.pick(load(self.namer.language).words(rule))

    def words(self, rule: str, count: int) -> list[str]:
        """Draw ``count`` different words from a list."""
        return self.dice.sample(load(self.namer.language).words(rule), count)

    def trade(self) -> Trade:
        """Draw a trade."""
        worker, goods, house, skill = (part.strip() for part in self.word("trades").split(";"))
        return Trade(worker, goods, house, skill)

    def day(self, low: int, high: int) -> date:
        """Draw a day in the years ``low`` to ``high``."""
        return date(self.dice.between(low, high), self.dice.between(1, 12), self.dice.between(1, 28))

    def day_after(self, day: date, low: int, high: int) -> date:
        """Draw a day ``low`` to ``high`` days after ``day``."""
        return day + timedelta(days=self.dice.between(low, high))
