"""Builds a cluster whose facts agree: places, lives, firms and people, then events, chronicles and ledgers."""

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache

from fathom.corpus.world.facts import (
    Award,
    Branch,
    Chronicle,
    Cluster,
    Entry,
    Event,
    Figure,
    Firm,
    Journey,
    Landmark,
    Ledger,
    Life,
    Person,
    Place,
    Post,
    Share,
    Step,
    Tenure,
    Work,
)
from fathom.corpus.world.grammar import load
from fathom.corpus.world.scribe import LIVES, Dice, Namer, Scribe

PLACES = 4
FIRMS = 2
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


def draw_places(scribe: Scribe, era: int) -> tuple[Place, ...]:
    """Draw the places of a valley; the first is its chief place."""
    dice, namer, zh = scribe.dice, scribe.namer, scribe.namer.language == "zh"
    river = namer.river(scribe.number)
    bases = [namer.place(scribe.number * (PLACES + 1) + offset) for offset in range(PLACES + 1)]
    region = bases[PLACES] + "县" if zh else f"the {scribe.word('names.region')} of {bases[PLACES]}"
    kinds = ["place.kind.chief", *(f"place.kind.{dice.pick(('town', 'village'))}" for _ in range(PLACES - 1))]
    words = [scribe.word(kind) for kind in kinds]
    names = [base + word.rpartition(";")[2] if zh else base for base, word in zip(bases, words, strict=False)]
    away = dice.sample(range(3, 41), PLACES - 1)
    places = []
    for rank, (name, kind) in enumerate(zip(names, words, strict=True)):
        founded = dice.between(1180, era - 90)
        size = dice.between(6000, 48000) if rank == 0 else dice.between(300, 5200)
        places.append(
            Place(
                name=name,
                full=region + name if zh else f"{name} on the {river}",
                kind=kind.partition(";")[0],
                region=region,
                river=river,
                founded=founded,
                founder=scribe.name(),
                censuses=_grow(dice, size, era),
                trade=scribe.trade(),
                landmarks=_landmarks(scribe, founded, era),
                heads=_tenures(scribe, era + dice.between(-20, 20), dice.between(3, 7)),
                chief=names[0] if rank else names[1],
                away=away[rank - 1] if rank else away[0],
                market=scribe.word("days"),
                pupils=dice.between(18, 60) + size // 90,
                bridges=dice.between(2, 7),
            )
        )
    return tuple(places)


def _grow(dice: Dice, size: int, era: int) -> tuple[Figure, ...]:
    year = era - dice.between(0, 9)
    figures = []
    for _ in range(dice.between(4, 8)):
        figures.append(Figure(year, size))
        year += dice.between(6, 14)
        size += int(size * (dice.random() * 0.34 - 0.08)) + dice.between(1, 9)
    return tuple(figures)


def _landmarks(scribe: Scribe, founded: int, era: int) -> tuple[Landmark, ...]:
    dice = scribe.dice
    kinds = scribe.words("landmarks", dice.between(3, 6))
    years = sorted(dice.sample(range(max(founded + 5, era - 220), era + 60), len(kinds)))
    return tuple(
        Landmark(kind, year, dice.round_number(600, 90000), scribe.name())
        for kind, year in zip(kinds, years, strict=True)
    )


def _tenures(scribe: Scribe, start: int, count: int) -> tuple[Tenure, ...]:
    tenures = []
    for _ in range(count):
        end = start + scribe.dice.between(3, 15)
        tenures.append(Tenure(scribe.name(), start, end))
        start = end
    return tuple(tenures)


def draw_life(scribe: Scribe, rank: int, era: int) -> Life:
    """Draw a life of 50 to 91 years, of which the working part falls after ``era``."""
    born = scribe.day(era - 42, era - 12)
    return Life(scribe.hero(rank), born, scribe.day(born.year + 51, born.year + 91))


def draw_firm(scribe: Scribe, life: Life, seat: Place, places: Sequence[Place], number: int) -> Firm:
    """Draw a firm founded by the bearer of ``life`` between the ages of 24 and 40."""
    dice, zh = scribe.dice, scribe.namer.language == "zh"
    trade = scribe.trade()
    partner = scribe.name()
    founded = scribe.day(life.born.year + 24, life.born.year + 40)
    if zh:
        name = scribe.namer.house(number) + trade.house
        full = seat.full + name
    else:
        name = f"{life.name.short} & {partner.short}"
        full = f"{name} of {seat.name}"
    closed = founded.year + dice.between(34, 75)
    fire = scribe.day(founded.year + 3, closed - 3)
    return Firm(
        name=name,
        full=full,
        trade=trade,
        seat=seat,
        founder=life.name,
        partner=partner,
        founded=founded,
        capital=dice.between(8, 240) * 50,
        hands=_firm_hands(dice, founded.year, closed),
        revenue=_firm_revenue(dice, founded.year, closed),
        branches=_branches(dice, [place for place in places if place != seat], founded.year, closed),
        heads=_firm_heads(scribe, life, founded.year, closed),
        fire=fire,
        damage=dice.round_number(300, 9000),
        closed=closed,
    )


def _firm_hands(dice: Dice, founded: int, closed: int) -> tuple[Figure, ...]:
    years = [founded, *sorted(dice.sample(range(founded + 2, closed), dice.between(3, 6)))]
    count, figures = dice.between(3, 14), []
    for year in years:
        figures.append(Figure(year, count))
        count += dice.between(2, 40)
    return tuple(figures)


def _firm_revenue(dice: Dice, founded: int, closed: int) -> tuple[Figure, ...]:
    start = founded + dice.between(1, 6)
    value, figures = dice.between(1400, 9000), []
    for year in range(start, min(start + dice.between(8, 18), closed)):
        figures.append(Figure(year, value))
        value = max(900, int(value * (0.84 + dice.random() * 0.42)))
    return tuple(figures)


def _branches(dice: Dice, places: Sequence[Place], founded: int, closed: int) -> tuple[Branch, ...]:
    chosen = dice.sample(places, dice.between(1, 3))
    years = sorted(dice.sample(range(founded + 4, closed - 2), len(chosen)))
    return tuple(Branch(place, year, dice.between(3, 45)) for place, year in zip(chosen, years, strict=True))


def _firm_heads(scribe: Scribe, life: Life, founded: int, closed: int) -> tuple[Tenure, ...]:
    start = min(founded + scribe.dice.between(10, 24), life.died.year, closed - 8)
    heads = [Tenure(life.name, founded, start)]
    while start < closed:
        end = start + scribe.dice.between(6, 18)
        end = closed if closed - end < 5 else end
        heads.append(Tenure(scribe.name(), start, end))
        start = end
    return tuple(heads)


def draw_person(scribe: Scribe, life: Life, places: Sequence[Place], firms: Sequence[Firm]) -> Person:
    """Draw a whole life into its frame, with posts in the cluster's firms."""
    dice, born, died = scribe.dice, life.born.year, life.died
    own = next((firm for firm in firms if firm.founder == life.name), None)
    trade = own.trade if own else scribe.trade()
    parent = scribe.trade()
    siblings = dice.between(2, 8)
    apprenticed = born + dice.between(12, 16)
    married = scribe.day(born + 23, min(born + 36, died.year - 4))
    return Person(
        name=life.name,
        born=life.born,
        died=died,
        birthplace=dice.pick(places),
        deathplace=dice.pick(places),
        parent=parent,
        rank=dice.between(1, siblings),
        siblings=siblings,
        trade=trade,
        teacher=scribe.name(),
        apprenticed=apprenticed,
        spouse=scribe.name("m" if life.name.sex == "f" else "f"),
        married=married,
        wedding=dice.pick(places),
        children=dice.between(2, 7),
        posts=_posts(scribe, life, apprenticed + 4, places, firms, own),
        works=_works(scribe, born + 25, died.year),
        awards=_awards(scribe, life),
        journeys=_journeys(scribe, born + 22, died.year),
        estate=dice.round_number(240, 30000),
    )


def _posts(
    scribe: Scribe, life: Life, start: int, places: Sequence[Place], firms: Sequence[Firm], own: Firm | None
) -> tuple[Post, ...]:
    dice, wage = scribe.dice, scribe.dice.between(40, 130)
    posts: list[Post] = []
    last = min(life.died.year - 1, life.born.year + 70)
    stop = own.founded.year if own else last
    institutions = scribe.words("institutions", 8)
    roles = scribe.words("roles", 8)
    while start < stop - 1 and institutions and len(posts) < 6:
        end = min(start + dice.between(2, 9), stop)
        firm = dice.pick(firms)
        place = dice.pick(places)
        if firm is not own and firm.founded.year < start and end < firm.closed and dice.chance(0.6):
            place, employer = firm.seat, firm.name
            firms = [other for other in firms if other is not firm] or [firm]
        else:
            employer = institutions.pop().replace("~", place.name)
        if all(post.employer != employer for post in posts):
            posts.append(Post(roles.pop(), employer, place, start, end, wage))
        wage += dice.between(5, 60)
        start = end if dice.chance(0.7) else end + 1
    return tuple(posts)


def _works(scribe: Scribe, low: int, high: int) -> tuple[Work, ...]:
    titles = scribe.words("works", scribe.dice.between(2, 5))
    years = sorted(scribe.dice.sample(range(low, high), len(titles)))
    return tuple(
        Work(title.replace("~", scribe.word("works.about")), year, scribe.dice.between(3, 90) * 10)
        for title, year in zip(titles, years, strict=True)
    )


def _awards(scribe: Scribe, life: Life) -> tuple[Award, ...]:
    names = scribe.words("awards", 2)
    low, high = life.born.year + 30, life.died.year
    years = sorted(scribe.dice.sample(range(low, high), len(names)))
    return tuple(Award(name, year) for name, year in zip(names, years, strict=True))


def _journeys(scribe: Scribe, low: int, high: int) -> tuple[Journey, ...]:
    goals = scribe.words("journeys", scribe.dice.between(1, 4))
    years = sorted(scribe.dice.sample(range(low, max(low + 8, high - 6)), len(goals)))
    return tuple(
        Journey(goal, year, scribe.dice.between(3, 40), scribe.dice.between(20, 900))
        for goal, year in zip(goals, years, strict=True)
    )


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
