"""The client that answers a question about an order by how likely a model finds each order."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from fathom.run.failures import Failure
from fathom.run.likelihood.orders import (
    MOST_SEGMENTS,
    Method,
    Name,
    best_chain,
    candidates,
    how_many,
    least_perplexed,
    perplexity,
)
from fathom.run.likelihood.tokens import Backend
from fathom.run.model import PROBE, Call, RequestError
from fathom.run.overflow import Overflow
from fathom.types import Json, Ordering, Reply

DIGITS = 6


@dataclass
class LikelihoodClient:
    """Asks a backend for the texts of one question, one after another, and replies with the order it finds.

    Attributes:
        backend: Says how likely texts are.
        method: How an order is chosen.
        ordering: The segments of a sample, by its id.
        most_orders: Orders beyond which a question is not asked, where the method is ``orders``.
    """

    backend: Backend
    method: Method
    ordering: Callable[[str], Ordering]
    most_orders: int
    window: int | None = field(default=None, init=False)
    policy: Overflow = field(default="refuse", init=False)

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Score the texts of one sample; the prompt itself is not sent, except to see whether the server answers."""
        if call.sample == PROBE:
            await self.backend.score(prompt)
            return Reply(status="ok")
        ordering = self.ordering(call.sample)
        segments = len(ordering.segments)
        check = too_many(segments, self.method, self.most_orders)
        if check:
            raise RequestError(Failure("bad", check))
        scores: dict[Name, tuple[float, int]] = {}
        tokens, shared, known = 0, 0, True
        for candidate in candidates(ordering, self.method):
            scored = await self.backend.score(candidate.text)
            scores[candidate.name] = scored.after(candidate.start)
            tokens += len(scored.offsets)
            shared, known = shared + (scored.shared or 0), known and scored.shared is not None
        if not all(count for _, count in scores.values()):
            raise RequestError(Failure("bad", "no token of the segments has a log-probability"))
        chosen, figures = _choose(segments, self.method, scores)
        return Reply(
            status="ok",
            text=f"Answer: {json.dumps(list(chosen))}",
            reasoning=json.dumps(figures),
            stop="stop",
            tokens_in=tokens,
            tokens_out=0,
            tokens_cached=shared if known else None,
        )

    async def close(self) -> None:
        """Close the backend."""
        await self.backend.close()


def too_many(segments: int, method: Method, most_orders: int) -> str:
    """Why a question of so many segments is not asked; "" if it is."""
    if method == "pairs" and segments > MOST_SEGMENTS:
        return f"{segments} segments: the best chain of pairs is found for up to {MOST_SEGMENTS}"
    if method == "orders" and how_many(segments, method) > most_orders:
        return (
            f"{segments} segments have {how_many(segments, method):,} orders, more than --most-orders {most_orders:,}; "
            f"use --method pairs, which scores {how_many(segments, 'pairs')} texts, or raise --most-orders"
        )
    return ""


def _choose(segments: int, method: Method, scores: Mapping[Name, tuple[float, int]]) -> tuple[Name, dict[str, Json]]:
    """The order, and all figures behind it: names are the numbers of the segments with blanks between them."""
    if method == "orders":
        figures: dict[str, Json] = {
            _words(name): round(perplexity(total, count), DIGITS) for name, (total, count) in scores.items()
        }
        return least_perplexed(scores), {"method": method, "perplexity": figures}
    sums = {name: total for name, (total, _) in scores.items()}
    logprobs: dict[str, Json] = {_words(name): round(total, DIGITS) for name, total in sums.items()}
    return best_chain(segments, sums), {"method": method, "logprob": logprobs}


def _words(name: Name) -> str:
    return " ".join(map(str, name))
