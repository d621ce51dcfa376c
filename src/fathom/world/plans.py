"""Sentence plans and word lists, read from text files: those of the corpus, of papers and of private families.

A file is a list of rules::

    = rule.name
    one alternative a line, with {slots} and [inline|choices|of any depth]
    = short rule: word | word | word

``#`` starts a comment line. ``{slot}`` is a fact (``{person.born.year}``), part of the discourse (``{S}``) or another
rule; ``{^slot}`` is capitalised; ``{#3-9}`` is a random number in that range.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from fathom.types import FathomError


class Slot(NamedTuple):
    """A place to fill: ``rule`` is all of it, ``base`` names a fact and ``attrs`` are attributes of it."""

    rule: str
    base: str
    attrs: tuple[str, ...]
    capital: bool


class Choice(NamedTuple):
    """Inline alternatives."""

    plans: tuple[Plan, ...]


Plan: TypeAlias = "tuple[str | Slot | Choice, ...]"
SYNONYMS = "synonyms"
_TOKEN = re.compile(r"\{[^{}]*\}|[\[\]|]|[^\[\]{}|]+")


class Grammar:
    """The rules of one language; a rule is parsed on first use."""

    def __init__(self, rules: Mapping[str, tuple[str, ...]], synonyms: Synonyms) -> None:
        self._rules = rules
        self._synonyms = synonyms
        self._plans: dict[str, tuple[Plan, ...]] = {}

    def __contains__(self, rule: str) -> bool:
        return rule in self._rules

    def adapted(self, rules: Mapping[str, tuple[str, ...]], unfit: Iterable[str]) -> Grammar:
        """The grammar with some rules of another file, and without alternatives that have certain words."""
        left_out = re.compile("|".join(map(re.escape, unfit)) or r"(?!)", re.IGNORECASE)
        kept = {name: tuple(line for line in lines if not left_out.search(line)) for name, lines in self._rules.items()}
        return Grammar({**{name: lines for name, lines in kept.items() if lines}, **rules}, self._synonyms)

    def names(self) -> tuple[str, ...]:
        """Names of all rules, in the order of the files."""
        return tuple(self._rules)

    def words(self, rule: str) -> tuple[str, ...]:
        """The alternatives of a rule as written.

        Raises:
            FathomError: There is no such rule.
        """
        try:
            return self._rules[rule]
        except KeyError:
            raise FathomError(f"world: no rule {rule!r}; add it to the grammar files of this language") from None

    def plans(self, rule: str) -> tuple[Plan, ...]:
        """The alternatives of a rule, parsed."""
        plans = self._plans.get(rule)
        if plans is None:
            lines = self.words(rule)
            if not rule.startswith("q."):  # questions get no synonyms
                lines = tuple(self._synonyms.spread(line) for line in lines)
            plans = self._plans[rule] = tuple(parse(line) for line in lines)
        return plans


class Synonyms:
    """Groups of interchangeable words, inserted into sentence plans as inline choices."""

    def __init__(self, lines: Iterable[str], spaced: bool) -> None:
        groups = [[word.strip() for word in line.split("|")] for line in lines]
        self._choice = {word: f"[{'|'.join(group)}]" for group in groups for word in group}
        words = "|".join(sorted(map(re.escape, self._choice), key=len, reverse=True)) or r"(?!)"
        edge = r"\b" if spaced else ""
        # Slots are matched too, and left unchanged.
        self._pattern = re.compile(rf"\{{[^{{}}]*\}}|{edge}(?:{words}){edge}")

    def spread(self, line: str) -> str:
        """Replace each word that has synonyms by a choice of them."""
        return self._pattern.sub(lambda match: self._choice.get(match[0], match[0]), line)


@cache
def parse(line: str) -> Plan:
    """Parse one alternative."""
    tokens = _TOKEN.findall(line)
    return _parse_sequence(tokens, 0)[0]


def _parse_sequence(tokens: list[str], at: int, depth: int = 0) -> tuple[Plan, int]:
    parts: list[str | Slot | Choice] = []
    while at < len(tokens):
        token = tokens[at]
        if token in "|]":
            if not depth:
                raise FathomError(f"world: {token!r} outside brackets in the sentence plan {''.join(tokens)!r}")
            break
        if token == "[":
            plans = []
            while at < len(tokens) and tokens[at] != "]":
                plan, at = _parse_sequence(tokens, at + 1, depth + 1)
                plans.append(plan)
            if at == len(tokens):
                raise FathomError(f"world: a bracket is not closed in the sentence plan {''.join(tokens)!r}")
            parts.append(Choice(tuple(plans)))
        elif token[0] == "{":
            inner = token[1:-1]
            base, *attrs = inner.lstrip("^").split(".")
            parts.append(Slot(inner.lstrip("^"), base, tuple(attrs), inner.startswith("^")))
        else:
            parts.append(token)
        at += 1
    return tuple(parts), at


@cache
def load(language: str) -> Grammar:
    """Read the grammar of a language, ``en`` or ``zh``.

    Raises:
        FathomError: The language is unknown, or a rule stands twice.
    """
    folder = files("fathom.world.corpus").joinpath(language)
    if not folder.is_dir():
        raise FathomError(f"world: unknown language {language!r}; expected 'en' or 'zh'")
    rules: dict[str, list[str]] = {}
    for file in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if file.name.endswith(".txt"):
            add_rules(rules, file.read_text(encoding="utf-8"), f"world: {file.name}")
    synonyms = Synonyms(rules.pop(SYNONYMS, ()), spaced=language != "zh")
    return Grammar({name: tuple(lines) for name, lines in rules.items()}, synonyms)


def add_rules(rules: dict[str, list[str]], text: str, where: str) -> dict[str, list[str]]:
    """Add the rules of a file to others, and return all.

    Raises:
        FathomError: A rule stands twice.
    """
    for number, name, words in rules_of(text):
        if name in rules:
            raise FathomError(f"{where}, line {number}: duplicate rule {name!r}")
        rules[name] = words
    return rules


def rules_of(text: str) -> list[tuple[int, str, list[str]]]:
    """The rules of a file in order: line, name, alternatives."""
    rules: list[tuple[int, str, list[str]]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip().replace("'", "’")
        if not line or line.startswith("#"):
            continue
        if line.startswith("= "):
            name, colon, words = line[2:].partition(": ")
            rules.append((number, name, [word.strip() for word in words.split("|")] if colon else []))
        elif rules:
            rules[-1][2].append(line)
    return rules
