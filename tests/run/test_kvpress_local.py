"""Presses of NVIDIA's kvpress by name: refused early, and with the replies of the library's own way.

kvpress needs transformers before 5.3, so these run in an environment of their own, by ``make test-kvpress``.
"""

from __future__ import annotations

import asyncio
import importlib.util
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import SENTENCE, make_hugging_face

from fathom.models.local_client import LocalClient, check_local_model, open_local_client
from fathom.models.protocol import Call, Settings
from fathom.types import FathomError

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")
installed = importlib.util.find_spec("kvpress") is not None
needs_kvpress = pytest.mark.skipif(not installed, reason="kvpress is not installed; make test-kvpress runs this")
pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that kvpress needs

RATIO = 0.5
TEXT = " ".join([SENTENCE] * 6)
QUESTION = " when it left the river"
CALL = Call("sample", 1, 0, 6)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hugging_face(tmp_path_factory.mktemp("model") / "base")


def client(folder: Path, query: str) -> LocalClient:
    return open_local_client(Settings(f"hf/{folder}?{query}", chat_template="never"))


@pytest.mark.skipif(installed, reason="kvpress is installed")
def test_an_environment_without_kvpress_is_refused_before_weights_are_read(
    base: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from transformers import AutoModelForCausalLM

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", lambda *_, **__: pytest.fail("weights were read"))
    settings = Settings(f"hf/{base}?cache=kvpress&press=KnormPress&ratio=0.5", chat_template="never")
    for attempt in (open_local_client, check_local_model):
        with pytest.raises(FathomError, match=r"pip install 'fathom-eval\[kvpress\]'"):
            attempt(settings)


@needs_kvpress
@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("cache=kvpress&press=KnormPres&ratio=0.5", "unknown press 'KnormPres'; did you mean KnormPress"),
        ("cache=kvpress&press=AdaKVPress&ratio=0.5", "AdaKVPress needs more than a ratio"),
        ("cache=kvpress&press=ScorerPress&ratio=0.5", "ScorerPress needs more than a ratio"),
        ("cache=kvpress&press=DuoAttentionPress&ratio=0.5", "DuoAttentionPress needs more than a ratio"),
        ("extend=rerope&window=64&cache=kvpress&press=KnormPress&ratio=0.5", "kvpress reads rotated keys"),
    ],
)
def test_what_cannot_work_is_refused_by_its_name(base: Path, query: str, message: str) -> None:
    with pytest.raises(FathomError, match=message):
        check_local_model(Settings(f"hf/{base}?{query}", chat_template="never"))


@needs_kvpress
def test_a_press_that_fails_is_found_when_the_model_is_loaded(base: Path) -> None:
    with pytest.raises(FathomError, match="FinchPress does not work with this model"):
        client(base, "cache=kvpress&press=FinchPress&ratio=0.5")


@needs_kvpress
@pytest.mark.parametrize("press", ["SnapKVPress", "PyramidKVPress", "KnormPress", "RandomPress", "TOVAPress"])
@pytest.mark.parametrize("apart", [False, True])
def test_a_press_leaves_out_its_share(base: Path, press: str, apart: bool) -> None:
    """Replies are those of the library's own way: its press while the text is read, its cache, explicit positions."""
    import kvpress
    from transformers import DynamicCache

    query = f"cache=kvpress&press={press}&ratio={RATIO}"
    model = client(base, query + ("&question=apart" if apart else ""))
    call = replace(CALL, ending=len(QUESTION))
    prompt = TEXT + QUESTION
    reply = asyncio.run(model.complete(prompt, call))
    assert asyncio.run(model.complete(prompt, call)).text == reply.text
    tokenizer, inner = model._loaded.tokenizer, model._loaded.model
    ids = tokenizer(prompt)["input_ids"]
    read = len(tokenizer(TEXT)["input_ids"]) if apart else len(ids)
    size = 2 * inner.config.num_hidden_layers * inner.config.hidden_size * 4
    assert model.cached is not None
    assert model.cached[0] == pytest.approx(size * (int(read * (1 - RATIO)) + len(ids) - read), abs=size)
    if press == "RandomPress":
        return  # which draws
    inner.set_attn_implementation("sdpa")
    cache, text, told = DynamicCache(), torch.tensor([ids]), []
    with torch.inference_mode():
        with getattr(kvpress, press)(compression_ratio=RATIO)(inner):
            logits = inner(text[:, :read], past_key_values=cache).logits
        for place in range(read, len(ids) + 5):  # token by token, so that masks do not matter
            if place >= len(ids):
                told.append(int(logits[0, -1].argmax()))
            token = ids[place] if place < len(ids) else told[-1]
            logits = inner(torch.tensor([[token]]), past_key_values=cache, position_ids=torch.tensor([[place]])).logits
        told.append(int(logits[0, -1].argmax()))
    assert tokenizer.decode(told, skip_special_tokens=True) == reply.text
