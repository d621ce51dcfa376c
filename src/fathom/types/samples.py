"""Samples, and what a scorer says of one reply to them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fathom.types.common import Facet
from fathom.types.documents import Span

Part: TypeAlias = str | Span


@dataclass(frozen=True, slots=True)
class Sample:
    """One test question as a recipe: text exists only when ``fathom.length.render`` puts it together.

    Attributes:
        id: Unique within a suite: ``ITEM@LENGTH``, with the depth where depths are swept and the question's number
            where the item has several.
        item: The context and its questions independently of length; the same item exists at every length. Samples of
            one item are not independent of each other: intervals take the item as their unit.
        task: Name of a registered task.
        parts: Literal strings and spans of documents; their concatenation is the prompt.
        targets: Acceptable gold answers, at least one.
        length: Budget in tokens for the whole prompt; 0 for a question asked without the long context.
        tokens: Tokens of the whole prompt, 99% to 100% of ``length``; fewer where only whole texts may stand in it.
        language: ISO 639-1 code of the prompt.
        chance: Expected score of a valid answer drawn at random, in [0, 1].
        facets: What results can be broken down by: position, variant, difficulty, ... ``question`` is the number of
            the question where an item has several; ``context`` is ``none`` or ``alone`` where the length is 0;
            ``cut_from`` is the length of the prompt that this one was cut from. ``example``, ``longest`` and ``first``
            are the answers that copying the prompt's example, the longest candidate or the first one would give;
            ``whole_tokens`` are the tokens of a prompt that had to be cut. Scorers do not read them.
        inputs: What the scorer needs besides the reply and the gold answers; reports do not read it. ``dataset`` is the
            publisher's name of the task, and ``classes`` the labels to choose from, a list in JSON, where rules depend
            on them. What is used for both is in both. Files of earlier versions do not tell the two apart: there
            ``inputs`` are the facets.
        asked: The bare question, for judges and for people; "" where the prompt says it all.
        thinking: What takes the place of the last part where the model is told to think before it answers
            (``fathom.length.thinking``); "" where there is no such prompt.
        thinking_tokens: Tokens of that whole prompt; 0 where there is none.
    """

    id: str
    item: str
    task: str
    parts: tuple[Part, ...]
    targets: tuple[str, ...]
    length: int
    tokens: int
    language: str = "en"
    chance: float = 0.0
    facets: Mapping[str, Facet] = field(default_factory=dict)
    asked: str = ""
    thinking: str = ""
    thinking_tokens: int = 0
    inputs: Mapping[str, Facet] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a scorer says of one reply.

    Attributes:
        value: Score in [0, 1]; None means "not scored", which is never 0.
        valid: Whether the reply had the asked form.
        answer: The answer that was read from the reply, or None.
        grader: Which rule or judge gave the score.
        detail: Why, for people; "" if there is nothing to say.
    """

    value: float | None
    valid: bool
    answer: str | None = None
    grader: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ordering:
    """Segments of one text in a scrambled order, for models that are asked how likely each order is.

    Attributes:
        before: Text before the segments.
        segments: The segments in the order of the prompt; an answer names them by their numbers from 1.
        after: Text after the segments.
    """

    before: str
    segments: tuple[str, ...]
    after: str
