"""Have models answer the questions of samples, for the answer review and the closed-book check."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking
from fathom.commands.studio.shared import (
    NAME,
    STORE,
    Models,
    States,
    Store,
    TasksFolder,
    asking_of,
    libraries,
    opened,
)
from fathom.options.declare import Read, command, given, opt, unset
from fathom.options.values import names_of
from fathom.printing import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.studio.work import AskSummary


class PredictOptions(Models):
    store: Store = STORE
    _: KW_ONLY
    models: Annotated[
        Read["Sequence[str] | str", tuple[str, ...]],
        opt(f"Models that answer, separated by commas: {NAME}.", "-m", metavar="PROVIDER/NAME,...", read=names_of),
    ]
    states: States = given("answer_review")
    closed_book: Annotated[bool, opt("Ask without the documents: what is answered then was known before.")] = False
    tasks: TasksFolder = unset


@command(PredictOptions)
def studio_predict(options: PredictOptions) -> "AskSummary":
    """Have models answer the questions of samples, for the answer review and the closed-book check.

    Reviewers are shown components that models give and the reference lacks, never the models' scores. Answers that are
    there already are not repeated. With --states drafted, models answer the candidates that others drafted; who selects
    one sees how many are right, with the documents and closed-book.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.benchmarks.pro.tasks import OUTPUT_TOKENS
        from fathom.studio.asking import plan_requests
        from fathom.studio.trials import TRIAL
        from fathom.studio.work import AskSummary, predict_samples, questions_for, states_of, tasks_of
    models = [asking_of(model, options) for model in options.models]
    states = states_of(options.states)
    with opened(options.store) as store:
        tasks = tasks_of(options.store, options.tasks)
        samples, trials = list(store.samples(states=states)), store.notes(topic=TRIAL)
        asked = {
            sample.id: 0 if options.closed_book else sample.bucket
            for model in options.models
            for sample in questions_for(model, samples, trials, closed_book=options.closed_book)
        }
        lengths = list(asked.values())
        if options.confirm and not options.confirm(plan_requests(models, lengths, cap=OUTPUT_TOKENS)):
            return AskSummary(0, (), 0.0)
        return predict_samples(
            store, tasks, models, states=states, closed_book=options.closed_book, progress=options.progress
        )


class Line(PredictOptions, Asking, kw_only=True):
    pass


def main(line: Line) -> int:
    """Ask, and say what failed."""
    from fathom.models.prices import shown_cost
    from fathom.options.terminal import confirmed, progress_bar, tell

    with progress_bar("asking", line.quiet) as progress:
        result = studio_predict.body(
            line.but(progress=progress, confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet))
        )
    for failure in result.failed:
        tell(failure)
    if not (result.done or result.failed):
        tell("nothing was asked: each model answers the samples in the states of --states once")
    print(f"{several(result.done, 'answer')} stored, {len(result.failed):,} failed, {shown_cost(result.cost)}")
    return int(bool(result.failed) and not result.done)
