"""The window that rules a run: which of those that are known it is, and what happens to prompts beyond it."""

from __future__ import annotations

from dataclasses import dataclass

from fathom.run.model import Client, Settings
from fathom.run.overflow import Overflow
from fathom.run.prices import Price

TRUNCATION = "truncation length"
"""Where a limit is known from that holds for the prompt alone."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The window that rules a run, and who cuts.

    Attributes:
        window: Tokens; None if unknown.
        source: Where it is known from: ``--window``, ``reader``, ``TRUNCATION``, ``table of models`` or ``price
            table``; "" if unknown.
        policy: What happens beyond it.
        by_client: Whether the client cuts itself, and then the reply takes no room in the window.
    """

    window: int | None
    source: str
    policy: Overflow
    by_client: bool = False

    @property
    def of_prompts(self) -> bool:
        """Whether prompts may take all of it, because replies have room of their own."""
        return self.by_client or self.source == TRUNCATION

    def budget(self, cap: int) -> int | None:
        """Prompt tokens that fit beside a reply of ``cap`` tokens; None if the window is unknown."""
        return None if self.window is None else self.window if self.of_prompts else self.window - cap


def find_limit(settings: Settings, client: Client, price: Price, known: int | None = None) -> Limit:
    """The window of a model: the user's, the client's own, the truncation length, or that of a table.

    Args:
        settings: How the model is asked.
        client: Answers the prompts.
        price: The model's entry in the price table.
        known: The window in the table of models; None if that does not say.
    """
    if settings.window is not None:
        return Limit(settings.window, "--window", settings.on_overflow)
    if client.window is not None:
        return Limit(client.window, "reader", client.policy, by_client=True)
    if settings.thinking is not None and settings.thinking.truncation is not None:
        return Limit(settings.thinking.truncation, TRUNCATION, settings.on_overflow)
    if known is not None:
        return Limit(known, "table of models", settings.on_overflow)
    return Limit(price.window, "price table" if price.window else "", settings.on_overflow)
