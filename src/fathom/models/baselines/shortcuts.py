"""What replies are worth that nobody has read for: dumps of the context, and blind rules for choosing a candidate.

A score means something only above what these score. They are measured on the samples of a suite, with the scorers of
its tasks:

* dumps: all numbers of the context, all names (capitalized words), all UUIDs, the whole context, all options;
* blind rules: the longest candidate, the one with the longest run of words in common with the question, the first, the
  last, and parts in the order of the prompt, its reverse, or that of the dates or chapter numbers in them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import sqrt
from statistics import fmean, pvariance
from typing import TypeAlias

from fathom.models.baselines.guess import choice_reply, order_reply
from fathom.models.baselines.parsing import ParsedPrompt, numbered, parse_prompt
from fathom.models.baselines.retrieval import terms
from fathom.models.form import form_of
from fathom.plugins.extras import MissingLibraryError
from fathom.score.checks import checked_score
from fathom.score.registry import get_scorer, row_of
from fathom.storage.time_limits import TooLongError, within_time
from fathom.suites.registry import get_task
from fathom.tokens.length import format_length, render
from fathom.types import Sample, Task

_UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"[0-9]+")
_NAME = re.compile(r"\b[A-Z][\w’'-]*(?: [A-Z][\w’'-]*){0,3}")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_DATE = re.compile(
    rf"\b(?:(?P<day>[0-9]{{1,2}})(?:st|nd|rd|th)?(?: of)? (?P<month>{'|'.join(_MONTHS)})[a-z]*"
    rf"|(?P<before>{'|'.join(_MONTHS)})[a-z]*\.? (?P<after>[0-9]{{1,2}}))\b",
    re.IGNORECASE | re.ASCII,
)
_CHAPTER = re.compile(r"\bchapter ([0-9]+)", re.IGNORECASE)


def _listed(texts: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(texts))


def candidates(parsed: ParsedPrompt) -> Mapping[int, str]:
    """The texts to choose from, or to order, by their numbers; empty where the answer is not one of them."""
    if parsed.kind == "passage":
        return {passage.number: passage.text for passage in numbered(parsed.context, parsed.heading)}
    return parsed.pieces.texts if parsed.pieces else parsed.options


def chosen(parsed: ParsedPrompt, number: int) -> str:
    """The reply that chooses a candidate."""
    if parsed.kind in ("choice", "letter"):
        return choice_reply(number, parsed.kind)
    return f"A{number}" if parsed.kind == "label" else str(number)


def common_run(text: str, query: str) -> int:
    """The most adjacent words that a text has in common with a query."""
    words, asked = terms(text), terms(query)

    def shared(size: int) -> bool:
        runs = {tuple(asked[at : at + size]) for at in range(len(asked) - size + 1)}
        return any(tuple(words[at : at + size]) in runs for at in range(len(words) - size + 1))

    low, high = 0, len(asked)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if shared(middle) else (low, middle - 1)
    return low


def moment(text: str) -> tuple[int, ...] | None:
    """The first date or chapter number of a text, to sort by; None without any."""
    if date := _DATE.search(text):
        month = (date["month"] or date["before"]).lower()
        return (_MONTHS.index(month), int(date["day"] or date["after"]))
    return (int(chapter[1]),) if (chapter := _CHAPTER.search(text)) else None


DUMPS: Mapping[str, Callable[[ParsedPrompt], str]] = {
    "numbers": lambda parsed: _listed(_NUMBER.findall(parsed.context)),
    "names": lambda parsed: _listed(_NAME.findall(parsed.context)),
    "UUIDs": lambda parsed: _listed(_UUID.findall(parsed.context)),
    "context": lambda parsed: parsed.context,
    "options": lambda parsed: _listed(chosen(parsed, number) for number in candidates(parsed)),
}
CHOICES: Mapping[str, Callable[[Mapping[int, str], str], int]] = {
    "longest": lambda texts, _: max(texts, key=lambda number: len(texts[number])),
    "common run": lambda texts, query: max(texts, key=lambda number: common_run(texts[number], query)),
    "first": lambda texts, _: min(texts),
    "last": lambda texts, _: max(texts),
}


def orders(texts: Mapping[int, str]) -> Iterator[tuple[str, list[int]]]:
    """The order of the prompt, its reverse, and that by dates, in which parts without one come first."""
    yield "first", sorted(texts)
    yield "last", sorted(texts, reverse=True)
    dated = {number: date for number, text in texts.items() if (date := moment(text))}
    yield "dates", sorted(texts, key=lambda number: dated.get(number, (0,)))


def replies(parsed: ParsedPrompt) -> Iterator[tuple[str, str, str]]:
    """Kind of rule (``dump`` or ``blind``), its name and its reply; those that have nothing to say are left out."""
    for name, dump in DUMPS.items():
        if reply := dump(parsed):
            yield "dump", name, reply
    texts = candidates(parsed)
    if texts and parsed.kind == "order":
        yield from (("blind", name, order_reply(order)) for name, order in orders(texts))
    elif texts:
        for name, choose in CHOICES.items():
            yield "blind", name, chosen(parsed, choose(texts, parsed.question))


CLEAR = 0.05
"""A score above chance by no more than this is called equal to it."""
NAMES = {
    "common run": "the longest run of words in common with the question",
    "longest": "the longest candidate",
    "first": "the first, or the order of the prompt",
    "last": "the last, or the reverse of the order of the prompt",
    "dates": "the order of the dates and chapter numbers",
    "context": "the whole context",
    "options": "all options",
}
"""What a rule replies, where "all" and its name do not say it."""


@dataclass(frozen=True, slots=True)
class Shortcut:
    """The best of some rules on the samples of a task at a length.

    Attributes:
        task: Name of the task.
        length: Budget of the prompts in tokens.
        samples: How many were tried.
        chance: Mean score of a random valid answer.
        kind: ``dump`` or ``blind``.
        grader: ``strict`` or ``official``.
        rule: Name of the rule.
        score: Its mean score; what cannot be scored counts 0.
        error: Standard error of that mean.
    """

    task: str
    length: int
    samples: int
    chance: float
    kind: str
    grader: str
    rule: str
    score: float
    error: float

    @property
    def clear(self) -> bool:
        """Whether it exceeds chance by five points and three standard errors: the best of several is always above."""
        return self.score - self.chance > max(3 * self.error, CLEAR)

    def __str__(self) -> str:
        official = ", official" if self.grader == "official" else ""
        reply = NAMES.get(self.rule, f"all {self.rule}")
        return (
            f"{self.task} at {format_length(self.length)}: {self.score:.0%} without reading, by {reply} "
            f"(chance {self.chance:.0%}{official})"
        )


def shortcuts(samples: Iterable[Sample], texts: Mapping[str, str]) -> Iterator[Shortcut]:
    """The best dump and the best blind rule by task, length and grader.

    Nothing that a task does stops it: samples whose prompt cannot be taken apart are left out, and a task whose scorer
    does not end is not tried again.

    Args:
        samples: Samples with their recipes, in any order.
        texts: Texts of their documents by id.
    """

    def place(sample: Sample) -> tuple[str, int]:
        return sample.task, sample.length

    endless: set[str] = set()
    for (name, length), group in groupby(sorted(samples, key=place), place):
        task, tried = get_task(name), list[tuple[float, _Scores]]()
        for sample in group if name not in endless else ():
            try:
                tried.append((sample.chance, dict(_scored(task, sample, texts))))
            except TooLongError:
                endless.add(name)
                break
            except Exception:  # tasks may come from any package
                continue
        rules: dict[tuple[str, str], dict[str, None]] = {}
        for kind, grader, rule in (key for _, scores in tried for key in scores):
            rules.setdefault((kind, grader), {})[rule] = None
        for (kind, grader), names in rules.items():
            values = {rule: [scores.get((kind, grader, rule), 0.0) for _, scores in tried] for rule in names}
            best = max(values, key=lambda rule: fmean(values[rule]))
            mean, error = fmean(values[best]), sqrt(pvariance(values[best]) / len(tried))
            chance = fmean(chance for chance, _ in tried)
            yield Shortcut(name, length, len(tried), chance, kind, grader, best, mean, error)


_Scores: TypeAlias = Mapping[tuple[str, str, str], float]
"""Scores of one sample by kind, grader and rule."""


def _scored(task: Task, sample: Sample, texts: Mapping[str, str]) -> Iterator[tuple[tuple[str, str, str], float]]:
    parsed = parse_prompt(render(sample, texts), task.answer, form_of(sample, task.answer))
    for kind, rule, reply in replies(parsed):
        scorers = {"strict": partial(task.score, reply, sample)}
        if task.official:
            scorers["official"] = partial(get_scorer(task.official, "official"), row_of(reply, sample))
        for grader, score in scorers.items():
            try:
                with within_time(len(reply)):
                    value = checked_score(score()).value or 0.0
            except MissingLibraryError:  # what is not installed measures nothing
                continue
            except TooLongError:
                raise
            except Exception:  # also of official scorers, which are as released
                value = 0.0
            yield (kind, grader, rule), value
