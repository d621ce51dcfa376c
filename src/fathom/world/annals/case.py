"""What the tasks of the annals share: a case, and the three functions of a kind."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from random import Random
from typing import Any, TypeAlias

from fathom.world.facts import ACTS, WORKS, Paper, Record, Stage
from fathom.world.names import OWN_DISTRICTS, grammar
from fathom.world.papers import passage
from fathom.world.prose import Writer
from fathom.world.reading import Read
from fathom.world.types import Dials, Language, Passage, Problem

Need: TypeAlias = tuple[int, int, str]
"""A record that is evidence: mark of its paper, work and act."""
Solve: TypeAlias = Callable[[Sequence[Read], str, Language], Iterable[str]]
NONE = {"en": "none", "zh": "无"}


@dataclass(frozen=True)
class Case:
    """The facts of an item.

    Attributes:
        papers: The papers with the evidence and its near misses.
        needed: The records that are evidence.
        asked: What is asked, neutral of language.
        seed: Seed of the world.
        code: Secondary task.
        number: Number of the item.
        planned: Marks of papers that contradict others on purpose.
        dials: Its dials.
        left_out: Records that the papers do not tell.
        paraphrased: Whether the question shares no content word with its evidence.
    """

    papers: tuple[Paper, ...]
    needed: frozenset[Need]
    asked: Mapping[str, Any]
    seed: int = 0
    code: str = ""
    number: int = 0
    planned: tuple[int, ...] = ()
    dials: Dials = field(default_factory=Dials)
    left_out: frozenset[Need] = frozenset()
    paraphrased: bool = False

    def entry(self, town: int, act: str, work: int) -> tuple[Paper, Record]:
        """The paper that tells an act about a work of a town, and the record; the first of several."""
        return next(
            (paper, record)
            for paper in self.papers
            if paper.town == town
            for record in paper.records
            if (record.act, record.work) == (act, work)
        )


def as_written(case: Case, writer: Writer) -> list[Passage]:
    """The passages of a case, with its evidence."""
    needed = {paper.mark: frozenset[tuple[int, str]]() for paper in case.papers}
    for mark, work, act in case.needed:
        needed[mark] |= {(work, act)}
    return [passage(writer, _as_told(paper, case.left_out), needed[paper.mark]) for paper in case.papers]


def _as_told(paper: Paper, left_out: frozenset[Need]) -> Paper:
    return replace(paper, records=tuple(record for record in paper.records if need(paper, record) not in left_out))


@dataclass(frozen=True)
class Kind:
    """A task of the annals.

    Attributes:
        draw: Draws the case of an item.
        ask: The question and its answer.
        solve: The answer from the papers as read and the question.
    """

    draw: Callable[[Random, Dials], Case]
    ask: Callable[[Case, Writer], Problem]
    solve: Solve


def need(paper: Paper, record: Record) -> Need:
    """A record of a paper as evidence."""
    return paper.mark, record.work, record.act


def some_acts(rng: Random, least: int, *always: str) -> list[str]:
    """Some acts of a work, at least so many, among them given ones."""
    others = [act for act in ACTS if act not in always]
    return [*always, *rng.sample(others, max(0, rng.randrange(least, least + 3) - len(always)))]


def towns_of(
    rng: Random, count: int, works: int, least: int, always: Collection[str] = (), turns: Sequence[int] = ()
) -> tuple[Stage, int, list[list[Paper]]]:
    """Towns with some of the same works, each told in some acts.

    Args:
        rng: The random generator of the item.
        count: Number of towns.
        works: Works of each town, out of one or two more.
        least: Acts of a work, at least.
        always: Acts that every work has.
        turns: The district of each town, from 0; all are of one by default.

    Returns:
        The stage, the first district, and the papers of each town.
    """
    stage, of = Stage.of(rng), rng.sample(range(OWN_DISTRICTS), 1 + max(turns, default=0))
    common = rng.sample(range(WORKS), min(WORKS, works + 2))
    towns = []
    for turn in turns or [0] * count:
        chosen = rng.sample(common, works)
        projects = [stage.project(work, some_acts(rng, least, *always)) for work in chosen]
        towns.append(stage.town(of[turn], projects))
    return stage, of[0], towns


def mixed(own: int, near: int, others: int = 1) -> list[int]:
    """The districts of towns: the first district's own ones among those of others, which are in turn."""
    groups = [[1 + place % others for place in range(at, min(at + others, near))] for at in range(0, near, others)]
    pairs = zip_longest([[0]] * own, groups, fillvalue=list[int]())
    return [turn for pair in pairs for group in pair for turn in group]


def scattered(rng: Random, papers: Iterable[Paper]) -> tuple[Paper, ...]:
    """Papers in random order."""
    shuffled = list(papers)
    rng.shuffle(shuffled)
    return tuple(shuffled)


def wording(writer: Writer, code: str, name: str = "question", **values: Any) -> str:
    """A text of a task's questions in the language of the writer."""
    return str(grammar("questions")[code][name][writer.language]).format(**values)
