"""Declarations of boards: the tasks of a leaderboard, and how they are averaged."""

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
        title: Display name; "" if the category has one part.
    """

    tasks: tuple[str, ...]
    title: str = ""


@dataclass(frozen=True, slots=True)
class Category:
    """Tasks of one kind: the score is the mean over ``parts`` of the means over their tasks.

    Attributes:
        id: Name in data, files and URLs: at most 80 lower-case letters, digits, dots, dashes and underscores.
        title: Display name.
        parts: Usually one; two if sets of tasks have equal weight regardless of their numbers (LongLeader, 128K).
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
    """Declaration of a board: its tasks, and how they are averaged.

    Attributes:
        id: Name in data, files and URLs: at most 80 lower-case letters, digits, dots, dashes and underscores.
        title: Display name.
        suites: Names of the suites whose rows it shows.
        about: What is measured, in a sentence or two.
        rule: How the overall score is computed, in one line.
        categories: Its categories in order.
        lengths: Lengths of the view by length, in tokens, ascending; empty for no such view.
        length_tasks: Tasks in the view by length; empty for all of them.
        counted: Lengths over which a task's score is averaged, in tokens, by task; others are shown only. Tasks not
            listed here are averaged over all their lengths.
        items: Items per task in the whole benchmark, if its suite does not say.
        paired: Tasks with the same questions at every length, whose errors are not independent.
        weighting: ``categories``: the overall score is their mean; ``questions``: all questions have equal weight.
        chance: Scores of random guessing by task, from the papers or the number of choices.
        missing_is_zero: Whether the paper counts a missing cell as 0; the score is then also shown in that way.
        extras: Other figures: id -> (title, description, whether they are fractions shown in percent).
        unbounded: Those of them that may be below 0 or above 1.
        licence: Of the data, as its publishers state it.
        citation: The paper.
        url: URL of the paper.
        order: Boards are sorted by this number, then by id.
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
    """Check that an id can be a file name."""
    if not (isinstance(id, str) and _ID.fullmatch(id)):
        raise FathomError(
            f"the id of a {kind} is {id!r}; write at most 80 lower-case letters, digits, dots, dashes and underscores"
        )
