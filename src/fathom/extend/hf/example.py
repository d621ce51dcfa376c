"""A small model to try methods on: its weights are written by hand, so that its window is known.

It is a Llama of two layers with one head each. Words are in chains: a key and values after it. A prompt begins with
the word "first" and ends with a key; the model continues with what follows the key earlier on, if that is within its
window.

- Coordinate 0 of every embedding is so large that RMSNorm is a constant factor.
- Layer 1 copies the code of the word before: the score of a key at distance rel is the sum of cos(theta (rel - 1)) over
  all frequencies, which is largest at distance 1.
- Layer 2 looks for a place whose word before has the code of the present word. The score of a match at distance rel is
  f(rel), the sum of cos(theta rel) over about 14 slow frequencies. The first token is a sink: its score is
  tau = f(W + 1/2) on the slowest frequency, and it says "unknown". So a match wins where
  f(rel) > tau cos(theta_last rel_first), which is within W tokens.
- The MLPs are zero, and the output is the word at the place that won.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fathom.extend.frequencies import plain_frequencies
from fathom.options.terminal import no_widgets

HEAD, BASE = 128, 10_000.0
FIRST, UNKNOWN = 0, 1
CODED, FILLERS = 139, 200
VOCABULARY = 2 + CODED + FILLERS
WORDS = ("first", "unknown", *(f"key{n}" for n in range(CODED)), *(f"word{n}" for n in range(FILLERS)))
THETA = plain_frequencies(HEAD, BASE).astype(np.float64)
LARGE, SHARP = 1e4, 14.0
CERTAIN = 0.99
PAIRS = HEAD // 2


@dataclass(frozen=True)
class Window:
    """What the weights for a window are made of."""

    tokens: int

    @cached_property
    def slow(self) -> NDArray[np.int64]:
        """Numbers of the frequencies by which layer 2 compares."""
        turned = THETA * self.tokens
        return np.flatnonzero((math.pi / 16 < turned) & (math.pi / 2 >= turned))

    @cached_property
    def tau(self) -> float:
        """Score of the first token."""
        return float(self.match(self.tokens + 0.5))

    def match(self, rel: Any, inverse: NDArray[np.float64] = THETA) -> Any:
        """Score of a match at distance rel: the sum of cos(theta rel) over the slow frequencies."""
        return np.cos(np.multiply.outer(rel, inverse[self.slow])).sum(-1)


def save_example(folder: Path | str, window: int = 1024, copying: NDArray[np.float64] = THETA) -> Path:
    """Write the model and its tokenizer, which splits at spaces, in Hugging Face's format (3 MB).

    Args:
        folder: The folder to be written.
        window: Tokens that it reads without a method.
        copying: Frequencies for which layer 1 is written.
    """
    from tokenizers import Tokenizer, models, pre_tokenizers

    with no_widgets():
        from transformers import PreTrainedTokenizerFast
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    words = {name: number for number, name in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token=WORDS[UNKNOWN]))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=WORDS[UNKNOWN]).save_pretrained(folder)
    make_example(window, copying).save_pretrained(folder)
    return Path(folder)


def make_example(window: int, copying: NDArray[np.float64] = THETA, **configuration: Any) -> Any:
    """The model, as a ``LlamaForCausalLM`` in float32.

    Args:
        window: Tokens that it reads without a method.
        copying: Frequencies for which layer 1 is written.
        configuration: What its configuration has besides.
    """
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    written_weights = weights(Window(window), copying)
    shape = {
        "vocab_size": VOCABULARY,
        "hidden_size": written_weights["model.norm.weight"].size,
        "intermediate_size": 2,
        "num_hidden_layers": 2,
        "num_attention_heads": 1,
        "num_key_value_heads": 1,
        "head_dim": HEAD,
        "max_position_embeddings": window,
        "bos_token_id": None,
        "eos_token_id": None,
        "pad_token_id": UNKNOWN,
    }
    model = LlamaForCausalLM(LlamaConfig(**{**shape, **configuration})).eval()
    with torch.no_grad():
        for name, written in written_weights.items():
            model.get_parameter(name).copy_(torch.as_tensor(written, dtype=torch.float32))
    return model


def weights(window: Window, copying: NDArray[np.float64] = THETA) -> dict[str, NDArray[np.float64]]:
    """The weights by the names of the model's parameters."""
    slow, half = window.slow, len(window.slow)
    # Coordinates of the hidden state: codes of this word and of the one before, the word, and the output.
    code, before = slice(2, 2 + 2 * half), slice(2 + 2 * half, 2 + 4 * half)
    word, out = slice(before.stop, before.stop + HEAD), slice(before.stop + HEAD, before.stop + 2 * HEAD)
    width = out.stop
    rng = np.random.default_rng(0)
    embedding = np.zeros((VOCABULARY, width))
    embedding[:, 0] = LARGE
    embedding[FIRST, 1] = 1
    phases = rng.uniform(0, 2 * math.pi, (CODED, half))
    embedding[2 : 2 + CODED, code] = np.concatenate((np.cos(phases), np.sin(phases)), axis=1)
    words = rng.choice([-1.0, 1.0], (VOCABULARY, HEAD))
    embedding[:, word] = words
    embedding[FIRST, word] = words[UNKNOWN]
    unit = LARGE / math.sqrt(width)  # what RMSNorm divides by

    def linear(rows: int, columns: int) -> NDArray[np.float64]:
        return np.zeros((rows, columns))

    scale = math.sqrt(math.sqrt(HEAD) * _sharpness(window, copying)) / math.sqrt(width)
    first = {name: linear(HEAD, width) for name in ("q", "k", "v")}
    first["q"][:PAIRS, 0] = scale
    first["k"][:PAIRS, 0], first["k"][PAIRS:, 0] = scale * np.cos(copying), scale * np.sin(copying)
    first["v"][: 2 * half, code] = unit * np.eye(2 * half)
    first["o"] = linear(width, HEAD)
    first["o"][before, : 2 * half] = np.eye(2 * half)

    sharp = math.sqrt(math.sqrt(HEAD) * SHARP)
    second = {name: linear(HEAD, width) for name in ("q", "k", "v")}
    for name, place in (("q", code), ("k", before)):
        for pair, number in enumerate(slow):
            second[name][number, place.start + pair] = sharp * unit
            second[name][PAIRS + number, place.start + half + pair] = sharp * unit
    second["q"][PAIRS - 1, 0] = sharp * window.tau / math.sqrt(width)
    second["k"][PAIRS - 1, 1] = sharp * unit
    second["v"][:, word] = unit * np.eye(HEAD)
    second["o"] = linear(width, HEAD)
    second["o"][out] = np.eye(HEAD)

    output = np.zeros((VOCABULARY, width))
    output[:, out] = unit * words
    by_name = {"model.embed_tokens.weight": embedding, "lm_head.weight": output, "model.norm.weight": np.ones(width)}
    for number, layer in enumerate((first, second)):
        prefix = f"model.layers.{number}"
        by_name |= {f"{prefix}.self_attn.{name}_proj.weight": written for name, written in layer.items()}
        by_name |= {f"{prefix}.{name}_layernorm.weight": np.ones(width) for name in ("input", "post_attention")}
        by_name |= {f"{prefix}.mlp.{name}_proj.weight": np.zeros((2, width)) for name in ("gate", "up")}
        by_name[f"{prefix}.mlp.down_proj.weight"] = np.zeros((width, 2))
    return by_name


def _sharpness(window: Window, copying: NDArray[np.float64]) -> float:
    """The factor of scores with which layer 1 gives the word just before 99% of its attention."""
    scores = np.cos(np.multiply.outer(np.arange(-1, 8 * window.tokens), copying)).sum(-1)
    low, high = 0.0, 1e5
    for _ in range(60):
        middle = (low + high) / 2
        share = 1 / np.exp(middle * (scores - scores[1])).sum()
        low, high = (middle, high) if share < CERTAIN else (low, middle)
    return high
