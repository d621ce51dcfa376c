"""Mean of the tasks of each category, and of the categories, as in LongBench."""

import dataclasses
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import Study, print_flat, print_json, study_rows, telling
from fathom.commands.shared import Json
from fathom.options.declare import command, opt

if TYPE_CHECKING:
    from fathom.analysis import CategoryScore


class CategoriesOptions(Study):
    _: KW_ONLY
    by: Annotated[
        str,
        opt("Facet to group by: category, bucket, difficulty, v2_length, domain or any other.", metavar="FACET"),
    ] = "category"
    compensated: Annotated[bool, opt("Give replies of the wrong form the chance level instead of 0.")] = False


@command(CategoriesOptions)
def categories(options: CategoriesOptions) -> "list[CategoryScore]":
    """Mean of the tasks of each category, and of the categories, as in LongBench."""
    from fathom.analysis import categories

    return categories(study_rows(options), by=options.by, compensated=options.compensated, seed=options.seed)


class Line(CategoriesOptions, Json):
    _: KW_ONLY
    tasks: Annotated[bool, opt("Print each task of a group too.")] = False


def main(line: Line) -> None:
    """Print a table, or JSON."""
    from fathom.terminal import tell

    found = categories.body(telling(line))
    if line.as_json:
        return print_json(found)
    if not found:
        tell("no row has a score")
    # Without their tasks the column says "all" everywhere: a field that is empty in all is not printed.
    print_flat(found if line.tasks else [dataclasses.replace(one, task="") for one in found if one.task == "all"])
