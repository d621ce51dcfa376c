"""Imports of anything: what is wrong is said, the rest comes in, and nothing fails in another way."""

from __future__ import annotations

import copy
import json
import os
import zipfile
from collections.abc import Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.documents.corpus.text import document_id
from fathom.studio import imports
from fathom.studio.auditing import audit
from fathom.studio.exports import VERSION
from fathom.studio.store import Store
from fathom.studio.transfer import import_samples
from fathom.studio.types import SetIntake
from fathom.types import FathomError

TEXT = "The lamp was lit by Ida at six."
DOCUMENT = {
    "fathom": "studio document", "version": VERSION, "id": document_id(TEXT), "title": "The lamp", "language": "en",
    "tokens": 7, "bucket": 8192, "source": "", "licence": "", "domain": "", "format": "", "text": TEXT,
}  # fmt: skip
SAMPLE = {
    "fathom": "studio sample", "version": VERSION, "id": "s-1", "task": "T3.2 Single-Hop Fact QA", "language": "en",
    "bucket": 8192, "documents": [document_id(TEXT)], "difficulty": "Hard",
    "content": {
        "question": "Who?\nA. Ida\nB. Bo", "components": [
            {"text": "A", "evidence": [{"document": document_id(TEXT), "start": 20, "end": 23, "quote": "Ida"}]}],
        "rationale": "", "solution": "", "requirement": "full", "prompt_thinking": "", "prompt_answering": ""},
}  # fmt: skip
PRO = {
    "id": "p-1", "context": TEXT, "language": "English", "token_length": "8k",
    "primary_task": "T3. Evidence-Grounded QA", "secondary_task": "T3.2 Single-Hop Fact QA",
    "contextual_requirement": "Partial", "question_nonthinking": "Who? [Answer]",
    "question_thinking": "Think. Who? [Answer]", "answer": ["A"],
    "difficulty": "Easy",
}  # fmt: skip


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    return str(tmp_path / "store")


@pytest.fixture
def store(place: str) -> Iterator[Store]:
    with closing(Store(place)) as opened:
        opened.set_intake(SetIntake("words"))
        yield opened


def export(folder: Path, samples: list[Any], texts: list[Any]) -> Path:
    folder.mkdir(exist_ok=True)
    for name, records in (("samples.jsonl", samples), ("documents.jsonl", texts)):
        (folder / name).write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return folder


def test_the_records_of_these_tests_come_in(store: Store, tmp_path: Path) -> None:
    found = import_samples(store, export(tmp_path / "in", [SAMPLE], [DOCUMENT]))
    assert (found.samples, found.documents, found.problems) == (("s-1",), 1, ())
    (tmp_path / "pro.jsonl").write_text(json.dumps(PRO))
    assert import_samples(store, tmp_path / "pro.jsonl").samples == ("p-1",)


def test_what_the_store_refuses_is_said_and_the_rest_comes_in(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = TEXT + "x" * 100
    monkeypatch.setattr("fathom.studio.checks.MOST_CHARACTERS", 60)
    texts = [
        DOCUMENT,
        DOCUMENT | {"text": long, "id": document_id(long)},
        DOCUMENT | {"text": "Other", "id": document_id("Other"), "tokens": 10**30},
    ]
    samples = [
        SAMPLE | {"id": "s-2", "documents": [document_id(long)]},
        SAMPLE | {"id": "s-3", "task": "x" * 150},
        SAMPLE,
    ]
    found = import_samples(store, export(tmp_path / "in", samples, texts))
    assert found.samples == ("s-1",)
    assert found.documents == 1
    assert found.problem_count >= 4
    said = "\n".join(found.problems)
    for words in ("at most 60 are allowed", "add it first", "at most 128", "a whole number"):
        assert words in said
    assert audit(store).problems == ()


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20)
    | st.sampled_from(["", "\0", "../../x", 10**40, -1, "en", "<b>", DOCUMENT["id"], "8k", "English"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)  # fmt: skip


def paths_of(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, inner in pairs:
        yield from paths_of(inner, (*path, name))


def changed(record: Any, path: tuple[Any, ...], value: Any) -> Any:
    made = copy.deepcopy(record)
    inner = made
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return made


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_any_shape_is_imported_or_refused(store: Store, tmp_path: Path, data: st.DataObject) -> None:
    record = data.draw(st.sampled_from([SAMPLE, DOCUMENT, PRO]))
    made = changed(record, data.draw(st.sampled_from(list(paths_of(record)))), data.draw(anything))
    if record is PRO:
        path = tmp_path / "pro.jsonl"
        path.write_text(json.dumps(made) + "\n" + json.dumps(data.draw(anything)), encoding="utf-8")
    else:
        samples, texts = ([made], [DOCUMENT]) if record is SAMPLE else ([SAMPLE], [made])
        path = export(tmp_path / "in", samples, texts)
    with suppress(FathomError):
        import_samples(store, path)
    assert audit(store).problems == ()


def test_archives_that_would_unpack_to_too_much_are_refused(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(imports, "MOST_UNPACKED", 1000)
    with zipfile.ZipFile(tmp_path / "in.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("samples.jsonl", "x" * 1001)
    with pytest.raises(FathomError, match=r"in\.zip: it would unpack to 1 files with 0 MiB"):
        import_samples(store, tmp_path / "in.zip")
    (tmp_path / "no.zip").write_bytes(b"PK no archive")
    with pytest.raises(FathomError, match="not a readable archive"):
        import_samples(store, tmp_path / "no.zip")


@pytest.mark.slow
def test_one_huge_line_and_deep_nesting_are_refused(store: Store, tmp_path: Path) -> None:
    folder = export(tmp_path / "in", [SAMPLE], [DOCUMENT])
    with (folder / "samples.jsonl").open("a") as stream:
        stream.write('{"fathom": "' + "x" * (50 << 20) + "\n")
        stream.write("[" * 200_000 + "\n")
        stream.write('{"a": ' + "9" * 10_000 + "}\n")
    found = import_samples(store, folder)
    assert found.samples == ("s-1",)
    assert found.problem_count == 3
    assert all(len(one) < 500 for one in found.problems)


def test_a_name_that_is_not_utf_8_is_no_obstacle(store: Store, tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.jsonl"))
    path.write_text(json.dumps(PRO))
    assert import_samples(store, path).samples == ("p-1",)
