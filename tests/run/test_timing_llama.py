"""Times of a real llama.cpp server. Run by ``make test-models``."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from llama_server import serving
from tiny_models import SENTENCE, make_gguf

from fathom.models.protocol import Settings
from fathom.run.timing import time_model

pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed; make test-models runs this")
pytest.importorskip("gguf", reason="gguf is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

REPEATS = 2


def test_a_server_computes_each_prompt_from_its_beginning(tmp_path: Path) -> None:
    model = make_gguf(tmp_path / "model.gguf")
    with serving(model) as url:
        settings = Settings("openai/m", base_url=url, chat_template="never")
        found = time_model(settings, {512: f"{SENTENCE} " * 20}, repeats=REPEATS, reply_tokens=8)
    (one,) = found
    assert one.first_token_seconds
    assert (one.repeats, one.tokens_per_second) == (REPEATS, None)
    assert one.reason == "the server does not count the tokens of a reply"  # of a stream, whatever it is asked
    known = re.findall(r"(\d+) prefix-match hit, remaining (\d+)", model.with_suffix(".log").read_text())
    assert all(int(before) < 0.1 * int(computed) for before, computed in known)
