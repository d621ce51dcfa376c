"""Tasks, suites, boards and results formats by name; ``fathom.plugins.discovery`` finds their declarations."""

from collections.abc import Mapping
from typing import TypeVar

from fathom.plugins.discovery import declared
from fathom.plugins.names import unknown
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
    """All registered boards by id, in the order of a site."""
    return declared("boards", lambda board: board.id, order=lambda board: (board.order, board.id))


def results() -> Mapping[str, Results]:
    """All formats of others' results by name."""
    return declared("results", lambda results: results.name)


def task_name(name: str) -> str:
    """The current name of a task, given that or an earlier one; also of several, joined by commas.

    Unknown names are unchanged.
    """
    known = tasks()
    if name in known:
        return name
    now = {task.formerly: task.name for task in known.values() if task.formerly}
    return ",".join(now.get(former, former) for former in name.split(","))


def get_task(name: str) -> Task:
    """The task with that current or earlier name.

    Raises:
        FathomError: It does not exist; the message names similar ones.
    """
    return _get("task", tasks(), task_name(name))


def suite_name(name: str) -> str:
    """The name of a suite, given that or its alias; unknown names are unchanged."""
    return {suite.alias: suite.name for suite in suites().values() if suite.alias}.get(name, name)


def get_suite(name: str) -> Suite:
    """The suite with that name or alias.

    Raises:
        FathomError: It does not exist; the message names similar ones.
    """
    return _get("suite", suites(), suite_name(name))


def get_board(name: str) -> Board:
    """The board with this id, or with the alias of the suite of that name.

    Raises:
        FathomError: It does not exist.
    """
    return _get("board", boards(), suite_name(name), see="fathom list boards")


def task_title(name: str) -> str:
    """A task's display name; for one that is not installed or has no title, derived from its name."""
    task = tasks().get(task_name(name))
    words = name.replace("_", " ")
    return (task.title if task else "") or words[:1].upper() + words[1:]


def _get(kind: str, known: Mapping[str, T], name: str, see: str = "fathom list") -> T:
    if name not in known:
        raise unknown(kind, name, known, see)
    return known[name]
