"""Paired differences between every two models on the items that they share."""

from itertools import combinations
from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, print_flat, print_json, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import command
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.analysis import Comparison


@command(Study)
def compare(options: Study) -> "list[Comparison]":
    """Paired differences between every two models on the items that they share."""
    from fathom.analysis import compare

    frame = study_rows(options)
    systems = frame.select("model", "variant").unique(maintain_order=True).rows()
    if len(systems) < 2:
        raise FathomError("a comparison needs rows of two models or variants; name the runs of both")
    return [
        found
        for (model_a, variant_a), (model_b, variant_b) in combinations(systems, 2)
        for found in compare(frame, model_a, model_b, variant_a=variant_a, variant_b=variant_b, seed=options.seed)
    ]


class Line(Study, Json):
    """Options."""


def main(line: Line) -> None:
    """Print a table, or JSON."""
    from fathom.terminal import tell

    found = compare.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        tell("no two models or variants in these rows have a score for the same sample; name runs of one suite")
    print_flat(found)
