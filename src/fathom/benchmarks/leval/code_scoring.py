"""Outputs of programs in L-Eval's codeU: what a reply says that the output is."""

from __future__ import annotations

import re

from fathom.score.reading import plain
from fathom.score.text import stands_in

_OUTPUT = re.compile(r"\b(?:output|answer|result|prints?|printed|returns?|returned)\b", re.IGNORECASE)
_TOKEN = re.compile(r"[\[\]]|(?<![\w.])-?[0-9]+(?:\.[0-9]*)?(?!\w)|\b(?:true|false|none)\b", re.IGNORECASE)

_CONSTANT_OR_LIST = re.compile(_TOKEN.pattern.replace(r"[\[\]]", r"\[", 1), re.IGNORECASE)
_STEP = re.compile(r"^[ \t]*[0-9]+[.)][ \t]+", re.MULTILINE)  # the number of a step in a reply
_BETWEEN = re.compile(r"[\s,]*")


def output_strict(reply: str, gold: str) -> tuple[str | None, bool]:
    """The output that a reply finally gives, None if it gives none, and whether it is the whole gold one.

    It is the first value after the last "output", "answer", "result" or the like that has one before the next, else
    that of the last line with one: a list in brackets if the gold output is one, else numbers or truth values in a row.
    """
    text = _STEP.sub("", plain(reply))
    right = _value(gold, "[" in gold)
    parts = [*reversed(_OUTPUT.split(text)[1:]), *reversed(text.splitlines()), text]
    if right is None:
        part = next(filter(str.strip, parts), "").strip()
        return part or None, bool(part) and stands_in(part, gold)
    found = next(filter(None, (_value(part, right[0] == "[") for part in parts)), None)
    if found is None:
        return None, False
    bare = found[1:-1] if found[0] == "[" and right[0] != "[" else found
    return " ".join(found), right in (found, bare)


def _value(text: str, listed: bool) -> tuple[str, ...] | None:
    """The first value of a text as brackets and constants, numbers in one form; None if it has none or never ends."""
    start = re.search(r"\[", text) if listed else _CONSTANT_OR_LIST.search(text)
    value: list[str] = []
    depth, end = 0, start.start() if start else len(text)
    for token in _TOKEN.finditer(text, end):
        outside = depth == 0 and bool(value)
        if outside and (token[0] in "[]" or not _BETWEEN.fullmatch(text, end, token.start())):
            break
        depth += {"[": 1, "]": -1}.get(token[0], 0)
        value.append(_one_form(token[0]))
        end = token.end()
        if depth == 0 and value[0] == "[":
            break
    return tuple(value) if value and depth == 0 else None


def _one_form(token: str) -> str:
    return str(float(token)) if token[-1] in "0123456789." else token.lower()
