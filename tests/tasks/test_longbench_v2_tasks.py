"""LongBench v2: records as they are, own and official prompts, second requests, lengths and cuts."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure, run
from fathom.benchmarks.longbench.v2_records import read_record
from fathom.benchmarks.longbench.v2_tasks import ANSWER, IN_TEXT, NOT_READ, READ, THINK, follow_up
from fathom.documents.corpus.records import BadRowError
from fathom.documents.sources import read_sources
from fathom.models.baselines import get_baseline
from fathom.models.baselines.parsing import parse_prompt
from fathom.run import replies
from fathom.score.registry import get_scorer, row_of
from fathom.suites.build import build
from fathom.suites.registry import get_suite, get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render
from fathom.types import FathomError, Sample
from made_records_v2 import CHOICES, make_v2, write_v2, write_v2_templates

TASKS = ("longbench_v2", "longbench_v2_cot")
CHOSEN = re.compile(r"The correct answer is \([ABCD]\)")


def made(target: str, folder: Path, data: Sequence[Path], **choices: Any) -> BuiltSuite:
    given = {"tokenizer": "words", "lengths": (256, 512, 2048), **choices}
    wanted = configure(target, data=[str(path) for path in data], **given)
    return open_suite(build(wanted, folder / f"{target}-suite", force=True).folder)


def prompts_of(suite: BuiltSuite) -> list[tuple[Sample, str]]:
    texts = suite.texts()
    return [(sample, render(sample, texts)) for sample in suite.samples()]


def number_of(sample: Sample) -> int:
    return int(sample.item.rsplit("/", 1)[1][3:], 16)


# ------------------------------------------------------------------------------------------------------- records


def test_a_record_keeps_its_text_and_all_that_is_said_of_it() -> None:
    record = read_record(make_v2(2), "here")
    assert record.text == make_v2(2)["context"].strip()
    assert "\r\n\r\nThe end." in record.text
    assert record.meta == {
        "dataset": "longbench_v2",
        "id": make_v2(2)["_id"],
        "question": "Who keeps volume 2 of {asked} and $COT$?",
        "choices": ["a keeper 2", "b keeper 2", "c keeper 2", "d keeper 2"],
        "answer": "C",
        "difficulty": "easy",
        "domain": "Single-Document QA",
        "sub_domain": "Academic",
        "length": "long",
    }


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"context": " \n"}, "'context' is empty"),
        ({"question": None}, "'question' is missing; expected a text"),
        ({"choice_B": 3}, "'choice_B' is 3; expected a text"),
        ({"answer": "E"}, "'answer' is 'E'; expected one of A, B, C, D"),
        ({"answer": "AB"}, "'answer' is 'AB'"),
    ],
)
def test_records_that_cannot_be_asked_are_told(change: dict[str, object], message: str) -> None:
    with pytest.raises(BadRowError, match=message):
        read_record({**make_v2(0), **change}, "here")


@pytest.mark.parametrize("names", [("data.json",), ("short.jsonl", "medium.jsonl", "long.jsonl")])
def test_the_file_of_the_hub_and_files_by_length_are_found(tmp_path: Path, names: Sequence[str]) -> None:
    for place, name in enumerate(names):
        rows = [make_v2(number) for number in range(9) if number % len(names) == place]
        text = json.dumps(rows) if name.endswith(".json") else "".join(json.dumps(row) + "\n" for row in rows)
        (tmp_path / name).write_text(text)
    found = read_sources(["longbench_v2"], [tmp_path])
    assert {document.meta["id"] for document in found.documents["longbench_v2"]} == {
        make_v2(number)["_id"] for number in range(9)
    }


def test_a_file_called_data_belongs_to_the_folder_that_names_a_source(tmp_path: Path) -> None:
    write_v2(tmp_path / "hotpotqa")
    assert "longbench_v2" not in read_sources(["longbench_v2"], [tmp_path]).documents


def test_equal_contexts_of_two_questions_are_two_items(tmp_path: Path) -> None:
    rows = [make_v2(0), {**make_v2(1), "context": make_v2(0)["context"]}]
    (tmp_path / "data.json").write_text(json.dumps(rows))
    assert len({sample.item for sample, _ in prompts_of(made("longbench_v2", tmp_path, [tmp_path]))}) == 2


# ------------------------------------------------------------------------------------------------------- prompts


def test_own_prompts_hold_the_text_the_question_and_the_choices_whole(tmp_path: Path) -> None:
    suite = made("longbench_v2,longbench_v2_cot", tmp_path, [write_v2(tmp_path / "data")])
    found = prompts_of(suite)
    assert Counter(sample.task for sample, _ in found) == dict.fromkeys(TASKS, 4)
    clusters: dict[str, set[object]] = {}
    for sample, prompt in found:
        record = make_v2(number_of(sample))
        question = record["question"].strip()
        choices = "\n".join(f"({letter}) {record[f'choice_{letter}'].strip()}" for letter in "ABCD")
        assert record["context"].strip() in prompt
        assert sample.asked == f"{question}\n{choices}"
        assert prompt.endswith(
            f"Question: {sample.asked}\n\n{THINK.replace('{what}', IN_TEXT) if 'cot' in sample.task else ANSWER}"
        )
        assert sample.item == f"{sample.task}/en/{record['_id']}"
        assert (sample.targets, sample.chance) == ((record["answer"],), 0.25)
        clusters.setdefault(record["_id"], set()).add(sample.facets["cluster"])  # both tasks ask about one text
        assert {**sample.facets, "cluster": ""} == {
            "cluster": "",
            "prompt": "own",
            "difficulty": record["difficulty"],
            "domain": record["domain"],
            "sub_domain": record["sub_domain"],
            "v2_length": record["length"],
        }
        assert sample.inputs == {"dataset": "longbench_v2", "prompt": "own"}
    assert sorted(map(len, clusters.values())) == [1] * 4
    assert len(set[object]().union(*clusters.values())) == 4


def test_records_stand_once_at_the_smallest_length_that_holds_them(tmp_path: Path) -> None:
    write_v2(tmp_path / "a" / "longbench_v2", 2, name="data.json", sentences=4)
    suite = made("longbench_v2", tmp_path, [tmp_path / "a"])
    for sample, _ in prompts_of(suite):
        assert sample.tokens <= sample.length
        assert sample.length == min(length for length in (256, 512, 2048) if sample.tokens + 16 <= length)
    with pytest.raises(FathomError, match="no such folder"):
        made("longbench_v2", tmp_path, [tmp_path / "nowhere"])


def test_a_prompt_beyond_the_longest_length_loses_its_middle(tmp_path: Path) -> None:
    data = write_v2_templates(write_v2(tmp_path / "data", sentences=300))
    for words in ("own", "official"):
        for sample, prompt in prompts_of(made("longbench_v2", tmp_path, [data], prompts=words)):
            record = make_v2(number_of(sample), 300)
            text, question = record["context"].strip(), record["question"].strip()
            assert sample.length == 2048
            assert 0.99 * 2048 <= sample.tokens <= 2048 < int(sample.facets["whole_tokens"])
            assert question in prompt
            assert text not in prompt
            start = prompt.index(text[:40])
            kept = next(n for n in range(len(text)) if prompt[start + n] != text[n])
            assert "The end." in prompt
            if words == "official":
                # Half of the tokens stand before the cut.
                before = len(prompt[: start + kept].split())
                assert abs(before - len(prompt.split()) / 2) <= 20


def test_official_prompts_are_the_user_s_copy(tmp_path: Path) -> None:
    data = write_v2_templates(write_v2(tmp_path / "data"))
    suite = made("longbench_v2,longbench_v2_cot", tmp_path, [data], prompts="official", closed_book=True)
    for sample, prompt in prompts_of(suite):
        record = make_v2(number_of(sample))
        asked = record["question"].strip() + f" ({'|'.join(record[f'choice_{c}'].strip() for c in 'ABCD')})"
        text = record["context"].strip()
        if sample.length == 0:
            assert (sample.task, prompt) == ("longbench_v2", f"No text. {asked}:")
        elif sample.task == "longbench_v2":
            assert prompt == f"{{Read}}: {text}\n--\n{asked} say $X$:"
        else:
            assert prompt == f"Think: {text}\n--\n{asked}:"
            assert follow_up(" I think $COT$ ", sample) == f"No text. {asked} thought I think $COT$, so:"
    assert Counter((sample.task, sample.length == 0) for sample, _ in prompts_of(suite)) == {
        ("longbench_v2", True): 4,
        ("longbench_v2", False): 4,
        ("longbench_v2_cot", False): 4,
    }
    assert CHOICES.count("|") == 3


@pytest.mark.parametrize(
    ("task", "lost", "message"),
    [
        ("longbench_v2", "0shot.txt", "no 0shot.txt under `data`"),
        ("longbench_v2_cot", "0shot_cot.txt", "no 0shot_cot.txt under `data`"),
        ("longbench_v2_cot", "0shot_cot_ans.txt", "no 0shot_cot_ans.txt under `data`"),
    ],
)
def test_a_template_that_is_not_there_is_named(tmp_path: Path, task: str, lost: str, message: str) -> None:
    data = write_v2_templates(write_v2(tmp_path / "data"))
    (data / "prompts" / lost).unlink()
    with pytest.raises(FathomError, match=message):
        made(task, tmp_path, [data], prompts="official")


@pytest.mark.parametrize("task", TASKS)
def test_closed_book_prompts_ask_without_the_text(tmp_path: Path, task: str) -> None:
    suite = made(task, tmp_path, [write_v2(tmp_path / "data")], closed_book=True)
    closed = [(sample, prompt) for sample, prompt in prompts_of(suite) if not sample.length]
    assert len(closed) == 4
    for sample, prompt in closed:
        assert sample.facets["context"] == "none"
        assert sample.asked in prompt
        assert "The end." not in prompt
        assert follow_up("", sample).startswith(NOT_READ)


# ------------------------------------------------------------------------------------------------ second requests


@pytest.mark.slow
@given(reply=st.text(), question=st.text())
def test_the_second_prompt_holds_question_and_thoughts_and_nothing_is_put_into_them(reply: str, question: str) -> None:
    sample = Sample("i@1", "i", "longbench_v2_cot", (), ("A",), 1, 1, asked=question)
    prompt = follow_up(reply, sample)
    assert prompt.startswith(READ)
    assert f"Question: {question}\n\n" in prompt
    assert f"\n\n{reply.strip()}\n\n" in prompt
    assert prompt.endswith("The correct answer is (X)")


def test_a_run_with_thoughts_asks_twice_and_scores_the_second_reply(tmp_path: Path) -> None:
    suite = made("longbench_v2_cot", tmp_path, [write_v2(tmp_path / "data")])
    run(suite.folder, "fathom/lexical", out=tmp_path / "run")
    for row in replies(tmp_path / "run"):
        sample = suite.sample(row.sample)
        assert row.reply.attempts == 2
        assert not CHOSEN.search(row.reply.reasoning)  # thoughts are asked for first, and then a choice
        assert get_task(row.task).score(row.reply.text, sample).valid


@pytest.mark.parametrize("baseline", ["fathom/guess", "fathom/lexical"])
def test_baselines_take_a_choice_whatever_the_words_of_the_prompt(tmp_path: Path, baseline: str) -> None:
    """Those of the publishers' templates are not ours, and no baseline knows them."""
    data = write_v2_templates(write_v2(tmp_path / "data"))
    suite = made("longbench_v2", tmp_path, [data], prompts="official")
    run(suite.folder, baseline, out=tmp_path / "run")
    found = list(replies(tmp_path / "run"))
    assert found
    assert all(CHOSEN.fullmatch(row.reply.text) for row in found)


# ------------------------------------------------------------------------------------------- baselines and scores


@pytest.mark.parametrize("baseline", ["fathom/guess", "fathom/lexical"])
def test_baselines_take_one_of_the_four(tmp_path: Path, baseline: str) -> None:
    suite = made("longbench_v2", tmp_path, [write_v2(tmp_path / "data")], closed_book=True)
    for sample, prompt in prompts_of(suite):
        asked = parse_prompt(prompt, get_task("longbench_v2").answer)
        assert asked.kind == "choice"
        assert asked.question == make_v2(number_of(sample))["question"].strip()
        assert sorted(asked.options) == [1, 2, 3, 4]
        reply = get_baseline(baseline)(prompt, asked.kind, Random(sample.id))
        for rule in ("strict", "official"):
            assert get_scorer("longbench_v2/mcq", rule)(row_of(reply, sample)).valid


def test_matching_words_finds_the_choice_that_the_text_names(tmp_path: Path) -> None:
    rows = [{**make_v2(number), "question": "Who?"} for number in range(4)]
    for row in rows:
        row |= {f"choice_{c}": f"the keeper {c * 6}" for c in "ABCD"}
        row["context"] += f" Now the keeper {row['answer'] * 6} has it."
    (tmp_path / "data.json").write_text(json.dumps(rows))
    suite = made("longbench_v2", tmp_path, [tmp_path])
    for sample, prompt in prompts_of(suite):
        reply = get_baseline("fathom/lexical")(prompt, "choice", Random(0))
        assert get_task("longbench_v2").score(reply, sample).value == 1


def test_suites_name_the_source_and_all_503_items() -> None:
    for name in TASKS:
        suite = get_suite(name)
        assert (suite.tasks, suite.items, dict(suite.sources)) == ((name,), 503, {"record": ("longbench_v2",)})
    assert [get_task(name).max_output_tokens for name in TASKS] == [128, 1024]


@pytest.mark.slow
def test_the_records_at_hand_are_all_built_whole(tmp_path: Path, shared: Path) -> None:
    suite = made("longbench_v2", tmp_path, [shared / "data" / "longbench" / "v2"], lengths=(16384,), tokenizer="words")
    assert suite.manifest["samples"] == {"longbench_v2": 175}
    texts = suite.texts()
    for sample in suite.samples():
        assert render(sample, texts).endswith(ANSWER)
        assert sample.tokens <= sample.length
