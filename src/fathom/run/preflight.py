"""Forecasts a run before its first request: requests, tokens, cost, and prompts that do not fit."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from fathom.models.model_settings import reasoning_settings
from fathom.models.overflow import EFFECTS, Overflow
from fathom.models.prices import TRUNCATION, Limit, Price, price_range
from fathom.models.protocol import Settings
from fathom.models.request_mode import PLAIN, RequestModes
from fathom.models.settings import Limits
from fathom.printing import several
from fathom.run.cache_forecast import Cached
from fathom.run.engine import check_cost, check_limit
from fathom.run.systems import Forecasted, System
from fathom.tokens.length import format_length
from fathom.types import FathomError, Sample

# Reasoning counts against the output cap: reasoning models without a budget get this many tokens for it.
REASONING_ALLOWANCE = 16_384
# Tokens of a second request's prompt, which holds no document.
QUESTION = 1024
_MIN_SHOWN_SHARE = 0.01
"""Share of prompt tokens in a cache from which it is worth a line."""

Caps = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Forecast:
    """Requests of one length.

    Attributes:
        length: Budget of the prompts in tokens.
        requests: Requests still to be made, without those refused beforehand.
        tokens_in: Prompt tokens of these (suite's tokenizer), after truncation.
        tokens_out: Maximum tokens of their replies.
        beyond: Samples, times epochs, that exceed the window.
        cost_least: US dollars if replies are empty; None if the price is unknown.
        cost_most: US dollars if every reply reaches the cap.
    """

    length: int
    requests: int
    tokens_in: int
    tokens_out: int
    beyond: int
    cost_least: float | None
    cost_most: float | None

    def __str__(self) -> str:
        """One line."""
        cost = f", up to ${self.cost_most:,.2f}" if self.cost_most else ""
        beyond = f", {self.beyond:,} beyond the window" if self.beyond else ""
        asked = several(self.requests, "request")
        return f"{format_length(self.length):>6}: {asked}, {self.tokens_in:,} tokens in{cost}{beyond}"


@dataclass(frozen=True, slots=True)
class OpenBatches:
    """Requests of a run that are in batches already.

    Attributes:
        requests: Number of them.
        tokens: Their prompt tokens and the maximum tokens of their replies.
        cost_most: US dollars if every reply reaches the cap; None if the price is unknown.
    """

    requests: int
    tokens: int
    cost_most: float | None

    def __str__(self) -> str:
        """One line."""
        cost = f", up to ${self.cost_most:,.2f}" if self.cost_most else ""
        return f"{several(self.requests, 'request is', 'requests are')} in batches already{cost}"


@dataclass(frozen=True, slots=True)
class Preflight:
    """The forecast of a run.

    Attributes:
        model: The model's name.
        total: Replies that the run will have when finished.
        finished: Replies that it has already.
        lengths: One forecast per length, ascending.
        window: The model's window in tokens; None if unknown: nothing is then truncated or refused beforehand.
        window_from: Source of the window: see ``Limit``.
        on_overflow: What happens to prompts beyond the window.
        checked: Month in which the price was last checked; "" if no price is known.
        source: The provider's price page.
        thinking: Description of the thinking settings; "" for other runs.
        unverified: Why the suite's integrity cannot be verified; "" if it can.
        batches: How the requests are sent if they are sent in batches; "" for plain requests.
        under_way: What is in batches already; such requests are not among those still to be made.
        bounds: Whether requests and tokens are the most that a system around the model asks for.
        cached: What the provider's prompt cache is expected to save; None if fathom knows of none.
    """

    model: str
    total: int
    finished: int
    lengths: tuple[Forecast, ...]
    window: int | None
    window_from: str
    on_overflow: Overflow
    checked: str = ""
    source: str = ""
    thinking: str = ""
    unverified: str = ""
    batches: str = ""
    under_way: OpenBatches | None = None
    bounds: bool = False
    cached: Cached | None = None

    @property
    def requests(self) -> int:
        """Requests still to be made."""
        return sum(forecast.requests for forecast in self.lengths)

    @property
    def tokens_in(self) -> int:
        """Prompt tokens of these requests."""
        return sum(forecast.tokens_in for forecast in self.lengths)

    @property
    def tokens_out(self) -> int:
        """Maximum tokens of their replies."""
        return sum(forecast.tokens_out for forecast in self.lengths)

    @property
    def beyond(self) -> int:
        """Samples, times epochs, that exceed the window."""
        return sum(forecast.beyond for forecast in self.lengths)

    @property
    def cost_least(self) -> float | None:
        """US dollars if all replies are empty; None if the price is unknown."""
        return _sum(forecast.cost_least for forecast in self.lengths)

    @property
    def cost_most(self) -> float | None:
        """US dollars if all replies reach the cap and nothing is read from a cache; None if the price is unknown."""
        most = _sum(forecast.cost_most for forecast in self.lengths)
        return most if most is None or self.cached is None else most + self.cached.risk

    @property
    def overflow_note(self) -> str:
        """What happens to prompts that exceed the window; "" if none do."""
        if not self.beyond:
            return ""
        window = "" if self.window_from == TRUNCATION else "the window of "
        counted = " and count as overflow" if self.on_overflow == "refuse" else ""
        prompts = several(self.beyond, "prompt exceeds", "prompts exceed")
        return f"{prompts} {window}{self.window:,} tokens; such prompts {EFFECTS[self.on_overflow]}{counted}"

    def __str__(self) -> str:
        """All of it, and a line for each length."""
        price = price_range(self.cost_least, self.cost_most, self.checked)
        done = f"; {several(self.finished, 'reply exists', 'replies exist')} already" if self.finished else ""
        unknown = "the model's window is not known; give `window` to have prompts checked beforehand"
        most = "requests and tokens are the most that the system asks for" if self.bounds else ""
        sent = str(self.under_way) if self.under_way is not None else ""
        cached = str(self.cached) if self.cached is not None and self.cached.share >= _MIN_SHOWN_SHARE else ""
        window = self.overflow_note or (unknown if self.window is None and self.cost_most != 0 else "")
        return "\n  ".join(
            (
                f"{self.model}: {several(self.requests, 'request')}, {self.tokens_in:,} tokens in, at most "
                f"{self.tokens_out:,} out, {price}{done}",
                *filter(None, (self.batches, sent, self.thinking, self.unverified, *map(str, self.lengths))),
                *filter(None, (most, cached, window)),
            )
        )


def reasons(settings: Settings, price: Price) -> bool:
    """Whether a model is expected to reason: it is known to, or the settings ask for it."""
    if settings.thinking is not None:
        return settings.thinking.native
    return _reasoning_allowance(settings, price) > 0


def output_caps(settings: Settings, price: Price, task_cap: Caps) -> Caps:
    """The output cap of each task.

    Args:
        settings: How the model is asked.
        price: The model's entry, which says whether it reasons by default.
        task_cap: The task's own cap, for replies without reasoning.

    Returns:
        A function from task name to tokens: the user's cap if given, else the task's plus room for reasoning.
    """
    sent = sent_cap(settings, price)
    return lambda task: sent(task_cap(task))


def sent_cap(settings: Settings, price: Price) -> Callable[[int], int]:
    """The output cap that is sent, given the task's: the user's if given, else the task's plus room for reasoning."""
    fixed = settings.max_output_tokens
    if fixed is not None:
        return lambda own: fixed
    allowance = _reasoning_allowance(settings, price)
    return lambda own: own + allowance


def notes_cap(settings: Settings, price: Price) -> Callable[[int], int]:
    """The output cap that is sent for notes of so many tokens.

    The user's cap, which has room for reasoning, holds for notes of a model that reasons; it does not lengthen those of
    others.
    """
    fixed, reasoning = settings.max_output_tokens, reasons(settings, price)
    if fixed is not None and reasoning:
        return lambda notes: max(fixed, notes)
    allowance = _reasoning_allowance(settings, price)
    return lambda notes: notes + allowance if fixed is None else min(fixed, notes)


def _reasoning_allowance(settings: Settings, price: Price) -> int:
    # Caps with thinking include room for it, and those without need none.
    if settings.thinking is not None:
        return 0
    tokens = settings.generation.get("reasoning_tokens")
    if isinstance(tokens, int):
        return tokens
    effort = settings.generation.get("reasoning_effort")
    reasons = effort != "none" if effort is not None else _reasons_by_default(settings, price)
    return REASONING_ALLOWANCE if reasons else 0


def _reasons_by_default(settings: Settings, price: Price) -> bool:
    if settings.kind is not None:
        return settings.kind != "instruct"
    if settings.model_args.get("enable_thinking") is False:
        return False
    return price.reasons or reasoning_settings(settings.model) is not None


def forecast_run(
    pending: Iterable[tuple[Sample, int]],
    *,
    finished: int,
    model: str,
    limit: Limit,
    price: Price,
    caps: Caps,
    request_mode: RequestModes = lambda task: PLAIN,
    system: System | None = None,
) -> Preflight:
    """Forecast the remaining requests.

    Args:
        pending: Samples and how many of their epochs are still to be run.
        finished: Number of existing replies.
        model: The model's name.
        limit: The window.
        price: The model's prices.
        caps: Output cap by task name.
        request_mode: Request mode by task name. A second request is counted for every sample, with the longest first
            reply in its prompt.
        system: The system around the model, which keeps to the window by itself; what it asks at most is counted.

    Raises:
        FathomError: Prompts are to be truncated, but the window leaves no room for a prompt.
    """
    sums: dict[int, list[float]] = {}
    total = finished
    for sample, epochs in pending:
        total += epochs
        if not epochs:
            continue
        cap = caps(sample.task)
        budget = limit.budget(cap)
        beyond = budget is not None and sample.tokens > budget and system is None
        if beyond and limit.policy != "refuse" and budget is not None and budget < 1:
            raise FathomError(
                f"the window of {limit.window} tokens leaves no room for a prompt beside a reply of {cap} tokens "
                f"(task {sample.task}); lower `max_output_tokens` or check `window`"
            )
        sent = 0 if beyond and limit.policy == "refuse" else epochs
        tokens_in = max(0, budget) if beyond and budget is not None else sample.tokens
        replies = request_mode(sample.task).caps(cap)
        again = min(sample.tokens, cap + QUESTION) if len(replies) > 1 else 0
        whole = Forecasted(1, tokens_in, replies[0], tokens_in)
        first = whole if system is None else system.most(sample.tokens, replies[0], limit.window)
        requests, tokens_out = first.requests + len(replies) - 1, first.tokens_out + sum(replies[1:])
        least = price.cost(tokens_in if system is None else 0, 0)
        most = price.cost(first.tokens_in + again, tokens_out, longest=max(first.longest, again))
        row = sums.setdefault(sample.length, [0, 0, 0, 0, 0.0, 0.0])
        counts = (sent * requests, sent * (first.tokens_in + again), sent * tokens_out, epochs if beyond else 0)
        for index, value in enumerate((*counts, sent * (least or 0), sent * (most or 0))):
            row[index] += value
    priced = price.cost(1, 1) is not None
    forecasts = tuple(
        Forecast(length, *(int(value) for value in row[:4]), *(row[4:] if priced else (None, None)))
        for length, row in sorted(sums.items())
    )
    return Preflight(
        model=model,
        total=total,
        finished=finished,
        lengths=forecasts,
        window=limit.window,
        window_from=limit.source,
        on_overflow=limit.policy,
        checked=price.checked if priced else "",
        source=price.source if priced else "",
        bounds=system is not None,
    )


def check_budget(preflight: Preflight, limits: Limits, *, spent_tokens: int, spent_cost: float) -> None:
    """Check that a run's forecast stays within the user's limits.

    Args:
        spent_tokens: Tokens, prompts and replies, that the run has used so far.
        spent_cost: US dollars that it has cost so far.

    Raises:
        FathomError: The forecast exceeds a limit, or the price is unknown, so that the limit cannot be enforced.
    """
    tokens, advice = (
        spent_tokens + preflight.tokens_in + preflight.tokens_out,
        ", or run fewer samples with `limit` or `lengths`",
    )
    used = (
        f"the run would use up to {tokens:,} tokens ({spent_tokens:,} used, {preflight.tokens_in:,} input, at most "
        f"{preflight.tokens_out:,} output)"
    )
    check_limit(limits.max_tokens_total, tokens, used, advice)
    if preflight.requests:
        most = preflight.cost_most
        cost = None if most is None else spent_cost + most
        words = f"the run would cost up to ${cost or 0.0:,.2f} (${spent_cost:,.2f} spent)"
        check_cost(limits.max_cost, cost, preflight.model, words, advice)


def _sum(values: Iterable[float | None]) -> float | None:
    total = 0.0
    for value in values:
        if value is None:
            return None
        total += value
    return total
