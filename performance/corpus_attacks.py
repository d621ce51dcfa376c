"""What scripts find in the generated corpus that know articles of other seeds and do not read.

python performance/corpus_attacks.py [--module fathom.world.corpus] [--articles 120] [--train 360]

Percent of the questions about one article. ``sentence``: a naive-Bayes rule, given the form of the question (the
question without names, works and numbers), finds the sentence with the evidence by its words. ``with words``: the same
rule, with a bonus for words of the question. ``answer``: the two words (three characters in Chinese) on each side of
answers to questions of that form pick a place in the article, or in the sentence of the first rule (``answer there``);
what stands there is the answer. ``chance``: one in as many
sentences of the article as tell an act of the same kind (where the corpus says so). ``--module`` names another module
with ``article(seed, language, index)``.
"""

import argparse
import math
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from importlib import import_module
from itertools import pairwise
from typing import Any

from fathom.types import Document, Question
from fathom.world.names import grammar

BESIDE = {"en": 2, "zh": 3}
MOST = {"en": 5, "zh": 10}
"""Tokens of the longest answer."""
SCRIPTS = ("sentence", "with words", "answer", "answer there")
PRIOR = 20
"""Weight of the frequency of a word anywhere, in words."""
TOKEN = {"en": re.compile(r"[A-Za-z’]+|\d[\d,]*|[&-]"), "zh": re.compile(r"[\u4e00-\u9fff]|\d+")}
SENTENCE = re.compile(r"[^.?!。？！\n]+[.?!。？！]*[”’]?")
NAMED = {"en": re.compile(r"\b[A-Z][\w’&.-]*|\d[\d,]*"), "zh": re.compile(r"\d+|[一二三四五六七八九十〇零]{2,}")}
FIRST = {"Who", "What", "Which", "How", "On", "In", "By", "At", "For", "When", "Where", "To"}


def works(language: str) -> list[str]:
    """The names of works in questions, longest first."""
    return sorted(map(str, grammar(language)["works"]), key=len, reverse=True)


def form(question: Question, document: Document, language: str) -> str:
    """The question without what it is about."""
    text = question.text.replace(str(document.meta["subject"]), "*")
    for work in works(language):
        text = text.replace(work, "+")
    if language == "zh":
        return re.sub(r"[\u4e00-\u9fff]{2,3}[镇县府村]", "*", NAMED["zh"].sub("#", text))[-14:]
    return NAMED["en"].sub(lambda match: match[0] if match[0] in FIRST else "*", text)


def tokens(text: str, language: str) -> list[str]:
    """Words or characters, with numbers alike."""
    return ["#" if token[0].isdigit() else token.lower() for token in TOKEN[language].findall(text)]


def features(text: str, language: str) -> set[str]:
    """Words; in Chinese pairs of characters too."""
    known = tokens(text, language)
    return {*known, *(map("".join, pairwise(known)) if language == "zh" else ())}


def shape_of(text: str, language: str) -> tuple[str, ...]:
    """Number, name or word for each token of an answer; in Chinese numbers alone."""
    known = TOKEN[language].findall(text)
    return tuple("#" if token[0].isdigit() else "A" if token[0].isupper() else "a" for token in known)


def sentences(document: Document) -> list[tuple[int, int]]:
    """The spans of sentences; those that the corpus names as evidence are whole."""
    known = sorted({span for question in document.questions for span in question.evidence})
    spans = [
        match.span() for match in SENTENCE.finditer(document.text)
        if not any(match.start() < end and start < match.end() for start, end in known)
    ]  # fmt: skip
    return spans + known


class Scripts:
    """What is learned from articles of other seeds."""

    def __init__(self, documents: Sequence[Document], language: str) -> None:
        self.language = language
        self.right: dict[str, Counter[str]] = defaultdict(Counter)
        self.all: Counter[str] = Counter()
        self.beside: dict[str, Counter[tuple[str, ...]]] = defaultdict(Counter)
        for document in documents:
            for start, end in sentences(document):
                self.all.update(features(document.text[start:end], language))
            for question in document.questions:
                key = form(question, document, language)
                for start, end in question.evidence:
                    text = document.text[start:end]
                    self.right[key].update(features(text, language))
                    self.beside[key].update(self._around(text, question.answers))

    def _around(self, text: str, answers: Sequence[str]) -> list[tuple[str, ...]]:
        """The left side, the right side and the shape of the first answer that a sentence has."""
        near = BESIDE[self.language]
        for answer in answers:
            before, found, after = text.partition(answer)
            if found:
                sides = tokens(before, self.language)[-near:], tokens(after, self.language)[:near]
                left, right, shape = ("<", *sides[0]), (">", *sides[1]), ("=", *shape_of(answer, self.language))
                return [left, right, shape, left + right]
        return []

    def sentence(self, document: Document, question: Question, bonus: float) -> tuple[int, int]:
        """The sentence that the rule takes for the evidence."""
        right, wanted = self.right[form(question, document, self.language)], features(question.text, self.language)
        size, others = sum(right.values()), sum(self.all.values())

        def odds(word: str) -> float:
            share = self.all[word] / others
            return math.log((right[word] + PRIOR * share) / (size + PRIOR) / share)

        def value(span: tuple[int, int]) -> float:
            known = features(document.text[span[0] : span[1]], self.language)
            return sum(odds(word) for word in known if self.all[word]) + bonus * len(known & wanted)

        return max(sentences(document), key=value)

    def answer(self, document: Document, question: Question, within: tuple[int, int]) -> str:
        """What stands within a span where answers to such questions stand, and has their shape."""
        table, near = self.beside[form(question, document, self.language)], BESIDE[self.language]
        found = list(TOKEN[self.language].finditer(document.text))
        plain = ["#" if match[0][0].isdigit() else match[0].lower() for match in found]
        best, reply = 0.0, ""
        for start in range(len(found)):
            left = ("<", *plain[max(0, start - near) : start])
            if not within[0] <= found[start].start() < within[1]:
                continue
            for end in range(start + 1, min(len(found), start + MOST[self.language]) + 1):
                right = (">", *plain[end : end + near])
                text = document.text[found[start].start() : found[end - 1].end()]
                near_by = 50 * table[left + right] + math.sqrt(table[left] * table[right]) + table[left] / 50
                value = (near_by + table[right] / 50) * table["=", *shape_of(text, self.language)]
                if value > best:
                    best, reply = value, text
        return reply


def chance(module: str, document: Document, question: Question, seed: int) -> float:
    """One in as many acts of the same kind as the article tells; nan if the corpus does not say."""
    try:
        district = import_module(f"{module}.district")
    except ModuleNotFoundError:
        return math.nan
    places = [*district.district(seed, int(str(document.meta["cluster"])))]
    draft = places[int(str(document.meta["index"])) % len(places)]
    acts = Counter(event.record.act for event in draft.events)
    nouns = grammar("en" if document.language == "en" else "zh")["acts"]
    asks = {act: [*map(str, nouns[act]["ask"].values()), str(nouns[act]["noun"])] for act in acts}
    stems = {act: [re.split(r"\{\w+\}", ask) for ask in plans] for act, plans in asks.items()}
    for act, plans in stems.items():
        if any(all(part in question.text for part in parts) for parts in plans):
            return 1 / acts[act]
    return math.nan


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--module", default="fathom.world.corpus")
    parser.add_argument("--articles", type=int, default=120)
    parser.add_argument("--train", type=int, default=360)
    chosen = parser.parse_args()
    article: Any = import_module(chosen.module).article
    for language in ("en", "zh"):
        trained = [article(seed, language, index) for seed in (101, 102, 103) for index in range(chosen.train // 3)]
        scripts = Scripts(trained, language)
        hits: Counter[str] = Counter()
        chances: list[float] = []
        count = 0
        for document in (article(1, language, index) for index in range(chosen.articles)):
            for question in document.questions:
                if len(question.evidence) > 1:
                    continue
                count += 1
                place = scripts.sentence(document, question, 0)
                hits["sentence"] += place in question.evidence
                hits["with words"] += scripts.sentence(document, question, 3) in question.evidence
                whole = (0, len(document.text))
                for name, within in (("answer", whole), ("answer there", place)):
                    hits[name] += scripts.answer(document, question, within) in question.answers
                chances.append(chance(chosen.module, document, question, 1))
        known = [value for value in chances if not math.isnan(value)]
        figures = ", ".join(f"{name} {100 * hits[name] / count:.1f}" for name in SCRIPTS)
        by_chance = f"{100 * sum(known) / len(known):.1f} ({len(known)})" if known else "not known"
        print(f"{chosen.module} {language}: {count} questions, chance {by_chance}; {figures}", flush=True)


if __name__ == "__main__":
    main()
