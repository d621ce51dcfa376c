"""A comparison that is killed resumes: nothing that was stored is lost, and nothing is asked twice."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from scripted_server import ScriptedServer

from fathom import api
from fathom.rows import load
from processes import start_program, until

SETUPS = ["retrieval?top=1"]
ITEMS, LENGTHS = 5, ("1k", "2k")
COMPARE = f"""
import sys
from fathom import api

suite, url, out = sys.argv[1:]
given = dict(model_base_url=url, window="4k", max_connections=1, repeats=0)
api.lab_compare(suite, "openai/scripted", {SETUPS}, out=out, **given)
"""


def stored(out: Path) -> int:
    """Replies that are kept."""
    return sum(load([run])["value"].count() for run in (out / "runs").glob("*") if any(run.glob("*.sqlite*")))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("asked", [3, 14], ids=["in the first setup", "in the second one"])
def test_what_was_stored_before_a_kill_is_not_asked_again(
    asked: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    monkeypatch.setattr("fathom.lab.report_of", lambda *_, **__: None)
    monkeypatch.setattr("fathom.lab.write_page", lambda *_: None)
    api.build("passkey", tmp_path / "suite", corpus="world", tokenizer="words", lengths=LENGTHS, items=ITEMS)
    total = ITEMS * len(LENGTHS) * (1 + len(SETUPS))
    given: dict[str, Any] = {"window": "4k", "max_connections": 1, "repeats": 0}
    with ScriptedServer() as server:
        words = tmp_path / "suite", server.base_url, tmp_path / "lab"
        process = start_program(COMPARE, *words)
        until(lambda: len(server.texts) >= asked, process)
        process.kill()
        process.wait()
        before = len(server.texts)
        kept = stored(tmp_path / "lab")
        assert before - kept <= 1  # the one in flight
        (found,) = api.lab_compare(
            words[0], "openai/scripted", SETUPS, out=words[2], model_base_url=server.base_url, **given
        )
        assert len(server.texts) - before == total - kept
        assert sum(point.items for result in found.results for point in result.points) == total
        api.lab_compare(words[0], "openai/scripted", SETUPS, out=words[2], model_base_url=server.base_url, **given)
        assert len(server.texts) == before + total - kept
