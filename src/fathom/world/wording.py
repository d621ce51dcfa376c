"""Words in both languages, random draws by name, dates, and texts that know where their evidence is."""

from calendar import month_name
from collections.abc import Iterable, Iterator, Mapping
from datetime import date, timedelta
from functools import cache
from random import Random
from typing import TypeAlias

from fathom.world.private import Private, chosen, tables
from fathom.world.types import Language, Passage

Word: TypeAlias = tuple[str, str]
"""A word, name or sentence pattern in English and in Chinese."""
Slots: TypeAlias = dict[str, Word | str | int]
"""What fills a pattern."""
Words: TypeAlias = Mapping[str, tuple[Word, ...]]

Candidates: TypeAlias = list[tuple[list[tuple[str, str]], int]]
"""Groups of what an answer could be: the name of each in the text and its line, and how many of a group are right."""

FIRST_DAY = date(1401, 1, 1)
NOT_STATED: Word = ("not stated", "未载明")
LETTERS = "ABCD"
NEITHER = "E"
_MARKS, _STEP, _SERIES = 180_007, 48_271, "ABCDEFGHJKLMNPQRSTUVW"


def words(name: str) -> Words:
    """The tables of ``NAME.toml`` (``fathom.world.private``)."""
    return _words(name, chosen())


@cache
def _words(name: str, _: Private) -> Words:
    return {table: tuple((english, chinese) for english, chinese in rows) for table, rows in tables(name).items()}


def draws(*name: object) -> Random:
    """The random generator of a name: equal names, equal draws."""
    return Random("/".join(map(str, name)))


def said_in(language: Language, word: Word) -> str:
    """A word in one language."""
    return word[language == "zh"]


def fill(pattern: Word, language: Language, **slots: Word | str | int) -> str:
    """A sentence pattern with its slots filled, in one language."""
    zh = language == "zh"
    values = {name: value[zh] if isinstance(value, tuple) else value for name, value in slots.items()}
    text = pattern[zh].format_map(values)
    return text[:1].upper() + text[1:]


def filled(pattern: Word, **slots: Word | str | int) -> Word:
    """A sentence pattern with its slots filled, in both languages."""
    return fill(pattern, "en", **slots), fill(pattern, "zh", **slots)


def uncapitalized(word: Word) -> Word:
    """A phrase as it stands inside a sentence."""
    return word[0][:1].lower() + word[0][1:], word[1]


def people(rng: Random, count: int) -> list[Word]:
    """Different people, some of whom share a family name."""
    names = words("people")
    families = rng.sample(names["families"], min(len(names["families"]), count // 2 + 2))
    pairs = [(given, family) for given in names["given"] for family in families]
    return [(f"{given[0]} {family[0]}", family[1] + given[1]) for given, family in rng.sample(pairs, count)]


def day_name(day: int) -> Word:
    """A day, counted from the first one, as a date."""
    when = FIRST_DAY + timedelta(days=day)
    return f"{when.day} {month_name[when.month]} {when.year}", f"{when.year}年{when.month}月{when.day}日"


def first_day(year: int) -> int:
    """The first of January."""
    return (date(year, 1, 1) - FIRST_DAY).days


def mark(number: int) -> str:
    """A mark such as ``K-417``; different numbers have different marks, neighbours nothing in common."""
    turn, rest = divmod(number, _MARKS)
    series, low = divmod(rest * _STEP % _MARKS, 9000)
    return f"{_SERIES[series]}-{1000 + low}" + (f"-{turn}" if turn else "")


def remarks(rng: Random, count: int) -> list[Word]:
    """Sentences about something else, as a clerk writes them."""
    table = words("remarks")
    return [
        filled(
            pattern,
            person=person,
            place=rng.choice(table["places"]),
            trade=rng.choice(table["trades"]),
            number=rng.randint(2, 60),
        )
        for pattern, person in zip(rng.sample(table["remarks"], count), people(rng, count), strict=True)
    ]


def chance_of_all(right: int, candidates: int) -> float:
    """F1 of an answer that names all candidates, which is more than that of as many as are right."""
    return 2 * right / (right + candidates)


def written(
    name: str, lines: Iterable[tuple[Word, bool]], language: Language, place: float, between: Word = (" ", "")
) -> Passage:
    """A passage of sentences or lines, each with whether it is evidence."""
    text, spans = "", []
    for line, is_evidence in lines:
        text += said_in(language, between) if text else ""
        part = said_in(language, line)
        text += part
        if is_evidence:
            end = len(text.rstrip())
            spans.append((end - len(part.strip()), end))
    return Passage(name, text, evidence=tuple(spans), place=place)


def endless(rng: Random, noise: float) -> Iterator[bool]:
    """For each next sibling, whether it is about something else."""
    while True:
        yield rng.random() < noise
