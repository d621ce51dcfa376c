"""Refuses names in the code that say nothing about what they name, and prints what to write instead.

python performance/banned_names.py

Checked are variables, parameters, attributes, functions and classes of src/fathom. A name that users have already (a
field of a stored file, a public name) stays if its line has a comment: ``# banned-name: REASON``. The exit status is 1
if a name is refused.
"""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "fathom"
ALLOWED = "# banned-name:"
VARIABLES = {
    "one": "what it is: task, row, option, path",
    "found": "what it has: matches, files, result",
    "said": "message, replies or judge_replies",
    "told": "what it is: reported, message, outcome",
    "there": "measured, present or exists",
}
CLASSES = {
    **dict.fromkeys(("Found", "Heard", "Kept", "Said", "Seen", "Wanted"), "what it is, a noun"),
    "Ahead": "Forecast",
    "Asked": "Requested",
    "Ended": "OutcomeCounts",
    "Held": "BackupReport",
    "Told": "ScoredReply",
}
FUNCTIONS = {
    **VARIABLES,
    "held": "what is returned",
    "kept": "what is returned: nonzero, remaining_rows",
    "named": "what is returned: display_name, by_name",
    "plain": "what is returned: plain_text, as_csv",
    "shown": "what is returned: format_table, label",
}


def names(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """Every name that a module defines: its line, its kind and itself."""
    for node in ast.walk(tree):
        match node:
            case ast.Name(ctx=ast.Store()):
                yield node.lineno, "variable", node.id
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                yield node.lineno, "attribute", node.attr
            case ast.arg():
                yield node.lineno, "parameter", node.arg
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield node.lineno, "function", node.name
            case ast.ClassDef():
                yield node.lineno, "class", node.name
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)):
                yield node.lineno, "variable", name


def instead(kind: str, name: str) -> str | None:
    """What to write instead of a name; None if the name may stay."""
    return {"class": CLASSES, "function": FUNCTIONS}.get(kind, VARIABLES).get(name.strip("_"))


def refused(text: str) -> Iterator[tuple[int, str]]:
    """Lines of a module that define a banned name, and what to write instead."""
    lines = text.splitlines()
    for line, kind, name in sorted(set(names(ast.parse(text)))):
        if (better := instead(kind, name)) is not None and ALLOWED not in lines[line - 1]:
            yield line, f"{kind} `{name}`: write {better}"


def messages() -> list[str]:
    """A message for every banned name of src/fathom."""
    return [
        f"src/fathom/{path.relative_to(SOURCE).as_posix()}:{line}: {message}"
        for path in sorted(SOURCE.rglob("*.py"))
        for line, message in refused(path.read_text("utf-8"))
    ]


def main() -> int:
    lines = messages()
    print("\n".join([*lines, f"{len(lines)} banned names"]))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
