"""Tasks, suites, boards and forms of results by name; ``fathom.discovery`` says where they are declared."""

from collections.abc import Mapping
from typing import TypeVar

from fathom.discovery import declared
from fathom.names import unknown
from fathom.types import Results, Suite, Task
from fathom.types.boards import Board

T = TypeVar("T")


def tasks() -> Mapping[str, Task]:
    """All registered tasks by name."""
    return declared("tasks", lambda task: task.name)


def suites() -> Mapping[str, Suite]:
    """All registered suites by name."""
    return declared("suites", lambda suite: suite.name)


def boards() -> Mapping[str, Board]:
    """All registered boards by id, in the order in which they stand on a site."""
    return declared("boards", lambda board: board.id, order=lambda board: (board.order, board.id))


def results() -> Mapping[str, Results]:
    """All forms of others' results by name."""
    return declared("results", lambda results: results.name)


def task_name(name: str) -> str:
    """The current name of a task, given that or an earlier one; also of several, joined by commas.

    Names that no task has or had stay as they are.
    """
    known = tasks()
    if name in known:
        return name
    now = {task.formerly: task.name for task in known.values() if task.formerly}
    return ",".join(now.get(one, one) for one in name.split(","))


def get_task(name: str) -> Task:
    """The task of that name, which may be an earlier one.

    Raises:
        FathomError: There is none; the message names similar ones.
    """
    return _get("task", tasks(), task_name(name))


def get_suite(name: str) -> Suite:
    """The suite of that name.

    Raises:
        FathomError: There is none; the message names similar ones.
    """
    return _get("suite", suites(), name)


def get_board(name: str) -> Board:
    """The board with this id.

    Raises:
        FathomError: There is no such board.
    """
    return _get("board", boards(), name, see="fathom list boards")


def task_title(name: str) -> str:
    """A task's name for people; of one that is not installed, or has no title, its name as words."""
    task = tasks().get(task_name(name))
    words = name.replace("_", " ")
    return (task.title if task else "") or words[:1].upper() + words[1:]


def _get(kind: str, known: Mapping[str, T], name: str, see: str = "fathom list") -> T:
    if name not in known:
        raise unknown(kind, name, known, see)
    return known[name]
