"""LongBench v2: records and templates that cannot be used are named, and what a build leaves out is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine_calls import configure
from fathom.benchmarks.longbench.v2_records import read_record
from fathom.documents.corpus.records import BadRowError
from fathom.suites.build import build
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.types import FathomError
from made_records_v2 import TEMPLATES, make_v2, write_v2, write_v2_templates


def made(target: str, folder: Path, **choices: Any) -> BuiltSuite:
    wanted = configure(target, data=[str(folder / "data")], tokenizer="words", lengths=(2048,), **choices)
    return open_suite(build(wanted, folder / "suite", force=True).folder)


def test_the_caps_are_those_of_the_released_code_and_part_of_the_tasks() -> None:
    direct, thoughts = get_task("longbench_v2"), get_task("longbench_v2_cot")
    assert (direct.max_output_tokens, direct.follow_up_tokens, direct.capped) == (128, None, True)
    assert (thoughts.max_output_tokens, thoughts.follow_up_tokens, thoughts.capped) == (1024, 128, True)


@pytest.mark.parametrize("name", ["a/b", "../x", "a b", "a\nb", "a@none", "ü", "x" * 65])
def test_an_id_that_no_command_could_take_is_refused(name: str) -> None:
    with pytest.raises(BadRowError, match=r"'_id' is .*expected at most 64 letters and digits"):
        read_record({**make_v2(0), "_id": name}, "here")


def test_two_questions_of_one_id_are_refused_and_the_same_one_twice_is_one(tmp_path: Path) -> None:
    rows = [make_v2(0), make_v2(0), make_v2(1)]
    write_v2(tmp_path / "data").joinpath("data.json").write_text(json.dumps(rows), encoding="utf-8")
    assert len(list(made("longbench_v2", tmp_path).samples())) == 2
    rows[2]["_id"] = rows[0]["_id"]
    (tmp_path / "data" / "data.json").write_text(json.dumps(rows), encoding="utf-8")
    with pytest.raises(
        FathomError, match=r"data\.json:1 and .*data\.json:3: different records of longbench_v2 with the id"
    ):
        made("longbench_v2", tmp_path)


GAPS = {
    "0shot.txt": ("longbench_v2", ("$DOC$", "$Q$", "$C_A$", "$C_B$", "$C_C$", "$C_D$")),
    "0shot_no_context.txt": ("longbench_v2", ("$Q$", "$C_D$")),
    "0shot_cot.txt": ("longbench_v2_cot", ("$DOC$", "$Q$", "$C_A$")),
    "0shot_cot_ans.txt": ("longbench_v2_cot", ("$Q$", "$C_B$", "$COT$")),
}


@pytest.mark.parametrize(("file", "gap"), [(file, gap) for file, (_, gaps) in GAPS.items() for gap in gaps])
def test_a_template_without_one_of_its_gaps_is_refused(tmp_path: Path, file: str, gap: str) -> None:
    assert set(GAPS) == set(TEMPLATES)
    data = write_v2_templates(write_v2(tmp_path / "data", 1))
    (data / "prompts" / file).write_text(TEMPLATES[file].replace(gap, ""), encoding="utf-8")
    with pytest.raises(FathomError) as caught:
        made(GAPS[file][0], tmp_path, prompts="official", closed_book=True)
    assert f"{file}: the template has no {gap}" in str(caught.value)


def test_questions_that_cannot_be_asked_without_their_text_are_told(tmp_path: Path) -> None:
    write_v2_templates(write_v2(tmp_path / "data", 2))
    suite = made("longbench_v2,longbench_v2_cot", tmp_path, prompts="official", closed_book=True)
    assert [note for note in suite.manifest["notes"] if "closed-book" in note] == [
        "longbench_v2_cot: no closed-book prompt exists"
    ]
