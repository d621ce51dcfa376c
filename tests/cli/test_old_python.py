"""Python that earlier docs showed still runs: tasks, boards, calls of ``fathom.api`` and of the libraries."""

from __future__ import annotations

import importlib
import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from fathom.compress.matrix import checked_matrix
from fathom.compress.tables import write_matrix

BLOCKS = re.findall(
    r"^```python\n(.*?)^```$", Path(__file__).with_name("old_python.md").read_text("utf-8"), re.M | re.S
)
UMBRELLA, QUOTE, BOARDS, TEST, CALLS, CLOSED_BOOK, COMPRESSION = BLOCKS
NAMES = json.loads(Path(__file__).with_name("public_names.json").read_text("utf-8"))
SHOWN = "from fathom import api\nfrom pathlib import Path\n"


def ran(code: str, folder: Path) -> str:
    """What a program prints that must end well."""
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.slow
def test_tasks_and_boards_of_one_file(tmp_path: Path) -> None:
    (tmp_path / "lost_umbrella.py").write_text(UMBRELLA, "utf-8")
    (tmp_path / "quote_source.py").write_text(f"{QUOTE}\n{BOARDS}", "utf-8")
    use = "api.use_plugin('lost_umbrella.py')\napi.use_plugin('quote_source.py')\n"
    call = "test_gold_scores_one_and_the_quotation_stands_in_its_passage(Path('.'))\n"
    run = (
        "api.build('lost_umbrella', 'umbrella', lengths=[1024], items=2)\napi.run('umbrella', 'fathom/guess', 'run')\n"
    )
    said = ran(f"{SHOWN}{use}{TEST}\n{call}{run}print(api.rows(['run'])['metric'][0])", tmp_path)
    assert said.strip() == "accuracy"


@pytest.mark.slow
def test_calls(tmp_path: Path) -> None:
    assert ran(CALLS, tmp_path).count("passkey") == 2
    assert (tmp_path / "from-python.html").is_file()
    first = "api.build('single_doc_qa', 'qa', lengths=[2048], items=2, closed_book=True)\n"
    assert ran(f"{SHOWN}{first}api.run('qa', 'fathom/lexical', 'lexical')\n{CLOSED_BOOK}", tmp_path)


@pytest.mark.slow
def test_compression(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    scores = (rng.random((12, 120)) < rng.random((12, 1))).astype(float)
    tasks = [f"t{number % 3}" for number in range(120)]
    items = [f"{task}/{number:04d}" for number, task in enumerate(tasks)]
    models = [f"m{number}" for number in range(12)]
    known = checked_matrix("made", models, items, scores, tasks=tasks, categories=tasks)
    for name in ("known.parquet", "new.parquet"):
        write_matrix(known, tmp_path / name)
    said = ran(COMPRESSION.replace('"new"', '"new.parquet"'), tmp_path)
    assert [line.split()[0] for line in said.splitlines()][-1].startswith("m")
    assert len(said.splitlines()) == 12


@pytest.mark.filterwarnings("ignore:fathom:DeprecationWarning")
@pytest.mark.parametrize("module", NAMES)
def test_public_names_are_there(module: str) -> None:
    there = importlib.import_module(module)
    assert [name for name in NAMES[module].split() if not hasattr(there, name)] == []
