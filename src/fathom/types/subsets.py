"""A subset of a benchmark: its items, and how they were chosen and weighted."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fathom.printing import readable
from fathom.types.common import Json


@dataclass(frozen=True, slots=True)
class Member:
    """One item of a subset.

    Attributes:
        item: Id of a sample, or name of an item for all its samples.
        weight: Weight of its score in the estimate of the whole benchmark's score.
        stratum: Part of the benchmark that it represents; "" without strata.
        probability: Probability of its selection; None if it was not selected at random.
    """

    item: str
    weight: float
    stratum: str = ""
    probability: float | None = None


@readable
@dataclass(frozen=True, slots=True)
class Subset:
    """Items that represent a larger benchmark.

    Attributes:
        name: Name in commands and reports.
        members: The items.
        method: Selection method, as commands name it.
        design: Parameters of the selection: budget, seed, and what the method needs for estimates.
        provenance: Source of the scores used for the selection.
    """

    name: str
    members: tuple[Member, ...]
    method: str
    design: Mapping[str, Json] = field(default_factory=dict)
    provenance: Mapping[str, Json] = field(default_factory=dict)
