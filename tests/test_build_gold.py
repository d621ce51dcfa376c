"""Builds leave out items whose passage lacks their gold text, and name questions without a unique answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from engine_calls import configure
from fathom.cli.app import command
from fathom.documents.corpus import document_id
from fathom.documents.sources.errata import fingerprint
from fathom.options.line import run_line
from fathom.suites.build import Built, build
from fathom.suites.build.gold import GoldChecks
from fathom.suites.registry import get_task
from fathom.suites.suitefile import open_suite
from fathom.types import Candidate, CandidatePool, Document, FathomError, Question, Sample, Span

FILLING = " ".join(f"Nothing of note was said in minute {n} about carts and geese." for n in range(60))
TOLD = "The brewery burned down in 1834. The owner Dorothea Quill rebuilt it from bricks."
SUMMARY = {"kind": "summary"}


def document(text: str, *questions: Question, **known: Any) -> Document:
    return Document(document_id(text), text, f"made:{text[:8]}", questions=questions, **known)


def checked(task: str, *candidates: Candidate) -> tuple[Sequence[Candidate], GoldChecks]:
    checks = GoldChecks()
    pool = checks.check(get_task(task), CandidatePool((), candidates))
    assert pool.candidates is not None
    return pool.candidates, checks


def candidate(made: Document, part: str = "") -> Candidate:
    start = made.text.index(part)
    return Candidate(made, (Span(made.id, start, start + len(part or made.text)),), made.questions)


def faults(checks: GoldChecks) -> list[Any]:
    return [one["fault"] for one in checks.questions]  # type: ignore[call-overload, index]


def test_questions_whose_answer_is_not_there_are_left_out_and_named() -> None:
    made = document(
        f"{FILLING} {TOLD}",
        Question("Who rebuilt it?", ("Dorothea Quill",)),
        Question("Which language is it in?", ("English",)),
        Question("Is it there?", ("Yes",)),
    )
    (kept,), checks = checked("single_doc_qa", candidate(made))
    assert [question.text for question in kept.questions] == ["Who rebuilt it?", "Is it there?"]
    assert list(kept.facets) == [{"support": 1.0, "coverage": 1.0}, {}]
    assert (checks.checked, checks.unmeasured, checks.faults) == (3, 1, {"absent": 1})
    (named,) = checks.questions
    assert named == {
        "fault": "absent",
        "question": "Which language is it in?",
        "document": made.source,
        "fingerprint": fingerprint("Which language is it in?", ["English"]),
        "support": 1.0,
        "coverage": 0.0,
    }


def test_a_candidate_without_supported_questions_is_left_out() -> None:
    made = document(f"{FILLING} {TOLD}", Question("", ("Dorothea Quill rebuilt the brewery.",), meta=SUMMARY))
    found, checks = checked("single_doc_summary", candidate(made, FILLING))
    assert not found
    assert checks.faults == {"cut": 1}


def test_evidence_of_the_source_keeps_an_answer_in_other_words_but_not_a_summary() -> None:
    told = Question("When?", ("nineteenth century",), ((0, 5),))
    asked = Question("What of it?", ("Zeppelins crossed the lake.",), ((0, 5),), SUMMARY)
    (kept,), checks = checked("single_doc_qa", candidate(document(TOLD, told)))
    assert kept.questions == (told,)
    assert (checks.faults, faults(checks)) == ({}, ["absent (kept: evidence)"])
    found, checks = checked("single_doc_summary", candidate(document(TOLD, asked)))
    assert (list(found), checks.faults) == ([], {"absent": 1})


def test_questions_without_a_unique_answer_are_named_and_stay() -> None:
    first = document(TOLD, Question("Who owned it?", ("Dorothea Quill",)), Question("When?", ("1834",)))
    second = document(
        "Ann owned it in 1834, or Bob.",
        Question("who owned  it?", ("Ann",)),
        Question("When?", ("1834",)),
        Question("And who else?", ("Bob owned",)),
        Question("And who else?", ("1834",)),
    )
    found, checks = checked("single_doc_qa", candidate(first), candidate(second))
    assert [len(one.questions) for one in found] == [2, 4]
    assert checks.shared == ["Who owned it?"]
    assert checks.disagreeing == ["And who else?"]
    notes = list(checks.notes(get_task("single_doc_qa")))
    assert notes[0].startswith('single_doc_qa: 1 question asked of several documents with different answers: "Who')


def test_published_records_are_counted_and_used_unchanged() -> None:
    text = f"{TOLD}\n\nWho flew?"
    record = Document(
        document_id(text),
        text,
        "record:1",
        meta={"answers": ["Zeppelins"]},
        passages=((0, len(TOLD)), (len(TOLD) + 2, len(text))),
    )
    wanted = Candidate(record, (Span(record.id, 0, len(TOLD)),))
    checks = GoldChecks()
    pool = CandidatePool((), (wanted,))
    assert checks.check(get_task("longbench_qasper"), pool) is pool
    assert (checks.checked, checks.faults) == (1, {"absent": 1})
    (named,) = checks.questions
    assert isinstance(named, dict)
    assert (named["question"], named["fingerprint"]) == ("Who flew?", fingerprint("Who flew?", ["Zeppelins"]))
    assert next(checks.notes(get_task("longbench_qasper"))).endswith("kept")


# From here on: whole builds.


def write(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(path)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    """Twelve documents; the answer of one question, and the summary of one, are not in the text."""
    rows = [
        {
            "text": f"The mill of parish {n} burned in {1800 + n}. "
            + " ".join(
                f"In minute {m} nothing was said of carts in parish {n}." for m in range(8 if n in (3, 5) else 80)
            ),
            "questions": [f"When did the mill of parish {n} burn?", f"Who owned the mill of parish {n}?"],
            "answers": [str(1800 + n), "Dorothea Quill" if n == 3 else f"parish {n}"],
            "summary": "Zeppelins crossed seven lakes." if n == 5 else f"The mill of parish {n} burned in {1800 + n}.",
        }
        for n in range(12)
    ]
    return write(tmp_path / "corpus.jsonl", rows)


def made(folder: Path, corpus: str, **options: Any) -> Built:
    tasks = "single_doc_qa,single_doc_summary,multi_doc_summary"
    options = {"corpus": (corpus,), "lengths": (512, 1024), "items": 20, "tokenizer": "words", **options}
    return build(configure(tasks, **options), folder)


def test_a_build_says_what_it_left_out_and_how_much_is_covered(tmp_path: Path, corpus: str) -> None:
    found = made(tmp_path / "suite", corpus, alone=True)
    notes = "\n".join(found.manifest["notes"])
    assert "single_doc_summary: 1 of 12 gold texts left out: the text has less than 25%" in notes
    assert "single_doc_summary: passages have 100% of the words of their gold texts" in notes
    gold = found.manifest["gold"]
    assert gold["single_doc_summary/en"]["faults"] == {"absent": 1}
    assert gold["single_doc_qa/en"]["faults"] == {"absent": 1}
    assert gold["multi_doc_summary/en"]["faults"] == {"absent": 1}
    assert gold["single_doc_summary/en"]["support"] == {"least": 1.0, "median": 1.0}
    samples = list(open_suite(found.folder).samples())
    assert "Zeppelins crossed seven lakes." not in {target for one in samples for target in one.targets}
    assert all({"support", "coverage"} <= set(one.facets) for one in samples)


def test_the_same_items_are_at_every_length(tmp_path: Path, corpus: str) -> None:
    samples = list(open_suite(made(tmp_path / "suite", corpus).folder).samples())

    def asked(length: int) -> set[tuple[str, tuple[str, ...], Any]]:
        return {(one.item, one.targets, one.facets["support"]) for one in samples if one.length == length}

    assert asked(512) == asked(1024)
    assert asked(512)
    assert all(0.99 * one.length <= one.tokens <= one.length for one in samples)


def of_mill(samples: Sequence[Sample], number: int) -> list[Sample]:
    return [one for one in samples if one.asked == f"When did the mill of parish {number} burn?"]


@pytest.mark.slow
def test_a_users_errata_leave_out_a_question_and_make_another_suite(tmp_path: Path, corpus: str) -> None:
    plain = made(tmp_path / "plain", corpus)
    wrong = fingerprint("When did the mill of parish 7 burn?", ["1807"])
    errata = tmp_path / "mine.toml"
    errata.write_text(f'["{wrong}"]\nsource = "mine"\nfault = "wrong"\nreason = "it burned later"\n')
    found = made(tmp_path / "suite", corpus, errata=[str(errata)])
    before, after = ([*open_suite(one.folder).samples()] for one in (plain, found))
    assert of_mill(before, 7)
    assert not of_mill(after, 7)
    assert of_mill(after, 8)
    assert [one["reason"] for one in found.manifest["errata"]] == ["it burned later"]
    assert "errata: 1 faulty questions or summaries of the sources left out (manifest.json)" in found.manifest["notes"]
    assert found.manifest["fingerprint"] != plain.manifest["fingerprint"]
    assert not made(tmp_path / "suite", corpus, errata=[str(errata)]).fresh


def test_a_build_with_a_wrong_errata_file_stops_and_names_it(tmp_path: Path, corpus: str) -> None:
    with pytest.raises(FathomError, match=r"`errata` .*missing\.toml"):
        made(tmp_path / "suite", corpus, errata=[str(tmp_path / "missing.toml")])


@pytest.mark.slow
def test_errata_leave_out_questions_of_tables_and_those_with_the_answers_of_two(tmp_path: Path, corpus: str) -> None:
    """Tables come after the documents; a question that is asked twice is one gold text with both answers."""
    asked = "What was said in minute 7?"
    rows = [{"document": "corpus.jsonl:1", "question": asked, "answer": answer} for answer in ("nothing", "carts")]
    table = write(tmp_path / "questions.jsonl", rows)
    options: dict[str, Any] = {"questions": [table]}
    found = made(tmp_path / "plain", corpus, **options)
    (targets,) = {one.targets for one in open_suite(found.folder).samples() if one.asked == asked}
    assert targets == ("nothing", "carts")
    errata = tmp_path / "mine.toml"
    name = fingerprint(asked, targets)
    errata.write_text(f'["{name}"]\nsource = "mine"\nfault = "ambiguous"\nreason = "several"\n')
    found = made(tmp_path / "suite", corpus, errata=[str(errata)], **options)
    assert asked not in {one.asked for one in open_suite(found.folder).samples()}
    assert "single_doc_qa: 1 question is in the errata (ambiguous); left out" in found.manifest["notes"]
    named = [one for one in found.manifest["gold"]["single_doc_qa/en"]["questions"] if one["question"] == asked]
    assert {one["fault"] for one in named} == {"errata: ambiguous"}


def test_a_build_names_the_first_unread_files_and_its_manifest_all(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "documents"
    folder.mkdir()
    for number in range(9):
        (folder / f"{number}.txt").write_text(f"The keeper of lamp {number} slept. " * 30)
        (folder / f"a rather long name of a file {number}.doc").write_text("binary")
    suite = tmp_path / "suite"
    line = ["passkey", "--corpus", str(folder), "--lengths", "256", "--out", str(suite), "--allow-unread"]
    with suppress(SystemExit):
        run_line(command, ["build", *line])
    (note,) = [line for line in capsys.readouterr().err.splitlines() if ".doc" in line]
    first = ", ".join(f"a rather long name of a file {number}.doc" for number in range(3))
    assert note.endswith(f": 9 files not read (save it as .docx or .pdf): {first} and 6 more (manifest.json)")
    (of_corpus,) = open_suite(suite).manifest["files_of_corpus"]
    assert len(of_corpus["not_read"]) == 9


def test_a_build_names_the_first_unread_files_of_its_data_and_its_manifest_all(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    rows = [
        {
            "input": " ".join(f"In minute {minute} the mill of parish {n} burned." for minute in range(30)),
            "outputs": [f"The mill of parish {n} burned."],
            "instructions": ["Summarise it."],
        }
        for n in range(9)
    ]
    write(tmp_path / "data" / "gov_report_summ.jsonl", rows)
    for number in range(5):
        write(tmp_path / "data" / f"other{number}.jsonl", [{"x": 1}])
    options: dict[str, Any] = {"data": [str(tmp_path / "data")], "lengths": (512,), "tokenizer": "words", "items": 2}
    found = build(configure("single_doc_summary", **options), tmp_path / "suite")
    (note,) = found.manifest["unread"]
    assert note == (
        "--data: 5 files not read (no requested data set has such a name): "
        "data/other0.jsonl, data/other1.jsonl, data/other2.jsonl and 2 more (manifest.json)"
    )
    left = found.manifest["files_of_data"]["not_read"]
    assert [one["file"] for one in left] == [f"data/other{number}.jsonl" for number in range(5)]
