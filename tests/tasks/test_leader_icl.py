"""LongLeader's many-shot tasks: rounds over all labels, nested demonstrations, budgets, and no leak."""

from __future__ import annotations

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.benchmarks.leader.icl_tasks import FORMS, GRIDS, in_rounds
from fathom.score.registry import get_scorer, row_of
from fathom.suites.registry import get_task
from fathom.suites.suitefile import BuiltSuite
from fathom.types import Sample, Span
from made_infinitebench import build_leader
from made_records import prompts_of, write_rows
from made_shots import make_dialogue, make_sentence, write_shots

TASKS = tuple(GRIDS)
LENGTHS = (800, 1600, 3200)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> BuiltSuite:
    folder = tmp_path_factory.mktemp("shots")
    return build_leader(TASKS, folder, [write_shots(folder / "data", tests=6)], lengths=LENGTHS)


def shown(sample: Sample) -> list[str]:
    """The documents of the demonstrations, in the order of the prompt."""
    spans = [part for part in sample.parts if isinstance(part, Span)]
    return [span.doc for span in spans[:-1]]


def by_item(suite: BuiltSuite) -> dict[str, list[Sample]]:
    found: dict[str, list[Sample]] = {}
    for sample in suite.samples():
        found.setdefault(sample.item, []).append(sample)
    return {item: sorted(samples, key=lambda sample: sample.length) for item, samples in found.items()}


# ------------------------------------------------------------------------------------------------------ rounds

LABELS = st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3, unique=True), max_size=30)


@given(LABELS, st.integers())
def test_a_round_shows_every_label_that_is_left_and_no_demonstration_comes_twice(
    labels: list[list[str]], seed: int
) -> None:
    rounds = in_rounds(labels, Random(seed))
    assert sorted(number for numbers in rounds for number in numbers) == list(range(len(labels)))
    left = set(range(len(labels)))
    for numbers in rounds:
        there = {label for number in left for label in labels[number]}
        assert {label for number in numbers for label in labels[number]} == there
        for place, number in enumerate(numbers):  # each brings something that the round has not shown yet
            before = {label for earlier in numbers[:place] for label in labels[earlier]}
            assert not before.issuperset(labels[number])
        left -= set(numbers)


def test_rounds_depend_on_the_seed_alone() -> None:
    labels = [["a"], ["b"], ["a", "b"], ["c"], ["c", "a"], ["b"]]
    assert in_rounds(labels, Random(3)) == in_rounds(labels, Random(3))
    assert len({str(in_rounds(labels, Random(seed))) for seed in range(20)}) > 1


# ----------------------------------------------------------------------------------------------------- prompts


def test_the_same_items_stand_at_every_length_and_fill_it(built: BuiltSuite) -> None:
    items = by_item(built)
    assert Counter(samples[0].task for samples in items.values()) == dict.fromkeys(TASKS, 6)
    for samples in items.values():
        assert [sample.length for sample in samples] == list(LENGTHS)
        # The shortest of these demonstrations have about 40 tokens; real ones fill what they leave.
        assert all(0 <= sample.length - sample.tokens <= 40 for sample in samples), [
            x.length - x.tokens for x in samples
        ]


def test_longer_prompts_hold_what_shorter_ones_do_in_the_same_order(built: BuiltSuite) -> None:
    for samples in by_item(built).values():
        for shorter, longer in pairwise(map(shown, samples)):
            kept = [name for name in longer if name in set(shorter)]
            assert kept == shorter
            assert len(longer) > len(shorter)


def test_demonstrations_are_in_another_order_for_each_item(built: BuiltSuite) -> None:
    for task in TASKS:
        assert len({tuple(shown(sample)) for sample in built.samples(tasks=[task])}) == 6 * len(LENGTHS)


def test_nothing_that_is_asked_stands_among_the_demonstrations(built: BuiltSuite) -> None:
    texts = built.texts()
    asked = {make_sentence(number, "test")["sentence"] for number in range(6)}
    asked |= {"\n".join(make_dialogue(number, "test")["dialogue"]) for number in range(6)}
    for sample in built.samples():
        assert not asked & {texts[name] for name in shown(sample)}
        assert len(set(shown(sample))) == len(shown(sample))
    assert any("they are in the test split: 1" in note for note in built.manifest["notes"])


def test_prompts_are_written_as_the_instances_are(built: BuiltSuite) -> None:
    for sample, prompt in prompts_of(built):
        number = int(sample.item.rsplit("/", 1)[1])
        if sample.task == "leader_fewnerd":
            made = make_sentence(number, "test")
            assert prompt.endswith(f"nothing else.\n\nSentence: {made['sentence']}\nEntities:")
            assert json.loads(sample.targets[0]) == [list(entry) for entry in made["entities"].items()]
        else:
            made = make_dialogue(number, "test")
            pairs = "\n".join(f"{n}. {x['x']} | {x['y']}" for n, x in enumerate(made["relations"][:-1], start=1))
            dialogue = "\n".join(made["dialogue"])
            assert prompt.endswith(f"nothing else.\n\nDialogue:\n{dialogue}\nPairs:\n{pairs}\nRelations:")
            assert json.loads(sample.targets[0]) == [entry["r"][0] for entry in made["relations"][:-1]]
            assert sample.chance == 1 / 6
    demonstration = make_sentence(7, "train")
    lines = "\n".join(f"{name}: {kind}" for name, kind in demonstration["entities"].items())
    written = f"\n\nSentence: {demonstration['sentence']}\nEntities:\n{lines}\n\n"
    assert any(written in prompt for _, prompt in prompts_of(built))


def test_facets_say_what_a_prompt_holds(built: BuiltSuite) -> None:
    for samples in by_item(built).values():
        for sample in samples:
            assert (sample.facets["set"], sample.facets["category"]) == ("32k", "ICL")
            assert sample.inputs["dataset"] == sample.task.removeprefix("leader_")
            assert sample.facets["demonstrations"] == len(shown(sample))
        rounds = [int(sample.facets["rounds"]) for sample in samples]
        assert rounds == sorted(rounds)
        assert rounds[-1] > rounds[0] >= 1
        assert samples[-1].facets["labels"] == (7 if samples[0].task == "leader_fewnerd" else 6)


def test_gold_replies_score_one_in_both_forms_and_empty_ones_are_invalid(built: BuiltSuite) -> None:
    for sample in built.samples():
        task, gold = get_task(sample.task), json.loads(sample.targets[0])
        listed = [label if isinstance(label, str) else ": ".join(label) for label in gold]
        numbered = [f"{n}. {one}" if sample.task == "leader_dialogre" else one for n, one in enumerate(listed, start=1)]
        for reply in (sample.targets[0], "\n".join(numbered)):
            assert task.score(reply, sample).value == 1, reply
        assert get_scorer(task.official, "official")(row_of("\n".join(numbered), sample)).value == 1
        assert not task.score(" \n", sample).valid


# ----------------------------------------------------------------------------------------------------- material


def test_lengths_that_the_demonstrations_cannot_fill_are_left_out(tmp_path: Path) -> None:
    data = write_shots(tmp_path / "data", tests=2, demonstrations=30)
    suite = build_leader(["leader_fewnerd"], tmp_path, [data], lengths=(400, 40_000))
    assert {sample.length for sample in suite.samples()} == {400}


def test_rows_of_one_dialogue_are_one_demonstration_of_all_its_pairs(tmp_path: Path) -> None:
    data = write_shots(tmp_path / "data", tests=2, demonstrations=1)
    (data / "dialogre_en.jsonl").unlink()
    rows = [
        {"dialogue": f"A: Hi, {number}.", "subject_entity": "A", "object_entity": name, "relation": f"per:{name}"}
        for number in range(60)
        for name in ("boss", "pet")
    ]
    rows += [{**row, "relation": "per:other"} for row in rows]  # further labels of the same pairs
    write_rows(data / "train_dialogueRE_processed.jsonl", rows)
    suite = build_leader(["leader_dialogre"], tmp_path, [data], lengths=(400,))
    for _, prompt in prompts_of(suite):
        assert "Pairs:\n1. A | boss\n2. A | pet\nRelations:\n1. per:boss\n2. per:pet\n\n" in prompt


def test_of_many_demonstrations_the_first_rounds_are_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fathom.benchmarks.leader.icl_tasks.MOST", 30)
    data = write_shots(tmp_path / "data", tests=2, demonstrations=120)
    suite = build_leader(["leader_fewnerd"], tmp_path, [data], lengths=(400,))
    (kept,) = (note for note in suite.manifest["notes"] if "demonstrations show 7 labels" in note)
    count = int(kept.split()[1])
    assert 30 <= count < 30 + 7  # whole rounds of at most seven labels
    assert any(f"because 30 fill every length: {120 - count}" in note for note in suite.manifest["notes"])


@pytest.mark.parametrize(("gone", "lacking"), [("demos", "demonstrations"), ("test", "test instances")])
def test_what_is_missing_is_told(tmp_path: Path, gone: str, lacking: str) -> None:
    data = write_shots(tmp_path / "data", tests=2, demonstrations=40)
    (data / f"fewnerd_{gone}.jsonl").unlink()
    suite = build_leader(TASKS, tmp_path, [data], lengths=LENGTHS[:1])
    assert {sample.task for sample in suite.samples()} == {"leader_dialogre"}
    assert any(note.startswith(f"leader_fewnerd: the data have no {lacking}") for note in suite.manifest["notes"])


# --------------------------------------------------------------------------------------------------- real data


@pytest.mark.slow
def test_the_shared_data_build_at_full_size(shared: Path, tmp_path: Path) -> None:
    tokenizer = shared / "data/tokenizers/llama2"
    counts = {"leader_dialogre": 71, "leader_fewnerd": 300}
    averages = {"leader_dialogre": 20_271, "leader_fewnerd": 14_191}  # table 3
    for task, count in counts.items():
        folder = tmp_path / task
        suite = build_leader([task], folder, [shared / "data/longleader"], tokenizer=str(tokenizer), items=count)
        samples = list(suite.samples())
        assert Counter(sample.length for sample in samples) == dict.fromkeys(GRIDS[task].lengths, count)
        assert all(0.99 * sample.length <= sample.tokens <= sample.length for sample in samples)
        assert sum(sample.tokens for sample in samples) / len(samples) == pytest.approx(averages[task], rel=0.02)
        longest = [sample for sample in samples if sample.length == GRIDS[task].lengths[-1]]
        assert min(int(sample.facets["rounds"]) for sample in longest) >= 3
        assert all(get_task(task).score(sample.targets[0], sample).value == 1 for sample in samples)
        tests = {document for sample in samples for document in (sample.parts[-2],) if isinstance(document, Span)}
        assert not {span.doc for span in tests} & {name for sample in samples for name in shown(sample)}
    assert set(FORMS) == {task.removeprefix("leader_") for task in counts}
