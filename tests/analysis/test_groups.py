"""What questions can be grouped by, in tables of anyone's."""

from __future__ import annotations

import numpy as np
import pytest
from repeated import frame

from fathom.analysis import breakdown
from fathom.types import FathomError


@pytest.mark.parametrize("facets", ["{not json", "[1]", "5", "null", ""])
def test_facets_that_cannot_be_read_are_none(facets: str) -> None:
    rows = frame(np.ones((2, 1)), facets=facets)
    with pytest.raises(FathomError, match="'difficulty' to group by; the rows have no facets"):
        breakdown(rows, by=("difficulty",))
