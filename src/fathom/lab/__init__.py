"""One recipe for comparisons: setups of a model on one suite, tuned on another, with their costs."""

from fathom.lab.compare import Comparison, Recipe, compare
from fathom.lab.plan import Sizes, Wanted, Way, best_way, trained, wanted

__all__ = ["Comparison", "Recipe", "Sizes", "Wanted", "Way", "best_way", "compare", "trained", "wanted"]
