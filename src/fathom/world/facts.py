"""The facts of the annals, neutral of language: public works of towns, told step by step in dated papers.

A work of a town goes through acts in causal order. Records of one town are gathered in papers, none of which has two
records of one work or of one act. ``prove`` checks all of this before anything is written.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from functools import cache
from itertools import pairwise
from random import Random

from fathom.types import FathomError
from fathom.world.names import (
    DISTRICTS,
    FIRMS,
    OWN_DISTRICTS,
    OWN_MARKS,
    OWN_TOWNS,
    PEOPLE,
    TOWNS,
)

ACTS = ("petition", "vote", "contract", "delivery", "gift", "damage", "payment", "inspection", "completion", "opening",
        "keeper")  # fmt: skip
SLOTS: Mapping[str, tuple[str, ...]] = {
    "petition": ("person", "count"),
    "vote": ("person", "money"),
    "contract": ("firm", "money"),
    "delivery": ("firm", "count", "material"),
    "gift": ("person", "money"),
    "damage": ("person", "money", "cause"),
    "payment": ("firm", "money"),
    "inspection": ("person", "defect"),
    "completion": ("firm", "money"),
    "opening": ("person", "count"),
    "keeper": ("person", "money"),
}
"""What a record of an act says besides its work; the town and the day are those of its paper."""
BEFORE: Mapping[str, tuple[str, ...]] = {
    "vote": ("petition",),
    "contract": ("vote",),
    "delivery": ("contract",),
    "gift": ("petition",),
    "damage": ("contract",),
    "payment": ("delivery",),
    "inspection": ("payment", "damage"),
    "completion": ("inspection",),
    "opening": ("completion",),
    "keeper": ("completion",),
}
"""Acts that come before an act, if they come at all: no cause after its effect."""
BUILT = ("contract", "payment", "completion")
"""Acts of the firm that builds a work."""
SHARES = {
    "vote": (1.05, 1.4),
    "gift": (0.05, 0.3),
    "damage": (0.05, 0.3),
    "payment": (0.3, 0.6),
    "completion": (1.02, 1.3),
}
"""Sums of acts, as shares of the tender."""
WORKS, MATERIALS, DEFECTS, CAUSES, INCIDENTS = 16, 8, 8, 8, 184
GENRES = ("minutes", "letter", "gazette", "chronicle")
FIRST_DAY, LAST_DAY = date(1861, 1, 1).toordinal(), date(1936, 12, 31).toordinal()
GROUP = 384
"""Papers that fill contexts are drawn and shared in groups of about so many."""


@dataclass(frozen=True, slots=True)
class Record:
    """One fact: an act about a work, with the values of its slots (``SLOTS``)."""

    work: int
    act: str
    values: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Paper:
    """A dated paper of one town with some records, and with incidents as pairs of cause and effect."""

    mark: int
    genre: str
    town: int
    district: int
    day: int
    writer: int
    records: tuple[Record, ...]
    links: tuple[tuple[int, int], ...] = ()

    def has(self, act: str, work: int | None = None) -> bool:
        """Whether a record of an act is in it, about a given work or any."""
        return any(record.act == act and work in (None, record.work) for record in self.records)


@dataclass
class Stage:
    """Draws towns with their works; no value occurs twice where a question could confuse the two.

    Attributes:
        rng: The random generator of an item or of a group of fillers.
        towns: Towns not used yet.
        marks: File marks not used yet.
        taken: Values that are used, by slot.
        incidents: Numbers of the incidents that towns may tell: few, so that neighbours tell some of the same ones.
    """

    rng: Random
    towns: Iterator[int]
    marks: Iterator[int]
    taken: dict[str, set[int]] = field(default_factory=dict)
    incidents: Sequence[int] = range(INCIDENTS)

    @classmethod
    def of(cls, rng: Random) -> "Stage":
        """The stage of an item, with towns and file marks of its own."""
        towns, marks = iter(rng.sample(range(OWN_TOWNS), 40)), iter(rng.sample(range(OWN_MARKS), 400))
        return cls(rng, towns, marks, incidents=rng.sample(range(INCIDENTS), 24))

    def new(self, slot: str) -> int:
        """A value for a slot; people, firms, sums and counts are each used once."""
        sizes = {"material": MATERIALS, "defect": DEFECTS, "cause": CAUSES}
        if slot in sizes:
            return self.rng.randrange(sizes[slot])
        taken = self.taken.setdefault(slot, set())
        while (value := self._drawn(slot)) in taken:
            pass
        taken.add(value)
        return value

    def _drawn(self, slot: str) -> int:
        if slot == "person":
            return self.rng.randrange(PEOPLE)
        if slot == "firm":
            return self.rng.randrange(FIRMS)
        if slot == "count":
            return self.rng.randrange(41, 390)
        return self.rng.randrange(60, 999)

    def _near(self, tender: int, least: float, most: float) -> int:
        """A sum not used yet that is a share of a tender."""
        taken = self.taken.setdefault("money", set())
        while (value := round(tender * self.rng.uniform(least, most))) in taken:
            pass
        taken.add(value)
        return value

    def project(self, work: int, acts: Collection[str]) -> list[Record]:
        """The records of a work in causal order."""
        tender, builder = self._near(3000, 0.6, 2.4), self.new("firm")
        drawn = []
        for act in _ordered(self.rng, acts):
            values = {slot: self.new(slot) for slot in SLOTS[act] if slot != "money" or act == "keeper"}
            if act in BUILT:
                values["firm"] = builder
            if "money" in SLOTS[act] and act != "keeper":
                values["money"] = tender if act == "contract" else self._near(tender, *SHARES[act])
            drawn.append(Record(work, act, values))
        return drawn

    def town(self, district: int, projects: Sequence[Sequence[Record]]) -> list[Paper]:
        """The papers of a new town that tell of its works, in order of time."""
        rng, town = self.rng, next(self.towns)
        start = rng.randrange(FIRST_DAY, LAST_DAY - 5000)
        dated: list[tuple[int, int, Record]] = []
        for number, project in enumerate(projects):
            day = start + rng.randrange(200)
            for record in project:
                dated.append((day, number, record))
                day += rng.randrange(40, 160)
        dated.sort(key=lambda entry: entry[:2])
        # A day has one event, so that papers of a town have different dates.
        dated = [(day + place, number, record) for place, (day, number, record) in enumerate(dated)]
        papers: list[Paper] = []
        most, waiting = rng.randrange(2, 7), list[tuple[int, int, Record]]()
        for entry in dated:
            same = any(entry[2].act == other.act or entry[2].work == other.work for _, _, other in waiting)
            if same or len(waiting) == most:
                papers.append(self._paper(town, district, waiting))
                most, waiting = rng.randrange(2, 7), []
            waiting.append(entry)
        papers.append(self._paper(town, district, waiting))
        chain = rng.sample(self.incidents, rng.randrange(5, 8))
        # An effect is told in no earlier paper than its cause.
        places = sorted(rng.choices(range(len(papers)), k=len(chain) - 1))
        for place, link in zip(places, pairwise(chain), strict=True):
            papers[place] = replace(papers[place], links=(*papers[place].links, link))
        return papers

    def _paper(self, town: int, district: int, entries: Sequence[tuple[int, int, Record]]) -> Paper:
        records = tuple(record for _, _, record in entries)
        writer = self.rng.randrange(PEOPLE)
        return Paper(next(self.marks), self.rng.choice(GENRES), town, district, entries[-1][0], writer, records)


def _ordered(rng: Random, acts: Collection[str]) -> list[str]:
    """The acts in a random order in which none comes before one that it needs."""
    left, ordered = [act for act in ACTS if act in acts], list[str]()
    while left:
        free = [act for act in left if not set(_all_before(act)) & set(left)]
        ordered.append(rng.choice(free))
        left.remove(ordered[-1])
    return ordered


@cache
def _all_before(act: str) -> frozenset[str]:
    """All acts that come before an act."""
    direct = BEFORE.get(act, ())
    return frozenset(direct).union(*(_all_before(other) for other in direct))


@cache
def fillers(seed: int, group: int) -> tuple[Paper, ...]:
    """A group of papers of towns and districts that no item asks about."""
    rng = Random(f"fillers|{seed}|{group}")
    first = OWN_MARKS + group * GROUP * 2 % (OWN_MARKS - 4 * GROUP)
    stage = Stage(
        rng, iter(rng.sample(range(OWN_TOWNS, TOWNS), TOWNS - OWN_TOWNS)), iter(range(first, first + 2 * GROUP))
    )
    papers: list[Paper] = []
    while len(papers) < GROUP:
        district = rng.randrange(OWN_DISTRICTS, DISTRICTS)
        stage.taken = {}
        works = rng.sample(range(WORKS), rng.randrange(3, 8))
        projects = [stage.project(work, rng.sample(ACTS, rng.randrange(6, 12))) for work in works]
        papers += stage.town(district, projects)
    prove(papers)
    return tuple(papers)


def prove(papers: Iterable[Paper], planned: Collection[int] = ()) -> None:
    """Check that papers contradict neither each other nor the order of causes.

    Args:
        papers: The papers.
        planned: Marks of papers with planted contradictions or wrong builders, which are not compared.

    Raises:
        FathomError: A mark is used twice, a town is in two districts, two papers tell an act otherwise, a paper has two
            records of a work or act, a work has two builders, or an effect comes before its cause.
    """
    marks: set[int] = set()
    districts: dict[int, int] = {}
    causes: dict[tuple[int, int], int] = {}
    since: dict[tuple[int, int], int] = {}
    builders: dict[tuple[int, int], int] = {}
    reported: dict[tuple[int, int, str], tuple[int, Mapping[str, int]]] = {}
    for paper in papers:
        if paper.mark in marks:
            raise FathomError(f"world: two papers have mark {paper.mark}")
        marks.add(paper.mark)
        if districts.setdefault(paper.town, paper.district) != paper.district:
            raise FathomError(f"world: town {paper.town} is in two districts")
        for field_of in ("work", "act"):
            if len({getattr(record, field_of) for record in paper.records}) < len(paper.records):
                raise FathomError(f"world: paper {paper.mark} has two records of one {field_of}")
        for source, effect in paper.links:
            if causes.setdefault((paper.town, effect), source) != source or _leads(causes, paper.town, source, effect):
                raise FathomError(f"world: the causes of incident {effect} in town {paper.town} are unsound")
            since[paper.town, effect] = paper.day
        for record in paper.records:
            firm = record.values.get("firm", -1) if record.act in BUILT and paper.mark not in planned else -1
            if firm >= 0 and builders.setdefault((paper.town, record.work), firm) != firm:
                raise FathomError(f"world: work {record.work} in town {paper.town} has two builders")
        for record in paper.records if paper.mark not in planned else ():
            day, values = reported.setdefault((paper.town, record.work, record.act), (paper.day, record.values))
            if values != record.values:
                raise FathomError(f"world: {record.act} of work {record.work} in town {paper.town} is told in two ways")
            reported[paper.town, record.work, record.act] = (min(day, paper.day), values)
    for (town, effect), source in causes.items():
        if since.get((town, source), 0) > since[town, effect]:
            raise FathomError(f"world: incident {effect} in town {town} is told before its cause")
    for (town, work, act), (day, _) in reported.items():
        for cause in _all_before(act):
            if (town, work, cause) in reported and reported[town, work, cause][0] >= day:
                raise FathomError(f"world: {act} of work {work} in town {town} comes before {cause}")


def _leads(causes: Mapping[tuple[int, int], int], town: int, incident: int, source: int) -> bool:
    """Whether an incident goes back to another one through known causes."""
    while (town, incident) in causes and incident != source:
        incident = causes[town, incident]
    return incident == source


def altered(record: Record, slot: str, value: int) -> Record:
    """The record with another value."""
    return replace(record, values={**record.values, slot: value})
