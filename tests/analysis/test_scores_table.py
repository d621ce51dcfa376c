from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest
from simulated import table

from fathom.analysis import (
    ScoreCell,
    curve_of,
    effective_length_of,
    is_score_table,
    longscore_of,
    read_scores,
    score_profiles,
)
from fathom.rows import write_rows
from fathom.types import FathomError


def written(folder: Path, text: str, name: str = "scores.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def lengths(path: Path) -> list[int]:
    return [cell.length for cell in read_scores(path).cells]


@pytest.mark.parametrize(
    ("column", "texts", "expected"),
    [
        ("length", ["0", "8192", "16384"], [0, 8192, 16384]),
        ("length", ["base", "8k", "16K"], [0, 8192, 16384]),
        ("length", ["0", "8", "256"], [0, 8192, 262144]),
        ("length", ["0", "512", "1m"], [0, 512, 1048576]),
        ("length_k", ["0", "256", "31"], [0, 262144, 31744]),
        ("setting", ["base", "24k", "1.5k"], [0, 24576, 1536]),
    ],
)
def test_forms_of_lengths(tmp_path: Path, column: str, texts: list[str], expected: list[int]) -> None:
    lines = "\n".join(f"m,t,{text},50" for text in texts)
    assert lengths(written(tmp_path, f"model,task,{column},score\n{lines}\n")) == expected


def test_what_is_no_length_is_left_out_and_said(tmp_path: Path) -> None:
    path = written(tmp_path, "model,setting,value\nm,base,50\nm,8k,40\nm,average,45\nm,24k / 32k,1\nm,-1,3\nm,16k,\n")
    with pytest.raises(FathomError, match=r"'24k / 32k' \(of m\) is not a single length.*`lengths`"):
        read_scores(path)
    found = read_scores(path, several=True)
    assert [(cell.length, cell.score, cell.task) for cell in found.cells] == [(0, 0.5, "all"), (8192, 0.4, "all")]
    assert "average, 24k / 32k, -1" in found.note
    assert "100 right-or-wrong items" in found.note


def test_percent_or_fraction(tmp_path: Path) -> None:
    percent = written(tmp_path, "model,length,score\nm,0,1.6\nm,8k,0.5\n", "percent.csv")
    fraction = written(tmp_path, "model,length,score\nm,0,1.0\nm,8k,0.5\n", "fraction.csv")
    assert [cell.score for cell in read_scores(percent).cells] == [0.016, 0.005]
    assert [cell.score for cell in read_scores(fraction).cells] == [1.0, 0.5]
    assert [cell.score for cell in read_scores(fraction, scale="percent").cells] == [0.01, 0.005]
    with pytest.raises(FathomError, match="`scale`"):
        read_scores(percent, scale="fraction")


def test_formats_items_chance_and_variants(tmp_path: Path) -> None:
    records = [
        {"model": "m", "variant": "v", "task": "t", "length": 0, "score": 0.5, "n": 99, "chance": 0.2},
        {"model": "m", "variant": "v", "task": "t", "length": 8192, "score": 0.25, "n": 50, "chance": 0.2},
    ]
    jsonl = written(tmp_path, "".join(json.dumps(record) + "\n" for record in records), "scores.jsonl")
    parquet = tmp_path / "scores.parquet"
    pl.DataFrame(records).write_parquet(parquet)
    for path in (jsonl, parquet):
        assert is_score_table(path)
        found = read_scores(path)
        assert [cell.items for cell in found.cells] == [99, 50]
        assert found.note == ""
        assert found.cells[0] == ScoreCell("m", "t", 0, 0.5, 99, 0.2, "v")


def test_a_score_of_nobody_has_no_name_made_up_for_it(tmp_path: Path) -> None:
    path = written(tmp_path, "model,variant,task,length,score\n,,,8k,0.5\n")
    assert read_scores(path).cells == (ScoreCell("", "all", 8192, 0.5, 100),)


def test_chance_by_task(tmp_path: Path) -> None:
    path = written(tmp_path, "model,task,length,score\nm,a,8k,0.5\nm,b,8k,0.5\n")
    assert [cell.chance for cell in read_scores(path, chance={"a": 0.2}).cells] == [0.2, 0.0]
    assert [cell.chance for cell in read_scores(path).cells] == [None, None]
    told = written(tmp_path, "model,task,length,score,chance\nm,a,8k,0.5,0.25\nm,b,8k,0.5,\n")
    assert [cell.chance for cell in read_scores(told, chance={"b": 0.2}).cells] == [0.25, 0.2]


def test_metrics_and_chosen_lines(tmp_path: Path) -> None:
    text = "table,model,length,metric,value\nA,m,0,score_percent,50\nA,m,0,rank,1\nB,m,0,score_percent,60\n"
    path = written(tmp_path, text)
    assert [cell.score for cell in read_scores(path, where={"table": "A"}).cells] == [0.5]
    assert [cell.score for cell in read_scores(path, where={"metric": "rank"}).cells] == [1.0]
    with pytest.raises(FathomError, match=r"0\.5 and 0\.6.*`where`"):
        read_scores(path)
    with pytest.raises(FathomError, match="table is one of A, B"):
        read_scores(path, where={"table": "C"})
    with pytest.raises(FathomError, match="no such column"):
        read_scores(path, where={"tabel": "A"})


def test_means_over_tasks_give_way_to_the_tasks(tmp_path: Path) -> None:
    path = written(tmp_path, "model,task,length,score\nm,a,0,0.5\nm,avg,0,0.9\nn,avg,0,0.7\n")
    assert [(cell.model, cell.task) for cell in read_scores(path).cells] == [("m", "a"), ("n", "all")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("model,score\nm,1\n", "length, length_k, setting"),
        ("model,length,score\nm,8k,high\n", "expected a number"),
        ("model,length,score\nm,8k,-3\n", "not between 0 and 1"),
        ("model,length,score\nm,8k,300\n", "not between 0 and 100"),
        ("model,length,score,n\nm,8k,0.5,0\n", "n 0: expected 1 to 1,000,000,000"),
        ("model,length,score,chance\nm,8k,50,25\n", "all: a chance level of 25 is not between 0 and 1"),
    ],
)
def test_bad_tables_are_named(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(FathomError, match=message) as error:
        read_scores(path)
    assert str(error.value).startswith(f"{path}: ")


def test_rows_are_no_table_of_scores(tmp_path: Path) -> None:
    write_rows(table([[1, 0]]), tmp_path / "rows.csv")
    assert not is_score_table(tmp_path / "rows.csv")
    assert not is_score_table(tmp_path / "missing.csv")
    assert not is_score_table(written(tmp_path, "", "empty.jsonl"))


def test_every_analysis_of_profiles_works_on_it(tmp_path: Path) -> None:
    lines = ["base,0.8", "8k,0.8", "16k,0.6", "32k,0.2"]
    text = "model,task,length,score\n" + "".join(f"m,{task},{line}\n" for task in "ab" for line in lines)
    ready = score_profiles(read_scores(written(tmp_path, text)))
    assert [profile.task for profile in ready] == ["a", "b", "all"]
    overall = longscore_of(ready)[2]
    assert overall.base == pytest.approx(0.8)
    assert overall.average == pytest.approx((0.8 + 0.6 + 0.2) / 3 / 0.8 - 1)
    assert "base as given" in overall.note
    assert [point.length for point in curve_of(ready)][:3] == [8192, 16384, 32768]
    half = next(one for one in effective_length_of(ready) if one.definition == "half_base")
    assert half.tokens is not None
    assert 16384 < half.tokens < 32768


def test_the_base_of_the_paper_from_a_table(tmp_path: Path) -> None:
    text = "model,length,score\nm,base,0.1\nm,2k,0.9\nm,4k,0.6\nm,6k,0.6\nm,8k,0.35\n"
    found = read_scores(written(tmp_path, text))
    assert longscore_of(score_profiles(found, base="paper"))[0].average == pytest.approx(-0.5)
    given = longscore_of(score_profiles(found))[0]
    assert (given.base, len(given.points)) == (0.1, 4)
    with pytest.raises(FathomError, match="needs rows"):
        score_profiles(found, base="code")


def test_a_task_without_a_base_has_no_longscore(tmp_path: Path) -> None:
    text = "model,task,length,score\nm,a,0,0.5\nm,a,8k,0.5\nm,b,8k,0.5\n"
    first, second, overall = longscore_of(score_profiles(read_scores(written(tmp_path, text))))
    assert first.average == 0
    assert "no base is given" in second.undefined
    assert "not every task has one" in overall.undefined


def test_intervals_are_those_of_right_or_wrong_items() -> None:
    from fathom.analysis import ScoreTable

    (profile, _) = score_profiles(ScoreTable((ScoreCell("m", "t", 8192, 0.9, 50),), ""), replicates=20_000)
    low, high = (float(end) for end in (profile.draws[:, 0].mean(), profile.draws[:, 0].std()))
    assert low == pytest.approx(45.5 / 51, abs=0.002)
    assert high == pytest.approx((45.5 * 5.5 / 51**2 / 52) ** 0.5, rel=0.03)


def test_a_table_without_columns_or_scores_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "empty.parquet"
    pl.DataFrame().write_parquet(path)
    with pytest.raises(FathomError, match=r"one of score, value, accuracy, accuracy_percent; it has none$"):
        read_scores(path)
    blank = read_scores(written(tmp_path, "model,length,score\nm,8k,\n"))
    with pytest.raises(FathomError, match=r"^the table has no score at a length$"):
        score_profiles(blank)
