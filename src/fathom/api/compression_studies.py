"""Studies of MiniLongBench's method: ``compress_study``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

    from fathom.compress.matrix import Floats, ScoreMatrix
    from fathom.compress.minilongbench import MiniBenchmark
    from fathom.compress.study import Plan

COMPRESSION_STUDIES = (
    "redundancy",
    "categories",
    "dimensions",
    "ratios",
    "embeddings",
    "components",
    "bias",
    "choices",
    "numbers",
    "rankings",
    "neighbours",
)
VALUES = {
    "redundancy": (0.99, 0.98, 0.95),
    "dimensions": (5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 50.0, 70.0, 100.0),
    "ratios": (0.99, 0.98, 0.97, 0.96, 0.95, 0.9),
    "numbers": (5.0, 10.0, 15.0, 20.0, 25.0, 30.0),
}
DRAWS = {"redundancy": 10_000, "choices": 20, "numbers": 5, "rankings": 16}


def compress_study(
    study: str,
    sources: Iterable[Path | str],
    *,
    budget: int = 237,
    known: Sequence[str] | None = None,
    embeddings: Path | str | None = None,
    use: str = "start",
    dimensions: int = 10,
    values: Sequence[float] | None = None,
    draws: int | None = None,
    tasks: Sequence[str] | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    tell: Callable[[str], None] | None = None,
) -> pl.DataFrame:
    """One study of MiniLongBench's method on a score matrix (command ``fathom compress study``).

    Args:
        study: One of ``COMPRESSION_STUDIES``.
        sources: Scores, as ``fathom.compress.tables.read_matrix`` takes them.
        budget: Items to choose.
        known: Models that items are chosen by, by name; by default those of MiniLongBench where the scores are its own,
            else every other model.
        embeddings: An ``.npz`` file with an array ``embeddings`` that has a row for each item; by default those beside
            MiniLongBench's released scores, else none.
        use: What embeddings are: ``start`` or ``prior``.
        dimensions: Dimensions of the model.
        values: What is tried, for ``redundancy`` and ``ratios`` (shares that are left out), ``dimensions`` and
            ``numbers`` (of known models).
        draws: How many subsets or choices of models are drawn.
        tasks: For ``neighbours``: only items of these tasks.
        seed: Seed of all draws.
        out: A ``.parquet``, ``.csv`` or ``.jsonl`` file for the table.
        tell: Told what is being tried.

    Returns:
        The table, see ``fathom.compress.study`` and ``fathom.compress.redundancy``.

    Raises:
        FathomError: There is no such study, or it cannot be made of these scores.
    """
    from fathom.compress.study import Plan
    from fathom.compress.tables import read_matrix, write_table

    if study not in COMPRESSION_STUDIES:
        raise FathomError(f"unknown study {study!r}: choose {', '.join(COMPRESSION_STUDIES)}")
    if use not in ("start", "prior"):
        raise FathomError(f"unknown use of embeddings {use!r}: choose start or prior")
    paths = [Path(source) for source in sources]
    matrix = read_matrix(paths, least=3)
    if values is not None and study not in VALUES:
        raise FathomError(f"the study {study} has no values to try; those of {', '.join(VALUES)} have")
    plan = Plan(
        known=_known(matrix, known, paths),
        budget=budget,
        embeddings=_embeddings(paths, embeddings),
        use="prior" if use == "prior" else "start",
        dimensions=dimensions,
        seed=seed,
        tell=tell or (lambda words: None),
    )
    tried = VALUES.get(study, ()) if values is None else tuple(values)
    if study in ("dimensions", "numbers") and (broken := [value for value in tried if value != int(value)]):
        raise FathomError(f"{study} {broken[0]:g}: expected a whole number")
    if values is None and study == "numbers":
        tried = tuple(value for value in tried if value < len(matrix.models))
    table = _made(study, matrix, plan, tried, DRAWS.get(study, 1) if draws is None else draws, tasks)
    if out is not None:
        write_table(table, Path(out))
    return table


def _made(
    study: str, matrix: ScoreMatrix, plan: Plan, values: Sequence[float], draws: int, tasks: Sequence[str] | None
) -> pl.DataFrame:
    from fathom.compress import study as studies
    from fathom.compress.redundancy import redundancy

    whole = [int(value) for value in values]
    made: dict[str, Callable[[], pl.DataFrame]] = {
        "redundancy": lambda: redundancy(matrix, values, draws=draws, seed=plan.seed),
        "categories": lambda: studies.measured(_mini(matrix, plan), matrix, plan.known),
        "dimensions": lambda: studies.dimensions(matrix, plan, whole),
        "ratios": lambda: studies.ratios(matrix, plan, values),
        "embeddings": lambda: studies.embeddings(matrix, plan, {"none": None, "given": _needed(plan)}),
        "components": lambda: studies.components(matrix, plan),
        "bias": lambda: studies.biases(matrix, plan),
        "choices": lambda: studies.choices(matrix, plan, draws),
        "numbers": lambda: studies.numbers(matrix, plan, whole, draws),
        "rankings": lambda: studies.rankings(
            _mini(matrix, plan), matrix, models=min(8, len(matrix.models)), draws=draws, seed=plan.seed
        ),
        "neighbours": lambda: studies.neighbourhoods(_mini(matrix, plan), tasks=tasks, seed=plan.seed),
    }
    return made[study]()


def _mini(matrix: ScoreMatrix, plan: Plan) -> MiniBenchmark:
    from fathom.compress.minilongbench import select

    return select(
        matrix.of_models(plan.known),
        plan.budget,
        embeddings=plan.embeddings,
        use=plan.use,
        dimensions=plan.dimensions,
        seed=plan.seed,
    )


def _needed(plan: Plan) -> Floats:
    if plan.embeddings is None:
        raise FathomError("the study embeddings compares embeddings with none: name them with --embeddings FILE.npz")
    return plan.embeddings


def _known(matrix: ScoreMatrix, names: Sequence[str] | None, paths: Sequence[Path]) -> tuple[int, ...]:
    from fathom.compress.released import is_released, read_split

    if names is None:
        if len(paths) == 1 and is_released(paths[0]):
            return read_split(paths[0])[0]
        return tuple(range(0, len(matrix.models), 2))
    if unknown := [name for name in names if name not in matrix.models]:
        raise FathomError(f"unknown model {unknown[0]!r}: the scores are of {', '.join(matrix.models)}")
    return tuple(matrix.models.index(name) for name in dict.fromkeys(names))


def _embeddings(paths: Sequence[Path], given: Path | str | None) -> Floats | None:
    from fathom.compress.released import EMBEDDINGS, array_of, is_released, read_embeddings

    if given is not None:
        return array_of(Path(given), "embeddings").astype("float64")
    if len(paths) == 1 and is_released(paths[0]) and (paths[0] / EMBEDDINGS).is_file():
        return read_embeddings(paths[0])
    return None
