"""The model with weights written by hand reads what its cache keeps, item by item."""

from __future__ import annotations

from pathlib import Path

import pytest
from handwritten_reader import REPLY, make_items, save_reader
from test_extend_local_reader import generated

from fathom.run.hugging_face import load_model

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

LENGTHS = (128, 256, 512, 1024, 2048)
# Most weights of this model are 0 in float32, and among equal places the first stay: which fillers stay decides about
# two items of twenty at most.
CLOSE = 0.1
TABLE = {
    "snapkv&budget=128": (1, 1, 1, 1, 1),
    "snapkv&budget=128&kernel=1": (1, 0.45, 0.25, 0.15, 0.1),
    "h2o&budget=128": (1, 0.45, 0.25, 0.1, 0.05),
    "random&budget=128": (1, 0.3, 0.1, 0.05, 0.05),
    "recent&budget=128": (1, 0.5, 0.25, 0.1, 0.05),
    "fp8": (1, 1, 1, 1, 1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("reader") / "plain")


def share(folder: Path, query: str, length: int) -> float:
    """The share of items that are right, each of which must follow from what stayed."""
    loaded = load_model(f"hf/{folder}?extend=yarn&factor=8&cache={query}", {"device": "cpu"})
    assert loaded.extension is not None
    right = 0
    for item in make_items(length):
        cache = loaded.extension.new_cache(item.prompt)
        reply = generated(loaded.model, item, past_key_values=cache)
        assert reply[0] == item.answer[0]  # it comes from the full prompt
        read = [True] * REPLY
        if query != "fp8":  # layer 2 reads the words after a match, of which the first is read before anything is lost
            stayed = set(cache.layers[1].positions[0, 0].tolist())
            read[1:] = [item.place + 1 + step in stayed for step in range(1, REPLY)]
        assert (reply == item.answer) == all(read)
        right += reply == item.answer
    return right / len(make_items(length))


@pytest.mark.slow
@pytest.mark.parametrize("query", TABLE)
def test_each_item_is_right_where_its_words_stay(folder: Path, query: str) -> None:
    found = tuple(share(folder, query, length) for length in LENGTHS)
    exact = query.startswith("recent") or min(TABLE[query]) == 1
    assert found == pytest.approx(TABLE[query], abs=1e-9 if exact else CLOSE + 1e-9)
