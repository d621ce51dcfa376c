"""Prompts of LongBench that are longer than any length of the build."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import Call
from fathom.benchmarks.longbench.prompts import PROMPTS
from fathom.tokens.tokenizers import get_tokenizer
from made_records import (
    build_records,
    make_record,
    make_template,
    prompts_of,
    write_records,
    write_rows,
    write_templates,
)


@pytest.mark.slow
@settings(max_examples=12)
@given(
    dataset=st.sampled_from(["qasper", "vcsum", "trec", "lcc", "repobench-p", "passage_retrieval_zh"]),
    length=st.integers(150, 900),
    sentences=st.integers(1, 120),
    official=st.booleans(),
    tokenizer=st.sampled_from(["words", "tekken"]),
)
def test_a_prompt_that_is_too_long_keeps_its_ends(
    tmp_path_factory: pytest.TempPathFactory, dataset: str, length: int, sentences: int, official: bool, tokenizer: str
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    data = write_templates(write_records(folder / "data", 1, [dataset], sentences=sentences))
    choices: dict[str, Any] = {"lengths": (length, 2 * length), "tokenizer": tokenizer}
    found = prompts_of(
        build_records(f"longbench_{dataset}", folder, [data], prompts="official" if official else "own", **choices)
    )
    ((sample, prompt),) = found
    count, record = get_tokenizer(tokenizer).count, make_record(dataset, 0, sentences)
    first, last = make_template(dataset).split("{context}") if official else PROMPTS[dataset]
    whole = first + record["context"] + last.replace("{input}", record["input"])
    assert count(prompt) <= sample.length
    if count(whole) <= 2 * length - 16:
        assert prompt == whole
        assert sample.length == length or count(whole) > length - 16
    if prompt != whole:
        assert sample.length == 2 * length
        assert sample.tokens >= 2 * length * 99 // 100
        assert int(sample.facets["whole_tokens"]) > 2 * length
        kept = len(prompt)
        split = next((n for n in range(kept) if prompt[n] != whole[n]), kept)
        assert whole.startswith(prompt[:split])
        assert whole.endswith(prompt[split:])
        if official:
            assert abs(count(prompt[:split]) - length) <= 12
        else:
            assert prompt.startswith(first)
            assert prompt.endswith(last.replace("{input}", record["input"]))


@pytest.mark.parametrize("dataset", ["repobench-p", "passage_retrieval_en", "samsum"])
def test_an_input_that_is_longer_than_half_the_prompt_is_cut_too(tmp_path: Path, dataset: str) -> None:
    record = {**make_record(dataset, 0, 80), "input": " ".join(f"word{n}" for n in range(700)) + "\n"}
    data = write_rows(tmp_path / f"{dataset}.jsonl", [record])
    ((sample, prompt),) = prompts_of(build_records(f"longbench_{dataset}", tmp_path, [data], lengths=(300, 600)))
    before, after = PROMPTS[dataset]
    whole = before + record["context"] + after.replace("{input}", record["input"])
    split = next(n for n, letter in enumerate(prompt) if letter != whole[n])
    assert whole.endswith(prompt[split:])
    assert 594 <= sample.tokens <= 600 < int(sample.facets["whole_tokens"])
    assert sample.asked == record["input"]


@pytest.mark.parametrize("task", ["leader_qmsum", "leader_gov_report", "longbench_qmsum", "longbench_vcsum"])
def test_a_truncated_summary_says_how_much_of_its_reference_the_prompt_holds(tmp_path: Path, task: str) -> None:
    """Half of the reference is at the ends of the text, which are kept, a quarter in its middle, a quarter nowhere."""
    dataset = task.split("_", 1)[1]
    record = make_record(dataset, 0, 60)
    middle, end = ("Petroleum zebras.", "Quantum velvet.") if dataset != "vcsum" else ("石油斑马。", "丝绒量子。")
    nowhere = "Orchid glaciers." if dataset != "vcsum" else "兰花冰川。"
    half = len(record["context"]) // 2
    context = f"{record['context'][:half]} {middle} {record['context'][half:]} {end}"
    start = "Marzipan theorems." if dataset != "vcsum" else "杏仁定理。"
    record |= {"context": f"{start} {context}", "answers": [f"{start} {middle} {end} {nowhere}"]}
    data = write_rows(tmp_path / f"{dataset}.jsonl", [record])
    ((cut, _),) = prompts_of(build_records(task, tmp_path / "cut", [data], lengths=(200, 400)))
    assert "whole_tokens" in cut.facets
    assert (cut.facets["coverage"], cut.facets["support"]) == (0.5, 0.67)
    suite = build_records(task, tmp_path / "whole", [data], lengths=(20_000,))
    ((whole, _),) = prompts_of(suite)
    assert (whole.facets["coverage"], whole.facets["support"]) == (0.75, 1.0)
    (gold,) = suite.manifest["gold"].values()
    assert (gold["coverage"], gold["faults"]) == ({"least": 0.75, "median": 0.75}, {})


@pytest.mark.slow
def test_a_report_shows_the_ceiling_of_truncated_records(tmp_path: Path, call: Call) -> None:
    record = make_record("gov_report", 0, 60)
    record["answers"] = ["Marzipan theorems. " + record["context"].split(".")[0]]
    data = write_rows(tmp_path / "gov_report.jsonl", [record])
    words = ("--tokenizer", "words", "--lengths", "256,400", "--out", "suite")
    assert call("build", "leader_gov_report", "--data", data, *words)[0] == 0
    assert call("run", "suite", "-m", "fathom/guess", "--out", "run", "-q", "--yes")[0] == 0
    assert call("report", "run", "-o", "report.html")[0] == 0
    assert "What excerpts can support" in Path("report.html").read_text("utf-8")


def test_records_that_ask_for_a_few_words_have_no_such_facets(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "qasper.jsonl", [make_record("qasper", 0, 60)])
    ((sample, _),) = prompts_of(build_records("longbench_qasper", tmp_path, [data], lengths=(200, 400)))
    assert not {"coverage", "support"} & set(sample.facets)


@pytest.mark.parametrize("options", [{}, *({"where": {"length": (length,)}} for length in ("256", "400"))])
def test_the_manifest_sums_up_the_built_samples_only(tmp_path: Path, options: dict[str, Any]) -> None:
    records = [make_record("gov_report", row, sentences) for row, sentences in enumerate((3, 60, 3, 60))]
    for row, record in enumerate(records):
        words = record["context"].split()
        record["answers"] = [" ".join(words[:: 20 + row]) + " marzipan theorems" * (row + 1)]
    data = write_rows(tmp_path / "gov_report.jsonl", records)
    suite = build_records("longbench_gov_report", tmp_path, [data], lengths=(256, 400), **options)
    samples = list(suite.samples())
    assert len(samples) == (2 if options else 4)
    coverage = [float(sample.facets["coverage"]) for sample in samples]
    (gold,) = suite.manifest["gold"].values()
    assert gold["coverage"] == {"least": min(coverage), "median": round(median(coverage), 2)}
