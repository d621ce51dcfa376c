from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import polars
import pytest

from engine_calls import configure
from fathom import api
from fathom.benchmarks.aa_lcr import records as aa_lcr
from fathom.benchmarks.aa_lcr.tasks import verdict_steps, verdict_value
from fathom.benchmarks.longproc.records import read_page
from fathom.benchmarks.mrcr.records import read_record
from fathom.benchmarks.oolong.records import read_synth
from fathom.documents.corpus.records import BadRowError
from fathom.score.judge import Case
from fathom.suites.build import build
from fathom.suites.registry import get_suite
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from made_frontier import write_frontier

# Suites with published records, and how many samples four records of each of their data sets make.
JUDGED = ("aa_lcr", "corpusqa")
SUITES = {"mrcr": 16, "graphwalks": 8, "babilong": 80, "aa_lcr": 4, "longproc": 16, "oolong": 8, "corpusqa": 4}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_records_in_the_published_form_load_build_run_and_report(tmp_path: Path, name: str) -> None:
    data = write_frontier(tmp_path / "data")
    tasks = [task for task in get_suite(name).tasks if "published" in task or task in JUDGED]
    suite = build(configure(",".join(tasks), data=[str(data)], lengths=(1024, 2048)), tmp_path / "suite").folder
    assert len(list(open_suite(suite).samples())) == SUITES[name]
    api.run(suite, "fathom/guess", out=tmp_path / "run")
    rows = api.rows(tmp_path / "run")
    assert len(rows) == SUITES[name]
    if name not in JUDGED:
        assert api.rows(tmp_path / "run", rule="official")["value"].null_count() == 0
    api.report(tmp_path / "run", out=tmp_path / "report.html")
    assert (tmp_path / "report.html").is_file()


def test_a_conversation_keeps_its_messages_in_their_order(tmp_path: Path) -> None:
    data = write_frontier(tmp_path / "data")
    suite = open_suite(
        build(configure("mrcr_published_2", data=[str(data)], lengths=(1024,)), tmp_path / "suite").folder
    )
    sample = next(suite.samples())
    assert render(sample, suite.texts()).startswith("User:\nWrite a verse about tapirs.\n\nAssistant:\nVerse 0")
    assert sample.facets["form"] == "one message"


def test_the_documents_of_a_question_are_found_in_the_archive_beside_the_table(tmp_path: Path) -> None:
    data = write_frontier(tmp_path / "data")
    suite = open_suite(build(configure("aa_lcr", data=[str(data)], lengths=(4096,)), tmp_path / "suite").folder)
    sample = next(suite.samples())
    prompt = render(sample, suite.texts())
    assert prompt.count("On page 0 of volume 0") == 2
    assert sample.targets == ("Keeper 0 of all",)


@pytest.mark.parametrize("prompt", ["5", "null", "[5]", "{}", "[" * 100_000])
def test_a_prompt_that_is_no_list_of_messages_is_a_bad_row(prompt: str) -> None:
    record = {"prompt": prompt, "answer": "ab", "random_string_to_prepend": "a", "n_needles": 2}
    with pytest.raises(BadRowError, match="message"):
        read_record(record, "here")


@pytest.mark.parametrize("answer", ["[]", "spam", "5", "[" * 100_000, "[datetime.date(2024, 2, 31)]"])
def test_an_answer_of_oolong_that_is_no_list_is_a_bad_row(answer: str) -> None:
    with pytest.raises(BadRowError, match="answer"):
        read_synth(oolong_record(answer), "here")


def test_a_faulty_record_of_oolong_is_left_out_and_named(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "oolong-synth"
    folder.mkdir(parents=True)
    rows = [{**oolong_record(answer), "question": f"What? {answer}"} for answer in ("['spam']", "[]", "[3]")]
    polars.DataFrame(rows).write_parquet(folder / "test-00000-of-00001.parquet")
    wanted = configure("oolong_published_synth", data=[str(tmp_path / "data")], lengths=(1024,))
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    assert len(list(suite.samples())) == 2
    assert any("expected the text of a Python list" in problem for problem in suite.manifest["left_out"])


def test_chance_of_published_oolong_is_one_of_its_possible_answers(tmp_path: Path) -> None:
    data = write_frontier(tmp_path / "data")
    wanted = configure("oolong_published_synth", data=[str(data)], lengths=(1024,))
    samples = list(open_suite(build(wanted, tmp_path / "suite").folder).samples())
    chances = {sample.targets[0]: sample.chance for sample in samples}
    assert chances["Answer: spam"] == 1 / 2
    assert chances["Answer: less common than"] == 1 / 3
    assert chances["Answer: 3"] == 0


def oolong_record(answer: str) -> dict[str, object]:
    """A record of oolong-synth."""
    about = {"answer_type": "ANSWER_TYPE.LABEL", "task_group": "counting", "num_labels": 2}
    return {"context_window_text": "Messages.", "question": "What?", "answer": answer, **about}


def _encrypted(data: bytes) -> bytes:
    at = data.index(b"PK\x01\x02") + 8
    return data[:6] + b"\x01" + data[7:at] + b"\x01" + data[at + 1 :]


def _unknown(data: bytes) -> bytes:
    at = data.index(b"PK\x01\x02") + 10
    return data[:8] + b"\x63" + data[9:at] + b"\x63" + data[at + 1 :]


def _damaged(data: bytes) -> bytes:
    at = data.index(b".txt") + 4
    return data[:at] + b"\xff" * 8 + data[at + 8 :]


@pytest.mark.parametrize("spoil", [_encrypted, _unknown, _damaged, lambda data: data[:40]])
def test_an_archive_that_cannot_be_read_is_named_with_what_to_do(
    tmp_path: Path, spoil: Callable[[bytes], bytes]
) -> None:
    archive = tmp_path / aa_lcr.ARCHIVE
    archive.parent.mkdir()
    with ZipFile(archive, "w", ZIP_DEFLATED) as opened:
        opened.writestr("lcr/a/b/c.txt", "A text of some length. " * 50)
    archive.write_bytes(spoil(archive.read_bytes()))
    with pytest.raises(BadRowError, match="next to the CSV"):
        aa_lcr.read_record(_asked(tmp_path), "here")


def test_an_archive_with_too_much_in_it_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aa_lcr, "_TOTAL", 10)
    (tmp_path / aa_lcr.ARCHIVE).parent.mkdir()
    with ZipFile(tmp_path / aa_lcr.ARCHIVE, "w") as opened:
        opened.writestr("lcr/a/b/c.txt", "A text of some length.")
    with pytest.raises(BadRowError, match="more texts"):
        aa_lcr.read_record(_asked(tmp_path), "here")


def _asked(folder: Path) -> dict[str, object]:
    names = {"document_category": "a", "document_set_id": "b", "data_source_filenames": "c.txt", "question_id": 1}
    return {**names, "question": "Who?", "answer": "Ann", "file": str(folder / "AA-LCR_Dataset.csv")}


def test_a_verdict_is_one_request_and_an_empty_reply_needs_none() -> None:
    asking = verdict_steps(Case("Who kept 0?", "Keeper 0", ("Keeper 0 of all",)))
    request = next(asking)
    assert "Keeper 0 of all" in request.prompt
    with pytest.raises(StopIteration) as end:
        asking.send('{"correct": 1}')
    assert [verdict_value(end.value.value, rule) for rule in ("official", "strict")] == [1, 1]
    with pytest.raises(StopIteration) as end:
        next(verdict_steps(Case("Who kept 0?", " ", ("Keeper",))))
    assert verdict_value(end.value.value, "strict") == 0


def test_a_page_outside_the_folder_of_its_table_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "table").mkdir()
    (tmp_path / "page.html").write_text("<p>secret</p>")
    record = {"html_path": "../page.html", "task_topic": "a", "task_description": "b", "gt": "c", "tsv_header": "d"}
    with pytest.raises(BadRowError, match="webpage"):
        read_page({**record, "file": str(tmp_path / "table" / "table.json")}, "here")
