"""``fathom likelihood`` and ``fathom analyze agreement`` from the command line."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from order_suites import make_order_suite
from scripted_likelihood import LikelihoodServer, generated_only

from fathom.cli import main


def call(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The exit code of the command."""
    monkeypatch.setattr(sys, "argv", ["fathom", *words])
    try:
        main()
    except SystemExit as end:
        return int(str(end.code or 0))
    return 0


@pytest.mark.slow
def test_both_ways_and_how_often_they_agree(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    suite = make_order_suite(tmp_path, 3, lengths=(1024, 2048), others=1)
    with LikelihoodServer() as server:
        asked = ["likelihood", str(suite), "-m", "openai/knows", "--model-base-url", server.base_url]
        assert call(monkeypatch, *asked, "--quiet") == 2
        assert "give --yes in non-interactive use" in capsys.readouterr().err
        assert not Path("runs").exists()
        asked.append("--yes")
        assert call(monkeypatch, *asked, "--quiet") == 0
        told = capsys.readouterr()
        assert "runs/stories/openai-knows-orders: 6 of 6 replies (6 ok)" in told.out
        assert "note: skipped, because they do not ask for an order: passkey" in told.err
        assert call(monkeypatch, *asked, "--method", "pairs", "--lengths", "2k", "--limit", "2", "-o", "pairs") == 0
        told = capsys.readouterr()
        assert "2 samples, 40 texts of at most 896 tokens" in told.err
        assert "pairs: 2 of 2 replies" in told.out
        assert call(monkeypatch, *asked, "--method", "pairs", "--lengths", "2k", "-o", "pairs") == 0
        assert (
            "1 sample, 20 texts of at most 448 tokens (suite's tokenizer), unknown price; 2 replies"
            in capsys.readouterr().err
        )
    runs = ["runs/stories/openai-knows-orders", "pairs"]
    assert call(monkeypatch, "analyze", "agreement", *runs, "--json") == 0
    (found,) = json.loads(capsys.readouterr().out)
    assert (found["agreement"], found["items"], found["length"], found["score_a"]) == (1.0, 3, 2048, 1.0)
    assert call(monkeypatch, "analyze", "agreement", *runs) == 0
    assert "likelihood" in capsys.readouterr().out
    assert call(monkeypatch, "report", *runs, "--out", "report.html") == 0
    assert "likelihood, pairs" in Path("report.html").read_text("utf-8")


@pytest.mark.slow
def test_a_server_that_cannot_is_told_of_without_a_traceback(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    suite = str(make_order_suite(tmp_path, 1))
    with LikelihoodServer(generated_only) as server:
        asked = ["-m", "openai/chat", "--model-base-url", server.base_url, "-o", str(tmp_path / "run"), "--yes"]
        assert call(monkeypatch, "likelihood", suite, *asked) == 2
    told = capsys.readouterr().err
    assert "cannot score texts" in told
    assert "vLLM" in told
    assert "Traceback" not in told
