"""Every declared data source is complete, and the suites name sources that there are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from fathom import api
from fathom.documents.sources import HubFile, Source, registry
from fathom.suites.registry import suites

TABLE_2 = {
    "qa": "qasper multifieldqa_en narrativeqa multidoc_qa legal_contract_qa financial_qa natural_question "
    "scientific_qa",
    "multi_qa": "hotpotqa 2wikimqa musique rag_mini_bioasq",
    "summary": "gov_report qmsum patent_summ tv_show_summ review_summ meeting_summ",
    "multi_summary": "multi_news_e",
    "news": "cnn_dailymail",
}
NAMES = [name for names in TABLE_2.values() for name in names.split()]
RECORDS = [name for suite in suites().values() for name in suite.sources.get("record", ())]
DOMAINS = ["casesumm", "medodyssey", "medical_summary"]


@pytest.mark.parametrize("source", registry.sources().values(), ids=lambda source: source.name)
def test_a_declaration_is_complete(source: Source) -> None:
    assert re.fullmatch(r"[a-z0-9_]+", source.name)
    assert re.fullmatch(r"[\w.-]+/[\w.-]+", source.dataset) or not source.files
    assert re.fullmatch(r"(?:[0-9a-f]{40})?", source.revision)
    assert bool(source.files) == bool(source.dataset) == bool(source.revision), "what is on the hub is pinned"
    assert source.shapes
    assert all((shape.fields or shape.besides) and shape.name for shape in source.shapes)
    assert source.licence
    assert source.description
    assert "\n" not in source.description
    assert re.search(r"\(\d{4}\)", source.citation)
    assert re.search(r"arXiv:\d{4}\.\d{4,5}|doi:10\.|huggingface\.co/", source.citation)
    for file in source.files:
        assert re.fullmatch(r"(?:[0-9a-f]{64})?", file.sha256)
        assert not file.path.startswith("/")
        assert ".." not in file.path


def test_the_twenty_sources_of_table_2_and_the_additions_of_a6_are_there() -> None:
    assert len(NAMES) == 20
    assert set(registry.sources()) == {*NAMES, *DOMAINS, *RECORDS}
    hundred, domains = suites()["hundred"], suites()["hundred_domains"]
    assert {role: " ".join(names) for role, names in hundred.sources.items()} == TABLE_2
    added = {role: set(names) - set(hundred.sources[role]) for role, names in domains.sources.items()}
    assert added["qa"] == {"medodyssey"}
    assert added["summary"] == {"casesumm", "medical_summary"}
    assert not any(added[role] for role in ("multi_qa", "multi_summary", "news"))
    assert (domains.tasks, domains.lengths) == (hundred.tasks, hundred.lengths)


def test_files_of_one_data_set_have_one_revision_and_one_checksum() -> None:
    revisions: dict[str, str] = {}
    checksums: dict[tuple[str, str], HubFile] = {}
    for source in registry.sources().values():
        assert revisions.setdefault(source.dataset, source.revision) == source.revision
        for file in source.files:
            assert checksums.setdefault((source.dataset, file.path), file) == file


def test_fathom_list_data() -> None:
    records = api.catalogue("data")
    assert [record["data"] for record in records] == sorted({*NAMES, *DOMAINS, *RECORDS})
    found = {record["data"]: record for record in records}
    assert found["2wikimqa"]["roles"] == ["multi_qa"]
    assert found["casesumm"]["roles"] == ["summary"]
    assert found["qasper"]["dataset"] == "zai-org/LongBench"
    assert all(record["licence"] and record["citation"] for record in records)


def test_the_page_about_data_lists_every_source_with_its_pin() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "data.md").read_text(encoding="utf-8")
    for source in registry.sources().values():
        row = next(line for line in page.splitlines() if line.startswith(f"| `{source.name}` |"))
        assert source.dataset in row
        assert source.revision[:7] in row
        assert source.licence in row
        assert row.count(" *") == sum(bool(file.sha256) for file in source.files)
