from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_calls import configure
from fathom import api
from fathom.storage.checksums import with_checksum
from fathom.suites.build import build
from fathom.suites.registry import get_task
from fathom.suites.suitefile import MANIFEST, open_suite
from fathom.tokens.counts import Outline, TokenCounter
from fathom.tokens.length import render
from fathom.types import Document, FathomError
from fathom.world.corpus import STATE, article
from made import write_corpus
from processes import Program, start_program

TASKS = "kv_retrieval,passage_count,single_doc_qa"


def digests(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_corpus(tmp_path, 60)


@pytest.mark.slow
def test_the_same_build_gives_the_same_bytes_and_then_no_work(tmp_path: Path, corpus: Path) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024, 2048), items=3)
    first, second = build(wanted, tmp_path / "a"), build(wanted, tmp_path / "b")
    assert first.fresh
    assert digests(tmp_path / "a") == digests(tmp_path / "b")
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()}
    again = build(wanted, tmp_path / "a")
    assert not again.fresh
    assert again.manifest == second.manifest
    assert before == {path: path.stat().st_mtime_ns for path in (tmp_path / "a").iterdir()}


TASKS_OF_TEXT = "passkey,counting_stars,passage_count,passage_retrieval,single_doc_qa,single_doc_summary"


@pytest.mark.slow
@pytest.mark.parametrize("sentences", [8, 60, 400])
def test_counting_documents_as_they_are_drawn_gives_the_same_suite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sentences: int
) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    corpus = write_corpus(tmp_path, 4000 // sentences, ("en", "zh"), sentences)
    wanted = configure(TASKS_OF_TEXT, corpus=(str(corpus),), lengths=(1024, 4096), items=3)
    build(wanted, tmp_path / "drawn")
    monkeypatch.setattr(TokenCounter, "fits", lambda self, document, tokens: self.size(document) <= tokens)
    build(wanted, tmp_path / "counted")
    assert digests(tmp_path / "drawn") == digests(tmp_path / "counted")


def test_of_a_large_corpus_only_what_is_drawn_is_cut_into_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    corpus = write_corpus(tmp_path, 400, sentences=10)
    tokenize, cut = TokenCounter._tokenize, set[str]()

    def counted(self: TokenCounter, document: Document) -> Outline:
        cut.add(document.id)
        return tokenize(self, document)

    monkeypatch.setattr(TokenCounter, "_tokenize", counted)
    built = build(configure("passkey", corpus=(str(corpus),), lengths=(1024,), items=2), tmp_path / "suite")
    assert built.manifest["files_of_corpus"][0]["read"] == 1
    assert 0 < len(cut) < 40


def texts_of(folder: Path) -> dict[str, str]:
    suite = open_suite(folder)
    texts = suite.texts()
    return {sample.id: render(sample, texts) for sample in suite.samples()}


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def own(tmp_path: Path) -> dict[str, list[str]]:
    """Documents of one's own: each file holds words of its own kind."""

    def text(kind: str, number: int) -> str:
        return " ".join(f"The {kind} of volume {number} has page {page}." for page in range(40))

    qa = [
        {
            "text": f"Volume {n} begins.\n\n{text('answer', n)}",
            "questions": [f"What begins, {n}?", f"Which volume is it, {n}?"],
            "answers": [f"Volume {n}", [f"volume {n} has page 3"]],
        }
        for n in range(8)
    ]
    summaries = [{"text": text("digest", n), "summary": f"All about the digest of volume {n}."} for n in range(8)]
    (tmp_path / "noise").mkdir()
    for n in range(60):
        (tmp_path / "noise" / f"{n}.txt").write_text(text("noise", n))
    return {
        "qa": [write_jsonl(tmp_path / "qa.jsonl", qa)],
        "summaries": [write_jsonl(tmp_path / "summaries.jsonl", summaries)],
        "noise": [str(tmp_path / "noise")],
    }


def test_own_documents_play_their_roles(tmp_path: Path, own: dict[str, list[str]]) -> None:
    wanted = configure("single_doc_qa,passage_retrieval,kv_retrieval", lengths=(2048,), items=3, **own)
    texts = texts_of(build(wanted, tmp_path / "a").folder)
    for name, text in texts.items():
        gold, other = ("answer", "digest") if name.startswith("single") else ("digest", "answer")
        if name.startswith("kv"):
            gold, other = "noise", "digest"
        assert f"The {gold} of volume" in text
        assert f"The {other} of volume" not in text
        assert "The noise of volume" in text


def test_what_can_be_built_is_built_and_the_rest_is_named(tmp_path: Path, own: dict[str, list[str]]) -> None:
    built = build(configure("hundred", lengths=(2048,), items=2, qa=own["qa"], noise=own["noise"]), tmp_path / "a")
    assert set(built.manifest["tasks"]) == {
        "kv_retrieval", "counting_stars", "passage_count", "single_doc_qa", "multi_doc_qa"
    }  # fmt: skip
    notes = "\n".join(built.manifest["notes"])
    for task in ("passage_retrieval", "single_doc_summary", "multi_doc_summary"):
        assert f"{task}: skipped in language 'en'" in notes


def test_questions_of_one_passage_become_samples_of_one_item(tmp_path: Path, own: dict[str, list[str]]) -> None:
    wanted = configure("single_doc_qa", lengths=(2048, 4096), items=4, closed_book=True, alone=True, **own)
    suite = open_suite(build(wanted, tmp_path / "a").folder)
    samples = list(suite.samples())
    assert len(samples) == 4 * 2 * (2 + 2)
    texts = texts_of(suite.folder)
    for sample in samples:
        assert sample.id.endswith(f"/q{sample.facets['question']}")
        assert sample.asked in texts[sample.id]
        context = sample.facets.get("context")
        assert (sample.length == 0) == (context is not None)
        assert ("The noise of volume" in texts[sample.id]) == (context is None)
        assert ("The answer of volume" in texts[sample.id]) == (context != "none")
        if context == "alone":
            assert texts[sample.id].count("Passage ") == 2  # its heading, and its number in the question
    asked = {n: {(s.item, s.facets["question"], s.targets) for s in samples if s.length == n} for n in (0, 2048, 4096)}
    assert asked[0] == asked[2048] == asked[4096]
    assert [s.length for s in suite.samples(lengths=[2048])].count(0) == 16
    first = [sample.facets["context"] for sample in suite.samples(limit=3) if not sample.length]
    assert sorted(first) == ["alone"] * 3 + ["none"] * 3
    assert suite.sample("").length == suite.sample("single_doc_qa/en/0001").length == 2048


@pytest.mark.parametrize(
    ("name", "declared", "asked"),
    [
        ("single_doc_qa", {"rubric": ""}, True),
        ("single_doc_qa", {"gold_alone": False}, False),
        ("passage_count", {"rubric": "qa"}, False),
    ],
)
def test_what_is_asked_over_the_gold_alone_is_declared_and_does_not_follow_from_a_rubric(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, own: dict[str, list[str]], name: str, declared: Any, asked: bool
) -> None:
    task = replace(get_task(name), **declared)
    monkeypatch.setattr("fathom.suites.build.items.get_task", lambda _: task)
    wanted = configure(name, lengths=(2048,), items=2, alone=True, **own)
    samples = open_suite(build(wanted, tmp_path / "a").folder).samples()
    assert ("alone" in {sample.facets.get("context") for sample in samples}) == asked


def test_progress_counts_contexts(tmp_path: Path, own: dict[str, list[str]]) -> None:
    wanted = configure("single_doc_qa,kv_retrieval", lengths=(2048, 4096), items=3, closed_book=True, **own)
    told: list[tuple[int, int]] = []
    build(wanted, tmp_path / "a", progress=lambda done, total: told.append((done, total)))
    assert told == [(done, 12) for done in range(1, 13)]


def test_every_document_is_asked_about_before_any_comes_twice(tmp_path: Path, own: dict[str, list[str]]) -> None:
    wanted = configure("single_doc_qa", lengths=(512,), items=12, **own)
    suite = open_suite(build(wanted, tmp_path / "a").folder)
    asked = [sample.asked.rpartition(" ")[2] for sample in suite.samples()]
    assert len(set(asked[:16])) == 8


def test_a_suite_of_real_documents_says_what_it_needs(tmp_path: Path, own: dict[str, list[str]]) -> None:
    with pytest.raises(FathomError, match="no documents given"):
        configure("hundred")
    with pytest.raises(FathomError, match="has no data sources"):
        configure("starter", data=[str(tmp_path)])
    (tmp_path / "empty").mkdir()
    with pytest.raises(FathomError, match=r"nothing to build.*missing data sources"):
        build(configure("hundred", data=[str(tmp_path / "empty")], lengths=(2048,), items=2), tmp_path / "a")


def test_another_build_does_not_overwrite_without_force(tmp_path: Path, corpus: Path) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    build(wanted, tmp_path / "a")
    before = digests(tmp_path / "a")
    other = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2, seed=1)
    with pytest.raises(FathomError, match="another suite"):
        build(other, tmp_path / "a")
    assert digests(tmp_path / "a") == before
    assert build(other, tmp_path / "a", force=True).fresh
    assert digests(tmp_path / "a") != before


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("years of work")
    with pytest.raises(FathomError, match="contains other files"):
        build(configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2), tmp_path / "mine")
    assert (tmp_path / "mine" / "thesis.tex").read_text() == "years of work"


def test_force_replaces_suites_only(tmp_path: Path, corpus: Path) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    build(wanted, tmp_path / "a")
    (tmp_path / "a" / "run.log").write_text("hours of work")
    (tmp_path / "file").write_text("years of work")
    for place in ("a", "file"):
        with pytest.raises(FathomError, match="other files than a suite"):
            build(configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=3), tmp_path / place, force=True)
    assert (tmp_path / "a" / "run.log").read_text() == "hours of work"
    assert (tmp_path / "file").read_text() == "years of work"


def test_a_suite_that_appeared_meanwhile_is_not_replaced(tmp_path: Path, corpus: Path) -> None:
    first, second = (configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=items) for items in (2, 3))
    other = build(second, tmp_path / "b").folder

    def appear(done: int, total: int) -> None:
        shutil.copytree(other, tmp_path / "a", dirs_exist_ok=True)

    with pytest.raises(FathomError, match="another suite"):
        build(first, tmp_path / "a", progress=appear)
    assert open_suite(tmp_path / "a").manifest["items"] == 3
    assert not list(tmp_path.glob(".a.*"))


def test_a_changed_file_behind_a_link_to_a_folder_is_noticed(tmp_path: Path, corpus: Path) -> None:
    (tmp_path / "links" / ".real").mkdir(parents=True)
    corpus.rename(tmp_path / "links" / ".real" / "texts.jsonl")
    (tmp_path / "links" / "to").symlink_to(tmp_path / "links" / ".real")
    (tmp_path / "links" / "back").symlink_to(tmp_path / "links")
    wanted = configure(TASKS, corpus=(str(tmp_path / "links"),), lengths=(1024,), items=2)
    build(wanted, tmp_path / "a")
    assert not build(wanted, tmp_path / "a").fresh
    (tmp_path / "links" / "to" / "more.txt").write_text("One more document, of a few words only.")
    with pytest.raises(FathomError, match="another suite"):
        build(wanted, tmp_path / "a")


def test_files_that_could_not_be_read_are_named_where_nothing_is_left(tmp_path: Path) -> None:
    (tmp_path / "qasper.jsonl.gz").write_bytes(b"no gzip")
    with pytest.raises(FathomError, match=r"nothing to build(.|\n)*qasper.jsonl.gz:1: the file is damaged"):
        build(configure("hundred", lengths=(1024,), data=[str(tmp_path)]), tmp_path / "a")


@pytest.mark.parametrize(("task", "option"), [("bestanswer", "threads"), ("bestanswer_published", "cases")])
def test_a_file_with_nothing_in_it_is_named_where_nothing_is_left(tmp_path: Path, task: str, option: str) -> None:
    (tmp_path / "empty.jsonl").touch()
    given: dict[str, Any] = {option: [str(tmp_path / "empty.jsonl")]}
    with pytest.raises(FathomError, match=r"nothing to build: no document could be read\n .*empty.jsonl: "):
        build(configure(task, lengths=(1024,), **given), tmp_path / "a")


def test_a_build_stops_at_unread_files_unless_allowed(tmp_path: Path) -> None:
    folder = tmp_path / "mixed"
    folder.mkdir()
    for number in range(3):
        (folder / f"{number}.txt").write_text(f"The {number} ships lay in the harbour of Kessmoor all winter. " * 400)
        (folder / f"{number}.doc").write_text("binary")
    choices: dict[str, Any] = {"corpus": str(folder), "lengths": "512", "items": 1, "tokenizer": "words"}
    with pytest.raises(FathomError, match=r"3 of 6 files were not read:\n.*0.doc, 1.doc, 2.doc\n.*`allow_unread`"):
        api.build("passkey", tmp_path / "suite", **choices)
    assert not (tmp_path / "suite").exists()
    built = api.build("passkey", tmp_path / "suite", **choices, allow_unread=True)
    (found,) = built.manifest["files_of_corpus"]
    assert (found["read"], found["missed"]) == (3, 3)
    assert found["not_read"][0] == {"file": "0.doc", "reason": "save it as .docx or .pdf"}
    assert not api.build("passkey", tmp_path / "suite", **choices).fresh


def test_folders_whose_names_are_no_text(tmp_path: Path, corpus: Path) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    corpus.rename(odd / "texts.jsonl")
    wanted = configure("kv_retrieval", corpus=(str(odd),), lengths=(1024,), items=2)
    assert build(wanted, tmp_path / "a").fresh
    assert not build(wanted, tmp_path / "a").fresh
    with pytest.raises(FathomError, match="not valid text"):
        build(wanted, odd / "b")


def test_a_changed_corpus_is_noticed(tmp_path: Path, corpus: Path) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    build(wanted, tmp_path / "a")
    with corpus.open("a") as stream:
        stream.write(json.dumps({"text": "One more document. It is short."}) + "\n")
    with pytest.raises(FathomError, match="another suite"):
        build(wanted, tmp_path / "a")


@pytest.mark.slow
@given(depth=st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=1, max_size=3, unique=True))
@settings(max_examples=5)
def test_a_sweep_asks_the_same_question_at_each_depth(
    tmp_path_factory: pytest.TempPathFactory, depth: list[float]
) -> None:
    folder = tmp_path_factory.mktemp("sweep")
    corpus = write_corpus(folder, 60)
    wanted = configure(
        "kv_retrieval,counting_stars", corpus=(str(corpus),), lengths=(2048,), items=2, depths=tuple(depth)
    )
    suite = open_suite(build(wanted, folder / "suite").folder)
    swept = list(suite.samples(tasks=["kv_retrieval"]))
    assert len(swept) == 2 * len(depth)
    for item in {sample.item for sample in swept}:
        same = [sample for sample in swept if sample.item == item]
        assert {sample.facets["depth"] for sample in same} == set(depth)
        assert len({sample.targets for sample in same}) == 1
    assert len(list(suite.samples(tasks=["counting_stars"]))) == 2


def test_samples_can_be_chosen(tmp_path: Path, corpus: Path) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024, 2048), items=4)
    suite = open_suite(build(wanted, tmp_path / "a").folder)
    assert len(list(suite.samples())) == 24
    assert len(list(suite.samples(lengths=[1024], limit=2))) == 6
    assert {s.task for s in suite.samples(tasks=["passage_count"])} == {"passage_count"}
    with pytest.raises(FathomError, match="its first sample is"):
        suite.sample("nonsense")


def test_a_suite_does_not_need_its_corpus_again(tmp_path: Path, corpus: Path) -> None:
    built = build(configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2), tmp_path / "a")
    corpus.unlink()
    suite = open_suite(built.folder)
    texts = suite.texts()
    assert all(render(sample, texts) for sample in suite.samples())


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"items": 0}, "items"),
        ({"lengths": ()}, "length"),
        ({"depths": (1.5,)}, "between 0"),
        ({"corpus": ("world?colour=red",)}, "colour"),
        ({"corpus": ("world?seed=x",)}, "seed"),
        ({"corpus": ("/no/such/folder",)}, "no such"),
        ({"tokenizer": "nonsense"}, "tokenizer"),
        ({"languages": ("fr",)}, "fr"),
        ({"lengths": (1_000_000,)}, "tokens are missing"),
    ],
)
def test_impossible_orders_are_explained(tmp_path: Path, corpus: Path, choices: dict[str, Any], message: str) -> None:
    with pytest.raises(FathomError, match=message):
        build(configure(TASKS, **{"corpus": (str(corpus),), "lengths": (1024,), "items": 2, **choices}), tmp_path / "a")
    assert not (tmp_path / "a").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["corpus.jsonl"]


def test_a_corpus_without_questions_says_what_the_task_needs(tmp_path: Path) -> None:
    path = tmp_path / "plain.jsonl"
    path.write_text("".join(json.dumps({"text": f"Document number {n}. " * 50}) + "\n" for n in range(50)))
    with pytest.raises(FathomError, match="questions with answers"):
        build(configure("single_doc_qa", corpus=(str(path),), lengths=(1024,), items=2), tmp_path / "a")


def test_fewer_questions_than_items_are_noted(tmp_path: Path, corpus: Path) -> None:
    built = build(configure("single_doc_qa", corpus=(str(corpus),), lengths=(2048,), items=500), tmp_path / "a")
    assert built.manifest["samples"]["single_doc_qa"] == 60
    assert "60 of 500 items" in built.manifest["notes"][0]


BUILD = """
import sys
from pathlib import Path
from fathom import api
from fathom.suites.build import build, configure
from fathom.suites.settings import BuildSettings
settings = BuildSettings(corpus=(sys.argv[1],), lengths=(1024, 2048), items=int(sys.argv[3]))
build(configure("kv_retrieval", settings), Path(sys.argv[2]))
"""


def start(corpus: Path, out: Path, items: int) -> Program:
    return start_program(BUILD, corpus, out, str(items))


@pytest.mark.slow
def test_a_killed_build_leaves_no_half_suite(tmp_path: Path, corpus: Path) -> None:
    out = tmp_path / "killed"
    process = start(corpus, out, 100_000)
    part = None
    while part is None:
        assert process.poll() is None
        part = next((p for p in tmp_path.glob(".killed.*.part") if (p / "samples.parquet").exists()), None)
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert not out.exists()
    built = build(configure("kv_retrieval", corpus=(str(corpus),), lengths=(1024,), items=3), out)
    assert built.fresh
    assert not list(tmp_path.glob(".killed.*"))


@pytest.mark.slow
def test_two_builds_into_one_folder_leave_one_whole_suite(tmp_path: Path, corpus: Path) -> None:
    both = [start(corpus, tmp_path / "shared", 40) for _ in range(2)]
    codes = [process.wait() for process in both]
    for process in both:
        process.communicate()
    assert 0 in codes
    suite = open_suite(tmp_path / "shared")
    texts = suite.texts()
    assert sum(1 for sample in suite.samples() if render(sample, texts)) == 80
    assert not list(tmp_path.glob(".shared.*"))


@pytest.mark.slow
def test_a_full_disk_is_explained_and_leaves_nothing(tmp_path: Path, corpus: Path) -> None:
    limit = (
        "import resource, signal; signal.signal(signal.SIGXFSZ, signal.SIG_IGN);"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (20000, 20000))\n"
    )
    done = start_program(limit + BUILD, corpus, tmp_path / "full", "60")
    said = done.communicate()[1]
    assert done.returncode == 1
    assert b"cannot be written" in said
    assert not (tmp_path / "full").exists()
    assert not list(tmp_path.glob(".full.*"))
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 20000


def test_a_damaged_manifest_is_explained(tmp_path: Path, corpus: Path) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    build(wanted, tmp_path / "a")
    (tmp_path / "a" / "manifest.json").write_text("{")
    with pytest.raises(FathomError, match="`force`"):
        open_suite(tmp_path / "a")


@pytest.mark.parametrize("name", ["samples.parquet", "documents.parquet"])
@pytest.mark.parametrize("keep", [0, 5, 2000])
def test_damaged_files_are_explained(tmp_path: Path, corpus: Path, name: str, keep: int) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    build(wanted, tmp_path / "a")
    path = tmp_path / "a" / name
    path.write_bytes(path.read_bytes()[:keep])
    suite = open_suite(tmp_path / "a")
    with pytest.raises(FathomError, match=f"{name}: damaged"):
        [list(suite.samples()), suite.texts()]


@pytest.mark.parametrize("text", ["{", "[]", '{"fathom": "suite"}', '{"fathom": "suite", "inputs": 3}', "null"])
def test_manifests_of_another_shape_are_explained_and_replaced_by_force(
    tmp_path: Path, corpus: Path, text: str
) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    build(wanted, tmp_path / "a")
    (tmp_path / "a" / "manifest.json").write_text(text)
    with pytest.raises(FathomError, match=r"manifest\.json"):
        open_suite(tmp_path / "a")
    with pytest.raises(FathomError, match=r"manifest\.json"):
        build(wanted, tmp_path / "a")
    assert build(wanted, tmp_path / "a", force=True).fresh
    assert list(open_suite(tmp_path / "a").samples())


@pytest.mark.parametrize("name", ["samples.parquet", "documents.parquet"])
def test_a_suite_of_which_a_bit_has_flipped_is_not_taken_for_built(tmp_path: Path, corpus: Path, name: str) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    whole = build(wanted, tmp_path / "a")
    assert not build(wanted, tmp_path / "a").fresh
    path = tmp_path / "a" / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(FathomError, match=rf"{name}: damaged .*build the suite again with `force`"):
        build(wanted, tmp_path / "a")
    again = build(wanted, tmp_path / "a", force=True)
    assert again.fresh
    assert again.manifest == whole.manifest == open_suite(tmp_path / "a").manifest


def test_a_suite_of_an_earlier_format_is_kept_and_built_again_by_force(tmp_path: Path, corpus: Path) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    new = build(wanted, tmp_path / "a").manifest
    (tmp_path / "a" / MANIFEST).write_text(json.dumps(with_checksum({**new, "format": 2})))
    assert not build(wanted, tmp_path / "a").fresh
    assert build(wanted, tmp_path / "a", force=True).manifest == new
    assert not build(wanted, tmp_path / "a", force=True).fresh


def test_depths_named_twice_are_one(tmp_path: Path, corpus: Path) -> None:
    wanted = configure("passkey", corpus=(str(corpus),), lengths=(1024,), items=2, depths=(0.5, 0.1, 0.50000001))
    assert wanted.depths == (0.1, 0.5)
    samples = list(open_suite(build(wanted, tmp_path / "a").folder).samples())
    assert len({sample.id for sample in samples}) == len(samples) == 4


def test_a_replacement_killed_half_way_is_undone(tmp_path: Path, corpus: Path) -> None:
    wanted = configure(TASKS, corpus=(str(corpus),), lengths=(1024,), items=2)
    build(wanted, tmp_path / "a")
    dead = subprocess.Popen([sys.executable, "-c", ""])
    dead.wait()
    (tmp_path / "a").rename(tmp_path / f".a.{dead.pid}.old")
    (tmp_path / f".a.{dead.pid}.part").mkdir()
    (tmp_path / f".a.{os.getpid()}.part").mkdir()
    from fathom.suites.suitefile.fresh import _sweep

    _sweep(tmp_path / "a")
    assert list(open_suite(tmp_path / "a").samples())
    assert {path.name for path in tmp_path.glob(".a.*")} == {f".a.{os.getpid()}.part"}


def test_the_recorded_state_of_the_generator_changes_with_its_texts_alone() -> None:
    digest = hashlib.sha256()
    for language in ("en", "zh"):
        for index in range(60):
            one = article(7, language, index)
            digest.update(repr((one.text, one.title, one.summary, one.questions)).encode())
    # Where the texts change, both change: suites of other texts are other suites.
    assert (STATE, digest.hexdigest()[:16]) == ("650b357e33d24e68", "9b52a02c31125254")


def test_questions_of_generated_articles_that_do_not_fit_are_one_note(tmp_path: Path) -> None:
    built = build(configure("single_doc_qa", lengths=(1024,), items=2, languages=("en",)), tmp_path / "a")
    notes = [note for note in built.manifest["notes"] if "not asked" in note]
    assert len(notes) == 1, notes
    assert re.fullmatch(r"single_doc_qa: \d+ questions are not asked, see questions_left_out.csv", notes[0])
