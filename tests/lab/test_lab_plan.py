"""Setups as users name them become names of models and systems; values are chosen by a rule that is declared before."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.extend.methods import split_name, system_of
from fathom.lab import Sizes, Way, best_way, read_setup, trained
from fathom.types import FathomError

SIZES = Sizes(window=1024, longest=8192, reserve=100)
MODEL = "hf/some/model"


@pytest.mark.parametrize(
    ("text", "name", "kind", "model", "system"),
    [
        ("none", "none", "none", f"{MODEL}?extend=none&length=8292", "whole"),
        ("yarn", "yarn", "position", f"{MODEL}?extend=yarn&factor=8&length=8292", "whole"),
        ("yarn?factor=4", "yarn factor=4", "position", f"{MODEL}?extend=yarn&factor=4&length=8292", "whole"),
        (
            "rerope?window=512",
            "rerope window=512",
            "position",
            f"{MODEL}?extend=rerope&length=8292&window=512",
            "whole",
        ),
        ("dynamic", "dynamic", "position", f"{MODEL}?extend=dynamic&length=8292", "whole"),
        (
            "recent?budget=64",
            "recent budget=64",
            "cache",
            f"{MODEL}?extend=none&length=8292&cache=recent&budget=64",
            "whole",
        ),
        (
            "yarn?factor=8+snapkv?budget=1k",
            "yarn factor=8 + snapkv budget=1k",
            "position and cache",
            f"{MODEL}?extend=yarn&factor=8&length=8292&cache=snapkv&budget=1k",
            "whole",
        ),
        ("retrieval?top=2", "retrieval top=2", "system", MODEL, "retrieval?top=2&passage=256"),
        (
            "pi + retrieval",
            "pi + retrieval",
            "position and system",
            f"{MODEL}?extend=pi&factor=8&length=8292",
            "retrieval?top=8&passage=256",
        ),
    ],
)
def test_a_setup_is_a_model_and_a_system(text: str, name: str, kind: str, model: str, system: str) -> None:
    found = read_setup(text, MODEL, SIZES)
    (way,) = found.ways
    assert (found.name, found.kind, found.tuned) == (name, kind, False)
    assert split_name(way.model) == split_name(model)
    assert system_of(way.system) == system_of(system)


def test_values_to_choose_from_are_ways_of_one_setup() -> None:
    found = read_setup("leaky?window=128|256&group=4|8+recent?budget=64", MODEL, SIZES)
    assert found.name == "leaky + recent budget=64, tuned"
    assert [way.values for way in found.ways] == [
        "window=128 group=4",
        "window=128 group=8",
        "window=256 group=4",
        "window=256 group=8",
    ]
    assert len({way.model for way in found.ways}) == 4
    swept = read_setup("retrieval?top=1|2|4", "openai/gpt", SIZES)
    assert swept.ways[2] == Way("openai/gpt", "retrieval?top=4&passage=256", "top=4")


def test_the_window_that_the_user_gives_is_the_original_of_methods() -> None:
    (way,) = read_setup("yarn", MODEL, Sizes(1024, 8192, 100, given=True)).ways
    assert split_name(way.model)[1]["original"] == 1024
    assert "original" not in read_setup("none", MODEL, SIZES).ways[0].model


@pytest.mark.parametrize(
    ("text", "model", "words"),
    [
        ("yarm", MODEL, "did you mean yarn"),
        ("yarn?factr=4", MODEL, "no option 'factr'"),
        ("yarn?factor=0.5", MODEL, "expected 1 or more"),
        ("yarn?factor=2&factor=3", MODEL, "each once"),
        ("yarn+pi", MODEL, "two methods of one kind"),
        ("yarn", "openai/gpt", "`server` NAME=URL"),
        ("retrieval?top=1|2|3|4|5|6|7|8|9", MODEL, "9 combinations of values; 8 at most"),
    ],
)
def test_wrong_setups_are_refused(text: str, model: str, words: str) -> None:
    with pytest.raises(FathomError, match=words):
        read_setup(text, model, SIZES)


def test_other_weights_need_words_about_their_training() -> None:
    found = trained("hf/other?extend=pi&factor=4: 400 steps of 32k tokens")
    assert found.trained == "400 steps of 32k tokens"
    assert found.ways == (Way("hf/other?extend=pi&factor=4"),)
    assert found.kind == "position"
    with pytest.raises(FathomError, match="WHAT IT WAS TRAINED WITH"):
        trained("hf/other")


BASE = {512: 0.9, 1024: 0.8, 2048: 0.1}


def test_the_best_beyond_the_window_is_chosen_among_those_that_lose_little() -> None:
    scores = [
        {512: 0.9, 1024: 0.8, 2048: 0.5},
        {512: 0.88, 1024: 0.78, 2048: 0.6},  # loses 2 points, which is allowed
        {512: 0.87, 1024: 0.78, 2048: 0.9},  # loses more
    ]
    assert best_way(scores, BASE, 1024)[0] == 1
    assert best_way(scores[::2], BASE, 1024)[0] == 0
    assert best_way([scores[2], {512: 0.1, 1024: 0.1, 2048: 1.0}], BASE, 1024)[0] == 0
    assert best_way([scores[0], scores[0]], BASE, 1024)[0] == 0
    assert best_way([{512: 0.9, 1024: 0.8, 2048: math.nan}, scores[0]], BASE, 1024)[0] == 1


@given(
    st.lists(st.lists(st.floats(0, 1), min_size=4, max_size=4), min_size=1, max_size=8),
    st.lists(st.floats(0, 1), min_size=4, max_size=4),
)
def test_the_choice_is_allowed_and_no_allowed_one_is_better(scores: list[list[float]], base: list[float]) -> None:
    lengths = (512, 1024, 2048, 4096)
    place, parts = best_way(
        [dict(zip(lengths, score, strict=True)) for score in scores], dict(zip(lengths, base, strict=True)), 1024
    )
    within = (base[0] + base[1]) / 2
    able = [number for number, (short, _) in enumerate(parts) if within - short <= 0.02 + 1e-9]
    if able:
        assert place in able
        assert parts[place][1] == max(parts[number][1] for number in able)
    else:
        assert parts[place][0] == max(short for short, _ in parts)


MATCHED = Sizes(window=1024, longest=8000, reserve=100, lengths={512: 500, 1024: 1000, 4096: 4096, 8192: 8000})


def test_a_matched_factor_is_the_length_over_the_window_at_each_length() -> None:
    found = read_setup("yarn?factor=matched", MODEL, MATCHED)
    assert (found.name, found.tuned) == ("yarn factor=matched", False)
    factors = {length: split_name(model)[1].number("factor") for length, model in found.ways[0].at}
    assert factors == {512: 1, 1024: 1, 4096: 4, 8192: 7.8125}
    assert [lengths for _, lengths in found.ways[0].parts] == [(512,), (1024,), (4096,), (8192,)]
    fixed = read_setup("yarn", MODEL, MATCHED).ways[0]
    assert fixed.parts == ((fixed, ()),)


def test_a_budget_in_bytes_is_as_many_tokens_as_these_bytes_hold() -> None:
    sizes = Sizes(window=1024, longest=8192, reserve=100, token_bytes=2048)
    for text, tokens in (("1MiB", 512), ("512kib", 256), ("4MB", 1953), ("300", 300), ("1k", 1024)):
        (way,) = read_setup(f"snapkv?budget={text}", MODEL, sizes).ways
        assert split_name(way.model)[2].whole("budget") == tokens
    for text in ("1KB", "xMiB"):
        with pytest.raises(FathomError, match="bytes that hold at least one token of 2,048 bytes"):
            read_setup(f"snapkv?budget={text}", MODEL, sizes)
