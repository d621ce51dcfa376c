"""Dollars to a LongScore within 2 points: plain, planned, shared contexts, caches, batches, adaptive.

    python performance/longscore_dollars.py [STUDIES]

A model scores 85% up to 6k and falls to 60% at 128k. Half of what makes an answer right or wrong is particular to an
answer, the rest is shared: by the lengths of a question, and by the questions of a document. LongScore is the mean over
8k to 128k of the score there over the base at 2k, 4k and 6k, less 1; its variance is that of its linear part. Numbers
of items are those of `fathom plan` (`Goal.items`), prices those of its table; 300 tokens are written for each answer.
The numbers, before adaptive asking makes them smaller, are tried in simulated studies: how often LongScore is within 2
points of the truth.

Each line adds one thing to the line before it:

plain     items of their own at every length, as many at each
planned   the same items at every length
by price  as many at each length as is cheapest (the first of one order, so that lengths share items)
adaptive  as `fathom compress adaptive` with known models: fewer by the measured ratio of its items to those of a
          stratified sample of the same width (docs/explanation/measurements/compression.md)
shared    five or ten questions of each document, asked one after the other from the provider's cache
batch     in batches, with the cache if it has a price there; left out where batches cost more than the cache
"""

from __future__ import annotations

import sys
from statistics import NormalDist

import numpy as np

from fathom.analysis.plan import Goal
from fathom.models.prices import Price, find_price

BASE, LONG = (2048, 4096, 6144), (8192, 16384, 32768, 65536, 131072)
LENGTHS = (*BASE, *LONG)
WRITTEN, QUESTIONS, WITHIN = 300, (5, 10), 0.02
SHARES = (0.1, 0.4)  # of luck: a document's, a question's; the rest is of an answer
ADAPTIVE = {"random halves": 314 / 551, "stronger models": 316 / 638, "published": 266 / 520}
MODELS = ("openai/gpt-5", "anthropic/claude-sonnet-4-6", "google/gemini-2.5-flash")
TRUTH = np.array([0.85] * 3 + [0.85 - 0.25 * step / 5 for step in range(1, 6)])
LEVEL = float(TRUTH[:3].mean())
LONGSCORE = float(TRUTH[3:].mean()) / LEVEL - 1
LINEAR = np.array([-(1 + LONGSCORE) / (3 * LEVEL)] * 3 + [1 / (5 * LEVEL)] * 5)
"""What a point more at a length adds to LongScore."""


def answers(rng: np.random.Generator, documents: int, questions: int, *, own: bool = False) -> np.ndarray:
    """Mean score of the questions of each document at each length; with ``own`` items of their own at every length."""
    shape = (documents, questions, len(LENGTHS))
    document, question = SHARES
    across = (len(LENGTHS),) if own else (1,)
    luck = np.sqrt(document) * rng.normal(size=(documents, 1, *across))
    luck = luck + np.sqrt(question) * rng.normal(size=(documents, questions, *across))
    luck = luck + np.sqrt(1 - document - question) * rng.normal(size=shape)
    edges = np.array([NormalDist().inv_cdf(share) for share in TRUTH])
    mean: np.ndarray = (luck < edges).mean(axis=1)
    return mean


def variance_of(covariance: np.ndarray, numbers: np.ndarray) -> float:
    """The variance of LongScore with so many documents at each length, the first of one order."""
    return float((np.outer(LINEAR, LINEAR) * covariance / np.maximum.outer(numbers, numbers)).sum())


def cheapest(covariance: np.ndarray, prices: np.ndarray, start: int) -> np.ndarray:
    """Numbers of documents at each length, with the same variance as ``start`` at each, at the lowest price."""
    wanted = variance_of(covariance, np.full(len(LENGTHS), float(start)))
    shares = np.ones(len(LENGTHS))

    def scaled(parts: np.ndarray) -> np.ndarray:
        return parts * variance_of(covariance, parts) / wanted

    best, step = scaled(shares), 1.5
    while step > 1.01:
        before = float(best @ prices)
        for length in range(len(LENGTHS)):
            for factor in (step, 1 / step):
                parts = best.copy()
                parts[length] *= factor
                if (other := scaled(parts)) @ prices < best @ prices:
                    best = other
        if float(best @ prices) > 0.999 * before:
            step = np.sqrt(step)
    numbers: np.ndarray = np.ceil(best)
    return numbers


def price_of(price: Price, questions: int, cached: bool) -> np.ndarray:
    """Dollars of the questions of one document, at each length."""
    dollars = []
    for length in LENGTHS:
        stored = length if cached and price.write is not None else 0
        first = price.cost(length, WRITTEN, tokens_written=stored)
        again = price.cost(length, WRITTEN, length if cached else 0)
        assert first is not None
        assert again is not None
        dollars.append(first + (questions - 1) * again)
    return np.array(dollars)


def within(rng: np.random.Generator, numbers: np.ndarray, questions: int, studies: int, *, own: bool = False) -> float:
    """How often LongScore is as near to the truth as wanted."""
    hits = 0
    for _ in range(studies):
        drawn = answers(rng, int(numbers.max()), questions, own=own)
        scores = np.array([drawn[: int(number), place].mean() for place, number in enumerate(numbers)])
        hits += abs(scores[3:].mean() / scores[:3].mean() - 1 - LONGSCORE) <= WITHIN
    return 100 * hits / studies


def main(studies: int = 1000) -> None:
    """Print a table for each model."""
    rng = np.random.default_rng(45)
    goal = Goal(half_width=WITHIN)
    single = np.cov(answers(rng, 100_000, 1).T)
    shared = {count: np.cov(answers(rng, 30_000, count).T) for count in QUESTIONS}
    ratio = float(np.mean(list(ADAPTIVE.values())))
    plain = goal.items(float((LINEAR**2) @ np.diag(single)))
    paired = goal.items(variance_of(single, np.ones(len(LENGTHS))))
    equal = np.ones(len(LENGTHS))
    tried = {
        "plain": within(rng, plain * equal, 1, studies, own=True),
        "planned": within(rng, paired * equal, 1, studies),
    }
    print(f"LongScore {100 * LONGSCORE:.1f}; {studies:,} studies each; adaptive asks {ratio:.2f} of the items\n")
    print("| model | design | documents: at 2k, at 128k | questions of each | within 2 points | dollars | of plain |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: |")
    for model in MODELS:
        price = find_price(model)
        alone = price_of(price, 1, False)
        by_price = cheapest(single, alone, paired)
        lines = [
            ("plain", plain * equal, 1, float(plain * equal @ alone), tried["plain"]),
            ("planned", paired * equal, 1, float(paired * equal @ alone), tried["planned"]),
            ("by price", by_price, 1, float(by_price @ alone), within(rng, by_price, 1, studies)),
            ("adaptive", np.ceil(ratio * by_price), 1, ratio * float(by_price @ alone), None),
        ]
        for questions, covariance in shared.items():
            start = goal.items(variance_of(covariance, equal))
            together = price_of(price, questions, True)
            numbers = cheapest(covariance, together, start)
            dollars = ratio * float(numbers @ together)
            share = within(rng, numbers, questions, studies)
            lines.append(("shared", np.ceil(ratio * numbers), questions, dollars, share))
            batches = price.in_batches(0.5)
            cheaper = price_of(batches, questions, batches.cached is not None)
            in_batches = cheapest(covariance, cheaper, start)
            if (other := ratio * float(in_batches @ cheaper)) < dollars:
                lines.append(("batch", np.ceil(ratio * in_batches), questions, other, None))
        for name, numbers, questions, dollars, hits in lines:
            cell = "" if hits is None else f"{hits:.1f}%"
            whole = lines[0][3]
            print(
                f"| {model} | {name} | {numbers[0]:,.0f}, {numbers[-1]:,.0f} | {questions} | {cell} | {dollars:,.2f} "
                f"| 1/{whole / dollars:.1f} |"
            )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
