"""The core types of fathom: frozen values shared by all packages.

This package imports nothing else from fathom. Texts are plain ``str``; lengths are in tokens of the suite's tokenizer;
offsets are in characters; scores are fractions in [0, 1].
"""

from fathom.types.common import Facet, FathomError, Json
from fathom.types.declarations import AnswerKind, Grid, PromptSource, Results, Suite, Task, Tell, Wording
from fathom.types.documents import ROLES, Document, Question, Role, Span
from fathom.types.plans import (
    Arranged,
    Candidate,
    CandidatePool,
    Counter,
    Draw,
    Ending,
    Haystack,
    Layout,
    Measure,
    Needle,
    Passages,
    Plan,
    Resources,
    Whole,
)
from fathom.types.replies import STATUSES, Reply, Row, Status
from fathom.types.samples import Ordering, Part, Sample, Score
from fathom.types.subsets import Member, Subset

# Earlier names.
Card = Candidate
Scene = Resources
Stock = CandidatePool
Verdict = Score

__all__ = [
    "ROLES",
    "STATUSES",
    "AnswerKind",
    "Arranged",
    "Candidate",
    "CandidatePool",
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
    "PromptSource",
    "Question",
    "Reply",
    "Resources",
    "Results",
    "Role",
    "Row",
    "Sample",
    "Scene",
    "Score",
    "Span",
    "Status",
    "Stock",
    "Subset",
    "Suite",
    "Task",
    "Tell",
    "Verdict",
    "Whole",
    "Wording",
]
