"""Mean of the tasks of each category, and of the categories, as in LongBench."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated

from fathom.commands.analyze.shared import Study, study, study_rows, telling
from fathom.options.declare import line_only, opt

if TYPE_CHECKING:
    from fathom.analysis import CategoryScore


class CategoriesOptions(Study):
    _: KW_ONLY
    by: Annotated[
        str, opt("Facet to group by: category, bucket, difficulty, v2_length, domain or any other.", metavar="FACET")
    ] = "category"
    compensated: Annotated[bool, opt("Give replies of the wrong form the chance level instead of 0.")] = False
    tasks: Annotated[bool, opt("Print each task of a group too.")] = line_only(False)


@study(CategoriesOptions)
def analyze_categories(options: CategoriesOptions) -> "list[CategoryScore]":
    """Mean of the tasks of each category, and of the categories, as in LongBench."""
    from fathom.analysis import categories

    return categories(study_rows(options), by=options.by, compensated=options.compensated, seed=options.seed)


def main(line: CategoriesOptions) -> None:
    """Print tables, or JSON."""
    from fathom.report.studies import print_results

    found = analyze_categories.body(telling(line))
    shown = [one for one in found if line.tasks or line.as_json or one.task == "all"]
    print_results(shown, line.as_json, "no row has a score")
