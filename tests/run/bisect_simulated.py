"""Comparisons of two equal sides whose replies are noisy, without prompts and servers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random

from fathom.run.bisect.outcomes import Answer, Ask, Bisection
from fathom.run.bisect.prompts import BACK
from fathom.run.bisect.search import Plan, search

LENGTHS = (1024, 4096, 16384, 65536, 131072)


@dataclass(frozen=True)
class Noise:
    """How replies of a server vary.

    Attributes:
        lost: Probability that a code word is lost, at 128k; less in shorter prompts.
        flipped: Probability that a reply has another wording.
        wordings: Number of other wordings.
        nats: Noise of log-probabilities; 0 for a server that gives none.
        of_prompt: Whether the probabilities differ by prompt, from 0 to twice these.
        warm: Probability that a repetition from the cache has another wording, on both sides.
        counts: Whether the server says what comes from its cache.
    """

    lost: float = 0.0
    flipped: float = 0.0
    wordings: int = 3
    nats: float = 0.0
    of_prompt: bool = False
    warm: float = 0.0
    counts: bool = True


NOISES: Mapping[str, Noise] = {
    "none": Noise(),
    "few words lost": Noise(lost=0.05),
    "many words lost": Noise(lost=0.4, of_prompt=True),
    "half of the texts, two wordings": Noise(flipped=0.5, wordings=1),
    "half of the texts, many wordings": Noise(flipped=0.5, wordings=20),
    "texts by prompt": Noise(flipped=0.4, wordings=2, of_prompt=True),
    "log-probabilities": Noise(nats=0.05),
    "all of them": Noise(lost=0.2, flipped=0.3, nats=0.05, of_prompt=True, warm=0.3),
    "repetitions": Noise(warm=0.5),
    "repetitions, a number in front": Noise(flipped=0.3, warm=0.5, counts=False),
}


def simulated(noise: Noise, seed: int, requests: int = 200, margin: float = 0.25) -> Bisection:
    """A comparison of two sides with the same noise."""
    rng, asking = Random(f"{noise} {seed}"), search(Plan(LENGTHS, requests, margin=margin, raw=False))
    answer: Answer | None = None
    try:
        ask = next(asking)
        while True:
            answer = answer_of(noise, ask, rng, seed)
            ask = asking.send(answer)
    except StopIteration as end:
        result: Bisection = end.value
        return result


def answer_of(noise: Noise, ask: Ask, rng: Random, seed: int) -> Answer:
    """A reply; its distribution depends on the prompt and not on the side."""
    prompt = Random(f"{seed} {ask.probe} {ask.length} {ask.draw} {ask.nonce if not noise.counts else 0}")
    scale = 2 * prompt.random() if noise.of_prompt else 1.0
    lost = min(0.95, noise.lost * scale * math.log2(max(2, ask.length) / 512) / 8)
    found = tuple(rng.random() >= lost for _ in BACK) if ask.probe == "words" else ()
    changed = rng.random() < noise.flipped * scale or (ask.salt < 0 and rng.random() < noise.warm)
    wording = 1 + rng.randrange(noise.wordings) if changed else 0
    tokens = tuple(map(str, range(12))) if noise.nats else ()
    numbers = tuple(-abs(prompt.random() + rng.gauss(0, noise.nats)) for _ in tokens)
    cached = (ask.length if ask.salt < 0 else 0) if noise.counts else None
    return Answer(
        text=f"{wording} {found}", found=found, tokens_in=ask.length, cached=cached, tokens=tokens, logprobs=numbers
    )
