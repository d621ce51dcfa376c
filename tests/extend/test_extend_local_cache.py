"""Caches that keep less: what stays is what a naive float64 reference chooses, and replies are those of what stays."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from made_extended import make_config, make_extended, naive, some_ids

from fathom.extend.hf.calls import cache_in, with_cache
from fathom.extend.methods import FULL, Method, split_name
from fathom.types import FathomError

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

PROMPT, REPLY, FEW = 80, 4, 2
QUESTION = 7
EXACT = 1e-5
POSITIONS = (
    "none&length=256",
    "yarn&factor=4",
    "dynamic",
    "ntk&factor=4&form=mixed",
    "rerope&window=16",
    "leaky&window=16&group=4",
    "selfextend&window=16&group=4",
    "dca&chunk=24&local=8",
    "streaming&sinks=4&window=20",
)
SNAPKV = "cache=snapkv&budget=24&window=8"
CACHES = (
    SNAPKV,
    f"{SNAPKV}&kernel=7&pooling=max",
    "cache=snapkv&ratio=0.7&window=8",  # 24 of 80, as the others
    "cache=pyramid&budget=24&window=8&beta=4",
    "cache=h2o&budget=24",
    "cache=random&budget=24&recent=8",
    "cache=recent&budget=24",
)
SETTINGS = [
    *(("Llama", position, cache) for position in ("yarn&factor=4", "rerope&window=16") for cache in CACHES),
    *(("Llama", position, cache) for position in POSITIONS for cache in (SNAPKV, "cache=h2o&budget=24")),
    *((kind, "yarn&factor=4", SNAPKV) for kind in ("Mistral", "Qwen2", "Qwen3", "Gemma", "Phi", "Phi3")),
    *(
        ("Llama", position, "cache=pyramid&budget=24&window=8&beta=4")
        for position in ("none&length=256", "dca&chunk=24&local=8")
    ),
    ("Qwen3", "yarn&factor=4", "cache=pyramid&ratio=0.5&window=8&beta=2"),
    ("Llama", "yarn&factor=4", "cache=h2o&ratio=0.7"),
    *((kind, "rerope&window=16", "cache=h2o&budget=24") for kind in ("Qwen3", "Gemma", "Phi")),
]


@pytest.fixture(autouse=True)
def without_gradients() -> Any:
    with torch.inference_mode():
        yield


def asked(model: Any, cache: Any, ids: Any, **more: Any) -> Any:
    """A reply by ``generate``, with its logits."""
    options = {"max_new_tokens": REPLY, "do_sample": False, "output_logits": True, "return_dict_in_generate": True}
    return model.generate(ids, attention_mask=torch.ones_like(ids), **with_cache(model, cache), **options, **more)


def budgets(cache: Method, layers: int, tokens: int = PROMPT) -> list[int]:
    """What each layer keeps of so many tokens: on a line for PyramidKV, the same for all others."""
    mean = cache.whole("budget") if cache["ratio"] is None else int(tokens * (1 - cache.number("ratio")))
    if cache.name != "pyramid":
        return [mean] * layers
    window = cache.whole("window")
    fewest = (mean - window) / cache.number("beta")
    return [window + int(chosen) for chosen in np.linspace(2 * (mean - window) - fewest, fewest, layers)]


def stays(cache: Method, budget: int, weights: Any, places: list[int], first: bool) -> list[int]:
    """Which places one key head keeps.

    Args:
        cache: The method.
        budget: How many places stay.
        weights: Attention of its queries to all places, summed over the heads that share it, shape (queries, places).
        places: What it has.
        first: Whether this is after the prompt.
    """
    if len(places) <= budget or not (first or (cache.name == "h2o" and cache["question"] == "together")):
        return places
    if cache.name == "recent":
        sinks = cache.whole("sinks")
        return places[:sinks] + places[sinks - budget :]
    last = cache.whole("window") if cache["window"] is not None else budget // 2
    if cache.name == "h2o":
        ranks = {place: float(weights[:, place].sum()) for place in places[:-last]}
    else:
        found = weights[-last:].sum(0)[: len(places) - last]
        half = cache.whole("kernel") // 2
        around = [
            [found[at] for at in range(at - half, at + half + 1) if 0 <= at < len(found)] for at in places[:-last]
        ]
        pool = max if cache["pooling"] == "max" else sum
        ranks = dict(zip(places, (float(pool(one)) for one in around), strict=False))
    best = sorted(ranks, key=lambda place: -ranks[place])[: budget - last]
    return sorted(best) + places[-last:]


def reference(
    model: Any, method: Method, cache: Method, ids: Any, drawn: Any, prompt: int = PROMPT
) -> tuple[Any, list[list[list[int]]]]:
    """Logits from the last token that is thinned out on, and what each key head has at the end, in float64.

    Args:
        model: A model of ``make_extended``.
        method: Its method for positions.
        cache: Its method for the cache.
        ids: Prompt and reply.
        drawn: What random keeps, for each layer.
        prompt: Tokens that are thinned out: the prompt, or its context.
    """
    total = ids.shape[1]
    layers = range(model.config.num_hidden_layers)
    seen = torch.ones((len(layers), FEW if model.config.num_key_value_heads == FEW else 4, total, total)).bool()
    heads = range(seen.shape[1])
    had = [[list(range(prompt)) for _ in heads] for _ in layers]
    found, held = [], budgets(cache, len(layers), prompt)
    for end in range(prompt, total + 1):
        other = naive(model, method, end, total, seen[..., :end, :end])
        logits = other(ids[:, :end], use_cache=False).logits[0, -1]
        found.append(logits)
        for layer in layers:
            weights = other.model.layers[layer].self_attn.weights
            grouped = weights.reshape(len(heads), -1, end, end).sum(1).numpy()
            for head in heads:
                if cache.name == "random" and end == prompt:
                    had[layer][head] = drawn[layer][head]
                else:
                    had[layer][head] = stays(cache, held[layer], grouped[head], had[layer][head], end == prompt)
                if end < total:
                    seen[layer, head, end] = False
                    had[layer][head] = [*had[layer][head], end]
                    seen[layer, head, end, had[layer][head]] = True
    return torch.stack(found), had


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "position", "query"), SETTINGS)
def test_what_stays_and_the_reply_are_those_of_the_reference(kind: str, position: str, query: str) -> None:
    model, extension = make_extended(kind, f"{position}&{query}")
    ids = some_ids(PROMPT + REPLY)
    extension.fit(PROMPT + REPLY)
    cache, found, drawn = extension.new_cache(ids[0, :PROMPT].tolist()), [], None
    for start, end in pairwise((0, *range(PROMPT, PROMPT + REPLY + 1))):
        found.append(model(ids[:, start:end], **with_cache(model, cache)).logits[0, -1])
        drawn = drawn or [layer.positions[0].tolist() for layer in cache.layers]
    logits, had = reference(model, extension.method, extension.cache, ids, drawn)
    assert [layer.positions[0].tolist() for layer in cache.layers] == had
    assert float((torch.stack(found) - logits).abs().max()) < EXACT
    for layer, budget in zip(cache.layers, budgets(extension.cache, len(cache.layers)), strict=True):
        # Heads that share keys share what stays; what was left out is not held by a larger tensor behind.
        held = budget if extension.cache.name == "h2o" else budget + REPLY
        assert layer.keys.shape[1:3] == layer.values.shape[1:3] == (model.config.num_key_value_heads, held)
        assert layer.keys.untyped_storage().nbytes() == 4 * layer.keys.numel()
        assert layer.get_seq_length() == PROMPT + REPLY


@pytest.mark.parametrize(
    ("position", "query"),
    [
        *(("yarn&factor=4", query) for query in CACHES),
        *((position, SNAPKV) for position in ("dynamic", "rerope&window=16", "streaming&sinks=4&window=20")),
        ("dca&chunk=24&local=8", "cache=pyramid&ratio=0.6&window=8&beta=3"),
    ],
)
def test_a_question_that_comes_after_the_choice_sees_what_stayed(position: str, query: str) -> None:
    model, extension = make_extended("Llama", f"{position}&{query}&question=apart")
    ids, context = some_ids(PROMPT), PROMPT - QUESTION
    extension.fit(PROMPT)
    cache = extension.new_cache(ids[0, :context].tolist())
    read = model(ids[:, :context], **with_cache(model, cache)).logits[0, -1:]
    drawn = [layer.positions[0].tolist() for layer in cache.layers]
    asked = model(ids[:, context:-1], **with_cache(model, cache)).logits[0]
    last = model(ids[:, -1:], **with_cache(model, cache)).logits[0]
    logits, had = reference(model, extension.method, extension.cache, ids, drawn, context)
    assert [layer.positions[0].tolist() for layer in cache.layers] == had
    assert float((torch.cat((read, asked, last)) - logits).abs().max()) < EXACT
    for layer, budget in zip(cache.layers, budgets(extension.cache, 3, context), strict=True):
        assert layer.keys.shape[2] == budget + QUESTION  # of which nothing is left out
    whole = extension.new_cache(ids[0].tolist())
    model(ids, **with_cache(model, whole))
    stayed = [{*places} for places in whole.layers[1].positions[0].tolist()]
    assert stayed != [{*places} for places in had[1]]  # the question changes the choice


@pytest.mark.parametrize("query", CACHES)
@pytest.mark.parametrize("position", POSITIONS)
def test_a_budget_of_everything_is_the_full_cache_and_the_first_token_always_is(position: str, query: str) -> None:
    ids = some_ids(PROMPT)
    model, extension = make_extended("Qwen3", f"{position}&{query}")
    large = copy.copy(extension)
    large.cache = extension.cache.but(budget=PROMPT + REPLY, ratio=None)
    plain, other = make_extended("Qwen3", position)
    for one in (extension, other):
        one.fit(PROMPT + REPLY)
    full = asked(plain, other.new_cache(), ids)
    whole = asked(model, large.new_cache(), ids)
    small = asked(model, extension.new_cache(), ids)
    assert whole.sequences.tolist() == full.sequences.tolist()
    assert all(torch.equal(one, two) for one, two in zip(whole.logits, full.logits, strict=True))
    assert torch.equal(small.logits[0], full.logits[0])
    same = (position, query) == (POSITIONS[-1], CACHES[-1])  # both leave only the first and the last tokens to see
    assert torch.allclose(small.logits[1], full.logits[1], atol=EXACT) == same


@pytest.mark.parametrize("query", [SNAPKV, "cache=h2o&budget=24", "cache=fp8"])
@pytest.mark.parametrize("kind", ["Phi", "Phi3"])
def test_a_model_that_would_compute_its_cache_anew_keeps_it(kind: str, query: str) -> None:
    """Beyond the original window, Phi-3 makes a new cache while it generates, which would be full."""
    model, extension = make_extended(kind, f"yarn&factor=4&{query}")
    cache = extension.new_cache()
    assert cache_in(asked(model, cache, some_ids(PROMPT))) is cache
    if query != "cache=fp8":
        assert cache.layers[0].keys.shape[2] == 24 + (0 if "h2o" in query else REPLY - 1)


def test_longrope_of_a_model_that_computes_its_cache_anew_is_refused() -> None:
    from fathom.extend.hf.extension import plan_extension

    divisors = [1.0] * 8
    rope = {"rope_type": "longrope", "rope_theta": 1e4, "short_factor": divisors, "long_factor": divisors}
    config = make_config("Phi3", rope_parameters={**rope, "factor": 4.0, "original_max_position_embeddings": 64})
    with pytest.raises(FathomError, match=r"snapkv: .* with LongRoPE computes its whole cache anew"):
        plan_extension(config, *split_name(f"hf/x?{SNAPKV}")[1:])


def test_a_request_leaves_nothing_for_the_next() -> None:
    model, extension = make_extended("Llama", "yarn&factor=4&cache=random&budget=24")
    ids, other = some_ids(PROMPT, 1), some_ids(PROMPT, 2)

    def places(given: Any, **changes: Any) -> Any:
        one = copy.copy(extension)
        one.cache = extension.cache.but(**changes)
        cache = one.new_cache(given[0].tolist())
        logits = asked(model, cache, given).logits
        return torch.stack([layer.positions for layer in cache.layers]).tolist(), torch.cat(logits).tolist()

    first = places(ids)
    assert places(other)[0] != first[0]
    assert places(ids) == first
    assert places(ids, seed=1)[0] != first[0]


@pytest.mark.parametrize("position", ["yarn&factor=4", "rerope&window=16"])
def test_padding_is_refused_and_a_batch_without_it_is_right(position: str) -> None:
    model, extension = make_extended("Llama", f"{position}&{SNAPKV}")
    texts = [some_ids(PROMPT, 1), some_ids(PROMPT, 2)]
    together = asked(model, extension.new_cache(), torch.cat(texts))
    for row, text in enumerate(texts):
        alone = asked(model, extension.new_cache(), text)
        for one, two in zip(together.logits, alone.logits, strict=True):
            assert float((one[row] - two[0]).abs().max()) < EXACT
    mask = torch.ones((2, PROMPT), dtype=torch.long)
    mask[0, :3] = 0
    given = with_cache(model, extension.new_cache())
    with pytest.raises(FathomError, match="cannot take a batch with padding"):
        model.generate(torch.cat(texts), attention_mask=mask, **given, max_new_tokens=2)


@pytest.mark.parametrize("position", POSITIONS)
def test_8_bits_begin_with_the_token_of_the_full_cache(position: str) -> None:
    from fathom.extend.hf.caches import bytes_of

    ids = some_ids(PROMPT)
    model, extension = make_extended("Qwen3", f"{position}&cache=fp8")
    plain, other = make_extended("Qwen3", position)
    for one in (extension, other):
        one.fit(PROMPT + REPLY)
    small, large = extension.new_cache(), other.new_cache()
    full, found = asked(plain, large, ids), asked(model, small, ids)
    assert torch.equal(found.logits[0], full.logits[0])
    assert 0 < float((found.logits[1] - full.logits[1]).abs().max()) < 0.25 * float(full.logits[1].abs().max())
    tokens = PROMPT + REPLY - 1  # the last one of the reply is not read
    numbers = 2 * model.config.num_hidden_layers * FEW * 16 * tokens
    assert bytes_of(large) == 4 * numbers
    assert numbers <= bytes_of(small) <= numbers + 4 * 2 * model.config.num_hidden_layers  # and the scales


def test_attention_that_does_not_show_itself_is_found() -> None:
    model, extension = make_extended("Llama", f"yarn&factor=4&{SNAPKV}")
    model.set_attn_implementation("eager")
    with pytest.raises(FathomError, match="not of the usual kind"):
        extension.attach(model)
    layer = extension.new_cache().layers[0]
    keys = torch.zeros((1, FEW, 40, 16))
    layer.update(keys, keys)
    with pytest.raises(FathomError, match="not of the usual kind"):
        layer.update(keys, keys)
    with pytest.raises(FathomError, match="cannot be shortened"):
        layer.crop(-1)


@pytest.mark.parametrize("query", [SNAPKV, "cache=fp8"])
def test_sliding_windows_are_refused_by_the_configuration(query: str) -> None:
    from fathom.extend.hf.extension import plan_extension

    with pytest.raises(FathomError, match=r"has layers with a sliding window .* -M sliding_window=null"):
        plan_extension(make_config("Mistral", sliding_window=32), *split_name(f"hf/x?{query}")[1:])


def test_the_golden_rule_of_snapkv() -> None:
    """Its published lines, on made attention: softmax of the last queries, summed, pooled with zeros at the ends."""
    from fathom.extend.hf.caches import EvictingLayer

    made = np.random.default_rng(0).random((1, 4, 8, 40))
    weights = torch.tensor(made).softmax(-1)
    for pooling in ("avg", "max"):
        method = split_name(f"hf/x?{SNAPKV}&pooling={pooling}")[2]
        layer = EvictingLayer(method)
        keys = torch.arange(40.0)[None, None, :, None].expand(1, 4, 40, 1)
        layer.update(keys, keys)
        layer.watch(weights)
        layer.settle()
        summed = weights[..., :-8].sum(-2)
        pool = torch.nn.functional.avg_pool1d if pooling == "avg" else torch.nn.functional.max_pool1d
        pooled = pool(summed, kernel_size=5, padding=2, stride=1)
        best = pooled.topk(24 - 8, dim=-1).values
        chosen, last = layer.positions[..., :-8], layer.positions[..., -8:]
        assert torch.equal(pooled.gather(-1, chosen).sort(-1, descending=True).values, best)
        assert last.tolist() == torch.arange(32, 40).expand(1, 4, 8).tolist()
        assert torch.equal(layer.keys[..., 0].long(), layer.positions)


@pytest.mark.parametrize("query", [SNAPKV, "cache=pyramid&budget=24&window=8&beta=4", "cache=h2o&ratio=0.5"])
def test_no_more_is_held_while_a_prompt_is_read_than_is_checked_before(
    query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from fathom.extend.hf.caches import EvictingLayer, bytes_of
    from fathom.extend.hf.checks import held_tokens

    model, extension = make_extended("Llama", f"yarn&factor=4&{query}")
    cache, most, update = extension.new_cache(), [0], EvictingLayer.update

    def measured(layer: Any, *states: Any, **more: Any) -> Any:
        found = update(layer, *states, **more)
        most.append(bytes_of(cache))
        return found

    monkeypatch.setattr(EvictingLayer, "update", measured)
    model(some_ids(PROMPT), **with_cache(model, cache))
    token = 2 * FEW * 16 * 4
    layers = model.config.num_hidden_layers
    assert max(most) == token * held_tokens(layers, PROMPT, extension.cache) < token * layers * PROMPT
    assert held_tokens(layers, PROMPT, FULL) == layers * PROMPT
