"""Smaller benchmarks: ``compress_select``, ``compress_estimate`` and ``compress_validate``."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.types import FathomError, Subset

if TYPE_CHECKING:
    import polars as pl

    from fathom.compress.estimates import ModelEstimate, Unestimated
    from fathom.compress.matrix import Floats, ScoreMatrix
    from fathom.compress.minilongbench import MiniBenchmark, MiniScore
    from fathom.compress.ranks import RankCorrelation
    from fathom.stats.outcomes import Unanswered

SELECTIONS = ("sampled", "minilongbench")
UNITS = ("items", "cost")
OWN = "estimate"
"""Name of a method's own estimate, beside its others."""


@dataclass(frozen=True)
class Estimated:
    """Estimates of a benchmark's scores from those of a subset.

    Attributes:
        subset: Name of the subset.
        method: Method by which it was chosen.
        items: Items of the subset.
        models: One for each model, the best first.
        agreement: How the estimates agree with the scores themselves, where they are known.
        left_out: Models of whom too many of the subset's items are missing for an estimate.
        unanswered: How replies count that were not answered.
    """

    subset: str
    method: str
    items: int
    models: Sequence[ModelEstimate]
    agreement: Sequence[RankCorrelation]
    left_out: Sequence[Unestimated] = ()
    unanswered: Unanswered = "zero"


@dataclass(frozen=True)
class Validated:
    """How well methods estimate the scores of models that they have not seen.

    Attributes:
        summary: One line for each kind of split, budget, target and method (``fathom.compress.validate.summary``).
        reach: Items until intervals are as narrow as wanted (``fathom.compress.validate``); None where not asked for.
    """

    summary: pl.DataFrame
    reach: pl.DataFrame | None = None


def compress_select(
    sources: Iterable[Path | str],
    budget: float,
    out: Path | str,
    *,
    method: str = "sampled",
    unit: str = "items",
    models: Sequence[str] | None = None,
    embeddings: Path | str | None = None,
    seed: int = 0,
) -> Subset:
    """Choose items that stand for a whole benchmark (command ``fathom compress select``).

    Args:
        sources: Scores of known models, as ``fathom.compress.tables.read_matrix`` takes them; or a suite folder, where
            nothing was scored yet.
        budget: Items to choose or, with the unit ``cost``, what they may cost (tokens of prompts, unless a table has
            costs of its own).
        out: The subset's file; what estimates need is written beside it.
        method: One of ``SELECTIONS``.
        unit: One of ``UNITS``.
        models: Names of the models to choose by; all by default.
        embeddings: For ``minilongbench``: an ``.npz`` file with a vector for each item.
        seed: Seed of the draw.

    Raises:
        FathomError: There is no such method or model, the budget is impossible, or a file cannot be read or written.
    """
    from fathom.compress import minilongbench
    from fathom.compress.design import select
    from fathom.compress.tables import read_matrix, write_sampled

    if method not in SELECTIONS:
        raise FathomError(f"--method {method}: choose {' or '.join(SELECTIONS)}")
    if unit not in UNITS:
        raise FathomError(f"--unit {unit}: choose {' or '.join(UNITS)}")
    if method == "minilongbench" and unit != "items":
        raise FathomError("--unit cost: method minilongbench counts items; leave it out, or use method sampled")
    known = _of_models(read_matrix(list(sources), least=0 if method == "sampled" else 2), models)
    if method == "sampled":
        subset = select(known, budget, unit="cost" if unit == "cost" else "items", seed=seed)
        write_sampled(subset, known, Path(out))
        return subset
    if not float(budget).is_integer():
        raise FathomError(f"--budget {budget:g}: expected a whole number of items")
    mini = minilongbench.select(known, int(budget), embeddings=_embeddings(embeddings, known), seed=seed)
    minilongbench.write_mini(mini, Path(out))
    return mini.subset


def compress_estimate(
    sources: Iterable[Path | str],
    *,
    subset: Path | str | None = None,
    method: str | None = None,
    published: Path | str | None = None,
    known: Path | str | None = None,
    unanswered: str = "zero",
    out: Path | str | None = None,
) -> Estimated:
    """Scores on a whole benchmark from scores on a subset of it (command ``fathom compress estimate``).

    Args:
        sources: Scores, as ``fathom.compress.tables.read_matrix`` takes them: on the subset's items or on more, of
            which only the subset's are used for the estimate.
        subset: A subset's file.
        method: ``minilongbench`` for a folder in ``published``; subsets know their own.
        published: A folder with MiniLongBench's released data, in place of a subset's file.
        known: The scores that a sampled subset was chosen by, where they do not lie beside it.
        unanswered: ``zero``: what was not answered counts 0, and so do missing items, of which 2% may be; models with
            more have no estimate. ``drop``: estimates are from what was answered.
        out: A ``.parquet``, ``.csv`` or ``.jsonl`` file for the table of estimates.

    Raises:
        FathomError: No subset is named or two are, the method is another, a file cannot be read, or too many items are
            missing of every model.
    """
    from fathom.commands.reading import unanswered_of
    from fathom.compress import minilongbench
    from fathom.compress.tables import read_matrix, read_sampled
    from fathom.subsetfile import read_subset

    if (published is None) == (subset is None):
        raise FathomError(
            "name one subset: its file with --subset FILE, or with --published FOLDER the folder of MiniLongBench's "
            "released data"
        )
    own = minilongbench.METHOD if subset is None else read_subset(Path(subset)).method
    if method not in (None, own):
        raise FathomError(f"--method {method}: this subset was chosen by {own!r}, and is estimated so")
    counting = unanswered_of(unanswered)
    wanted = () if subset is None else {member.item for member in read_subset(Path(subset)).members}
    scores = read_matrix(list(sources), wanted=wanted, unanswered=counting)
    mini: MiniBenchmark | None = None
    if published is not None:
        mini = minilongbench.published(Path(published))
    elif own == minilongbench.METHOD:
        mini = minilongbench.read_mini(Path(str(subset)))
    beside: ScoreMatrix | None = None
    if mini is not None:
        chosen = mini.subset
    else:
        path = Path(str(subset))
        chosen, beside = read_sampled(path) if known is None else (read_subset(path), read_matrix(known))
    models, left_out = _estimates(chosen, scores, beside, mini, counting)
    agreed = _agreement(models, _groups(models, published))
    found = Estimated(chosen.name, own, len(chosen.members), models, agreed, left_out, counting)
    if out is not None:
        _write(found, Path(out))
    return found


def _estimates(
    chosen: Subset, scores: ScoreMatrix, known: ScoreMatrix | None, mini: MiniBenchmark | None, unanswered: Unanswered
) -> tuple[list[ModelEstimate], list[Unestimated]]:
    """Estimates of the models that enough is there of, with those by the other choice beside them."""
    from contextlib import suppress
    from dataclasses import replace

    import numpy as np

    from fathom.compress.estimates import estimate, ranked, whole_enough, with_outcomes
    from fathom.compress.minilongbench import predict

    def made(of: ScoreMatrix) -> list[ModelEstimate]:
        return estimate(chosen, of, known) if mini is None else ranked([_of_mini(one) for one in predict(mini, of)])

    whole, left_out = whole_enough(chosen, scores, unanswered)
    if not whole.models:
        if all(one.missing == one.items for one in left_out):
            made(scores)  # which says that they are of another benchmark
        raise FathomError(
            f"{left_out[0]}, more than 2%: run the same subset again, which asks for failed requests again, and judge "
            "what has to be judged; or give --unanswered drop for an estimate from what is there"
        )
    found = with_outcomes(made(whole), chosen, whole)
    if whole.other is None or np.array_equal(whole.other, whole.scores, equal_nan=True):
        return found, left_out
    beside, _ = whole_enough(chosen, replace(whole, scores=whole.other), "drop" if unanswered == "zero" else "zero")
    others: dict[str, float] = {}
    for number in np.flatnonzero(~np.isnan(beside.scores).all(axis=1)).tolist():
        with suppress(FathomError):  # nothing was answered of what the estimate needs
            others |= {one.model: one.overall.value for one in made(beside.of_models([number]))}
    return [replace(one, other=others.get(one.model)) for one in found], left_out


def compress_validate(
    sources: Iterable[Path | str],
    budgets: Sequence[int],
    *,
    methods: Sequence[str] | None = None,
    splits: int = 50,
    width: float | None = None,
    embeddings: Path | str | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    plot: Path | str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Validated:
    """Try methods on models that they have not seen (command ``fathom compress validate``).

    Args:
        sources: Scores of models on all items, as ``fathom.compress.tables.read_matrix`` takes them.
        budgets: Items to choose.
        methods: Names from ``fathom.compress.methods.METHODS``; by default all that these scores allow.
        splits: Random splits into known and new models; the others are repeated as often.
        width: Also find how many items it takes until 95% intervals have this half-width, adaptively too.
        embeddings: An ``.npz`` file with a vector for each item, for methods that use texts; by default those beside
            MiniLongBench's released scores.
        seed: Seed of the splits.
        out: A ``.parquet``, ``.csv`` or ``.jsonl`` file for the table of every draw.
        plot: A ``.svg``, ``.png``, ``.pdf``, ``.html`` or ``.json`` file for a figure of the comparison.
        progress: Called with (draws made, draws in all).

    Raises:
        FathomError: There are too few models, a method or budget is impossible, or a file cannot be read or written.
    """
    from fathom.compress.released import is_released, read_embeddings, read_split
    from fathom.compress.tables import read_matrix
    from fathom.compress.validate import reach, splits_of, summary, validate
    from fathom.rows.schema import write_table

    if plot is not None:
        from fathom.report.figure import check_format

        check_format(Path(plot))
    paths = [Path(source) for source in sources]
    matrix = read_matrix(paths, least=4)
    released = len(paths) == 1 and is_released(paths[0])
    vectors = _embeddings(embeddings, matrix)
    if vectors is None and released:
        vectors = read_embeddings(paths[0])
    if splits < 1:
        raise FathomError(f"--splits {splits}: expected 1 or more")
    if not budgets:
        raise FathomError("--budget: expected a number of items, for instance 237")
    drawn = splits_of(matrix, splits, seed=seed, published=read_split(paths[0]) if released else None)
    found = validate(matrix, budgets, methods=methods, splits=drawn, embeddings=vectors, progress=progress)
    if out is not None:
        write_table(found, Path(out))
    figures = summary(found)
    if plot is not None:
        from fathom.report.compression import validation
        from fathom.report.figure import save

        save(validation(figures), Path(plot))
    reached = None if width is None else reach(matrix, width, splits=drawn, progress=progress)
    return Validated(figures, reached)


def _of_models(matrix: ScoreMatrix, names: Sequence[str] | None) -> ScoreMatrix:
    if names is None:
        return matrix
    places = {name: number for number, name in enumerate(matrix.models)}
    for name in names:
        if name not in places:
            from fathom.names import unknown

            raise unknown("model", name, places)
    return matrix.of_models([places[name] for name in names])


def _embeddings(path: Path | str | None, matrix: ScoreMatrix) -> Floats | None:
    from fathom.compress.embedding import read_vectors

    return None if path is None else read_vectors(Path(path)).of(matrix.items)


def _of_mini(one: MiniScore) -> ModelEstimate:
    from fathom.compress.estimates import Estimate, ModelEstimate

    return ModelEstimate(
        model=one.model,
        overall=Estimate(one.predicted),
        categories={name: Estimate(value) for name, value in one.categories.items()},
        items=one.items,
        others={"direct": one.direct, "weighted": one.weighted},
        full=one.full,
    )


def _groups(models: Sequence[ModelEstimate], published: Path | str | None) -> dict[str, list[int]]:
    """All models; and those that the published benchmark was made with and tested with, where these are they."""
    from fathom.compress.released import MODELS, read_models, read_split

    groups = {"all": list(range(len(models)))}
    if published is None or not (Path(published) / MODELS).is_file():
        return groups
    names = read_models(Path(published))
    places = {one.model: place for place, one in enumerate(models)}
    for group, numbers in zip(("test", "train"), reversed(read_split(Path(published))), strict=True):
        if all(names[number] in places for number in numbers):
            groups[group] = [places[names[number]] for number in numbers]
    return groups


def _agreement(models: Sequence[ModelEstimate], groups: Mapping[str, Sequence[int]]) -> list[RankCorrelation]:
    import numpy as np

    from fathom.compress.ranks import agreement

    truth = np.array([math.nan if one.full is None else one.full for one in models])
    estimates = {OWN: np.array([one.overall.value for one in models])}
    for name in models[0].others if models else ():
        estimates[name] = np.array([one.others[name] for one in models])
    known = {name: group for name, group in groups.items() if (~np.isnan(truth[list(group)])).sum() > 1}
    return agreement(truth, estimates, known)


def _write(found: Estimated, path: Path) -> None:
    import polars as pl

    from fathom.rows.schema import write_table

    lines = [
        {
            "model": one.model,
            OWN: one.overall.value,
            "low": one.overall.low,
            "high": one.overall.high,
            **one.others,
            "full": one.full,
            "items": one.items,
            "other": one.other,
            **one.ended,
            **{f"{name}{end}": getattr(part, field) for name, part in one.categories.items() for end, field in _ENDS},
        }
        for one in found.models
    ]
    write_table(pl.DataFrame(lines, infer_schema_length=None), path)


_ENDS = (("", "value"), (" low", "low"), (" high", "high"))
