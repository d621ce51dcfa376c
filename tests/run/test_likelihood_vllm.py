"""Chinese under vLLM's ``prompt_logprobs``, by the decoded tokens of each of its versions and by real vocabularies."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import accumulate, product
from pathlib import Path

import pytest
from scripted_likelihood import LikelihoodServer
from vllm_replies import DECODINGS, Split, answering, decoded, splitting

from fathom.models.protocol import RequestError
from fathom.models.retry import Retry
from fathom.run.likelihood.completions import CompletionsServer
from fathom.run.likelihood.tokens import TokenLogprobs, offsets_of

LESSON = "山的那边是海，海的那边没有人知道。老船长说：“明天再来吧。”孩子们点头，沿着堤岸往回走"
TEXTS = (
    f"{LESSON}。\n\n龘靐齉爩，𠮷野家🙂没有人知道。\n\n{LESSON}",
    f"龘山海\n\n{LESSON}海的那边\n\n灯火照着海港，老人守到天明",
    f"The ferry leaves at nine.\n\n{LESSON}\n\nA stone, 中文 and 🙂 a lantern.\n\n潮水退去。",
    f"𠮷🙂{LESSON}\r\n\r\n {LESSON}\n\n  他睡了。",
)


def taught() -> Split:
    """A small vocabulary with whole phrases; characters it has not seen are three or four tokens."""
    from tokenizers import ByteLevelBPETokenizer

    trained = ByteLevelBPETokenizer()
    trained.train_from_iterator([LESSON, "没有人知道", "海的那边"] * 4, vocab_size=330, show_progress=False)
    return splitting(trained._tokenizer)


def vocabulary(name: str, folder: Path) -> Split:
    """The tokens of a real vocabulary, in bytes."""
    if name == "gpt2":
        from tokenizers import Tokenizer

        return splitting(Tokenizer.from_file(str(folder / "gpt2" / "tokenizer.json")))
    from fathom.tokens.tokenizers import get_tokenizer

    engine = get_tokenizer(str(folder / name)).encoding  # type: ignore[attr-defined]
    return lambda text: [engine.decode_single_token_bytes(token) for token in engine.encode_ordinary(text)]


def score(split: Split, decoding: str, texts: Sequence[str], *, bos: bool) -> list[TokenLogprobs]:
    async def all_of_them(url: str) -> list[TokenLogprobs]:
        client = CompletionsServer("scripted", url, "prompt_logprobs", Retry(retries=0, timeout=30))
        try:
            return [await client.score(text) for text in texts]
        finally:
            await client.close()

    with LikelihoodServer(answering(split, decoding, bos=bos)) as server:
        return asyncio.run(all_of_them(server.base_url))


def assert_sums(split: Split, decoding: str, *, bos: bool) -> None:
    for scored, text in zip(score(split, decoding, TEXTS, bos=bos), TEXTS, strict=True):
        ends = list(accumulate(map(len, split(text))))
        starts = [at + 2 for at in range(len(text)) if text.startswith("\n\n", at)]
        assert starts
        for start in starts:
            counted = [place for place, end in enumerate(ends) if end > len(text[:start].encode())]
            assert scored.after(start) == (sum(-1.0 - place / 8 for place in counted), len(counted))


@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize("decoding", [one for one in DECODINGS if one != "empty"])
def test_parts_of_characters_and_whole_phrases(decoding: str, bos: bool) -> None:
    split = taught()
    assert max(map(len, split(LESSON))) >= 12
    assert_sums(split, decoding, bos=bos)


REAL = ("qwen/qwen.tiktoken", "llama3/tokenizer.model", "gpt2")


@pytest.mark.slow
@pytest.mark.parametrize("bos", [True, False])
@pytest.mark.parametrize(("name", "decoding"), [one for one in product(REAL, DECODINGS) if one != ("gpt2", "empty")])
def test_real_vocabularies(name: str, decoding: str, bos: bool, shared: Path) -> None:
    assert_sums(vocabulary(name, shared / "data" / "tokenizers"), decoding, bos=bos)


@pytest.mark.parametrize("decoding", ["empty", "stored"])
def test_tokens_that_show_too_little_are_refused(decoding: str) -> None:
    """Of characters in parts nothing is left to find the others by; letters for bytes are not the text."""
    with pytest.raises(RequestError, match="not those of the prompt"):
        assert_sums(taught(), decoding, bos=True)


def test_a_version_shows_what_is_documented() -> None:
    tokens = [b"a", "中".encode()[:1], "中".encode()[1:2], "中".encode()[2:], "文".encode()[:2], "文山".encode()[2:]]
    shown = {decoding: decoded(tokens, decoding, bos=True) for decoding in DECODINGS}
    assert shown["together"] == ["a", "", "", "中", "", "文山"]
    assert shown["alone"] == ["a", "\ufffd", "\ufffd", "\ufffd", "\ufffd", "\ufffd山"]
    assert shown["empty"] == ["a", "", "", "", "", "\ufffd山"]
    assert shown["completed"] == ["a", "", "", "中", "", "\ufffd山"]


def test_tokens_that_lie_on_both_sides_of_a_line_end_are_not_guessed() -> None:
    assert offsets_of(["a", "", "", "", "b"], "a中\n\n文b", complete=True) is None
    assert offsets_of(["a", "", "\n\n", "", "b"], "a中\n\n文b", complete=True) == (0, 1, 2, 4, 5)
