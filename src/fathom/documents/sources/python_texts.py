"""Texts in Python files, read from their syntax tree; nothing is executed or imported."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from fathom.types import FathomError

Pieces = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A text as a file builds it: by a literal, an f-string, or a sum of such.

    Attributes:
        name: The variable, attribute or key that it is assigned to.
        pieces: Literal text, and the source of each expression between (True).
        function: The innermost function or class and its outer ones, as in ``Class.method``; "" outside of functions.
        condition: The source of the condition of the innermost ``if`` around it; "" for none.
        owner: The variable whose dictionary has the name as a key; "" for none.
    """

    name: str
    pieces: Pieces
    function: str = ""
    condition: str = ""
    file: str = ""
    owner: str = ""

    def template(self, names: Mapping[str, str]) -> str:
        """The text with each expression replaced by what ``names`` gives for its source.

        Args:
            names: For each expected expression, a placeholder such as ``{number}``, or another text.

        Raises:
            FathomError: There is another expression: the file is not as expected.
        """
        for piece, is_expression in self.pieces:
            if is_expression and piece not in names:
                raise FathomError(
                    f"{self.file}: {self.function or 'the file'}: {self.name}: unknown expression {piece!r}; expected "
                    f"{', '.join(names) or 'none'}; give the prompts in a file of your own (`templates` FILE)"
                )
        return "".join(names[piece] if is_expression else piece for piece, is_expression in self.pieces)

    def between(self, first: str, second: str) -> "Text":
        """The part between two expressions, which may be "" for the beginning or the end.

        Raises:
            FathomError: One of them is missing.
        """
        sources = [piece if is_expression else None for piece, is_expression in self.pieces]
        for expression in filter(None, (first, second)):
            if expression not in sources:
                raise FathomError(
                    f"{self.file}: {self.function}: {self.name}: no expression {expression!r} as expected"
                )
        start = sources.index(first) + 1 if first else 0
        end = sources.index(second, start) if second else len(sources)
        return Text(self.name, self.pieces[start:end], self.function, self.condition, self.file)


def texts_in(content: str, file: str) -> tuple[Text, ...]:
    """All texts that a Python file assigns to names or keys, in their order.

    Values in lists and comprehensions, and both values of conditional expressions, have the name of the whole; what is
    appended to a list has the name ``LIST.append``.

    Args:
        content: The file's content.
        file: Its name, for messages.

    Raises:
        FathomError: It is not Python.
    """
    try:
        return tuple(_texts(ast.parse(content).body, "", "", file))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise FathomError(f"{file}: not Python: {error}; download the file again") from error


def texts_named(texts: tuple[Text, ...], name: str, function: str, condition: str | None = None) -> list[Text]:
    """The texts of a name in a function, in their order.

    Args:
        name: Name of a variable, attribute or key.
        condition: Condition of the ``if`` around it; None for any.

    Raises:
        FathomError: There are none.
    """
    matching = [
        text for text in texts if (text.name, text.function) == (name, function) and condition in (None, text.condition)
    ]
    if not matching:
        file = texts[0].file if texts else "the file"
        raise FathomError(
            f"{file}: {function}: no text {name!r} as expected; give the prompts in a file of your own "
            "(`templates` FILE)"
        )
    return matching


def _texts(body: list[ast.stmt], function: str, condition: str, file: str) -> Iterator[Text]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            inner = f"{function}.{statement.name}" if function else statement.name
            yield from _texts(statement.body, inner, "", file)
            continue
        if isinstance(statement, ast.Assign | ast.AugAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            for target in targets:
                yield from _values(_name(target), statement.value, function, condition, file)
        owner = _name(statement.targets[0]) if isinstance(statement, ast.Assign) else ""
        for part in ast.iter_child_nodes(statement):
            if not isinstance(part, ast.stmt):
                for node in ast.walk(part):
                    if (
                        isinstance(node, ast.Call)
                        and isinstance(node.func, ast.Attribute)
                        and node.func.attr == "append"
                        and node.args
                    ):
                        yield from _values(ast.unparse(node.func), node.args[0], function, condition, file)
                    if isinstance(node, ast.Dict):
                        for key, value in zip(node.keys, node.values, strict=True):
                            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                                values = _values(key.value, value, function, condition, file)
                                yield from (replace(text, owner=owner) for text in values)
        inside = ast.unparse(statement.test) if isinstance(statement, ast.If) else condition
        yield from _texts(getattr(statement, "body", []), function, inside, file)
        yield from _texts(getattr(statement, "orelse", []), function, condition, file)


def _name(target: ast.expr) -> str:
    if isinstance(target, ast.Name):
        return target.id
    if isinstance(target, ast.Attribute):
        return target.attr
    return ast.unparse(target)


def _values(name: str, value: ast.expr, function: str, condition: str, file: str) -> Iterator[Text]:
    if isinstance(value, ast.List | ast.Tuple):
        for element in value.elts:
            yield from _values(name, element, function, condition, file)
    elif isinstance(value, ast.ListComp):
        yield from _values(name, value.elt, function, condition, file)
    elif isinstance(value, ast.IfExp):
        yield from _values(name, value.body, function, condition, file)
        yield from _values(name, value.orelse, function, condition, file)
    else:
        pieces = _pieces(value)
        if not all(is_expression for _, is_expression in pieces):
            yield Text(name, pieces, function, condition, file)


def _pieces(value: ast.expr) -> Pieces:
    if isinstance(value, ast.Constant) and isinstance(value.value, str):
        return ((value.value, False),) if value.value else ()
    if isinstance(value, ast.JoinedStr):
        return tuple(piece for part in value.values for piece in _pieces(part))
    if isinstance(value, ast.FormattedValue):
        return ((ast.unparse(value.value), True),)
    if isinstance(value, ast.BinOp) and isinstance(value.op, ast.Add):
        return _pieces(value.left) + _pieces(value.right)
    return ((ast.unparse(value), True),)
