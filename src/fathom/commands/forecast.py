"""Show what share of a suite's prompts a prefix cache will have, and what they cost with it."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.shared import Json
from fathom.options.declare import Read, arg, command, given, opt
from fathom.options.values import Tokens
from fathom.runfile.settings import Choice

if TYPE_CHECKING:
    from fathom.run.cache_forecast import CacheRow

CONNECTIONS = (1, 16)
"""Numbers of connections for which the forecast is made, by default."""
TIMES = (1, 4, 16)
"""Sizes of a server's cache, by default, in prompts of the longest length."""


def _numbers(given: Sequence[int | str] | int | str) -> tuple[int, ...]:
    from fathom.types import FathomError

    values = given.split(",") if isinstance(given, str) else [given] if isinstance(given, int) else list(given)
    if not all(str(value).strip().isdecimal() and int(value) > 0 for value in values):
        raise FathomError(f"expected numbers such as 1,16, found {given!r}")
    return tuple(map(int, values))


class ForecastOptions(Choice, Json):
    suite: Annotated[Path | str, arg("A built suite.")]
    _: KW_ONLY
    model: Annotated[
        str | None,
        opt(
            "The model of a provider, such as anthropic/NAME, for the rules and prices of its cache; by default a "
            "server such as vLLM.",
            "-m",
            metavar="PROVIDER/NAME",
        ),
    ] = None
    max_connections: Annotated[
        Read[Sequence[int | str] | int | str, tuple[int, ...]],
        opt("Requests in flight at once, for instance 1,16.", metavar="NUMBER,...", read=_numbers),
    ] = given(CONNECTIONS)
    cache: Annotated[
        Tokens,
        opt(
            "Tokens that the server's cache holds, for instance 256k,1m; default: 1, 4 and 16 of the longest prompts.",
            flag="--cache-tokens",
        ),
    ] = given(None)


@command(ForecastOptions)
def forecast(options: ForecastOptions) -> "list[CacheRow]":
    """Show what share of a suite's prompts a prefix cache will have, and what they cost with it.

    Nothing is sent. Requests are in the order of `fathom run`, in which common prefixes meet, or in random order; the
    cache is that of a server, which drops what was not used for the longest time, or that of a model's provider. Output
    caps and window of a provider's model are those of a `fathom run` without further options.
    """
    from fathom.models.prices import UNKNOWN, Limit, find_limit
    from fathom.models.settings import Reasoning, Sampling
    from fathom.run.batches.open import share_of_price
    from fathom.run.cache_forecast import cache_table, provider_cache, server_cache, untruncated_samples
    from fathom.run.chosen import choose
    from fathom.run.preflight import Caps, output_caps
    from fathom.run.runner import task_cap
    from fathom.run.subset import members_of
    from fathom.suites.subsetfile import read_subset
    from fathom.suites.suitefile import open_suite
    from fathom.types import FathomError

    built = open_suite(Path(options.suite))
    only = members_of(read_subset(options.subset), built) if options.subset is not None else None
    choice = {name: getattr(options, name) for name in ("tasks", "lengths", "limit", "where")}
    prices, caches = [(False, UNKNOWN)], [server_cache(size) for size in options.cache or ()]
    limit = Limit(None, "", "refuse")
    caps: Caps = task_cap
    if options.model is not None:
        chosen = choose(options.model, Sampling(), Reasoning())
        settings, price = chosen.settings, chosen.price
        cache = provider_cache(settings, price)
        if cache is None:
            raise FathomError(
                f"model {options.model!r}: the price table says nothing of a cache (caches = TOKENS); leave out "
                "`model` for a server, or add the model to ~/.config/fathom/prices.toml"
            )
        limit = find_limit(settings, None, price)
        caps = output_caps(settings, price, task_cap)
        caches, prices = [cache], [(False, price), (True, price.in_batches(share_of_price(settings)))]
    elif not caches:
        longest = max((entry.tokens for entry in built.samples(**choice, only=only, parts=False)), default=1)
        caches = [server_cache(times * longest) for times in TIMES]
    asked = ((sample, options.epochs) for sample in built.samples(**choice, only=only))
    return cache_table(untruncated_samples(asked, limit, caps), caches, options.max_connections, prices)


def main(line: ForecastOptions) -> None:
    """Print a table, or JSON."""
    from fathom.options.terminal import print_json, print_records

    rows = forecast.body(line)
    if line.as_json:
        return print_json(rows)
    print_records([_table_row(row) for row in rows], denominator="none")


def _table_row(row: "CacheRow") -> dict[str, str]:
    cost = {} if row.cost_most is None else {"dollars": f"{row.cost_least:,.2f} to {row.cost_most:,.2f}"}
    cache = "the provider's" if row.cache is None else f"{row.cache:,}"
    return {
        "order": row.order,
        "connections": str(row.connections),
        "cache": cache,
        **({"sent": "in batches" if row.batch else "plainly"} if row.cost_most is not None else {}),
        "read": f"{row.read:.1%}",
        "written": f"{row.written:.1%}",
        **cost,
    }
