"""Tiny models with random weights, extended by methods, and their attention computed in the simplest way."""

from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np

from fathom.extend.frequencies import frequencies, plain_frequencies
from fathom.extend.hf.checks import head_size
from fathom.extend.methods import Method, split_name
from fathom.extend.positions import relative_positions

WINDOW, WORDS = 64, 97
SHAPE = {
    "vocab_size": WORDS,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": WINDOW,
    "initializer_range": 0.12,
    "pad_token_id": 0,
    "bos_token_id": 1,
    "eos_token_id": None,
}
KINDS: dict[str, dict[str, Any]] = {
    "Llama": {},
    "Mistral": {"sliding_window": None},
    "Qwen2": {},
    "Qwen3": {"head_dim": 16},
    "Gemma": {"head_dim": 16},
    "Phi": {"partial_rotary_factor": 0.5},
    "Phi3": {},
}
DIVISORS = "1,1.5,2,2.5,3,3.5,4,4"
METHODS = (
    "none&length=256",
    "pi&factor=4",
    "ntk&factor=4",
    "ntk&factor=4&form=su",
    "ntk&factor=4&form=mixed",
    "dynamic",
    "yarn&factor=4",
    "abf&length=256",
    "llama3&factor=4",
    f"longrope&factor=4&long_factor={DIVISORS}",
    "rerope&window=16",
    "rerope&window=16&log=false",
    "leaky&window=16&group=4",
    "selfextend&window=16&group=4",
    "selfextend&window=16&group=4&log=true",
    "dca&chunk=24&local=8",
    "streaming&sinks=4&window=20",
)


def make_config(kind: str, **more: Any) -> Any:
    """A tiny configuration of a kind of model."""
    import transformers

    return getattr(transformers, f"{kind}Config")(**{**SHAPE, **KINDS[kind], **more})


def make_extended(kind: str, query: str, **more: Any) -> tuple[Any, Any]:
    """A model with random weights, with the methods of a query, and its extension."""
    import torch
    import transformers

    from fathom.extend.hf.extension import plan_extension

    config = make_config(kind, **more)
    if kind == "Phi":  # whose heads turn by half
        query = query.replace(DIVISORS, DIVISORS[: len(DIVISORS) // 2])
    extension = plan_extension(config, *split_name(f"hf/x?extend={query}")[1:])
    own = {} if extension.attention is None else {"attn_implementation": extension.attention}
    torch.manual_seed(0)
    model = getattr(transformers, f"{kind}ForCausalLM")._from_config(config, **own).eval()
    extension.attach(model)
    return model, extension


def naive(model: Any, method: Method, tokens: int, total: int | None = None, seen: Any = None) -> Any:
    """The same model in float64, with one full matrix of scores for each layer and without a cache.

    Every pair of a query and a key is rotated by its own relative position, as ``relative_positions`` has it.

    Args:
        model: A model of ``make_extended``.
        method: With its values (``settled``).
        tokens: Tokens of the text.
        total: Tokens of the request, prompt and reply together, where they are more.
        seen: For each layer, which keys a query sees besides, shape (key heads, tokens, tokens); by default all.

    Returns:
        The model; the attention of its layers have ``weights`` after a text.
    """
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface

    config = model.config
    size = head_size(config)
    if method.kind.family == "positions":
        inverse, factor = plain_frequencies(size, 10_000.0), 1.0
    else:
        inverse, factor = frequencies(method, size, 10_000.0, total or tokens)
    rel = torch.tensor(relative_positions(method, tokens))
    angles = rel.nan_to_num()[..., None] * torch.tensor(inverse, dtype=torch.float64)
    cos, sin = angles.cos() * factor**2, angles.sin() * factor**2
    half = len(inverse)
    places = torch.arange(1, tokens + 1, dtype=torch.float64)
    logarithmic = method["log"] or method["form"] == "mixed"
    scale = (places.log() / math.log(WINDOW)).clip(min=1) if logarithmic else torch.ones(tokens, dtype=torch.float64)

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, scaling: float, **_: Any) -> tuple[Any, None]:
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
        q1, q2, rest = query[..., :half], query[..., half : 2 * half], query[..., 2 * half :]
        k1, k2, others = key[..., :half], key[..., half : 2 * half], key[..., 2 * half :]
        even = torch.einsum("bhid,bhjd,ijd->bhij", q1, k1, cos) + torch.einsum("bhid,bhjd,ijd->bhij", q2, k2, cos)
        odd = torch.einsum("bhid,bhjd,ijd->bhij", q1, k2, sin) - torch.einsum("bhid,bhjd,ijd->bhij", q2, k1, sin)
        scores = (even + odd + rest @ others.transpose(-1, -2)) * scaling * scale[:, None]
        hidden = rel.isnan()
        if seen is not None:
            hidden = hidden | ~seen[module.layer_idx].repeat_interleave(groups, 0)
        weights = scores.masked_fill(hidden, -math.inf).softmax(-1)
        module.weights = weights[0]
        return (weights @ value).transpose(1, 2), None

    AttentionInterface.register("fathom_naive", attend)
    AttentionMaskInterface.register("fathom_naive", lambda *_, **__: None)
    other = copy.deepcopy(model).double()
    for module in other.modules():
        if hasattr(module, "inv_freq"):
            module.inv_freq.zero_()
            module.attention_scaling = 1.0
    other.set_attn_implementation("fathom_naive")
    return other


def some_ids(tokens: int, seed: int = 0) -> Any:
    """Random tokens, shape (1, tokens); none of them is padding."""
    import torch

    drawn = np.random.default_rng(seed).integers(2, WORDS, tokens)
    return torch.tensor(drawn)[None]
