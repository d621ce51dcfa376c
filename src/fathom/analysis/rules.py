"""Both rules: scores of the same replies under fathom's own rule and under the released code, and what form costs.

The released code gives less for an answer in another form than its own: a list marker, a blank line, a marker written
otherwise. What a model loses by this is the score under ``strict`` less that under ``official``.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import polars as pl

from fathom.analysis.breakdown import OVERALL, check_dimensions, groups_of, place
from fathom.analysis.neighbours import shared_questions
from fathom.analysis.questions import ModelReplies, asked
from fathom.stats.differences import Resampler, paired
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Unanswered
from fathom.stats.ranks import with_adjusted

BY = (OVERALL, "language", "difficulty", "contextual_requirement", "length", "secondary_task")


class RowsOfRules(NamedTuple):
    """The same replies under both rules: two rows tables."""

    strict: pl.DataFrame
    official: pl.DataFrame


@dataclass(frozen=True, slots=True)
class RuleGap:
    """Scores of one model in one group of questions under both rules.

    Attributes:
        group: The value in common; ``all`` for ``overall``.
        strict: Score under fathom's own rule, in [0, 1].
        official: Score of the released code.
        lost: ``strict`` minus ``official``: what the released code takes for the form of answers.
        interval: 95% interval of ``lost``, paired over items.
        p_value: Two-sided p-value of ``lost``.
        p_adjusted: The p-value adjusted by Holm's method for all groups and models.
        wrong_form: Share of the scored replies whose form is wrong.
    """

    model: str
    variant: str
    dimension: str
    group: str
    strict: float
    official: float
    lost: float
    interval: Interval | None
    p_value: float | None
    wrong_form: float
    questions: int
    p_adjusted: float | None = None


def rule_gaps(
    rows: RowsOfRules, *, by: Sequence[str] = BY, unanswered: Unanswered = "zero", seed: int = 0
) -> list[RuleGap]:
    """Compares the scores of the same replies under both rules.

    Args:
        by: Dimensions, see ``fathom.analysis.breakdown``; those that no question has are left out.
        seed: Seed of the intervals.

    Returns:
        Gaps in the order in which the rows name models, then by dimension in the order of ``by``, and group; none of
        groups with a cell without a score.

    Raises:
        FathomError: A dimension is no possible name of a facet.
    """
    check_dimensions(by)
    others = {(model.model, model.variant): model for model in asked(rows.official, unanswered)}
    resampler = Resampler(seed)
    gaps = [
        gap
        for model in asked(rows.strict, unanswered)
        if (other := others.get((model.model, model.variant))) is not None
        for gap in _gaps(model, other, by, resampler)
    ]
    return with_adjusted(gaps)


def _gaps(strict: ModelReplies, official: ModelReplies, by: Sequence[str], resampler: Resampler) -> Iterator[RuleGap]:
    own, theirs = shared_questions(strict, official)
    about, scores = strict.about[own], np.stack([strict.means[own], official.means[theirs]], axis=1)
    replies = strict.ended.filter(pl.col("value").is_not_null())
    for dimension in by:
        groups, of_replies = groups_of(about, dimension), groups_of(replies, dimension)
        blank = {*groups_of(strict.blank, dimension), *groups_of(official.blank, dimension)}
        for group in sorted(set(groups.drop_nulls()) - blank, key=place):
            here = (groups == group).fill_null(False)
            pair = scores[here.to_numpy()]
            clusters = about.filter(here)["cluster"].to_list()
            gap = paired(pair[:, :1], pair[:, 1:], "questions", resampler, clusters).gap([0])
            wrong = ~replies.filter((of_replies == group).fill_null(False))["valid"].fill_null(True)
            means = pair.mean(axis=0)
            yield RuleGap(
                model=strict.model,
                variant=strict.variant,
                dimension=dimension,
                group=group,
                strict=float(means[0]),
                official=float(means[1]),
                lost=gap.difference,
                interval=gap.interval,
                p_value=gap.p_value,
                wrong_form=float(np.mean(wrong.to_numpy())) if len(wrong) else 0.0,
                questions=len(pair),
            )
