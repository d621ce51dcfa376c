"""Setups of a model, as a report shows them: their results, and what they say in sentences."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from fathom.analysis.setup_costs import Amount, frontier
from fathom.analysis.setups import Setup, SetupResult, Tuned
from fathom.printing import printable
from fathom.report import words
from fathom.report.table import Table

ZERO_SHOT, TRAINED = "Weights unchanged", "Trained"


@dataclass(frozen=True, slots=True)
class ComparedSetups:
    """Setups of one model, compared with a base.

    Attributes:
        results: Results of ``fathom.analysis.compare_setups``, the base among them.
        window: Trained window of the model, in tokens.
        base: Name of the base.
        tuned: Hyper-parameters that were tried.
        published: Tables of published figures, to be shown beside the measured ones.
        failed: Why a setup could not be asked, by its name.
    """

    results: tuple[SetupResult, ...]
    window: int
    base: str
    tuned: tuple[Tuned, ...] = ()
    published: tuple[Table, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)

    @property
    def lengths(self) -> tuple[int, ...]:
        """Tested lengths, ascending."""
        return tuple(sorted({point.length for result in self.results for point in result.points}))

    @property
    def within(self) -> tuple[int, ...]:
        """Tested lengths up to the window, ascending."""
        return tuple(length for length in self.lengths if length <= self.window)

    @property
    def reference(self) -> SetupResult:
        """The result of the base."""
        return next(result for result in self.results if result.setup.name == self.base)

    @property
    def others(self) -> tuple[SetupResult, ...]:
        """All results but that of the base: those with unchanged weights, then trained ones."""
        own = [result for result in self.results if result.setup.name != self.base]
        return tuple(sorted(own, key=lambda result: bool(result.setup.trained)))

    @property
    def order(self) -> tuple[SetupResult, ...]:
        """The base, then all other results: the order of colours."""
        return (self.reference, *self.others)

    @property
    def families(self) -> tuple[tuple[str, tuple[SetupResult, ...]], ...]:
        """Titles and results of the families that there are, each beginning with the base."""
        parts = [(ZERO_SHOT, [result for result in self.others if not result.setup.trained])]
        parts.append((TRAINED, [result for result in self.others if result.setup.trained]))
        return tuple(
            (title, (self.reference, *own)) for title, own in parts if own or (self.failed and title == ZERO_SHOT)
        )


def setup_name(setup: Setup | str) -> str:
    """The name of a setup, without control characters."""
    return printable(setup if isinstance(setup, str) else setup.name)


def answer(result: SetupResult, base: str) -> str:
    """From which length on a setup scores higher than the base, in a sentence."""
    name, other = quoted(result.setup), quoted(base)
    point = result.at(result.first_better) if result.first_better is not None else None
    if point is None or point.difference is None:
        refused = [f"{words.tokens(at.length)} ({at.gap})" for at in result.points if at.gap]
        why = f"; it has no score at {words.listed(refused)}" if refused else ""
        return f"No length was found from which on {name} scores higher than {other}{why}."
    length, gap = words.tokens(point.length), point.difference
    shares = [
        f"{share} of its {what}"
        for what, value in (("tokens", result.tokens_ratio), ("cost", result.dollars_ratio))
        if value is not None and (share := share_of(value)) != "100%"
    ]
    cheaper = f", with {words.listed(shares)}" if shares else ""
    longest = point.length == max(at.length for at in result.points)
    start = f"Only at {length}, the longest tested length," if longest else f"From {length} on,"
    at = "" if longest else f" at {length}"
    return (
        f"{start} {name} scores higher than {other}: {words.change(gap.difference)} points "
        f"{words.bounds(gap.interval, signed=True)}{at}{cheaper}."
    )


def quoted(setup: Setup | str) -> str:
    """The name of a setup in a sentence: in quotation marks if it has a comma."""
    return f"“{setup_name(setup)}”" if "," in setup_name(setup) else setup_name(setup)


def share_of(ratio: float) -> str:
    """A ratio as a percentage: "7%", "0.4%", "250%"."""
    percent = 100 * ratio
    return f"{percent:.0f}%" if percent >= 1 or percent == 0 else f"{percent:.1f}%"


def tokens_at(family: Sequence[SetupResult], length: int) -> dict[str, Amount]:
    """Tokens of a reply at a length by setup, all counted in the same way.

    They are those of prompt and reply if they are known for every setup of the family, and those of prompts otherwise.
    """
    points = {result.setup.name: point for result in family if (point := result.at(length)) and point.spent.tokens_in}
    whole = all(point.tokens_out is not None for point in points.values())
    amounts = {name: point.spent.tokens if whole else point.tokens_in for name, point in points.items()}
    return {name: amount for name, amount in amounts.items() if amount is not None}


def on_frontier(family: Sequence[SetupResult], length: int) -> frozenset[str]:
    """The setups of a family on the frontier of score and tokens at a length, by point estimates."""
    tokens = tokens_at(family, length)
    scored = {
        result.setup.name: point.mean for result in family if (point := result.at(length)) and point.mean is not None
    }
    return frozenset(frontier((name, scored[name], amount.mean) for name, amount in tokens.items() if name in scored))


def numbers(compared: ComparedSetups) -> dict[str, Any]:
    """The comparison as numbers."""
    best = {
        (title, length): on_frontier(family, length)
        for title, family in compared.families
        for length in compared.lengths
    }
    return {
        "base": compared.base,
        "window": compared.window,
        "lengths": compared.lengths,
        "setups": [
            {
                **asdict(result),
                "answer": "" if result.setup.name == compared.base else answer(result, compared.base),
                "on_frontier": [
                    length
                    for length in compared.lengths
                    if any(result.setup.name in names for (_, at), names in best.items() if at == length)
                ],
            }
            for result in compared.results
        ],
        "failed": dict(compared.failed),
        "tuned": list(compared.tuned),
        "published": [
            {
                "title": table.title,
                "about": table.about,
                "columns": [column.label for column in table.columns],
                "rows": [[str(cell) for cell in row] for row in table.rows],
            }
            for table in compared.published
        ],
    }
