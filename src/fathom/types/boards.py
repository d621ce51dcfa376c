"""Declarations of boards: which tasks a leaderboard is made of, and how they are averaged."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fathom.types.common import FathomError

_ID = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")


@dataclass(frozen=True, slots=True)
class Part:
    """Tasks that are averaged with equal weight, within a category.

    Attributes:
        tasks: Ids of the tasks.
        title: What people call it; "" where the category has one part.
    """

    tasks: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Category:
    """Tasks of one kind: the score is the mean over ``parts`` of the means over their tasks.

    Attributes:
        id: Name in data, files and addresses: at most 80 lower-case letters, digits, dots, dashes and underscores.
        title: What people call it.
        parts: One part as a rule; two where sets of tasks count alike whatever their numbers (LongLeader, 128K).
    """

    id: str
    title: str
    parts: tuple[Part, ...]

    def __post_init__(self) -> None:
        _check_id(self.id, "category")

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks of the category, each once."""
        return tuple(dict.fromkeys(task for part in self.parts for task in part.tasks))


Weighting: TypeAlias = Literal["categories", "questions"]


@dataclass(frozen=True, slots=True)
class Board:
    """Declaration of a board: which tasks it is made of, and how they are averaged.

    Attributes:
        id: Name in data, files and addresses: at most 80 lower-case letters, digits, dots, dashes and underscores.
        title: What people call it.
        suites: Names of the suites whose rows go into it.
        about: A sentence or two for its page: what is measured.
        rule: One line: how the overall score comes about.
        categories: Its categories in order.
        lengths: Lengths that the view by length shows, in tokens, ascending; empty where there is no such view.
        length_tasks: Tasks that the view by length is about; empty for all of them.
        counted: Lengths that a task's score is the mean of, in tokens, by task: others are shown and do not count. A
            task that is not here is counted over all lengths that it has.
        items: Items of a task in the whole benchmark, where its suite does not say it.
        paired: Tasks that ask the same questions at every length, whose errors there are not independent.
        weighting: ``categories``: the overall score is their mean; ``questions``: all questions count alike.
        chance: Scores of a random guess by task, where the papers or the choices say them.
        missing_is_zero: Whether the paper counts a missing cell as 0; the score is then also given that way, apart.
        extras: Other figures: id -> (title, one line about it, whether they are fractions shown in percent).
        unbounded: Those of them that are no shares or mean scores, and may be below 0 or above 1.
        licence: Of the data, in the publishers' words.
        citation: The paper.
        url: Where the paper is.
        order: Boards stand on a site in this order, then in that of their ids.
    """

    id: str
    title: str
    suites: tuple[str, ...]
    about: str
    rule: str
    categories: tuple[Category, ...]
    lengths: tuple[int, ...] = ()
    length_tasks: tuple[str, ...] = ()
    counted: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    items: Mapping[str, int] = field(default_factory=dict)
    paired: tuple[str, ...] = ()
    weighting: Weighting = "categories"
    missing_is_zero: bool = False
    chance: Mapping[str, float] = field(default_factory=dict)
    extras: Mapping[str, tuple[str, str, bool]] = field(default_factory=dict)
    unbounded: tuple[str, ...] = ()
    licence: str = ""
    citation: str = ""
    url: str = ""
    order: int = 100

    def __post_init__(self) -> None:
        _check_id(self.id, "board")

    @property
    def tasks(self) -> tuple[str, ...]:
        """All tasks in order, each once."""
        return tuple(dict.fromkeys(task for category in self.categories for task in category.tasks))


def _check_id(id: str, kind: str) -> None:
    """Ids are names of files."""
    if not (isinstance(id, str) and _ID.fullmatch(id)):
        raise FathomError(
            f"the id of a {kind} is {id!r}; write at most 80 lower-case letters, digits, dots, dashes and underscores"
        )
