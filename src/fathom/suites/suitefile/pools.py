"""How much of the candidate pool contexts use: with k of n random fillers in each, two of them share k / n of these.

Where that is most of the pool, scores of different items depend on the same texts, and intervals, which treat items as
independent, may be too narrow. A build records these lengths in its manifest; builds and reports say so.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from typing_extensions import TypedDict

from fathom.plugins.names import first_of, listed
from fathom.storage.schema import MismatchError, read_as
from fathom.tokens.length import format_length
from fathom.types import Json, Part, Span

MOST = 1 / 2  # share of the pool above which a length is recorded
SHOWN = 3  # tasks named


class PoolRecord(TypedDict):
    """A length whose contexts use more than half of the pool: the means of fillers used, and of those there."""

    task: str
    language: str
    length: int
    used: float
    pool: float


@dataclass
class PoolUse:
    """Counts the fillers in the contexts of one task in one language.

    Attributes:
        language: Language of its documents.
        counts: For each length the sum of the numbers of different fillers in a context, that of the fillers from which
            these were drawn, and the number of contexts.
    """

    task: str
    language: str
    counts: dict[int, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, length: int, parts: Sequence[Part], fillers: Sequence[Span]) -> None:
        """Count a context.

        Args:
            length: Its length in tokens.
            fillers: The texts from which its fillers were drawn; none overlaps another one.
        """
        in_use = {part.doc for part in parts if isinstance(part, Span)}
        starts: dict[str, list[int]] = {}
        for span in fillers:
            if span.doc in in_use:
                starts.setdefault(span.doc, []).append(span.start)
        for places in starts.values():
            places.sort()
        spans = [part for part in parts if isinstance(part, Span) and part.doc in starts]
        used = len({(span.doc, bisect_right(starts[span.doc], span.start)) for span in spans})
        before = self.counts.get(length, (0, 0, 0))
        self.counts[length] = before[0] + used, before[1] + len(fillers), before[2] + 1

    def records(self) -> list[Json]:
        """The lengths whose contexts use more than half of the pool: the means of fillers used, and of those there."""
        return [
            {
                "task": self.task,
                "language": self.language,
                "length": length,
                "used": round(used / contexts, 1),
                "pool": round(available / contexts, 1),
            }
            for length, (used, available, contexts) in sorted(self.counts.items())
            if used > MOST * available
        ]


def shared_contexts(pools: Iterable[Any]) -> list[str]:
    """Sentences about lengths whose contexts use more than half of a pool, one for lengths of the same tasks.

    Args:
        pools: ``pools`` of a manifest (``PoolUse.records``); what is no such record is left out, and so is a pool of
            one text, which contexts repeat by design.
    """
    records: dict[int, list[PoolRecord]] = {}
    for pool in pools:
        with suppress(MismatchError):
            record = read_as(PoolRecord, pool)
            if record["pool"] > 1:
                records.setdefault(record["length"], []).append(record)
    lengths: dict[tuple[str, ...], list[int]] = {}
    for length, same in sorted(records.items()):
        lengths.setdefault(tuple(dict.fromkeys(record["task"] for record in same)), []).append(length)
    sentences = []
    for tasks, alike in lengths.items():
        every = [record for length in alike for record in records[length]]
        most = max(every, key=lambda record: record["used"] / (record["pool"] or 1))
        where, which = listed(list(map(format_length, alike))), first_of(list(tasks), SHOWN)
        sentences.append(
            f"at {where}, contexts of {which} use more than half of the texts to fill them with, up to "
            f"{most['used']:,g} of {most['pool']:,g} ({most['task']}): different items share most of their context, "
            "but intervals treat items as independent"
        )
    return sentences
