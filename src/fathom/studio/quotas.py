"""The balanced design: which samples are missing; and audits drawn by design."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TypeAlias

from fathom.benchmarks.pro.secondary_tasks import LANGUAGES, LENGTHS, SECONDARY
from fathom.studio.types import Sample, State
from fathom.types import FathomError

CellKey: TypeAlias = tuple[str, str, int]
"""Task, language, length bucket in tokens."""
EACH = 5
DONE: frozenset[State] = frozenset({"accepted", "audited"})
LEFT: frozenset[State] = frozenset({"rejected"})


@dataclass(frozen=True, slots=True)
class Design:
    """How many samples are wanted of each task, language and length.

    Attributes:
        tasks: Names of tasks.
        languages: Languages.
        buckets: Length buckets in tokens.
        each: Samples of every combination.
    """

    tasks: tuple[str, ...] = tuple(one.name for one in SECONDARY)
    languages: tuple[str, ...] = tuple(LANGUAGES.values())
    buckets: tuple[int, ...] = tuple(LENGTHS.values())
    each: int = EACH

    @property
    def total(self) -> int:
        """All samples that are wanted: 1,500 in the paper's design."""
        return len(self.tasks) * len(self.languages) * len(self.buckets) * self.each

    def cells(self) -> list[CellKey]:
        """All combinations, in order."""
        return [
            (task, language, bucket) for task in self.tasks for language in self.languages for bucket in self.buckets
        ]


@dataclass(frozen=True, slots=True)
class Cell:
    """One combination of a design, or one beyond it.

    Attributes:
        task: Name of the task.
        language: Language.
        bucket: Length bucket in tokens.
        wanted: Samples wanted; 0 for a combination that is not in the design.
        accepted: Samples accepted or audited.
        under_way: Samples that are neither accepted nor rejected.
    """

    task: str
    language: str
    bucket: int
    wanted: int
    accepted: int
    under_way: int

    @property
    def missing(self) -> int:
        """Samples still to be accepted."""
        return max(0, self.wanted - self.accepted)

    @property
    def to_begin(self) -> int:
        """Samples still to be begun if all those under way are accepted."""
        return max(0, self.missing - self.under_way)


def progress(design: Design, samples: Iterable[Sample]) -> tuple[Cell, ...]:
    """What there is of every combination: those of the design in its order, then others.

    Args:
        design: What is wanted.
        samples: All samples, in any state.
    """
    accepted: Counter[CellKey] = Counter()
    under_way: Counter[CellKey] = Counter()
    for sample in samples:
        if sample.state not in LEFT:
            (accepted if sample.state in DONE else under_way)[cell_of(sample)] += 1
    wanted = design.cells()
    others = sorted({*accepted, *under_way} - {*wanted})
    return tuple(
        Cell(*key, design.each if place < len(wanted) else 0, accepted[key], under_way[key])
        for place, key in enumerate((*wanted, *others))
    )


def cell_of(sample: Sample) -> CellKey:
    """The combination that a sample belongs to."""
    return sample.task, sample.language, sample.bucket


def audit_sample(
    samples: Iterable[Sample], size: int, *, seed: int = 0, audited: Collection[str] = ()
) -> tuple[Sample, ...]:
    """Accepted samples to audit, spread over tasks, languages and lengths as evenly as they allow.

    They are drawn one after the other: always one of those whose combination, then whose task, language and length have
    been drawn least so far, and among equals by a hash of seed and id. So samples are the same for any order of the
    input, a larger audit contains the smaller one, and an audit can begin with the first accepted samples and continue.

    Args:
        samples: All samples; only accepted and audited ones are drawn.
        size: Samples to audit in all, including those audited before.
        seed: Seed of the draw.
        audited: Ids of samples audited before, which count but are not drawn again.

    Returns:
        The samples to audit now, in the order of the draw; fewer than asked for if there are not enough.

    Raises:
        FathomError: The size is not positive.
    """
    if size < 1:
        raise FathomError(f"an audit of {size} samples: expected at least 1")
    done = {*audited}
    there = [sample for sample in samples if sample.state in DONE]
    before = [sample for sample in there if sample.id in done or sample.state == "audited"]
    done.update(sample.id for sample in before)
    waiting = {sample.id: sample for sample in there if sample.id not in done}
    drawn: list[Sample] = []
    counts: Counter[tuple[str, object]] = Counter()
    for sample in before:
        counts.update(_margins(sample))
    rank = _ranks(waiting, seed)
    while waiting and len(drawn) + len(before) < size:
        best = min(waiting.values(), key=lambda one: (*(counts[margin] for margin in _margins(one)), rank[one.id]))
        counts.update(_margins(best))
        drawn.append(waiting.pop(best.id))
    return tuple(drawn)


def _margins(sample: Sample) -> tuple[tuple[str, object], ...]:
    return (
        ("cell", cell_of(sample)),
        ("task", sample.task),
        ("language", sample.language),
        ("bucket", sample.bucket),
    )


def _ranks(ids: Iterable[str], seed: int) -> dict[str, bytes]:
    return {id: blake2b(f"{seed}|{id}".encode("utf-8", "surrogatepass"), digest_size=16).digest() for id in ids}
