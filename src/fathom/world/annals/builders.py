"""T7.3: papers that name a wrong builder, which only the other papers on the same work betray."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from random import Random

from fathom.world.annals.case import Case, Kind, need, scattered, towns_of, wording
from fathom.world.annals.retrieval import all_of, district_in
from fathom.world.facts import BUILT, Paper, Record, altered
from fathom.world.prose import Writer
from fathom.world.reading import Read
from fathom.world.types import Dials, Language, Problem

WRONG = (2, 3)
"""Works with a wrong builder in each of two towns."""
TOWNS, WORKS_EACH, LEAST_ACTS = 5, 3, 4


def _misnamed(rng: Random, dials: Dials) -> Case:
    """Works whose builder is named in three papers; in five of these papers it is that of another work of the town.

    Drawn again until only the work betrays a wrong builder: neither how often builders are named in a town or a paper,
    nor what they do there how often and when.
    """
    while True:
        _, district, towns = towns_of(rng, TOWNS, WORKS_EACH, LEAST_ACTS, BUILT)
        wrong: dict[int, int] = {}
        misnamed: set[tuple[int, int]] = set()
        for place, count in zip(rng.sample(range(TOWNS), len(WRONG)), WRONG, strict=True):
            act, town = rng.choice(BUILT), towns[place]
            works = rng.sample(sorted({record.work for _, record in _building(town)}), count)
            towns[place] = _exchanged(town, act, works)
            wrong |= {new.mark: record.values["firm"]
                      for old, (new, record) in zip(_building(town), _building(towns[place]), strict=True)
                      if old[1] != record}  # fmt: skip
            misnamed |= {(town[0].town, work) for work in works}
        if all(map(_unremarkable, towns)):
            break
    papers = [paper for town in towns for paper in town]
    needed = {need(paper, record) for paper, record in _building(papers) if (paper.town, record.work) in misnamed}
    asked = {"district": district, "wrong": tuple(wrong.items()), "among": TOWNS * WORKS_EACH * len(BUILT)}
    return Case(scattered(rng, papers), frozenset(needed), asked, planned=tuple(wrong))


def _building(papers: Sequence[Paper]) -> Iterator[tuple[Paper, Record]]:
    """The records that name a builder, with their papers."""
    return ((paper, record) for paper in papers for record in paper.records if record.act in BUILT)


def _exchanged(town: Sequence[Paper], act: str, works: Sequence[int]) -> list[Paper]:
    """The papers of a town with the builders of some works exchanged in a ring where an act is told."""
    builders = {record.work: record.values["firm"] for _, record in _building(town)}
    wrong = {work: builders[following] for work, following in pairwise([*works, works[0]])}
    return [
        replace(paper, records=tuple(
            altered(record, "firm", wrong[record.work]) if record.act == act and record.work in wrong else record
            for record in paper.records
        ))
        for paper in town
    ]  # fmt: skip


def _unremarkable(town: Sequence[Paper]) -> bool:
    """Whether no paper names a builder twice, and each builder wins a contract, is paid and completes in this order."""
    named = [(paper.mark, record.values["firm"]) for paper, record in _building(town)]
    days = {(record.values["firm"], record.act): paper.day for paper, record in _building(town)}
    in_order = all(days[firm, first] < days[firm, then] for _, firm in named for first, then in pairwise(BUILT))
    return in_order and len(set(named)) == len(named)


def _ask(case: Case, writer: Writer) -> Problem:
    names, wrong = writer.names, case.asked["wrong"]
    question = wording(writer, "T7_3", district=names.district(case.asked["district"]), count=len(wrong))
    answers = sorted(f"{names.mark(mark)}: {names.firm(firm)}" for mark, firm in wrong)
    return Problem(question, tuple(answers), chance=all_of(len(answers), case.asked["among"]))


def _solve(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    """Builders that are named once, where two other papers on the same work agree on another."""
    district = district_in(question, language)
    lines, named = list[str](), dict[tuple[str, str], list[tuple[str, str]]]()
    for paper in papers:
        for record in paper.reported if paper.district == district else ():
            if record.act in BUILT:
                named.setdefault((paper.town, record.work), []).append((paper.mark, record.values["firm"]))
    for builders in named.values():
        times = Counter(firm for _, firm in builders)
        lines += [f"{mark}: {firm}" for mark, firm in builders if times[firm] < max(times.values())]
    return sorted(lines)


KINDS = {"T7.3": Kind(_misnamed, _ask, _solve)}
