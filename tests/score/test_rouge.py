"""ROUGE-L beside a plain search through the whole table, and limits of its steps."""

from __future__ import annotations

from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.score.rouge import rouge_l

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "a.", "b.", "c.d"]), max_size=14).map(" ".join)


def walked(first: list[str], second: list[str]) -> tuple[int, set[str]]:
    """Steps and words of the search of the ``rouge`` package: up where the table is larger there, else left."""
    table = [[0] * (len(second) + 1) for _ in range(len(first) + 1)]
    for i, word in enumerate(first, 1):
        for j, other in enumerate(second, 1):
            table[i][j] = table[i - 1][j - 1] + 1 if word == other else max(table[i - 1][j], table[i][j - 1])
    i, j, steps, words = len(first), len(second), 0, set()
    while i and j:
        steps += 1
        if first[i - 1] == second[j - 1]:
            i, j = i - 1, j - 1
            words.add(first[i])
        elif table[i - 1][j] > table[i][j - 1]:
            i -= 1
        else:
            j -= 1
    return steps, words


def plain_rouge(said: str, gold: str, most: int | None) -> float | None:
    mine, theirs = ([part.split() or [""] for part in text.split(".") if part] for text in (said, gold))
    if not mine or not theirs:
        return None
    found: set[str] = set()
    for sentence in theirs:
        for other in mine:
            steps, words = walked(sentence, other)
            if most is not None and steps > most:
                return None
            found |= words
    precision, recall = (len(found) / len({word for one in side for word in one}) for side in (mine, theirs))
    return 2 * precision * recall / (precision + recall + 1e-8)


@given(TEXTS, TEXTS, st.none() | st.integers(1, 20))
def test_rouge_is_that_of_the_whole_table(said: str, gold: str, most: int | None) -> None:
    expected = plain_rouge(said, gold, most)
    found = rouge_l(said, gold, most)
    assert (found is None) == (expected is None)
    assert found is None or expected is None or abs(found - expected) < 1e-12


def test_the_limit_is_of_steps_and_not_of_words() -> None:
    assert rouge_l("a b c", "a b c", 3) is not None
    assert rouge_l("a b c", "a b c", 2) is None
    # From the ends of two texts without a common word the search walks along the reply only.
    assert rouge_l("x y", "a b c d e", 2) == 0.0
    assert rouge_l("x y z", "a", 2) is None


def test_of_two_longest_subsequences_the_one_of_the_package_counts() -> None:
    # "a b" and "b a" have two subsequences of one word: it finds that which ends first in the reply.
    assert rouge_l("a b. x", "b a") == plain_rouge("a b. x", "b a", None)
    assert walked(["b", "a"], ["a", "b"])[1] == {"a"}


@pytest.mark.slow
def test_a_long_reply_without_full_stops_costs_no_more_than_its_length() -> None:
    # Seconds; with a copy of all places for each word it would be most of a minute.
    words = [f"w{number % 50_000}" for number in range(1_500_000)]
    precision, recall = 3 / 50_000, 3 / 4
    started = process_time()
    assert rouge_l(" ".join(words), "w1 w2 x w3") == pytest.approx(
        2 * precision * recall / (precision + recall), abs=1e-6
    )
    assert process_time() - started < 15
