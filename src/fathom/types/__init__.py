"""The nouns of fathom: frozen values that every other room passes around.

This package imports nothing of ours. Texts are plain ``str``; lengths are in tokens of the tokenizer that
a suite names; offsets are in characters; scores are fractions in [0, 1].
"""

from fathom.types.common import Facet, FathomError, Json
from fathom.types.declarations import AnswerKind, Grid, Results, Suite, Task, Tell
from fathom.types.documents import ROLES, Document, Question, Role, Span
from fathom.types.plans import (
    Arranged,
    Card,
    Counter,
    Draw,
    Ending,
    Haystack,
    Layout,
    Measure,
    Needle,
    Passages,
    Plan,
    Scene,
    Stock,
    Whole,
)
from fathom.types.replies import STATUSES, Reply, Row, Status
from fathom.types.samples import Ordering, Part, Sample, Verdict
from fathom.types.subsets import Member, Subset

__all__ = [
    "ROLES",
    "STATUSES",
    "AnswerKind",
    "Arranged",
    "Card",
    "Counter",
    "Document",
    "Draw",
    "Ending",
    "Facet",
    "FathomError",
    "Grid",
    "Haystack",
    "Json",
    "Layout",
    "Measure",
    "Member",
    "Needle",
    "Ordering",
    "Part",
    "Passages",
    "Plan",
    "Question",
    "Reply",
    "Results",
    "Role",
    "Row",
    "Sample",
    "Scene",
    "Span",
    "Status",
    "Stock",
    "Subset",
    "Suite",
    "Task",
    "Tell",
    "Verdict",
    "Whole",
]
