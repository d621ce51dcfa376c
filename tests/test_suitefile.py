"""Suite files: texts read as they are asked for, samples by their facets, prompts that ask for thoughts."""

from __future__ import annotations

import random
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.suites.suitefile import (
    DOCUMENTS,
    SAMPLES,
    BuiltSuite,
    SampleWriter,
    facts_of,
    is_where,
    open_suite,
    values_of,
    why_none,
    write_documents,
    write_manifest,
)
from fathom.suites.suitefile import texts as texts_module
from fathom.tokens.length import render, thinking
from fathom.types import Document, FathomError, Json, Sample, Span
from made import make_document

MANIFEST: dict[str, Json] = {
    **{"fathom": "suite", "suite": "s", "fingerprint": "f", "tokenizer": "words", "lengths": [8192], "tasks": ["t"]},
    **{"samples": {}, "notes": [], "left_out": [], "left_out_in_all": 0, "duplicates": 0, "inputs": {}},
}


def sample_of(number: int, document: Document, **facets: str | float) -> Sample:
    return Sample(
        id=f"t/en/{number}@8192",
        item=f"t/en/{number}",
        task="t",
        parts=(Span(document.id, 0, 10), "\n\nWhat?"),
        targets=("x",),
        length=8192,
        tokens=12,
        facets=facets,
    )


def written(folder: Path, documents: list[Document], samples: list[Sample]) -> BuiltSuite:
    folder.mkdir(exist_ok=True)
    write_documents(folder, documents)
    with SampleWriter(folder) as writer:
        for sample in samples:
            writer.add(sample)
    write_manifest(folder, MANIFEST)
    return open_suite(folder)


@pytest.fixture
def documents() -> list[Document]:
    return [make_document(number, "en", 30) for number in range(40)]


def test_texts_are_read_in_groups_and_the_last_ones_are_held(
    tmp_path: Path, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(documents[0].text)
    monkeypatch.setattr(texts_module, "TOGETHER", 3 * size)
    monkeypatch.setattr(texts_module, "HELD", 10 * size)
    texts = written(tmp_path / "suite", documents, []).texts()
    assert pyarrow.parquet.ParquetFile(tmp_path / "suite" / DOCUMENTS).num_row_groups > 10
    assert len(texts) == len(documents) == len(set(texts))
    rng = random.Random(0)
    for document in rng.choices(documents, k=300):
        assert texts[document.id] == document.text
        assert isinstance(texts, texts_module.Texts)
        held = sum(len(text) for group in texts._held.values() for text in group.values())
        assert held == texts._size <= 10 * size
    with pytest.raises(KeyError):
        texts["nothing"]
    assert texts.get("nothing") is None


@pytest.mark.slow
def test_texts_can_be_asked_for_from_several_threads(
    tmp_path: Path, documents: list[Document], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(texts_module, "TOGETHER", 2000)
    monkeypatch.setattr(texts_module, "HELD", 8000)
    texts = written(tmp_path / "suite", documents, []).texts()
    wanted = documents * 20
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda document: texts[document.id], wanted))
    assert found == [document.text for document in wanted]


def test_writing_leaves_no_second_copy_of_the_texts_in_memory(tmp_path: Path) -> None:
    texts = [f"“Fährmann” {number} 船夫" * 500 for number in range(5)]
    documents = [Document(str(number), text, "made") for number, text in enumerate(texts)]
    before = [sys.getsizeof(text) for text in texts]  # with the UTF-8 that Python keeps for who asked for it
    suite = written(tmp_path / "suite", documents, [])
    assert [sys.getsizeof(text) for text in texts] == before
    assert dict(suite.texts()) == {document.id: document.text for document in documents}


def test_a_damaged_file_of_texts_says_what_to_do(tmp_path: Path, documents: list[Document]) -> None:
    suite = written(tmp_path / "suite", documents, [])
    path = tmp_path / "suite" / DOCUMENTS
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(FathomError, match=r"documents\.parquet: damaged .*build the suite again with `force`"):
        suite.texts()


def test_samples_are_chosen_by_their_facets(tmp_path: Path, documents: list[Document]) -> None:
    facets = [{"difficulty": level, "score": 0.5} for level in ("Easy", "Hard", "Extreme")] + [{"score": 1.0}]
    samples = [sample_of(number, documents[0], **one) for number, one in enumerate(facets)]
    suite = written(tmp_path / "suite", documents[:1], samples)

    def chosen(**where: tuple[str, ...]) -> list[str]:
        kept = [sample.item[-1] for sample in suite.samples(where=where)]
        assert kept == [sample.item[-1] for sample in samples if is_where(facts_of(sample), where)]
        assert kept == [sample.item[-1] for sample in suite.samples(where=where, parts=False)]
        return kept

    assert chosen(difficulty=("hard", "EXTREME")) == ["1", "2"]
    assert chosen(difficulty=("Hard",), score=("0.5",)) == ["1"]
    assert chosen(length=("8k",), language=("en",), task=("t",)) == ["0", "1", "2", "3"]
    assert chosen(length=("16k",)) == chosen(nothing=("x",)) == []
    assert chosen(item=("t/en/3",)) == ["3"]


VALUES = {"level": {"Easy", "Hard"}, "length": {"8k", "16k", "128k"}, "task": {"t"}, "item": {"t/en/1"}}


@pytest.mark.parametrize(
    ("where", "why"),
    [
        ({"levl": ["Hard"]}, "`where` levl=Hard matches no sample: none has the facet 'levl'."),
        ({"level": ["Hrad", "x"]}, "`where` level=Hrad,x matches no sample: none has one of these values of level."),
        (
            {"length": ["8k"], "level": ["hard"]},
            "`where` length=8k `where` level=hard matches no sample: none matches all conditions.",
        ),
    ],
)
def test_where_nothing_is_chosen_it_is_said_why_and_what_there_is(where: dict[str, list[str]], why: str) -> None:
    first, *lines = why_none(where, VALUES).split("\n")
    assert first == f"{why} Available values:"
    assert sorted(lines) == ["  length: 8k, 16k, 128k", "  level: Easy, Hard", "  task: t"]
    assert lines[0].split(":")[0].strip() == next((name for name in where if name in VALUES), "length")


def test_of_many_and_long_values_a_few_are_named() -> None:
    values = {"n": set(map(str, range(1000))), "long": {"x" * 900}, "odd": {"a\nb", "²", "9" * 5000}}
    message = why_none({"n": ["?"]}, values)
    assert "\n  n: 0, 1, 2, 3, 4, 5 and 994 more\n" in message
    assert f"\n  long: {'x' * 60}..." in message
    assert (message.count("\n"), len(message) < 500) == (3, True)


@given(st.lists(st.dictionaries(st.sampled_from("ab"), st.text(max_size=3))), st.text(max_size=3))
def test_all_values_of_facets_are_known(facets: list[dict[str, str]], value: str) -> None:
    samples = [sample_of(number, make_document(0, "en", 3), **one) for number, one in enumerate(facets)]
    values = values_of(map(facts_of, samples))
    where = {"a": [value]}
    assert values.get("b", set()) == {one["b"] for one in facets if "b" in one}
    assert values.get("length", set()) == ({"8k"} if samples else set())
    assert why_none(where, values).startswith("`where` a=")


@given(st.text(), st.integers(1, 10**6))
def test_the_prompt_that_asks_for_thoughts_has_another_end(end: str, tokens: int) -> None:
    document = make_document(0, "en", 3)
    plain = sample_of(0, document)
    texts = {document.id: document.text}
    assert thinking(plain) is plain
    both = replace(plain, thinking=end, thinking_tokens=tokens)
    told = thinking(both)
    assert render(told, texts) == document.text[:10] + end
    assert render(both, texts) == render(plain, texts)
    assert (told.tokens, told.id, told.thinking_tokens) == (tokens, plain.id, 0)
    assert thinking(told) is told
    assert thinking(replace(both, parts=())).tokens == tokens


def test_prompts_that_ask_for_thoughts_are_kept_and_older_suites_have_none(
    tmp_path: Path, documents: list[Document]
) -> None:
    both = replace(sample_of(0, documents[0]), thinking="\n\nThink.", thinking_tokens=13)
    suite = written(tmp_path / "suite", documents[:1], [both])
    assert list(suite.samples()) == [both]
    (bare,) = suite.samples(parts=False)
    assert (bare.parts, bare.thinking, bare.thinking_tokens) == ((), "", 13)
    path = tmp_path / "suite" / SAMPLES
    table = pyarrow.parquet.read_table(path).drop_columns(["thinking", "thinking_tokens"])
    pyarrow.parquet.write_table(table, path)
    assert list(suite.samples()) == [replace(both, thinking="", thinking_tokens=0)]
    assert [sample.thinking_tokens for sample in suite.samples(parts=False)] == [0]


def test_another_file_of_that_name_says_what_to_do(tmp_path: Path) -> None:
    import polars as pl

    for name in (DOCUMENTS, SAMPLES):
        pl.DataFrame({"something": [1]}).write_parquet(tmp_path / name)
    (tmp_path / "manifest.json").write_text("[" * 100_000, "utf-8")
    suite = BuiltSuite(tmp_path, {})
    for read in (suite.texts, lambda: list(suite.samples()), lambda: suite.names()):
        with pytest.raises(FathomError, match="build the suite again with `force`"):
            read()
    with pytest.raises(FathomError, match=r"manifest\.json: cannot be read"):
        open_suite(tmp_path)
