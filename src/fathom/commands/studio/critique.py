"""Have a model criticise answers, and another one its claims; people decide."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Asking, Json
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
from fathom.options.declare import at_least, command, given, opt, unset
from fathom.printing import several
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.studio.critique import Critique


class CritiqueOptions(Models):
    store: Store = STORE
    _: KW_ONLY
    critic: Annotated[str, opt(f"Model that makes claims: {NAME}.", "-m", metavar="PROVIDER/NAME")]
    objector: Annotated[
        str | None, opt("Model that checks the claims against their quotes.", metavar="PROVIDER/NAME")
    ] = None
    depth: Annotated[
        int,
        opt(
            "Levels: 1 for claims alone, 2 with objections, 3 with what the critic says of these, and so on in turn, "
            "about claims on which the two differ; at most 9.",
            check=at_least(1),
        ),
    ] = 2
    states: States = given("expert_review")
    tasks: TasksFolder = unset


@command(CritiqueOptions)
def studio_critique(options: CritiqueOptions) -> "tuple[Critique, ...]":
    """Have a model criticise answers, and another one its claims; people decide.

    A claim says that a component is wrong, superfluous or missing, and quotes the documents. The second model sees the
    claims with the text around their quotes only. Samples are not changed; critiques are notes on them. Versions that
    have a critique are not criticised again.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.asking import plan_requests
        from fathom.studio.critique import CRITIQUE_TOKENS, DEPTH, MOST_DEPTH
        from fathom.studio.work import critique_samples, states_of, tasks_of
    critic = asking_of(options.critic, options)
    objector = asking_of(options.objector, options) if options.objector else None
    if options.depth > MOST_DEPTH:
        raise FathomError(f"`depth` {options.depth}: expected at most {MOST_DEPTH}")
    if options.depth > DEPTH and objector is None:
        raise FathomError(f"`depth` {options.depth}: needs a second model; name it with `objector`")
    states = states_of(options.states)
    with opened(options.store) as store:
        tasks = tasks_of(options.store, options.tasks)
        lengths = [sample.bucket for sample in store.samples(states=states)]
        if options.confirm and not options.confirm(plan_requests([critic], lengths, cap=CRITIQUE_TOKENS)):
            return ()
        return critique_samples(
            store, tasks, critic, objector, states=states, depth=options.depth, progress=options.progress
        )


class Line(CritiqueOptions, Asking, Json, kw_only=True):
    pass


def main(line: Line) -> int:
    """Ask, and print the claims."""
    from fathom.options.terminal import confirmed, print_json, print_records, progress_bar, tell

    with progress_bar("asking", line.quiet) as progress:
        critiques = studio_critique.body(
            line.but(progress=progress, confirm=lambda plan: confirmed(plan, yes=line.yes, quiet=line.quiet))
        )
    for critique in critiques:
        for note in critique.notes:
            tell(f"sample {critique.sample}: {note}")
    if line.as_json:
        print_json(list(critiques))
        return 0
    if not critiques:
        tell("nothing was asked: each version of a sample in the states of --states is criticised once")
    records = [
        {
            "sample": critique.sample,
            "claim": claim.kind,
            "about": claim.text if claim.component is None else f"component {claim.component + 1}",
            "reason": claim.reason,
            "objection": replies[0].stand if replies else None,
            "levels": 1 + len(replies),
            "stands": replies[-1].stand if replies else None,
        }
        for critique in critiques
        for place, claim in enumerate(critique.claims)
        for replies in [critique.replies_to(place)]
    ]
    if records:
        print_records(records, denominator="none")
    failed = sum(bool(critique.notes) and not critique.claims for critique in critiques)
    claims = sum(len(critique.claims) for critique in critiques)
    print(f"{several(len(critiques) - failed, 'sample')} criticised, {several(claims, 'claim')}, {failed:,} failed")
    return int(bool(failed) and failed == len(critiques))
