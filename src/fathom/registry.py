"""Tasks and suites by name: those of ``fathom.benchmarks``, and those of other packages (``fathom.discovery``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TypeVar

from fathom.discovery import declared
from fathom.names import unknown
from fathom.types import Suite, Task

T = TypeVar("T")


@cache
def tasks() -> Mapping[str, Task]:
    """All registered tasks by name."""
    return declared("tasks", lambda task: task.name)


@cache
def suites() -> Mapping[str, Suite]:
    """All registered suites by name."""
    return declared("suites", lambda suite: suite.name)


def get_task(name: str) -> Task:
    """The task of that name.

    Raises:
        FathomError: There is none; the message names similar ones.
    """
    return _get("task", tasks(), name)


def get_suite(name: str) -> Suite:
    """The suite of that name.

    Raises:
        FathomError: There is none; the message names similar ones.
    """
    return _get("suite", suites(), name)


def _get(kind: str, known: Mapping[str, T], name: str) -> T:
    if name not in known:
        raise unknown(kind, name, known)
    return known[name]
