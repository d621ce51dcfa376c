"""The data sets of LongBench and InfiniteBench that LongLeader uses, and our own prompts for the latter.

``{asked}`` is the question, with its choices. Output caps are InfiniteBench's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from fathom.types import AnswerKind

QUESTION = "Question: {asked}\nReply with the answer alone, in as few words as it takes.\nAnswer:"
CHOICE = "{asked}\n\nReply with one letter, A, B, C or D, and nothing else.\nAnswer:"
BOOK = "Below is a whole book. {what}\n\nBook:\n\n"
BOOK_END = "\n\n(End of the book.)\n\n"
UNSEEN = (
    "Here is a question about a text that you cannot see. Give the answer that is most likely from what you know.\n\n"
)


SENTENCE = 64
"""Output cap in tokens that holds a sentence: InfiniteBench's 3 and 5 hold no more than a bare answer."""


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
    "longbook_qa_eng": Long(
        "leader_en_qa",
        "En.QA",
        "F-QA",
        "token_f1",
        40,
        351,
        92,
        "questions about a novel",
        BOOK.format(what="A question about it follows."),
        f"{BOOK_END}The question is about the book above; a name or a short phrase is enough.\n\n{QUESTION}",
        UNSEEN + QUESTION,
    ),
    "longbook_choice_eng": Long(
        "leader_en_mc",
        "En.MC",
        "MC-QA",
        "exact_match",
        40,
        229,
        63,
        "questions about a novel with four choices",
        BOOK.format(what="A question about it follows, with four choices, exactly one of which is right."),
        f"{BOOK_END}Question: {CHOICE}",
        f"{UNSEEN}Question: {CHOICE}",
        answer="letter",
    ),
    "longbook_sum_eng": Long(
        "leader_en_sum",
        "En.Sum",
        "SUM",
        "rouge_l_sum",
        1200,
        103,
        37,
        "a summary of a novel",
        BOOK.format(what="Summarize it in about 800 words."),
        f"{BOOK_END}Reply with a summary of the book above, about 800 words long, and nothing else.\nSummary:",
        answer="summary",
    ),
    "code_debug": Long(
        "leader_code_debug",
        "Code.Debug",
        "LGR",
        "exact_match",
        SENTENCE,
        394,
        155,
        "which of four functions of a Python project has an error put into it",
        "Below is the code of a Python project. Into one of its functions somebody has put an error that makes it "
        "fail; you will be asked which one.\n\nCode:\n\n",
        "\n\n(End of the code.)\n\nOne of these four functions has the error. Which one?\n" + CHOICE,
        answer="letter",
    ),
    "math_find": Long(
        "leader_math_find",
        "Math.Find",
        "LGR",
        "exact_match",
        SENTENCE,
        350,
        350,
        "one number of a long list, such as the second largest or the median",
        "Below is a long list of numbers. You will be asked for one number that follows from it.\n\nList:\n\n",
        "\n\n(End of the list.)\n\n{asked}",
        answer="number",
    ),
}
"""By InfiniteBench's name; the 128k set."""
