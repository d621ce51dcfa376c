"""Reports, gates and boards of other programs' results: unknown lengths, one length, no chance level, no tokens."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from command_line import Call
from fathom import api

FOREIGN = Path(__file__).with_name("foreign")
pytestmark = pytest.mark.slow


@pytest.fixture
def helmet(tmp_path: Path) -> tuple[Path, Path]:
    """Results of two models; the second one has no right answer at the greater length."""
    folders = tmp_path / "seven-b", tmp_path / "eight-b"
    for folder in folders:
        shutil.copytree(FOREIGN / "helmet", folder)
    for file in folders[1].glob("*.json"):
        made = json.loads(file.read_text())
        made["args"]["model_name_or_path"] = "made/eight-b"
        if made["args"]["input_max_length"] == 1024:
            made["data"] = [one | {"substring_exact_match": False} for one in made["data"]]
        file.write_text(json.dumps(made))
    return folders


def test_a_report_on_unknown_lengths_says_so(call: Call, tmp_path: Path) -> None:
    code, out, _ = call("report", FOREIGN / "lighteval", "--out", tmp_path / "report.html")
    assert code == 0
    said = " ".join(out.split())
    assert "measured on 2 tasks at unknown lengths: 12 replies, 10 scored." in said
    assert "12 of 12 replies have no length: lighteval does not say it." in said
    assert "Samples have several metrics (em, f1): em is used" in said
    assert "The lengths of the prompts are unknown." in said
    page = (tmp_path / "report.html").read_text()
    assert "tokens unknown" in page
    assert "0 tokens" not in page


def test_known_and_unknown_lengths_in_one_report(tmp_path: Path) -> None:
    made = api.report([FOREIGN / "lighteval", FOREIGN / "lm-eval"], tmp_path / "report.html")
    assert "at 2 lengths from 64 to 128 tokens, and at unknown ones" in str(made.summary)


def test_a_gate_pairs_the_samples_of_two_models(
    call: Call, helmet: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    code, out, error = call("gate", helmet[1], "--baseline", helmet[0], "--at", "1024")
    assert code == 3
    assert "3 samples that only the baseline got right" in out
    assert "substring_exact_match is used" in error


def test_a_board_of_their_results(helmet: tuple[Path, Path], tmp_path: Path) -> None:
    api.board_build([*helmet, FOREIGN / "lighteval"], out=tmp_path / "site", published=False)
    boards = {path.name for path in (tmp_path / "site" / "data" / "boards").iterdir()}
    assert any("helmet" in name for name in boards)
    assert any("lighteval" in name for name in boards)
