"""Questions with four options, of which one is right: sums of everyday things, which need no knowledge and no context.

They take the place of MMLU's in RULERv2. The right option is as often each in size, from the least to the largest,
and as often each of the letters.
"""

from collections.abc import Callable, Mapping
from random import Random
from types import MappingProxyType
from typing import NamedTuple

from fathom.benchmarks.ruler.tasks import coined
from fathom.storage.toml import packaged_toml

TEXTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "v2_question_prompts.toml")
LETTERS = "ABCD"
_NEAR = 9
"""Wrong options are at most so far from the right one, or a quarter of it."""


class Numbers(NamedTuple):
    """The numbers of a question, of which the last may not be in its text, and the right answer."""

    x: int
    y: int
    z: int
    answer: int


class Choice(NamedTuple):
    """A question: what is so, what is asked with its options, its whole text, and the letter of the right option."""

    setting: str
    asked: str
    text: str
    letter: str


def _sum(rng: Random) -> Numbers:
    x, y = rng.randint(20, 600), rng.randint(20, 600)
    return Numbers(x, y, 0, x + y)


def _difference(rng: Random) -> Numbers:
    left, y = rng.randint(20, 600), rng.randint(20, 300)
    return Numbers(left + y, y, 0, left)


def _product(rng: Random) -> Numbers:
    x, y = rng.randint(11, 60), rng.randint(6, 40)
    return Numbers(x, y, 0, x * y)


def _quotient(rng: Random) -> Numbers:
    y, each = rng.randint(3, 15), rng.randint(12, 80)
    return Numbers(each * y, y, 0, each)


def _double(rng: Random) -> Numbers:
    x = rng.randint(12, 300)
    return Numbers(x, 0, 0, 3 * x)


def _change(rng: Random) -> Numbers:
    x, y, change = rng.randint(3, 25), rng.randint(2, 15), rng.randint(12, 90)
    return Numbers(x, y, x * y + change, change)


def _row(rng: Random) -> Numbers:
    first, step = rng.randint(5, 90), rng.randint(3, 60)
    return Numbers(first, first + step, first + 2 * step, first + 3 * step)


def _fence(rng: Random) -> Numbers:
    x = rng.randint(20, 150)
    y = rng.randint(10, min(x - 1, 100))
    return Numbers(x, y, 0, 2 * (x + y))


def _mean(rng: Random) -> Numbers:
    mean, less, more = rng.randint(50, 150), rng.randint(1, 30), rng.randint(1, 30)
    x, y, z = rng.sample((mean - less, mean + more, mean + less - more), 3)
    return Numbers(x, y, z, mean)


def _age(rng: Random) -> Numbers:
    answer, x, z = rng.randint(12, 40), rng.randint(2, 25), rng.randint(2, 15)
    return Numbers(x, answer + z + x, z, answer)


def _walk(rng: Random) -> Numbers:
    x, y, z = rng.randint(5, 30), rng.randint(3, 20), rng.randint(2, 40)
    return Numbers(x, y, z, x * y + z)


def _half(rng: Random) -> Numbers:
    left, y = rng.randint(12, 200), rng.randint(5, 60)
    return Numbers(2 * (left + y), y, 0, left)


KINDS: Mapping[str, Callable[[Random], Numbers]] = MappingProxyType(
    {
        "sum": _sum,
        "difference": _difference,
        "product": _product,
        "quotient": _quotient,
        "double": _double,
        "change": _change,
        "row": _row,
        "fence": _fence,
        "mean": _mean,
        "age": _age,
        "walk": _walk,
        "half": _half,
    }
)
"""Numbers of each kind of question; right answers are at least 12."""
FOODS = ("double", "half")
"""Kinds of questions about what is harvested and kept to eat; others are about things of any use."""


def options(rng: Random, answer: int) -> tuple[list[int], str]:
    """Four different numbers, of which one is the answer, and its letter."""
    reach = max(_NEAR, answer // 4)
    less = rng.randrange(len(LETTERS))
    wrong = rng.sample(range(answer - reach, answer), less)
    wrong += rng.sample(range(answer + 1, answer + reach + 1), len(LETTERS) - 1 - less)
    shuffled = rng.sample([answer, *wrong], len(LETTERS))
    return shuffled, LETTERS[shuffled.index(answer)]


def choice(rng: Random, texts: Mapping[str, str]) -> Choice:
    """A question.

    Args:
        texts: Those of a language (``TEXTS``).
    """
    kind = rng.choice(tuple(KINDS))
    numbers = KINDS[kind](rng)
    things = texts["foods" if kind in FOODS else "things"].split(",")
    named = {"name": coined(rng).capitalize(), "things": rng.choice(things)}
    (a, b, c, d), letter = options(rng, numbers.answer)
    setting = texts[kind].format(**numbers._asdict(), **named)
    asked = texts[f"{kind}_asked"].format(**numbers._asdict(), **named)
    asked += " " + texts["options"].format(a=a, b=b, c=c, d=d)
    return Choice(setting, asked, setting + texts["gap"] + asked, letter)
