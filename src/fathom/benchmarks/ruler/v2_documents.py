"""Short documents about people and towns, and a question that needs two of them: a person's town, and what is there.

They take the place of HotpotQA's in RULERv2. All names are coined, so that nobody knows an answer without the
documents, and a name is that of one person or town.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from fathom.benchmarks.ruler.tasks import coined
from fathom.storage.toml import packaged_toml
from fathom.suites.tasks.growing import different

TEXTS: Mapping[str, Mapping[str, str]] = packaged_toml(__package__, "v2_document_prompts.toml")
SENTENCES = 5
ASKED = ("river", "builder", "patron")
HOMES = ("born", "worked")
_SYLLABLES = 3


class Text(NamedTuple):
    """A document: its title and sentences, and the names in them by what they are."""

    title: str
    sentences: tuple[str, ...]
    names: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Chain:
    """A question that needs two documents.

    Attributes:
        person: The document about the person in question.
        town: The document about the town that it leads to, which has the answer.
        others: Documents about the same kinds of people and towns, without end; the first one is about the other town
            of the person, the following ones about people and towns in turn.
        asked: What of the town is asked for, one of ``ASKED``.
    """

    person: Text
    town: Text
    others: Iterator[Text]
    question: str
    asked: str
    answer: str


def chain(rng: Random, texts: Mapping[str, str], towns: int) -> Chain:
    """A question with its documents.

    Args:
        texts: Those of a language (``TEXTS``).
        towns: Number of towns that documents may be about.
    """
    town_names = different(lambda: coined(rng, _SYLLABLES).capitalize(), towns)
    person = _person(rng, _full_name(rng), town_names[:2], texts)
    home, asked = rng.choice(HOMES), rng.choice(ASKED)
    wanted = person.names[home]
    town = _town(rng, wanted, texts)
    left = [name for name in town_names if name != wanted]
    question = texts[asked].format(place=texts[home].format(person=person.title))
    others = _others(rng, left, town_names, person.title, texts)
    return Chain(person, town, others, question, asked, town.names[asked])


def _others(
    rng: Random, left: Sequence[str], towns: Sequence[str], taken: str, texts: Mapping[str, str]
) -> Iterator[Text]:
    people = {taken}
    for name in left:
        yield _town(rng, name, texts)
        while (person := _full_name(rng)) in people:
            pass
        people.add(person)
        yield _person(rng, person, rng.sample(towns, 2), texts)


def _full_name(rng: Random) -> str:
    return f"{coined(rng).capitalize()} {coined(rng).capitalize()}"


def _person(rng: Random, name: str, homes: Sequence[str], texts: Mapping[str, str]) -> Text:
    return _text(rng, "person", name, dict(zip(HOMES, homes, strict=True)), texts)


def _town(rng: Random, name: str, texts: Mapping[str, str]) -> Text:
    names = {"river": coined(rng).capitalize(), "builder": _full_name(rng), "patron": _full_name(rng)}
    return _text(rng, "town", name, names, texts)


def _text(rng: Random, kind: str, title: str, names: Mapping[str, str], texts: Mapping[str, str]) -> Text:
    early = rng.randint(1500, 1850)
    fixed = {kind: title, "early": early, "middle": early + rng.randint(20, 34), "late": early + rng.randint(60, 85)}

    def sentence(number: int) -> str:
        drawn = {name: rng.choice(texts[f"{name}s"].split(",")) for name in ("trade", "craft")}
        numbers = {"few": rng.randint(2, 9), "some": rng.randint(10, 40), "many": rng.randint(50, 900)}
        goods = rng.choice(texts["goods"].split(","))
        return texts[f"{kind}_{number}"].format(**fixed, **drawn, **numbers, goods=goods, **names)

    first, *rest = map(sentence, range(1, SENTENCES + 1))
    return Text(title, (first, *rng.sample(rest, len(rest))), names)
