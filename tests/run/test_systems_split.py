"""Prompts of all suites are split where their question is: nothing of the text in it, nothing of it in the text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from fathom import api
from fathom.run.systems import SplitPrompt, split_prompt
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.tokens.length import render, thinking
from fathom.types import Sample
from made_books import write_books
from made_infinitebench import build_leader, write_infinite
from made_records import build_records, write_records
from made_records_pro import write_pro
from made_records_v2 import write_v2
from made_shots import write_shots
from made_threads import write_threads

Split = list[tuple[Sample, SplitPrompt]]
NOT_SPLIT = ("longbench_trec", "longbench_lcc")
"""Tasks whose finished prompts at MiniLongBench have no empty line before the question."""


def splits(suite: BuiltSuite, *, thoughts: bool = False) -> Split:
    """The samples of a suite with their prompts in three parts, which are checked for what holds for all."""
    texts = suite.texts()
    found = []
    for sample in suite.samples():
        asked = thinking(sample) if thoughts else sample
        split = split_prompt(asked, texts)
        whole = render(asked, texts)
        assert split.whole == whole, sample.id
        assert split.after.strip(), sample.id
        if not sample.length:
            assert split == SplitPrompt("", (), whole)
        elif sample.task not in NOT_SPLIT:
            assert split.units, sample.id
            assert sum(len(unit.text) for unit in split.units) > len(whole) / 2 or len(whole) < 3_000, sample.id
        found.append((sample, split))
    return found


def of(found: Split, task: str) -> Split:
    chosen = [(sample, split) for sample, split in found if sample.task == task and sample.length]
    assert chosen
    return chosen


def texts_of(split: SplitPrompt) -> str:
    return "".join(unit.text for unit in split.units)


@pytest.mark.slow
@pytest.mark.parametrize("target", ["starter", "hundred"])
def test_generated_suites(tmp_path: Path, target: str) -> None:
    api.build(target, tmp_path, corpus=["world"], lengths="2k", items=2, languages=["en", "zh"], closed_book=True)
    found = splits(open_suite(tmp_path))
    for sample, split in of(found, "single_doc_qa"):
        assert sample.asked in split.after
        assert all(unit.heading.strip() for unit in split.units)
    for _, split in of(found, "passage_retrieval"):
        assert "\n\nHere is the summary:" in split.after or "摘要如下" in split.after
    assert any(not sample.length for sample, _ in found)


@pytest.mark.slow
def test_sentences_hidden_at_either_end_are_text(tmp_path: Path) -> None:
    api.build(
        "passkey,kv_retrieval,counting_stars", tmp_path, lengths="1k", items=3, depths="front,middle,end", seed=2,
        languages=["en", "zh"],
    )  # fmt: skip
    found = splits(open_suite(tmp_path))
    ends = 0
    for sample, split in of(found, "passkey"):
        (key,) = sample.targets
        assert key in texts_of(split)
        assert key not in split.before + split.after
        assert all(not unit.heading for unit in split.units)
        ends += texts_of(split).strip().startswith(("The passkey", "口令")) or key in texts_of(split)[-60:]
    assert ends > 2
    for sample, split in of(found, "kv_retrieval"):
        assert sample.targets[0] in texts_of(split)
    for _, split in of(found, "counting_stars"):
        assert split.after.count("(5)") == 1


@pytest.mark.slow
def test_the_question_of_best_answer_stays_before_its_answers(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    api.build(
        "ada", suite, books=[str(write_books(tmp_path / "books", 3))],
        threads=[str(write_threads(tmp_path, 12))], lengths="2k", items=2, tokenizer="words",
    )  # fmt: skip
    found = splits(open_suite(suite))
    for sample, split in of(found, "bestanswer"):
        assert sample.asked in split.before
        assert sample.asked in split.query
        assert split.units[0].heading.strip() in ("A1:", "A1：")
    for _, split in of(found, "tsort"):
        assert split.units[0].heading in ("Before:\n", "前文：\n")


@pytest.mark.slow
def test_suites_of_records(tmp_path: Path) -> None:
    def built(target: str, *data: Path) -> Split:
        return splits(build_records(target, tmp_path, data, items=2))

    for sample, split in built("longbench", write_records(tmp_path / "records")):
        assert sample.asked.strip() in split.after
    for _, split in built("longbench_v2", write_v2(tmp_path / "v2")):
        assert split.after.count("\n(D) ") == 1
    pro = build_records("pro", tmp_path, [write_pro(tmp_path / "pro")], items=2)
    for thoughts in (False, True):
        for _, split in splits(pro, thoughts=thoughts):
            assert "asks of volume" in split.after or "的要求处理" in split.after


def leader(tmp_path: Path, tasks: Sequence[str]) -> Split:
    data = [write_infinite(tmp_path / "infinite"), write_shots(tmp_path / "shots"), write_records(tmp_path / "records")]
    return splits(build_leader(tasks, tmp_path, data, lengths=(2000,), items=4))


@pytest.mark.slow
def test_long_leader(tmp_path: Path) -> None:
    asked = {
        "leader_dialogre": "Now do the same for one more dialogue",
        "leader_fewnerd": "Now do the same for one more sentence",
        "leader_en_mc": "\nD. ",
        "leader_code_debug": "One of these four functions",
    }
    found = leader(tmp_path, list(asked))
    for task, words in asked.items():
        for _, split in of(found, task):
            assert words in split.after
            assert words not in texts_of(split)


def test_a_finished_prompt_ends_with_its_question() -> None:
    def split(text: str) -> SplitPrompt:
        return split_prompt(Sample("i@1k", "i", "t", (text,), ("x",), 1024, 9), {})

    found = split("Read it.\n\nOne.\n\nTwo.\n\nQuestion: who?\n\nAnswer:")
    assert (found.before, texts_of(found), found.after) == (
        "Read it.\n\n",
        "One.\n\nTwo.",
        "\n\nQuestion: who?\n\nAnswer:",
    )
    found = split("Sum it up.\nMinutes:\n" + "We met. " * 2_000 + "\n\nSummary:")
    assert (found.before, found.after) == ("Sum it up.\n", "\n\nSummary:")
    found = split("Which?\n\nP 1.\n\nAn abstract of it.\n\nSay which paragraph the abstract is from.\n\nThe answer is:")
    assert found.after.startswith("\n\nAn abstract")
    assert not split("What is it?").units


@pytest.mark.slow
def test_finished_prompts_of_mini_long_bench(shared: Path, tmp_path: Path) -> None:
    api.build("mini", tmp_path / "mini", data=[str(shared / "data" / "minilongbench")], items=2)
    for sample, split in splits(open_suite(tmp_path / "mini")):
        if sample.task not in NOT_SPLIT:
            assert split.before, sample.id
            assert len(split.after) < 8_000
