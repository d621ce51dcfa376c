"""Questions with their repeats: the replies of one model, questions x repeats.

A question is a sample: one question with one context at one length. Its repeats are the epochs of the run, in their
order. A reply passes if its score is above the facet ``pass_above`` if the sample has one, otherwise if it is 1.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from fathom.stats.columns import cluster_among_tasks, facet
from fathom.stats.intervals import REPLICATES, Clusters, Floats, replicates_for
from fathom.stats.outcomes import Unanswered, blank_by_other, scored_rows

RIGHT = 1 - 1e-9
_SYSTEM = ["model", "variant"]


@dataclass(frozen=True, slots=True, eq=False)
class ModelReplies:
    """The scored replies of one model and variant.

    Attributes:
        about: One row for each question with a score, sorted by name: ``name``, ``suite``, ``task``,
            ``item``, ``cluster`` (``fathom.stats.columns.cluster_name``), ``sample``, ``language``, ``length``,
            ``facets``.
        scores: Their scores, questions x repeats; NaN for repeats without a score.
        tries: The same without the gaps of replies without a score: later ones move up. Repeats that were never asked
            stay gaps.
        threshold: Score above which a reply to the question passes; NaN if it must be 1.
        runs: Repeats that most questions were asked, whatever their outcome; in a tie the larger number.
        unscored: Questions that were asked and have no score.
        blank: The questions of cells without a score, in the columns of ``about``: a mean over questions without them
            would be that of an easier test.
        ended: Every counted reply, with the ``name`` of its question, including those to questions without a score.
    """

    model: str
    variant: str
    about: pl.DataFrame
    scores: Floats
    tries: Floats
    threshold: Floats
    runs: int
    unscored: int
    blank: pl.DataFrame
    ended: pl.DataFrame

    @property
    def passes(self) -> Floats:
        """1 for each repeat that passes and 0 for each that does not; NaN without a score."""
        return passed(self.scores, self.threshold[:, None])

    @property
    def other(self) -> float | None:
        """The mean over all questions under the other choice of ``unanswered``; None without one."""
        return other_mean(self.ended)

    @property
    def means(self) -> Floats:
        """Mean score of each question."""
        return row_means(self.scores)

    def replicates(self, clusters: Clusters) -> int:
        """The number of replicates of a mean over clusters of the questions: that of a task is in other tables too."""
        return REPLICATES if self.about["task"].n_unique() == 1 else replicates_for(len(clusters.totals))


@dataclass(frozen=True, slots=True, eq=False)
class Means:
    """What a ranking needs of a model: names, clusters and mean scores of its questions, and the ``other`` mean."""

    model: str
    variant: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    means: Floats
    other: float | None


def means_of(model: ModelReplies) -> Means | None:
    """The means of a model; None if a cell has no score."""
    if not model.blank.is_empty():
        return None
    names, groups = (tuple(model.about[column]) for column in ("name", "cluster"))
    return Means(model.model, model.variant, names, groups, model.means, model.other)


def other_mean(ended: pl.DataFrame) -> float | None:
    """Mean over questions of the mean of their replies under the other choice of ``unanswered``.

    Args:
        ended: Rows of ``ModelReplies.ended``.

    Returns:
        The mean; None if no reply has a score under that choice, or a whole cell has none.
    """
    if ended.select(blank_by_other().any()).item():
        return None
    mean = ended.group_by("name", maintain_order=True).agg(pl.col("other").mean())["other"].mean()
    return mean if isinstance(mean, float) else None


def asked(rows: pl.DataFrame, unanswered: Unanswered = "zero") -> list[ModelReplies]:
    """Replies of each model with whole contexts, in the order in which the rows name models.

    Replies of one model and variant to one question in one epoch are averaged. Models without a score are left out.
    """
    name = pl.concat_str("suite", "task", "sample", separator="\x1f").alias("name")
    replies = scored_rows(rows, unanswered).with_columns(name, cluster_among_tasks())
    parts = replies.partition_by(_SYSTEM, maintain_order=True, as_dict=True)
    models = [_asked(str(key[0]), str(key[1]), part) for key, part in parts.items()]
    return [model for model in models if len(model.about)]


def _asked(model: str, variant: str, replies: pl.DataFrame) -> ModelReplies:
    number = replies.group_by("name").agg(pl.col("epoch").n_unique())["epoch"]
    runs = int(number.mode().max())  # type: ignore[arg-type]  # of a column of whole numbers
    epochs = replies["epoch"].unique().sort()
    scored = replies.filter(pl.col("value").is_not_null())
    about = _about(scored).with_columns(threshold=facet("pass_above").cast(pl.Float64, strict=False))
    cells = replies.group_by("name", "epoch").agg(pl.col("value").mean()).join(about.select("name"), on="name")
    line = cells["name"].cast(pl.Enum(about["name"])).to_physical().to_numpy()
    place = line, np.searchsorted(epochs.to_numpy(), cells["epoch"].to_numpy())
    scores = np.full((len(about), len(epochs)), np.nan)
    scores[place] = cells["value"].to_numpy()
    asked_at = np.zeros(scores.shape, dtype=bool)
    asked_at[place] = True
    return ModelReplies(
        model=model,
        variant=variant,
        about=about.drop("threshold"),
        scores=scores,
        tries=_moved_up(scores, asked_at),
        threshold=about["threshold"].to_numpy().astype(np.float64),
        runs=runs,
        unscored=len(number) - len(about),
        blank=_about(replies.filter("blank")),
        ended=replies,
    )


def _about(replies: pl.DataFrame) -> pl.DataFrame:
    facts = pl.col("suite", "task", "item", "cluster", "sample", "language", "length", "facets").first()
    return replies.group_by("name").agg(facts).sort("name")


def _moved_up(scores: Floats, asked_at: NDArray[np.bool_]) -> Floats:
    """Scores of each row, moved to the first places at which it was asked."""
    known = ~np.isnan(scores)
    places = np.argsort(~asked_at, axis=1, kind="stable")
    line, column = np.nonzero(known)
    tries = np.full(scores.shape, np.nan)
    tries[line, places[line, known.cumsum(axis=1)[line, column] - 1]] = scores[line, column]
    return tries


def passed(scores: Floats, threshold: Floats) -> Floats:
    """1 where a score passes and 0 where it does not; NaN without a score.

    Args:
        scores: Scores in [0, 1], of any shape.
        threshold: Scores above which they pass, NaN if they must be 1; of a shape that broadcasts with theirs.
    """
    right: Floats = np.where(np.isnan(threshold), scores >= RIGHT, scores > threshold).astype(np.float64)
    right[np.isnan(scores)] = np.nan
    return right


def row_means(table: Floats) -> Floats:
    """Mean of each row without missing values; NaN if all are missing."""
    known = ~np.isnan(table)
    count = known.sum(axis=1)
    means = np.full(len(table), np.nan)
    np.divide(np.where(known, table, 0.0).sum(axis=1), count, out=means, where=count > 0)
    return means


def best_of_first(table: Floats, n: int) -> Floats:
    """The best of the first n columns, for each row; NaN if all are missing."""
    first = table[:, :n]
    best: Floats = np.where(np.isnan(first), -np.inf, first).max(axis=1)
    best[np.isinf(best)] = np.nan
    return best
