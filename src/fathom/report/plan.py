"""A plan as tables."""

from fathom.analysis.plan import SURE, Plan, Variance
from fathom.report import words
from fathom.report.table import Cell, Column, Table


def tables(plan: Plan) -> list[Table]:
    """The ways to reach the goal, and where the uncertainty comes from."""
    about = f"For {plan.goal}. From {plan.basis}. Requests, tokens, cost and time are those of the {plan.unit}s."
    parts = _parts(plan.variance)
    steps = Table("plan", "", "Plan", about, *_steps(plan), denominator="none")
    made = [steps]
    if parts:
        columns = (Column("Where the uncertainty comes from", number=False), Column("SD", help="Standard deviation"))
        made.append(
            Table("variance", "", "Variance", "In points of one item's score.", columns, parts, denominator="none")
        )
    return made


def _steps(plan: Plan) -> tuple[tuple[Column, ...], tuple[tuple[Cell, ...], ...]]:
    """Columns and rows of the ways; those that would repeat the items are left out."""
    texts = [
        (Column("What", number=False), [step.about for step in plan.steps]),
        (Column("Docs" if plan.unit == "document" else "Items", help="Of each task"), _counts(plan, "items")),
        (
            Column("Sure", help=f"Those that suffice with probability {SURE:.0%}, as the pilot is small"),
            _counts(plan, "items_sure"),
        ),
        (Column("Limit", help="Samples of each task and length: fathom run --limit"), _counts(plan, "limit")),
        (Column("Sent", help="Requests"), _counts(plan, "requests")),
        (Column("Tokens"), [_tokens(step.tokens) for step in plan.steps]),
        (Column("Cost"), [words.money(step.dollars) for step in plan.steps]),
        (Column("Time"), [words.duration(None if step.hours is None else 3600 * step.hours) for step in plan.steps]),
    ]
    items = texts[1][1]
    kept = [(column, own) for column, own in texts if column.label not in ("Sure", "Limit") or own != items]
    return tuple(column for column, _ in kept), tuple(
        tuple(map(Cell, row)) for row in zip(*(own for _, own in kept), strict=True)
    )


def _counts(plan: Plan, name: str) -> list[str]:
    return [words.count(getattr(step, name)) for step in plan.steps]


def _tokens(value: float | None) -> str:
    """A sum of tokens in decimal thousands, millions or billions, as prices are: "970k", "12.3M"."""
    if value is None:
        return words.ABSENT
    for unit, size in (("B", 1e9), ("M", 1e6), ("k", 1e3)):
        if value >= size:
            return f"{value / size:.3g}{unit}" if value < 999.5 * size else f"{value / size:.0f}{unit}"
    return words.count(value)


def _parts(variance: Variance) -> tuple[tuple[Cell, ...], ...]:
    parts = (
        ("items, at all lengths alike", variance.item),
        ("items, at one length and not at another", variance.item_length),
        ("replies to the same prompt", variance.replies),
    )
    return tuple((Cell(name), Cell(words.percent(value**0.5))) for name, value in parts if value is not None)
