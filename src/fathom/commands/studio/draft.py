"""Have models draft samples: candidates with question, answer, evidence, rationale and solution."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import Asking
from fathom.commands.studio.shared import NAME, STORE, Models, Store, TasksFolder, asking_of, libraries, opened
from fathom.options.declare import Read, at_least, command, given, opt, unset
from fathom.options.values import length_of, names_of
from fathom.printing import several

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fathom.studio.work import DraftedSamples


class DraftOptions(Models):
    store: Store = STORE
    _: KW_ONLY
    task: Annotated[str, opt("Task: its name, or the code of one of LongBench Pro such as T3.2.", "-t")]
    models: Annotated[
        Read["Sequence[str] | str", tuple[str, ...]],
        opt(f"Models that draft, separated by commas: {NAME}.", "-m", metavar="PROVIDER/NAME,...", read=names_of),
    ]
    language: Annotated[str, opt("Language of documents and questions.", metavar="CODE")] = "en"
    bucket: Annotated[
        Read[int | str, int], opt("Length bucket of the documents.", metavar="TOKENS", read=length_of)
    ] = given("8k")
    samples: Annotated[int, opt("Samples to draft.", "-n", check=at_least(1))] = 1
    candidates: Annotated[int, opt("Candidates of each model for each sample.", check=at_least(1))] = 3
    requirement: Annotated[
        Literal["full", "partial"] | None,
        opt("Whether questions need the full context or a part; by default as usual for the task."),
    ] = None
    several: Annotated[bool, opt("Contexts of several shorter documents.")] = False
    tasks: TasksFolder = unset


@command(DraftOptions)
def studio_draft(options: DraftOptions) -> "DraftedSamples":
    """Have models draft samples: candidates with question, answer, evidence, rationale and solution.

    Documents that are used least come first. A reply that has not the requested form is rejected and reported; so is a
    candidate that another one repeats. Quotes that are not in the documents are no evidence.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.asking import plan_requests
        from fathom.studio.drafting import DRAFT_TOKENS
        from fathom.studio.tasks import find_task
        from fathom.studio.work import DraftPlan, draft_samples, tasks_of
    drafters = [asking_of(model, options) for model in options.models]
    names = ("task", "language", "bucket", "samples", "candidates", "requirement", "several", "seed")
    plan = DraftPlan(**{name: getattr(options, name) for name in names})
    ahead = plan_requests(drafters, [plan.bucket] * plan.samples, cap=DRAFT_TOKENS)
    with opened(options.store) as store:
        tasks = tasks_of(options.store, options.tasks)
        find_task(tasks, plan.task)
        go_on = options.confirm is None or options.confirm(ahead)
        return draft_samples(
            store, tasks, plan, drafters if go_on else [], max_cost=options.max_cost, progress=options.progress
        )


class Line(DraftOptions, Asking, kw_only=True):
    pass


def main(line: Line) -> int:
    """Draft, and say what was rejected."""
    from fathom.models.prices import shown_cost
    from fathom.options.terminal import confirmed, progress_bar, tell

    with progress_bar("drafting", line.quiet) as progress:
        result = studio_draft.body(
            line.but(progress=progress, confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet))
        )
    for note in (*map(str, result.drafted.rejected), *result.drafted.notes):
        tell(note)
    if not result.samples:
        tell("nothing was stored; the same command can be run again")
    print(
        f"{len(result.samples):,} of {result.wanted:,} samples drafted, "
        f"{several(len(result.drafted.candidates), 'candidate')}, "
        f"{len(result.drafted.rejected):,} rejected, {shown_cost(result.drafted.cost)}"
    )
    return int(not result.samples)
