"""Two tables of building firms and of payments to them, and questions over both with their rows, in two languages."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from fathom.world.facts import WORKS
from fathom.world.names import FIRMS, TOWNS
from fathom.world.prose import Writer
from fathom.world.types import Language

WORLD = 0
"""Seed of the world whose names, papers and works the generated tasks have; items draw other facts of it."""
KINDS = ("rows", "total", "group")
LISTED, SEATS, PAID, BUILT, PAYMENTS = 24, 3, 8, 4, 16
"""Firms of the table and their seats; firms and works of the town in question, and its payments."""
NUMBERS, SUMS = range(10_000, 10_000_000), range(103, 9990)
Cell = str | int


class Firm(NamedTuple):
    """A row of the table of firms."""

    firm: str
    seat: str
    trade: str


class Payment(NamedTuple):
    """A row of the table of payments."""

    no: int
    town: str
    firm: str
    work: str
    crowns: int


@dataclass(frozen=True)
class Query:
    """A question over two tables.

    Attributes:
        kind: ``rows`` (of a work), ``total`` (for a trade) or ``group`` (each firm of a seat).
        firms: The table of firms.
        payments: The payments of the town in question; those of other towns do not change the answer.
        value: The work, trade or seat in question.
        rows: The rows of the answer.
    """

    kind: str
    firms: tuple[Firm, ...]
    payments: tuple[Payment, ...]
    value: str
    rows: tuple[tuple[Cell, ...], ...]

    @property
    def town(self) -> str:
        """The town in question."""
        return self.payments[0].town


def drawn(rng: Random, language: Language, trades: Sequence[str], others: int) -> tuple[Query, list[Payment]]:
    """A question, and payments of other towns to the same firms for the same works and others.

    Args:
        trades: Names of trades.
        others: Number of these payments.
    """
    writer = Writer(WORLD, language)
    seats, towns = _parted([writer.names.town(number) for number in rng.sample(range(TOWNS), TOWNS)], SEATS)
    names = [writer.names.firm(number) for number in rng.sample(range(FIRMS), LISTED)]
    firms = tuple(Firm(name, rng.choice(seats), rng.choice(trades)) for name in names)
    works = [writer.work(number) for number in rng.sample(range(WORKS), WORKS)]
    numbers = iter(rng.sample(NUMBERS, PAYMENTS + others))

    def payments(count: int, payers: Sequence[str], payees: Sequence[str], uses: Sequence[str]) -> Iterator[Payment]:
        for _ in range(count):
            yield Payment(next(numbers), rng.choice(payers), rng.choice(payees), rng.choice(uses), rng.choice(SUMS))

    own = tuple(payments(PAYMENTS, towns[:1], names[:PAID], works[:BUILT]))
    kind, paid = rng.choice(KINDS), rng.choice(own)
    firm = next(firm for firm in firms if firm.firm == paid.firm)
    value = {"rows": paid.work, "total": firm.trade, "group": firm.seat}[kind]
    return Query(kind, firms, own, value, answer(kind, firms, own, value)), list(
        payments(others, towns[1:], names, works)
    )


def _parted(items: list[str], count: int) -> tuple[list[str], list[str]]:
    return items[:count], items[count:]


def answer(kind: str, firms: Sequence[Firm], payments: Sequence[Payment], value: str) -> tuple[tuple[Cell, ...], ...]:
    """The rows of the answer to a question about a town, from its payments alone."""
    if kind == "rows":
        return tuple((payment.no, payment.crowns) for payment in payments if payment.work == value)
    if kind == "total":
        chosen = {firm.firm for firm in firms if firm.trade == value}
        return ((sum(payment.crowns for payment in payments if payment.firm in chosen),),)
    sums: Mapping[str, list[int]] = defaultdict(list)
    for payment in payments:
        sums[payment.firm].append(payment.crowns)
    return tuple((firm.firm, sum(sums[firm.firm])) for firm in firms if firm.seat == value and firm.firm in sums)


def line(row: Firm | Payment) -> str:
    """A row as comma-separated values; none of them has a comma."""
    return ",".join(map(str, row))
