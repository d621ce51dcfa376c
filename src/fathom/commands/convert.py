"""Write results in the format of another program."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.rows import ORIGINS
from fathom.commands.shared import Json, JudgeOfRows, Known, Seed, Suites, Tell, Unanswered
from fathom.convert.formats import FORMATS, About
from fathom.options.declare import arg, at_least, command, given, opt
from fathom.options.values import ManyPaths, paths_of

if TYPE_CHECKING:
    from fathom.convert import Written


def _known_format(name: str) -> str:
    return "" if name in FORMATS else f"expected {', '.join(FORMATS)}"


class ConvertOptions(Known, About):
    sources: Annotated[ManyPaths, arg("Run folders and rows files; or results of another program (--from).")]
    _: KW_ONLY
    to: Annotated[str, opt(f"The format: {', '.join(FORMATS)}.", metavar="FORMAT", check=_known_format)]
    out: Annotated[
        Path | str | None,
        opt(
            f"Where to write: {'; '.join(f'{form.name}: {form.where}' for form in FORMATS.values())}. MLflow's may be "
            "in MLFLOW_TRACKING_URI instead.",
            "-o",
            metavar="WHERE",
            read=str,  # not a path: the address of a server keeps its slashes
        ),
    ] = None
    origin: Annotated[
        str,
        opt(f"Program that wrote the sources: {', '.join(ORIGINS)}.", flag="--from", metavar="ORIGIN"),
    ] = "fathom"
    force: Annotated[bool, opt("Replace what was written before.")] = False
    prompts: Annotated[bool, opt("Leave out the prompts.", flag="--no-prompts")] = True
    experiment: Annotated[str | None, opt("Experiment of MLflow, or project of Weights & Biases.", metavar="NAME")] = (
        None
    )
    most_rows: Annotated[
        int, opt("Rows of the table for Weights & Biases.", flag="--rows", metavar="NUMBER", check=at_least(0))
    ] = 1000
    suites: Suites = given(())
    rule: Annotated[
        Literal["strict", "official"], opt("strict, or official (as the code of the paper that a task comes from).")
    ] = "strict"
    judge: JudgeOfRows = None
    unanswered: Unanswered = "zero"
    seed: Seed = 0
    tell: Tell = None


@command(ConvertOptions)
def convert(options: ConvertOptions) -> "Written":
    """Write results in the format of another program.

    The figures are those of `fathom report`. Nothing is uploaded; the command that would is printed.
    """
    from fathom import rows
    from fathom.convert.formats import Choices, format_named
    from fathom.convert.material import material
    from fathom.convert.mlflow_run import address_from_environment
    from fathom.report.reading import tell_unfinished, without_known
    from fathom.types import FathomError

    form, paths = format_named(options.to), paths_of(options.sources)
    out = options.out or (address_from_environment() if form.name == "mlflow" else None)
    if out is None:
        raise FathomError(f"`to` {form.name} needs `out`, {form.where}")
    table = rows.open_results(paths, options.origin, options.rule, options.judge, tell=options.tell)
    if options.origin == "fathom":
        tell_unfinished(paths, options.tell)
    left = without_known(table, **options.of(Known), judge=options.judge, seed=options.seed, tell=options.tell)
    runs = paths if options.origin == "fathom" else ()
    measured = material(left, runs, suites=options.suites, seed=options.seed, unanswered=options.unanswered)
    choices = Choices(options.part(About), options.force, options.prompts, options.experiment, options.most_rows)
    return form.write(measured, out, choices)


class Line(ConvertOptions, Json):
    pass


def main(line: Line) -> None:
    """Write, and say what was written and what was left out."""
    from fathom.options.terminal import print_json, tell

    written = convert.body(line.but(tell=tell))
    if line.as_json:
        return print_json(written)
    for note in written.notes:
        tell(note)
    for place in written.places:
        print(place)
    if written.upload:
        tell(f"nothing was uploaded; this would: {written.upload}")
