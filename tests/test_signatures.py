"""Functions of more than eight parameters are listed with reasons in the docs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
MOST = 8


def functions(folder: Path) -> Iterator[tuple[str, int]]:
    """Every function by its module and name, with the number of its parameters."""
    for path in folder.rglob("*.py"):
        module = ".".join(path.relative_to(folder).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                yield f"{module}.{node.name}", len([name for name in names if name not in ("self", "cls")])


@pytest.mark.slow
def test_functions_of_many_parameters_are_listed_with_reasons() -> None:
    page = (ROOT / "docs" / "explanation" / "decisions" / "code.md").read_text("utf-8")
    listed = {name: int(count) for name, count in re.findall(r"^\| `([\w.]+)` \| (\d+) \| \w", page, re.MULTILINE)}
    assert listed == {name: count for name, count in functions(ROOT / "src" / "fathom") if count > MOST}
