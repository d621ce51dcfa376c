"""Where a page says ``<!-- api: fathom.types -->``, the site documents the public names of that module."""

from __future__ import annotations

import importlib
import re

ASKED = re.compile(r"^<!-- api: (?P<module>[\w.]+)(?P<names>(?:\s+\w+)*)\s+-->$", re.MULTILINE)


def expanded(markdown: str) -> str:
    """A page with an instruction to mkdocstrings for each name that it asks for: some names of a module, or all."""
    return ASKED.sub(lambda asked: "\n\n".join(_shown(asked["module"], asked["names"].split())), markdown)


def _shown(module: str, names: list[str]) -> list[str]:
    return [f"::: {module}.{name}" for name in names or public(module)]


def public(module: str) -> list[str]:
    """The names in ``__all__`` of a module, without former names of classes."""
    found = importlib.import_module(module)
    return [name for name in found.__all__ if getattr(getattr(found, name), "__name__", name) == name]
