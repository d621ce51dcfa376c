# ruff: noqa: E501  # tables of replies, one a line
"""Do scorers read replies as a careful reader does? Right and wrong answers to every task, put in many manners.

    python performance/reply_battery.py [--tasks TASK,...] [--items 5] [--rest FILE]
    python performance/reply_battery.py --floor
    python performance/reply_battery.py --time [100000]

Items are made here: a gold answer of the form that the task asks for, and others of the same form. Each manner of
``MANNERS`` makes two replies of an item: one that gives the gold answer, and one that gives another and has the gold
answer where the first has the other. A score is as it should be

* where the score is 1 or 0 (numbers, letters, labels, orders, classes): 1 for the first, 0 for the second;
* where it is a share of words or lines: nearer to the score of the bare gold answer than to that of the bare other
  answer for the first, and the other way round for the second; of question answering it is enough that a gold answer is
  contained in the first and not in the second, which is shown beside the score;
* 0 for both where a manner gives no answer (refusals, two answers without a choice, replies cut off before the answer).

``valid`` should say whether the reply has the form that was asked for, whatever stands around the answer. For each task
the table shows how many replies are scored and called valid as they should be; for each manner, in which tasks they are
not. ``--rest`` writes all others as JSON lines. ``--floor`` measures what random words of a text contain of its gold
answers: the floor of containment for replies of that length. ``--time`` measures how long readers take for texts of that
many characters, each made of one piece that is repeated (``PIECES``). Dialects of reasoning are manners too
(``DIALECTS``).
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from pathlib import Path
from random import Random
from time import process_time
from typing import Any, TextIO

from fathom.benchmarks.ada.scoring import designation, segment_order
from fathom.score import answers
from fathom.score.judge_texts import object_at_end
from fathom.score.reading import contains_answer
from fathom.score.registry import ScoringRow, get_scorer
from fathom.score.text import token_f1
from fathom.suites.registry import tasks
from fathom.types import Facet, Sample, Score, Task
from fathom.world.corpus import generate

WIDE = str.maketrans({code: code + 0xFEE0 for code in range(0x21, 0x7F)})


@dataclass(frozen=True)
class Item:
    """An item of a task, and how its answers are written.

    Attributes:
        answer: The answer that the reply gives, as the prompt asks for it.
        other: Another answer of the same form.
        third: One more, which is never right.
        noun: What the prompt calls it: option, passage, UUID.
        targets: Gold answers.
        inputs: Inputs of the scorer.
        language: Language of the prompt.
        texts: A text that belongs to each answer, such as that of an option, by answer.
        before: What the form asks for before the answer, such as a marker.
        traditional: Both answers in traditional characters, if they are Chinese.
    """

    answer: str
    other: str
    third: str
    noun: str
    targets: tuple[str, ...]
    inputs: Mapping[str, Facet] = field(default_factory=dict)
    language: str = "en"
    texts: Mapping[str, str] = field(default_factory=dict)
    before: str = ""
    traditional: Mapping[str, str] = field(default_factory=dict)

    @property
    def turned(self) -> Item:
        """The item with the other answer in the place of the gold one."""
        return replace(self, answer=self.other, other=self.answer)

    @property
    def lines(self) -> bool:
        """Whether the answer is given on lines of its own."""
        return "\n" in self.answer or bool(self.before)

    @property
    def a(self) -> str:
        """The answer in its form."""
        return self.before + self.answer

    @property
    def after_is(self) -> str:
        """The answer after "The answer is"."""
        return f":\n\n{self.a}" if self.lines else f" {self.answer}"


Make = Callable[[Item], str]


@dataclass(frozen=True)
class Manner:
    """A way to put an answer.

    Attributes:
        name: Name in tables.
        make: The reply of an item.
        gives: Whether the reply gives the answer.
        kinds: Kinds of answers that it suits; () for all.
        valid: Whether the form is kept; None for what is a matter of opinion.
    """

    name: str
    make: Make
    gives: bool = True
    kinds: tuple[str, ...] = ()
    valid: bool | None = True


# Kinds of answers by how they are compared: one answer that is right or wrong, lines, or words.
ONE = ("option", "uuid", "label", "order", "letter", "number", "count", "passage", "digits", "class")
CHOSEN = tuple(kind for kind in ONE if kind != "class")
LINES = ("lines", "entities", "relations")
SHORT = ("words", "names")
FREE = (*SHORT, "summary", "code")
NUMBERED = ("option", "passage", "label", "count", "number", "digits")


def _each(item: Item, frame: str) -> str:
    return item.before + "\n".join(frame.format(line) for line in item.answer.split("\n"))


def _json(item: Item, **more: str) -> str:
    value: object = item.answer.split("\n") if "\n" in item.answer else item.answer
    return json.dumps({**more, "answer": value}, ensure_ascii=False)


THOUGHT = "It might be {other}, but then the text says otherwise."
FINAL = "<|start|>assistant<|channel|>final<|message|>"
DIALECTS = {
    "think tags": "<think>{thought}</think>\n\n{answer}",
    "think tags that the template opened": "{thought}\n</think>\n\n{answer}",
    "thinking tags": "<thinking>{thought}</thinking>{answer}",
    "thought tags": "<thought>{thought}</thought>{answer}",
    "Seed-OSS": "<seed:think>{thought}</seed:think>{answer}",
    "Magistral": "[THINK]{thought}[/THINK]{answer}",
    "Kimi": "◁think▷{thought}◁/think▷{answer}",
    "gpt-oss": f"<|channel|>analysis<|message|>{{thought}}<|end|>{FINAL}{{answer}}<|return|>",
    "gpt-oss without tokens": "analysis{thought}assistantfinal{answer}",
    "Gemma 4": "<|channel>thought\n{thought}\n<channel|>{answer}<turn|>",
    "Command A": "<|START_THINKING|>{thought}<|END_THINKING|><|START_RESPONSE|>{answer}<|END_RESPONSE|>",
    "Granite 3.2": "Here is my thought process: {thought} Here is my response: {answer}",
    "Hunyuan": "<think>\n{thought}\n</think>\n<answer>\n{answer}\n</answer>",
    "GLM-V": "<think>{thought}</think><|begin_of_box|>{answer}<|end_of_box|>",
    "end of the turn": "{answer}<|im_end|>\n<|im_start|>user\nAre you sure that it is not {other}?",
}


def _in_dialect(frame: str) -> Callable[[Item], str]:
    return lambda item: frame.format(thought=THOUGHT.format(other=item.other), answer=item.a, other=item.other)


MANNERS: tuple[Manner, ...] = (
    Manner("bare", lambda i: i.a),
    Manner("blank lines and spaces", lambda i: f"\n\n  {i.a}  \n"),
    Manner("final full stop", lambda i: f"{i.a}.", kinds=(*ONE, *SHORT)),
    Manner("bold", lambda i: _each(i, "**{}**")),
    Manner("italic", lambda i: _each(i, "*{}*")),
    Manner("heading", lambda i: f"## Answer\n\n{i.a}"),
    Manner("bullet", lambda i: _each(i, "- {}"), kinds=(*ONE, *SHORT, *LINES)),
    Manner("block quote", lambda i: _each(i, "> {}"), kinds=(*ONE, *SHORT, *LINES)),
    Manner("double quotes", lambda i: _each(i, '"{}"'), kinds=(*ONE, *SHORT)),
    Manner("typographic quotes", lambda i: _each(i, "“{}”"), kinds=(*ONE, *SHORT)),
    Manner("boxed", lambda i: f"\\boxed{{{i.answer}}}", kinds=(*ONE, *SHORT)),
    Manner("boxed in a sentence", lambda i: f"Thus the result is $\\boxed{{\\text{{{i.answer}}}}}$.", kinds=(*ONE, *SHORT)),
    Manner("code fence", lambda i: f"```\n{i.a}\n```"),
    Manner("code fence after words", lambda i: f"Here it is:\n\n```text\n{i.a}\n```", kinds=(*ONE, *LINES, "words", "code")),
    Manner("JSON object", lambda i: _json(i), kinds=(*ONE, *SHORT)),
    Manner("JSON with reasons", lambda i: _json(i, reasoning=f"I compared it with {i.other}."), kinds=(*ONE, *SHORT)),
    Manner("fenced JSON", lambda i: f"```json\n{_json(i)}\n```", kinds=(*ONE, *SHORT)),
    Manner("JSON list", lambda i: json.dumps([i.answer], ensure_ascii=False), kinds=(*ONE, *SHORT)),
    Manner("full-width letters", lambda i: i.a.translate(WIDE), kinds=(*ONE, *SHORT), valid=None),
    Manner("tags", lambda i: f"<answer>{i.a}</answer>", kinds=(*ONE, *SHORT)),
    Manner("table", lambda i: f"| Answer |\n| --- |\n| {i.answer} |", kinds=(*ONE, *SHORT)),
    Manner("tick", lambda i: f"✅ {i.answer}", kinds=(*ONE, *SHORT)),
    Manner("label", lambda i: f"Answer: {i.answer}", kinds=(*ONE, *SHORT)),
    Manner("bold label", lambda i: f"**Final Answer:** {i.answer}", kinds=(*ONE, *SHORT)),
    Manner("the prompt's label", lambda i: f"{i.noun.capitalize()}: {i.answer}", kinds=(*ONE, *SHORT)),
    Manner("polite", lambda i: f"Sure! Here is the answer that you asked for:\n\n{i.a}\n\nLet me know if you need anything else!"),
    Manner("verbose", lambda i: f"I read the whole text with care and compared its parts. The answer is{i.after_is}"),
    Manner("sentence", lambda i: f"The {i.noun} is {i.answer}.", kinds=(*ONE, *SHORT)),
    Manner("correct one", lambda i: f"The correct {i.noun} is **{i.answer}**.", kinds=(*ONE, *SHORT)),
    Manner("is the answer", lambda i: f"{i.answer} is the correct answer.", kinds=(*ONE, *SHORT)),
    Manner("steps", lambda i: f"Step 1: I read the beginning.\nStep 2: I read the end.\n\nTherefore, the answer is{i.after_is}"),
    Manner("unsure", lambda i: f"I think it is {i.answer}, but I am not entirely certain.", kinds=(*ONE, *SHORT)),
    Manner("Chinese around", lambda i: f"根据上文的内容，答案是{i.answer}。", kinds=(*ONE, *SHORT)),
    Manner("German around", lambda i: f"Die richtige Antwort lautet: {i.answer}", kinds=(*ONE, *SHORT)),
    Manner("French around", lambda i: f"La bonne réponse est {i.answer}.", kinds=(*ONE, *SHORT)),
    Manner("Spanish around", lambda i: f"La respuesta correcta es: {i.answer}", kinds=(*ONE, *SHORT)),
    Manner("then a sentence", lambda i: f"{i.answer}\n\nThis follows from what the text says near its middle.", kinds=(*ONE, *SHORT)),
    Manner("then an explanation", lambda i: f"{i.answer}\n\nExplanation: {i.other} is mentioned too, but it does not fit.", kinds=(*ONE, *SHORT)),
    Manner("then others on the line", lambda i: f"{i.answer}. {i.other} and {i.third} do not fit as well.", kinds=("option", "uuid", "label", "letter", "passage")),
    Manner("others first", lambda i: f"At first I considered {i.other}, but the correct answer is {i.answer}.", kinds=(*ONE, *SHORT)),
    Manner("ruled out first", lambda i: f"It is not {i.other}. The answer is {i.answer}.", kinds=(*ONE, *SHORT)),
    Manner("not the other", lambda i: f"The answer is {i.answer}, not {i.other}.", kinds=(*ONE, *SHORT)),
    Manner("instruction repeated", lambda i: f"{i.a}\n\n(Reply with the {i.noun} only.)", kinds=(*ONE, *SHORT)),
    Manner("the prompt's end repeated", lambda i: f"{i.answer}\n\nReply with the {i.noun} only.\n{i.noun.capitalize()}:", kinds=(*ONE, *SHORT)),
    Manner("repetition", lambda i: "\n".join([i.answer] * 3), kinds=(*ONE, "words")),
    Manner("another question", lambda i: f"{i.answer}\n\nQuestion: What comes next?\nAnswer: {i.other}", kinds=(*ONE, *SHORT)),
    # ---------------------------------------------------------------------------------------- of one kind
    Manner("letter and its text", lambda i: f"{i.answer}. {i.texts[i.answer]}", kinds=("letter",)),
    Manner("letter in brackets and its text", lambda i: f"The answer is ({i.answer}) {i.texts[i.answer]}", kinds=("letter",)),
    Manner("right letter, then others", lambda i: f"({i.answer}) is right. ({i.other}) is about something else.", kinds=("letter", "option")),
    Manner("options one by one", lambda i: f"{i.other}. {i.texts[i.other]}: wrong\n{i.answer}. {i.texts[i.answer]}: correct\n\nSo {i.answer}.", kinds=("letter",)),
    Manner("option and its list", lambda i: f"({i.answer}) {i.texts[i.answer]}", kinds=("option",)),
    Manner("noun and number", lambda i: f"{i.noun.capitalize()} {i.answer}", kinds=("option", "passage")),
    Manner("noun, number and reasons", lambda i: f"{i.noun.capitalize()} {i.answer}. {i.noun.capitalize()} {i.other} is about something else.", kinds=("option", "passage")),
    Manner("number, then noun and others", lambda i: f"{i.answer}\n\n{i.noun.capitalize()} {i.other} is about something else.", kinds=("option", "passage")),
    Manner("ordinal before the number", lambda i: f"The 2nd largest number is {i.answer}", kinds=("number",)),
    Manner("range before the number", lambda i: f"Of the 1,000 numbers in the list, the 3rd smallest is {i.answer}.", kinds=("number",)),
    Manner("equation", lambda i: f"The median is (41 + 43) / 2 = {i.answer}", kinds=("number",)),
    Manner("key after its value", lambda i: f"{i.answer} is the value of the key {i.texts[i.answer]}.", kinds=("uuid",)),
    Manner("key before its value", lambda i: f'The value of the key "{i.texts[i.answer]}" is "{i.answer}".', kinds=("uuid",)),
    Manner("pair as JSON", lambda i: json.dumps({i.texts[i.answer]: i.answer}), kinds=("uuid",)),
    Manner("digits in groups", lambda i: " ".join(i.answer), kinds=("digits",)),
    Manner("key with its noun", lambda i: f"The pass key is {i.answer}. Remember it.", kinds=("digits",)),
    Manner("count of all before", lambda i: f"Of the 64 paragraphs, {i.answer} are different.", kinds=("count",)),
    Manner("count of all after", lambda i: f"There are {i.answer} different paragraphs (64 in all, {int(i.answer) + 1} at first sight).", kinds=("count",)),
    Manner("order without brackets", lambda i: i.answer.strip("[]"), kinds=("order",)),
    Manner("order with arrows", lambda i: " -> ".join(i.answer.strip("[]").split(", ")), kinds=("order",)),
    Manner("order as asked", lambda i: f"Answer: {i.answer}", kinds=("order",)),
    Manner("order in words", lambda i: "The order is: " + ", ".join(f"Segment {n}" for n in i.answer.strip("[]").split(", ")), kinds=("order",)),
    Manner("label and a sentence", lambda i: f"{i.answer} explains how the whole thing works, with an example.", kinds=("label",)),
    Manner("label chosen among others", lambda i: f"Both {i.other} and {i.third} are incomplete. {i.answer} is the best answer.", kinds=("label",)),
    Manner("one line with commas", lambda i: i.answer.replace("\n", ", "), kinds=("entities", "relations")),
    Manner("numbered lines", lambda i: i.before + "\n".join(f"{n}. {line}" for n, line in enumerate(i.answer.split("\n"), 1)), kinds=("entities", "lines")),
    Manner("JSON of lines", lambda i: i.before + json.dumps(i.answer.split("\n"), ensure_ascii=False), kinds=LINES),
    Manner("marker in bold", lambda i: f"**{i.before.strip()}**\n{i.answer}", kinds=("lines",)),
    Manner("marker of another form", lambda i: f"Final answer:\n{i.answer}", kinds=("lines",), valid=False),
    Manner("thoughts, then the marker", lambda i: f"Let me think about it.\n{i.other}\nNo.\n\n{i.a}", kinds=("lines",)),
    Manner("traditional characters", lambda i: i.before + i.traditional[i.answer], kinds=("words", "class", "lines", "summary")),
    Manner("corrected", lambda i: f"{i.other}. Wait, no, it's {i.answer}.", kinds=CHOSEN),
    Manner("verdicts", lambda i: f"{i.other}: wrong. {i.answer}: right.", kinds=("letter", "option")),
    Manner("others ruled out", lambda i: f"I can rule out {i.other} and {i.third}. So {i.answer}.", kinds=("letter", "option", "label", "passage")),
    Manner("number, then a passage on the line", lambda i: f"{i.answer}. Passage {i.other} is about something else.", kinds=("passage",)),
    Manner("largest, then the 2nd largest", lambda i: f"The largest is {i.other}, so the 2nd largest is {i.answer}.", kinds=("number",)),
    Manner("value, then its key in brackets", lambda i: f"{i.answer} (key: {i.texts[i.answer]})", kinds=("uuid",)),
    Manner("key, arrow, value", lambda i: f"{i.texts[i.answer]} -> {i.answer}", kinds=("uuid",)),
    Manner("key, colon, value", lambda i: f"{i.texts[i.answer]}: {i.answer}", kinds=("uuid",)),
    Manner("best, then second", lambda i: f"The best is {i.answer}; {i.other} is second.", kinds=("label",)),
    Manner("entities as a JSON object", lambda i: json.dumps(dict(line.split(": ") for line in i.answer.split("\n"))), kinds=("entities",)),
    Manner("conceded before", lambda i: f"{i.other} comes close, but {i.answer} is the right one.", kinds=CHOSEN),
    Manner("conceded in a clause", lambda i: f"Although {i.other} is similar, it is {i.answer}.", kinds=CHOSEN),
    Manner("going with", lambda i: f"Could be {i.other}, but I'm going with {i.answer}.", kinds=CHOSEN),
    Manner("struck out", lambda i: f"~~{i.other}~~ {i.answer}", kinds=CHOSEN),
    Manner("single quotes for JSON", lambda i: f"{{'answer': '{i.answer}'}}", kinds=(*ONE, *SHORT)),
    Manner("all options, then one", lambda i: "\n".join(f"{x}. {x.lower()}" for x in "ABCD") + f"\n\n**{i.answer}**", kinds=("letter",)),
    Manner("entities as CSV", lambda i: "entity,type\n" + i.answer.replace(": ", ","), kinds=("entities",)),
    # ---------------------------------------------------------------------------------------- no answer
    Manner("at least", lambda i: f"at least {i.answer}", False, kinds=("count", "number"), valid=False),
    Manner("a range", lambda i: f"{i.answer} to {i.other}", False, kinds=(*NUMBERED, "letter"), valid=False),
    Manner("one, perhaps another", lambda i: f"{i.answer}, or possibly {i.other}", False, kinds=CHOSEN, valid=False),
    Manner("two on lines", lambda i: f"{i.answer}\n{i.other}", False, kinds=CHOSEN, valid=False),
    Manner("two side by side", lambda i: f"({i.answer}) ({i.other})", False, kinds=CHOSEN, valid=False),
    Manner("doubted", lambda i: f"I doubt it is {i.answer}.", False, kinds=CHOSEN, valid=False),
    Manner("anything but", lambda i: f"Anything but {i.answer}.", False, kinds=CHOSEN, valid=False),
    Manner("does not think so", lambda i: f"I don't think it's {i.answer}.", False, kinds=CHOSEN, valid=False),
    Manner("does not think so (zh)", lambda i: f"我不认为是{i.answer}。", False, kinds=CHOSEN, valid=False),
    Manner("nothing", lambda i: " \n", False, valid=False),
    Manner("does not know", lambda i: "I don't know.", False, valid=False),
    Manner("does not know (zh)", lambda i: "抱歉，我无法确定。", False, valid=False),
    Manner("refusal", lambda i: "I'm sorry, but I can't help with that.", False, valid=False),
    Manner("cut off before the answer", lambda i: "Let me look at the text. First, the beginning says that", False, valid=False),
    Manner("announced only", lambda i: "Sure! Here is the answer:", False, valid=False),
    Manner("asks back", lambda i: f"Which {i.noun} do you mean? Please give me the text.", False, valid=False),
    Manner("negated", lambda i: f"The answer is not {i.answer}.", False, kinds=ONE, valid=False),
    Manner("two without a choice", lambda i: f"{i.answer} or {i.other}", False, kinds=ONE, valid=False),
    Manner("either of two", lambda i: f"It is either {i.answer} or {i.other}; I cannot tell which.", False, kinds=ONE, valid=False),
    Manner("both", lambda i: f"The answer is {i.answer} and {i.other}.", False, kinds=ONE, valid=False),
    *(Manner(f"reasoning: {name}", _in_dialect(frame)) for name, frame in DIALECTS.items()),
)  # fmt: skip
"""One row a manner."""

# ------------------------------------------------------------------------------------------------------------ items

PEOPLE = ("Dorothea Quill", "Marcus Fenwick", "Ilse Brandt", "Tobias Crane", "Henrietta Moss", "Rufus Adair")
PLACES = ("Harrow Bridge", "Old Linden Mill", "Port Saltash", "Kestrel Hill", "Nether Wick", "Amber Quay")
CHINESE = {
    "图书馆的管理员": "圖書館的管理員", "张学军": "張學軍", "万历年间": "萬曆年間", "广东东莞": "廣東東莞",
    "国际关系": "國際關係", "农业与环境": "農業與環境", "体育竞赛": "體育競賽", "医药卫生": "醫藥衛生",
}  # fmt: skip
CHINESE_LONG = {
    "会议讨论了农村医疗的经费问题。参会者认为应当增加对图书馆的投资。": "會議討論了農村醫療的經費問題。參會者認為應當增加對圖書館的投資。",
    "报告总结了铁路运输的发展。作者建议减少长途汽车的数量。": "報告總結了鐵路運輸的發展。作者建議減少長途汽車的數量。",
    "专家们谈到了海洋气候的变化。他们准备明年再开一次讨论会。": "專家們談到了海洋氣候的變化。他們準備明年再開一次討論會。",
}  # fmt: skip
SUMMARIES = (
    "The council debated the cost of the new bridge. Dorothea Quill asked for a second survey before any money is spent.",
    "A fire destroyed the mill in the autumn of 1834. Its owner rebuilt it in brick with the help of two neighbours.",
    "The expedition lost its boats near the northern coast. Only four of the sailors came home in the following spring.",
)
CODE = ("return self.rows[index] + offset", "raise ValueError(message)", "for name in sorted(names):")
ENTITIES = ("person-artist/author", "location-bridge", "organization-company", "location-GPE", "building-library")
RELATIONS = ("per:siblings", "per:positive_impression", "per:place_of_residence", "per:alternate_names", "unanswerable")
CLASSES = ("Individual", "Definition of something", "Number of something", "Other location", "City", "Description of something")  # fmt: skip


def _numbers(rng: Random, low: int, high: int) -> list[str]:
    return [str(number) for number in rng.sample(range(low, high), 3)]


def _uuid(rng: Random) -> str:
    run = "".join(rng.choices("0123456789abcdef", k=32))
    return "-".join((run[:8], run[8:12], run[12:16], run[16:20], run[20:]))


def _option(rng: Random, language: str) -> Item:
    a, b, c = _numbers(rng, 1, 6)
    texts = {number: ", ".join(str(rng.randint(6, 99)) for _ in range(4)) for number in (a, b, c)}
    return Item(a, b, c, "option", (a,), language=language, texts=texts)


def _numbered(noun: str, low: int, high: int) -> Callable[[Random, str], Item]:
    def make(rng: Random, language: str) -> Item:
        a, b, c = _numbers(rng, low, high)
        return Item(a, b, c, noun, (a,), language=language)

    return make


def _uuids(rng: Random, language: str) -> Item:
    a, b, c, *keys = (_uuid(rng) for _ in range(6))
    return Item(a, b, c, "value", (a,), language=language, texts=dict(zip((a, b, c), keys, strict=True)))


def _digits(size: int) -> Callable[[Random, str], Item]:
    def make(rng: Random, language: str) -> Item:
        a, b, c = ("".join(rng.choices("123456789", k=size)) for _ in range(3))
        return Item(a, b, c, "passkey", (a,), {"digits": size}, language)

    return make


def _label(rng: Random, language: str) -> Item:
    a, b, c = (f"A{number}" for number in _numbers(rng, 1, 13))
    return Item(a, b, c, "answer", (a,), {"answers": 12}, language)


def _order(size: int) -> Callable[[Random, str], Item]:
    def make(rng: Random, language: str) -> Item:
        a = rng.sample(range(1, size + 1), size)
        b = a[::-1]
        c = b if size == 2 else [*a[1:], a[0]]
        texts = [json.dumps(order) for order in (a, b, c)]
        return Item(texts[0], texts[1], texts[2], "order", (texts[0],), {"segments": size}, language)

    return make


def _letter(pair: bool) -> Callable[[Random, str], Item]:
    def make(rng: Random, language: str) -> Item:
        a, b, c = rng.sample("ABCD", 3)
        listed = rng.sample(("9 May", "Dorothea Quill", "the old mill", "A good harvest", "4 of them", "in 1834"), 3)
        texts = dict(zip((a, b, c), listed, strict=True))
        return Item(a, b, c, "letter", (texts[a], a) if pair else (a,), language=language, texts=texts)

    return make


def _words(rng: Random, language: str) -> Item:
    if language == "zh":
        a, b, c = rng.sample(list(CHINESE), 3)
        return Item(a, b, c, "answer", (a,), language="zh", traditional=CHINESE)
    a, b, c = rng.sample((*PEOPLE, *PLACES), 3)
    return Item(a, b, c, "answer", (a,))


def _summary(rng: Random, language: str) -> Item:
    if language == "zh":
        a, b, c = rng.sample(list(CHINESE_LONG), 3)
        return Item(a, b, c, "summary", (a,), language="zh", traditional=CHINESE_LONG)
    a, b, c = rng.sample(SUMMARIES, 3)
    return Item(a, b, c, "summary", (a,))


def _class(rng: Random, language: str) -> Item:
    names = list(CHINESE)[4:] if language == "zh" else CLASSES
    a, b, c = rng.sample(names, 3)
    inputs = {"classes": json.dumps(list(names), ensure_ascii=False)}
    return Item(a, b, c, "type", (a,), inputs, language, traditional=CHINESE if language == "zh" else {})


def _code(rng: Random, language: str) -> Item:
    a, b, c = rng.sample(CODE, 3)
    return Item(a, b, c, "line", (a,))


def _entities(rng: Random, language: str) -> Item:
    names = rng.sample((*PEOPLE, *PLACES), 6)
    kinds = rng.sample(ENTITIES, 3)
    gold, *others = (list(zip(part, kinds, strict=False)) for part in (names[:2], names[2:4], names[4:]))
    texts = ["\n".join(f"{name}: {kind}" for name, kind in pairs) for pairs in (gold, *others)]
    return Item(texts[0], texts[1], texts[2], "entities", (json.dumps(gold),))


def _relations(rng: Random, language: str) -> Item:
    a, b, c = rng.sample(RELATIONS, 2), rng.sample(RELATIONS[::-1], 2), rng.sample(RELATIONS, 2)
    while set(a) & set(b):
        b = rng.sample(RELATIONS, 2)
    texts = ["\n".join(f"{n}. {label}" for n, label in enumerate(labels, 1)) for labels in (a, b, c)]
    return Item(texts[0], texts[1], texts[2], "relations", (json.dumps(a),))


def _lines(single: bool) -> Callable[[Random, str], Item]:
    def make(rng: Random, language: str) -> Item:
        size = 1 if single else 3
        pool = list(CHINESE) if language == "zh" else [*PEOPLE, *PLACES]
        listed = rng.sample(pool, min(len(pool), 3 * size) // size * size)
        texts = ["\n".join(listed[start : start + size]) for start in range(0, len(listed), size)]
        texts.append(texts[1])
        marker = "[答案]\n" if language == "zh" else "[Answer]\n"
        gold = tuple(texts[0].split("\n"))
        traditional = {text: "\n".join(CHINESE.get(line, line) for line in text.split("\n")) for text in texts}
        return Item(texts[0], texts[1], texts[2], "answer", gold, language=language, before=marker,
                    traditional=traditional if language == "zh" else {})  # fmt: skip

    return make


def _summary_after_marker(rng: Random, language: str) -> Item:
    return replace(_summary(rng, language), before="[答案]\n" if language == "zh" else "[Answer]\n")


KINDS: Mapping[str, tuple[str, Callable[[Random, str], Item]]] = {
    **{"option": ("option", _option), "passage": ("passage", _numbered("passage", 1, 31))},
    **{"uuid": ("uuid", _uuids), "label": ("label", _label), "letter": ("letter", _letter(pair=True))},
    **{"choice": ("letter", _letter(pair=False)), "number": ("number", _numbered("number", 1, 100))},
    **{"count": ("count", _numbered("number of different paragraphs", 5, 60))},
    **{"relations": ("relations", _relations), "entities": ("entities", _entities)},
    **{"words": ("words", _words), "sentence": ("words", _words), "summary": ("summary", _summary)},
    **{"class": ("class", _class), "code": ("code", _code)},
}
"""Kind of answer for manners, and the maker of items, by the kind that tasks declare and some of ours."""
OF_METRIC = {"classification": "class", "retrieval": "passage", "retrieval_zh": "passage", "rouge": "summary",
             "rouge_zh": "summary", "rouge_l_sum": "summary", "code_sim_difflib": "code"}  # fmt: skip


def kind_of(task: Task) -> tuple[str, Callable[[Random, str], Item]]:
    """The kind of answers of a task, and the maker of its items."""
    if task.answer == "order":
        return "order", _order(int(task.name.partition("_")[2] or 4))
    if task.answer == "digits":
        size = next((int(part) for part in task.name.split("_") if part.isdecimal()), 5)
        return "digits", _digits(size)
    if task.name.startswith(("pro_", "studio_", "world_")):
        if task.metric == "summary":
            return "summary", _summary_after_marker
        return "lines", _lines(single=task.metric == "accuracy")
    return KINDS[OF_METRIC.get(task.metric, task.answer)]


# ----------------------------------------------------------------------------------------------------------- scores


@dataclass(frozen=True)
class Outcome:
    """One scored reply: whether score and ``valid`` are as they should be (None: not checked)."""

    task: str
    manner: str
    turn: str
    reply: str
    score: Score
    right: bool
    valid_right: bool | None


def outcomes(task: Task, items: int) -> Iterator[Outcome]:
    """The replies of all manners to the items of a task."""
    kind, make = kind_of(task)
    for number in range(items):
        rng = Random(f"{task.name}|{number}")
        item = make(rng, task.languages[number % len(task.languages)])
        dataset = {"dataset": task.name.removeprefix("longbench_")} if task.name.startswith("longbench_") else {}
        item = replace(item, inputs={**dataset, **task.inputs, **item.inputs})
        bare = [_scored(task, turn, turn.a) for turn in (item, item.turned)]
        for manner in MANNERS:
            if (manner.kinds and kind not in manner.kinds) or (
                manner.name == "traditional characters" and not item.traditional
            ):
                continue
            for name, turn in (("gold", item), ("other", item.turned)):
                reply = manner.make(turn)
                score = _scored(task, turn, reply)
                yield Outcome(
                    task.name, manner.name, name, reply, score,
                    _is_right(kind, manner, name, score, bare),
                    _valid_is_right(kind, manner, score),
                )  # fmt: skip


def _scored(task: Task, item: Item, reply: str) -> Score:
    sample = Sample("s", "s", task.name, (), item.targets, 0, 0, item.language, inputs=item.inputs)
    return task.score(reply, sample)


def _is_right(kind: str, manner: Manner, turn: str, score: Score, bare: Sequence[Score]) -> bool:
    value, gold, other = score.value or 0.0, bare[0].value or 0.0, bare[1].value or 0.0
    if not manner.gives:
        return value == 0 if kind in ONE else value <= max(0.25, other)
    if kind in ONE:
        return value == float(turn == "gold")
    nearer = abs(value - gold) < abs(value - other)
    contained = kind in SHORT and "contains" in score.detail
    return (nearer or contained) if turn == "gold" else not nearer and not (contained and value > other)


def _valid_is_right(kind: str, manner: Manner, score: Score) -> bool | None:
    names_another = kind == "label" and manner.valid and manner.gives and score.answer is not None and not score.valid
    if manner.valid is None or names_another or (kind in FREE and not manner.gives and manner.name != "nothing"):
        return None  # any words may be an answer
    return score.valid == manner.valid


def print_floor(out: TextIO, documents: int = 120) -> None:
    """What random words of the text contain of gold answers of the generated world, by their number."""
    texts, rng = list(islice(generate(7, "en"), documents)), Random(1)
    print("words    questions  same text: contained  token F1  another text: contained  token F1", file=out)
    for size in (5, 20, 80, 320):
        sums, asked = [0.0] * 4, 0
        for document in texts:
            for question in document.questions[:3]:
                asked += 1
                for place, text in enumerate((document.text, rng.choice(texts).text)):
                    words = text.split()
                    start = rng.randrange(max(1, len(words) - size))
                    reply = " ".join(words[start : start + size])
                    sums[2 * place] += contains_answer(reply, question.answers)
                    sums[2 * place + 1] += token_f1(reply, question.answers)
        same, same_f1, another, another_f1 = (total / asked for total in sums)
        print(f"{size:5} {asked:12} {same:21.1%} {same_f1:9.3f} {another:24.1%} {another_f1:9.3f}", file=out)


PIECES: Mapping[str, str] = {
    "digits": "4815162342", "letters": "word", "new lines": "\n", "spaces": " ", "brackets": "([{", "Chinese": "图书馆的管理员",
    "marks": "<think>a</think>", "prose": "The committee met again in 1834, and it was not clear which passage told of it. ",
    "lists": "1, 2 or A3\n",
}  # fmt: skip
"""What long texts are made of."""


def readers() -> Mapping[str, Callable[[str], object]]:
    """Strict readers by the kind of answer."""

    def metric(name: str, gold: str, **more: Any) -> Callable[[str], object]:
        score = get_scorer(name, "strict")
        return lambda reply: score(ScoringRow(reply, [gold], **more))

    return {
        "option": partial(answers.choice_number, n_options=5), "passage": answers.passage_number,
        "count": answers.count_number, "number": answers.stated_number, "passkey": partial(answers.digits, size=5),
        "UUID": answers.given_uuid, "letter": answers.choice_letter, "label": partial(designation, n_answers=12),
        "order": partial(segment_order, n_segments=4), "words": answers.free_answer, "first line": answers.short_answer,
        "class": metric("longbench_v1/classification", "City", all_classes=["City", "Individual"]),
        "line of code": metric("longbench_v1/code_sim", "x = 1"), "lines": metric("longbench_pro/Accuracy", "x"),
        "entities": metric("leader/token_f1", '[["a", "b-c"]]', dataset="fewnerd"),
        "judge's mark": object_at_end,
    }  # fmt: skip


def print_times(size: int, out: TextIO) -> None:
    """Milliseconds of processor time for each reader and text, the best of three."""
    print(f"{'ms':14}" + "".join(f"{name:>10}" for name in PIECES), file=out)
    for name, read in readers().items():
        read("A")  # compiles patterns
        times = [
            # Another end each time: readers keep what they found in a reply.
            min(_milliseconds(read, (piece * size)[: size - 1] + end) for end in "abc")
            for piece in PIECES.values()
        ]
        print(f"{name:14}" + "".join(f"{time:10.1f}" for time in times), file=out)


def _milliseconds(read: Callable[[str], object], reply: str) -> float:
    start = process_time()
    read(reply)
    return 1000 * (process_time() - start)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--tasks", default="", help="names of tasks, separated by commas; all by default")
    parser.add_argument("--items", type=int, default=5, help="items of each task")
    parser.add_argument("--rest", type=Path, help="JSON lines of all replies that are not scored as they should be")
    parser.add_argument("--floor", action="store_true", help="only what long replies contain by chance")
    parser.add_argument(
        "--time", type=int, nargs="?", const=100_000, help="only the time for texts of so many characters"
    )
    chosen = parser.parse_args(arguments)
    if chosen.time:
        print_times(chosen.time, sys.stdout)
        return
    if chosen.floor:
        print_floor(sys.stdout)
        return
    names = chosen.tasks.split(",") if chosen.tasks else sorted(tasks())
    every = [outcome for name in names for outcome in outcomes(tasks()[name], chosen.items)]
    print_tables(every, sys.stdout)
    if chosen.rest:
        with chosen.rest.open("w", encoding="utf-8") as file:
            for outcome in every:
                if not outcome.right or outcome.valid_right is False:
                    file.write(_line(outcome))


def _line(outcome: Outcome) -> str:
    score = outcome.score
    record = {"task": outcome.task, "manner": outcome.manner, "turn": outcome.turn, "reply": outcome.reply[:400],
              "value": score.value, "valid": score.valid, "answer": (score.answer or "")[:100], "right": outcome.right,
              "valid_right": outcome.valid_right}  # fmt: skip
    return json.dumps(record, ensure_ascii=False) + "\n"


def print_tables(every: Sequence[Outcome], out: TextIO) -> None:
    """By task, by manner, and all together."""
    for title in ("task", "manner"):
        print(f"{title:34} replies  score  valid  tasks where not", file=out)
        groups: dict[str, list[Outcome]] = {}
        for outcome in every:
            groups.setdefault(str(getattr(outcome, title)), []).append(outcome)
        for name, group in groups.items():
            wrong = Counter(
                outcome.task if title == "manner" else outcome.manner for outcome in group if not outcome.right
            )
            listed = ", ".join(f"{other} {count}" for other, count in wrong.most_common(6))
            print(f"{name:34} {len(group):7} {_share(group)}  {listed}", file=out)
        print(file=out)
    print(f"{'all':34} {len(every):7} {_share(every)}", file=out)


def _share(group: Sequence[Outcome]) -> str:
    right = sum(outcome.right for outcome in group) / len(group)
    checked = [outcome.valid_right for outcome in group if outcome.valid_right is not None]
    valid = sum(checked) / len(checked) if checked else float("nan")
    return f"{right:6.1%} {valid:6.1%}"


if __name__ == "__main__":
    main()
