"""Write results in the format of another program."""

from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.rows import ORIGINS
from fathom.commands.shared import Json, JudgeOfRows, Known, Seed, Suites, Tell, Unanswered
from fathom.convert.formats import FORMATS, RELATIONSHIPS
from fathom.options.declare import Options, arg, at_least, command, given, opt, unset
from fathom.options.values import ManyPaths, Pairs, paths_of

if TYPE_CHECKING:
    from fathom.convert import Written


def _known_format(name: str) -> str:
    return "" if name in FORMATS else f"expected {', '.join(FORMATS)}"


def _known_relationship(name: str) -> str:
    return "" if name in RELATIONSHIPS else f"expected {', '.join(RELATIONSHIPS)}"


class About(Options, kw_only=True):
    """What fathom cannot know."""

    model: Annotated[str | None, opt("Only this model; needed by a format that describes one.", metavar="NAME")] = None
    dataset: Annotated[str | None, opt("Id of the data set on the Hub.", metavar="OWNER/NAME")] = None
    task_ids: Annotated[
        Pairs,
        opt(
            "What the data set on the Hub calls a task (all: the mean over tasks; all@8k: at a length).",
            flag="--task-id",
            metavar="TASK=ID",
        ),
    ] = unset
    revision: Annotated[str | None, opt("Revision of the data set.", metavar="COMMIT")] = None
    source: Annotated[str | None, opt("Address of a page about the results.", flag="--source-url", metavar="URL")] = (
        None
    )
    notes: Annotated[str | None, opt("A remark on the setup.", metavar="TEXT")] = None
    date: Annotated[str | None, opt("When the model was asked; default: as the run says.", metavar="ISO8601")] = None
    organization: Annotated[str | None, opt("Who made the evaluation.", metavar="NAME")] = None
    relationship: Annotated[
        str, opt(f"Of the evaluator to the model: {', '.join(RELATIONSHIPS)}.", check=_known_relationship)
    ] = "other"


class ConvertOptions(Known, About):
    sources: Annotated[ManyPaths, arg("Run folders and rows files; or results of another program (--from).")]
    _: KW_ONLY
    to: Annotated[str, opt(f"The format: {', '.join(FORMATS)}.", metavar="FORMAT", check=_known_format)]
    out: Annotated[
        Path | str | None,
        opt(
            f"Where to write: {'; '.join(f'{one.name}: {one.where}' for one in FORMATS.values())}. MLflow's may be in "
            "MLFLOW_TRACKING_URI instead.",
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
    found = material(left, runs, suites=options.suites, seed=options.seed, unanswered=options.unanswered)
    chosen: dict[str, object] = {name: getattr(options, name) for name in Choices.__dataclass_fields__}
    chosen["task_ids"] = {name: str(value) for name, value in (options.task_ids or {}).items()}
    return form.write(found, out, Choices(**chosen))  # type: ignore[arg-type]


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
