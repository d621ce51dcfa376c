"""Options of ``fathom compress``: what Python and the command line give, and what reaches the runs of rounds."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from fathom import api
from fathom.commands.compress.study import StudyOptions
from fathom.commands.compress.validate import ValidateOptions
from fathom.compress.tables import write_matrix
from fathom.options.declare import OptionError
from made_scores import made_scores


def test_budgets_and_methods_are_lists_or_text() -> None:
    text = ValidateOptions("scores.csv", "12,24", methods="random, sampled")
    assert text == ValidateOptions(["scores.csv"], [12, 24], methods=["random", "sampled"])
    assert (text.budgets, text.methods) == ((12, 24), ("random", "sampled"))
    assert ValidateOptions("scores.csv", 12).budgets == (12,)
    assert ValidateOptions("scores.csv") == ValidateOptions("scores.csv", [237], methods=None)
    for wrong in ("1.5", [1.5], []):
        with pytest.raises(OptionError, match="expected numbers of items separated by commas"):
            ValidateOptions("scores.csv", wrong)  # type: ignore[arg-type]


def test_embeddings_are_a_file_or_files_by_name() -> None:
    files = {"tfidf": Path("tfidf.npz"), "b": Path("x.npz")}
    for given in (files, {"tfidf": "tfidf.npz", "b": "x.npz"}, ["tfidf.npz", "b=x.npz"]):
        assert StudyOptions("bias", "scores.csv", embeddings=given).embeddings == files
    assert StudyOptions("bias", "scores.csv", embeddings="tfidf.npz").embeddings == {"tfidf": Path("tfidf.npz")}
    for wrong in (["a.npz", "x/a.npz"], ["none=a.npz"], ["a="]):
        with pytest.raises(OptionError, match="each with a name of its own"):
            StudyOptions("bias", "scores.csv", embeddings=wrong)
    assert StudyOptions("ratios", "scores.csv", values=[0.9, 0.5]) == StudyOptions(
        "ratios", "scores.csv", values="0.9,0.5"
    )


def test_rounds_run_with_the_options_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class StoppedError(Exception):
        pass

    found: dict[str, Any] = {}

    def run(options: object) -> None:
        found.update(vars(options))
        raise StoppedError

    monkeypatch.setattr("fathom.commands.run.run", SimpleNamespace(body=run))
    write_matrix(made_scores(8, 60), tmp_path / "known.parquet")
    with pytest.raises(StoppedError):
        api.compress_adaptive(
            "suite", "openai/new", tmp_path / "known.parquet", tmp_path / "rounds", first=20, budget=40, width=0.1,
            seed=3, thinking="on", window="128k", generation=["top_p=0.9"], max_cost=2, retries=1, epochs=2,
        )  # fmt: skip
    given = {
        name: found[name] for name in ("seed", "thinking", "window", "generation", "max_cost", "retries", "epochs")
    }
    assert given == {
        "seed": 3, "thinking": "on", "window": 131072, "generation": {"top_p": 0.9}, "max_cost": 2, "retries": 1,
        "epochs": 2,
    }  # fmt: skip
    assert found["subset"] == tmp_path / "rounds" / "round-001.json"
    assert found["temperature"] == "default"
