"""Whether answers from the text alone agree with the facts of the suite ``world``.

python performance/world_solvers.py --items 10000 [--tasks T3.2 T8.2] [--first 0] [--seed 1] [--dials]

For each task and language: items on which the solver that has only the text disagrees with the facts, items that it
still answers when the papers with evidence are deleted, gold answers that do not score 1 or empty ones that do not
score 0 under either rule, and milliseconds an item of processor time. The answer of a summary is the list of its facts.
``--first`` leaves out items before this one, which an earlier run checked. ``--dials`` does the same at both ends of
every dial.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from fathom.benchmarks.pro import official
from fathom.benchmarks.pro.secondary_tasks import SECONDARY
from fathom.benchmarks.world.tasks import MARK, asked
from fathom.score.registry import ScoringRow, get_scorer
from fathom.types import Facet
from fathom.world.dials import HEEDED, dials_of
from fathom.world.families import FAMILIES
from fathom.world.types import Family, Language, Passage, Problem

FILLERS = 8
FIRST = 1000
"""Items that are also scored and solved without their evidence."""
METRICS = {task.code: task.metric for task in SECONDARY}
COMPARED = {"NDCG": official.ndcg, "Pairwise_Accuracy": official.pairwise, "Accuracy": official.accuracy,
            "F1_Score": official.f1, "SubEM": official.sub_em}  # fmt: skip


def context(passages: list[Passage]) -> str:
    """The text of passages in the order of their places."""
    ordered = sorted(passages, key=lambda passage: passage.place)
    return "\n\n".join(f"{passage.title}\n{passage.text}" if passage.title else passage.text for passage in ordered)


def agree(code: str, gold: tuple[str, ...], solved: tuple[str, ...]) -> bool:
    """Whether an answer is as good as the gold one and no longer."""
    metric = COMPARED.get(METRICS[code])
    if metric is None or not solved:
        return gold == solved
    return len(gold) == len(solved) and metric(gold, solved) == 1


def ill_scored(code: str, problem: Problem, language: Language) -> bool:
    """Whether a rule gives the gold answer less than 1 or an empty one more than 0."""
    gold = problem.references or problem.answers
    reply = f"{MARK[language]}\n" + "\n".join(gold)
    for rule in ("strict", "official"):
        score = get_scorer(f"longbench_pro/{METRICS[code]}", rule)
        # The released code compares the whole reply with the references, the marker too.
        replies = (gold[0], "") if problem.references else (reply, MARK[language])
        full, empty = (score(ScoringRow(text, list(gold), language=language)).value for text in replies)
        if full is None or full < 1 - 1e-6 or empty:
            return True
    return False


def ends(code: str) -> Iterator[Mapping[str, Facet]]:
    """The settings of a task in which one dial is at an end."""
    for name, dial in HEEDED[code].items():
        numbers = (dial.read(f"{end:g}") for end in (dial.least, dial.most) if dial.most >= dial.least)
        yield from ({name: value} for value in (*dial.words, *numbers) if value is not None and value != dial.default)


def check(family: Family[Any], code: str, language: Language, facts: Any, number: int, counts: Counter[str]) -> None:
    """Count what is wrong with an item in a language, and its milliseconds."""
    passages, problem = list(family.passages(facts, language)), family.problem(facts, code, language)
    fillers, question = list(islice(family.siblings(facts, language), FILLERS)), asked(problem, language)
    half = FILLERS // 2
    text = context([*fillers[:half], *passages, *fillers[half:]])
    solved = family.solve(text, question, code, language)
    if not agree(code, problem.answers, solved):
        counts["disagree"] += 1
        print(f"{code} {language} {number}: facts {problem.answers}, text {solved}")
    if number < FIRST:
        counts["ill scored"] += ill_scored(code, problem, language)
        kept = [passage for passage in passages if not passage.evidence]
        try:
            without = family.solve(context([*kept, *fillers]), question, code, language)
        except (StopIteration, RuntimeError, IndexError, ValueError, KeyError):
            without = ()
        counts["without evidence"] += agree(code, problem.answers, without)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--items", type=int, default=500)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--tasks", nargs="*", default=[])
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dials", action="store_true")
    chosen = parser.parse_args()
    languages: tuple[Language, ...] = ("en", "zh")
    for family in FAMILIES:
        for code in family.codes if not chosen.tasks else [code for code in family.codes if code in chosen.tasks]:
            for setting in ends(code) if chosen.dials else [{}]:
                started, counts = time.process_time(), {language: Counter[str]() for language in languages}
                for number in range(chosen.first, chosen.items):
                    facts = family.facts(code, chosen.seed, number, dials_of(setting))
                    for language in languages:
                        check(family, code, language, facts, number, counts[language])
                size = chosen.items - chosen.first
                each = 1000 * (time.process_time() - started) / size
                for language, count in counts.items():
                    print(
                        f"{code:6}{language}  {setting or ''}  disagree {count['disagree']} of {size}, without "
                        f"evidence {count['without evidence']}, ill scored {count['ill scored']} of the first {FIRST}, "
                        f"{each:.1f} ms an item in both languages",
                        flush=True,
                    )


if __name__ == "__main__":
    main()
