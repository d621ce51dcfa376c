"""T5 and T7: statements and the papers that support them, planted contradictions, planted misspellings."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache
from itertools import combinations
from random import Random

from fathom.types import FathomError
from fathom.world.annals.case import NONE, Case, Kind, need, scattered, towns_of, wording
from fathom.world.annals.retrieval import all_of, district_in
from fathom.world.facts import GENRES, SLOTS, Paper, Record, altered
from fathom.world.names import PEOPLE, grammar
from fathom.world.prose import Writer
from fathom.world.reading import Read, Report, act_in, values_in, work_in
from fathom.world.types import Dials, Language, Passage, Problem

CLAIMS, MOST_FALSE = 6, 2
CONFLICTS = 4
ONCE = {"contract": ("money",), "completion": ("money",), "opening": ("person", "count")}
"""Acts that happen once to a work, as the question says, with the values of which two papers can contradict each other.
A change of the firm would contradict other papers of the work too."""
MISSPELLED = 5
_STATEMENT = re.compile(r"^([A-G])\. (.+)$", re.MULTILINE)


def _false(rng: Random, record: Record, reported: Sequence[tuple[Paper, Record]]) -> Record:
    """A record with one value of another record of the same act, or a value not told."""
    slot = rng.choice(SLOTS[record.act])
    values = {other.values[slot] for _, other in reported if other.act == record.act} - {record.values[slot]}
    value = rng.choice(sorted(values)) if values else record.values[slot] + 1
    return altered(record, slot, value % 8 if slot in ("material", "defect", "cause") else value)


def _cited(rng: Random, dials: Dials) -> Case:
    """Statements about the works of a district; up to two are told nowhere as they stand."""
    _, district, towns = towns_of(rng, 4, 3, 4)
    reported = [(paper, record) for town in towns for paper in town for record in paper.records]
    chosen = rng.sample(reported, CLAIMS)
    wrong = set(rng.sample(range(CLAIMS), rng.randrange(MOST_FALSE + 1)))
    claims = tuple(
        (paper.town, _false(rng, record, reported) if place in wrong else record)
        for place, (paper, record) in enumerate(chosen)
    )
    marks = tuple(-1 if place in wrong else paper.mark for place, (paper, _) in enumerate(chosen))
    needed = frozenset(need(*pair) for pair in chosen)
    asked = {"district": district, "claims": claims, "marks": marks}
    return Case(scattered(rng, (paper for town in towns for paper in town)), needed, asked)


def _lines(case: Case, writer: Writer) -> str:
    claims = [(replace(case.papers[0], town=town), record) for town, record in case.asked["claims"]]
    return "\n".join(
        f"{letter}. {writer.about('claim', *claim)}" for letter, claim in zip("ABCDEFG", claims, strict=False)
    )


def _ask_cited(case: Case, writer: Writer) -> Problem:
    district = writer.names.district(case.asked["district"])
    marks = [NONE[writer.language] if mark < 0 else writer.names.mark(mark) for mark in case.asked["marks"]]
    answers = tuple(f"{letter}: {mark}" for letter, mark in zip("ABCDEFG", marks, strict=False))
    question = wording(writer, "T5_1", district=district, claims=_lines(case, writer), none=NONE[writer.language])
    return Problem(question, answers, chance=MOST_FALSE / 2 / CLAIMS)


def _supporting(claim: str, papers: Sequence[Read], language: Language) -> str:
    """The mark of the paper that says what a claim says; "" if none does."""
    work, act, values = work_in(claim, language), act_in(claim, language), values_in(claim, language)
    for paper in papers:
        for reported in paper.reported if paper.town in claim else ():
            if (reported.work, reported.act) == (work, act) and all(
                text == values.get(slot) for slot, text in reported.values.items()
            ):
                return paper.mark
    return ""


def _solve_cited(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    for letter, claim in _STATEMENT.findall(question):
        yield f"{letter}: {_supporting(claim, papers, language) or NONE[language]}"


def _supported(rng: Random, dials: Dials) -> Case:
    """One statement of several parts about one town; one part is false."""
    _, _, towns = towns_of(rng, 1 + dials.near, 4, 6)
    reported = [(paper, record) for paper in towns[0] for record in paper.records]
    chosen: list[tuple[Paper, Record]] = []
    for paper, record in rng.sample(reported, len(reported)):
        if paper.mark not in {other.mark for other, _ in chosen} and len(chosen) < 5:
            chosen.append((paper, record))
    if len(chosen) < 5:
        return _supported(rng, dials)
    wrong = rng.randrange(5)
    claims = [
        (paper.town, _false(rng, record, reported) if place == wrong else record)
        for place, (paper, record) in enumerate(chosen)
    ]
    right = [pair for place, pair in enumerate(chosen) if place != wrong]
    asked = {"town": towns[0][0].town, "claims": tuple(claims), "marks": tuple(paper.mark for paper, _ in right),
             "among": len(towns[0])}  # fmt: skip
    needed = frozenset(need(*pair) for pair in right)
    return Case(scattered(rng, (paper for town in towns for paper in town)), needed, asked)


def _ask_supported(case: Case, writer: Writer) -> Problem:
    joint = " " if writer.language == "en" else ""
    claims = [(replace(case.papers[0], town=town), record) for town, record in case.asked["claims"]]
    statement = joint.join(writer.about("claim", *claim) for claim in claims)
    marks = tuple(map(writer.names.mark, case.asked["marks"]))
    return Problem(wording(writer, "T5_2", statement=statement), marks, chance=all_of(len(marks), case.asked["among"]))


def _solve_supported(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    statement = question.split("\n")[-1]
    for claim in re.split(r"(?<=\.) " if language == "en" else "(?<=。)", statement):
        if mark := _supporting(claim, papers, language):
            yield mark


# ------------------------------------------------------------------------------------------- contradictions


def _contradicted(rng: Random, dials: Dials) -> Case:
    """Facts of a district told twice, in papers of different dates; one value of some is another one."""
    stage, district, towns = towns_of(rng, 4, 3, 4, tuple(ONCE))
    papers = [paper for town in towns for paper in town]
    reported = [(paper, record) for paper in papers for record in paper.records if record.act in ONCE]
    twice: list[tuple[Paper, Record]] = []
    size = CONFLICTS + dials.near
    for paper, record in rng.sample(reported, len(reported)):
        if paper.mark not in {other.mark for other, _ in twice} and len(twice) < size:
            twice.append((paper, record))
    if len(twice) < size:
        return _contradicted(rng, dials)
    again = [
        Paper(next(stage.marks), rng.choice(GENRES), paper.town, district, paper.day + rng.randrange(3, 30),
              rng.randrange(PEOPLE), (record,))
        for paper, record in twice
    ]  # fmt: skip
    pairs, planned = [], []
    for place in rng.sample(range(size), CONFLICTS):
        paper, record = twice[place]
        again[place] = replace(again[place], records=(_otherwise(rng, record),))
        pairs.append((paper.mark, again[place].mark))
        planned.append(again[place].mark)
    needed = {(mark, record.work, record.act) for place, (paper, record) in enumerate(twice)
              for mark in (paper.mark, again[place].mark) if again[place].mark in planned}  # fmt: skip
    asked = {"district": district, "pairs": tuple(pairs), "among": size}
    return Case(scattered(rng, (*papers, *again)), frozenset(needed), asked, planned=tuple(planned))


def _otherwise(rng: Random, record: Record) -> Record:
    """The record with another person, or with a sum or number near its own."""
    slot = rng.choice(ONCE[record.act])
    value = record.values[slot]
    if slot == "person":
        return altered(record, slot, (value + rng.randrange(1, PEOPLE)) % PEOPLE)
    return altered(record, slot, value + rng.choice((-1, 1)) * rng.randrange(1, 1 + value // 10))


def _ask_contradicted(case: Case, writer: Writer) -> Problem:
    pairs = [sorted(map(writer.names.mark, pair)) for pair in case.asked["pairs"]]
    question = wording(writer, "T7_1", district=writer.names.district(case.asked["district"]))
    return Problem(
        question, tuple(" + ".join(pair) for pair in sorted(pairs)), chance=all_of(CONFLICTS, case.asked["among"])
    )


def _solve_contradicted(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    """Any two papers that tell what happens once otherwise, or name two builders of a work."""
    district = district_in(question, language)
    of_work: dict[tuple[str, str], list[tuple[str, Report]]] = {}
    for paper in papers:
        for record in paper.reported if paper.district == district else ():
            of_work.setdefault((paper.town, record.work), []).append((paper.mark, record))
    pairs = {
        " + ".join(sorted((mark, other_mark)))
        for reported in of_work.values()
        for (mark, record), (other_mark, other) in combinations(reported, 2)
        if _contradict(record, other)
    }
    return sorted(pairs)


def _contradict(first: Report, second: Report) -> bool:
    if {first.act, second.act} <= {"contract", "payment", "completion"} and first.values.get(
        "firm"
    ) != second.values.get("firm"):
        return True
    return first.act == second.act in ("contract", "completion", "opening") and first.values != second.values


# --------------------------------------------------------------------------------------------- misspellings

_SWAPPED = re.compile(r"\b[a-z]{6,}\b")
_SIMILAR = dict(zip(
    "议员函读铺修辞掌据通账邮谨刊编辑续仓孩蜡烛种椅裹茶程狗火浅鹳热季苹葡冷搁怨苗炉酌阅巡旅抄载遗帮估验旁待宣持灯晤近久认星空太班春赶言暖变戏割付期图冬退旱疾停值钟庆随雪渡航此早席表",
    "仪圆涵渎辅羞词撑剧痛帐釉仅堪偏缉序苍骇腊浊肿倚棵荼呈够伙践灌执悸萍扑泠阁冤描卢勺越迅族炒栽怡邦钴险膀侍喧峙蹬悟斤灸仞腥倥汰斑椿杆盐缓辩嘻刮咐欺涂咚褪悍嫉婷植忠磬遂穴镀杭呲枣蓆裱",
    strict=True,
))  # fmt: skip
"""Chinese characters and wrong ones that look or sound like them."""


def _misspelled(rng: Random, dials: Dials) -> Case:
    _, district, towns = towns_of(rng, 5, 3, 4)
    genre = rng.choice(GENRES)
    papers = scattered(rng, (replace(paper, genre=genre) for town in towns for paper in town))
    return Case(papers, frozenset(), {"district": district, "draw": rng.random()})


def _with_errors(case: Case, writer: Writer) -> tuple[list[Passage], list[str]]:
    """The passages with planted errors, each of which is evidence, and what stands wrong.

    A word is changed only if its sentence stands twice elsewhere as it should be.
    """
    rng = Random(f"errors|{case.asked['draw']}|{writer.language}")
    passages = [writer.passage(paper) for paper in case.papers]
    lines = Counter(line for passage in passages for line in passage.text.split("\n"))
    wrong: list[str] = []
    for place in rng.sample(range(len(passages)), len(passages)):
        text = passages[place].text
        line = rng.choice((text.split("\n")[0], text.split("\n")[-1]))
        slips = [slip for slip in _slips(line, writer.language) if slip[1] not in wrong]
        if lines[line] > 2 and slips and len(wrong) < MISSPELLED:
            at, word = rng.choice(slips)
            at += text.index(line)
            changed = text[:at] + word + text[at + len(word) :]
            passages[place] = replace(passages[place], text=changed, evidence=((at, at + len(word)),))
            wrong.append(word)
            lines[line] = 0
    if len(wrong) < MISSPELLED:
        raise FathomError("world: too few words can be misspelled")
    return passages, wrong


def _slips(line: str, language: Language) -> list[tuple[int, str]]:
    """Where a line can be misspelled, and what would stand there: two letters swapped, or a wrong character."""
    if language == "zh":
        used = _used()
        wrong = [(at, _SIMILAR[letter]) for at, letter in enumerate(line) if letter in _SIMILAR]
        return [(at, letter) for at, letter in wrong if letter not in used]
    slips = []
    for match in _SWAPPED.finditer(line):
        word = match[0]
        for at in range(1, len(word) - 2):
            if word[at] != word[at + 1]:
                slips.append((match.start(), word[:at] + word[at + 1] + word[at] + word[at + 2 :]))
    return slips


@cache
def _used() -> frozenset[str]:
    """All characters of texts and names: a wrong one is none of them."""
    return frozenset(f"{grammar('zh')}{grammar('names')['zh']}{grammar('real_names')['zh']}{grammar('ledger')['zh']}")


def _write_misspelled(case: Case, writer: Writer) -> list[Passage]:
    return _with_errors(case, writer)[0]


def _ask_misspelled(case: Case, writer: Writer) -> Problem:
    question = wording(writer, "T7_3", district=writer.names.district(case.asked["district"]), count=MISSPELLED)
    return Problem(question, tuple(_with_errors(case, writer)[1]))


def _solve_misspelled(papers: Sequence[Read], question: str, language: Language) -> Iterable[str]:
    """Words that differ from those of an equal sentence elsewhere, and are rarer."""
    district = district_in(question, language)
    own = [paper.body.split("\n") for paper in papers if paper.district == district]
    ends = [line for lines in own for line in (lines[0], lines[-1])]
    pattern = "[a-z]+" if language == "en" else "[\u4e00-\u9fff]"
    counts = Counter(word for paper in papers for word in re.findall(pattern, paper.body.lower()))
    known = Counter(ends)
    for line in known:
        for other in known:
            words, others = re.findall(pattern, line.lower()), re.findall(pattern, other.lower())
            apart = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
            if len(words) == len(others) and len(apart) == 1 and len(line) == len(other):
                first, second = apart[0]
                swapped = language == "zh" or sorted(first) == sorted(second)
                if swapped and counts[first] < counts[second]:
                    yield first


KINDS = {
    "T5.1": Kind(_cited, _ask_cited, _solve_cited),
    "T5.2": Kind(_supported, _ask_supported, _solve_supported),
    "T7.1": Kind(_contradicted, _ask_contradicted, _solve_contradicted),
    "T7.3": Kind(_misspelled, _ask_misspelled, _solve_misspelled, _write_misspelled),
}
