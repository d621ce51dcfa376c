"""Say how much to ask for a wanted interval or difference, and what it costs."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json, JudgeOfRows, Tell, Unanswered
from fathom.options.declare import arg, at_least, command, given, opt, unset
from fathom.options.values import MaybePath, Tokens
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.analysis.plan import Plan


class PlanOptions(Json):
    pilot: Annotated[
        MaybePath, arg("Run folder or rows file of a pilot: 10 to 20 items of each task, twice if replies vary.")
    ] = unset
    _: KW_ONLY
    half_width: Annotated[
        float | None,
        opt("Wanted half of a 95% interval, as a fraction: 0.05 is five points.", check=at_least(0, above=True)),
    ] = None
    difference: Annotated[
        float | None, opt("A difference between two models that is to be found.", check=at_least(0, above=True))
    ] = None
    baseline: Annotated[MaybePath, opt("With --difference: run or rows of the other model, same suite.", "-b")] = unset
    power: Annotated[float, opt("With --difference: probability of finding it.", check=at_least(0, above=True))] = 0.8
    alpha: Annotated[float, opt("With --difference: level of the test.", check=at_least(0, above=True))] = 0.05
    score: Annotated[
        float | None,
        opt(
            "Without a pilot: the expected score; with --difference, the share of samples that only one of the models "
            "gets right.",
            check=at_least(0, above=True),
        ),
    ] = None
    lengths: Annotated[Tokens, opt("Without a pilot: lengths, for instance 8k,32k,128k.")] = given(None)
    tasks: Annotated[int, opt("Without a pilot: number of tasks.", check=at_least(1))] = 1
    model: Annotated[
        str | None, opt("Whose prices apply; by default what the pilot cost.", "-m", metavar="PROVIDER/NAME")
    ] = None
    max_connections: Annotated[int, opt("Requests in flight at once.", check=at_least(1))] = 16
    unanswered: Unanswered = "zero"
    judge: JudgeOfRows = None
    tell: Tell = None


@command(PlanOptions)
def plan(options: PlanOptions) -> "Plan":
    """Say how many items a wanted interval or difference takes, and what they cost.

    A pilot shows where the uncertainty comes from: items, lengths, or replies to the same prompt. Without one, a score
    is assumed. Nothing is sent.
    """
    from fathom.analysis.plan import Goal, Spending, plan_for, plan_from
    from fathom.rows import load
    from fathom.rows.parts import ReadOptions

    for name, value in (("power", options.power), ("alpha", options.alpha), ("score", options.score)):
        if value is not None and not 0 < value < 1:
            raise FathomError(f"`{name}` {value:g}: expected a fraction above 0 and below 1")
    goal = Goal(options.half_width, options.difference, options.power, options.alpha)
    _check_used(options)
    pricing = _pricing(options.model)
    if options.pilot is None:
        if options.score is None or not options.lengths:
            raise FathomError(
                "without a pilot, `score` and `lengths` say what to expect, for instance --score 0.7 --lengths 8k,32k"
            )
        lengths: Sequence[int] = options.lengths
        spent = {
            length: Spending(length, None, None if pricing is None else pricing(length, 0, 0)) for length in lengths
        }
        made = plan_for(
            goal, options.score, lengths, tasks=options.tasks, spent=spent, connections=options.max_connections
        )
        return _with_model(made, options.model, pricing)
    read = ReadOptions(tell=options.tell)
    rows, baseline = (
        None if path is None else load([Path(path)], judge=options.judge, options=read)
        for path in (options.pilot, options.baseline)
    )
    assert rows is not None, "there is a pilot"
    made = plan_from(
        rows,
        goal,
        baseline=baseline,
        unanswered=options.unanswered,
        pricing=pricing,
        connections=options.max_connections,
    )
    return _with_model(made, options.model, pricing)


def _with_model(
    made: "Plan", model: str | None, pricing: Callable[[float, float, float], float | None] | None
) -> "Plan":
    """The plan, with a note if the table has no price of the model."""
    if pricing is None or pricing(1, 1, 0) is not None:
        return made
    return replace(made, unknown=(*made.unknown, f"the table of prices has no {model}: is the name right?"))


def _check_used(options: PlanOptions) -> None:
    """No option is ignored in silence."""
    if options.pilot is not None:
        typed = {"score": options.score is not None, "lengths": bool(options.lengths), "tasks": options.tasks > 1}
        if ignored := [f"`{name}`" for name, given_too in typed.items() if given_too]:
            raise FathomError(f"the pilot says what to expect; leave out {' and '.join(ignored)}, or the pilot")
    if options.baseline is not None and (options.difference is None or options.pilot is None):
        other = (
            "`half_width` is that of one model"
            if options.difference is None
            else "there is no pilot to compare it with"
        )
        raise FathomError(f"baseline: {other}; leave out `baseline`, or give a pilot and `difference`")


def _pricing(model: str | None) -> Callable[[float, float, float], float | None] | None:
    from fathom.models.prices import find_price

    if model is None:
        return None
    price = find_price(model)
    return lambda read, written, cached: price.cost(round(read), round(written), round(cached))


def main(line: PlanOptions) -> int:
    """Print the plan."""
    from fathom.options.terminal import print_json, tell
    from fathom.printing import several
    from fathom.report.plan import tables
    from fathom.report.terminal import show

    made = plan.body(line.but(tell=tell))
    if line.as_json:
        print_json(made)
        return 0
    first = made.steps[0]
    about = f"of the {first.about}" if first.length is None else first.about
    sure = f"; {first.items_sure:,} to be sure" if first.items_sure > first.items else ""
    print(f"{several(first.items, made.unit)} of each task for {made.goal} {about}{sure}.")
    print(f"fathom run --limit {first.limit} asks so many: samples of each task and length.")
    show(tables(made))
    for note in made.unknown:
        print(f"unknown: {note}")
    return 0
