"""Which request comes next, and what all replies together say: a generator without input or output.

It yields an ``Ask`` and is sent the ``Answer``, so that a server, a folder of earlier replies and a simulation drive it
alike.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from statistics import mean
from typing import TypeAlias

import numpy as np

from fathom.printing import several
from fathom.run.bisect.evidence import evidence_at, evidence_of, log_evidence
from fathom.run.bisect.naming import LOST, WHOLE, Observed, name
from fathom.run.bisect.outcomes import (
    SIDES,
    Answer,
    Ask,
    AtLength,
    Bisection,
    Decision,
    FirstDifference,
    Item,
    Letter,
    Named,
    Probe,
    numbers_distance,
    shared_tokens,
    texts_distance,
)
from fathom.run.bisect.prompts import FACTS
from fathom.stats.bets import evidence_above, evidence_below, interval_at_any_look, items_without_loss
from fathom.stats.intervals import LEVEL
from fathom.stats.ranks import holm
from fathom.tokens.length import format_length

OF_ITEM = 6
"""Requests of a prompt: two computed afresh and one that the cache may have, of each side."""
OF_CALIBRATION = 6
BETWEEN = 3
"""Lengths that are tried between one where both agree and one where they do not."""
MORE = 4
"""Further prompts of the shortest and the longest length, where only texts differ."""
RESERVE = 2 * (len(FACTS) + 2 + 2 * MORE)
"""Requests that are kept to find the name of a difference."""
OF_B = 1_000_000
"""Added to the numbers in front of prompts for B where A and B are one server."""
FROM_CACHE = 0.1
"""Share of a prompt that a cache may have had of a request that is to be computed afresh."""
ABLE = 0.5
"""Share of the code words that a side must find, for those to decide."""
STEADY = 0.5
"""Share of prompts to which a side may give two texts where texts decide: with more, other models look alike."""
CACHES_BEGIN = 1024
"""Tokens from which providers keep prompts."""
DOUBT = math.log(2)
"""Evidence of a difference with which nothing passes."""
PROMISING = math.log(1.5)
"""Evidence at a length from which the next prompt is of that length."""

Asking: TypeAlias = Generator[Ask, Answer]


@dataclass(frozen=True, slots=True)
class Plan:
    """What a comparison is to do.

    Attributes:
        lengths: Lengths of the prompts, from the shortest.
        requests: The most requests.
        alpha: Level of the decision.
        margin: Largest accepted difference of the shares of code words that are found.
        fresh: Whether both servers are known to compute a prompt afresh when they are told so; None if not known.
        raw: Whether both take texts without a chat template.
        names: Names of A and B.
        facts: What each side's server states of itself.
    """

    lengths: tuple[int, ...]
    requests: int = 200
    alpha: float = 0.01
    margin: float = 0.25
    fresh: bool | None = None
    raw: bool = True
    names: tuple[str, str] = ("A", "B")
    facts: Mapping[Letter, Mapping[str, object]] = field(default_factory=dict)

    @property
    def same_server(self) -> bool:
        """Whether both are the same model on the same server, whose cache one may read of the other."""
        return self.names[0] == self.names[1]


@dataclass
class _State:
    """What has been asked so far."""

    plan: Plan
    sent: int = 0
    tokens: int = 0
    same_prompt: bool = True
    uncertain: bool = False
    dropped: list[int] = field(default_factory=list)
    items: list[Item] = field(default_factory=list)
    single: dict[int, list[dict[Letter, Answer]]] = field(default_factory=dict)
    probes: dict[tuple[Probe, int, int], dict[Letter, Answer]] = field(default_factory=dict)

    def ask(self, ask: Ask) -> Generator[Ask, Answer, Answer]:
        """Ask one thing."""
        self.sent += 1
        self.tokens += ask.length
        answer = yield ask
        return answer

    def both(
        self, probe: Probe, length: int, draw: int = 0, nonce: int = 0, salt: int = 0, *, calibration: bool = False
    ) -> _Both:
        """Ask both sides the same."""
        answers: dict[Letter, Answer] = {}
        for side in SIDES:
            own = nonce + (OF_B if self.parted and nonce and side == "B" else 0)
            answers[side] = yield from self.ask(Ask(side, probe, length, draw, own, salt, calibration))
        return answers

    @property
    def parted(self) -> bool:
        """Whether B gets another number in front than A: one server's cache would have its prompt already."""
        return self.plan.same_server and not self.same_prompt

    @property
    def seen(self) -> Observed:
        """All of it, for a name."""
        return Observed(self.items, self.single, self.probes, self.plan.facts)

    @property
    def evidence(self) -> float:
        """Of a difference anywhere, as a logarithm."""
        return evidence_of(self.items, len(self.plan.lengths)) if self.items else 0.0


_Both: TypeAlias = Generator[Ask, Answer, dict[Letter, Answer]]


def search(plan: Plan) -> Generator[Ask, Answer, Bisection]:
    """Ask until A and B are shown to differ, or not to, or the requests are spent; then what they are asked says.

    Args:
        plan: What to do.
    """
    state = _State(plan)
    yield from _calibrate(state)
    enough = math.log(1 / plan.alpha)
    decision: Decision = "INCONCLUSIVE"
    while decision == "INCONCLUSIVE" and state.sent + OF_ITEM + RESERVE <= plan.requests:
        yield from _item(state, _next_length(state))
        if state.evidence >= enough:
            decision = "FAIL"
        elif state.evidence < DOUBT and not any(map(partial(_undecided, state), plan.lengths)):
            decision = "PASS"
    if decision == "FAIL":
        yield from _probe(state)
        yield from _between(state)
        yield from _more(state)
    return _result(state, decision)


def _calibrate(state: _State) -> Asking:
    """Find out whether the same prompt is computed afresh a second time, or needs another number in front."""
    lengths = state.plan.lengths
    length = max(lengths[0], min(CACHES_BEGIN, lengths[-1]))
    first = yield from state.both("words", length, 0, 1, 1, calibration=True)
    again = yield from state.both("words", length, 0, 1, 2, calibration=True)
    moved = yield from state.both("words", length, 0, 2, 3, calibration=True)
    counts = [again[side].cached for side in SIDES]
    cached = any(_from_cache(again[side], length) for side in SIDES)
    if not cached and (state.plan.fresh or None not in counts):
        return
    # A model whose words depend on a number far away shows nothing if that number changes.
    steady = all(texts_distance(first[side], moved[side]) == 0 for side in SIDES)
    noisy = any(texts_distance(first[side], again[side]) for side in SIDES)
    state.same_prompt = not (steady or noisy)
    state.uncertain = state.same_prompt


def _from_cache(answer: Answer, length: int) -> bool:
    """Whether a server says that a prompt came from its cache."""
    return (answer.cached or 0) > FROM_CACHE * (answer.tokens_in or length)


def _item(state: _State, length: int) -> Asking:
    """Send one prompt twice to each side, computed afresh, then once more with the cache.

    Replies of which a cache had the prompt after all are no evidence: noise that it hides looks like a difference.
    """
    draw = 1 + sum(item.length == length for item in state.items) + state.dropped.count(length)
    nonces = (2 * draw + 1, 2 * draw + (1 if state.same_prompt else 2))
    salts = (2 * draw + 1, 2 * draw + 2)
    first = yield from state.both("words", length, draw, nonces[0], salts[0])
    second = yield from state.both("words", length, draw, nonces[1], salts[1])
    if any(_from_cache(answer, length) for pair in (first, second) for answer in pair.values()):
        state.dropped.append(length)
        state.same_prompt = state.uncertain = False
        return
    warm = yield from state.both("words", length, draw, nonces[1], -salts[1])
    cold = {side: (first[side], second[side]) for side in SIDES}
    state.items.append(Item(length, draw, state.same_prompt, cold, warm))


def _next_length(state: _State) -> int:
    """Each length once from the shortest, then the one with most evidence, else the least asked of those undecided.

    The longest is asked as often as two others.
    """
    lengths = state.plan.lengths
    if len(state.items) < len(lengths):
        return lengths[len(state.items)]
    evidence = evidence_at(state.items)
    best = max(evidence, key=lambda length: (evidence[length], length))
    if evidence[best] > PROMISING:
        return best
    counts = {length: sum(item.length == length for item in state.items) for length in lengths}
    ahead = [length for length in lengths if _undecided(state, length)] or lengths
    return min(ahead, key=lambda length: (counts[length] / (2 if length == lengths[-1] else 1), -length))


def _probe(state: _State) -> Asking:
    """Ask for facts, and for raw texts to be continued, of the shortest and the longest length."""
    for number in range(len(FACTS)):
        state.probes["facts", 0, number] = yield from state.both("facts", 0, number)
    if not state.plan.raw:
        return
    for length in dict.fromkeys((state.plan.lengths[0], state.plan.lengths[-1])):
        state.probes["raw", length, 0] = yield from state.both("raw", length)
        if all(answer.status == "error" for answer in state.probes["raw", length, 0].values()):
            return


def _between(state: _State) -> Asking:
    """Find the length from which one side loses something: halve between two lengths, on a logarithmic scale."""
    for number in range(BETWEEN):
        seen = state.seen
        differing = [length for length in seen.lengths if _differs(seen, length)]
        before = [length for length in seen.lengths if differing and length < differing[0]]
        if not before or state.sent + 2 > state.plan.requests:
            return
        step = 1024 if before[-1] >= 4096 else 128
        middle = step * round(math.sqrt(before[-1] * differing[0]) / step)
        if not before[-1] < middle < differing[0]:
            return
        pair = yield from state.both("words", middle, 0, 5 + number, 5 + number)
        state.single[middle] = [pair]


def _more(state: _State) -> Asking:
    """Ask more short and long prompts where only texts differ: whether by more in long prompts takes several."""
    seen = state.seen
    if any(_differs(seen, length) for length in seen.lengths) or log_evidence(state.items)["numbers"] > 0:
        return
    for length in (seen.lengths[0], seen.lengths[-1]):
        for number in range(MORE):
            if state.sent + 2 > state.plan.requests:
                return
            nonce = 1000 + number
            pair = yield from state.both("words", length, nonce, nonce, nonce)
            state.single.setdefault(length, []).append(pair)


def _differs(seen: Observed, length: int) -> bool:
    """Whether the sides lose different amounts at a length, or count another number of tokens."""
    statuses = [{answer.status for answer in seen.answers(side, length)} for side in SIDES]
    counts = [seen.counted(side, length) for side in SIDES]
    known = [count for count in counts if count]
    cut = len(known) == len(counts) and min(known) < WHOLE * max(known)
    lost = abs(seen.recall("A", length) - seen.recall("B", length)) >= LOST
    return statuses[0] != statuses[1] or cut or lost


# ------------------------------------------------------------------------------------------------------- the result


def _able(items: Sequence[Item]) -> bool:
    return max(mean(answer.recall for item in items for answer in item.cold[side]) for side in SIDES) >= ABLE


def _gaps(items: Sequence[Item]) -> list[float]:
    """A minus B by prompt: of the words that are found, or how much more texts differ between A and B than within."""
    if _able(items):
        return [item.loss for item in items]
    return [_excess(item) for item in items]


def _excess(item: Item) -> float:
    across = mean(texts_distance(item.cold["A"][turn], item.cold["B"][turn]) for turn in (0, 1))
    return across - mean(texts_distance(*item.cold[side]) for side in SIDES)


def _undecided(state: _State, length: int) -> str:
    """Why nothing passes at a length yet; "" if a difference of the margin is excluded there, on both sides."""
    items, plan = [item for item in state.items if item.length == length], state.plan
    if not items:
        return "has no prompts"
    for side in SIDES:
        if any(answer.status != "ok" or not answer.text.strip() for item in items for answer in item.cold[side]):
            return f"has prompts that {side} does not answer"
    if not _able(items) and any(mean(texts_distance(*item.cold[side]) for item in items) > STEADY for side in SIDES):
        return "has too few code words found, and texts that vary too much, to show that both are alike"
    gaps, enough = _gaps(items), math.log(1 / plan.alpha)
    bets = (
        evidence_above(gaps, -plan.margin, planned=plan.margin),
        evidence_below(gaps, plan.margin, planned=plan.margin),
    )
    if min(bets) < enough:
        return "needs more prompts"
    return ""


def _result(state: _State, decision: Decision) -> Bisection:
    plan, items = state.plan, state.items
    kinds = log_evidence(items)
    lengths = _lengths(state)
    named = name(state.seen) if decision == "FAIL" else Named("")
    gaps = _gaps(items) if items else []
    interval = interval_at_any_look(gaps, gaps, LEVEL)
    reason = _reason(state, decision, named, (interval.low, interval.high))
    return Bisection(
        *plan.names,
        decision=decision,
        reason=reason,
        named=named if named.fault or decision == "FAIL" else Named("", next=_next(decision, plan)),
        evidence=math.exp(min(700.0, state.evidence)),
        alpha=plan.alpha,
        margin=plan.margin,
        low=interval.low,
        high=interval.high,
        kinds={kind: math.exp(min(700.0, value)) for kind, value in kinds.items()},
        lengths=lengths,
        first=first_difference(items) if decision == "FAIL" else None,
        requests=state.sent,
        tokens_in=state.tokens,
        notes=_notes(state),
    )


def requests_to_pass(lengths: int, alpha: float, margin: float) -> int:
    """The requests after which equal servers pass, if they find the same words in every prompt."""
    return OF_CALIBRATION + RESERVE + OF_ITEM * lengths * items_without_loss(margin, alpha)


def _reason(state: _State, decision: Decision, named: Named, interval: tuple[float, float]) -> str:
    plan, items = state.plan, state.items
    what = "words found" if items and _able(items) else "texts"
    if decision == "FAIL":
        fault = f": {named.fault}" if named.fault else ", and the difference has no name"
        return f"A and B differ{fault}{f' of {named.side}' if named.side else ''}"
    if decision == "PASS":
        return (
            f"no difference beyond the noise of both, at {len(plan.lengths)} lengths up to "
            f"{format_length(plan.lengths[-1])}; one of {100 * plan.margin:g} points ({what}) is excluded at each"
        )
    undecided = [(length, why) for length in plan.lengths if (why := _undecided(state, length))]
    unanswered = next(((length, why) for length, why in undecided if why.startswith("has prompts")), None)
    length, why = unanswered or next(iter(undecided), (0, ""))
    low, high = interval
    shown = f"no difference so far; one from {100 * low:.0f} to {100 * high:.0f} points ({what}) is not excluded"
    return f"{shown}; {format_length(length)} {why}" if why else shown


def _next(decision: Decision, plan: Plan) -> tuple[str, ...]:
    if decision == "PASS":
        return ("For differences of a few points: fathom run on both, then fathom gate",)
    least = requests_to_pass(len(plan.lengths), plan.alpha, plan.margin)
    return (
        f"Give --requests more: the same command goes on where it stopped. PASS takes at least {least}, or fewer "
        "lengths",
    )


def _lengths(state: _State) -> tuple[AtLength, ...]:
    seen, items = state.seen, state.items
    evidence = evidence_at(items) if items else {}
    tails = np.array([min(1.0, math.exp(-value)) for value in evidence.values()])
    p = dict(zip(evidence, holm(tails, len(state.plan.lengths)).tolist(), strict=True)) if evidence else {}
    rows = []
    for length in seen.lengths:
        own = [item for item in items if item.length == length]
        nats = [gap for pair in seen.pairs(length) if (gap := numbers_distance(*pair)) is not None]
        noise_a, noise_b = (mean([texts_distance(*item.cold[side]) for item in own] or [0.0]) for side in SIDES)
        rows.append(
            AtLength(
                length,
                prompts=len(own) + len(state.single.get(length, ())),
                recall_a=seen.recall("A", length),
                recall_b=seen.recall("B", length),
                noise_a=noise_a,
                noise_b=noise_b,
                texts=mean(texts_distance(*pair) for pair in seen.pairs(length)),
                nats=mean(nats) if nats else None,
                tokens_a=seen.counted("A", length),
                tokens_b=seen.counted("B", length),
                p=p.get(length, 1.0),
                different=p.get(length, 1.0) <= state.plan.alpha,
            )
        )
    return tuple(rows)


def first_difference(items: Sequence[Item]) -> FirstDifference | None:
    """The first token that differs, in the prompt where A and B are steady and differ the latest; None if none does."""
    best: tuple[bool, int, Item] | None = None
    for item in items:
        a, b = item.cold["A"][0], item.cold["B"][0]
        if not texts_distance(a, b) or a.status != "ok" or b.status != "ok":
            continue
        steady = not any(texts_distance(*item.cold[side]) for side in SIDES)
        if best is None or (steady, item.length) > best[:2]:
            best = steady, item.length, item
    if best is None:
        return None
    item = best[2]
    a, b = item.cold["A"][0], item.cold["B"][0]
    same = shared_tokens(a, b) if a.tokens and b.tokens else 0
    if a.tokens and b.tokens and same < min(len(a.tokens), len(b.tokens)):
        before = "".join(a.tokens[:same])[-40:]
        return FirstDifference(
            item.length, item.draw, same + 1, before, a.tokens[same], b.tokens[same], a.logprobs[same], b.logprobs[same]
        )
    at = next(
        (at for at, letters in enumerate(zip(a.text, b.text, strict=False)) if letters[0] != letters[1]),
        min(len(a.text), len(b.text)),
    )
    return FirstDifference(
        item.length, item.draw, at + 1, a.text[max(0, at - 40) : at], a.text[at : at + 20], b.text[at : at + 20]
    )


def _notes(state: _State) -> tuple[str, ...]:
    notes = []
    if state.dropped:
        count = len(state.dropped)
        notes.append(f"{several(count, 'prompt')} left out: a cache had what was to be computed afresh")
    if state.uncertain:
        notes.append(
            "The servers do not say whether a repeated prompt was computed afresh: noise that a cache hides may count "
            "as a difference of texts"
        )
    elif not state.same_prompt:
        notes.append("Repeated prompts have another number in front, because the servers' caches would have them")
    if state.items and not _able(state.items):
        notes.append("Neither finds most of the code words, so that texts and log-probabilities decide")
    return tuple(notes)
