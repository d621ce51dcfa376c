"""What replies are worth that nobody has read for: dumps of the context, and blind rules for choosing a candidate.

    python performance/shortcuts.py starter --lengths 2k,8k --items 100
    python performance/shortcuts.py tsort,bestanswer --data FOLDER --lengths 2k,8k --items 100 --seed 1

The tasks are built into a temporary folder, and each sample gets a reply from every rule that applies to it:

* dumps: all numbers of the context, all names (capitalized words), all UUIDs, the whole context, all options;
* blind rules: the longest candidate, the one with the longest run of words in common with the question, the first, the
  last, and parts in the order of the dates or chapter numbers in them.

The table has the best of each by mean score, under the rules ``strict`` and ``official``, beside the chance that the
samples declare. ``!`` marks those that exceed it by five points and by three standard errors: of several rules the
best is always somewhat above chance. A reply that a rule cannot score counts 0.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import fmean, pvariance

from fathom.models.baselines.guess import choice_reply, order_reply
from fathom.models.baselines.parsing import ParsedPrompt, numbered, parse_prompt
from fathom.models.baselines.retrieval import terms
from fathom.models.form import form_of
from fathom.score.registry import get_scorer, row_of
from fathom.suites.build import build, configure
from fathom.suites.registry import get_task
from fathom.suites.settings import BuildSettings
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import format_length, render
from fathom.types import Sample

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


@dataclass(frozen=True)
class Best:
    """The rule with the highest mean score; the standard error is that of the mean less chance."""

    name: str = "none"
    mean: float = 0.0
    error: float = 0.0

    def cell(self, chance: float) -> str:
        """The cell of the table, in percent."""
        if self.name == "none":
            return "-"
        return f"{self.mean:.0%} {self.name}" + (" !" if self.mean - chance > max(3 * self.error, CLEAR) else "")


def best(scores: Mapping[str, list[float]], samples: int) -> Best:
    """The best of some rules, each with its scores; samples to which a rule has no reply count 0."""
    padded = {name: values + [0.0] * (samples - len(values)) for name, values in scores.items()}
    made = [Best(name, fmean(values), sqrt(pvariance(values) / samples)) for name, values in padded.items()]
    return max(made, key=lambda rule: rule.mean, default=Best())


def row(task: str, length: int, samples: list[Sample], suite: BuiltSuite, texts: Mapping[str, str]) -> str:
    """One row of the table."""
    declared, recipes = get_task(task), suite.by_id()
    scores: dict[tuple[str, str], dict[str, list[float]]] = {}
    for sample in samples:
        recipe = recipes[sample.id]
        parsed = parse_prompt(render(recipe, texts), declared.answer, form_of(recipe, declared.answer))
        for kind, name, reply in replies(parsed):
            rules = {"strict": declared.score(reply, recipe)}
            if declared.official:
                rules["official"] = get_scorer(declared.official, "official")(row_of(reply, recipe))
            for rule, score in rules.items():
                scores.setdefault((kind, rule), {}).setdefault(name, []).append(score.value or 0.0)
    chance = fmean(sample.chance for sample in samples)
    cells = [
        best(scores.get((kind, rule), {}), len(samples)).cell(chance)
        for kind in ("dump", "blind")
        for rule in ("strict", "official")
    ]
    return f"| `{task}` | {format_length(length)} | {len(samples)} | {chance:.1%} | {' | '.join(cells)} |"


def table(suite: BuiltSuite) -> Iterator[str]:
    """The table of a suite, row by row."""
    yield "| task | length | samples | chance | best dump, strict | official | best blind rule, strict | official |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    texts = suite.texts()

    def place(sample: Sample) -> tuple[str, int]:
        return sample.task, sample.length

    asked = sorted((sample for sample in suite.samples() if sample.length), key=place)
    for (task, length), samples in groupby(asked, place):
        yield row(task, length, list(samples), suite, texts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("target", help="a suite, or tasks separated by commas")
    parser.add_argument("--lengths", default="2k,8k")
    parser.add_argument("--items", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    for name in ("--data", "--books", "--threads"):
        parser.add_argument(name, action="append", default=[], help=f"as {name} of `fathom build`")
    options = vars(parser.parse_args())
    target = options.pop("target")
    settings = BuildSettings(**{name: value for name, value in options.items() if value not in ([], None)})
    with tempfile.TemporaryDirectory() as folder:
        build(configure(target, settings), Path(folder) / "suite")
        for line in table(open_suite(Path(folder) / "suite")):
            print(line, flush=True)


if __name__ == "__main__":
    main()
