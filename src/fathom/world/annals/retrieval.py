"""T1 and T6: papers that bear on something, ranked, selected or counted."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from math import log2
from random import Random

from fathom.world.annals.case import Case, Kind, mixed, need, scattered, towns_of, wording
from fathom.world.facts import ACTS, SLOTS, Paper, Record, altered
from fathom.world.prose import Writer
from fathom.world.reading import Read, digits, work_in
from fathom.world.types import Dials, Language, Problem

USUAL = 0.08
"""Share of the works of T6.1 that have the most frequent number of papers, over all items."""
_SUMS = [act for act in ACTS if "money" in SLOTS[act]]
_RANKED = {"en": re.compile(r"report (.+?)\? Rank"), "zh": re.compile("哪些文件记载了(.+?)？")}
_DISTRICT = {"en": re.compile(r"the (\w+) district"), "zh": re.compile(r"(..)县")}
_KINDS = {
    "en": ("a petition", "a grant of money", "the award of a contract", "a delivery", "a gift", "damage",
           "an instalment", "an inspection", "the completion", "the opening", "the appointment"),
    "zh": ("请愿", "拨款", "承包", "运送", "捐款", "受损", "分期", "查验", "完工", "启用", "聘人"),
}  # fmt: skip
"""Words of questions for the acts, in the order of ``ACTS``: the solver's own."""


def _entries(papers: Iterable[Paper]) -> Iterator[tuple[Paper, Record]]:
    return ((paper, record) for paper in papers for record in paper.records)


def district_in(question: str, language: Language) -> str:
    """The district that a question names."""
    match = _DISTRICT[language].search(question)
    assert match
    return match[1]


def all_of(right: int, among: int) -> float:
    """F1 of naming all of some papers of which a few are right."""
    return 2 * right / (right + among)


def _random_order(right: int, among: int) -> float:
    """Expected NDCG of naming papers in random order."""
    gains = [right - place for place in range(right)]
    discounts = [1 / log2(place + 2) for place in range(right)]
    best = sum(gain * discount for gain, discount in zip(gains, discounts, strict=True))
    return sum(gains) / among * sum(discounts) / best


def _ranked_all(rng: Random, dials: Dials) -> Case:
    act = rng.choice(_SUMS)
    turns = mixed(3, dials.near)
    _, district, towns = towns_of(rng, len(turns), 3, 3, (act,), turns)
    papers = scattered(rng, (paper for town in towns for paper in town))
    reported = [(paper, record) for paper, record in _entries(papers) if record.act == act]
    right = [(paper, record) for paper, record in reported if paper.district == district]
    asked = {"district": district, "act": act, "among": len(reported)}
    return Case(papers, frozenset(need(*pair) for pair in right), asked)


def _ask_ranked_all(case: Case, writer: Writer) -> Problem:
    act = case.asked["act"]
    kind = writer.grammar["acts"][act]["kind"]
    question = wording(writer, "T1_1", district=writer.names.district(case.asked["district"]), kind=kind)
    return _ranking(case, writer, question, case.asked["among"])


def _ranking(case: Case, writer: Writer, question: str, among: int) -> Problem:
    sums = [
        (-record.values["money"], paper.mark)
        for paper, record in _entries(case.papers)
        if need(paper, record) in case.needed
    ]
    answers = tuple(writer.names.mark(mark) for _, mark in sorted(sums))
    return Problem(question, answers, chance=_random_order(len(answers), among))


def _solve_ranked_all(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    kind = _RANKED[language].search(question)
    assert kind
    act = ACTS[
        next(place for place, words in enumerate(_KINDS[language]) if kind[1].startswith(words) or words in kind[1])
    ]
    district = district_in(question, language)
    return _by_sum(
        (int(digits(reported.values["money"])), paper.mark)
        for paper in papers
        if paper.district == district
        for reported in paper.reported
        if reported.act == act
    )


def _by_sum(sums: Iterable[tuple[int, str]]) -> list[str]:
    return [mark for _, mark in sorted(sums, reverse=True)]


def _ranked_one(rng: Random, dials: Dials) -> Case:
    _, _, towns = towns_of(rng, 1 + dials.near, 4, 6)
    town = towns[0]
    work = rng.choice(town[0].records).work
    papers = scattered(rng, (paper for town in towns for paper in town))
    reported = [
        (paper, record) for paper, record in _entries(papers) if record.work == work and "money" in record.values
    ]
    right = [(paper, record) for paper, record in reported if paper.town == town[0].town]
    if len(right) < 4 or len(reported) < 2 * len(right):
        return _ranked_one(rng, dials)
    asked = {"town": town[0].town, "work": work, "among": len(reported)}
    return Case(papers, frozenset(need(*pair) for pair in right), asked)


def _ask_ranked_one(case: Case, writer: Writer) -> Problem:
    town = case.asked["town"]
    question = wording(writer, "T1_2", town=writer.names.town(town), work=writer.work(case.asked["work"]))
    return _ranking(case, writer, question, case.asked["among"])


def _solve_ranked_one(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    work = work_in(question, language)
    return _by_sum(
        (int(digits(reported.values["money"])), paper.mark)
        for paper in papers
        if paper.town in question
        for reported in paper.reported
        if reported.work == work and "money" in reported.values
    )


def _counted(rng: Random, dials: Dials) -> Case:
    turns = mixed(6, dials.near)
    _, district, towns = towns_of(rng, len(turns), 3, 3, turns=turns)
    papers = scattered(rng, (paper for town in towns for paper in town))
    counts = Counter(record.work for _, record in _entries(papers))
    works = rng.sample(sorted(counts), 4)
    own = ((paper, record) for paper, record in _entries(papers) if paper.district == district)
    needed = {need(paper, record) for paper, record in own if record.work in works}
    return Case(papers, frozenset(needed), {"district": district, "works": tuple(works)})


def _counts(case: Case) -> Counter[int]:
    """How many papers of the district tell of each work."""
    own = (record for paper, record in _entries(case.papers) if paper.district == case.asked["district"])
    return Counter(record.work for record in own)


def _lettered(writer: Writer, works: Sequence[int]) -> str:
    return "\n".join(f"{letter}. {writer.work(work)}" for letter, work in zip("ABCDEFG", works, strict=False))


def _ask_counted(case: Case, writer: Writer) -> Problem:
    works, counts = case.asked["works"], _counts(case)
    district = writer.names.district(case.asked["district"])
    question = wording(writer, "T6_1", district=district, works=_lettered(writer, works))
    answers = tuple(f"{letter}: {counts[work]}" for letter, work in zip("ABCD", works, strict=True))
    return Problem(question, answers, chance=USUAL)


def _works_in(question: str, language: Language) -> list[tuple[str, str]]:
    lines = re.findall(r"^([A-G])\. (.+)$", question, re.MULTILINE)
    return [(letter, work_in(line, language)) for letter, line in lines]


def _mentions(papers: Sequence[Read], question: str, language: Language) -> Counter[str]:
    district = district_in(question, language)
    return Counter(reported.work for paper in papers if paper.district == district for reported in paper.reported)


def _solve_counted(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    counts = _mentions(papers, question, language)
    return [f"{letter}: {counts[work]}" for letter, work in _works_in(question, language)]


def _frequent(rng: Random, dials: Dials) -> Case:
    """Works that towns of two districts tell of; how often both together do says nothing of the one asked for."""
    _, district, towns = towns_of(rng, 6, 3, 3, turns=mixed(3, dials.near))
    papers = scattered(rng, (paper for town in towns for paper in town))
    own, all_told = (Counter(record.work for paper, record in _entries(papers) if paper.district in districts)
                     for districts in ({district}, {paper.district for paper in papers}))  # fmt: skip
    works = rng.sample(sorted(own), min(4, len(own)))
    pairs = list(combinations(sorted(works, key=own.__getitem__), 2))
    if len(works) < 4 or any(own[first] == own[second] for first, second in pairs):
        return _frequent(rng, dials)
    # Neither the order of all mentions nor that in which works are first named may favour the right one.
    leads = [(all_told[more] - all_told[less]) / (all_told[more] + all_told[less]) for less, more in pairs]
    if sum((lead > 0) - (lead < 0) for lead in leads) or abs(sum(leads)) > 0.2:
        return _frequent(rng, dials)
    reported = {
        need(paper, record) for paper, record in _entries(papers) if paper.district == district and record.work in works
    }
    return Case(papers, frozenset(reported), {"district": district, "works": tuple(works)})


def _ask_frequent(case: Case, writer: Writer) -> Problem:
    works, counts = case.asked["works"], _counts(case)
    district = writer.names.district(case.asked["district"])
    question = wording(writer, "T6_3", district=district, works=_lettered(writer, works))
    ranked = sorted(zip("ABCD", works, strict=True), key=lambda pair: -counts[pair[1]])
    return Problem(question, tuple(letter for letter, _ in ranked), chance=0.5)


def _solve_frequent(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    counts = _mentions(papers, question, language)
    works = sorted(_works_in(question, language), key=lambda pair: -counts[pair[1]])
    return [letter for letter, _ in works]


_CHOICES = {"delivery": "material", "damage": "cause", "inspection": "defect"}


def _selected(rng: Random, dials: Dials) -> Case:
    act = rng.choice(list(_CHOICES))
    slot = _CHOICES[act]
    turns = mixed(2, dials.near, 2)
    stage, district, towns = towns_of(rng, len(turns), 3, 3, (act,), turns)
    value = stage.new(slot)
    papers = [paper for town in towns for paper in town]
    reported = [(paper, record) for paper, record in _entries(papers) if record.act == act]
    others = [other for other in range(8) if other != value]
    drawn = {paper.mark: value if rng.random() < 0.6 else rng.choice(others) for paper, _ in reported}
    right = [(paper, record) for paper, record in reported if paper.district == district and drawn[paper.mark] == value]
    if len(right) < 3 or set(drawn.values()) == {value}:  # a twin exchanges the value with another one
        return _selected(rng, dials)
    changed = (
        replace(paper, records=tuple(altered(record, slot, drawn[paper.mark]) if record.act == act else record
                                     for record in paper.records))
        for paper in papers
    )  # fmt: skip
    asked = {"district": district, "act": act, "slot": slot, "value": value, "among": list(drawn.values()).count(value)}
    return Case(scattered(rng, changed), frozenset(need(*pair) for pair in right), asked)


def _ask_selected(case: Case, writer: Writer) -> Problem:
    asked = case.asked
    district, value = writer.names.district(asked["district"]), writer.value(asked["slot"], asked["value"])
    question = wording(writer, "T6_2", asked["act"], district=district, value=value)
    marks = tuple(
        writer.names.mark(paper.mark) for paper in case.papers if any(n[0] == paper.mark for n in case.needed)
    )
    return Problem(question, marks, chance=all_of(len(marks), asked["among"]))


def _solve_selected(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    district = district_in(question, language)
    for paper in papers:
        values = [
            reported.values.get(slot, "")
            for reported in paper.reported
            for act, slot in _CHOICES.items()
            if reported.act == act
        ]
        if paper.district == district and any(value and value in question for value in values):
            yield paper.mark


KINDS = {
    "T1.1": Kind(_ranked_all, _ask_ranked_all, _solve_ranked_all),
    "T1.2": Kind(_ranked_one, _ask_ranked_one, _solve_ranked_one),
    "T6.1": Kind(_counted, _ask_counted, _solve_counted),
    "T6.2": Kind(_selected, _ask_selected, _solve_selected),
    "T6.3": Kind(_frequent, _ask_frequent, _solve_frequent),
}
