"""``performance/extend_small_model.py`` from random weights to tables, with models that learn next to nothing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from fathom.types import FathomError

sys.path.insert(0, str(Path(__file__).parents[2] / "performance"))

import extend_small_model
import recovery_training
from small_model_training import Course, Shape, train

torch = pytest.importorskip("torch", reason="torch is not installed; make test-models runs this")
pytest.importorskip("transformers", reason="transformers is not installed; make test-models runs this")

SMALL = Shape(window=32, hidden=32, layers=1, heads=2)
COURSE = Course(steps=80, tokens=512, rate=1e-2, every=40, goal=2.0)


def quiet(line: str) -> None:
    """Says nothing."""


def weights_of(folder: Path) -> dict[str, Any]:
    from safetensors.torch import load_file

    found: dict[str, Any] = load_file(folder / "model.safetensors")
    return found


def test_a_training_that_was_stopped_ends_with_the_weights_of_one_that_was_not(tmp_path: Path) -> None:
    whole = train(tmp_path / "whole", SMALL, COURSE, device="cpu", tell=quiet)
    stopped = train(tmp_path / "parts", SMALL, replace(COURSE, minutes=0), device="cpu", tell=quiet)
    assert stopped["step"] == 40
    resumed = train(tmp_path / "parts", SMALL, COURSE, device="cpu", tell=quiet)
    assert (resumed["step"], resumed["loss"], resumed["right"]) == (80, whole["loss"], whole["right"])
    assert whole["loss"] < 5.3  # that of a guess among all words is 5.4
    first, second = weights_of(tmp_path / "whole"), weights_of(tmp_path / "parts")
    assert all(torch.equal(first[name], second[name]) for name in first)


def test_a_folder_with_a_model_of_another_shape_is_refused(tmp_path: Path) -> None:
    train(tmp_path, SMALL, replace(COURSE, steps=1), device="cpu", tell=quiet)
    with pytest.raises(FathomError, match="give another folder"):
        train(tmp_path, replace(SMALL, base=500.0), COURSE, device="cpu", tell=quiet)


def test_every_table_is_written_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    words = [str(tmp_path), "--quick", "--methods", "none,pi,rerope", "--under", "none", "--finetune", "1"]
    words += ["--tuned", "pi"]
    results = extend_small_model.main(words)
    names = [(result["table"].split()[0], result["name"]) for result in results["settings"]]
    assert names[:4] == [("positions", "none"), ("positions", "pi"), ("positions", "rerope"), ("caches", "full")]
    assert names[-2:] == [("tuned", "pi, not tuned"), ("tuned", "pi, tuned")]
    for one in results["settings"]:
        assert list(one["means"]["all"]) == ["32", "64", "128", "256"]
        assert all(0 <= low <= mean <= high <= 1 for mean, low, high in one["means"]["all"].values())
    kept = json.loads((tmp_path / "results.json").read_text("utf-8"))
    assert kept["settings"] == results["settings"]
    table = (tmp_path / "tables.md").read_text("utf-8")
    assert "| rerope | " in table
    files = {file: file.stat().st_mtime_ns for file in tmp_path.glob("runs/*/run.json")}
    again = extend_small_model.main(words)
    assert {file: file.stat().st_mtime_ns for file in tmp_path.glob("runs/*/run.json")} == files
    assert [one["means"] for one in again["settings"]] == [result["means"] for result in results["settings"]]
    with pytest.raises(SystemExit, match="other lengths or items"):
        extend_small_model.prepare_suite(tmp_path / "suite", [32, 64], 1)


def test_a_model_that_still_learns_is_not_measured() -> None:
    state = {"reached": False, "step": 20}
    with pytest.raises(SystemExit, match="with --steps 20 "):
        extend_small_model.trained(state, Course(steps=30))
    assert extend_small_model.trained(state, Course(steps=20)) is state


def test_stops_of_a_training_are_asked_in_full_with_the_evidence_alone_and_without() -> None:
    samples = list(recovery_training.samples_of(2))
    assert len({sample.id for sample in samples}) == len(samples) == 3 * 2 * 5
    for sample in samples:
        (prompt,), (answer,) = sample.parts, sample.targets
        assert isinstance(prompt, str)
        bare = sample.facets.get("context") == "none"
        assert (f" {answer} " in f"{prompt} ") is not bare
        assert prompt.startswith("first ")
        if sample.length:
            assert len(f"{prompt} {answer}".split()) == sample.length
            assert prompt.split()[-1] in prompt.split()[:-1]
