"""A plan as tables."""

from fathom.analysis.plan import SURE, Plan, Step, Variance
from fathom.report import words
from fathom.report.table import Cell, Column, Table

STEPS = (
    Column("What", number=False),
    Column("Items", help="Of each task"),
    Column("To be sure", help=f"Items that suffice with probability {SURE:.0%}, as the pilot is small"),
    Column("Requests"),
    Column("Tokens"),
    Column("Cost"),
    Column("Time"),
)


def tables(plan: Plan) -> list[Table]:
    """The ways to reach the goal, and where the uncertainty comes from."""
    about = f"For {plan.goal}. From {plan.basis}. Requests, tokens, cost and time are those of the items."
    parts = _parts(plan.variance)
    made = [Table("plan", "", "Plan", about, STEPS, tuple(map(_step, plan.steps)), denominator="none")]
    if parts:
        columns = (Column("Where the uncertainty comes from", number=False), Column("Standard deviation"))
        made.append(
            Table("variance", "", "Variance", "In points of one item's score.", columns, parts, denominator="none")
        )
    return made


def _step(step: Step) -> tuple[Cell, ...]:
    texts = (
        step.about,
        words.count(step.items),
        words.count(step.items_sure),
        words.count(step.requests),
        words.tokens(step.tokens),
        words.money(step.dollars),
        words.duration(None if step.hours is None else 3600 * step.hours),
    )
    return tuple(map(Cell, texts))


def _parts(variance: Variance) -> tuple[tuple[Cell, ...], ...]:
    parts = (
        ("items, at all lengths alike", variance.item),
        ("items, at one length and not at another", variance.item_length),
        ("replies to the same prompt", variance.replies),
    )
    return tuple((Cell(name), Cell(words.percent(value**0.5))) for name, value in parts if value is not None)
