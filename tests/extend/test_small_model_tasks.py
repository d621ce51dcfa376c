"""Tasks for small models: an item is the same at all lengths, and training asks for what it has shown."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "performance"))

from fathom.suites.suitefile import open_suite
from small_model_tasks import (
    CHAINS,
    FIRST,
    PAIRS,
    PATTERN,
    REPLY,
    TASKS,
    TASKS_OF_ITEMS,
    batch,
    draw,
    lay_out,
    make_items,
    write_suite,
)

LENGTHS = [32, 64, 128, 512]


def places(words: tuple[int, ...], part: tuple[int, ...]) -> list[int]:
    """Where a part begins in words."""
    return [start for start in range(len(words)) if words[start : start + len(part)] == part]


@pytest.mark.parametrize("task", TASKS_OF_ITEMS)
def test_an_item_asks_the_same_at_every_length_and_only_its_haystack_grows(task: str) -> None:
    width = PATTERN if task.endswith("copy") else 1 + REPLY
    for versions in make_items(task, LENGTHS, 6, seed=3):
        assert len({(version.answer, version.depth) for version in versions}) == 1
        for item, length in zip(versions, LENGTHS, strict=True):
            assert len(item.prompt) + REPLY == length
            assert item.prompt[0] == FIRST
            shown = item.prompt[REPLY - width :]  # what the prompt ends with
            (place,) = places(item.prompt, (*shown, *item.answer))
            # Depth is relative to the room that is left: within one chain's width of the others.
            assert abs(place - item.depth * length) <= CHAINS * (1 + REPLY) + 4
    assert [round(item[0].depth, 3) for item in make_items(task, LENGTHS, 2, seed=3)] == [0.25, 0.75]


@pytest.mark.parametrize("task", TASKS_OF_ITEMS)
def test_words_of_a_short_prompt_are_the_first_ones_of_a_long_one(task: str) -> None:
    drawn = draw(task, np.random.default_rng(1), 512)
    chains = {int(word) for word in drawn.chains.ravel()}
    short, long = (
        [word for word in lay_out(task, drawn, length).prompt[1:] if word not in chains] for length in (64, 512)
    )
    assert len(short) < len(long)
    assert long[: len(short)] == short


def test_pairs_have_all_their_chains_at_the_shortest_length() -> None:
    drawn = draw(PAIRS, np.random.default_rng(2), 64)
    item = lay_out(PAIRS, drawn, 32)
    for chain in drawn.chains.tolist():
        assert len(places(item.prompt, tuple(chain))) == 1


def test_rows_of_training_ask_only_for_what_they_have_shown() -> None:
    words, wanted = batch(np.random.default_rng(4), 96, 40)
    assert (wanted[:, -REPLY:][1::2] >= 0).all()  # every other row is an item
    asked = np.argwhere(wanted >= 0)
    assert len(asked) > 200
    for row, place in asked.tolist():
        assert wanted[row, place] == words[row, place]
        line = words[row].tolist()
        before = line[place - 1 : place + 1]
        assert any(line[start : start + 2] == before for start in range(place - 1)), (row, place)


def test_the_same_numbers_give_the_same_rows() -> None:
    first, second = (batch(np.random.default_rng([0, 1, 7]), 64, 8) for _ in range(2))
    assert (first[0] == second[0]).all()
    assert (first[1] == second[1]).all()


def test_a_suite_has_every_item_at_every_length_and_its_gold_reply_scores_one(tmp_path: Path) -> None:
    suite = open_suite(write_suite(tmp_path / "suite", [32, 64], 3, seed=5))
    samples = list(suite.samples())
    assert len(samples) == len(TASKS_OF_ITEMS) * 2 * 3
    score = {task.name: task.score for task in TASKS}
    for sample in samples:
        assert score[sample.task](sample.targets[0], sample).value == 1
        wrong = " ".join(sample.targets[0].split()[:-1])
        assert score[sample.task](wrong, sample).value == 0
        assert not score[sample.task]("", sample).valid
