"""Choices and defaults that commands offer and that the library obeys, declared once for both."""

from typing import Literal, TypeAlias

RETRIES = 5
"""Retries of a request after a temporary failure."""
TIMEOUT = 600.0
"""Seconds for one attempt."""
THRESHOLD = 0.5
"""Closed-book score from which a question counts as known."""
MARGIN, ALPHA = 0.03, 0.05
"""Of a gate: the largest accepted loss, as a fraction, and the level of its tests."""
DIALS = (
    "hops", "near", "paraphrase", "noise", "unanswerable", "spread", "order", "counterfactual", "names", "density",
)  # fmt: skip
"""Facets of generated items that say what makes them harder."""

Rule: TypeAlias = Literal["strict", "official"]
BaseRule: TypeAlias = Literal["paper", "code", "given"]
Correct: TypeAlias = Literal["majority", "any", "all", "mean"]
Policy: TypeAlias = Literal["own", "intersection", "panel", "none"]
Unanswered: TypeAlias = Literal["zero", "drop"]
Method: TypeAlias = Literal["orders", "pairs", "gold"]
Overflow: TypeAlias = Literal["refuse", "middle", "left", "right"]
StudioTable: TypeAlias = Literal[
    "state",
    "sample",
    "task",
    "origin",
    "quota",
    "agreement",
    "audit",
    "quality",
    "annotator",
    "background",
    "comment",
]
"""Tables of ``fathom studio stats``."""
CompressionStudy: TypeAlias = Literal[
    "redundancy",
    "categories",
    "dimensions",
    "ratios",
    "embeddings",
    "components",
    "bias",
    "choices",
    "numbers",
    "rankings",
    "neighbours",
]
Figure: TypeAlias = Literal[
    "curve",
    "scores",
    "position",
    "position-lines",
    "needle",
    "answers",
    "truncation",
    "recovery",
    "recovery-depth",
    "recovery-steps",
    "survival",
    "tasks",
    "task-curves",
    "length-shares",
    "longscore",
    "longscore-heatmap",
    "lengths-heatmap",
    "tasks-heatmap",
    "requirement-heatmap",
    "best-of-n",
    "pass-at-n",
]


def rule_or_default(rule: str | None, *, compared: bool) -> str:
    """The scoring rule that was chosen, or the default: strict; official where scores stand beside published ones.

    Args:
        rule: The rule that was chosen; None for the default.
        compared: Whether the scores are compared with scores of the papers' code.
    """
    return rule or ("official" if compared else "strict")
