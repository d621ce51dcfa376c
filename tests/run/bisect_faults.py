"""Faults of servers with the names that they should get, for prompts up to some length; and drawn ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from random import Random
from typing import TypeAlias

from bisect_server import Fault

from fathom.run.bisect.outcomes import Letter

Case: TypeAlias = tuple[str, Fault, Fault]
"""The name that is expected, and both servers."""
BARE = Fault(logprobs=False, counts=False, salted=False)
"""A server that gives no log-probabilities, hides its cache and takes no salt."""


def lengths_of(longest: int) -> tuple[int, ...]:
    """Five lengths, as the command chooses them."""
    return tuple(sorted({max(512, longest >> shift) for shift in (7, 5, 3, 1, 0)}))


def faults(longest: int) -> Mapping[str, Case]:
    """Every kind of fault, in B."""
    part = longest // 8
    right = Fault()
    return {
        "positions garbled": ("wrong rope factor", right, Fault(rope=2 * part)),
        "positions worse and worse": ("wrong rope factor", right, Fault(rope=part, graded=True)),
        "the same, bare servers": ("wrong rope factor", BARE, replace(BARE, rope=2 * part, graded=True)),
        "narrow window": ("sliding window", right, Fault(window=part // 4)),
        "wide window": ("sliding window", right, Fault(window=2 * part)),
        "window, both drawn at temperature": ("sliding window", Fault(sampled=0.1), Fault(sampled=0.1, window=part)),
        "beginning cut": ("cut prompt", right, Fault(cut=2 * part)),
        "end cut": ("cut prompt", right, Fault(cut=4 * part, lost="end")),
        "middle cut": ("cut prompt", right, Fault(cut=part, lost="middle")),
        "middle cut, counted before": ("cut prompt", right, Fault(cut=2 * part, lost="middle", hidden=True)),
        "refused": ("smaller window", right, Fault(refuse=4 * part)),
        "every repetition from wrong blocks": ("prefix-cache corruption", right, Fault(stale=1.0)),
        "most repetitions, bare servers": ("prefix-cache corruption", BARE, replace(BARE, stale=0.8)),
        "noise of the cache": ("cache precision", right, Fault(cache=0.05 * (131_072 / longest) ** 0.5)),
        "noise of the cache, bare servers": (
            "cache precision",
            BARE,
            replace(BARE, cache=0.1 * (131_072 / longest) ** 0.5),
        ),
        "noise of the weights": ("weights precision", right, Fault(weights=0.05)),
        "template without a system prompt": ("wrong template", right, Fault(template=9)),
        "template whose marks leak, bare servers": (
            "wrong template",
            replace(BARE, raw=False),
            replace(BARE, template=0, leaks=True, raw=False),
        ),
        "another model with the same tokenizer": ("another model", right, Fault(other=True, weaker=0.3)),
        "another tokenizer": ("another model", right, Fault(other=True, characters=5)),
        "temperature ignored": ("sampling", right, Fault(sampled=0.6)),
    }


def drawn(longest: int, rng: Random) -> tuple[str, Letter, Fault, Fault]:
    """A fault of random kind and size, in A or B, on servers that say much or little: its name, side and both."""
    size = round(longest / 2 ** rng.uniform(0.7, 4))
    right = rng.choice((Fault(), BARE, Fault(raw=False), replace(BARE, raw=False), Fault(sampled=0.05)))
    name, changed = rng.choice(
        (
            ("wrong rope factor", {"rope": size, "graded": rng.random() < 0.5}),
            ("sliding window", {"window": size}),
            ("cut prompt", {"cut": size, "lost": rng.choice(("beginning", "middle", "end"))}),
            ("cut prompt", {"cut": size, "lost": rng.choice(("middle", "end")), "hidden": True}),
            ("smaller window", {"refuse": size}),
            ("prefix-cache corruption", {"stale": rng.uniform(0.7, 1)}),
            ("cache precision", {"cache": rng.uniform(0.05, 0.3)}),
            ("weights precision", {"weights": rng.uniform(0.03, 0.15)}),
            ("wrong template", {"template": rng.choice((-7, 5, 12, 30)), "leaks": rng.random() < 0.3}),
            ("another model", {"other": True, "weaker": rng.uniform(0, 0.5), "characters": rng.choice((4, 4, 5))}),
            ("sampling", {"sampled": rng.uniform(0.4, 0.9)}),
        )
    )
    wrong = replace(right, **changed)
    side: Letter = rng.choice(("A", "B"))
    return name, side, *((wrong, right) if side == "A" else (right, wrong))
