"""A summary of LongBench Pro's released code as rows: one average, one row.

The keys of a summary: counts of questions and replies; ``average_overall_metric`` and, for each dimension,
``average_DIMENSION_metric``; ``inference_iteration_R_overall_metric`` for each repeat R; and for each n up to the
number of repeats ``BoN-n`` (the best of the first n repeats, in every dimension) and ``pass@n`` (the share of questions
of which one of the first n repeats passes).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fathom.benchmarks.pro.secondary_tasks import DIFFICULTIES, LANGUAGES, LENGTHS, PRIMARY, REQUIREMENTS
from fathom.rows.longbench_pro_fields import SOURCE, SUITE, Published, count_of, mapping_of, score_of
from fathom.types import Facet, FathomError, Row

ALL = "all"
# Their name of a dimension, ours, and the groups that the released code always writes.
_DIMENSIONS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("token_length", "length", tuple(LENGTHS)),
    ("contextual_requirement", "contextual_requirement", REQUIREMENTS),
    ("difficulty", "difficulty", DIFFICULTIES),
    ("primary_task", "primary_task", PRIMARY),
    ("language", "language", tuple(LANGUAGES)),
)


class _Average(NamedTuple):
    """One average; ``fathom.analysis.breakdown`` says what the fields mean."""

    dimension: str
    group: str
    measure: str
    n: int
    value: float


def averages_of(summary: Mapping[str, object], published: Published, place: str) -> Iterator[Row]:
    """The averages of a summary as rows.

    Args:
        summary: What the released code wrote; other keys are not read.
        published: What the file's name says.
        place: Where the summary stands, for messages.

    Raises:
        FathomError: A key or a group is missing, or a value is no number from 0 to 1.
    """
    repeats = count_of(summary, "inference_iterations", place, least=1)
    if repeats != published.repeats:
        raise FathomError(
            f"{place}: 'inference_iterations' is {repeats}, but the name of the file says {published.repeats}"
        )
    questions: dict[str, Facet] = {"questions": count_of(summary, "total_questions_num", place)}
    replies: dict[str, Facet] = {
        "replies": count_of(summary, "total_samples_num", place),
        "failed_replies": count_of(summary, "fail_samples_num", place),
        "uneven_questions": count_of(summary, "inference_inconsistent_samples_num", place),
    }
    for one in _averages(summary, repeats, place):
        about = questions if one.dimension in ("overall", "run") else {}
        if (one.dimension, one.measure) == ("overall", "mean"):
            about = questions | replies
        yield _row(one, published, about)


def _averages(summary: Mapping[str, object], repeats: int, place: str) -> Iterator[_Average]:
    yield _Average("overall", ALL, "mean", repeats, score_of(summary, "average_overall_metric", place))
    for run in range(1, repeats + 1):
        value = score_of(summary, f"inference_iteration_{run}_overall_metric", place)
        yield _Average("run", str(run), "mean", 1, value)
    for name, dimension, groups in _DIMENSIONS:
        for group, value in _groups(summary, f"average_{name}_metric", groups, place):
            yield _Average(dimension, group, "mean", repeats, value)
    for n in range(1, repeats + 1):
        best, within = mapping_of(summary, f"BoN-{n}", place), f"{place}: BoN-{n}"
        yield _Average("overall", ALL, "best_of", n, score_of(best, "overall_metric", within))
        for name, dimension, groups in _DIMENSIONS:
            for group, value in _groups(best, name, groups, within):
                yield _Average(dimension, group, "best_of", n, value)
        yield _Average("overall", ALL, "pass_at", n, score_of(summary, f"pass@{n}", place))


def _groups(of: Mapping[str, object], name: str, groups: tuple[str, ...], place: str) -> Iterator[tuple[str, float]]:
    """Scores by group: those that are always there, then what else is; none is left out."""
    scores, within = mapping_of(of, name, place), f"{place}: {name}"
    for group in dict.fromkeys((*groups, *scores)):
        yield LANGUAGES.get(group, group), score_of(scores, group, within)


def _row(one: _Average, published: Published, about: Mapping[str, Facet]) -> Row:
    name = f"{one.dimension}/{one.group}/{one.measure}@{one.n}"
    cell: dict[str, Facet] = {"aggregate": one.dimension, "group": one.group, "measure": one.measure, "n": one.n}
    return Row(
        suite=SUITE,
        task=one.group.split(".", 1)[0] if one.dimension == "primary_task" else ALL,
        item=name,
        sample=name,
        model=published.model,
        length=0,
        value=one.value,
        variant=published.variant,
        valid=True,
        language=one.group if one.dimension == "language" else "",
        metric=one.measure,
        grader=SUITE,
        rule="official",
        source=SOURCE,
        facets={**published.facets, **cell, **about},
    )
