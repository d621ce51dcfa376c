"""Any table as rows: columns by name, mapped and set; and damaged files of every program as properties."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from command_line import Call
from fathom.rows import read, read_rows
from fathom.rows.parts import power_of_two
from fathom.types import FathomError
from fathom.types.origins import ORIGINS

LINES: list[dict[str, Any]] = [
    {"llm": name, "score": score, "id": number, "context": "4k", "task": "codes", "reply": "x"}
    for name in ("a", "b")
    for number, score in enumerate((1.0, 0.5, None))
]
COLUMNS = {"model": "llm", "value": "score", "item": "id", "length": "context", "answer": "reply"}


def write(path: Path, lines: list[Any]) -> Path:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_columns_are_named(tmp_path: Path) -> None:
    frame = read([write(tmp_path / "mine.jsonl", LINES)], columns=COLUMNS)
    assert frame.select("suite", "task", "item", "sample", "model", "length", "value", "status", "answer").rows()[
        :3
    ] == [
        ("codes", "codes", "0", "0@4096", "a", 4096, 1.0, "ok", "x"),
        ("codes", "codes", "1", "1@4096", "a", 4096, 0.5, "ok", "x"),
        ("codes", "codes", "2", "2@4096", "a", 4096, None, "error", "x"),  # an empty score is a missing reply
    ]
    assert set(frame["source"]) == {"table"}
    assert set(frame["metric"]) == {"score"}


def test_a_table_in_the_columns_of_rows_needs_no_names(tmp_path: Path) -> None:
    file = tmp_path / "mine.csv"
    file.write_text("model,task,length,value\na,codes,8k,1\na,codes,8k,0\nb,codes,8k,0.5\nb,codes,8k,\n")
    told: list[str] = []
    frame = read([file], "table", tell=told.append)
    assert frame.select("item", "length", "value").rows() == [
        ("codes/1", 8192, 1.0), ("codes/2", 8192, 0.0), ("codes/1", 8192, 0.5), ("codes/2", 8192, None),
    ]  # fmt: skip
    assert len(told) == 1
    assert "the n-th row of every model at a length counts as the same item" in told[0]


def test_one_value_for_all_rows(tmp_path: Path) -> None:
    file = write(tmp_path / "mine.jsonl", [{"score": 1, "n": number} for number in range(3)])
    constants = {"model": "lab/m", "suite": "mine", "length": "16k", "variant": "greedy"}
    frame = read([file], columns={"item": "n"}, constants=constants)
    assert frame.select("model", "suite", "task", "length", "variant").unique().rows() == [
        ("lab/m", "mine", "mine", 16384, "greedy")
    ]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            {"model": "a", "task": "t", "length": 1},
            "line 2: no value; the fields are: model, task, length. Name the field",
        ),
        ({"task": "t", "length": 1, "value": 1}, "line 2: no model"),
        ({"model": "a", "length": 1, "value": 1}, "line 2: no task"),
        ({"model": "a", "task": "t", "value": 1}, "line 2: no length"),
        ({"model": "a", "task": "t", "length": 1, "value": "good"}, "line 2: value is 'good', expected a number"),
        ({"model": "a", "task": "t", "length": "long", "value": 1}, "line 2: length is 'long', expected tokens"),
        ({"model": "a", "task": "t", "length": 1.5, "value": 1}, "line 2: length is 1.5"),
        ({"model": "a", "task": "t", "length": -4, "value": 1}, "line 2: length is -4"),
        ({"model": "a", "task": "t", "length": 10**40, "value": 1}, "line 2: length is 1000"),
        (
            {"model": "a", "task": "t", "length": 1, "value": 50},
            "row 2: value is 50.0, expected a score",
        ),
        ({"model": "a", "task": "t", "length": 1, "value": 1, "epoch": "x"}, "line 2: epoch is 'x', expected a whole"),
        ({"model": "a", "task": "t", "length": 1, "value": 1, "status": "lost"}, "line 2: status is 'lost'"),
        ({"model": "a", "task": "t", "length": 1, "value": 1, "answered": "maybe"}, "line 2: answered is 'maybe'"),
        ({"model": "a", "task": "t", "length": 1, "value": 1, "facets": "["}, "line 2: facets is '['"),
    ],
)
def test_what_is_wrong_is_named_with_its_line(line: dict[str, Any], expected: str, tmp_path: Path) -> None:
    first = {"model": "a", "task": "t", "length": 1, "value": 1, "item": "first"}
    file = write(tmp_path / "mine.jsonl", [first, line])
    with pytest.raises(FathomError) as raised:
        read([file], "table")
    assert expected in str(raised.value)
    assert "mine.jsonl" in str(raised.value)


def test_an_error_of_a_rows_file_says_how_to_name_its_columns(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="--columns"):
        read_rows(write(tmp_path / "mine.jsonl", LINES))


def test_the_command(call: Call, tmp_path: Path) -> None:
    file, out = write(tmp_path / "mine.jsonl", LINES), tmp_path / "rows.csv"
    words = [part for name, field in COLUMNS.items() for part in ("--columns", f"{name}={field}")]
    code, said, _ = call("rows", file, *words, "--set", "suite=mine", "--out", out)
    assert (code, said.strip()) == (0, f"{out}: 6 rows, scored by the rule strict")
    assert set(pl.read_csv(out)["suite"]) == {"mine"}
    code, _, error = call("rows", file, "--columns", "model", "--out", out)
    assert (code, "expected NAME=VALUE" in error) == (2, True)


def test_rows_written_by_fathom_are_read_as_they_are(tmp_path: Path) -> None:
    from fathom.rows import write_rows

    frame = read([write(tmp_path / "mine.jsonl", LINES)], columns=COLUMNS)
    write_rows(frame, tmp_path / "rows.parquet")
    assert read([tmp_path / "rows.parquet"]).equals(frame)


def test_powers_of_two() -> None:
    assert [power_of_two(tokens) for tokens in (0, 1, 2, 3, 4096, 4097)] == [1, 1, 2, 4, 4096, 8192]


def test_a_log_that_unpacks_to_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.storage.foreign.SMALL", 1 << 16)
    with zipfile.ZipFile(tmp_path / "bomb.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", b" " * (1 << 20))
    with pytest.raises(FathomError, match=r"bomb\.eval: cannot be read as an Inspect log: compressed 1,01\d times"):
        read([tmp_path / "bomb.eval"])


def test_odd_paths_in_a_log_are_never_written(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "odd.eval", "w") as archive:
        archive.writestr("../../outside.json", "{}")
        archive.writestr("header.json", "{}")
    with pytest.raises(FathomError, match=r"odd\.eval: cannot be read as an Inspect log"):
        read([tmp_path / "odd.eval"])
    assert [path.name for path in tmp_path.iterdir()] == ["odd.eval"]


ANY = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(
    ["doc_id", "doc", "filter", "acc", "metrics", "resps", "args", "data", "details", "accuracy", "sample_id", "scores",
     "response", "metadata", "status", "model", "task", "length", "value", "item", "epoch", "facets", "version", "eval"]
)  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", [one.name for one in ORIGINS if one.name not in ("inspect", "lighteval")])
def test_any_json_is_rows_or_an_error_of_ours(name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("any") / "results" / "model"
    folder.mkdir(parents=True)
    endings = {"helmet": "one.json", "opencompass": "one.json", "nemo-evaluator": "byob_predictions.jsonl"}
    file = folder / endings.get(name, "samples_one.jsonl")

    @settings(max_examples=60, deadline=None, database=None)
    @given(st.lists(st.dictionaries(NAMES, ANY, max_size=6), min_size=1, max_size=3))
    def check(records: list[dict[str, Any]]) -> None:
        file.write_text("\n".join(map(json.dumps, records if file.suffix == ".jsonl" else records[:1])))
        said = ""
        try:
            frame = read([file], name)
        except FathomError as error:
            said = str(error)
        assert file.name in said or frame["value"].is_between(0, 1).fill_null(True).all()

    check()
