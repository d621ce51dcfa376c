"""Local Hugging Face models: one text after another; a common prefix of consecutive texts is computed once."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from typing import Any

from fathom.extend.methods import FULL
from fathom.models.failures import Failure
from fathom.models.hugging_face import cache_of, failure_of_model, load_model
from fathom.models.local_client import keeps_all
from fathom.models.protocol import RequestError
from fathom.run.likelihood import passes
from fathom.run.likelihood.passes import (
    Way,
    logits_at_once,
    logits_in_parts,
    logits_of_chunk,
    logprobs_in,
    turned_for,
    way_of,
)
from fathom.run.likelihood.tokens import TokenLogprobs
from fathom.types import FathomError, Json


class LocalModel:
    """A causal language model from ``transformers`` with the key-value cache of the last text.

    Args:
        name: ``hf/`` and a folder or a name on the hub.
        arguments: See ``load_model``.
        share: Whether to reuse common prefixes. Only possible if all layers cache every key and value.

    Attributes:
        forwarded: Number of tokens computed so far.
    """

    def __init__(self, name: str, arguments: Mapping[str, Json] | None = None, *, share: bool = True) -> None:
        if (cache := cache_of(name)) != FULL:
            raise FathomError(
                f"model {name}: likelihoods are those of texts as they are read, before {cache.name} leaves anything "
                "out; leave out cache"
            )
        loaded = load_model(name, arguments)
        if not loaded.tokenizer.is_fast:
            raise FathomError(
                f"model {name}: its tokenizer does not say where tokens are in the text; give another with "
                "-M tokenizer=PATH"
            )
        self._loaded, self._fitted = loaded, loaded.fit(0)
        self._model, self._tokenizer, self._window = loaded.model, loaded.tokenizer, loaded.window
        self._share = share
        self._way: Way | None = None
        self._working = asyncio.Lock()
        self._ids: list[int] = []
        self._logprobs: list[float | None] = []
        self._cache: Any = None
        self.forwarded = 0

    async def score(self, text: str) -> TokenLogprobs:
        """Log-probability of every token of a text."""
        async with self._working:
            return await asyncio.to_thread(self._score, text)

    async def close(self) -> None:
        """Release the memory of the last text."""
        self._forget()

    def _score(self, text: str) -> TokenLogprobs:
        encoded = self._tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        ids, special = list(encoded["input_ids"]), list(encoded["special_tokens_mask"])
        if self._window is not None and len(ids) > self._window:
            reason = f"the text has {len(ids)} tokens, more than the {self._window} of the model's window"
            raise RequestError(Failure("overflow", reason))
        before = self.forwarded
        try:
            logprobs = self._run(ids)
        except Exception as error:
            self._forget()
            raise RequestError(failure_of_model(error, len(ids))) from error
        kept = [None if apart else logprob for logprob, apart in zip(logprobs, special, strict=True)]
        offsets = tuple(start for start, _ in encoded["offset_mapping"])
        return TokenLogprobs(offsets, tuple(kept), shared=len(ids) - (self.forwarded - before))

    def _run(self, ids: list[int]) -> list[float | None]:
        """Log-probability of each token; None for the first."""
        import torch

        fitted = self._loaded.fit(len(ids))
        if fitted != self._fitted:
            self._forget()
        self._fitted = fitted
        turns = self._loaded.turns_by_length
        with torch.inference_mode(), turned_for(self._model, len(ids)) if turns else nullcontext(True) as turned:
            if self._way is None:
                self._way = way_of(self._model)
            way = "parts" if self._way == "chunks" and not turned else self._way
            place = self._go_back(ids)
            logprobs: list[float | None] = self._logprobs[: place + 1] or [None]
            for logits in self._logits(way, ids, place):
                logprobs += logprobs_in(logits, ids[place + 1 : place + 1 + len(logits)])
                place += len(logits)
        self._ids, self._logprobs = ids, logprobs
        return logprobs

    def _logits(self, way: Way, ids: list[int], place: int) -> Iterator[Any]:
        """Logits after each token from ``place`` on, which is 0 without a cache."""
        if way != "chunks":
            self.forwarded += len(ids)
            parts = logits_in_parts(self._model, ids, passes.CHUNK)
            yield from parts if way == "parts" else logits_at_once(self._model, ids)
            return
        for start in range(place, len(ids), passes.CHUNK):
            chunk = ids[start : start + passes.CHUNK]
            self.forwarded += len(chunk)
            logits, self._cache = logits_of_chunk(self._model, chunk, self._cache)
            yield logits

    def _go_back(self, ids: list[int]) -> int:
        """Shorten the cache to the prefix shared with the new text; returns its number of tokens."""
        same = 0
        while same < min(len(self._ids), len(ids)) and self._ids[same] == ids[same]:
            same += 1
        # The last common token is computed again: its logits give the likelihood of the first differing one.
        place = max(0, same - 1)
        if not (self._share and place and keeps_all(self._cache)):
            self._forget()
            return 0
        if len(self._ids) > place:
            self._cache.crop(place - len(self._ids))
        return place

    def _forget(self) -> None:
        self._ids, self._logprobs, self._cache = [], [], None
