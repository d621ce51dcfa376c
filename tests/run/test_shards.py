"""A run in shards is cut the same way by everyone, resumes after kills on any machine, and merges into the same run."""

from __future__ import annotations

import io
import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from run_suites import make_suite, sample
from scripted_server import Act, ScriptedServer, completion

from command_line import Call
from engine_calls import run, run_shard
from fathom import api
from fathom.run import RunSummary, replies
from fathom.run.shards.cutting import Shard, cut, parse_shard, shards
from fathom.run.shards.files import (
    COLUMNS,
    finished_file,
    key_of,
    one_each,
    read_plan,
    read_rows,
    state_of,
    stored_rows,
    write_rows,
)
from fathom.run.shards.merging import merge
from fathom.run.shards.progress import ShardsStatus
from fathom.run.shards.scratch import scratch_folder
from fathom.run.shards.share import MOST_PARTS
from fathom.run.shards.store import FolderStore
from fathom.runfile import store, store_checks
from fathom.runfile.manifest import read_manifest
from fathom.storage.checksums import row_checksum
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError, Sample
from processes import Program, start_program, until

# Inspect calls tenacity in a way that tenacity's newest release deprecates.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

MODEL = "fathom/lexical"


def replied(folder: Path) -> list[tuple[object, ...]]:
    """What a run holds, without times."""
    return [
        (one.sample, one.epoch, one.item, one.targets, one.facets, one.inputs, one.reply.status, one.reply.text,
         one.prompt_hash, one.cost)
        for one in replies(folder)
    ]  # fmt: skip


def run_all(suite: Path, out: Path, of: int, **options: Any) -> list[RunSummary]:
    return [run_shard(suite, MODEL, out=out, shard=one, **options) for one in shards(of)]


# ------------------------------------------------------------------------------------------------------------ cutting


@st.composite
def suites(draw: st.DrawFn) -> list[Sample]:
    """Samples of items of very different sizes; samples of an item need not be adjacent."""
    sizes = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1_000_000)), min_size=1, max_size=60))
    return [
        replace(sample(0), id=f"s{number}", item=f"item{item}", tokens=tokens)
        for number, (item, tokens) in enumerate(sizes)
    ]


@given(suites(), st.integers(1, 80))
def test_each_sample_is_in_one_shard_and_items_are_whole(samples: list[Sample], of: int) -> None:
    made = cut(iter(samples), of)
    assert set(made.numbers) == {one.item for one in samples}
    assert all(1 <= number <= of for number in made.numbers.values())
    assert sum(made.samples.values()) == len(samples)
    assert made.samples == Counter(made.numbers[one.item] for one in samples)


@given(suites(), st.integers(1, 80))
def test_cuts_are_stable_and_keep_the_order_of_the_suite(samples: list[Sample], of: int) -> None:
    made = cut(iter(samples), of)
    assert made == cut(list(samples), of)
    assert list(made.numbers.values()) == sorted(made.numbers.values())
    assert cut(samples[:-1], of).digest != made.digest


@pytest.mark.slow
@given(suites(), st.integers(1, 80))
def test_no_shard_differs_from_the_mean_by_more_than_the_largest_item(samples: list[Sample], of: int) -> None:
    made, items, sizes = cut(samples, of), Counter[str](), Counter[int]()
    for one in samples:
        items[one.item] += max(1, one.tokens)
    for item, tokens in items.items():
        sizes[made.numbers[item]] += tokens
    mean, largest = items.total() / of, max(items.values())
    assert all(abs(sizes[number] - mean) <= largest for number in range(1, of + 1))


def test_a_cut_is_what_it_was_when_runs_were_cut_before() -> None:
    """Shards of a run may be on machines with different versions: a change here needs another format of shards.json."""
    made = cut([sample(number) for number in range(10)], 4)
    assert list(made.numbers.values()) == [1, 1, 2, 2, 2, 3, 3, 4, 4, 4]
    assert made.digest == "92d1905d6370173c918cb577a39b5184bb46162b6f07c54b9624689756c80889"


@pytest.mark.parametrize(
    ("text", "name"), [("3/64", "shard-03-of-64"), ("1/1", "shard-1-of-1"), ("12/1000", "shard-0012-of-1000")]
)
def test_names_of_shards_are_fixed(text: str, name: str) -> None:
    assert parse_shard(text).name == name


@pytest.mark.parametrize("text", ["0/4", "5/4", "3", "a/b", "-1/4", "1/0", "1/4/5", "1/1000000", "", "١/4", " 1/4"])
def test_other_words_are_no_shards(text: str) -> None:
    with pytest.raises(FathomError, match="expected"):
        parse_shard(text)


# -------------------------------------------------------------------------------------------------------------- files

TEXTS = st.text(st.characters(codec="utf-8"))


@pytest.mark.slow
@given(st.lists(st.tuples(TEXTS, st.floats(allow_nan=False)), max_size=5))
def test_rows_are_read_as_they_were_written(values: list[tuple[str, float]]) -> None:
    plain = {"epoch": 1, "length": 8, "tokens": 7, "chance": 0.25, "seconds": 1.0, "attempts": 1, "truncated": 0}
    rows = []
    for text, number in values:
        row = dict.fromkeys(COLUMNS, text) | plain | {"finished_at": number, "cost": None}
        row |= dict.fromkeys(("tokens_in", "tokens_out", "tokens_reasoning", "tokens_cached"))
        ordered = tuple(row[name] for name in COLUMNS[:-3])
        rows.append((*ordered, row["served"], 3, row_checksum(ordered)))
    data = write_rows(rows, Shard(1, 2), "run")
    assert read_rows(data, "here", Shard(1, 2), "run") == rows
    with pytest.raises(FathomError, match="holds shard-1-of-2 of this run, not shard-2-of-2; "):
        read_rows(data, "here", Shard(2, 2), "run")
    with pytest.raises(FathomError, match="of another run"):
        read_rows(data, "here", Shard(1, 2), "other")
    # Files of earlier versions do not say which model answered, or how often it was asked.
    table = pyarrow.parquet.read_table(io.BytesIO(data))
    earlier = io.BytesIO()
    pyarrow.parquet.write_table(table.drop_columns(["served", "asked_again"]), earlier, write_page_checksum=True)
    before = [(*row[:-3], "", 0, row[-1]) for row in rows]
    assert read_rows(earlier.getvalue(), "here", Shard(1, 2), "run") == before


@pytest.mark.slow
def test_damaged_files_are_refused(tmp_path: Path) -> None:
    suite = make_suite(tmp_path, 6)
    run_shard(suite, MODEL, out=tmp_path / "shards", shard=Shard(1, 1))
    digest = _digest(tmp_path / "shards")
    whole = (tmp_path / "shards" / finished_file(Shard(1, 1))).read_bytes()
    rows, refused = read_rows(whole, "here", Shard(1, 1), digest), 0
    for at in range(0, len(whole), 3):
        flipped = whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :]
        try:
            assert read_rows(flipped, "here", Shard(1, 1), digest) == rows  # a bit that no reader looks at
        except FathomError as error:
            refused += 1
            assert str(error).startswith("here: ")  # noqa: PT017
    assert refused > len(whole) / 6
    for data in (b"", whole[:100], b"PAR1", whole[4:]):
        with pytest.raises(FathomError, match="here: damaged"):
            read_rows(data, "here", Shard(1, 1), digest)


def test_the_first_reply_of_a_sample_counts_and_errors_only_without_another() -> None:
    at = COLUMNS.index("status")

    def row(epoch: int, status: str, text: str) -> tuple[object, ...]:
        values = [""] * len(COLUMNS)
        values[at], values[COLUMNS.index("text")] = status, text
        return ("s", epoch, *values[2:])

    kept = one_each([row(1, "error", ""), row(2, "ok", "a"), row(1, "ok", "b"), row(2, "ok", "c"), row(1, "ok", "d")])
    assert sorted((one[1], one[COLUMNS.index("text")]) for one in kept) == [(1, "b"), (2, "a")]


def test_files_of_a_folder_are_created_once(tmp_path: Path) -> None:
    made = FolderStore(tmp_path / "new")
    assert made.names() == []
    assert made.names("shard") == []
    assert made.read("a") is None
    created = [made.create("a", data) for data in (b"1", b"2")]
    assert created == [True, False]
    assert made.read("a") == b"1"
    made.write("s/b", b"3")
    assert made.names() == ["a", "s/b"]
    assert made.names("s") == ["s/b"]
    made.remove("s/b")
    made.remove("s/b")
    assert made.names() == ["a"]
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == ["a"]


def test_of_many_that_create_a_file_one_wins(tmp_path: Path) -> None:
    made, won = FolderStore(tmp_path), []
    threads = [
        threading.Thread(target=lambda data: won.extend([data] * made.create("a", data)), args=(bytes([number]),))
        for number in range(16)
    ]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert len(won) == 1
    assert made.read("a") == won[0]


# ----------------------------------------------------------------------------------------------------- running, merging


@pytest.mark.slow
@pytest.mark.parametrize("of", [1, 3, 15])
def test_shards_merge_into_the_run_of_one_machine(tmp_path: Path, of: int) -> None:
    suite = make_suite(tmp_path, 12, lengths=(256, 512))
    run(suite, MODEL, out=tmp_path / "plain", epochs=2)
    run_all(suite, tmp_path / "shards", of, epochs=2)
    done = merge(tmp_path / "shards", tmp_path / "run")
    assert str(done).endswith("24 of 24 replies (24 ok)")
    assert replied(tmp_path / "run") == replied(tmp_path / "plain")
    assert list(store.unasked(tmp_path / "run")) == []
    assert api.rows([tmp_path / "run"]).height == 24
    one, other = (read_manifest(tmp_path / name) for name in ("run", "plain"))
    for manifest in (one, other):
        for name in ("started", "checksum", "command"):
            manifest.pop(name, None)
    assert one == other
    # It is an ordinary run: repeating the command asks nothing.
    again = run(suite, MODEL, out=tmp_path / "run", epochs=2)
    assert again.progress is not None
    assert (again.progress.asked, again.progress.total) == (0, 24)


@pytest.mark.slow
def test_merging_takes_each_reply_once_however_many_shards_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite, out, computed = make_suite(tmp_path, 12), tmp_path / "shards", 0

    def counted(values: Iterable[object]) -> int:
        nonlocal computed
        computed += 1
        return row_checksum(values)

    run_all(suite, out, 6)
    monkeypatch.setattr(store_checks, "row_checksum", counted)
    merge(out, tmp_path / "run")
    assert computed == 12
    assert len(list(replies(tmp_path / "run"))) == 12
    assert list(store.unasked(tmp_path / "run")) == []


@pytest.mark.slow
def test_a_finished_shard_is_not_asked_again(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 8), tmp_path / "shards"
    run_all(suite, out, 2)
    before = {path.name: path.stat().st_mtime_ns for path in out.iterdir()}
    for done in run_all(suite, out, 2):
        assert done.progress is not None
        assert done.progress.asked == 0
        assert done.progress.finished == 4
    assert {path.name: path.stat().st_mtime_ns for path in out.iterdir()} == before


def test_what_a_kill_at_the_very_end_left_is_removed(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 4), tmp_path / "shards"
    run_shard(suite, MODEL, out=out, shard=Shard(1, 1))
    whole = (out / "shard-1-of-1.parquet").read_bytes()
    FolderStore(out).write("shard-1-of-1/p-000001.parquet", whole)
    assert merge(out, tmp_path / "run").progress is not None
    run_shard(suite, MODEL, out=out, shard=Shard(1, 1))
    assert FolderStore(out).names() == ["shard-1-of-1.parquet", "shards.json"]
    assert (out / "shard-1-of-1.parquet").read_bytes() == whole


def test_a_shard_that_ends_leaves_the_new_parts_of_another_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not know what is in them, such as the reply to a sample that it could not ask."""
    suite, out, write = make_suite(tmp_path, 4), tmp_path / "shards", FolderStore.write

    def beside_another(self: FolderStore, name: str, data: bytes) -> None:
        if name == "shard-1-of-1.parquet":
            write(self, "shard-1-of-1/other-000001.parquet", data)
        write(self, name, data)

    monkeypatch.setattr(FolderStore, "write", beside_another)
    run_shard(suite, MODEL, out=out, shard=Shard(1, 1))
    assert FolderStore(out).names("shard-1-of-1") == ["shard-1-of-1/other-000001.parquet"]
    assert merge(out, tmp_path / "run").progress is not None


@pytest.mark.parametrize("steps", range(1, 7))
def test_no_reply_is_missed_while_another_process_ends_the_shard(tmp_path: Path, steps: int) -> None:
    suite, out, shard = make_suite(tmp_path, 3), tmp_path / "shards", Shard(1, 1)
    run_shard(suite, MODEL, out=out, shard=shard)
    whole, digest = (out / finished_file(shard)).read_bytes(), _digest(out)
    rows = read_rows(whole, "", shard, digest)
    (out / finished_file(shard)).unlink()
    for number, row in enumerate(rows):
        FolderStore(out).write(f"{shard.name}/p-{number}.parquet", write_rows([row], shard, digest))

    class Ending(FolderStore):
        """In which the other process ends after some reads."""

        left = steps

        def step(self) -> None:
            self.left -= 1
            if self.left == 0:
                self.write(finished_file(shard), whole)
                for name in super().names(shard.name):
                    self.remove(name)

        def read(self, name: str) -> bytes | None:
            found = super().read(name)
            self.step()
            return found

        def names(self, folder: str = "") -> list[str]:
            found = super().names(folder)
            self.step()
            return found

    assert sorted(stored_rows(Ending(out), shard, digest)[0], key=key_of) == rows


def test_missing_and_unfinished_shards_are_named(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 12), tmp_path / "shards"
    with pytest.raises(FathomError, match="no shards here"):
        merge(out, tmp_path / "run")
    for number in (1, 3):
        run_shard(suite, MODEL, out=out, shard=Shard(number, 4))
    rows = read_rows((out / "shard-3-of-4.parquet").read_bytes(), "", Shard(3, 4), _digest(out))
    (out / "shard-3-of-4.parquet").unlink()
    FolderStore(out).write("shard-3-of-4/p-000001.parquet", write_rows(rows[:1], Shard(3, 4), _digest(out)))
    with pytest.raises(FathomError, match=r"1 of 4 shards are finished; 2 missing \(2/4, 4/4\); 1 unfinished \(3/4\)"):
        merge(out, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    assert [len(part) for part in vars_of(state_of(FolderStore(out), 4))] == [1, 1, 2]


def vars_of(state: object) -> list[list[Shard]]:
    return [getattr(state, name) for name in ("finished", "unfinished", "missing")]


def _digest(out: Path) -> str:
    plan = read_plan(FolderStore(out))
    assert plan is not None
    return plan.digest


def test_status_counts_shards_and_their_replies(tmp_path: Path, call: Call) -> None:
    suite, out = make_suite(tmp_path, 12), tmp_path / "parts"
    run_shard(suite, MODEL, out=out, shard=Shard(2, 4))
    (out / "shard-2-of-4.parquet").rename(out / "part")
    (out / "shard-2-of-4").mkdir()
    (out / "part").rename(out / "shard-2-of-4" / "p-000001.parquet")  # as if it had been killed at the very end
    run_shard(suite, MODEL, out=out, shard=Shard(4, 4))
    found = api.status(out)
    assert isinstance(found, ShardsStatus)
    assert (found.shards, found.finished, found.unfinished, found.model) == (4, 1, 1, MODEL)
    assert (found.replies.finished, found.replies.total, found.replies.counts["ok"]) == (6, 12, 6)
    assert found.last is not None
    code, said, _ = call("status", str(out))
    assert code == 0
    assert "1 of 4 finished, 1 begun, 2 missing" in said
    with pytest.raises(FathomError, match=r"shards\.json is missing"):
        api.status((tmp_path / "no").as_uri())


@pytest.mark.slow
def test_folders_of_killed_processes_are_removed_and_others_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    words = "import os; from fathom.run.shards.scratch import scratch_folder; one = scratch_folder(); one.__enter__()"
    killed = f"{words}; os._exit(9)"
    for _ in range(2):  # the second one removes what the first one left
        assert start_program(killed, env={**os.environ, "TMPDIR": str(tmp_path)}).wait()
        assert len(list(tmp_path.iterdir())) == 2
    (tmp_path / "fathom-shard-elsewhere").mkdir()
    with scratch_folder() as one, scratch_folder() as other:
        assert sorted(path.name for path in tmp_path.iterdir() if path.is_dir()) == sorted(
            [one.name, other.name, "fathom-shard-elsewhere"]
        )
    assert [path.name for path in tmp_path.iterdir()] == ["fathom-shard-elsewhere"]


@pytest.mark.slow
def test_a_suite_that_the_driver_has_checked_is_not_read_whole_again(tmp_path: Path) -> None:
    import pyarrow.parquet

    suite = make_suite(tmp_path, 600)
    path, data = suite / "samples.parquet", bytearray((suite / "samples.parquet").read_bytes())
    group = pyarrow.parquet.read_metadata(path).row_group(4)  # recipes that the first shard does not read
    columns = map(group.column, range(group.num_columns))
    column = next(one for one in columns if one.path_in_schema.startswith("parts"))
    data[(column.dictionary_page_offset or column.data_page_offset) + column.total_compressed_size - 1] ^= 1
    path.write_bytes(data)

    def run_one(number: int, *, verified: bool) -> RunSummary:
        return run_shard(suite, MODEL, out=tmp_path / "parts", shard=Shard(number, 6), verified=verified)

    with pytest.raises(FathomError, match="its checksum is not the one"):
        run_one(1, verified=False)
    assert run_one(1, verified=True).progress is not None
    with pytest.raises(FathomError, match="damaged"):
        run_one(6, verified=True)
    path.write_bytes(data[:-1])
    with pytest.raises(FathomError, match="bytes; the manifest states"):
        run_one(1, verified=True)


def test_different_replies_to_one_sample_are_refused(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 8), tmp_path / "shards"
    run_all(suite, out, 2)
    first = read_rows((out / "shard-1-of-2.parquet").read_bytes(), "", Shard(1, 2), _digest(out))
    other = [dict(zip(COLUMNS, row, strict=True)) | {"text": "another"} for row in first]
    rows = [(*values, row_checksum(values[:-2])) for values in (tuple(one.values())[:-1] for one in other)]
    own = read_rows((out / "shard-2-of-2.parquet").read_bytes(), "", Shard(2, 2), _digest(out))
    path = out / "shard-2-of-2.parquet"
    path.write_bytes(write_rows([*own, *rows], Shard(2, 2), _digest(out)))
    with pytest.raises(FathomError, match=r"shard-2-of-2.parquet: another shard has a different reply to sample 'item"):
        merge(out, tmp_path / "run")
    # The same reply twice is no conflict, but a row too few is one.
    path.write_bytes(write_rows([*own, first[0]], Shard(2, 2), _digest(out)))
    merge(out, tmp_path / "run")
    path.write_bytes(write_rows(own[1:], Shard(2, 2), _digest(out)))
    with pytest.raises(FathomError, match="7 replies instead of 8"):
        merge(out, tmp_path / "second")
    with pytest.raises(FathomError, match="contains other files"):
        merge(out, tmp_path / "run")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"shard": Shard(1, 3)}, "cut into 2 shards, not 3"),
        ({"epochs": 2}, "`epochs` was 1, not 2"),
        ({"limit": 3}, "8 other samples than the 3 requested"),
        ({"seed": 5}, "seed = 0, but seed = 5"),
        ({"max_cost": 1.0}, "`max_cost` limits a whole run"),
        ({"max_tokens_total": 100}, "`max_tokens_total` limits a whole run"),
    ],
)
def test_options_that_do_not_go_with_the_other_shards_are_refused(
    tmp_path: Path, options: dict[str, object], said: str
) -> None:
    suite, out = make_suite(tmp_path, 8), tmp_path / "shards"
    run_shard(suite, MODEL, out=out, shard=Shard(1, 2))
    with pytest.raises(FathomError, match=said):
        run_shard(suite, MODEL, **{"out": out, "shard": Shard(2, 2), **options})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--shard", "0/2", "--out", "o"], "numbered from 1: expected 1/2 to 2/2"),
        (["--shard", "1/2"], "--shard needs --out"),
        (["--shard", "1/2", "--out", "s3:///x"], "expected a bucket, as s3://bucket/folder"),
        (["--shard", "1/2", "--out", "ftp://x/y"], "expected a folder, or s3://"),
        (["--shard", "1/2", "--out", "o", "--judge", "fathom/guess"], "`fathom merge`, then `fathom judge`"),
        (["--out", "s3://bucket/x"], "--shard can use an object store"),
        (["--shard", "1/2", "--out", "plain"], "holds a run that is not in shards"),
        (["--shard", "1/2", "--out", "texts"], "contains other files"),
        (["--shard", "1/2", "--out", "o", "--engine", "ray"], "leave out --engine, --shards and --address"),
        (["--engine", "ray"], "--engine needs --out"),
        (["--shards", "4"], "--shards is for --engine ray"),
        (["--engine", "ray", "--out", "o", "--max-cost", "1"], "--max-cost limits a whole run"),
    ],
)
def test_command_lines_that_contradict_themselves_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call, words: list[str], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    make_suite(tmp_path, 2)
    run(Path("suite"), MODEL, out=Path("plain"))
    Path("texts").mkdir()
    Path("texts/a.txt").write_text("mine")
    code, _, told = call("run", "suite", "--model", MODEL, *words)
    assert code == 2
    assert said in told


def test_shards_need_a_built_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(FathomError, match="is not a built suite"):
        api.run("passkey", MODEL, "out", shard="1/2")


def test_commands_run_and_merge_shards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call) -> None:
    monkeypatch.chdir(tmp_path)
    make_suite(tmp_path, 4)
    for shard in ("1/2", "2/2"):
        api.run("suite", MODEL, f"file://{tmp_path}/out", shard=shard)
    assert "shard" not in json.loads((tmp_path / "out" / "shards.json").read_text())["run"]["command"]["options"]
    code, out, err = call("merge", "out", "--out", "run")
    assert (code, out.splitlines()[0], err) == (0, "run: 4 of 4 replies (4 ok)", "")


@pytest.mark.slow
def test_failed_requests_are_sent_again(tmp_path: Path) -> None:
    suite, out = make_suite(tmp_path, 6), tmp_path / "shards"
    broken = True

    def script(number: int, before: int) -> Act:
        return Act(status=400, body={"error": "no"}) if broken and number == 2 else completion(f"answer {number}")

    with ScriptedServer(script) as server:
        options: dict[str, Any] = {"model_base_url": server.base_url, "max_output_tokens": 50}
        options |= {"max_connections": 2, "retries": 0}
        for shard in shards(2):
            run_shard(suite, "openai/scripted", out=out, shard=shard, **options)
        first = merge(out, tmp_path / "first")
        assert "1 sample failed" in first.hints[0]
        broken = False
        for shard in shards(2):
            run_shard(suite, "openai/scripted", out=out, shard=shard, **options)
        assert server.prompts == Counter({**dict.fromkeys(range(6), 1), 2: 2, -1: server.prompts[-1]})
    assert not merge(out, tmp_path / "second").hints
    assert {one.reply.text for one in replies(tmp_path / "second")} == {f"answer {number}" for number in range(6)}


# -------------------------------------------------------------------------------------------------------------- kills

PROGRAM = """
import json, sys, urllib.request
from pathlib import Path
from fathom.models import baselines
from fathom.run.sharded import run_shard
from fathom.run.shards.cutting import parse_shard
from fathom.runfile.settings import RunSettings
suite, out, url, shard = sys.argv[1:]
def read(prompt, answer, rng, form):
    body = json.dumps({"messages": [{"content": prompt}]}).encode()
    with urllib.request.urlopen(url + "/chat/completions", body) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]
baselines.get_baseline = lambda name: read
settings = RunSettings(max_output_tokens=50, max_connections=4)
run_shard(Path(suite), "fathom/ask", settings, out=out, shard=parse_shard(shard))
"""


def start(suite: Path, out: Path, server: ScriptedServer, shard: Shard) -> Program:
    return start_program(PROGRAM, suite, out, server.base_url, f"{shard.number}/{shard.of}")


def slowly(number: int, before: int) -> Act:
    return replace(completion(f"answer {number}"), delay=0.005)


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(slowly) as running:
        yield running


@pytest.mark.slow
def test_kill_9_repeats_no_more_than_what_was_in_flight(tmp_path: Path, server: ScriptedServer) -> None:
    """The folder of the machine is lost with it: all that is left is in the store."""
    suite, out, kills = make_suite(tmp_path, 60), tmp_path / "shards", 4
    for number in range(1, kills + 1):
        shard = Shard(1 + number % 2, 2)
        process = start(suite, out, server, shard)
        asked = server.prompts.total()
        until(lambda asked=asked: server.prompts.total() >= asked + 11, process)  # type: ignore[misc]
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
    with pytest.raises(FathomError, match=r"0 of 2 shards are finished; 2 unfinished \(1/2, 2/2\)"):
        merge(out, tmp_path / "run")
    for shard in shards(2):
        process = start(suite, out, server, shard)
        assert process.wait() == 0, process.stderr and process.stderr.read()
    merge(out, tmp_path / "run")
    assert [one.reply.text for one in replies(tmp_path / "run")] == [
        f"answer {one.item.removeprefix('item')}" for one in replies(tmp_path / "run")
    ]
    assert len(list(replies(tmp_path / "run"))) == 60
    assert server.prompts.total() <= 60 + kills * 4
    assert sorted(path.name for path in out.iterdir()) == [
        "shard-1-of-2.parquet",
        "shard-2-of-2.parquet",
        "shards.json",
    ]


@pytest.mark.slow
def test_two_processes_of_one_shard_disturb_nothing(tmp_path: Path, server: ScriptedServer) -> None:
    suite, out = make_suite(tmp_path, 40), tmp_path / "shards"
    both = [start(suite, out, server, Shard(1, 1)) for _ in range(2)]
    assert [process.wait() for process in both] == [0, 0]
    assert merge(out, tmp_path / "run").progress.finished == 40  # type: ignore[union-attr]
    assert server.prompts.total() == 40


@pytest.mark.slow
def test_many_small_files_become_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unfinished shard of many replies has few files, and all of its replies are in them."""
    suite, out, most = make_suite(tmp_path, 4 * MOST_PARTS), tmp_path / "shards", 0
    write = FolderStore.write

    def counted(self: FolderStore, name: str, data: bytes) -> None:
        nonlocal most
        if name == "shard-1-of-1.parquet":
            raise FathomError("killed")
        write(self, name, data)
        most = max(most, len(self.names("shard-1-of-1")))

    monkeypatch.setattr(FolderStore, "write", counted)
    with pytest.raises(FathomError, match="killed"):
        run_shard(suite, MODEL, out=out, shard=Shard(1, 1), max_connections=1)
    assert MOST_PARTS <= most <= MOST_PARTS + 4
    monkeypatch.setattr(FolderStore, "write", write)
    done = run_shard(suite, MODEL, out=out, shard=Shard(1, 1), max_connections=1)
    assert done.progress is not None
    assert (done.progress.asked, done.progress.finished) == (0, 4 * MOST_PARTS)


@pytest.mark.slow
def test_shards_take_recipes_of_their_own_samples_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recipes are most of a suite: a machine reads those of its shard."""
    suite = make_suite(tmp_path, 1024)
    made = open_suite(suite)
    read: list[int] = []
    kind = type(made.by_id())
    group = kind._read  # type: ignore[attr-defined]

    def counted(self: object, number: int) -> object:
        read.append(number)
        return group(self, number)

    monkeypatch.setattr(kind, "_read", counted)
    run_shard(suite, MODEL, out=tmp_path / "shards", shard=Shard(2, 8))
    assert set(read) <= {0, 1, 2}
