"""How dials of the suite ``world`` move readers with known skills, and whether ``analyze dials`` finds what is true.

python performance/world_dials.py skills --items 100 [--dials hops near]
python performance/world_dials.py coverage --runs 200 --rounds 16

``skills``: readers that have the finished text and know nothing else, with the solver of a task. ``forgets`` loses each
passage with a probability, ``window`` sees a share of the context from its end, ``once`` reads from front to end and
uses a passage only after those that it needs before, ``skims`` reads so many sentences of each paper, ``mixes`` takes
all districts for one, and so does ``lumps``, which sees no fillers. ``eager`` never says that the papers do not say it,
``named`` knows functions by their names only, ``knows`` answers from the facts without a counterfactual. By words:
``literal`` takes the option in the one sentence that shares the rarest words with the question, among papers whose
heading does. Where readers find no option they guess. One dial is moved at a time; scores are in percent.

``coverage``: how often 95% intervals of points and parts hold a truth that is known, on simulated scores.
"""

import argparse
import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from random import Random

import numpy as np

from fathom.analysis import dials
from fathom.benchmarks.world.tasks import JOINT, OF, Item, asked
from fathom.rows import to_frame
from fathom.types import Document, Facet, Row
from fathom.world.dials import HEEDED, dials_of
from fathom.world.types import Language, Passage
from world_attacks import words
from world_solvers import COMPARED, METRICS

LANGUAGES: tuple[Language, ...] = ("en", "zh")
FILLERS = 24
SENTENCE = re.compile(r"[^.?!。？！\n]+(?:[.?!。？！]+[”’]?)?\s*")
FUNCTION = re.compile(r"改动了`\w+\.\w+`|changes `\w+\.\w+`")
NOWHERE = re.compile("^E$|(none|无|not stated|未载明)$")


def context(
    passages: Sequence[Passage], siblings: Sequence[Passage], chosen: Mapping[str, Facet], name: str
) -> list[str]:
    """The passages in the order in which a build puts them."""
    layout = tuple((passage.place, bool(passage.evidence), passage.turn) for passage in passages)
    item = Item(Document("", "", ""), (), settings=chosen, layout=layout)
    places = item.places(Random(name)) if not any(place for place, *_ in layout) else [place for place, *_ in layout]
    others = [sibling.place or Random(f"{name}|{number}").random() for number, sibling in enumerate(siblings)]
    texts = [f"{each.title}\n{each.text}" if each.title else each.text for each in (*passages, *siblings)]
    return [text for _, text in sorted(zip([*places, *others], texts, strict=True), key=lambda pair: pair[0])]


def by_words(texts: Sequence[str], question: str, options: Sequence[str], language: Language) -> str:
    """The option in the sentence that shares the rarest words with the question, in papers whose heading does."""
    known = set(words(question.split("\nA. ")[0], language))
    papers = [text.partition("\n")[::2] for text in texts]
    shared = [set(words(heading, language)) & known for heading, _ in papers]
    often = Counter(word for each in shared for word in each)
    rarest = min(often, key=often.__getitem__)
    papers = [paper for paper, each in zip(papers, shared, strict=True) if rarest in each]
    sentences = [each for _, body in papers for each in re.split(r"(?<=[.。])", body)]
    shared_words = [set(words(each, language)) & known for each in sentences]
    often = Counter(word for each in shared_words for word in each)
    best = sentences[max(range(len(shared_words)), key=lambda at: sum(1 / often[word] for word in shared_words[at]))]
    bare = zip("ABCD", (re.sub(" crowns|银元", "", option) for option in options), strict=False)
    return next((letter for letter, option in bare if option in best), "")


def score(reader: str, code: str, number: int, chosen: Mapping[str, Facet], language: Language) -> float:
    """The score of a reader on an item."""
    family, name = OF[code], f"{code}|{number}|{language}"
    kind, _, skill = reader.partition(" ")
    facts = family.facts(code, 7, number, dials_of(chosen))
    problem, passages = family.problem(facts, code, language), family.passages(facts, language)
    fillers = range(0 if kind == "lumps" else FILLERS)
    siblings = [each for each, _ in zip(family.siblings(facts, language), fillers, strict=False)]
    question, rng = asked(problem, language), Random(f"{name}|{kind}")
    texts = seen(kind, float(skill or 0), context(passages, siblings, chosen, name), passages, rng)
    if kind == "knows":
        known = family.facts(code, 7, number, replace(dials_of(chosen), counterfactual=False))
        answer = family.problem(known, code, language).answers
    elif kind == "literal":
        answer = (by_words(texts, question, problem.options, language),)
    elif kind == "named" and not FUNCTION.search(question):
        answer = ()
    else:
        if kind in ("lumps", "mixes"):
            texts, question = [lumped(text, language) for text in texts], lumped(question, language)
        answer = solved(family, texts, question, code, language)
    if kind == "eager":
        answer = tuple("" if NOWHERE.search(line) else line for line in answer)
    if not any(answer) and problem.options:
        answer = (rng.choice("ABCD"),)
    return COMPARED[METRICS[code]](problem.answers, answer) if any(answer) else 0.0


def lumped(text: str, language: Language) -> str:
    """A text or question in which its first district is no other than any."""
    pattern = r"\w+(?= district)" if language == "en" else r"(?<=，)..(?=县)|^..(?=县)"
    return re.sub(pattern, "Lumpland" if language == "en" else "各地", text, count=1)


def seen(kind: str, skill: float, texts: list[str], passages: Sequence[Passage], rng: Random) -> list[str]:
    """What a reader has of the texts."""
    match kind:
        case "forgets":
            return [text for text in texts if rng.random() >= skill]
        case "window":
            return texts[round(len(texts) * (1 - skill)) :]
        case "once":
            return read_once(texts, passages)
        case "skims":
            return ["".join(SENTENCE.findall(text)[: int(skill)]) for text in texts]
    return texts


def read_once(texts: Sequence[str], passages: Sequence[Passage]) -> list[str]:
    """The texts without evidence that comes before what it is used after."""
    turns = {f"{passage.title}\n{passage.text}": passage.turn for passage in passages if passage.turn}
    kept, reached = list[str](), 0
    for text in texts:
        if turns.get(text, 0) <= reached + 1:
            kept.append(text)
            reached = max(reached, turns.get(text, 0))
    return kept


def solved(family: object, texts: Sequence[str], question: str, code: str, language: Language) -> tuple[str, ...]:
    """What the solver of a task finds; nothing where a part that it needs is missing."""
    try:
        answers: tuple[str, ...] = family.solve(JOINT.join(texts), question, code, language)  # type: ignore[attr-defined]
    except (StopIteration, RuntimeError, IndexError, ValueError, KeyError, AssertionError, SyntaxError):
        return ()
    return answers


def settings(code: str, name: str) -> list[Facet]:
    dial = HEEDED[code][name]
    if dial.most < dial.least:
        return [*dial.words]
    if not dial.whole:
        return [0, 0.5, 0.9, 1] if name == "noise" else [value for value in (0, 0.1, 0.3, 1) if value >= dial.least]
    span = int(dial.most - dial.least)
    return [int(dial.least) + step for step in range(0, span + 1, max(1, span // 3))]


SHOWN = (
    ("T8.3", "hops", "forgets 0.1"), ("T8.3", "hops", "forgets 0.3"), ("T8.3", "hops", "forgets 0.5"),
    ("T3.1", "hops", "forgets 0.3"),
    ("T6.1", "near", "lumps"), ("T6.2", "near", "lumps"), ("T1.1", "near", "lumps"),
    ("T9.1", "paraphrase", "named"), ("T3.2", "paraphrase", "literal"),
    ("T6.1", "noise", "mixes"), ("T3.2", "unanswerable", "eager"), ("T5.1", "unanswerable", "eager"),
    ("T6.1", "density", "skims 8"), ("T3.2", "density", "skims 8"),
    ("T6.1", "spread", "window 0.9"), ("T3.1", "spread", "window 0.5"),
    ("T3.1", "order", "once"), ("T1.2", "order", "once"),
    ("T3.2", "counterfactual", "knows"),
)  # fmt: skip


def skills(items: int, names: Sequence[str]) -> None:
    for code, name, reader in (each for each in SHOWN if not names or each[1] in names):
        for language in LANGUAGES:
            figures = []
            for value in settings(code, name):
                chosen = {dial: each.default for dial, each in HEEDED[code].items()} | {name: value}
                mean = sum(score(reader, code, number, chosen, language) for number in range(items)) / items
                figures.append(f"{value}: {100 * mean:.1f}")
            print(f"{code:5}{language} {name:14} {reader:11} {', '.join(figures)}", flush=True)
    print(f"standard error at most {50 / math.sqrt(items):.1f}")


# ------------------------------------------------------------------------------------------------- coverage

LENGTHS = (8192, 32768, 131072)
HOPS, NEAR = {2: 0.0, 3: 0.05, 4: 0.3}, {3: 0.0, 6: 0.1}
"""What each setting adds to the loss at the longest length; length alone loses .1."""


def _facets(hops: int, near: int, number: int) -> dict[str, Facet]:
    return {"hops": hops, "near": near, "cluster": str(number)}


def simulated(rng: np.random.Generator, rounds: int) -> Iterator[Row]:
    """Scores of 0 and 1 of items of several rounds, which differ in difficulty."""
    for number in range(rounds):
        ability = rng.uniform(-0.1, 0.1)
        for turn, (hops, near) in enumerate((hops, near) for hops in HOPS for near in NEAR):
            item, facets = f"t/{number}/{turn}", _facets(hops, near, number)
            for share, length in zip((0, 0.5, 1), LENGTHS, strict=True):
                right = 0.8 + ability - 0.04 * (hops - 2) - share * (0.1 + HOPS[hops] + NEAR[near])
                value = float(rng.random() < right)
                yield Row("s", "t", item, f"{item}@{length}", "m", length, value, facets=facets, chance=0.0)


def coverage(runs: int, rounds: int) -> None:
    truth = {"length": 0.1, "hops": sum(HOPS.values()) / 3, "near": sum(NEAR.values()) / 2}
    truth |= {"whole": sum(truth.values()), "hops 4 at 128k": -0.08 - HOPS[4]}
    held, width = dict.fromkeys(truth, 0), dict.fromkeys(truth, 0.0)
    for seed in range(runs):
        points, losses = dials(to_frame(list(simulated(np.random.default_rng(seed), rounds))))
        found = {loss.part: loss.interval for loss in losses if loss.length == LENGTHS[-1]}
        point = next(each for each in points if (each.dial, each.setting, each.length) == ("hops", "4", LENGTHS[-1]))
        assert point.difference_interval is not None
        found["hops 4 at 128k"] = point.difference_interval
        for name, interval in found.items():
            held[name] += interval.low <= truth[name] <= interval.high
            width[name] += (interval.high - interval.low) / runs
    for name, value in truth.items():
        print(f"{name:15} truth {100 * value:+.1f}, held by {100 * held[name] / runs:.1f}% of 95% intervals, "
              f"mean width {100 * width[name]:.1f}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["skills", "coverage"])
    parser.add_argument("--items", type=int, default=60)
    parser.add_argument("--dials", nargs="*", default=[])
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=16)
    chosen = parser.parse_args()
    if chosen.what == "skills":
        skills(chosen.items, chosen.dials)
    else:
        coverage(chosen.runs, chosen.rounds)


if __name__ == "__main__":
    main()
