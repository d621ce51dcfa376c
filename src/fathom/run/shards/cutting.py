"""Cuts the samples of a run into shards: the same for everyone who has the same suite and number of shards."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from hashlib import sha256

from fathom.types import FathomError, Sample

MOST = 100_000
"""Shards; each is at least one file."""


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """One of the shards of a run.

    Attributes:
        number: From 1.
        of: Number of shards.
    """

    number: int
    of: int

    @property
    def name(self) -> str:
        """Name of its files: ``shard-03-of-64``. Names sort by number."""
        return f"shard-{self.number:0{len(str(self.of))}d}-of-{self.of}"


@dataclass(frozen=True)
class Cut:
    """Samples cut into shards.

    Attributes:
        of: Number of shards.
        numbers: Number of the shard of each item.
        samples: Number of samples in each shard, by its number; none where it is empty.
        digest: SHA-256 of the ids of all samples, in order, and of their lengths.
    """

    of: int
    numbers: Mapping[str, int]
    samples: Mapping[int, int]
    digest: str


def parse_shard(text: str) -> Shard:
    """Parse ``3/64``, the third of 64 shards.

    Raises:
        FathomError: Not a shard.
    """
    number, slash, of = text.partition("/")
    if not slash or not (number.isascii() and number.isdigit() and of.isascii() and of.isdigit()):
        raise FathomError("expected NUMBER/SHARDS, for instance 3/64")
    shard = Shard(int(number), int(of))
    if not 1 <= shard.of <= MOST:
        raise FathomError(f"expected 1 to {MOST:,} shards")
    if not 1 <= shard.number <= shard.of:
        raise FathomError(f"shards are numbered from 1: expected 1/{shard.of} to {shard.of}/{shard.of}")
    return shard


def shards(of: int) -> list[Shard]:
    """All shards, by number."""
    return [Shard(number, of) for number in range(1, of + 1)]


def cut(samples: Iterable[Sample], of: int) -> Cut:
    """Cut samples into shards with about the same number of prompt tokens.

    Samples of one item share a context, so an item is never divided: a server with a prefix cache computes the context
    once. Items keep the order of the suite, because neighbours may share a part of their prefix too. An item belongs to
    the shard in which its middle token falls, so no shard differs from the mean by more than its largest item.

    Args:
        samples: In the order of the suite; recipes are not needed.
        of: Number of shards; some are empty if there are fewer items.
    """
    digest = sha256()
    weights: dict[str, int] = {}
    members: dict[str, int] = {}
    for sample in samples:
        digest.update(f"{sample.id}\t{sample.length}\n".encode("utf-8", "surrogatepass"))
        weights[sample.item] = weights.get(sample.item, 0) + max(1, sample.tokens)
        members[sample.item] = members.get(sample.item, 0) + 1
    total, before = sum(weights.values()), 0
    numbers: dict[str, int] = {}
    sizes: dict[int, int] = {}
    for item, weight in weights.items():
        numbers[item] = number = (2 * before + weight) * of // (2 * total) + 1
        sizes[number] = sizes.get(number, 0) + members[item]
        before += weight
    return Cut(of, numbers, sizes, digest.hexdigest())
