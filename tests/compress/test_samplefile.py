"""A sampled subset on disk: its file, and the known scores beside it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fathom.compress.design import select
from fathom.compress.estimates import estimate
from fathom.compress.tables import read_sampled, write_sampled
from fathom.storage.checksums import file_facts
from fathom.types import FathomError
from made_scores import made_scores


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    world = made_scores(9)
    scores = world.scores.copy()
    scores[2, 7] = np.nan
    known = replace(world.of_models(range(6)), scores=scores[:6], costs=np.linspace(1, 120, 120))
    subset = select(known, 300, unit="cost", seed=2)
    path = tmp_path / "new" / "small.v1.json"
    write_sampled(subset, known, path)
    assert sorted(file.name for file in path.parent.iterdir()) == ["small.v1.json", "small.v1.known.parquet"]
    again, beside = read_sampled(path)
    known_file = file_facts(tmp_path / "new" / "small.v1.known.parquet")
    design = {**subset.design, "known": "small.v1.known.parquet", "known_file": known_file}
    assert again == replace(subset, design=design)
    assert beside is not None
    assert np.array_equal(beside.scores, known.scores, equal_nan=True)
    assert beside.costs.tolist() == known.costs.tolist()
    # What was written is estimated as what is in memory.
    first, second = estimate(subset, world, known), estimate(again, world, beside)
    assert [one.model for one in first] == [one.model for one in second]
    assert [one.overall.low for one in first] == pytest.approx([one.overall.low for one in second])


def test_without_models_there_is_nothing_beside(tmp_path: Path) -> None:
    known = made_scores(0)
    subset = select(known, 12)
    write_sampled(subset, known, tmp_path / "cold.json")
    assert [file.name for file in tmp_path.iterdir()] == ["cold.json"]
    assert read_sampled(tmp_path / "cold.json") == (subset, None)


def test_a_companion_that_is_gone_is_missed(tmp_path: Path) -> None:
    known = made_scores(6)
    write_sampled(select(known, 12), known, tmp_path / "small.json")
    (tmp_path / "small.known.parquet").unlink()
    with pytest.raises(FathomError, match=r"small\.known\.parquet: missing; .*or give the scores with `known`"):
        read_sampled(tmp_path / "small.json")


def test_a_companion_of_which_a_bit_has_flipped_is_refused(tmp_path: Path) -> None:
    known = made_scores(6)
    write_sampled(select(known, 12), known, tmp_path / "small.json")
    beside = tmp_path / "small.known.parquet"
    content = bytearray(beside.read_bytes())
    content[len(content) // 2] ^= 4
    beside.write_bytes(content)
    with pytest.raises(FathomError, match=r"small\.known\.parquet: damaged \(its checksum is not the one"):
        read_sampled(tmp_path / "small.json")
