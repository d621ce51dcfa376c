"""Paired differences between every two models on the items that they share."""

from itertools import combinations
from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Study, on_line, study, study_rows
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.analysis import Comparison


@study(Study)
def analyze_compare(options: Study) -> "list[Comparison]":
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


main = on_line(
    analyze_compare,
    empty="no two models or variants in these rows have a score for the same sample; name runs of one suite",
)
