"""Attention in blocks (``-M attn_implementation=blocks``) is that of PyTorch, on fewer pairs."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathom.extend.kinds import Method
from fathom.extend.methods import make_method, settled
from fathom.types import FathomError

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

from handwritten_reader import save_reader  # noqa: E402

from fathom.extend.hf.attention import BLOCK, Pairs, States, attend_causally, attend_in_blocks  # noqa: E402
from fathom.extend.positions import levels  # noqa: E402
from fathom.models.hugging_face import load_model  # noqa: E402

MAPS: tuple[str, ...] = (
    "rerope&window=96",
    "leaky&window=96",
    "selfextend&window=96&group=8",
    "dca&chunk=192&local=32",
)
MAPS += ("streaming&window=96",)
EXACT = 1e-4


def of(text: str) -> Method:
    name, *options = text.split("&")
    return settled(make_method(name, dict(option.split("=") for option in options)), 256)


@pytest.mark.parametrize("text", ["none", *MAPS])
def test_every_pair_is_seen_by_the_level_that_covers_it_and_only_once(text: str) -> None:
    places, step = torch.arange(700)[None], BLOCK // 4
    pairs = Pairs(levels(of(text)), places, places[:, None])
    for start in range(0, 700, step):
        block = slice(start, min(start + step, 700))
        i, j = places[:, None, block, None], places[:, None, None, :]
        shown = [torch.zeros((len(range(700)[block]), 700), dtype=torch.int) for _ in pairs.levels]
        for number, keys, inner, hidden in pairs.seen(block):
            part = shown[number][:, keys]
            part += 1
            part[:, inner] -= hidden[0, 0].int()
        for own, level in zip(shown, pairs.levels, strict=True):
            assert own.equal(((j <= i) & level.covers(i, j))[0, 0].int())


def test_maps_compute_few_pairs_that_no_query_sees() -> None:
    """The scores that are computed, as a share of all pairs: half for a causal text, few for a short window."""
    tokens, step = 4096, BLOCK // 4
    places = torch.arange(tokens)[None]
    shares = {}
    for text in ("none", "rerope&window=96", "streaming&window=96&sinks=4"):
        pairs = Pairs(levels(of(text)), places, places[:, None])
        blocks = [slice(start, start + step) for start in range(0, tokens, step)]
        scores = sum(step * (keys.stop - keys.start) for block in blocks for _, keys, *_ in pairs.seen(block))
        shares[text.split("&")[0]] = scores / tokens**2
    assert shares["none"] == pytest.approx(0.5, abs=0.02)
    assert shares["rerope"] < 0.55
    assert shares["streaming"] < 0.05


@pytest.mark.parametrize("cache", ["", "&cache=snapkv&budget=64", "&cache=fp8"])
def test_a_model_reads_as_with_attention_of_pytorch(tmp_path: Path, cache: str) -> None:
    reader = f"hf/{save_reader(tmp_path / 'reader')}?extend=yarn&factor=4{cache}"
    ids = torch.randint(3, 300, (1, 600), generator=torch.Generator().manual_seed(1))
    logits = []
    for attention in ("sdpa", "blocks"):
        arguments = {"device": "cpu"} if cache[7:13] == "snapkv" and attention == "sdpa" else {
            "device": "cpu", "attn_implementation": attention
        }  # fmt: skip
        model = load_model(reader, arguments)
        with torch.inference_mode():
            logits.append(model.model(ids).logits)
    assert float((logits[0] - logits[1]).abs().max()) < EXACT * float(logits[0].abs().max())


def test_padding_is_not_seen(tmp_path: Path) -> None:
    model = load_model(f"hf/{save_reader(tmp_path / 'reader')}", {"device": "cpu", "attn_implementation": "blocks"})
    ids = torch.randint(3, 300, (1, 100), generator=torch.Generator().manual_seed(2))
    padded = torch.cat((torch.zeros((1, 28), dtype=torch.long), ids), 1)
    mask = (torch.arange(128) >= 28).long()[None]
    with torch.inference_mode():
        alone = model.model(ids).logits
        beside = model.model(padded, attention_mask=mask).logits[:, 28:]
    assert float((alone - beside).abs().max()) < EXACT * float(alone.abs().max())


def test_a_block_in_which_no_query_sees_a_key_is_zero() -> None:
    tokens = 200
    query, key, value = torch.randn(2, 4, tokens, 8), torch.randn(2, 2, tokens, 8), torch.randn(2, 2, tokens, 8)
    places, real = torch.arange(tokens)[None], torch.ones(2, tokens, dtype=torch.bool)
    real[:, :100] = False
    states = States(lambda _, block: query[:, :, block], (key,), value, 4)
    out = attend_in_blocks(states, Pairs(levels(of("none")), places, places[:, None], real))
    assert not out[:, : BLOCK // 4].any()
    assert bool(out[:, 100:].any(-1).all())
    assert not out.isnan().any()


def test_a_model_that_bounds_its_scores_is_refused() -> None:
    state = torch.randn(1, 2, 4, 8)
    with pytest.raises(FathomError, match="bounds its scores"):
        attend_causally(None, state, state, state, None, softcap=50.0)
