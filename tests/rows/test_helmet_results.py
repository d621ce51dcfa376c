"""What HELMET counts, of results of its code: marks of its judges, and answers of ALCE, which it writes as averages."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from fathom.analysis.helmet import helmet_scores
from fathom.rows import read
from fathom.rows.helmet_log import counted_metric

SAMPLE = {"output": "Answer: Ann [1], Bo [2].", "parsed_output": "Ann [1], Bo [2].", "input_len": 70, "output_len": 9}
METRICS = {"exact_match": False, "f1": 0.5, "substring_exact_match": True, "rougeL_f1": 0.5, "rougeL_recall": 1.0}


def written(
    folder: Path, dataset: str, samples: Sequence[Mapping[str, object]], ending: str = ".json", **metrics: object
) -> Path:
    made = METRICS | metrics
    content = {
        "args": {"datasets": dataset, "input_max_length": 8192, "model_name_or_path": "made/m"},
        "data": [{"question": f"Who {n}?", **SAMPLE, **made, **more} for n, more in enumerate(samples)],
        "metrics": {name: [value] * len(samples) for name, value in made.items()},
        "averaged_metrics": {},
    }
    path = folder / f"{dataset}_v1{ending}"
    path.write_text(json.dumps(content))
    return path


def values(frame: pl.DataFrame) -> list[float | None]:
    return list(frame["value"])


@pytest.mark.parametrize(
    ("dataset", "metric"),
    [
        ("kilt_nq", "substring_exact_match"),
        ("icl_trec_fine_6400shot_balance", "exact_match"),
        ("ruler_niah_mk_3", "ruler_recall"),
        ("ruler_qa_2", "substring_exact_match"),
        ("infbench_qa_eng_130862", "rougeL_f1"),
        ("narrativeqa_130772", "gpt-4-score"),
        ("infbench_sum_eng_129672", "gpt-4-f1"),
        ("alce_qampari_700", "qampari_rec_top5"),
        ("another", ""),
    ],
)
def test_the_metric_that_counts_is_that_of_the_released_collection(dataset: str, metric: str) -> None:
    assert counted_metric(dataset) == metric


def test_many_examples_are_read_by_equality_although_a_contained_answer_comes_first(tmp_path: Path) -> None:
    frame = read([written(tmp_path, "icl_trec_fine_6400shot_balance", [{}])])
    assert (frame["metric"].item(), frame["value"].item()) == ("exact_match", 0.0)


def test_marks_of_answers_are_their_product_of_three(tmp_path: Path) -> None:
    marks = [{"fluency": 1, "correctness": 2}, {"fluency": 0, "correctness": 3}, None, {"fluency": "1"}]
    samples = [{"gpt-4-scores": each} for each in marks]
    frame = read([written(tmp_path, "narrativeqa_130772", samples, "-gpt4eval_o.json")])
    assert set(frame["metric"]) == {"gpt-4-score"}
    assert values(frame) == [pytest.approx(2 / 3), 0, None, None]
    assert list(frame["valid"]) == [True, True, False, False]
    whole = helmet_scores(frame.filter(pl.col("value").is_not_null()))
    assert {score.category: score.score for score in whole}["longqa"] == pytest.approx(1 / 3)
    by_words = read([tmp_path], metric="rougeL_f1")
    assert values(by_words) == [0.5] * 4
    assert helmet_scores(by_words) == []


def test_marks_of_summaries_are_read_in_place_of_the_results_beside_them(tmp_path: Path) -> None:
    written(tmp_path, "multi_lexsum_130372", [{}, {}])
    assert helmet_scores(read([tmp_path])) == []
    judged = [{"gpt-4-scores": {"fluency": 1, "recall": 1.0, "precision": 0.5, "f1": 2 / 3}}, {}]
    written(tmp_path, "multi_lexsum_130372", judged, "-gpt4eval_o.json")
    frame = read([tmp_path])
    assert set(frame["metric"]) == {"gpt-4-f1"}
    assert values(frame) == [pytest.approx(2 / 3), None]


def test_answers_of_alce_are_scored_without_their_citations(tmp_path: Path) -> None:
    asqa = [{"qa_pairs": [{"short_answers": ["Bo", "Bob"]}, {"short_answers": ["Cy"]}]}]
    qampari = [{"answers": [["Ann"], ["Bo"], ["Cy"]], "output": "Ann [1], Bo [2]."}]
    told: list[str] = []
    frame = read(
        [written(tmp_path, "alce_asqa_700", asqa), written(tmp_path, "alce_qampari_700", qampari)], tell=told.append
    )
    assert dict(frame.select("metric", "value").rows()) == {"str_em": 0.5, "qampari_rec_top5": pytest.approx(2 / 3)}
    assert any("str_em is used" in note for note in told)
    cite = {score.category: score.score for score in helmet_scores(frame)}["cite"]
    assert cite == pytest.approx((1 / 2 + 2 / 3) / 2)


@pytest.mark.parametrize("gold", [{}, {"qa_pairs": None}, {"qa_pairs": [3]}, {"qa_pairs": []}])
def test_answers_of_alce_without_gold_ones_count_as_nothing(gold: Mapping[str, object], tmp_path: Path) -> None:
    frame = read([written(tmp_path, "alce_asqa_700", [gold])])
    assert frame["metric"].item() == "substring_exact_match"
    assert helmet_scores(frame) == []
