"""Rows that are scored on another engine have the same scores, and those of a killed driver are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from fathom.score import files
from fathom.score.files import score_file
from fathom.types import FathomError


def rows(path: Path, count: int) -> Path:
    lines = [
        json.dumps({"prediction": f"it is {n}", "answers": [str(n % 7)], "case_id": str(n), "score": 1.0})
        for n in range(count)
    ]
    path.write_text("\n".join([*lines, "not JSON", json.dumps({"answers": []})]) + "\n")
    return path


def test_scores_are_the_same_on_another_engine_also_after_a_kill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "UNIT", 5)
    done: list[str] = []

    def engine(work: Callable[[Any], Any], units: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
        for name in reversed(list(units)):
            if len(done) == 2:
                done.append("killed")
                raise FathomError("the driver was killed")
            done.append(name)
            yield name, json.loads(json.dumps(work(units[name])))

    file, metric = rows(tmp_path / "rows.jsonl", 23), "hundred/qa_f1"
    here = score_file(file, metric=metric, out=tmp_path / "here.jsonl", check=True)
    with pytest.raises(FathomError, match="killed"):
        score_file(file, metric=metric, out=tmp_path / "there.jsonl", check=True, engine=engine)
    there = score_file(file, metric=metric, out=tmp_path / "there.jsonl", check=True, engine=engine)
    assert there == here
    assert (tmp_path / "there.jsonl").read_bytes() == (tmp_path / "here.jsonl").read_bytes()
    assert sorted(done) == sorted({*done})
    assert len(done) == 6
    assert sorted(path.name for path in tmp_path.iterdir()) == ["here.jsonl", "rows.jsonl", "there.jsonl"]
