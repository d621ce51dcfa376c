"""Bundles: what is in them, that equal runs give equal bytes, and that what is read is what was written."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from polars.testing import assert_frame_equal

from fathom.board.bundles.bundle import (
    DIGESTS,
    FILES,
    FORMAT,
    HEAD,
    JUDGEMENTS,
    REPLIES,
    ROWS,
    RULES,
    archive,
    sample_set,
    write_bundle,
)
from fathom.board.bundles.bundling import bundle_of, public_settings
from fathom.board.bundles.fields import EPOCHS, NAME, ROW_FIELDS, filled_name, name, settings, text, whole
from fathom.board.bundles.findings import RefusedError
from fathom.board.bundles.opening import parse_bundle, read_bundle
from fathom.rows import SCHEMA, rows_from_run
from fathom.runfile.ledger import Ledger
from fathom.runfile.worker import this_worker
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError, Reply
from made_bundles import JUDGE, MODEL, files_of, make_run, make_suite


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return make_suite(tmp_path / "suite")


@pytest.fixture
def run(tmp_path: Path, suite: Path) -> Path:
    return make_run(tmp_path / "run", suite)


@pytest.mark.slow
def test_a_bundle_says_what_the_run_says(run: Path, tmp_path: Path) -> None:
    write_bundle(bundle_of([run]), tmp_path / "b.zip")
    bundle = read_bundle(tmp_path / "b.zip")
    assert (bundle.model, bundle.variant, bundle.judges, bundle.logs) == (MODEL, "", (JUDGE,), True)
    assert bundle.versions["fathom-eval"] == "0.1.0"
    part = bundle.parts[0]
    assert (part.suite, part.fingerprint, part.samples, part.replies) == ("tiny", "f00df00df00df00d", 16, 16)
    assert part.statuses == {"ok": 15, "overflow": 1}
    for rule in RULES:
        theirs = rows_from_run(run, rule, JUDGE).with_columns(
            # Errors may name a server, and judgements name their parts in another order.
            pl.when(pl.col("status") != "ok").then(pl.lit("")).otherwise("detail").alias("detail")
        )
        ours = bundle.rows_of(rule)
        assert_frame_equal(ours.drop("detail"), theirs.drop("detail"))
        assert [sorted(our.split(", ")) for our in ours["detail"]] == [sorted(o.split(", ")) for o in theirs["detail"]]
    assert_frame_equal(bundle.rows, bundle.rows_of("strict"))
    assert 0 < bundle.rows.filter(pl.col("task") == "single_doc_qa")["value"].mean() < 1  # type: ignore[operator]


def test_equal_runs_give_equal_bytes_and_reading_gives_back_the_same(run: Path) -> None:
    data = archive(bundle_of([run]))
    assert archive(bundle_of([run])) == data
    assert archive(parse_bundle(data)) == data
    assert list(files_of(data)) == list(FILES)


def test_nothing_private_is_in_a_bundle(run: Path) -> None:
    everything = b"".join(files_of(archive(bundle_of([run]))).values())
    for private in (b"10.0.0.1", b"/srv/me", b"started", b"base_url"):
        assert private not in everything
    assert b'"api_key":"***"' in everything


def test_settings_lose_what_is_private() -> None:
    hidden = (
        "http://127.0.0.1/v1",
        "/srv/model",
        "~/model",
        "../model",
        "C:\\model",
        "lora=/srv/x",
        "me@lab.example",
        "localhost:80",
    )
    manifest: dict[str, Any] = {
        "model_args": {str(at): value for at, value in enumerate(hidden)} | {"token": "s", "dtype": "bf16"}
    }
    manifest |= {"generation": {"top_p": 0.9, "extra_body": {"path": "/x", "lists": ["/y", "z"]}}}
    public: dict[str, Any] = public_settings(manifest)
    assert public["model_args"] == dict.fromkeys(map(str, range(len(hidden))), "***") | {
        "token": "***",
        "dtype": "bf16",
    }
    assert public["generation"] == {"top_p": 0.9, "extra_body": {"path": "***", "lists": ["***", "z"]}}


def test_without_logs_there_are_only_hashes_of_the_replies(run: Path) -> None:
    data = archive(bundle_of([run], logs=False))
    assert list(files_of(data)) == [HEAD, ROWS, DIGESTS]
    assert b'"asked"' not in data
    bundle = parse_bundle(data)
    assert not bundle.logs
    assert all(result.log is None for result in bundle.results)
    assert archive(bundle) == data


def test_several_runs_are_one_bundle(tmp_path: Path, suite: Path) -> None:
    samples = list(open_suite(suite).samples())
    other = make_suite(tmp_path / "other", "beefbeefbeefbeef")
    moved = [replace(sample, id=f"{sample.id}b") for sample in samples[:3]]
    runs = [make_run(tmp_path / "a", suite), make_run(tmp_path / "b", other, moved, judge=False)]
    bundle = parse_bundle(archive(bundle_of(runs)))
    assert [(part.fingerprint[:4], part.replies) for part in bundle.parts] == [("f00d", 16), ("beef", 3)]
    assert len(bundle.rows) == 19


def test_runs_that_do_not_belong_together(tmp_path: Path, suite: Path) -> None:
    first = make_run(tmp_path / "a", suite)
    others: dict[str, Any] = {"model": "lab/other", "window": 1024, "variant": "thinking"}
    for field, value in others.items():
        second = make_run(tmp_path / field, suite, **{field: value})
        with pytest.raises(FathomError, match=f"{field}: {field} is"):
            bundle_of([first, second])
    again = make_run(tmp_path / "again", suite)
    with pytest.raises(RefusedError, match=r"line 33: sample kv_retrieval/0@256, epoch 1 .* included twice"):
        parse_bundle(archive(bundle_of([first, again])))
    with pytest.raises(FathomError, match="nothing to bundle"):
        bundle_of([])
    with pytest.raises(FathomError, match="no reply yet"):
        bundle_of([make_run(tmp_path / "empty", suite, [], judge=False)])


def test_a_judge_by_whom_nothing_is_scored_is_not_named(tmp_path: Path, suite: Path) -> None:
    run = make_run(tmp_path / "run", suite)
    assert bundle_of([run], judge="none").judges == ()
    assert JUDGEMENTS not in files_of(archive(bundle_of([run], judge="none")))


def test_thinking_and_repeats(tmp_path: Path, suite: Path) -> None:
    thinking = {"mode": "on", "kind": "mixed", "prompt": "plain", "switch": "none", "truncation": None}
    run = make_run(tmp_path / "run", suite, thinking=thinking, variant="thinking", judge=False)
    ledger, one = Ledger(run, this_worker()), next(open_suite(suite).samples())
    ledger.finish(one, 2, Reply("ok", "渡\u2028口\x07\ud83d <b>"), prompt_hash="0" * 16, cost=None)
    ledger.close()
    bundle = parse_bundle(archive(bundle_of([run])))
    assert bundle.variant == "thinking"
    assert {row["thinking"] for row in map(json.loads, bundle.rows["facets"])} == {"on"}
    assert bundle.parts[0].samples == 16
    assert bundle.parts[0].replies == 17


def test_sample_sets(run: Path) -> None:
    rows = [result.rows[0] for result in bundle_of([run]).results]
    found = sample_set(rows)
    assert sample_set([*reversed(rows), rows[0]]) == found
    assert sample_set([replace(row, value=0.5, model="x") for row in rows]) == found
    assert sample_set([replace(rows[0], target="other"), *rows[1:]]) != found
    assert sample_set(rows[1:]) != found


def test_every_field_of_a_row_is_described() -> None:
    assert set(ROW_FIELDS[FORMAT]) == {*SCHEMA, "part"} - {"served"}
    assert set(ROW_FIELDS[3]) == {*SCHEMA, "part"} - {"served", "asked_again"}
    assert set(ROW_FIELDS[1]) == {*SCHEMA, "part"} - {"served", "asked_again", "answered"}


@pytest.mark.parametrize(
    "good",
    ["gpt-4o", "openai/gpt-4o-mini", "fathom/guess?window=4k&truncate=middle", "通义千问-Qwen3", "модель", "A b.c:1"],
)
def test_names_that_are_fine(good: str) -> None:
    assert filled_name(good) == ""


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ("", "a name"), ("m" * (NAME + 1), "120"), (3, "120"), ("a\u202eb", "direction"), ("a\nb", "one line"),
        (" a", "invisible"), ("a\u00a0b", "invisible"), ("<script>", "executable"), ("javascript:x()", "executable"),
        ('a"b', "executable"), ("gpt-4\u043e", "confused with"), ("\u0440\u0430\u0443", "confused with"),
        ("g\u0261pt", "confused with"), ("\uff47pt", "'gpt'"), ("x\u0301\u0301y", "confused with"),
    ],
)  # fmt: skip
def test_names_that_are_not(bad: object, said: str) -> None:
    assert said in filled_name(bad)


def test_values_at_their_bounds() -> None:
    assert whole(EPOCHS, 1)(EPOCHS) == ""
    assert whole(EPOCHS, 1)(EPOCHS + 1) == whole(EPOCHS, 1)(0) == whole(EPOCHS, 1)(True) != ""
    assert text(3)("abc") == ""
    assert text(3)("abcd") == text(3)(None) != ""
    assert name("") == ""
    assert settings({"a": [{"b": ["c"]}]}) == ""
    assert "levels" in settings({"a": {"b": {"c": {"d": {"e": {}}}}}})


def test_the_command_writes_and_checks(call: Any, run: Path, suite: Path, tmp_path: Path) -> None:
    code, out, _ = call("board", "bundle", run, "--out", "b.zip")
    assert (code, out.startswith(f"b.zip: 16 replies of {MODEL}")) == (0, True)
    code, out, _ = call("board", "check", "b.zip", "--suite", suite)
    assert code == 0
    assert out.startswith("b.zip: accepted: 16 replies")
    assert "verified: 32 scores match the scores recomputed" in out
    assert "not verified: that the replies come from" in out
    code, out, _ = call("board", "check", "b.zip", "--suite", suite, "--json")
    said = json.loads(out)
    assert (code, said["accepted"], said["complete"], said["model"]) == (0, True, True, MODEL)
    (tmp_path / "b.zip").write_bytes((tmp_path / "b.zip").read_bytes()[:-1])
    code, out, _ = call("board", "check", "b.zip")
    assert code == 2
    assert out.startswith("b.zip: refused\n  wrong: the archive is truncated")
    code, _, err = call("board", "bundle", run, "--out", "b.tar")
    assert (code, ".zip file" in err) == (2, True)
    code, _, err = call("board", "check", "none.zip")
    assert (code, "no such file" in err) == (2, True)


def test_a_run_that_no_board_takes_is_not_bundled(call: Any, tmp_path: Path, suite: Path) -> None:
    run = make_run(tmp_path / "run", suite, model="lab/<b>")
    code, _, err = call("board", "bundle", run, "--out", "b.zip")
    assert code == 2
    assert "no board would accept a bundle of this: bundle.json: model is 'lab/<b>'" in err
    assert not (tmp_path / "b.zip").exists()


def test_replies_file_is_needed_to_be_in_step(run: Path) -> None:
    files = files_of(archive(bundle_of([run])))
    assert len(files[REPLIES].splitlines()) == len(files[DIGESTS].splitlines()) == 16
    assert len(files[ROWS].splitlines()) == 32
