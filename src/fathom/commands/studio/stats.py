"""Samples, time and cost by state, sample or task."""

from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.shared import Json
from fathom.commands.studio.shared import STORE, Store, libraries, opened
from fathom.options.declare import at_least, command, opt

if TYPE_CHECKING:
    from fathom.studio.statistics import Effort


class StatsOptions(Json):
    store: Store = STORE
    by: Annotated[Literal["state", "sample", "task"], opt()] = "state"
    hourly: Annotated[
        float, opt("Price of an hour of people's time in US dollars.", metavar="DOLLARS", check=at_least(0))
    ] = 0.0


@command(StatsOptions)
def studio_stats(options: StatsOptions) -> "list[Effort]":
    """Samples, time and cost by state, sample or task.

    Time is what pages measured while somebody was at work, and counts for the state in which it was spent; cost of
    models is that of drafts and predictions, as far as known.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.statistics import efforts
    with opened(options.store) as store:
        return efforts(store, options.by, options.hourly)


def main(line: StatsOptions) -> None:
    """Print a table."""
    from fathom.terminal import print_json, print_records

    records = [one.as_record() for one in studio_stats.body(line)]
    print_json(records) if line.as_json else print_records(records)
