"""T3: one fact, or several that are joined, with four options from near misses."""

import re
from collections.abc import Iterable, Sequence
from random import Random

from fathom.world.annals.case import Case, Kind, Solve, need, scattered, some_acts, wording
from fathom.world.facts import SLOTS, WORKS, Record, Stage
from fathom.world.names import OWN_DISTRICTS
from fathom.world.prose import Writer
from fathom.world.reading import Read, act_in, in_other_words, numbered, work_in
from fathom.world.types import Dials, Language, Problem
from fathom.world.wording import LETTERS, NEITHER

OPTIONS = len(LETTERS)
_JOINED = {
    "en": re.compile(r"completed (?P<work>the [a-z ]+?) of (?P<town>[A-Z]\w+)"),
    "zh": re.compile(r"建成(?P<town>..镇)(?P<work>.+?)的那家"),
}
_DISTRICT = {"en": re.compile(r"the (\w+) district"), "zh": re.compile(r"在(..)县")}


def _single(rng: Random, dials: Dials) -> Case:
    """Towns of which each tells the same act of the same works: what is asked of one is told of the others too."""
    act = rng.choice(list(SLOTS))
    slot = rng.choice(SLOTS[act])
    stage, district = Stage.of(rng), rng.randrange(OWN_DISTRICTS)
    works = rng.sample(range(WORKS), 3)
    towns = [
        stage.town(district, [stage.project(work, some_acts(rng, 4, act)) for work in works])
        for _ in range(1 + dials.near)
    ]
    work = rng.choice(works)
    reported = [(p, r) for papers in towns for p in papers for r in p.records if (r.act, r.work) == (act, work)]
    paper, record = rng.choice(reported)
    others = {other.values[slot] for _, other in reported} - {record.values[slot]}
    if len(others) < OPTIONS - 1:
        return _single(rng, dials)
    options = [record.values[slot], *rng.sample(sorted(others), OPTIONS - 1)]
    rng.shuffle(options)
    asked = {"town": paper.town, "act": act, "work": work, "slot": slot, "options": tuple(options)}
    return Case(scattered(rng, (paper for town in towns for paper in town)), frozenset({need(paper, record)}), asked)


def _ask_single(case: Case, writer: Writer) -> Problem:
    asked = case.asked
    _, record = case.entry(asked["town"], asked["act"], asked["work"])
    ask = writer.in_other_words if case.paraphrased else writer.question
    return _of_options(case, writer, ask(asked["town"], record, asked["slot"]), record)


def _of_options(case: Case, writer: Writer, question: str, record: Record) -> Problem:
    options, slot = case.asked["options"], case.asked["slot"]
    letter = NEITHER if case.left_out else LETTERS[options.index(record.values[slot])]
    offered = case.dials.unanswerable is not None
    if offered:
        question += wording(writer, "T3", "nowhere")
    texts = tuple(writer.value(slot, value) for value in options)
    return Problem(question, (letter,), texts, chance=1 / (OPTIONS + offered))


def _solve_single(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    text = question.split("\nA. ", maxsplit=1)[0]
    town, work, act = town_in(text, language), work_in(text, language), act_in(text, language)
    if not work:
        work, act = in_other_words(text, language)
        town = next((paper.town for paper in papers if paper.town in text), "")
    reported = [
        each
        for paper in papers
        if paper.town == town
        for each in paper.reported
        if (each.work, each.act) == (work, act)
    ]
    yield from (chosen(question, values.values()) for values in (each.values for each in reported[:1]))


def chosen(question: str, values: Iterable[str]) -> str:
    """The letter of the option that is one of some values; "" if none is."""
    bare = set(values)
    fitting = (letter for letter, text in numbered(question).items() if re.sub(r" crowns|银元", "", text) in bare)
    return next(fitting, "")


def town_in(text: str, language: Language) -> str:
    """The last town that a question names."""
    names = re.findall(r"(?:of|in|for) ([A-Z]\w+)" if language == "en" else r"(..镇)", text)
    return names[-1] if names else ""


def _steps(dials: Dials) -> int:
    return max(2, min(4, dials.hops))


def _joined(rng: Random, dials: Dials) -> Case:
    """Chains of the same form over towns of a district: firm, its other work, a person there, a gift elsewhere.

    Options are the ends of the first four, of which one is asked for.
    """
    stage, district, steps = Stage.of(rng), rng.randrange(OWN_DISTRICTS), _steps(dials)
    works = rng.sample(range(WORKS), 1 + dials.near + 6)
    near, far, last = works[:-6], works[-6:-3], works[-3:]
    first, second, third = list[list[Record]](), list[list[Record]](), list[list[Record]]()
    chains: list[tuple[Record, ...]] = []
    for place in range(1 + dials.near):
        begun = stage.project(near[place], some_acts(rng, 4, "completion"))
        later = stage.project(far[place % 3], some_acts(rng, 4, "delivery", "opening"))
        given = stage.project(last[place % 3], some_acts(rng, 3, "gift"))
        start = next(record for record in begun if record.act == "completion")
        later = [
            _with(record, "firm", start.values["firm"]) if record.act == "delivery" else record for record in later
        ]
        meet, opened = (next(each for each in later if each.act == act) for act in ("delivery", "opening"))
        given = [_with(each, "person", opened.values["person"]) if each.act == "gift" else each for each in given]
        chains.append((start, meet, opened, next(record for record in given if record.act == "gift")))
        first.append(begun)
        second.append(later)
        third.append(given)
    towns = [stage.town(district, first)]
    towns += [stage.town(district, [project]) for project in second]
    towns += [stage.town(district, [project]) for project in third] if steps > 3 else []
    papers = scattered(rng, (paper for town in towns for paper in town))
    slot = ("count", "person", "money")[steps - 2]
    ends = [chain[(1, 2, 3)[steps - 2]] for chain in chains]
    options = [end.values[slot] for end in ends[:OPTIONS]]
    if len(set(options)) < OPTIONS:
        return _joined(rng, dials)
    chain = chains[rng.randrange(OPTIONS)]
    links = chain[: (2, 3, 4)[steps - 2]]
    rng.shuffle(options)
    needed = {
        need(paper, record) for paper in papers for record in paper.records if any(record is link for link in links)
    }
    asked = {"town": towns[0][0].town, "district": district, "links": links, "slot": slot, "options": tuple(options)}
    return Case(papers, frozenset(needed), asked)


def _with(record: Record, slot: str, value: int) -> Record:
    return Record(record.work, record.act, {**record.values, slot: value})


def _ask_joined(case: Case, writer: Writer) -> Problem:
    asked = case.asked
    town, work = writer.names.town(asked["town"]), writer.work(asked["links"][0].work)
    question = wording(writer, "T3_1", f"steps{len(asked['links'])}", town=town, work=work,
                       district=writer.names.district(asked["district"]))  # fmt: skip
    return _of_options(case, writer, question, asked["links"][-1])


def _solve_joined(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    text = question.split("\nA. ", maxsplit=1)[0]
    form = _JOINED[language].search(text)
    district = _DISTRICT[language].search(text)
    assert form
    assert district
    town, work = form["town"], form["work"]
    reported = [(paper.town, each) for paper in papers if paper.district == district[1] for each in paper.reported]
    firm = next(
        each.values["firm"]
        for place, each in reported
        if (place, each.act) == (town, "completion") and each.work in work
    )
    place, meet = next(
        (place, each)
        for place, each in reported
        if each.act == "delivery" and each.values["firm"] == firm and place != town
    )
    if re.search("loads|多少车", text):
        yield chosen(question, [meet.values["count"]])
        return
    person = next(
        each.values["person"]
        for where, each in reported
        if (where, each.work, each.act) == (place, meet.work, "opening")
    )
    gifts = [each.values["money"] for _, each in reported if each.act == "gift" and each.values["person"] == person]
    yield chosen(question, gifts if re.search("gift|捐款", text) else [person])


def _or_neither(solve: Solve) -> Solve:
    """The solver that answers with the letter for it if the papers do not say, where a question offers that."""

    def solved(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
        text = question.split("\nA. ", maxsplit=1)[0]
        if not re.search(rf"(?<![A-Za-z]){NEITHER}(?![A-Za-z])", text):
            return solve(papers, question, language)
        try:
            return [letter for letter in solve(papers, question, language) if letter] or [NEITHER]
        except RuntimeError:  # a link of a chain is missing
            return [NEITHER]

    return solved


KINDS = {
    "T3.1": Kind(_joined, _ask_joined, _or_neither(_solve_joined)),
    "T3.2": Kind(_single, _ask_single, _or_neither(_solve_single)),
}
