"""What stays comparable between the suite ``world`` and a private family of it, and what does not.

python performance/private_family.py write FOLDER
python performance/private_family.py compare FOLDER --items 60
python performance/private_family.py compare FOLDER --items 400 --tasks T3.2

``write`` makes a family with other names in both languages and other sentences about every act in English. ``compare``
prints, for the packaged family and that of a folder: chance of each task, tokens of names and passages, and scores of
readers with known weaknesses (``world_dials.py``) at both ends of a dial.
"""

import argparse
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any

from fathom.benchmarks.world.tasks import OF
from fathom.tokens.tokenizers import DEFAULT, get_tokenizer
from fathom.world.facts import fillers
from fathom.world.names import FIRMS, PEOPLE, TOWNS, Names
from fathom.world.papers import passage
from fathom.world.private import PACKAGED, Private, file_name, packaged, using
from fathom.world.private_proof import prove_private
from fathom.world.prose import Writer
from fathom.world.types import Dials, Language
from world_dials import LANGUAGES, SHOWN, score, settings

SENTENCES = {
    "petition": "{person} brought the council a petition, with the names of {count} households, that asked for {work}.",
    "vote": "on the word of {person} the members voted {money}, all of it meant for {work}.",
    "contract": "{firm} offered to do {work} for {money}, and this tender was accepted.",
    "delivery": "{firm} has delivered {count} loads of {material}, all of it meant for {work}.",
    "gift": "{money} came as a gift from {person}, to be spent on {work}.",
    "damage": "word came that {work} had been damaged by {cause}, and {person} put the loss at {money}.",
    "payment": "the treasurer sent {firm} an instalment of {money} on account of {work}.",
    "inspection": "{person} went to inspect {work} and found {defect}.",
    "completion": "after so many months {firm} completed {work}, for which it asked {money} altogether.",
    "opening": "{count} guests saw how {person} opened {work}.",
    "keeper": "The council made {person} keeper of {work}, for {money} a year.",
}
BEGINNINGS = ("", "in that week ", "as had been hoped, ", "late in the day, ", "to nobody’s surprise, ", "at last ",
              "after a long wait, ", "with little noise, ", "some days before, ", "as agreed, ",
              "without delay ")  # fmt: skip
"""A line of each sentence for each, about as many as there are packaged ones."""
ONSETS, VOWELS, CODAS = (
    ["Br", "D", "Dr", "F", "G", "Gl", "H", "J", "K", "Kl", "L", "M", "N", "P", "R", "S", "Sk", "T", "Tr", "V", "Z"],
    "aeiou",
    ["l", "m", "n", "r", "nd", "rk", "ld", "mp"],
)
SYLLABLES = "岑邛汨沅洮涪渑漳潞濮灞珙琅瑕磁祁稷筠绛苍茌莒蔚虞襄谯郯鄞鄢酆铚陉隰隽雒霍鲷鹄黟龛佘佟冼厍双尉巫巴庾戚"


def made_words(rng: Random, count: int, end: str = "") -> list[str]:
    """Words of an invented language, none of which begins another."""
    words = [a + b + c for a in ONSETS for b in VOWELS for c in CODAS]
    return [word + end for word in rng.sample(words, count)]


def family(seed: int) -> dict[str, dict[str, Any]]:
    """The tables of a family: all names, and English sentences."""
    rng, base = Random(seed), packaged("names")
    counts = {key: len(value) for key, value in base["en"].items() if isinstance(value, list)}
    made = made_words(rng, counts["stems"] + counts["districts"] + counts["men"] + counts["women"])
    parts = iter(made)
    take: Callable[[int, str], list[str]] = lambda count, end: [next(parts) + end for _ in range(count)]  # noqa: E731
    endings = [word.lower() for word in made_words(rng, counts["endings"], "wyn")]
    english = {"stems": take(counts["stems"], ""), "endings": endings, "districts": take(counts["districts"], "mor"),
               "men": take(counts["men"], "o"), "women": take(counts["women"], "a"),
               "surnames": made_words(rng, counts["surnames"], "ov")}  # fmt: skip
    letters = rng.sample(list(SYLLABLES), len(SYLLABLES))
    pairs = [a + b for a in letters[:25] for b in letters[25:]]
    rng.shuffle(pairs)
    size = {key: len(value) for key, value in base["zh"].items() if isinstance(value, list)}
    chinese = {"stems": letters[: size["stems"]], "endings": letters[-size["endings"] :],
               "districts": pairs[: size["districts"]], "men": pairs[100 : 100 + size["men"]],
               "women": pairs[200 : 200 + size["women"]]}  # fmt: skip
    rules = {f"act.{act}": [start + sentence for start in BEGINNINGS] for act, sentence in SENTENCES.items()}
    return {"names": {"en": english, "zh": chinese}, "en.txt": rules}


def write(folder: Path, seed: int = 1) -> None:
    """Write a family as files."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, tables in family(seed).items():
        if file.endswith(".txt"):
            lines = [line for rule, texts in tables.items() for line in (f"= {rule}", *texts)]
        else:
            lines = [line for table in toml_lines(tables) for line in table]
        (folder / file_name(file)).write_text("\n".join(lines) + "\n", "utf-8")


def toml_lines(tables: Mapping[str, Any], keys: Sequence[str] = ()) -> Iterator[list[str]]:
    """Tables of lists of texts as TOML."""
    lists = {key: value for key, value in tables.items() if isinstance(value, list)}
    if lists:
        yield [
            f"[{'.'.join(keys)}]",
            *(f"{key} = {json.dumps(value, ensure_ascii=False)}" for key, value in lists.items()),
        ]
    for key, value in tables.items():
        if isinstance(value, Mapping):
            yield from toml_lines(value, (*keys, key))


def mean_tokens(texts: Sequence[str]) -> float:
    """Mean number of tokens of texts."""
    tokenizer = get_tokenizer(DEFAULT)
    return fmean(tokenizer.count(text) for text in texts)


def lengths(language: Language) -> str:
    """Tokens of names and papers."""
    names, writer = Names(7, language), Writer(7, language)
    texts = {
        "town": [names.town(number) for number in range(0, TOWNS, 5)],
        "person": [names.person(number) for number in range(0, PEOPLE, 9)],
        "firm": [names.firm(number) for number in range(0, FIRMS, 3)],
        "paper": [passage(writer, paper).text for paper in fillers(7, 0)[:200]],
    }
    return ", ".join(f"{name} {mean_tokens(some):.1f}" for name, some in texts.items())


def chances(language: Language, items: int) -> dict[str, float]:
    """Mean chance of each task."""
    return {
        code: fmean(
            each.problem(each.facts(code, 7, number, Dials()), code, language).chance for number in range(items)
        )
        for code, each in sorted(OF.items())
    }


def dial_scores(language: Language, items: int, tasks: Sequence[str]) -> Iterator[tuple[str, float]]:
    """Scores of readers with known weaknesses at both ends of a dial."""
    from fathom.world.dials import HEEDED

    for code, name, reader in [shown for shown in SHOWN if not tasks or shown[0] in tasks]:
        values = settings(code, name)
        for value in (values[0], values[-1]):
            chosen = {dial: each.default for dial, each in HEEDED[code].items()} | {name: value}
            mean = sum(score(reader, code, number, chosen, language) for number in range(items)) / items
            yield f"{code} {name}={value} {reader}", 100 * mean


def compare(own: Private, items: int, tasks: Sequence[str]) -> None:
    """Print both families beside each other."""
    families = {"packaged": PACKAGED, "own": own}
    for language in LANGUAGES:
        found: dict[str, tuple[dict[str, float], dict[str, float]]] = {}
        for name, each in families.items():
            with using(each):
                print(f"{language} {name}: tokens of a {lengths(language)}", flush=True)
                found[name] = chances(language, min(items, 20)), dict(dial_scores(language, items, tasks))
        apart = max(abs(found["own"][0][code] - chance) for code, chance in found["packaged"][0].items())
        print(f"{language}: largest difference in chance of {len(found['own'][0])} tasks: {apart:.4f}")
        for what, value in found["packaged"][1].items():
            print(f"{language} {what:32} packaged {value:5.1f}  own {found['own'][1][what]:5.1f}")
    print(f"standard error at most {50 / math.sqrt(items):.1f}, of a difference less: items have the same facts")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["write", "compare"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--tasks", nargs="*", default=[])
    chosen = parser.parse_args()
    if chosen.what == "write":
        write(chosen.folder)
    else:
        compare(prove_private(chosen.folder), chosen.items, chosen.tasks)


if __name__ == "__main__":
    main()
