"""The annals as text: papers become headings and paragraphs in English or Chinese."""

from datetime import date
from functools import cache
from random import Random

from fathom.world.asides import aside, teller
from fathom.world.corpus.writer import Writer as Sentences
from fathom.world.facts import Paper, Record, fillers
from fathom.world.prose import Writer
from fathom.world.types import Passage

LEAD, WHEN, ASIDE, SCENE = 0.25, 0.3, 0.12, 0.35
"""Shares of records that begin with a phrase of their genre, that say under what circumstances, and that a sentence
without facts follows; share of papers with a paragraph on something else."""
NEW_PARAGRAPH = 0.3


def passage(
    writer: Writer, paper: Paper, needed: frozenset[tuple[int, str]] = frozenset(), *, as_noise: bool = False
) -> Passage:
    """A paper as a passage.

    Args:
        writer: Writes it.
        paper: The paper.
        needed: Works and acts of the records that are evidence.
        as_noise: Whether it tells something else in the place of each fact.
    """
    rng, space = Random(f"{writer.seed}|{paper.mark}"), " " if writer.language == "en" else ""
    of_town = writer.language, writer.names.town(paper.town), date.fromordinal(paper.day).month
    other = teller(rng, *of_town)
    more = teller(Random(f"{writer.seed}|{paper.mark}|density"), *of_town) if writer.density < 1 else None
    text, evidence = other.joined(f"opening.{paper.genre}"), []
    for number, record in enumerate(paper.records):
        # A paragraph ends after some records.
        text += "\n" if not number or rng.random() < NEW_PARAGRAPH else space
        start = len(text)
        text += _sentence(writer, paper.genre, record, other) if not as_noise else aside(other)
        if (record.work, record.act) in needed:
            evidence.append((start, len(text)))
        if rng.random() < ASIDE:
            text += space + aside(other)
        text += _besides(more, writer.density, space) if more else ""
    if rng.random() < SCENE:
        text += "\n" + aside(other)
    text += "\n" * bool(paper.links)
    for number, (cause, effect) in enumerate(rng.sample(paper.links, len(paper.links))):
        text += space * bool(number)
        start = len(text)
        slots = {"cause": writer.incident(cause), "effect": writer.incident(effect)}
        text += other.joined("link", **slots) if not as_noise else aside(other)
        if (cause, "link") in needed:
            evidence.append((start, len(text)))
        text += _besides(more, writer.density, space) if more else ""
    text += "\n" + other.joined(f"closing.{paper.genre}")
    return Passage(f"annals/{paper.mark}", text, writer.heading(paper), tuple(evidence))


def _sentence(writer: Writer, genre: str, record: Record, other: Sentences) -> str:
    """A sentence with a fact."""
    slots = {slot: writer.value(slot, value) for slot, value in record.values.items()}
    if other.rng.random() >= WHEN:
        slots |= {"when": "", "amid": ""}
    rules = [f"lead.{genre}", f"act.{record.act}"][other.rng.random() >= LEAD :]
    return other.joined(*rules, work=writer.work(record.work), **slots)


def _besides(more: Sentences, density: float, space: str) -> str:
    """As many sentences without facts after one with a fact as the density asks for."""
    text = ""
    while more.rng.random() >= density:
        text += space + aside(more)
    return text


@cache
def filler_passages(writer: Writer, group: int, noise: float = 0.0) -> tuple[Passage, ...]:
    """A group of passages that fill contexts, which many items share (``facts.fillers``).

    Args:
        writer: Writes them.
        group: Its number.
        noise: Share of those that tell no facts.
    """
    papers = fillers(writer.seed, group)
    return tuple(passage(writer, paper, as_noise=is_noise(writer.seed, paper.mark, noise)) for paper in papers)


def is_noise(seed: int, mark: int, noise: float) -> bool:
    """Whether a filler is one about something else; with more noise it stays one."""
    return noise > 0 and Random(f"{seed}|{mark}|noise").random() < noise
