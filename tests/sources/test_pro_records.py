"""Records of LongBench Pro: what is kept of them, what is refused, where they are found, and that a build is strict."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure
from fathom.benchmarks.pro.records import FIELDS, NAME, SOURCES, read_record
from fathom.benchmarks.pro.secondary_tasks import BY_NAME, LANGUAGES, PRIMARY, SECONDARY
from fathom.documents.corpus.records import BadRowError
from fathom.documents.sources import Found, read_sources
from fathom.suites.build import build
from fathom.types import FathomError
from fathom.types.common import as_flags
from made_records_pro import make_all, make_pro, write_pro

CHINESE = 25  # the first record in Chinese


def found_in(place: Path, *, skip_bad: bool = False) -> Found:
    return read_sources([NAME], [place], skip_bad=skip_bad)


def ids(found: Found) -> list[object]:
    return [document.meta["id"] for document in found.documents.get(NAME, ())]


def refused(place: Path) -> str:
    with pytest.raises(FathomError) as caught:
        found_in(place)
    return str(caught.value)


# ------------------------------------------------------------------------------------------------------- records


def test_a_record_keeps_its_text_and_all_that_is_said_of_it() -> None:
    row = make_pro(CHINESE, length="64k")
    record = read_record(row, "here")
    assert (record.text, record.language, record.source) == (row["context"], "zh", "here")
    assert record.meta == {"dataset": NAME, **{name: value for name, value in row.items() if name != "context"}}


def test_made_records_are_all_tasks_in_both_languages() -> None:
    rows = make_all(100)
    assert len({(row["secondary_task"], row["language"], row["token_length"]) for row in rows}) == 100
    assert {row["primary_task"] for row in rows} == set(PRIMARY)
    for row in rows:
        assert read_record(row, "here").language == LANGUAGES[row["language"]]


def test_tasks_are_those_of_the_paper_and_belong_where_they_say() -> None:
    assert len(SECONDARY) == len(BY_NAME) == 25
    assert all(task.primary.split(".")[0] == task.code.split(".")[0] for task in SECONDARY)
    # 840 of 1,500 questions need the whole context: 60 of each of 14 tasks.
    assert sum(task.requirement == "Full" for task in SECONDARY) == 14


BLANK = st.text("ab \t\n\r\x0b\x0c\x1c\x85\u00a0\u2003\u3000\ufeff\0", max_size=8)


@given(BLANK, BLANK, BLANK, BLANK)
def test_blanks_go_where_a_stripped_prompt_has_none(before: str, after: str, start: str, end: str) -> None:
    row = make_pro(0)
    row["context"] = f"{before}one {after}"
    row["question_nonthinking"] = f"{start}what{end}"
    record = read_record(row, "here")
    assert record.text == row["context"].lstrip()
    assert record.meta["question_nonthinking"] == row["question_nonthinking"].rstrip()


def test_a_difficulty_may_be_missing_or_null() -> None:
    row = make_pro(0)
    unknown = read_record({**row, "difficulty": None}, "here")
    del row["difficulty"]
    assert read_record(row, "here") == unknown
    assert "difficulty" not in unknown.meta


def test_nul_characters_stay_and_whole_numbers_are_ids() -> None:
    record = read_record(make_pro(0, context="one\0two", id=17), "here")
    assert (record.text, record.meta["id"]) == ("one\0two", "17")


def test_any_change_makes_another_document() -> None:
    row = make_pro(0)
    others = [{**row, "question_thinking": "Why?"}, {**row, "answer": ["x"]}, {**row, "context": "One."}]
    assert len({read_record(one, "here").id for one in (row, *others, dict(row))}) == 4


BAD: list[tuple[dict[str, object], str]] = [
    ({"context": " \n"}, "'context' is empty; expected a text"),
    ({"context": None}, "'context' is missing; expected a text"),
    ({"question_thinking": 3}, "'question_thinking' is 3; expected a text"),
    ({"question_nonthinking": ["a"]}, "'question_nonthinking' holds a value of type list"),
    ({"context": "a\ud800b"}, "'context' has a lone surrogate at position 2"),
    ({"answer": ["\ud800"]}, "'answer' has a lone surrogate"),
    ({"answer": "B"}, "'answer' holds a value of type str; expected a list of texts"),
    ({"answer": None}, "'answer' is missing; expected a list"),
    ({"answer": []}, "'answer' is an empty list"),
    ({"answer": [1]}, "entry 1 of the field 'answer' is 1"),
    ({"answer": ["x", None]}, "entry 2 of the field 'answer' is missing"),
    ({"answer": ["x", " "]}, "entry 2 of the field 'answer' is empty"),
    ({"answer": {"a": 1}}, "'answer' holds a value of type dict"),
    ({"language": "en"}, "'language' is 'en'; expected one of English, Chinese"),
    ({"token_length": 8192}, "'token_length' is 8192; expected one of 8k, 16k, 32k, 64k, 128k, 256k"),
    ({"token_length": "4k"}, "'token_length' is '4k'"),
    ({"secondary_task": "T1.1"}, "'secondary_task' is 'T1.1'; expected one of 25 names"),
    ({"secondary_task": "x" * 900}, f"is '{'x' * 40}...'"),
    ({"primary_task": "T1"}, "'primary_task' is 'T1'; expected one of 11 names"),
    ({"primary_task": PRIMARY[1]}, f"expected {PRIMARY[0]!r}, to which 'T1.1 Global Cohesive Retrieval' belongs"),
    ({"contextual_requirement": "full"}, "'contextual_requirement' is 'full'; expected one of Full, Partial"),
    ({"difficulty": "hard"}, "'difficulty' is 'hard'; expected one of Easy, Moderate, Hard, Extreme"),
    ({"difficulty": ""}, "'difficulty' is empty"),
    ({"id": None}, "'id' is missing"),
    ({"id": True}, "'id' is True"),
    ({"id": 1.5}, "'id' is 1.5"),
    ({"language": "Chinese"}, "'language' is 'Chinese'; expected 'English'"),
    (
        {"context": "文字文字 abc"},
        "'language' is 'English'; expected 'Chinese' for a context with 4 Chinese characters",
    ),
]


@pytest.mark.parametrize(("change", "message"), BAD, ids=[message[:30] for _, message in BAD])
def test_records_that_cannot_be_asked_are_told(change: Mapping[str, object], message: str) -> None:
    with pytest.raises(BadRowError) as caught:
        read_record({**make_pro(0), **change}, "here")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["a/b", "../x", "a b", "a\nb", "a@none", "ü", "x" * 129, "", ".hidden", "-x"])
def test_an_id_that_no_command_could_take_is_refused_here(name: str) -> None:
    with pytest.raises(BadRowError, match=r"the field 'id' is .*expected 1 to 128 letters"):
        read_record(make_pro(0, id=name), "here")


@pytest.mark.parametrize("name", ["f" * 64, "550e8400-e29b-41d4-a716-446655440000", "T1.1_en-003", "0"])
def test_ids_that_are_hashes_or_numbers_are_taken(name: str) -> None:
    assert read_record(make_pro(0, id=name), "here").meta["id"] == name


@given(st.dictionaries(st.sampled_from(sorted(FIELDS)), st.none() | st.integers() | st.text() | st.lists(st.text())))
def test_whatever_a_field_holds_a_record_is_read_or_refused(change: dict[str, object]) -> None:
    with suppress(BadRowError):
        record = read_record({**make_pro(0), **change}, "here")
        assert record.text.encode()
        assert json.dumps(dict(record.meta), ensure_ascii=False).encode()


# ------------------------------------------------------------------------------------------------------ finding


@pytest.mark.parametrize(
    "name",
    ["longbench_pro.json", "LongBench-Pro.jsonl", "my bench.json", "data.jsonl", "x/y/test-00000-of-00001.parquet"],
)
def test_files_of_any_name_are_found_under_a_folder_and_by_themselves(tmp_path: Path, name: str) -> None:
    path = tmp_path / "data" / name
    write_pro(path.parent, 50, name=path.name)
    (tmp_path / "data" / "notes.json").write_text('[{"a": 1}]')
    (tmp_path / "data" / "broken.json").write_text("{")
    (tmp_path / "data" / "empty.jsonl").touch()
    for place in (tmp_path, path):
        found = found_in(place)
        assert sorted(map(str, ids(found))) == [f"pro-{number:05d}" for number in range(50)]
        assert not found.problems
        assert not found.bad


def test_a_compressed_copy_is_found(tmp_path: Path) -> None:
    (tmp_path / "own.json.gz").write_bytes(gzip.compress(json.dumps(make_all(3)).encode()))
    assert len(ids(found_in(tmp_path))) == 3


def test_a_file_of_the_source_s_own_name_comes_before_all_others(tmp_path: Path) -> None:
    write_pro(tmp_path, 2)
    write_pro(tmp_path, rows=[make_pro(7)], name="aaa.json")
    assert ids(found_in(tmp_path)) == ["pro-00000", "pro-00001"]


def test_parts_of_any_name_are_one_benchmark(tmp_path: Path) -> None:
    write_pro(tmp_path, rows=make_all(3), name="part1.jsonl")
    write_pro(tmp_path, rows=make_all(5)[3:], name="part2.json")
    assert len(ids(found_in(tmp_path))) == 5


def test_what_was_passed_over_is_said_where_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine.json").write_text('[{"question": 1, "text": 2}]')
    (problem,) = found_in(tmp_path).problems
    assert problem.startswith(f"longbench_pro was not found: {tmp_path / 'mine.json'}: expected the fields answer, ")
    assert problem.endswith("(LongBench Pro), found question, text")


@pytest.mark.parametrize("text", ["", "[]", "not json", '["a", "b"]', '"a"', "[1", "\0"])
def test_files_that_hold_no_records_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.json").write_text(text)
    (problem,) = found_in(tmp_path).problems
    assert f"{tmp_path / 'mine.json'}" in problem
    (tmp_path / "mine.json").rename(tmp_path / "longbench_pro.json")
    assert f"{tmp_path / 'longbench_pro.json'}" in refused(tmp_path)


# ---------------------------------------------------------------------------------------------------- strictness


def test_bad_rows_stop_the_reading_and_the_error_names_them(tmp_path: Path) -> None:
    rows = make_all(6)
    rows[1]["answer"], rows[4]["language"] = "B", "French"
    message = refused(path := write_pro(tmp_path, rows=rows) / "longbench_pro.json")
    assert message.startswith("longbench_pro: 2 rows or files cannot be used:\n")
    assert f"\n  {path}:2: the field 'answer' holds a value of type str; expected a list" in message
    assert f"\n  {path}:5: the field 'language' is 'French'; expected one of English, Chinese" in message
    assert message.endswith("`skip_bad`")


def test_without_bad_rows_the_good_ones_are_read_and_the_bad_ones_told(tmp_path: Path) -> None:
    rows = make_all(6)
    rows[0] = {"quite": "different"}
    rows[3]["id"] = "a b"
    found = found_in(write_pro(tmp_path, rows=rows), skip_bad=True)
    assert ids(found) == [f"pro-{number:05d}" for number in (1, 2, 4, 5)]
    assert not found.problems
    assert [(problem.path, problem.line) for problem in found.bad[NAME]] == [
        (str(tmp_path / "longbench_pro.json"), row) for row in (1, 4)
    ]


def spoiled(change: Callable[[int], Mapping[str, object]], count: int = 300) -> list[dict[str, Any]]:
    return [{**make_pro(number, sentences=1), **change(number)} for number in range(count)]


def test_equal_problems_of_many_rows_are_one_line(tmp_path: Path) -> None:
    message = refused(write_pro(tmp_path, rows=spoiled(lambda number: {"answer": None})))
    assert "longbench_pro: 300 rows or files cannot be used" in message
    assert "rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 290 more: the field 'answer' is missing" in message
    assert message.count("\n") == 2


def test_many_different_problems_are_counted_beyond_ten(tmp_path: Path) -> None:
    message = refused(write_pro(tmp_path, rows=spoiled(lambda number: {"language": f"{number} " * 400})))
    assert "\n  and 290 more kinds of problem\n" in message
    assert message.count("\n") == 12
    assert len(message.encode()) < 3000


@pytest.mark.parametrize("name", ["own.json", "own.jsonl", "own.parquet"])
def test_a_field_that_no_row_has_is_missing_not_another_shape(tmp_path: Path, name: str) -> None:
    rows = make_all(30)
    for row in rows:
        del row["question_thinking"]
    assert "rows 1, 2, 3" in (message := refused(write_pro(tmp_path, rows=rows, name=name)))
    assert "and 20 more: the field 'question_thinking' is missing" in message


def test_a_cut_file_is_not_taken_in_part(tmp_path: Path) -> None:
    path = write_pro(tmp_path) / "longbench_pro.json"
    path.write_bytes(path.read_bytes()[:-900])
    message = refused(tmp_path)
    whole = len(ids(found_in(tmp_path, skip_bad=True)))
    assert 0 < whole < 50
    assert f"is not valid JSON after row {whole}: " in message


def test_an_id_of_two_records_is_told_with_both_rows_and_the_same_row_twice_is_one(tmp_path: Path) -> None:
    rows = [make_pro(0), make_pro(1), make_pro(0)]
    write_pro(tmp_path, rows=rows)
    assert ids(found_in(tmp_path)) == ["pro-00000", "pro-00001"]
    write_pro(tmp_path, rows=[make_pro(0), make_pro(1), make_pro(CHINESE, id="pro-00000")])
    path = tmp_path / "longbench_pro.json"
    assert f"{path}:3: the id 'pro-00000' is also that of {path}:1, which has different content" in refused(tmp_path)
    assert ids(found_in(tmp_path, skip_bad=True)) == ["pro-00000", "pro-00001"]


def test_a_build_is_strict_unless_it_is_told_otherwise(tmp_path: Path, call: Any) -> None:
    write_pro(tmp_path / "data", rows=[*make_all(25), make_pro(26, answer="x")])
    code, _, error = call("build", "pro", "--data", tmp_path / "data", "--tokenizer", "words", "--out", "suite")
    assert code == 2
    assert "longbench_pro.json:26: the field 'answer' holds a value of type str" in error
    assert "--skip-bad" in error
    code, _, error = call(
        "build", "pro", "--data", tmp_path / "data", "--tokenizer", "words", "--out", "suite", "--skip-bad"
    )
    assert code == 0
    manifest = json.loads((tmp_path / "suite" / "manifest.json").read_text())
    assert manifest["left_out_in_all"] == 1
    assert "longbench_pro.json:26: the field 'answer'" in manifest["left_out"][0]
    assert sum(manifest["samples"].values()) == 25


@pytest.mark.slow
def test_the_manifest_names_every_row_that_was_left_out(tmp_path: Path, call: Any) -> None:
    rows = [{**make_pro(number), **({"answer": "x" * number} if number % 2 else {})} for number in range(260)]
    path = write_pro(tmp_path / "data", rows=rows) / "longbench_pro.json"
    words = ["build", "pro", "--data", tmp_path / "data", "--tokenizer", "words", "--out", "suite"]
    code, _, error = call(*words, "--skip-bad")
    assert code == 0
    manifest = json.loads((tmp_path / "suite" / "manifest.json").read_text())
    assert [problem.split(": ")[0] for problem in manifest["left_out"]] == [f"{path}:{row}" for row in range(2, 261, 2)]
    assert all("the field 'answer' holds a value of type str" in problem for problem in manifest["left_out"])
    assert manifest["left_out_in_all"] == 130
    assert error.count("left out: ") == 11
    assert "left out: 120 more, see manifest.json" in error


def test_data_of_which_nothing_can_be_used_are_not_said_to_be_absent(tmp_path: Path, call: Any) -> None:
    path = write_pro(tmp_path / "data", rows=spoiled(lambda number: {"answer": None}, 30)) / "longbench_pro.json"
    words = ["build", "pro", "--tokenizer", "words", "--out", "suite", "--skip-bad", "--data"]
    code, _, error = call(*words, tmp_path / "data")
    assert code == 2
    assert error.rstrip().endswith(
        "nothing to build: no usable data in longbench_pro: correct it, or download it again\n"
        f"  {path}: rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and 20 more: the field 'answer' is missing; expected a list of "
        "texts: the lines of the correct answer, or the reference summaries"
    )
    path.unlink()
    code, _, error = call(*words, tmp_path / "data")
    assert code == 2
    assert error.rstrip().endswith(
        "nothing to build: missing data sources: longbench_pro (see `fathom data fetch --help`)"
    )


def test_the_same_records_are_the_same_suite_whatever_stood_between_them(tmp_path: Path) -> None:
    write_pro(tmp_path / "good", 25)
    write_pro(tmp_path / "bad", rows=[*make_all(25), make_pro(26, answer="x")], name="other.jsonl")
    prints = [
        build(
            configure("pro", data=[str(tmp_path / name)], tokenizer="words", skip_bad=name == "bad"),
            tmp_path / f"{name}-suite",
        ).manifest["fingerprint"]
        for name in ("good", "bad")
    ]
    assert prints[0] == prints[1]


def test_the_declaration_names_one_file_of_the_hub() -> None:
    (source,) = SOURCES
    assert (source.strict, source.any_name, source.key) == (True, True, "id")
    assert [file.path for file in source.files] == ["longbench_pro.json"]


def test_the_page_shows_a_record_that_is_read_and_names_all_tasks_and_fields() -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "suites" / "pro.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert read_record(json.loads(shown), "here").meta["id"] == "harbour-001"
    table = page.partition("| field | what it holds |")[2].partition("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE)) == {*FIELDS, "difficulty"}
    for heading in PRIMARY:
        tasks = ", ".join(f"`{task.name}`" for task in SECONDARY if task.primary == heading)
        assert f"\n| `{heading}` | {tasks} |\n" in page


def test_the_page_shows_an_error_as_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = (Path(__file__).parents[2] / "docs" / "reference" / "suites" / "pro.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```text\n(.*?)\n```$", page, re.MULTILINE | re.DOTALL)
    rows = make_all(60)
    rows[6]["answer"] = "B"
    for row in rows[11:51]:
        del row["question_thinking"]
    write_pro(tmp_path, rows=rows, name="mine.jsonl")
    monkeypatch.chdir(tmp_path)
    assert as_flags(refused(Path("mine.jsonl"))) == shown
