"""Results as LongBench Pro's released code writes them: summaries, and scored replies."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import polars as pl

from fathom.benchmarks.pro.secondary_tasks import DIFFICULTIES, LANGUAGES, LENGTHS, PRIMARY, REQUIREMENTS, SECONDARY
from fathom.rows import rows_from_results
from fathom.suites.registry import results
from fathom.types import Tell

GROUPS: Mapping[str, Sequence[str]] = {
    "token_length": tuple(LENGTHS),
    "contextual_requirement": REQUIREMENTS,
    "difficulty": DIFFICULTIES,
    "primary_task": PRIMARY,
    "language": tuple(LANGUAGES),
}


def falling(score: float) -> Iterator[float]:
    """Scores of which each is a little lower than the one before."""
    return (score * 0.998**number for number in count())


def make_summary(scores: Iterator[float], *, repeats: int = 3) -> dict[str, object]:
    """A summary that takes its scores one after the other."""
    summary: dict[str, object] = {
        "date": "2025-12-08",
        "total_questions_num": 1500,
        "inference_iterations": repeats,
        "total_samples_num": 1500 * repeats,
        "fail_samples_num": 4,
        "inference_inconsistent_samples_num": 0,
        "average_overall_metric": next(scores),
    }
    for run in range(1, repeats + 1):
        summary[f"inference_iteration_{run}_overall_metric"] = next(scores)
    for name, groups in GROUPS.items():
        summary[f"average_{name}_metric"] = {group: next(scores) for group in groups}
    for n in range(1, repeats + 1):
        dimensions = {name: {group: next(scores) for group in groups} for name, groups in GROUPS.items()}
        summary[f"BoN-{n}"] = {"overall_metric": next(scores), **dimensions}
        summary[f"pass@{n}"] = next(scores)
    return summary


def write_summary(folder: Path, model: str, mode: str, score: float = 0.5) -> Path:
    """The file of one summary of three repeats."""
    file = folder / model / f"{mode}_context-120000_bon-3_summary.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(make_summary(falling(score))), encoding="utf-8")
    return file


def write_results(folder: Path) -> Path:
    """Summaries of three models, of which two were asked with thinking and without, and what they are."""
    for model, mode, score in (
        ("deep-1", "thinking", 0.7),
        ("deep-1", "nonthinking", 0.6),
        ("small-7b", "thinking", 0.2),
        ("small-7b", "nonthinking", 0.3),
        ("only-thinks", "thinking", 0.65),
    ):
        write_summary(folder, model, mode, score)
    kinds = {"deep-1": "Mixed", "small-7b": "Instruct", "only-thinks": "Thinking"}
    (folder / "model_info.json").write_text(json.dumps({model: {"type": kind} for model, kind in kinds.items()}))
    return folder


def make_reply(number: int = 0, repeat: int = 1, **fields: object) -> dict[str, object]:
    """A scored reply."""
    task = SECONDARY[number % len(SECONDARY)]
    return {
        "id": f"q{number}",
        "context": "left out",
        "language": list(LANGUAGES)[number % 2],
        "token_length": list(LENGTHS)[number % 6],
        "primary_task": task.primary,
        "secondary_task": task.name,
        "contextual_requirement": task.requirement,
        "difficulty": DIFFICULTIES[number % 4],
        "answer": ["d1"],
        "bon_idx": repeat,
        "prediction": "[Answer]\nd1",
        "metric": (number % 11) / 10,
        **fields,
    }


def write_replies(folder: Path, replies: Sequence[Mapping[str, object]], mode: str = "nonthinking") -> Path:
    """A file of scored replies."""
    file = folder / f"{mode}_context-120000_bon-3_evaluation.jsonl"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(json.dumps(reply, ensure_ascii=False) + "\n" for reply in replies), encoding="utf-8")
    return file


def rows_from_longbench_pro(path: Path, tell: Tell | None = None) -> pl.DataFrame:
    """Results of LongBench Pro's released code as a rows table."""
    return rows_from_results(results()["longbench-pro"], path, tell)
