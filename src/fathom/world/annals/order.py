"""T2: events in the order of their dates, and incidents in the order of cause and effect."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random

from fathom.world.annals.case import Case, Kind, need, scattered, towns_of, wording
from fathom.world.facts import ACTS
from fathom.world.prose import Writer
from fathom.world.reading import Read, act_in, work_in
from fathom.world.types import Dials, Language, Problem

EVENTS = "ABCDEFG"
_SPAN = 60
"""Days from the first event of T2.1 to the last, at most."""


def _dated(rng: Random, dials: Dials) -> Case:
    """One event of each of several towns of the same years.

    When an event was, neither its act tells nor the other papers of its town: half of the pairs are in their order.
    """
    _, district, towns = towns_of(rng, len(EVENTS), 1 + dials.near, 2)
    while True:
        days = [towns[0][0].day + after for after in rng.sample(range(_SPAN), len(EVENTS))]
        chosen = [(paper, rng.choice(paper.records)) for paper in map(rng.choice, towns)]
        moved = [day - paper.day for day, (paper, _) in zip(days, chosen, strict=True)]
        edges = ([town[at].day + by for town, by in zip(towns, moved, strict=True)] for at in (0, -1))
        acts = [ACTS.index(record.act) for _, record in chosen]
        if all(_undecided(days, signs) for signs in (acts, *edges)):
            break
    papers = [replace(paper, day=paper.day + by) for town, by in zip(towns, moved, strict=True) for paper in town]
    events = tuple((paper.town, record.act, record.work) for paper, record in chosen)
    asked = {"district": district, "events": events}
    return Case(scattered(rng, papers), frozenset(need(*pair) for pair in chosen), asked)


def _undecided(days: Iterable[int], signs: Iterable[int]) -> bool:
    """Whether about half of the pairs of events are in the order of what might betray it."""
    pairs = combinations([sign for _, sign in sorted(zip(days, signs, strict=True))], 2)
    return abs(sum((later > first) - (later < first) for first, later in pairs)) <= 1


def _ask_dated(case: Case, writer: Writer) -> Problem:
    entries = [case.entry(*event) for event in case.asked["events"]]
    lines = [
        f"{letter}. {writer.about('noun', paper, record)}"
        for letter, (paper, record) in zip(EVENTS, entries, strict=True)
    ]
    days = sorted(zip((paper.day for paper, _ in entries), EVENTS, strict=True))
    return Problem(wording(writer, "T2_1", events="\n".join(lines)), tuple(letter for _, letter in days), chance=0.5)


def _solve_dated(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    days = []
    for letter, line in re.findall(r"^([A-G])\. (.+)$", question, re.MULTILINE):
        work, act = work_in(line, language), act_in(line, language)
        days += [
            (paper.day, letter)
            for paper in papers
            if line.endswith(f"of {paper.town}") or line.startswith(paper.town)
            if any((reported.work, reported.act) == (work, act) for reported in paper.reported)
        ]
    return [letter for _, letter in sorted(days)]


def _caused(rng: Random, dials: Dials) -> Case:
    """The incidents of one town; its neighbours tell some of the same ones in another order."""
    _, _, towns = towns_of(rng, 1 + dials.near, 3, 4)
    links = [link for paper in towns[0] for link in paper.links]
    chain = _chained(dict(links))
    listed = list(chain)
    while listed == chain:
        rng.shuffle(listed)
    needed = {(paper.mark, cause, "link") for paper in towns[0] for cause, _ in paper.links}
    asked = {"town": towns[0][0].town, "chain": tuple(chain), "listed": tuple(listed)}
    return Case(scattered(rng, (paper for town in towns for paper in town)), frozenset(needed), asked)


def _chained(effects: dict[int, int]) -> list[int]:
    """Incidents from the first cause to the last effect."""
    chain = [next(iter(effects.keys() - effects.values()))]
    while chain[-1] in effects:
        chain.append(effects[chain[-1]])
    return chain


def _ask_caused(case: Case, writer: Writer) -> Problem:
    listed, chain = case.asked["listed"], case.asked["chain"]
    lines = "\n".join(f"{letter}. {writer.incident(each)}" for letter, each in zip(EVENTS, listed, strict=False))
    question = wording(writer, "T2_2", town=writer.names.town(case.asked["town"]), events=lines)
    return Problem(question, tuple(EVENTS[listed.index(each)] for each in chain), chance=0.5)


def _solve_caused(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    letters = {text: letter for letter, text in re.findall(r"^([A-G])\. (.+)$", question, re.MULTILINE)}
    effects = {cause: effect for paper in papers if paper.town in question for cause, effect in paper.links}
    at = next(iter(effects.keys() - set(effects.values())))
    yield letters[at]
    while at in effects:
        at = effects[at]
        yield letters[at]


KINDS = {"T2.1": Kind(_dated, _ask_dated, _solve_dated), "T2.2": Kind(_caused, _ask_caused, _solve_caused)}
