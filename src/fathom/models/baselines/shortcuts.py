"""What replies are worth that nobody has read for: dumps of the context, and blind rules for choosing a candidate.

A score means something only above what these score. They are measured on the samples of a suite, with the scorers of
its tasks:

* dumps: all numbers of the context, all names (capitalized words), all UUIDs, the whole context, all options;
* blind rules: the longest candidate, the one with the longest run of words in common with the question, the first, the
  last, and parts in the order of the prompt, its reverse, or that of the dates or chapter numbers in them.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import groupby
from math import sqrt
from statistics import fmean, pvariance

from fathom.models.baselines.guess import choice_reply, order_reply
from fathom.models.baselines.parsing import ParsedPrompt, numbered, parse_prompt
from fathom.models.baselines.retrieval import terms
from fathom.models.form import form_of
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
    re.IGNORECASE,
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
    dated = {number: found for number, text in texts.items() if (found := moment(text))}
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
        rule: Name of the rule; "" if none has anything to reply.
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

    Args:
        samples: Samples with their recipes, in any order.
        texts: Texts of their documents by id.
    """

    def place(sample: Sample) -> tuple[str, int]:
        return sample.task, sample.length

    for (name, length), group in groupby(sorted(samples, key=place), place):
        tried = list(group)
        task, chance = get_task(name), fmean(sample.chance for sample in tried)
        scores: dict[tuple[str, str], dict[str, list[float]]] = {}
        with suppress(TooLongError):  # so that a task is measured on fewer samples, or not
            for sample in tried:
                parsed = parse_prompt(render(sample, texts), task.answer, form_of(sample, task.answer))
                for kind, rule, reply in replies(parsed):
                    for grader, score in _scores(task, reply, sample):
                        scores.setdefault((kind, grader), {}).setdefault(rule, []).append(score)
        for (kind, grader), by_rule in scores.items():
            best = max((_mean(values, len(tried)), rule) for rule, values in by_rule.items())
            (score, error), rule = best
            yield Shortcut(name, length, len(tried), chance, kind, grader, rule, score, error)


def _scores(task: Task, reply: str, sample: Sample) -> Iterator[tuple[str, float]]:
    scorers = {"strict": partial(task.score, reply, sample)}
    if task.official:
        scorers["official"] = partial(get_scorer(task.official, "official"), row_of(reply, sample))
    for grader, score in scorers.items():
        value = None
        try:
            with within_time(len(reply)):
                value = score().value
        except TooLongError:
            raise
        except Exception:  # scorers may come from any package, and official ones are as released
            pass
        yield grader, value or 0.0


def _mean(scores: Sequence[float], samples: int) -> tuple[float, float]:
    """The mean, and its standard error; samples to which a rule has no reply count 0."""
    padded = [*scores, *[0.0] * (samples - len(scores))]
    return fmean(padded), sqrt(pvariance(padded) / samples)
