"""Logits of a long text in parts: those of all its tokens at once would take gigabytes.

By default the model reads the text in chunks with its key-value cache. Not every model can: some recurrent layers begin
anew with every chunk, and some models return no cache. Such a model computes the hidden states of the whole text, and
then logits for a part of them at a time.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias

from fathom.extend.hf.calls import cache_in, with_cache

Way: TypeAlias = Literal["chunks", "parts", "whole"]
CHUNK = 512
"""Tokens whose logits are in memory at once."""
_TRIAL, _SPLIT = 24, 8
"""Tokens of the text on which ways are compared, and of its first chunk."""
_CLOSE, _NEARLY = 1e-3, 0.03
"""Differences of logits that are rounding, as shares of the largest: with 32 bits or more, and with fewer."""
_TURNING = ("dynamic", "longrope")


@contextmanager
def turned_for(model: Any, tokens: int) -> Iterator[bool]:
    """Give a whole text the frequencies of its length, which transformers would change from chunk to chunk.

    Args:
        model: A model of ``transformers`` whose configuration has dynamic NTK or LongRoPE.

    Yields:
        Whether the model has rotary embeddings of the kind that is known here.
    """
    import torch

    embeddings = [module for module in model.modules() if getattr(module, "rope_type", None) in _TURNING]
    kinds = [module.rope_type for module in embeddings]
    try:
        for module in embeddings:
            if module.rope_type == "dynamic":  # which keeps the frequencies of the longest text before
                module.inv_freq = module.original_inv_freq.clone()
                module.max_seq_len_cached = module.original_max_seq_len
            place = module.inv_freq.device
            module(torch.zeros(1, device=place), torch.tensor([[tokens - 1]], device=place))
            module.rope_type = "default"
        yield bool(embeddings)
    finally:
        for module, kind in zip(embeddings, kinds, strict=True):
            module.rope_type = kind


def way_of(model: Any) -> Way:
    """How the logits of a long text are computed: in the first way that agrees with one pass over a short text.

    Args:
        model: A causal language model of ``transformers``, with the frequencies of the text.

    Returns:
        ``chunks``: with a cache. ``parts``: from the hidden states of the whole text. ``whole``: all at once.
    """
    import torch

    ids = [place % model.get_input_embeddings().weight.shape[0] for place in range(1, _TRIAL + 1)]
    with torch.inference_mode():
        (plain,) = logits_at_once(model, ids)
        first, cache = logits_of_chunk(model, ids[:_SPLIT], None)
        second, _ = logits_of_chunk(model, ids[_SPLIT:], cache)
        if cache is not None and _close(torch.cat((first, second)), plain):
            return "chunks"
        parts = torch.cat([*logits_in_parts(model, ids, _SPLIT)])
    return "parts" if _close(parts, plain) else "whole"


def logits_of_chunk(model: Any, chunk: Sequence[int], cache: Any) -> tuple[Any, Any]:
    """Logits after each token of a chunk that continues a cache, tokens x vocabulary, and the longer cache."""
    output = model(input_ids=_row(model, chunk), **with_cache(model, cache), use_cache=True)
    return output.logits[0], cache_in(output)


def logits_in_parts(model: Any, ids: Sequence[int], size: int) -> Iterator[Any]:
    """Logits after each token of a text, ``size`` tokens at a time; the text runs through the layers once.

    The model itself turns hidden states into logits, because many scale or bound them after the last matrix.
    """
    row, base = _row(model, ids), model.base_model
    output = base(input_ids=row, use_cache=False)
    for start in range(0, len(ids), size):
        part = slice(start, start + size)
        with _answering(base, type(output)(last_hidden_state=output.last_hidden_state[:, part])):
            yield model(input_ids=row[:, part], use_cache=False).logits[0]


def logits_at_once(model: Any, ids: Sequence[int]) -> Iterator[Any]:
    """Logits after each token of a text."""
    yield model(input_ids=_row(model, ids), use_cache=False).logits[0]


def logprobs_in(logits: Any, following: Sequence[int]) -> list[float]:
    """Log-probabilities of the tokens that follow.

    Args:
        logits: Tokens x vocabulary.
        following: The token after each of them; the last may be missing.
    """
    import torch

    rows = logits[: len(following)].float()
    targets = torch.tensor(following, device=rows.device)
    logprobs: list[float] = (rows.gather(1, targets[:, None])[:, 0] - rows.logsumexp(dim=1)).tolist()
    return logprobs


def _row(model: Any, ids: Sequence[int]) -> Any:
    import torch

    return torch.tensor([list(ids)], device=model.device)


@contextmanager
def _answering(base: Any, output: Any) -> Iterator[None]:
    """Let a module return an output without computing anything."""
    own = base.__dict__.get("forward")  # accelerate's, for models on several devices
    base.forward = lambda *_, **__: output
    try:
        yield
    finally:
        if own is None:
            del base.forward
        else:
            base.forward = own


def _close(computed: Any, plain: Any) -> bool:
    share = _CLOSE if plain.element_size() >= 4 else _NEARLY
    difference, largest = (computed.float() - plain.float()).abs().max(), plain.float().abs().max()
    return bool(difference <= share * largest)
