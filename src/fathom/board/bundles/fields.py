"""What the fields of a bundle may contain. Bundles are untrusted: only what is described here is accepted."""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import date
from functools import lru_cache
from typing import TypeAlias

from fathom.board.bundles.bundle import FILES, FORMATS, HEAD, RULES, fields_of
from fathom.models.model_settings import KINDS, SWITCHES
from fathom.models.thinking import MODES, PROMPTS
from fathom.printing import printable
from fathom.types import STATUSES

Check: TypeAlias = Callable[[object], str]
"""Returns what was expected of a value; "" if it is valid."""

NAME = 120  # characters that fit in a table of the site
LINE = 1_000  # ids of items combine names of data sets, questions and depths
TEXT = 400_000  # characters of a reply: 100,000 tokens, three times the longest output cap of any suite
TARGETS = 1_000  # the longest known list of references has about 30
NESTED = 5  # settings of providers are a list in an object in an object
VALUES = 500  # facets of a sample, or values of a setting
EPOCHS = 1_000
TOKENS = 100_000_000  # ten times the longest context on the market
DOLLARS = 10_000.0  # of one reply
SECONDS = 7 * 86_400.0  # of one reply: batches take a day
FIGURE = 1_000_000.0  # a part of a judgement: points of ten, counts of facts
EARLIEST = date(2020, 1, 1)

# Names contain no markup, no quotes that could end an attribute, and no executable addresses.
_UNFIT = re.compile(r"[<>\"`\\{}]|&#|\b(?:javascript|vbscript|data)\s*:", re.IGNORECASE)
# Scripts that are commonly mixed with Latin letters in names and have no letters that look Latin.
_WRITTEN_WITH_LATIN = frozenset({"LATIN", "CJK", "HIRAGANA", "KATAKANA", "HANGUL", "BOPOMOFO"})
# Letters that look like plain Latin ones.
_LIKE_LATIN = frozenset("аеорсухіјѕһԁԛԝАВЕКМНОРСТУХІЈЅԌοΑΒΕΖΗΙΚΜΝΟΡΤΥΧıĸ")
_PHONETIC = range(0x180, 0x1E00)  # Latin letters of phoneticians, ɡ and ɑ among them


def whole(most: int, least: int = 0) -> Check:
    """A whole number; booleans are not accepted."""
    expected = f"a whole number from {least} to {most:,}"
    return lambda value: "" if type(value) is int and least <= value <= most else expected


def number(most: float, least: float = 0.0) -> Check:
    """A number with a decimal point."""
    expected = f"a decimal number from {least:,.1f} to {most:,.1f}"

    def check(value: object) -> str:
        # -0.0 equals 0.0, but is not a valid score.
        right = type(value) is float and least <= value <= most and (value != 0 or math.copysign(1, value) > 0)
        return "" if right else expected

    return check


def text(most: int = TEXT) -> Check:
    """Any text."""
    expected = f"a text of at most {most:,} characters"
    return lambda value: "" if isinstance(value, str) and len(value) <= most else expected


def line(value: object) -> str:
    """A text of one line."""
    right = isinstance(value, str) and len(value) <= LINE and printable(value) == value
    return "" if right else f"a text of at most {LINE:,} characters in one line, without control characters"


def name(value: object) -> str:
    """A displayed name that cannot be confused with another one."""
    if not isinstance(value, str) or len(value) > NAME:
        return f"a name of at most {NAME} characters"
    return _unfit(value)


@lru_cache(maxsize=4096)  # all rows of a bundle have the same few names
def _unfit(value: str) -> str:
    if (
        not all(character == " " or unicodedata.category(character)[0] not in "CZ" for character in value)
        or value != value.strip()
    ):
        return "a name in one line, without control, direction or invisible characters"
    if _UNFIT.search(value):
        return 'a name without < > " ` \\ { } and without executable addresses'
    if unicodedata.normalize("NFKC", value) != value:
        return f"a name in plain letters ({unicodedata.normalize('NFKC', value)!r})"
    letters = [character for character in value if unicodedata.category(character)[0] in "LM"]
    scripts = {unicodedata.name(letter, "").split(" ")[0] for letter in letters}
    mixed = len(scripts) > 1 and not scripts <= _WRITTEN_WITH_LATIN
    disguised = scripts == {"LATIN"} and any(letter in _LIKE_LATIN or ord(letter) in _PHONETIC for letter in letters)
    if mixed or disguised or (letters and all(letter in _LIKE_LATIN for letter in letters)):
        return f"a name that cannot be confused with another one (it mixes {', '.join(sorted(scripts))} letters)"
    return ""


def filled_name(value: object) -> str:
    """A non-empty name."""
    return name(value) if value != "" else "a name"


def flag(value: object) -> str:
    """True or false."""
    return "" if isinstance(value, bool) else "true or false"


def one_of(*known: object) -> Check:
    """One of several values."""
    expected = "one of " + ", ".join(map(str, known)) if len(known) > 1 else str(known[0])
    return lambda value: (
        "" if isinstance(value, str | int) and not isinstance(value, bool) and value in known else expected
    )


def digits(size: int, *, empty: bool = False) -> Check:
    """Hexadecimal digits of a hash."""
    pattern = re.compile(f"[0-9a-f]{{{size}}}" + ("|" if empty else ""))
    expected = f"{size} hexadecimal digits" + (", or an empty text" if empty else "")
    return lambda value: "" if isinstance(value, str) and pattern.fullmatch(value) else expected


def day(value: object) -> str:
    """A day, as ``YYYY-MM-DD``."""
    try:
        right = isinstance(value, str) and date.fromisoformat(value).isoformat() == value and value >= str(EARLIEST)
    except ValueError:
        right = False
    return "" if right else f"a date from {EARLIEST} as YYYY-MM-DD"


def maybe(check: Check) -> Check:
    """A value that passes another check, or null."""
    return lambda value: "" if value is None else (expected := check(value)) and f"{expected}, or null"


def many(check: Check, most: int, least: int = 0) -> Check:
    """A list."""

    def check_all(value: object) -> str:
        if not isinstance(value, list) or not least <= len(value) <= most:
            return f"a list of {least} to {most:,} values"
        wrong = next(filter(None, map(check, value)), "")
        return f"a list in which each value is {wrong}" if wrong else ""

    return check_all


def table(names: Check, values: Check, most: int = VALUES) -> Check:
    """An object with any names."""

    def check_all(value: object) -> str:
        if not isinstance(value, dict) or len(value) > most:
            return f"an object of at most {most:,} names"
        wrong = next(filter(None, map(names, value)), "")
        if wrong:
            return f"an object in which each name is {wrong}"
        wrong = next(filter(None, map(values, value.values())), "")
        return f"an object in which each value is {wrong}" if wrong else ""

    return check_all


def record(fields: Mapping[str, Check]) -> Check:
    """An object with exactly these names."""
    return lambda value: "" if (wrong := wrong_field(value, fields)) is None else f"{wrong[0] or 'it'}: {wrong[1]}"


def wrong_field(value: object, fields: Mapping[str, Check]) -> tuple[str | None, str] | None:
    """The first invalid field of an object and what was expected; None if all are valid.

    The field is None if the value is not an object.
    """
    if not isinstance(value, dict):
        return None, f"an object with {', '.join(fields)}"
    for field in sorted({*fields, *value}):
        if field not in fields:
            return field[:NAME], f"only the fields {', '.join(fields)}"
        if field not in value:
            return field, "a value; the field is missing"
        expected = fields[field](value[field])
        if expected:
            return field, expected
    return None


def scalar(value: object) -> str:
    """A text, number or boolean: the value of a facet."""
    if isinstance(value, str):
        return text()(value)
    if isinstance(value, bool):
        return ""
    right = isinstance(value, int | float) and abs(value) <= 1e15
    return "" if right else "a text, a number, true or false"


def settings(value: object, depth: int = NESTED) -> str:
    """Plain JSON with limited nesting."""
    if value is None:
        return ""
    if isinstance(value, dict | list):
        if depth == 0:
            return f"at most {NESTED} levels of objects and lists"
        if len(value) > VALUES:
            return f"at most {VALUES} values"
        names = next(filter(None, map(line, value)), "") if isinstance(value, dict) else ""
        inner = value.values() if isinstance(value, dict) else value
        return names or next(filter(None, (settings(setting, depth - 1) for setting in inner)), "")
    return scalar(value) if not isinstance(value, str) else line(value)


_COUNT = whole(TOKENS)
_THINKING: Mapping[str, Check] = {
    "mode": one_of(*MODES),
    "kind": one_of(*KINDS),
    "prompt": one_of(*PROMPTS),
    "switch": one_of(*SWITCHES),
    "truncation": maybe(_COUNT),
}
_SETTINGS: Mapping[str, Check] = {
    "generation": settings,
    "model_args": settings,
    "window": maybe(_COUNT),
    "on_overflow": one_of("refuse", "middle", "left", "right"),
    "chat_template": one_of("always", "by-task", "never"),
    "thinking": maybe(record(_THINKING)),
}
_PART: Mapping[str, Check] = {
    "suite": filled_name,
    "fingerprint": filled_name,
    "tokenizer": line,
    "subset": line,
    "tasks": many(filled_name, VALUES, 1),
    "lengths": many(_COUNT, VALUES, 1),
    "samples": whole(TOKENS, 1),
    "replies": whole(TOKENS, 1),
    "statuses": table(one_of(*STATUSES), whole(TOKENS, 1)),
    "sample_set": digits(64),
}
_PARTS = 50
HEAD_FIELDS: Mapping[str, Check] = {
    "fathom": one_of("bundle"),
    "format": one_of(*FORMATS),
    "model": filled_name,
    "variant": name,
    "created": day,
    "settings": record(_SETTINGS),
    "versions": table(line, line),
    "rules": lambda value: "" if value == list(RULES) else f"{', '.join(RULES)}",
    "judges": many(line, 2),
    "parts": many(record(_PART), _PARTS, 1),
    "files": table(
        one_of(*(name for name in FILES if name != HEAD)), record({"bytes": whole(10**12), "sha256": digits(64)})
    ),
}

_KEY: Mapping[str, Check] = {"part": whole(_PARTS - 1), "sample": line, "epoch": whole(EPOCHS, 1)}
_ROW: Mapping[str, Check] = {
    "suite": filled_name,
    "task": filled_name,
    "item": line,
    "model": filled_name,
    "length": _COUNT,
    "value": maybe(number(1.0)),
    "variant": name,
    "valid": flag,
    "status": one_of(*STATUSES),
    "stop": line,
    "answer": maybe(text()),
    "target": text(),
    "language": name,
    "chance": maybe(number(1.0)),
    "tokens": maybe(_COUNT),
    "tokens_in": maybe(_COUNT),
    "tokens_out": maybe(_COUNT),
    "tokens_reasoning": maybe(_COUNT),
    "truncated": _COUNT,
    "cost": maybe(number(DOLLARS)),
    "seconds": maybe(number(SECONDS)),
    "metric": line,
    "grader": line,
    "rule": one_of(*RULES),
    "tokenizer": line,
    "prompt_hash": digits(16, empty=True),
    "source": one_of("fathom"),
    "task_version": whole(1_000_000),
    "fathom_version": line,
    "detail": text(),
    "answered": flag,
    "asked_again": _COUNT,
    "facets": table(line, scalar),
}
ROW_FIELDS: Mapping[int, Mapping[str, Check]] = {
    form: {**_KEY, **{name: _ROW[name] for name in fields_of(form) if name not in _KEY}} for form in FORMATS
}
"""By format."""
DIGEST_FIELDS = {**_KEY, "prompt_hash": _ROW["prompt_hash"], "reply_hash": digits(64), "status": _ROW["status"]}
_REPLY: Mapping[str, Check] = {**_KEY, "targets": many(text(), TARGETS, 1), "asked": text(), "text": text()}
REPLY_FIELDS: Mapping[int, Mapping[str, Check]] = {
    form: {**_REPLY, "inputs": table(line, scalar)} if form > 2 else _REPLY for form in FORMATS
}
"""By format."""
JUDGEMENT_FIELDS: Mapping[str, Check] = {
    "part": _KEY["part"],
    "judge": line,
    "key": digits(32),
    "status": one_of("ok", "unreadable", "error"),
    "parts": table(line, number(FIGURE, -FIGURE)),
    "detail": text(),
}
