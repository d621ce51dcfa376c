"""Public functions that raise say so under "Raises:" of their docstring."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pytest

import fathom

SOURCE = Path(fathom.__file__).parent

Bases = Mapping[str, tuple[str, ...]]


def bases_of_classes(trees: Iterable[ast.Module]) -> Bases:
    """The names of the base classes of every class of fathom, and of the exceptions of Python."""
    exceptions = [
        kind for kind in vars(builtins).values() if isinstance(kind, type) and issubclass(kind, BaseException)
    ]
    bases = {kind.__name__: tuple(base.__name__ for base in kind.__bases__) for kind in exceptions}
    for tree in trees:
        for node in statements(tree):
            if isinstance(node, ast.ClassDef):
                bases[node.name] = tuple(ast.unparse(base).rpartition(".")[2] for base in node.bases)
    return bases


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below a node; expressions, which are most of a tree, hold none."""
    for child in parts(node):
        yield child
        yield from statements(child)


def parts(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement that are no expressions."""
    return (child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))


def with_bases(name: str, bases: Bases) -> set[str]:
    """A class and all its base classes, by name."""
    return {name}.union(*(with_bases(base, bases) for base in bases.get(name, ())))


def handled(handlers: list[ast.ExceptHandler]) -> set[str]:
    """Names of the exceptions that a ``try`` handles."""
    names: set[str] = set()
    for handler in handlers:
        kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        names |= {"BaseException" if kind is None else ast.unparse(kind).rpartition(".")[2] for kind in kinds}
    return names


def raised(nodes: Iterable[ast.AST], bases: Bases, caught: frozenset[str] = frozenset()) -> Iterator[str]:
    """Names of the exceptions that statements make and raise themselves, without those that they handle.

    An AssertionError says that something cannot happen, and is left out.
    """
    for node in nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        if isinstance(node, ast.Raise) and node.exc is not None:
            kind = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = ast.unparse(kind).rpartition(".")[2]
            if name in bases and not with_bases(name, bases) & {*caught, "AssertionError"}:
                yield name
        elif isinstance(node, ast.Try | ast.TryStar):
            yield from raised(node.body, bases, caught | handled(node.handlers))
            yield from raised((*node.handlers, *node.orelse, *node.finalbody), bases, caught)
        else:
            yield from raised(parts(node), bases, caught)


def public_functions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """Public functions of a module, and public methods of its public classes."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef) and not child.name.startswith("_"):
            yield from public_functions(child, f"{child.name}.")
        elif isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not child.name.startswith("_"):
            yield f"{prefix}{child.name}", child


def undocumented(tree: ast.Module, bases: Bases) -> Iterator[tuple[str, str]]:
    """Public functions with a docstring that does not name an exception that they raise, and its name.

    The docstring of a command is its help.
    """
    for name, function in public_functions(tree):
        if any(ast.unparse(decorator).startswith(("command", "study(")) for decorator in function.decorator_list):
            continue
        if (text := ast.get_docstring(function)) is None:
            continue
        _, _, section = text.partition("Raises:\n")
        named = set(re.findall(r"^    (\w+):", section, re.MULTILINE))
        for kind in dict.fromkeys(raised(function.body, bases)):
            if not with_bases(kind, bases) & (named - {"Exception", "BaseException"}):
                yield name, kind


@pytest.mark.slow
def test_public_functions_that_raise_say_so() -> None:
    # No tree is kept: the garbage collector would look at all of them again and again.
    texts = {path.relative_to(SOURCE).as_posix(): path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    bases = bases_of_classes(ast.parse(text) for text in texts.values() if "class " in text)
    missing = {
        f"{name}: {function} raises {kind}"
        for name, text in texts.items()
        if "raise " in text
        for function, kind in undocumented(ast.parse(text), bases)
    }
    assert missing == set(), 'add the exception and its reason under "Raises:" of the docstring'


EXAMPLE = '''
class OwnError(ValueError):
    """Own."""

def silent():
    """Raises and does not say so."""
    raise OwnError("")

def named():
    """Raises.

    Raises:
        ValueError: Always; it is a base class of what is raised.
    """
    raise OwnError("")

def handled():
    """Handles what it raises."""
    try:
        raise OwnError("")
    except ValueError:
        return

def again():
    """Raises while it handles another exception."""
    try:
        return
    except ValueError as error:
        raise OwnError("") from error

def outer():
    """Only its inner function raises."""
    def inner():
        raise OwnError("")
    return inner

class Public:
    """Has a method that raises."""
    def method(self):
        """Raises."""
        if self:
            raise OwnError

class _Private:
    def method(self):
        """Raises."""
        raise OwnError("")
'''


def test_only_exceptions_that_leave_a_public_function_must_be_named() -> None:
    tree = ast.parse(EXAMPLE)
    assert dict(undocumented(tree, bases_of_classes([tree]))) == {
        "silent": "OwnError",
        "again": "OwnError",
        "Public.method": "OwnError",
    }
