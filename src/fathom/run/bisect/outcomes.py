"""What ``fathom bisect`` asks, what comes back, and how replies to one prompt differ: values and pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fathom.printing import readable

Letter: TypeAlias = Literal["A", "B"]
SIDES: tuple[Letter, Letter] = ("A", "B")
Probe: TypeAlias = Literal["words", "facts", "raw"]
Kind: TypeAlias = Literal["answers", "texts", "numbers", "repeats"]
"""What may differ: code words that are found, the text, the log-probabilities of its tokens, and what a repetition
from the prefix cache changes."""
KINDS: tuple[Kind, ...] = ("answers", "texts", "numbers", "repeats")
Decision: TypeAlias = Literal["PASS", "FAIL", "INCONCLUSIVE"]
Layer: TypeAlias = Literal["harness", "stack", "model", ""]

LEAST_NATS = 0.002
"""Differences of log-probabilities below this are none."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One request.

    Attributes:
        side: Which of the two is asked.
        probe: ``words`` finds code words in a long prompt, ``facts`` asks for facts without one, ``raw`` continues a
            text without a chat template.
        length: Tokens of the prompt (fathom's tokenizer).
        draw: Number of the prompt of this length: another one has other code words.
        nonce: Number in the first line, so that a prefix cache has nothing of an earlier prompt; 0 for none.
        salt: Number that parts the caches of servers which take one; 0 for a request that may read from the cache.
        calibration: Whether nothing can be compared without an answer.
    """

    side: Letter
    probe: Probe
    length: int
    draw: int = 0
    nonce: int = 0
    salt: int = 0
    calibration: bool = False

    @property
    def key(self) -> str:
        """Its name in the folder."""
        return f"{self.side} {self.probe} {self.length} {self.draw} {self.nonce} {self.salt}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: ``ok``; ``overflow`` if the prompt was refused as too long; ``error``.
        text: The reply, with its reasoning.
        ended: Whether the model ended it, not the output cap.
        found: Whether each code word is in it, from the beginning of the prompt to its end; empty for other probes.
        tokens_in: Tokens of the prompt as the server counts them; None if it does not.
        cached: How many of them it had in its cache; None if it does not say.
        tokens: Tokens of the reply, where the server gives log-probabilities.
        logprobs: Their log-probabilities.
        error: Why there is no reply.
        reasons: Whether reasoning came with it.
    """

    status: Literal["ok", "overflow", "error"] = "ok"
    text: str = ""
    ended: bool = True
    found: tuple[bool, ...] = ()  # banned-name: the code words that are found
    tokens_in: int | None = None
    cached: int | None = None
    tokens: tuple[str, ...] = ()
    logprobs: tuple[float, ...] = ()
    error: str = ""
    reasons: bool = False

    @property
    def recall(self) -> float:
        """The share of the code words that it has; 0 for other probes."""
        return sum(self.found) / len(self.found) if self.found else 0.0


@dataclass(frozen=True, slots=True)
class Item:
    """The replies of both sides to one prompt.

    Attributes:
        length: Its tokens.
        draw: Its number.
        same_prompt: Whether both times it was sent with the same characters, and not with another number in front.
        cold: By side, the two replies that were computed afresh.
        warm: By side, the reply to a repetition that the cache may have.
    """

    length: int
    draw: int
    same_prompt: bool
    cold: Mapping[Letter, tuple[Answer, Answer]]
    warm: Mapping[Letter, Answer] = field(default_factory=dict)

    @property
    def loss(self) -> float:
        """The share of code words that A found minus that of B, from -1 to 1."""
        first, second = (sum(answer.recall for answer in self.cold[side]) / 2 for side in SIDES)
        return first - second


def answers_distance(first: Answer, second: Answer) -> float:
    """The share of code words that one reply has and the other lacks; 1 if only one is a reply.

    Whether the model ended its reply counts as another word.
    """
    if first.status != second.status:
        return 1.0
    places = [*zip(first.found, second.found, strict=False), (first.ended, second.ended)]
    return sum(mine != theirs for mine, theirs in places) / len(places)


def texts_distance(first: Answer, second: Answer) -> float:
    """1 if the texts differ, or the model ended only one of them."""
    return float((first.status, first.text, first.ended) != (second.status, second.text, second.ended))


def shared_tokens(first: Answer, second: Answer) -> int:
    """The number of tokens with which both replies begin, for log-probabilities; 0 without any."""
    count = 0
    for mine, theirs in zip(first.tokens, second.tokens, strict=False):
        if mine != theirs:
            break
        count += 1
    return count


def numbers_distance(first: Answer, second: Answer) -> float | None:
    """The mean difference of the log-probabilities of the tokens with which both begin; None without any.

    Where the first token differs already, that of each side's own token is compared.
    """
    if not first.logprobs or not second.logprobs:
        return None
    shared = max(1, shared_tokens(first, second))
    pairs = list(zip(first.logprobs[:shared], second.logprobs[:shared], strict=False))
    return sum(abs(mine - theirs) for mine, theirs in pairs) / len(pairs)


@readable
@dataclass(frozen=True, slots=True, repr=False)
class AtLength:
    """What was seen at one length.

    Attributes:
        length: Tokens of the prompts.
        prompts: Number of prompts.
        recall_a: Share of code words that A found.
        recall_b: Share of code words that B found.
        noise_a: Share of prompts to which A gave two texts.
        noise_b: Share of prompts to which B gave two texts.
        texts: Share of pairs of replies, one of A and one of B to the same characters, whose texts differ.
        nats: Mean difference of log-probabilities between A and B; None without any.
        tokens_a: Tokens of a prompt as A counts them; None if it does not.
        tokens_b: Tokens of a prompt as B counts them; None if it does not.
        p: Probability of as much evidence of a difference, at any look, if there is none (Holm over all lengths).
        different: Whether that is below the level.
    """

    length: int
    prompts: int
    recall_a: float
    recall_b: float
    noise_a: float
    noise_b: float
    texts: float
    nats: float | None
    tokens_a: int | None
    tokens_b: int | None
    p: float
    different: bool


@dataclass(frozen=True, slots=True)
class FirstDifference:
    """The first token that differs between replies to one prompt.

    Attributes:
        draw: Its number.
        token: Number of the token in the reply, from 1; of characters where the server gives no tokens.
        before: The end of the text that both have.
        a: What A writes next.
        b: What B writes next.
        logprob_a: Its log-probability by A; None if it is not given.
        logprob_b: Its log-probability by B; None if it is not given.
    """

    length: int
    draw: int
    token: int
    before: str
    a: str
    b: str
    logprob_a: float | None = None
    logprob_b: float | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """A name for what differs.

    Attributes:
        fault: Its name; "" if the evidence fits none.
        side: Which side has it; "" if that is not known.
        layer: ``harness`` (how it is asked), ``stack`` (the server and its settings), ``model`` (the weights).
        because: What was seen, one sentence each.
        next: What to try next, one sentence each.
    """

    fault: str
    side: Letter | Literal[""] = ""
    layer: Layer = ""
    because: tuple[str, ...] = ()
    next: tuple[str, ...] = ()


@readable
@dataclass(frozen=True, slots=True, repr=False)
class Bisection:
    """What ``fathom bisect`` found.

    Attributes:
        a: Name of A.
        b: Name of B.
        decision: ``FAIL``: they differ; ``PASS``: no difference, and one of the margin is excluded at each length;
            ``INCONCLUSIVE``.
        reason: Why, in a sentence.
        named: The name of the difference.
        evidence: 1/p that there is no difference at all, valid at any look.
        alpha: Level of the decision.
        margin: Largest accepted difference of the shares of code words that are found.
        low: Lower end of the 95% interval of A minus B, over all lengths, valid at any look.
        high: Its upper end.
        kinds: What differs, with the evidence of each kind.
        lengths: What was seen at each length.
        first: The first token that differs; None if none does.
        requests: Requests sent.
        tokens_in: Tokens of their prompts (fathom's tokenizer).
        notes: What a reader must know.
    """

    a: str
    b: str
    decision: Decision
    reason: str
    named: Named
    evidence: float
    alpha: float
    margin: float
    low: float
    high: float
    kinds: Mapping[Kind, float]
    lengths: tuple[AtLength, ...]
    first: FirstDifference | None
    requests: int
    tokens_in: int
    notes: Sequence[str] = ()
