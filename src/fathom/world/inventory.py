"""T8.3, state tracking: who keeps what on a day, by a steward's book that hands things and their containers on.

A thing lies in a container, that in another (``hops``), and the outermost goes from keeper to keeper (``near``); each
of its keepers is equally often the answer. Things of the same name have other marks. With ``paraphrase`` the question
has other words for the things, with ``unanswerable`` the marks asked for occur nowhere.
"""

import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count
from random import Random

from fathom.world.dials import settled
from fathom.world.reading import MARK, date_in
from fathom.world.types import Dials, Language, Passage, Problem
from fathom.world.wording import (
    NOT_STATED,
    Candidates,
    Word,
    day_name,
    draws,
    endless,
    fill,
    filled,
    mark,
    people,
    remarks,
    said_in,
    uncapitalized,
    words,
    written,
)

ASKED = 3
_FIRST_MARKS = 90_000
_DAYS = 9000


@dataclass(frozen=True, slots=True)
class Thing:
    """A thing or a container, with a mark of its own."""

    mark: str
    name: Word
    other_name: Word

    @property
    def full(self) -> Word:
        """Its name with its mark."""
        return f"the {self.name[0]} {self.mark}", f"{self.mark}号{self.name[1]}"


@dataclass(frozen=True, slots=True)
class Chain:
    """A thing in its containers, and who keeps the outermost.

    Attributes:
        things: The thing and its containers, innermost first.
        laid: On which day each is laid into the next.
        keepers: Who keeps the outermost, in order.
        days: Since when each does.
    """

    things: tuple[Thing, ...]
    laid: tuple[int, ...]
    keepers: tuple[Word, ...]
    days: tuple[int, ...]

    def keeper_on(self, day: int) -> Word | None:
        """Who keeps the thing at the end of a day."""
        if any(laid > day for laid in self.laid):
            return None
        return next((who for who, since in zip(self.keepers[::-1], self.days[::-1], strict=True) if since <= day), None)


@dataclass(frozen=True, slots=True)
class Question:
    """A thing of which a question asks on a day; the answer is proven from the chain, and none if it has none."""

    thing: Thing
    day: int
    keeper: Word | None


@dataclass(frozen=True, slots=True)
class Facts:
    """An item: chains of which some are asked for, and the questions."""

    name: str
    dials: Dials
    chains: tuple[Chain, ...]
    questions: tuple[Question, ...]
    paraphrased: bool


class Inventory:
    """The family of T8.3."""

    codes: tuple[str, ...] = ("T8.3",)

    def facts(self, code: str, seed: int, number: int, dials: Dials) -> Facts:
        """See ``Family.facts``."""
        dials = settled(code, dials)
        name = f"inventory/{code}/{seed}/{number}"
        rng = draws(name)
        first = rng.randrange(ASKED, _FIRST_MARKS)
        chains = _chains(rng, dials, ASKED + 1 + dials.near // 2, first)
        questions = tuple(_question(rng, chain) for chain in chains[:ASKED])
        if dials.unanswerable:
            # Of the same names, with marks that no sibling ever has.
            unused = (mark(first - place) for place in range(1, ASKED + 1))
            questions = tuple(
                Question(replace(asked.thing, mark=other), asked.day, None)
                for asked, other in zip(questions, unused, strict=True)
            )
        facts = Facts(name, dials, chains, questions, rng.random() < dials.paraphrase)
        assert all(len(set(chain.keepers)) == len(chain.keepers) for chain in chains)
        return facts

    def passages(self, facts: Facts, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        asked = {question.thing.mark for question in facts.questions}
        return tuple(_pages(f"{facts.name}/evidence", facts.chains, asked, language))

    def siblings(self, facts: Facts, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``."""
        rng = draws(facts.name, "siblings")
        first = draws(facts.name).randrange(ASKED, _FIRST_MARKS)
        for number, is_other in zip(count(1), endless(rng, facts.dials.noise), strict=False):
            name = f"{facts.name}/{number}"
            block = draws(name)
            if is_other:
                lines = [(_heading(day := block.randrange(_DAYS)), False)]
                lines += [(remark, False) for remark in remarks(block, 4)]
                yield written(name, lines, language, day + block.random(), (" ", ""))
            else:
                yield from _pages(name, _chains(block, facts.dials, 4, first + number * 100), set(), language)

    def problem(self, facts: Facts, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        table = words("inventory")
        asked = "\n".join(
            fill(
                table["asked"][0],
                language,
                thing=question.thing.other_name if facts.paraphrased else question.thing.name,
                mark=question.thing.mark,
                day=day_name(question.day),
            )
            for question in facts.questions
        )
        answers = tuple(f"{q.thing.mark}: {said_in(language, q.keeper or NOT_STATED)}" for q in facts.questions)
        question = fill(table["question"][0], language, asked=asked).strip()
        return Problem(question, answers, chance=0.0 if facts.dials.unanswerable else 1 / (1 + facts.dials.near))

    def candidates(self, facts: Facts, code: str, language: Language) -> Candidates:
        """See ``Guessable.candidates``."""
        groups = []
        for chain, question in zip(facts.chains, facts.questions, strict=False):
            names = [said_in(language, keeper) for keeper in chain.keepers]
            groups.append(([(name, f"{question.thing.mark}: {name}") for name in names], 1))
        return groups

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        boxes, keepers = _read(text, language)
        answers = []
        for line in re.findall(r"^- .*", question, re.MULTILINE):
            thing, day = re.findall(MARK, line)[0], date_in(line, language)
            outer = thing
            while outer in boxes:
                outer = boxes[outer]
            past = [(since, who) for since, who in keepers.get(outer, ()) if since <= day]
            answers.append(f"{thing}: {max(past)[1] if past else said_in(language, NOT_STATED)}")
        return tuple(answers)


INVENTORY = Inventory()


def _chains(rng: Random, dials: Dials, size: int, first: int) -> tuple[Chain, ...]:
    """Chains of things of few names, kept by few people, that change on the same days."""
    table = words("inventory")
    steps = max(0, dials.hops - 1) + dials.near + 1
    start = rng.randrange(_DAYS - 700)
    days = sorted(start + 4 * day for day in rng.sample(range(175), steps + 2))
    cast, kinds, numbers = people(rng, dials.near + 4), rng.sample(range(len(table["things"])), 2), count(first)
    chains = []
    for _ in range(size):
        kind, material = rng.choice(kinds), rng.choice(table["materials"])
        names = [[filled((f"{material[0]} {{word}}", f"{material[1]}{{word}}"), word=table[form][kind])
                  for form in ("things", "other_words")]]  # fmt: skip
        names += [[box, box] for box in rng.sample(table["containers"], max(0, dials.hops - 1))]
        things = tuple(Thing(mark(next(numbers)), uncapitalized(name), uncapitalized(other)) for name, other in names)
        when = sorted(rng.sample(days, steps))
        laid = tuple(when[: len(things) - 1])
        chains.append(Chain(things, laid, tuple(rng.sample(cast, dials.near + 1)), tuple(when[len(laid) :])))
    return tuple(chains)


def _question(rng: Random, chain: Chain) -> Question:
    turn = rng.randrange(len(chain.keepers))
    later = [*chain.days, chain.days[-1] + 40][turn + 1]
    day = rng.randrange(chain.days[turn] + 1, later)
    keeper = chain.keeper_on(day)
    assert keeper == chain.keepers[turn]
    return Question(chain.things[0], day, keeper)


def _heading(day: int) -> Word:
    date = day_name(day)
    return f"{date[0]}.", f"{date[1]}。"


def _pages(name: str, chains: tuple[Chain, ...], asked: set[str], language: Language) -> Iterator[Passage]:
    """The entries of chains, a page for each day."""
    table = words("inventory")
    rng = draws(name, "pages")
    entries: dict[int, list[tuple[Word, bool]]] = defaultdict(list)
    for chain in chains:
        is_asked = chain.things[0].mark in asked
        full = [thing.full for thing in chain.things]
        others = [who for other in chains for who in other.keepers if who not in chain.keepers] or people(rng, 1)
        for inner, outer, day in zip(full, full[1:], chain.laid, strict=False):
            sentence = filled(rng.choice(table["laid"]), thing=inner, box=outer, witness=rng.choice(others))
            entries[day].append((sentence, is_asked))
        before: Word | None = None
        for keeper, day in zip(chain.keepers, chain.days, strict=True):
            slots = {"thing": full[-1], "witness": rng.choice(others)}
            if before is None:
                sentence = filled(rng.choice(table["taken"]), holder=keeper, **slots)
            else:
                sentence = filled(rng.choice(table["passed"]), giver=before, receiver=keeper, **slots)
            entries[day].append((sentence, is_asked))
            before = keeper
    for day in sorted(entries):
        lines = [*entries[day], *((remark, False) for remark in remarks(rng, rng.randrange(2)))]
        rng.shuffle(lines)
        yield written(f"{name}/{day}", [(_heading(day), False), *lines], language, day + rng.random())


# --------------------------------------------------------------------------- from the text alone

_NAME = r"[A-Z][a-z]+ [A-Z][a-z]+"
_HAN = r"[\u4e00-\u9fff]"
_INTO = {
    "en": (rf"({MARK}) (?:is laid in|into) .*?({MARK})", rf"puts .*?({MARK}) into .*?({MARK})"),
    "zh": (rf"({MARK})号{_HAN}+(?:放入|装进)({MARK})号",),
}
_OPENED = {"en": rf"({MARK}) is opened, and .*?({MARK})", "zh": rf"打开({MARK})号{_HAN}+，将({MARK})号"}
_KEEPERS = {
    "en": (
        rf"^({_NAME}) (?:takes charge|signs for|receives|takes over)",
        rf"and ({_NAME}) takes it over",
        rf"(?:to|with) ({_NAME})(?:, who signs for it)?$",
    ),
    "zh": (
        rf"^({_HAN}{{2,4}}?)(?:开始保管|从|接替)",
        rf"(?:现由|委托|由)({_HAN}{{2,4}}?)(?:签收|保管|接手)",
        rf"(?:交给|转给|留给|送到)({_HAN}{{2,4}}?)(?:处，|$)",
    ),
}


def _read(text: str, language: Language) -> tuple[dict[str, str], dict[str, list[tuple[tuple[int, int, int], str]]]]:
    """In which container each thing lies, and since when who keeps what."""
    heading = r"^(?=\d+ [A-Z][a-z]+ \d{4}\.)" if language == "en" else r"^(?=\d+年\d+月\d+日。)"
    boxes: dict[str, str] = {}
    keepers: dict[str, list[tuple[tuple[int, int, int], str]]] = defaultdict(list)
    for page in re.split(heading, text, flags=re.MULTILINE)[1:]:
        day = date_in(page, language)
        for sentence in re.split(r"(?<=[a-z0-9])\.\s+(?=[A-Z0-9])|\.\s*$|。", page):
            marks = re.findall(MARK, sentence)
            if len(marks) == 2:
                is_opened = re.search(_OPENED[language], sentence)
                inner, outer = marks[::-1] if is_opened else marks
                boxes[inner] = outer
            elif len(marks) == 1:
                matches = [match for pattern in _KEEPERS[language] if (match := re.search(pattern, sentence.strip()))]
                if matches:
                    keepers[marks[0]].append((day, matches[0][1]))
    return boxes, keepers
