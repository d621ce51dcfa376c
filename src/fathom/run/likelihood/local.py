"""Local Hugging Face models: one text after another; a common prefix of consecutive texts is computed once."""

import asyncio
from collections.abc import Mapping
from typing import Any

from fathom.extend.hf.calls import cache_in, with_cache
from fathom.extend.methods import FULL
from fathom.run.failures import Failure
from fathom.run.hugging_face import cache_of, failure_of_model, load_model
from fathom.run.likelihood.tokens import TokenLogprobs
from fathom.run.local_client import keeps_all
from fathom.run.model import RequestError
from fathom.types import FathomError, Json

# Tokens per forward pass: only their logits are in memory.
CHUNK = 512


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
        found = self._tokenizer(text, return_offsets_mapping=True, return_special_tokens_mask=True)
        ids, special = list(found["input_ids"]), list(found["special_tokens_mask"])
        if self._window is not None and len(ids) > self._window:
            told = f"the text has {len(ids)} tokens, more than the {self._window} of the model's window"
            raise RequestError(Failure("overflow", told))
        before = self.forwarded
        try:
            logprobs = self._run(ids)
        except Exception as error:
            self._forget()
            raise RequestError(failure_of_model(error, len(ids))) from error
        kept = [None if apart else logprob for logprob, apart in zip(logprobs, special, strict=True)]
        offsets = tuple(start for start, _ in found["offset_mapping"])
        return TokenLogprobs(offsets, tuple(kept), shared=len(ids) - (self.forwarded - before))

    def _run(self, ids: list[int]) -> list[float | None]:
        """Log-probability of each token; None for the first."""
        import torch

        fitted = self._loaded.fit(len(ids))
        if fitted != self._fitted:
            self._forget()
        self._fitted = fitted
        if self._loaded.turns_by_length:
            self._turn_back()
        step = len(ids) if self._loaded.turns_by_length else CHUNK
        place = self._go_back(ids)
        logprobs: list[float | None] = self._logprobs[: place + 1] or [None]
        with torch.inference_mode():
            while place < len(ids):
                chunk = ids[place : place + step]
                logits = self._forward(chunk).float()
                targets = torch.tensor(ids[place + 1 : place + 1 + len(chunk)], device=logits.device)
                rows = logits[: len(targets)]
                told = rows.gather(1, targets[:, None])[:, 0] - rows.logsumexp(dim=1)
                logprobs += told.tolist()
                place += len(chunk)
        self._ids, self._logprobs = ids, logprobs
        return logprobs

    def _forward(self, chunk: list[int]) -> Any:
        """Logits after each token of a chunk that continues the cache."""
        import torch

        given = torch.tensor([chunk], device=self._model.device)
        found = self._model(input_ids=given, **with_cache(self._model, self._cache), use_cache=True)
        self._cache = cache_in(found)
        self.forwarded += len(chunk)
        return found.logits[0]

    def _turn_back(self) -> None:
        """Forget the longest text before, whose frequencies dynamic NTK of transformers keeps."""
        for one in self._model.modules():
            if getattr(one, "rope_type", None) == "dynamic":
                one.inv_freq = one.original_inv_freq.clone()
                one.max_seq_len_cached = one.original_max_seq_len

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
