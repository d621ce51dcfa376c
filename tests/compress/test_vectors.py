"""Embeddings as files, and the texts of items."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.compress.embedding import TfIdf, item_texts, read_vectors, write_vectors
from fathom.models.embedding import CHARACTERS
from fathom.suites.suitefile import SampleWriter, fresh_folder, write_documents, write_manifest
from fathom.types import Document, FathomError, Json, Sample, Span

FILLER = "The ferry leaves at nine. "


def make_suite(folder: Path, samples: list[Sample]) -> Path:
    manifest: dict[str, Json] = {"fathom": "suite", "suite": "tiny", "tokenizer": "words", "fingerprint": "f00d"}
    manifest |= {"notes": [], "left_out": [], "left_out_in_all": 0, "duplicates": 0, "tasks": ["passkey"]}
    manifest |= {"inputs": {}, "lengths": [64, 128], "samples": {"passkey": len(samples)}}
    with fresh_folder(folder) as fresh:
        write_documents(fresh, [Document("doc", FILLER, "test")])
        with SampleWriter(fresh) as writer:
            for one in samples:
                writer.add(one)
        write_manifest(fresh, manifest)
    return folder


def sample(number: int, length: int = 64) -> Sample:
    parts = (f"[{number}] ", Span("doc", 0, len(FILLER)), "When?")
    return Sample(f"item{number}@{length}", f"item{number}", "passkey", parts, ("nine",), length, 9)


def test_the_prompts_of_a_suite_are_named_as_a_matrix_of_its_runs(tmp_path: Path) -> None:
    beside = [
        replace(sample(0, 0), facets={"context": "none"}),
        replace(sample(0, 32), facets={"cut_from": 64}),
    ]
    found = item_texts(make_suite(tmp_path / "one", [sample(0), sample(1), *beside]))
    assert found.items == ("item0", "item1")
    assert found.texts == (f"[0] {FILLER}When?", f"[1] {FILLER}When?")
    assert found.shortened == 0
    both = item_texts(make_suite(tmp_path / "two", [sample(0), sample(0, 128), sample(1)]))
    assert both.items == ("item0@64", "item0@128", "item1@64")
    assert TfIdf()(both.texts).shape[0] == 3


def test_long_texts_keep_their_start_and_their_end(tmp_path: Path) -> None:
    text = "start" + "x" * CHARACTERS + "end"
    (tmp_path / "texts.jsonl").write_text(json.dumps({"item": "a", "text": text}) + "\n", "utf-8")
    found = item_texts(tmp_path / "texts.jsonl")
    assert found.shortened == 1
    assert len(found.texts[0]) == CHARACTERS
    assert found.texts[0].startswith("start")
    assert found.texts[0].endswith("end")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ('{"item": "a", "text": "b"}\n{"item": "a", "text": "c"}\n', "item 'a' occurs 2 times"),
        ('{"item": "a"}\n', "line 1: expected texts item and text; its fields are item"),
        ('{"item": 3, "text": "b"}\n', "line 1: expected texts item and text"),
        ("[1]\n", "line 1: expected a JSON object"),
        ("", "no text to embed"),
    ],
)
def test_texts_that_cannot_be_read(tmp_path: Path, lines: str, message: str) -> None:
    (tmp_path / "texts.jsonl").write_text(lines, "utf-8")
    with pytest.raises(FathomError, match=message):
        item_texts(tmp_path / "texts.jsonl")


def test_what_holds_no_texts(tmp_path: Path) -> None:
    (tmp_path / "table.xls").write_text("item,text\n", "utf-8")
    for source in (tmp_path, tmp_path / "table.xls"):
        with pytest.raises(FathomError, match="neither a built suite"):
            item_texts(source)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.text(min_size=1).filter(lambda name: "\0" not in name), min_size=1, max_size=8, unique=True))
def test_vectors_come_back_by_name_in_any_order(tmp_path: Path, items: list[str]) -> None:
    names = [name.encode("utf-8", "ignore").decode() for name in items]
    names = [f"{name}/{place}" for place, name in enumerate(names)]
    vectors = np.arange(3.0 * len(names), dtype=np.float64).reshape(-1, 3)
    write_vectors(names, vectors, tmp_path / "v.npz")
    order = np.random.default_rng(len(names)).permutation(len(names))
    found = read_vectors(tmp_path / "v.npz").of([names[place] for place in order])
    assert np.array_equal(found, vectors[order])


def test_equal_vectors_give_equal_bytes(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        write_vectors(["x", "y"], np.arange(4.0, dtype=np.float64).reshape(2, 2), tmp_path / name)
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_files_that_hold_no_vectors(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", vectors=np.eye(2))
    np.savez(tmp_path / "objects.npz", embeddings=np.array([{"a": 1}], dtype=object))
    np.savez(tmp_path / "double.npz", embeddings=np.eye(2), items=np.array(["a", "a"]))
    np.savez(tmp_path / "holes.npz", embeddings=np.array([[np.nan, 1.0]]))
    np.save(tmp_path / "one.npy", np.eye(2))
    (tmp_path / "text.npz").write_text("no arrays", "utf-8")
    for name, message in {
        "absent.npz": "no such file",
        "other.npz": "no array 'embeddings'; its arrays are vectors",
        "objects.npz": "cannot be read as arrays without Python objects",
        "double.npz": "1 different names of items for 2 embeddings",
        "holes.npz": "expected embeddings of finite numbers",
        "one.npy": "a file of embeddings must end in .npz",
        "text.npz": "cannot be read as arrays",
    }.items():
        with pytest.raises(FathomError, match=message):
            read_vectors(tmp_path / name)
