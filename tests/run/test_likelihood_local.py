"""Local Hugging Face models: the numbers of one plain pass, with less work. Run by ``make test-models``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from order_suites import make_order_suite
from tiny_models import SENTENCE, WINDOW, make_hugging_face

from fathom.analysis import agreement
from fathom.rows import load
from fathom.run import likelihood, read_manifest, replies
from fathom.run.likelihood import local
from fathom.run.likelihood.client import candidates
from fathom.run.likelihood.local import LocalModel
from fathom.run.likelihood.tokens import TokenLogprobs
from fathom.run.model import RequestError
from fathom.types import Ordering

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
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
    import torch

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
    monkeypatch.setattr(local, "CHUNK", 7)
    model = LocalModel(str(folder))
    for text in TEXTS:
        assert_close(score(model, text), plain(model, text))


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
