"""The chance-corrected log-ratio with shrinkage: LongScore on a scale on which halving and doubling are equally far.

At length l it is ``log((A_l + k_l) / (A_B + k_B))``, where A is the score above chance (at least 0), B the base, and
``k = 1 / (2 n)`` half an item's worth among the n items behind the score. The half item is that of Haldane (1955) and
Walter (1975), who add it to counts before taking logarithms of their ratio: it removes most of the bias, is negligible
where there are points enough, and keeps the figure finite where a model has no point at all. A model's summary is the
mean over the lengths beyond the base; ``exp`` of it is the share of the base that is kept, as a geometric mean.
"""

from __future__ import annotations

import numpy as np

from fathom.analysis.corrected import Corrected
from fathom.stats.intervals import Floats

HALF_ITEM = 0.5


def log_ratios(one: Corrected) -> tuple[Floats, Floats]:
    """The log-ratio at each length beyond the base: the figures, and replicates x lengths."""
    return _ratios(one.ability, one.items), _ratios(one.draws, one.items)


def _ratios(ability: Floats, items: Floats) -> Floats:
    shrunk = np.log(np.maximum(ability, 0.0) + HALF_ITEM / items)
    ratios: Floats = shrunk[..., 1:] - shrunk[..., :1]
    return ratios
