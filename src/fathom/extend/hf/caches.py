"""Caches that keep less than all keys and values, as layers of a cache of ``transformers``.

A layer that evicts goes on counting the tokens that it has seen, so that positions stay right, and it remembers the
positions of what it keeps. The function for attention, which sees queries too, shows it the weights of the queries that
choose (``watch``) and lets it choose (``settle``). All that is known of a request is in its cache: nothing is left for
the next one.
"""

import zlib
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from transformers.cache_utils import Cache, DynamicCache, DynamicLayer, QuantizedCache

from fathom.extend.caches import Choice, always, is_apart, kind_of, stay
from fathom.extend.hf.attention import BLOCK, SCORES, evicting, refuse_padding
from fathom.extend.hf.calls import with_cache
from fathom.extend.kinds import Method
from fathom.types import FathomError


class SeenLayer(DynamicLayer):  # type: ignore[misc]  # transformers is not typed here
    """Keys and values of a layer, of which some are left out; it goes on counting the tokens that it has seen."""

    keys: Any
    values: Any

    def __init__(self) -> None:
        super().__init__()
        self._seen = 0

    def update(self, key_states: Any, value_states: Any, *more: Any, **options: Any) -> tuple[Any, Any]:
        """Add tokens; returns all keys and values."""
        self._seen += key_states.shape[-2]
        states: tuple[Any, Any] = super().update(key_states, value_states, *more, **options)
        return states

    def get_seq_length(self) -> int:
        """Tokens that were seen."""
        return self._seen

    def get_mask_sizes(self, query_length: Any) -> tuple[int, int]:
        """Tokens that attention sees, and the place of the first.

        Args:
            query_length: Tokens that are computed; before transformers 5.3 their places.
        """
        tokens = query_length if isinstance(query_length, int) else len(query_length)
        return (self.keys.shape[-2] if self.is_initialized else 0) + tokens, 0


class EvictingLayer(SeenLayer):
    """Keys and values of a layer, of which a budget stays after the prompt; the reply is added to it.

    Args:
        draw: Seed of random draws.
        place: Number of the layer, from 0, and how many there are.

    Attributes:
        positions: Places in the text of what is kept, shape (batch, key heads, kept).
        waits: Whether tokens came that no attention has seen since.
    """

    def __init__(self, method: Method, draw: int = 0, place: tuple[int, int] = (0, 1)) -> None:
        super().__init__()
        self._method, self._draw, self._place = method, draw, place
        self._kind = kind_of(method)
        self._budget, self._every = 0, self._kind.watched == "all" and not is_apart(method)
        self._chosen = False
        self._scores: Any = None
        self.positions: Any = None
        self.waits = False

    def update(self, key_states: Any, value_states: Any, *_: Any, **__: Any) -> tuple[Any, Any]:
        """Add tokens.

        Returns:
            All keys and values; the keys lead attention to this layer.

        Raises:
            FathomError: The model computes attention in a way of its own, so that nothing could be chosen.
        """
        if self.waits:
            raise FathomError(
                f"{self._method.name}: the attention of this model is not of the usual kind, so that nothing can be "
                "left out of its cache; leave out cache"
            )
        start = self._seen
        super().update(key_states, value_states)
        batch, heads = key_states.shape[:2]
        places = torch.arange(start, self._seen, device=key_states.device).expand(batch, heads, -1)
        self.positions = places if self.positions is None else torch.cat((self.positions, places), dim=-1)
        self.waits = True
        keys = self.keys.view_as(self.keys)  # a view, because a layer that held what leads to it would not be freed
        keys.evicting = self
        return keys, self.values

    def crop(self, tokens_to_remove: int) -> None:
        """Refuse: what was evicted does not come back.

        Raises:
            FathomError: Always.
        """
        raise FathomError(f"{self._method.name}: a cache that evicts cannot be shortened")

    def first(self, tokens: int) -> int:
        """The first of so many queries whose attention is needed; their number if none is."""
        if self._every or (self._kind.watched == "all" and not self._chosen):
            return 0
        if self._kind.watched == "last" and not self._chosen:
            return max(0, tokens - self._method.whole("window"))
        return tokens

    def watch(self, weights: Any) -> None:
        """See the attention of queries that choose.

        Args:
            weights: After softmax, shape (batch, heads, queries, stored).
        """
        batch, _heads, _queries, stored = weights.shape
        scores = weights.float().reshape(batch, self.keys.shape[1], -1, stored).sum(2)
        if self._scores is not None:
            scores[..., : self._scores.shape[-1]] += self._scores
        self._scores = scores

    def settle(self) -> None:
        """Choose what stays: once, after the prompt; with H2O for each token of the reply too."""
        self.waits = False
        if self._chosen and not self._every:
            return
        stored = self.keys.shape[-2]
        if not self._chosen:
            self._budget, self._chosen = stay(self._method, stored, *self._place), True
            if self._every and self._method["budget"] is not None:
                self._budget = self._method.whole("budget")  # which a short prompt does not fill
        if stored > self._budget:
            last = always(self._method, self._budget)
            places = chosen_places(self._ranks(stored - last), last, self._budget)
            across = places[..., None].expand(*places.shape, self.keys.shape[-1])
            self.keys = self.keys.gather(2, across)
            self.values = self.values.gather(2, places[..., None].expand(*places.shape, self.values.shape[-1]))
            self.positions = self.positions.gather(2, places)
            if self._every:
                self._scores = self._scores.gather(2, places)
        if not self._every:
            self._scores = None

    def _ranks(self, tokens: int) -> Any:
        """How much each of the first tokens deserves to stay."""
        attention = None if self._scores is None else self._scores[..., :tokens]
        return self._kind.rank(Choice(self._method, self.keys[:, :, :tokens], attention, self._draw))


def chosen_places(ranks: Any, last: int, budget: int) -> Any:
    """Places that stay, in order: those of the highest rank, of equal ones the first, and all last ones.

    Args:
        ranks: Of the first tokens, shape (batch, key heads, tokens).
        last: How many come after them, which all stay.
        budget: How many stay.
    """
    *shape, tokens = ranks.shape
    best = ranks.sort(dim=-1, descending=True, stable=True).indices[..., : budget - last].sort(dim=-1).values
    return torch.cat((best, torch.arange(tokens, tokens + last, device=ranks.device).expand(*shape, -1)), dim=-1)


class Engine:
    """Applies a method for the cache to a model; ``CacheKind.engine`` names the module that has it."""

    attention = "fathom_watched"
    """Name under which ``attend`` is registered."""

    def __init__(self, method: Method) -> None:
        self.method = method

    def check(self) -> None:
        """Check that the libraries can do it, before the weights of a model are loaded.

        Raises:
            FathomError: They cannot; the message says what to install.
        """
        from transformers import __version__, cache_utils

        backend = kind_of(self.method).backend
        if backend and not hasattr(cache_utils, f"{backend.capitalize()}QuantizedLayer"):
            raise FathomError(
                f"{self.method.name}: transformers {__version__} has no such cache; install a later version"
            )

    def new_cache(self, config: Any, ids: Sequence[int] = ()) -> Any:
        """An empty cache for one request.

        Args:
            config: The configuration of the model's text.
            ids: Tokens of what is thinned out; random draws depend on them, and on nothing that was before.
        """
        kind, seed = kind_of(self.method), self.method["seed"]
        if kind.backend:
            return QuantizedCache(kind.backend, config)
        if not kind.evicts:
            return DynamicCache(config=config)
        drawn = [zlib.crc32(repr((seed, layer, *ids)).encode()) for layer in range(config.num_hidden_layers)]
        layers = [EvictingLayer(self.method, draw, (layer, len(drawn))) for layer, draw in enumerate(drawn)]
        return Cache(layers=layers)

    def thinning(self, model: Any) -> AbstractContextManager[None]:
        """What must last while the model reads what is thinned out."""
        return nullcontext()

    def try_on(self, model: Any) -> None:
        """Check that the attention of a loaded model shows what the cache is to choose from.

        Raises:
            FathomError: It does not.
        """
        roomy = type(self)(self.method.but(budget=2, ratio=None))  # which has room for the text
        cache = roomy.new_cache(model.config.get_text_config())
        with torch.inference_mode():
            model(torch.ones((1, 2), dtype=torch.long, device=model.device), **with_cache(model, cache))
        if any(layer.waits or not layer.is_initialized for layer in cache.layers):
            raise FathomError(
                f"{self.method.name}: the attention of a model of type {model.config.model_type} is not of the usual "
                "kind, so that nothing can be left out of its cache; leave out cache"
            )

    def attend(
        self, module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **more: Any
    ) -> tuple[Any, Any]:
        """The attention of PyTorch, for ``AttentionInterface``; the cache chooses what it keeps.

        Args:
            query: Rotated, shape (batch, heads, queries, size).
            key: Rotated, shape (batch, key heads, keys, size).
            value: Shape (batch, key heads, keys, size).
            attention_mask: Of ``sdpa``.
            **more: What the model hands to all attention.
        """
        from transformers.integrations.sdpa_attention import sdpa_attention_forward

        if (layer := evicting(key)) is not None:
            if attention_mask is not None and query.shape[2] == key.shape[2]:
                refuse_padding(attention_mask[:, 0, -1])
            attention_mask = after_context(query, key, attention_mask)
            for weights in _weights(query, key, layer, more.get("scaling")):
                layer.watch(weights)
            layer.settle()
        output: tuple[Any, Any] = sdpa_attention_forward(module, query, key, value, attention_mask, **more)
        return output


def bytes_of(cache: Any) -> int:
    """Bytes of all keys and values that a cache holds."""
    return sum(
        tensor.numel() * tensor.element_size()
        for layer in cache.layers
        for name in ("keys", "values", "_quantized_keys", "_quantized_values")
        for tensor in _tensors(getattr(layer, name, None))
    )


def after_context(query: Any, key: Any, mask: Any) -> Any:
    """The mask of a question after what stayed of its context, all of which it sees; of other texts their own mask.

    Args:
        query: Shape (batch, heads, queries, size).
        key: Shape (batch, key heads, keys, size).
    """
    tokens, stored = query.shape[2], key.shape[2]
    if not 1 < tokens < stored:
        return mask
    return torch.ones(tokens, stored, dtype=torch.bool, device=query.device).tril(stored - tokens)[None, None]


def _weights(query: Any, key: Any, layer: EvictingLayer, scaling: float | None) -> Iterator[Any]:
    """The attention of the queries that choose, block by block."""
    batch, heads, tokens, size = query.shape
    few, stored = key.shape[1], key.shape[2]
    step = max(1, min(BLOCK, SCORES // (batch * heads * stored)))
    scaling = size**-0.5 if scaling is None else scaling
    places = torch.arange(layer.get_seq_length() - tokens, layer.get_seq_length(), device=key.device)
    for start in range(layer.first(tokens), tokens, step):
        block = slice(start, min(start + step, tokens))
        grouped = query[:, :, block].reshape(batch, few, -1, size) @ key.transpose(-1, -2)
        scores = grouped.reshape(batch, few, -1, block.stop - start, stored).float() * scaling
        seen = layer.positions[:, :, None, None, :] <= places[block, None]
        scores = scores.masked_fill(~seen, -torch.inf)
        yield scores.softmax(-1).reshape(batch, heads, -1, stored)


def _tensors(stored: Any) -> tuple[Any, ...]:
    """The tensor that a cache holds under a name; quantised ones come with their scale."""
    return () if stored is None else stored if isinstance(stored, tuple) else (stored,)
