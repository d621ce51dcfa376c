"""Parquet files by row group and Arrow files by record batch: read as pyarrow reads them, checked before they are."""

from __future__ import annotations

import datetime as dt
import io
from base64 import b64encode
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from fathom.compress.tables import _holds_rows
from fathom.documents.records import Fault, Record, read_records
from fathom.rows.schema import read_table
from fathom.storage import parquet
from fathom.storage.arrow import ArrowStream
from fathom.storage.foreign import RefusedFileError
from fathom.storage.parquet import ParquetFile, ParquetWriter, plain_bytes
from fathom.storage.tables import DamagedTableError
from fathom.types import FathomError

ROOT = Path(__file__).parents[1]
WORDS = ["", "x", "Größe", "船" * 300]
COLUMNS: dict[str, pa.Array] = {
    "text": pa.array([*WORDS, None]),
    "large": pa.array([*WORDS, None], pa.large_string()),
    "view": pa.array([*WORDS, None], pa.string_view()),
    "bytes": pa.array([b"\xff", b"", None, b"a", b"b"]),
    "fixed": pa.array([b"ab", None, b"cd", b"ef", b"gh"], pa.binary(2)),
    "category": pa.array(["a", "b", None, "a", "a"]).dictionary_encode(),
    "whole": pa.array([1, None, -(2**62), 0, 5]),
    "unsigned": pa.array([2**64 - 1, None, 0, 1, 2], pa.uint64()),
    "real": pa.array([0.1, None, float("inf"), 2, 3]),
    "yes": pa.array([True, None, False, True, True]),
    "nothing": pa.nulls(5),
    "money": pa.array([Decimal("1.50"), None, Decimal("-2.25"), Decimal(0), Decimal(1)]),
    "day": pa.array([dt.date(2024, 2, 29), None, dt.date(1, 1, 1), dt.date(1970, 1, 1), dt.date(9999, 12, 31)]),
    "moment": pa.array([dt.datetime(2024, 2, 29, 1, 2, 3, 4), None, *[dt.datetime(1970, 1, 1)] * 3]),
    "hour": pa.array([dt.time(1, 2, 3), None, *[dt.time(0)] * 3]),
    "list": pa.array([["a", None], None, [], ["船"], ["b", "c"]]),
    "fixed list": pa.array([[1, 2], None, [3, 4], [5, 6], [7, 8]], pa.list_(pa.int32(), 2)),
    "deep": pa.array([[["a"], []], None, [], [None], [["b"], ["c", None]]]),
    "object": pa.array([{"a": 1, "b": ["x"]}, None, {"a": None, "b": None}, {"a": 2, "b": []}, {"a": 3, "b": ["y"]}]),
    "objects": pa.array([[{"a": "x", "b": {"c": 1.5}}], None, [], [None], [{"a": None, "b": None}]]),
    "categories": pa.array([["a", "b"], None, [], ["a"], ["a"]], pa.list_(pa.dictionary(pa.int8(), pa.string()))),
    "map": pa.array([[("k", 1), ("k", 2)], None, [], [("k", None)], [("l", 3)]], pa.map_(pa.string(), pa.int64())),
    "maps": pa.array(
        [[[(3, [("x", [{"key": 1}]), ("x", None)])], None], None, [], [[]], [[(3, []), (3, None)]]],
        pa.list_(pa.map_(pa.int64(), pa.map_(pa.string(), pa.list_(pa.struct({"key": pa.int64()}))))),
    ),
    "key and value": pa.array([[{"key": 1, "value": "x"}]] * 5),
    "a.dot": pa.array(["1", "2", "3", "4", "5"]),
}
TABLE = pa.table(COLUMNS)


def as_parquet(table: pa.Table, **settings: Any) -> bytes:
    out = io.BytesIO()
    pq.write_table(table, out, **settings)
    return out.getvalue()


def as_arrow(table: pa.Table, new: Callable[..., Any] = pa.ipc.new_stream, packed: str | None = None) -> bytes:
    out = io.BytesIO()
    with new(out, table.schema, options=pa.ipc.IpcWriteOptions(compression=packed)) as writer:
        writer.write_table(table, max_chunksize=2)
    return out.getvalue()


def as_polars_has_it(table: pa.Table) -> bytes:
    """A file whose schema is in its footer alone."""
    out = io.BytesIO()
    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    frame.write_ipc(out)
    return out.getvalue()


SOME = {"delta": ["text", "whole"], "file of polars": ["text", "whole", "category", "list", "objects"]}
"""Columns of the files that have not all."""
CONTENTS = {
    "pages of version 1": as_parquet(TABLE, row_group_size=2),
    "pages of version 2, zstd": as_parquet(TABLE, row_group_size=2, data_page_version="2.0", compression="zstd"),
    "no dictionaries, gzip": as_parquet(TABLE, use_dictionary=False, compression="gzip"),
    "brotli, checksums": as_parquet(TABLE, compression="brotli", write_page_checksum=True),
    "file of polars": as_polars_has_it(TABLE.select(SOME["file of polars"])),
    "delta": as_parquet(
        TABLE.select(SOME["delta"]),
        use_dictionary=False,
        column_encoding={"text": "DELTA_BYTE_ARRAY", "whole": "DELTA_BINARY_PACKED"},
    ),
    "stream": as_arrow(TABLE),
    "file": as_arrow(TABLE, pa.ipc.new_file),
    "stream, zstd": as_arrow(TABLE, packed="zstd"),
    "file, lz4": as_arrow(TABLE, pa.ipc.new_file, packed="lz4"),
}


def in_file(folder: Path, content: bytes) -> Path:
    path = folder / ("a.parquet" if content.startswith(b"PAR1") else "a.arrow")
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("name", CONTENTS)
def test_all_types_are_read_as_pyarrow_reads_them(tmp_path: Path, name: str) -> None:
    table = TABLE.select(SOME.get(name, TABLE.column_names))
    records = list(read_records(in_file(tmp_path, CONTENTS[name])))
    assert records == [Record(number, row) for number, row in enumerate(table.to_pylist(), start=1)]


def test_files_of_data_sets_have_types_that_no_table_of_ours_has(tmp_path: Path) -> None:
    """A table that ``datasets`` stored on disk: its types are in the schema's metadata, which is no one's business."""
    table = TABLE.select(["text", "list"]).replace_schema_metadata({"huggingface": '{"info": {"features": {}}}'})
    for content in (as_arrow(table), as_parquet(table)):
        records = list(read_records(in_file(tmp_path, content), frozenset(["TEXT"])))
        assert [record.fields for record in records if isinstance(record, Record)] == [
            {"text": text, "list": None} for text in TABLE["text"].to_pylist()
        ]


def test_what_is_written_frame_by_frame_is_one_file_for_every_reader(tmp_path: Path) -> None:
    frames = [pl.DataFrame({"a": [f"{part}"] * part, "b": [[part, None]] * part}) for part in (3, 1, 70)]
    path = tmp_path / "a.parquet"
    with path.open("wb") as stream:
        writer = ParquetWriter(stream, frames[0].schema, {"about": "it"})
        for frame in frames:
            writer.write(frame)
        writer.close()
    whole = pl.concat(frames)
    assert pl.read_parquet(path).equals(whole)
    assert pq.read_table(path).to_pylist() == whole.to_dicts()
    assert pq.read_metadata(path).num_row_groups == 3
    file = ParquetFile(path, verify=True)
    assert (file.rows, file.names, file.metadata) == ([3, 1, 70], ["a", "b"], {"about": "it"})
    assert [file.read(group, ["a"]).to_dicts() for group in range(3)] == [
        frame.select("a").to_dicts() for frame in frames
    ]
    assert file.read(2, start=68, rows=9).equals(frames[2][68:])


def test_a_file_without_rows_has_its_columns(tmp_path: Path) -> None:
    stream = io.BytesIO()
    ParquetWriter(stream, {"a": pl.String, "b": pl.List(pl.Int32)}).close()
    assert pl.read_parquet(stream.getvalue()).schema == {"a": pl.String, "b": pl.List(pl.Int32)}
    for content in (stream.getvalue(), as_parquet(TABLE[:0]), as_arrow(TABLE[:0])):
        assert list(read_records(in_file(tmp_path, content))) == []


def test_only_the_row_group_and_the_columns_that_are_asked_for_are_read(tmp_path: Path) -> None:
    path = in_file(tmp_path, as_parquet(pa.table({"a": ["x", "y"], "b": ["1", "2"]}), row_group_size=1))
    file = ParquetFile(path)
    group = pq.read_metadata(path).row_group(1)
    content = bytearray(path.read_bytes())
    kept = group.column(1)
    start, end = kept.dictionary_page_offset, kept.dictionary_page_offset + kept.total_compressed_size
    content[4:start] = bytes(start - 4)
    path.write_bytes(content[:end])
    assert file.read(1, ["b"]).to_dicts() == [{"b": "2"}]
    with pytest.raises(DamagedTableError):
        file.read(0)


def test_a_file_that_shrinks_while_it_is_read_is_damaged(tmp_path: Path) -> None:
    path = in_file(tmp_path, as_parquet(pa.table({"a": [str(number) for number in range(9999)]}), row_group_size=999))
    file = ParquetFile(path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(DamagedTableError, match="cut off"):
        file.read(9)


def damaged(content: bytes, turns: int) -> list[bytes]:
    rng = Random(5)
    changed = []
    for _ in range(turns):
        data = bytearray(content)
        for _ in range(rng.choice((1, 1, 3))):
            at = rng.randrange(len(data))
            data[at] = rng.choice((data[at] ^ 1 << rng.randrange(8), 0, 127, 255))
        changed.append(bytes(data))
    return changed


@pytest.mark.slow
@pytest.mark.parametrize("name", CONTENTS)
def test_a_damaged_file_gives_rows_and_faults_and_no_panic(tmp_path: Path, name: str) -> None:
    faults = 0
    for content in damaged(CONTENTS[name], 150):
        faults += any(isinstance(record, Fault) for record in read_records(in_file(tmp_path, content)))
    assert faults > 20


def test_a_page_with_another_checksum_is_refused_where_they_are_compared() -> None:
    ours = io.BytesIO()
    writer = ParquetWriter(ours, {"a": pl.Int64})
    writer.write(pl.DataFrame({"a": [1, 2, 3]}))
    writer.close()
    for content in (ours.getvalue(), as_parquet(pa.table({"a": [1, 2, 3]}), write_page_checksum=True)):
        column = pq.read_metadata(io.BytesIO(content)).row_group(0).column(0)
        start = column.dictionary_page_offset or column.data_page_offset
        data = bytearray(content)
        data[start + column.total_compressed_size - 1] ^= 1
        assert ParquetFile(content, verify=True).read(0).height == 3
        with pytest.raises(DamagedTableError, match="another checksum"):
            ParquetFile(bytes(data), verify=True).read(0)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"PAR1",
        b"PAR1PAR1",
        b"PAR1\xff\xff\xff\xffPAR1",
        b"PAR1" + b"\x19" * 90_000 + (90_000).to_bytes(4, "little") + b"PAR1",  # lists in lists
        b"PAR1" + b"\x1c" * 90_000 + (90_000).to_bytes(4, "little") + b"PAR1",  # structures in structures
        b"PAR1" + b"\x19\xfc" + b"\xff\xff\xff\x7f" + bytes(90_000) + (90_006).to_bytes(4, "little") + b"PAR1",
    ],
    ids=["empty", "short", "no footer", "long footer", "lists", "structures", "a long list"],
)
def test_a_footer_that_is_none_is_refused(content: bytes) -> None:
    with pytest.raises(DamagedTableError):
        ParquetFile(content)


def test_a_footer_of_too_many_values_is_not_read_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    content = as_parquet(pa.table({f"c{number}": [1] for number in range(100)}))
    assert len(ParquetFile(content).names) == 100
    monkeypatch.setattr(parquet, "MOST_VALUES", 1000)
    with pytest.raises(DamagedTableError, match="more than 1,000 values"):
        ParquetFile(content)


def test_statistics_do_not_count_and_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({f"c{number}": [1, 2] for number in range(50)})
    content = as_parquet(pa.concat_tables([table] * 10), row_group_size=2, write_page_index=True)
    monkeypatch.setattr(parquet, "MOST_VALUES", 50 * 10 * 20 + 1000)
    assert ParquetFile(content).read(9)["c49"].to_list() == [1, 2]
    out = io.BytesIO()
    writer = ParquetWriter(out, {"a": pl.Int64}, statistics=True)
    writer.write(pl.DataFrame({"a": [3, None, 5]}))
    writer.close()
    kept = pq.read_metadata(io.BytesIO(out.getvalue())).row_group(0).column(0).statistics
    assert kept.null_count == 1


def test_texts_that_are_stored_once_count_each_time() -> None:
    once = pa.array(["x" * 1000] * 500).dictionary_encode()
    nested = pa.ListArray.from_arrays(pa.array(range(501), pa.int32()), once)
    for array in (once, nested, pa.StructArray.from_arrays([once], ["a"])):
        table = pa.table({"a": array})
        (batch,) = ArrowStream(io.BytesIO(as_arrow_at_once(table))).batches()
        for frame in (batch, ParquetFile(as_parquet(table)).read(0)):
            assert plain_bytes(frame) >= 500_000


def as_arrow_at_once(table: pa.Table) -> bytes:
    out = io.BytesIO()
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return out.getvalue()


def test_arrow_batches_that_unpack_to_more_than_their_size_explains_are_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    content = as_arrow(pa.table({"a": ["x" * 1_000_000]}), packed="zstd")
    monkeypatch.setattr("fathom.storage.foreign.SMALL", 1 << 16)
    with pytest.raises(RefusedFileError, match="compressed"):
        list(ArrowStream(io.BytesIO(content)).batches())


def test_a_file_that_states_billions_of_batches_is_refused_at_once(tmp_path: Path) -> None:
    content = bytearray(CONTENTS["file"])
    length = int.from_bytes(content[-10:-6], "little")
    footer = bytes(content[-10 - length : -10])
    counts = [at for at in range(0, length, 4) if footer[at : at + 4] == (3).to_bytes(4, "little")]  # it has 3 batches
    refused = []
    for at in counts:
        start = len(content) - 10 - length + at
        changed = content[:start] + b"\xff\xff\xff\x7f" + content[start + 4 :]
        refused += [str(fault) for fault in read_records(in_file(tmp_path, bytes(changed))) if isinstance(fault, Fault)]
    assert any("more parts than it has" in reason for reason in refused)


def test_dictionaries_of_a_stream_may_change_between_batches_and_not_grow(tmp_path: Path) -> None:
    out = io.BytesIO()
    parts = [pa.table({"a": pa.array(words).dictionary_encode()}) for words in (["x", "y"], ["z"], ["y", "z", "z"])]
    with pa.ipc.new_stream(out, parts[0].schema) as writer:
        for part in parts:
            writer.write_table(part)
    assert column_of(tmp_path, out.getvalue()) == ["x", "y", "z", "y", "z", "z"]
    out = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(emit_dictionary_deltas=True)
    grown = pa.array(["x", "y", "z"])
    with pa.ipc.new_stream(out, parts[0].schema, options=options) as writer:
        for size in (1, 3):
            codes = pa.array([size - 1], pa.int32())
            writer.write_table(pa.table({"a": pa.DictionaryArray.from_arrays(codes, grown[:size])}))
    with pytest.raises(DamagedTableError, match="dictionary in parts"):
        list(ArrowStream(io.BytesIO(out.getvalue())).batches())


def column_of(folder: Path, content: bytes) -> Sequence[object]:
    return [record.fields["a"] for record in read_records(in_file(folder, content)) if isinstance(record, Record)]


def test_a_large_row_group_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heights = []
    real = pl.DataFrame.iter_slices

    def noted(frame: pl.DataFrame, n_rows: int = 10_000) -> Any:
        heights.append(frame.height)
        return real(frame, n_rows)

    monkeypatch.setattr(pl.DataFrame, "iter_slices", noted)
    monkeypatch.setattr("fathom.documents.records.reading.PIECE_BYTES", 100_000)
    texts = [f"{number} " * 100 for number in range(2000)]
    assert column_of(tmp_path, as_parquet(pa.table({"a": texts}))) == texts
    assert max(heights) < 1000


def nested(levels: int) -> pa.DataType:
    kind = pa.int8()
    for _ in range(levels - 1):
        kind = pa.list_(kind)
    return kind


@contextmanager
def changed_footer(path: Path) -> Iterator[parquet.Struct]:
    """The footer of a Parquet file, which may be changed."""
    content = path.read_bytes()
    length = int.from_bytes(content[-8:-4], "little")
    footer = parquet._Thrift(content[-8 - length : -8]).struct()
    yield footer
    path.write_bytes(content[: -8 - length] + parquet._ended(footer))


def deep_parquet(path: Path, levels: int) -> None:
    pq.write_table(pa.table({"a": [1]}), path)
    with changed_footer(path) as footer:
        root, leaf = footer[2][1][1]
        footer[2] = 9, (12, [root, *[{3: (5, 0), 4: (8, b"g"), 5: (5, 1)}] * (levels - 1), leaf])
        footer[4][1][1][0][1][1][1][0][3][1][3] = 9, (8, [b"g"] * (levels - 1) + [b"a"])


def test_texts_that_are_json_are_texts(tmp_path: Path) -> None:
    texts = ['{"a": 1}', None, "船"]
    json = pa.array(texts, pa.json_())
    table = pa.table({"a": json, "b": pa.ListArray.from_arrays(pa.array(range(4), pa.int32()), json)})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    expected = [Record(number, {"a": text, "b": [text]}) for number, text in enumerate(texts, start=1)]
    assert list(read_records(path)) == expected
    with changed_footer(path) as footer:
        for element in footer[2][1][1]:
            element.pop(10, None)  # the logical type, which writers of earlier versions lack
    assert list(read_records(path)) == expected


@pytest.mark.parametrize("kind", ["parquet", "stream", "file"])
def test_a_type_of_more_levels_than_polars_can_follow_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / ("a.parquet" if kind == "parquet" else "a.arrow")
    for levels in (64, 65, 500):
        if kind == "parquet":
            deep_parquet(path, levels)
        else:
            rows = [pa.nulls(1, nested(levels))] if levels == 64 else []  # pyarrow writes no deeper ones
            table = pa.table({"a": pa.chunked_array(rows, nested(levels))})
            path.write_bytes(as_arrow(table, pa.ipc.new_file if kind == "file" else pa.ipc.new_stream))
        (row,) = read_records(path)
        assert isinstance(row, Record) if levels == 64 else "more than 64 levels" in str(row)
    if kind == "parquet":
        assert not _holds_rows(path)
        with pytest.raises(FathomError, match="more than 64 levels"):
            read_table(path)


@pytest.mark.parametrize("levels", [64, 65, 1000])
def test_the_types_that_arrow_had_are_no_deeper_either_where_polars_reads_them(tmp_path: Path, levels: int) -> None:
    if levels <= 64 and pl.__version__ < "2.1":
        pytest.skip("polars before 2.1 does not read types that a file says wrongly")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"a": ["x"]}), path)
    with changed_footer(path) as footer:
        types = b64encode(pa.schema([("a", nested(levels))]).serialize().to_pybytes())
        footer[5] = parquet._pairs({"ARROW:schema": types.decode()})
    assert list(read_records(path)) == [Record(1, {"a": "x"})]
    with pytest.raises(FathomError, match="more than 64 levels") if levels > 64 else nullcontext():
        assert read_table(path)["a"].to_list() == ["x"]


@pytest.mark.parametrize("kind", ["parquet", "stream", "file"])
def test_columns_of_decimals_that_polars_does_not_read_are_named_and_the_others_read(tmp_path: Path, kind: str) -> None:
    money = pa.array([Decimal(1), Decimal(2), None], pa.decimal256(50, 1))
    table = pa.table(
        {"money": money, "moneys": pa.array([[Decimal(1)]] * 3, pa.list_(money.type)), "a": ["x", "y", "z"]}
    )
    new = {"stream": pa.ipc.new_stream, "file": pa.ipc.new_file}.get(kind)
    path = in_file(tmp_path, as_arrow(table, new) if new else as_parquet(table, row_group_size=2))
    expected = [
        Record(number, {"money": None, "moneys": None, "a": text}) for number, text in enumerate("xyz", start=1)
    ]
    fault, *records = read_records(path)
    assert isinstance(fault, Fault)
    assert fault.reason.endswith("column 'money', 'moneys'")
    assert records == expected
    assert list(read_records(path, frozenset("a"))) == expected


@pytest.mark.parametrize("new", [pa.ipc.new_stream, pa.ipc.new_file])
def test_arrow_columns_that_polars_does_not_read_are_named_and_the_others_read(
    tmp_path: Path, new: Callable[..., Any]
) -> None:
    codes, numbers = pa.array([0, 1, 0], pa.int8()), pa.array([5, 6, 7])
    views = pa.ListViewArray.from_arrays([0, 0, 1], [1, 2, 2], pa.array(["a", "b" * 50, "c"], pa.string_view()))
    words = pa.array(["v", "w", "v"]).dictionary_encode()
    table = pa.table(
        {
            "first": pa.array(["x", "y", "z"]),
            "interval": pa.array([pa.MonthDayNano([1, 2, 3])] * 3),
            "view": pa.array(["short", "long " * 9, None], pa.string_view()),
            "dense": pa.UnionArray.from_dense(codes, pa.array([0, 0, 1], pa.int32()), [pa.array(["p", "q"]), numbers]),
            "nothing": pa.nulls(3),
            "sparse": pa.UnionArray.from_sparse(codes, [pa.array(["p", "q", "r"]), numbers]),
            "inner": pa.StructArray.from_arrays([views, words], ["views", "word"]),
            "word": words,
            "runs": pa.RunEndEncodedArray.from_arrays(pa.array([2, 3], pa.int32()), pa.array(["m", "n"])),
            "last": pa.array([[1], [], [2, 3]]),
        }
    )
    lost = {"interval": "intervals", "dense": "unions", "sparse": "unions", "inner": "list views", "runs": "runs"}
    found = list(read_records(in_file(tmp_path, as_arrow(table, new))))
    faults = [str(fault) for fault in found if isinstance(fault, Fault)]
    for name, reason in lost.items():
        assert any(f"not read, as it has {reason}, write it" in fault and repr(name) in fault for fault in faults)
    expected = [row | dict.fromkeys(lost) for row in table.drop_columns(list(lost)).to_pylist()]
    assert [record.fields for record in found if isinstance(record, Record)] == expected
    alone = in_file(tmp_path, as_arrow(table.select(["interval"]), new))
    assert [record.fields for record in read_records(alone) if isinstance(record, Record)] == [{"interval": None}] * 3


def test_a_dictionary_is_decoded_once_for_as_many_batches_as_it_is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array(range(400), pa.int32()), pa.array(["x" * 100] * 400))
    out = io.BytesIO()
    with pa.ipc.new_stream(out, pa.schema([("a", words.type)])) as writer:
        writer.write_table(pa.table({"a": words}), max_chunksize=4)
    decoded = []
    real = pl.read_ipc_stream

    def noted(content: bytes, **settings: Any) -> pl.DataFrame:
        decoded.append(len(content))
        return real(content, **settings)

    monkeypatch.setattr(pl, "read_ipc_stream", noted)
    frames = list(ArrowStream(out).batches())
    assert sum(frame.height for frame in frames) == 400
    assert len(decoded) <= 3  # one of them for the schema


def test_texts_that_are_no_utf8_are_named_beside_fields_of_bytes(tmp_path: Path) -> None:
    kind = pa.struct([("text", pa.string()), ("blob", pa.binary())])
    bad = pa.StructArray.from_arrays(
        [pa.array([b"good", b"\xff", b"fine"]).view(pa.string()), pa.array([b"\xfe", b"\xfd", b"ok"])],
        fields=list(kind),
    )
    first, second, third = read_records(in_file(tmp_path, as_parquet(pa.table({"a": bad}))))
    assert first == Record(1, {"a": {"text": "good", "blob": b"\xfe"}})
    assert isinstance(second, Fault)
    assert "field 'a' cannot be read" in str(second)
    assert third == Record(3, {"a": {"text": "fine", "blob": b"ok"}})


def test_two_columns_of_one_name_in_arrow_are_an_error_of_the_file(tmp_path: Path) -> None:
    table = pa.table([pa.array([1]), pa.array([2])], names=["a", "a"])
    for new in (pa.ipc.new_stream, pa.ipc.new_file):
        (fault,) = read_records(in_file(tmp_path, as_arrow(table, new)))
        assert "two columns have one name" in str(fault)


def test_nothing_needs_pyarrow() -> None:
    """It is as large as polars; only tests compare with it."""
    names = [path for path in (ROOT / "src").rglob("*.py") if "import pyarrow" in path.read_text(encoding="utf-8")]
    assert names == []
