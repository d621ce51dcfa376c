"""``fathom doctor`` against a real server of a tiny model that knows nothing: its window is found, and how it ends."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random

import pytest
from doctor_server import examine
from llama_server import serving
from tiny_models import make_gguf

from fathom.run.doctor import Check, Diagnosis

pytest.importorskip("xllamacpp", reason="xllamacpp is not installed; make test-models runs this")
pytest.importorskip("gguf", reason="gguf is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_gguf(tmp_path_factory.mktemp("model") / "tiny.gguf")


def by_name(found: Diagnosis) -> dict[str, Check]:
    return {check.name: check for check in found.checks}


@pytest.mark.parametrize("window", [2048, 4096])
def test_the_window_of_a_server_is_found(model: Path, window: int) -> None:
    with serving(model, context=window) as url:
        found = examine("openai/tiny", model_base_url=url, rng=Random(0))
    checks = by_name(found)
    assert found.healthy, found
    assert checks["usage"].state == "ok"
    # A letter is a token of this model, so that the option, in fathom's tokens, is smaller.
    assert f"the server states {window:,} tokens; a prompt of " in checks["window"].found
    rate = int(re.findall(r"are (\d+) of", checks["tokenizer"].found)[0]) / 100
    assert rate > 2
    assert checks["window"].options == found.command[found.command.index("--window") :]
    assert int(checks["window"].options.split()[1]) == pytest.approx(window / rate, rel=0.02)
    assert checks["truncation"].state == "ok"
    assert checks["completions"].state == "ok"
    assert checks["log-probabilities"].state == "absent"  # llama.cpp has none of prompts


def test_a_window_that_is_given_and_too_large_is_corrected(model: Path) -> None:
    with serving(model, context=2048) as url:
        found = examine("openai/tiny", model_base_url=url, window=8192, rng=Random(0))
    assert by_name(found)["window"].state == "warning"
