"""A real server on the loopback with a tiny model, against the model asked directly. Run by ``make test-llama``."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from llama_server import answering, free_port
from order_suites import make_order_suite
from tiny_models import SENTENCE, make_gguf, make_gguf_of_bytes

from engine_calls import likelihood
from fathom.models.retry import Retry
from fathom.rows import load
from fathom.run import replies
from fathom.run.likelihood.completions import CompletionsServer, Via
from fathom.run.likelihood.tokens import TokenLogprobs
from fathom.types import FathomError

pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed; make test-llama runs this")
pytest.importorskip("gguf", reason="gguf is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

TEXTS = (
    f"{SENTENCE}. Before day {SENTENCE[10:]}!\n\nThe keeper wrote it down.",
    f"{SENTENCE}. Before day the river 🙂 left.\n\nAnd a stone.",
    "中文 and a lantern.\n\n中文字典",
)
CLOSE = 1e-3
CONTEXT = 1024


@contextmanager
def serving(model: Path, context: int = CONTEXT) -> Iterator[str]:
    """The address of a server of llama-cpp-python."""
    port = free_port()
    options = {"model": str(model), "port": str(port), "n_ctx": str(context), "logits_all": "true"}
    flags = [word for name, value in options.items() for word in (f"--{name}", value)]
    with answering([sys.executable, "-m", "llama_cpp.server", *flags], port, model.with_suffix(".log")):
        yield f"http://127.0.0.1:{port}/v1"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


def directly(model: Path, text: str, context: int = CONTEXT) -> list[float]:
    """Log-probabilities of the tokens after BOS, computed from the logits of the model in this process."""
    from llama_cpp import Llama

    llama = Llama(str(model), n_ctx=context, logits_all=True, verbose=False)
    tokens = llama.tokenize(text.encode(), add_bos=True, special=True)
    llama.eval(tokens)
    told: Any = Llama.logits_to_logprobs(llama.scores[: len(tokens)])
    return [float(told[place, token]) for place, token in enumerate(tokens[1:])]


def score(url: str, texts: tuple[str, ...], via: Via = "auto") -> list[TokenLogprobs]:
    async def all_of_them() -> list[TokenLogprobs]:
        server = CompletionsServer("tiny", url, via, Retry(retries=0, timeout=60))
        try:
            return [await server.score(text) for text in texts]
        finally:
            await server.close()

    return asyncio.run(all_of_them())


def test_numbers_are_those_of_the_model_itself(model: Path) -> None:
    with serving(model) as url:
        found = score(url, TEXTS)
    for scored, text in zip(found, TEXTS, strict=True):
        expected = directly(model, text)
        # The server does not say how likely the first token is.
        assert scored.logprobs[0] is None
        assert scored.logprobs[1:] == pytest.approx(expected[1:], abs=CLOSE)
        second = text.index("\n\n") + 2
        tokens = sum(at >= second for at in scored.offsets)
        total, count = scored.after(second)
        assert (total, count) == (pytest.approx(sum(expected[-tokens:]), abs=CLOSE), tokens)  # type: ignore[comparison-overlap]
        assert max(expected) - min(expected) > 5


LESSON = "山的那边是海，海的那边没有人知道。老船长说：“明天再来吧。”"
CHINESE = (
    f"{LESSON}\n\n龘靐齉爩，𠮷野家🙂没有人知道。",
    f"龘山海。\n\n{LESSON}海的那边",
    f"{LESSON}\n\n没有人知道。\n\n𠮷🙂",
)


def taught() -> Any:
    """A byte-level BPE tokenizer with whole Chinese phrases; characters it has not seen are three or four tokens."""
    from tokenizers import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([LESSON, "没有人知道", "海的那边"] * 4, vocab_size=330, show_progress=False)
    return trained._tokenizer


def assert_read_as_it_is(path: Path, tokenizer: Any, texts: tuple[str, ...]) -> None:
    with serving(path, context=256) as url:
        found = score(url, texts, "echo")
    for scored, text in zip(found, texts, strict=True):
        expected, encoded = directly(path, text, 256), tokenizer.encode(text)
        assert len(scored.offsets) == len(expected) == len(encoded.ids)
        assert scored.logprobs[1:] == pytest.approx(expected[1:], abs=CLOSE)
        for start in (at + 2 for at in range(len(text)) if text.startswith("\n\n", at)):
            tokens = sum(end > start for _, end in encoded.offsets)
            total = sum(expected[-tokens:])
            assert scored.after(start) == (pytest.approx(total, abs=CLOSE), tokens)  # type: ignore[comparison-overlap]


def test_chinese_in_parts_of_characters_and_in_whole_phrases(tmp_path: Path) -> None:
    tokenizer = taught()
    told = [tokenizer.encode(text) for text in CHINESE]
    sizes = {end - start for one in told for start, end in one.offsets}
    assert max(sizes) >= 4
    assert tokenizer.encode("龘𠮷").offsets == [*[(0, 1)] * 3, *[(1, 2)] * 4]
    assert_read_as_it_is(make_gguf_of_bytes(tmp_path / "bytes.gguf", tokenizer), tokenizer, CHINESE)


@pytest.mark.slow
def test_chinese_in_the_tokens_of_gpt_2(tmp_path: Path, shared: Path) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(shared / "data" / "tokenizers" / "gpt2" / "tokenizer.json"))
    # A short text: for every token the server sorts the vocabulary.
    assert_read_as_it_is(make_gguf_of_bytes(tmp_path / "gpt2.gguf", tokenizer), tokenizer, ("海，人\n\n龘🙂",))


def test_a_token_across_the_boundary_counts_for_the_piece_behind_it(tmp_path: Path) -> None:
    across = "stone.\n\nAnd a lantern"
    model = make_gguf(tmp_path / "across.gguf", longer=across)
    text = f"{SENTENCE} {across} of winter."
    with serving(model) as url:
        (scored,) = score(url, (text,))
    expected, start = directly(model, text), text.index("And")
    at = scored.offsets.index(text.index(across))
    assert scored.offsets[at + 1] == text.index(across) + len(across)  # one token
    assert scored.logprobs[1:] == pytest.approx(expected[1:], abs=CLOSE)
    total = sum(expected[at:])
    assert scored.after(start) == (pytest.approx(total, abs=CLOSE), len(expected) - at)  # type: ignore[comparison-overlap]


def test_a_model_without_bos_is_refused_because_its_numbers_are_of_other_tokens(tmp_path: Path) -> None:
    model = make_gguf(tmp_path / "bare.gguf", bos=False)
    with serving(model) as url, pytest.raises(FathomError, match="belong to other tokens"):
        score(url, TEXTS)


def test_a_whole_run(model: Path, tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 1)
    with serving(model) as url:
        for method in ("orders", "pairs"):
            likelihood(suite, "openai/tiny", out=tmp_path / method, method=method, model_base_url=url)
    rows = load([tmp_path / "orders", tmp_path / "pairs"])
    assert rows["status"].to_list() == ["ok", "ok"]
    assert rows["valid"].all()


def test_a_text_beyond_the_window_is_an_overflow(model: Path, tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 1, segments=5)
    with serving(model, context=256) as url:
        likelihood(suite, "openai/tiny", out=tmp_path / "run", model_base_url=url, retries=0)
    (row,) = replies(tmp_path / "run")
    assert row.reply.status == "overflow"
