"""A name for what differs, from what was seen: pure functions, one for each group of faults, asked in order.

Each looks for what only its faults show. Token counts come first, because they are exact; then replies to prompts
without a long text; then which code words are lost at which length; then repetitions; then log-probabilities.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import mean, median
from typing import Literal

from fathom.printing import several
from fathom.run.bisect.evidence import change
from fathom.run.bisect.outcomes import (
    SIDES,
    Answer,
    Item,
    Letter,
    Named,
    Probe,
    answers_distance,
    numbers_distance,
    texts_distance,
)
from fathom.run.bisect.prompts import distances
from fathom.tokens.length import format_length

WHOLE = 0.9
"""Share of the expected tokens from which a prompt has arrived whole."""
OTHER_RATE = 0.03
"""Difference between token counts that only another tokenizer makes."""
LOST = 0.25
"""Share of code words that a side must find less often, to have lost some."""
SMALL_NATS, LARGE_NATS = 0.25, 0.7
"""Mean differences of log-probabilities: up to the first, numbers are computed less exactly; from the second on, by
other weights."""
GROWS = 1.8
"""How many times larger a difference is at the longest length than at the shortest, to grow with the length."""
LITTLE_IN_COMMON = 0.5
"""Share of the replies to the shortest prompts, after the first word that differs, that is no small difference."""
FINDS = 0.5
"""Share of the code words that a side finds at some length, to read prompts at all."""
EVENNESS = 0.2
"""Share of a distance by which a word may be elsewhere in tokens than was asked for."""
EXCEPTIONS, EXACT = 0.1, 0.02
"""Share of the places that may contradict a window: of replies that vary, which lose a word here and there, and of
others."""
UNSTEADY, UNSTEADY_ANSWERS = 0.5, 0.15
"""Share of prompts to which a side gives two texts, and of code words that it finds once, to be unsteady where the
other is not."""
_MARKS = ("<|", "|>", "[INST]", "[/INST]", "<s>", "</s>", "### ", "<start_of_turn>", "<end_of_turn>", "assistant\n")


@dataclass(frozen=True, slots=True)
class Observed:
    """Everything that a name is found from.

    Attributes:
        items: The prompts with code words that were sent twice to each side.
        single: Further prompts with code words, once to each side, by length.
        probes: Replies to facts and raw texts: by probe and number, one of each side.
        facts: What each side's server states of itself.
    """

    items: Sequence[Item]
    single: Mapping[int, Sequence[Mapping[Letter, Answer]]] = field(default_factory=dict)
    probes: Mapping[tuple[Probe, int, int], Mapping[Letter, Answer]] = field(default_factory=dict)
    facts: Mapping[Letter, Mapping[str, object]] = field(default_factory=dict)

    @property
    def lengths(self) -> list[int]:
        """All lengths, from the shortest."""
        return sorted({*(item.length for item in self.items), *self.single})

    def answers(self, side: Letter, length: int) -> list[Answer]:
        """The replies of a side at a length, without those from its cache."""
        own = [answer for item in self.items if item.length == length for answer in item.cold[side]]
        return own + [pair[side] for pair in self.single.get(length, ())]

    def pairs(self, length: int) -> list[tuple[Answer, Answer]]:
        """Replies of A and of B to the same characters."""
        own = [
            (item.cold["A"][turn], item.cold["B"][turn])
            for item in self.items
            if item.length == length
            for turn in (0, 1)
        ]
        return own + [(pair["A"], pair["B"]) for pair in self.single.get(length, ())]

    def recall(self, side: Letter, length: int) -> float:
        """The share of code words that a side finds at a length."""
        return mean(answer.recall for answer in self.answers(side, length))

    def counted(self, side: Letter, length: int) -> int | None:
        """Tokens of a prompt of a length as a side counts them, the usual one; None if it does not."""
        counts = [answer.tokens_in for answer in self.answers(side, length) if answer.tokens_in is not None]
        return int(median(counts)) if counts else None

    def of_probe(self, probe: Probe) -> list[Mapping[Letter, Answer]]:
        """The pairs of replies to a probe that both sides answered."""
        pairs = [pair for (name, _, _), pair in self.probes.items() if name == probe]
        return [pair for pair in pairs if all(pair[side].status == "ok" for side in SIDES)]


def other(side: Letter) -> Letter:
    """The other side."""
    return "B" if side == "A" else "A"


def name(seen: Observed) -> Named:
    """The name of a difference between A and B; one without a fault if none fits."""
    for find in _FINDERS:
        if (named := find(seen)) is not None:
            return named
    return Named(
        "",
        because=("the replies differ, and what was seen fits no fault that has a name here",),
        next=("Read the replies beside each other in the page", "Give --requests more, for more prompts"),
    )


# ------------------------------------------------------------------------------------------------------ token counts


def _refused(seen: Observed) -> Named | None:
    """A window that is smaller on one side, which says so."""
    for side in SIDES:
        statuses = {length: {answer.status for answer in seen.answers(side, length)} for length in seen.lengths}
        theirs = {length: {answer.status for answer in seen.answers(other(side), length)} for length in seen.lengths}
        late = [length for length in seen.lengths if "overflow" in statuses[length] and "ok" in theirs[length]]
        if late:
            fits = [length for length in seen.lengths if length < late[0]]
            return Named(
                "smaller window",
                side,
                "stack",
                (f"{side} refuses prompts of {format_length(late[0])} as too long, {other(side)} answers them",)
                + ((f"{side} answers {format_length(fits[-1])}",) if fits else ()),
                (f"Give {side} the window of {other(side)} (--max-model-len, -c, --context-length)",),
            )
        failing = [length for length in seen.lengths if statuses[length] == {"error"} and "ok" in theirs[length]]
        if failing:
            why = next((answer.error for answer in seen.answers(side, failing[0]) if answer.error), "no reason given")
            return Named(
                "failing requests",
                side,
                "stack",
                (f"{side} does not answer prompts of {format_length(failing[0])}: {why}",),
                (f"Read the log of {side}: memory, timeouts, a proxy between", "fathom doctor says more"),
            )
    return None


def _cut(seen: Observed) -> Named | None:
    """A prompt of which one side counts fewer tokens from a length on: its rate is that of the shorter lengths."""
    for side in SIDES:
        counts = [
            (length, own, theirs)
            for length in seen.lengths
            if (own := seen.counted(side, length)) and (theirs := seen.counted(other(side), length))
        ]
        if len(counts) < 2 or _steady_rate(counts):
            continue
        # The overhead of a template is a constant; a tokenizer that counts in other steps shows at every length.
        added = counts[0][1] - counts[0][2]
        cut = [(length, own) for length, own, theirs in counts[1:] if own < WHOLE * (theirs + added)]
        if not cut:
            continue
        length, arrived = cut[0]
        places = _lost_places(seen, side, cut[-1][0])
        where = f", {places} of it is lost" if places else ""
        return Named(
            "cut prompt",
            side,
            "stack",
            (
                f"of a prompt of {format_length(length)}, {side} counts {arrived:,} tokens and {other(side)} "
                f"{seen.counted(other(side), length) or 0:,}{where}; shorter ones arrive whole",
            ),
            (
                f"Look for a window or a truncation in front of {side}: its server's context size, a proxy, a client "
                "that truncates",
                f"fathom doctor on {side} finds the exact size",
            ),
        )
    return None


def _steady_rate(counts: Sequence[tuple[int, int, int]]) -> bool:
    """Whether one side counts the same multiple of the tokens of the other, at all lengths but the shortest."""
    rates = [own / theirs for _, own, theirs in counts[1:]]
    return max(rates) - min(rates) < OTHER_RATE


def _lost_places(seen: Observed, side: Letter, length: int) -> str:
    """Which part of the prompts one side does not read: the beginning, the middle or the end; "" if no part."""
    lost = [place < 0.5 for place in _by_place(seen, side, length)]
    theirs = [place >= 0.5 for place in _by_place(seen, other(side), length)]
    lost = [gone and kept for gone, kept in zip(lost, theirs, strict=False)]
    if not any(lost) or all(lost):
        return ""
    return "the beginning" if lost[0] else "the end" if lost[-1] else "the middle"


def _by_place(seen: Observed, side: Letter, length: int) -> list[float]:
    """The share of prompts of which a side finds each code word, from the beginning to the end."""
    answers = [answer.found for answer in seen.answers(side, length) if answer.found]
    return [mean(places) for places in zip(*answers, strict=False)]


def _tokenizer(seen: Observed) -> Named | None:
    """Token counts that grow at another rate: another tokenizer, so another model."""
    counts = [(length, seen.counted("A", length), seen.counted("B", length)) for length in seen.lengths]
    known = [(length, a, b) for length, a, b in counts if a and b]
    if len(known) < 2:
        return None
    (_, a1, b1), (length, a2, b2) = known[0], known[-1]
    if a2 - a1 <= 0 or abs((b2 - b1) / (a2 - a1) - 1) <= OTHER_RATE:
        return None
    because = f"the same prompts of {format_length(length)} are {a2:,} tokens for A and {b2:,} for B: other tokenizers"
    return Named("another model", "", "model", (because, *_identity(seen)), _OTHER_MODEL)


# --------------------------------------------------------------------------------------- without a long text already

_OTHER_MODEL = (
    "Compare the checkpoints that both servers load: name, revision, hash of the files",
    "Check that a router or gateway does not send the name to another model",
)


def _identity(seen: Observed) -> tuple[str, ...]:
    """What both servers state of the checkpoint, where it differs."""
    a, b = (seen.facts.get(side, {}) for side in SIDES)
    differing = [fact for fact in ("model", "weights", "parameters", "bytes") if fact in a and fact in b]
    return tuple(f"A states {fact} {a[fact]}, B {b[fact]}" for fact in differing if a[fact] != b[fact])


_UNSTEADY_NEXT = (
    "Check that it gets temperature 0: some servers and gateways set their own (generation_config.json)",
    "If it does, requests are batched in other ways: try one at a time, or a batch-invariant mode",
)


def _unsteady(seen: Observed) -> Named | None:
    """One side that gives other replies to the same prompt, and another that does not."""
    for distance, least, what in (
        (texts_distance, UNSTEADY, "gives another text"),
        (answers_distance, UNSTEADY_ANSWERS, "finds other code words"),
    ):
        noise = {side: mean([distance(*item.cold[side]) for item in seen.items] or [0.0]) for side in SIDES}
        side: Letter = max(SIDES, key=noise.__getitem__)
        if noise[side] >= least and noise[other(side)] <= noise[side] / 3:
            words = f"asked again, {side} {what} in {noise[side]:.0%} of all cases, {other(side)} in"
            return Named("sampling", side, "harness", (f"{words} {noise[other(side)]:.0%}",), _UNSTEADY_NEXT)
    return None


def _short(seen: Observed) -> Named | None:
    """Replies that differ at the shortest length too: another template, other weights, or other numbers."""
    shortest = seen.lengths[0]
    apart = _apart(seen, shortest)
    raw, facts = seen.of_probe("raw"), seen.of_probe("facts")
    same_raw = bool(raw) and all(_alike(pair) for pair in raw)
    a, b = seen.counted("A", shortest), seen.counted("B", shortest)
    added = _added_tokens(seen)
    marks = {side: sum(_marked(pair[side].text, pair[other(side)].text) for pair in facts) for side in SIDES}
    talks = {side: sum(not pair[side].ended and pair[other(side)].ended for pair in facts) for side in SIDES}
    leaking = next((side for side in SIDES if marks[side] or (talks[side] > len(facts) / 2)), None)
    if added and apart:
        because = [
            f"A counts {a:,} tokens for the shortest prompts and B {b:,}; the difference is the same at any length"
        ]
        because += ["without a chat template both continue texts alike"] if same_raw else []
        because += [f"replies of {leaking} hold marks of a template or do not end"] if leaking else []
        return _template(leaking or "", because)
    if same_raw and (apart or leaking) and _apart_facts(facts):
        return _template(leaking or "", ["without a chat template both continue texts alike, with one they do not"])
    if leaking and not raw and _apart_facts(facts):
        return _template(leaking, [f"replies of {leaking} hold marks of a template or do not end"])
    wrong = _apart_facts(facts)
    if not apart and not wrong:
        return None
    nats = [gap for pair in raw if (gap := numbers_distance(pair["A"], pair["B"])) is not None]
    far = bool(nats) and mean(nats) >= LARGE_NATS
    identity = _identity(seen)
    loses = abs(seen.recall("A", shortest) - seen.recall("B", shortest)) >= LOST
    if far or wrong or identity or (loses and not nats):
        because = [f"replies differ at {format_length(shortest)} already", *identity]
        because += [f"facts are answered otherwise ({_texts_of(facts)})"] if wrong else []
        because += [f"without a chat template log-probabilities differ by {mean(nats):.2f} nats"] if far else []
        return Named("another model", "", "model", tuple(because), _OTHER_MODEL)
    return None


def _template(side: Letter | Literal[""], because: Sequence[str]) -> Named:
    return Named(
        "wrong template",
        side,
        "harness",
        tuple(because),
        (
            "Compare the chat templates of both (tokenizer_config.json, --chat-template), and the system prompt that "
            "they add",
            "Ask both with --chat-template never: without a template they should agree",
        ),
    )


def _added_tokens(seen: Observed) -> int:
    """Tokens that one side counts more, the same at two lengths or more; 0 if none."""
    gaps = [
        own - theirs
        for length in seen.lengths
        if (own := seen.counted("A", length)) is not None and (theirs := seen.counted("B", length)) is not None
    ]
    return gaps[0] if len(gaps) > 1 and gaps[0] and max(gaps[:2]) - min(gaps[:2]) <= 2 else 0


def _marked(text: str, theirs: str) -> bool:
    return any(mark in text and mark not in theirs for mark in _MARKS)


def _alike(pair: Mapping[Letter, Answer]) -> bool:
    gap = numbers_distance(pair["A"], pair["B"])
    return pair["A"].text == pair["B"].text or (gap is not None and gap < SMALL_NATS / 5)


def _apart_facts(pairs: Sequence[Mapping[Letter, Answer]]) -> bool:
    """Whether most facts get other texts."""
    return sum(pair["A"].text.strip() != pair["B"].text.strip() for pair in pairs) > len(pairs) / 2


def _texts_of(pairs: Sequence[Mapping[Letter, Answer]]) -> str:
    pair = next(pair for pair in pairs if pair["A"].text.strip() != pair["B"].text.strip())
    return f"A: {pair['A'].text.strip()[:40]!r}, B: {pair['B'].text.strip()[:40]!r}"


def _apart(seen: Observed, length: int) -> bool:
    """Whether replies of both sides differ at a length by more than those of one side among themselves."""
    items = [item for item in seen.items if item.length == length]
    for distance in (answers_distance, texts_distance):
        across = mean([distance(item.cold["A"][0], item.cold["B"][0]) for item in items] or [0.0])
        own = max(mean([distance(*item.cold[side]) for item in items] or [0.0]) for side in SIDES)
        if across > own + 1e-9 and across >= 0.05:
            return True
    return False


# ------------------------------------------------------------------------------------------- what long prompts lose


def _lost(seen: Observed) -> Named | None:
    """Code words that one side loses: all that are far back (a window), or all over the prompt (positions)."""
    for side in SIDES:
        losing = [n for n in seen.lengths if seen.recall(other(side), n) - seen.recall(side, n) >= LOST]
        if not losing or (losing[0] == seen.lengths[0] and seen.recall(side, losing[0]) == 0):
            continue
        window = _window(seen, side)
        if window is not None:
            kept, gone = window
            return Named(
                "sliding window",
                side,
                "stack",
                (
                    f"{side} finds what is up to {kept:,} tokens before the end and nothing from {gone:,} on, at every "
                    f"length; {other(side)} finds both, and both count all tokens of the prompt",
                ),
                (
                    f"Check whether {side} computes layers with sliding attention, or a cache that drops tokens "
                    "(sliding_window, --disable-sliding-window, attention sinks, KV eviction)",
                    "If its server counts tokens before it cuts, the same is seen: look for a truncation too",
                ),
            )
        if places := _region(seen, side, losing[-1]):
            return Named(
                "cut prompt",
                side,
                "stack",
                (f"{side} does not read {places} of prompts of {format_length(losing[-1])}, and all of shorter ones",),
                (f"Look for a truncation in front of {side}; its token counts are those before it",),
            )
        safe = [length for length in seen.lengths if length < losing[0]]
        until = f"up to {format_length(safe[-1])} both find as much; " if safe else ""
        shares = ", ".join(f"{format_length(n)} {seen.recall(side, n):.0%}" for n in losing)
        return Named(
            "wrong rope factor",
            side,
            "stack",
            (
                f"{until}from {format_length(losing[0])} on {side} loses words all over the prompt, near its end too "
                f"({shares}), and counts all its tokens",
            ),
            (
                f"Compare rope_scaling (type, factor, original_max_position_embeddings, theta) and the window with "
                f"which {side} was started (--rope-scaling, --rope-freq-scale, --hf-overrides) with the model's card",
            ),
        )
    return None


def _region(seen: Observed, side: Letter, length: int) -> str:
    """A part with sharp edges that one side does not read; "" if there is none."""
    own, theirs = _by_place(seen, side, length), _by_place(seen, other(side), length)
    lost = [gone <= 0.2 and kept >= 0.6 for gone, kept in zip(own, theirs, strict=False)]
    kept = [share >= 0.6 for share in own]
    edges = sum(first != second for first, second in pairwise(lost))
    if not any(lost) or not all(gone or stays for gone, stays in zip(lost, kept, strict=True)) or edges not in (1, 2):
        return ""
    return "the beginning" if lost[0] else "the end" if lost[-1] else "the middle"


def _window(seen: Observed, side: Letter) -> tuple[int, int] | None:
    """Tokens before the end up to which one side finds words, and from which on it finds none, at all lengths."""
    places: list[tuple[int, bool]] = []
    for length in seen.lengths:
        own, theirs = _by_place(seen, side, length), _by_place(seen, other(side), length)
        shares = zip(distances(length), own, theirs, strict=False)
        places += [(back, share >= theirs_share / 2) for back, share, theirs_share in shares if theirs_share >= 0.5]
    places.sort()
    if not places:
        return None
    # The threshold with the fewest exceptions.
    wrong = sum(not kept for _, kept in places[:1]) + sum(kept for _, kept in places[1:])
    best = (wrong, 0)
    for index, (_, kept) in enumerate(places[1:], 1):
        wrong += -1 if kept else 1
        best = min(best, (wrong, index))
    _, last = best
    beyond = places[last + 1 :]
    # Where words are in tokens is known up to the evenness of the text: close to the edge, they say nothing.
    edge = (places[last][0] + beyond[0][0]) / 2 if beyond else 0.0
    exceptions = sum(
        kept != (index <= last) for index, (back, kept) in enumerate(places) if abs(back - edge) > EVENNESS * edge
    )
    noise = mean(answers_distance(*item.cold[letter]) for item in seen.items for letter in SIDES)
    if exceptions > (EXCEPTIONS if noise else EXACT) * len(places) or len(beyond) < 2 or places[last][0] == 0:
        return None
    # A length at which nothing is found, or everything, says nothing of a window.
    near = [kept for _, kept in places[: last + 1]]
    return (places[last][0], beyond[0][0]) if near.count(True) >= 2 else None


# ---------------------------------------------------------------------------------------- repetitions and numbers


def _repeats(seen: Observed) -> Named | None:
    """One side whose replies change when the prompt is repeated."""
    changes = [change(item) for item in seen.items]
    for side, sign in (("A", 1), ("B", -1)):
        letter: Letter = "A" if side == "A" else "B"
        if changes.count(sign) >= 3 and changes.count(-sign) <= changes.count(sign) / 4:
            return Named(
                "prefix-cache corruption",
                letter,
                "stack",
                (
                    f"{side} changes its reply when {several(changes.count(sign), 'prompt')} of {len(changes)} are "
                    f"repeated and the cache may have them; {other(letter)} does not",
                ),
                (
                    f"Start {side} without its prefix cache (--no-enable-prefix-caching, --disable-radix-cache, "
                    "--cache-reuse 0) and compare again",
                    "Then look at block hashes, offloading and speculative decoding, which share the cache",
                ),
            )
    return None


def _numbers(seen: Observed) -> Named | None:
    """Small differences of log-probabilities or texts, with the same answers.

    Texts that have little in common, or that no code word was found for, are no small difference.
    """
    gaps = {length: mean(nats) for length in seen.lengths if (nats := _nats(seen.pairs(length)))}
    texts = {length: mean(_tail(*pair) for pair in seen.pairs(length)) for length in seen.lengths}
    if not gaps and not any(texts.values()):
        return None
    finds = any(seen.recall(side, length) >= FINDS for side in SIDES for length in seen.lengths)
    if not gaps and (texts[min(texts)] >= LITTLE_IN_COMMON or not finds):
        return None
    shares = gaps or texts
    shortest, longest = min(shares), max(shares)
    unit = "nats" if gaps else "of the texts"
    shown = ", ".join(f"{format_length(length)} {gap:.3f}" for length, gap in shares.items())
    raw = [gap for pair in seen.of_probe("raw") if (gap := numbers_distance(pair["A"], pair["B"])) is not None]
    grows = shares[longest] >= GROWS * max(shares[shortest], 0.001)
    if grows and max(gaps.values(), default=0.0) < LARGE_NATS:
        return Named(
            "cache precision",
            "",
            "stack",
            (
                f"{'the same words are found, and ' if finds else ''}replies differ by small amounts that grow with "
                f"the length ({shown} {unit})",
            ),
            (
                "Compare the types of keys and values in the cache (--kv-cache-dtype, -ctk, -ctv): fp8 or q4 against "
                "the model's own",
                "Whether the loss matters: fathom run on both, then fathom gate",
            ),
        )
    if grows:
        return Named(
            "wrong rope factor",
            "",
            "stack",
            (f"log-probabilities differ by much, and more with the length ({shown} nats)",),
            ("Compare rope_scaling, theta and the window of both servers with the model's card",),
        )
    far = max(gaps.values(), default=0.0) >= LARGE_NATS
    if far and (not raw or mean(raw) >= SMALL_NATS):
        return Named(
            "another model",
            "",
            "model",
            (f"log-probabilities differ by much at every length ({shown} nats)", *_identity(seen)),
            _OTHER_MODEL,
        )
    if far:
        return None
    return Named(
        "weights precision",
        "",
        "model",
        (f"replies differ by small amounts, at every length alike ({shown} {unit})", *_identity(seen)),
        (
            "Compare the quantisation of the weights, then the kernels (attention backend, tensor parallelism)",
            "Whether the loss matters: fathom run on both, then fathom gate",
        ),
    )


def _nats(pairs: Sequence[tuple[Answer, Answer]]) -> list[float]:
    return [gap for pair in pairs if (gap := numbers_distance(*pair)) is not None]


def _tail(first: Answer, second: Answer) -> float:
    """The share of a reply from the first word on that another one has otherwise."""
    words, others = first.text.split(), second.text.split()
    same = next((at for at, pair in enumerate(zip(words, others, strict=False)) if pair[0] != pair[1]), None)
    most = max(len(words), len(others), 1)
    return 1 - (min(len(words), len(others)) if same is None else same) / most


_FINDERS: tuple[Callable[[Observed], Named | None], ...] = (
    *(_refused, _cut, _tokenizer, _unsteady, _short, _lost, _repeats, _numbers),
)
