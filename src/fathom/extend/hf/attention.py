"""Attention with mapped positions, for the registries of ``transformers``.

The model's own rotary embedding is made the identity, so that queries, keys and the cache are not rotated. The function
for masks is called once for each forward pass: it finds the positions of all tokens and the angles of each level. The
function for attention, called by each layer, rotates queries and keys by level and takes of each pair the score of the
level that covers it. Queries are computed in blocks, so that memory grows with the length and not with its square.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fathom.extend.frequencies import Floats
from fathom.extend.methods import Method
from fathom.extend.positions import Level, levels
from fathom.types import FathomError

BLOCK = 256
"""Queries that are computed at once, at most."""
BLOCKS = "blocks"
"""The name of causal attention in blocks, for ``-M attn_implementation``."""
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
        if not isinstance(attention_mask, Pass):
            raise FathomError(
                "this model makes its masks in a way of its own, so that positions cannot be mapped; choose a method "
                "that changes frequencies"
            )
        given, size, few = attention_mask, query.shape[-1], key.shape[1]
        layer = evicting(key)
        if layer is not None and given.real is not None:
            refuse_padding(given.real)
        if given.keys is not None and given.keys.shape[-1] == key.shape[2]:
            places, turns = given.keys, [own_angles for _, own_angles in given.angles]
        else:
            places = layer.positions.repeat_interleave(query.shape[1] // few, 1)
            turns = self._angles_of_keys(layer.positions)
        scaling = size**-0.5 if scaling is None else scaling
        scale = scaling if given.scale is None else scaling * given.scale.to(query.device)
        query = (query.float() * scale).to(query.dtype)

        def turned(number: int, block: slice) -> Any:
            return _rotate(query[:, :, block], given.angles[number][0], block)

        states = States(turned, tuple(_rotated_keys(key, turns)), value, query.shape[1])
        pairs = Pairs(self._levels, given.queries, places, given.real)
        output = attend_in_blocks(states, pairs, softcap, layer)
        if layer is not None:
            layer.settle()
        return output, None

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


@dataclass(frozen=True)
class Pairs:
    """Which queries see which keys, and by which level.

    Attributes:
        levels: The levels of a map.
        queries: Positions of the queries, shape (batch or 1, queries), which do not fall.
        keys: Positions of the keys, shape (batch or 1, heads or 1, keys), which do not fall.
        real: Which keys are no padding, shape (batch, keys); None where all are.
    """

    levels: Sequence[Level]
    queries: Any
    keys: Any
    real: Any = None

    def seen(self, block: slice) -> Iterator[tuple[int, slice, slice, Any]]:
        """For each level that a block of queries needs: its number, the range of keys, and what of it is hidden.

        By the rule of ``Level`` the first query and the last one, if both see some, show what all of a block see.

        Yields:
            The last two are the part of the range that not all queries see whole, and where there it is hidden.
        """
        i, j = self.queries[:, None, block, None], self.keys[:, :, None, :]
        ends = i[:, :, [0, -1]]
        for number, level in enumerate(self.levels):
            covered = self._covered(level, ends, j, self.real)
            if not covered.any(-1).all():
                covered = self._covered(level, i, j, self.real)
            covered = covered.flatten(0, 2)
            some = covered.any(0).nonzero()
            if not len(some):
                continue
            keys = slice(int(some[0]), int(some[-1]) + 1)
            part = covered[:, keys].all(0).logical_not().nonzero()
            inner = slice(int(part[0]), int(part[-1]) + 1) if len(part) else slice(0, 0)
            place = slice(keys.start + inner.start, keys.start + inner.stop)
            real = None if self.real is None else self.real[:, place]
            yield number, keys, inner, ~self._covered(level, i, j[..., place], real)

    @staticmethod
    def _covered(level: Level, i: Any, j: Any, real: Any) -> Any:
        covered = (j <= i) & level.covers(i, j)
        return covered if real is None else covered & real[:, None, None, :]


@dataclass(frozen=True)
class States:
    """What attention is computed from.

    Attributes:
        query: The queries of a block, rotated for a level and scaled; shape (batch, heads, queries, size).
        keys: For each level, shape (batch, key heads, keys, size).
        value: Shape (batch, key heads, keys, size).
        heads: How many heads there are.
    """

    query: Callable[[int, slice], Any]
    keys: Sequence[Any]
    value: Any
    heads: int


def attend_in_blocks(states: States, pairs: Pairs, softcap: float | None = None, layer: Any = None) -> Any:
    """Attention, computed for a block of queries at a time, over the keys that it sees.

    Memory grows with the length and not with its square. Without a GPU one key head is computed after the other, so
    that the scores of a block stay near the processor.

    Args:
        states: Queries, keys and values.
        pairs: Which see each other.
        softcap: Bound of the scores, of models that have one.
        layer: A cache that watches the weights; None if none does.

    Returns:
        Shape (batch, queries, heads, size); zeros for a block of which no query sees a key.
    """
    import torch

    value, tokens = states.value, pairs.queries.shape[-1]
    batch, few, stored, _size = value.shape
    group = states.heads // few
    together, most = (few, BLOCK) if value.is_cuda else (1, BLOCK // 4)
    step = max(1, min(most, SCORES // (batch * states.heads * stored)))
    chooses = tokens if layer is None else layer.first(tokens)
    outputs = []
    for start in range(0, tokens, step):
        block = slice(start, min(start + step, tokens))
        seen = [(*part, states.query(part[0], block)) for part in pairs.seen(block)]
        watched = (
            value.new_zeros((batch, states.heads, block.stop - start, stored), dtype=torch.float32)
            if block.stop > chooses
            else None
        )
        rows = []
        for first in range(0, few, together) if seen else ():
            own, heads = slice(first, first + together), slice(first * group, (first + together) * group)
            scores = []
            for number, keys, inner, hidden, query in seen:
                grouped = query[:, heads].reshape(batch, together, -1, query.shape[-1])
                score = (grouped @ states.keys[number][:, own, keys].transpose(-1, -2)).unflatten(2, (group, -1))
                if softcap is not None:
                    score = softcap * torch.tanh(score.float() / softcap)
                hidden = hidden if hidden.shape[1] == 1 else hidden[:, heads]
                score.flatten(1, 2)[..., inner].masked_fill_(hidden.to(score.device), torch.finfo(score.dtype).min)
                scores.append(score.flatten(2, 3))
            exact = torch.float32 if watched is not None else None
            weights = torch.softmax(scores[0] if len(scores) == 1 else torch.cat(scores, -1), -1, dtype=exact)
            parts = weights.split([score.shape[-1] for score in scores], -1)
            rows.append(
                sum(part.to(value.dtype) @ value[:, own, keys] for part, (_, keys, *_) in zip(parts, seen, strict=True))
            )
            if watched is not None:
                for part, (_, keys, *_) in zip(parts, seen, strict=True):
                    watched[:, heads, :, keys] += part.reshape(batch, together * group, -1, part.shape[-1])
        if not seen:  # padding
            rows.append(value.new_zeros((batch, few, group * (block.stop - start), value.shape[-1])))
        out = torch.cat(rows, 1) if len(rows) > 1 else rows[0]
        outputs.append(out.reshape(batch, states.heads, -1, value.shape[-1]))
        if watched is not None:
            layer.watch(watched[:, :, max(0, chooses - start) :])
    return torch.cat(outputs, 2).transpose(1, 2).contiguous()


def register_blocks() -> None:
    """Register ``BLOCKS``, the attention of models that rotate by themselves."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(BLOCKS, attend_causally)
    AttentionMaskInterface.register(BLOCKS, sdpa_mask)


def attend_causally(module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **more: Any) -> tuple[Any, Any]:
    """Attention to all tokens before, in blocks; that of PyTorch for single tokens, padding and other masks.

    Args:
        query: Rotated, shape (batch, heads, queries, size).
        key: Rotated, shape (batch, key heads, keys, size).
        value: Shape (batch, key heads, keys, size).
        attention_mask: Of ``sdpa``; None where a query sees all tokens before.
        **more: What the model hands to all attention.

    Raises:
        FathomError: The model bounds its scores, which attention of PyTorch cannot.
    """
    import torch
    from transformers.integrations.sdpa_attention import sdpa_attention_forward

    if more.get("softcap") is not None:
        raise FathomError(f"this model bounds its scores, which {BLOCKS} does not; use `attn_implementation` eager")
    tokens, stored = query.shape[2], key.shape[2]
    if attention_mask is not None or tokens == 1 or not getattr(module, "is_causal", True):
        output: tuple[Any, Any] = sdpa_attention_forward(module, query, key, value, attention_mask, **more)
        return output
    scaling = more.get("scaling")
    query = query * (query.shape[-1] ** -0.5 if scaling is None else scaling)
    places = torch.arange(stored, device=key.device)[None]
    pairs = Pairs((Level(_same, _same, lambda i, j: j <= i),), places[:, stored - tokens :], places[:, None])
    states = States(lambda _, block: query[:, :, block], (key,), value, query.shape[1])
    return attend_in_blocks(states, pairs), None


def _same(place: Any) -> Any:
    return place


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
