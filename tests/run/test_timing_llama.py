"""Times of a real llama.cpp server. Run by ``make test-models``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llama_server import serving
from tiny_models import SENTENCE, make_gguf

from fathom.models.protocol import Settings
from fathom.run.timing import time_model

pytest.importorskip("xllamacpp", reason="xllamacpp is not installed; make test-models runs this")
pytest.importorskip("gguf", reason="gguf is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

REPEATS = 2


def test_a_server_computes_each_prompt_from_its_beginning(tmp_path: Path) -> None:
    model = make_gguf(tmp_path / "model.gguf")
    with serving(model) as url:
        settings = Settings("openai/m", base_url=url, chat_template="never")
        found = time_model(settings, {512: f"{SENTENCE} " * 20}, repeats=REPEATS, reply_tokens=8)
    (one,) = found
    assert one.first_token_seconds
    assert one.tokens_per_second
    assert (one.repeats, one.reason) == (REPEATS, "")
    computed = re.findall(r"prompt eval time = +[0-9.]+ ms / +(\d+) tokens", model.with_suffix(".log").read_text())
    assert sum(int(tokens) > 300 for tokens in computed) >= REPEATS  # nothing of a prompt is taken from the one before
