"""Sentences on places, weather and people, by the rules of the corpus: what texts of the world tell besides facts."""

from functools import lru_cache, partial
from random import Random

from fathom.world.corpus.speech import CorpusNames
from fathom.world.corpus.writer import Writer
from fathom.world.names import PEOPLE, grammar
from fathom.world.plans import Grammar, load
from fathom.world.private import Private, chosen
from fathom.world.types import Language
from fathom.world.wording import Word

ASIDES = (
    "voice.place",
    *(f"scene.{rule}" for rule in ("weather", "street", "market", "people", "walk", "river", "paper")),
)
_BYSTANDERS = 1 << 20
_SEASONS = (("winter", "冬天"), ("spring", "春天"), ("summer", "夏天"), ("autumn", "秋天"))
_COINS: Word = ("pence", "文钱")
_RIVER: Word = ("river", "大河")


def sentences(language: Language) -> Grammar:
    """The rules of papers over those of the corpus, without lines that name a work or have a title of a person.

    Words of ``unfit`` are left out too: by them readers know an act or a work, or a question in other words.
    """
    return _sentences(language, chosen())


@lru_cache(maxsize=8)
def _sentences(language: Language, _: Private) -> Grammar:
    rules = {name: tuple(lines) for name, lines in grammar(f"{language}.txt").items()}
    works = (work.removeprefix("the ") for work in grammar(language)["works"])
    return _fit(language, (*works, *grammar("names")[language]["titles"], *rules.pop("unfit"))).adapted(rules, ())


@lru_cache(maxsize=8)
def _fit(language: Language, unfit: tuple[str, ...]) -> Grammar:
    return load(language).adapted({}, unfit)


def teller(rng: Random, language: Language, place: str, month: int) -> Writer:
    """A writer of sentences about something else.

    Args:
        rng: Draws them.
        language: ``en`` or ``zh``.
        place: The town of which they tell.
        month: The month, from 1 to 12, of whose season they tell.
    """
    zh = language == "zh"
    season = _SEASONS[month % 12 // 3][zh]
    slots = {"place": place, "place.river": _RIVER[zh], "coins": _COINS[zh], "season": season}
    return Writer(sentences(language), rng, partial(_bystander, rng, language), slots, spaced=not zh)


def _bystander(rng: Random, language: Language) -> str:
    """Somebody who does nothing that is asked for."""
    return CorpusNames(0, language).person(PEOPLE + int(rng.random() * _BYSTANDERS))


def aside(writer: Writer) -> str:
    """A sentence about something else; "" if the text has all that were tried."""
    return writer.joined(ASIDES[int(writer.rng.random() * len(ASIDES))])
