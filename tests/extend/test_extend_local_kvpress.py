"""What our own methods for the cache keep, beside the presses of NVIDIA's kvpress.

kvpress needs transformers before 5.3, so these run in an environment of their own, by ``make test-kvpress``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from made_extended import make_extended, some_ids

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("kvpress", reason="kvpress is not installed; make test-kvpress runs this")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that kvpress needs

PROMPT, RATIO = 200, 0.5


def places_of(kept: Any, keys: Any) -> list[list[int]]:
    """The places of kept keys among all keys, for each key head, in order."""
    distances = torch.cdist(kept[0], keys[0])
    return [sorted(row.tolist()) for row in distances.argmin(-1)]


@pytest.mark.parametrize(
    ("press", "ours"),
    [
        ("SnapKVPress", "cache=snapkv&ratio=0.5&window=64"),
        ("StreamingLLMPress", "cache=recent&ratio=0.5"),
        ("PyramidKVPress", "cache=pyramid&ratio=0.5&window=64&beta=2"),
        ("RandomPress", "cache=random&ratio=0.5"),
    ],
)
def test_what_our_methods_keep_beside_the_presses(press: str, ours: str) -> None:
    import kvpress
    from transformers import DynamicCache

    model, extension = make_extended("Llama", f"none&length=1024&{ours}")
    ids = some_ids(PROMPT)
    with torch.inference_mode():
        cache = extension.new_cache(ids[0].tolist())
        model(ids, past_key_values=cache)
        model.set_attn_implementation("sdpa")
        whole = DynamicCache()
        model(ids, past_key_values=whole)
        pressed = DynamicCache()
        with getattr(kvpress, press)(compression_ratio=RATIO)(model):
            model(ids, past_key_values=pressed)
    own = [layer.positions[0].tolist() for layer in cache.layers]
    theirs = [places_of(one.keys, two.keys) for one, two in zip(pressed.layers, whole.layers, strict=True)]
    sizes = [len(layer[0]) for layer in theirs]
    assert np.mean([len(layer[0]) for layer in own]) == int(PROMPT * (1 - RATIO))
    if press in ("SnapKVPress", "StreamingLLMPress"):
        assert own == theirs
    elif press == "RandomPress":
        assert sizes == [100, 100, 100]
        assert all(row[-50:] == list(range(150, 200)) for layer in own for row in layer)  # ours keeps the last half
    else:
        # kvpress takes its window out of what a layer keeps, so that the last one keeps nothing else, and its line is
        # steeper; ours adds the window to what each layer chooses.
        assert sizes == [136, 100, 64]
        assert [len(layer[0]) for layer in own] == [118, 100, 82]
        assert own[1] == theirs[1]
