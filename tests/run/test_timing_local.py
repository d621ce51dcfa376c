"""Times and bytes of models in this process. Run by ``make test-models``."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_models import HEADS, LAYERS, SENTENCE, WIDTH, WINDOW, make_answering, make_hugging_face

from fathom.models.clients import kernel_of
from fathom.models.local_client import LocalClient, open_local_client
from fathom.models.protocol import Call, RequestError, Settings
from fathom.run.timing import time_client, time_model

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TEXT = f"{SENTENCE} " * 12
TOKEN = 2 * LAYERS * WIDTH * 4
"""Bytes of a token: keys and values of all heads, which have WIDTH // HEADS numbers each, in float32."""
CALL = Call("sample", 1, 0, 9)


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_hugging_face(tmp_path_factory.mktemp("model") / "base")


def settings(folder: Path, query: str = "") -> Settings:
    return Settings(f"hf/{folder}{query}", chat_template="never")


def client(folder: Path, query: str = "") -> LocalClient:
    return open_local_client(settings(folder, query))


QUERIES = (
    ("", "sdpa"),
    ("?extend=none", "sdpa"),
    ("?extend=yarn&factor=4", "sdpa"),
    ("?extend=dynamic&original=64", "sdpa"),
    ("?extend=rerope&original=64&window=8", "fathom's own, plain PyTorch"),
    ("?cache=recent&budget=16", "sdpa, and plain PyTorch for what the cache keeps"),
)


@pytest.mark.parametrize(("query", "kernel"), QUERIES)
def test_a_model_is_measured(base: Path, query: str, kernel: str) -> None:
    model = client(base, query)
    first = asyncio.run(model.measure(TEXT, CALL))
    assert 0 < first.first < first.whole
    assert first.tokens_in == len(model._loaded.tokenizer(TEXT)["input_ids"])
    assert first.tokens_out == CALL.max_output_tokens
    prompt = 16 if "budget" in query else first.tokens_in
    assert first.cached == (TOKEN * prompt, TOKEN * (prompt + CALL.max_output_tokens - 1))  # the last one is not read
    assert TOKEN == LAYERS * 2 * HEADS * (WIDTH // HEADS) * 4
    assert kernel_of(model) == kernel
    (short, long) = time_model(settings(base, query), {512: TEXT, 1024: TEXT * 3}, repeats=2, reply_tokens=5, seed=1)
    for one in (short, long):
        assert one.first_token_seconds
        assert one.tokens_per_second
        assert one.first_token_seconds > 0 < one.tokens_per_second
        assert (one.repeats, one.kernel, one.reason) == (2, kernel, "")
        assert one.cache_bytes_prompt
        assert one.cache_bytes == one.cache_bytes_prompt + 4 * TOKEN
    assert (long.cache_bytes_prompt == short.cache_bytes_prompt) == ("budget" in query)


def test_a_cache_that_does_not_see_the_question_is_measured(base: Path) -> None:
    how = settings(base, "?cache=recent&budget=16&question=apart")
    told, untold = (
        time_model(how, {512: TEXT}, endings=endings, repeats=1, reply_tokens=3, seed=1) for endings in ({512: 30}, {})
    )
    assert told[0].repeats == 1
    assert told[0].cache_bytes_prompt
    assert told[0].cache_bytes_prompt > 16 * TOKEN  # the question stays too
    assert untold[0].repeats == 0
    assert "where in the prompt the question begins" in untold[0].reason


def test_nothing_of_the_prompt_before_is_used_nor_kept(base: Path) -> None:
    model = client(base)
    counted: list[int] = []
    whole = model._generate

    def spied(jobs: list, ended: object) -> None:  # type: ignore[type-arg]
        whole(jobs, ended)  # type: ignore[arg-type]
        counted.append(jobs[0].output.tokens_cached)

    model._generate = spied  # type: ignore[method-assign]
    asyncio.run(model.complete(TEXT, CALL))
    for _ in range(2):
        asyncio.run(model.measure(TEXT, CALL))
        assert model._cache is None
    reply = asyncio.run(model.complete(TEXT, CALL))
    assert counted == [0, 0, 0, 0]
    assert reply.tokens_cached == 0


def test_an_end_of_the_text_does_not_shorten_a_reply(tmp_path: Path) -> None:
    model = open_local_client(Settings(f"hf/{make_answering(tmp_path / 'chat', 'It leaves at nine.')}"))
    assert asyncio.run(model.complete("When?", CALL)).tokens_out == 2  # the answer and the end
    assert asyncio.run(model.measure("When?", CALL)).tokens_out == CALL.max_output_tokens
    assert asyncio.run(model.complete("When?", CALL)).tokens_out == 2


def test_one_token_has_no_rate(base: Path) -> None:
    (one,) = time_model(settings(base), {512: TEXT}, repeats=1, reply_tokens=1)
    assert one.first_token_seconds
    assert (one.tokens_per_second, one.reason) == (None, "a reply has one token")
    assert one.cache_bytes == one.cache_bytes_prompt


def test_a_length_that_fails_does_not_end_the_others(base: Path) -> None:
    model = client(base)
    prompts = {256: TEXT, 2 * WINDOW: TEXT * WINDOW, 512: TEXT}
    found = asyncio.run(time_client(model, settings(base), prompts, repeats=1, reply_tokens=2))
    assert [one.length for one in found] == list(prompts)
    assert [one.first_token_seconds is None for one in found] == [False, True, False]
    assert "of its window" in found[1].reason
    with pytest.raises(RequestError, match="of its window"):
        asyncio.run(model.measure(TEXT * WINDOW, CALL))


def test_bytes_of_a_window_that_slides_and_of_a_shared_prompt(base: Path, tmp_path: Path) -> None:
    model = client(make_hugging_face(tmp_path / "sliding", window=16))
    asyncio.run(model.complete(TEXT, CALL))
    assert model.cached == (TOKEN * 15, TOKEN * 15)  # and the token that is being computed
    model, call = client(base), replace(CALL, ending=10)
    asyncio.run(model.complete(TEXT, call))
    held = model.cached
    reply = asyncio.run(model.complete(TEXT, call))
    assert reply.tokens_cached
    assert model.cached == held
