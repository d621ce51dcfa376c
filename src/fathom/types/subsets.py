"""A smaller benchmark: some items of a larger one, how they were chosen, and what they stand for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fathom.printing import readable
from fathom.types.common import Json


@dataclass(frozen=True, slots=True)
class Member:
    """One item of a subset.

    Attributes:
        item: Id of a sample, or of an item for all its samples.
        weight: Weight of its score in the estimate of the whole benchmark's score.
        stratum: Part of the benchmark that it was chosen for; "" where there are none.
        probability: Probability with which the design chose it; None where it was not chosen by chance.
    """

    item: str
    weight: float
    stratum: str = ""
    probability: float | None = None


@readable
@dataclass(frozen=True, slots=True)
class Subset:
    """Items that stand for a larger benchmark.

    Attributes:
        name: Name for people and reports.
        members: The items.
        method: How they were chosen, as commands name it.
        design: What decides the choice: budget, seed, and what the method needs to estimate from the scores.
        provenance: Where the scores came from that it was chosen by.
    """

    name: str
    members: tuple[Member, ...]
    method: str
    design: Mapping[str, Json] = field(default_factory=dict)
    provenance: Mapping[str, Json] = field(default_factory=dict)
