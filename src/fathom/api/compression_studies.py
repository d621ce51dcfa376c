"""Studies of MiniLongBench's method: ``compress_study`` and ``compress_embed``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
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
OF_ONE = ("categories", "rankings", "neighbours")
"""Studies of one subset, which may be the published one."""
UNDRAWN = ("categories", "neighbours")
"""Studies without draws."""
DRAWS = {"redundancy": 10_000, "choices": 20, "numbers": 5, "rankings": 16}


def compress_study(
    study: str,
    sources: Iterable[Path | str],
    *,
    budget: int = 237,
    known: Sequence[str] | None = None,
    embeddings: Mapping[str, Path | str] | Path | str | None = None,
    published: Path | str | None = None,
    use: str = "start",
    dimensions: int = 10,
    values: Sequence[float] | None = None,
    draws: int | None = None,
    tasks: Sequence[str] | None = None,
    seed: int = 0,
    out: Path | str | None = None,
    plot: Path | str | None = None,
    tell: Callable[[str], None] | None = None,
) -> pl.DataFrame:
    """One study of MiniLongBench's method on a score matrix (command ``fathom compress study``).

    Args:
        study: One of ``COMPRESSION_STUDIES``.
        sources: Scores, as ``fathom.compress.tables.read_matrix`` takes them.
        budget: Items to choose.
        known: Models that items are chosen by, by name; by default those of MiniLongBench where the scores are its own,
            else every other model.
        embeddings: An ``.npz`` file with an array ``embeddings`` and, where rows have names, ``items`` (see
            ``compress_embed``); by default those beside MiniLongBench's released scores, else none. For
            ``embeddings`` several, by name.
        published: For ``categories``, ``rankings`` and ``neighbours``: a folder with MiniLongBench's released data,
            whose published items are taken in place of newly chosen ones.
        use: What embeddings are: ``start`` or ``prior``.
        dimensions: Dimensions of the model.
        values: What is tried, for ``redundancy`` and ``ratios`` (shares that are left out), ``dimensions`` and
            ``numbers`` (of known models).
        draws: How many subsets or choices of models are drawn; for all other settings, with how many seeds each is
            tried.
        tasks: For ``neighbours``: only items of these tasks.
        seed: Seed of all draws.
        out: A ``.parquet``, ``.csv`` or ``.jsonl`` file for the table.
        plot: A ``.svg``, ``.png``, ``.pdf``, ``.html`` or ``.json`` file for a figure of it.
        tell: Told what is being tried.

    Returns:
        The table, see ``fathom.compress.study``.

    Raises:
        FathomError: There is no such study, or it cannot be made of these scores.
    """
    from fathom.compress.study import Plan
    from fathom.compress.tables import read_matrix
    from fathom.rows.schema import write_table

    _check(study, use, values, draws, published)
    if plot is not None:
        from fathom.report.figure import check_format

        check_format(Path(plot))
    paths = [Path(source) for source in sources]
    matrix = read_matrix(paths, least=3)
    kinds = _embeddings(matrix, paths, embeddings)
    if study == "embeddings" and not kinds:
        raise FathomError("the study embeddings compares embeddings with none: name them with --embeddings FILE.npz")
    if study != "embeddings" and len(kinds) > 1:
        raise FathomError(f"the study {study} takes one kind of embeddings; got {', '.join(kinds)}")
    plan = Plan(
        known=_known(matrix, known, paths),
        budget=budget,
        embeddings=next(iter(kinds.values()), None),
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
    of = _Order(matrix, plan, tried, DRAWS.get(study, 1) if draws is None else draws, tasks, kinds, published)
    table = _made(study, of)
    if out is not None:
        write_table(table, Path(out))
    if plot is not None:
        from fathom.report.compression import study_chart
        from fathom.report.figure import save

        save(study_chart(study, table), Path(plot))
    return table


def compress_embed(
    source: Path | str,
    out: Path | str,
    *,
    model: str = "tfidf",
    base_url: str | None = None,
    tell: Callable[[str], None] | None = None,
) -> tuple[int, int]:
    """Embeddings of the items of a suite (command ``fathom compress embed``).

    Args:
        source: A built suite, or a table with fields ``item`` and ``text``, see
            ``fathom.compress.embedding.item_texts``.
        out: An ``.npz`` file with arrays ``items`` and ``embeddings``.
        model: ``tfidf``, which needs no model; ``sentence-transformers/NAME``; or ``openai/NAME`` for a server.
        base_url: Address of the server up to ``/v1``; by default OpenAI's.
        tell: Told how many texts were cut.

    Returns:
        How many items there are, and of how many dimensions their embeddings are.

    Raises:
        FathomError: The source cannot be read, there is no such model, or it gave no embeddings.
    """
    from fathom.compress.embedding import check_suffix, embedder, item_texts, write_vectors
    from fathom.run.embedding import CHARACTERS

    check_suffix(Path(out))
    embed = embedder(model, base_url=base_url)
    found = item_texts(Path(source))
    if found.shortened and tell is not None:
        tell(
            f"{found.shortened:,} of {len(found.items):,} texts are longer than {CHARACTERS:,} characters and were cut"
        )
    vectors = embed(found.texts)
    write_vectors(found.items, vectors, Path(out))
    return vectors.shape[0], vectors.shape[1]


def _check(
    study: str, use: str, values: Sequence[float] | None, draws: int | None, published: Path | str | None
) -> None:
    if study not in COMPRESSION_STUDIES:
        raise FathomError(f"unknown study {study!r}: choose {', '.join(COMPRESSION_STUDIES)}")
    if use not in ("start", "prior"):
        raise FathomError(f"unknown use of embeddings {use!r}: choose start or prior")
    if values is not None and study not in VALUES:
        raise FathomError(f"the study {study} has no values to try; those of {', '.join(VALUES)} have")
    if draws is not None and (draws < 1 or study in UNDRAWN):
        raise FathomError(f"{draws} draws of {study}: expected 1 or more, and none for {', '.join(UNDRAWN)}")
    if published is not None and study not in OF_ONE:
        raise FathomError(f"the study {study} chooses items itself; those of {', '.join(OF_ONE)} take published ones")


@dataclass(frozen=True)
class _Order:
    """What a study is made of."""

    matrix: ScoreMatrix
    plan: Plan
    values: Sequence[float]
    draws: int
    tasks: Sequence[str] | None
    kinds: Mapping[str, Floats]
    published: Path | str | None


def _made(study: str, of: _Order) -> pl.DataFrame:
    from fathom.compress import study as studies
    from fathom.compress.study import redundancy

    matrix, plan, draws = of.matrix, of.plan, of.draws
    whole = [int(value) for value in of.values]
    few = min(8, len(matrix.models))
    made: dict[str, Callable[[], pl.DataFrame]] = {
        "redundancy": lambda: redundancy(matrix, of.values, draws=draws, seed=plan.seed),
        "categories": lambda: studies.measured(_mini(of), matrix, plan.known),
        "dimensions": lambda: studies.dimensions(matrix, plan, whole, draws),
        "ratios": lambda: studies.ratios(matrix, plan, of.values, draws),
        "embeddings": lambda: studies.embeddings(matrix, plan, {"none": None, **of.kinds}, draws),
        "components": lambda: studies.components(matrix, plan, draws),
        "bias": lambda: studies.biases(matrix, plan, draws),
        "choices": lambda: studies.choices(matrix, plan, draws),
        "numbers": lambda: studies.numbers(matrix, plan, whole, draws),
        "rankings": lambda: studies.rankings(_mini(of), matrix, models=few, draws=draws, seed=plan.seed),
        "neighbours": lambda: studies.neighbourhoods(_mini(of), tasks=of.tasks, seed=plan.seed),
    }
    return made[study]()


def _mini(of: _Order) -> MiniBenchmark:
    from fathom.compress.minilongbench import published, select

    if of.published is not None:
        return published(Path(of.published))
    return select(
        of.matrix.of_models(of.plan.known),
        of.plan.budget,
        embeddings=of.plan.embeddings,
        use=of.plan.use,
        dimensions=of.plan.dimensions,
        seed=of.plan.seed,
    )


def _known(matrix: ScoreMatrix, names: Sequence[str] | None, paths: Sequence[Path]) -> tuple[int, ...]:
    from fathom.compress.released import is_released, read_split

    if names is None:
        if len(paths) == 1 and is_released(paths[0]):
            return read_split(paths[0])[0]
        return tuple(range(0, len(matrix.models), 2))
    if unknown := [name for name in names if name not in matrix.models]:
        raise FathomError(f"unknown model {unknown[0]!r}: the scores are of {', '.join(matrix.models)}")
    return tuple(matrix.models.index(name) for name in dict.fromkeys(names))


def _embeddings(
    matrix: ScoreMatrix, paths: Sequence[Path], given: Mapping[str, Path | str] | Path | str | None
) -> dict[str, Floats]:
    """Embeddings by name, a row for each item of the matrix; none where there are none."""
    from fathom.compress.embedding import read_vectors
    from fathom.compress.released import EMBEDDINGS, is_released

    if isinstance(given, Path | str):
        given = {Path(given).stem: given}
    if not given and len(paths) == 1 and is_released(paths[0]) and (paths[0] / EMBEDDINGS).is_file():
        given = {"released": paths[0] / EMBEDDINGS}
    return {name: read_vectors(Path(path)).of(matrix.items) for name, path in (given or {}).items()}
