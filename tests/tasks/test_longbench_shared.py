"""LongBench and MiniLongBench on the data at hand, and on what their released scorer says of real replies."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from fathom.benchmarks.longbench.records import ANCHORS
from fathom.score.registry import get_scorer, row_of
from fathom.suites.registry import get_suite, get_task
from made_records import (
    build_records,
    prompts_of,
    row_in,
)


def test_the_237_items_are_the_published_ones(shared: Path) -> None:
    import numpy as np

    folder = shared / "data/minilongbench"
    anchors = np.load(folder / "anchors.npz")["anchor"]
    found = set()
    for task in json.loads((folder / "tasks.json").read_text()):
        found |= {task["start"] + row for row in ANCHORS[task["task"]]}
    assert found == set(anchors.tolist())


@pytest.mark.slow
def test_the_shared_records_of_longbench(shared: Path, tmp_path: Path) -> None:
    suite = build_records("longbench", tmp_path, [shared / "data/longbench/v1"], tokenizer=None)
    samples = list(suite.samples())
    counts = {name: sum(sample.task == name for sample in samples) for name in suite.manifest["tasks"]}
    assert counts == {
        "longbench_multi_news": 140,
        "longbench_multifieldqa_zh": 139,
        "longbench_passage_retrieval_zh": 133,
    }
    for sample in samples:
        task = get_task(sample.task)
        assert all(task.score(target, sample).value == pytest.approx(1) for target in sample.targets), sample.id


@pytest.mark.slow
def test_the_shared_samples_hold_the_texts_of_the_records_of_their_rows(shared: Path, tmp_path: Path) -> None:
    records, mini = (
        build_records(suite, tmp_path, [shared / "data" / folder])
        for suite, folder in (("longbench", "longbench/v1"), ("mini", "minilongbench"))
    )
    prompts = {sample.item: prompt for sample, prompt in prompts_of(mini)}
    texts, checked = records.texts(), 0
    for sample in records.samples():
        if sample.item in prompts:
            (context,) = (part for part in sample.parts if not isinstance(part, str))
            assert texts[context.doc][context.start : context.end] in prompts[sample.item]
            assert sample.asked in prompts[sample.item]
            checked += 1
    assert checked == 25


@pytest.mark.slow
def test_the_shared_samples_of_minilongbench(shared: Path, tmp_path: Path) -> None:
    suite = build_records("mini", tmp_path, [shared / "data/minilongbench"], tokenizer=None)
    samples = list(suite.samples())
    assert len(samples) == 167
    assert {sample.item for sample in samples} <= set(get_suite("mini").only)
    assert not any("whole_tokens" in sample.facets for sample in samples)
    for sample in samples:
        values = [get_task(sample.task).score(target, sample).value for target in sample.targets]
        assert values == [pytest.approx(1)] * len(values), sample.id
    # Replies of a real model: what the released scorer gives them.
    with gzip.open(shared / "golden/real/minilongbench.jsonl.gz", "rt", encoding="utf-8") as stream:
        rows = [json.loads(line) for line in stream]
    known = {row["case_id"].split("/")[2]: row for row in rows if row["suite"] == "longbench_v1"}
    for sample in samples:
        golden = known[f"{sample.inputs['dataset']}:{row_in(sample)}"]
        score = golden.get("extra", {}).get("score_with_difflib_backend", golden["score"])
        row = row_of(golden["prediction"], sample)
        assert get_scorer(get_task(sample.task).official, "official")(row).value == pytest.approx(score, abs=1e-9)
