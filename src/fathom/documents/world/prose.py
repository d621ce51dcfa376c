"""Turns beats (a fact and the rule that tells it) into paragraphs, with pronouns, variation and spelling."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from fathom.documents.world.draws import KeyedRandom
from fathom.documents.world.facts import Name
from fathom.documents.world.forms import Forms
from fathom.documents.world.grammar import Choice, Grammar, Plan, Slot

_SPACES = re.compile(r" +([,.;:?!’”)]| )")
_START = re.compile(r"(^|\. |\.” |[?!] |\n)([“‘(]?)([a-z])")
_ARTICLE = re.compile(r"\b([Aa])n? (?=[“‘]?([A-Za-z]+))")
_SENTENCES = re.compile(r"[^.?!。？！\n]+[.?!。？！]*[”’]?")
_LIKE_CONSONANT = ("uni", "use", "usu", "uti", "eu", "one", "once", "ura", "uno")
_LIKE_VOWEL = ("hour", "honest", "honour", "heir")
TRIES = 12
LINES = ("- ", "· ")


@dataclass(frozen=True, slots=True)
class Beat:
    """One thing to tell: ``rule`` names its sentence plans, ``slots`` its facts; questions refer to ``tag``."""

    tag: str
    rule: str
    slots: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Section:
    """Beats of one paragraph; sections that are not ``core`` are only used in long articles."""

    beats: tuple[Beat, ...]
    core: bool = False


@dataclass(frozen=True, slots=True)
class Subject:
    """What an article is about, and how to refer to it: names, then pronouns (he, his, him, himself)."""

    full: str
    short: str
    others: tuple[str, ...]
    pronouns: tuple[str, str, str, str]


Unit = tuple[str, str]


@dataclass(slots=True)
class Writer:
    """Writes one article; its state is what has been said.

    Attributes:
        grammar: Sentence plans of the language.
        forms: How values are written.
        rng: Random generator of this article.
        subject: What the article is about.
        someone: Returns a new name for a minor person.
        spaced: Whether words are separated by spaces.
    """

    grammar: Grammar
    forms: Forms
    rng: KeyedRandom
    subject: Subject
    someone: Callable[[], Name]
    spaced: bool
    _slots: Mapping[str, object] = field(default_factory=dict)
    _used: dict[str, list[int]] = field(default_factory=dict)
    _written: set[str] = field(default_factory=set)
    _mentioned: set[str] = field(default_factory=set)
    _focus: bool = False
    _opened: bool = False
    _witness: Name | None = None

    def paragraph(self, beats: Sequence[Beat]) -> list[Unit]:
        """Write one paragraph: the text units of its beats with their tags, in order."""
        self._mentioned = set()
        self._focus = self._opened = False
        units = []
        for beat in beats:
            text = self._unit(beat)
            if text:
                units.append((beat.tag, text))
        return units

    def phrase(self, rule: str, slots: Mapping[str, object], capital: bool = True) -> str:
        """Write one phrase outside the article's text, such as a question (capitalised) or a part of one."""
        self._slots = slots
        self._mentioned = set()
        return self._tidy(self._rule(rule), capital)

    def _unit(self, beat: Beat) -> str:
        if beat.tag == "scene" and self._used.get(beat.rule) == []:
            return ""  # every plan was used in this article: do not repeat one
        self._slots = beat.slots
        state = (self._focus, self._opened, set(self._mentioned))
        for _ in range(TRIES):
            self._focus, self._opened, self._mentioned = state[0], state[1], set(state[2])
            self._witness = None
            text = _closed(self._tidy(self._rule(beat.rule)), self.spaced)
            sentences = [sentence.strip() for sentence in _SENTENCES.findall(text)]
            if self._written.isdisjoint(sentences):
                self._written.update(sentences)
                return text
        return ""

    def _rule(self, rule: str) -> str:
        plans = self.grammar.plans(rule)
        if len(plans) == 1:
            return self._expand(plans[0])
        bag = self._used.get(rule)
        if not bag:
            bag = self._used[rule] = self.rng.shuffled(range(len(plans)))
        return self._expand(plans[bag.pop()])

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
        base = slot.base
        if slot.rule in self.grammar:
            return self._rule(slot.rule)
        if base in self._slots:
            return self._show(self._slots[base], slot.attrs)
        if base in _DISCOURSE:
            return _DISCOURSE[base](self)
        if base == "someone":
            self._focus = False
            self._witness = self.someone()
            return self._show(self._witness, slot.attrs)
        if base == "they":
            witness = self._witness or self.someone()
            return self._show(witness, slot.attrs)
        if base[0] == "#":
            low, _, high = base[1:].partition("-")
            return self._show(self.rng.between(int(low), int(high)), slot.attrs)
        return _plural(self._rule(slot.rule.removesuffix(".s")))

    def _show(self, value: object, attrs: tuple[str, ...]) -> str:
        for attr in attrs:
            shaped = self.forms.shape(value, attr)
            if shaped is not None:
                return shaped
            if isinstance(value, Name) and attr in PRONOUNS:
                return _pronoun(value, attr, self.spaced)
            value = value[attr] if isinstance(value, Mapping) else getattr(value, attr)
        if isinstance(value, Name):
            self._focus = False
            if value.full in self._mentioned:
                return value.short
            self._mentioned.add(value.full)
            return value.full
        if isinstance(value, tuple):
            return self.forms.join([self._show(item, ()) for item in value])
        return self.forms.show(getattr(value, "name", value))

    def refer(self, form: int) -> str:
        """Refer to the subject: as ``form`` 0 (she), 1 (her), 2 (her), 3 (herself) or by a name."""
        subject = self.subject
        roll = self.rng.random()
        if self._focus and roll < 0.72:
            return subject.pronouns[form]
        if self._opened and roll > 0.84 and subject.others:
            text = self.rng.pick(subject.others)
        else:
            text = subject.short if self._opened or roll < 0.7 else subject.full
        self._focus = self._opened = True
        if form != 1:
            return text
        return _possessive(text) if self.spaced else text + "的"

    def pronoun(self, form: int) -> str:
        """The subject's pronoun, if the sentence is unambiguous."""
        return self.subject.pronouns[form]

    def _tidy(self, text: str, capital: bool = True) -> str:
        if not self.spaced:
            return text.replace(" ", "").replace("的的", "的")
        text = _SPACES.sub(r"\1", text).strip()
        text = _SPACES.sub(r"\1", text)
        text = _ARTICLE.sub(_a_or_an, text)
        return text if not capital else _START.sub(lambda match: match[1] + match[2] + match[3].upper(), text)


_DISCOURSE: dict[str, Callable[[Writer], str]] = {
    "S": lambda writer: writer.refer(0),
    "Ss": lambda writer: writer.refer(1),
    "O": lambda writer: writer.refer(2),
    "he": lambda writer: writer.pronoun(0),
    "his": lambda writer: writer.pronoun(1),
    "him": lambda writer: writer.pronoun(2),
    "himself": lambda writer: writer.pronoun(3),
    "name": lambda writer: writer.subject.short,
    "fullname": lambda writer: writer.subject.full,
    "coins": lambda writer: writer.forms.currency,
}
PRONOUNS = ("he", "his", "him", "son", "brother", "man")
_ENGLISH = {
    "f": ("she", "her", "her", "daughter", "sister", "woman"),
    "m": ("he", "his", "him", "son", "brother", "man"),
}
_CHINESE = {"f": ("她", "她的", "她", "女儿", "妹妹", "女子"), "m": ("他", "他的", "他", "儿子", "弟弟", "男子")}


def _pronoun(name: Name, attr: str, spaced: bool) -> str:
    return (_ENGLISH if spaced else _CHINESE)[name.sex][PRONOUNS.index(attr)]


def _closed(text: str, spaced: bool) -> str:
    """End a unit with a full stop if needed; list items are unchanged."""
    inner = text.rstrip("”’")[-1:]
    return text if inner in ".?!:。？！：" or text[:2] in LINES else text + ("." if spaced else "。")


def _plural(text: str) -> str:
    if text.endswith("man"):
        return text[:-3] + "men"
    if text.endswith("wife"):
        return text[:-2] + "ves"
    if text.endswith("y") and text[-2] not in "aeiou":
        return text[:-1] + "ies"
    return text + ("es" if text.endswith(("s", "ch", "sh", "x")) else "s")


def _possessive(text: str) -> str:
    return text + ("’" if text.endswith("s") and not text.endswith("ss") else "’s")


def _a_or_an(match: re.Match[str]) -> str:
    word = match[2].lower()
    vowel = (word[0] in "aeiou" and not word.startswith(_LIKE_CONSONANT)) or word.startswith(_LIKE_VOWEL)
    return f"{match[1]}n " if vowel else f"{match[1]} "
