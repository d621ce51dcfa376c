"""Uploaded files: read in a process with limits, stored one by one, and nothing left behind."""

from __future__ import annotations

import gzip
import io
import json
import re
import sqlite3
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from fathom.documents.corpus.text import normalise
from fathom.server.backup import backup, restore
from fathom.server.database import FullStoreError
from fathom.studio import reading, uploads
from fathom.studio.auditing import KIND, audit
from fathom.studio.intake import SKETCHES, IntakeRules, sketch_of
from fathom.studio.reading import own_name, reason_of
from fathom.studio.states import RefusedError
from fathom.studio.store import Store
from fathom.studio.types import Person, ReviewDocument, SetIntake
from fathom.studio.uploads import Upload, UploadReport, add_uploads, remove_left
from fathom.studio.work import add_documents, sketches_of
from fathom.types import FathomError
from made_studio import made_text
from studio_stores import OPERATOR, PEOPLE, person


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    with closing(Store(str(tmp_path / "store"))) as opened:
        for name, role in PEOPLE.items():
            opened.set_person(Person(name, role), OPERATOR)
        opened.set_intake(SetIntake("words", (4096,), 0.5))
        yield opened
    assert list(folder.iterdir()) == [], "temporary files are left"


def send(store: Store, **files: bytes | str) -> UploadReport:
    sent = [(name.replace("__", "."), one if isinstance(one, bytes) else one.encode()) for name, one in files.items()]
    return add_uploads(store, [Upload(name, io.BytesIO(one)) for name, one in sent], IntakeRules(), person("bo"))


def packed(**files: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, one in files.items():
            archive.writestr(name.replace("__", "."), one)
    return stream.getvalue()


@pytest.mark.slow
def test_what_became_of_each_file(store: Store) -> None:
    text = made_text(1)
    rows = json.dumps({"text": made_text(2), "licence": "CC0-1.0"}) + "\nno JSON\n"
    files: dict[str, bytes | str] = {
        "first__md": text,
        "copy__txt": text,
        "edition__html": f"<main><h1>Another edition</h1><pre>{text}</pre></main>",
        "rows__jsonl": rows,
        "all__zip": packed(a__txt=made_text(3), b__exe="MZ"),
        "../../etc/passwd__txt": made_text(4),
        "old__doc": "x",
        "damaged__pdf": "%PDF-1.4",
        "empty__txt": "",
    }
    first, copy, edition, table, archive, path, old, damaged, empty = send(store, **files).added
    assert [one.source for one in first.documents] == ["first.md"]
    assert [one.id for one in copy.known] == [first.documents[0].id]
    assert edition.documents[0].duplicate_of == first.documents[0].id
    assert (table.documents[0].source, table.documents[0].licence) == ("rows.jsonl:1", "CC0-1.0")
    assert table.problems == ("line 2: not JSON: Expecting value at position 1 of the line",)
    assert archive.documents[0].source == "all.zip/a.txt"
    assert "b.exe" in archive.problems[0]
    assert path.documents[0].source == "../../etc/passwd.txt"
    assert "its name should end in .txt" in old.problems[0]
    assert damaged.problems[0].startswith("damaged: not a readable PDF")
    assert empty.problems
    for one in (first, copy, edition, table, archive, path, old, damaged, empty):
        assert tempfile.gettempdir() not in " ".join(one.problems)
    assert {one.person for one in store.log() if one.kind == "AddDocument"} == {"bo"}
    assert {one.state for one in store.documents()} == {"collected"}
    assert audit(store).problems == ()


def test_only_a_suffix_is_left_of_a_name() -> None:
    assert own_name("../../x/y.TXT") == "file.txt"
    assert own_name("a.b.jsonl.GZ") == "file.jsonl.gz"
    assert own_name("\u202efdp.zip") == "file.zip"
    for name in ("passwd", "a.exe", "a.txt/", ".txt", "a.zip.gz", "a.txt\0", ""):
        with pytest.raises(FathomError, match="this format is not read"):
            own_name(name)


def test_reasons_do_not_name_where_a_file_was_stored() -> None:
    path = Path("/uploads/x/file.zip")
    assert reason_of("  /uploads/x/file.zip: not read (hidden): file.zip", path) == "hidden"
    assert reason_of("/uploads/x/file.zip/a.txt:3: not UTF-8", path) == "a.txt:3: not UTF-8"
    assert reason_of("/uploads/x/file.zip:3: not UTF-8", path) == "line 3: not UTF-8"


def bomb(kind: str) -> tuple[str, bytes]:
    """A small file that unpacks to a large one."""
    nothing = bytes(1 << 20)
    stream = io.BytesIO()
    match kind:
        case "gz":
            with gzip.open(stream, "wb", 1) as out:
                for _ in range(300):
                    out.write(nothing)
            return "bomb__txt__gz", stream.getvalue()
        case "zip":
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
                for number in range(6):
                    archive.writestr(f"{number}.txt", nothing * 200)
            return "bomb__zip", stream.getvalue()
        case "files":
            with zipfile.ZipFile(stream, "w") as archive:
                for number in range(2100):
                    archive.writestr(f"{number}.txt", "x")
            return "many__zip", stream.getvalue()
        case "docx":
            with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
                archive.writestr("word/document.xml", nothing * 200)
            return "bomb__docx", stream.getvalue()
        case "parquet":
            import pyarrow as pa
            import pyarrow.parquet as pq

            column = pa.DictionaryArray.from_arrays([0] * 400, ["x" * (30 << 20)])
            pq.write_table(pa.table({"text": column}), stream, compression="zstd")
            return "bomb__parquet", stream.getvalue()
    raise ValueError(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["gz", "zip", "files", "docx", "parquet"])
def test_bombs_are_refused_by_their_size_and_the_next_file_is_read(store: Store, kind: str) -> None:
    name, content = bomb(kind)
    assert len(content) < 8 << 20
    sent: dict[str, bytes | str] = {name: content, "good__txt": "A text that is read."}
    refused, good = send(store, **sent).added
    assert refused.documents == ()
    assert re.search(r"would unpack to|compressed [\d,]+ times", refused.problems[0])
    assert [one.title for one in good.documents] == ["A text that is read."]


@pytest.mark.slow
def test_a_compressed_file_that_is_cut_off_keeps_what_can_be_read(store: Store) -> None:
    rows = (json.dumps({"text": made_text(number, articles=1)}) for number in range(40))
    whole = gzip.compress("\n".join(rows).encode())
    (cut,) = send(store, a__jsonl__gz=whole[: len(whole) // 2]).added
    assert cut.documents
    assert "is damaged" in cut.problems[-1]


@pytest.mark.slow
def test_a_file_that_takes_too_long_is_given_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "SECONDS", 0.01)
    (late,) = send(store, a__txt="words").added
    assert "takes more than 0.01 seconds" in late.problems[0]


@pytest.mark.slow
def test_what_was_stored_before_an_interruption_stays(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = count(step=uploads.SECONDS / 1.5)
    sent = [Upload(f"{number}.txt", io.BytesIO(f"Text {number}".encode())) for number in range(4)]
    outcome = add_uploads(store, sent, IntakeRules(), person("bo"), clock=lambda: next(ticks))
    assert [bool(one.documents) for one in outcome.added] == [True, False, False, False]
    assert "send it again" in outcome.added[-1].problems[0]

    def full(*_: Any) -> Any:
        raise FullStoreError("no space is left in the store; nothing was changed")

    monkeypatch.setattr(uploads, "store_document", full)
    outcome = send(store, a__txt="One more", b__txt="Two more")
    assert outcome.full
    assert "no space is left" in outcome.added[0].problems[0]
    assert "not stored" in outcome.added[1].problems[0]
    assert len(store.documents()) == 1


def test_a_full_disk_for_the_file_itself_is_said(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> Any:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fathom.studio.uploads.shutil.copyfileobj", full)
    outcome = send(store, a__txt="words")
    assert outcome.full
    assert "No space left on device" in outcome.added[0].problems[0]


def test_folders_of_killed_servers_are_removed_and_those_in_use_stay(store: Store) -> None:
    left = Path(tempfile.mkdtemp(prefix="fathom-upload-"))
    (left / "file.txt").write_text("secret")
    other = Path(tempfile.mkdtemp(prefix="another-"))
    with uploads._stored(Upload("a.txt", io.BytesIO(b"x"))) as used:
        remove_left()
        assert used.read_bytes() == b"x"
    assert not left.exists()
    assert other.exists()
    other.rmdir()


# --------------------------------------------------------------------------------------------- measures and sketches


def test_documents_are_measured_with_one_tokenizer(store: Store, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("Some words are here.")
    (found,) = add_documents(store, [str(tmp_path / "a.txt")]).taken
    assert found.document.tokens == 4
    (tmp_path / "b.txt").write_text("Other words are here.")
    with pytest.raises(RefusedError, match=r"measured with the tokenizer words.*init --tokenizer chars"):
        add_documents(store, [str(tmp_path / "b.txt")], tokenizer="chars")
    add_documents(store, [str(tmp_path / "b.txt")], tokenizer="words", rules=IntakeRules((4, 8), 0.1))
    assert store.intake() == SetIntake("words", (4, 8), 0.1)
    assert [one.bucket for one in store.documents()].count(4) == 1
    assert audit(store).problems == ()


def test_an_unknown_tokenizer_is_not_recorded(store: Store) -> None:
    before = store.head()
    with pytest.raises(FathomError):
        add_documents(store, ["world"], tokenizer="none:such")
    assert store.head() == before


def test_sketches_are_stored_and_made_again_where_they_are_missing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = normalise(made_text(1))
    (tmp_path / "a.txt").write_text(text)
    add_documents(store, [str(tmp_path / "a.txt")])
    ((id, kept),) = store.sketches(SKETCHES).items()
    assert kept == sketch_of(text)
    monkeypatch.setattr("fathom.studio.work.sketch_of", lambda text: pytest.fail("it is stored already"))
    assert sketches_of(store) == {id: kept}
    monkeypatch.undo()
    store.keep_sketch(id, SKETCHES + 1, b"of another version")
    assert sketches_of(store) == {id: kept}
    assert store.sketches(SKETCHES) == {id: kept}


def test_a_store_without_sketches_is_updated_and_a_backup_has_them(store: Store, tmp_path: Path) -> None:
    place = tmp_path / "store"
    send(store, a__txt=made_text(1))
    kept = store.sketches(SKETCHES)
    backup(str(place), tmp_path / "saved", KIND)
    restore(tmp_path / "saved", str(tmp_path / "again"), KIND)
    with closing(Store(str(tmp_path / "again"))) as opened:
        assert opened.sketches(SKETCHES) == kept
    with closing(sqlite3.connect(tmp_path / "again" / "studio.sqlite")) as connection:
        for table in ("sketches", "assignments", "openings", "profiles"):  # those of this migration and the next
            connection.execute(f"DROP TABLE {table}")
        connection.execute("DELETE FROM migrations WHERE number >= 3")
        connection.commit()
    with closing(Store(str(tmp_path / "again"))) as opened:
        assert sketches_of(opened) == kept
        assert audit(opened).problems == ()


def test_a_review_of_what_somebody_else_reviewed_is_refused(store: Store) -> None:
    (added,) = send(store, a__txt="words").added
    id = added.documents[0].id
    store.review_document(ReviewDocument(id, "available"), person("eve"), was="collected")
    with pytest.raises(RefusedError, match="somebody else has reviewed it: it is available now"):
        store.review_document(ReviewDocument(id, "excluded", "private"), person("ed"), was="collected")
    assert store.document(id).state == "available"
