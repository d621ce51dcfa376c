"""The published cases of BestAnswer: as they are, each at the first length that nearly holds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from engine_calls import configure
from fathom.suites.build import build
from fathom.suites.suitefile import BuiltSuite, open_suite
from made_threads import answers_of, made_case, write_cases, write_lines


def published(folder: Path, source: Path, lengths: Sequence[int] = (256, 1024)) -> BuiltSuite:
    wanted = configure(
        "bestanswer_published", tokenizer="words", lengths=tuple(lengths), items=1000, cases=(str(source),)
    )
    return open_suite(build(wanted, folder / "suite", force=True).folder)


def test_published_cases_keep_their_order_and_their_candidates(tmp_path: Path) -> None:
    cases = [made_case(n) for n in range(20)]
    cases[7]["question_id"] = cases[3]["question_id"]  # the same question with other candidates
    suite = published(tmp_path, write_lines(tmp_path / "cases.jsonl", cases))
    samples = list(suite.samples())
    assert [sample.facets["case"] for sample in samples] == [case["question_id"] for case in cases]
    for sample, case in zip(samples, cases, strict=True):
        assert answers_of(suite, sample) == case["all_answers"]
        assert sample.targets == (case["answer"],)
        assert sample.chance == 1 / len(case["all_answers"])
        assert sample.asked == case["question"].strip()
        assert "depth" not in sample.facets
        assert sample.facets["example"] == "A4"


def test_published_cases_stand_at_the_first_length_that_nearly_holds_them(tmp_path: Path) -> None:
    source = write_cases(tmp_path, 40)
    whole = {sample.item: sample.tokens for sample in published(tmp_path, source, (8192,)).samples()}
    middle = sorted(whole.values())[20]
    lengths = (int(middle / 1.1), 8192)
    found = list(published(tmp_path, source, lengths).samples())
    assert len(found) == 40
    assert any(sample.tokens > sample.length for sample in found)
    for sample in found:
        assert sample.tokens <= 1.15 * sample.length
        assert sample.length == lengths[0] or sample.tokens > 1.12 * lengths[0]


@pytest.mark.slow
def test_published_cases_of_the_paper(shared: Path, tmp_path: Path) -> None:
    source = shared / "data/stackexchange/adaleval_stackselect_1k.jsonl.zst"
    wanted = configure("bestanswer_published", lengths=(1024,), items=1000, cases=(str(source),))
    samples = list(open_suite(build(wanted, tmp_path / "suite").folder).samples())
    assert len(samples) == 708
    assert sum(sample.chance for sample in samples) / 708 == pytest.approx(0.2657, abs=5e-4)
    assert sum(sample.facets["longest"] in sample.targets for sample in samples) == 283  # 40.0%; 39.6% of all 1,000
    assert max(sample.tokens for sample in samples) <= 1024 * 1.15
