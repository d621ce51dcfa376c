"""Finds tasks and suites: every module of ``fathom.tasks`` and ``fathom.suites``, and those of other packages.

A module declares ``TASKS``, a tuple of ``Task``, or ``SUITES``, a tuple of ``Suite``. Another package adds its own by
naming such a module in an entry point of the group ``fathom.tasks`` or ``fathom.suites``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import iter_modules
from types import MappingProxyType, ModuleType
from typing import TypeVar

from fathom.names import unknown
from fathom.types import FathomError, Suite, Task

T = TypeVar("T")


@cache
def tasks() -> Mapping[str, Task]:
    """All registered tasks by name."""
    found: dict[str, Task] = {}
    for module in _modules("fathom.tasks"):
        for task in getattr(module, "TASKS", ()):
            _add(found, task.name, task, module.__name__)
    return MappingProxyType(found)


@cache
def suites() -> Mapping[str, Suite]:
    """All registered suites by name."""
    found: dict[str, Suite] = {}
    for module in _modules("fathom.suites"):
        for suite in getattr(module, "SUITES", ()):
            _add(found, suite.name, suite, module.__name__)
    return MappingProxyType(found)


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


def _add(found: dict[str, T], name: str, value: T, module: str) -> None:
    if name in found:
        raise FathomError(f"module {module} declares {name!r}, which another module declares already; rename one")
    found[name] = value


def _modules(package: str) -> Iterator[ModuleType]:
    for info in iter_modules(import_module(package).__path__, f"{package}."):
        yield import_module(info.name)
    for point in entry_points(group=package):
        yield import_module(point.value)
