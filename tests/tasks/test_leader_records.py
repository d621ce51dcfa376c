"""LongLeader's tasks over records: prompts, facets, where records stand, and what is left out or cut."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine_calls import configure
from fathom.benchmarks.leader.infinitebench_records import LETTERS
from fathom.benchmarks.leader.prompts import LONG, SHORT, UNSEEN
from fathom.benchmarks.leader.record_tasks import GRIDS, _with
from fathom.score.registry import get_scorer, row_of
from fathom.suites.build import build
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite, open_suite
from fathom.suites.tasks.natural import JOINS
from fathom.types import FathomError, Sample
from made_infinitebench import build_leader, make_infinite, write_infinite
from made_records import make_record, prompts_of, row_in, write_records

LONG_TASKS = tuple(kind.name for kind in LONG.values())
SHORT_TASKS = tuple(f"leader_{dataset}" for dataset in SHORT)
TABLE_3 = {
    "leader_musique": ("32k", "F-QA", 200),
    "leader_narrativeqa": ("32k", "F-QA", 200),
    "leader_hotpotqa": ("32k", "F-QA", 200),
    "leader_triviaqa": ("32k", "ICL", 200),
    "leader_qmsum": ("32k", "SUM", 200),
    "leader_gov_report": ("32k", "SUM", 200),
    "leader_en_qa": ("128k", "F-QA", 92),
    "leader_en_mc": ("128k", "MC-QA", 63),
    "leader_en_sum": ("128k", "SUM", 37),
    "leader_code_debug": ("128k", "LGR", 155),
    "leader_math_find": ("128k", "LGR", 350),
}


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("records")
    data = [write_records(folder / "longbench", 4, tuple(SHORT)), write_infinite(folder / "infinite", 6)]
    return build_leader((*SHORT_TASKS, *LONG_TASKS), folder, data, lengths=(256, 512, 1024), closed_book=True)


@pytest.fixture(scope="module")
def prompts(built: BuiltSuite) -> list[tuple[Sample, str]]:
    return prompts_of(built)


def test_sets_categories_and_counts_are_those_of_table_3() -> None:
    for name, (set_, category, count) in TABLE_3.items():
        task, grid = get_task(name), GRIDS[name]
        assert (task.facets["set"], task.facets["category"]) == (set_, category)
        assert grid.items >= count
        assert grid.lengths[-1] == {"32k": 32_000, "128k": 128_000}[set_]
    assert {kind.name: kind.fit for kind in LONG.values()} == {name: TABLE_3[name][2] for name in LONG_TASKS}
    assert set(GRIDS) == set(TABLE_3)


def test_every_sample_says_where_it_belongs(prompts: list[tuple[Sample, str]]) -> None:
    full = [sample for sample, _ in prompts if sample.length]
    assert Counter(sample.task for sample in full) == {**dict.fromkeys(SHORT_TASKS, 4), **dict.fromkeys(LONG_TASKS, 6)}
    for sample in full:
        assert (sample.facets["set"], sample.facets["category"]) == TABLE_3[sample.task][:2]
        assert sample.inputs["dataset"] == get_task(sample.task).inputs["dataset"]
    datasets = {sample.task: sample.inputs["dataset"] for sample in full}
    assert datasets["leader_en_mc"] == "choice"
    assert [datasets[name] for name in ("leader_code_debug", "leader_math_find")] == ["code_debug", "math_find"]


def test_gold_replies_score_one_and_empty_ones_are_invalid(prompts: list[tuple[Sample, str]]) -> None:
    for sample, _ in prompts:
        task = get_task(sample.task)
        for target in sample.targets:
            for rule in ("official", "strict"):
                assert get_scorer(task.official, rule)(row_of(target, sample)).value == pytest.approx(1), rule
            assert task.score(target, sample).value == pytest.approx(1)
        assert not task.score(" \n", sample).valid


# ------------------------------------------------------------------------------------------------ LongBench's


def test_records_of_longbench_have_the_prompts_of_its_tasks(prompts: list[tuple[Sample, str]], tmp_path: Path) -> None:
    data = write_records(tmp_path / "longbench", 4, tuple(SHORT))
    names = ",".join(f"longbench_{dataset}" for dataset in SHORT)
    wanted = configure(names, data=[str(data)], tokenizer="words", lengths=(256, 512, 1024))
    other = {sample.item: prompt for sample, prompt in prompts_of(open_suite(build(wanted, tmp_path / "out").folder))}
    ours = {
        sample.item.replace("leader_", "longbench_"): prompt
        for sample, prompt in prompts
        if sample.task in SHORT_TASKS and sample.length
    }
    assert ours == other


def test_questions_are_asked_alone_where_they_make_sense(prompts: list[tuple[Sample, str]]) -> None:
    alone = {sample.task for sample, _ in prompts if not sample.length}
    assert alone == {"leader_musique", "leader_narrativeqa", "leader_hotpotqa", "leader_en_qa", "leader_en_mc"}
    for sample, prompt in prompts:
        if sample.task == "leader_musique" and not sample.length:
            question = make_record("musique", row_in(sample))["input"]
            assert prompt == (
                f"{UNSEEN}Question: {question}\nReply with the answer alone, in as few words as it takes.\nAnswer:"
            )


def test_records_of_longbench_lose_their_middle_beyond_the_longest_length(tmp_path: Path) -> None:
    data = write_records(tmp_path / "data", 2, ("narrativeqa",), sentences=60)
    suite = build_leader(["leader_narrativeqa"], tmp_path, [data], lengths=(128, 256))
    for sample, prompt in prompts_of(suite):
        record = make_record("narrativeqa", row_in(sample), 60)
        assert sample.length == 256 >= sample.tokens
        assert int(sample.facets["whole_tokens"]) > 256
        assert record["context"][:60] in prompt
        assert record["context"].strip()[-9:] in prompt
        assert record["input"] in prompt


@pytest.mark.slow
def test_the_authors_files_stand_in_for_longbench(shared: Path, tmp_path: Path) -> None:
    names = [f"leader_{dataset}" for dataset in ("musique", "hotpotqa", "qmsum")]
    suite = build_leader(names, tmp_path, [shared / "data/longleader"], items=30)
    found = prompts_of(suite)
    assert Counter(sample.task for sample, _ in found) == dict.fromkeys(names, 30)
    for sample, prompt in found:
        assert sample.facets["form"] == "authors"
        assert sample.tokens <= sample.length
        assert prompt.count(sample.asked) == 1
        assert (prompt.count("\nPassage 1:\n") == 1) == (sample.task != "leader_qmsum")
        assert get_task(sample.task).score(sample.targets[0], sample).value == pytest.approx(1)
    assert any("made from the authors' files" in note for note in suite.manifest["notes"])


@pytest.mark.slow
def test_records_of_longbench_come_before_the_authors_files(shared: Path, tmp_path: Path) -> None:
    data = [write_records(tmp_path / "data", 2, ("musique",)), shared / "data/longleader"]
    found = list(build_leader(["leader_musique"], tmp_path, data).samples())
    assert [sample.facets.get("form") for sample in found] == [None, None]


# -------------------------------------------------------------------------------------------- InfiniteBench's


def test_each_record_stands_whole_at_the_smallest_length_that_holds_it(tmp_path: Path) -> None:
    lengths, found = (128, 192, 256, 384, 512), set()
    for sentences in (6, 20):
        folder = write_infinite(tmp_path / str(sentences), 6, ("longbook_qa_eng",), sentences=sentences)
        for sample, prompt in prompts_of(build_leader(["leader_en_qa"], tmp_path, [folder], lengths=lengths)):
            assert make_infinite("longbook_qa_eng", row_in(sample), sentences)["context"] in prompt
            assert "whole_tokens" not in sample.facets
            shorter = max((length for length in lengths if length < sample.length), default=0)
            assert shorter - JOINS < sample.tokens <= sample.length
            found.add(sample.length)
    assert len(found) > 1


def test_what_no_length_holds_is_left_out_and_told(tmp_path: Path) -> None:
    data = write_infinite(tmp_path / "data", 6, sentences=30)
    suite = build_leader(LONG_TASKS, tmp_path, [data], lengths=(64, 380))
    left = Counter(sample.task for sample in suite.samples())
    assert 0 < sum(left.values()) < 6 * len(LONG)
    assert all(sample.tokens <= sample.length for sample in suite.samples())
    for name in LONG_TASKS:
        if lost := 6 - left[name]:
            told = [note for note in suite.manifest["notes"] if f"{lost} of 6 records left out, because" in note]
            assert any(name in note and "(table 3)" in note for note in told), name


def test_two_copies_of_a_row_are_refused(tmp_path: Path) -> None:
    data = [write_infinite(tmp_path / str(size), 2, ("math_find",), sentences=size) for size in (5, 6)]
    with pytest.raises(FathomError, match=r"leader_math_find: .*different records of row 0; `data` should name one"):
        build_leader(["leader_math_find"], tmp_path, data)


def test_choices_stand_in_lines_of_their_own_and_a_guess_hits_one_in_four(prompts: list[tuple[Sample, str]]) -> None:
    letters: list[str] = []
    for sample, prompt in prompts:
        if sample.task in ("leader_en_mc", "leader_code_debug"):
            dataset = {kind.name: name for name, kind in LONG.items()}[sample.task]
            record = make_infinite(dataset, row_in(sample))
            options = "\n".join(f"{LETTERS[n]}. {text}" for n, text in enumerate(record["options"]))
            assert f"\n{options}\n\nReply with one letter" in prompt
            answer = record["answer"] if isinstance(record["answer"], str) else record["answer"][0]
            assert sample.targets == (LETTERS[record["options"].index(answer)],)
            assert sample.chance == 1 / 4
            letters += sample.targets
        else:
            assert sample.chance == 0
    assert set(letters) == set(LETTERS)


@given(st.text(alphabet="{}askedinput {asked}", max_size=40))
def test_words_of_a_question_are_never_taken_for_a_gap(text: str) -> None:
    for kind in LONG.values():
        assert _with(kind.after, text).count(text) >= kind.after.count("{asked}")
        assert _with(kind.after, text) == text.join(kind.after.split("{asked}"))
