"""ROUGE-L as the Python package ``rouge`` 1.0.1 computes it: the F of a union of longest common subsequences.

The package cuts texts into sentences at full stops and into words at spaces, and counts distinct words only. It finds
a subsequence by recursion, one call a step, so that long sentences end in a RecursionError; LongBench and those who
took its scorer turn that, as any other error, into a score of 0.
"""

from __future__ import annotations

from collections.abc import Sequence

# Steps through one pair of sentences that fit in Python's default limit of 1,000 calls, those of the caller aside.
OFFICIAL_STEPS = 970


def rouge_l(prediction: str, reference: str, most_steps: int | None = None) -> float | None:
    """F of ROUGE-L.

    Args:
        prediction: The predicted text.
        reference: The gold text.
        most_steps: Steps that the search for one subsequence may take; None for no limit.

    Returns:
        F in [0, 1], or None where the package would raise: a text without any sentence, or too many steps.
    """
    predicted, gold = _sentences(prediction), _sentences(reference)
    if not predicted or not gold:
        return None
    shared: set[str] = set()
    for sentence in gold:
        for other in predicted:
            words = _common_words(sentence, other, most_steps)
            if words is None:
                return None
            shared |= words
    precision = len(shared) / len({word for sentence in predicted for word in sentence})
    recall = len(shared) / len({word for sentence in gold for word in sentence})
    return 2.0 * ((precision * recall) / (precision + recall + 1e-8))


def _sentences(text: str) -> list[list[str]]:
    return [" ".join(piece.split()).split(" ") for piece in text.split(".") if piece]


def _common_words(first: Sequence[str], second: Sequence[str], most_steps: int | None) -> set[str] | None:
    """Words of the longest common subsequence that the package finds; None if that takes too many steps."""
    if set(first).isdisjoint(second):
        # Nothing in common: the search walks along the second text only.
        return None if most_steps is not None and len(second) > most_steps else set()
    if most_steps is not None and min(len(first), len(second)) > most_steps:
        return None
    table = _lengths(first, second)
    row, column, steps = len(first), len(second), 0
    words: set[str] = set()
    while row and column:
        steps += 1
        if first[row - 1] == second[column - 1]:
            row, column = row - 1, column - 1
            words.add(first[row])
        elif table[row - 1][column] > table[row][column - 1]:
            row -= 1
        else:
            column -= 1
    return None if most_steps is not None and steps > most_steps else words


def _lengths(first: Sequence[str], second: Sequence[str]) -> list[list[int]]:
    """Lengths of the longest common subsequences of all beginnings of two texts."""
    above = [0] * (len(second) + 1)
    table = [above]
    for word in first:
        current = [0]
        best = 0
        for column, other in enumerate(second):
            over = above[column + 1]
            if word == other:
                best = above[column] + 1
            elif over > best:
                best = over
            current.append(best)
        table.append(current)
        above = current
    return table
