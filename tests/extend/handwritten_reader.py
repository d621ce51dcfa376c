"""The example model (``fathom.extend.hf.example``) with a window of 256, its items, and the rule of what it reads.

``Rule`` is the inequality of the model's second layer on the positions and frequencies of a method, computed without
the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.extend.frequencies import frequencies
from fathom.extend.hf.example import BASE as BASE
from fathom.extend.hf.example import CODED as CODED
from fathom.extend.hf.example import (
    FILLERS,
    FIRST,
    THETA,
    Window,
    make_example,
    save_example,
)
from fathom.extend.hf.example import HEAD as HEAD
from fathom.extend.hf.example import WORDS as WORDS
from fathom.extend.methods import NONE, Method
from fathom.extend.positions import relative_position

WINDOW = 256
REPLY = 3
_WINDOW = Window(WINDOW)


@dataclass(frozen=True)
class Item:
    """A prompt and the words that follow."""

    prompt: tuple[int, ...]
    answer: tuple[int, ...]
    place: int


def make_items(length: int, count: int = 20, seed: int = 0) -> list[Item]:
    """Items of prompts with ``length`` tokens; an item has the same chains at the same depth at any length."""
    found = []
    for number in range(count):
        rng = np.random.default_rng([seed, number])
        words = 2 + rng.permutation(CODED)[: 3 * (1 + REPLY)]
        chains = words.reshape(3, 1 + REPLY)
        depth = (number + 0.5) / count
        others = (depth + np.array([1, 2]) / 3) % 1
        text = 2 + CODED + rng.integers(0, FILLERS, length)
        text[0] = FIRST
        room = length - 3 - REPLY
        place = 1 + round((1 - depth) * room)
        for chain, where in ((chains[1], others[0]), (chains[2], others[1]), (chains[0], None)):
            start = place if where is None else 1 + round((1 - where) * room)
            text[start : start + 1 + REPLY] = chain
        text[-1] = chains[0][0]
        found.append(Item(tuple(map(int, text)), tuple(map(int, chains[0][1:])), place))
    return found


@dataclass(frozen=True)
class Rule:
    """What the model says, by the inequality alone.

    Attributes:
        method: With its values (``settled``).
        copying: Frequencies for which layer 1 is written.
    """

    method: Method = NONE
    copying: tuple[float, ...] = tuple(THETA)

    def right(self, item: Item) -> bool:
        """Whether all words of the reply are found."""
        return all(self.margin(item, step) > 0 for step in range(REPLY))

    def margin(self, item: Item, step: int) -> float:
        """By how much the match wins over the first token for a word of the reply; negative where it loses."""
        total = len(item.prompt) + REPLY
        inverse = frequencies(self.method, HEAD, BASE, total)[0].astype(np.float64)
        if not self._copies(inverse):
            return -math.inf
        query = len(item.prompt) - 1 + step
        rel = relative_position(self.method, query, item.place + 1 + step)
        sink = relative_position(self.method, query, 0)
        if np.isnan(rel):
            return -math.inf
        lost = 0.0 if np.isnan(sink) else _WINDOW.tau * math.cos(inverse[-1] * float(sink))
        return float(_WINDOW.match(float(rel), inverse)) - lost

    def _copies(self, inverse: NDArray[np.float64]) -> bool:
        """Whether layer 1 still copies the word just before."""
        near = np.cos(np.multiply.outer(np.arange(64), inverse) - np.array(self.copying)).sum(-1)
        return int(near.argmax()) == 1


def make_reader(copying: NDArray[np.float64] = THETA, **configuration: Any) -> Any:
    """The model, as a ``LlamaForCausalLM`` in float32."""
    return make_example(WINDOW, copying, **configuration)


def save_reader(folder: Path, copying: NDArray[np.float64] = THETA) -> Path:
    """Write the model and its tokenizer, which splits at spaces."""
    return save_example(folder, WINDOW, copying)
