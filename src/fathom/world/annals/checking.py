"""T5 and T7.1: statements and the papers that support them, planted contradictions."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import combinations
from random import Random
from typing import TypeAlias

from fathom.world.annals.case import NONE, Case, Kind, need, scattered, towns_of, wording
from fathom.world.annals.retrieval import all_of, district_in
from fathom.world.facts import GENRES, SLOTS, Paper, Record, altered
from fathom.world.names import PEOPLE
from fathom.world.prose import Writer
from fathom.world.reading import Read, Report, act_in, values_in, work_in
from fathom.world.types import Dials, Language, Problem

CLAIMS, MOST_FALSE = 6, 2
CONFLICTS = 4
ONCE = {"contract": ("money",), "completion": ("money",), "opening": ("person", "count")}
"""Acts that happen once to a work, as the question says, with the values of which two papers can contradict each other.
A change of the firm would contradict other papers of the work too."""
_STATEMENT = re.compile(r"^([A-G])\. (.+)$", re.MULTILINE)
_Told: TypeAlias = tuple[Paper, Record]


def _false(rng: Random, entry: _Told, listed: Sequence[_Told], reported: Sequence[_Told]) -> Record:
    """A record with one value of another record of the same act, or a value not told.

    No other statement of the list has this value, nor names the builder of this work: the list itself betrays nothing.
    """
    paper, record = entry
    slot = rng.choice(SLOTS[record.act])
    of_work = [other for at, other in listed if (at.town, other.work) == (paper.town, record.work)]
    if slot == "firm" and len(of_work) > 1:
        slot = SLOTS[record.act][1]
    values = {other.values[slot] for _, other in reported if other.act == record.act}
    values -= {other.values.get(slot, -1) for _, other in listed}
    value = rng.choice(sorted(values)) if values else record.values[slot] + 1
    return altered(record, slot, value % 8 if slot in ("material", "defect", "cause") else value)


def _cited(rng: Random, dials: Dials) -> Case:
    """Statements about the works of a district; up to two are told nowhere as they stand."""
    _, district, towns = towns_of(rng, 4 + dials.near, 3, 4)
    reported = [(paper, record) for town in towns[:4] for paper in town for record in paper.records]
    chosen = rng.sample(reported, CLAIMS)
    wrong = set(rng.sample(range(CLAIMS), rng.randrange(MOST_FALSE + 1)))
    claims = tuple(
        (entry[0].town, _false(rng, entry, chosen, reported) if place in wrong else entry[1])
        for place, entry in enumerate(chosen)
    )
    marks = tuple(-1 if place in wrong else paper.mark for place, (paper, _) in enumerate(chosen))
    needed = frozenset(need(*pair) for pair in chosen)
    asked = {"district": district, "claims": claims, "marks": marks}
    return Case(scattered(rng, (paper for town in towns for paper in town)), needed, asked)


def _lines(case: Case, writer: Writer) -> str:
    claims = [(replace(case.papers[0], town=town), record) for town, record in case.asked["claims"]]
    return "\n".join(
        f"{letter}. {writer.about('claim', *claim)}" for letter, claim in zip("ABCDEFG", claims, strict=False)
    )


def _ask_cited(case: Case, writer: Writer) -> Problem:
    district = writer.names.district(case.asked["district"])
    supported = [mark >= 0 and not case.left_out for mark in case.asked["marks"]]
    marks = [writer.names.mark(mark) if is_supported else NONE[writer.language]
             for mark, is_supported in zip(case.asked["marks"], supported, strict=True)]  # fmt: skip
    answers = tuple(f"{letter}: {mark}" for letter, mark in zip("ABCDEFG", marks, strict=False))
    question = wording(writer, "T5_1", district=district, claims=_lines(case, writer), none=NONE[writer.language])
    return Problem(question, answers, chance=0.0 if case.left_out else MOST_FALSE / 2 / CLAIMS)


def _supporting(claim: str, papers: Sequence[Read], language: Language) -> str:
    """The mark of the paper that says what a claim says; "" if none does."""
    work, act, values = work_in(claim, language), act_in(claim, language), values_in(claim, language)
    for paper in papers:
        for reported in paper.reported if paper.town in claim else ():
            if (reported.work, reported.act) == (work, act) and all(
                text == values.get(slot) for slot, text in reported.values.items()
            ):
                return paper.mark
    return ""


def _solve_cited(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    for letter, claim in _STATEMENT.findall(question):
        yield f"{letter}: {_supporting(claim, papers, language) or NONE[language]}"


def _supported(rng: Random, dials: Dials) -> Case:
    """One statement of several parts about one town; one part is false."""
    _, _, towns = towns_of(rng, 1 + dials.near, 4, 6)
    reported = [(paper, record) for paper in towns[0] for record in paper.records]
    chosen: list[tuple[Paper, Record]] = []
    for paper, record in rng.sample(reported, len(reported)):
        if paper.mark not in {other.mark for other, _ in chosen} and len(chosen) < 5:
            chosen.append((paper, record))
    if len(chosen) < 5:
        return _supported(rng, dials)
    wrong = rng.randrange(5)
    everything = [(paper, record) for town in towns for paper in town for record in paper.records]
    claims = [
        (entry[0].town, _false(rng, entry, chosen, everything) if place == wrong else entry[1])
        for place, entry in enumerate(chosen)
    ]
    right = [pair for place, pair in enumerate(chosen) if place != wrong]
    asked = {"town": towns[0][0].town, "claims": tuple(claims), "marks": tuple(paper.mark for paper, _ in right),
             "among": len(towns[0])}  # fmt: skip
    needed = frozenset(need(*pair) for pair in right)
    return Case(scattered(rng, (paper for town in towns for paper in town)), needed, asked)


def _ask_supported(case: Case, writer: Writer) -> Problem:
    joint = " " if writer.language == "en" else ""
    claims = [(replace(case.papers[0], town=town), record) for town, record in case.asked["claims"]]
    statement = joint.join(writer.about("claim", *claim) for claim in claims)
    marks = tuple(map(writer.names.mark, case.asked["marks"]))
    return Problem(wording(writer, "T5_2", statement=statement), marks, chance=all_of(len(marks), case.asked["among"]))


def _solve_supported(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    statement = question.split("\n")[-1]
    for claim in re.split(r"(?<=\.) " if language == "en" else "(?<=。)", statement):
        if mark := _supporting(claim, papers, language):
            yield mark


# ------------------------------------------------------------------------------------------- contradictions


def _contradicted(rng: Random, dials: Dials) -> Case:
    """Facts of a district told twice, in papers of different dates; one value of some is another one."""
    stage, district, towns = towns_of(rng, 4, 3, 4, tuple(ONCE))
    papers = [paper for town in towns for paper in town]
    reported = [(paper, record) for paper in papers for record in paper.records if record.act in ONCE]
    twice: list[tuple[Paper, Record]] = []
    size = CONFLICTS + dials.near
    for paper, record in rng.sample(reported, len(reported)):
        if paper.mark not in {other.mark for other, _ in twice} and len(twice) < size:
            twice.append((paper, record))
    if len(twice) < size:
        return _contradicted(rng, dials)
    again = [
        Paper(next(stage.marks), rng.choice(GENRES), paper.town, district, paper.day + rng.randrange(3, 30),
              rng.randrange(PEOPLE), (record,))
        for paper, record in twice
    ]  # fmt: skip
    pairs, planned = [], []
    for place in rng.sample(range(size), CONFLICTS):
        paper, record = twice[place]
        again[place] = replace(again[place], records=(_otherwise(rng, record),))
        pairs.append((paper.mark, again[place].mark))
        planned.append(again[place].mark)
    needed = {(mark, record.work, record.act) for place, (paper, record) in enumerate(twice)
              for mark in (paper.mark, again[place].mark) if again[place].mark in planned}  # fmt: skip
    asked = {"district": district, "pairs": tuple(pairs), "among": size}
    return Case(scattered(rng, (*papers, *again)), frozenset(needed), asked, planned=tuple(planned))


def _otherwise(rng: Random, record: Record) -> Record:
    """The record with another person, or with a sum or number near its own."""
    slot = rng.choice(ONCE[record.act])
    value = record.values[slot]
    if slot == "person":
        return altered(record, slot, (value + rng.randrange(1, PEOPLE)) % PEOPLE)
    return altered(record, slot, value + rng.choice((-1, 1)) * rng.randrange(1, 1 + value // 10))


def _ask_contradicted(case: Case, writer: Writer) -> Problem:
    pairs = [sorted(map(writer.names.mark, pair)) for pair in case.asked["pairs"]]
    question = wording(writer, "T7_1", district=writer.names.district(case.asked["district"]))
    return Problem(
        question, tuple(" + ".join(pair) for pair in sorted(pairs)), chance=all_of(CONFLICTS, case.asked["among"])
    )


def _solve_contradicted(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    """Any two papers that tell what happens once otherwise, or name two builders of a work."""
    district = district_in(question, language)
    of_work: dict[tuple[str, str], list[tuple[str, Report]]] = {}
    for paper in papers:
        for record in paper.reported if paper.district == district else ():
            of_work.setdefault((paper.town, record.work), []).append((paper.mark, record))
    pairs = {
        " + ".join(sorted((mark, other_mark)))
        for reported in of_work.values()
        for (mark, record), (other_mark, other) in combinations(reported, 2)
        if _contradict(record, other)
    }
    return sorted(pairs)


def _contradict(first: Report, second: Report) -> bool:
    if {first.act, second.act} <= {"contract", "payment", "completion"} and first.values.get(
        "firm"
    ) != second.values.get("firm"):
        return True
    return first.act == second.act in ("contract", "completion", "opening") and first.values != second.values


KINDS = {
    "T5.1": Kind(_cited, _ask_cited, _solve_cited),
    "T5.2": Kind(_supported, _ask_supported, _solve_supported),
    "T7.1": Kind(_contradicted, _ask_contradicted, _solve_contradicted),
}
