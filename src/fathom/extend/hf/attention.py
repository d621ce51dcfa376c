"""Attention with mapped positions, for the registries of ``transformers``.

The model's own rotary embedding is made the identity, so that queries, keys and the cache are not rotated. The function
for masks is called once for each forward pass: it finds the positions of all tokens and the angles of each level. The
function for attention, called by each layer, rotates queries and keys by level and takes of each pair the score of the
level that covers it. Queries are computed in blocks, so that memory grows with the length and not with its square.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fathom.extend.frequencies import Floats
from fathom.extend.methods import Method
from fathom.extend.positions import Level, levels
from fathom.types import FathomError

BLOCK = 256
"""Queries that are computed at once, at most."""
SCORES = 2**25
"""Scores that are in memory at once, where a block of one query does not have more."""


@dataclass(frozen=True)
class Angles:
    """Cosines and sines for tokens, shape (batch or 1, key heads or 1, tokens, pairs)."""

    cos: Any
    sin: Any


@dataclass(frozen=True)
class Pass:
    """What all layers of a forward pass share; it takes the place of the attention mask.

    Attributes:
        queries: Positions of the queries, shape (batch or 1, queries).
        keys: Positions of the keys, shape (batch or 1, 1, keys); None where each layer's cache has its own.
        real: Which keys are no padding, shape (batch, keys); None where all are.
        angles: For each level, those of queries and of keys; of keys None where each layer has its own.
        scale: Factor of the queries, shape (batch or 1, 1, queries, 1); None for 1.
    """

    queries: Any
    keys: Any
    real: Any
    angles: tuple[tuple[Angles, Angles | None], ...]
    scale: Any

    def to(self, *_: Any, **__: Any) -> "Pass":
        """Itself: layers on other devices move what they need."""
        return self


class MappedAttention:
    """The attention of a method, with two functions to register under one name.

    Args:
        method: With its values (``settled``).
        inverse: Inverse frequencies of the model.
        factor: Its attention factor, which multiplies cosines and sines.
    """

    def __init__(self, method: Method, inverse: Floats, factor: float) -> None:
        self._levels: tuple[Level, ...] = levels(method)
        self._inverse, self._factor = inverse, factor
        logarithmic = bool(method["log"]) or method["form"] == "mixed"
        self._trained = method.whole("original") if logarithmic else None

    def mask(
        self,
        *_: Any,
        kv_length: int,
        q_length: int = 0,
        q_offset: int | None = None,
        cache_position: Any = None,
        attention_mask: Any = None,
        device: Any = None,
        **__: Any,
    ) -> Pass:
        """The positions and angles of a forward pass, for ``AttentionMaskInterface``.

        Args:
            kv_length: Tokens that they may see: the cache, and themselves.
            q_length: Tokens that are computed.
            q_offset: Tokens in the cache.
            cache_position: Places of the tokens that are computed, from transformers before 5.3 instead of both.
            attention_mask: Which tokens are no padding, shape (batch, tokens); None where all are.
            device: Where to compute.
        """
        import torch

        if cache_position is not None:
            q_length, q_offset, device = len(cache_position), int(cache_position[0]), cache_position.device
        start = kv_length - q_length if q_offset is None else int(q_offset)
        seen = max(kv_length, start + q_length)
        real = None if attention_mask is None else attention_mask[:, :seen].bool()
        if real is None or bool(real.all()):
            real, places = None, torch.arange(seen, device=device)[None]
        else:
            places = (real.cumsum(1) - 1).clip(min=0)
        queries = places[:, start : start + q_length]
        keys = places[:, None] if kv_length == seen else None
        angles = tuple(
            (self._angles(level.query(queries)[:, None]), own)
            for level, own in zip(self._levels, self._angles_of_keys(keys), strict=True)
        )
        return Pass(queries, keys, real, angles, self._scale(queries))

    def attend(
        self,
        module: Any,
        query: Any,
        key: Any,
        value: Any,
        attention_mask: Pass | None,
        scaling: float | None = None,
        softcap: float | None = None,
        **_: Any,
    ) -> tuple[Any, None]:
        """The output of a layer, for ``AttentionInterface``.

        Args:
            query: Not rotated, shape (batch, heads, queries, size).
            key: Not rotated, shape (batch, key heads, keys, size).
            value: Shape (batch, key heads, keys, size).
            attention_mask: What ``mask`` returned; models with masks of their own hand in something else.
            softcap: Bound of the scores, of models that have one.

        Returns:
            The output, shape (batch, queries, heads, size), and no weights.

        Raises:
            FathomError: The model makes its masks in a way of its own.
        """
        import torch

        if not isinstance(attention_mask, Pass):
            raise FathomError(
                "this model makes its masks in a way of its own, so that positions cannot be mapped; choose a method "
                "that changes frequencies"
            )
        batch, heads, tokens, size = query.shape
        few, seen = key.shape[1], key.shape[2]
        step = max(1, min(BLOCK, SCORES // (batch * heads * seen)))
        scaling = size**-0.5 if scaling is None else scaling
        layer = evicting(key)
        if layer is not None and attention_mask.real is not None:
            refuse_padding(attention_mask.real)
        if attention_mask.keys is not None and attention_mask.keys.shape[-1] == seen:
            places, turns = attention_mask.keys, [own_angles for _, own_angles in attention_mask.angles]
        else:
            places = layer.positions.repeat_interleave(heads // few, 1)
            turns = self._angles_of_keys(layer.positions)
        rotated = _rotated_keys(key, turns)
        if attention_mask.scale is not None:
            query = (query * attention_mask.scale.to(query.device)).to(query.dtype)
        lowest = torch.finfo(torch.float32).min
        chooses = tokens if layer is None else layer.first(tokens)
        outputs = []
        for start in range(0, tokens, step):
            block = slice(start, min(start + step, tokens))
            i, j = attention_mask.queries[:, None, block, None], places[:, :, None, :]
            allowed = j <= i
            if attention_mask.real is not None:
                allowed = allowed & attention_mask.real[:, None, None, :]
            scores = torch.full((batch, heads, block.stop - start, seen), lowest, device=query.device)
            for level, (angles, _own), keys in zip(self._levels, attention_mask.angles, rotated, strict=True):
                covered = allowed & level.covers(i, j)
                if not bool(covered.any()):
                    continue
                turned = _rotate(query[:, :, block], angles, block)
                grouped = turned.reshape(batch, few, -1, size) @ keys.transpose(-1, -2)
                own = grouped.reshape(scores.shape).float() * scaling
                if softcap is not None:
                    own = softcap * torch.tanh(own / softcap)
                scores = torch.where(covered.to(query.device), own, scores)
            weights = torch.softmax(scores, dim=-1)
            if layer is not None and block.stop > chooses:
                layer.watch(weights[:, :, max(0, chooses - start) :])
            out = weights.to(value.dtype).reshape(batch, few, -1, seen) @ value
            outputs.append(out.reshape(batch, heads, -1, value.shape[-1]))
        if layer is not None:
            layer.settle()
        return torch.cat(outputs, dim=2).transpose(1, 2).contiguous(), None

    def _angles_of_keys(self, places: Any) -> list[Any]:
        """For each level, the angles of keys, None without places; levels that turn them in the same way share them."""
        if places is None:
            return [None for _ in self._levels]
        made: dict[int, Angles] = {}
        for level in self._levels:
            if id(level.key) not in made:
                made[id(level.key)] = self._angles(level.key(places))
        return [made[id(level.key)] for level in self._levels]

    def _angles(self, positions: Any) -> Angles:
        """Cosines and sines of positions, which may be fractions; computed in double precision where there is one.

        Args:
            positions: Shape (batch or 1, key heads or 1, tokens).
        """
        import torch

        exact = torch.float32 if positions.device.type == "mps" else torch.float64
        inverse = torch.as_tensor(self._inverse, device=positions.device, dtype=exact)
        turns = positions.to(exact)[..., None] * inverse
        return Angles((turns.cos() * self._factor).float(), (turns.sin() * self._factor).float())

    def _scale(self, queries: Any) -> Any:
        """max(1, ln(i + 1)/ln(trained window)) for query i."""
        if self._trained is None or int(queries.max()) < self._trained:
            return None
        return ((queries + 1).float().log() / math.log(self._trained)).clip(min=1)[:, None, :, None]


def evicting(key: Any) -> Any:
    """The layer of a cache that keeps less than all (``caches.EvictingLayer``), of keys that it returned; else None."""
    return getattr(key, "evicting", None)


def refuse_padding(real: Any) -> None:
    """Refuse a batch with padding, of which a cache that evicts could keep some.

    Args:
        real: Which tokens are no padding.

    Raises:
        FathomError: Some are.
    """
    if not bool(real.all()):
        raise FathomError("a cache that evicts cannot take a batch with padding; ask one prompt at a time")


def _rotated_keys(key: Any, angles: Sequence[Any]) -> list[Any]:
    """The keys rotated for each level; levels with the same angles share them."""
    made: dict[int, Any] = {}
    for angle in angles:
        if id(angle) not in made:
            made[id(angle)] = _rotate(key, angle, slice(None))
    return [made[id(angle)] for angle in angles]


def _rotate(states: Any, angles: Angles, tokens: slice) -> Any:
    """Rotate the first coordinates of heads, of which the first half and the second are pairs; the others stay."""
    import torch

    cos, sin = (part[:, :, tokens].to(states.device) for part in (angles.cos, angles.sin))
    half = cos.shape[-1]
    first, second = states[..., :half].float(), states[..., half : 2 * half].float()
    turned = torch.cat((first * cos - second * sin, second * cos + first * sin), dim=-1).to(states.dtype)
    return turned if 2 * half == states.shape[-1] else torch.cat((turned, states[..., 2 * half :]), dim=-1)
