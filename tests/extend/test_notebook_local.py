"""The tutorial that needs torch, executed: what it shows is what is stored in it."""

from __future__ import annotations

from pathlib import Path

import pytest

import executed_notebooks as notebooks

pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")
pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")


def test_the_notebook_of_an_extended_checkpoint_shows_what_it_showed(tmp_path: Path) -> None:
    path = notebooks.TUTORIALS / "extended-checkpoint.ipynb"
    assert notebooks.needed(path) == ["torch"]
    assert notebooks.differences(notebooks.read(path), notebooks.executed(path, tmp_path)) == []
