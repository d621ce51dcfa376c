"""Finds what benchmarks declare: in the modules of ``fathom.benchmarks``, and in those of other packages.

A module declares ``TASKS``, ``SUITES``, ``METRICS``, ``RUBRICS`` or ``SOURCES``, a tuple each. Another package names
its modules in entry points of the group ``fathom.tasks``, ``fathom.suites``, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pkgutil import walk_packages
from types import MappingProxyType, ModuleType
from typing import TypeVar

from fathom.types import FathomError

T = TypeVar("T")

BENCHMARKS = "fathom.benchmarks"


def declared(kind: str, name_of: Callable[[T], str]) -> Mapping[str, T]:
    """All declarations of a kind by name, in the order of the modules that hold them.

    Args:
        kind: ``tasks``, ``suites``, ``metrics``, ``rubrics`` or ``sources``.
        name_of: The name of a declaration.

    Raises:
        FathomError: Two declarations have one name.
    """
    found: dict[str, T] = {}
    for module in modules(kind):
        for one in getattr(module, kind.upper(), ()):
            # A module may import the declarations of another.
            if found.setdefault(name_of(one), one) is not one:
                raise FathomError(
                    f"module {module.__name__} declares {name_of(one)!r}, which another module declares already; "
                    "rename one"
                )
    return MappingProxyType(found)


def modules(kind: str) -> Iterator[ModuleType]:
    """The modules of the built-in benchmarks, and those that other packages name for a kind of declaration."""
    for info in walk_packages(import_module(BENCHMARKS).__path__, f"{BENCHMARKS}."):
        yield import_module(info.name)
    for point in entry_points(group=f"fathom.{kind}"):
        yield import_module(point.value)
