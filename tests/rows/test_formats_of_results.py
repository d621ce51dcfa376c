"""Results are read from any format of records, and what lies beside them and is not read is named."""

from __future__ import annotations

import gzip
import json
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from command_line import Call
from fathom.analysis import is_score_table, read_scores
from fathom.compress import read_matrix
from fathom.rows import read_labels, read_rows, rows_from_lm_eval, to_frame, write_rows
from fathom.types import FathomError, Row
from made_results_pro import make_reply, rows_from_longbench_pro, write_replies, write_results

Rows = list[Mapping[str, Any]]


def as_lines(rows: Rows) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def as_parquet(rows: Rows) -> bytes:
    out = pa.BufferOutputStream()
    pq.write_table(pa.Table.from_pylist([dict(row) for row in rows]), out)
    return bytes(out.getvalue())


def as_arrow(rows: Rows) -> bytes:
    out, table = pa.BufferOutputStream(), pa.Table.from_pylist([dict(row) for row in rows])
    with pa.ipc.new_stream(out, table.schema) as writer:
        writer.write_table(table)
    return bytes(out.getvalue())


FORMATS: dict[str, Callable[[Rows], bytes]] = {
    ".jsonl": as_lines,
    ".jsonl.gz": lambda rows: gzip.compress(as_lines(rows)),
    ".jsonl.zst": lambda rows: zstandard.compress(as_lines(rows)),
    ".json": lambda rows: json.dumps(rows, indent=1).encode(),
    ".parquet": as_parquet,
    ".arrow": as_arrow,
    ".arrow.gz": lambda rows: gzip.compress(as_arrow(rows)),
}


@pytest.fixture(params=[*FORMATS, ".zip"])
def put(request: pytest.FixtureRequest) -> Callable[[Path, Rows], Path]:
    """Writes rows in a format beside the path of the JSONL file that they are in otherwise, and gives what to read."""
    suffix: str = request.param

    def written(path: Path, rows: Rows) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        if suffix == ".zip":
            archive = path.parent.with_name(f"{path.parent.name}.zip")
            with zipfile.ZipFile(archive, "w") as out:
                out.writestr(path.name, as_lines(rows))
            return archive
        file = path.with_name(path.name.removesuffix(".jsonl") + suffix)
        file.write_bytes(FORMATS[suffix](rows))
        return file

    return written


SAMPLES: Rows = [
    {"doc_id": number, "doc": {"q": "谁?"}, "target": "1", "resps": [["1"]], "filtered_resps": ["1"], "filter": "none",
     "metrics": ["acc"], "acc": score}
    for number, score in enumerate((1.0, 0.0))
]  # fmt: skip


def test_samples_of_lm_evaluation_harness(tmp_path: Path, put: Callable[[Path, Rows], Path]) -> None:
    found = rows_from_lm_eval(put(tmp_path / "lab__one" / "samples_arc_Easy_2025-07-01T12-30-45.123456.jsonl", SAMPLES))
    named = ("arc_Easy", "lab__one")
    assert found.select("task", "model", "value").rows() == [(*named, 1.0), (*named, 0.0)]


def test_replies_of_longbench_pro(tmp_path: Path, put: Callable[[Path, Rows], Path]) -> None:
    rows: Rows = [make_reply(6, 2), make_reply(0, id="seventeen")]
    expected = write_replies(tmp_path / "plain" / "one", list(rows))
    file = put(tmp_path / "one" / expected.name, rows)
    assert rows_from_longbench_pro(file).equals(rows_from_longbench_pro(expected))


def test_rows_of_ours(tmp_path: Path, put: Callable[[Path, Rows], Path]) -> None:
    frame = to_frame(
        [
            Row("s", "kv", "kv/0", "kv/0@2k", "m", 2048, 0.1, valid=False, cost=1e-7, answer='"a",\n', tokens=3),
            Row("s", "kv", "kv/1", "kv/1@2k", "m", 2048, None, answer="", target="谁"),
        ]
    )
    assert read_rows(put(tmp_path / "all" / "rows.jsonl", list(frame.iter_rows(named=True)))).equals(frame)


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.csv.gz", "rows.csv.zst", "rows.parquet.gz"])
def test_tables_that_tell_nothing_from_an_empty_text(tmp_path: Path, name: str) -> None:
    rows = [Row("s", "kv", f"kv/{n}", f"{n}", "m", 1, 0.5, answer=text) for n, text in enumerate(("", None, "a\tb"))]
    frame, path = to_frame(rows), tmp_path / name
    plain = tmp_path / f"plain{Path(name.removesuffix('.gz').removesuffix('.zst')).suffix}"
    if plain.suffix == ".tsv":
        frame.write_csv(plain, separator="\t")
    else:
        write_rows(frame, plain)
    packs: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".zst": zstandard.compress}
    pack = packs.get(path.suffix, bytes)
    path.write_bytes(pack(plain.read_bytes()))
    assert read_rows(path).equals(frame)


def test_scores_labels_and_matrices(tmp_path: Path, put: Callable[[Path, Rows], Path]) -> None:
    scores = put(tmp_path / "a" / "scores.jsonl", [{"model": "m", "length": n, "score": 0.5} for n in (1024, 2048)])
    assert is_score_table(scores)
    cells = read_scores(scores, scale="fraction").cells
    assert [(cell.length, cell.score) for cell in cells] == [(1024, 0.5), (2048, 0.5)]
    labels = put(tmp_path / "b" / "labels.jsonl", [{"sample": "x", "label": "right"}, {"sample": "y", "label": "no"}])
    assert read_labels(labels).rows() == [("x", 1.0), ("y", 0.0)]
    rows: Rows = [{"item": "x", "m": 1.0, "n": None}, {"item": "y", "m": 0.5, "n": 1.0}]
    matrix = read_matrix(put(tmp_path / "c" / "matrix.jsonl", rows))
    assert matrix.models == ("m", "n")
    assert not is_score_table(tmp_path / "c")


def test_an_archive_holds_one_table(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "two.zip", "w") as out:
        out.writestr("b.csv", "a\n1\n")
        out.writestr("a.jsonl", "{}")
    with pytest.raises(FathomError, match=r"two\.zip: expected one table in the archive, found a\.jsonl, b\.csv"):
        read_rows(tmp_path / "two.zip")
    (tmp_path / "bad.zip").write_bytes(b"PK")
    with pytest.raises(FathomError, match=r"bad\.zip: not a readable archive"):
        read_rows(tmp_path / "bad.zip")
    with zipfile.ZipFile(tmp_path / "bad.zip", "w") as out:
        out.writestr("b.csv", "text of a table\n1\n")
    (tmp_path / "bad.zip").write_bytes((tmp_path / "bad.zip").read_bytes().replace(b"text of", b"test of"))
    with pytest.raises(FathomError, match=r"bad\.zip/b\.csv: the file cannot be unpacked: Bad CRC-32"):
        read_rows(tmp_path / "bad.zip")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    folder = tmp_path / "logs"
    for name in (
        "lab__one/samples_x.jsonl",
        "lab__one/results_x.json",
        "notes.md",
        ".cache/samples_y.jsonl",
        "other.jsonl",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(as_lines(SAMPLES) if "samples" in name else b"{}")
    return folder


def test_files_beside_logs_are_named(call: Call, logs: Path, tmp_path: Path) -> None:
    code, _, error = call("rows", "--from", "lm-eval", logs, "--out", tmp_path / "rows.parquet")
    assert code == 0
    assert f"note: {logs}: not read (hidden): .cache" in error
    assert f"note: {logs}: not read (readable formats: .jsonl, .json, " in error
    assert "): notes.md" in error
    assert f"note: {logs}: not read (their names are not samples_*.jsonl): other.jsonl" in error
    assert error.count("not read") == 3


def test_a_build_names_what_it_does_not_read(call: Call, tmp_path: Path) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "a.csv").write_text(
        "body,n\n" + "".join(f"{n} words of a text. {'More. ' * 900},{n}\n" for n in range(9))
    )
    (folder / "cover.png").write_bytes(b"")
    options = ("--lengths", "1k", "--items", "1", "--out", tmp_path / "suite")
    code, _, error = call("build", "passkey", "--corpus", f"{folder}?text=body", *options)
    assert code == 0
    manifest = json.loads((tmp_path / "suite" / "manifest.json").read_text("utf-8"))
    (said,) = manifest["unread"]
    assert said == f"{folder}: 1 file not read (an image; if it has text, run OCR first): cover.png"
    assert f"note: {said}" in error
    assert manifest["left_out"] == []


def test_files_beside_results_of_longbench_pro_are_named(call: Call, tmp_path: Path) -> None:
    folder = write_results(tmp_path)
    (folder / "deep-1" / "predictions.jsonl").write_text("{}")
    code, _, error = call("rows", "--from", "longbench-pro", folder, "--out", tmp_path / "rows.parquet")
    assert code == 0
    (note,) = [line for line in error.splitlines() if "not read" in line]
    assert "not read (their names do not end in _summary.json or _evaluation.jsonl): deep-1/predictions.jsonl" in note


def test_a_frame_is_what_a_table_of_nothing_gives(tmp_path: Path) -> None:
    (tmp_path / "empty.jsonl.gz").write_bytes(gzip.compress(b"\n"))
    assert read_rows(tmp_path / "empty.jsonl.gz").equals(pl.DataFrame(schema=to_frame([]).schema))
