"""T11.1, commitments, and T11.2, references and local state: conversations of two people at a time, options A to D.

T11.1: somebody promises a thing for a day; changes of the day are agreed to or declined. The options are the four days
that were spoken of; or four things, of which one was delivered, one taken back, one put off, and one left as it was.
``hops`` 2 names a day by an event whose date is told elsewhere, 3 by the event some days before it. ``near`` is the
number of other promises, of the same things or people.

T11.2: four things are named in a row and put somewhere, then all once more. What "it" means follows from a name
(``hops`` 1), its place in the row (2), or a correction of that (3); or where a thing stands after a turn. ``near`` is
the number of other such conversations of one of the two, with the same things and places.

With ``paraphrase`` the question has another word for the thing; with ``unanswerable`` nobody spoke of it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, cycle
from random import Random
from typing import TypeAlias

from fathom.world.dials import settled
from fathom.world.reading import MONTHS, date_in
from fathom.world.types import Dials, Language, Passage, Problem
from fathom.world.wording import (
    LETTERS,
    NEITHER,
    Candidates,
    Word,
    day_name,
    draws,
    endless,
    fill,
    filled,
    first_day,
    people,
    said_in,
    uncapitalized,
    words,
    written,
)

Pair: TypeAlias = tuple[Word, Word]
Turn: TypeAlias = tuple[int, Word, bool]
"""Who of the two speaks, what, and whether it is evidence."""
Exchange: TypeAlias = list[Turn]

_YEARS = range(1402, 1441)
_STEPS = 4
_DELIVERED, _TAKEN_BACK, _PUT_OFF, _LEFT = range(4)


@dataclass(frozen=True, slots=True)
class Scene:
    """A conversation."""

    day: int
    place: Word
    pair: Pair
    turns: tuple[Turn, ...]


@dataclass(frozen=True, slots=True)
class Promise:
    """A promise: its exchanges, one for each step, the days spoken of, and what is told about its event."""

    exchanges: tuple[Exchange, ...]
    days: tuple[int, ...]
    news: tuple[tuple[Exchange, ...], ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """An item: its conversations, the question with its slots, the options, and which is right, if one is."""

    name: str
    dials: Dials
    scenes: tuple[Scene, ...]
    question: str
    slots: Mapping[str, Word | int]
    options: tuple[Word, ...]
    right: int | None
    cast: frozenset[Word]


class Dialogue:
    """The family of T11.1 and T11.2."""

    codes: tuple[str, ...] = ("T11.1", "T11.2")

    def facts(self, code: str, seed: int, number: int, dials: Dials) -> Facts:
        """See ``Family.facts``."""
        dials = settled(code, dials)
        name = f"dialogue/{code}/{seed}/{number}"
        rng = draws(name)
        if code == "T11.2":
            return _references(rng, name, dials)
        return _statuses(rng, name, dials) if rng.random() < 0.5 else _due_day(rng, name, dials)

    def passages(self, facts: Facts, language: Language) -> tuple[Passage, ...]:
        """See ``Family.passages``."""
        return tuple(_written(f"{facts.name}/evidence", facts.scenes, language))

    def siblings(self, facts: Facts, language: Language) -> Iterator[Passage]:
        """See ``Family.siblings``."""
        rng = draws(facts.name, "siblings")
        table, make = words("dialogue"), facts.name.startswith("dialogue/T11.1")
        for number, is_other in zip(count(), endless(rng, facts.dials.noise), strict=False):
            name = f"{facts.name}/{number}"
            block = draws(name)
            cast = [person for person in people(block, len(facts.cast) + 6) if person not in facts.cast]
            start, pair = _new_year(block), (cast[0], cast[1])
            if is_other:
                scenes = [Scene(start, _place(block), pair, _complete(block, [[], [], []])[0])]
            elif make:
                events = _events(block, cast[2:6])
                things = block.sample(table["things"], 2)
                promises = [_promise(block, facts.dials, thing, start, events) for thing in things]
                scenes = _scenes(block, start, [(pair, promises)])
            else:
                things, rooms = block.sample(table["things"], 4), block.sample(table["rooms"], 4)
                scenes = [_moving(block, facts.dials, pair, start + block.randrange(330), (things, rooms)).scene]
            yield from _written(name, scenes, language)

    def problem(self, facts: Facts, code: str, language: Language) -> Problem:
        """See ``Family.problem``."""
        options = tuple(said_in(language, option) for option in facts.options)
        pattern = words("dialogue")[facts.question][0]
        question = fill(pattern, language, **facts.slots).strip()
        if facts.right is None:
            return Problem(question, (NEITHER,), options)
        return Problem(question, (LETTERS[facts.right],), options, chance=1 / len(options))

    def candidates(self, facts: Facts, code: str, language: Language) -> Candidates:
        """See ``Candidates``."""
        spoken = [said_in(language, option) for option in facts.options]
        return [(list(zip(spoken, LETTERS, strict=True)), 1)]

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """See ``Family.solve``."""
        options = dict(re.findall(r"^([A-D])\. (.*)$", question, re.MULTILINE))
        read = _heard_promise if code == "T11.1" else _heard_reference
        answer = read(_read(text, language), question, language, list(options.values()))
        return (next((letter for letter, option in options.items() if option == answer), NEITHER),)


DIALOGUE = Dialogue()


def _new_year(rng: Random) -> int:
    return first_day(rng.choice(_YEARS))


def _place(rng: Random) -> Word:
    return rng.choice(words("remarks")["places"])


def _date(day: int) -> Word:
    """A day without its year."""
    english, chinese = day_name(day)
    return english.rsplit(" ", 1)[0], chinese.split("年")[1]


def _complete(rng: Random, groups: Sequence[Exchange]) -> tuple[tuple[Turn, ...], list[int]]:
    """A conversation with greetings and small talk around groups of turns, and the place of the first turn of each."""
    table = words("dialogue")
    turns: list[Turn] = [(0, rng.choice(table["greetings"]), False), (1, rng.choice(table["replies"]), False)]
    small_talk = iter(rng.sample(table["small_talk"], min(len(table["small_talk"]), len(groups))))
    places = []
    for group in groups:
        places.append(len(turns))
        turns += group
        if (not group or rng.random() < 0.4) and (talk := next(small_talk, None)):
            slots = {"trade": rng.choice(words("remarks")["trades"]), "place": _place(rng)}
            speaker = 1 - turns[-1][0]
            turns.append((speaker, filled(talk, number=rng.randint(3, 40), **slots), False))
            turns.append((1 - speaker, rng.choice(table["hums"]), False))
    turns.append((1 - turns[-1][0], rng.choice(table["farewells"]), False))
    return tuple(turns), places


def _written(name: str, scenes: Sequence[Scene], language: Language) -> Iterator[Passage]:
    """Conversations as numbered turns, in the order of their days."""
    for number, scene in enumerate(sorted(scenes, key=lambda scene: scene.day)):
        first, second = scene.pair
        day = day_name(scene.day)
        heading = filled(words("dialogue")["headings"][0], day=day, place=scene.place, first=first, second=second)
        lines = [(heading, False)]
        for turn, (speaker, text, is_evidence) in enumerate(scene.turns, 1):
            who = scene.pair[speaker]
            lines.append(((f"[{turn}] {who[0]}: {text[0]}", f"[{turn}] {who[1]}：{text[1]}"), is_evidence))
        place = scene.day + draws(name, number).random()
        yield written(f"{name}/{number}", lines, language, place, ("\n", "\n"))


# ------------------------------------------------------------------------------------ commitments


def _events(rng: Random, hosts: Sequence[Word]) -> Iterator[Word]:
    """Events of some people, each once."""
    events = [
        (english.format(person=person[0]), chinese.format(person=person[1]))
        for english, chinese in words("dialogue")["events"]
        for person in hosts
    ]
    return iter(rng.sample(events, len(events)))


def _promise(
    rng: Random, dials: Dials, thing: Word, start: int, events: Iterator[Word],
    agreed: Sequence[bool] = (), end: str = "", is_asked: bool = False,
) -> Promise:  # fmt: skip
    """A promise of the first of a pair to the second.

    Args:
        rng: The random generator.
        dials: Of these ``hops``.
        thing: What is promised.
        start: The first day of the year; the days spoken of are in its second half.
        events: Unused events.
        agreed: Whether each change is agreed to; drawn if empty.
        end: How the last step ends it, ``kept`` or ``withdrawn``; "" if it does not.
        is_asked: Whether it is evidence.
    """
    table = words("dialogue")
    steps = _STEPS - bool(end)
    agreed = [True, *(agreed or (rng.random() < 0.5 for _ in range(steps - 1)))]
    days = rng.sample(range(start + 200, start + 340), steps)
    news: list[tuple[Exchange, ...]] = []
    exchanges: list[Exchange] = []
    for step, (day, is_agreed) in enumerate(zip(days, agreed, strict=True)):
        when, reports = _date(day), list[Exchange]()
        if dials.hops > 1:
            event = next(events)
            when = filled(table["day_of"][0], event=event)
            when = (event[0], when[1]) if event[0].endswith("day") else uncapitalized(when)
            if dials.hops > 2:
                gap, earlier = rng.randint(2, 20), next(events)
                report = filled(rng.choice(table["later_days"]), event=event, number=gap, other=earlier)
                reports.append([(0, report, is_asked), (1, rng.choice(table["nods"]), False)])
                event, day = earlier, day - gap
            report = filled(rng.choice(table["known_days"]), event=event, when=_date(day))
            reports.append([(0, report, is_asked), (1, rng.choice(table["nods"]), False)])
        reply = rng.choice(table["thanks" if not step else "accepted" if is_agreed else "declined"])
        proposal = filled(rng.choice(table["changes" if step else "promises"]), thing=thing, when=when)
        speaker = rng.randrange(2) if step else 0
        exchanges.append([(speaker, proposal, is_asked), (1 - speaker, reply, is_asked)])
        news.append(tuple(reports))
    if end:
        reply = rng.choice(table["welcomes" if end == "kept" else "regrets"])
        exchanges.append([(0, filled(rng.choice(table[end]), thing=thing), is_asked), (1, reply, is_asked)])
    return Promise(tuple(exchanges), tuple(days), tuple(news))


def _scenes(rng: Random, start: int, promises: Sequence[tuple[Pair, Sequence[Promise]]]) -> list[Scene]:
    """Conversations: in each of its own a pair takes every promise one step further; news are told before."""
    drafts: list[tuple[int, Pair, list[Exchange]]] = []
    spoken: dict[Pair, list[int]] = {}
    for pair, of_pair in promises:
        spoken[pair] = sorted(rng.sample(range(start, start + 180, 3), _STEPS))
        for step, day in enumerate(spoken[pair]):
            groups = [promise.exchanges[step] for promise in of_pair]
            drafts.append((day, pair, rng.sample(groups, len(groups))))
    for pair, of_pair in promises:
        for promise in of_pair:
            for step, reports in enumerate(promise.news):
                last = spoken[pair][step]
                for news in reports:
                    groups = rng.choice([groups for day, _, groups in drafts if day <= last])
                    groups.insert(rng.randint(0, len(groups)), news)
    return [Scene(day, _place(rng), pair, _complete(rng, groups)[0]) for day, pair, groups in drafts]


def _near(
    rng: Random, dials: Dials, cast: Sequence[Word], things: Sequence[Word], start: int, events: Iterator[Word]
) -> list[tuple[Pair, list[Promise]]]:
    """Other promises of the same things: of the first person to others, and of others to the second."""
    pairs = [(cast[0], other) if turn % 2 else (other, cast[1]) for turn, other in enumerate(cast[2:])]
    near: dict[Pair, list[Promise]] = {}
    for pair, thing, end, _ in zip(
        cycle(pairs), cycle(things), cycle(("", "kept", "", "withdrawn")), range(dials.near)
    ):
        near.setdefault(pair, []).append(_promise(rng, dials, thing, start, events, end=end))
    return list(near.items())


def _due_day(rng: Random, name: str, dials: Dials) -> Facts:
    """For which day something is promised. Each of the four days spoken of is equally often the one in force."""
    table, start = words("dialogue"), _new_year(rng)
    cast = people(rng, 12 + 2 * dials.near)
    events = _events(rng, cast[6:])
    kinds = rng.sample(range(len(table["things"])), 4)
    thing, others = kinds[0], [table["things"][kind] for kind in kinds[1:3]]
    right = rng.randrange(_STEPS)
    # Rather a late day, or the last change that was proposed before it would be agreed to half of the time.
    asked_step = max(rng.randrange(right, _STEPS) for _ in range(2))
    agreed = [
        step == right or (not right < step <= asked_step and rng.random() < 0.5) for step in range(1, _STEPS)
    ]  # fmt: skip
    promise = _promise(rng, dials, table["things"][thing], start, events, agreed, is_asked=True)
    pair = (cast[0], cast[1])
    same_pair = [_promise(rng, dials, other, start, events) for other in others[: min(2, dials.near)]]
    fewer = Dials(dials.hops, max(0, dials.near - len(same_pair)))
    near = _near(rng, fewer, cast[:6], [table["things"][thing], *others], start, events)
    scenes = _scenes(rng, start, [(pair, [promise, *same_pair]), *near])
    days = sorted(scene.day for scene in scenes if scene.pair == pair)
    day = rng.randrange(days[asked_step], [*days, days[-1] + 12][asked_step + 1])
    order = rng.sample(range(_STEPS), _STEPS)
    wanted = kinds[3] if dials.unanswerable else thing
    noun = table["other_words" if rng.random() < dials.paraphrase else "things"][wanted]
    slots = {"day": day_name(day), "debtor": cast[0], "creditor": cast[1], "thing": noun}
    options = tuple(_date(promise.days[step]) for step in order)
    answer = None if dials.unanswerable else order.index(right)
    return Facts(name, dials, tuple(scenes), "due_question", slots, options, answer, frozenset(cast))


def _statuses(rng: Random, name: str, dials: Dials) -> Facts:
    """Which of four things was delivered, taken back, put off or left. Each is spoken of as often as the others."""
    table, start = words("dialogue"), _new_year(rng)
    cast = people(rng, 13 + 2 * dials.near)
    events = _events(rng, cast[6:-1])
    things = rng.sample(table["things"], 4)
    put_off = rng.choice(((True, False, False), (False, True, False), (False, False, True), (True, True, False)))
    ends = {_DELIVERED: "kept", _TAKEN_BACK: "withdrawn", _PUT_OFF: "", _LEFT: ""}
    agreed = {_DELIVERED: (), _TAKEN_BACK: (), _PUT_OFF: put_off, _LEFT: (False,) * 3}
    promises = [
        _promise(rng, dials, thing, start, events, agreed[status], ends[status], is_asked=True)
        for status, thing in enumerate(things)
    ]  # fmt: skip
    pair = (cast[0], cast[1])
    scenes = _scenes(rng, start, [(pair, promises), *_near(rng, dials, cast[:6], things, start, events)])
    right, order = rng.randrange(4), rng.sample(range(4), 4)
    day = max(scene.day for scene in scenes if scene.pair == pair) + rng.randint(0, 9)
    creditor = cast[-1] if dials.unanswerable else cast[1]
    slots = {"day": day_name(day), "debtor": cast[0], "creditor": creditor, "status": table["statuses"][right]}
    options = tuple(things[status] for status in order)
    answer = None if dials.unanswerable else order.index(right)
    return Facts(name, dials, tuple(scenes), "status_question", slots, options, answer, frozenset(cast))


# ------------------------------------------------------------------------------------- references


@dataclass(frozen=True, slots=True)
class Moving:
    """A conversation about things that are put somewhere, and for each move its thing, place and first turn."""

    scene: Scene
    moves: tuple[tuple[int, int, int], ...]


def _moving(
    rng: Random,
    dials: Dials,
    pair: Pair,
    day: int,
    stage: tuple[Sequence[Word], Sequence[Word]],
    is_asked: bool = False,
) -> Moving:
    """Four things are put somewhere, twice, in any order."""
    table = words("dialogue")
    things, rooms = (rng.sample(words_of, 4) for words_of in stage)
    named = dict(zip(("first", "second", "third", "fourth"), things, strict=True))
    groups: list[Exchange] = [[(0, filled(rng.choice(table["lists"]), **named), is_asked)]]
    moves = []
    for turn in range(2):
        if turn:
            groups.append([(0, rng.choice(table["again"]), False)])
        for thing, room in zip(rng.sample(range(4), 4), rng.sample(range(4), 4), strict=True):
            moves.append((thing, room, len(groups)))
            groups.append([
                (0, _reference(rng, dials.hops, thing, things), is_asked),
                (1, rng.choice(table["wheres"]), is_asked),
                (0, filled(rng.choice(table["putting"]), room=rooms[room]), is_asked),
                (1, filled(rng.choice(table["done"]), room=rooms[room]), is_asked),
            ])  # fmt: skip
    turns, places = _complete(rng, groups)
    first, second = (list(part) for part in stage)
    return Moving(
        Scene(day, _place(rng), pair, turns),
        tuple((first.index(things[thing]), second.index(rooms[room]), places[group]) for thing, room, group in moves),
    )


def _reference(rng: Random, hops: int, place: int, things: Sequence[Word]) -> Word:
    """How one of four things is referred to."""
    table = words("dialogue")
    if hops < 2:
        return filled(rng.choice(table["by_name"]), thing=things[place])
    if hops == 2:
        return filled(rng.choice(table["by_order"]), ordinal=table["ordinals"][place])
    step = rng.choice([step for step in (-1, 1) if 0 <= place + step < len(things)])
    return filled(
        rng.choice(table["after_order" if step < 0 else "before_order"]), ordinal=table["ordinals"][place + step]
    )


def _references(rng: Random, name: str, dials: Dials) -> Facts:
    """What "it" means in a turn, or where a thing is after one."""
    table, start = words("dialogue"), _new_year(rng)
    cast = people(rng, 2 + max(2, dials.near))
    kinds, rooms = rng.sample(range(len(table["things"])), 4), rng.sample(table["rooms"], 4)
    things = [table["things"][kind] for kind in kinds]
    day, pair = start + rng.randrange(330), (cast[0], cast[1])
    asked = _moving(rng, dials, pair, day, (things, rooms), is_asked=True)
    pairs = [(cast[0], other) if turn % 2 else (other, cast[1]) for turn, other in enumerate(cast[2:])]
    near = [
        _moving(rng, dials, other, day + rng.randint(-9, 9), (things, rooms)).scene for other in pairs[: dials.near]
    ]
    order = rng.sample(range(4), 4)
    slots: dict[str, Word | int] = {"day": day_name(day), "first": cast[0], "second": cast[1]}
    if rng.random() < 0.5:
        question, (right, _, turn) = "referent_question", rng.choice(asked.moves)
        # The turns after a reference say "it"; turns are counted from 1.
        slots["turn"] = turn + 2 + rng.randrange(3)
        options = things
    else:
        question, options = "state_question", rooms
        states = [{moved: room for moved, room, _ in asked.moves[:end]} for end in range(1, 9)]
        # The place of the turn asked about is the answer as often as one of four options is.
        is_its_place = rng.random() < 0.25
        number, thing = rng.choice([
            (number, thing) for number, state in enumerate(states) for thing in range(4 if len(state) == 4 else 0)
            if (state[thing] == asked.moves[number][1]) == is_its_place
        ])  # fmt: skip
        right = states[number][thing]
        slots["turn"] = asked.moves[number][2] + 4
        slots["thing"] = table["other_words" if rng.random() < dials.paraphrase else "things"][kinds[thing]]
    if dials.unanswerable:
        slots["turn"] = len(asked.scene.turns) + rng.randint(2, 9)
    answer = None if dials.unanswerable else order.index(right)
    scenes, shown = (asked.scene, *near), tuple(options[place] for place in order)
    return Facts(name, dials, scenes, question, slots, shown, answer, frozenset(cast))


# --------------------------------------------------------------------------- from the text alone

_EN_DATE = rf"\d+ (?:{'|'.join(MONTHS)})"
_EN_EVENT = (
    r"((?:the (?:wedding|departure|oath) of|the auction at) [A-Z]\w+ [A-Z]\w+(?:'s)?|"
    r"[A-Z]\w+ [A-Z]\w+'s (?:moving day|birthday))"
)
_ORDINALS = ("first", "second", "third", "fourth", "第一", "第二", "第三", "第四")
_DECLINED = r"stays as it was|rather leave it|no good to me|cannot agree|not change|照原来|照说好|照旧|不能同意|别改"
_PROMISED = r"have my word|I promise\.|Count on me|is a promise|说话算数|我答应你|你放心|一言为定"
_GONE = {
    "delivered": r"Here is the|have brought it|带来了|送来了",
    "taken back": r"cannot bring|take my promise back|给不了|收回",
}
_SAME = {
    "set of steps": "ladder", "water pot": "kettle", "cord": "rope", "lantern": "lamp", "shovel": "spade",
    "snow cart": "sledge", "cask": "barrel", "chest": "trunk", "carpet": "rug", "looking-glass": "mirror",
    "long seat": "bench", "weaving frame": "loom", "登高架": "梯子", "烧水的壶": "水壶", "缆索": "绳子", "灯具": "油灯",
    "挖土工具": "铁锹", "雪上拖车": "雪橇", "酒桶": "木桶", "大柜": "箱子", "地毯": "毯子", "妆镜": "镜子",
    "条凳": "长凳", "织布架": "织机",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Conversation:
    day: tuple[int, int, int]
    people: set[str]
    lines: list[str]


def _read(text: str, language: Language) -> list[_Conversation]:
    """The conversations of a text in the order of their days."""
    heading = (
        r"^Conversation of (.*) at .*, between (.*) and (.*)$"
        if language == "en"
        else r"^(.*日)，(.*)与(.*)在.*的谈话$"
    )
    parts = re.split(heading, text, flags=re.MULTILINE)
    heard = []
    for day, first, second, body in zip(parts[1::4], parts[2::4], parts[3::4], parts[4::4], strict=True):
        lines = re.findall(r"^\[\d+\] [^:：]+[:：] ?(.*)$", body, re.MULTILINE)
        heard.append(_Conversation(date_in(day, language), {first, second}, lines))
    return sorted(heard, key=lambda scene: scene.day)


def _event_day(phrase: str, lines: Sequence[str], language: Language) -> str:
    """The date of an event, or of the one that it is some days after."""
    name = re.escape(phrase)
    for line in lines:
        if language == "en":
            if match := re.search(rf"{name} (?:is on|falls on|will be on) ({_EN_DATE})", line, re.IGNORECASE):
                return match[1]
            if match := re.search(rf"{name} (?:comes|falls) (\d+) days after (.*)[.?]", line, re.IGNORECASE):
                return _added(_event_day(match[2], lines, language), int(match[1]), language)
        elif match := re.search(rf"{name}(?:就在|是在|在)(\d+月\d+日)", line):
            return match[1]
        elif match := re.search(rf"{name}(?:在(.*)之后|比(.*)晚)(\d+)天", line):
            return _added(_event_day(match[1] or match[2], lines, language), int(match[3]), language)
    return ""


_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


def _added(date: str, days: int, language: Language) -> str:
    """A date some days later. A year's 29 February is before all dates that occur."""
    if language == "zh":
        month, day = map(int, re.findall(r"\d+", date))
    else:
        month, day = MONTHS.index(date.split()[1]) + 1, int(date.split()[0])
    day += days
    while day > _LENGTHS[month - 1]:
        day -= _LENGTHS[month - 1]
        month += 1
    return f"{month}月{day}日" if language == "zh" else f"{day} {MONTHS[month - 1]}"


def _day_in(line: str, lines: Sequence[str], language: Language) -> str:
    """The day that a line speaks of."""
    date = re.search(_EN_DATE if language == "en" else r"\d+月\d+日", line)
    if date:
        return date[0]
    if language == "en":
        event = re.search(_EN_EVENT, line)
        return _event_day(event[1], lines, language) if event else ""
    phrase = re.search(r"([^，。]*?)那天", line)
    return _event_day(re.split("改到|改成", phrase[1])[-1], lines, language) if phrase else ""


def _heard_promise(scenes: list[_Conversation], question: str, language: Language, options: list[str]) -> str:
    """The day or thing that a question about promises asks for."""
    zh = language == "zh"
    until = date_in(question, language)
    pattern = r"结束时，(\w+?)答应(\w{3})(?:哪一天把(\w+)送到|的东西里)" if zh else (
        r"(?:has |that )(\w+ \w+) promised (\w+ \w+)(?: the ([\w -]+)\?)?"
    )  # fmt: skip
    debtor, creditor, thing = re.findall(pattern, question)[0]
    lines = [line for scene in scenes if scene.day <= until for line in scene.lines]
    states: dict[str, list[str]] = {}
    for noun in [_SAME.get(thing, thing)] if thing else options:
        for scene in scenes:
            if scene.people != {debtor, creditor} or scene.day > until:
                continue
            for line, reply in zip(scene.lines, [*scene.lines[1:], ""], strict=True):
                if not re.search(rf"\bthe {noun}\b" if not zh else noun, line, re.IGNORECASE):
                    continue
                gone = next((state for state, words_of in _GONE.items() if re.search(words_of, line)), "")
                if gone:
                    states[noun] = [*states[noun], gone]
                elif re.search(_PROMISED, line) or not re.search(_DECLINED, reply):
                    states[noun] = [*states.get(noun, []), _day_in(line, lines, language)]
    if thing:
        return next((history[-1] for history in states.values()), "")
    wanted = (
        "delivered" if re.search("was delivered|已经送到", question)
        else "taken back" if re.search("no longer|不再", question)
        else "put off" if re.search("on another day|改了日子", question) else "left"
    )  # fmt: skip
    for noun, history in states.items():
        state = history[-1] if history[-1] in _GONE else "put off" if len(history) > 1 else "left"
        if state == wanted:
            return noun
    return ""


def _heard_reference(scenes: list[_Conversation], question: str, language: Language, options: list[str]) -> str:
    """The thing or place that a question about a conversation asks for."""
    pattern = (
        r"日(\w+)与(\w+)的谈话中，第\[(\d+)\]轮"
        if language == "zh"
        else r"between (\w+ \w+) and (\w+ \w+):.* turn \[(\d+)\]"
    )
    first, second, asked_turn = re.findall(pattern, question)[0]
    asked = re.search(r"where is the ([\w -]+) right|刚结束时，(\w+)在哪里", question)
    scene = next((s for s in scenes if s.people == {first, second} and s.day == date_in(question, language)), None)
    if scene is None or int(asked_turn) > len(scene.lines):
        return ""
    things: list[str] = []
    current, places = "", {}
    for line in scene.lines[: int(asked_turn)]:
        if row := re.search(
            r"the (\w+), the (\w+), the (\w+) and the (\w+)\.|(?:：|给)(\w+)、(\w+)、(\w+)和(\w+?)(?:找|。)", line
        ):
            things = [thing for thing in row.groups() if thing]
        elif match := re.search(r"(?:Now|Take) the (.*)|(?:请搬|^拿|接下来拿)(?!着)(.*)", line):
            rest = match[1] or match[2]
            place = next((number % 4 for number, word in enumerate(_ORDINALS) if word in rest), None)
            if place is None:
                current = next(thing for thing in things if rest.startswith(thing))
            else:
                place += bool(re.search("right after|紧接着", rest)) - bool(re.search("right before|紧挨在", rest))
                current = things[place]
        elif match := re.search(
            r"(?:Done, it is|I have put it|it stands) (.*?)(?: now)?\.|(?:它现在在|，我把它放在|它就放在)(.*?)了?。",
            line,
        ):
            places[current] = match[1] or match[2]
    if asked is None:
        return current
    noun = asked[1] or asked[2]
    return places.get(_SAME.get(noun, noun), "")
