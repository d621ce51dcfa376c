"""Numbers of a studio: time and cost of samples, agreement of the two blind reviewers of an answer, and audits."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, TypeAlias, get_args

import numpy as np

from fathom.stats.agreement import Agreement, agreement
from fathom.stats.intervals import Interval, generator, mean_interval
from fathom.studio.histories import History, Pair, StateEffort
from fathom.studio.policies import POLICIES
from fathom.studio.quotas import Design, draw
from fathom.studio.types import MARKS, STATES, VERDICTS

By: TypeAlias = Literal["state", "sample", "task"]
HOUR = 3600.0


@dataclass(frozen=True, slots=True)
class Effort:
    """What samples cost.

    Attributes:
        group: A state, the id of a sample, or a task.
        samples: Samples that are in it now.
        actions: What people did there.
        hours: Their time, as measured by the pages.
        model_cost: Price of drafts and predictions in US dollars, as far as known.
        people_cost: Price of the time; 0 without a wage.
    """

    group: str
    samples: int
    actions: int
    hours: float
    model_cost: float
    people_cost: float

    @property
    def minutes_each(self) -> float | None:
        """Minutes of an action; None without actions."""
        return 60 * self.hours / self.actions if self.actions else None

    def as_record(self) -> dict[str, object]:
        """The effort for a table."""
        return {
            "group": self.group,
            "samples": self.samples,
            "actions": self.actions,
            "hours": round(self.hours, 3),
            "minutes_each": None if self.minutes_each is None else round(self.minutes_each, 2),
            "model_cost": round(self.model_cost, 4),
            "people_cost": round(self.people_cost, 2),
        }


def efforts(histories: Iterable[History], by: By = "state", hourly: float = 0.0) -> list[Effort]:
    """Time and cost by state, sample or task.

    Args:
        by: How to group: the time of an action counts for the state in which it was done.
        hourly: Price of an hour of people's time, in US dollars.
    """
    spent: defaultdict[str, list[StateEffort]] = defaultdict(list)
    now: Counter[str] = Counter()
    for history in histories:
        for part in history.spent:
            spent[_group(by, history, part.state)].append(part)
        now[_group(by, history, history.state)] += 1
    return [_effort(name, now[name], spent[name], hourly) for name in _order(by, {*spent, *now})]


def total(parts: Iterable[Effort]) -> Effort:
    """The sum of efforts."""
    all_ = list(parts)
    names = ("samples", "actions", "hours", "model_cost", "people_cost")
    return Effort("total", *(sum(getattr(part, name) for part in all_) for name in names))


def _effort(name: str, samples: int, spent: Iterable[StateEffort], hourly: float) -> Effort:
    parts = list(spent)
    hours = sum(part.seconds for part in parts) / HOUR
    actions, cost = sum(part.actions for part in parts), sum(part.cost for part in parts)
    return Effort(name, samples, actions, hours, cost, hours * hourly)


def _group(by: By, history: History, state: str) -> str:
    return {"state": state, "sample": history.id, "task": history.task}[by]


def _order(by: By, names: set[str]) -> Iterator[str]:
    if by == "state":
        yield from STATES
    else:
        yield from sorted(names)


def with_interval(name: str, value: float | None, interval: Interval | None) -> dict[str, object]:
    """A value and the ends of its interval for a table; None for what there is not."""
    ends = (None, None) if interval is None else (interval.low, interval.high)
    values = zip((name, f"{name}_low", f"{name}_high"), (value, *ends), strict=True)
    return {key: None if number is None or not math.isfinite(number) else round(number, 4) for key, number in values}


Judged: TypeAlias = Literal["review", "component"]


@dataclass(frozen=True, slots=True)
class ReviewerAgreement:
    """How far two reviewers agree.

    Attributes:
        judged: ``review`` for the verdicts (pass or problem), ``component`` for the marks (right, wrong, unsure).
        pairs: Pairs of verdicts or marks.
        differ: Share of answers whose reviews differ, in the verdict or in the mark of any component.
        kappa: Fleiss' kappa.
        alpha: Krippendorff's alpha.
    """

    judged: Judged
    pairs: int
    differ: float
    interval: Interval
    kappa: Agreement
    alpha: Agreement

    def as_record(self) -> dict[str, object]:
        """The agreement for a table."""
        return {
            "judged": self.judged,
            "pairs": self.pairs,
            **with_interval("differ", self.differ, self.interval),
            **with_interval("kappa", self.kappa.value, self.kappa.interval),
            **with_interval("alpha", self.alpha.value, self.alpha.interval),
        }


def pairs_of(histories: Iterable[History]) -> tuple[Pair, ...]:
    """The blind reviews of all samples."""
    return tuple(pair for history in histories for pair in history.pairs)


@lru_cache(maxsize=4)  # takes a second for thousands of reviews, and most actions add none
def agreements(pairs: tuple[Pair, ...], seed: int = 0) -> tuple[ReviewerAgreement, ...]:
    """Agreement of reviewers on verdicts and on components; answers are resampled with all their components.

    Returns:
        The agreement on reviews and on components; nothing without reviews.
    """
    verdicts = [(pair.verdicts,) for pair in pairs]
    marks = [pair.marks for pair in pairs if pair.marks]
    both = [_agreement_on("review", verdicts, VERDICTS, seed), _agreement_on("component", marks, MARKS, seed)]
    return tuple(review for review in both if review is not None)


def _agreement_on(
    judged: Judged, answers: Sequence[Sequence[tuple[str, str]]], names: Sequence[str], seed: int
) -> ReviewerAgreement | None:
    if not answers:
        return None
    table = np.array([[names.index(mark) for mark in pair] for pairs in answers for pair in pairs], dtype=np.float64)
    groups = np.repeat(np.arange(len(answers)), [len(pairs) for pairs in answers])
    differ = np.array([any(first != second for first, second in pairs) for pairs in answers], dtype=np.float64)
    rng = generator(seed, f"reviews {judged}")
    share, interval = mean_interval(differ, seed)
    kappa = agreement(table, rng, measure="kappa", groups=groups)
    return ReviewerAgreement(judged, len(table), share, interval, kappa, agreement(table, rng, groups=groups))


Aspect: TypeAlias = Literal["attributes", "answers", "both"]
ASPECTS: tuple[Aspect, ...] = get_args(Aspect)


@dataclass(frozen=True, slots=True)
class AuditShare:
    """How many audited samples are right.

    Attributes:
        aspect: What was looked at: attributes (task, requirement and the like), answers, or both.
        right: Samples in which it is right.
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
    rights: tuple[AuditShare, ...]

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
            {
                "aspect": right.aspect,
                "right": right.right,
                **with_interval("share", right.share, right.interval),
                **counts,
            }
            for right in self.rights
        ]


def audits(histories: Iterable[History], design: Design, studio: str) -> Audits:
    """The audit sample of a studio.

    An audit that finds a problem counts as the adjudicator decides: a sample is right if they accept it all the same.
    No sample is drawn whose policy, when it was accepted first, has nobody left who could audit it.

    Args:
        design: Says how many are audited.
        studio: Hash of the studio's first entry, so that nobody knows the draw from the seed alone.
    """
    all_ = list(histories)
    audited = [sample for sample in all_ if POLICIES[sample.accepted_by].audited]
    drawn = draw(audited, design.audit_one_in, f"{design.seed}|{studio}|audit")
    results = [sample.audit for sample in drawn if sample.audit is not None]
    decided = [result for result in results if not result.open]
    waiting = tuple(sample.id for sample in drawn if sample.audit is None and sample.state == "accepted")
    answers = np.array(["answer" not in decision.faults for decision in decided], dtype=np.float64)
    attributes = np.array(["attributes" not in decision.faults for decision in decided], dtype=np.float64)
    tables = dict(zip(ASPECTS, (attributes, answers, attributes * answers), strict=True))
    rights = [
        AuditShare(aspect, int(table.sum()), *mean_interval(table, design.seed))
        for aspect, table in tables.items()
        if len(table)
    ]
    lost = len(drawn) - len(results) - len(waiting)
    beside = sum(history.audit is not None for history in all_) - len(results)
    return Audits(waiting, len(results) - len(decided), len(decided), lost, beside, tuple(rights))
