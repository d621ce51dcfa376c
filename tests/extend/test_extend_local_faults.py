"""Faults of transformers that change what is measured: each is shown, and ours is shown not to have it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from handwritten_reader import BASE, HEAD, WINDOW, make_items, make_reader, save_reader
from made_extended import make_extended, some_ids
from test_extend_local_reader import DIVISORS, THETA, YARN, generated, outcomes

from fathom.extend.frequencies import plain_frequencies
from fathom.models.hugging_face import load_model

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("reader") / "plain")


def rope(kind: str, **more: Any) -> dict[str, Any]:
    return {"rope_parameters": {"rope_type": kind, "rope_theta": BASE, **more}}


def test_longrope_switches_within_a_reply_of_transformers_and_not_of_ours(folder: Path) -> None:
    divisors = (THETA / YARN).tolist()
    parameters = {"short_factor": [1.0] * len(divisors), "long_factor": divisors, "factor": 8.0}
    theirs = make_reader(**rope("longrope", **parameters, original_max_position_embeddings=WINDOW))
    ours = load_model(f"hf/{folder}?extend=longrope&factor=8&long_factor={DIVISORS}", {"device": "cpu"})
    items = make_items(WINDOW)
    # The first word is right; the cached keys of the others have the frequencies from before the switch.
    assert not any(generated(theirs, item) == item.answer for item in items)
    assert all(generated(theirs, item)[0] == item.answer[0] for item in items)
    assert all(generated(theirs, item, use_cache=False) == item.answer for item in items)
    assert all(outcomes(ours, items))
    assert ours.extension is not None
    assert "chosen once for a request" in ours.extension.notes[0]


DYNAMIC = {"rope_type": "dynamic", "rope_theta": BASE, "factor": 1.0}


def test_dynamic_keeps_the_longest_request_in_transformers_and_not_in_ours() -> None:
    """So their scores depend on the order of requests."""
    theirs, _ = make_extended("Llama", "none", rope_parameters=dict(DYNAMIC))
    ours, extension = make_extended("Llama", "dynamic")
    short, long = some_ids(100), some_ids(500)

    def difference(model: Any, fit: Callable[[int], object]) -> float:
        found = []
        with torch.inference_mode():
            for ids in (short, long, short):
                fit(ids.shape[1])
                found.append(model(ids, use_cache=False).logits)
        return float((found[0] - found[2]).abs().max())

    assert difference(theirs, lambda tokens: None) > 0.5
    assert difference(ours, extension.fit) == 0
    alone, fitted = make_extended("Llama", "dynamic")
    fitted.fit(500)
    extension.fit(100)
    extension.fit(500)
    with torch.inference_mode():
        assert torch.equal(ours(long, use_cache=False).logits, alone(long, use_cache=False).logits)


def test_dynamic_is_not_causal_in_transformers_and_is_in_ours() -> None:
    theirs, _ = make_extended("Llama", "none", rope_parameters=dict(DYNAMIC))
    ours, extension = make_extended("Llama", "dynamic")
    ids = some_ids(200)
    extension.fit(200)

    def difference(model: Any) -> float:
        """Between logits of a prefix alone and with what follows."""
        with torch.inference_mode():
            part = model(ids[:, :150], use_cache=False).logits
            return float((part - model(ids, use_cache=False).logits[:, :150]).abs().max())

    assert difference(theirs) > 0.05
    assert difference(ours) < 1e-5


def test_a_rope_scaling_that_is_set_loses_theta_in_transformers_and_not_in_ours(folder: Path, tmp_path: Path) -> None:
    from transformers import AutoConfig

    for file in folder.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    config = json.loads((tmp_path / "config.json").read_text("utf-8"))
    config["rope_parameters"]["rope_theta"] = 500_000.0
    (tmp_path / "config.json").write_text(json.dumps(config), "utf-8")
    theirs = AutoConfig.from_pretrained(tmp_path)
    with pytest.warns(FutureWarning, match="rope_scaling"):
        theirs.rope_scaling = {"rope_type": "linear", "factor": 8.0}
    assert theirs.rope_parameters.get("rope_theta") is None
    ours = load_model(f"hf/{tmp_path}?extend=pi&factor=8", {"device": "cpu"}).model
    assert ours.config.rope_parameters["rope_theta"] == 500_000
    np.testing.assert_allclose(
        ours.model.rotary_emb.inv_freq.numpy(), plain_frequencies(HEAD, 500_000.0) / 8, rtol=1e-6
    )


def test_attention_without_a_mask_of_its_own_loses_padding_in_transformers() -> None:
    """Ours registers one: see test_batches_with_padding_on_the_left."""
    from transformers import AttentionInterface

    seen: list[Any] = []

    def attend(module: Any, query: Any, key: Any, value: Any, mask: Any, **_: Any) -> tuple[Any, None]:
        seen.append(mask)
        return value.transpose(1, 2), None

    AttentionInterface.register("fathom_without_mask", attend)
    model = make_reader()
    model.set_attn_implementation("fathom_without_mask")
    with torch.inference_mode():
        model(torch.tensor([[1, 1, 2]]), attention_mask=torch.tensor([[0, 0, 1]]))
    assert seen == [None, None]
