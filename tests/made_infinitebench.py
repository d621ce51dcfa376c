"""Made-up records of InfiniteBench, in the form in which its authors publish them; builds of LongLeader's tasks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from engine_calls import configure
from fathom.benchmarks.leader import icl_tasks, record_tasks
from fathom.benchmarks.leader.infinitebench_records import ABOUT
from fathom.benchmarks.leader.prompts import SHORT
from fathom.suites.build import build
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.types import Grid
from made import make_document
from made_records import write_rows

SUMMARY = "A keeper is sought on every page, and found on the last one. All are glad of it."


def make_infinite(dataset: str, number: int, sentences: int = 12) -> dict[str, Any]:
    """A record of one data set; right choices go round from A to D."""
    made = make_document(number, "en", sentences)
    keeper = made.questions[0].answers[0]
    record: dict[str, Any] = {"id": number, "context": made.text, "input": "", "answer": [SUMMARY], "options": []}
    names = [f"Keeper {letter}{number}" for letter in "abcd"]
    if dataset == "longbook_qa_eng":
        return {**record, "input": f"Who keeps volume {number} of {{asked}}?", "answer": [keeper, keeper.lower()]}
    if dataset == "longbook_choice_eng":
        question = f"Who keeps volume {number} after all?"
        return {**record, "input": question, "answer": [names[number % 4]], "options": names}
    if dataset == "code_debug":
        functions = [f"package.module{number}.{name}" for name in ("read", "write", "parse", "close")]
        code = "".join(
            f"def {name.rpartition('.')[2]}(x):\n    return x  # {made.text[:200]}\n\n\n" for name in functions
        )
        return {**record, "context": code, "answer": functions[number % 4], "options": functions}
    if dataset == "math_find":
        numbers = random.Random(number).choices(range(10, 90), k=9 * sentences)
        request = "You should answer with only one number, no other words. The largest number of the list is: "
        return {**record, "context": str(numbers), "input": request, "answer": max(numbers)}
    return record


def write_infinite(folder: Path, count: int = 4, datasets: Sequence[str] = tuple(ABOUT), sentences: int = 12) -> Path:
    """Files of data sets, ``math_find.jsonl`` and so on, in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for dataset in datasets:
        write_rows(folder / f"{dataset}.jsonl", [make_infinite(dataset, number, sentences) for number in range(count)])
    return folder


GRIDS = {**record_tasks.GRIDS, **icl_tasks.GRIDS}
SOURCES = (
    *(f"longbench_{dataset}" for dataset in SHORT),
    "minilongbench",
    *record_tasks.AUTHORS,
    *(f"infinitebench_{dataset}" for dataset in ABOUT),
    *("dialogre", "longicl_dialogre", "fewnerd", "fewnerd_demos"),
)
"""The data sources of the tasks over records."""


def build_leader(
    tasks: Sequence[str], folder: Path, data: Sequence[Path], *, lengths: Sequence[int] = (), **choices: Any
) -> BuiltSuite:
    """A suite of some tasks, at their own lengths unless others are named."""
    given = {"tokenizer": "words", "items": 400, **choices}
    wanted = configure("longbench_musique", data=[str(path) for path in data], **given)
    grids = tuple((name, Grid(wanted.items, tuple(lengths) or GRIDS[name].lengths)) for name in tasks)
    wanted = replace(wanted, tasks=tuple(tasks), sources=(("record", SOURCES),), grids=grids)
    return open_suite(build(wanted, folder / "leader-suite", force=True).folder)
