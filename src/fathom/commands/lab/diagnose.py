"""Tell whether a model reads, reasons or knows: the same questions with and without what surrounds their evidence."""

from collections.abc import Callable
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking, Json, OnReply, Recorded
from fathom.options.declare import arg, command, fields_of, hidden, opt, unset
from fathom.options.values import MaybePath
from fathom.runfile.settings import RunSettings
from fathom.suites.settings import Build
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.lab.ready import Forecasts
    from fathom.report.made import Report

PADDED = 0.25
"""Share of the items that are also asked over neutral text: these requests are as long as those of whole contexts."""


class DiagnoseOptions(RunSettings, Build, Recorded, Json, Asking):
    model: Annotated[str, arg("As for fathom run: openai/NAME, vllm/NAME, hf/PATH ...")]
    suite: Annotated[
        str | Path,
        arg(
            "A suite built with --closed-book --alone --padded 0.25; or a suite or tasks, which are then built so, "
            "such as single_doc_qa."
        ),
    ] = "starter"
    _: KW_ONLY
    out: Annotated[
        MaybePath, opt("Folder for suite, run and report; by default diagnosed/MODEL.", "-o", metavar="FOLDER")
    ] = unset
    likelihood: Annotated[
        bool,
        opt(
            "Also measure how likely the gold answers are (`fathom likelihood --method gold`): what a model knows and "
            "cannot say. For hf/PATH, and servers that return log-probabilities of prompts."
        ),
    ] = False
    confirm: Annotated[
        Callable[["Forecasts"], bool] | None, hidden("Called with what is ahead before any request; False stops.")
    ] = None
    progress: OnReply = None


@command(DiagnoseOptions)
def lab_diagnose(options: DiagnoseOptions) -> "Report | None":
    """Tell whether a model reads, reasons or knows.

    Every question is asked with its whole context, with its evidence alone, without any context, and for a quarter of
    the items with its evidence among neutral text of the same length. What is missing from a perfect score is split
    into reasoning, length and finding. The same command resumes.

    Returns the report, or None if nothing was asked.
    """
    from fathom.commands.report import PAGE, report
    from fathom.commands.run import RunOptions, run

    folder = _folder(options)
    suite = _suite(options, folder)
    if options.confirm is not None and not options.confirm(_ahead(options, suite, folder)):
        return None
    more = {"suite": suite, "model": options.model, "out": folder / "run"}
    summary = run.body(RunOptions.made({**vars(options.part(RunSettings)), **more, "progress": options.progress}))
    if summary.stopped:
        raise FathomError(f"{summary}; the same command resumes")
    runs = [folder / "run"]
    if options.likelihood:
        _likelihood(options, suite, folder / "likelihood")
        runs.append(folder / "likelihood")
    return report(runs, folder / PAGE, title=f"What {options.model.rpartition('/')[2]} reads")


def _ahead(options: DiagnoseOptions, suite: Path, folder: Path) -> "Forecasts":
    """What is ahead of the run and of the likelihoods, which read the same prompts.

    Raises:
        FathomError: The model cannot be asked.
    """
    from fathom.lab.ready import Forecasts, look_ahead
    from fathom.lab.times import prompts_of
    from fathom.suites.suitefile import open_suite

    settings = options.part(RunSettings)
    prompts = prompts_of(open_suite(suite), settings)
    run = look_ahead(options.model, suite, options.model, settings, folder / "run", prompts, 0)
    if run.reason:
        raise FathomError(run.reason)
    if not options.likelihood or run.plan is None:
        return Forecasts((run,))
    lengths = tuple(replace(part, tokens_out=0, cost_most=part.cost_least) for part in run.plan.lengths)
    plan = replace(run.plan, lengths=lengths)
    return Forecasts((run, replace(run, name="likelihoods of the gold answers", plan=plan, most=run.least)), "run")


def _likelihood(options: DiagnoseOptions, suite: Path, out: Path) -> None:
    """Score the gold answers.

    Raises:
        FathomError: It was stopped early, or the model cannot.
    """
    from fathom.commands.likelihood import LikelihoodOptions, likelihood

    shared = {field.name for field in fields_of(LikelihoodOptions)} & {field.name for field in fields_of(RunSettings)}
    given = {name: value for name, value in vars(options.part(RunSettings)).items() if name in shared}
    asked = {
        **given,
        "progress": options.progress,
        "suite": suite,
        "model": options.model,
        "method": "gold",
        "out": out,
    }
    summary = likelihood.body(LikelihoodOptions.made(asked))
    if summary.stopped or (summary.progress and summary.progress.finished < summary.progress.total):
        raise FathomError(f"{summary}; the same command resumes")


def _folder(options: DiagnoseOptions) -> Path:
    from fathom.plugins.names import folder_name

    return options.out or Path("diagnosed") / folder_name(options.model)


def _suite(options: DiagnoseOptions, folder: Path) -> Path:
    """The folder of the suite, which is built first where there is none.

    Raises:
        FathomError: The suite has no question over its evidence alone.
    """
    from fathom.commands.build import build
    from fathom.suites.suitefile import is_suite, open_suite

    suite, given = Path(options.suite), options.of(Build)
    if not is_suite(suite):
        suite = folder / "suite"
        wanted = {"lengths": options.lengths, **given, "seed": options.seed}
        padded = max(PADDED, 1 / options.items) if options.items else PADDED  # of one item at least
        build(str(options.suite), suite, closed_book=True, alone=True, padded=padded, **wanted)
    elif changed := [field.flag for field in fields_of(Build) if given[field.name]]:
        raise FathomError(f"{suite} is built already: {', '.join(changed)} cannot be changed; build another suite")
    if not any(sample.facets.get("context") == "alone" for sample in open_suite(suite).samples(parts=False)):
        raise FathomError(
            f"{suite}: no question is asked with its evidence alone, so that reading and reasoning cannot be told "
            "apart; build it with --closed-book --alone --padded 0.25, of tasks that have evidence: single_doc_qa, "
            "passkey, kv_retrieval, ..."
        )
    return suite


def main(line: DiagnoseOptions) -> int:
    """Diagnose, and print what was found, the tables and the page."""
    from fathom.analysis.recovery import UNDEFINED
    from fathom.commands.report import PAGE
    from fathom.options.terminal import as_typed, confirmed, print_json, progress_bar
    from fathom.report.sections.recovery import RECOVERY, SECTION
    from fathom.report.terminal import show

    with progress_bar("running", line.quiet) as bar:
        made = lab_diagnose.body(
            line.but(
                confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet, minutes=plan.minutes or 0.0),
                progress=(lambda state: bar(state.finished, state.total)) if bar else None,
            )
        )
    if made is None:
        return 0
    if line.as_json:
        print_json(made.results[RECOVERY])
        return 0
    show([table for table in made if table.section == SECTION.name])
    print(as_typed(SECTION.finding(made.results) or f"Nothing is recovered: {UNDEFINED}."))
    print(as_typed(f"{_folder(line) / PAGE}: the report"))
    return 0
