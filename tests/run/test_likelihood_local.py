"""Local Hugging Face models: the numbers of one plain pass, with less work. Run by ``make test-models``."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from typing import Any

import pytest
from order_suites import make_order_suite, story, true_order
from tiny_models import SENTENCE, WIDTH, WINDOW, make_hugging_face, make_tokenizer

from engine_calls import likelihood
from fathom.analysis import agreement
from fathom.models.protocol import RequestError
from fathom.rows import load
from fathom.run import read_manifest, replies
from fathom.run.likelihood import passes
from fathom.run.likelihood.client import candidates
from fathom.run.likelihood.local import LocalModel
from fathom.run.likelihood.tokens import TokenLogprobs
from fathom.types import Ordering

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TEXTS = (
    f"{SENTENCE}. Before day {SENTENCE[10:]}!\n\nThe keeper wrote 中文 down.",
    f"{SENTENCE}. Before day the river 🙂 left.\n\nAnd a stone.",
    f"{SENTENCE}. Before day",
    f"{SENTENCE}. Before day the river 🙂 left.\n\nAnd a lantern of winter.",
    "Something else.",
)
ORDERING = Ordering(SENTENCE, tuple(f"{word} {SENTENCE[size:]}" for size, word in enumerate("abcd")), "The end.")
CLOSE = 1e-3


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hugging_face(tmp_path_factory.mktemp("model") / "tiny")


def score(model: LocalModel, text: str) -> TokenLogprobs:
    return asyncio.run(model.score(text))


def plain(model: LocalModel, text: str) -> list[float | None]:
    """Log-probabilities by one pass over the whole text, without any cache."""
    ids = model._tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logits = model._model(ids, use_cache=False).logits[0].float()
    told = torch.log_softmax(logits, dim=1)[:-1].gather(1, ids[0, 1:, None])[:, 0]
    return [None, *told.tolist()]


def assert_close(found: TokenLogprobs, expected: list[float | None]) -> None:
    assert found.logprobs[0] is None
    assert found.logprobs[1:] == pytest.approx(expected[1:], abs=CLOSE)


def test_numbers_are_those_of_one_plain_pass(folder: Path) -> None:
    model = LocalModel(str(folder))
    for text in TEXTS:
        found = score(model, text)
        assert_close(found, plain(model, text))
        assert found.offsets[0] == 0
        assert list(found.offsets) == sorted(found.offsets)
        assert len(set(found.offsets)) > len(text) / 8
    # The model is sure of itself: a number of another token would not pass.
    told = [p for p in score(model, TEXTS[0]).logprobs if p is not None]
    assert max(told) - min(told) > 5


def test_chunks_change_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "CHUNK", 7)
    model = LocalModel(str(folder))
    for text in TEXTS:
        assert_close(score(model, text), plain(model, text))


def make_model(folder: Path, kind: str, **more: Any) -> Path:
    """A tiny model of another kind, with the tokenizer of the others."""
    import transformers

    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    shape = {"hidden_size": WIDTH, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4}
    special = {"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 1}
    config = getattr(transformers, f"{kind}Config")
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(
        config(vocab_size=len(tokenizer), initializer_range=0.3, **shape, **special, **more)
    )
    model.save_pretrained(folder)
    return folder


KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "Llama": ("chunks", {}),
    "Gemma2": ("chunks", {"sliding_window": 16, "head_dim": 8, "num_key_value_heads": 2}),  # bounds its logits
    "Mamba": ("parts", {"state_size": 8}),
    "Jamba": (
        "parts",
        {
            "num_key_value_heads": 2,
            "attn_layer_period": 2,
            "attn_layer_offset": 1,
            "num_experts": 2,
            "use_mamba_kernels": False,
            "mamba_d_state": 8,
            "mamba_dt_rank": 4,
        },
    ),
    "RecurrentGemma": (
        "parts",
        {"attention_window_size": 16, "lru_width": WIDTH, "block_types": ["recurrent", "attention"]},
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_models_that_cannot_read_chunks_read_the_whole_text(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "CHUNK", 7)
    way, more = KINDS[kind]
    model = LocalModel(str(make_model(tmp_path, kind, **more)))
    rows = list[int]()
    model._model.get_output_embeddings().register_forward_hook(lambda *given: rows.append(given[2].shape[1]))
    for text in TEXTS:
        assert_close(score(model, text), plain(model, text))
    assert model._way == way
    rows.clear()
    found = score(model, TEXTS[0])
    assert max(rows) <= 7 < len(found.offsets)


@pytest.mark.parametrize("kind", ["Llama", "Gemma2", "Cohere", "Granite", "GPT2", "OPT"])
def test_parts_of_hidden_states_give_what_the_model_gives(kind: str, tmp_path: Path) -> None:
    """Many models scale or bound logits after the last matrix; OPT calls another module than its base model."""
    more: dict[str, Any] = {"Granite": {"logits_scaling": 8.0}, "Cohere": {"logit_scale": 0.1}}.get(kind, {})
    model = LocalModel(str(make_model(tmp_path, kind, **more)))._model
    ids = list(range(2, 90))
    with torch.inference_mode():
        (expected,) = passes.logits_at_once(model, ids)
        found = torch.cat([*passes.logits_in_parts(model, ids, 20)])
        assert "forward" not in vars(model.base_model)
        assert passes._close(found, expected) == (kind != "OPT")


@pytest.mark.parametrize(("kind", "way"), [("Llama", "parts"), ("OPT", "whole")])
def test_a_way_that_gives_other_numbers_is_not_taken(
    kind: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgets = passes.logits_of_chunk
    monkeypatch.setattr(passes, "logits_of_chunk", lambda model, chunk, _: forgets(model, chunk, None))
    model = LocalModel(str(make_model(tmp_path, kind)))
    assert_close(score(model, TEXTS[0]), plain(model, TEXTS[0]))
    assert model._way == way


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(
    "rope",
    [
        {"rope_type": "dynamic", "factor": 4.0},
        {
            "rope_type": "longrope",
            "factor": 4.0,
            "short_factor": [1.0] * 4,
            "long_factor": [2.0, 4.0, 8.0, 16.0],
            "original_max_position_embeddings": 40,
        },
    ],
)
def test_chunks_have_the_frequencies_of_the_whole_text(
    rope: dict[str, Any], known: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(passes, "CHUNK", 7)
    if not known:  # rotary embeddings of a model with code of its own
        monkeypatch.setattr(passes, "_TURNING", ())
    rope = {"rope_theta": 10_000.0, **rope}
    name = str(make_model(tmp_path, "Llama", rope_parameters=rope, max_position_embeddings=40))
    model = LocalModel(name)
    model._window = WINDOW  # dynamic NTK reads beyond its own
    rows = list[int]()
    model._model.lm_head.register_forward_hook(lambda *given: rows.append(given[2].shape[1]))
    texts = (TEXTS[2], TEXTS[0], TEXTS[2]) if known else (TEXTS[2], TEXTS[0])
    for text in texts:
        rows.clear()
        found = score(model, text)
        assert_close(found, plain(LocalModel(name), text))
        assert max(rows) <= 24
    assert len(found.offsets) > 15
    assert {one.rope_type for one in model._model.modules() if hasattr(one, "rope_type")} == {rope["rope_type"]}


def test_sharing_gives_the_same_numbers_with_less_work(folder: Path) -> None:
    sharing, alone = LocalModel(str(folder)), LocalModel(str(folder), share=False)
    last: list[int] = []
    expected = tokens = 0
    for candidate in candidates(ORDERING, "orders"):
        ids = sharing._tokenizer(candidate.text)["input_ids"]
        common = next((n for n, (a, b) in enumerate(zip(last, ids, strict=False)) if a != b), min(len(last), len(ids)))
        expected, tokens, last = expected + len(ids) - max(0, common - 1), tokens + len(ids), ids
        shared, whole = score(sharing, candidate.text), score(alone, candidate.text)
        assert_close(shared, list(whole.logprobs))
        assert shared.shared == max(0, common - 1)
        assert whole.shared == 0
    assert (sharing.forwarded, alone.forwarded) == (expected, tokens)
    assert sharing.forwarded < 0.75 * alone.forwarded


def test_a_text_that_is_asked_again_costs_one_token(folder: Path) -> None:
    model = LocalModel(str(folder))
    first = score(model, TEXTS[0])
    before = model.forwarded
    assert_close(score(model, TEXTS[0]), list(first.logprobs))
    assert model.forwarded - before == 1


def test_a_window_that_slides_is_not_cut_back(tmp_path: Path) -> None:
    model = LocalModel(str(make_hugging_face(tmp_path / "sliding", window=16)))
    for text in TEXTS:
        found = score(model, text)
        assert found.shared == 0
        assert_close(found, plain(model, text))


def test_special_tokens_have_no_part(folder: Path) -> None:
    model = LocalModel(str(folder))
    ids = model._tokenizer

    def with_ends(text: str, **options: Any) -> dict[str, list[Any]]:
        found = ids(text, **options)
        ends = {"input_ids": (0, 1), "special_tokens_mask": (1, 1), "offset_mapping": ((0, 0), (0, 0))}
        return {name: [first, *found[name], last] for name, (first, last) in ends.items()}

    model._tokenizer = with_ends
    found = score(model, SENTENCE)
    assert found.logprobs[0] is found.logprobs[-1] is None
    # With something before it, the first token of the text has a probability too.
    assert found.after(0)[1] == len(found.offsets) - 2


def test_a_text_beyond_the_window_is_an_overflow(folder: Path) -> None:
    model = LocalModel(str(folder))
    with pytest.raises(RequestError) as caught:
        score(model, "the " * (WINDOW + 10))
    assert caught.value.failure.kind == "overflow"
    assert str(WINDOW) in caught.value.failure.message


def with_pieces_as_tokens(tmp_path: Path, *, sure: bool) -> str:
    """A model with a token for the blank line and each whole piece behind it; if not ``sure``, all are as likely."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    place = make_hugging_face(tmp_path / "pieces")
    tokenizer = AutoTokenizer.from_pretrained(place)
    pieces = [piece for number in range(3) for piece in story(number, 4)]
    tokenizer.add_tokens([f"\n\n{piece}" for piece in pieces])
    tokenizer.save_pretrained(place)
    model = AutoModelForCausalLM.from_pretrained(place)
    model.resize_token_embeddings(len(tokenizer), mean_resizing=False)
    with torch.no_grad():
        for weight in (model.lm_head.weight, model.get_input_embeddings().weight):
            weight.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)) * 0.6)
        if not sure:
            model.lm_head.weight.zero_()
    model.save_pretrained(place)
    return f"hf/{place}"


def test_pairs_that_a_model_does_not_tell_apart_are_reported_and_not_answered(tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 3)
    model = with_pieces_as_tokens(tmp_path, sure=False)
    summary = likelihood(suite, model, out=tmp_path / "run", method="pairs")
    assert any(hint.startswith("3 of 3 samples have several equally likely orders") for hint in summary.hints)
    rows = load([tmp_path / "run"])
    assert (rows["valid"].to_list(), rows["value"].to_list()) == ([False] * 3, [0.0] * 3)
    for row in replies(tmp_path / "run"):
        figures = json.loads(row.reply.reasoning)
        # One token each, across the boundary: had it been left out, nothing would have been scored.
        assert set(figures["logprob"].values()) == {round(-math.log(vocabulary(model)), 6)}
        assert len(figures["equal"]) == 2


def test_pairs_are_told_apart_by_tokens_across_the_boundary(tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 1)
    model = with_pieces_as_tokens(tmp_path, sure=True)
    summary = likelihood(suite, model, out=tmp_path / "run", method="pairs")
    assert not any("equally likely" in hint for hint in summary.hints)
    assert load([tmp_path / "run"])["valid"].all()
    (row,) = replies(tmp_path / "run")
    figures = json.loads(row.reply.reasoning)["logprob"]
    before, *segments, after = story(0, 4)
    local = LocalModel(model)
    order = true_order(0, 4)
    named = [before, *(segments[order.index(part)] for part in range(1, 5)), after]
    for name, figure in figures.items():
        first, second = (named[int(number)] for number in name.split())
        expected = plain(local, f"{first}\n\n{second}")
        assert figure == pytest.approx(expected[-1], abs=CLOSE)


def vocabulary(model: str) -> int:
    return int(LocalModel(model)._model.config.vocab_size)


def test_a_whole_run(folder: Path, tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 3)
    for method in ("orders", "pairs"):
        likelihood(suite, f"hf/{folder}", out=tmp_path / method, method=method)
    for row in replies(tmp_path / "orders"):
        assert row.reply.tokens_cached is not None
        assert row.reply.tokens_in is not None
        assert 0 < row.reply.tokens_cached < row.reply.tokens_in
        assert row.cost == 0
    assert "transformers" in read_manifest(tmp_path / "orders")["versions"]
    rows = load([tmp_path / "orders", tmp_path / "pairs"])
    assert rows["valid"].all()
    (found,) = agreement(rows)
    assert (found.variant_a, found.variant_b, found.items) == ("likelihood, orders", "likelihood, pairs", 3)
