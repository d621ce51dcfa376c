from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulated import row

from fathom import api
from fathom.analysis import JudgeAgreement, judge_agreement
from fathom.analysis.judge import cohen_kappa, match_labels, weighted_kappa
from fathom.cli import main
from fathom.rows import read_labels, to_frame, write_rows
from fathom.stats.intervals import Floats
from fathom.types import FathomError

scores = st.lists(st.sampled_from([0.0, 1 / 3, 0.5, 1.0]), min_size=1, max_size=30)


def counted(table: list[list[int]]) -> tuple[Floats, Floats]:
    """Marks of two judges from a table of counts: line = the first's mark, column = the second's."""
    cells = [(i, j) for i, line in enumerate(table) for j, count in enumerate(line) for _ in range(count)]
    first, second = np.array(cells, dtype=np.float64).T
    return first, second


def labels_of(values: list[float], **columns: Sequence[object]) -> pl.DataFrame:
    names = columns or {"sample": [f"kv/{number}@2048" for number in range(len(values))]}
    return pl.DataFrame({**names, "score": values})


def judged(judge: list[float | None], reference: list[float]) -> list[JudgeAgreement]:
    rows = to_frame(row(value, item=number) for number, value in enumerate(judge))
    return judge_agreement(rows, labels_of(reference))


# --------------------------------------------------------------------------------------------------- kappas


def test_kappa_of_a_table_worked_out_by_hand() -> None:
    # 35 of 50 agree. The first says yes to 25, the second to 30: 0.5 * 0.6 + 0.5 * 0.4 is expected.
    first, second = counted([[20, 5], [10, 15]])
    assert cohen_kappa(first, second) == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert weighted_kappa(first, second) == pytest.approx(0.4)


def test_weighted_kappa_of_a_table_worked_out_by_hand() -> None:
    first, second = counted([[4, 1, 0], [1, 2, 1], [0, 1, 2]])
    # Marks 0, 1, 2 are 5, 4, 3 of 12 on both sides; 4 of 12 differ by one, none by two.
    expected = (2 * (5 * 4 + 4 * 3) * 1 + 2 * 5 * 3 * 4) / 12**2
    assert weighted_kappa(first, second) == pytest.approx(1 - (4 / 12) / expected)
    assert cohen_kappa(first, second) == pytest.approx((8 / 12 - 50 / 144) / (1 - 50 / 144))


def test_a_wide_miss_costs_more_than_a_near_one() -> None:
    near, wide = counted([[5, 1, 0], [0, 5, 0], [0, 0, 5]]), counted([[5, 0, 1], [0, 5, 0], [0, 0, 5]])
    assert (weighted_kappa(*near) or 0) > (weighted_kappa(*wide) or 0)


def test_kappa_recovers_a_known_rate_of_errors() -> None:
    rng = np.random.default_rng(0)
    truth = (rng.random(20_000) < 0.5).astype(np.float64)
    said = np.where(rng.random(20_000) < 0.15, 1 - truth, truth)
    assert cohen_kappa(said, truth) == pytest.approx(1 - 2 * 0.15, abs=0.02)
    blind = (rng.random(20_000) < 0.9).astype(np.float64)
    rare = (rng.random(20_000) < 0.9).astype(np.float64)
    assert np.mean(blind == rare) > 0.8
    assert cohen_kappa(blind, rare) == pytest.approx(0, abs=0.03)


@given(scores, st.integers(0, 9))
def test_kappas_of_any_marks(values: list[float], seed: int) -> None:
    first = np.array(values)
    second = np.random.default_rng(seed).permutation(first)
    for kappa in (cohen_kappa, weighted_kappa):
        found = kappa(first, second)
        assert found == kappa(second, first) or found == pytest.approx(kappa(second, first))
        assert found is None or -1.000001 <= found <= 1.000001
        assert (kappa(first, first) is None) == (len(set(values)) == 1)
        assert kappa(first, first) in (None, pytest.approx(1))


# ------------------------------------------------------------------------------------------------ agreement


def test_an_example_worked_out_by_hand() -> None:
    (found,) = judged([1.0, 0.5, 0.33, 0.0, None], [1.0, 0.45, 1 / 3, 1.0, 1.0])
    assert (found.by, found.replies, found.items, found.failed, found.unmatched) == ("all", 4, 4, 1, 0)
    assert found.judge == pytest.approx(0.4575)
    assert found.bias == pytest.approx((0 + 0.05 + (0.33 - 1 / 3) - 1) / 4)
    assert found.exact == 0.5
    assert found.close == 0.75
    # Right and wrong: the judge says r r w w, people say r w w r.
    assert found.kappa_right == pytest.approx((0.5 - 0.5) / 0.5)
    assert found.bias_interval.low <= found.bias <= found.bias_interval.high
    assert found.exact_interval.low < 0.5 < found.exact_interval.high


def test_scores_that_differ_by_the_tolerance_are_close_however_they_are_rounded() -> None:
    rows = to_frame(row(value, item=number) for number, value in enumerate((0.4, 0.9, 0.31)))
    (found,) = judge_agreement(rows, labels_of([0.3, 1.0, 0.2]), tolerance=0.1)
    assert found.close == pytest.approx(2 / 3)


def test_labels_without_a_reply_are_counted_once() -> None:
    rows = to_frame(row(1.0, task=task) for task in ("kv", "qa"))
    found = judge_agreement(rows, labels_of([1.0, 1.0, 0.0], sample=["kv/0@2048", "qa/0@2048", "gone"]))
    assert [(one.by, one.group, one.unmatched) for one in found] == [
        ("all", "", 1),
        ("task", "kv", 0),
        ("task", "qa", 0),
    ]


def test_a_perfect_judge() -> None:
    (found,) = judged([0.0, 0.5, 1.0] * 20, [0.0, 0.5, 1.0] * 20)
    assert (found.exact, found.close, found.bias) == (1, 1, 0)
    assert [found.kappa, found.kappa_weighted, found.kappa_right] == pytest.approx([1, 1, 1])
    assert [found.spearman, found.pearson] == pytest.approx([1, 1])
    assert found.exact_interval.low < 1


def test_what_is_not_determined_is_absent() -> None:
    (found,) = judged([1.0, 1.0], [1.0, 1.0])
    assert (found.kappa, found.kappa_weighted, found.kappa_right, found.spearman, found.pearson) == (None,) * 5
    (found,) = judged([1.0, 1.0], [1.0, 0.0])
    assert (found.kappa, found.pearson) == (0, None)


def test_correlations_are_those_of_scipy() -> None:
    from scipy import stats

    rng = np.random.default_rng(3)
    reference = rng.integers(0, 7, 60) / 6
    judge = np.clip(reference + rng.integers(-2, 3, 60) / 6, 0, 1)
    (found,) = judged(judge.tolist(), reference.tolist())
    assert found.spearman == pytest.approx(stats.spearmanr(judge, reference).statistic)
    assert found.pearson == pytest.approx(stats.pearsonr(judge, reference).statistic)


def test_bias_is_found_at_the_length_where_it_is() -> None:
    rng = np.random.default_rng(1)
    rows, names, values = [], [], []
    for item in range(60):
        for length, kindness in ((2048, 0.0), (32768, 0.3)):
            truth = float(rng.random() < 0.5)
            said = 1.0 if rng.random() < kindness * 2 else truth
            rows.append(row(said, item=item, length=length, task="kv" if item % 2 else "qa"))
            names.append(rows[-1].sample)
            values.append(truth)
    found = judge_agreement(to_frame(rows), labels_of(values, sample=names))
    assert [(one.by, one.group) for one in found] == [
        ("all", ""), ("task", "kv"), ("task", "qa"), ("length", "2k"), ("length", "32k")
    ]  # fmt: skip
    short, long = found[3:]
    assert (short.bias, short.exact) == (0, 1)
    assert long.bias_interval.low > 0
    assert long.bias == pytest.approx(0.3, abs=0.15)
    assert found[0].items == 60
    assert found[0].replies == 120


@pytest.mark.slow
@pytest.mark.long
def test_intervals_of_the_bias_hold_a_known_truth() -> None:
    rng = np.random.default_rng(5)
    held = 0
    for seed in range(150):
        truth = (rng.random(40) < 0.6).astype(np.float64)
        said = np.where(rng.random(40) < 0.25, 1.0, truth)  # a judge that is right or too kind: 0.25 * 0.4
        rows = to_frame(row(float(value), item=number) for number, value in enumerate(said))
        (found,) = judge_agreement(rows, labels_of(truth.tolist()), seed=seed)
        held += found.bias_interval.low <= 0.1 <= found.bias_interval.high
    assert held / 150 >= 0.9


def test_replies_to_one_item_count_as_one() -> None:
    rng = np.random.default_rng(7)
    truth = (rng.random(20) < 0.5).astype(float).tolist()
    said = [1.0 if rng.random() < 0.3 else value for value in truth]
    once = to_frame(row(value, item=number) for number, value in enumerate(said))
    often = to_frame(row(value, item=number, epoch=e) for number, value in enumerate(said) for e in range(1, 6))
    labels = labels_of(truth)
    many = labels_of(truth * 5, sample=labels["sample"].to_list() * 5, epoch=[e for e in range(1, 6) for _ in truth])
    (one,), (five,) = judge_agreement(once, labels), judge_agreement(often, many)
    assert (five.replies, five.items) == (100, 20)
    assert five.bias == pytest.approx(one.bias)
    widths = [found.bias_interval.high - found.bias_interval.low for found in (one, five)]
    assert widths[0] == pytest.approx(widths[1], rel=0.15)


# ------------------------------------------------------------------------------------------------- matching


def test_labels_find_their_replies() -> None:
    rows = to_frame([row(1.0, item=0, model=model) for model in "ab"] + [row(math.nan, item=1, model="a")])
    labels = labels_of(
        [1.0, 0.0, 0.5, 1.0], sample=["kv/0@2048", "kv/0@2048", "kv/1@2048", "x"], model=["a", "a", "a", "a"]
    )
    found, unmatched = match_labels(rows, labels)
    assert found["reference"].to_list() == [0.5, 0.5]  # two people about the same reply: their mean
    assert found["value"].to_list() == [1.0, None]
    assert unmatched == 1


def test_a_label_that_belongs_to_nothing_or_to_several_is_named() -> None:
    rows = to_frame([row(1.0, model=model, epoch=epoch) for model in "ab" for epoch in (1, 2)])
    with pytest.raises(FathomError, match=r"'nobody/1'.*'kv/0@2048'.*fathom rows"):
        judge_agreement(rows, labels_of([1.0], sample=["nobody/1"]))
    with pytest.raises(FathomError, match=r"matches 4 rows.*they differ in model, epoch"):
        judge_agreement(rows, labels_of([1.0], sample=["kv/0@2048"]))
    with pytest.raises(FathomError, match="matches 2 rows; drop the others"):
        judge_agreement(pl.concat([to_frame([row(1.0)])] * 2), labels_of([1.0]))
    with pytest.raises(FathomError, match="scored none of the 1 labelled"):
        judge_agreement(to_frame([row(None, status="error")]), labels_of([1.0]))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "sample,epoch,label,notes\nkv/0@2048,1,Right,x\nkv/1@2048,1,0.50,\nkv/2@2048,1,,later\n"),
        (
            "a.jsonl",
            '{"sample": "kv/0@2048", "epoch": 1, "score": true}\n\n{"sample": "kv/1@2048", "epoch": 1, "score": 0.5}\n',
        ),
    ],
)
def test_labels_are_read(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    found = read_labels(path)
    assert found.to_dict(as_series=False) == {
        "sample": ["kv/0@2048", "kv/1@2048"],
        "epoch": [1, 1],
        "score": [1.0, 0.5],
    }


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "sample,grade\nx,1\n", "expected a column 'score'.*'grade'"),
        ("a.csv", "score\n1\n", "column 'sample'"),
        ("a.csv", "sample,score\nx,3\n", "label 1: the score is '3', expected a number from 0 to 1"),
        ("a.csv", "sample,score\nx,nan\n", "the score is 'nan'"),
        ("a.csv", "sample,score\nx,\n", "no label in column 'score'"),
        ("a.csv", "sample,epoch,score\nx,first,1\n", "label 1: epoch is 'first'"),
        ("a.csv", "", "cannot be read as csv"),
        ("a.jsonl", "{", "line 1: not JSON"),
        ("a.jsonl", "[1]\n", "line 1: expected a JSON object"),
        ("a.txt", "", "a table must be a .jsonl, .json, .csv, "),
    ],
)
def test_what_is_no_file_of_labels_is_said(tmp_path: Path, name: str, text: str, says: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(FathomError, match=says):
        read_labels(path)
    with pytest.raises(FathomError, match="no such file"):
        read_labels(tmp_path / "missing.csv")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    write_rows(to_frame(row(float(item % 2), item=item) for item in range(6)), tmp_path / "rows.parquet")
    lines = [f"kv/{item}@2048,{item % 2}" for item in range(5)]
    (tmp_path / "labels.csv").write_text("\n".join(["sample,score", *lines, "gone,1"]))
    monkeypatch.chdir(tmp_path)
    words = ["fathom", "analyze", "judge", "rows.parquet", "--labels", "labels.csv"]
    for more in ([], ["--json"]):
        monkeypatch.setattr("sys.argv", [*words, *more])
        with pytest.raises(SystemExit) as stop:
            main()
        assert not stop.value.code
        out, err = capsys.readouterr()
        if more:
            (found,) = json.loads(out)
            assert (found["replies"], found["unmatched"], found["kappa"]) == (5, 1, 1.0)
            assert found["bias_interval"]["low"] <= 0 <= found["bias_interval"]["high"]
        else:
            assert "Kappa" in out
            assert "labels without a reply in these rows: 1" in err
    with pytest.raises(TypeError, match="needs labels"):
        api.analyze("judge", ["rows.parquet"])
    with pytest.raises(TypeError, match="has no argument 'labels'"):
        api.analyze("curve", ["rows.parquet"], labels="labels.csv")
