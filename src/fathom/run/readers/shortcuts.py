"""Readers that take a shortcut without reading: the longest answer, the first one, the example of the instructions.

They show how far a shortcut goes beyond chance, and that a measure of copying finds what is copied. Where a prompt has
neither candidates nor an example they guess.
"""

from __future__ import annotations

from random import Random

from fathom.run.readers.asked import understand
from fathom.run.readers.guess import guess_answer, said_order
from fathom.types import AnswerKind


def longest(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """The label of the longest answer in characters, the first of equal ones.

    Args:
        prompt: The whole prompt, or what a window leaves of it.
        answer: The kind of answer that it asks for.
        rng: Dice, for prompts without answers to choose among.
    """
    asked = understand(prompt, answer)
    if asked.kind == "label" and asked.pieces and asked.pieces.texts:
        texts = asked.pieces.texts
        return f"A{max(texts, key=lambda number: len(texts[number]))}"
    return guess_answer(asked, rng)


def first(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """The label A1, or the parts in the order in which they are numbered; arguments as for ``longest``."""
    asked = understand(prompt, answer)
    if asked.pieces and asked.pieces.number:
        return "A1" if asked.kind == "label" else said_order(range(1, asked.pieces.number + 1))
    return guess_answer(asked, rng)


def copy(prompt: str, answer: AnswerKind, rng: Random) -> str:
    """The answer that the instructions show as an example; arguments as for ``longest``."""
    asked = understand(prompt, answer)
    example = asked.pieces.example if asked.pieces else ""
    if example and asked.kind == "label":
        return example
    # Where a window has left no instructions, a list in a part's own text may look like their example.
    if example and asked.pieces and example.count(",") + 1 == asked.pieces.number:
        return f"Answer: {example}"
    return guess_answer(asked, rng)
