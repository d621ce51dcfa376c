"""Histories of samples for tests of statistics."""

from __future__ import annotations

from fathom.studio.histories import AuditResult, Fault, History, Origin, Pair
from fathom.studio.types import Mark, State


def history(
    id: str = "s-1",
    key: tuple[str, str, int] = ("own", "en", 8192),
    *,
    state: State = "accepted",
    accepted: int = 0,
    edited: int = 0,
    origin: Origin | None = "together",
    seconds: float = 0.0,
    audit: AuditResult | None = None,
    pairs: tuple[Pair, ...] = (),
    workers: tuple[str, ...] = (),
) -> History:
    """A history with what matters for a test."""
    first = origin if accepted else None
    names = frozenset(workers)
    return History(id, *key, state, origin, (), accepted, first, edited, seconds, audit, pairs, names, names)


def audited(*faults: Fault, open: bool = False) -> AuditResult:
    """An audit that found these faults."""
    return AuditResult(open, faults)


def pair(*marks: tuple[Mark, Mark]) -> Pair:
    """Two reviews with these marks of each component."""
    verdicts = tuple("pass" if all(one[at] == "right" for one in marks) else "problem" for at in (0, 1))
    return Pair(marks, (verdicts[0], verdicts[1]))
