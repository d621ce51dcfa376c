"""The facts of a district, neutral of language: public works of neighbouring towns, each told in one article."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise
from random import Random
from typing import TypeAlias

from fathom.world.facts import (
    ACTS,
    BUILT,
    FIRST_DAY,
    LAST_DAY,
    SLOTS,
    WORKS,
    Paper,
    Record,
    Stage,
    prove,
)

TOWNS = 6
ERA = 5000
"""Days within which the works of an article begin."""
MONEY = tuple(act for act in ACTS if "money" in SLOTS[act])
PUBLIC = tuple(act for act in ACTS if "person" in SLOTS[act])


@dataclass(frozen=True, slots=True)
class Event:
    """An act about a work of a town on a day.

    Attributes:
        since: Days since the act of the same work that is told just before; 0 if another work is.
    """

    town: int
    day: int
    record: Record
    since: int = 0


@dataclass(frozen=True, slots=True)
class Draft:
    """What an article tells.

    Attributes:
        kind: ``chronicle``, ``minutes``, ``letters``, ``accounts`` (of a town), ``survey`` (of a work in several
            towns), ``firm`` or ``person``.
        district: Number of the district.
        subject: Number of the town, work, firm or person.
        events: In the order in which they are told.
        size: From 0 for the shortest articles to 1 for the longest.
    """

    kind: str
    district: int
    subject: int
    events: tuple[Event, ...]
    size: float


@dataclass(slots=True)
class Stock:
    """Draws the works of a district; no work of a town is told twice.

    Attributes:
        rng: Draws.
        stage: Draws the values of acts, each once.
        towns: Numbers of the towns.
        left: Works that no article tells yet, by town.
        common: Works that every town has, for surveys.
    """

    rng: Random
    stage: Stage
    towns: Sequence[int]
    left: dict[int, list[int]]
    common: list[int]

    def project(self, town: int, work: int, acts: Collection[str], start: int) -> list[Event]:
        """The acts about a work, in causal order."""
        events, day = list[Event](), start + self.rng.randrange(400)
        for record in self.stage.project(work, acts):
            events.append(Event(town, day, record))
            day += self.rng.randrange(20, 160)
        return events

    def some(self, acts: Sequence[str], size: float) -> list[str]:
        """Acts that all works of an article have in common, so that each has near misses."""
        return self.rng.sample(acts, min(len(acts), 2 + int(size * 3)))

    def several(self, size: float) -> list[int]:
        """Some of the towns."""
        return self.rng.sample(self.towns, 3 + int(size * 2))


Drawn: TypeAlias = tuple[int, list[list[Event]]]
"""The subject of an article, and its works."""


def _of_town(stock: Stock, place: int, size: float, start: int, acts: Sequence[str] = ACTS) -> Drawn:
    town, common = stock.towns[place], stock.some(acts, size)
    others = [act for act in acts if act not in common]
    works = [stock.left[town].pop() for _ in range(3 + int(size * 2))]
    return town, [stock.project(town, work, {*common, *others[:1]}, start + stock.rng.randrange(ERA)) for work in works]


def _accounts(stock: Stock, place: int, size: float, start: int) -> Drawn:
    return _of_town(stock, place, size, start, MONEY)


def _survey(stock: Stock, place: int, size: float, start: int) -> Drawn:
    work, acts = stock.common[place], stock.some(ACTS, size)
    return work, [stock.project(town, work, acts, start + stock.rng.randrange(ERA)) for town in stock.several(size)]


def _firm(stock: Stock, place: int, size: float, start: int) -> Drawn:
    firm, acts = stock.stage.new("firm"), {*BUILT, *stock.some(ACTS, size / 2)}
    works = []
    for town in stock.several(size):
        events = stock.project(town, stock.left[town].pop(), acts, start + stock.rng.randrange(ERA))
        works.append([_by(event, "firm", firm) if event.record.act in BUILT else event for event in events])
    return firm, works


def _person(stock: Stock, place: int, size: float, start: int) -> Drawn:
    person, works = stock.stage.new("person"), []
    for act in stock.rng.sample(PUBLIC, 2):
        others = stock.rng.sample([other for other in ACTS if other != act], 1 + int(size * 2))
        for town in stock.several(size):
            events = stock.project(town, stock.left[town].pop(), {act, *others}, start + stock.rng.randrange(ERA))
            works.append([_by(event, "person", person) if event.record.act == act else event for event in events])
    return person, works


def _by(event: Event, slot: str, value: int) -> Event:
    return replace(event, record=replace(event.record, values={**event.record.values, slot: value}))


KINDS: tuple[tuple[str, Callable[[Stock, int, float, int], Drawn], int], ...] = (
    ("chronicle", _of_town, 0),
    ("chronicle", _of_town, 1),
    ("minutes", _of_town, 2),
    ("minutes", _of_town, 3),
    ("letters", _of_town, 4),
    ("accounts", _accounts, 5),
    ("survey", _survey, 0),
    ("survey", _survey, 1),
    ("firm", _firm, 0),
    ("firm", _firm, 1),
    ("person", _person, 0),
    ("person", _person, 1),
)
"""The articles of a district, before they are shuffled: kind, how its works are drawn, which town or common work."""
DATED = ("minutes", "letters", "accounts", "person")
"""Kinds that tell acts in the order of their days; others tell one work after the other."""


@lru_cache(maxsize=64)
def district(seed: int, number: int) -> tuple[Draft, ...]:
    """The articles of a district, in random order, proven consistent."""
    rng = Random(f"district|{seed}|{number}")
    towns = range(number * TOWNS, (number + 1) * TOWNS)
    works = rng.sample(range(WORKS), WORKS)
    left = {town: rng.sample(works[2:], WORKS - 2) for town in towns}
    stock = Stock(rng, Stage(rng, iter(()), iter(())), towns, left, works[:2])
    drafts = []
    for kind, draw, place in KINDS:
        size = ((rng.random() + rng.random()) / 2) ** 1.3
        subject, projects = draw(stock, place, size, rng.randrange(FIRST_DAY, LAST_DAY - 2 * ERA))
        events = [event for project in projects for event in _apart(project)]
        if kind in DATED:
            events = sorted((event for project in projects for event in project), key=lambda event: event.day)
        drafts.append(Draft(kind, number, subject, tuple(events), size))
    everything = [event for draft in drafts for event in draft.events]
    prove(Paper(mark, "", event.town, number, event.day, 0, (event.record,)) for mark, event in enumerate(everything))
    rng.shuffle(drafts)
    return tuple(drafts)


def _apart(project: Sequence[Event]) -> list[Event]:
    """The acts of a work, with the days since the one before."""
    return [project[0], *(replace(event, since=event.day - before.day) for before, event in pairwise(project))]
