"""The 25 secondary tasks of LongBench Pro, and the other labels of its records.

Source: table 2 of the paper (Chen et al. 2026, arXiv:2601.02872); the names are those of the records.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

Metric: TypeAlias = Literal["NDCG", "Pairwise_Accuracy", "Accuracy", "F1_Score", "SubEM", "Summary"]

LANGUAGES: Mapping[str, str] = MappingProxyType({"English": "en", "Chinese": "zh"})
LENGTHS: Mapping[str, int] = MappingProxyType(
    {f"{thousand}k": 1024 * thousand for thousand in (8, 16, 32, 64, 128, 256)}
)
METRIC_NAMES: Mapping[Metric, str] = {
    "NDCG": "ndcg",
    "Pairwise_Accuracy": "pairwise_accuracy",
    "Accuracy": "accuracy",
    "F1_Score": "f1",
    "SubEM": "sub_em",
    "Summary": "summary",
}
"""Names of metrics in the records, and in our tasks."""
REQUIREMENTS = ("Full", "Partial")
DIFFICULTIES = ("Easy", "Moderate", "Hard", "Extreme")
# A summary passes above this score, which results from a ROUGE-L of 0.5 and a similarity of 0.8.
SUMMARY_PASSES_ABOVE = 0.65

PRIMARY = (
    "T1. Retrieval & Ranking",
    "T2. Sequencing & Structure Reconstruction",
    "T3. Evidence-Grounded QA",
    "T4. Summarization & Synthesis",
    "T5. Attribution & Citation Alignment",
    "T6. Aggregation & Clustering",
    "T7. Consistency & Compliance Checking",
    "T8. Structured & Numeric Reasoning",
    "T9. Version & Code Diff Analysis",
    "T10. Rule Induction & In-Context Learning",
    "T11. Dialogue Memory & Long-Horizon Tracking",
)


@dataclass(frozen=True, slots=True)
class SecondaryTask:
    """One secondary task.

    Attributes:
        name: Its name in the records, ``T1.1 Global Cohesive Retrieval``.
        metric: How replies are scored.
        requirement: Whether it needs the ``Full`` context or a ``Partial`` one.
    """

    name: str
    metric: Metric
    requirement: str

    @property
    def code(self) -> str:
        """``T1.1``."""
        return self.name.split(" ", 1)[0]

    @property
    def primary(self) -> str:
        """Its primary task."""
        return PRIMARY[int(self.code[1:].split(".")[0]) - 1]

    @property
    def task(self) -> str:
        """Name of its task in fathom: ``pro_t1_1``."""
        return "pro_" + self.code.lower().replace(".", "_")


SECONDARY = (
    SecondaryTask("T1.1 Global Cohesive Retrieval", "NDCG", "Full"),
    SecondaryTask("T1.2 Key-Snippet Retrieval", "NDCG", "Partial"),
    SecondaryTask("T2.1 Global Timeline Reconstruction", "Pairwise_Accuracy", "Full"),
    SecondaryTask("T2.2 Local Causal Chain Sorting", "Pairwise_Accuracy", "Partial"),
    SecondaryTask("T3.1 Multi-Doc Integration QA", "Accuracy", "Full"),
    SecondaryTask("T3.2 Single-Hop Fact QA", "Accuracy", "Partial"),
    SecondaryTask("T4.1 Global-Coverage Constrained Summary", "Summary", "Full"),
    SecondaryTask("T4.2 Query-Focused Summary", "Summary", "Partial"),
    SecondaryTask("T5.1 Full-Sentence Citation Alignment", "F1_Score", "Full"),
    SecondaryTask("T5.2 Key-Statement Citation Alignment", "F1_Score", "Partial"),
    SecondaryTask("T6.1 Large-Scale Document Clustering", "SubEM", "Full"),
    SecondaryTask("T6.2 Targeted Subset Cluster Identification", "F1_Score", "Partial"),
    SecondaryTask("T6.3 Global Frequency Analysis", "Pairwise_Accuracy", "Full"),
    SecondaryTask("T7.1 Global Conflict & Inconsistency Localization", "F1_Score", "Full"),
    SecondaryTask("T7.2 Targeted Rule or Condition Violation Detection", "F1_Score", "Partial"),
    SecondaryTask("T7.3 Comprehensive Error & Anomaly Sweep", "F1_Score", "Full"),
    SecondaryTask("T8.1 Structured Multi-Source Consistency Verification", "SubEM", "Full"),
    SecondaryTask("T8.2 Single-Source Targeted Aggregation", "SubEM", "Partial"),
    SecondaryTask("T8.3 Long-Context Procedural State Tracking", "SubEM", "Full"),
    SecondaryTask("T9.1 Dependency-Aware Multi-Version Impact Analysis", "F1_Score", "Full"),
    SecondaryTask("T9.2 Localized Interface Change Detection", "F1_Score", "Partial"),
    SecondaryTask("T10.1 Large-Scale In-Context Rule Induction", "SubEM", "Full"),
    SecondaryTask("T10.2 Targeted Example-Based Rule Induction", "SubEM", "Partial"),
    SecondaryTask("T11.1 Long-Range Entity & Commitment Tracking", "Accuracy", "Full"),
    SecondaryTask("T11.2 Short-Range Reference Resolution & State Query", "Accuracy", "Partial"),
)
BY_NAME: Mapping[str, SecondaryTask] = MappingProxyType({task.name: task for task in SECONDARY})

EACH = 60
"""Questions of each secondary task: five for each language and length (section 4)."""
QUESTIONS: Mapping[str, Mapping[str, int]] = {
    "length": dict.fromkeys(LENGTHS, EACH * len(SECONDARY) // len(LENGTHS)),
    "contextual_requirement": {
        name: EACH * sum(task.requirement == name for task in SECONDARY) for name in REQUIREMENTS
    },
    "difficulty": {"Easy": 482, "Moderate": 289, "Hard": 289, "Extreme": 440},
    "primary_task": {name: EACH * sum(task.primary == name for task in SECONDARY) for name in PRIMARY},
    "language": dict.fromkeys(LANGUAGES.values(), EACH * len(SECONDARY) // len(LANGUAGES)),
}
"""Questions of each group, 1,500 in each dimension. The paper shows difficulties in a picture only (figure 4); these
numbers are the one solution with which 79 of the 80 published summaries recombine to their overall scores."""
