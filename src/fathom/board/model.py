"""Types of a leaderboard: entries and their scores; ``fathom.types.boards`` declares boards.

Scores are fractions in [0, 1].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.stats.intervals import Interval
from fathom.stats.intervals import Z as Z
from fathom.types import Json

Provenance: TypeAlias = Literal["published", "recomputed", "measured", "submitted"]
PROVENANCES: tuple[Provenance, ...] = ("published", "recomputed", "measured", "submitted")
Weights: TypeAlias = Literal["", "open", "closed"]
OF_PAPERS: tuple[Provenance, ...] = ("published", "recomputed")
"""Provenances of results that were not run by the maintainers or submitted to the site."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a result.

    Attributes:
        provenance: ``published`` in a paper, ``recomputed`` from scores of single questions that the authors of a paper
            released, ``measured`` by the maintainers of the site, ``submitted`` to it and checked.
        title: The paper, or the name of the run.
        table: Table of the paper; "" for runs.
        date: When it was published or measured, ``YYYY-MM-DD`` or ``YYYY-MM``; "" if unknown.
        url: Its address; "" for runs. Only ``https`` addresses become links.
        note: Caveats; "" if none.
        stale: What has changed in the benchmark since (``fathom.analysis.changes``); "" for nothing known.
        authors: Whether it is by the authors of the benchmark, who use its own scorer.
    """

    provenance: Provenance
    title: str
    table: str = ""
    date: str = ""
    url: str = ""
    note: str = ""
    stale: str = ""
    authors: bool = False


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What is stated about the model of an entry; nothing of it is derived from names.

    Attributes:
        weights: Whether its weights can be downloaded: ``open`` or ``closed``; "" if not stated.
        parameters: Number of all its parameters; None if not stated.
    """

    weights: Weights = ""
    parameters: int | None = None


@dataclass(frozen=True, slots=True)
class OutcomeCounts:
    """Outcomes of the replies of a score (``fathom.stats.outcomes``).

    Attributes:
        cut: Replies truncated at the output cap, which are scored as received.
        overflow: Replies whose prompt did not fit the window.
        missing: Failed requests, and replies without a judgement.
        scorer_error: Replies on which the scorer raised an exception.
    """

    replies: int = 0
    unanswered: int = 0
    cut: int = 0
    overflow: int = 0
    missing: int = 0
    scorer_error: int = 0

    def __add__(self, other: OutcomeCounts) -> OutcomeCounts:
        """Outcomes of two scores of different replies."""
        return OutcomeCounts(
            self.replies + other.replies,
            self.unanswered + other.unanswered,
            self.cut + other.cut,
            self.overflow + other.overflow,
            self.missing + other.missing,
            self.scorer_error + other.scorer_error,
        )

    @property
    def left_out(self) -> int:
        """Replies that means over answered replies leave out."""
        return self.unanswered + self.overflow + self.lost

    @property
    def lost(self) -> int:
        """Replies whose score is not known (``fathom.stats.outcomes.LOST``)."""
        return self.missing + self.scorer_error


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean score with its uncertainty.

    Attributes:
        value: The mean, in [0, 1]; LongScore and similar measures may lie outside.
        interval: Its 95% interval; None if unknown.
        n: Number of questions; None if unknown.
        bound: Whether the interval is the widest that ``n`` scores of this mean can have, because the scores
            themselves are not available.
        ended: Outcomes of its replies; None if unknown.
        other: The mean under the other choice of ``unanswered``; None without one, or without ``ended``.
    """

    value: float
    interval: Interval | None = None
    n: int | None = None
    bound: bool = False
    ended: OutcomeCounts | None = None
    other: float | None = None

    @property
    def error(self) -> float | None:
        """The standard error of a normal distribution with an interval of this width; None without an interval."""
        return None if self.interval is None else (self.interval.high - self.interval.low) / (2 * Z)


@dataclass(frozen=True, slots=True)
class Usage:
    """Mean usage per reply of one entry; None if unknown.

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
        scores: Their scores, questions x lengths, NaN without a score, repeats averaged; the score of the task is the
            mean of the means of the columns. One column if no question has two lengths.
        groups: Their clusters, which are resampled together (``fathom.stats.intervals``).
    """

    names: tuple[str, ...]
    scores: NDArray[np.float64]
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A score that averages of an entry use: of a task, or a published average of several.

    Attributes:
        score: The score.
        items: The questions that it is the mean of, if their scores are available.
        printed: Otherwise, the means that it is the mean of.
    """

    score: Estimate
    items: Items | None = None
    printed: tuple[Estimate, ...] = ()

    @property
    def is_known(self) -> bool:
        """Whether it can be resampled, which a mean without its number of questions cannot."""
        return self.items is not None or all(mean.n is not None and 0 <= mean.value <= 1 for mean in self.printed)


Cell: TypeAlias = tuple[str, int]
"""A task, and a length in tokens; 0 for a score over all lengths of the task."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a board: a model with one set of settings, from one origin.

    Attributes:
        model: Name of the model.
        variant: What distinguishes its runs (``thinking``); "" if nothing.
        origin: Origin of the result.
        cells: Scores by task and length; None for a cell that the source prints as missing. A task has cells at
            lengths, or one over all of them, or both.
        printed: Averages that the source prints without their cells: ``overall``, or the id of a category or
            of a group (``length/8192``, ``language/English``).
        extras: Other measures by name, such as LongScore; see ``Board.extras``.
        settings: How the model was asked, and versions; plain JSON without secrets.
        usage: Usage of the replies.
        items: Scores of the questions of its cells, if available.
        outcomes: Number of all its replies by ``fathom.stats.outcomes.OUTCOMES``; empty if unknown.
        partial: Tasks with a score over some of the lengths that count, because others were not asked.
        blank: Tasks without a score because prompts do not fit some length or too many replies are missing: no mean
            is taken without them.
        substituted: Tasks with samples made from other data than the benchmark's.
        facts: What is stated about the model.
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
    partial: tuple[str, ...] = ()
    blank: tuple[str, ...] = ()
    substituted: tuple[str, ...] = ()
    facts: ModelFacts = ModelFacts()


@dataclass(frozen=True, slots=True)
class Standing:
    """The averages of one entry of a board.

    Attributes:
        overall: Over all available scores; None without any.
        as_paper: The same with missing cells as 0, if the paper counts so (``Board.missing_is_zero``); else None.
        paper_categories: The categories of that score, by id; empty without it.
        categories: By id; None if the entry has no score in a category.
        lengths: Over all tasks of the view by length, by length in tokens; others are left out.
        missing: Tasks of the board without a score, or without one at some of the lengths that count: the overall score
            is then over what there is, and has no rank.
        unfinished: Tasks with a score and with replies whose score is not known (``OutcomeCounts.lost``).
        fewer: Tasks of which another measured or submitted entry has more questions, at some length.
        substituted: Tasks with samples made from other data than the benchmark's.
        tasks: Scores of tasks, by their ids.
        sources: Scores that the overall score is the mean of, by name: tasks, and published averages.
        weights: Their weights, which sum to 1.
    """

    overall: Estimate | None
    as_paper: float | None
    paper_categories: Mapping[str, float]
    categories: Mapping[str, Estimate | None]
    lengths: Mapping[int, Estimate]
    missing: tuple[str, ...]
    unfinished: tuple[str, ...] = ()
    fewer: tuple[str, ...] = ()
    substituted: tuple[str, ...] = ()
    tasks: Mapping[str, Source] = field(default_factory=dict)
    sources: Mapping[str, Source] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether no task, question or reply is missing or of other data, so that the score is of the whole board."""
        lacking = self.missing or self.unfinished or self.fewer or self.substituted
        return not lacking and self.overall is not None


Published: TypeAlias = Mapping[str, Sequence[Entry]]
"""Published entries by the id of their board."""
