"""Items that share a document have the same facet ``cluster``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engine_calls import configure
from fathom import api
from fathom.documents.corpus import document_id
from fathom.suites.build import build
from fathom.suites.build.clusters import cluster_of, shared_clusters
from fathom.suites.registry import get_task
from fathom.suites.suitefile import SAMPLES, SampleWriter, add_facets, open_suite
from fathom.types import Document, Sample
from made import make_document
from made_records import build_records, make_record, write_rows

QUESTIONS = 6  # of each document: two items, since four questions share a context


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    rows = []
    for number in range(8):
        made = make_document(number, "en", 12)
        asked = [{"question": f"Who keeps volume {number}.{n}?", "answers": [made.text[:20]]} for n in range(QUESTIONS)]
        rows.append({"text": made.text, "questions": asked})
    return str(write_rows(tmp_path / "corpus.jsonl", rows))


def samples_of(folder: Path, corpus: str, items: int) -> list[Sample]:
    wanted = configure(
        "single_doc_qa", corpus=[corpus], lengths=(512, 1024), items=items, tokenizer="words", closed_book=True
    )
    return list(open_suite(build(wanted, folder).folder).samples())


def test_a_document_is_its_own_cluster_and_a_record_shares_that_of_its_context() -> None:
    text = "The brewery burned down.\n\nIt was rebuilt."
    document = Document(document_id(text), text, "made:0", passages=((0, 24), (26, 41)))
    assert cluster_of(document) == document.id
    first, second = (
        Document(document_id(f"row {n}"), f"{blank}{text[:24]}\n\nWhy {n}?", "made:1", passages=((0, 24 + len(blank)),))
        for n, blank in enumerate(("", " \n"))
    )
    assert cluster_of(first) == cluster_of(second) == document_id(text[:24])
    assert cluster_of(replace(first, passages=())) == document_id(first.text)


def test_only_clusters_of_several_items_are_named() -> None:
    assert shared_clusters({"a": "x", "b": "y", "c": "x"}) == {"a": "x", "c": "x"}
    assert shared_clusters({"a": "x", "b": "y"}) == {}


@pytest.mark.slow
def test_items_about_one_document_share_its_cluster_at_every_length(tmp_path: Path, corpus: str) -> None:
    samples = samples_of(tmp_path / "suite", corpus, items=11)
    clusters = {sample.item: sample.facets.get("cluster") for sample in samples}
    shared = [cluster for cluster in clusters.values() if cluster]
    assert len(clusters) == 11
    assert len(shared) == 6
    assert len(set(shared)) == 3
    assert all(sample.facets.get("cluster") == clusters[sample.item] for sample in samples)
    assert {sample.length for sample in samples if "cluster" in sample.facets} == {0, 512, 1024}
    for sample in samples:
        if "cluster" in sample.facets and sample.length:
            assert sample.facets["cluster"] in {part.doc for part in sample.parts if not isinstance(part, str)}
    api.run(tmp_path / "suite", "fathom/lexical", out=tmp_path / "run")
    rows = api.rows([str(tmp_path / "run")])
    assert {(row["item"], json.loads(row["facets"]).get("cluster")) for row in rows.to_dicts()} == set(clusters.items())


def test_a_suite_whose_items_share_nothing_has_no_clusters(tmp_path: Path, corpus: str) -> None:
    assert not any("cluster" in sample.facets for sample in samples_of(tmp_path / "suite", corpus, items=8))


def test_items_of_two_tasks_about_one_document_share_its_cluster(tmp_path: Path, corpus: str) -> None:
    tasks = "single_doc_qa,multi_doc_qa"
    wanted = configure(tasks, corpus=[corpus], lengths=(512,), items=4, tokenizer="words", closed_book=False)
    found: dict[str, set[str]] = {}
    for sample in open_suite(build(wanted, tmp_path / "suite").folder).samples():
        if cluster := sample.facets.get("cluster"):
            found.setdefault(str(cluster), set()).add(sample.task)
    assert {"single_doc_qa", "multi_doc_qa"} in found.values()


def test_records_over_one_context_share_a_cluster(tmp_path: Path) -> None:
    records = [make_record("qasper", row) for row in range(4)]
    records[2]["context"] = records[0]["context"]
    write_rows(tmp_path / "qasper.jsonl", records)
    samples = build_records("longbench_qasper", tmp_path, [tmp_path], lengths=(1024,)).samples()
    first, second, third, fourth = (sample.facets.get("cluster") for sample in samples)
    assert first == third != second is fourth is None


def test_a_cluster_that_the_task_gives_stays(tmp_path: Path, corpus: str, monkeypatch: pytest.MonkeyPatch) -> None:
    task = replace(get_task("single_doc_qa"), facets={"cluster": "town"})
    monkeypatch.setattr("fathom.suites.build.items.get_task", lambda _: task)
    assert {sample.facets["cluster"] for sample in samples_of(tmp_path / "suite", corpus, items=11)} == {"town"}


@pytest.mark.parametrize("count", [3, 300])
def test_facets_are_added_as_if_they_had_been_written_at_once(tmp_path: Path, count: int) -> None:
    whole = [
        Sample(f"t/{n}@8", f"t/{n}", "t", ("Wer? ü",), ("a",), 8, 1, facets={"cluster": f"c{n % 2}", "depth": 0.5})
        for n in range(count)
    ]
    known = {sample.item: {"cluster": sample.facets["cluster"]} for sample in whole[1:]}
    bare = [replace(sample, facets={"depth": 0.5}) for sample in whole]
    write(tmp_path / "once", [bare[0], *whole[1:]])
    write(tmp_path / "later", bare)
    add_facets(tmp_path / "later", known)
    assert (tmp_path / "later" / SAMPLES).read_bytes() == (tmp_path / "once" / SAMPLES).read_bytes()
    assert [path.name for path in (tmp_path / "later").iterdir()] == [SAMPLES]


def write(folder: Path, samples: Sequence[Sample]) -> None:
    folder.mkdir()
    with SampleWriter(folder) as writer:
        for sample in samples:
            writer.add(sample)
