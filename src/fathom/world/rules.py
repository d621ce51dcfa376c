"""T10.1 and T10.2, induction of a rule: what collectors of tolls take, from all their records or from those named.

A fee is linear in one (``hops`` 1) or two measures, with a surcharge for a ware or a way if ``hops`` is 3 or more. The
question states the class, and every rule of the class that agrees with the records has the same answers. ``near`` other
collectors, at the same place or of the same name, have rules of their own; in T10.2 they are the same collector. With
``paraphrase`` the question has other words for the measures, with ``unanswerable`` no record is of those asked for.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, count, product
from random import Random

from fathom.world.dials import settled
from fathom.world.reading import MARK
from fathom.world.types import Dials, Language, Passage, Problem
from fathom.world.wording import (
    NOT_STATED,
    Candidates,
    Word,
    draws,
    endless,
    fill,
    filled,
    mark,
    people,
    remarks,
    said_in,
    words,
    written,
)

MEASURES = {"weight": range(5, 60), "crates": range(2, 25), "guards": range(2, 12), "days": range(2, 30)}
EXAMPLES = 8
ASKED = "abc"
_FIRST_MARKS = 60_000
_A_PAGE = 5


@dataclass(frozen=True, slots=True)
class Load:
    """What passes: its measures, ware and way."""

    measures: Mapping[str, int]
    ware: Word
    way: Word


@dataclass(frozen=True, slots=True)
class Rule:
    """A fee: a number for each unit of some measures, and a surcharge for a ware or way."""

    rates: Mapping[str, int]
    kind: Word | None = None
    surcharge: int = 0

    def fee(self, load: Load) -> int:
        """What a load pays."""
        linear = sum(rate * load.measures[measure] for measure, rate in self.rates.items())
        return linear + (self.surcharge if self.kind in (load.ware, load.way) else 0)


@dataclass(frozen=True, slots=True)
class Office:
    """A collector at a place, with loads and fees by mark."""

    collector: Word
    place: Word
    rule: Rule
    loads: Mapping[str, Load]


@dataclass(frozen=True, slots=True)
class Facts:
    """An item: offices, of which the first is asked for, and the loads that its rule is to be used on."""

    name: str
    dials: Dials
    offices: tuple[Office, ...]
    asked: tuple[Load, ...]
    marks: tuple[str, ...]
    first: int
    paraphrased: bool


class Rules:
    """The family of T10.1 and T10.2."""

    codes: tuple[str, ...] = ("T10.1", "T10.2")

    def facts(self, code: str, seed: int, number: int, dials: Dials) -> Facts:
        """See ``Family.facts``."""
        dials = settled(code, dials)
        name = f"rules/{code}/{seed}/{number}"
        rng = draws(name)
        first = rng.randrange(_FIRST_MARKS)
        marks = map(mark, count(first))
        cast, places = people(rng, dials.near + 2), _places(rng, dials.near + 2)
        while True:
            office = _office(rng, dials, cast[0], places[0], marks)
            asked = tuple(_load(rng) for _ in ASKED)
            if _is_identified(office, asked):
                break
        others = [(cast[0], places[0])] * dials.near
        if code == "T10.1":
            others = [(cast[0], place) if turn % 2 else (person, places[0])
                      for turn, (person, place) in enumerate(zip(cast[2:], places[2:], strict=True))]  # fmt: skip
        offices = [office, *(_office(rng, dials, person, place, marks) for person, place in others)]
        named = tuple(office.loads)
        if dials.unanswerable:
            office, named = (
                Office(cast[1], places[0], office.rule, {}),
                tuple(mark(first - 1 - turn) for turn in range(EXAMPLES)),
            )
            offices.insert(0, office)
        return Facts(name, dials, tuple(offices), asked, named, first, rng.random() < dials.paraphrase)

    def passages(self, facts: Facts, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        return tuple(_pages(f"{facts.name}/evidence", facts.offices, language, set(facts.marks)))

    def siblings(self, facts: Facts, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``."""
        rng = draws(facts.name, "siblings")
        known = {(office.collector, office.place) for office in facts.offices}
        for number, is_other in zip(count(), endless(rng, facts.dials.noise), strict=False):
            name = f"{facts.name}/{number}"
            block = draws(name)
            if is_other:
                lines = [words("rules")["headings"][0], *remarks(block, 5)]
                yield written(name, ((line, False) for line in lines), language, block.random(), ("\n", "\n"))
                continue
            marks = map(mark, count(facts.first + 1000 + number * 3 * EXAMPLES))
            pairs = list(zip(people(block, 3), _places(block, 3), strict=True))
            offices = [_office(block, facts.dials, *pair, marks) for pair in pairs if pair not in known]
            yield from _pages(name, offices, language, set())

    def problem(self, facts: Facts, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        table, office = words("rules"), facts.offices[0]
        wording = table["asked"][facts.paraphrased]
        asked = "\n".join(
            f"{label}: {said_in(language, filled(wording, ware=load.ware, way=load.way, **load.measures))}"
            for label, load in zip(ASKED, facts.asked, strict=True)
        )
        slots = {"class": fill(table["class"][0], language).strip(), "asked": asked}
        slots |= {"marks": "、".join(facts.marks) if language == "zh" else ", ".join(facts.marks)}
        pattern = table["all_examples" if code == "T10.1" else "some_examples"][0]
        question = fill(pattern, language, collector=office.collector, place=office.place, **slots).strip()
        fees = [NOT_STATED if facts.dials.unanswerable else (str(office.rule.fee(load)),) * 2 for load in facts.asked]
        answers = tuple(f"{label}: {said_in(language, fee)}" for label, fee in zip(ASKED, fees, strict=True))
        return Problem(question, answers)

    def candidates(self, facts: Facts, code: str, language: Language) -> Candidates:
        """See ``Candidates``."""
        fees = {str(office.rule.fee(load)) for office in facts.offices[:1] for load in office.loads.values()}
        return [([(f" {fee} ", f"{label}: {fee}") for fee in fees], 1) for label in ASKED]

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        records = _read(text, language)
        if code == "T10.1":
            pattern = r"根据(\w+)税官(\w+)的全部" if language == "zh" else r"rule of ([\w ]+) at (\w+) from"
            asked_office = set(re.findall(pattern, question)[0])
            examples = [record for record in records.values() if {record.collector, record.place} == asked_office]
        else:
            marks = re.findall(MARK, question)
            examples = [records[name] for name in marks if name in records]
        answers = []
        for label, line in re.findall(r"^([abc]): (.*)$", question, re.MULTILINE):
            fees = {_apply(rule, _features(line, language)) for rule in _rules(examples)} if examples else set()
            answers.append(f"{label}: {fees.pop() if len(fees) == 1 else said_in(language, NOT_STATED)}")
        return tuple(answers)


RULES = Rules()


def _places(rng: Random, size: int) -> list[Word]:
    table = words("rules")
    pairs = [(first, last) for first in table["first_parts"] for last in table["last_parts"]]
    return [(first[0] + last[0], first[1] + last[1]) for first, last in rng.sample(pairs, size)]


def _load(rng: Random) -> Load:
    table = words("rules")
    measures = {name: rng.choice(values) for name, values in MEASURES.items()}
    return Load(measures, rng.choice(table["wares"]), rng.choice(table["ways"]))


def _office(rng: Random, dials: Dials, collector: Word, place: Word, marks: Iterator[str]) -> Office:
    """A collector with a rule and examples of it; two of these at least have the surcharge."""
    table = words("rules")
    rates = {name: rng.randint(1, 9) for name in rng.sample(list(MEASURES), min(dials.hops, 2))}
    loads = [_load(rng) for _ in range(EXAMPLES)]
    rule = Rule(rates)
    if dials.hops > 2:
        kinds = [kind for kind in (*table["wares"], *table["ways"]) if 2 <= _times(kind, loads) <= EXAMPLES - 3]
        rule = Rule(rates, rng.choice(kinds), rng.randint(5, 30)) if kinds else rule
    return Office(collector, place, rule, {next(marks): load for load in loads})


def _times(kind: Word, loads: Sequence[Load]) -> int:
    return sum(kind in (load.ware, load.way) for load in loads)


def _is_identified(office: Office, asked: Sequence[Load]) -> bool:
    """Whether all rules of the class that agree with the examples agree on the loads asked for, whose fees are new."""
    examples = [(load, office.rule.fee(load)) for load in office.loads.values()]
    if {office.rule.fee(load) for load in asked} & {fee for _, fee in examples}:
        return False
    seen = {kind for load, _ in examples for kind in (load.ware, load.way)}
    if not all(load.ware in seen and load.way in seen for load in asked):
        return False
    return all(
        rule.fee(load) == office.rule.fee(load) for rule in _agreeing(examples, sorted(seen)) for load in asked
    )  # fmt: skip


def _agreeing(examples: Sequence[tuple[Load, int]], kinds: Sequence[Word]) -> Iterator[Rule]:
    """The rules of the class that agree with examples."""
    for measures in (*combinations(MEASURES, 1), *combinations(MEASURES, 2)):
        for rates in product(range(1, 10), repeat=len(measures)):
            plain = Rule(dict(zip(measures, rates, strict=True)))
            rests = [fee - plain.fee(load) for load, fee in examples]
            if not any(rests):
                yield plain
            elif len(left := set(rests) - {0}) == 1 and min(left) > 0:
                for kind in kinds:
                    if all(
                        (rest > 0) == (kind in (load.ware, load.way))
                        for (load, _), rest in zip(examples, rests, strict=True)
                    ):
                        yield Rule(plain.rates, kind, min(left))


def _pages(name: str, offices: Sequence[Office], language: Language, asked: set[str]) -> Iterator[Passage]:
    """Pages of the toll book, with the records of some offices in any order."""
    table, rng = words("rules"), draws(name, "pages")
    records = [(office, number, load) for office in offices for number, load in office.loads.items()]
    rng.shuffle(records)
    for start in range(0, len(records), _A_PAGE):
        lines = [(table["headings"][0], False)]
        for office, number, load in records[start : start + _A_PAGE]:
            sentence = filled(
                rng.choice(table["records"]), mark=number, place=office.place, collector=office.collector,
                ware=load.ware, way=load.way, fee=office.rule.fee(load), **load.measures,
            )  # fmt: skip
            lines.append((sentence, number in asked))
        yield written(f"{name}/{start}", lines, language, rng.random(), ("\n", "\n"))


# --------------------------------------------------------------------------- from the text alone

_UNITS = {
    "en": (r"(\d+) stone", r"(\d+) (?:crates|boxes)", r"(\d+) (?:guards|people)", r"(\d+) days"),
    "zh": (r"(\d+)石", r"(\d+)[箱件]", r"(?:护卫|由|押运)(\d+)[名人]", r"(\d+)天"),
}
_KINDS = {
    "en": (r"(?:stone of|crates of|load of|^) ?([a-z][a-z ]*?)(?: in | came|,)", r"((?:by|over) the [a-z]+(?: road)?)"),
    "zh": (r"(?:放行|：|一批|货物为|^)([^\W\d]+?)(?:走.路)?\d", r"([^\W\d]路)"),
}
_OFFICE = {
    "en": (
        r"At (\w+), (\w+ \w+) let", r"(?P<c>\w+ \w+) at (?P<p>\w+) (?:took|for)",
        r"came to (\w+), [^.]*\. (\w+ \w+) counted"
    ),
    "zh": (
        r"。(\w+?)税官(\w+)放行", r"税官(?P<c>\w+)在(?P<p>\w+)收费", r"天到(\w+)，[^。]*。税官(\w+)清点",
        r"付给(\w+)税官([^\W\d]+)\d",
    ),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Record:
    place: str
    collector: str
    features: tuple[tuple[int, ...], tuple[str, ...]]
    fee: int


def _features(line: str, language: Language) -> tuple[tuple[int, ...], tuple[str, ...]]:
    numbers = tuple(int(re.findall(unit, line)[0]) for unit in _UNITS[language])
    return numbers, tuple(re.findall(kind, line)[0] for kind in _KINDS[language])


def _read(text: str, language: Language) -> dict[str, _Record]:
    """The records of a toll book by their marks."""
    records = {}
    for line in re.findall(rf"^{MARK}.*$", text, re.MULTILINE):
        match = next(match for pattern in _OFFICE[language] if (match := re.search(pattern, line)))
        named = match.groupdict()
        place, collector = (named["p"], named["c"]) if named else match.groups()
        fee = int(re.findall(r"(\d+)文" if language == "zh" else r"(\d+) pence", line)[0])
        records[re.findall(MARK, line)[0]] = _Record(place, collector, _features(line, language), fee)
    return records


def _rules(examples: Sequence[_Record]) -> Iterator[tuple[tuple[int, ...], str, int]]:
    """Every rule of the class that agrees with records: the number for each measure, and a surcharge for a kind."""
    kinds = {kind for example in examples for kind in example.features[1]}
    for rates in _all_four_rates():
        rests = []
        for example in examples:
            rest = example.fee - sum(rate * number for rate, number in zip(rates, example.features[0], strict=True))
            if rest < 0:
                break
            rests.append((rest, example))
        if len(rests) < len(examples):
            continue
        surcharges = {rest for rest, _ in rests} - {0}
        if not surcharges:
            yield rates, "", 0
        elif len(surcharges) == 1 and (surcharge := surcharges.pop()) > 0:
            for kind in kinds:
                if all((rest == surcharge) == (kind in example.features[1]) for rest, example in rests):
                    yield rates, kind, surcharge


@cache
def _all_four_rates() -> list[tuple[int, ...]]:
    return [rates for rates in product(range(10), repeat=4) if 2 <= rates.count(0) <= 3]


def _apply(rule: tuple[tuple[int, ...], str, int], features: tuple[tuple[int, ...], tuple[str, ...]]) -> int:
    rates, kind, surcharge = rule
    linear = sum(rate * number for rate, number in zip(rates, features[0], strict=True))
    return linear + (surcharge if kind in features[1] else 0)
