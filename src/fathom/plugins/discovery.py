"""Finds declarations of benchmarks: in ``fathom.benchmarks``, in other packages, and in files that the user names.

A module declares tuples ``TASKS``, ``SUITES``, ``METRICS``, ``RUBRICS``, ``SOURCES``, ``BOARDS`` or ``RESULTS``.
Another package registers its benchmark, a package or a module, as an entry point in the group ``fathom.benchmarks``; or
modules with one kind of declaration in the group ``fathom.tasks``, ``fathom.suites``, and so on. For files see
``fathom.plugins.loading``.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from pkgutil import walk_packages
from types import MappingProxyType, ModuleType
from typing import Any, TypeVar

from fathom.plugins import loading
from fathom.types import FathomError

T = TypeVar("T")

BENCHMARKS = "fathom.benchmarks"
"""The package of the built-in benchmarks, and the group of entry points of all others."""

_FOUND: dict[tuple[object, ...], Mapping[str, Any]] = {}
"""The declarations, by kind and plugins in use."""


def declared(kind: str, name_of: Callable[[T], str], order: Callable[[T], Any] | None = None) -> Mapping[str, T]:
    """All declarations of a kind by name, in the order of their modules; cached.

    Args:
        kind: ``tasks``, ``suites``, ``metrics``, ``rubrics``, ``sources``, ``boards`` or ``results``.
        order: Sort key; None for the order of the modules.

    Raises:
        FathomError: Two declarations have the same name.
    """
    key = kind, *loading.in_use()
    if key not in _FOUND:
        declared = _declared(kind, name_of)
        if order is not None:
            declared = {name_of(value): value for value in sorted(declared.values(), key=order)}
        _FOUND[key] = MappingProxyType(declared)
    return _FOUND[key]


def _declared(kind: str, name_of: Callable[[T], str]) -> dict[str, T]:
    declared: dict[str, T] = {}
    for module in modules(kind):
        for value in getattr(module, kind.upper(), ()):
            # A module may import the declarations of another.
            if declared.setdefault(name_of(value), value) is not value:
                raise FathomError(
                    f"module {module.__name__} declares {name_of(value)!r}, which another module declares already; "
                    "rename one"
                )
    return declared


def modules(kind: str) -> Iterator[ModuleType]:
    """The modules of all benchmarks, those that other packages register for a kind of declaration, and files."""
    for root in _roots():
        yield root
        for info in walk_packages(getattr(root, "__path__", ()), f"{root.__name__}."):
            yield import_module(info.name)
    for point in entry_points(group=f"fathom.{kind}"):
        yield import_module(point.module)
    for plugin in loading.in_use():
        yield plugin.module


def folders() -> Iterator[Path]:
    """The folders of all benchmarks that are packages, recursively."""
    for root in _roots():
        for path in getattr(root, "__path__", ()):
            yield from (folder for folder in (Path(path), *Path(path).rglob("*")) if folder.is_dir())


def _roots() -> Iterator[ModuleType]:
    yield import_module(BENCHMARKS)
    for point in entry_points(group=BENCHMARKS):
        yield import_module(point.module)
