"""The tables and rules of a private family beside the packaged ones: keys, numbers of entries, placeholders, names."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from string import Formatter
from typing import Any

from fathom.plugins.names import did_you_mean
from fathom.printing import printable, several
from fathom.types import FathomError
from fathom.world.asides import sentences
from fathom.world.facts import SLOTS
from fathom.world.plans import parse
from fathom.world.private import PACKAGED, using
from fathom.world.types import Language

SAME = {"Work": "work", "Cause": "cause", "Effect": "effect"}
"""Placeholders that write the same with a capital."""
LIMIT = "LIMIT"
"""What tasks replace in the questions for summaries."""
SHOWN = 60
NEEDED: Mapping[str, set[str]] = {
    **{f"act.{act}": {"work", *slots} for act, slots in SLOTS.items()},
    "link": {"cause", "effect"},
}
"""What each line of a rule has in braces."""
GIVEN = {"when", "amid", "someone", "place", "place.river", "coins", "season"}
"""What lines may have in braces besides rules."""
_SLOT = re.compile(r"\{\^?([^{}]*)\}")


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with an entry.

    Attributes:
        file: Its file, without ending.
        key: Its key.
        message: What is wrong, and what to do.
        text: What stands there, "" if nothing does.
    """

    file: str
    key: str
    message: str
    text: str = ""


def faults(file: str, own: Any, packaged: Any, key: str = "") -> Iterator[Fault]:
    """What keeps a value from standing in for the packaged one: rules, tables, lists and texts, at any depth."""
    if file.endswith(".txt"):
        yield from _of_rules(file, own, packaged)
    elif isinstance(packaged, Mapping):
        if not isinstance(own, Mapping):
            yield Fault(file, key, f"expected a table, as in the packaged {file}.toml")
            return
        for name, value in own.items():
            inner = f"{key}.{name}" if key else name
            if name in packaged:
                yield from faults(file, value, packaged[name], inner)
            else:
                near = did_you_mean(name, list(packaged), 1, 0.6)
                yield Fault(file, inner, f"no such key in the packaged {file}.toml{near}; correct or remove it")
    elif isinstance(packaged, str):
        yield from _of_texts(file, key, own, packaged)
    else:
        yield from _of_lists(file, key, own, packaged)


def _of_rules(file: str, own: Mapping[str, Sequence[str]], packaged: Mapping[str, Any]) -> Iterator[Fault]:
    known = {*packaged, *_rules("zh" if file == "zh.txt" else "en")}
    used = {slot for lines in own.values() for line in lines for slot in _SLOT.findall(line)}
    for rule, lines in own.items():
        if rule not in known | used:
            near = did_you_mean(rule, sorted(known), 1, 0.6)
            yield Fault(file, rule, f"no packaged rule{near}, and no line has it in braces", f"= {rule}")
        if not lines:
            yield Fault(file, rule, "has no line", f"= {rule}")
        needed = NEEDED.get(rule, set())
        for number, line in enumerate(lines, start=1):
            present, place = set(_SLOT.findall(line)), f"{rule}, line {number}"
            try:
                parse(line)
            except FathomError as error:
                yield Fault(file, place, str(error).removeprefix("world: "), line)
            if set("{}") & set(_SLOT.sub("", line)) or not line.isprintable():
                yield Fault(file, place, "a brace that is not closed, or a character that cannot be seen", line)
            if lacking := needed - present:
                yield Fault(file, place, f"lacks {_braced(lacking)}", line)
            if more := {
                slot
                for slot in present - needed - known - own.keys() - GIVEN
                if slot.removesuffix(".s") not in known | own.keys() and not re.fullmatch(r"#\d+-\d+(\.\w+)?", slot)
            }:
                yield Fault(file, place, f"{_braced(more)} is no rule and has no value here", line)


def _rules(language: Language) -> Sequence[str]:
    """Names of the packaged rules, with those of the corpus."""
    with using(PACKAGED):
        return sentences(language).names()


def _of_lists(file: str, key: str, own: Any, packaged: Sequence[Any]) -> Iterator[Fault]:
    if not isinstance(own, list):
        yield Fault(file, key, "expected a list")
        return
    if len(own) < len(packaged):
        yield Fault(file, key, f"{several(len(own), 'entry', 'entries')}; at least {len(packaged)} are needed")
    alike = len({str(_slots_of(entry)) for entry in packaged}) == 1
    if not alike and len(own) > len(packaged):
        yield Fault(file, key, f"more entries than the {len(packaged)} packaged ones, each of which has its own use")
    for number, entry in enumerate(own):
        place = f"{key}, entry {number + 1}"
        if packaged:
            yield from _of_texts(file, place, entry, packaged[0 if alike else min(number, len(packaged) - 1)])
        if entry in own[:number]:
            yield Fault(file, place, "stands there twice; write another one", label(entry))
    # Parts of names are compared as whole names (``private_proof``), sentences with placeholders not at all.
    if file not in ("names", "real_names") and not _contained(packaged):
        for short, long in _contained(own):
            yield Fault(file, key, f"contained in {label(long)!r}; no entry may be a part of another", short)


def _contained(entries: Sequence[Any]) -> list[tuple[str, str]]:
    """Names that are a part of another."""
    names = list(dict.fromkeys(entry for entry in entries if isinstance(entry, str) and "{" not in entry))
    return [(short, long) for short in names for long in names if short is not long and short in long]


def _of_texts(file: str, key: str, own: Any, packaged: Any) -> Iterator[Fault]:
    """A text, or a pair of an English and a Chinese one."""
    if not isinstance(packaged, str):
        if not isinstance(own, list) or len(own) != len(packaged):
            yield Fault(file, key, "expected a list of two texts: the English and the Chinese one", label(own))
            return
        for text, other in zip(own, packaged, strict=True):
            yield from _of_texts(file, key, text, other)
    elif not isinstance(own, str) or not (own.strip() or not packaged):
        yield Fault(file, key, "expected a text that is not empty", label(own))
    elif not all(letter.isprintable() or (letter == "\n" and "\n" in packaged) for letter in own):
        yield Fault(file, key, "a line break or another character that cannot be seen; remove it", own)
    else:
        try:
            present, needed = _slots(own), _slots(packaged)
        except ValueError as error:
            yield Fault(file, key, f"{error}; placeholders are a name in braces; write a brace as {{{{ or }}}}", own)
            return
        if lacking := needed - present:
            yield Fault(file, key, f"lacks {_braced(lacking)}", own)
        if more := present - needed:
            wanted = _braced(needed) if needed else "none"
            yield Fault(file, key, f"{_braced(more)} has no value here; its placeholders are {wanted}", own)


def _slots_of(entry: Any) -> list[list[str]]:
    return [sorted(_slots(text)) for text in ([entry] if isinstance(entry, str) else entry)]


def _slots(text: str) -> set[str]:
    """The placeholders of a text.

    Raises:
        ValueError: A brace is not closed, or a placeholder is more than a name.
    """
    slots = {LIMIT} if LIMIT in text else set[str]()
    for _, name, spec, conversion in Formatter().parse(text):
        if name is not None:
            if spec or conversion or not name.isidentifier():
                raise ValueError(f"{{{name}}} is not a plain name")
            slots.add(SAME.get(name, name))
    return slots


def _braced(names: set[str]) -> str:
    return ", ".join(name if name == LIMIT else f"{{{name}}}" for name in sorted(names))


def label(entry: Any) -> str:
    """An entry as messages quote it."""
    return printable(str(entry))[:SHOWN]
