"""T4: summaries of what papers say, with four references; the answer is the list of facts that they contain."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from itertools import chain
from random import Random

from fathom.world.annals.case import Case, Kind, mixed, need, scattered, towns_of, wording
from fathom.world.annals.retrieval import district_in
from fathom.world.facts import Paper, Record
from fathom.world.prose import Writer
from fathom.world.reading import Read, Report, digits, work_in
from fathom.world.types import Dials, Language, Problem

SPARE = 1.2
"""Limit of a summary, as a share of its longest reference."""
CHANCE = {("T4.1", "en"): 0.57, ("T4.1", "zh"): 0.45, ("T4.2", "en"): 0.58, ("T4.2", "zh"): 0.36}
"""Scores of the reference of another item, as ``performance/world_attacks.py`` measures."""


def _of_district(rng: Random, dials: Dials) -> Case:
    """Works that were completed in a district."""
    turns = mixed(5, dials.near)
    _, district, towns = towns_of(rng, len(turns), 3, 4, turns=turns)
    papers = scattered(rng, (paper for town in towns for paper in town))
    own = (paper for paper in papers if paper.district == district)
    reported = [(paper, record) for paper in own for record in paper.records if record.act == "completion"]
    if not 4 <= len(reported) <= 8 or len({paper.day for paper, _ in reported}) < len(reported):
        return _of_district(rng, dials)
    return Case(papers, frozenset(need(*pair) for pair in reported), {"district": district})


def _of_work(rng: Random, dials: Dials) -> Case:
    """The course of one work of a town; another town has the same works."""
    _, _, towns = towns_of(rng, 1 + dials.near, 5, 7)
    work = rng.choice(towns[0][0].records).work
    reported = [(paper, record) for paper in towns[0] for record in paper.records if record.work == work]
    asked = {"town": towns[0][0].town, "work": work}
    return Case(scattered(rng, chain.from_iterable(towns)), frozenset(need(*pair) for pair in reported), asked)


def _reported(case: Case) -> list[tuple[Paper, Record]]:
    """The records that a summary tells of, in order of time."""
    entries = [
        (paper, record) for paper in case.papers for record in paper.records if need(paper, record) in case.needed
    ]
    return sorted(entries, key=lambda entry: entry[0].day)


def _listed(writer: Writer, paper: Paper, record: Record, form: int) -> str:
    """What a paper says, after its town and date."""
    sentence = writer.fill(writer.grammar["acts"][record.act]["text"][form], record)
    mark, colon = (", ", ": ") if writer.language == "en" else ("，", "：")
    return f"{writer.names.town(paper.town)}{mark}{writer.date(paper.day)}{colon}{sentence}"


def _dated(writer: Writer, paper: Paper, record: Record) -> str:
    """What a paper says, after its month, as people tell a history."""
    sentence, day = writer.about("claim", paper, record), writer.date(paper.day)
    if writer.language == "zh":
        return f"{day.partition('月')[0]}月，{sentence}"
    if not writer.grammar["acts"][record.act]["claim"].startswith("{"):
        sentence = sentence[0].lower() + sentence[1:]
    return f"In {day.partition(' ')[2]}, {sentence}"


def _summary(case: Case, writer: Writer, question: str) -> Problem:
    reported, joint = _reported(case), " " if writer.language == "en" else ""
    ways: tuple[Callable[[Paper, Record], str], ...] = (
        partial(writer.about, "claim"),
        *(partial(_listed, writer, form=form) for form in (0, 1)),
        partial(_dated, writer),
    )
    references = tuple(joint.join(tell(paper, record) for paper, record in reported) for tell in ways)
    longest = max(len(text.split()) if writer.language == "en" else len(text) for text in references)
    limit = round(longest * SPARE / 10) * 10
    answers = tuple(_line(writer.names.town(paper.town), writer.work(record.work).removeprefix("the "), record.act,
                          (writer.value(slot, value) for slot, value in record.values.items()))
                    for paper, record in reported)  # fmt: skip
    return Problem(
        question.replace("LIMIT", str(limit)), answers, references=references, chance=CHANCE[case.code, writer.language]
    )


def _line(town: str, work: str, act: str, values: Iterable[str]) -> str:
    bare = sorted(value.removesuffix(" crowns").removesuffix("银元").replace(",", "") for value in values)
    return " | ".join((town, work, act, *bare))


def _ask_district(case: Case, writer: Writer) -> Problem:
    return _summary(case, writer, wording(writer, "T4_1", district=writer.names.district(case.asked["district"])))


def _ask_work(case: Case, writer: Writer) -> Problem:
    town, work = writer.names.town(case.asked["town"]), writer.work(case.asked["work"])
    return _summary(case, writer, wording(writer, "T4_2", town=town, work=work))


def _as_line(paper: Read, reported: Report) -> str:
    return _line(paper.town, reported.work, reported.act, (digits(text) or text for text in reported.values.values()))


def _solve_district(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    district = district_in(question, language)
    for paper in sorted(papers, key=lambda paper: paper.day):
        yield from (
            _as_line(paper, reported)
            for reported in paper.reported
            if paper.district == district and reported.act == "completion"
        )


def _solve_work(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    work = work_in(question, language)
    for paper in sorted(papers, key=lambda paper: paper.day):
        yield from (
            _as_line(paper, reported) for reported in paper.reported if paper.town in question and reported.work == work
        )


KINDS = {
    "T4.1": Kind(_of_district, _ask_district, _solve_district),
    "T4.2": Kind(_of_work, _ask_work, _solve_work),
}
