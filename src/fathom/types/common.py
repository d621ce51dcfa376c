"""What all nouns share: JSON, facets, and the failure that the user can mend."""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Facet: TypeAlias = str | int | float | bool


class FathomError(Exception):
    """A failure that the user can mend: the message names what is wrong and what to do. The command exits 2."""
