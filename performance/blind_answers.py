"""Are the gold answers of a built suite right? Somebody answers its shortest prompts without seeing them.

    python performance/blind_answers.py write SUITE FOLDER [--samples 30] [--tasks TASK,...]
    python performance/blind_answers.py score SUITE FOLDER ANSWERS [--at-most 0.5]

``write`` makes two files. ``FOLDER/prompts.jsonl`` (``id``, ``prompt``) is for a person or a model, who answers from
each prompt alone; ``FOLDER/gold.jsonl`` (``id``, ``task``, ``length``, ``gold``) stays with whoever checks. Of each
task it takes the items with the shortest prompts, each once: these can be read whole, so that an answer other than the
gold one is a reason to look at the gold answer, the question and the metric.

``score`` reads ANSWERS, JSONL with ``id`` and ``answer`` (a text), scores them by the metric of each task, and prints
the agreement with the gold answers and every answer with a low score. Answers that are missing or cannot be scored are
counted, not scored 0. A suite built with other options has other prompts: both steps need the same folder SUITE.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import format_length, render
from fathom.types import FathomError, Sample, Score

PROMPTS, GOLD = "prompts.jsonl", "gold.jsonl"


@dataclass(frozen=True)
class Answered:
    """One sample that was written, with its answer and score; both None where there is no answer."""

    sample: Sample
    answer: str | None
    score: Score | None


def chosen(suite: BuiltSuite, count: int, tasks: Sequence[str] | None = None) -> list[Sample]:
    """Of each task ``count`` items, each with its shortest prompt, in the order of tasks, lengths and the suite.

    Prompts without their context, and those truncated from longer ones, are left out: not all of them can be answered.
    """
    shortest: dict[str, dict[str, Sample]] = {}
    for sample in suite.samples(tasks, parts=False):
        if sample.length and not {"cut_from", "whole_tokens"} & set(sample.facets):
            items = shortest.setdefault(sample.task, {})
            if sample.item not in items or sample.length < items[sample.item].length:
                items[sample.item] = sample
    return [
        sample for items in shortest.values() for sample in sorted(items.values(), key=lambda one: one.length)[:count]
    ]


def write(suite: BuiltSuite, folder: Path, count: int, tasks: Sequence[str] | None = None) -> list[Sample]:
    """Write prompts and gold answers into two files.

    Raises:
        FathomError: The suite has no such samples, or the folder already has such files.
    """
    if found := [name for name in (PROMPTS, GOLD) if (folder / name).exists()]:
        raise FathomError(f"{folder / found[0]}: is there already; choose a new folder, so that no answers lose theirs")
    samples = chosen(suite, count, tasks)
    if not samples:
        whose = f" of {', '.join(tasks)}" if tasks else ""
        raise FathomError(f"{suite.folder}: no samples{whose} with their whole context")
    texts, recipes = suite.texts(), suite.by_id()
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / PROMPTS).open("w", encoding="utf-8") as prompts, (folder / GOLD).open("w", encoding="utf-8") as gold:
        for sample in samples:
            prompts.write(_line(id=sample.id, prompt=render(recipes[sample.id], texts)))
            gold.write(_line(id=sample.id, task=sample.task, length=sample.length, gold=list(sample.targets)))
    return samples


def _line(**record: object) -> str:
    return json.dumps(record, ensure_ascii=False) + "\n"


def read(path: Path, *fields: str) -> dict[str, Mapping[str, object]]:
    """The records of a JSONL file by id.

    Raises:
        FathomError: The file cannot be read, a line is no record with these fields, a text is expected, or an id
            stands twice.
    """
    records: dict[str, Mapping[str, object]] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise FathomError(f"{path}: cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except ValueError as error:
            raise FathomError(f"{path}: line {number}: not JSON: {error}") from error
        for field in ("id", *fields):
            if not isinstance(record, dict) or not isinstance(record.get(field), str):
                raise FathomError(f'{path}: line {number}: expected {{"id": ..., "{fields[0]}": ...}} with texts')
        if record["id"] in records:
            raise FathomError(f"{path}: line {number}: the id {record['id']!r} stands twice; keep one of its answers")
        records[record["id"]] = record
    return records


def score(suite: BuiltSuite, folder: Path, answers: Path) -> list[Answered]:
    """Score answers by the metrics of their tasks, in the order of the gold file.

    Raises:
        FathomError: A file cannot be read, an answer is to nothing that was asked, or the suite is another one.
    """
    asked, given = read(folder / GOLD, "task"), read(answers, "answer")
    if strange := [id for id in given if id not in asked]:
        raise FathomError(f"{answers}: {folder / PROMPTS} has no id {strange[0]!r}; copy ids from there")
    samples = {sample.id: sample for sample in suite.samples(parts=False) if sample.id in asked}
    found = []
    for id, gold in asked.items():
        if id not in samples or list(samples[id].targets) != gold.get("gold"):
            raise FathomError(f"{suite.folder}: {id!r} is missing or has another gold answer than in {folder / GOLD}")
        answer = str(given[id]["answer"]) if id in given else None
        value = None if answer is None else get_task(samples[id].task).score(answer, samples[id])
        found.append(Answered(samples[id], answer, value))
    return found


def printed(found: Sequence[Answered], at_most: float) -> str:
    """A table of agreement by task, and the answers whose score is at most ``at_most`` or that have none."""
    lines = [f"{'task':32} {'metric':20} asked answered scored  agree   mean"]
    for name in dict.fromkeys(one.sample.task for one in found):
        of_task = [one for one in found if one.sample.task == name]
        scores = [one.score.value for one in of_task if one.score and one.score.value is not None]
        mean = f"{sum(scores) / len(scores):.3f}" if scores else "-"
        answered = sum(one.answer is not None for one in of_task)
        agree = sum(value > at_most for value in scores)
        lines.append(
            f"{name:32} {get_task(name).metric:20} {len(of_task):5} {answered:8} {len(scores):6} {agree:6}  {mean:>5}"
        )
    low = [one for one in found if one.score and (one.score.value is None or one.score.value <= at_most)]
    lines.append(f"\n{len(low)} answers with a score of at most {at_most:g}, or without one")
    for one in low:
        value = "none" if one.score is None or one.score.value is None else f"{one.score.value:.3f}"
        why = f"  ({one.score.detail})" if one.score and one.score.detail else ""
        lines += [
            f"\n{one.sample.id}  score {value}{why}",
            f"  gold    {json.dumps(list(one.sample.targets), ensure_ascii=False)}",
            f"  answer  {json.dumps(one.answer, ensure_ascii=False)}",
        ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    steps = parser.add_subparsers(dest="step", required=True)
    first = steps.add_parser("write", help="write prompts and gold answers")
    first.add_argument("suite", type=Path)
    first.add_argument("folder", type=Path)
    first.add_argument("--samples", type=int, default=30, help="of each task; 30 by default")
    first.add_argument("--tasks", type=lambda text: text.split(","), help="only these tasks, separated by commas")
    second = steps.add_parser("score", help="compare answers with the gold answers")
    second.add_argument("suite", type=Path)
    second.add_argument("folder", type=Path, help="folder that `write` made")
    second.add_argument("answers", type=Path, help="JSONL with id and answer")
    second.add_argument("--at-most", type=float, default=0.5, help="highest score of a disagreement; 0.5 by default")
    line = parser.parse_args()
    try:
        suite = open_suite(line.suite)
        if line.step == "write":
            samples = write(suite, line.folder, line.samples, line.tasks)
            for name in dict.fromkeys(sample.task for sample in samples):
                lengths = sorted({sample.length for sample in samples if sample.task == name})
                count = sum(sample.task == name for sample in samples)
                print(f"{name:32} {count:4} prompts at {', '.join(map(format_length, lengths))}")
        else:
            print(printed(score(suite, line.folder, line.answers), line.at_most))
    except FathomError as error:
        parser.exit(2, f"blind_answers: {error}\n")


if __name__ == "__main__":
    main()
