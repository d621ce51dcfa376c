"""Facts of a conversation about building works, neutral of language, and how they are stated and asked for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from random import Random
from typing import Literal, TypeAlias

from fathom.world.names import OWN_TOWNS, TOWNS, Names
from fathom.world.types import Language
from fathom.world.wording import Word, day_name, fill, people, said_in, words

Kind: TypeAlias = Literal["number", "name", "date", "decision", "rule", "correction"]
KINDS: tuple[Kind, ...] = ("number", "name", "date", "decision", "rule", "correction")
STATED: tuple[Kind, ...] = KINDS[:-1]

WORKS: tuple[Word, ...] = (
    ("bridge", "桥"), ("school", "学堂"), ("granary", "粮仓"), ("library", "书楼"), ("theatre", "戏院"),
    ("bathhouse", "浴堂"), ("market", "市场"), ("lighthouse", "灯塔"), ("hospital", "医馆"), ("station", "车站"),
    ("harbour", "码头"), ("museum", "陈列馆"),
)  # fmt: skip
MATERIALS: tuple[Word, ...] = (
    ("slate", "石板"), ("copper", "铜皮"), ("thatch", "茅草"), ("lead", "铅皮"), ("cedar", "雪松"),
    ("marble", "大理石"), ("granite", "花岗岩"), ("bamboo", "竹子"), ("zinc", "锌板"), ("oak", "橡木"),
    ("basalt", "玄武岩"), ("glass", "玻璃"),
)  # fmt: skip
SPEAKERS: Mapping[Language, tuple[str, str]] = {"en": ("User: ", "Assistant: "), "zh": ("用户：", "助手：")}
REPLIES: tuple[Word, ...] = (
    ("Understood, I will keep it in mind.", "明白，我会记住的。"), ("Noted.", "已记下。"),
    ("All right. What is next?", "好的，接下来呢？"), ("Thank you, I have written that down.", "谢谢，我写下来了。"),
    ("Good to know.", "知道了。"), ("Clear. I will go on with the drawings.", "清楚了，我继续画图。"),
)  # fmt: skip
MOST_DAYS, REMARKS = 360, 2


@dataclass(frozen=True, slots=True)
class Attribute:
    """Something that can be said of a work.

    Attributes:
        kind: The kind of its values.
        says: The sentence that states it, with the slots ``work`` and ``value``.
        corrects: The sentence that states another value later.
        asks: The question.
        values: What its values are drawn from.
    """

    kind: Kind
    says: Word
    corrects: Word
    asks: Word
    values: Literal["count", "person", "day", "material"]


ATTRIBUTES: tuple[Attribute, ...] = (
    Attribute(
        "number",
        ("The budget of {work} is {value} crowns.", "{work}的预算是{value}克朗。"),
        ("I was wrong about the budget of {work}: it is {value} crowns.", "{work}的预算我说错了，是{value}克朗。"),
        ("How many crowns is the budget of {work}?", "{work}的预算是多少克朗？"),
        "count",
    ),
    Attribute(
        "number",
        ("There will be {value} windows in {work}.", "{work}要开{value}扇窗。"),
        ("There is a change: {work} gets {value} windows.", "有改动：{work}改成开{value}扇窗。"),
        ("How many windows will there be in {work}?", "{work}要开多少扇窗？"),
        "count",
    ),
    Attribute(
        "name",
        ("The supplier for {work} is {value}.", "{work}的供货人是{value}。"),
        ("We have another supplier for {work} now, {value}.", "{work}换了供货人，现在是{value}。"),
        ("Who is the supplier for {work}?", "{work}的供货人是谁？"),
        "person",
    ),
    Attribute(
        "name",
        ("The site of {work} is led by {value}.", "{work}的工地由{value}负责。"),
        ("The site of {work} has passed to {value}.", "{work}的工地改由{value}负责。"),
        ("Who leads the site of {work}?", "{work}的工地由谁负责？"),
        "person",
    ),
    Attribute(
        "date",
        ("The inspection of {work} is on {value}.", "{work}定于{value}验收。"),
        ("The inspection of {work} was moved to {value}.", "{work}的验收改到{value}。"),
        ("On which date is the inspection of {work}?", "{work}哪一天验收？"),
        "day",
    ),
    Attribute(
        "decision",
        ("It is decided: the roof of {work} will be of {value}.", "已经决定，{work}的屋顶用{value}。"),
        ("We changed our minds: the roof of {work} will be of {value}.", "重新决定了，{work}的屋顶用{value}。"),
        ("Of which material will the roof of {work} be?", "{work}的屋顶决定用什么材料？"),
        "material",
    ),
    Attribute(
        "rule",
        ("From now on, never order any {value} for {work}.", "从现在起，{work}绝不能订购{value}。"),
        ("The rule for {work} has changed: never order any {value}.", "{work}的规矩改了，绝不能订购{value}。"),
        ("Which material is banned from orders for {work}?", "{work}禁止订购哪种材料？"),
        "material",
    ),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Fact:
    """One value of one attribute of a work, which is a town and a kind of work."""

    town: int
    work: int
    attribute: int
    value: Word
    corrects: bool = False

    def slots(self, names: Names) -> dict[str, Word | str | int]:
        """What fills the sentences about it."""
        town, work = names.town(self.town), said_in(names.language, WORKS[self.work])
        of = f"the {town} {work}" if names.language == "en" else f"{town}{work}"
        return {"work": of, "value": self.value}

    def statement(self, names: Names) -> str:
        """The sentence that states it."""
        attribute = ATTRIBUTES[self.attribute]
        return fill(attribute.corrects if self.corrects else attribute.says, names.language, **self.slots(names))

    def asked(self, names: Names) -> str:
        """The question about it."""
        return fill(ATTRIBUTES[self.attribute].asks, names.language, **self.slots(names))

    def values(self, language: Language) -> tuple[str, ...]:
        """Its value, in the ways in which people write it."""
        value = said_in(language, self.value)
        if ATTRIBUTES[self.attribute].values == "count":
            return value, f"{int(value):,}"
        return day_forms(value, language) if ATTRIBUTES[self.attribute].values == "day" else (value,)


def day_forms(value: str, language: Language) -> tuple[str, ...]:
    """A day as people write it, the given form first: "16 August", "August 16th", "16th of Aug", "8 月 16 日"."""
    if language == "zh":
        month, day = value.rstrip("日").split("月")
        return value, f"{month} 月 {day} 日", f"{month}月{day}号", f"{month} 月 {day} 号"
    day, month = value.split(" ")
    ending = {"1": "st", "2": "nd", "3": "rd"}.get(day[-1], "th") if len(day) < 2 or day[0] != "1" else "th"
    months = dict.fromkeys((month, month[:3], *(("Sept",) if month == "September" else ())))
    every = [value, f"{month} {day}"]
    for name in months:
        for number in (day, f"{day}{ending}"):
            every += [f"{number} {name}", f"{number} of {name}", f"{name} {number}", f"{name} the {number}"]
            every += [f"{name}. {number}", f"{number} {name}."] if name != month else []
    return tuple(dict.fromkeys(every))


def drawn_value(rng: Random, attribute: Attribute, taken: Sequence[Word]) -> Word:
    """A value of an attribute that is not taken."""
    while True:
        if attribute.values == "count":
            value = (str(rng.randrange(1001, 9999)),) * 2
        elif attribute.values == "person":
            value = people(rng, 1)[0]
        elif attribute.values == "day":
            english, chinese = day_name(rng.randrange(MOST_DAYS))
            value = english.rsplit(" ", 1)[0], chinese.split("年")[1]
        else:
            value = rng.choice(MATERIALS)
        if value not in taken:
            return value


def conversation(seed: int, number: int, near: int) -> dict[Kind, list[Fact]]:
    """The facts of a conversation by kind: the one in question, what it corrects, and its near misses.

    A near miss is the same attribute of another work. All values of an attribute are different.

    Args:
        seed: Seed of the suite.
        number: Number of the conversation.
        near: Near misses of each fact.
    """
    rng = Random(f"memory|{seed}|{number}")
    places = iter(rng.sample([(t, w) for t in range(OWN_TOWNS) for w in range(len(WORKS))], len(KINDS) * (near + 1)))
    known: dict[Kind, list[Fact]] = {}
    for kind in KINDS:
        of_kind = rng.choice(STATED) if kind == "correction" else kind
        place = rng.choice([n for n, each in enumerate(ATTRIBUTES) if each.kind == of_kind])
        values: list[Word] = []
        for _ in range(near + 2):
            values.append(drawn_value(rng, ATTRIBUTES[place], values))
        town, work = next(places)
        asked = Fact(town, work, place, values[0], corrects=kind == "correction")
        earlier = [Fact(town, work, place, values[1])] if asked.corrects else []
        known[kind] = [asked, *earlier, *(Fact(*next(places), place, value) for value in values[2:])]
    return known


def other_facts(rng: Random) -> Iterator[Fact]:
    """Facts of works that no question is about, each attribute of a work once; then others of the same, and so on."""
    sizes = (TOWNS - OWN_TOWNS, len(WORKS), len(ATTRIBUTES))
    every = [(t, w, a) for t in range(sizes[0]) for w in range(sizes[1]) for a in range(sizes[2])]
    rng.shuffle(every)
    for town, work, attribute in cycle(every):
        yield Fact(OWN_TOWNS + town, work, attribute, drawn_value(rng, ATTRIBUTES[attribute], ()))


def exchange(rng: Random, facts: Sequence[Fact], names: Names) -> str:
    """A turn of the user with some facts between other sentences, and the reply."""
    language = names.language
    sentences = [_remark(rng, language) for _ in range(REMARKS)]
    for fact in facts:
        sentences.insert(rng.randrange(len(sentences) + 1), fact.statement(names))
    user, assistant = SPEAKERS[language]
    between = " " if language == "en" else ""
    return f"{user}{between.join(sentences)}\n{assistant}{said_in(language, rng.choice(REPLIES))}"


def _remark(rng: Random, language: Language) -> str:
    """A sentence about something else, which names somebody: no two conversations share it, as copies would."""
    table = words("remarks")
    pattern = rng.choice([pattern for pattern in table["remarks"] if "{person}" in pattern[0]])
    slots = {"place": rng.choice(table["places"]), "trade": rng.choice(table["trades"])}
    return fill(pattern, language, person=people(rng, 1)[0], number=rng.randint(2, 60), **slots)
