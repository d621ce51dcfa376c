"""Clients that score texts: the order of segments that is most likely, and the likelihood of the gold answer."""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import permutations
from typing import TypeAlias, get_args

from fathom.models.failures import Failure
from fathom.models.overflow import Overflow
from fathom.models.protocol import PROBE, Call, RequestError
from fathom.run.likelihood.tokens import Backend
from fathom.types import Json, Ordering, Reply
from fathom.types.choices import Method as Method

DIGITS = 6
GOLD: Method = "gold"
METHODS: tuple[Method, ...] = get_args(Method)
TIED = "No answer: several orders are equally likely."
SAME = 1e-9
"""Log-probabilities that differ by less are equal: sums of the same numbers differ by as much in another order."""
MOST_SEGMENTS = 12
"""Maximum number of segments in the search for the best chain: the work doubles with each."""
JOIN = "\n\n"
Name: TypeAlias = tuple[int, ...]


@dataclass
class LikelihoodClient:
    """Scores the texts of one question, one after another, and replies with the order found.

    Attributes:
        method: How an order is chosen: ``orders`` or ``pairs``.
        ordering: Returns the segments of a sample, by its id.
        most_orders: With ``orders``, the maximum number of orders per question.
    """

    backend: Backend
    method: Method
    ordering: Callable[[str], Ordering]
    most_orders: int
    window: int | None = field(default=None, init=False)
    policy: Overflow = field(default="refuse", init=False)

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Score the texts of one sample; the prompt itself is only sent to check that the server answers.

        Raises:
            RequestError: The orders cannot be scored.
        """
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
        best, figures = _choose(segments, self.method, scores)
        return Reply(
            status="ok",
            text=f"Answer: {json.dumps(list(best[0]))}" if len(best) == 1 else TIED,
            reasoning=json.dumps(figures),
            stop="stop",
            tokens_in=tokens,
            tokens_out=0,
            tokens_cached=shared if known else None,
        )

    async def close(self) -> None:
        """Close the backend."""
        await self.backend.close()


@dataclass
class GoldClient:
    """Scores the gold answer of a sample after its prompt.

    The reply is a JSON object with the sum of the log-probabilities of its tokens; rows have the geometric mean of the
    tokens' probabilities as its score (``fathom.rows.scoring``).

    Attributes:
        backend: Scores texts.
        target: Returns the first gold answer of a sample, by its id.
    """

    backend: Backend
    target: Callable[[str], str]
    window: int | None = field(default=None, init=False)
    policy: Overflow = field(default="refuse", init=False)

    async def complete(self, prompt: str, call: Call) -> Reply:
        """Score the gold answer; a probe is scored as it is.

        Raises:
            RequestError: The text cannot be scored.
        """
        if call.sample == PROBE:
            await self.backend.score(prompt)
            return Reply(status="ok")
        target = self.target(call.sample)
        text = continued(prompt, target)
        scored = await self.backend.score(text)
        logprob, tokens = scored.after(len(text) - len(target))
        if not tokens:
            raise RequestError(Failure("bad", "no token of the gold answer has a log-probability"))
        if not math.isfinite(logprob):
            raise RequestError(Failure("bad", "the log-probability of the gold answer is not a number"))
        return Reply(
            status="ok",
            text=json.dumps({"method": GOLD, "logprob": round(logprob, DIGITS), "tokens": tokens}),
            stop="stop",
            tokens_in=len(scored.offsets),
            tokens_out=0,
            tokens_cached=scored.shared,
        )

    async def close(self) -> None:
        """Close the backend."""
        await self.backend.close()


def continued(prompt: str, answer: str) -> str:
    """A prompt with an answer behind it, after a space where a word would follow without one."""
    return prompt + ("" if not prompt or prompt[-1].isspace() or not prompt[-1].isascii() else " ") + answer


def too_many(segments: int, method: Method, most_orders: int) -> str:
    """Why a question with so many segments is not asked; "" if it is."""
    if method == "pairs" and segments > MOST_SEGMENTS:
        return f"{segments} segments: the best chain of pairs is computed for at most {MOST_SEGMENTS}"
    if method == "orders" and how_many(segments, method) > most_orders:
        return (
            f"{segments} segments have {how_many(segments, method):,} orders, more than `most_orders` {most_orders:,}; "
            f"use `method` pairs, which scores {how_many(segments, 'pairs')} texts, or raise `most_orders`"
        )
    return ""


def _choose(
    segments: int, method: Method, scores: Mapping[Name, tuple[float, int]]
) -> tuple[tuple[Name, ...], dict[str, Json]]:
    """The best order, or two that are equally good, and the scores behind them, named by numbers of segments."""
    if method == "orders":
        best = least_perplexed(scores)
        shown = {name: perplexity(total, count) for name, (total, count) in scores.items()}
    else:
        shown = {name: total for name, (total, _) in scores.items()}
        best = best_chains(segments, shown)
    named: dict[str, Json] = {_words(name): round(figure, DIGITS) for name, figure in shown.items()}
    figures: dict[str, Json] = {"method": method, "perplexity" if method == "orders" else "logprob": named}
    return best, figures if len(best) == 1 else {**figures, "equal": [_words(name) for name in best]}


def _words(name: Name) -> str:
    return " ".join(map(str, name))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One text to score.

    Attributes:
        name: Numbers of the segments in this text, from 1; in a pair 0 is the text before all segments and N + 1 the
            text after them.
        text: The whole text.
        start: Character from which tokens count.
    """

    name: Name
    text: str
    start: int


def candidates(ordering: Ordering, method: Method) -> Iterator[Candidate]:
    """The texts of one question, those with a common prefix next to each other.

    Args:
        ordering: The segments and the text around them.
        method: ``orders``: the text before, the segments in one order, the text after; N! texts. ``pairs``: each
            segment after the text before and after each other segment, and the text after behind each; N^2 + N texts,
            fewer without a text after.
    """
    return _orders(ordering) if method == "orders" else _pairs(ordering)


def how_many(segments: int, method: Method) -> int:
    """Number of texts for a question with so many segments and text on both sides."""
    return math.factorial(segments) if method == "orders" else segments * (segments + 1)


def _orders(ordering: Ordering) -> Iterator[Candidate]:
    start = len(_joined(ordering.before, "x")) - 1
    for order in permutations(range(len(ordering.segments))):
        segments = [ordering.segments[i] for i in order]
        yield Candidate(tuple(i + 1 for i in order), _joined(ordering.before, *segments, ordering.after), start)


def _pairs(ordering: Ordering) -> Iterator[Candidate]:
    pieces = (ordering.before, *ordering.segments, ordering.after)
    last = len(ordering.segments) + 1
    for first in range(last):
        for second in range(1, last + 1):
            if second != first and (first, second) != (0, last) and pieces[second]:
                text = _joined(pieces[first], pieces[second])
                yield Candidate((first, second), text, len(text) - len(pieces[second]))


def _joined(*pieces: str) -> str:
    return JOIN.join(piece for piece in pieces if piece)


def perplexity(total: float, tokens: int) -> float:
    """``exp(-total / tokens)``; infinite if too large for a float."""
    try:
        return math.exp(-total / tokens)
    except OverflowError:
        return math.inf


def least_perplexed(scores: Mapping[Name, tuple[float, int]]) -> tuple[Name, ...]:
    """The order with the lowest perplexity; two if there are several, the first by number.

    Args:
        scores: For each order the sum of its tokens' log-probabilities, and their number.
    """
    means = {name: total / count for name, (total, count) in sorted(scores.items())}
    highest = max(means.values())
    return tuple(name for name, mean in means.items() if highest - mean < SAME)[:2]


def best_chains(segments: int, scores: Mapping[Name, float]) -> tuple[Name, ...]:
    """The order of all segments whose pairs have the highest sum, exact (Held and Karp 1962); two if there are several.

    Args:
        segments: Number of segments.
        scores: Log-probability of the second piece after the first, by pair (see ``Candidate.name``); pairs with the
            text after all segments may be missing.

    Returns:
        Numbers of the segments from 1.
    """
    last = segments + 1
    # Best continuations from a segment given the set of remaining ones, two at most: sum and order of each.
    ways: dict[tuple[int, int], list[tuple[float, Name]]] = {
        (0, end): [(scores.get((end, last), 0.0), ())] for end in range(1, last)
    }
    for rest in range(1, 1 << segments):
        members = [number for number in range(1, last) if rest >> (number - 1) & 1]
        for end in range(last):
            if end == 0 and rest != (1 << segments) - 1:
                continue
            if end and rest >> (end - 1) & 1:
                continue
            options = [
                (total + scores[end, number], (number, *order))
                for number in members
                for total, order in ways[rest & ~(1 << (number - 1)), number]
            ]
            highest = max(total for total, _ in options)
            ways[rest, end] = [option for option in options if highest - option[0] < SAME][:2]
    return tuple(order for _, order in ways[(1 << segments) - 1, 0])
