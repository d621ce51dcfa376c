"""Prompts of LongBench that are longer than any length of the build."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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
