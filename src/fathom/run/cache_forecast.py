"""What a prefix cache will save: of a run before it starts, and of a suite for orders, connections and caches."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import tee
from random import Random
from typing import Literal, TypeAlias

from fathom.models.prices import Limit, Price, total_cost
from fathom.models.protocol import Settings
from fathom.run.order import even_order
from fathom.run.prefix_cache import SECONDS, Cache, Prefixes, Prompt, prompts_of, share, simulate
from fathom.types import Sample

Order: TypeAlias = Literal["run", "random"]
BLOCK = 16
"""Tokens of a block of vLLM and SGLang."""
PROVIDER_TTL_SECONDS = 300.0
"""Seconds after which providers evict an unused prefix; some keep it longer."""


@dataclass(frozen=True, slots=True)
class Cached:
    """What the cache of a provider is expected to save.

    Attributes:
        share: The share of the prompt tokens that are read from it.
        cost_least: US dollars if replies are empty; None if the price is unknown.
        cost_most: US dollars if every reply reaches its cap.
        risk: US dollars that writing may cost beyond the price of the prompts, if nothing of it is read.
        at_most: Whether requests are sent in an order that the provider chooses, so that it can be less.
    """

    share: float
    cost_least: float | None
    cost_most: float | None
    risk: float = 0.0
    at_most: bool = False

    def __str__(self) -> str:
        """One line."""
        words = "at most" if self.at_most else "about"
        cost = "" if self.cost_most is None else f": ${self.cost_least:,.2f} to ${self.cost_most:,.2f} with it"
        return f"the provider's prompt cache has {words} {self.share:.0%} of the prompt tokens{cost}"


def provider_cache(settings: Settings, price: Price) -> Cache | None:
    """The cache of a model's provider; None for models without one that fathom knows."""
    provider = settings.model.partition("/")[0]
    if settings.base_url is not None or price.caches is None:
        return None
    block = 128 if provider == "openai" else 1
    return Cache(block=block, least=price.caches, marked=provider == "anthropic", seconds=PROVIDER_TTL_SECONDS)


def untruncated_samples(
    pending: Iterable[tuple[Sample, int]], limit: Limit, caps: Callable[[str], int]
) -> Iterable[tuple[Sample, int]]:
    """The samples that are sent whole, each as often as it is asked, with their output caps.

    Args:
        pending: Samples with their recipes, and how often each is to be asked.
        limit: The window.
        caps: Output cap by task name.
    """
    for sample, epochs in pending:
        cap = caps(sample.task)
        budget = limit.budget(cap)
        if budget is None or sample.tokens <= budget:
            for _ in range(epochs):
                yield sample, cap


def forecast_cache(
    samples: Iterable[tuple[Sample, int]], cache: Cache, price: Price, *, connections: int, batch: bool = False
) -> Cached:
    """What the cache of a provider is expected to save.

    Args:
        samples: Samples in the order of the suite, with their output caps (``untruncated_samples``).
        price: The model's prices.
        connections: Requests in flight at once.
        batch: Whether they are sent in batches.
    """
    prefixes = Prefixes()
    prompts = _in_order(samples, prefixes)
    return _cached(prompts, simulate(prompts, prefixes, cache, connections=connections), price, batch)


def _in_order(samples: Iterable[tuple[Sample, int]], prefixes: Prefixes) -> list[Prompt]:
    """The prompts of samples, which are in the order of the suite, in the order in which a run sends them."""
    prompts: list[Prompt] = []
    ours, theirs = tee(samples)

    def seen() -> Iterator[Sample]:
        for (sample, _), prompt in zip(ours, prompts_of(theirs, prefixes), strict=False):
            prompts.append(prompt)
            yield sample

    return [prompts[place] for place in even_order(seen())]


def _cached(prompts: Sequence[Prompt], reads: Sequence[tuple[int, int]], price: Price, batch: bool) -> Cached:
    both = list(zip(prompts, reads, strict=True))
    least = total_cost(price.cost(prompt.tokens, 0, read, tokens_written=written) for prompt, (read, written) in both)
    most = total_cost(
        price.cost(prompt.tokens, prompt.cap, read, tokens_written=written) for prompt, (read, written) in both
    )
    touched = [(prompt.tokens, max(pair)) for prompt, pair in both] if price.write is not None else []
    risks = (
        (price.cost(tokens, 0, tokens_written=marked) or 0.0) - (price.cost(tokens, 0) or 0.0)
        for tokens, marked in touched
    )
    return Cached(share(prompts, reads), least, most, sum(risks), batch)


@dataclass(frozen=True, slots=True)
class CacheRow:
    """One row of a table: an order of requests, a number of connections and a cache.

    Attributes:
        order: ``run``, that in which a run asks (``even_order``), where common prefixes meet, or ``random``.
        connections: Requests in flight at once.
        cache: Tokens that the cache holds; None for that of a provider.
        batch: Whether the requests are sent in batches.
        read: The share of the prompt tokens that are read from the cache.
        written: The share that is written to it for a price.
        cost_least: US dollars if replies are empty; None if the price is unknown.
        cost_most: US dollars if every reply reaches its cap.
    """

    order: Order
    connections: int
    cache: int | None
    batch: bool
    read: float
    written: float
    cost_least: float | None
    cost_most: float | None


def cache_table(
    samples: Iterable[tuple[Sample, int]],
    caches: Sequence[Cache],
    connections: Sequence[int],
    prices: Sequence[tuple[bool, Price]],
    seconds: float = SECONDS,
) -> list[CacheRow]:
    """What caches have of a suite, for both orders.

    Args:
        samples: Samples in the order of the suite, with their output caps.
        connections: Numbers of requests in flight at once.
        prices: Whether requests are sent in batches, and the prices of that.
        seconds: How long a request takes.
    """
    prefixes = Prefixes()
    prompts = _in_order(samples, prefixes)
    mixed = list(prompts)
    Random(0).shuffle(mixed)
    orders: tuple[tuple[Order, list[Prompt]], ...] = (("random", mixed), ("run", prompts))
    total, rows = max(1, sum(prompt.tokens for prompt in prompts)), list[CacheRow]()
    for cache in caches:
        for name, ordered in orders:
            for count in connections:
                reads = simulate(ordered, prefixes, cache, connections=count, wait=not cache.at_once, seconds=seconds)
                read, written = (sum(pair[place] for pair in reads) / total for place in (0, 1))
                for batch, price in prices:
                    cost = _cached(ordered, reads, price, batch)
                    rows.append(
                        CacheRow(name, count, cache.tokens, batch, read, written, cost.cost_least, cost.cost_most)
                    )
    return rows


def server_cache(tokens: int) -> Cache:
    """The cache of a server such as vLLM, which holds so many tokens."""
    return Cache(tokens=tokens, block=BLOCK, at_once=True)
