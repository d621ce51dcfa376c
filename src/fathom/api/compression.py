"""Smaller benchmarks: ``compress_estimate``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.compress.minilongbench import MiniBenchmark, MiniScore
    from fathom.compress.ranks import RankCorrelation

ESTIMATES = ("minilongbench",)
NAMES = ("predicted", "direct", "weighted")


@dataclass(frozen=True)
class Estimated:
    """Estimates of a benchmark's scores from those of a subset.

    Attributes:
        method: Method of the estimates.
        items: Items of the subset.
        of: Items of the whole benchmark.
        scores: One for each model.
        agreement: How the estimates agree with the scores themselves, where they are known.
    """

    method: str
    items: int
    of: int
    scores: Sequence[MiniScore]
    agreement: Sequence[RankCorrelation]


def compress_estimate(
    sources: Iterable[Path | str],
    *,
    subset: Path | str | None = None,
    method: str | None = None,
    published: Path | str | None = None,
    out: Path | str | None = None,
) -> Estimated:
    """Scores on a whole benchmark from scores on a subset of it (command ``fathom compress estimate``).

    Args:
        sources: Scores, as ``fathom.compress.tables.read_matrix`` takes them: on the subset's items or on more, of
            which only the subset's are used for the estimate.
        subset: A subset's file.
        method: One of ``ESTIMATES``; by default the method that the subset was chosen by.
        published: For ``minilongbench``: a folder with MiniLongBench's released data, in place of a subset's file.
        out: A ``.parquet``, ``.csv`` or ``.jsonl`` file for the table of estimates.

    Raises:
        FathomError: There is no such method, no subset is named or two are, or a file cannot be read.
    """
    from fathom.compress.minilongbench import METHOD, predict
    from fathom.compress.tables import read_matrix

    if published is not None and subset is not None:
        raise FathomError("--subset and --published both name a subset; give one of them")
    if published is None and subset is None:
        raise FathomError(
            "no subset: name its file with --subset FILE, or with --published FOLDER the folder of MiniLongBench's "
            "released data"
        )
    if method is None and subset is not None:
        from fathom.subsetfile import read_subset

        method = read_subset(Path(subset)).method
    if (method or METHOD) not in ESTIMATES:
        raise FathomError(f"unknown method {method!r} of estimates: choose {', '.join(ESTIMATES)}")
    mini = _benchmark(subset, published)
    scores = predict(mini, read_matrix(list(sources)))
    found = Estimated(
        METHOD, len(mini.subset.members), len(mini.items), scores, _agreement(scores, _groups(scores, published))
    )
    if out is not None:
        _write(found, Path(out))
    return found


def _benchmark(subset: Path | str | None, published: Path | str | None) -> MiniBenchmark:
    from fathom.compress import minifile, minilongbench

    if published is not None:
        return minilongbench.published(Path(published))
    return minifile.read_mini(Path(str(subset)))


def _groups(scores: Sequence[MiniScore], published: Path | str | None) -> dict[str, list[int]]:
    """All models; and those that the published benchmark was made with and tested with, where these are they."""
    from fathom.compress.released import MODELS, read_models, read_split

    groups = {"all": list(range(len(scores)))}
    if published is None or not (Path(published) / MODELS).is_file():
        return groups
    names = read_models(Path(published))
    places = {one.model: place for place, one in enumerate(scores)}
    for group, numbers in zip(("test", "train"), reversed(read_split(Path(published))), strict=True):
        if all(names[number] in places for number in numbers):
            groups[group] = [places[names[number]] for number in numbers]
    return groups


def _agreement(scores: Sequence[MiniScore], groups: Mapping[str, Sequence[int]]) -> list[RankCorrelation]:
    import numpy as np

    from fathom.compress.ranks import agreement

    truth = np.array([math.nan if one.full is None else one.full for one in scores])
    estimates = {name: np.array([getattr(one, name) for one in scores]) for name in NAMES}
    known = {name: group for name, group in groups.items() if (~np.isnan(truth[list(group)])).sum() > 1}
    return agreement(truth, estimates, known)


def _write(found: Estimated, path: Path) -> None:
    import polars as pl

    from fathom.compress.tables import write_table

    fields = ("model", *NAMES, "full", "items")
    write_table(pl.DataFrame([{name: getattr(one, name) for name in fields} for one in found.scores]), path)
