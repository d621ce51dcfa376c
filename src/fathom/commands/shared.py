"""Options that several commands have."""

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from fathom.options.declare import Config, Options, arg, at_least, hidden, line_only, opt, unset
from fathom.options.values import (
    ManyPaths,
    MaybePath,
    Paths,
    Several,
    paths_of,
)
from fathom.types import FathomError, choices
from fathom.types.choices import THRESHOLD as THRESHOLD

if TYPE_CHECKING:
    from fathom.parallel.units import Engine
    from fathom.run import Preflight, Progress

RUN = "run.json"
"""The file that every run folder has."""

AllowUnread: TypeAlias = Annotated[
    bool, opt("Go on although more than a tenth of the files of a corpus cannot be read; they are always named.")
]
RunFolder: TypeAlias = Annotated[
    MaybePath, opt("Run folder; by default runs/SUITE/MODEL, after the suite's folder.", "-o", metavar="FOLDER")
]
Confirm: TypeAlias = Annotated[
    Callable[["Preflight"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
]
OnReply: TypeAlias = Annotated[Callable[["Progress"], None] | None, hidden("Called with the state after every reply.")]
Watch: TypeAlias = Annotated[
    Callable[[Path, int], AbstractContextManager[None]] | None,
    hidden("Entered with the run folder and the number of connections while requests are sent."),
]


class Recorded(Options, kw_only=True):
    """Other."""

    config: Annotated[Config | None, hidden("The file that options were read from; the manifest names it.")] = None


class Cluster(Options, kw_only=True):
    """Several machines."""

    engine: Annotated[
        Literal["ray"] | None,
        opt("ray: do the work in tasks of a Ray cluster; what is done is kept, and the same command resumes."),
    ] = None
    address: Annotated[
        str | None, opt("Address of the Ray cluster; default: RAY_ADDRESS, or this machine.", metavar="ADDRESS")
    ] = None


def engine_of(options: Cluster) -> "Engine | None":
    """The engine that does units of work; None for this machine.

    Raises:
        FathomError: There is an address of a cluster, but no engine.
    """
    from fathom.parallel.on_ray import in_tasks

    if options.address and options.engine is None:
        raise FathomError("`address` is for `engine` ray, which is missing")
    return in_tasks(options.address) if options.engine else None


class Terminal(Options, kw_only=True):
    """Other."""

    quiet: Annotated[bool, opt("No progress, only the result.", "-q")] = line_only(False)


class Asking(Terminal, kw_only=True):
    """Other."""

    yes: Annotated[bool, opt("Start without asking.", "-y")] = line_only(False)


def sources_of(given: Iterable[Path | str] | Path | str) -> tuple[Path, ...]:
    """Paths of results; a folder with runs in it, up to three folders deep, stands for all of them."""
    return tuple(source for path in paths_of(given) for source in _runs_in(path))


def _runs_in(path: Path) -> list[Path]:
    if not path.is_dir() or (path / RUN).exists():
        return [path]
    from fathom.rows.runs import is_foreign
    from fathom.storage.foreign import is_inside

    files = [file for depth in (1, 2, 3) for file in path.glob(f"{'*/' * depth}{RUN}")]
    runs = sorted({file.parent for file in files if is_inside(path, file)})

    return runs if runs and not is_foreign(path) else [path]


Sources: TypeAlias = Annotated[ManyPaths, arg("Run folders, folders of runs, and rows files.", read=sources_of)]
Suites: TypeAlias = Annotated[
    Paths,
    opt(
        "A built suite with the prompts, if it moved since the run; may be given several times.",
        flag="--suite",
        metavar="FOLDER",
    ),
]
JudgeOfRows: TypeAlias = Annotated[
    str | None, opt("Which judge's scores to use if there are several; none ignores all judges.", metavar="NAME")
]
Unanswered: TypeAlias = Annotated[
    choices.Unanswered,
    opt(
        "zero: unanswered samples (refused, empty, or nothing visible before the output cap) score 0. drop: they are "
        "excluded from means.",
        former=("--unscored",),
    ),
]
Seed: TypeAlias = Annotated[int, opt("Seed of the bootstrap.", check=at_least(0))]
Tell: TypeAlias = Annotated[Callable[[str], None] | None, hidden("Called with notes that readers of the results need.")]


def flags_of_figures(options: Options) -> list[str]:
    """The options that were given and change the figures of results, as on a command line."""
    given: dict[str, Any] = options.record()["options"]
    flags = []
    for name in ("seed", "judge", "unanswered", "filter", "threshold", "panel"):
        for value in given[name] if isinstance(given.get(name), list | tuple) else [given.get(name)]:
            flags += [f"--{name}", str(value)] if value is not None else []
    return flags


class Known(Options, kw_only=True):
    """Closed-book questions."""

    filter: Annotated[
        choices.Policy | None,
        opt(
            "Which questions that models answer closed-book are excluded: own (by the model itself), intersection (by "
            "any model; the default), panel (by a model of --panel), or none.",
            metavar="WHICH",
        ),
    ] = None
    threshold: Annotated[float, opt("Closed-book score from which a question counts as known.", metavar="SCORE")] = (
        THRESHOLD
    )
    panel: Annotated[
        Several,
        opt(
            "A run, a rows file or a model whose closed-book answers decide; may be given more than once.",
            metavar="SOURCE",
        ),
    ] = unset


class Json(Options, kw_only=True):
    """Other."""

    as_json: Annotated[bool, opt("Print JSON instead of a table.", flag="--json")] = line_only(False)


def tell_answer(*folders: Path, quiet: bool = False) -> None:
    """Print what finished runs say in one sentence each, or why they have no score, and the command that says more.

    Args:
        folders: The run folders.
        quiet: Whether the scores by length are left out.
    """
    from fathom.options.terminal import as_typed, tell_next
    from fathom.report.answer import answers
    from fathom.report.live import print_scores
    from fathom.report.measure import measure_scores
    from fathom.report.reading import filtered
    from fathom.report.summary import summary

    try:
        results = measure_scores(filtered(folders))
    except FathomError as error:
        print(as_typed(f"No score: {error}"))
        return tell_next("browse", *folders)
    if not quiet:
        print_scores(results)
    sentences = answers(results, results.systems)
    for system, sentence in sentences:
        print(as_typed(f"{system.name} {sentence}"))
    if not sentences:
        print(as_typed(" ".join(map(str, summary(results).unmeasured[:2]))))
        if any(counts.overflow for system in results.systems if (counts := results.every(system))):
            print("Build and run lengths that leave room for the reply within the window, in another folder (--out).")
    tell_next("report", *folders)
