"""Answer ordering tasks by comparing the likelihood of each order."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking, OnReply, RunFolder, Watch, tell_answer
from fathom.options.declare import arg, command, hidden, opt, unset
from fathom.runfile.settings import LikelihoodSettings

if TYPE_CHECKING:
    from fathom.run import RunSummary
    from fathom.run.likelihood.asking import LikelihoodPlan


class LikelihoodOptions(LikelihoodSettings, Asking):
    suite: Annotated[Path | str, arg("A built suite's folder.")]
    model: Annotated[
        str, opt("openai/NAME with --model-base-url, or hf/PATH for a local model.", "-m", metavar="PROVIDER/NAME")
    ]
    out: RunFolder = unset
    _: KW_ONLY
    tell: Annotated[Callable[[str], None] | None, hidden("Called with what is ahead, before the first text.")] = None
    confirm: Annotated[
        Callable[["LikelihoodPlan"], bool] | None, hidden("Shown what is ahead before the first text; False stops.")
    ] = None
    progress: OnReply = None
    watch: Watch = None


@command(LikelihoodOptions)
def likelihood(options: LikelihoodOptions) -> "RunSummary":
    """Answer ordering tasks by comparing the likelihood of each order.

    No question is sent. The run folder is like any other: the same command resumes, and its rows can be compared
    with those of the same model's written answers. OPENAI_API_KEY is sent if it is set, and never stored.
    """
    from fathom.run import likelihood, run_folder
    from fathom.run.session import not_watched

    suite = Path(options.suite)
    return likelihood(
        suite,
        options.model,
        options.part(LikelihoodSettings),
        out=options.out or run_folder(suite, suite.resolve().name, f"{options.model}-{options.method}"),
        tell=options.tell,
        confirm=options.confirm,
        progress=options.progress,
        watch=options.watch or not_watched,
    )


def main(line: LikelihoodOptions) -> int:
    """Answer, and print what came of it."""
    from fathom.options.terminal import confirmed, print_summary
    from fathom.report.live import Panel

    panel = None if line.quiet else Panel(line.model)
    asked = line.but(
        confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
        progress=panel and panel.progress,
        watch=panel and panel.watch,
    )
    summary = likelihood.body(asked)
    code = print_summary(summary)
    if not code and summary.progress is not None:
        tell_answer(summary.folder, quiet=line.quiet)
    return code
