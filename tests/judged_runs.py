"""Small runs for the tests of judging: question answering and summaries, replied to already."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from fathom.models.overflow import Overflow
from fathom.models.protocol import Call
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import this_worker
from fathom.suites import registry
from fathom.types import Draw, Plan, Reply, Sample, Score, Task

# Read by every step of the rubrics: two of three points for an answer, the first sentence supported, one point covered.
GOOD = json.dumps({"key_points": ["a", "b"], "supported": [1], "covered": [1], "fluency": 1, "correctness": 2})


def _plan(_: Draw) -> Plan:
    raise NotImplementedError


def _score(text: str, sample: Sample) -> Score:
    """The scorer without a judge: the reply is the answer."""
    said = text.strip()
    return Score(float(said in sample.targets), bool(said), said or None, "equal", "compared")


def task(name: str, rubric: str, official: str = "") -> Task:
    return Task(name, _plan, _score, "accuracy", 32, "a test", "none", rubric=rubric, official=official)


TASKS = {
    "answers": task("answers", "qa", "hundred/qa_f1"),
    "summaries": task("summaries", "summary"),
    "abstracts": task("abstracts", "similarity", "longbench_pro/Summary"),
    "orders": task("orders", "", "longbench_pro/Pairwise_Accuracy"),
    "plain": task("plain", "", "hundred/first_number"),
    "unpublished": task("unpublished", ""),
}


def install_tasks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let these be the tasks that there are."""
    monkeypatch.setattr(registry, "tasks", lambda: TASKS)


def sample(number: int, task: str = "answers", length: int = 2048, references: tuple[str, ...] = ("blue",)) -> Sample:
    return Sample(
        id=f"{task}/{number}@{length}", item=f"{task}/{number}", task=task, parts=(), targets=references, length=length,
        tokens=max(0, length - 8), asked=f"[sample {number}] Which colour is it?",
    )  # fmt: skip


def make_run(folder: Path, replies: Sequence[tuple[Sample, str | Reply]], model: str = "lab/m") -> Path:
    """A run folder that holds these replies; a text is a reply with status ``ok``."""
    folder.mkdir(exist_ok=True)
    suite = {"name": "tiny", "fingerprint": "f00d", "tokenizer": "words"}
    (folder / "run.json").write_text(json.dumps({"format": 1, "suite": suite, "model": model}))
    ledger = Ledger(folder, this_worker())
    for one, reply in replies:
        stored = Reply("ok", reply) if isinstance(reply, str) else reply
        ledger.finish(one, 1, stored, prompt_hash="abc", cost=0.5)
    ledger.close()
    return folder


@dataclass
class Judge:
    """A judge in this process: what it says to a prompt, and what it was asked."""

    says: Callable[[str], Reply | str] = lambda prompt: GOOD
    prompts: list[str] = field(default_factory=list)
    in_flight: int = 0
    most_in_flight: int = 0
    window: int | None = None
    policy: Overflow = "refuse"

    async def complete(self, prompt: str, call: Call) -> Reply:
        self.prompts.append(prompt)
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        await asyncio.sleep(0)
        self.in_flight -= 1
        said = self.says(prompt)
        return Reply("ok", said, tokens_in=100, tokens_out=10) if isinstance(said, str) else said

    async def close(self) -> None: ...
