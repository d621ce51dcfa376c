"""The window of a model is recovered from runs: ``fathom run``, ``fathom analyze length`` and a report."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from handwritten_reader import REPLY, WORDS, Rule, make_items, save_reader
from test_extend_local_reader import LENGTHS, TABLE

from fathom.extend.methods import settled, split_name
from fathom.suites.suitefile import SampleWriter, fresh_folder, write_documents, write_manifest
from fathom.types import Json, Sample

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

PASSING = 0.856
ITEMS = 10
TASK = """
from fathom.types import Score, Task


def plan(draw):
    raise NotImplementedError  # the suite is written by the test


def score(reply, sample):
    return Score(float(reply.split() == sample.targets[0].split()), bool(reply.strip()), reply, "the same words")


TASKS = (
    Task(
        name="chain",
        plan=plan,
        score=score,
        metric="accuracy",
        max_output_tokens=3,
        description="the words of a chain",
        source="a test",
        languages=("en",),
    ),
)
"""
SCRIPT = """
import json, sys
from fathom import api

plugin, suite, out, *models = sys.argv[1:]
api.use_plugin(plugin)
runs = [f"{out}/{number}" for number in range(len(models))]
for model, run in zip(models, runs):
    api.run(suite, model, run, chat_template="never", model_args={"device": "cpu"})
found = [one for one in api.analyze_length(runs) if one.definition == "ruler" and one.task == "chain"]
print(json.dumps({one.model: [one.tokens, one.censored] for one in found}))
api.report(runs, f"{out}/report.html", title="Reading beyond a window of 256")
"""


def make_suite(folder: Path) -> Path:
    """The items of the reader, at all lengths, as a suite."""
    manifest: dict[str, Json] = {
        "fathom": "suite",
        "suite": "chains",
        "tokenizer": "words",
        "fingerprint": "c4a1",
        "inputs": {},
    }
    manifest |= {"notes": [], "left_out": [], "left_out_in_all": 0, "duplicates": 0, "tasks": ["chain"]}
    with fresh_folder(folder) as fresh:
        write_documents(fresh, [])
        with SampleWriter(fresh) as writer:
            for length in LENGTHS:
                for number, item in enumerate(make_items(length, ITEMS)):
                    writer.add(
                        Sample(
                            id=f"item{number}@{length}",
                            item=f"item{number}",
                            task="chain",
                            parts=(" ".join(WORDS[word] for word in item.prompt),),
                            targets=(" ".join(WORDS[word] for word in item.answer),),
                            length=length,
                            tokens=length,
                            chance=0.0,
                            facets={},
                            inputs={},
                        )
                    )
        count = {"chain": len(LENGTHS) * ITEMS}
        write_manifest(fresh, manifest | {"lengths": list(LENGTHS), "samples": count})
    return folder


def expected(query: str) -> int:
    """The longest length up to which the rule reads enough, as its place in LENGTHS; -1 if there is none."""
    rule = Rule(settled(split_name(f"hf/x?extend={query}")[1], 256))
    for place, length in enumerate(LENGTHS):
        items = make_items(length, ITEMS)
        if sum(map(rule.right, items)) < PASSING * len(items):
            return place - 1
    return len(LENGTHS) - 1


@pytest.mark.slow
@pytest.mark.timeout(1800)  # fifteen runs of fifty prompts, in one process
def test_every_window_is_recovered_within_one_length(tmp_path: Path) -> None:
    reader, suite = save_reader(tmp_path / "reader"), make_suite(tmp_path / "suite")
    divisors = tmp_path / "divisors.json"
    queries: dict[str, str] = {}  # the one to run, by the one of the table
    for query in TABLE:
        before, given, numbers = query.partition("long_factor=")
        if given:
            divisors.write_text(f"[{numbers}]", "utf-8")
        # Reach is what limits a run: the reader is asked beyond it too.
        run = f"{before}{given}{divisors if given else ''}"
        queries[query] = run if "length=" in run else f"{run}&length={LENGTHS[-1] + REPLY}"
    queries.pop("selfextend&window=128&group=8")  # whose reach ends before the longest length, which is refused
    (tmp_path / "chain.py").write_text(TASK, "utf-8")
    models = {query: f"hf/{reader}?extend={run}" for query, run in queries.items()}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, tmp_path / "chain.py", suite, tmp_path / "runs", *models.values()],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    for query, model in models.items():
        tokens, censored = found[model]
        place = -1 if censored == "below" else LENGTHS.index(tokens)
        assert abs(place - expected(query)) <= 1, (query, tokens, censored)
    page = (tmp_path / "runs" / "report.html").read_text("utf-8")
    assert all(f"extend={query.split('&')[0]}" in page for query in queries)
