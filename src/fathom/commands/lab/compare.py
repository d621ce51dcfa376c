"""Compare ways to read further: methods for positions and for the cache, and systems around a model."""

import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fathom.commands.lab.shared import several
from fathom.commands.shared import Asking, Json, Seed, Unanswered
from fathom.models.settings import Limits, Sampling
from fathom.options.declare import Read, arg, at_least, command, given, hidden, opt, unset
from fathom.options.values import MaybePath, texts_of
from fathom.runfile.settings import Choice, RunSettings

if TYPE_CHECKING:
    from fathom.lab import Comparison
    from fathom.lab.ready import Forecasts
    from fathom.options.terminal import Bars
    from fathom.run import Progress


class CompareOptions(Choice, Sampling, Limits, Json, Asking):
    suite: Annotated[str | Path, arg("A built suite's folder; its lengths should reach beyond the window.")]
    model: Annotated[
        Read[Sequence[str] | str, tuple[str, ...]],
        opt(
            "The model, such as hf/PATH or openai/NAME. May be given more than once: each is compared with itself.",
            "-m",
            metavar="PROVIDER/NAME",
            many=True,
            read=several,
        ),
    ]
    setup: Annotated[
        Read[Sequence[str] | str, tuple[str, ...]],
        opt(
            "A method of `fathom lab methods` with its options: yarn?factor=4, retrieval?top=8. Join several with +; "
            "put | between values to choose from on other items: rerope?window=256|512. May be given more than once.",
            "-s",
            metavar="METHOD?OPTION=VALUE",
            many=True,
            read=several,
        ),
    ] = given(())
    _: KW_ONLY
    out: Annotated[Path | str, opt("Folder of the comparison: runs, record and page.", "-o", metavar="FOLDER")] = "lab"
    tuning: Annotated[MaybePath, opt("A suite with other items, on which values are chosen.", metavar="FOLDER")] = unset
    trained: Annotated[
        Read[Sequence[str] | str, tuple[str, ...]],
        opt(
            "A model with weights that were trained for longer texts, and what with; it gets a table of its own. May "
            "be given more than once.",
            metavar="'MODEL: TRAINING'",
            many=True,
            read=several,
        ),
    ] = given(())
    server: Annotated[
        Mapping[str, str] | None,
        opt(
            "A server with the same model that you started with a method (`fathom lab flags`). May be given more than "
            "once.",
            metavar="NAME=URL",
            many=True,
            read=texts_of,
        ),
    ] = unset
    server_command: Annotated[
        Mapping[str, str] | None,
        opt(
            "The command line with which a server was started, recorded in run.json without keys; that of the server "
            "at --model-base-url is named whole. May be given more than once.",
            metavar="NAME=TEXT",
            many=True,
            read=texts_of,
        ),
    ] = unset
    repeats: Annotated[
        int, opt("Requests at each length from which times are taken; 0 for no times.", check=at_least(0))
    ] = 5
    figures: Annotated[
        Literal["svg", "pdf", "png", "none"], opt("Format of the charts as files, for a paper or a slide.")
    ] = "svg"
    unanswered: Unanswered = "zero"
    bootstrap_seed: Seed = 0
    confirm: Annotated[
        Callable[["Forecasts"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
    ] = None
    tell: Annotated[Callable[[str, "Progress | None"], None] | None, hidden("Called with progress.")] = None


@command(CompareOptions)
def lab_compare(options: CompareOptions) -> "list[Comparison]":
    """Compare ways to read further: methods for positions and for the cache, and systems around a model.

    All setups get the samples of one suite, and are compared with the model as it is, sample by sample. --window says
    where the trained window of the model ends, if not its configuration. All setups are opened before the first
    request; one that fails is a row with the reason. The same command resumes.
    """
    from fathom.lab import Recipe, compare, report_of, write_page
    from fathom.report.figure import check_format

    if options.figures != "none":
        check_format(Path(f"scores.{options.figures}"))  # before hours of requests
    recipe = Recipe(
        suite=Path(options.suite),
        models=options.model,
        setups=options.setup,
        trained=options.trained,
        servers=options.server or {},
        commands=options.server_command or {},
        tuning=options.tuning,
        settings=RunSettings.joined(options.part(Choice), options.part(Sampling), options.part(Limits)),
        repeats=options.repeats,
    )
    counted: dict[str, Any] = {"unanswered": options.unanswered, "seed": options.bootstrap_seed}
    comparisons = []
    watched: dict[str, Any] = {"tell": options.tell or (lambda words, state: None), "confirm": options.confirm}
    for comparison in compare(recipe, Path(options.out), **counted, **watched):
        write_page(comparison, report_of(comparison, **counted), options.figures)
        comparisons.append(comparison)
    return comparisons


def main(line: CompareOptions) -> None:
    """Compare, write the page, and print the tables."""
    from fathom.lab.page import PAGE, numbers_of, report_of
    from fathom.options.terminal import confirmed, print_json, progress_bars
    from fathom.printing import printable
    from fathom.report.terminal import show

    with ExitStack() as stack:
        bars: list[Bars] = []  # from the question on, which they would hide
        shown: dict[str, Callable[[int, int | None], None] | None] = {}

        def confirm(plan: "Forecasts") -> bool:
            answer = confirmed(plan, yes=line.yes, quiet=line.quiet, minutes=plan.minutes or 0.0)
            bars.append(stack.enter_context(progress_bars(line.quiet or not answer)))
            return answer

        def tell(words: str, state: "Progress | None") -> None:
            if not bars:
                return None if line.quiet else print(printable(words), file=sys.stderr)
            bar = shown[words] if words in shown else shown.setdefault(words, bars[0](words))
            if bar is not None and state is not None:
                bar(state.finished, state.total)

        comparisons = lab_compare.body(line.but(tell=tell, confirm=confirm))
    if line.as_json:
        return print_json(list(map(numbers_of, comparisons)))
    for comparison in comparisons:
        report = report_of(comparison, unanswered=line.unanswered, seed=line.bootstrap_seed)
        show([table for table in report if table.section == "setups"])
        for note in comparison.notes:
            print(printable(note))
        print(comparison.folder / PAGE)
