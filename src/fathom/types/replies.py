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
    """What came back for one sample.

    Attributes:
        status: How the request ended; how that counts is said in ``fathom.stats.outcomes``. A reply that was stopped at
            the output cap is ``incomplete``, whether or not it shows text, unless the task says that its cap is part of
            it (``Task.capped``).
        text: The reply without reasoning.
        reasoning: The reasoning text, if the model gave any.
        stop: Stop reason as the provider names it.
        tokens_in: Prompt tokens as the provider counts them; None if it does not say.
        tokens_out: Completion tokens, reasoning included; None if unknown.
        tokens_reasoning: Reasoning tokens; None if unknown.
        seconds: Time from request to reply.
        attempts: Requests made, 1 if none was retried.
        truncated: Tokens (suite's tokenizer) that the overflow policy removed from the prompt; 0 if none.
        error: Error message where ``status`` is not ``ok``.
        tokens_cached: Prompt tokens among ``tokens_in`` that came from the provider's cache; None if unknown.
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

    @property
    def answered(self) -> bool:
        """Whether the model said something that can be scored: a reply with visible text, whole or cut by its cap."""
        return self.status in ("ok", "incomplete") and bool(self.text.strip())


@dataclass(frozen=True, slots=True)
class Row:
    """One scored reply in the results table: the narrow waist between runs and everything after them.

    ``value`` is None where nothing could be scored: the request failed, the prompt did not fit, no judge has spoken;
    ``answered`` says whether the reply shows any text, None where that is not known; ``cost`` is in US dollars, None
    where no price is known; ``tokens_in`` is the provider's count and ``tokens`` the suite's own; ``detail`` says why
    there is no value, or what the grader remarked. How rows count is said in ``fathom.stats.outcomes``.
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
