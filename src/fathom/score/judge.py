"""Scores answers and summaries with a judge: requests go out, replies come in, parts of a score result.

A rubric is a conversation without I/O: a generator that yields requests and receives the replies. Its driver
(``fathom.run``) asks a model, a cache or a script. A reply that cannot be parsed is requested once more, then the
judgement has failed, which is not a score of 0. Rubrics are in the folders of their benchmarks: those of answers and
summaries in ``fathom.benchmarks.hundred.rubrics``, LongLeader's rating, and LongBench Pro's similarity, which needs an
embedding model; all others need chat models.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from fathom.plugins.discovery import declared
from fathom.plugins.names import unknown
from fathom.score.dialects import without_reasoning
from fathom.score.judge_texts import REMINDER
from fathom.types import FathomError, Json

T = TypeVar("T")
JudgeKind: TypeAlias = Literal["chat", "embedding"]
JUDGE_KINDS: tuple[JudgeKind, ...] = ("chat", "embedding")
_SHOWN = 200  # characters shown of a reply that could not be parsed
Form: TypeAlias = Mapping[str, Json]
"""A ``response_format`` of OpenAI's protocol."""
JSON: Form = {"type": "json_object"}
Parts: TypeAlias = Mapping[str, float]
"""Parts of a score: ``{"fluency": 2, "correctness": 3}``, ``{"fluency": 1, "precision": 0.8, "recall": 0.6}``."""
__all__ = ["Ask", "Case", "Conversation", "Parts", "Rubric", "UnreadableError", "get_rubric", "rubrics"]


class UnreadableError(Exception):
    """The judge's replies could not be parsed, or there is no reference: a failed judgement, never 0 points."""


@dataclass(frozen=True, slots=True)
class Case:
    """The input of a judgement.

    Attributes:
        asked: The bare question, or the request for a summary.
        reply: The model's reply.
        references: Acceptable answers, or reference summaries.
        language: Expected language of the reply, ISO 639-1.
    """

    asked: str
    reply: str
    references: tuple[str, ...]
    language: str = "en"

    @property
    def said(self) -> str:  # banned-name: rubrics of others read it
        """The reply without its thoughts; "" needs no judge and is not a valid reply."""
        return without_reasoning(self.reply).strip()


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to the judge.

    Attributes:
        step: Its purpose: ``answer``; ``fluency``, ``precision``, ``key_points``, ``recall``; ``rating``;
            ``similarity``.
        prompt: The whole request, independent of others.
        form: What a server that knows ``response_format`` holds the reply to; None for words of any form.
    """

    step: str
    prompt: str
    form: Form | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """What a model is asked about a case.

    Attributes:
        name: Its name; that of a rubric is ``qa``, ``summary``, ``rating`` or ``similarity``.
        version: Increased when requests or results change.
        steps: Yields requests, receives the model's replies, returns the parts. Raises ``UnreadableError``.
    """

    name: str
    version: int
    steps: Callable[[Case], Generator[Ask, str, Parts]]


@dataclass(frozen=True, slots=True)
class Rubric(Conversation):
    """How a judge scores one kind of task. An empty reply gets parts of 0 without a request.

    Attributes:
        value: Score in [0, 1] from the parts, under the rule ``official`` or ``strict``.
        description: One line.
        source: Paper and section.
        by: The kind of judge: a chat model or an embedding model.
    """

    value: Callable[[Parts, str], float]
    description: str
    source: str
    by: JudgeKind = "chat"


def asked(step: str, request: str, read: Callable[[str], T | None], form: Form | None = None) -> Generator[Ask, str, T]:
    """The parsed reply of the judge, requested once more if it cannot be parsed.

    The first reply of a judge may reason in words before its object, so that only the second is held to JSON.

    Args:
        read: Parses a reply; None if it cannot.
        form: The form of both replies; None for words, and then JSON.

    Raises:
        UnreadableError: Neither reply could be parsed.
    """
    reply = ""
    for text, held_to in ((request, form), (f"{request}\n\n{REMINDER}", form or JSON)):
        reply = yield Ask(step, text, held_to)
        marks = read(reply)
        if marks is not None:
            return marks
    raise UnreadableError(f"the judge's reply for {step} could not be parsed, twice; it ends with {reply[-_SHOWN:]!r}")


def kept_references(case: Case) -> list[str]:
    """The non-empty references.

    Raises:
        UnreadableError: There is none.
    """
    references = [text.strip() for text in case.references if text.strip()]
    if not references:
        raise UnreadableError("no reference: the sample has no reference with any text")
    return references


def check_rule(rule: str) -> None:
    """Check that a rule is known.

    Raises:
        FathomError: It is neither ``official`` nor ``strict``.
    """
    if rule not in ("official", "strict"):
        raise FathomError(f"unknown rule {rule!r}; expected official or strict")


def rubrics() -> Mapping[str, Rubric]:
    """All rubrics by name."""
    return declared("rubrics", lambda rubric: rubric.name)


def get_rubric(name: str) -> Rubric:
    """The rubric of that name.

    Raises:
        FathomError: It does not exist.
    """
    known = rubrics()
    if name in known:
        return known[name]
    raise unknown("rubric", name, known, see="fathom list tasks")
