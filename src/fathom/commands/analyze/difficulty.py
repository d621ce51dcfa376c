"""Difficulty labels of questions, from which tiers of models get them wrong."""

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import OfRows, known_removed, study, telling
from fathom.commands.shared import Json
from fathom.options.declare import at_least, opt, unset
from fathom.options.values import MaybePath
from fathom.types.choices import Correct

if TYPE_CHECKING:
    from fathom.analysis import Difficulty


class DifficultyOptions(OfRows, Json):
    _: KW_ONLY
    tiers: Annotated[
        Path | str | Mapping[str, Sequence[str]],
        opt("TOML file with the lists of models high, mid and low.", metavar="FILE", read=lambda given: given),
    ]
    correct: Annotated[
        Correct,
        opt(
            "When a model is right that was asked several times: majority, any or all of its replies pass, or their "
            "mean would."
        ),
    ] = "majority"
    allowed: Annotated[
        int,
        opt(
            "How many models of a tier may answer right before the question counts as solved by the tier.",
            check=at_least(0),
        ),
    ] = 1
    out: Annotated[MaybePath, opt("Write the label of each question here: .parquet, .csv or .jsonl.")] = unset


@study(DifficultyOptions)
def analyze_difficulty(options: DifficultyOptions) -> "list[Difficulty]":
    """Difficulty labels of questions, from which tiers of models get them wrong.

    One result.
    """
    from fathom import analysis

    frame, tiers = known_removed(options).rows, options.tiers
    named = analysis.read_tiers(Path(tiers)) if isinstance(tiers, Path | str) else tiers
    found = analysis.difficulty(frame, named, correct=options.correct, allowed=options.allowed)
    if options.out is not None:
        from fathom.rows.schema import write_table

        write_table(analysis.label_table(found), Path(options.out), "table of labels")
    return [found]


def main(line: DifficultyOptions) -> None:
    """Print a table, or JSON."""
    from fathom.analysis.difficulty import difficulty_record
    from fathom.options.terminal import print_json
    from fathom.report.studies import print_results

    (found,) = made = analyze_difficulty.body(telling(line))
    if line.as_json:
        return print_json(difficulty_record(found))
    print_results(made, as_json=False)
    if line.out is not None:
        print(f"labels of {len(found.labels):,} questions: {line.out}")
