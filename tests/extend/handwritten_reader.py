"""A language model whose weights are written by hand, so that what it can read follows from a rule.

It is a Llama of two layers with one head each. Words are in chains: a key and three values after it. The last word of a
prompt is a key; the model continues with the values, if it finds the chain.

- Coordinate 0 of every embedding is so large that RMSNorm is a constant factor.
- Layer 1 copies the code of the word before: the score of a key at distance rel is the sum of cos(theta (rel - 1)) over
  all frequencies, which is largest at distance 1.
- Layer 2 looks for a place whose word before has the code of the present word. The score of a match at distance rel is
  f(rel), the sum of cos(theta rel) over 14 slow frequencies. The first token is a sink: its score is tau = f(W + 1/2)
  on the slowest frequency, and it says "unknown". So a match wins where f(rel) > tau cos(theta_last rel_first), which
  is within W tokens.
- The MLPs are zero, and the output is the word at the place that won.

``Rule`` is that inequality on the positions and frequencies of a method, computed without the model.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.extend.frequencies import frequencies, plain
from fathom.extend.methods import NONE, Method
from fathom.extend.positions import relative_position

WINDOW, HEAD, BASE = 256, 128, 10_000.0
FIRST, UNKNOWN = 0, 1
CODED, FILLERS = 139, 200
VOCABULARY = 2 + CODED + FILLERS
WORDS = ("first", "unknown", *(f"key{n}" for n in range(CODED)), *(f"word{n}" for n in range(FILLERS)))
LARGE, SHARP = 1e4, 14.0
CERTAIN = 0.99
REPLY = 3
_THETA = plain(HEAD, BASE).astype(np.float64)
_TURNED = _THETA * WINDOW
SLOW = np.flatnonzero((math.pi / 16 < _TURNED) & (math.pi / 2 >= _TURNED))
PAIRS = HEAD // 2
# Coordinates of the hidden state.
_CODE = slice(2, 2 + 2 * len(SLOW))
_BEFORE = slice(_CODE.stop, _CODE.stop + 2 * len(SLOW))
_WORD = slice(_BEFORE.stop, _BEFORE.stop + HEAD)
_OUT = slice(_WORD.stop, _WORD.stop + HEAD)
WIDTH = _OUT.stop


def match(rel: Any, inverse: NDArray[np.float64] = _THETA) -> Any:
    """Score of a match at distance rel: the sum of cos(theta rel) over the slow frequencies."""
    return np.cos(np.multiply.outer(rel, inverse[SLOW])).sum(-1)


TAU = float(match(WINDOW + 0.5))


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
    copying: tuple[float, ...] = tuple(_THETA)

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
        lost = 0.0 if np.isnan(sink) else TAU * math.cos(inverse[-1] * float(sink))
        return float(match(float(rel), inverse)) - lost

    def _copies(self, inverse: NDArray[np.float64]) -> bool:
        """Whether layer 1 still copies the word just before."""
        near = np.cos(np.multiply.outer(np.arange(64), inverse) - np.array(self.copying)).sum(-1)
        return int(near.argmax()) == 1


def make_reader(copying: NDArray[np.float64] = _THETA, **configuration: Any) -> Any:
    """The model, as a ``LlamaForCausalLM`` in float32.

    Args:
        copying: Frequencies for which layer 1 is written.
        configuration: What its configuration has besides.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": WIDTH,
        "intermediate_size": 2,
        "num_hidden_layers": 2,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": HEAD,
        "max_position_embeddings": WINDOW,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": UNKNOWN,
    }
    model = LlamaForCausalLM(LlamaConfig(**{**shape, **configuration})).eval()
    with torch.no_grad():
        for name, weights in written_weights(copying).items():
            model.get_parameter(name).copy_(torch.as_tensor(weights, dtype=torch.float32))
    return model


def save_reader(folder: Path, copying: NDArray[np.float64] = _THETA) -> Path:
    """Write the model and its tokenizer, which splits at spaces."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    words = {name: number for number, name in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=WORDS[UNKNOWN]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=WORDS[UNKNOWN]).save_pretrained(folder)
    make_reader(copying).save_pretrained(folder)
    return folder


def written_weights(copying: NDArray[np.float64] = _THETA) -> dict[str, NDArray[np.float64]]:
    """The weights by the names of the model's parameters."""
    rng = np.random.default_rng(0)
    embedding = np.zeros((VOCABULARY, WIDTH))
    embedding[:, 0] = LARGE
    embedding[FIRST, 1] = 1
    phases = rng.uniform(0, 2 * math.pi, (CODED, len(SLOW)))
    embedding[2 : 2 + CODED, _CODE] = np.concatenate((np.cos(phases), np.sin(phases)), axis=1)
    words = rng.choice([-1.0, 1.0], (VOCABULARY, HEAD))
    embedding[:, _WORD] = words
    embedding[FIRST, _WORD] = words[UNKNOWN]
    unit = LARGE / math.sqrt(WIDTH)  # what RMSNorm divides by

    def linear(rows: int, columns: int) -> NDArray[np.float64]:
        return np.zeros((rows, columns))

    scale = math.sqrt(math.sqrt(HEAD) * _sharpness(copying)) / math.sqrt(WIDTH)
    first = {name: linear(HEAD, WIDTH) for name in ("q", "k", "v")}
    first["q"][:PAIRS, 0] = scale
    first["k"][:PAIRS, 0], first["k"][PAIRS:, 0] = scale * np.cos(copying), scale * np.sin(copying)
    width = 2 * len(SLOW)
    first["v"][:width, _CODE] = unit * np.eye(width)
    first["o"] = linear(WIDTH, HEAD)
    first["o"][_BEFORE, :width] = np.eye(width)

    sharp = math.sqrt(math.sqrt(HEAD) * SHARP)
    second = {name: linear(HEAD, WIDTH) for name in ("q", "k", "v")}
    for name, place in (("q", _CODE), ("k", _BEFORE)):
        for pair, slow in enumerate(SLOW):
            second[name][slow, place.start + pair] = sharp * unit
            second[name][PAIRS + slow, place.start + len(SLOW) + pair] = sharp * unit
    second["q"][PAIRS - 1, 0] = sharp * TAU / math.sqrt(WIDTH)
    second["k"][PAIRS - 1, 1] = sharp * unit
    second["v"][:, _WORD] = unit * np.eye(HEAD)
    second["o"] = linear(WIDTH, HEAD)
    second["o"][_OUT] = np.eye(HEAD)

    output = np.zeros((VOCABULARY, WIDTH))
    output[:, _OUT] = unit * words
    found = {"model.embed_tokens.weight": embedding, "lm_head.weight": output, "model.norm.weight": np.ones(WIDTH)}
    for number, layer in enumerate((first, second)):
        prefix = f"model.layers.{number}"
        found |= {f"{prefix}.self_attn.{name}_proj.weight": weights for name, weights in layer.items()}
        found |= {f"{prefix}.{name}_layernorm.weight": np.ones(WIDTH) for name in ("input", "post_attention")}
        found |= {f"{prefix}.mlp.{name}_proj.weight": np.zeros((2, WIDTH)) for name in ("gate", "up")}
        found[f"{prefix}.mlp.down_proj.weight"] = np.zeros((WIDTH, 2))
    return found


def _sharpness(copying: NDArray[np.float64]) -> float:
    """The factor of scores with which layer 1 gives the word just before 99% of its attention."""
    scores = np.cos(np.multiply.outer(np.arange(-1, 8 * WINDOW), copying)).sum(-1)
    low, high = 0.0, 1e5
    for _ in range(60):
        middle = (low + high) / 2
        share = 1 / np.exp(middle * (scores - scores[1])).sum()
        low, high = (middle, high) if share < CERTAIN else (low, middle)
    return high
