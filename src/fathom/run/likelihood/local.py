"""Local Hugging Face models: one text after another; a common prefix of consecutive texts is computed once."""

import asyncio
from typing import Any

from fathom.run.failures import Failure, shorten
from fathom.run.likelihood.tokens import TokenLogprobs
from fathom.run.model import RequestError
from fathom.types import FathomError

PREFIX = "hf/"
# Tokens per forward pass: only their logits are in memory.
CHUNK = 512


class LocalModel:
    """A causal language model from ``transformers`` with the key-value cache of the last text.

    Args:
        name: Folder, or name on the hub.
        share: Whether to reuse common prefixes. Only possible if all layers cache every key and value.

    Attributes:
        forwarded: Number of tokens computed so far.
    """

    def __init__(self, name: str, *, share: bool = True) -> None:
        self._model, self._tokenizer = _load(name)
        self._share = share
        self._window: int | None = getattr(self._model.config, "max_position_embeddings", None)
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
            raise RequestError(Failure("bad", shorten(f"{type(error).__name__}: {error}", 300))) from error
        kept = [None if apart else logprob for logprob, apart in zip(logprobs, special, strict=True)]
        offsets = tuple(start for start, _ in found["offset_mapping"])
        return TokenLogprobs(offsets, tuple(kept), shared=len(ids) - (self.forwarded - before))

    def _run(self, ids: list[int]) -> list[float | None]:
        """Log-probability of each token; None for the first."""
        import torch

        place = self._go_back(ids)
        logprobs: list[float | None] = self._logprobs[: place + 1] or [None]
        with torch.inference_mode():
            while place < len(ids):
                chunk = ids[place : place + CHUNK]
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
        found = self._model(input_ids=given, past_key_values=self._cache, use_cache=True)
        self._cache = found.past_key_values
        self.forwarded += len(chunk)
        return found.logits[0]

    def _go_back(self, ids: list[int]) -> int:
        """Shorten the cache to the prefix shared with the new text; returns its number of tokens."""
        same = 0
        while same < min(len(self._ids), len(ids)) and self._ids[same] == ids[same]:
            same += 1
        # The last common token is computed again: its logits give the likelihood of the first differing one.
        place = max(0, same - 1)
        if not (self._share and place and _keeps_all(self._cache)):
            self._forget()
            return 0
        if len(self._ids) > place:
            self._cache.crop(place - len(self._ids))
        return place

    def _forget(self) -> None:
        self._ids, self._logprobs, self._cache = [], [], None


def _keeps_all(cache: Any) -> bool:
    """Whether a cache can be shortened anywhere: sliding windows and recurrent states cannot."""
    layers: list[object] = getattr(cache, "layers", None) or []
    return bool(layers) and all(type(layer).__name__ == "DynamicLayer" for layer in layers)


def _load(name: str) -> tuple[Any, Any]:
    try:
        import torch
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils.logging import disable_progress_bar
    except ImportError as error:
        raise FathomError(f"model hf/{name}: needs torch and transformers: pip install 'fathom-eval[hf]'") from error
    device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    disable_progress_bar()
    try:
        tokenizer = AutoTokenizer.from_pretrained(name)
        model = AutoModelForCausalLM.from_pretrained(name, dtype="auto", use_safetensors=True)
        model = model.to(device).eval()
    except (OSError, ValueError, ImportError, KeyError) as error:
        raise FathomError(f"model hf/{name}: loading failed: {shorten(str(error).splitlines()[0], 300)}") from error
    if not tokenizer.is_fast:
        raise FathomError(f"model hf/{name}: its tokenizer does not return token offsets")
    return model, tokenizer
