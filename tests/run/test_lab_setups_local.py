"""``fathom lab compare`` with a tiny model in this process: matched factors, budgets in bytes, failures, minutes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tiny_models import make_hugging_face

from fathom import api
from fathom.models.hugging_face import bytes_of_token

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::DeprecationWarning")]


def test_setups_of_every_kind_are_compared_and_the_one_that_fails_says_why(tmp_path: Path) -> None:
    model = make_hugging_face(tmp_path / "model")
    name = f"hf/{model}"
    api.build("passkey", tmp_path / "suite", lengths=[256, 512], items=2, tokenizer=str(model / "tokenizer.json"))
    budget = 64 * bytes_of_token(name, {})
    plans: list[Any] = []

    def yes(plan: Any) -> bool:
        plans.append(plan)
        return True

    (found,) = api.lab_compare(
        tmp_path / "suite",
        name,
        ["yarn?factor=matched", f"recent?budget={budget / 1024}KiB", "yarn?factor=8&length=1000000000"],
        out=tmp_path / "lab",
        chat_template="never",
        window=256,
        repeats=1,
        confirm=yes,
    )
    assert [result.setup.name for result in found.results][:2] == ["none", "yarn factor=matched"]
    assert len(found.results) == 3
    (reason,) = found.failed.values()
    assert "GiB for keys and values" in reason
    record = {
        setup["name"]: setup for setup in json.loads((tmp_path / "lab" / "lab.json").read_text("utf-8"))["setups"]
    }
    assert list(record["yarn factor=matched"]["at"]) == ["256", "512"]
    assert any("budget=64" in setup["model"] for setup in record.values())
    assert len(list((tmp_path / "lab" / "runs").iterdir())) == 4
    (plan,) = plans
    assert plan.minutes is not None
    assert "minute" in str(plan)
    assert "failed" in (tmp_path / "lab" / "report.html").read_text("utf-8")
