"""Functions of ``fathom.api`` for mkdocstrings: parameters come from the class of options that makes each function."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import griffe

SECTION = re.compile(r"^(Returns|Raises|Yields|Examples?|Note):", re.MULTILINE)


class Commands(griffe.Extension):
    """Gives functions that are made from a class of options the parameters that callers see."""

    def on_function(self, *, func: griffe.Function, **kwargs: Any) -> None:
        """Replace the body's one parameter by the options."""
        if not func.decorators or not func.module.path.startswith("fathom.commands."):
            return
        function: Any = getattr(importlib.import_module(func.module.path), func.name, None)
        if not hasattr(function, "options"):
            return
        signature = inspect.signature(function)
        func.parameters = griffe.Parameters(*(_parameter(one) for one in signature.parameters.values()))
        if func.docstring is not None:
            func.docstring.value = described(inspect.getdoc(function) or "")


def described(docstring: str) -> str:
    """A docstring whose list of arguments stands before what is returned and raised."""
    text, heading, arguments = docstring.rpartition("\n\nArgs:\n")
    found = SECTION.search(text)
    if not heading or found is None:
        return docstring
    return f"{text[: found.start()].rstrip()}{heading}{arguments.rstrip()}\n\n{text[found.start() :]}"


def _parameter(one: inspect.Parameter) -> griffe.Parameter:
    default = None if one.default is inspect.Parameter.empty else _default(one.default)
    kind = griffe.ParameterKind[one.kind.name.lower()]
    return griffe.Parameter(one.name, annotation=annotation(one.annotation), kind=kind, default=default)


def _default(value: object) -> str:
    return repr(str(value) if isinstance(value, Path) else value)


def annotation(kind: Any) -> Any:
    """A type as an expression of griffe, whose names lead to their documentation."""
    arguments = get_args(kind)
    origin = get_origin(kind)
    if kind in (None, NoneType):
        return griffe.ExprName("None")
    if kind is Ellipsis:
        return "..."
    if isinstance(kind, list):
        return griffe.ExprList([annotation(one) for one in kind])
    if origin in (Union, UnionType):
        found = annotation(arguments[0])
        for one in arguments[1:]:
            found = griffe.ExprBinOp(found, "|", annotation(one))
        return found
    if origin is Literal:
        return _subscript(griffe.ExprName("Literal", parent="typing"), [repr(one) for one in arguments])
    if origin is not None:
        return _subscript(annotation(origin), [annotation(one) for one in arguments])
    name = getattr(kind, "__qualname__", str(kind).replace("typing.", ""))
    module = getattr(kind, "__module__", "builtins")
    return griffe.ExprName(name, parent=None if module == "builtins" else module)


def _subscript(left: griffe.Expr | str, inner: list[Any]) -> griffe.Expr:
    return griffe.ExprSubscript(left, inner[0] if len(inner) == 1 else griffe.ExprTuple(inner, implicit=True))
