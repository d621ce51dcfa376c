"""The same replies under another name are found, and honest results are not taken for copies."""

from __future__ import annotations

import json
import random
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from command_line import Call
from fathom.board.answers import answers_of
from fathom.board.bundles.bundle import hashed
from fathom.board.bundles.bundling import bundle_of
from fathom.board.likeness import (
    Answer,
    Likeness,
    expected_alike,
    likeness,
    packed,
    plain_name,
    prints_of,
    same_name,
    unpacked,
)
from fathom.storage.checksums import with_checksum

WORDS = (
    "ferry",
    "bridge",
    "umbrella",
    "nine",
    "ten",
    "counter",
    "keeper",
    "river",
    "north",
    "harbour",
    "tower",
    "lamp",
)


def replies(seed: int, count: int = 200, right: float = 0.4, long: bool = False) -> list[str]:
    """Replies of a made model: some are the gold answer, which is the number of the sample."""
    rng = random.Random(seed)
    return [
        f"It is {number}." if rng.random() < right else " ".join(rng.choices(WORDS, k=60 if long else 4))
        for number in range(count)
    ]


def compared(first: list[str], second: list[str], *, logs: bool = True) -> Likeness:
    def prints(texts: list[str]) -> object:
        return prints_of(
            Answer(("suite", "task", 1024, f"s{number}", 1), hashed(text), text if logs else None, str(number) in text)
            for number, text in enumerate(texts)
        )

    return likeness(prints(first), prints(second))  # type: ignore[arg-type]


@pytest.mark.parametrize("logs", [True, False])
@pytest.mark.parametrize("count", [10, 30, 200])
def test_a_copy_is_found(count: int, logs: bool) -> None:
    texts = replies(1, count)
    found = compared(texts, texts, logs=logs)
    assert found.alike
    assert found.shared == count
    assert found.same == found.telling == sum(str(number) not in text for number, text in enumerate(texts))


def test_a_copy_with_other_spaces_marks_and_capitals_is_found() -> None:
    texts = replies(1)
    other = [f"  {text.upper().replace(' ', '  ')}!\u200b" for text in texts]
    found = compared(texts, other)
    assert found.alike
    assert (found.same, found.near) == (0, found.telling)
    assert "except for spaces, punctuation and case" in str(found)
    assert not compared(texts, other, logs=False).alike  # without texts nobody can tell


def test_a_copy_of_which_one_in_ten_is_changed_is_found_and_one_in_five_is_not() -> None:
    texts = replies(1, right=0.0)
    assert compared(texts, [text if n % 10 else "something else" for n, text in enumerate(texts)]).alike
    assert not compared(texts, [text if n % 5 else "something else" for n, text in enumerate(texts)]).alike


def test_a_copy_of_long_right_replies_is_found() -> None:
    texts = [f"{text} So it is {number}." for number, text in enumerate(replies(3, right=0.0, long=True))]
    assert compared(texts, texts).alike


def test_right_replies_say_nothing() -> None:
    perfect = [f"It is {number}." for number in range(300)]
    found = compared(perfect, perfect)
    assert (found.shared, found.telling, found.alike) == (300, 0, False)


def test_models_that_always_say_the_same_sentence_are_no_copies() -> None:
    refusals = ["I am sorry, I cannot help with that."] * 300
    assert not compared(refusals, refusals).alike


@pytest.mark.slow
def test_models_that_choose_among_four_are_no_copies_of_each_other() -> None:
    """They agree on six of ten wrong answers, as good models do, over many draws."""
    alarms = 0
    for seed in range(200):
        rng = random.Random(seed)
        first = [rng.choice("ABCD") for _ in range(500)]
        second = [one if rng.random() < 0.6 else rng.choice("ABCD") for one in first]
        alarms += compared(first, second).alike
    assert alarms == 0


def test_few_replies_say_nothing() -> None:
    assert not compared(replies(1, 4, 0.0), replies(1, 4, 0.0)).alike
    assert not likeness(prints_of([]), prints_of([])).alike


def test_prints_come_back_as_they_were_kept() -> None:
    prints = prints_of(Answer(("s", n), str(n), None, False) for n in range(10))
    assert np.array_equal(unpacked(packed(prints)), prints)
    assert len(unpacked(packed(prints)[:-3])) == 9
    assert len(unpacked(b"")) == 0


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("GPT-4o", "gpt 4o", True),
        ("openai/gpt-4o", "GPT-4o", True),
        ("gpt-4o", "gpt-4o-mini", False),
        ("通义千问", "通义千问", True),
        ("***", "---", False),
        ("", "", False),
    ],
)
def test_names_are_the_same_to_people(one: str, other: str, same: bool) -> None:
    assert same_name(one, other) is same
    assert not plain_name("") or same


def test_offline_readers_share_their_guesses() -> None:
    assert expected_alike(("fathom/guess", "fathom/first?window=4k"))
    assert not expected_alike(("fathom/guess", "lab/model"))
    assert not expected_alike(("fathom/other", "fathom/guess"))


@pytest.mark.slow
def test_honest_baselines_raise_no_alarm_and_a_renamed_one_does(call: Call, tmp_path: Path) -> None:
    tasks = "passkey,kv_retrieval,single_doc_qa"
    assert call("build", tasks, "--corpus", "world", "--lengths", "2k,4k", "--items", "12", "--out", "suite")[0] == 0
    names = ["fathom/guess", "fathom/lexical", "fathom/lexical?window=2k&truncate=middle", "fathom/first"]
    found = {}
    for number, name in enumerate(names):
        assert call("run", "suite", "--model", name, "--out", f"run{number}", "--quiet")[0] == 0
        found[name] = prints_of(answers_of(bundle_of([tmp_path / f"run{number}"])))
    alarms = [
        pair
        for pair in combinations(names, 2)
        if likeness(*map(found.__getitem__, pair)).alike and not expected_alike(pair)
    ]
    assert alarms == []
    assert not likeness(found["fathom/guess"], found["fathom/lexical"]).alike
    facts = json.loads((tmp_path / "run1" / "run.json").read_text("utf-8"))
    edited = with_checksum(facts | {"model": "lab/own-model"})
    (tmp_path / "run1" / "run.json").write_text(json.dumps(edited), "utf-8")
    renamed = bundle_of([tmp_path / "run1"])
    assert renamed.model == "lab/own-model"
    assert likeness(prints_of(answers_of(renamed)), found["fathom/lexical"]).alike
    assert not likeness(prints_of(answers_of(renamed)), found["fathom/guess"]).alike
