"""Names: one number names a person, a firm, a town, a district or a paper in both languages."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from math import gcd
from random import Random
from typing import Any

from fathom.world.private import tables
from fathom.world.types import Language, Naming

TOWNS, DISTRICTS = 1288, 40
OWN_TOWNS, OWN_DISTRICTS = 640, 20
"""Towns and districts below these numbers belong to items, the others to the papers that fill contexts."""
PEOPLE, FIRMS, MARKS = 2600, 480, 24 * 9000
OWN_MARKS = MARKS // 2
LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ"


def grammar(name: str) -> Mapping[str, Any]:
    """A file of words or sentence plans (``fathom.world.private``)."""
    return tables(name)


@cache
def _shuffled(seed: int, kind: str, size: int) -> tuple[int, int]:
    """Factor and summand of a permutation of ``range(size)``."""
    rng = Random(f"names|{seed}|{kind}")
    factor = next(value for value in iter(lambda: rng.randrange(1, size), 0) if gcd(value, size) == 1)
    return factor, rng.randrange(size)


@dataclass(frozen=True, slots=True)
class Names:
    """The names of a world in one language: invented ones, or such as are common."""

    seed: int
    language: Language
    kind: Naming = "invented"

    def _number(self, kind: str, number: int, size: int) -> int:
        factor, summand = _shuffled(self.seed, kind, size)
        return (factor * number + summand) % size

    @property
    def _parts(self) -> Mapping[str, Sequence[str]]:
        parts: Mapping[str, Sequence[str]] = grammar("names" if self.kind == "invented" else "real_names")[
            self.language
        ]
        return parts

    def town(self, number: int) -> str:
        """One word; in Chinese two characters and 镇."""
        first, second = divmod(self._number("town", number, TOWNS), len(self._parts["endings"]))
        name = self._parts["stems"][first] + self._parts["endings"][second]
        return name if self.language == "en" else f"{name}镇"

    def district(self, number: int) -> str:
        """One word, without "district"."""
        return self._parts["districts"][self._number("district", number, DISTRICTS)]

    def person(self, number: int) -> str:
        """Title, given name and surname; in Chinese three characters and a title."""
        parts, woman = self._parts, number % 2
        first, second = divmod(self._number("person", number // 2, PEOPLE // 2), len(parts["men"]))
        given, surname = parts["women" if woman else "men"][second], parts["surnames"][first]
        title = parts["titles"][woman]
        return f"{title} {given} {surname}" if self.language == "en" else f"{surname}{given}{title}"

    def firm(self, number: int) -> str:
        """Two surnames; in Chinese two characters and 营造行."""
        words = self._parts["surnames" if self.language == "en" else "fortunes"]
        first, second = divmod(self._number("firm", number, FIRMS), 20)
        return str(self._parts["firm"]).format(first=words[first], second=words[(first + 1 + second) % len(words[:24])])

    def mark(self, number: int) -> str:
        """The file mark of a paper, such as ``B4173``, the same in both languages."""
        letter, digits = divmod(self._number("mark", number, MARKS), 9000)
        return f"{LETTERS[letter]}{1000 + digits}"
