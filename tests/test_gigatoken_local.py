"""gigatoken itself, which `make test-models` installs: it counts what the library counts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from fathom.tokens.tokenizers import HuggingFaceTokenizer, get_tokenizer

pytest.importorskip("gigatoken", reason="gigatoken is not installed; make test-models runs this")
DOCS = Path(__file__).parents[1] / "docs"


@pytest.mark.slow
def test_gigatoken_itself_counts_pages_as_the_library_does(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    import tokenizers
    from tokenizers import models, pre_tokenizers, trainers

    pages = [page.read_text("utf-8") for page in sorted((DOCS / "explanation").rglob("*.md"))]
    engine = tokenizers.Tokenizer(models.BPE())
    engine.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    engine.train_from_iterator(
        pages, trainers.BpeTrainer(vocab_size=2000, initial_alphabet=alphabet, show_progress=False)
    )
    engine.add_special_tokens(["<|eot_id|>"])
    engine.add_tokens(["<think>"])
    engine.save(str(tmp_path / "tokenizer.json"))

    tokenizer = get_tokenizer(str(tmp_path / "tokenizer.json"))
    assert isinstance(tokenizer, HuggingFaceTokenizer)
    assert tokenizer.quick is not None, caplog.messages
    plain = replace(tokenizer, quick=None)
    texts = [*pages, *(page[:400] + "<think> \u53e3\u2003<|eot_id|>" + page[400:900] for page in pages)]
    assert [tokenizer.count(text) for text in texts] == [plain.count(text) for text in texts]
