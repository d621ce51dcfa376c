"""Subsets: which samples of a suite a run includes, and their description in ``run.json``."""

from collections.abc import Mapping

from fathom.suites.subsetfile import subset_hash
from fathom.suites.suitefile import BuiltSuite
from fathom.types import FathomError, Json, Subset

SHOWN = 3


def members_of(subset: Subset, suite: BuiltSuite) -> frozenset[str]:
    """The sample ids and item names of a subset in a suite.

    Raises:
        FathomError: The suite lacks some; the message says how many and names the first.
    """
    known = suite.names()
    lacking = [member.item for member in subset.members if member.item not in known]
    if lacking:
        rest = len(subset.members) - len(lacking)
        more = ", ..." if len(lacking) > SHOWN else ""
        raise FathomError(
            f"subset {subset.name!r}: {len(lacking)} of its {len(subset.members)} members are in no sample of "
            f"{suite.folder} ({', '.join(map(repr, lacking[:SHOWN]))}{more}); {rest} are. Its weights are only valid "
            "for all of them: build the suite from the full data with all items, or choose a subset of what it contains"
        )
    return frozenset(member.item for member in subset.members)


def describe_subset(subset: Subset) -> Mapping[str, Json]:
    """The subset in ``run.json``: name, method, number of members, and hash."""
    return {
        "name": subset.name,
        "method": subset.method,
        "members": len(subset.members),
        "hash": subset_hash(subset),
    }
