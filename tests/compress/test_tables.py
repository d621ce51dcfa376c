"""Score matrices from tables, rows and released data; and what is said of bad ones."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.compress.matrix import ScoreMatrix, checked_matrix
from fathom.compress.tables import read_matrix, write_matrix
from fathom.rows import to_frame, write_rows
from fathom.rows.schema import write_table
from fathom.types import FathomError, Row


def table(path: Path, **columns: object) -> Path:
    pl.DataFrame(columns, strict=False).write_csv(path)
    return path


def test_a_table_with_all_columns(tmp_path: Path) -> None:
    path = table(
        tmp_path / "scores.csv",
        item=["x", "y", "z"],
        task=["a", "a", "b"],
        category=["k", "k", "l"],
        length=[100, 200, 300],
        cost=[1.5, 2, 3],
        weight=[1, 1, 2],
        model_1=[0, 0.5, 1],
        model_2=[1, None, 0.25],
    )
    found = read_matrix(path)
    assert found.models == ("model_1", "model_2")
    assert found.items == ("x", "y", "z")
    assert found.weights.tolist() == [0.25, 0.25, 0.5]
    assert found.costs.tolist() == [1.5, 2, 3]
    assert found.lengths.tolist() == [100, 200, 300]
    assert np.array_equal(found.scores, [[0, 0.5, 1], [1, np.nan, 0.25]], equal_nan=True)
    assert np.isnan(found.totals()).tolist() == [False, True]


@pytest.mark.parametrize("index", ["task_index", "index"])
def test_items_are_named_by_task_and_index(tmp_path: Path, index: str) -> None:
    path = table(tmp_path / "scores.csv", task=["a", "a", "b"], **{index: [0, 12, 0]}, m=[0, 1, 0.5])
    found = read_matrix(path)
    assert found.items == ("a/0000", "a/0012", "b/0000")
    assert found.weights.tolist() == [0.25, 0.25, 0.5]  # tasks alike, and items of a task alike
    assert found.costs.tolist() == [1, 1, 1]


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_what_is_written_is_read_again(tmp_path: Path, suffix: str) -> None:
    rng = np.random.default_rng(0)
    scores = rng.random((3, 7))
    scores[1, 4] = np.nan
    matrix = checked_matrix(
        "made",
        ["a", "b", "c"],
        [f"item {number}" for number in range(7)],
        scores,
        tasks=["t"] * 7,
        categories=["x"] * 3 + ["y"] * 4,
        lengths=np.arange(7),
        costs=rng.random(7) + 0.1,
    )
    path = tmp_path / f"scores{suffix}"
    write_matrix(matrix, path)
    assert_same(read_matrix(path), matrix)


def assert_same(first: ScoreMatrix, second: ScoreMatrix) -> None:
    assert (first.models, first.items, first.tasks, first.categories) == (
        second.models,
        second.items,
        second.tasks,
        second.categories,
    )
    for name in ("scores", "lengths", "costs"):
        assert np.array_equal(getattr(first, name), getattr(second, name), equal_nan=True), name
    assert first.weights == pytest.approx(second.weights)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"item": ["x"], "m": [50]}, r"m, item 'x': a score of 50 .*divided by 100"),
        ({"item": ["x"], "m": [-0.1]}, r"m, item 'x': a score of -0.1 is not between 0 and 1 \("),
        ({"item": ["x"], "m": ["half"]}, r"m, item 'x': 'half' is not a number; leave gaps empty"),
        ({"item": ["x", "x"], "m": [0, 1]}, "item 'x' occurs 2 times"),
        ({"item": ["x", ""], "m": [0, 1]}, "row 2: item is empty"),
        ({"item": ["x"], "task": ["t"]}, "expected a column of scores for each, besides item, task"),
        ({"name": ["x"], "m": [0]}, "expected a column item, or task and task_index"),
        ({"task": ["x"], "index": ["a"], "m": [0]}, "index must be a whole number"),
        ({"item": ["x"], "m": [None]}, "m has no score at all"),
        ({"item": ["x"], "cost": [0], "m": [1]}, "item 'x' costs 0, expected a number above 0"),
        ({"item": ["x"], "cost": [None], "m": [1]}, "cost, item 'x': expected a number, found none"),
        ({"item": ["x"], "weight": [0], "m": [1]}, "not all 0"),
        ({"item": ["x"], "length": [-5], "m": [1]}, "length -5"),
        ({"item": [], "m": []}, "no items"),
    ],
)
def test_bad_tables_are_refused(tmp_path: Path, columns: dict[str, list[object]], message: str) -> None:
    path = table(tmp_path / "bad.csv", **columns)
    with pytest.raises(FathomError, match=message) as caught:
        read_matrix(path)
    assert str(path) in str(caught.value)


def test_other_bad_input_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="no scores: give a table"):
        read_matrix([])
    with pytest.raises(FathomError, match="no such"):
        read_matrix(tmp_path / "nothing.csv")
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 no")
    with pytest.raises(FathomError, match="cannot be read as parquet"):
        read_matrix(broken)
    path = table(tmp_path / "one.csv", item=["x"], m=[1])
    with pytest.raises(FathomError, match=r"scores of 1 models \(m\); 2 or more"):
        read_matrix(path, least=2)
    matrix = checked_matrix("made", ["task"], ["x"], np.ones((1, 1)), tasks=[""], categories=[""])
    with pytest.raises(FathomError, match="a model has the name of a column, 'task'"):
        write_matrix(matrix, tmp_path / "out.csv")
    with pytest.raises(FathomError, match=r"\.parquet, \.csv, \.jsonl file, not \.xlsx"):
        write_table(pl.DataFrame(), tmp_path / "out.xlsx")
    with pytest.raises(FathomError, match="model 'm' occurs 2 times"):
        checked_matrix("made", ["m", "m"], ["x"], np.ones((2, 1)), tasks=[""], categories=[""])


def test_a_row_where_all_score_alike_is_kept(tmp_path: Path) -> None:
    found = read_matrix(table(tmp_path / "flat.csv", item=["x", "y"], a=[0, 0], b=[0, 1]))
    assert found.scores.tolist() == [[0, 0], [0, 1]]


@given(st.data())
def test_weights_sum_to_one_and_categories_count_alike(data: st.DataObject) -> None:
    labels = data.draw(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy")), min_size=1, max_size=20))
    tasks = [f"{category}{task}" for task, category in labels]
    categories = [category for _, category in labels]
    items = [str(number) for number in range(len(labels))]
    found = checked_matrix("made", ["m"], items, np.zeros((1, len(items))), tasks=tasks, categories=categories)
    assert found.weights.sum() == pytest.approx(1.0)
    held = {name: sum(w for w, c in zip(found.weights, categories, strict=True) if c == name) for name in categories}
    assert list(held.values()) == pytest.approx([1 / len(held)] * len(held))


def row(model: str, sample: str, value: float | None, **more: object) -> Row:
    fields: dict[str, object] = {"task": "t", "item": sample.split("@")[0], "length": 8192, "tokens": 8000} | more
    return Row(suite="s", sample=sample, model=model, value=value, **fields)  # type: ignore[arg-type]


def test_rows_become_a_matrix(tmp_path: Path) -> None:
    rows = [
        row("b", "x@8k", 0.5, facets={"category": "code"}),
        row("b", "y@8k", 0.25, length=16384, tokens=None, tokens_in=900),
        row("a", "y@8k", 0.0, length=16384, tokens=None, tokens_in=1100),
        row("a", "x@8k", 1.0, epoch=1, facets={"category": "code"}),
        row("a", "x@8k", 0.0, epoch=2, facets={"category": "code"}),
        row("a", "z@8k", None, status="error"),
        row("a", "x@8k", 0.75, variant="t=1", facets={"category": "code"}),
    ]
    path = tmp_path / "rows.parquet"
    write_rows(to_frame(rows), path)
    found = read_matrix(path)
    assert found.models == ("b", "a", "a · t=1")
    assert found.items == ("x", "y", "z")
    assert found.categories == ("code", "", "")
    assert found.lengths.tolist() == [8192, 16384, 8192]
    assert found.costs.tolist() == [8000, 1000, 8000]
    expected = [[0.5, 0.25, np.nan], [0.5, 0.0, np.nan], [0.75, np.nan, np.nan]]
    assert np.array_equal(found.scores, expected, equal_nan=True)


def test_an_item_with_several_samples_is_several_items(tmp_path: Path) -> None:
    rows = [
        row("a", "x@8k", 0.5),
        row("a", "x@16k", 0.25, length=16384),
        row("a", "y@8k", 1.0),
        row("a", "x@0", 0.125, length=0, facets={"context": "none"}),
        row("a", "x@4k", 0.75, length=4096, facets={"cut_from": 8192}),
        row("a", "told", 0.5, length=0, facets={"aggregate": "overall"}),
    ]
    path = tmp_path / "rows.parquet"
    write_rows(to_frame(rows), path)
    found = read_matrix(path)
    assert found.items == ("x@8k", "x@16k", "y@8k")  # no question without context, no cut prompt, no average
    assert found.scores.tolist() == [[0.5, 0.25, 1.0]]


def test_rows_that_make_no_matrix(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    write_rows(to_frame([row("a", "x", None, status="error")]), path)
    with pytest.raises(FathomError, match="no row has a score"):
        read_matrix(path)
    write_rows(to_frame([row("a", "x", 1.0)]), path)
    other = tmp_path / "other.csv"
    write_rows(to_frame([Row("s2", "t", "x", "x", "b", 8192, 1.0)]), other)
    with pytest.raises(FathomError, match="'x' belongs to several suites"):
        read_matrix([path, other])


def test_released_scores(shared: Path) -> None:
    found = read_matrix(shared / "data" / "minilongbench")
    assert found.scores.shape == (40, 4750)
    assert found.items[0] == "longbench_2wikimqa/en/0000"
    assert {"longbench_lcc/en/0499", "longbench_dureader/zh/0199", "longbench_multifieldqa_en/en/0149"} <= set(
        found.items
    )
    assert set(found.categories) == {
        "single_doc_qa",
        "multi_doc_qa",
        "summarization",
        "few_shot",
        "synthetic",
        "code",
    }
    # N times the weights: 4750 / (tasks in the category x 6 x items of the task)
    assert 4750 * found.weights[found.items.index("longbench_lcc/en/0000")] == pytest.approx(4750 / (2 * 6 * 500))
    assert found.totals().min() == pytest.approx(0.098, abs=1e-3)
    assert found.totals().max() == pytest.approx(0.375, abs=1e-3)


def test_damaged_released_data_are_refused(tmp_path: Path) -> None:
    def write(models: object, tasks: object) -> None:
        (tmp_path / "models.json").write_text(json.dumps(models), "utf-8")
        (tmp_path / "tasks.json").write_text(json.dumps(tasks), "utf-8")

    pl.DataFrame({"m": [0.5, 1.0]}).write_parquet(tmp_path / "performance.parquet")
    task = {"task": "lcc", "start": 0, "stop": 2, "n": 2, "group": "Code Completion", "language": "code"}
    write({"models": ["m"]}, [task])
    assert read_matrix(tmp_path).items == ("longbench_lcc/en/0000", "longbench_lcc/en/0001")
    write({"models": ["m"]}, [task | {"n": 3}])
    with pytest.raises(FathomError, match=r"2 rows of scores, but tasks\.json has 3 items"):
        read_matrix(tmp_path)
    write({"models": ["m"]}, [task | {"group": "Cooking"}])
    with pytest.raises(FathomError, match=r"tasks\.json: \[0\]\.group: expected one of Single"):
        read_matrix(tmp_path)
    write({"models": ["m"]}, {"task": "lcc"})
    with pytest.raises(FathomError, match=r"tasks\.json: expected a list"):
        read_matrix(tmp_path)
    write({"models": ["other"]}, [task])
    with pytest.raises(FathomError, match=r"performance\.parquet: cannot be read"):
        read_matrix(tmp_path)
    write([], [task])
    with pytest.raises(FathomError, match=r"models\.json: expected an object"):
        read_matrix(tmp_path)
