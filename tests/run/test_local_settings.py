"""What is known of a Hugging Face model without torch: its window, its price, and what is missing."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from order_suites import make_order_suite
from run_suites import make_suite

from engine_calls import likelihood, run
from fathom.models.hugging_face import failure_of_model, window_of
from fathom.models.prices import FREE, Price, find_price
from fathom.run import check_judge
from fathom.types import FathomError, Json

MISSING = r"needs torch and transformers: pip install 'fathom-eval\[hf\]'"
YARN = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}


@pytest.mark.parametrize(
    ("config", "window"),
    [
        ({"max_position_embeddings": 4096}, 4096),
        ({"max_position_embeddings": 40960, "rope_parameters": YARN}, 131072),
        ({"max_position_embeddings": 163840, "rope_scaling": {**YARN, "type": "yarn", "factor": 1.0}}, 163840),
        ({"max_position_embeddings": 131072, "rope_scaling": {"rope_type": "llama3", "factor": 8.0}}, 131072),
        ({"max_position_embeddings": 8192, "rope_scaling": {"type": "yarn", "factor": "large"}}, 8192),
        ({"max_position_embeddings": -1}, None),
        ({}, None),
    ],
)
def test_the_window_of_a_configuration(config: dict[str, Json], window: int | None) -> None:
    assert window_of(SimpleNamespace(**config)) == window
    assert window_of(SimpleNamespace(get_text_config=lambda: SimpleNamespace(**config))) == window


def test_what_is_missing_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(FathomError, match=MISSING):
        run(make_suite(tmp_path, 1), "hf/lab/model", out=tmp_path / "run")
    with pytest.raises(FathomError, match=MISSING):
        check_judge("hf/lab/model")
    with pytest.raises(FathomError, match=MISSING):
        likelihood(make_order_suite(tmp_path / "orders", 1), "hf/lab/model", out=tmp_path / "likelihood")
    assert not (tmp_path / "run").exists()


def test_arguments_of_a_model_are_not_those_of_a_server(tmp_path: Path) -> None:
    suite = make_order_suite(tmp_path, 1)
    with pytest.raises(FathomError, match="`model_args` dtype: only for local models"):
        likelihood(
            suite,
            "openai/m",
            out=tmp_path / "run",
            model_base_url="http://127.0.0.1:9/v1",
            model_args={"dtype": "float32"},
        )


def test_it_is_free_unless_the_user_says_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "prices.toml"
    own.write_text('["hf/lab/rented"]\ninput = 1\noutput = 2\n')
    monkeypatch.setenv("FATHOM_PRICES", str(own))
    assert find_price("hf/lab/model") == FREE
    assert find_price("hf/lab/rented") == Price(input=1, output=2)


@pytest.mark.parametrize(
    "message",
    ["DefaultCPUAllocator: not enough memory: you tried to allocate", "CUDA out of memory", "can't allocate memory"],
)
def test_out_of_memory_is_recognized(message: str) -> None:
    assert "out of memory for a prompt of 7,000 tokens" in failure_of_model(RuntimeError(message), 7000).message
    assert failure_of_model(ValueError("shape"), 7).message == "ValueError: shape"
