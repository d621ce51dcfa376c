"""Every method and cache on a real instruction model, in bfloat16 and in float32. Run by ``make test-models``."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from fathom.extend.methods import CACHES, METHODS
from fathom.models.local_client import open_local_client
from fathom.models.protocol import Call, Settings
from made_once import made_once
from small_model import save_small_model

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

DIVISORS = ",".join(f"{1 + 3 * place / 31:.3f}" for place in range(32))
# Small windows and budgets, so that a prompt of a hundred tokens has all of what a method does.
METHOD_QUERIES = {
    "none": "none",
    "pi": "pi&factor=1.5",
    "ntk": "ntk&factor=4",
    "dynamic": "dynamic&factor=4",
    "yarn": "yarn&factor=4",
    "abf": "abf&length=32k",
    "llama3": "llama3&factor=4",
    "longrope": f"longrope&factor=4&long_factor={DIVISORS}",
    "rerope": "rerope&window=48",
    "leaky": "leaky&window=48&group=4",
    "selfextend": "selfextend&window=48&group=4",
    "dca": "dca&chunk=64&local=16",
    "streaming": "streaming&sinks=4&window=80",
}
CACHE_QUERIES = {
    "full": "full",
    "snapkv": "snapkv&budget=64&window=16",
    "pyramid": "pyramid&budget=64&window=16&beta=4",
    "h2o": "h2o&budget=64",
    "random": "random&budget=64",
    "recent": "recent&budget=64",
    "fp8": "fp8",
}
NOT_HERE = {"kvpress"}  # which needs earlier libraries
PROMPT = (
    "A ferry leaves the harbour of Lund at nine and returns at noon. The keeper of the lamp is called Marta, and her "
    "brother repairs the nets. In winter the boat lies in the yard, where the children paint its hull blue. A letter "
    "of the harbour master says that the fare is three coins for a person and five for a cow. What is the keeper of "
    "the lamp called? Answer with one word."
)
CALL = Call("sample", 1, 0, 8)


@pytest.fixture(scope="module")
def small_model(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    return made_once(tmp_path_factory, worker_id, "small_model", save_small_model)


def asked(folder: Path, query: str, dtype: str) -> tuple[str, list[Any]]:
    """A reply, and the logits after its prompt and after each of its tokens."""
    client = open_local_client(Settings(f"hf/{folder}?{query}", model_args={"dtype": dtype, "device": "cpu"}))
    logits: list[Any] = []
    client._loaded.model.register_forward_hook(lambda _model, _inputs, output: logits.append(output.logits[0, -1]))
    return asyncio.run(client.complete(PROMPT, CALL)).text, [step.float() for step in logits]


def test_every_method_and_cache_is_tried() -> None:
    assert set(METHOD_QUERIES) == set(METHODS)
    assert set(CACHE_QUERIES) == set(CACHES) - NOT_HERE


@pytest.mark.parametrize(
    "query",
    [
        *(f"extend={query}" for query in METHOD_QUERIES.values()),
        *(f"cache={query}" for query in CACHE_QUERIES.values()),
    ],
    ids=[*METHOD_QUERIES, *CACHE_QUERIES],
)
def test_a_method_says_the_same_in_bfloat16_as_in_float32(small_model: Path, query: str) -> None:
    exact, steps = asked(small_model, query, "float32")
    rounded, coarse = asked(small_model, query, "bfloat16")
    assert exact
    assert rounded
    assert all(bool(step.isfinite().all()) for step in (*steps, *coarse))
    assert len(steps) >= 2
    # The model's own sdpa and eager differ by 2% of the largest logit in bfloat16.
    assert float((steps[0] - coarse[0]).abs().max()) < 0.1 * float(steps[0].abs().max())
