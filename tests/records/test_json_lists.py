"""Lists of JSON that are read entry by entry: the same entries as of the whole, wherever pieces of the file end."""

from __future__ import annotations

import gzip
import json
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.documents.records.json_text import read_list
from fathom.documents.records.streams import DamagedError

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def entries_of(data: bytes, monkeypatch: pytest.MonkeyPatch, piece: int = 1 << 16) -> list[object]:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "list.json"
        path.write_bytes(data)
        with monkeypatch.context() as patch:
            patch.setattr("fathom.documents.records.streams.CHUNK_BYTES", piece)
            patch.setattr("fathom.documents.records.json_text.AT_ONCE", piece)
            return list(read_list(path))


@given(
    values=st.lists(VALUES, max_size=6), piece=st.integers(1, 40), ascii=st.booleans(), blank=st.sampled_from([None, 1])
)
def test_entries_are_those_of_the_whole(values: list[object], piece: int, ascii: bool, blank: int | None) -> None:
    text = json.dumps(values, ensure_ascii=ascii, indent=blank).encode(errors="replace")
    assert entries_of(text, pytest.MonkeyPatch(), piece) == json.loads(text)


@pytest.mark.slow
@given(
    data=st.binary(max_size=30) | st.text('[]{},:"\\ 1ntrue\n', max_size=30).map(str.encode), piece=st.integers(1, 9)
)
def test_what_is_no_list_is_an_error_of_few_kinds(data: bytes, piece: int) -> None:
    try:
        expected = json.loads(data.decode())
    except (ValueError, RecursionError):
        expected = None
    try:
        found = entries_of(data, pytest.MonkeyPatch(), piece)
    except (ValueError, RecursionError):
        assert not isinstance(expected, list)
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("text", "kept", "message"),
    [
        ('[{"a": 1}, {"a": ', [{"a": 1}], "Expecting value at character 18"),
        ("[1, 2", [1, 2], "expected ',' at character 6"),
        ("[1 2]", [1], "expected ',' at character 4"),
        ("[1,]", [1], "Expecting value at character 4"),
        ("[1] [2]", [1], "more content after the end of the list"),
        ("[1, \xff]", [], "codec can't decode"),
    ],
)
def test_errors_say_where_and_entries_before_them_were_given(
    tmp_path: Path, text: str, kept: list[object], message: str
) -> None:
    path = tmp_path / "list.json"
    path.write_bytes(text.encode("latin-1"))
    entries = read_list(path)
    assert list(islice(entries, len(kept))) == kept
    with pytest.raises(ValueError, match=message):
        next(entries)


def test_compressed_lists_and_other_encodings_are_read(tmp_path: Path) -> None:
    values = [{"text": "文 " * 500}, 3]
    for name, data in {
        "a.json.gz": gzip.compress(json.dumps(values).encode()),
        "b.json": json.dumps(values, ensure_ascii=False).encode("utf-8-sig"),
        "c.json": json.dumps(values, ensure_ascii=False).encode("utf-16"),
    }.items():
        (tmp_path / name).write_bytes(data)
        assert list(read_list(tmp_path / name)) == values


def test_an_entry_without_end_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "list.json").write_text("[" + json.dumps("x" * 5000))
    monkeypatch.setattr("fathom.documents.records.json_text.LONGEST", 1000)
    monkeypatch.setattr("fathom.documents.records.json_text.AT_ONCE", 10)
    monkeypatch.setattr("fathom.documents.records.streams.CHUNK_BYTES", 100)
    with pytest.raises(DamagedError, match="convert it to JSONL"):
        list(read_list(tmp_path / "list.json"))
