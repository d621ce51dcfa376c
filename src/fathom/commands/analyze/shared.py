"""What studies share: options, the rows that they are of, and how results are printed."""

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

from fathom.commands.shared import JudgeOfRows, Known, Seed, Sources, Tell, Unanswered
from fathom.names import system_name
from fathom.options.declare import Read, arg, at_least, opt, unset
from fathom.options.values import lengths_of, levels_of, names_of, paths_of, texts_of

if TYPE_CHECKING:
    import polars as pl

    from fathom.analysis import Filtered, Profile
    from fathom.report import Table

NAMED = 4
"""Cells without a score that a note names."""

Dimensions: TypeAlias = Annotated[
    Read[Sequence[str] | str | None, tuple[str, ...] | None],
    opt(
        "What to group by, separated by commas: overall, language, length, task, suite, run, or any facet (difficulty, "
        "primary_task, ...).",
        metavar="NAME,...",
        read=names_of,
    ),
]


class OfRows(Known):
    sources: Sources
    _: KW_ONLY
    seed: Seed = 0
    judge: JudgeOfRows = None
    tell: Tell = None


class Study(OfRows):
    _: KW_ONLY
    unanswered: Unanswered = "zero"


class OfScores(Study):
    """Lengths and tables of scores."""

    sources: Annotated[
        Iterable[Path | str] | Path | str,
        arg(
            "Run folders and rows files; or tables of scores by model, task and length, see docs/longscore.md.",
            many=True,
            read=paths_of,
        ),
    ]
    _: KW_ONLY
    lengths: Annotated[
        Read[Sequence[int | str] | str | int | None, tuple[int, ...] | None],
        opt(
            "Only these lengths, for instance 8k,16k,32k; those of the base stay.",
            metavar="TOKENS,...",
            read=lengths_of,
        ),
    ] = unset
    base: Annotated[
        Literal["paper", "code", "given"] | None,
        opt(
            "Base Ability: paper (mean at 2k, 4k and 6k), code (as the released code takes it), or given (length 0 or "
            "base of a table of scores; the default where it is there)."
        ),
    ] = None
    items: Annotated[
        int,
        opt("Items behind each score of a table of scores, where it has no column items or n.", check=at_least(1)),
    ] = 100
    scale: Annotated[
        Literal["percent", "fraction"] | None, opt("Of a table of scores; by default as the scores look.")
    ] = None
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


# ------------------------------------------------------------------------------------------------------------ rows


def study_rows(options: Study) -> "pl.DataFrame":
    """The rows that a study is of, without known questions, with the scores that count."""
    return counted_rows(known_removed(options), options)


def known_removed(options: OfRows) -> "Filtered":
    """The rows of the sources without known questions, and what was removed."""
    from fathom.report.reading import filtered

    own = options.of(Known)
    return filtered(paths_of(options.sources), **own, judge=options.judge, seed=options.seed, tell=options.tell)


def counted_rows(left: "Filtered", options: Study, lengths: Sequence[int] | None = None) -> "pl.DataFrame":
    """Rows with the scores that count; tells what was not measured.

    Args:
        left: What the prior-knowledge filter left.
        options: How the unanswered count, and who is told.
        lengths: Only of these lengths; None for all.
    """
    from fathom.length import format_length
    from fathom.stats.outcomes import counted, scored_rows, unmeasured

    frame = counted(left.rows, options.unanswered)
    if options.tell is None:
        return frame
    lost: dict[str, list[str]] = {}
    for cell in unmeasured(scored_rows(frame)):
        if lengths is None or cell.length in lengths:
            said = f"{cell.task} at {format_length(cell.length)} ({cell})"
            lost.setdefault(system_name(cell.model, cell.variant), []).append(said)
    for model, cells in lost.items():
        more = f" and {len(cells) - NAMED} more" if len(cells) > NAMED else ""
        options.tell(
            f"{model} is not measured on {', '.join(cells[:NAMED])}{more}; means that these belong to are left out"
        )
    return frame


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

    paths, lengths = paths_of(options.sources), options.lengths
    tables = score_tables(paths)
    found: list[Profile] = []
    for path in tables:
        table = read_scores(
            path,
            items=options.items,
            scale=options.scale,
            where=options.where,
            chance=options.chance,
            several=lengths is not None,
        )
        found += score_profiles(table, base=options.base, seed=options.seed)
    others = [path for path in paths if path not in tables]
    if others or not tables:
        left = known_removed(options.but(sources=others))
        frame = counted_rows(left, options, lengths)
        found += profiles(frame, seed=options.seed, base=options.base or "paper")
    return found if lengths is None else at_lengths(found, lengths)


# --------------------------------------------------------------------------------------------------------- printing


def print_json(found: Sequence[Any]) -> None:
    """Results as JSON, which has no infinity: an open end of an interval is null."""
    print(json.dumps([finite(dataclasses.asdict(one)) for one in found], indent=2))


def finite(value: Any) -> Any:
    """A value as JSON can hold it."""
    if isinstance(value, dict):
        return {key: finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [finite(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def print_tables(tables: "Sequence[Table]", *, details: bool = False) -> None:
    """Tables as the report has them."""
    from fathom.report import show

    show(tables, details=details)


def print_section(options: Study, section: str) -> None:
    """The tables that the report has in one of its sections."""
    from fathom.report import tables

    left = known_removed(options)
    print_tables(
        [one for one in tables(left, seed=options.seed, unanswered=options.unanswered) if one.section == section],
        details=True,
    )


HEADINGS = {"agreement": "same answer", "interval": "95%"}
"""Headings that fold between words where the name of a field would break within one."""
_NONE = {f"{name}{side}": "0" for name in ("unanswered", "cut", "overflow", "missing") for side in ("", "_a", "_b")}
"""Numbers that a table has a column of only where one of them is more than none."""


def print_flat(results: Sequence[Any]) -> None:
    """Results as they are, one a line, without the fields that are empty in all."""
    from fathom.terminal import print_records

    flat = [_with_systems(flat_record(dataclasses.asdict(result))) for result in results]
    used = [
        name for name in (flat[0] if flat else ()) if any(record[name] not in ("", _NONE.get(name)) for record in flat)
    ]
    print_records([{HEADINGS.get(name, name): record[name] for name in used} for record in flat], as_json=False)


def _with_systems(line: dict[str, str]) -> dict[str, str]:
    """A line about two systems with one cell for each: its model, and its variant where it has one."""
    if "variant_a" not in line:
        return line
    sides = {side: ", ".join(filter(None, (line[f"model_{side}"], line[f"variant_{side}"]))) for side in "ab"}
    return sides | {name: text for name, text in line.items() if name[:-1] not in ("model_", "variant_")}


def flat_record(record: dict[str, Any]) -> dict[str, str]:
    """One line of a table, with intervals written out."""
    from fathom.length import format_length

    flat: dict[str, str] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat[name] = f"[{value['low']:.3f}, {value['high']:.3f}]"
        elif name == "length":
            flat[name] = "all" if value is None else format_length(value)
        else:
            flat[name] = "" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)
    return flat


def telling(line: Any) -> Any:
    """The options with notes on standard error."""
    from fathom.terminal import tell

    return line.but(tell=tell)
