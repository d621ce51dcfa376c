"""Prices and windows of models: a dated table that users can extend, and the window that applies to a run."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from importlib.resources import files

from fathom.models.hugging_face import is_local
from fathom.models.local_model import starts_server
from fathom.models.overflow import Overflow
from fathom.models.protocol import Client, Settings, is_baseline, is_ray_vllm
from fathom.plugins.usertable import read_table, users_table
from fathom.types import FathomError, Reply

VARIABLE = "FATHOM_PRICES"

_DATE = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8})$")
TRUNCATION = "truncation length"
"""The source of a limit that applies to the prompt alone."""


@dataclass(frozen=True, slots=True)
class Price:
    """One entry of the table.

    Attributes:
        window: Tokens that the model holds, prompt and reply together; None if unknown.
        input: US dollars per million prompt tokens; None if unknown.
        output: US dollars per million completion tokens, reasoning included; None if unknown.
        cached: The same for prompt tokens read from the provider's cache; None for the normal price.
        write: The same for prompt tokens written to the provider's cache; None for the normal price.
        caches: Tokens from which the provider caches the beginning of a prompt; None if unknown.
        above: Prompt tokens from which ``input_above`` and ``output_above`` apply.
        input_above: Price of long prompts.
        output_above: Price of replies to long prompts.
        batch: Price of requests in batches as a share of the others; None if the entry does not say.
        batch_cached: Price of prompt tokens that a request in a batch reads from the cache; None for the normal price
            of batches.
        reasons: Whether the model reasons unless told not to.
        checked: Month in which the source was last checked.
        source: The provider's price page.
    """

    window: int | None = None
    input: float | None = None
    output: float | None = None
    cached: float | None = None
    write: float | None = None
    caches: int | None = None
    above: int | None = None
    input_above: float | None = None
    output_above: float | None = None
    batch: float | None = None
    batch_cached: float | None = None
    reasons: bool = False
    checked: str = ""
    source: str = ""

    def cost(
        self,
        tokens_in: int,
        tokens_out: int,
        tokens_cached: int = 0,
        longest: int | None = None,
        *,
        tokens_written: int = 0,
    ) -> float | None:
        """Price of one request, or of several.

        Args:
            tokens_in: Prompt tokens, all of them: those read from and written to the cache too.
            tokens_out: Completion tokens, reasoning included.
            tokens_cached: How many of ``tokens_in`` came from the provider's cache.
            longest: Tokens of the longest of several prompts, which decides what all cost at most; None for one prompt.
            tokens_written: How many of ``tokens_in`` were written to the provider's cache.

        Returns:
            US dollars, or None if the table has no price.
        """
        if self.input is None or self.output is None:
            return None
        read, written = self.input, self.output
        if self.above is not None and (tokens_in if longest is None else longest) > self.above:
            read, written = self.input_above or read, self.output_above or written
        cached = min(tokens_cached, tokens_in)
        stored = min(tokens_written, tokens_in - cached)
        # The prices of the cache are shares of that of prompt tokens, also where long prompts cost more.
        share = read / self.input if self.input else 0.0
        saved = 0.0 if self.cached is None else cached * (read - self.cached * share)
        added = 0.0 if self.write is None else stored * (self.write * share - read)
        return (tokens_in * read - saved + added + tokens_out * written) / 1_000_000

    @property
    def is_free(self) -> bool:
        """Whether requests cost nothing."""
        return self.input == 0 == self.output

    def in_batches(self, share: float) -> "Price":
        """The prices of requests in batches.

        Args:
            share: Their share of the others, if the entry does not say.

        Returns:
            Those of the entry. Prompt tokens from the cache cost as much as others unless it has a price for them,
            because the discounts do not add up at every provider.
        """
        share = share if self.batch is None else self.batch

        def part(price: float | None) -> float | None:
            return None if price is None else price * share

        return replace(
            self,
            input=part(self.input),
            output=part(self.output),
            cached=self.batch_cached,
            write=part(self.write),
            input_above=part(self.input_above),
            output_above=part(self.output_above),
        )


def price_range(least: float | None, most: float | None, checked: str = "") -> str:
    """What work may cost, in words: from ``least`` to ``most`` US dollars by prices looked up in a month."""
    if not most:
        return "free of charge" if most == 0 else "unknown price"
    return f"${least:,.2f} to ${most:,.2f}" + (f" (prices of {checked})" if checked else "")


def total_cost(costs: Iterable[float | None]) -> float | None:
    """The sum of costs; None if one of them is unknown."""
    known = list(costs)
    return None if None in known else sum(filter(None, known))


def shown_cost(cost: float | None) -> str:
    """What work has cost, in words."""
    return "unknown price" if cost is None else f"${cost:,.4f}"


def cost_of(reply: Reply, price: Price, tokens_in: int | None = None) -> float | None:
    """The cost of a reply.

    Args:
        price: The model's prices.
        tokens_in: Prompt tokens if the provider has not counted them; None if unknown.

    Returns:
        US dollars; None if the price or the tokens are unknown.
    """
    if price.is_free:
        return 0.0
    read = tokens_in if reply.tokens_in is None else reply.tokens_in
    if read is None or reply.tokens_out is None:
        return None
    return price.cost(read, reply.tokens_out, reply.tokens_cached or 0, tokens_written=reply.tokens_written or 0)


FREE = Price(input=0.0, output=0.0)
UNKNOWN = Price()


def find_price(model: str, base_url: str | None = None) -> Price:
    """The entry of a model.

    Args:
        model: Name as ``fathom run --model`` takes it.
        base_url: Address of a server other than the provider's; only the user's own table then applies.

    Returns:
        The entry; ``FREE`` for offline baselines and models that this machine or a cluster computes; ``UNKNOWN``
        if the table has none.

    Raises:
        FathomError: A price file of the user cannot be read.
    """
    if is_baseline(model):
        return FREE
    table = _users() if base_url is not None else price_table()
    return (
        table.get(model)
        or table.get(_DATE.sub("", model))
        or (FREE if is_local(model) or is_ray_vllm(model) or starts_server(model) else UNKNOWN)
    )


def price_table() -> dict[str, Price]:
    """All entries by model name, the user's own before the built-in ones.

    Raises:
        FathomError: A price file of the user cannot be read.
    """
    return {**_built_in(), **_users()}


@cache  # asked several times for a run
def _built_in() -> Mapping[str, Price]:
    return read_table(files("fathom.models").joinpath("prices.toml").read_text("utf-8"), "prices.toml", _entry)


def _users() -> dict[str, Price]:
    return users_table(VARIABLE, "prices.toml", _entry)


def _entry(entry: object, where: str) -> Price:
    if not isinstance(entry, Mapping):
        raise FathomError(f'{where}: expected a table, as ["openai/my-model"]')
    texts = {"checked", "source"}
    known = {field.name for field in fields(Price)}
    for name, value in entry.items():
        if name not in known:
            raise FathomError(f"{where}: unknown field {name!r}; expected one of {', '.join(sorted(known))}")
        wanted: type | tuple[type, ...] = str if name in texts else bool if name == "reasons" else (int, float)
        if not isinstance(value, wanted) or (name != "reasons" and isinstance(value, bool)):
            raise FathomError(f"{where}: {name} = {value!r}: expected a {'text' if name in texts else 'number'}")
        if isinstance(value, int | float) and value < 0:
            raise FathomError(f"{where}: {name} = {value!r} is negative")
    if ("input" in entry) != ("output" in entry):
        raise FathomError(f"{where}: give input and output prices together")
    return Price(**entry)


@dataclass(frozen=True, slots=True)
class Limit:
    """The window that applies to a run, and who truncates.

    Attributes:
        window: Tokens; None if unknown.
        source: Source of the window: ``--window``, ``baseline``, ``TRUNCATION``, ``table of models``, ``price
            table`` or ``configuration`` (of a model in this process); "" if unknown.
        policy: What happens to longer prompts.
        by_client: Whether the client truncates, in which case the reply takes no room in the window.
    """

    window: int | None
    source: str
    policy: Overflow
    by_client: bool = False

    @property
    def of_prompts(self) -> bool:
        """Whether prompts may fill all of it, because replies have their own limit."""
        return self.by_client or self.source == TRUNCATION

    def budget(self, cap: int) -> int | None:
        """Prompt tokens that leave room for a reply of ``cap`` tokens; None if the window is unknown."""
        return None if self.window is None else self.window if self.of_prompts else self.window - cap


def find_limit(
    settings: Settings, client: Client | None, price: Price, known: int | None = None, own: int | None = None
) -> Limit:
    """The window of a model: the user's, the client's own, the truncation length, or that of a table.

    Args:
        settings: How the model is asked.
        client: Answers the prompts; None for a model that a provider computes, whose client truncates nothing.
        price: The model's entry in the price table.
        known: The window in the table of models; None if unknown.
        own: The window by the configuration of a model in this process; None if unknown.
    """
    if settings.window is not None:
        return Limit(settings.window, "--window", settings.on_overflow)
    if client is not None and client.window is not None:
        return Limit(client.window, "baseline", client.policy, by_client=True)
    if settings.thinking is not None and settings.thinking.truncation is not None:
        return Limit(settings.thinking.truncation, TRUNCATION, settings.on_overflow)
    if known is not None:
        return Limit(known, "table of models", settings.on_overflow)
    if price.window is not None:
        return Limit(price.window, "price table", settings.on_overflow)
    return Limit(own, "configuration" if own else "", settings.on_overflow)
