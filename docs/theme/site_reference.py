"""Where a page says ``<!-- api: fathom.types -->``, the site documents the public names of that module."""

from __future__ import annotations

import importlib
import inspect
import re

ASKED = re.compile(r"^<!-- api: (?P<module>[\w.]+)(?P<names>(?:\s+\w+)*)\s+-->$", re.MULTILINE)


def expanded(markdown: str) -> str:
    """A page with an instruction to mkdocstrings for each name that it asks for: some names of a module, or all."""
    return ASKED.sub(lambda asked: "\n\n".join(_shown(asked["module"], asked["names"].split())), markdown)


def _shown(module: str, names: list[str]) -> list[str]:
    return [f"::: {module}.{name}" for name in names or public(module)]


def public(module: str) -> list[str]:
    """The public names of a module without former names of classes: functions, then classes, then all else."""
    content = vars(importlib.import_module(module))
    names = content.get("__all__") or [name for name in content if not name.startswith("_")]
    values = {name: content[name] for name in names if not inspect.ismodule(content[name])}
    named = {name: value for name, value in values.items() if getattr(value, "__name__", name) == name}
    return sorted(named, key=lambda name: (not inspect.isfunction(named[name]), not inspect.isclass(named[name])))
