"""The data sets of LongBench and InfiniteBench that LongLeader uses, and our own prompts for the latter.

``{asked}`` is the question, with its choices. Output caps are InfiniteBench's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.storage.toml import packaged_toml
from fathom.types import AnswerKind

QUESTION = "Question: {asked}\nReply with the answer alone, in as few words as it takes.\nAnswer:"
UNSEEN = (
    "Here is a question about a text that you cannot see. Give the answer that is most likely from what you know.\n\n"
)


@dataclass(frozen=True, slots=True)
class Short:
    """A data set of LongBench.

    Attributes:
        category: Category in LongLeader.
        metric: Metric of ``leader``.
        alone: Whether its questions make sense without their context.
    """

    category: str
    metric: str
    alone: bool = False


@dataclass(frozen=True, slots=True)
class Long:
    """A data set of InfiniteBench, whose records are never truncated.

    Attributes:
        name: Name of the task.
        title: InfiniteBench's name of it.
        category: Category in LongLeader.
        metric: Metric of ``leader``.
        cap: Output cap in tokens.
        fit: Number of them in table 3 of LongLeader.
        about: Description.
        after: Text after it; ``{asked}`` is the question, with its options.
        closed: The closed-book prompt; "" if it makes no sense.
        answer: The kind of answer requested.
    """

    name: str
    title: str
    category: str
    metric: str
    cap: int
    size: int
    fit: int
    about: str
    before: str
    after: str
    closed: str = ""
    answer: AnswerKind = "words"


SHORT: Mapping[str, Short] = {
    "musique": Short("F-QA", "token_f1", alone=True),
    "narrativeqa": Short("F-QA", "token_f1", alone=True),
    "hotpotqa": Short("F-QA", "token_f1", alone=True),
    "triviaqa": Short("ICL", "token_f1"),
    "qmsum": Short("SUM", "rouge_l_sum"),
    "gov_report": Short("SUM", "rouge_l_sum"),
}
"""By LongBench's name; the 32k set."""

LONG: Mapping[str, Long] = {
    name: Long(**fields) for name, fields in packaged_toml(__package__, "infinitebench_prompts.toml").items()
}
"""By InfiniteBench's name; the 128k set."""
