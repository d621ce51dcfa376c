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
        served: Name of the model that answered as the server gives it, a space, and its fingerprint; "" if unknown.
        compacted: For each compaction by a system around the model, the characters of the prompt's text after what it
            took. Not stored: the facet ``compactions`` is.
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
    served: str = ""
    compacted: tuple[int, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether the reply can be scored: it has visible text, complete or truncated by its cap."""
        return self.status in ("ok", "incomplete") and bool(self.text.strip())


@dataclass(frozen=True, slots=True)
class Attempt:
    """One request to a model, whatever became of it.

    Attributes:
        prompt: What tells the prompts of a sample apart.
        outcome: Status of the reply, or kind of the failure.
        started: When it was sent, in seconds since the epoch.
        seconds: How long it took.
        tokens_in: Tokens of the prompt as the server counted them; None if it did not.
        tokens_out: Tokens of the reply; None if unknown.
        reached: Whether it may have reached a server.
    """

    prompt: str
    outcome: str
    started: float
    seconds: float
    tokens_in: int | None = None
    tokens_out: int | None = None
    reached: bool = True


@dataclass(frozen=True, slots=True)
class Row:
    """One scored reply in the results table, on which all analyses are based.

    This is the declaration of the columns: their names, types and defaults are those of every rows table, and the table
    of the reference is made of this text. See ``fathom.stats.outcomes`` for how rows count.

    Attributes:
        suite: Name of the suite, with part of its fingerprint if others of this name have other samples.
        task: Name of the task.
        item: Identifier of the question: the same at every length, depth and repeat.
        sample: Identifier of the prompt: the item at one length.
        model: Name of the model.
        length: Nominal length of the prompt in tokens; 0 for a question without context, or if it is unknown.
        value: Score from 0 to 1; None if there is none: the request failed, the prompt did not fit, or no judge has
            scored the reply.
        variant: Settings in which runs of one model differ; "" if there is one run.
        epoch: Number of the repeat, from 1.
        valid: Whether the reply has the requested form.
        status: How the request ended: ``ok``, ``overflow``, ``refused``, ``incomplete`` or ``error``.
        stop: Stop reason as the provider gives it; "" if unknown.
        answer: Answer that was extracted from the reply; None if there is none.
        target: Gold answer: one of several, or all its lines.
        language: Language of the question, as in ISO 639-1.
        chance: Expected score of a random valid answer, from 0 to 1; None if unknown.
        tokens: Tokens of the prompt in the suite's tokenizer; None if unknown.
        tokens_in: Tokens of the prompt as the provider counted them; None if unknown.
        tokens_out: Tokens of the reply as the provider counted them, reasoning included; None if unknown.
        tokens_reasoning: Tokens of the reasoning; None if unknown.
        truncated: Tokens (suite's tokenizer) removed from the prompt to make it fit; 0 if none.
        cost: Cost of the reply in US dollars; None if the price is unknown.
        seconds: Time from request to reply in seconds; None if unknown.
        metric: Name of the score.
        grader: What computed the score: a rule, or a judge with its rubric; "" if nothing did.
        rule: Scoring rule: ``strict``, ``official`` for the paper's, or that of another program.
        tokenizer: Name of the suite's tokenizer; "" if unknown.
        prompt_hash: First 16 hexadecimal digits of the prompt's SHA-256; "" if it was not sent, or unknown.
        source: Program or table that the row comes from.
        task_version: Version of the task; 0 if it is not installed.
        fathom_version: Version of fathom that asked the model; "" for other programs.
        detail: Why there is no score, or what the grader noted; "" if nothing.
        answered: Whether the reply has visible text; None if unknown.
        served: Name of the model that answered as its server gave it, a space, and its fingerprint; "" if unknown.
        asked_again: Requests for this reply beyond the first of each of its prompts: retries, and requests after one
            that failed or whose reply was deleted.
        facets: Anything else that results can be grouped by, such as ``depth`` or ``difficulty``; a JSON object in
            tables.
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
    served: str = ""
    asked_again: int = 0
    facets: Mapping[str, Facet] = field(default_factory=dict)
