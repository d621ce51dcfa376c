"""Audits of accepted samples: which are drawn, and how many are right (LongBench Pro, section 4)."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

import numpy as np

from fathom.stats.intervals import Interval, mean_interval
from fathom.studio.histories import History
from fathom.studio.quotas import Design, draw
from fathom.studio.statistics import with_interval

Aspect: TypeAlias = Literal["attributes", "answers", "both"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)


@dataclass(frozen=True, slots=True)
class Right:
    """How many audited samples are right.

    Attributes:
        aspect: What was looked at: attributes (task, requirement and the like), answers, or both.
        right: Samples in which it is right.
        share: Their share.
        interval: Its interval.
    """

    aspect: Aspect
    right: int
    share: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Audits:
    """The audit sample.

    Attributes:
        waiting: Ids of samples to audit, the longest accepted first.
        open: Samples whose audit found a problem on which nobody has decided yet.
        decided: Samples whose audit is decided.
        lost: Samples that were rejected, or are being reconstructed, without an audit.
        beside: Samples that were audited without being drawn; they are in no share.
        rights: Shares of the decided ones that are right; none before the first.
    """

    waiting: tuple[str, ...]
    open: int
    decided: int
    lost: int
    beside: int
    rights: tuple[Right, ...]

    @property
    def drawn(self) -> int:
        """All samples that were drawn."""
        return len(self.waiting) + self.open + self.decided + self.lost

    def as_records(self) -> list[dict[str, object]]:
        """The shares for a table."""
        names = ("drawn", "decided", "open", "lost", "beside")
        counts: dict[str, object] = {name: getattr(self, name) for name in names} | {"waiting": len(self.waiting)}
        if not self.rights:
            return [{"aspect": None, "right": None, **with_interval("share", None, None), **counts}]
        return [
            {"aspect": one.aspect, "right": one.right, **with_interval("share", one.share, one.interval), **counts}
            for one in self.rights
        ]


def audits(histories: Iterable[History], design: Design, studio: str) -> Audits:
    """The audit sample of a studio.

    An audit that finds a problem counts as the adjudicator decides: a sample is right if they accept it all the same.

    Args:
        histories: All samples.
        design: Says how many are audited.
        studio: Hash of the studio's first entry, so that nobody knows the draw from the seed alone.
    """
    all_ = list(histories)
    drawn = draw(all_, design.audit_one_in, f"{design.seed}|{studio}|audit")
    found = [one.audit for one in drawn if one.audit is not None]
    decided = [one for one in found if not one.open]
    waiting = tuple(one.id for one in drawn if one.audit is None and one.state == "accepted")
    answers = np.array(["answer" not in one.faults for one in decided], dtype=np.float64)
    attributes = np.array(["attributes" not in one.faults for one in decided], dtype=np.float64)
    tables = dict(zip(ASPECTS, (attributes, answers, attributes * answers), strict=True))
    rights = [
        Right(aspect, int(table.sum()), *mean_interval(table, design.seed))
        for aspect, table in tables.items()
        if len(table)
    ]
    lost = len(drawn) - len(found) - len(waiting)
    beside = sum(one.audit is not None for one in all_) - len(found)
    return Audits(waiting, len(found) - len(decided), len(decided), lost, beside, tuple(rights))
