"""What scripts score on the suite ``world`` that have no language model and do not read.

python performance/world_attacks.py [--items 300] [--train 600] [--tasks T3.2 T8.2]

For each task and language, in percent with the chance that the items state: the question alone (the option or order
that a table of words of other seeds prefers, the usual number), the first and the longest option, the most frequent
option in the context; ``finder``, a naive-Bayes rule that finds the sentence with the evidence by its words, given the
form of the question, trained on other seeds; ``memory``, the words next to answers in articles of other seeds, and of
wrong builders those that were wrong there; ``heading``, all papers whose heading names the town or district that the
question names, with all builders in them. Of builders also those that are named once in their town (``once``), those
named most often there (``often``), those named twice in a paper (``twice``), those that do the same twice in a town
(``acts``), and those that do not win, are paid and complete in this order (``order``); all builders where there are
none. Both scripts know the form of the question (which act, which slot), as a memory of questions does, but not its
names.
"""

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from random import Random
from typing import Any

from fathom.benchmarks.world.tasks import DIALS, asked
from fathom.score.registry import ScoringRow, get_scorer
from fathom.world.families import FAMILIES
from fathom.world.reading import date_in
from fathom.world.types import Family, Language, Passage, Problem
from world_solvers import COMPARED, METRICS

FILLERS = 16
FIRST, LAST = (0, 0, 0), (9999, 0, 0)
"""Dates before and after all others."""
BESIDE = {"en": 2, "zh": 3}
_WORD = {"en": re.compile(r"[A-Za-z]+|[\d,]*\d"), "zh": re.compile(r"[\u4e00-\u9fff]|[\d,]*\d")}
_NAMED = {"en": re.compile(r"\b[A-Z]\w+|\d+"), "zh": re.compile("..镇|..县|[A-Z]\\d+|\\d+")}
_LINE = re.compile(r"^([A-G])\. (.+)$", re.MULTILINE)
_PLACE = re.compile(r"\b[A-Z]\w+(?= district| Gazette|, )|..[镇县]")
_MARKS = re.compile(r"[A-Z]\d{4}")
_LINED = re.compile(r"[A-Z]\d{4}: ")
_ACTS = {"won": re.compile("contract|tender|accepted|承包|中标"), "paid": re.compile("instalment|分期"),
         "done": re.compile("complet|完工")}  # fmt: skip
_BUILDER = re.compile(r"[A-Z][a-z]+ & [A-Z][a-z]+|[\u4e00-\u9fff]{2}营造行")


@dataclass(frozen=True)
class Item:
    """An item as a script sees it; evidence is for training alone."""

    problem: Problem
    question: str
    sentences: tuple[tuple[int, str, bool], ...]
    passages: tuple[Passage, ...]


def items(family: Family[Any], code: str, language: Language, seed: int, count: int) -> Iterator[Item]:
    for number in range(count):
        facts = family.facts(code, seed, number, DIALS)
        problem = family.problem(facts, code, language)
        passages = [*family.passages(facts, language), *islice(family.siblings(facts, language), FILLERS)]
        Random(number).shuffle(passages)
        sentences = []
        for place, passage in enumerate(passages):
            for match in re.finditer(r"[^.。\n]+[.。]?", passage.text):
                inside = any(match.start() < end - 1 and start < match.end() - 1 for start, end in passage.evidence)
                sentences.append((place, match[0].strip(), inside))
        yield Item(problem, asked(problem, language), tuple(sentences), tuple(passages))


def words(text: str, language: Language) -> list[str]:
    tokens = _WORD[language].findall(text)
    tokens = ["#" if token[0].isdigit() else token.lower() for token in tokens]
    return tokens if language == "en" else [*tokens, *map("".join, pairwise(tokens))]


def form(question: str, language: Language) -> str:
    """The question without names, numbers and lines."""
    return _NAMED[language].sub("", question.split("\n")[0]).lower()[:60]


class Scripts:
    """What is learned from items of other seeds."""

    def __init__(self, trained: Sequence[Item], language: Language) -> None:
        self.language = language
        self.right: dict[str, Counter[str]] = defaultdict(Counter)
        self.wrong: Counter[str] = Counter()
        self.beside: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        self.ranks: dict[str, list[float]] = defaultdict(list)
        self.lines: Counter[str] = Counter()
        self.size: float = 0.0
        for item in trained:
            key = form(item.question, language)
            self.lines.update(item.problem.answers)
            self.size += len(item.problem.answers) / len(trained)
            for letter, line in _LINE.findall(item.question):
                if letter in item.problem.answers and len(item.problem.answers) > 1:
                    for word in set(words(line, language)):
                        self.ranks[word].append(item.problem.answers.index(letter) / len(item.problem.answers))
            for _, sentence, inside in item.sentences:
                if inside:
                    self.right[key].update(set(words(sentence, language)))
                    for option in item.problem.options:
                        self.beside[key].update(self.around(sentence, option))
                else:
                    self.wrong.update(set(words(sentence, language)))

    def around(self, sentence: str, option: str) -> list[tuple[str, ...]]:
        bare = re.sub(" crowns|银元", "", option)
        before, found, after = sentence.partition(bare)
        near = BESIDE[self.language]
        tokens = [_WORD[self.language].findall(part) for part in (before, after)]
        return [(*map(str.lower, tokens[0][-near:]), "*", *map(str.lower, tokens[1][:near]))] if found else []

    def ranked(self, item: Item) -> list[tuple[float, int, str]]:
        """Sentences by the naive-Bayes rule, best first."""
        key = form(item.question, self.language)
        right = self.right[key]
        size, others = sum(right.values()) + 1, sum(self.wrong.values()) + 1
        rng, scored = Random(key), []
        for place, sentence, _ in item.sentences:
            known = words(sentence, self.language)
            value = sum(math.log((right[word] + 0.5) / size * others / (self.wrong[word] + 0.5)) for word in set(known))
            scored.append((value, rng.random(), place, sentence))
        return [(value, place, sentence) for value, _, place, sentence in sorted(scored, reverse=True)]

    def replies(self, item: Item) -> dict[str, list[str]]:
        """The reply of each script."""
        options, question = item.problem.options, item.question
        listed = [letter for letter, _ in _LINE.findall(question)]
        text = "\n".join(sentence for _, sentence, _ in item.sentences)
        bare = [re.sub(" crowns|银元", "", option) for option in options]
        if options:
            counts = [text.count(option) for option in bare]
            longest = max(range(len(options)), key=lambda at: len(options[at]))
            by_place = sorted(range(len(options)), key=lambda at: text.find(bare[at]))
            held = next((at for _, _, s in self.ranked(item) for at in range(len(bare)) if bare[at] in s), 0)
            key = form(question, self.language)
            votes = [sum(self.beside[key][around] for _, s, _ in item.sentences for around in self.around(s, option))
                     for option in options]  # fmt: skip
            picks = {"question": 0, "longest": longest, "first": by_place[0], "frequent": counts.index(max(counts)),
                     "finder": held, "memory": votes.index(max(votes))}  # fmt: skip
            return {name: ["ABCD"[at]] for name, at in picks.items()}
        if listed and set(item.problem.answers) <= set(listed):
            rank = {letter: mean(mean(self.ranks[word]) for word in words(line, self.language) if self.ranks[word])
                    for letter, line in _LINE.findall(question)}  # fmt: skip
            places = {letter: text.find(line) for letter, line in _LINE.findall(question)}
            return {"question": sorted(listed, key=rank.__getitem__), "first": sorted(listed, key=places.__getitem__)}
        if all(map(_MARKS.fullmatch, item.problem.answers)):
            order = list(dict.fromkeys(place for _, place, _ in self.ranked(item)))
            marks = [item.passages[place].title[:5] for place in order[: round(self.size)]]
            heading = [p.title[:5] for p in item.passages if any(name in question for name in _PLACE.findall(p.title))]
            lengths = sorted(item.passages, key=lambda passage: -len(passage.text))
            most = [passage.title[:5] for passage in lengths[: round(self.size)]]
            return {"finder": marks, "heading": heading, "longest": most}
        usual = [line for letter in listed for line in self.usual(letter)]
        if item.problem.references:
            return {}
        if _LINED.match(item.problem.answers[0]):
            return {"question": usual, **self.builders(item)}
        seen = self.seen()
        new = [word for _, sentence, _ in item.sentences for word in words(sentence, self.language) if word not in seen]
        return {"question": usual, **({"memory": new} if not listed and " + " not in item.problem.answers[0] else {})}

    def seen(self) -> set[str]:
        return {*self.wrong, *(word for right in self.right.values() for word in right)}

    def builders(self, item: Item) -> dict[str, list[str]]:
        """Builders in the papers of the district, each with the mark of its paper."""
        own = {place for place, passage in enumerate(item.passages)
               if any(name in item.question for name in _PLACE.findall(passage.title))}  # fmt: skip
        acts = [
            (place, name, next((act for act, form in _ACTS.items() if form.search(sentence)), ""))
            for place, sentence, _ in item.sentences
            if place in own
            for name in _BUILDER.findall(sentence)
        ]
        named = [(place, name) for place, name, _ in acts]
        # Towns are the first place of a heading, as in "Minutes of the council of Varmark, Dorn district".
        town = {place: _PLACE.findall(item.passages[place].title)[0] for place in own}
        times, papers = Counter((town[place], name) for place, name in named), Counter(named)
        often = Counter((town[place], name, act) for place, name, act in acts if act)
        most = {at: max(count for (of, _), count in times.items() if of == at) for at, _ in times}
        found = [(place, _BUILDER.search(s)) for _, place, s in self.ranked(item) if place in own]
        wrong = {line[7:] for line in self.lines}
        days = {(town[place], name, act): date_in(item.passages[place].title, self.language)
                for place, name, act in acts if act}  # fmt: skip
        late = [(place, name) for place, name, act in acts if act for first, then in pairwise(_ACTS)
                if days.get((town[place], name, first), FIRST) > days.get((town[place], name, then), LAST)]  # fmt: skip
        picks = {
            "heading": named,
            "once": [(place, name) for place, name in named if times[town[place], name] == 1],
            "often": [(place, name) for place, name in named if times[town[place], name] == most[town[place]]],
            "twice": [pair for pair in named if papers[pair] > 1] or named,
            "acts": [(place, name) for place, name, act in acts if often[town[place], name, act] > 1] or named,
            "order": late or named,
            "memory": [(place, name) for place, name in named if name in wrong],
            "finder": [(place, match[0]) for place, match in found if match][: round(self.size)],
        }
        return {
            script: [f"{item.passages[place].title[:5]}: {name}" for place, name in lines]
            for script, lines in picks.items()
        }

    def usual(self, letter: str) -> list[str]:
        own = [(count, line) for line, count in self.lines.items() if line.startswith(f"{letter}:")]
        return [max(own)[1]] if own else []


def mean(values: Iterator[float] | Sequence[float]) -> float:
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.5


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=300)
    parser.add_argument("--train", type=int, default=600)
    parser.add_argument("--tasks", nargs="*", default=[])
    chosen = parser.parse_args()
    languages: tuple[Language, ...] = ("en", "zh")
    for family in FAMILIES:
        for code in family.codes if not chosen.tasks else [code for code in family.codes if code in chosen.tasks]:
            for language in languages:
                each = max(1, chosen.train // 3)
                trained = [item for seed in (101, 102, 103) for item in items(family, code, language, seed, each)]
                scripts, chance, count = Scripts(trained, language), 0.0, 0
                sums: dict[str, float] = defaultdict(float)
                metric = COMPARED.get(METRICS[code])
                previous: Problem | None = None
                for item in items(family, code, language, 1, chosen.items):
                    count, chance = count + 1, chance + item.problem.chance
                    gold = [line.lower() for line in item.problem.answers]
                    for name, reply in scripts.replies(item).items():
                        sums[name] += metric(gold, [line.lower() for line in reply]) if metric and reply else 0.0
                    if previous and item.problem.references:
                        row = ScoringRow(previous.references[0], list(item.problem.references), language=language)
                        sums["other item"] += get_scorer("longbench_pro/Summary", "strict")(row).value or 0.0
                    previous = item.problem
                figures = ", ".join(f"{name} {100 * value / count:.1f}" for name, value in sums.items())
                print(f"{code:6}{language}  chance {100 * chance / count:.1f}: {figures}", flush=True)


if __name__ == "__main__":
    main()
