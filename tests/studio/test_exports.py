"""Exports of the studio: read by fathom's own readers, and back by the studio."""

import io
import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fathom import api
from fathom.benchmarks.pro.records import read_record
from fathom.benchmarks.pro.secondary_tasks import SECONDARY
from fathom.documents.corpus.text import document_id
from fathom.studio.exports import (
    CARD,
    DOCUMENTS,
    RECORDS,
    SAMPLES,
    Collection,
    ExportOptions,
    LeftOut,
    dataset_card,
    document_lines,
    evidence_of,
    pro_record,
    pro_records,
    sample_lines,
    write_lines,
)
from fathom.studio.imports import read_import
from fathom.studio.suites import recipes_of, write_suite
from fathom.studio.types import Evidence, Review, Sample
from fathom.suites.suitefile import open_suite
from fathom.tokens.counts import TokenCounter
from fathom.tokens.length import render
from fathom.tokens.tokenizers import get_tokenizer
from fathom.types import FathomError, Span
from made_studio import OWN, TASKS, made_collection, made_document, made_sample, made_text

WORDS = get_tokenizer("words")
ONE, TWO, CHINESE = made_text(1), made_text(2), made_text(1, "zh")


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def collection() -> Collection:
    return made_collection(
        made_sample("first", (ONE,), difficulty="Hard"),
        made_sample("several", (ONE, TWO), task="T5.2", answer=("[2]", "[3]"), places=(0.1, 0.8)),
        made_sample("summary", (TWO,), task="T4.1", answer=("One.\nTwo.", "Uno.", "Eins."), state="audited"),
        made_sample("own", (TWO,), task=OWN.name, answer=("Clause 3",), prompts=False),
        made_sample(
            "chinese", (CHINESE,), language="zh", answer=("C",), question="哪一个？\nA. 一\nB. 二\nC. 三\nD. 四"
        ),
        made_sample("open", (ONE,), state="expert_review"),
        texts=(ONE, TWO, CHINESE),
        languages=("en", "en", "zh"),
    )


OF_WORDS = ExportOptions(tokenizer="words")


def exported(collection: Collection, folder: Path) -> tuple[LeftOut, ...]:
    write_lines(folder / RECORDS, pro_records(collection))
    write_lines(folder / DOCUMENTS, document_lines(collection))
    return write_lines(folder / SAMPLES, sample_lines(collection))


# ------------------------------------------------------------------------------------------------------- LongBench Pro


@pytest.mark.parametrize("task", SECONDARY, ids=lambda task: task.task)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_record_of_every_task_is_read_by_the_suite_pro(task: Any, language: str) -> None:
    text = ONE if language == "en" else CHINESE
    options = "\nA. a\nB. b\nC. c\nD. d" if task.metric == "Accuracy" else ""
    question = ("Which?" if language == "en" else "哪些？") + options
    sample = made_sample("s-1", (text,), task=task.code, language=language, question=question, difficulty="Easy")
    record = pro_record(sample, made_collection(sample, texts=(text,), languages=(language,)))
    document = read_record(record, "export")
    assert document.text == text
    assert document.language == language
    assert document.meta["secondary_task"] == task.name
    assert document.meta["contextual_requirement"] == task.requirement
    assert record["question_nonthinking"] == sample.content.prompt_answering
    assert record["question_thinking"] == sample.content.prompt_thinking


def test_records_build_as_the_suite_pro_and_the_answer_scores_1(collection: Collection, tmp_path: Path) -> None:
    (left_out,) = write_lines(tmp_path / "data" / RECORDS, pro_records(collection))
    assert left_out.name == "own"
    assert "not a task of LongBench Pro" in str(left_out)
    built = api.build("pro", out=tmp_path / "suite", data=[str(tmp_path / "data")], tokenizer="words")
    samples = {sample.item.rpartition("/")[2]: sample for sample in open_suite(built.folder).samples()}
    assert set(samples) == {"first", "several", "summary", "chinese"}
    assert samples["first"].facets["difficulty"] == "Hard"
    assert samples["first"].chance == 0.25
    assert samples["summary"].targets == ("One.\nTwo.", "Uno.", "Eins.")


def test_several_documents_have_headings(collection: Collection) -> None:
    record = pro_record(collection.samples[1], collection)
    assert record["context"] == f"[Document 1] A made text\n\n{ONE}\n\n[Document 2] A made text\n\n{TWO}"


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"bucket": 4096}, "no length of 4,096 tokens"),
        ({"language": "de"}, "no language 'de'"),
        ({"documents": ("gone",)}, "document gone is missing"),
        ({"language": "zh"}, "expected 'English'"),
    ],
)
def test_what_cannot_be_a_record_is_left_out_with_the_reason(change: dict[str, Any], message: str) -> None:
    sample = replace(made_sample("a", (ONE,)), **change)
    (left_out,) = pro_records(made_collection(sample, texts=(ONE,)))
    assert message in str(left_out)


def test_an_answer_of_several_lines_is_one_line_but_for_summaries() -> None:
    sample = made_sample("a", (ONE,), task="T5.2", answer=(" a\n b ", "c"))
    assert pro_record(sample, made_collection(sample, texts=(ONE,)))["answer"] == ["a b", "c"]


# -------------------------------------------------------------------------------------------------------------- suites


@pytest.mark.slow
def test_a_suite_runs_on_a_baseline_and_a_report_comes_out(collection: Collection, tmp_path: Path) -> None:
    options = replace(OF_WORDS, lengths=(512, 1024), closed_book=True)
    written = write_suite(collection, tmp_path / "suite", options)
    assert (written.items, written.left_out) == (5, ())
    assert written.samples == 5 * 4
    for model in ("fathom/guess", "fathom/lexical"):
        api.run(tmp_path / "suite", model, out=tmp_path / model.replace("/", "-"))
    runs = [str(tmp_path / "fathom-guess"), str(tmp_path / "fathom-lexical")]
    api.report(runs, out=tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text("utf-8")
    assert [name for name in ("studio_f1", "pro_t5_2", "Closed-book questions", "Position") if name not in page] == []


def test_the_evidence_is_in_the_prompt_at_every_length(collection: Collection) -> None:
    counter = TokenCounter(WORDS)
    for sample in collection.done():
        recipes, _ = recipes_of(sample, collection, counter, ExportOptions(lengths=(512, 1024)))
        assert [one.length for one in recipes] == [8192, 1024, 512]
        assert len({one.item for one in recipes}) == 1
        for recipe in recipes:
            text = render(recipe, collection.texts)
            assert all(one.quote in text for one in evidence_of(sample, collection.texts))
            assert text.endswith(recipe.asked)
            assert recipe.tokens == WORDS.count(text)
            if recipe.length < 8192:
                assert 0.95 * recipe.length <= max(recipe.tokens, recipe.thinking_tokens) <= recipe.length
                assert recipe.facets["shortened_from"] == 8192


def test_the_place_of_the_evidence_is_a_facet_for_studies_of_position() -> None:
    near = made_sample("near", (ONE,), places=(0.5,))
    far = made_sample("far", (ONE,), places=(0.1, 0.9))
    counter, both = TokenCounter(WORDS), made_collection(near, far, texts=(ONE,))
    for recipe in recipes_of(near, both, counter, ExportOptions(lengths=(1024,)))[0]:
        assert recipe.facets["depth"] == pytest.approx(0.5, abs=0.03)
    (whole,), _ = recipes_of(far, both, counter)
    assert "depth" not in whole.facets
    assert whole.facets["evidence_first"] == pytest.approx(0.1, abs=0.01)
    assert whole.facets["evidence_last"] == pytest.approx(0.9, abs=0.01)


def test_positions_in_a_second_document_count_from_the_start_of_the_context() -> None:
    sample = made_sample("a", (TWO, ONE), places=(0.5,))
    collection = made_collection(sample, texts=(ONE, TWO))
    swapped = replace(sample, documents=(document_id(ONE), document_id(TWO)))
    (recipe,), _ = recipes_of(swapped, replace(collection, samples=(swapped,)), TokenCounter(WORDS))
    assert recipe.facets["depth"] == pytest.approx((len(ONE) + len(TWO) / 2) / (len(ONE) + len(TWO)), abs=0.02)


def test_evidence_that_fills_a_length_leaves_that_length_out() -> None:
    sample = made_sample("a", (ONE,), places=tuple(place / 30 for place in range(30)))
    collection = made_collection(sample, texts=(ONE,))
    (recipe,), (left_out,) = recipes_of(sample, collection, TokenCounter(WORDS), ExportOptions(lengths=(300,)))
    assert recipe.length == 8192
    assert str(left_out) == "sample a at 300: left out: its evidence and question do not fit"


def test_the_same_samples_give_the_same_suite(collection: Collection, tmp_path: Path) -> None:
    first = write_suite(collection, tmp_path / "a", OF_WORDS)
    mixed = replace(collection, samples=tuple(reversed(collection.samples)))
    second = write_suite(mixed, tmp_path / "b", OF_WORDS)
    assert first.fingerprint == second.fingerprint
    for name in ("samples.parquet", "documents.parquet", "manifest.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    assert write_suite(collection, tmp_path / "a", OF_WORDS) == first


def test_evidence_that_is_not_the_quoted_text_is_found() -> None:
    sample = made_sample("a", (ONE,))
    component = replace(sample.content.components[0], evidence=(Evidence(document_id(ONE), 5, 9, "nope"),))
    wrong = replace(sample, content=replace(sample.content, components=(component,)))
    with pytest.raises(FathomError, match=r"nothing to export: sample a: left out: .*not the quoted text"):
        write_suite(made_collection(wrong, texts=(ONE,)), Path("unused"))
    elsewhere = replace(component, evidence=(Evidence("other", 5, 9, "nope"),))
    with pytest.raises(FathomError, match="not one of its documents"):
        evidence_of(replace(sample, content=replace(sample.content, components=(elsewhere,))), {})


def test_nothing_accepted_and_a_folder_with_other_files_are_refused(tmp_path: Path, collection: Collection) -> None:
    with pytest.raises(FathomError, match="no sample is accepted yet"):
        write_suite(made_collection(texts=()), tmp_path / "suite")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(FathomError, match=r"contains other files than a suite \(thesis.tex\)"):
        write_suite(collection, tmp_path / "mine")


# ------------------------------------------------------------------------------------------------- card, JSONL, imports


def test_an_export_is_read_back_whole(collection: Collection, tmp_path: Path) -> None:
    assert not exported(collection, tmp_path)
    found = read_import(tmp_path, WORDS)
    assert not found.problems
    assert set(found.samples) == {one.id for one in collection.done()}
    for sample in collection.done():
        same = found.samples[sample.id]
        assert same.content == sample.content
        assert (same.task, same.language, same.bucket, same.documents, same.difficulty) == (
            sample.task, sample.language, sample.bucket, sample.documents, sample.difficulty
        )  # fmt: skip
        action = same.action("import:x")
        assert (action.sample, action.candidates[0].content) == (sample.id, sample.content)
    for id, taken in found.documents.items():
        assert taken.text == collection.texts[id]
        assert taken.document == replace(collection.documents[id], state="collected")


def test_an_export_names_no_people(collection: Collection, tmp_path: Path) -> None:
    exported(collection, tmp_path)
    assert not any(name in path.read_text("utf-8") for path in tmp_path.iterdir() for name in ('"ann"', '"ben"'))


def test_a_zipped_export_is_read_without_being_unpacked(collection: Collection, tmp_path: Path) -> None:
    exported(collection, tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "export.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name in (SAMPLES, DOCUMENTS):
            archive.write(tmp_path / "out" / name, f"anywhere/{name}")
            archive.writestr(f"../../../{name}", "not read")
            archive.writestr(f"/tmp/{name}", "not read")
    before = {*tmp_path.rglob("*"), *tmp_path.parent.glob("*")}
    found = read_import(tmp_path / "export.zip", WORDS)
    assert len(found.samples) == 5
    assert {*tmp_path.rglob("*"), *tmp_path.parent.glob("*")} - before <= {
        tmp_path / "cache",
        *(tmp_path / "cache").iterdir(),
    }


@pytest.mark.slow
def test_a_zip_bomb_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "bomb.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(DOCUMENTS, "{}")
        with archive.open(SAMPLES, "w") as member:
            for _ in range(300):
                member.write(b"x" * (1 << 20))
    with pytest.raises(FathomError, match=r"no sample to import(.|\n)*compressed"):
        read_import(tmp_path / "bomb.zip", WORDS)


def test_an_archive_inside_an_archive_is_not_opened(tmp_path: Path) -> None:
    inner = io.BytesIO()
    with zipfile.ZipFile(inner, "w") as archive:
        archive.writestr(SAMPLES, "{}")
    with zipfile.ZipFile(tmp_path / "outer.zip", "w") as archive:
        archive.writestr("inner.zip", inner.getvalue())
    with pytest.raises(FathomError, match="no sample to import"):
        read_import(tmp_path / "outer.zip", WORDS)


def test_records_of_longbench_pro_become_samples_to_review(collection: Collection, tmp_path: Path) -> None:
    write_lines(tmp_path / "mine.jsonl", pro_records(collection))
    found = read_import(tmp_path / "mine.jsonl", WORDS)
    assert set(found.samples) == {"first", "several", "summary", "chinese"}
    first, original = found.samples["first"], collection.samples[0]
    assert first.content.question == first.content.prompt_answering == original.content.prompt_answering
    assert [one.text for one in first.content.components] == ["B"]
    assert (first.bucket, first.difficulty, first.documents) == (8192, "Hard", (document_id(ONE),))
    document = found.documents[document_id(ONE)].document
    assert (document.bucket, document.state) == (8192, "collected")
    # And once more through an export.
    samples = tuple(
        Sample(one.id, one.task, one.language, one.bucket, one.documents, "accepted", content=one.content)
        for one in sorted(found.samples.values(), key=lambda one: one.id)
    )
    texts = {id: taken.text for id, taken in found.documents.items()}
    documents = {id: taken.document for id, taken in found.documents.items()}
    again = list(pro_records(Collection(samples, documents, texts, TASKS)))
    before = [record for record in pro_records(collection) if isinstance(record, dict)]
    assert again == [{name: record[name] for name in record if name != "difficulty"} for record in before]


def test_every_fault_of_an_import_is_told_and_the_rest_is_read(collection: Collection, tmp_path: Path) -> None:
    exported(collection, tmp_path)
    lines = [json.loads(line) for line in (tmp_path / SAMPLES).read_text("utf-8").splitlines()]
    by_id = {line["id"]: line for line in lines}
    by_id["first"]["content"]["components"][0]["evidence"][0]["quote"] = "not there"
    by_id["own"]["content"]["components"] = "none"
    by_id["summary"]["documents"] = ["../../etc/passwd"]
    by_id["chinese"]["version"] = 99
    extra = [{"fathom": "studio sample"}, {**by_id["several"]}, {**by_id["several"], "id": "x\0"}, [1], "text"]
    content = [*lines, *extra]
    (tmp_path / SAMPLES).write_text("".join(json.dumps(line) + "\n" for line in content) + "{broken", encoding="utf-8")
    documents = (tmp_path / DOCUMENTS).read_text("utf-8").splitlines()
    changed = json.loads(documents[0]) | {"text": "another text"}
    (tmp_path / DOCUMENTS).write_text("\n".join([*documents, json.dumps(changed)]), encoding="utf-8")
    found = read_import(tmp_path, WORDS)
    assert set(found.samples) == {"first", "several"}
    assert found.samples["first"].content.components[0].evidence == ()
    told = "\n".join(found.problems)
    for reason in (
        "evidence at",
        "content.components: expected a list",
        "document '../../etc/passwd' is not in documents.jsonl",
        "version '99'; this version of fathom reads 1",
        "a second sample 'several'",
        "NUL or a surrogate",
        "the id is not that of the text",
    ):
        assert reason in told
    assert found.problem_count >= 10


def test_an_empty_folder_and_a_missing_one_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FathomError, match=r"no sample to import; give records of LongBench Pro"):
        read_import(tmp_path, WORDS)
    with pytest.raises(FathomError, match="no such file"):
        read_import(tmp_path / "nowhere", WORDS)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(FathomError, match="not a record of LongBench Pro"):
        read_import(tmp_path, WORDS)


def test_the_card_has_the_metadata_of_the_hub_and_escapes_names(collection: Collection) -> None:
    hostile = 'Evil"\n---\n<script>alert(1)</script> | [x](y)'
    document = made_document(ONE, title=hostile, licence=hostile)
    documents = {**collection.documents, document.id: document}
    card = dataset_card(replace(collection, documents=documents), title=hostile, licence="cc-by-4.0", about=hostile)
    _, front, body = card.split("---\n", 2)
    facts = pytest.importorskip("yaml").safe_load(front)
    assert facts["license"] == "cc-by-4.0"
    assert facts["pretty_name"] == hostile
    assert facts["language"] == ["en", "zh"]
    assert facts["size_categories"] == ["n<1K"]
    assert facts["task_categories"] == ["question-answering", "summarization"]
    assert "<script>" not in body
    assert "[x](y)" not in body
    assert "5 samples over 3 documents" in body
    assert "audited later: 1" in body
    assert "component by 0 people (5); audited" in body
    assert "| T3.2 Single-Hop Fact QA | en | 1 |" in body
    assert CARD == "README.md"


@pytest.mark.parametrize(
    ("reviewers", "words"),
    [
        ([("bo", "cy"), ("bo", "cy")], "by two people who did not see each other's verdicts;"),
        ([("bo",), ("cy",)], "by one person who did not write it;"),
        ([("bo",), ("cy", "bo"), ("bo",)], "by 1 person (2), 2 people (1);"),
    ],
)
def test_the_card_says_how_many_people_reviewed(reviewers: list[tuple[str, ...]], words: str) -> None:
    samples = [
        replace(made_sample(f"s{at}", (ONE,)), reviews=tuple(Review(name, 1, (), (), "pass") for name in names))
        for at, names in enumerate(reviewers)
    ]
    card = dataset_card(made_collection(*samples, texts=(ONE,)), title="t")
    assert f"reviewed component by component {words}" in card


def test_evidence_in_recipes_are_spans_of_documents(collection: Collection) -> None:
    (recipe,), _ = recipes_of(collection.samples[0], collection, TokenCounter(WORDS))
    spans = json.loads(str(recipe.inputs["evidence"]))
    assert [Span(*one) for one in spans] == [
        Span(one.document, one.start, one.end) for one in evidence_of(collection.samples[0], collection.texts)
    ]


def test_a_sample_without_a_length_bucket_is_as_long_as_its_documents() -> None:
    sample = replace(made_sample("a", (ONE,)), bucket=0)
    collection = made_collection(sample, texts=(ONE,))
    assert [recipe.length for recipe in recipes_of(sample, collection, TokenCounter(WORDS))[0]] == [8000]
    (left_out,) = pro_records(collection)
    assert "no sample without a length bucket" in str(left_out)
