"""Closed-book questions: those that a model answers without the context do not measure how it uses the context.

Source: 100-LongBench, section 3.1, "QA Filtering Mechanism". A model is asked every question without the long context
(see ``Suite.closed_book``); questions with a closed-book score of the threshold or more are excluded from its results.
In the paper each model excludes its own questions, so that two models are averaged over different ones; the policies
``panel`` and ``intersection`` keep the same questions for all.

A closed-book row has length 0 and the facet ``context`` "none". The facet ``question`` is the number of the question
if an item has several with one context.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import get_args

import polars as pl

from fathom.parallel.units import one_thread
from fathom.plugins.names import system_name
from fathom.printing import readable
from fathom.rows.table import RowsTable
from fathom.stats.columns import cluster_name, facet
from fathom.stats.intervals import Interval, mean_interval
from fathom.stats.outcomes import outcome
from fathom.types import FathomError
from fathom.types.choices import THRESHOLD as THRESHOLD
from fathom.types.choices import Policy as Policy

ABSTAINED = ("unanswerable", "无法回答")
"""Words in an answer, requested by the prompts, that mean that the model does not know."""

SYSTEM = ["model", "variant"]
QUESTION = ["suite", "task", "item", "question", "gold"]
_NAMING = ["model", "variant", "suite", "task", "item", "target", "length", "facets"]
POLICIES: tuple[Policy, ...] = get_args(Policy)
POLICY: Policy = "intersection"


@dataclass(frozen=True, slots=True)
class Known:
    """Closed-book answers of one model on one task, and what remains of its results.

    Attributes:
        task: Name of the task.
        questions: Questions asked with a context, each counted once over all lengths.
        asked: Questions asked closed-book.
        unscored: Those among ``asked`` whose answer has no score.
        abstained: Those among ``asked`` whose answers say that they cannot be answered.
        known: Those among ``asked`` that it answers.
        removed: Those among ``questions`` that the policy excludes from its results.
        score: Mean closed-book score in [0, 1], epochs and then the questions of an item averaged first; abstentions
            count 0. None without a score.
        interval: 95% interval of ``score``; None if that is.
    """

    model: str
    variant: str
    task: str
    questions: int
    asked: int
    unscored: int
    abstained: int
    known: int
    removed: int
    score: float | None
    interval: Interval | None

    @property
    def share(self) -> float | None:
        """Share of its questions that are excluded; None without questions."""
        return self.removed / self.questions if self.questions else None


def is_closed() -> pl.Expr:
    """Closed-book rows."""
    return ((pl.col("length") == 0) & (facet("context") == "none")).fill_null(False)


def marked(rows: pl.LazyFrame) -> pl.LazyFrame:
    """The rows with the columns of ``QUESTION``."""
    return rows.with_columns(question=facet("question").fill_null(""), gold=pl.col("target").fill_null(""))


def answers_of(rows: pl.DataFrame) -> pl.DataFrame:
    """One row per model and closed-book question: its score, and whether the model abstained.

    An unanswered reply scores 0. A question without any reply has no score.
    """
    abstained = pl.col("answer").fill_null("").str.to_lowercase().str.contains_any(list(ABSTAINED))
    replied = outcome().is_in(["answered", "cut"])
    value = pl.when(abstained | (outcome() == "unanswered")).then(0.0).when(replied).then("value")
    # A missing answer counts 0 next to others; otherwise the mean would be higher.
    mean = pl.when(pl.col("value").is_not_null().any()).then(pl.col("value").fill_null(0.0).mean())
    return (
        marked(rows.lazy().filter(is_closed()))
        .with_columns(cluster_name(), value=value, abstained=abstained)
        .group_by(SYSTEM + QUESTION, maintain_order=True)
        .agg(mean.alias("value"), pl.col("abstained").all(), pl.col("cluster").first())
        .collect()
    )


def counted(
    questions: pl.DataFrame, answers: pl.DataFrame, lost: pl.DataFrame, threshold: float, seed: int
) -> Iterator[Known]:
    """Closed-book results of each model on each task.

    Args:
        questions: Questions with a context, in the columns of ``SYSTEM`` and ``QUESTION``.
        answers: Closed-book answers, see :func:`answers_of`.
        lost: Those of ``questions`` that are excluded.
        threshold: Minimum score of an answered question.
    """
    keys = [*SYSTEM, "task"]
    named = pl.concat([questions.select(keys), answers.select(keys)]).unique(maintain_order=True)
    for model, variant, task in named.rows():
        here = (pl.col("model") == model) & (pl.col("variant") == variant) & (pl.col("task") == task)
        own = answers.filter(here)
        items = own.group_by("suite", "item", maintain_order=True).agg(
            pl.col("value").mean(), pl.col("cluster").first()
        )
        scores = items.filter(pl.col("value").is_not_null())
        score, interval = None, None
        if len(scores):
            score, interval = mean_interval(scores["value"].to_numpy(), seed, groups=scores["cluster"].to_list())
        yield Known(
            model=model,
            variant=variant,
            task=task,
            questions=len(questions.filter(here)),
            asked=len(own),
            unscored=own["value"].null_count(),
            abstained=int(own["abstained"].sum()),
            known=int((own["value"] >= threshold).sum()),
            removed=len(lost.filter(here)),
            score=score,
            interval=interval,
        )


def closed_book_answers(table: RowsTable) -> pl.DataFrame:
    """The same of a table of any size."""
    closed = RowsTable(table.rows.filter(is_closed()), table.place, table)
    return pl.concat(map(answers_of, closed.parts()))


@readable
@dataclass(frozen=True, slots=True)
class Filtered:
    """Rows without the questions that are answered closed-book.

    Attributes:
        table: The rows before the filter.
        gone: The excluded questions, by the columns that name them.
        policy: Models whose answers exclude a question.
        threshold: Minimum closed-book score of an answered question.
        removed: Closed-book results for every task with closed-book rows; empty without any.
        unfiltered: Model, variant and task of models that were not asked closed-book although others were.
        notes: Caveats, as sentences.
        distinct: Questions that are excluded for some model, and all questions, each counted once over all models.
    """

    table: RowsTable
    gone: pl.DataFrame
    policy: Policy
    threshold: float
    removed: tuple[Known, ...] = ()
    unfiltered: tuple[tuple[str, str, str], ...] = ()
    notes: tuple[str, ...] = ()
    distinct: tuple[int, int] = (0, 0)

    @property
    def before(self) -> pl.DataFrame:
        """The rows before the filter."""
        return self.table.read()

    @property
    def rows(self) -> pl.DataFrame:
        """The remaining rows, in their order, and all closed-book rows."""
        return self.left.read()

    @property
    def left(self) -> RowsTable:
        """The same of a table of any size."""
        return self.table.each(lambda rows, _: without(rows, self.gone))


def without(rows: pl.LazyFrame, gone: pl.DataFrame) -> pl.LazyFrame:
    """Rows without those of some questions; closed-book rows are kept.

    Args:
        gone: The questions, by the columns that name them.

    Returns:
        The other rows, in their order.
    """
    if gone.is_empty():
        return rows
    names = rows.collect_schema().names()
    named = gone.lazy().with_columns(gone=True)
    kept = marked(rows).join(named, on=gone.columns, how="left", maintain_order="left")
    return kept.filter(is_closed() | pl.col("gone").is_null()).select(names)


@one_thread()
def known_filter(
    rows: pl.DataFrame | RowsTable,
    policy: Policy = POLICY,
    *,
    threshold: float = THRESHOLD,
    panel: pl.DataFrame | Sequence[str] | None = None,
    seed: int = 0,
) -> Filtered:
    """Excludes the questions that are answered closed-book, at all lengths and epochs.

    A question is answered if the mean of its closed-book scores over the epochs is ``threshold`` or more; an answer
    that says "unanswerable" counts 0. Questions are matched by suite, task, item, number and gold answer. Tasks
    without closed-book rows are unchanged, and so are questions whose closed-book answer has no score.

    Args:
        policy: ``own``: for each model those that it answers itself (the paper). ``intersection``: a question that any
            model in the rows answers is excluded for all; for a single model that is ``own``. ``panel``: a question
            that any model of ``panel`` answers is excluded for all. ``none``: nothing is excluded.
        threshold: Minimum closed-book score of an answered question, in (0, 1].
        panel: A rows table with the panel's closed-book rows, or names of models in ``rows``.

    Raises:
        FathomError: Unknown policy, a threshold outside (0, 1], or a missing, empty or unexpected panel.
    """
    _check(policy, threshold, panel)
    table = rows if isinstance(rows, RowsTable) else RowsTable(rows)
    answers = closed_book_answers(table)
    voices = _panel_answers(answers, panel) if policy == "panel" else answers
    tested = pl.concat([answers["task"], voices["task"]]).unique(maintain_order=True)
    asked = [
        marked(part.lazy().filter(~is_closed() & pl.col("task").is_in(tested.implode())))
        .select(SYSTEM + QUESTION)
        .unique(maintain_order=True)
        .collect()
        for part in (table.parts(_NAMING) if len(tested) else ())
    ]
    questions = pl.concat([answers.select(SYSTEM + QUESTION).clear(), *asked])
    keys = SYSTEM + QUESTION if policy == "own" else QUESTION
    gone = voices.filter(pl.col("value") >= threshold, policy != "none").select(keys).unique(maintain_order=True)
    lost = questions.join(gone, on=keys, how="semi", maintain_order="left")
    removed = tuple(counted(questions, answers, lost, threshold, seed))
    untested = [result for result in removed if result.questions and not result.asked]
    return Filtered(
        table=table,
        gone=gone,
        policy=policy,
        threshold=threshold,
        removed=removed,
        unfiltered=tuple((result.model, result.variant, result.task) for result in untested),
        distinct=(lost.select(QUESTION).n_unique(), questions.select(QUESTION).n_unique()),
        notes=(
            *(_differences(questions, lost) if policy == "own" else ()),
            *(_beyond_panel(questions, voices) if policy == "panel" else ()),
            *(_untested(removed, policy) if policy in ("own", "intersection") else ()),
            *_uncertain(removed),
            *_emptied(removed),
        ),
    )


def _check(policy: str, threshold: float, panel: pl.DataFrame | Sequence[str] | None) -> None:
    if policy not in POLICIES:
        raise FathomError(f"policy of the closed-book filter is {policy!r}: choose {', '.join(POLICIES)}")
    if not 0 < threshold <= 1:
        raise FathomError(
            f"threshold of the closed-book filter is {threshold:g}, expected more than 0 and at most 1; "
            "the policy 'none' turns the filter off"
        )
    if policy == "panel" and panel is None:
        raise FathomError("the policy 'panel' needs a panel: give its models, or runs with closed-book rows")
    if policy != "panel" and panel is not None:
        raise FathomError(f"the policy {policy!r} uses no panel: choose 'panel', or give none")


def _panel_answers(answers: pl.DataFrame, panel: pl.DataFrame | Sequence[str] | None) -> pl.DataFrame:
    if isinstance(panel, pl.DataFrame):
        voices = answers_of(panel)
        if voices.is_empty():
            raise FathomError("the panel has no closed-book rows; run it on a suite with closed-book questions")
        return voices
    models = set(answers["model"])
    missing = [name for name in panel or () if name not in models]
    if missing or not panel:
        named = ", ".join(sorted(models)) or "none"
        raise FathomError(f"no closed-book rows of {', '.join(missing) or 'any panel'}; models that have some: {named}")
    return answers.filter(pl.col("model").is_in(list(panel)))


# Notes


def _differences(questions: pl.DataFrame, lost: pl.DataFrame) -> Iterator[str]:
    """The pair of models that is compared on the most different questions."""
    asked, excluded = _by_system(questions), _by_system(lost)
    pairs = []
    for first, second in combinations(asked, 2):
        shared = asked[first] & asked[second]
        gone_one, gone_other = excluded.get(first, set()) & shared, excluded.get(second, set()) & shared
        pairs.append((len(gone_one ^ gone_other), len(shared - (gone_one & gone_other)), first, second))
    differing = [pair for pair in pairs if pair[0]]
    if not differing:
        return
    count, among, first, second = max(differing, key=lambda pair: pair[0])
    also = f" (the most of {len(differing)} such pairs)" if len(differing) > 1 else ""
    yield (
        f"{system_name(*first)} and {system_name(*second)} are averaged over different questions: {count} of {among} "
        f"count for one of them only{also}. The policy 'intersection' compares them on the same questions."
    )


def _by_system(questions: pl.DataFrame) -> dict[tuple[str, str], set[tuple[str, ...]]]:
    questions_of: dict[tuple[str, str], set[tuple[str, ...]]] = {}
    for model, variant, *key in questions.select(SYSTEM + QUESTION).rows():
        questions_of.setdefault((model, variant), set()).add(tuple(key))
    return questions_of


def _untested(removed: Sequence[Known], policy: Policy) -> Iterator[str]:
    what = "the others are kept" if policy == "own" else "the others have no effect on the filter"
    for result in removed:
        if result.asked < result.questions:
            system = system_name(result.model, result.variant)
            asked = f"{result.asked} of {result.questions} questions of {result.task}"
            yield f"{system} was asked {asked} closed-book: {what}."


def _beyond_panel(questions: pl.DataFrame, voices: pl.DataFrame) -> Iterator[str]:
    every = questions.select(QUESTION).unique()
    beyond = len(every.join(voices, on=QUESTION, how="anti"))
    if beyond:
        yield f"The panel was not asked {beyond} of {len(every)} questions closed-book: they are kept."


def _uncertain(removed: Sequence[Known]) -> Iterator[str]:
    count, asked = sum(result.unscored for result in removed), sum(result.asked for result in removed)
    if count:
        yield (f"{count} of {asked} closed-book answers have no score: their questions are kept.")


def _emptied(removed: Sequence[Known]) -> Iterator[str]:
    for result in removed:
        if result.questions and result.removed == result.questions:
            system = system_name(result.model, result.variant)
            yield f"No question of {result.task} is left for {system}: all are excluded."
