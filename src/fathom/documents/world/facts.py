"""The fact model of the generated world.

Values are in the language of their world (names, trades); numbers and dates have none. A cluster is a small valley with
shared people, so that its articles can refer to each other and agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal

Sex = Literal["f", "m"]


@dataclass(frozen=True, slots=True)
class Name:
    """A person's name: ``full`` for titles and first mention, ``short`` for running text."""

    full: str
    short: str
    sex: Sex

    @property
    def first(self) -> str:
        """The given name."""
        return self.full.split()[0]


@dataclass(frozen=True, slots=True)
class Trade:
    """An occupation: who does it, its products, its business, its skill."""

    worker: str
    goods: str
    house: str
    skill: str


@dataclass(frozen=True, slots=True)
class Figure:
    """A number in a year: inhabitants, employees, revenue."""

    year: int
    value: int


@dataclass(frozen=True, slots=True)
class Tenure:
    """Someone who led something from ``start`` to ``end`` (years)."""

    name: Name
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Landmark:
    """A notable building: year, builder, cost."""

    name: str
    built: int
    cost: int
    builder: Name


@dataclass(frozen=True, slots=True)
class Place:
    """A settlement. ``full`` is unique in the world of a seed; ``away`` is the distance to the valley's main place."""

    name: str
    full: str
    kind: str
    region: str
    river: str
    founded: int
    founder: Name
    censuses: tuple[Figure, ...]
    trade: Trade
    landmarks: tuple[Landmark, ...]
    heads: tuple[Tenure, ...]
    chief: str
    away: int
    market: str
    pupils: int
    bridges: int

    @property
    def census(self) -> Figure:
        """The earliest count of inhabitants."""
        return self.censuses[0]


@dataclass(frozen=True, slots=True)
class Life:
    """The dates of a life, drawn first so that everything else fits."""

    name: Name
    born: date
    died: date


@dataclass(frozen=True, slots=True)
class Post:
    """An employment from ``start`` to ``end`` (years) at a yearly wage."""

    role: str
    employer: str
    place: Place
    start: int
    end: int
    wage: int


@dataclass(frozen=True, slots=True)
class Work:
    """Something a person made and is known for."""

    title: str
    year: int
    copies: int


@dataclass(frozen=True, slots=True)
class Award:
    """An award received in a year."""

    name: str
    year: int


@dataclass(frozen=True, slots=True)
class Journey:
    """A journey to a place of the valley or beyond."""

    goal: str
    year: int
    weeks: int
    cost: int


@dataclass(frozen=True, slots=True)
class Person:
    """A life: posts are in order and do not overlap; awards and works fall within it."""

    name: Name
    born: date
    died: date
    birthplace: Place
    deathplace: Place
    parent: Trade
    rank: int
    siblings: int
    trade: Trade
    teacher: Name
    apprenticed: int
    spouse: Name
    married: date
    wedding: Place
    children: int
    posts: tuple[Post, ...]
    works: tuple[Work, ...]
    awards: tuple[Award, ...]
    journeys: tuple[Journey, ...]
    estate: int

    @property
    def age(self) -> int:
        """Age at death in full years."""
        birthday_to_come = (self.died.month, self.died.day) < (self.born.month, self.born.day)
        return self.died.year - self.born.year - birthday_to_come

    @property
    def apprentice_age(self) -> int:
        """Age reached in the year of apprenticeship."""
        return self.apprenticed - self.born.year

    @property
    def first_work(self) -> Work:
        """The earliest work."""
        return self.works[0]


@dataclass(frozen=True, slots=True)
class Branch:
    """A branch of a firm."""

    place: Place
    year: int
    hands: int


@dataclass(frozen=True, slots=True)
class Firm:
    """A business: ``full`` is unique; ``revenue`` is by year, in order."""

    name: str
    full: str
    trade: Trade
    seat: Place
    founder: Name
    partner: Name
    founded: date
    capital: int
    hands: tuple[Figure, ...]
    revenue: tuple[Figure, ...]
    branches: tuple[Branch, ...]
    heads: tuple[Tenure, ...]
    fire: date
    damage: int
    closed: int

    @property
    def founder_left(self) -> int:
        """Year in which the founder left the management."""
        return self.heads[0].end


@dataclass(frozen=True, slots=True)
class Share:
    """Someone's part in an event: points won, money given, or goods shown."""

    name: Name
    home: Place
    value: int


@dataclass(frozen=True, slots=True)
class Event:
    """An event. ``figures`` are its other numbers by name; ``shares`` have different values."""

    kind: str
    name: str
    full: str
    place: Place
    other: Place
    start: date
    end: date
    leader: Name
    second: Name
    shares: tuple[Share, ...]
    cost: int
    figures: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of a ledger."""

    day: date
    item: str
    party: Name
    amount: int


@dataclass(frozen=True, slots=True)
class Ledger:
    """A year's accounts: ``closing`` = ``opening`` + ``income`` - ``outlay``; the sums are those of the entries."""

    firm: Firm
    year: int
    clerk: Name
    auditor: Name
    opening: int
    receipts: tuple[Entry, ...]
    payments: tuple[Entry, ...]
    income: int
    outlay: int
    closing: int
    audited: date


@dataclass(frozen=True, slots=True)
class Step:
    """A dated step of a chronicle; ``key`` names it, ``number`` is its number, ``spent`` its cost."""

    day: date
    key: str
    number: int
    spent: int
    person: Name


@dataclass(frozen=True, slots=True)
class Chronicle:
    """How something was built, step by step in order of date; ``cost`` is the sum of what was spent."""

    kind: str
    name: str
    full: str
    place: Place
    master: Name
    steps: tuple[Step, ...]
    cost: int

    @property
    def first_day(self) -> date:
        """Day of the first step."""
        return self.steps[0].day

    @property
    def last_day(self) -> date:
        """Day of the last step."""
        return self.steps[-1].day


@dataclass(frozen=True, slots=True)
class Cluster:
    """A valley and its facts."""

    number: int
    language: str
    currency: str
    places: tuple[Place, ...]
    people: tuple[Person, ...]
    firms: tuple[Firm, ...]
    events: tuple[Event, ...]
    ledgers: tuple[Ledger, ...]
    chronicles: tuple[Chronicle, ...]
