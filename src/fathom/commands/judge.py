"""Have a model judge the answers and summaries of runs."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking, Cluster, Watch, engine_of, sources_of
from fathom.options.declare import arg, at_least, command, hidden, in_utf8, opt
from fathom.options.values import ManyPaths, paths_of
from fathom.runfile.settings import JudgeSettings
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.parallel.units import Engine
    from fathom.run import JudgePlan, JudgeProgress, JudgeSummary


class JudgeOptions(JudgeSettings, Cluster, Asking):
    runs: Annotated[ManyPaths, arg("Run folders, and folders of runs.", read=sources_of)]
    model: Annotated[
        str,
        opt(
            "The model that judges: PROVIDER/NAME, as openai/gpt-4o-mini; or for the summaries of LongBench Pro a "
            "model of embeddings, embed/NAME on a server or embed-local/NAME by sentence-transformers.",
            "-j",
            flag="--judge",
            former=("--model",),
            metavar="PROVIDER/NAME",
            check=in_utf8,
        ),
    ]
    _: KW_ONLY
    second: Annotated[
        str | None,
        opt(
            "A second judge, which scores a random sample of the replies that the first has judged. The same model is "
            "asked with a second prompt. `fathom analyze second-judge` compares them.",
            metavar="PROVIDER/NAME",
            check=in_utf8,
        ),
    ] = None
    second_base_url: Annotated[str | None, opt("Address of the second judge's server.", metavar="URL")] = None
    second_sample: Annotated[int, opt("Replies of each run that it judges.", check=at_least(1))] = 100
    second_seed: Annotated[int, opt("Seed of the sample; a larger sample contains a smaller one.")] = 0
    confirm: Annotated[
        Callable[["JudgePlan"], bool] | None, hidden("Called with what is ahead of each run; False stops.")
    ] = None
    progress: Annotated[Callable[["JudgeProgress"], None] | None, hidden("Called after every judgement.")] = None
    tell: Annotated[Callable[[str], None] | None, hidden("Called with a line about each batch.")] = None
    watch: Watch = None


@command(JudgeOptions)
def judge(options: JudgeOptions) -> "tuple[JudgeSummary, ...]":
    """Have a model judge the answers and summaries of runs.

    Chat models and embedding models judge different tasks; each skips those of the other.

    Before it sends anything, it prints the number of replies to judge and the cost. If it is interrupted or killed, the
    same command judges only what is missing. `fathom rows`, `report` and `analyze` then show the judge's scores.

    With --engine ray each run is judged in a task of its own; all machines need the run folders.
    """
    from fathom.models.embedding_judge import judge_kind
    from fathom.run import judge
    from fathom.run.session import not_watched

    settings = options.part(JudgeSettings)
    if (engine := engine_of(options)) is not None:
        if options.second is not None:
            raise FathomError("`second` judges in this process: repeat the command without `engine`")
        return _judged_on(engine, options, settings)
    if options.second is not None:
        if options.second != "none" and judge_kind(options.second) != judge_kind(options.model):
            raise FathomError(
                f"`second` {options.second}: is no judge of the same kind as {options.model}; models of embeddings and "
                "chat models judge different tasks"
            )
        check_judge(options.second, options.second_base_url or _address_of_first(options))
    summaries: list[JudgeSummary] = []
    for folder in paths_of(options.runs):
        summaries.append(
            judge(
                folder,
                options.model,
                settings,
                confirm=options.confirm,
                progress=options.progress,
                tell=options.tell,
                watch=options.watch or not_watched,
            )
        )
        if options.second is not None and not summaries[-1].stopped:
            summaries.append(_judged_again(folder, options, settings))
        if summaries[-1].stopped:
            break
    return tuple(summaries)


def _address_of_first(options: JudgeOptions) -> str | None:
    """The address of the first judge's server, if it is the second one too."""
    return options.model_base_url if options.second == options.model else None


def _judged_again(folder: Path, options: JudgeOptions, settings: JudgeSettings) -> "JudgeSummary":
    from fathom.run import JudgeCallbacks, Second, judge_second
    from fathom.run.session import not_watched

    assert options.second is not None
    base_url = options.second_base_url or _address_of_first(options)
    second = Second(options.second, base_url, options.second_sample, options.second_seed)
    callbacks = JudgeCallbacks(options.confirm, options.progress, options.tell, options.watch or not_watched)
    return judge_second(folder, options.model, second, settings, callbacks)


def _judged_on(engine: "Engine", options: JudgeOptions, settings: JudgeSettings) -> "tuple[JudgeSummary, ...]":
    """Judge each run elsewhere, after all of them were confirmed here."""
    from fathom.parallel.units import run_units
    from fathom.run import judge

    folders, confirm = paths_of(options.runs), options.confirm
    if confirm is not None:
        for folder in folders:
            answers: list[bool] = []
            seen = judge(folder, options.model, settings, confirm=partial(_answer_only, confirm, answers))
            if answers == [False]:
                return (seen,)
    units = {str(folder): folder.resolve() for folder in folders}
    return tuple(run_units(units, partial(_judged, options.model, settings), workers=engine))


def _answer_only(confirm: "Callable[[JudgePlan], bool]", answers: list[bool], plan: "JudgePlan") -> bool:
    """Ask whether to judge, remember the answer, and start nothing here."""
    answers.append(confirm(plan))
    return False


def _judged(model: str, settings: JudgeSettings, folder: Path) -> "JudgeSummary":
    from fathom.run import judge

    return judge(folder, model, settings)


def check_judge(model: str, model_base_url: str | None = None) -> None:
    """Make sure that a judge can be asked, without asking it; see ``fathom.run.check_judge``."""
    from fathom.run import check_judge

    check_judge(model, model_base_url)


def main(line: JudgeOptions) -> int:
    """Judge, and print what came of it."""
    from fathom.commands.shared import tell_answer
    from fathom.options.terminal import confirmed, print_summary, tell, tell_next
    from fathom.report.live import Panel

    panel = None if line.quiet else Panel(line.model, line.model)
    asked = line.but(
        confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet),
        progress=panel and (lambda state: panel.progress(state.of_run)),
        watch=panel and panel.watch,
        tell=None if line.quiet else tell,
    )
    summaries = judge.body(asked)
    code = max(map(print_summary, summaries), default=0)
    if not (code or any(summary.missing for summary in summaries)):
        tell_answer(*dict.fromkeys(summary.folder for summary in summaries), quiet=line.quiet)
        if line.second is not None:
            tell_next("analyze", "second-judge", *paths_of(line.runs))
    return code
