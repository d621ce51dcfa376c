"""HELMET's score: the mean of the means of seven categories, at each length, over what was asked.

As in the released ``scripts/collect_results.py``: a category is the mean of its data sets, the score that of the
categories. What was not asked is left out of both means there, and so it is here, where it is named. Generated tasks of
the same abilities have scores of their own, which are none of HELMET.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import polars as pl

from fathom.analysis.categories import categories
from fathom.analysis.grid import ALL
from fathom.rows.helmet_log import counted_metric
from fathom.stats.columns import facet
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import Unanswered

Form: TypeAlias = Literal["records", "generated"]
RECORDS: Mapping[str, Sequence[str]] = {
    "recall": ("json_kv", "niah_mk_2", "niah_mk_3", "niah_mv"),
    "rag": ("nq", "hotpotqa", "popqa", "triviaqa"),
    "rerank": ("msmarco",),
    "icl": ("trec_coarse", "trec_fine", "banking77", "clinc150", "nlu"),
    "longqa": ("narrativeqa", "infbench_qa", "infbench_choice"),
    "summ": ("infbench_sum", "multi_lexsum"),
    "cite": ("asqa", "qampari"),
}
"""HELMET's categories with their data sets."""
GENERATED: Mapping[str, Sequence[str]] = {
    "recall": (
        *("kv_retrieval", "leader_kv_short", "leader_kv_long"),
        *("ruler_niah_multikey_2", "ruler_niah_multikey_3", "ruler_niah_multivalue"),
    ),
    "icl": ("leader_dialogre", "leader_fewnerd"),
}
"""Tasks of fathom that ask for the same; there are none for the other categories."""
JUDGED = ("narrativeqa", "infbench_sum", "multi_lexsum")
"""Data sets that count where a judge has scored them."""
_KEYS = {"suite": pl.String, "task": pl.String, "metric": pl.String}
SUITE = "HELMET"
"""The suite of results that HELMET's own code has written, which count by the metric that HELMET counts."""
_ORIGIN = "(?:helmet|kilt|ruler|icl|alce)_"
_ALSO = {"clinic150": "clinc150"}


@dataclass(frozen=True, slots=True)
class HelmetScore:
    """Mean score of one model in one category at one length, or over categories.

    Attributes:
        form: ``records`` of HELMET, or ``generated`` tasks of the same abilities.
        category: One of HELMET's; ``all`` for the mean over those that were asked.
        score: The mean, in [0, 1].
        interval: Its 95% interval.
        items: Number of items.
        present: The data sets or tasks of a category that were asked; the categories, for the mean.
        lacking: Those of HELMET's that were not.
    """

    model: str
    variant: str
    form: Form
    length: int
    category: str
    score: float
    interval: Interval
    items: int
    present: tuple[str, ...]
    lacking: tuple[str, ...]


def helmet_scores(rows: pl.DataFrame, *, unanswered: Unanswered = "zero", seed: int = 0) -> list[HelmetScore]:
    """Scores of categories and their mean, at each length, of HELMET's records and of generated tasks.

    Args:
        rows: A rows table; those of other tasks, of judged data sets without a judge, and of results of HELMET's code
            with another metric than the one that it counts are left out.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        seed: Seed of the intervals.

    Returns:
        Results by form, length, model and category; a mean over a cell without a score is left out.
    """
    keys = rows.select(*_KEYS).unique().rows()
    known = [(*key, name) for key in keys if (name := _counted_as(*key))]
    names = pl.DataFrame(known, schema=_KEYS | {"_name": pl.String}, orient="row")
    named = rows.join(names, on=list(_KEYS), how="inner", maintain_order="left")
    forms: tuple[tuple[Form, Mapping[str, Sequence[str]]], ...] = (("records", RECORDS), ("generated", GENERATED))
    return [
        score
        for form, expected in forms
        for score in _scores(named.drop("task").rename({"_name": "task"}), form, expected, unanswered, seed)
    ]


def _counted_as(suite: str, task: str, metric: str) -> str:
    """The data set of HELMET or the generated task that rows count as; "" if they count as none."""
    name = _data_set(suite, task)
    if suite == SUITE:
        return name if metric == counted_metric(task) else ""
    if name in JUDGED and not metric.startswith("judge_"):
        return ""
    return name or next((task for names in GENERATED.values() if task in names), "")


def _data_set(suite: str, task: str) -> str:
    """The data set of HELMET that a task asks, by the names of fathom and of HELMET's code; "" for none."""
    if suite != SUITE and not task.startswith("helmet_"):
        return ""
    names = {**{name: name for names in RECORDS.values() for name in names}, **_ALSO}
    return next((names[name] for name in names if re.fullmatch(rf"(?:{_ORIGIN})?{name}(?:_.+)?", task)), "")


def _scores(
    rows: pl.DataFrame, form: Form, expected: Mapping[str, Sequence[str]], unanswered: Unanswered, seed: int
) -> Iterator[HelmetScore]:
    category = {name: category for category, names in expected.items() for name in names}
    own = rows.filter(pl.col("task").is_in(list(category)), pl.col("length") > 0).with_columns(
        facets=pl.struct(
            category=pl.col("task").replace_strict(category, default="", return_dtype=pl.String),
            cluster=facet("cluster"),
        ).struct.json_encode()
    )
    for (length,), part in sorted(own.group_by("length", maintain_order=True)):
        scores = categories(part, unanswered=unanswered, seed=seed)
        for score in scores:
            if score.task != ALL:
                continue
            mine = [each for each in scores if (each.model, each.variant) == (score.model, score.variant)]
            if score.group == ALL:
                wanted, present = tuple(RECORDS), {each.group for each in mine if each.group != ALL}
            else:
                wanted = tuple(expected[score.group])
                present = {each.task for each in mine if each.group == score.group and each.task != ALL}
            if form == "generated" and score.group != ALL:
                wanted = tuple(name for name in wanted if name in present)
            yield HelmetScore(
                model=score.model,
                variant=score.variant,
                form=form,
                length=int(str(length)),
                category=score.group,
                score=score.score,
                interval=score.interval,
                items=score.items,
                present=tuple(name for name in wanted if name in present),
                lacking=tuple(name for name in wanted if name not in present),
            )
