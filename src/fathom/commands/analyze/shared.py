"""What studies share: options, the rows that they are of, and how results are printed."""

import functools
import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, ParamSpec, TypeAlias, TypeVar

from fathom.commands.shared import Json, JudgeOfRows, Known, Seed, Sources, Tell, Unanswered, sources_of
from fathom.options.declare import Command, arg, at_least, command, opt, unset
from fathom.options.values import ManyPaths, Tokens, levels_of, paths_of, texts_of
from fathom.types.choices import BaseRule

if TYPE_CHECKING:
    import polars as pl

    from fathom.analysis import Filtered, Profile
    from fathom.report.studies import StudyResults

P = ParamSpec("P")
Given = TypeVar("Given")
Result = TypeVar("Result")


class OfRows(Known):
    sources: Sources
    _: KW_ONLY
    seed: Seed = 0
    judge: JudgeOfRows = None
    tell: Tell = None


class OfCounted(OfRows):
    _: KW_ONLY
    unanswered: Unanswered = "zero"


class Study(OfCounted, Json):
    pass


class OfScores(OfCounted):
    """Lengths and tables of scores."""

    sources: Annotated[
        ManyPaths,
        arg(
            "Run folders, folders of runs, and rows files; or tables of scores, see docs/reference/score-tables.md.",
            read=sources_of,
        ),
    ]
    _: KW_ONLY
    lengths: Annotated[Tokens, opt("Only these lengths, for instance 8k,16k,32k; base lengths are always kept.")] = (
        unset
    )
    base: Annotated[
        BaseRule | None,
        opt(
            "Base: paper (mean at 2k, 4k and 6k), code (as the released code takes it), or given (length 0 or "
            "base of a table of scores; the default where it is there)."
        ),
    ] = None
    items: Annotated[
        int, opt("Items behind each score of a table of scores, where it has no column items or n.", check=at_least(1))
    ] = 100
    scale: Annotated[Literal["percent", "fraction"] | None, opt("Scale of a table of scores; default: detected.")] = (
        None
    )
    where: Annotated[
        Mapping[str, str] | None,
        opt(
            "Only these lines of a table of scores. May be given more than once.",
            metavar="COLUMN=VALUE",
            many=True,
            read=texts_of,
        ),
    ] = None
    chance: Annotated[
        Mapping[str, float] | None,
        opt(
            "Chance level of a task in a table of scores. May be given more than once.",
            metavar="TASK=LEVEL",
            many=True,
            read=levels_of,
        ),
    ] = None


class ScoresStudy(OfScores, Json):
    pass


# ------------------------------------------------------------------------------------------------------------ rows


def study_rows(options: OfCounted) -> "pl.DataFrame":
    """The rows of a study: without excluded questions, unanswered replies counted as chosen."""
    from fathom.report.reading import counted_rows

    return counted_rows(known_removed(options).rows, options.unanswered, options.tell)


def study_parts(options: OfCounted, columns: Sequence[str]) -> "Iterator[pl.DataFrame]":
    """The same in parts of whole models, of a table of any size."""
    from fathom.report.reading import counted_rows

    for part in known_removed(options).left.parts(columns):
        yield counted_rows(part, options.unanswered, options.tell)


@command(OfRows)
def filtered(options: OfRows) -> "Filtered":
    """Rows without the questions that models answer closed-book, and what was removed."""
    from fathom.report.reading import filtered

    own = options.of(Known)
    return filtered(paths_of(options.sources), **own, judge=options.judge, seed=options.seed, tell=options.tell)


known_removed = filtered.body


def score_tables(sources: Iterable[Path | str]) -> list[Path]:
    """Those among the sources that are tables of scores and not rows."""
    from fathom.analysis import is_score_table

    return [path for path in map(Path, sources) if path.is_file() and is_score_table(path)]


def profiles_of(options: OfScores) -> "list[Profile]":
    """Profiles of tables of scores, then those of rows.

    Raises:
        FathomError: A source cannot be read, or has no such base or length.
    """
    from fathom.analysis import at_lengths, profiles, read_scores, score_profiles
    from fathom.report.reading import counted_rows

    paths, lengths = paths_of(options.sources), options.lengths
    tables = score_tables(paths)
    ready: list[Profile] = []
    for path in tables:
        table = read_scores(
            path,
            items=options.items,
            scale=options.scale,
            where=options.where,
            chance=options.chance,
            several=lengths is not None,
        )
        ready += score_profiles(table, base=options.base, seed=options.seed)
    others = [path for path in paths if path not in tables]
    if others or not tables:
        left = known_removed(options.but(sources=others))
        frame = counted_rows(left.rows, options.unanswered, options.tell, lengths)
        ready += profiles(frame, seed=options.seed, base=options.base or "paper")
    return ready if lengths is None else at_lengths(ready, lengths)


# ------------------------------------------------------------------------------------------------------------ studies

Printing: TypeAlias = Callable[[Any, Callable[[Any], Any]], None]
"""Does a study with the options of a command line, and prints the results."""


@dataclass(frozen=True)
class StudyCommand:
    """A study on the command line, as ``fathom.options.line`` makes a command of it.

    Attributes:
        main: Does it with the options of a command line, and prints the results.
        summary: Its line in the help of ``fathom analyze``.
    """

    function: Any
    main: Callable[[Any], None]
    summary: str


COMMANDS: dict[str, StudyCommand] = {}
"""The studies by name, in the order of the help."""


def printing(empty: str = "", section: str = "") -> Printing:
    """Prints the results of a study as tables or JSON.

    Args:
        empty: A note where there are none.
        section: The section of the report that is printed instead, with all that it holds.
    """

    def prints(line: Any, body: Callable[[Any], Any]) -> None:
        from fathom.report.studies import print_results, print_section

        if section and not line.as_json:
            return print_section(known_removed(line), section, line.seed, line.unanswered, empty)
        print_results(body(line), line.as_json, empty)

    return prints


def study(
    options: Callable[P, Given], prints: Printing, *, summary: str = ""
) -> Callable[[Callable[[Given], list[Result]]], Command[P, Given, "StudyResults[Result]"]]:
    """Make a body that takes options a study: a function that takes each option by name and gives ``StudyResults``.

    Its command is added to ``COMMANDS``.

    Args:
        options: The class of its options.
        prints: How the command prints its results.
        summary: The line of the command in the help; by default the first line of the body's docstring.
    """

    def wrap(body: Callable[[Given], list[Result]]) -> Command[P, Given, "StudyResults[Result]"]:
        @functools.wraps(body)
        def results(given: Given) -> "StudyResults[Result]":
            from fathom.parallel.units import one_thread
            from fathom.report.studies import StudyResults
            from fathom.stats.intervals import kept_draws

            with one_thread(), kept_draws():
                return StudyResults(body(given))

        function = command(options)(results)
        name = body.__name__.removeprefix("analyze_").replace("_", "-")
        line = summary or (inspect.getdoc(body) or "").partition("\n")[0]
        COMMANDS[name] = StudyCommand(function, lambda given: prints(telling(given), function.body), line)
        return function

    return wrap


def telling(line: Any) -> Any:
    """The options with notes on standard error."""
    from fathom.options.terminal import tell

    return line.but(tell=tell)
