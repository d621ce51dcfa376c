"""What share of the prompts a prefix cache will have, for an order of requests and a number of connections.

Prompts are leaves of a tree whose nodes are stretches of text that some of them begin with, so that a simulation costs
a few steps for each prompt, however long it is.
"""

from bisect import bisect_left
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from fathom.run.queue import AHEAD, Queue, Queued, prefix_key
from fathom.tokens.length import question_part
from fathom.types import Part, Sample, Span

SECONDS = 10.0
"""How long a request takes where nothing else is known; it matters only for caches that forget."""


@dataclass(frozen=True, slots=True)
class Cache:
    """A prefix cache.

    Attributes:
        tokens: How many tokens it holds; None for as many as come. The least recently used are dropped first.
        block: Tokens of a block; only whole blocks are kept.
        least: Tokens of a prefix below which nothing is read.
        marked: Whether only what requests mark is kept, which is what prompts of one context share; it is read whole.
        seconds: How long what is not read is kept; None for ever.
        at_once: Whether a prompt can be read while its request is not answered yet, as on servers that compute one
            prompt after the other.
        slots: Number of slots that hold one prompt each, as llama.cpp has them, instead of blocks; 0 for blocks. They
            are simulated for one connection: which slot is free first depends on how the server makes its batches.
    """

    tokens: int | None = None
    block: int = 1
    least: int = 0
    marked: bool = False
    seconds: float | None = None
    at_once: bool = False
    slots: int = 0


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt.

    Attributes:
        leaf: Its leaf in ``Prefixes``.
        context: Its tokens up to the question.
        key: What tells its context apart.
        cap: Output cap of the reply in tokens.
    """

    leaf: int
    tokens: int
    context: int
    key: str
    cap: int = 0


class Prefixes:
    """The tree of all prompts. Node 0 is the empty prefix.

    Attributes:
        parents: The parent of each node.
        ends: Tokens from the beginning of a prompt to the end of each node.
    """

    def __init__(self) -> None:
        self.parents, self.ends = [0], [0]
        self._last = 0

    def add(self, tokens: int, shared: int) -> int:
        """Add a prompt.

        Args:
            tokens: Its tokens.
            shared: How many of them the last prompt begins with too; prompts with common prefixes are to be adjacent.

        Returns:
            Its leaf.
        """
        here = self._last
        while here and self.ends[self.parents[here]] >= shared:
            here = self.parents[here]
        if here and self.ends[here] > shared:
            # The node is divided: its beginning becomes a node of its own.
            beginning = self._new(self.parents[here], shared)
            self.parents[here], here = beginning, beginning
        if self.ends[here] < tokens:
            here = self._new(here, tokens)
        self._last = here
        return here

    def path(self, leaf: int) -> list[int]:
        """The nodes from the beginning of a prompt to its leaf."""
        nodes = []
        while leaf:
            nodes.append(leaf)
            leaf = self.parents[leaf]
        return nodes[::-1]

    def common(self, node: int, other: int) -> int:
        """Tokens that two prompts begin with."""
        while node != other:
            if self.ends[node] >= self.ends[other]:
                node = self.parents[node]
            else:
                other = self.parents[other]
        return self.ends[node]

    def _new(self, parent: int, end: int) -> int:
        self.parents.append(parent)
        self.ends.append(end)
        return len(self.parents) - 1


def prompts_of(samples: Iterable[tuple[Sample, int]], prefixes: Prefixes) -> Iterator[Prompt]:
    """The prompts of samples, with their common prefixes.

    Where two prompts part is known in characters; tokens are counted in proportion.

    Args:
        samples: Samples with their recipes, in the order of the suite, and the output cap of each.
        prefixes: Gets the prompts.
    """
    before: tuple[Part, ...] = ()
    for sample, cap in samples:
        characters = max(1, sum(map(_size, sample.parts)))
        rate = sample.tokens / characters
        leaf = prefixes.add(sample.tokens, min(sample.tokens, round(_common(before, sample.parts) * rate)))
        context = round((characters - len(question_part(sample))) * rate)
        before = sample.parts
        yield Prompt(leaf, sample.tokens, context, prefix_key(sample), cap)


def simulate(
    prompts: Sequence[Prompt],
    prefixes: Prefixes,
    cache: Cache,
    *,
    connections: int = 1,
    wait: bool = True,
    seconds: float = SECONDS,
) -> list[tuple[int, int]]:
    """The tokens that each prompt has read from a cache and written to it for a price.

    Args:
        prompts: In the order in which they are sent.
        prefixes: Their tree.
        cache: The cache, which is empty at the start.
        connections: Requests in flight at once; each takes the same time.
        wait: Whether prompts wait until the first one of their prefix has been answered, as in ``fathom run``.
        seconds: How long a request takes.

    Returns:
        Tokens read and tokens written of each prompt; written are 0 for caches without marks.
    """
    reads = [(0, 0)] * len(prompts)
    holding: _CacheState = (
        _Marked(cache) if cache.marked else _Slots(cache, prefixes) if cache.slots else _Blocks(cache, prefixes)
    )
    queue = Queue(range(len(prompts)), lambda place: prompts[place].key, AHEAD * connections if wait else 0)
    running: deque[tuple[float, Queued[int]]] = deque()
    now, coming = 0.0, queue.take()
    while coming or running:
        while coming and len(running) < connections and holding.fits(prompts[coming.job], alone=not running):
            reads[coming.job] = holding.begin(prompts[coming.job], coming.shared, now)
            running.append((now + seconds, coming))
            coming = queue.take()
        now = running[0][0]
        while running and running[0][0] <= now:
            ended = running.popleft()[1]
            holding.end(prompts[ended.job], now)
            queue.done(ended)
        coming = coming or queue.take()
    return reads


def share(prompts: Sequence[Prompt], reads: Sequence[tuple[int, int]]) -> float:
    """The share of all prompt tokens that were read from the cache."""
    return sum(read for read, _ in reads) / max(1, sum(prompt.tokens for prompt in prompts))


class _CacheState(Protocol):
    """What a cache holds while requests come and go."""

    def fits(self, prompt: Prompt, *, alone: bool) -> bool:
        """Whether there is room for a prompt now."""
        ...

    def begin(self, prompt: Prompt, shared: bool, now: float) -> tuple[int, int]:
        """A request begins: tokens read and written."""
        ...

    def end(self, prompt: Prompt, now: float) -> None:
        """It has been answered."""
        ...


class _Marked:
    """A cache of what requests mark."""

    def __init__(self, cache: Cache) -> None:
        self._cache = cache
        self._kept: dict[str, float] = {}  # when each prefix was last read or written
        self._written: dict[str, int] = {}  # requests that write each prefix now

    def fits(self, prompt: Prompt, *, alone: bool) -> bool:
        return True

    def begin(self, prompt: Prompt, shared: bool, now: float) -> tuple[int, int]:
        if not shared or prompt.context < self._cache.least:
            return 0, 0
        last, most = self._kept.get(prompt.key), self._cache.seconds
        if last is not None and (most is None or now - last <= most):
            self._kept[prompt.key] = now
            return prompt.context, 0
        self._written[prompt.key] = self._written.get(prompt.key, 0) + 1
        return 0, prompt.context

    def end(self, prompt: Prompt, now: float) -> None:
        if self._written.pop(prompt.key, 0):
            self._kept[prompt.key] = now


class _Slots:
    """llama.cpp: a request gets the free slot whose prompt is most like its own, or the one that waited longest."""

    LIKE = 0.1  # --slot-prompt-similarity

    def __init__(self, cache: Cache, prefixes: Prefixes) -> None:
        self._prefixes = prefixes
        self._free: list[int] = [0] * cache.slots  # their prompts, the longest unused first

    def fits(self, prompt: Prompt, *, alone: bool) -> bool:
        return bool(self._free)

    def begin(self, prompt: Prompt, shared: bool, now: float) -> tuple[int, int]:
        likes = [self._prefixes.common(leaf, prompt.leaf) for leaf in self._free]
        best = max(range(len(likes)), key=likes.__getitem__)
        place = best if likes[best] > self.LIKE * prompt.tokens else 0
        self._free.pop(place)
        return min(likes[place], prompt.tokens - 1), 0

    def end(self, prompt: Prompt, now: float) -> None:
        self._free.append(prompt.leaf)


class _Blocks:
    """Blocks of tokens; those of running requests stay, of the others the least recently used go first."""

    def __init__(self, cache: Cache, prefixes: Prefixes) -> None:
        self._cache, self._prefixes = cache, prefixes
        self._room = None if cache.tokens is None else cache.tokens // cache.block
        self._used = 0
        self._kept: dict[int, int] = {}  # blocks of each node, from its beginning
        self._last: dict[int, float] = {}  # when it was last used
        self._users: dict[int, int] = {}  # running requests that use it
        self._idle: OrderedDict[int, None] = OrderedDict()  # without users, the least recently used first
        self._droppable = 0  # their blocks
        self._needed: deque[int] = deque()  # blocks that running requests compute, and others cannot read yet

    def fits(self, prompt: Prompt, *, alone: bool) -> bool:
        if self._room is None or alone:
            return True
        path = self._prefixes.path(prompt.leaf)
        own = sum(self._kept.get(node, 0) for node in path if node in self._idle)
        return self._missing(path) <= self._room - self._used + self._droppable - own

    def begin(self, prompt: Prompt, shared: bool, now: float) -> tuple[int, int]:
        path = self._prefixes.path(prompt.leaf)
        blocks, whole = 0, True
        for node in path:
            self._forget(node, now)
            kept = self._kept.get(node, 0)
            blocks += kept if whole else 0
            whole = whole and kept == self._size(node)
            self._users[node] = self._users.get(node, 0) + 1
            self._use(node)
        needed = self._missing(path)
        self._used += needed
        self._drop()
        self._needed.append(needed - (self._keep(path, now) if self._cache.at_once else 0))
        read = blocks * self._cache.block
        read -= self._cache.block if read >= prompt.tokens else 0  # the last token is always computed
        return (read if read >= self._cache.least else 0), 0

    def end(self, prompt: Prompt, now: float) -> None:
        path = self._prefixes.path(prompt.leaf)
        # Requests end in the order in which they began. What several computed at once is kept once.
        self._used += self._keep(path, now) - self._needed.popleft()
        for node in reversed(path):
            self._users[node] -= 1
            if not self._users[node]:
                del self._users[node]
                self._idle[node] = None
                self._droppable += self._kept[node]
        self._drop()

    def _size(self, node: int) -> int:
        """Blocks that end in a node."""
        ends, block = self._prefixes.ends, self._cache.block
        return ends[node] // block - ends[self._prefixes.parents[node]] // block

    def _missing(self, path: Sequence[int]) -> int:
        return sum(self._size(node) - self._kept.get(node, 0) for node in path)

    def _keep(self, path: Sequence[int], now: float) -> int:
        """Keep all blocks of a prompt; the number of those that were not kept before."""
        added = self._missing(path)
        for node in path:
            self._kept[node] = self._size(node)
            self._last[node] = now
        return added

    def _use(self, node: int) -> None:
        if node in self._idle:
            del self._idle[node]
            self._droppable -= self._kept[node]

    def _forget(self, node: int, now: float) -> None:
        most = self._cache.seconds
        if most is not None and node in self._idle and now - self._last[node] > most:
            self._use(node)
            self._used -= self._kept.pop(node)

    def _drop(self) -> None:
        """Drop what was not used for the longest time, the end of a prompt before its beginning, until all fits."""
        while self._room is not None and self._used > self._room and self._idle:
            node = next(iter(self._idle))
            gone = min(self._used - self._room, self._kept[node])
            self._kept[node] -= gone
            self._used -= gone
            self._droppable -= gone
            if not self._kept[node]:
                del self._kept[node], self._idle[node]


def _size(part: Part) -> int:
    return len(part) if isinstance(part, str) else part.end - part.start


def _common(first: Sequence[Part], second: Sequence[Part]) -> int:
    """Characters that two recipes begin with."""
    characters = 0
    for part, other in zip(first, second, strict=False):
        if part == other:
            characters += _size(part)
            continue
        if isinstance(part, str) and isinstance(other, str):
            characters += _same(part, other)
        elif isinstance(part, Span) and isinstance(other, Span) and (part.doc, part.start) == (other.doc, other.start):
            characters += min(_size(part), _size(other))
        break
    return characters


def _same(first: str, second: str) -> int:
    """Characters that two texts begin with."""
    return bisect_left(range(min(len(first), len(second))), True, key=lambda at: first[: at + 1] != second[: at + 1])
