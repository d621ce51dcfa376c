"""What a setup takes for a reply: tokens, dollars, seconds; and which setups are worth what they take."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from fathom.models.prices import find_price
from fathom.models.protocol import BASELINES
from fathom.stats.columns import cluster_name, item_name
from fathom.stats.intervals import Floats, Interval, clusters_of, interval_of, resampled_means
from fathom.stats.outcomes import MISSING_AT_MOST
from fathom.types import FathomError

QUANTITIES = ("tokens_in", "tokens_out", "tokens", "cost", "seconds")


@dataclass(frozen=True, slots=True)
class Amount:
    """The mean of an amount over items.

    Attributes:
        mean: Mean of a reply, an item's replies averaged first.
        interval: Its 95% interval.
    """

    mean: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class Spent:
    """What a reply took on average; None where it is unknown for more than 2% of the replies.

    Attributes:
        tokens_in: Tokens of the prompt.
        tokens_out: Tokens of the reply; None too for an offline baseline, which generates none.
        tokens: Both together; those of the prompt alone if ``tokens_out`` is unknown for every reply of the setup.
        cost: US dollars.
        seconds: Seconds of a request.
    """

    tokens_in: Amount | None = None
    tokens_out: Amount | None = None
    tokens: Amount | None = None
    cost: Amount | None = None
    seconds: Amount | None = None

    def comparable(self, other: "Spent") -> tuple[Amount | None, Amount | None]:
        """Tokens of both: with those of replies if both know them, of prompts alone otherwise."""
        if self.tokens_out is not None and other.tokens_out is not None:
            return self.tokens, other.tokens
        return self.tokens_in, other.tokens_in


NOTHING = Spent()


def spent_by(rows: pl.DataFrame, seed: int = 0) -> dict[tuple[str, int], Spent]:
    """What a reply took, by setup and length.

    Requests that failed and prompts that were not sent are left out.

    Args:
        rows: Rows of all setups. Where the provider's count of the prompt is unknown, that of the suite stands for it.
    """
    sent = rows.filter(~pl.col("status").is_in(["error", "overflow"])).with_columns(
        item_name(),
        cluster_name(),
        pl.col("cost", "seconds").fill_nan(None),
        tokens_in=pl.coalesce("tokens_in", pl.col("tokens") - pl.col("truncated")),
        generates=pl.col("tokens_out").is_not_null().any().over("model"),
    )
    sent = sent.with_columns(tokens=pl.col("tokens_in") + pl.when("generates").then("tokens_out").otherwise(0))
    parts = sent.partition_by("model", "length", as_dict=True)
    return {(str(model), int(length)): _spent(part, seed) for (model, length), part in parts.items()}


def _spent(part: pl.DataFrame, seed: int) -> Spent:
    known = [name for name in QUANTITIES if part[name].null_count() <= MISSING_AT_MOST * len(part)]
    if not known:
        return NOTHING
    items = part.group_by("task", "name").agg(pl.col(known).mean(), pl.col("cluster").first()).sort("task", "name")
    # An amount has no largest value that a pseudo-item could have.
    values: Floats = items.select(pl.col(known).cast(pl.Float64)).to_numpy()
    groups = items.select(pl.concat_str("task", "cluster", separator="\x1f")).to_series().to_list()
    draws = resampled_means(clusters_of(values, groups), seed, prior=0.0)
    means = np.nanmean(values, axis=0).tolist()
    return Spent(
        **{
            name: Amount(mean, interval_of(draws[:, column], mean))
            for column, (name, mean) in enumerate(zip(known, means, strict=True))
        }
    )


def prompt_tokens() -> pl.Expr:
    """Prompt tokens as the provider counted them; of a whole prompt without a count, those of the suite's tokenizer."""
    whole = pl.when(pl.col("variant") == "").then(pl.col("tokens") - pl.col("truncated"))
    return pl.coalesce("tokens_in", whole).alias("tokens_in")


def at_prices_of(rows: pl.DataFrame, model: str) -> pl.DataFrame:
    """Rows with the dollars that their tokens would cost at a model's prices, in place of their own.

    Where the provider did not count a whole prompt, the suite's count stands for it. Replies of offline baselines count
    nothing. No prompt is taken to be in a cache. A reply with unknown tokens has no cost.

    Args:
        model: Name in the price table.

    Raises:
        FathomError: The table has no price for it.
    """
    price = find_price(model)
    if price.input is None:
        raise FathomError(
            f"{model}: no price is known; name a model of the price table, or add it to ~/.config/fathom/prices.toml"
        )
    counted = rows.with_columns(
        prompt_tokens(),
        tokens_out=pl.coalesce("tokens_out", pl.when(pl.col("model").str.starts_with(BASELINES)).then(0)),
    )
    # A system sends several prompts, of which none is longer than the whole one.
    costs = [
        None if None in (read, written) else price.cost(read, written, longest=min(read, whole or read))
        for read, written, whole in counted.select("tokens_in", "tokens_out", "tokens").iter_rows()
    ]
    return counted.with_columns(cost=pl.Series(costs, dtype=pl.Float64))


def ratio(own: Amount | None, base: Amount | None) -> float | None:
    """The ratio of two means; None if one is unknown or the second is 0."""
    return own.mean / base.mean if own is not None and base is not None and base.mean > 0 else None


def frontier(points: Iterable[tuple[str, float, float]]) -> list[str]:
    """The names on the frontier: no other one has a score as high for less, or a higher one for as little.

    By point estimates, without regard to intervals.

    Args:
        points: Name, score and amount of each.
    """
    every = list(points)
    return [
        name
        for name, score, amount in every
        if not any(other >= score and less <= amount and (other > score or less < amount) for _, other, less in every)
    ]
