"""The model with weights written by hand reads what its cache keeps, item by item."""

from __future__ import annotations

from pathlib import Path

import pytest
from handwritten_reader import REPLY, make_items, save_reader
from test_extend_local_reader import generated

from fathom.extend.hf.calls import with_cache
from fathom.extend.methods import is_apart
from fathom.models.hugging_face import load_model

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

LENGTHS = (128, 512, 2048)
# Most weights of this model are 0 in float32, and among equal places the first stay: which fillers stay decides about
# two items of twenty at most.
CLOSE = 0.1
TABLE = {
    "snapkv&budget=128": (1, 1, 1),
    "snapkv&budget=128&kernel=1": (1, 0.25, 0.1),
    # The question is one word: without it, the last queries look for nothing.
    "snapkv&budget=128&question=apart": (1, 0.25, 0.05),
    "h2o&budget=128": (1, 0.25, 0.05),
    "random&budget=128": (1, 0.1, 0.05),
    "recent&budget=128": (1, 0.25, 0.05),
    "fp8": (1, 1, 1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_reader(tmp_path_factory.mktemp("reader") / "plain")


def share(folder: Path, query: str, length: int) -> float:
    """The share of items that are right, each of which must follow from what stayed."""
    loaded = load_model(f"hf/{folder}?extend=yarn&factor=8&cache={query}", {"device": "cpu"})
    assert loaded.extension is not None
    apart = is_apart(loaded.extension.cache)
    right, items = 0, make_items(length)
    if length == LENGTHS[-1] and TABLE[query][-1] == 1:
        items = items[::2]  # as all are right, half of the longest say it too
    for item in items:
        cache = loaded.extension.new_cache(item.prompt)
        if apart:
            with torch.inference_mode():
                loaded.model.base_model(torch.tensor([item.prompt[:-1]]), **with_cache(loaded.model.base_model, cache))
        reply = generated(loaded.model, item, **with_cache(loaded.model, cache))
        read = [True] * REPLY
        if query != "fp8":  # layer 2 reads the words after a match
            stayed = set(cache.layers[1].positions[0, 0].tolist())
            read = [item.place + 1 + step in stayed for step in range(REPLY)]
        if not apart:  # the first word is read before anything is lost
            assert reply[0] == item.answer[0]
            read[0] = True
        assert (reply == item.answer) == all(read)
        right += reply == item.answer
    return right / len(items)


@pytest.mark.slow
@pytest.mark.parametrize("query", TABLE)
def test_each_item_is_right_where_its_words_stay(folder: Path, query: str) -> None:
    found = tuple(share(folder, query, length) for length in LENGTHS)
    exact = query.startswith("recent") or min(TABLE[query]) == 1
    assert found == pytest.approx(TABLE[query], abs=1e-9 if exact else CLOSE + 1e-9)
