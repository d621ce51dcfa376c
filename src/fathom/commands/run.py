"""Run a suite against a model and keep every reply."""

import hashlib
import json
import sys
from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking, Build, Choice, Limits, MaybePath, Reasoning, Recorded, Sampling
from fathom.options.declare import Options, arg, command, fields_of, hidden, line_only, opt, unset
from fathom.options.values import folder_name
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.run import Preflight, Progress, RunSummary


class Judge(Options, kw_only=True):
    """Judge."""

    judge: Annotated[
        str | None,
        opt("A model that judges answers and summaries afterwards, as `fathom judge` does.", metavar="PROVIDER/NAME"),
    ] = line_only(None)
    judge_base_url: Annotated[str | None, opt("Address of the judge's server.", metavar="URL")] = line_only(None)


class RunOptions(Choice, Sampling, Reasoning, Limits, Build, Recorded, Judge, Asking):
    suite: Annotated[str | Path, arg("A built suite's folder; or a suite or tasks, which are then built first.")]
    model: Annotated[
        str,
        opt(
            "For instance openai/gpt-5 or vllm/NAME; or a baseline such as fathom/lexical?window=4k.",
            "-m",
            metavar="PROVIDER/NAME",
        ),
    ]
    out: Annotated[MaybePath, opt("Run folder; by default runs/SUITE/MODEL.", "-o", metavar="FOLDER")] = unset
    _: KW_ONLY
    backoff: Annotated[float, hidden("Seconds before the first retry; doubles with each.")] = 1.0
    confirm: Annotated[
        Callable[["Preflight"], bool] | None, hidden("Shown what is ahead before any request; False stops.")
    ] = None
    progress: Annotated[Callable[["Progress"], None] | None, hidden("Told the state after every reply.")] = None
    building: Annotated[
        Callable[[int, int], None] | None, hidden("Told (samples made, samples in all) while the suite is built.")
    ] = None


@command(RunOptions)
def run(options: RunOptions) -> "RunSummary":
    """Run a suite against a model and keep every reply.

    A suite that is not built yet is built first, with the options under Build.

    Before the first request it says how many requests, tokens and dollars are ahead and which prompts do not fit.
    Stopped or killed, the same command resumes and repeats no finished request.
    """
    from fathom.run import run

    folder = _suite(options)
    return run(
        folder,
        options.model,
        out=_place(folder, options),
        **options.of(Choice, Sampling, Reasoning, Limits),
        backoff=options.backoff,
        command=options.record(),
        confirm=options.confirm,
        progress=options.progress,
    )


def _suite(options: RunOptions) -> Path:
    """The folder of the suite, which is built first where there is none."""
    from fathom.commands.build import build
    from fathom.suitefile import is_suite

    wanted = options.of(Build)
    target, folder = str(options.suite), Path(options.suite)
    if is_suite(folder) or folder.is_dir():
        given = [one.flag for one in fields_of(Build) if wanted[one.name]]
        if given:
            raise FathomError(f"{folder} is built already: {', '.join(given)} cannot be changed; build another suite")
        return folder
    wanted = {"lengths": options.lengths, **wanted, "seed": options.seed}
    # The name of the folder tells apart what was asked for.
    key = hashlib.sha256(json.dumps([target, wanted], sort_keys=True).encode()).hexdigest()[:8]
    folder = Path("builds") / f"{folder_name(target)}-{key}"
    build(target, folder, force=True, progress=options.building, **wanted)
    return folder


def _place(suite: Path, options: RunOptions) -> Path:
    from fathom.subsetfile import read_subset
    from fathom.suitefile import open_suite

    if options.out is not None:
        return options.out
    name = str(open_suite(suite).manifest["suite"])
    if options.subset is not None:
        name = f"{name}-{read_subset(Path(options.subset)).name}"
    score = {"on": "-thinking", "off": "-non-thinking"}.get(options.thinking or "", "")
    return Path("runs") / folder_name(name) / f"{folder_name(options.model)}{score}"


def main(line: RunOptions) -> int:
    """Run, print what came of it, and judge where that was asked for."""
    from fathom.commands.judge import JudgeOptions, check_judge
    from fathom.commands.judge import main as judge_runs
    from fathom.terminal import progress_bar, tell_below

    judge = None if line.judge == "none" else line.judge
    if judge is not None:
        check_judge(judge, line.judge_base_url)
    with progress_bar("building", line.quiet) as building, progress_bar("running", line.quiet) as bar:
        asked = line.but(
            confirm=lambda plan: confirmed(plan, line.yes, line.quiet),
            progress=(lambda state: bar(state.finished, state.total)) if bar else None,
            building=building,
        )
        summary = run.body(asked)
    for hint in summary.hints:
        tell_below(hint)
    if summary.stopped:
        print(f"{summary.folder}: stopped: {summary.stopped}", file=sys.stderr)
        return 1
    if done := summary.progress:
        counts = ", ".join(f"{count} {status}" for status, count in done.counts.items() if count)
        print(f"{summary.folder}: {done.finished:,} of {done.total:,} replies ({counts})")
    if judge is None:
        return 0
    options = JudgeOptions((summary.folder,), judge, model_base_url=line.judge_base_url)
    return judge_runs(options.but(yes=line.yes, quiet=line.quiet))


def confirmed(plan: "Preflight", yes: bool, quiet: bool) -> bool:
    """Show what is ahead; ask, unless told to start, there is nothing to pay for, or nobody is there to answer."""
    from fathom.terminal import ask_to_start

    if not plan.requests:
        return True
    if not quiet:
        _print_preflight(plan)
    return yes or plan.cost_most == 0 or ask_to_start("nothing was sent")


def _print_preflight(plan: "Preflight") -> None:
    from fathom.length import format_length
    from fathom.terminal import price_range

    print(
        f"{plan.model}: {plan.requests:,} requests, {plan.tokens_in:,} tokens in, at most {plan.tokens_out:,} out, "
        f"{price_range(plan)}" + (f"; {plan.finished:,} replies are there already" if plan.finished else ""),
        file=sys.stderr,
    )
    for words in filter(None, (plan.thinking, plan.unverified)):
        print(f"  {words}", file=sys.stderr)
    for forecast in plan.lengths:
        cost = "" if not forecast.cost_most else f", up to ${forecast.cost_most:,.2f}"
        beyond = f", {forecast.beyond:,} beyond the window" if forecast.beyond else ""
        print(
            f"  {format_length(forecast.length):>6}: {forecast.requests:,} requests, "
            f"{forecast.tokens_in:,} tokens in{cost}{beyond}",
            file=sys.stderr,
        )
    if plan.overflow_note:
        print(f"  {plan.overflow_note}", file=sys.stderr)
    elif plan.window is None and plan.cost_most != 0:
        print("  the model's window is not known; give --window to have prompts checked beforehand", file=sys.stderr)
