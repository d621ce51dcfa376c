"""One recipe for comparisons: setups of a model on one suite, tuned on another, with their costs."""

from fathom.lab.compare import Recipe, compare
from fathom.lab.page import Comparison, numbers_of, report_of, write_page
from fathom.lab.plan import RequestedSetup, Sizes, Way, best_way, read_setup, trained

__all__ = [
    "Comparison",
    "Recipe",
    "RequestedSetup",
    "Sizes",
    "Way",
    "best_way",
    "compare",
    "numbers_of",
    "read_setup",
    "report_of",
    "trained",
    "write_page",
]
