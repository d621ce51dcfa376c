"""Replies, and rows: replies with their scores."""

from __future__ import annotations  # fathom.rows.schema reads the types of Row as they are written

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from fathom.types.common import Facet

Status: TypeAlias = Literal["ok", "overflow", "refused", "incomplete", "error"]
STATUSES: tuple[Status, ...] = ("ok", "overflow", "refused", "incomplete", "error")


@dataclass(frozen=True, slots=True)
class Reply:
    """A model's reply to one sample.

    Attributes:
        status: How the request ended; see ``fathom.stats.outcomes`` for how it counts. A reply stopped at the output
            cap is ``incomplete``, with or without text, unless the cap is part of the task (``Task.capped``).
        text: The reply without reasoning.
        reasoning: The reasoning text, if any.
        stop: Stop reason as given by the provider.
        tokens_in: Prompt tokens as counted by the provider; None if unknown.
        tokens_out: Completion tokens, reasoning included; None if unknown.
        tokens_reasoning: Reasoning tokens; None if unknown.
        seconds: Time from request to reply.
        attempts: Requests made, 1 without retries.
        truncated: Tokens (suite's tokenizer) removed from the prompt by the overflow policy; 0 if none.
        error: Error message if ``status`` is not ``ok``.
        tokens_cached: Prompt tokens among ``tokens_in`` that came from the provider's cache; None if unknown.
        tokens_written: Prompt tokens among ``tokens_in`` that were written to the cache for a price; None if unknown.
            Not stored: the cost, which is stored, has them.
    """

    status: Status
    text: str = ""
    reasoning: str = ""
    stop: str = ""
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    seconds: float = 0.0
    attempts: int = 1
    truncated: int = 0
    error: str = ""
    tokens_cached: int | None = None
    tokens_written: int | None = None

    @property
    def answered(self) -> bool:
        """Whether the reply can be scored: it has visible text, complete or truncated by its cap."""
        return self.status in ("ok", "incomplete") and bool(self.text.strip())


@dataclass(frozen=True, slots=True)
class Row:
    """One scored reply in the results table, on which all analyses are based.

    ``value`` is None if nothing could be scored: the request failed, the prompt did not fit, or no judge has scored it;
    ``answered`` says whether the reply has text, None if unknown; ``cost`` is in US dollars, None if the price is
    unknown; ``tokens_in`` is the provider's count and ``tokens`` the suite's; ``detail`` says why there is no value, or
    gives the grader's comment. See ``fathom.stats.outcomes`` for how rows count.
    """

    suite: str
    task: str
    item: str
    sample: str
    model: str
    length: int
    value: float | None
    variant: str = ""
    epoch: int = 1
    valid: bool = False
    status: Status = "ok"
    stop: str = ""
    answer: str | None = None
    target: str = ""
    language: str = "en"
    chance: float | None = None
    tokens: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    tokens_reasoning: int | None = None
    truncated: int = 0
    cost: float | None = None
    seconds: float | None = None
    metric: str = ""
    grader: str = ""
    rule: str = "strict"
    tokenizer: str = ""
    prompt_hash: str = ""
    source: str = "fathom"
    task_version: int = 1
    fathom_version: str = ""
    detail: str = ""
    answered: bool | None = None
    facets: Mapping[str, Facet] = field(default_factory=dict)
