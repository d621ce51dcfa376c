"""The nouns of a leaderboard: its lines, and the scores in them; boards are declared as ``fathom.types.boards`` says.

Scores are fractions in [0, 1].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import Interval
from fathom.types import Json

Provenance: TypeAlias = Literal["published", "recomputed", "measured", "submitted"]
PROVENANCES: tuple[Provenance, ...] = ("published", "recomputed", "measured", "submitted")
OF_PAPERS: tuple[Provenance, ...] = ("published", "recomputed")
"""Of these nothing was run by whoever built the site or sent results to it."""
Z = 1.959963984540054
"""Standard errors to either side that a 95% interval of a normal distribution reaches."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a result comes from.

    Attributes:
        provenance: ``published`` in a paper, ``recomputed`` from scores of single questions that the authors of a paper
            released, ``measured`` by whoever built the site, ``submitted`` to it and checked.
        title: The paper, or how the run is called.
        table: Table of the paper; "" for runs.
        date: When it was published or measured, ``YYYY-MM-DD`` or ``YYYY-MM``; "" if unknown.
        url: Where it can be read; "" for runs. Only ``https`` addresses become links.
        note: What the reader should know of it; "" if nothing.
    """

    provenance: Provenance
    title: str
    table: str = ""
    date: str = ""
    url: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class Ended:
    """What became of the replies behind a score (``fathom.stats.outcomes``).

    Attributes:
        replies: All of them.
        unanswered: Those that say nothing.
        cut: Those that the output cap cut off; they are scored as they stand.
        overflow: Those whose prompt did not fit.
        missing: Those whose request failed, or that nobody has judged.
    """

    replies: int = 0
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0

    def __add__(self, other: Ended) -> Ended:
        """Those behind two scores of different replies."""
        return Ended(
            self.replies + other.replies,
            self.unanswered + other.unanswered,
            self.cut + other.cut,
            self.overflow + other.overflow,
            self.missing + other.missing,
        )

    @property
    def left_out(self) -> int:
        """Replies that leave the means where these are over what was answered."""
        return self.unanswered + self.overflow + self.missing


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean score and how sure it is.

    Attributes:
        value: The mean, in [0, 1]; LongScore and its kind may lie outside.
        interval: Its 95% interval; None where it cannot be known.
        n: Questions behind it; None where that is not said.
        bound: Whether the interval is the widest that ``n`` scores of this mean can have, because the scores
            themselves are not at hand.
        ended: What became of its replies; None where that is not known.
        other: The mean by the other choice of ``unanswered``; None where there is none, or ``ended`` is not known.
    """

    value: float
    interval: Interval | None = None
    n: int | None = None
    bound: bool = False
    ended: Ended | None = None
    other: float | None = None

    @property
    def error(self) -> float | None:
        """The standard error of a normal distribution whose interval is as wide; None where there is none."""
        return None if self.interval is None else (self.interval.high - self.interval.low) / (2 * Z)


@dataclass(frozen=True, slots=True)
class Usage:
    """What the replies of one line of a board took, per reply; None where that is not known.

    Attributes:
        cost: US dollars.
        tokens_in: Prompt tokens as the provider counts them.
        tokens_out: Completion tokens.
        seconds: Time from request to reply.
    """

    cost: float | None = None
    tokens_in: float | None = None
    tokens_out: float | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Items:
    """Scores of single questions of one task, for paired comparisons.

    Attributes:
        names: Names of the questions, ascending; equal names are the same question with the same gold answer.
        scores: Their scores, questions x lengths, NaN where there is none and repeats averaged; the score of the task
            is the mean of the means of the columns. One column where no question stands at two lengths.
    """

    names: tuple[str, ...]
    scores: NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A score that averages of a line are made of: of a task, or one that stands in for several.

    Attributes:
        score: The score.
        items: The questions that it is the mean of, where their scores are at hand.
        printed: Else the means that it is the mean of.
    """

    score: Estimate
    items: Items | None = None
    printed: tuple[Estimate, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it can be drawn: of a mean without its number of questions nobody knows how sure it is."""
        return self.items is not None or all(one.n is not None and 0 <= one.value <= 1 for one in self.printed)


Cell: TypeAlias = tuple[str, int]
"""A task, and a length in tokens; 0 for a score over all lengths of the task."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of a board: a model with one set of settings, from one origin.

    Attributes:
        model: Name of the model.
        variant: What tells its runs apart (``thinking``); "" if nothing.
        origin: Where the result comes from.
        cells: Scores by task and length; None for a cell that the source prints as missing. A task has cells at
            lengths, or one over all of them, or both.
        printed: Averages that the source prints and whose cells it does not: ``overall``, or the id of a category or
            of a group (``length/8192``, ``language/English``).
        extras: Other figures by name, such as LongScore; see ``Board.extras``.
        settings: How the model was asked, and versions; plain JSON without secrets.
        usage: What the replies took.
        items: Scores of the questions behind its cells, where they are at hand.
        outcomes: What became of all its replies, by ``fathom.stats.outcomes.OUTCOMES``; empty where unknown.
        blank: Tasks that were asked and have no score, because some length does not fit or too many replies are
            missing: no mean is taken without them.
    """

    model: str
    variant: str
    origin: Origin
    cells: Mapping[Cell, Estimate | None]
    printed: Mapping[str, Estimate] = field(default_factory=dict)
    extras: Mapping[str, Estimate] = field(default_factory=dict)
    settings: Mapping[str, Json] = field(default_factory=dict)
    usage: Usage = Usage()
    items: Mapping[Cell, Items] = field(default_factory=dict)
    outcomes: Mapping[str, int] = field(default_factory=dict)
    blank: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Standing:
    """The averages of one line of a board.

    Attributes:
        overall: Over what is there; None where nothing is.
        as_paper: The same with missing cells as 0, where the paper counts so (``Board.missing_is_zero``); else None.
        paper_categories: The categories of that score, by id; empty where there is none.
        categories: By id; None where the line has nothing in a category.
        lengths: Over all tasks that the view by length is about, by length in tokens; others are left out.
        missing: Tasks of the board without a score, or without one at some of the lengths that count.
        unfinished: Tasks with a score, of whose replies some are missing (``Ended.missing``).
        fewer: Tasks of which another line that was measured or submitted has more questions, at some length.
        tasks: Scores of tasks, by their ids.
        sources: What the overall score is the mean of, by name: tasks, and averages that the source prints.
        weights: What each of these weighs; they sum to 1.
    """

    overall: Estimate | None
    as_paper: float | None
    paper_categories: Mapping[str, float]
    categories: Mapping[str, Estimate | None]
    lengths: Mapping[int, Estimate]
    missing: tuple[str, ...]
    unfinished: tuple[str, ...] = ()
    fewer: tuple[str, ...] = ()
    tasks: Mapping[str, Source] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether no task, question or reply is missing, so that the overall score is of the whole board."""
        return not (self.missing or self.unfinished or self.fewer) and self.overall is not None


Published: TypeAlias = Mapping[str, Sequence[Entry]]
"""Published lines by the id of their board."""
Progress: TypeAlias = Callable[[int, int], None]
"""Told what is done and how much there is in all."""
