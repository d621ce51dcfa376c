"""What to do with a prompt that is longer than the model's window: refuse it, or cut it in the open.

Cuts are made in the tokenizer of the suite, and the number of tokens removed goes into ``Reply.truncated``: nothing
is shortened in silence.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from fathom.tokens import Tokenizer
from fathom.types import FathomError

Overflow: TypeAlias = Literal["refuse", "middle", "left", "right"]
POLICIES: tuple[Overflow, ...] = ("refuse", "middle", "left", "right")
FATES: Mapping[Overflow, str] = {
    "refuse": "are not sent",
    "middle": "lose their middle",
    "left": "lose their beginning",
    "right": "lose their end",
}
"""What becomes of prompts that are too long, in words."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits, and how many tokens it lost for that."""

    prompt: str
    removed: int


def parse_policy(name: str, where: str) -> Overflow:
    """Read the name of an overflow policy.

    Args:
        name: ``refuse``, ``middle``, ``left`` or ``right``.
        where: What the user wrote it in, for the message.

    Raises:
        FathomError: The name is none of them.
    """
    for policy in POLICIES:
        if name == policy:
            return policy
    raise FathomError(f"{where}: unknown overflow policy {name!r}; expected one of {', '.join(POLICIES)}")


def fit(prompt: str, budget: int, policy: Overflow, tokenizer: Tokenizer) -> Fitted | None:
    """Cut a prompt to a budget.

    Args:
        prompt: The whole prompt.
        budget: Tokens that may be left, at least 1.
        policy: ``middle`` keeps the first and the last half of the budget (as LongBench does, section 4.1), ``left``
            drops the beginning, ``right`` drops the end, ``refuse`` cuts nothing.
        tokenizer: The tokenizer of the suite.

    Returns:
        The prompt of at most ``budget`` tokens and the number removed; None where the policy is to refuse.
    """
    tokens = tokenizer.count(prompt)
    if tokens <= budget:
        return Fitted(prompt, 0)
    if policy == "refuse":
        return None
    room = budget
    while room > 0:
        cut = _cut(prompt, room, policy, tokenizer)
        left = tokenizer.count(cut)
        if left <= budget:
            return Fitted(cut, tokens - left)
        # Two halves that meet can have a token more than the sum of their parts.
        room -= left - budget
    return Fitted("", tokens)


def _cut(prompt: str, tokens: int, policy: Overflow, tokenizer: Tokenizer) -> str:
    if policy == "left":
        return tokenizer.tail(prompt, tokens)
    if policy == "right":
        return tokenizer.head(prompt, tokens)
    first = (tokens + 1) // 2
    last = tokens - first
    return tokenizer.head(prompt, first) + (tokenizer.tail(prompt, last) if last else "")
