"""Builds what happens in a cluster: events, chronicles and ledgers; and the cluster itself."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache

from fathom.corpus.world.cast import (
    FIRMS,
    draw_firm,
    draw_life,
    draw_person,
    draw_places,
)
from fathom.corpus.world.deeds import Chronicle, Cluster, Entry, Event, Ledger, Share, Step
from fathom.corpus.world.dice import Dice
from fathom.corpus.world.facts import Firm, Life, Place
from fathom.corpus.world.grammar import load
from fathom.corpus.world.names import Namer
from fathom.corpus.world.scribe import LIVES, Scribe

EVENTS = 3
CHRONICLES = 2
# Steps of a chronicle that cost money.
SPENDING = frozenset(
    (
        "survey",
        "land",
        "contract",
        "stone",
        "timber",
        "wall",
        "engine",
        "roof",
        "glass",
        "bell",
        "paint",
        "well",
        "lamps",
        "drain",
        "gate",
    )
)
EVENT_KINDS = ("festival", "expedition", "trial", "flood", "treaty", "exhibition")
# Days that an event lasts, its cost, and its other figures, by kind.
DURATION = {
    "festival": (2, 9),
    "expedition": (20, 160),
    "trial": (3, 40),
    "flood": (2, 12),
    "treaty": (4, 50),
    "exhibition": (8, 60),
}
FIGURES = {
    "festival": {"visitors": (400, 9000), "stalls": (12, 160), "takings": (300, 6000)},
    "expedition": {"miles": (60, 900), "camps": (6, 40), "members": (7, 36)},
    "trial": {"claim": (400, 20000), "witnesses": (5, 60), "pages": (120, 2400)},
    "flood": {"houses": (14, 260), "sheltered": (60, 2400), "height": (5, 19)},
    "treaty": {"articles": (7, 42), "toll": (3, 48), "years": (6, 60)},
    "exhibition": {"visitors": (700, 24000), "exhibits": (60, 1900), "takings": (500, 9000)},
}


@lru_cache(maxsize=4)
def namer_of(seed: int, language: str) -> Namer:
    """The names of a seed in a language."""
    return Namer(seed, language)


@lru_cache(maxsize=16)
def cluster_of(seed: int, language: str, number: int) -> Cluster:
    """Draw cluster ``number``: depends on nothing but its arguments."""
    dice = Dice("cluster", seed, language, number)
    scribe = Scribe(dice, namer_of(seed, language), number)
    era = dice.between(1815, 1890)
    lives = [draw_life(scribe, rank, era) for rank in range(LIVES)]
    places = draw_places(scribe, era)
    seats = dice.sample(places, FIRMS)
    firms = tuple(
        draw_firm(scribe, life, seat, places, number * FIRMS + rank)
        for rank, (life, seat) in enumerate(zip(lives, seats, strict=False))
    )
    events = _events(scribe, places, lives)
    return Cluster(
        number=number,
        language=language,
        currency=scribe.word("currencies"),
        places=places,
        people=tuple(draw_person(scribe, life, places, firms) for life in lives),
        firms=firms,
        events=events,
        ledgers=tuple(_ledger(scribe, firm) for firm in firms),
        chronicles=_chronicles(scribe, places, lives),
    )


def _events(scribe: Scribe, places: Sequence[Place], lives: Sequence[Life]) -> tuple[Event, ...]:
    kinds = scribe.dice.sample(EVENT_KINDS, EVENTS)
    sites = scribe.dice.sample(places, EVENTS)
    return tuple(_event(scribe, kind, site, places, life) for kind, site, life in zip(kinds, sites, lives, strict=True))


def _event(scribe: Scribe, kind: str, place: Place, places: Sequence[Place], life: Life) -> Event:
    dice = scribe.dice
    start = scribe.day(life.born.year + 28, min(life.born.year + 65, life.died.year - 1))
    second = scribe.name()
    other = dice.pick([site for site in places if site != place])
    values = dice.sample(range(11, 400), dice.between(4, 8))
    shares = tuple(Share(scribe.name(), dice.pick(places), value) for value in values)
    name = scribe.word(f"event.name.{kind}").format(place=place.name, year=start.year)
    full = name.replace(place.name, place.full) if scribe.namer.language == "zh" else name
    return Event(
        kind=kind,
        name=name,
        full=full,
        place=place,
        other=other,
        start=start,
        end=start + timedelta(days=dice.between(*DURATION[kind])),
        leader=life.name,
        second=second,
        shares=shares,
        cost=dice.round_number(260, 9800),
        figures={key: dice.between(*bounds) for key, bounds in FIGURES[kind].items()},
    )


def _chronicles(scribe: Scribe, places: Sequence[Place], lives: Sequence[Life]) -> tuple[Chronicle, ...]:
    kinds = scribe.words("chronicle.kinds", CHRONICLES)
    sites = scribe.dice.sample(places, CHRONICLES)
    return tuple(_chronicle(scribe, kind, site, life) for kind, site, life in zip(kinds, sites, lives, strict=False))


def _chronicle(scribe: Scribe, what: str, place: Place, life: Life) -> Chronicle:
    dice = scribe.dice
    kind, name, *marks = (part.strip() for part in what.split(";"))
    words = load(scribe.namer.language).words
    day = scribe.day(life.born.year + 26, min(life.born.year + 48, life.died.year - 12))
    last = date(life.died.year, 1, 1) - timedelta(days=1)
    late = words("chronicle.late") + (() if "open" in marks else words("chronicle.late.house"))
    phases = (words("chronicle.early"), words("chronicle.middle"), late)
    drawn = [key for phase in phases for key in dice.sample(phase, dice.between(2, len(phase)))]
    keys = [*words("chronicle.first"), *drawn, *words("chronicle.last")]
    room = (last - day).days
    gap = max(9, min(130, room // (len(keys) + 1)))
    steps = []
    for key in keys:
        spent = dice.round_number(40, 2600) if key in SPENDING else 0
        steps.append(Step(day, key, dice.between(3, 95), spent, scribe.name()))
        day = scribe.day_after(day, 6, gap)
    name = name.replace("~", place.name)
    return Chronicle(
        kind=kind,
        name=name,
        full=name.replace(place.name, place.full, 1) if scribe.namer.language == "zh" else name,
        place=place,
        master=life.name,
        steps=tuple(steps),
        cost=sum(step.spent for step in steps),
    )


def _ledger(scribe: Scribe, firm: Firm) -> Ledger:
    """Draw the accounts of one year of a firm; its receipts sum to the takings that the firm had that year."""
    dice = scribe.dice
    takings = dice.pick(firm.revenue)
    receipts = _entries(scribe, takings.year, "ledger.receipts", takings.value, dice.between(6, 16))
    outlay = int(takings.value * (0.7 + 0.25 * dice.random()))
    payments = _entries(scribe, takings.year, "ledger.payments", outlay, dice.between(6, 17))
    opening = dice.between(60, 2400)
    return Ledger(
        firm=firm,
        year=takings.year,
        clerk=scribe.name(),
        auditor=scribe.name(),
        opening=opening,
        receipts=receipts,
        payments=payments,
        income=takings.value,
        outlay=outlay,
        closing=opening + takings.value - outlay,
        audited=scribe.day_after(date(takings.year, 12, 31), 9, 70),
    )


def _entries(scribe: Scribe, year: int, rule: str, total: int, count: int) -> tuple[Entry, ...]:
    """Split ``total`` into ``count`` dated entries of different amounts."""
    dice = scribe.dice
    amounts = _split(dice, total, count)
    days = sorted(dice.sample(range(365), count))
    items = scribe.words(rule, count)
    return tuple(
        Entry(date(year, 1, 1) + timedelta(days=day), item, scribe.name(), amount)
        for day, item, amount in zip(days, items, amounts, strict=True)
    )


def _split(dice: Dice, total: int, count: int) -> list[int]:
    """Split ``total`` into ``count`` different parts, each at least 10."""
    while True:
        weights = [0.3 + dice.random() for _ in range(count)]
        parts = [max(10, int(total * weight / sum(weights))) for weight in weights]
        parts[-1] += total - sum(parts)
        if parts[-1] >= 10 and len(set(parts)) == count:
            return parts
