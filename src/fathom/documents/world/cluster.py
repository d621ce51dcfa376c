"""Builds clusters of consistent facts: places, lives, firms and people, then events, chronicles and ledgers."""

from collections.abc import Sequence
from datetime import date, timedelta
from functools import lru_cache

from fathom.documents.world.draws import LIVES, Draws, KeyedRandom, Namer
from fathom.documents.world.facts import (
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
from fathom.documents.world.grammar import load

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


def draw_places(draw: Draws, era: int) -> tuple[Place, ...]:
    """Draw the places of a valley; the first is its main place."""
    rng, namer, zh = draw.rng, draw.namer, draw.namer.language == "zh"
    river = namer.river(draw.number)
    bases = [namer.place(draw.number * (PLACES + 1) + offset) for offset in range(PLACES + 1)]
    region = bases[PLACES] + "县" if zh else f"the {draw.word('names.region')} of {bases[PLACES]}"
    kinds = ["place.kind.chief", *(f"place.kind.{rng.pick(('town', 'village'))}" for _ in range(PLACES - 1))]
    words = [draw.word(kind) for kind in kinds]
    names = [base + word.rpartition(";")[2] if zh else base for base, word in zip(bases, words, strict=False)]
    away = rng.sample(range(3, 41), PLACES - 1)
    places = []
    for rank, (name, kind) in enumerate(zip(names, words, strict=True)):
        founded = rng.between(1180, era - 90)
        size = rng.between(6000, 48000) if rank == 0 else rng.between(300, 5200)
        places.append(
            Place(
                name=name,
                full=region + name if zh else f"{name} on the {river}",
                kind=kind.partition(";")[0],
                region=region,
                river=river,
                founded=founded,
                founder=draw.name(),
                censuses=_grow(rng, size, era),
                trade=draw.trade(),
                landmarks=_landmarks(draw, founded, era),
                heads=_tenures(draw, era + rng.between(-20, 20), rng.between(3, 7)),
                chief=names[0] if rank else names[1],
                away=away[rank - 1] if rank else away[0],
                market=draw.word("days"),
                pupils=rng.between(18, 60) + size // 90,
                bridges=rng.between(2, 7),
            )
        )
    return tuple(places)


def _grow(rng: KeyedRandom, size: int, era: int) -> tuple[Figure, ...]:
    year = era - rng.between(0, 9)
    figures = []
    for _ in range(rng.between(4, 8)):
        figures.append(Figure(year, size))
        year += rng.between(6, 14)
        size += int(size * (rng.random() * 0.34 - 0.08)) + rng.between(1, 9)
    return tuple(figures)


def _landmarks(draw: Draws, founded: int, era: int) -> tuple[Landmark, ...]:
    rng = draw.rng
    kinds = draw.words("landmarks", rng.between(3, 6))
    years = sorted(rng.sample(range(max(founded + 5, era - 220), era + 60), len(kinds)))
    return tuple(
        Landmark(kind, year, rng.round_number(600, 90000), draw.name()) for kind, year in zip(kinds, years, strict=True)
    )


def _tenures(draw: Draws, start: int, count: int) -> tuple[Tenure, ...]:
    tenures = []
    for _ in range(count):
        end = start + draw.rng.between(3, 15)
        tenures.append(Tenure(draw.name(), start, end))
        start = end
    return tuple(tenures)


def draw_life(draw: Draws, rank: int, era: int) -> Life:
    """Draw a life of 50 to 91 years, with the working years after ``era``."""
    born = draw.day(era - 42, era - 12)
    return Life(draw.hero(rank), born, draw.day(born.year + 51, born.year + 91))


def draw_firm(draw: Draws, life: Life, seat: Place, places: Sequence[Place], number: int) -> Firm:
    """Draw a firm founded by the person of ``life`` at the age of 24 to 40."""
    rng, zh = draw.rng, draw.namer.language == "zh"
    trade = draw.trade()
    partner = draw.name()
    founded = draw.day(life.born.year + 24, life.born.year + 40)
    if zh:
        name = draw.namer.house(number) + trade.house
        full = seat.full + name
    else:
        name = f"{life.name.short} & {partner.short}"
        full = f"{name} of {seat.name}"
    closed = founded.year + rng.between(34, 75)
    fire = draw.day(founded.year + 3, closed - 3)
    return Firm(
        name=name,
        full=full,
        trade=trade,
        seat=seat,
        founder=life.name,
        partner=partner,
        founded=founded,
        capital=rng.between(8, 240) * 50,
        hands=_firm_hands(rng, founded.year, closed),
        revenue=_firm_revenue(rng, founded.year, closed),
        branches=_branches(rng, [place for place in places if place != seat], founded.year, closed),
        heads=_firm_heads(draw, life, founded.year, closed),
        fire=fire,
        damage=rng.round_number(300, 9000),
        closed=closed,
    )


def _firm_hands(rng: KeyedRandom, founded: int, closed: int) -> tuple[Figure, ...]:
    years = [founded, *sorted(rng.sample(range(founded + 2, closed), rng.between(3, 6)))]
    count, figures = rng.between(3, 14), []
    for year in years:
        figures.append(Figure(year, count))
        count += rng.between(2, 40)
    return tuple(figures)


def _firm_revenue(rng: KeyedRandom, founded: int, closed: int) -> tuple[Figure, ...]:
    start = founded + rng.between(1, 6)
    value, figures = rng.between(1400, 9000), []
    for year in range(start, min(start + rng.between(8, 18), closed)):
        figures.append(Figure(year, value))
        value = max(900, int(value * (0.84 + rng.random() * 0.42)))
    return tuple(figures)


def _branches(rng: KeyedRandom, places: Sequence[Place], founded: int, closed: int) -> tuple[Branch, ...]:
    chosen = rng.sample(places, rng.between(1, 3))
    years = sorted(rng.sample(range(founded + 4, closed - 2), len(chosen)))
    return tuple(Branch(place, year, rng.between(3, 45)) for place, year in zip(chosen, years, strict=True))


def _firm_heads(draw: Draws, life: Life, founded: int, closed: int) -> tuple[Tenure, ...]:
    start = min(founded + draw.rng.between(10, 24), life.died.year, closed - 8)
    heads = [Tenure(life.name, founded, start)]
    while start < closed:
        end = start + draw.rng.between(6, 18)
        end = closed if closed - end < 5 else end
        heads.append(Tenure(draw.name(), start, end))
        start = end
    return tuple(heads)


def draw_person(draw: Draws, life: Life, places: Sequence[Place], firms: Sequence[Firm]) -> Person:
    """Draw the details of a life, with posts in the cluster's firms."""
    rng, born, died = draw.rng, life.born.year, life.died
    own = next((firm for firm in firms if firm.founder == life.name), None)
    trade = own.trade if own else draw.trade()
    parent = draw.trade()
    siblings = rng.between(2, 8)
    apprenticed = born + rng.between(12, 16)
    married = draw.day(born + 23, min(born + 36, died.year - 4))
    return Person(
        name=life.name,
        born=life.born,
        died=died,
        birthplace=rng.pick(places),
        deathplace=rng.pick(places),
        parent=parent,
        rank=rng.between(1, siblings),
        siblings=siblings,
        trade=trade,
        teacher=draw.name(),
        apprenticed=apprenticed,
        spouse=draw.name("m" if life.name.sex == "f" else "f"),
        married=married,
        wedding=rng.pick(places),
        children=rng.between(2, 7),
        posts=_posts(draw, life, apprenticed + 4, places, firms, own),
        works=_works(draw, born + 25, died.year),
        awards=_awards(draw, life),
        journeys=_journeys(draw, born + 22, died.year),
        estate=rng.round_number(240, 30000),
    )


def _posts(
    draw: Draws, life: Life, start: int, places: Sequence[Place], firms: Sequence[Firm], own: Firm | None
) -> tuple[Post, ...]:
    rng, wage = draw.rng, draw.rng.between(40, 130)
    posts: list[Post] = []
    last = min(life.died.year - 1, life.born.year + 70)
    stop = own.founded.year if own else last
    institutions = draw.words("institutions", 8)
    roles = draw.words("roles", 8)
    while start < stop - 1 and institutions and len(posts) < 6:
        end = min(start + rng.between(2, 9), stop)
        firm = rng.pick(firms)
        place = rng.pick(places)
        if firm is not own and firm.founded.year < start and end < firm.closed and rng.chance(0.6):
            place, employer = firm.seat, firm.name
            firms = [other for other in firms if other is not firm] or [firm]
        else:
            employer = institutions.pop().replace("~", place.name)
        if all(post.employer != employer for post in posts):
            posts.append(Post(roles.pop(), employer, place, start, end, wage))
        wage += rng.between(5, 60)
        start = end if rng.chance(0.7) else end + 1
    return tuple(posts)


def _works(draw: Draws, low: int, high: int) -> tuple[Work, ...]:
    titles = draw.words("works", draw.rng.between(2, 5))
    years = sorted(draw.rng.sample(range(low, high), len(titles)))
    return tuple(
        Work(title.replace("~", draw.word("works.about")), year, draw.rng.between(3, 90) * 10)
        for title, year in zip(titles, years, strict=True)
    )


def _awards(draw: Draws, life: Life) -> tuple[Award, ...]:
    names = draw.words("awards", 2)
    low, high = life.born.year + 30, life.died.year
    years = sorted(draw.rng.sample(range(low, high), len(names)))
    return tuple(Award(name, year) for name, year in zip(names, years, strict=True))


def _journeys(draw: Draws, low: int, high: int) -> tuple[Journey, ...]:
    goals = draw.words("journeys", draw.rng.between(1, 4))
    years = sorted(draw.rng.sample(range(low, max(low + 8, high - 6)), len(goals)))
    return tuple(
        Journey(goal, year, draw.rng.between(3, 40), draw.rng.between(20, 900))
        for goal, year in zip(goals, years, strict=True)
    )


@lru_cache(maxsize=4)
def namer_of(seed: int, language: str) -> Namer:
    """The names of a seed in a language."""
    return Namer(seed, language)


@lru_cache(maxsize=16)
def cluster_of(seed: int, language: str, number: int) -> Cluster:
    """Draw cluster ``number``, which depends only on the arguments."""
    rng = KeyedRandom("cluster", seed, language, number)
    draw = Draws(rng, namer_of(seed, language), number)
    era = rng.between(1815, 1890)
    lives = [draw_life(draw, rank, era) for rank in range(LIVES)]
    places = draw_places(draw, era)
    seats = rng.sample(places, FIRMS)
    firms = tuple(
        draw_firm(draw, life, seat, places, number * FIRMS + rank)
        for rank, (life, seat) in enumerate(zip(lives, seats, strict=False))
    )
    events = _events(draw, places, lives)
    return Cluster(
        number=number,
        language=language,
        currency=draw.word("currencies"),
        places=places,
        people=tuple(draw_person(draw, life, places, firms) for life in lives),
        firms=firms,
        events=events,
        ledgers=tuple(_ledger(draw, firm) for firm in firms),
        chronicles=_chronicles(draw, places, lives),
    )


def _events(draw: Draws, places: Sequence[Place], lives: Sequence[Life]) -> tuple[Event, ...]:
    kinds = draw.rng.sample(EVENT_KINDS, EVENTS)
    sites = draw.rng.sample(places, EVENTS)
    return tuple(_event(draw, kind, site, places, life) for kind, site, life in zip(kinds, sites, lives, strict=True))


def _event(draw: Draws, kind: str, place: Place, places: Sequence[Place], life: Life) -> Event:
    rng = draw.rng
    start = draw.day(life.born.year + 28, min(life.born.year + 65, life.died.year - 1))
    second = draw.name()
    other = rng.pick([site for site in places if site != place])
    values = rng.sample(range(11, 400), rng.between(4, 8))
    shares = tuple(Share(draw.name(), rng.pick(places), value) for value in values)
    name = draw.word(f"event.name.{kind}").format(place=place.name, year=start.year)
    full = name.replace(place.name, place.full) if draw.namer.language == "zh" else name
    return Event(
        kind=kind,
        name=name,
        full=full,
        place=place,
        other=other,
        start=start,
        end=start + timedelta(days=rng.between(*DURATION[kind])),
        leader=life.name,
        second=second,
        shares=shares,
        cost=rng.round_number(260, 9800),
        figures={key: rng.between(*bounds) for key, bounds in FIGURES[kind].items()},
    )


def _chronicles(draw: Draws, places: Sequence[Place], lives: Sequence[Life]) -> tuple[Chronicle, ...]:
    kinds = draw.words("chronicle.kinds", CHRONICLES)
    sites = draw.rng.sample(places, CHRONICLES)
    return tuple(_chronicle(draw, kind, site, life) for kind, site, life in zip(kinds, sites, lives, strict=False))


def _chronicle(draw: Draws, what: str, place: Place, life: Life) -> Chronicle:
    rng = draw.rng
    kind, name, *marks = (part.strip() for part in what.split(";"))
    words = load(draw.namer.language).words
    day = draw.day(life.born.year + 26, min(life.born.year + 48, life.died.year - 12))
    last = date(life.died.year, 1, 1) - timedelta(days=1)
    late = words("chronicle.late") + (() if "open" in marks else words("chronicle.late.house"))
    phases = (words("chronicle.early"), words("chronicle.middle"), late)
    drawn = [key for phase in phases for key in rng.sample(phase, rng.between(2, len(phase)))]
    keys = [*words("chronicle.first"), *drawn, *words("chronicle.last")]
    room = (last - day).days
    gap = max(9, min(130, room // (len(keys) + 1)))
    steps = []
    for key in keys:
        spent = rng.round_number(40, 2600) if key in SPENDING else 0
        steps.append(Step(day, key, rng.between(3, 95), spent, draw.name()))
        day = draw.day_after(day, 6, gap)
    name = name.replace("~", place.name)
    return Chronicle(
        kind=kind,
        name=name,
        full=name.replace(place.name, place.full, 1) if draw.namer.language == "zh" else name,
        place=place,
        master=life.name,
        steps=tuple(steps),
        cost=sum(step.spent for step in steps),
    )


def _ledger(draw: Draws, firm: Firm) -> Ledger:
    """Draw the accounts of a firm for one year; its receipts sum to the firm's revenue in that year."""
    rng = draw.rng
    takings = rng.pick(firm.revenue)
    receipts = _entries(draw, takings.year, "ledger.receipts", takings.value, rng.between(6, 16))
    outlay = int(takings.value * (0.7 + 0.25 * rng.random()))
    payments = _entries(draw, takings.year, "ledger.payments", outlay, rng.between(6, 17))
    opening = rng.between(60, 2400)
    return Ledger(
        firm=firm,
        year=takings.year,
        clerk=draw.name(),
        auditor=draw.name(),
        opening=opening,
        receipts=receipts,
        payments=payments,
        income=takings.value,
        outlay=outlay,
        closing=opening + takings.value - outlay,
        audited=draw.day_after(date(takings.year, 12, 31), 9, 70),
    )


def _entries(draw: Draws, year: int, rule: str, total: int, count: int) -> tuple[Entry, ...]:
    """Split ``total`` into ``count`` dated entries of different amounts."""
    rng = draw.rng
    amounts = _split(rng, total, count)
    days = sorted(rng.sample(range(365), count))
    items = draw.words(rule, count)
    return tuple(
        Entry(date(year, 1, 1) + timedelta(days=day), item, draw.name(), amount)
        for day, item, amount in zip(days, items, amounts, strict=True)
    )


def _split(rng: KeyedRandom, total: int, count: int) -> list[int]:
    """Split ``total`` into ``count`` different parts, each at least 10."""
    while True:
        weights = [0.3 + rng.random() for _ in range(count)]
        parts = [max(10, int(total * weight / sum(weights))) for weight in weights]
        parts[-1] += total - sum(parts)
        if parts[-1] >= 10 and len(set(parts)) == count:
            return parts
