"""Made-up novels for tests: chapters, and before them what published books have before theirs."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from fathom.documents.corpus import document_id
from fathom.documents.corpus.text import normalise
from fathom.types import Document

NUMERALS = ((100, "C"), (90, "XC"), (50, "L"), (40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I"))
DIGITS = "〇一二三四五六七八九"
THINGS = {
    "en": "lantern ledger harbour orchard bridge letter kettle anchor mirror saddle violin ladder barrel compass "
    "candle feather basket hammer window curtain garden tower market river stone cloak ribbon whistle drawer pillow",
    "zh": "灯笼 账册 港口 果园 石桥 书信 水壶 船锚 镜子 马鞍 胡琴 梯子 木桶 罗盘 蜡烛 羽毛 竹篮 铁锤 "
    "窗户 帘子 花园 高塔 集市 河流 石头 斗篷 丝带 哨子 抽屉 枕头",
}
PEOPLE = {"en": "Ann Ben Clara Daniel Esther Frank Grace Henry", "zh": "阿宝 小兰 老陈 春生 玉梅 大山 秋月 文才"}
OPENINGS = {"en": "A note with the number {number} lay upon the {thing}.", "zh": "{thing}上放着写有{number}的纸条。"}
SENTENCES = {
    "en": (
        "{who} looked for the {thing} until dusk, and nobody could say who had taken it.",
        "“The {thing} was here this morning,” said {who}.",
        "It rained upon the {thing} all night long.",
        "{who} had never cared for the {thing}, but {other} had.",
    ),
    "zh": (
        "{who}找那{thing}一直找到天黑，谁也说不出是谁拿走了。",
        "“{thing}今天早上还在这里，”{who}说。",
        "那一夜雨一直打在{thing}上。",
        "{who}向来不喜欢{thing}，{other}却喜欢。",
    ),
}
TURNS = {"en": "In the end {who} found a {next}.", "zh": "末了{who}找到了一个{next}。"}


def roman(number: int) -> str:
    """A number as chapters of English novels have it."""
    found = ""
    for value, sign in NUMERALS:
        found += sign * (number // value)
        number %= value
    return found


def chinese(number: int) -> str:
    """A number below 100 as chapters of Chinese novels have it."""
    tens, ones = divmod(number, 10)
    head = "" if tens == 0 else ("十" if tens == 1 else DIGITS[tens] + "十")
    return head + (DIGITS[ones] if ones else "")


def make_paragraphs(seed: int, count: int, language: str = "en") -> list[str]:
    """Paragraphs each of which ends with the thing that the next one is about; no two of them are equal."""
    rng = random.Random(f"{seed}|{language}|book")
    things, people = THINGS[language].split(), PEOPLE[language].split()
    join = " " if language == "en" else ""
    numbers = rng.sample(range(1000, 100_000), count)  # in no order, so that they do not give it away
    found, thing = [], rng.choice(things)
    for number in numbers:
        following = rng.choice([other for other in things if other != thing])
        lines = [OPENINGS[language].format(number=number, thing=thing)]
        for _ in range(rng.randint(1, 3)):
            who, other = rng.sample(people, 2)
            lines.append(rng.choice(SENTENCES[language]).format(who=who, other=other, thing=thing))
        lines.append(TURNS[language].format(who=rng.choice(people), next=following))
        found.append(join.join(lines))
        thing = following
    return found


def make_book(seed: int, language: str = "en", chapters: int = 12, paragraphs: int = 20) -> str:
    """A novel with a table of contents and a preface, ``chapters`` chapters of ``paragraphs`` paragraphs, and an end.

    English books come with Project Gutenberg's marks and hard-wrapped lines, Chinese ones with indents.
    """
    told = make_paragraphs(seed, chapters * paragraphs, language)
    if language == "zh":
        headings = [f"第{chinese(number)}回 灯火照海港" for number in range(1, chapters + 1)]
        front, back = [f"《第{seed}部书》", "目录", "\n".join(headings), "序", "　　此书是编出来的。"], ["全书完"]
        told = [f"　　{paragraph}" for paragraph in told]
    else:
        headings = [f"CHAPTER {roman(number)}" for number in range(1, chapters + 1)]
        front = ["Terms of use.", "*** START OF THE PROJECT GUTENBERG EBOOK MADE ***", f"MADE BOOK {seed}", "CONTENTS"]
        front += ["\n".join(f"{heading}. The Harbour" for heading in headings), "PREFACE", "All of this is made up."]
        back = ["THE END", "*** END OF THE PROJECT GUTENBERG EBOOK MADE ***", "More terms of use."]
        told = [wrapped(paragraph) for paragraph in told]
    blocks = list(front)
    for number, heading in enumerate(headings):
        blocks += [heading, *told[number * paragraphs : (number + 1) * paragraphs]]
    return "\n\n".join([*blocks, *back])


def wrapped(text: str, width: int = 72) -> str:
    """Text in lines of at most so many characters."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append("")
        lines[-1] += " " * bool(lines[-1]) + word
    return "\n".join(lines)


def write_books(
    folder: Path,
    count: int = 2,
    languages: Sequence[str] = ("en", "zh"),
    chapters: int = 12,
    paragraphs: int = 20,
) -> Path:
    """A folder of books, ``count`` in each language; about 14,000 tokens each by default.

    12 chapters of 20 paragraphs hold two cases of TSort at 2k and 4k each; 20 of 40 hold some at 16k.
    """
    path = folder / "books"
    for language in languages:
        (path / language).mkdir(parents=True, exist_ok=True)
        for seed in range(count):
            text = make_book(seed, language, chapters, paragraphs)
            (path / language / f"made_{seed}.txt").write_text(text, encoding="utf-8")
    return path


@lru_cache
def book_document(seed: int, language: str, chapters: int = 12, paragraphs: int = 20) -> Document:
    """A made-up novel as the corpus reads it."""
    text = normalise(make_book(seed, language, chapters, paragraphs))
    return Document(document_id(text), text, f"made_{seed}.txt", language)
