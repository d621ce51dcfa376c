"""Samples, and the scores of replies to them."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from fathom.types.common import Facet
from fathom.types.documents import Span

Part: TypeAlias = str | Span


@dataclass(frozen=True, slots=True)
class Sample:
    """One test question as a recipe, whose text is rendered by ``fathom.tokens.length.render``.

    Attributes:
        id: Unique within a suite: ``ITEM@LENGTH``, with the depth if depths are swept and the question's number if the
            item has several.
        item: The context and its questions, independent of length; the same item exists at every length. Samples of one
            item are not independent: intervals treat the item as their unit.
        task: Name of a registered task.
        parts: Literal strings and spans of documents; joined, they are the prompt.
        targets: Acceptable gold answers, at least one.
        length: Budget of the whole prompt in tokens; 0 for a question without the long context.
        tokens: Tokens of the whole prompt, 99% to 100% of ``length``; fewer for prompts of whole texts.
        language: ISO 639-1 code of the prompt.
        chance: Expected score of a valid answer drawn at random, in [0, 1].
        facets: Groups for breaking down results: position, variant, difficulty, ... ``question`` is the number of the
            question if the item has several; ``cluster`` is the document, book or thread that items of a task have in
            common, absent from items that share it with none; ``context`` is ``none`` or ``alone`` if the length is 0,
            and ``padded`` if all but the evidence is neutral text; ``evidence`` is ``needles`` if it was hidden in
            running text; ``cut_from`` is the length of the prompt from which
            this one was truncated. ``example``, ``longest`` and ``first`` are the answers of the baselines of those
            names; ``whole_tokens`` are the tokens of a prompt before truncation. Scorers ignore them.
        inputs: Input of the scorer besides the reply and the gold answers, which reports ignore. ``dataset`` is the
            publisher's name of the task, and ``classes`` the possible labels, a JSON list, if rules depend on them.
            Values used for both are in both. In files of earlier versions, the facets are also the inputs.
        asked: The bare question, for judges and people; "" if the prompt says it all.
        thinking: Replaces the last part in the prompt that asks for thoughts (``fathom.tokens.length.thinking``);
            "" without such a prompt.
        thinking_tokens: Tokens of that whole prompt, or 0.
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

    @property
    def whole(self) -> bool:
        """Whether it is a question with its whole context: no control, and not truncated."""
        return is_whole(self.length, self.facets)


def place_of(task: str, item: str, cluster: Facet | None = None) -> bytes:
    """Where an item stands in an order that is as good as random.

    Nobody chooses it, it is known before the first reply, and it does not depend on which other items there are. So
    what is finished at any moment is a random part, whatever the order of a suite (hard items last, say). Items of one
    cluster stand next to each other.

    Args:
        task: Name of the task.
        item: Name of the item.
        cluster: The facet ``cluster``, if the item has one.
    """
    name = f"{task}\x1f{item}" if cluster is None else f"\x1f{cluster}"
    return hashlib.sha256(name.encode(errors="surrogatepass")).digest()


def is_whole(length: int, facets: Mapping[str, Facet]) -> bool:
    """Whether a sample of this length and these facets is a question with its whole context."""
    return bool(length) and "cut_from" not in facets and facets.get("context") not in CONTROLS


PADDED = "padded"
"""The facet ``context`` of a sample in which all but the evidence is neutral text."""
UNNAMED = "unnamed"
"""The facet ``context`` of a sample whose question does not name the passage that it is about."""
CONTROLS = (PADDED, UNNAMED)
"""Values of the facet ``context`` of samples that are as long as their whole context, and are no part of curves."""
STEP = "training_step"
"""The facet of rows with the step of the training after which their model was saved (``fathom run --step``)."""
CONTAINED = "the reply contains a gold answer"
"""The ``detail`` of a token F1 below 1 that a whole sentence with the right answer gets too."""


@dataclass(frozen=True, slots=True)
class Score:
    """The score of one reply.

    Attributes:
        value: Score in [0, 1]; None means "not scored", which is not 0.
        valid: Whether the reply had the requested form.
        answer: The answer extracted from the reply, or None.
        grader: The rule or judge behind the score.
        detail: Explanation for people, or "".
    """

    value: float | None
    valid: bool
    answer: str | None = None
    grader: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Ordering:
    """Segments of one text in a scrambled order, for models whose likelihoods of orders are compared.

    Attributes:
        before: Text before the segments.
        segments: The segments in the order of the prompt; answers number them from 1.
        after: Text after the segments.
    """

    before: str
    segments: tuple[str, ...]
    after: str
