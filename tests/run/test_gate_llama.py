"""Two models behind a real server, and the gate between them. Run by ``make test-models``."""

from __future__ import annotations

from pathlib import Path

import pytest
from llama_server import serving
from tiny_models import make_gguf

from command_line import Call
from fathom import api

pytest.importorskip("xllamacpp", reason="xllamacpp is not installed; make test-models runs this")
pytest.importorskip("gguf", reason="gguf is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


def test_a_gate_between_models_behind_a_server(tmp_path: Path, call: Call) -> None:
    api.build("passkey", tmp_path / "suite", lengths=[256, 512], items=6, tokenizer="words")
    for name, seed in (("old", 0), ("again", 0), ("new", 1)):
        with serving(make_gguf(tmp_path / f"{name}.gguf", seed=seed), context=4096) as url:
            api.run(tmp_path / "suite", "openai/tiny", tmp_path / name, model_base_url=url, window="4k")
    replies = {name: api.rows([tmp_path / name]) for name in ("old", "again", "new")}
    assert {status for rows in replies.values() for status in rows["status"]} <= {"ok", "incomplete"}
    assert [len(rows) for rows in replies.values()] == [12, 12, 12]

    same = api.gate(tmp_path / "again", baseline=tmp_path / "old")
    assert (same.lost, same.gained) == ((), ())
    assert {one.difference for one in same.claims} == {0.0}
    # Neither knows anything, so nothing can be lost.
    assert same.gaps == ("the baseline scores 0.0, so it has no 3 points to lose",)

    code, printed, _ = call("gate", tmp_path / "new", "--baseline", tmp_path / "old", "--markdown")
    assert code == 3
    assert "the baseline scores 0.0" in printed
