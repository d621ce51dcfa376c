from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fathom.score.rouge import official_sentences, rouge_l_sum, strict_sentences

few_words = st.lists(st.lists(st.sampled_from("abcd"), max_size=12), max_size=4)


def by_table(summary: list[list[str]], reference: list[list[str]]) -> float:
    """The same by a table of all pairs of words, as the package defines it."""
    left = [Counter(word for sentence in text for word in sentence) for text in (summary, reference)]
    sizes = [sum(counts.values()) for counts in left]
    hits = 0
    for sentence in reference:
        met = set().union(*(table_places(sentence, other) for other in summary)) if summary else set()
        for place in sorted(met):
            if all(counts[sentence[place]] > 0 for counts in left):
                hits += 1
                for counts in left:
                    counts[sentence[place]] -= 1
    if not hits:
        return 0.0
    precision, recall = hits / sizes[0], hits / sizes[1]
    return 2 * precision * recall / (precision + recall)


def table_places(mine: list[str], other: list[str]) -> set[int]:
    table = [[0] * (len(other) + 1) for _ in range(len(mine) + 1)]
    for row, word in enumerate(mine, start=1):
        for column, its in enumerate(other, start=1):
            longer = max(table[row - 1][column], table[row][column - 1])
            table[row][column] = table[row - 1][column - 1] + 1 if word == its else longer
    row, column, met = len(mine), len(other), set()
    while row and column:
        if mine[row - 1] == other[column - 1]:
            row, column = row - 1, column - 1
            met.add(row)
        elif table[row][column - 1] > table[row - 1][column]:
            column -= 1
        else:
            row -= 1
    return met


@given(few_words, few_words)
def test_it_is_what_a_table_of_all_pairs_of_words_gives(summary: list[list[str]], reference: list[list[str]]) -> None:
    assert rouge_l_sum(summary, reference) == by_table(summary, reference)


@given(st.text(alphabet="ab.\n "))
def test_a_text_is_its_own_best_summary(text: str) -> None:
    sentences = official_sentences(text)
    assert rouge_l_sum(sentences, sentences) == (1.0 if any(sentences) else 0.0)


@pytest.mark.parametrize(
    ("summary", "reference", "official", "strict"),
    [
        # Each sentence of the reference is looked for in all of the summary.
        ("a b\nb c", "a b c", 6 / 7, 6 / 7),
        ("a b. c d.", "c d. a b.", 0.5, 1.0),
        # A word counts as often as the summary has it, however many sentences have it.
        ("a", "a b\na c", 0.4, 0.4),
        ("1. a b", "a b", 0.8, 1.0),
        ("", "a", 0.0, 0.0),
        ("...", "a", 0.0, 0.0),
    ],
)
def test_sentences_under_both_rules(summary: str, reference: str, official: float, strict: float) -> None:
    assert rouge_l_sum(official_sentences(summary), official_sentences(reference)) == pytest.approx(official)
    assert rouge_l_sum(strict_sentences(summary), strict_sentences(reference)) == pytest.approx(strict)
