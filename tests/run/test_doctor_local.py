"""``fathom doctor hf/PATH``: the window is that of the configuration, and no long prompt is sent to find it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tiny_models import WINDOW, make_answering, make_hugging_face

from fathom import api

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_doctor_reads_the_window_of_a_model_in_this_process_from_its_configuration(tmp_path: Path) -> None:
    diagnosis = api.doctor(f"hf/{make_answering(tmp_path / 'chat', 'It leaves at nine.')}")
    (window,) = [check for check in diagnosis.checks if check.name == "window"]
    assert window.state == "ok"
    assert window.found == f"{WINDOW:,} tokens by its configuration"
    assert [check.state for check in diagnosis.checks if check.name == "truncation"] == ["ok"]
    assert f"exceeds {WINDOW:,} tokens" in window.consequence


def test_doctor_says_the_window_of_a_method_and_of_layers_that_slide(tmp_path: Path) -> None:
    model = make_answering(tmp_path / "chat", "It leaves at nine.")
    (longer,) = [check for check in api.doctor(f"hf/{model}?extend=yarn&factor=2").checks if check.name == "window"]
    assert longer.found.startswith(f"{2 * WINDOW:,} tokens with extend=yarn&factor=2")
    sliding = make_hugging_face(tmp_path / "sliding", window=16)
    (less,) = [check for check in api.doctor(f"hf/{sliding}", chat_template="never").checks if check.name == "window"]
    assert "see only the last 16 tokens" in less.found
