"""Progress, time and cost, agreement, audits and quality of the samples of a studio."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

from fathom.commands.shared import Json
from fathom.commands.studio.shared import STORE, DesignFile, Store, TasksFolder, libraries, opened
from fathom.options.declare import at_least, command, opt, unset
from fathom.types.choices import StudioTable
from fathom.types.denominators import Denominator

OVER: Mapping[str, Denominator] = {"agreement": "shared", "audit": "scored", "quality": "shared"}
"""Denominators of the tables with shares or mean ratings."""


class StatsOptions(Json):
    store: Store = STORE
    by: Annotated[
        StudioTable,
        opt(
            "Time and cost by state, sample or task; time by origin and length; quota: what is there and missing of "
            "each task, language and length; agreement of reviewers; audit: shares that are right; quality: ratings; "
            "annotator: what each person did; background: who they are, as counts; comment: all comments.",
            metavar="FIGURES",
        ),
    ] = "state"
    hourly: Annotated[
        float | None,
        opt(
            "Price of an hour of people's time in US dollars; that of the design by default.",
            metavar="DOLLARS",
            check=at_least(0),
        ),
    ] = None
    design: DesignFile = unset
    tasks: TasksFolder = unset


@command(StatsOptions)
def studio_stats(options: StatsOptions) -> list[dict[str, object]]:
    """Progress, time and cost, agreement, audits and quality of the samples of a studio.

    Time is what pages measured while somebody was at work, and counts for the state in which it was spent; cost of
    models is that of drafts and predictions, as far as known.

    Needs the extra studio of fathom-eval.
    """
    with libraries():
        from fathom.studio.quality import table
        from fathom.studio.quotas import design_of
        from fathom.studio.work import tasks_of
    with opened(options.store) as store:
        design = design_of(options.store, options.design, tasks_of(options.store, options.tasks))
        if options.hourly is not None:
            design = replace(design, hourly=options.hourly)
        return table(store, options.by, design)


def main(line: StatsOptions) -> None:
    """Print a table."""
    from fathom.options.terminal import print_json, print_records

    records = studio_stats.body(line)
    print_json(records) if line.as_json else print_records(
        [_short(record) for record in records], denominator=OVER.get(line.by, "none")
    )


def _short(record: Mapping[str, object]) -> dict[str, object]:
    """A record with intervals in one column, and without a column for each state."""
    from fathom.studio.types import STATES

    columns = {}
    for name, value in record.items():
        low, high = record.get(f"{name}_low"), record.get(f"{name}_high")
        if name not in STATES and not name.endswith(("_low", "_high")):
            columns[name] = value if low is None else f"{value} [{low}, {high}]"
    return columns
