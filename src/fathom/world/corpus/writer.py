"""Turns sentence plans into text: choices, slots, names of bystanders, numbers in words, spelling."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random

from fathom.world.plans import Choice, Grammar, Plan, Slot

_SPACES = re.compile(r" +([,.;:?!’”)]| )")
_START = re.compile(r"(^|\. |\.” |[?!] |\n)([“‘(]?)([a-z])")
_ARTICLE = re.compile(r"\b([Aa])n? (?=[“‘]?([A-Za-z]+))")
_SENTENCES = re.compile(r"[^.?!。？！\n]+[.?!。？！]*[”’]?")
_LIKE_CONSONANT = ("uni", "use", "usu", "uti", "eu", "one", "once", "ura", "uno")
_LIKE_VOWEL = ("hour", "honest", "honour", "heir")
TRIES = 12
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
ORDINALS = ("zeroth", "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
DIGITS = "零一二三四五六七八九"


@dataclass(slots=True)
class Writer:
    """Writes one article; its state is what has been written.

    Attributes:
        grammar: Sentence plans of the language.
        rng: Random generator of this article.
        someone: Returns the name of a bystander.
        slots: What stands for slots anywhere in the article.
        spaced: Whether words are separated by spaces.
    """

    grammar: Grammar
    rng: Random
    someone: Callable[[], str]
    slots: Mapping[str, str]
    spaced: bool
    _own: Mapping[str, str] = field(default_factory=dict)
    _written: set[str] = field(default_factory=set)
    _used: set[tuple[str, str]] = field(default_factory=set)

    def phrase(self, rule: str, **slots: str) -> str:
        """One phrase by a rule, with slots of its own."""
        self._own = slots
        self._used.clear()
        return self._tidy(self._rule(rule))

    def joined(self, *rules: str, **slots: str) -> str:
        """A sentence of several rules one after the other, with a full stop; "" if all tries repeat a sentence."""
        self._own = slots
        for _ in range(TRIES):
            self._used.clear()
            text = self._closed(self._tidy(" ".join(map(self._rule, rules))))
            sentences = [sentence.strip() for sentence in _SENTENCES.findall(text)]
            if self._written.isdisjoint(sentences):
                self._written.update(sentences)
                return text
        return ""

    def _rule(self, rule: str) -> str:
        """An alternative of a rule, another one each time that a sentence needs it."""
        plans = self.grammar.plans(rule)
        for _ in range(TRIES):
            text = self._expand(plans[int(self.rng.random() * len(plans))])
            if not text or (rule, text) not in self._used:
                break
        self._used.add((rule, text))
        return text

    def _expand(self, plan: Plan) -> str:
        parts = []
        for part in plan:
            if isinstance(part, str):
                parts.append(part)
            elif isinstance(part, Slot):
                text = self._fill(part)
                parts.append(text[:1].upper() + text[1:] if part.capital else text)
            elif isinstance(part, Choice):
                parts.append(self._expand(part.plans[int(self.rng.random() * len(part.plans))]))
        return "".join(parts)

    def _fill(self, slot: Slot) -> str:
        for slots in (self._own, self.slots):
            if slot.rule in slots:
                return slots[slot.rule]
        if slot.rule in self.grammar:
            return self._rule(slot.rule)
        if slot.base == "someone":
            return self.someone()
        if slot.base[0] == "#":
            low, _, high = slot.base[1:].partition("-")
            return self._number(int(low) + int(self.rng.random() * (int(high) - int(low) + 1)), slot.attrs)
        return plural(self._rule(slot.rule.removesuffix(".s")))

    def _number(self, value: int, attrs: tuple[str, ...]) -> str:
        if not self.spaced:
            if value == 2 and "hanzi" not in attrs:
                return "两"
            return hanzi(value) if value <= 10 or "hanzi" in attrs else str(value)
        return ordinal(value) if "th" in attrs else NUMBERS[value] if value <= 10 else f"{value:,}"

    def _tidy(self, text: str) -> str:
        if not self.spaced:
            return text.replace(" ", "").replace("的的", "的")
        text = _SPACES.sub(r"\1", text).strip()
        text = _SPACES.sub(r"\1", text)
        text = _ARTICLE.sub(_a_or_an, text)
        return _START.sub(lambda match: match[1] + match[2] + match[3].upper(), text)

    def _closed(self, text: str) -> str:
        ended = text.rstrip("”’")[-1:] in tuple(".?!:。？！：")
        return text if ended else text + ("." if self.spaced else "。")


def ordinal(value: int) -> str:
    """An English ordinal: in words up to ten, then 13th, 21st, 22nd."""
    if value < len(ORDINALS):
        return ORDINALS[value]
    return f"{value}" + ("th" if 10 <= value % 100 <= 20 else {1: "st", 2: "nd", 3: "rd"}.get(value % 10, "th"))


def hanzi(value: int) -> str:
    """A number of 0 to 99 in Chinese characters: 三, 十二, 二十, 四十七."""
    tens, ones = divmod(value, 10)
    if not tens:
        return DIGITS[ones]
    return ("" if tens == 1 else DIGITS[tens]) + "十" + (DIGITS[ones] if ones else "")


def hanzi_digits(value: int) -> str:
    """A year digit by digit: 一八七三."""
    return "".join(DIGITS[int(figure)] for figure in str(value)).replace("零", "〇")


def plural(text: str) -> str:
    """The plural of an English noun."""
    if text.endswith("man"):
        return text[:-3] + "men"
    if text.endswith("wife"):
        return text[:-2] + "ves"
    if text.endswith("y") and text[-2] not in "aeiou":
        return text[:-1] + "ies"
    return text + ("es" if text.endswith(("s", "ch", "sh", "x")) else "s")


def _a_or_an(match: re.Match[str]) -> str:
    word = match[2].lower()
    vowel = (word[0] in "aeiou" and not word.startswith(_LIKE_CONSONANT)) or word.startswith(_LIKE_VOWEL)
    return f"{match[1]}n " if vowel else f"{match[1]} "
