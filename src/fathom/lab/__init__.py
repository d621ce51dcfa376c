"""One recipe for comparisons: setups of a model on one suite, tuned on another, with their costs."""

from fathom.lab.compare import Recipe, compare
from fathom.lab.page import Comparison, numbers_of, report_of, write_page
from fathom.lab.plan import Sizes, Wanted, Way, best_way, trained, wanted

__all__ = [
    "Comparison",
    "Recipe",
    "Sizes",
    "Wanted",
    "Way",
    "best_way",
    "compare",
    "numbers_of",
    "report_of",
    "trained",
    "wanted",
    "write_page",
]
