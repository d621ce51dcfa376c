"""Counterfactual twins of cases, what leaves them without an answer, and the order in which papers are used."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from random import Random

from fathom.world.annals.case import Case, Need, need
from fathom.world.facts import BUILT, Paper, Record, altered

_Told = tuple[Paper, Record]


def counterfactual(case: Case, code: str, rng: Random) -> Case:
    """The case with a value that is asked for exchanged with another one of its kind, so that the answer is another.

    Both values stand in the papers as often as before, and no other value changes.

    Args:
        case: A case of a task with twins (``fathom.world.dials.TWINS``).
        code: Its secondary task.
        rng: Draws what is exchanged.
    """
    reported = [(paper, record) for paper in case.papers for record in paper.records]
    asked = [entry for entry in reported if need(*entry) in case.needed]
    if code in ("T1.1", "T1.2"):
        ranked = sorted(asked, key=lambda entry: entry[1].values["money"])
        return _exchanged(case, ranked[0], ranked[-1], "money")
    if code == "T6.2":
        return _selected(case, rng.choice(asked), reported, rng)
    slot = case.asked["slot"]
    links = case.asked.get("links", ())
    end = links[-1] if links else asked[0][1]
    right = next(entry for entry in reported if entry[1] is end)
    others = [
        entry for entry in reported
        if entry[1].act == end.act and entry[1] is not end and entry[1].values[slot] in case.asked["options"]
        and (links or entry[1].work == end.work)
    ]  # fmt: skip
    changed = _exchanged(case, right, rng.choice(others), slot)
    if not links:
        return changed
    now = changed.entry(right[0].town, end.act, end.work)[1]
    return replace(changed, asked={**case.asked, "links": (*links[:-1], now)})


def _selected(case: Case, right: _Told, reported: Collection[_Told], rng: Random) -> Case:
    """The case of T6.2 in which another paper of the district has the value that one had."""
    act, slot, district = (case.asked[name] for name in ("act", "slot", "district"))
    wrong = [entry for entry in reported if entry[1].act == act and entry[1].values[slot] != case.asked["value"]]
    near = [entry for entry in wrong if entry[0].district == district] or wrong
    other = rng.choice(near)
    needed = case.needed - {need(*right)} | ({need(*other)} if other[0].district == district else set())
    return replace(_exchanged(case, right, other, slot), needed=needed)


def _exchanged(case: Case, first: _Told, second: _Told, slot: str) -> Case:
    """The case in which two records have each other's value; a firm stays the builder of all of its work."""
    values = dict[tuple[int, int, str], int]()
    for (paper, record), (_, other) in ((first, second), (second, first)):
        acts = BUILT if slot == "firm" and record.act in BUILT else (record.act,)
        values |= {(paper.town, record.work, act): other.values[slot] for act in acts}
    papers = tuple(
        replace(paper, records=tuple(
            altered(record, slot, values[key]) if (key := (paper.town, record.work, record.act)) in values else record
            for record in paper.records
        ))
        for paper in case.papers
    )  # fmt: skip
    return replace(case, papers=papers)


def answering(case: Case) -> frozenset[Need]:
    """The records without which the papers lack the answer: the end of a chain, and what supports statements."""
    if links := case.asked.get("links"):
        return frozenset(each for each in case.needed if each[1:] == (links[-1].work, links[-1].act))
    return frozenset(each for each in case.needed if each[0] in case.asked.get("marks", (each[0],)))


def turns_of(case: Case) -> Mapping[int, int]:
    """When the answer uses the evidence of each paper, from 1, by mark; of papers without an order nothing."""
    reported = [
        (paper, record) for paper in case.papers for record in paper.records if need(paper, record) in case.needed
    ]
    marks = [paper.mark for paper in case.papers if any(mark == paper.mark for mark, _, _ in case.needed)]
    if case.code in ("T1.1", "T1.2"):
        marks = [paper.mark for paper, _ in sorted(reported, key=lambda entry: -entry[1].values["money"])]
    elif case.code in ("T2.1", "T2.2", "T4.1", "T4.2"):
        days = {paper.mark: paper.day for paper in case.papers}
        marks.sort(key=days.__getitem__)
    elif case.code == "T3.1":
        marks = [paper.mark for link in case.asked["links"] for paper, record in reported if record == link]
    elif case.code in ("T5.1", "T5.2"):
        marks = [mark for mark in case.asked["marks"] if mark >= 0]
    else:
        return {}
    return {mark: turn for turn, mark in enumerate(dict.fromkeys(marks), start=1)}
