"""The 25 secondary tasks of LongBench Pro, and the other labels of its records.

Source: table 2 of the paper (Chen et al. 2026, arXiv:2601.02872); the names are those of the records.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, TypeAlias

from fathom.storage.toml import packaged_toml

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

_TASKS = packaged_toml(__package__, "tasks.toml")
PRIMARY: tuple[str, ...] = tuple(_TASKS["primary"])


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


SECONDARY = tuple(SecondaryTask(name, metric, requirement) for name, metric, requirement in _TASKS["secondary"])
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
