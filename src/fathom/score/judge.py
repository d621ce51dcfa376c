"""How a judge scores answers and summaries: requests go out, replies come in, parts of a score come out.

A rubric is a conversation without I/O: a generator that yields requests and is sent the replies. Who drives it
(``fathom.run``) asks a model, a cache or a script. A reply that cannot be read is asked for once more, then the
judgement has failed, which is not a score of 0. The rubrics stand with the benchmarks that have them: those of answers
and of summaries in ``fathom.benchmarks.hundred.rubrics``, LongLeader's rating, and LongBench Pro's similarity, which
is for models that embed; all others are for models that chat.
"""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from fathom.discovery import declared
from fathom.names import unknown
from fathom.score.judge_texts import REMINDER
from fathom.score.text import without_reasoning
from fathom.types import FathomError

T = TypeVar("T")
JudgeKind: TypeAlias = Literal["chat", "embedding"]
JUDGE_KINDS: tuple[JudgeKind, ...] = ("chat", "embedding")
_SHOWN = 200  # characters of a reply that could not be read
Parts: TypeAlias = Mapping[str, float]
"""Parts of a score: ``{"fluency": 2, "correctness": 3}``, ``{"fluency": 1, "precision": 0.8, "recall": 0.6}``."""
__all__ = ["Ask", "Case", "Parts", "Rubric", "UnreadableError", "get_rubric", "rubrics"]


class UnreadableError(Exception):
    """The judge's replies could not be read, or there was nothing to judge by: a failed judgement, never 0 points."""


@dataclass(frozen=True, slots=True)
class Case:
    """What is judged.

    Attributes:
        asked: The bare question, or the request for a summary.
        reply: The model's reply.
        references: Acceptable answers, or reference summaries.
        language: Language in which a reply is expected, ISO 639-1.
    """

    asked: str
    reply: str
    references: tuple[str, ...]
    language: str = "en"

    @property
    def said(self) -> str:
        """What the reply says after its thoughts; "" needs no judge and is no valid reply."""
        return without_reasoning(self.reply).strip()


@dataclass(frozen=True, slots=True)
class Ask:
    """One request to the judge.

    Attributes:
        step: What it asks for: ``answer``; ``fluency``, ``precision``, ``key_points``, ``recall``; ``rating``;
            ``similarity``.
        prompt: The whole request; each stands alone.
    """

    step: str
    prompt: str


@dataclass(frozen=True, slots=True)
class Rubric:
    """How a judge scores one kind of task.

    Attributes:
        name: ``qa``, ``summary``, ``rating`` or ``similarity``.
        version: Raised when requests or scores change.
        steps: Yields requests, is sent the judge's replies, returns the parts. Raises ``UnreadableError``. A reply that
            says nothing gets parts of 0 without a request.
        value: Score in [0, 1] from the parts, under the rule ``official`` or ``strict``.
        description: One line.
        source: Paper and section.
        by: Which kind of model judges: one that chats, or one that turns texts into vectors.
    """

    name: str
    version: int
    steps: Callable[[Case], Generator[Ask, str, Parts]]
    value: Callable[[Parts, str], float]
    description: str
    source: str
    by: JudgeKind = "chat"


def asked(step: str, request: str, read: Callable[[str], T | None]) -> Generator[Ask, str, T]:
    """What the judge says, asked for once more where it cannot be read.

    Args:
        step: Name of the step.
        request: The whole request.
        read: What a reply says; None where it cannot be read.

    Raises:
        UnreadableError: Neither reply could be read.
    """
    reply = ""
    for text in (request, f"{request}\n\n{REMINDER}"):
        reply = yield Ask(step, text)
        found = read(reply)
        if found is not None:
            return found
    raise UnreadableError(f"the judge's reply for {step} could not be read, twice; it ends with {reply[-_SHOWN:]!r}")


def kept_references(case: Case) -> list[str]:
    """The references that say something.

    Raises:
        UnreadableError: There is none.
    """
    found = [text.strip() for text in case.references if text.strip()]
    if not found:
        raise UnreadableError("there is nothing to judge by: the sample has no reference that says anything")
    return found


def check_rule(rule: str) -> None:
    """Make sure that a rule is known.

    Raises:
        FathomError: It is neither ``official`` nor ``strict``.
    """
    if rule not in ("official", "strict"):
        raise FathomError(f"unknown rule {rule!r}; it is official or strict")


def rubrics() -> Mapping[str, Rubric]:
    """All rubrics by name."""
    return declared("rubrics", lambda rubric: rubric.name)


def get_rubric(name: str) -> Rubric:
    """The rubric of that name.

    Raises:
        FathomError: There is none.
    """
    known = rubrics()
    if name in known:
        return known[name]
    raise unknown("rubric", name, known, see="fathom list tasks")
