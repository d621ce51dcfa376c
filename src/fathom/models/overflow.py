"""Handles prompts that exceed the model's window: refuses or truncates them.

Truncation uses the suite's tokenizer, and the number of removed tokens is recorded in ``Reply.truncated``.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import get_args

from fathom.tokens.tokenizers import Tokenizer
from fathom.types import FathomError
from fathom.types.choices import Overflow as Overflow

POLICIES: tuple[Overflow, ...] = get_args(Overflow)
EFFECTS: Mapping[Overflow, str] = {
    "refuse": "are not sent",
    "middle": "lose their middle",
    "left": "lose their beginning",
    "right": "lose their end",
}
"""What happens to prompts that are too long, for messages."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """A prompt that fits, and the number of tokens removed."""

    prompt: str
    removed: int


def parse_policy(name: str, where: str) -> Overflow:
    """Read the name of an overflow policy.

    Args:
        name: ``refuse``, ``middle``, ``left`` or ``right``.
        where: Where the user wrote it, for the message.

    Raises:
        FathomError: The name is unknown.
    """
    for policy in POLICIES:
        if name == policy:
            return policy
    raise FathomError(f"{where}: unknown overflow policy {name!r}; expected one of {', '.join(POLICIES)}")


def fit(prompt: str, budget: int, policy: Overflow, tokenizer: Tokenizer) -> Fitted | None:
    """Truncate a prompt to a budget.

    Args:
        prompt: The whole prompt.
        budget: Maximum number of tokens, at least 1.
        policy: ``middle`` keeps the first and the last half of the budget (as in LongBench, section 4.1), ``left``
            drops the beginning, ``right`` drops the end, ``refuse`` truncates nothing.
        tokenizer: The tokenizer of the suite.

    Returns:
        The prompt of at most ``budget`` tokens and the number removed; None if the policy is ``refuse``.
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
        # Two joined halves can have one token more than the sum of their tokens.
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
