from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.rows import SCHEMA, read_rows, to_frame, write_rows
from fathom.storage.parquet import ParquetWriter
from fathom.types import FathomError, Row

ROWS = [
    Row("s", "kv", "kv/0", "kv/0@2048", "m", 2048, 1.0, facets={"depth": 0.5, "kind": "深", "asked": 2, "fresh": True}),
    Row("s", "kv", "kv/1", "kv/1@2048", 'a,"b"\n<i>', 2048, None, status="error", detail="x\ny", answer="", cost=0.25),
    Row("", "kv", "kv/2", "kv/2@2048", "m", 2048, 0.25, answer=None, chance=0.2, tokens=7, seconds=1.5, valid=True),
]


def test_the_columns_are_the_fields_of_a_row() -> None:
    assert list(SCHEMA) == [field.name for field in dataclasses.fields(Row)]
    assert to_frame([]).schema == pl.Schema(dict(SCHEMA))
    assert to_frame(ROWS).schema == pl.Schema(dict(SCHEMA))


def test_facets_are_json() -> None:
    facets = to_frame(ROWS)["facets"]
    assert json.loads(facets[0]) == {"depth": 0.5, "kind": "深", "asked": 2, "fresh": True}
    assert facets[1] == "{}"


def test_half_an_emoji_of_a_truncated_reply_is_replaced() -> None:
    row = Row("s", "kv", "kv/0", "kv/0", "m", 0, 1.0, answer="a\ud83db", detail="\ude00c", facets={"kind": "\ud83d"})
    (made,) = to_frame([row, ROWS[0]]).head(1).iter_rows(named=True)
    assert (made["answer"], made["detail"]) == ("a\ufffdb", "\ufffdc")
    assert json.loads(made["facets"]) == {"kind": "\ufffd"}
    whole = json.loads('"\\ud83d\\ude00"')
    assert to_frame([dataclasses.replace(row, answer=whole)])["answer"][0] == "\U0001f600"


@pytest.mark.parametrize("tokens", [1 << 63, 10**400])
def test_a_number_that_no_column_holds_is_named(tokens: int) -> None:
    with pytest.raises(FathomError, match=r"one.json: row 2: tokens_in is .*, expected a number of at most 64 bits"):
        to_frame([ROWS[0], dataclasses.replace(ROWS[0], tokens_in=tokens)], "one.json")


@pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl"])
def test_a_table_survives_writing_and_reading(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / "new" / f"rows{suffix}"
    for rows in (ROWS, []):
        frame = to_frame(rows)
        write_rows(frame, path)
        assert read_rows(path).equals(frame)
        assert [file.name for file in path.parent.iterdir()] == [path.name]


@pytest.mark.slow
@given(
    st.lists(
        st.builds(
            Row,
            suite=st.just("s"),
            task=st.text(min_size=1),
            item=st.text(min_size=1),
            sample=st.text(min_size=1),
            model=st.text(min_size=1),
            length=st.integers(0, 2**40),
            value=st.none() | st.floats(0, 1),
            answer=st.none() | st.text(),
            facets=st.dictionaries(st.text(), st.text() | st.integers(-(2**50), 2**50) | st.booleans()),
        ),
        max_size=4,
    )
)
def test_any_row_survives(tmp_path_factory: pytest.TempPathFactory, rows: list[Row]) -> None:
    frame = to_frame(rows)
    for suffix in (".parquet", ".jsonl"):
        path = tmp_path_factory.getbasetemp() / f"any{suffix}"
        write_rows(frame, path)
        assert read_rows(path).equals(frame)


def test_a_failed_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "rows.parquet"
    write_rows(to_frame(ROWS), path)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ParquetWriter, "write", full)
    with pytest.raises(FathomError, match="No space left"):
        write_rows(to_frame([]), path)
    assert len(read_rows(path)) == 3
    assert [file.name for file in tmp_path.iterdir()] == ["rows.parquet"]


def test_missing_columns_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("task,value\nkv,1\n")
    with pytest.raises(FathomError, match=r"rows\.csv.*suite, item, sample, model, length"):
        read_rows(path)


def test_columns_with_a_default_may_be_absent_and_others_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(
        "suite,task,item,sample,model,length,value,mood\ns,kv,kv/0,kv/0@2k,m,2048,0.5,good\ns,kv,a,b,m,2048,\n"
    )
    frame = read_rows(path)
    assert frame.schema == pl.Schema(dict(SCHEMA))
    assert frame["value"].to_list() == [0.5, None]
    assert frame.row(0, named=True) == to_frame(
        [Row("s", "kv", "kv/0", "kv/0@2k", "m", 2048, 0.5)]
    ).row(0, named=True)  # fmt: skip


def test_facets_may_be_objects(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    line = {"suite": "s", "task": "t", "item": "i", "sample": "x", "model": "m", "length": 1, "value": 1}
    path.write_text("\n".join(json.dumps(line | {"facets": facets}) for facets in ({"depth": 0.5}, {"kind": "a"})))
    assert read_rows(path)["facets"].to_list() == ['{"depth": 0.5}', '{"kind": "a"}']


@pytest.mark.parametrize(
    ("field", "bad", "said"),
    [
        ("value", "1.5", "row 2: value is 1.5, expected a score between 0 and 1"),
        ("value", "high", "row 2: value is 'high', expected float64"),
        ("length", "8k", "row 2: length is '8k', expected int64"),
        ("length", "-1", "row 2: length is -1"),
        ("length", "", "row 2: length is None"),
        ("status", "lost", "row 2: status is 'lost', expected one of ok, overflow"),
        ("valid", "maybe", "row 2: valid is 'maybe', expected boolean"),
    ],
)
def test_bad_values_are_named(tmp_path: Path, field: str, bad: str, said: str) -> None:
    path = tmp_path / "rows.csv"
    facts = {"suite": "s", "task": "t", "item": "i", "sample": "x", "model": "m", "length": "1", "value": "1"}
    facts |= {"status": "ok", "valid": "true"}
    lines = [facts, facts | {field: bad}]
    path.write_text("\n".join([",".join(facts), *(",".join(line.values()) for line in lines)]))
    with pytest.raises(FathomError) as error:
        read_rows(path)
    assert said in str(error.value)
    assert str(path) in str(error.value)


def test_nan_is_absent(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    to_frame([Row("s", "t", "i", "x", "m", 1, float("nan"))]).write_parquet(path)
    rows = read_rows(path)
    assert rows.select("value", "detail").row(0) == (None, "the score is not a number")


@pytest.mark.parametrize("name", ["rows.parquet", "rows.jsonl", "rows.csv"])
def test_unreadable_files(tmp_path: Path, name: str) -> None:
    with pytest.raises(FathomError, match="no such file"):
        read_rows(tmp_path / name)
    (tmp_path / name).write_bytes(b"\xff\xfe{not this\x00")
    with pytest.raises(FathomError, match=name):
        read_rows(tmp_path / name)


def test_other_suffixes_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"\.parquet, \.csv, \.jsonl"):
        write_rows(to_frame([]), tmp_path / "rows.xlsx")
    with pytest.raises(FathomError, match="without a suffix"):
        read_rows(tmp_path / "rows")


@pytest.mark.parametrize("line", ['{"model": "half a \\ud83d"}', "[" * 100_000, '{"facets": ' + "[" * 5000])
def test_lines_that_no_table_can_hold_are_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "rows.jsonl").write_text(line + "\n", "utf-8")
    with pytest.raises(FathomError, match=r"rows\.jsonl"):
        read_rows(tmp_path / "rows.jsonl")


def test_a_parquet_file_that_polars_gives_up_on_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Some damaged files make polars raise what is no ``Exception``."""

    def give_up(*_: object, **__: object) -> pl.DataFrame:
        raise pl.exceptions.PanicException("called unwrap on an Err value")

    monkeypatch.setattr(pl, "read_parquet", give_up)
    (tmp_path / "rows.parquet").touch()
    with pytest.raises(FathomError, match="cannot be read as parquet"):
        read_rows(tmp_path / "rows.parquet")


@pytest.mark.parametrize("name", ["cost", "seconds"])
def test_costs_and_times_are_finite(tmp_path: Path, name: str) -> None:
    def read(value: float) -> pl.DataFrame:
        frame = to_frame(ROWS[:1]).with_columns(pl.lit(value).alias(name))
        write_rows(frame, tmp_path / "rows.parquet")
        return read_rows(tmp_path / "rows.parquet")

    assert read(float("nan"))[name].to_list() == [None]
    assert read(0.0)[name].to_list() == [0.0]
    for wrong in (float("inf"), -0.5, 1e300):
        with pytest.raises(FathomError, match=f"row 1: {name} is"):
            read(wrong)


@pytest.mark.parametrize(
    "content",
    [
        b"item;score\na;0,5\n",
        "\ufeffitem\tscore\r\na\t0,5\r\n".encode("utf-16-le"),
        b"sep=;\r\nitem;score\r\n;\r\na;0,5\r\n",
        b'item,score\na,"0,5"\n',
    ],
)
def test_tables_are_read_as_spreadsheets_save_them(tmp_path: Path, content: bytes) -> None:
    from fathom.rows.schema import read_table

    (tmp_path / "t.csv").write_bytes(content)
    assert read_table(tmp_path / "t.csv").rows() == [("a", "0,5")]


def test_texts_that_are_formulas_are_guarded_in_csv_and_read_as_they_were(tmp_path: Path) -> None:
    answers = ["=1+1", "-3", "@x", "+1", "'=2", "plain", "'quoted'", "\t=3"]
    rows = to_frame([dataclasses.replace(ROWS[0], sample=f"s{at}", answer=answer) for at, answer in enumerate(answers)])
    write_rows(rows, tmp_path / "rows.csv")
    assert '"=' not in (tmp_path / "rows.csv").read_text()
    assert ",=" not in (tmp_path / "rows.csv").read_text()
    assert read_rows(tmp_path / "rows.csv")["answer"].to_list() == answers
