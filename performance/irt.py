"""Our fit of item response theory beside a plain variational one, on MiniLongBench's released scores.

    python performance/irt.py FOLDER [--dimensions 10] [--epochs 2000]

FOLDER holds the released scores. The variational fit follows what the released parameters were made with: independent
normal distributions for all abilities, discriminations and difficulties, means and precisions of each dimension with
priors of their own, one draw an epoch, Adam with a rate of .1, and the difficulty subtracted once for every dimension.
It is written out here in plain numpy with gradients by hand.

A tenth of the responses is held out. All else is the same for both: 20 models, 4,750 items, one threshold, the released
embeddings as the start of the discriminations.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fathom.compress import irt
from fathom.compress.matrix import Floats
from fathom.compress.released import read_embeddings, read_released, read_split

SHARE, FIRST, SECOND, TINY = 0.1, 0.9, 0.999, 1e-8


@dataclass
class Adam:
    """State of the optimiser for one array."""

    value: Floats
    first: Floats
    second: Floats
    step: int = 0

    def climb(self, gradient: Floats, rate: float) -> None:
        self.step += 1
        self.first = FIRST * self.first + (1 - FIRST) * gradient
        self.second = SECOND * self.second + (1 - SECOND) * gradient**2
        mean = self.first / (1 - FIRST**self.step)
        spread = self.second / (1 - SECOND**self.step)
        self.value = self.value + rate * mean / (np.sqrt(spread) + TINY)


def started(value: Floats) -> Adam:
    return Adam(value, np.zeros_like(value), np.zeros_like(value))


class Normal:
    """An array of independent normal distributions, and its hierarchical prior, dimension by dimension."""

    def __init__(self, start: Floats) -> None:
        self.place, self.spread = started(start), started(np.full_like(start, -1.0))
        width = start.shape[1]
        self.hyper = [started(np.zeros(width)) for _ in range(2)]  # mean and log precision
        self.hyper_spread = [started(np.full(width, -1.0)) for _ in range(2)]

    def draw(self, rng: np.random.Generator) -> Floats:
        self.noise = rng.standard_normal(self.place.value.shape)
        self.drawn = self.place.value + np.exp(self.spread.value) * self.noise
        return self.drawn

    def climb(self, likelihood: Floats, rate: float, rng: np.random.Generator) -> None:
        """One step up the evidence bound, from the gradient of the log-likelihood at what was drawn."""
        noises = [rng.standard_normal(one.value.shape) for one in self.hyper]
        mean, precision = (
            one.value + np.exp(spread.value) * noise
            for one, spread, noise in zip(self.hyper, self.hyper_spread, noises, strict=True)
        )
        apart = self.drawn - mean
        gradient = likelihood - np.exp(precision) * apart
        gradients = (
            np.exp(precision) * apart.sum(axis=0) - mean / 100,
            len(apart) / 2 - np.exp(precision) * ((apart**2).sum(axis=0) / 2 + 1) + 1,
        )
        self.spread.climb(gradient * np.exp(self.spread.value) * self.noise + 1, rate)
        self.place.climb(gradient, rate)
        for one, spread, noise, upward in zip(self.hyper, self.hyper_spread, noises, gradients, strict=True):
            spread.climb(upward * np.exp(spread.value) * noise + 1, rate)
            one.climb(upward, rate)


def variational(responses: Floats, start: Floats, epochs: int, rate: float = 0.1, seed: int = 42) -> Floats:
    """Log-odds of all responses at the means of a variational fit."""
    rng = np.random.default_rng(seed)
    models, (items, dimensions) = len(responses), start.shape
    there = ~np.isnan(responses)
    known = np.where(there, responses, 0.0)
    ability, slope = Normal(rng.standard_normal((models, dimensions))), Normal(start.copy())
    difficulty = Normal(np.zeros((items, 1)))
    for _ in range(epochs):
        theta, a, b = ability.draw(rng), slope.draw(rng), difficulty.draw(rng)
        residual = (known - irt.sigmoid(theta @ a.T - dimensions * b[:, 0])) * there
        ability.climb(residual @ a, rate, rng)
        slope.climb(residual.T @ theta, rate, rng)
        difficulty.climb(-dimensions * residual.sum(axis=0)[:, None], rate, rng)
        rate *= 0.9999
    means = [one.place.value for one in (ability, slope, difficulty)]
    return np.asarray(means[0] @ means[1].T - dimensions * means[2][:, 0])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--dimensions", type=int, default=10)
    parser.add_argument("--epochs", type=int, default=2000)
    given = parser.parse_args()
    train, _ = read_split(given.folder)
    scores = read_released(given.folder).scores[list(train)]
    responses = irt.binarised(scores, irt.threshold(scores))
    start = read_embeddings(given.folder)[:, : given.dimensions]
    hidden = np.random.default_rng(0).random(responses.shape) < SHARE
    seen, held_out = np.where(hidden, np.nan, responses), np.where(hidden, responses, np.nan)

    began = time.process_time()
    fitted = irt.fit(seen, start.shape[1], start=start)
    ours_seconds = time.process_time() - began
    ours = fitted.abilities @ fitted.items.discrimination.T - fitted.items.difficulty
    began = time.process_time()
    theirs = variational(seen, start, given.epochs)
    theirs_seconds = time.process_time() - began
    right = (np.nansum(seen, axis=0) + 0.5) / ((~np.isnan(seen)).sum(axis=0) + 1)
    plain = np.broadcast_to(np.log(right / (1 - right)), responses.shape)

    print(f"{len(responses)} models x {responses.shape[1]:,} items, {start.shape[1]} dimensions, {SHARE:.0%} held out")
    print("fit                CPU seconds   log loss seen   held out")
    for name, seconds, logits in (
        ("items' shares only", 0.0, plain),
        (f"variational, {given.epochs}", theirs_seconds, theirs),
        (f"ours, {fitted.steps} steps", ours_seconds, ours),
    ):
        losses = irt.cross_entropy(seen, logits), irt.cross_entropy(held_out, logits)
        print(f"{name:20}  {seconds:8.2f}   {losses[0]:13.4f}   {losses[1]:8.4f}")
    print(f"ours is {theirs_seconds / ours_seconds:.1f} x as fast")
    chances = [irt.sigmoid(logits)[hidden] for logits in (ours, theirs)]
    agree = np.corrcoef(chances[0], chances[1])[0, 1]
    print(f"held-out chances of the two: correlation {agree:.3f}, apart {np.abs(chances[0] - chances[1]).mean():.3f}")


if __name__ == "__main__":
    main()
