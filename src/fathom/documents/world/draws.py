"""Random numbers, names and words for generating facts, the same on every platform and Python version."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from hashlib import blake2b
from math import gcd
from random import Random
from typing import TypeVar

from fathom.documents.world.facts import Name, Sex, Trade
from fathom.documents.world.grammar import load

T = TypeVar("T")
NAMES_PER_CLUSTER = 2048
LIVES = 3


class KeyedRandom:
    """A random generator seeded by a sequence of words and numbers.

    Only ``Random.random`` is guaranteed to be stable between Python versions, so every draw is based on it.
    """

    __slots__ = ("random",)

    def __init__(self, *key: object) -> None:
        digest = blake2b("/".join(str(part) for part in key).encode(), digest_size=16).digest()
        self.random = Random(int.from_bytes(digest, "big")).random

    def between(self, low: int, high: int) -> int:
        """Draw an integer from ``low`` to ``high``, both included."""
        return low + int(self.random() * (high - low + 1))

    def chance(self, probability: float) -> bool:
        """True with the given probability."""
        return self.random() < probability

    def pick(self, items: Sequence[T]) -> T:
        """Draw one of ``items``."""
        return items[int(self.random() * len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """``items`` in random order."""
        result = list(items)
        for last in range(len(result) - 1, 0, -1):
            other = int(self.random() * (last + 1))
            result[last], result[other] = result[other], result[last]
        return result

    def sample(self, items: Sequence[T], count: int) -> list[T]:
        """Draw ``count`` different items, or all if there are fewer."""
        return self.shuffled(items)[:count]

    def round_number(self, low: int, high: int) -> int:
        """Draw a realistic amount: two or three random leading digits, then zeros."""
        value = self.between(low, high)
        return value if self.random() < 0.6 or value < 200 else value - value % 10


@dataclass(slots=True)
class Draws:
    """Draws names, words and dates. Names in a cluster are used one after another."""

    rng: KeyedRandom
    namer: Namer
    number: int
    taken: int = 0
    reserved: tuple[str, ...] = ()

    def name(self, sex: Sex | None = None) -> Name:
        """The next unused name of the cluster that differs from those of its main people."""
        drawn: Sex = sex or ("f" if self.rng.chance(0.45) else "m")
        while True:
            name = self.namer.extra(self.number * NAMES_PER_CLUSTER + self.taken, drawn)
            self.taken += 1
            if name.short not in self.reserved:
                return name

    def hero(self, rank: int) -> Name:
        """The name of main person ``rank`` of the cluster, which is then reserved."""
        name = self.namer.hero(self.number * LIVES + rank, "f" if self.rng.chance(0.5) else "m")
        self.reserved = (*self.reserved, name.short)
        return name

    def word(self, rule: str) -> str:
        """Draw a word from a list of the language."""
        return self.rng.pick(load(self.namer.language).words(rule))

    def words(self, rule: str, count: int) -> list[str]:
        """Draw ``count`` different words from a list."""
        return self.rng.sample(load(self.namer.language).words(rule), count)

    def trade(self) -> Trade:
        """Draw a trade."""
        worker, goods, house, skill = (part.strip() for part in self.word("trades").split(";"))
        return Trade(worker, goods, house, skill)

    def day(self, low: int, high: int) -> date:
        """Draw a day in the years ``low`` to ``high``."""
        return date(self.rng.between(low, high), self.rng.between(1, 12), self.rng.between(1, 28))

    def day_after(self, day: date, low: int, high: int) -> date:
        """Draw a day ``low`` to ``high`` days after ``day``."""
        return day + timedelta(days=self.rng.between(low, high))


class Scatter:
    """A pseudorandom bijection of 0 .. size-1: n -> (factor * n + shift) mod size."""

    __slots__ = ("factor", "shift", "size")

    def __init__(self, size: int, *key: object) -> None:
        rng = KeyedRandom("scatter", *key)
        self.size = size
        self.shift = rng.between(0, size - 1)
        self.factor = rng.between(size // 5, size - 1)
        while gcd(self.factor, size) != 1:
            self.factor += 1

    def __call__(self, number: int) -> tuple[int, int]:
        """The image of ``number`` and how many times the range was used up before it."""
        lap, rest = divmod(number, self.size)
        return (self.factor * rest + self.shift) % self.size, lap


@cache
def _joined(language: str, *rules: str) -> tuple[str, ...]:
    """All different words combined from one part of each rule."""
    grammar = load(language)
    words = [""]
    for rule in rules:
        words = [word + part for word in words for part in grammar.words(rule)]
    return tuple(dict.fromkeys(words))


class Namer:
    """Generates names in one language for one seed."""

    def __init__(self, seed: int, language: str) -> None:
        self.language = language
        grammar = load(language)
        self._surnames = _joined(
            language, *(("names.surname",) if language == "zh" else ("names.sur.a", "names.sur.b"))
        )
        self._given = {
            "f": (grammar.words("names.given.f"), grammar.words("names.middle.f")),
            "m": (grammar.words("names.given.m"), grammar.words("names.middle.m")),
        }
        self._places = _joined(language, "names.place.a", "names.place.b")
        self._rivers = _joined(language, "names.river.a", "names.river.b")
        self._houses = _joined(language, "names.house.a", "names.house.b")
        sizes = (len(self._given["f"][0]), len(self._given["f"][1]))
        if sizes != (len(self._given["m"][0]), len(self._given["m"][1])):
            raise ValueError("the lists of given names for women and men must be equally long")
        self._person = Scatter(len(self._surnames) * sizes[0] * sizes[1], seed, language, "person")
        self._place = Scatter(len(self._places), seed, language, "place")
        self._river = Scatter(len(self._rivers), seed, language, "river")
        self._house = Scatter(len(self._houses), seed, language, "house")

    def hero(self, number: int, sex: Sex) -> Name:
        """Name a person who is the subject of an article: an eighth of all names is reserved for them."""
        kept = self._person.size // 8
        lap, rest = divmod(number, kept)
        return self._person_at(self._person.size - kept + rest, lap, sex)

    def extra(self, number: int, sex: Sex) -> Name:
        """Name anyone else; consecutive numbers never share a surname, and names are repeated very rarely."""
        return self._person_at(number % (self._person.size - self._person.size // 8), 0, sex)

    def _person_at(self, number: int, lap: int, sex: Sex) -> Name:
        index, _ = self._person(number)
        rest, surname_index = divmod(index, len(self._surnames))
        firsts, seconds = self._given[sex]
        second_index, first_index = divmod(rest, len(firsts))
        first, second, surname = firsts[first_index], seconds[second_index], self._surnames[surname_index]
        if self.language == "zh":
            full = surname + first + second + "之" * lap
            return Name(full, full, sex)
        return Name(f"{first} {second} {surname}" + " the Younger" * lap, surname, sex)

    def place(self, number: int) -> str:
        """Name place ``number``; when all names are used up they are repeated as "Upper ..." and so on."""
        index, lap = self._place(number)
        name = self._places[index]
        prefixes = load(self.language).words("names.place.prefix")
        while lap:
            lap, prefix = divmod(lap - 1, len(prefixes))
            name = prefixes[prefix] + name
        return name

    def river(self, number: int) -> str:
        """Name the river of cluster ``number``; names of rivers may be repeated."""
        return self._rivers[self._river(number)[0]]

    def house(self, number: int) -> str:
        """Name firm ``number`` in languages in which firms have their own name (Chinese); names may be repeated."""
        return self._houses[self._house(number)[0]]
