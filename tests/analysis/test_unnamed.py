"""Questions that do not name their passage: the same contexts, no part of any curve, and what searching costs."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest
from simulated import row

from fathom import api
from fathom.analysis import curve, recovery
from fathom.rows import to_frame
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from fathom.types import Facet, Row, Sample
from fathom.types.samples import UNNAMED


@pytest.fixture(scope="module")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("unnamed") / "suite"
    api.build("single_doc_qa,passkey", folder, lengths="1k,4k", items=4, languages="en,zh", alone=True, unnamed=True)
    return folder


def by_id(folder: Path) -> dict[str, Sample]:
    return {sample.id: sample for sample in open_suite(folder).samples()}


@pytest.mark.slow
def test_every_named_question_is_also_asked_over_the_same_context_without_the_number(suite: Path) -> None:
    samples, texts = by_id(suite), open_suite(suite).texts()
    unnamed = {name: sample for name, sample in samples.items() if sample.facets.get("context") == UNNAMED}
    named = {name: sample for name, sample in samples.items() if sample.whole and sample.task == "single_doc_qa"}
    assert {name.removesuffix(f"/{UNNAMED}") for name in unnamed} == set(named)
    for name, sample in unnamed.items():
        other = named[name.removesuffix(f"/{UNNAMED}")]
        assert (sample.parts[:-1], sample.targets, sample.asked) == (other.parts[:-1], other.targets, other.asked)
        prompts = [render(one, texts) for one in (sample, other)]
        start = next(place for place, pair in enumerate(zip(*prompts, strict=False)) if len(set(pair)) > 1)
        unnamed_end, named_end = (prompt[start:].partition(sample.asked)[0] for prompt in prompts)
        assert str(sample.facets["gold"]) in named_end
        assert str(sample.facets["gold"]) not in unnamed_end
        assert sample.tokens < other.tokens <= other.length
        assert not sample.whole


@pytest.mark.slow
def test_the_other_samples_and_an_earlier_fingerprint_stay_as_they_are(suite: Path, tmp_path: Path) -> None:
    api.build("single_doc_qa,passkey", tmp_path / "plain", lengths="1k,4k", items=4, languages="en,zh", alone=True)
    rest = {name: sample for name, sample in by_id(suite).items() if sample.facets.get("context") != UNNAMED}
    assert rest == by_id(tmp_path / "plain")


def asked(item: int, context: str, value: float) -> Row:
    facets: dict[str, Facet] = {"context": context} if context else {}
    return row(value, item=item, length=0 if context == "alone" else 4096, task="qa", facets=facets)


@pytest.mark.slow
def test_searching_costs_the_difference_of_the_questions_that_were_asked_both_ways() -> None:
    rows, pairs = [], []
    for item in range(40):
        named, unnamed = float(item % 5 != 0), float(item % 3 != 0)
        rows += [asked(item, "", named), asked(item, "alone", 1.0)]
        if item % 2:
            rows.append(asked(item, UNNAMED, unnamed))
            pairs.append(named - unnamed)
    (result,) = recovery(to_frame(rows))
    assert result.searching is not None
    assert result.searching.value == pytest.approx(mean(pairs))
    assert result.searching.interval.low < mean(pairs) < result.searching.interval.high
    assert result.full.value == pytest.approx(0.8)
    assert curve(to_frame(rows)) == curve(
        to_frame([record for record in rows if record.facets.get("context") != UNNAMED])
    )
    (without,) = recovery(to_frame([record for record in rows if record.facets.get("context") != UNNAMED]))
    assert without.searching is None
