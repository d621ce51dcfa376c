from __future__ import annotations

import json
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile

import polars
import pytest

from command_line import Call
from engine_calls import configure
from fathom import api
from fathom.benchmarks.aa_lcr import records as aa_lcr
from fathom.benchmarks.aa_lcr.tasks import verdict_steps, verdict_value
from fathom.benchmarks.longproc.records import read_numbers, read_page
from fathom.benchmarks.mrcr.records import read_record
from fathom.benchmarks.nolima.records import read_needles
from fathom.benchmarks.oolong.records import read_synth
from fathom.benchmarks.ruler.v2_records import read_record as read_ruler2
from fathom.benchmarks.ruler.v2_scoring import LETTER, METRIC_OF
from fathom.documents.corpus.records import BadRowError
from fathom.score.judge import Case
from fathom.score.registry import get_scorer, row_of
from fathom.suites.build import build
from fathom.suites.registry import get_suite, tasks
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import FathomError
from made import make_document
from made_frontier import ruler2_record, write_frontier

# Suites with published records, and how many samples four records of each of their data sets make.
JUDGED = ("aa_lcr", "corpusqa")
SUITES = {
    "mrcr": 16,
    "graphwalks": 8,
    "babilong": 80,
    "aa_lcr": 4,
    "longproc": 48,
    "oolong": 8,
    "loft": 112,
    "corpusqa": 4,
    "nolima": 40,
    "ruler2": 48,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_records_in_the_published_form_load_build_run_and_report(tmp_path: Path, name: str) -> None:
    data = write_frontier(tmp_path / "data")
    names = [task for task in get_suite(name).tasks if "published" in task or task in JUDGED]
    suite = build(configure(",".join(names), data=[str(data)], lengths=(1024, 2048)), tmp_path / "suite").folder
    assert len(list(open_suite(suite).samples())) == SUITES[name]
    api.run(suite, "fathom/guess", out=tmp_path / "run")
    rows = api.rows(tmp_path / "run")
    assert len(rows) == SUITES[name]
    if name not in JUDGED:
        assert api.rows(tmp_path / "run", rule="official")["value"].null_count() == 0
    api.report(tmp_path / "run", out=tmp_path / "report.html")
    assert (tmp_path / "report.html").is_file()


def test_the_cap_of_a_reply_is_that_of_the_size_in_the_name_of_its_file() -> None:
    caps = {name: task.max_output_tokens for name, task in tasks().items() if "longproc_published_path" in name}
    assert list(caps.values()) == [1024, 3072, 10240]
    record = {"nums": [1, 2, 3, 4], "target": 10, "solution_text": "1 + 2 = 3"}
    for file, size in (("countdown_0.5k.json", "0.5k"), ("countdown_2k.jsonl", "2k"), ("mine.json", "8k")):
        made = read_numbers({**record, "file": f"somewhere/{file}"}, "here")
        assert made.meta["dataset"] == f"longproc_countdown_{size}"


def test_a_needle_of_nolima_is_asked_with_the_instructions_of_its_record_in_its_books(tmp_path: Path) -> None:
    data = write_frontier(tmp_path / "data")
    wanted = configure("nolima_published_twohop", data=[str(data)], lengths=(1024, 2048), depths=(0.5,))
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    short, long = (render(sample, suite.texts()) for sample in islice(suite.samples(), 2))
    name = next(suite.samples()).targets[0]
    for prompt in (short, long):
        assert prompt.startswith("You help.\n\nA snippet of a book:\n\n")
        assert f"That year, {name} lived beside mill 0." in prompt
        assert prompt.endswith("End of it. Question: Who has been to land 0 by way of town 0?\nOne name.")
    clusters = {sample.facets["cluster"] for sample in suite.samples() if "cluster" in sample.facets}
    assert len(clusters) in (0, 4)
    assert any("needle_set_w_Distractor.json: 4 rows skipped" in problem for problem in suite.manifest["left_out"])


def nolima_record(**change: object) -> dict[str, object]:
    """A record of NoLiMa."""
    record = {
        "id": "0401",
        "needle": "{CHAR} lives by {1}.",
        "task_template": "{haystack} {question}",
        "questions": {"onehop": "Who knows {1}?"},
        "tests": {"T1": {"input_args": ["a mill"]}},
        "character_set": ["Ulla"],
        "file": "needle_set.json",
    }
    return record | change


@pytest.mark.parametrize(
    "change",
    [
        {"task_template": "{question} {haystack}"},
        {"needle": "Ulla lives by {1}."},
        {"tests": {}},
        {"tests": {"T1": {}}},
        {"character_set": []},
        {"questions": ["Who?"]},
        {"file": "needle_set_MC.json"},
    ],
)
def test_a_faulty_record_of_nolima_is_a_bad_row(change: dict[str, object]) -> None:
    with pytest.raises(BadRowError):
        read_needles(nolima_record(**change), "here")


def test_a_gap_that_nothing_fills_is_named_with_its_record(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "nolima"
    folder.mkdir(parents=True)
    (folder / "needle_set.json").write_text(json.dumps([nolima_record(questions={"onehop": "Who knows {2}?"})]))
    wanted = configure("nolima_published_onehop", data=[str(folder.parent)], lengths=(1024,))
    with pytest.raises(
        FathomError, match=r"needle_set\.json:1: test 'T1', onehop: nothing of 'input_args' is for \{2\}"
    ):
        build(wanted, tmp_path / "suite")
    (folder / "needle_set.json").write_text(json.dumps([nolima_record()]))
    with pytest.raises(FathomError, match=r"rand_book_\*\.txt"):
        build(wanted, tmp_path / "suite")


def test_a_character_in_a_question_of_nolima_is_the_one_that_is_the_gold_reply(tmp_path: Path) -> None:
    """As in the released code, which replaces it in both, and uses gold answers for needles without one alone."""
    folder = tmp_path / "data" / "nolima"
    folder.mkdir(parents=True)
    tests = {"T1": {"input_args": ["a mill"], "gold_answers": ["nobody"]}}
    record = nolima_record(character_set=["Ulla", "Bram"], questions={"onehop": "Is {CHAR} by {1}?"}, tests=tests)
    (folder / "needle_set.json").write_text(json.dumps([record]))
    (folder / "rand_book_1.txt").write_text("\n".join(make_document(line, sentences=8).text for line in range(40)))
    wanted = configure("nolima_published_onehop", data=[str(folder.parent)], lengths=(1024,), depths=(0.5,))
    suite = open_suite(build(wanted, tmp_path / "suite").folder)
    (sample,) = suite.samples()
    (name,) = sample.targets
    assert name in ("Ulla", "Bram")
    assert f"{name} lives by a mill." in (prompt := render(sample, suite.texts()))
    assert prompt.endswith(f"Is {name} by a mill?")


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


def test_records_that_cannot_be_used_are_named_by_file_and_row_with_what_to_do(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"input": f"Text {number}.", "question": "Where?", "target": "kitchen"} for number in range(3)]
    path = tmp_path / "data" / "babilong" / "qa2" / "0k.json"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps([*rows, rows[0], {**rows[0], "target": None}]))
    words = ["--data", tmp_path / "data", "--lengths", "1k", "--items", "4"]
    code, _, errors = call("build", "babilong_published_qa2", *words, "--out", tmp_path / "suite")
    assert code == 0
    assert "0k.json:5: the field 'target' is missing; expected a text" in errors
    assert "0k.json: 1 row skipped: equal to an earlier one, which is used once" in errors
    assert "to use what is left out, correct it or download it again" in errors
    path.write_text(json.dumps([{**rows[0], "target": ""}]))
    run = ["run", "babilong", "--model", "fathom/guess", "--out", tmp_path / "run", "--yes"]
    code, _, errors = call(*run, *words)
    assert code == 2
    assert "no usable record of babilong; correct what is named here, or download it again" in errors
    assert "0k.json:1: the field 'target' is empty" in errors.partition("no usable record")[2]


def test_chance_of_published_oolong_is_one_of_its_possible_answers(tmp_path: Path) -> None:
    data = write_frontier(tmp_path / "data")
    wanted = configure("oolong_published_synth", data=[str(data)], lengths=(1024,))
    samples = list(open_suite(build(wanted, tmp_path / "suite").folder).samples())
    chances = {sample.targets[0]: sample.chance for sample in samples}
    assert chances["Answer: spam"] == 1 / 2
    assert chances["Answer: less common than"] == 1 / 3
    assert chances["Answer: 3"] == 0


def graphwalks_build(folder: Path, *answers: str) -> BuiltSuite:
    """A suite of two records of one file with other records of a second one, which have the same prompts."""
    for number, answer in enumerate(answers):
        rows = [{"prompt": f"a -> {a}", "problem_type": "bfs", "answer_nodes": [a + answer]} for a in "bc"]
        path = folder / "graphwalks" / f"part-{number}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        polars.DataFrame(rows).write_parquet(path)
    return open_suite(
        build(configure("graphwalks_published_bfs", data=[str(folder)], lengths=(1024,)), folder / "s").folder
    )


def test_equal_records_are_used_once_and_counted(tmp_path: Path) -> None:
    suite = graphwalks_build(tmp_path, "", "", "")
    assert len(list(suite.samples())) == 2
    noted = "4 records are equal to an earlier one and used once, as graphwalks/part-1.parquet:1"
    assert f"graphwalks_published_bfs: {noted}" in suite.manifest["notes"]


def test_records_with_one_prompt_and_two_answers_are_named_with_what_to_do(tmp_path: Path) -> None:
    named = r"graphwalks/part-0\.parquet:1 and graphwalks/part-1\.parquet:1: different records of graphwalks_bfs with"
    with pytest.raises(FathomError, match=named + ".*; remove the wrong one, or name one copy"):
        graphwalks_build(tmp_path, "", "x")


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


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"task": "niah_single_1"}, "keep the folders that the generator made"),
        ({"task": None}, "keep the folders that the generator made"),
        ({"question": " "}, "question"),
        ({"expected_answer": []}, "expected_answer"),
        ({"expected_answer": [" "]}, "expected_answer"),
        ({"expected_answer": 5}, "expected a text or a list of texts"),
        ({"expected_answer": [5]}, "expected a text or a list of texts"),
        ({"task": "mk_niah_hard", "expected_answer": "E"}, "a letter from A to D"),
        ({"task": "mk_niah_hard", "expected_answer": ["A", "B"]}, "a letter from A to D"),
    ],
)
def test_a_faulty_record_of_rulerv2_is_a_bad_row(change: dict[str, object], why: str) -> None:
    with pytest.raises(BadRowError, match=why):
        read_ruler2({**ruler2_record("qa_hard", METRIC_OF["qa_hard"], 0), **change}, "here")


def test_a_folder_of_the_generator_says_which_task_of_rulerv2_its_records_are(tmp_path: Path) -> None:
    for task in ("mk_niah_medium", "qa_easy"):
        path = tmp_path / "data" / "ruler2" / "my_model_16384" / task / "test.jsonl"
        path.parent.mkdir(parents=True)
        records = [ruler2_record(task, METRIC_OF[task], number) for number in range(3)]
        kept = ("index", "question", "expected_answer", "length")
        path.write_text("".join(json.dumps({name: record[name] for name in kept}) + "\n" for record in records))
    names = "ruler2_published_mk_niah_medium,ruler2_published_qa_easy"
    suite = open_suite(
        build(configure(names, data=[str(tmp_path / "data")], lengths=(1024,)), tmp_path / "suite").folder
    )
    samples = list(suite.samples())
    assert len(samples) == 6
    for sample in samples:
        letters = METRIC_OF[sample.task.removeprefix("ruler2_published_")] == LETTER
        assert sample.chance == (0.25 if letters else 0)
        assert len(sample.targets) == (1 if letters else 2)
        metric = tasks()[sample.task].official
        for rule in ("official", "strict"):
            assert get_scorer(metric, rule)(row_of(sample.targets[0], sample)).value == 1
