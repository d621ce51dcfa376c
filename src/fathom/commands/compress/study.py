"""Study MiniLongBench's method: what each of its choices does to the ranks of models."""

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, get_args

from fathom.commands.compress.shared import Scores, print_json
from fathom.commands.shared import Json, MaybePath, Names, Terminal
from fathom.options.declare import Read, arg, at_least, command, hidden, opt, unset
from fathom.options.values import names_of, paths_of
from fathom.types import FathomError

if TYPE_CHECKING:
    import polars as pl

    from fathom.compress.matrix import Floats, ScoreMatrix
    from fathom.compress.minilongbench import MiniBenchmark
    from fathom.compress.study import Plan

LINES = 60
"""Lines of a study that are printed."""
Study: TypeAlias = Literal[
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
]
COMPRESSION_STUDIES: tuple[Study, ...] = get_args(Study)
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


def files_of(given: Mapping[str, Path | str] | Sequence[Path | str] | Path | str) -> dict[str, Path]:
    """Files by name: of one file, of a mapping, or of ``NAME=FILE`` texts; a file without a name has its own."""
    if isinstance(given, Mapping):
        return {name: Path(path) for name, path in given.items()}
    if isinstance(given, Path | str):
        return {Path(given).stem: Path(given)}
    found: dict[str, Path] = {}
    for one in map(str, given):
        name, equals, path = one.partition("=")
        name, path = (name, path) if equals else (Path(one).stem, one)
        if not name or not path or name in found or name == "none":
            raise FathomError("expected FILE or NAME=FILE, each with a name of its own")
        found[name] = Path(path)
    return found


def numbers_of(given: Sequence[float] | str | float) -> tuple[float, ...]:
    """Numbers, of ``"5,10"`` or of ``[5, 10]``."""
    try:
        return tuple(map(float, names_of(given if isinstance(given, Sequence) else str(given))))
    except ValueError:
        raise FathomError("expected numbers separated by commas") from None


class StudyOptions(Terminal, Json):
    study: Annotated[Study, arg(f"{', '.join(COMPRESSION_STUDIES)}.")]
    sources: Scores
    _: KW_ONLY
    budget: Annotated[int, opt("Items to choose.", metavar="ITEMS")] = 237
    known: Annotated[
        Names,
        opt(
            "Models that items are chosen by, separated by commas; by default MiniLongBench's own for its released "
            "scores, else every other model.",
            metavar="NAME,...",
            read=names_of,
        ),
    ] = unset
    embeddings: Annotated[
        Read[Mapping[str, Path | str] | Sequence[Path | str] | Path | str | None, dict[str, Path] | None],
        opt(
            "An .npz file that `fathom compress embed` wrote; for the study embeddings it may be given more than once. "
            "By default the file beside the released scores.",
            metavar="[NAME=]FILE",
            many=True,
            read=files_of,
        ),
    ] = unset
    published: Annotated[
        MaybePath,
        opt(
            "With categories, rankings and neighbours: folder of MiniLongBench's released data, for its 237 items.",
            metavar="FOLDER",
        ),
    ] = unset
    use: Annotated[
        Literal["start", "prior"], opt("What embeddings are: the start of the search, or the mean of the prior.")
    ] = "start"
    dimensions: Annotated[int, opt("Dimensions of item response theory.", check=at_least(1))] = 10
    values: Annotated[
        Read[Sequence[float] | str | float | None, tuple[float, ...] | None],
        opt(
            "What is tried, separated by commas: shares left out, dimensions, or numbers of models.",
            metavar="NUMBER,...",
            read=numbers_of,
        ),
    ] = unset
    draws: Annotated[
        int | None,
        opt("Subsets or choices of models that are drawn, or seeds for each setting.", check=at_least(1)),
    ] = None
    tasks: Annotated[Names, opt("With neighbours: only items of these tasks.", metavar="NAME,...", read=names_of)] = (
        unset
    )
    seed: Annotated[int, opt("Seed of all draws.", check=at_least(0))] = 0
    out: Annotated[MaybePath, opt("A .parquet, .csv or .jsonl file for the whole table.", "-o", metavar="FILE")] = unset
    plot: Annotated[MaybePath, opt("A .svg, .png, .pdf, .html or .json file for a figure.", metavar="FILE")] = unset
    tell: Annotated[Callable[[str], None] | None, hidden("Told of each setting before it is tried.")] = None


@command(StudyOptions)
def study(options: StudyOptions) -> "pl.DataFrame":
    """Study MiniLongBench's method: what each of its choices does to the ranks of models."""
    from fathom.compress.embedding import read_vectors
    from fathom.compress.study import Plan
    from fathom.compress.tables import read_matrix
    from fathom.report.compression import study_chart
    from fathom.report.figure import check_format, save
    from fathom.rows.schema import write_table

    _check(options)
    if options.plot is not None:
        check_format(options.plot)
    matrix = read_matrix(paths_of(options.sources), least=3)
    kinds = {name: read_vectors(path).of(matrix.items) for name, path in _files(options).items()}
    if options.study == "embeddings" and not kinds:
        raise FathomError("the study embeddings compares embeddings with none: name them with --embeddings FILE.npz")
    if options.study != "embeddings" and len(kinds) > 1:
        raise FathomError(f"the study {options.study} takes one kind of embeddings; got {', '.join(kinds)}")
    plan = Plan(
        known=_known(options, matrix),
        budget=options.budget,
        embeddings=next(iter(kinds.values()), None),
        use=options.use,
        dimensions=options.dimensions,
        seed=options.seed,
        tell=options.tell or (lambda words: None),
    )
    table = _made(options, matrix, plan, kinds)
    if options.out is not None:
        write_table(table, options.out)
    if options.plot is not None:
        save(study_chart(options.study, table), options.plot)
    return table


def _check(options: StudyOptions) -> None:
    """Refuse options that the study does not have."""
    name, values = options.study, options.values
    if values is not None and name not in VALUES:
        raise FathomError(f"the study {name} has no values to try; those of {', '.join(VALUES)} have")
    if options.draws is not None and name in UNDRAWN:
        raise FathomError(f"the study {name} draws nothing: leave out --draws")
    if options.published is not None and name not in OF_ONE:
        raise FathomError(f"the study {name} chooses items itself; those of {', '.join(OF_ONE)} take published ones")
    if name in ("dimensions", "numbers") and (broken := [value for value in values or () if value != int(value)]):
        raise FathomError(f"{name} {broken[0]:g}: expected a whole number")


def _files(options: StudyOptions) -> dict[str, Path]:
    """Files of embeddings by name: those given, or the one beside MiniLongBench's released scores."""
    from fathom.compress.released import EMBEDDINGS, is_released

    paths = paths_of(options.sources)
    if not options.embeddings and len(paths) == 1 and is_released(paths[0]) and (paths[0] / EMBEDDINGS).is_file():
        return {"released": paths[0] / EMBEDDINGS}
    return options.embeddings or {}


def _known(options: StudyOptions, matrix: "ScoreMatrix") -> tuple[int, ...]:
    from fathom.compress.released import is_released, read_split

    names, paths = options.known, paths_of(options.sources)
    if names is None:
        if len(paths) == 1 and is_released(paths[0]):
            return read_split(paths[0])[0]
        return tuple(range(0, len(matrix.models), 2))
    if unknown := [name for name in names if name not in matrix.models]:
        raise FathomError(f"unknown model {unknown[0]!r}: the scores are of {', '.join(matrix.models)}")
    return tuple(matrix.models.index(name) for name in dict.fromkeys(names))


def _made(options: StudyOptions, matrix: "ScoreMatrix", plan: "Plan", kinds: "Mapping[str, Floats]") -> "pl.DataFrame":
    from fathom.compress import study as studies

    draws = DRAWS.get(options.study, 1) if options.draws is None else options.draws
    values = VALUES.get(options.study, ()) if options.values is None else options.values
    if options.values is None and options.study == "numbers":
        values = tuple(value for value in values if value < len(matrix.models))
    whole = [int(value) for value in values]
    few = min(8, len(matrix.models))
    made: dict[Study, Callable[[], pl.DataFrame]] = {
        "redundancy": lambda: studies.redundancy(matrix, values, draws=draws, seed=plan.seed),
        "categories": lambda: studies.measured(_mini(options, matrix, plan), matrix, plan.known),
        "dimensions": lambda: studies.dimensions(matrix, plan, whole, draws),
        "ratios": lambda: studies.ratios(matrix, plan, values, draws),
        "embeddings": lambda: studies.embeddings(matrix, plan, {"none": None, **kinds}, draws),
        "components": lambda: studies.components(matrix, plan, draws),
        "bias": lambda: studies.biases(matrix, plan, draws),
        "choices": lambda: studies.choices(matrix, plan, draws),
        "numbers": lambda: studies.numbers(matrix, plan, whole, draws),
        "rankings": lambda: studies.rankings(
            _mini(options, matrix, plan), matrix, models=few, draws=draws, seed=plan.seed
        ),
        "neighbours": lambda: studies.neighbourhoods(_mini(options, matrix, plan), tasks=options.tasks, seed=plan.seed),
    }
    return made[options.study]()


def _mini(options: StudyOptions, matrix: "ScoreMatrix", plan: "Plan") -> "MiniBenchmark":
    from fathom.compress.minilongbench import published, select

    if options.published is not None:
        return published(options.published)
    return select(
        matrix.of_models(plan.known),
        plan.budget,
        embeddings=plan.embeddings,
        use=plan.use,
        dimensions=plan.dimensions,
        seed=plan.seed,
    )


# -------------------------------------------------------------------------------------------------------- printing


def main(line: StudyOptions) -> None:
    """Print a table, or JSON."""
    from fathom.compress.study import summarised
    from fathom.terminal import print_records, tell

    frame = study.body(line.but(tell=None if line.quiet or not sys.stderr.isatty() else tell))
    if line.as_json:
        print_json(frame.to_dicts())
        return
    frame = summarised(frame)
    if "setting" in frame.columns and frame["category"].n_unique() > 1:
        frame = frame.filter(category="all").drop("category")
        tell("estimates of the whole score; --out FILE or --json gives those of each category too")
    shown = frame.head(LINES).to_dicts()
    print_records([{name: _rounded(value) for name, value in one.items()} for one in shown], as_json=False)
    if len(frame) > LINES:
        tell(f"the first {LINES} of {len(frame):,} lines; --out FILE or --json gives all of them")


def _rounded(value: Any) -> Any:
    return f"{value:.4f}" if isinstance(value, float) else value
