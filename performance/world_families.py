"""Whether answers from the text alone agree with the facts, and what rules that cannot read score.

python performance/world_families.py --items 10000 [--tasks T8.3 T9.1] [--show 10] [--hops 2] [--near 4]

For each task and language, in percent: items on which the solver that reads the text disagrees with the facts; the
score of the gold answer and of an empty one; items that the solver still answers when the evidence is deleted; the
score of rules that know the candidates and do not read, less that of a random choice. ``--show`` prints whole items.
"""

import argparse
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from random import Random
from typing import Any, get_args

from fathom.benchmarks.pro import official
from fathom.world.families import FAMILIES
from fathom.world.types import Dials, Family, Language, Passage, Problem
from fathom.world.wording import Candidates

SCORES = {"T8.3": official.f1, "T10.1": official.sub_em, "T10.2": official.sub_em}
SIBLINGS = 12


def score(code: str, gold: Sequence[str], lines: Sequence[str]) -> float:
    """The metric of a task, 0 for an empty answer."""
    if not lines:
        return 0.0
    metric = official.accuracy if code.startswith("T11") else SCORES.get(code, official.f1)
    return metric([official.fold(line) for line in gold], [official.fold(line) for line in lines])


def context(passages: Sequence[Passage]) -> str:
    """A context of passages, in their order."""
    return "\n\n".join(passage.text for passage in sorted(passages, key=lambda passage: passage.place))


def asked(problem: Problem) -> str:
    """A question with its options as lines."""
    return "\n".join([problem.question, *map(". ".join, zip("ABCD", problem.options, strict=False))])


def blind_answers(groups: Candidates, problem: Problem, text: str) -> Iterator[tuple[str, list[str]]]:
    """The answers of rules that do not read; those of the question alone are the rules ``question`` and ``longest``."""
    rng = Random(problem.question)
    orders: dict[str, Callable[[tuple[str, str]], float]] = {
        "question": lambda group: rng.random(),
        "longest": lambda group: -len(group[0]),
        "first": lambda group: place(group[0], text),
        "last": lambda group: -place(group[0], text, last=True),
        "most frequent": lambda group: -text.count(group[0]),
    }
    for rule, key in orders.items():
        answers = []
        for group, wanted in groups:
            group = sorted(group)
            rng.shuffle(group)
            answers += [line for _, line in sorted(group, key=key)[:wanted]]
        yield rule, answers


def place(name: str, text: str, last: bool = False) -> int:
    """Where a name is first or last in a text."""
    return text.rfind(name) if last else text.find(name)


def check(family: Any, code: str, language: Language, count: int, dials: Dials) -> dict[str, float]:
    """The figures of a task in a language."""
    sums: dict[str, float] = defaultdict(float)
    for number in range(count):
        facts = family.facts(code, 1, number, dials)
        problem = family.problem(facts, code, language)
        passages = family.passages(facts, language)
        siblings = list(islice(family.siblings(facts, language), SIBLINGS))
        text = context([*passages, *siblings])
        question = asked(problem)
        answers = family.solve(text, question, code, language)
        if answers != problem.answers and sums["disagree"] < 3:
            print(code, language, number, "facts", problem.answers, "text", answers)
        sums["disagree"] += answers != problem.answers
        sums["gold"] += score(code, problem.answers, problem.answers)
        sums["empty"] += score(code, problem.answers, ())
        deleted = family.solve(context(siblings), question, code, language)
        sums["without evidence"] += deleted == problem.answers
        sums["chance"] += problem.chance
        groups = family.candidates(facts, code, language)
        # The chance of a choice of several is what naming all scores; rules name as many as are right.
        fair = groups[0][1] / len(groups[0][0]) if groups[0][1] > 1 and problem.chance else problem.chance
        for rule, lines in blind_answers(groups, problem, text):
            sums[rule] += score(code, problem.answers, lines) - fair
    rules = ("question", "longest", "first", "last", "most frequent")
    figures = {name: sums[name] / count for name in ("disagree", "gold", "empty", "without evidence", "chance", *rules)}
    return {name: 100 * value for name, value in figures.items()}


def show(family: Family[Any], code: str, language: Language, count: int, dials: Dials) -> None:
    """Whole items."""
    for number in range(count):
        facts = family.facts(code, 2, number, dials)
        problem = family.problem(facts, code, language)
        siblings = islice(family.siblings(facts, language), 3)
        print(f"======== {code} {language} {number}\n{context([*family.passages(facts, language), *siblings])}")
        print(f"-------- {asked(problem)}\n-------- {problem.answers} chance {problem.chance:.3f}\n")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--tasks", nargs="*", default=[])
    parser.add_argument("--show", type=int, default=0)
    parser.add_argument("--hops", type=int, default=2)
    parser.add_argument("--near", type=int, default=4)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--paraphrase", type=float, default=0.0)
    parser.add_argument("--unanswerable", action="store_true")
    chosen = parser.parse_args()
    dials = Dials(chosen.hops, chosen.near, chosen.paraphrase, chosen.noise, chosen.unanswerable)
    for family in FAMILIES:
        for code in family.codes:
            for language in get_args(Language):
                if (chosen.tasks and code not in chosen.tasks) or not hasattr(family, "candidates"):
                    continue
                if chosen.show:
                    show(family, code, language, chosen.show, dials)
                    continue
                started = time.process_time()
                figures = check(family, code, language, chosen.items, dials)
                each = 1000 * (time.process_time() - started) / chosen.items
                print(f"{code:6}{language}", *(f"{name} {value:.2f}" for name, value in figures.items()), end=" ")
                print(f"ms an item {each:.1f}", flush=True)


if __name__ == "__main__":
    main()
