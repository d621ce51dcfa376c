"""The fact model, second part: what happened in a valley, and the valley itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from fathom.corpus.world.facts import Firm, Name, Person, Place


@dataclass(frozen=True, slots=True)
class Share:
    """Someone's part in an event: points won, money given, or goods shown."""

    name: Name
    home: Place
    value: int


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened once. ``figures`` are its other numbers by name; ``shares`` have different values."""

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
    """A dated step of a chronicle; ``key`` names what happened, ``number`` its number, ``spent`` its cost."""

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
    """A valley and all that is known of it."""

    number: int
    language: str
    currency: str
    places: tuple[Place, ...]
    people: tuple[Person, ...]
    firms: tuple[Firm, ...]
    events: tuple[Event, ...]
    ledgers: tuple[Ledger, ...]
    chronicles: tuple[Chronicle, ...]
