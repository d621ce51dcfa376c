"""Attention of every method is that of a naive reference: prompts, cached replies, padded batches, bfloat16."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_extended import KINDS, METHODS, WINDOW, make_config, make_extended, naive, some_ids

from fathom.extend.frequencies import plain_frequencies
from fathom.extend.hf.calls import cache_in, with_cache
from fathom.extend.methods import make_method, split_name
from fathom.types import FathomError

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

PROMPT, REPLY = 150, 8
EXACT = 1e-5
HALF = 0.05
"""Largest difference in bfloat16, as a share of the largest logit."""
MAPS = [query for query in METHODS if split_name(f"hf/x?extend={query}")[1].kind.family == "positions"]


@pytest.fixture(autouse=True)
def without_gradients() -> Any:
    with torch.inference_mode():
        yield


def stepwise(model: Any, ids: Any, prompt: int, block: int) -> Any:
    """Logits of a text whose first tokens are computed in blocks and whose others one by one, with a cache."""
    from transformers import DynamicCache

    cache, found = DynamicCache(config=model.config), []
    ends = [*range(block, prompt, block), *range(prompt, ids.shape[1] + 1)]
    for start, end in zip([0, *ends], ends, strict=False):
        found.append(model(ids[:, start:end], **with_cache(model, cache)).logits)
    return torch.cat(found, dim=1)


@pytest.mark.parametrize("query", METHODS)
@pytest.mark.parametrize("kind", KINDS)
def test_prompts_and_cached_replies(kind: str, query: str) -> None:
    model, extension = make_extended(kind, query)
    ids = some_ids(PROMPT + REPLY)
    extension.fit(PROMPT + REPLY)
    expected = naive(model, extension.method, PROMPT + REPLY)(ids, use_cache=False).logits
    for found in (model(ids, use_cache=False).logits, stepwise(model, ids, PROMPT, 64)):
        assert float((found - expected).abs().max()) < EXACT


@pytest.mark.parametrize("query", METHODS)
def test_generated_tokens(query: str) -> None:
    model, extension = make_extended("Qwen3", query)
    ids = some_ids(PROMPT)
    extension.fit(PROMPT + REPLY)
    options = {"max_new_tokens": REPLY, "do_sample": False}
    whole = model.generate(ids, **options)
    chunked = model.generate(ids, prefill_chunk_size=32, **options)
    assert whole.tolist() == chunked.tolist()
    # Each token is the reference's after those before it, so that all of them are.
    reference = naive(model, extension.method, PROMPT + REPLY)
    expected = reference(whole, use_cache=False).logits[:, PROMPT - 1 : -1].argmax(-1)
    assert whole[:, PROMPT:].tolist() == expected.tolist()


@pytest.mark.parametrize("query", METHODS)
@pytest.mark.parametrize("kind", ["Llama", "Gemma", "Phi"])
def test_batches_with_padding_on_the_left(kind: str, query: str) -> None:
    model, extension = make_extended(kind, query)
    extension.fit(PROMPT + REPLY)
    texts = [some_ids(PROMPT - 60, 1), some_ids(PROMPT, 2)]
    padded = torch.zeros((2, PROMPT), dtype=torch.long)
    mask = torch.zeros_like(padded)
    for row, text in enumerate(texts):
        padded[row, -text.shape[1] :], mask[row, -text.shape[1] :] = text[0], 1
    options = {"max_new_tokens": REPLY, "do_sample": False}
    together = model.generate(padded, attention_mask=mask, output_logits=True, return_dict_in_generate=True, **options)
    for row, text in enumerate(texts):
        alone = model.generate(text, output_logits=True, return_dict_in_generate=True, **options)
        assert together.sequences[row, PROMPT:].tolist() == alone.sequences[0, text.shape[1] :].tolist()
        for one, other in zip(together.logits, alone.logits, strict=True):
            assert float((one[row] - other[0]).abs().max()) < EXACT


@pytest.mark.parametrize("query", METHODS)
def test_in_bfloat16(query: str) -> None:
    model, extension = make_extended("Llama", query)
    for weights in model.parameters():  # frequencies stay as they are, as when a model is loaded in bfloat16
        weights.data = weights.data.bfloat16()
    extension.fit(PROMPT)
    ids = some_ids(PROMPT)
    expected = naive(model, extension.method, PROMPT)(ids, use_cache=False).logits
    found = model(ids, use_cache=False).logits.double()
    assert float((found - expected).abs().max()) < HALF * float(expected.abs().max())


@pytest.mark.parametrize(
    "query", [*MAPS, "yarn&factor=1", "selfextend&window=1&group=1", "leaky&window=1&k=1&log=false"]
)
def test_within_the_window_and_at_factor_1_nothing_changes(query: str) -> None:
    plain_model, _ = make_extended("Llama", "none")
    model, extension = make_extended("Llama", query)
    tokens = PROMPT if extension.method["group"] == 1 or extension.method["factor"] == 1 else 16
    ids = some_ids(tokens)
    difference = model(ids, use_cache=False).logits - plain_model(ids, use_cache=False).logits
    assert float(difference.abs().max()) < EXACT


def test_the_cache_holds_keys_that_are_not_rotated() -> None:
    model, _ = make_extended("Llama", "rerope&window=16")
    ids = some_ids(20)
    cache = cache_in(model(ids, use_cache=True))
    layer = model.model.layers[0]
    hidden = layer.input_layernorm(model.model.embed_tokens(ids))
    keys = layer.self_attn.k_proj(hidden).view(1, 20, 2, -1).transpose(1, 2)
    assert torch.equal(cache.layers[0].keys, keys)


UPSTREAM = [
    ("rerope_streaming", "rerope", {"window": 8, "original": 4096}),
    ("rerope_streaming", "leaky", {"window": 8, "group": 4, "original": 4096}),
    ("selfextend_dca", "selfextend_g4w8", {"window": 8, "group": 4}),
    ("selfextend_dca", "dca_pre16", {"chunk": 12, "local": 2}),
    ("rerope_streaming", "streaming", {"sinks": 4, "window": 12}),
]


@pytest.mark.parametrize(("file", "name", "options"), UPSTREAM, ids=[one[1] for one in UPSTREAM])
def test_outputs_of_the_published_code(shared: Path, file: str, name: str, options: dict[str, object]) -> None:
    from fathom.extend.hf.attention import MappedAttention

    golden = shared / "golden" / "extension"
    if not golden.is_dir():
        pytest.skip("the golden arrays are not in the shared data")
    arrays: Any = {key: torch.tensor(one) for key, one in np.load(golden / f"attention_{file}.npz").items()}
    hidden = arrays["hidden"][None]
    query, key, value = (
        (hidden @ arrays[f"w{one}"].T).view(1, 44, heads, 16).transpose(1, 2)
        for one, heads in (("q", 4), ("k", 2), ("v", 2))
    )
    attention = MappedAttention(make_method(name.split("_")[0], options), plain_frequencies(16, 1e4), 1.0)

    def outputs(start: int, end: int) -> Any:
        turned = attention.mask(q_length=end - start, kv_length=end, q_offset=start)
        found, _ = attention.attend(None, query[:, :, start:end], key[:, :, :end], value[:, :, :end], turned)
        return (found.reshape(end - start, 64) @ arrays["wo"].T)[:]

    one_by_one = torch.cat([outputs(place, place + 1) for place in range(44)])
    if name == "streaming":
        expected = arrays["streaming_out"]
    else:
        prefill = arrays[f"{name}_out_prefill"]
        if name.startswith("dca"):  # whose own code merges in bfloat16
            prefill = torch.tensor(np.load(golden / "dca_float32_merge.npz")["dca_pre16_out_prefill"])
        expected = torch.cat((prefill, arrays[f"{name}_out_decode"]))
    for found in (one_by_one, outputs(0, 44)):
        assert float((found - expected).abs().max()) < EXACT


REFUSED = [
    (
        "yarn&factor=4",
        "Llama",
        {"rope_parameters": {"rope_type": "yarn", "factor": 2.0, "rope_theta": 1e4}},
        "already uses yarn",
    ),
    (
        "pi&factor=4",
        "Llama",
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}},
        "already uses pi",
    ),
    (
        "yarn&factor=4",
        "Llama",
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e4}},
        "two do not add up",
    ),
    ("abf&theta=10000", "Llama", {}, "already uses rope_theta 10000"),
    (
        "rerope&window=16",
        "Llama",
        {"rope_parameters": {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 1e4}},
        "depend on the length",
    ),
    ("rerope&window=16", "Mistral", {"sliding_window": 32}, "sliding window"),
    ("rerope&window=65", "Llama", {}, "more than the 64 tokens"),
    ("dca&chunk=65&local=8", "Llama", {}, "more than the 64 tokens"),
]


@pytest.mark.parametrize(("query", "kind", "more", "message"), REFUSED)
def test_what_cannot_work_is_refused_by_the_configuration(
    query: str, kind: str, more: dict[str, Any], message: str
) -> None:
    from fathom.extend.hf.extension import plan_extension

    with pytest.raises(FathomError, match=message):
        plan_extension(make_config(kind, **copy.deepcopy(more)), split_name(f"hf/x?extend={query}")[1])


def test_a_model_without_rotary_positions_is_refused() -> None:
    from transformers import GPT2Config

    from fathom.extend.hf.extension import plan_extension

    with pytest.raises(FathomError, match="a model of type gpt2 has no rotary positions"):
        plan_extension(GPT2Config(), make_method("yarn", {"factor": 4}))


def test_a_window_larger_than_memory_is_refused() -> None:
    from fathom.extend.hf.checks import check_memory

    config = make_config("Llama")
    check_memory(config, 1024, "float32", 0, 2**30)
    check_memory(config, None, "float32", 0, 1)
    with pytest.raises(FathomError, match=r"1,048,576 tokens needs 0\.8 GiB for keys and values"):
        check_memory(config, 2**20, "float32", 0, 2**29)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_attention_of_another_kind_is_found_when_the_model_is_loaded(dtype: str) -> None:
    """Pairs of neighbouring coordinates, as Cohere has them, turn in another way than halves."""
    import transformers

    from fathom.extend.hf.extension import plan_extension

    config = make_config("Llama")
    other = transformers.CohereConfig(**{**config.to_dict(), "model_type": "cohere"})
    extension = plan_extension(other, make_method("rerope", {"window": 16}))
    model = transformers.CohereForCausalLM._from_config(
        other, attn_implementation=extension.attention, dtype=dtype
    ).eval()
    with pytest.raises(FathomError, match="not of the usual kind"):
        extension.attach(model)


def test_frequencies_of_the_models_own_method_are_kept_by_maps() -> None:
    rope = {"rope_type": "llama3", "factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "rope_theta": 1e4}
    own = {"rope_parameters": {**rope, "original_max_position_embeddings": WINDOW // 2}}
    plain_model, _ = make_extended("Llama", "none", **copy.deepcopy(own))
    model, _ = make_extended("Llama", "rerope&window=32", **copy.deepcopy(own))
    ids = some_ids(32)
    difference = model(ids, use_cache=False).logits - plain_model(ids, use_cache=False).logits
    assert float(difference.abs().max()) < EXACT
