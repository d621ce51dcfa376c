"""Prompts beyond the window lose their middle as LongBench Pro's code does it, with its tokenizer."""

from __future__ import annotations

from pathlib import Path

import pytest

from fathom.documents.corpus import read_corpus
from fathom.models.overflow import fit
from fathom.tokens.tokenizers import TiktokenTokenizer, get_tokenizer


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_middle_is_cut_as_in_the_released_code(shared: Path, language: str) -> None:
    """First and last half of the tokens, decoded; every truncation length of the paper is even."""
    tokenizer = get_tokenizer(str(shared / "data" / "tokenizers" / "qwen"))
    assert isinstance(tokenizer, TiktokenTokenizer)
    encoding, compared = tokenizer.encoding, 0
    for book in read_corpus(str(shared / "data" / "books" / language)).documents:
        for start in range(0, 300_000, 60_000):
            prompt = book.text[start : start + 30_000].strip()
            tokens = encoding.encode_ordinary(prompt)
            for budget in (500, 2_000, 6_000):
                released = encoding.decode(tokens[: budget // 2] + tokens[-budget // 2 :])
                if len(tokens) <= budget or "�" in released or tokenizer.count(released) > budget:
                    continue  # nothing to cut, half a character at the seam, or a token more where the halves meet
                fitted = fit(prompt, budget, "middle", tokenizer)
                assert fitted is not None
                assert fitted.prompt == released
                assert fitted.removed == len(tokens) - tokenizer.count(released)
                compared += 1
    assert compared > 30
