"""What every family of world tasks gives: facts, passages in two languages, a question with its exact answer."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, TypeVar

Language: TypeAlias = Literal["en", "zh"]
Naming: TypeAlias = Literal["invented", "real"]
"""Names that no place or person has, or such as are common: the same facts, told with other names."""
AS_USUAL = -1
Facts = TypeVar("Facts")


@dataclass(frozen=True, slots=True)
class Dials:
    """What makes an item hard. ``fathom.world.dials`` says which task heeds which dial.

    Attributes:
        hops: Facts to be joined for the answer.
        near: Siblings that differ from the wanted one in one attribute; ``AS_USUAL`` for as many as the task has.
        paraphrase: Share in [0, 1] of the question's content words that the evidence does not have.
        noise: Share in [0, 1] of passages about something else.
        unanswerable: Whether the evidence lacks the answer, so that the right reply says so; None if it does not, and a
            question whose form has no room for such a reply offers none.
        counterfactual: Whether values that are asked for are others, and the answer with them.
        names: The kind of names.
        density: Share in (0, 1] of the sentences of papers that tell facts; 1 for few others, as usual.
    """

    hops: int = 2
    near: int = AS_USUAL
    paraphrase: float = 0.0
    noise: float = 0.0
    unanswerable: bool | None = None
    counterfactual: bool = False
    names: Naming = "invented"
    density: float = 1.0


@dataclass(frozen=True, slots=True)
class Passage:
    """A separate text of a context.

    Attributes:
        key: Its name, the same in both languages and at all lengths.
        text: The text, rendered.
        title: A heading, or "".
        evidence: Character spans of the sentences on which the answer rests; empty for a sibling or a filler.
        place: Passages stand in the order of this number where the order matters (dates, turns, versions).
        turn: When its evidence is used, counted from 1, where the answer takes it in an order; else 0.
    """

    key: str
    text: str
    title: str = ""
    evidence: tuple[tuple[int, int], ...] = ()
    place: float = 0.0
    turn: int = 0


@dataclass(frozen=True, slots=True)
class Problem:
    """A question in one language, with its answer.

    Attributes:
        question: What is asked, with the form of the answer; without the passages.
        answers: The lines of the gold answer, in order where the metric asks for one.
        options: The texts of the options A, B, C, D; empty if there are none.
        references: Reference summaries; empty for other tasks.
        chance: Expected score of a reader who knows the siblings and guesses.
    """

    question: str
    answers: tuple[str, ...]
    options: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    chance: float = 0.0


class Family(Protocol[Facts]):
    """Tasks that share one kind of facts. All methods are pure functions of their arguments.

    Attributes:
        codes: The secondary tasks of LongBench Pro that it gives, such as ``T8.3``.
    """

    codes: tuple[str, ...]

    def facts(self, code: str, seed: int, number: int, dials: Dials) -> Facts:
        """The proven facts of item ``number``, neutral of language."""

    def passages(self, facts: Facts, language: Language) -> tuple[Passage, ...]:
        """The passages that have the evidence: all of them are in the context at every length."""

    def siblings(self, facts: Facts, language: Language) -> Iterator[Passage]:
        """Passages without end that fill a context and never change the answer; longer contexts have more of them.

        They share sentence plans and vocabulary with the evidence, so that neither form nor words give it away.
        """

    def problem(self, facts: Facts, code: str, language: Language) -> Problem:
        """The question and its answer."""

    def solve(self, text: str, question: str, code: str, language: Language) -> tuple[str, ...]:
        """The answer from the rendered text alone: parsers and regular expressions, without the generator's tables."""
