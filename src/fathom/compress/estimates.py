"""Estimates of a benchmark's score from scores on a subset: values, intervals, ranks, ties."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pydantic import ConfigDict

from fathom.compress import assisted, minilongbench
from fathom.compress.assisted import Estimates, Z, stretched
from fathom.compress.design import ADAPTIVE, METHOD, OVERALL, Unit, design, strata_of
from fathom.compress.matrix import ENDED, Floats, ScoreMatrix, check_scores
from fathom.compress.methods import ratio
from fathom.compress.minilongbench import MiniBenchmark, MiniScore, predict
from fathom.compress.ranks import RankCorrelation, agreement
from fathom.compress.released import MODELS, read_models, read_split
from fathom.compress.tables import read_matrix, read_sampled
from fathom.printing import readable
from fathom.stats.intervals import REPLICATES, generator
from fathom.stats.outcomes import MISSING_AT_MOST, Unanswered
from fathom.stats.ranks import MaxT, ranks_of
from fathom.storage.validation import Amount, Count, RecordError, from_record
from fathom.suites.subsetfile import read_subset
from fathom.types import FathomError, Subset

_SAME = 1e-6  # relative difference up to which probabilities are equal


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated score with its 95% interval; ``low`` and ``high`` are None for methods without intervals."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class ModelEstimate:
    """The estimate of one model from a subset.

    Attributes:
        model: Its name.
        overall: The whole benchmark's score.
        categories: The score of each category.
        items: Number of the subset's items with a score.
        others: Other estimates of the whole score, by name; ``direct`` is the plain mean over categories and tasks of
            the observed scores.
        full: The whole score itself, if all items have one.
        other: The whole score under the other choice of ``unanswered``, if known.
        ended: Outcomes of the replies to the subset's items, by ``fathom.compress.matrix.ENDED``; empty if unknown.
        ranks: Best and worst rank among the models here; None without intervals.
        group: Number of its tie group, from 1: models of one group do not differ significantly; 0 without intervals.
    """

    model: str
    overall: Estimate
    categories: Mapping[str, Estimate] = field(default_factory=dict)
    items: int = 0
    others: Mapping[str, float] = field(default_factory=dict)
    full: float | None = None
    ranks: tuple[int, int] | None = None
    group: int = 0
    other: float | None = None
    ended: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Unestimated:
    """A model without an estimate, because too many of the subset's items are missing.

    Attributes:
        missing: Items that it was not asked, or whose reply failed or was not judged.
    """

    model: str
    missing: int
    items: int

    def __str__(self) -> str:
        """The missing items, as text."""
        return f"{self.model}: {self.missing:,} of the subset's {self.items:,} items are missing"


@dataclass(frozen=True, slots=True)
class _Stated:
    """What the file of a subset says about its design; see ``design.design``."""

    __pydantic_config__ = ConfigDict(extra="ignore")

    budget: Amount
    unit: Unit
    seed: Count
    stretch: Amount = 1.0


def estimate(subset: Subset, scores: ScoreMatrix, known: ScoreMatrix | None = None) -> list[ModelEstimate]:
    """Estimates the scores of models on a whole benchmark.

    Args:
        subset: The asked items. Members of a probability sample have probabilities, and their estimates intervals.
        scores: Scores of the models, on the subset's items or on more, of which only the subset's are used. Items
            without a score are taken as missing at random.
        known: Scores of the models that the subset was chosen with; with them estimates of a sampled subset are far
            more precise. The models may be among those that are estimated, whose intervals are then too wide.

    Returns:
        One per model, the best first.

    Raises:
        FathomError: No item of the subset has a score, the subset is of another benchmark, or the known scores are not
            those that it was chosen with.
    """
    check_scores("scores", scores.models, scores.items, scores.scores)
    if known is not None and subset.method in (METHOD, ADAPTIVE):
        names, estimates, asked = _assisted(subset, scores, known)
    else:
        names, estimates, asked = _weighted(subset, scores)
    if np.isnan(asked).all():
        raise FathomError(
            f"no item of the subset {subset.name!r} has a score, for example {subset.members[0].item!r}: these scores "
            "are of another benchmark, or its items have other names"
        )
    totals = _full(subset, scores, known)
    listed = [
        ModelEstimate(
            model=model,
            overall=_estimate_at(estimates, row, 0),
            categories={
                name: _estimate_at(estimates, row, place) for place, name in enumerate(names) if name != OVERALL
            },
            items=int((~np.isnan(asked[row])).sum()),
            others={"direct": _direct(subset, scores, row)},
            full=None if np.isnan(totals[row]) else float(totals[row]),
        )
        for row, model in enumerate(scores.models)
        if not np.isnan(estimates.values[row, 0])
    ]
    return ranked(listed)


def whole_enough(
    subset: Subset, scores: ScoreMatrix, unanswered: Unanswered = "zero"
) -> tuple[ScoreMatrix, list[Unestimated]]:
    """The models that can be estimated, with few missing items of the subset counted 0.

    Otherwise a model would gain by failing on items that it would get wrong. Up to ``MISSING_AT_MOST`` of the items may
    be missing.

    Args:
        unanswered: With ``drop`` all models are estimated, from the available scores.

    Returns:
        The scores, and the models that are left out.
    """
    if unanswered == "drop":
        return scores, []
    members = {member.item for member in subset.members}
    in_subset = np.array([item in members for item in scores.items])
    gaps = np.isnan(scores.scores) & in_subset
    lost = len(members) - int(in_subset.sum()) + gaps.sum(axis=1)
    few = lost <= MISSING_AT_MOST * len(members)
    left_out = [
        Unestimated(model, int(count), len(members))
        for model, count, fine in zip(scores.models, lost, few, strict=True)
        if not fine
    ]
    kept = replace(scores, scores=np.where(gaps & few[:, None], 0.0, scores.scores))
    return kept.of_models(np.flatnonzero(few).tolist()), left_out


def with_outcomes(models: Sequence[ModelEstimate], subset: Subset, scores: ScoreMatrix) -> list[ModelEstimate]:
    """Estimates with the outcomes of their replies; unchanged if these are unknown."""
    if scores.ended is None:
        return list(models)
    members = {member.item for member in subset.members}
    counts = scores.ended[:, [item in members for item in scores.items]].sum(axis=1)
    numbers = dict(zip(scores.models, counts.tolist(), strict=True))
    return [replace(model, ended=dict(zip(ENDED, numbers[model.model], strict=True))) for model in models]


def ranked(models: Sequence[ModelEstimate]) -> list[ModelEstimate]:
    """Models from the best down, with ranges of ranks and tie groups (``fathom.stats.ranks``).

    Ranges hold together. Estimates are treated as independent and normal. Models of one subset were asked the same
    items, so that their errors are correlated, which makes the tests conservative.
    """
    ordered = sorted(models, key=lambda model: (-model.overall.value, model.model))
    if any(model.overall.low is None or model.overall.high is None for model in ordered):
        return ordered
    values = np.array([model.overall.value for model in ordered])
    errors = np.array([((model.overall.high or 0.0) - (model.overall.low or 0.0)) / 2 / Z for model in ordered])
    differences = values[:, None] - values[None, :]
    noise = errors[:, None] * generator(0, [4, len(errors)]).standard_normal((len(errors), REPLICATES))
    tested = MaxT()
    for place in range(len(errors) - 1):
        tested.add(noise[place] - noise[place + 1 :])
    spread = np.hypot(errors[:, None], errors[None, :])
    critical = tested.critical() if len(errors) > 1 else 0.0
    ranks = ranks_of(differences, np.abs(differences) > critical * spread)
    return [
        replace(model, ranks=(int(best), int(worst)), group=int(group))
        for model, best, worst, group in zip(ordered, ranks.best, ranks.worst, ranks.groups, strict=True)
    ]


def _assisted(subset: Subset, scores: ScoreMatrix, known: ScoreMatrix) -> tuple[tuple[str, ...], Estimates, Floats]:
    places = {name: number for number, name in enumerate(known.items)}
    items = _numbers(subset, places, "the scores that it was chosen with")
    try:
        stated = from_record(_Stated, dict(subset.design), "")
    except RecordError as error:
        raise FathomError(f"subset {subset.name!r}: its design: {error}; select it again") from None
    made = design(known, stated.budget, unit=stated.unit, seed=stated.seed)
    chances = _chances(subset)
    if subset.method == METHOD and not np.allclose(chances, made.chances[items], rtol=_SAME):
        raise FathomError(
            f"subset {subset.name!r} was chosen with other scores: its items would have other probabilities. Give "
            " the table that it was chosen with"
        )
    asked = _aligned([member.item for member in subset.members], scores)
    adaptive = subset.method == ADAPTIVE
    calibration = stretched(made.targets.shares, stated.stretch) if adaptive else made.calibration()
    estimates = assisted.estimated(made.known, made.targets.shares, items, chances, asked, calibration)
    return made.targets.names, estimates, asked


def _weighted(subset: Subset, scores: ScoreMatrix) -> tuple[tuple[str, ...], Estimates, Floats]:
    """Weighted means of the observed scores, with intervals if the subset is a probability sample."""
    asked = _aligned([member.item for member in subset.members], scores)
    weights = np.array([member.weight for member in subset.members])
    numbers = {name: number for number, name in enumerate(scores.items)}
    categories = [
        scores.categories[numbers[member.item]] if member.item in numbers else "" for member in subset.members
    ]
    names = tuple(name for name in dict.fromkeys(categories) if name)
    names = (OVERALL, *(names if len(names) > 1 else ()))
    labels = np.array(categories)
    rows = np.array([weights if name == OVERALL else np.where(labels == name, weights, 0.0) for name in names])
    by_chance = all(member.probability is not None for member in subset.members)
    chances = _chances(subset) if by_chance else np.ones(len(weights))
    strata = {name: number for number, name in enumerate(dict.fromkeys(member.stratum for member in subset.members))}
    of_items = np.array([strata[member.stratum] for member in subset.members])
    shape = (len(asked), len(names))
    values, low, high = (np.full(shape, np.nan) for _ in range(3))
    for row, own in enumerate(asked):
        means = ratio(own[None], rows, of_items, chances)
        values[row] = means.values
        if by_chance:
            low[row], high[row] = means.low, means.high
    return names, Estimates(values, low, high), asked


def _aligned(items: Sequence[str], scores: ScoreMatrix) -> Floats:
    """Scores on n items, shape (M, n); NaN without a score."""
    places = {name: number for number, name in enumerate(scores.items)}
    aligned = np.full((len(scores.models), len(items)), np.nan)
    for column, item in enumerate(items):
        if item in places:
            aligned[:, column] = scores.scores[:, places[item]]
    return aligned


def _full(subset: Subset, scores: ScoreMatrix, known: ScoreMatrix | None) -> Floats:
    """Each model's score on the whole benchmark, shape (M,); NaN if an item that counts has no score."""
    if known is not None:
        aligned = _aligned(known.items, scores)
        return replace(known, models=scores.models, scores=aligned, other=None, ended=None).totals()
    whole = subset.provenance.get("items")
    least = whole if isinstance(whole, int) else len(subset.members) + 1
    return scores.totals() if len(scores.items) >= least else np.full(len(scores.models), np.nan)


def _numbers(subset: Subset, places: Mapping[str, int], what: str) -> NDArray[np.int64]:
    lost = [member.item for member in subset.members if member.item not in places]
    if lost:
        raise FathomError(f"subset {subset.name!r}: {len(lost)} of its items are not in {what}, for example {lost[0]}")
    return np.array([places[member.item] for member in subset.members], dtype=np.int64)


def _chances(subset: Subset) -> Floats:
    if any(member.probability is None for member in subset.members):
        raise FathomError(f"subset {subset.name!r}: its members have no probabilities; it is not a random sample")
    return np.array([member.probability for member in subset.members], dtype=np.float64)


def _direct(subset: Subset, scores: ScoreMatrix, row: int) -> float:
    """Mean over categories of the mean over tasks and lengths of the observed scores."""
    asked = {member.item for member in subset.members}
    scored = np.array([name in asked for name in scores.items]) & ~np.isnan(scores.scores[row])
    strata, labels = strata_of(scores), np.array(scores.categories)
    means: dict[str, list[float]] = {}
    for stratum in np.unique(strata[scored]):
        inside = scored & (strata == stratum)
        means.setdefault(str(labels[inside][0]), []).append(float(scores.scores[row, inside].mean()))
    return float(np.mean([np.mean(tasks) for tasks in means.values()])) if means else float("nan")


def _estimate_at(estimates: Estimates, row: int, place: int) -> Estimate:
    value, low, high = (float(part[row, place]) for part in (estimates.values, estimates.low, estimates.high))
    return Estimate(value, None if np.isnan(low) else low, None if np.isnan(high) else high)


def of_subset(
    chosen: Subset, scores: ScoreMatrix, known: ScoreMatrix | None, mini: MiniBenchmark | None, unanswered: Unanswered
) -> tuple[list[ModelEstimate], list[Unestimated]]:
    """Estimates of the models with enough scores, and under the other choice of ``unanswered``.

    Args:
        scores: Scores on its items or on more.
        known: The scores that it was chosen with.
        mini: The subset with its parameters, if MiniLongBench's method chose it.
        unanswered: How unanswered replies count.

    Returns:
        The estimates, the best first, and the models with too many missing items.

    Raises:
        FathomError: Every model has too many missing items.
    """

    def estimates_for(of: ScoreMatrix) -> list[ModelEstimate]:
        return estimate(chosen, of, known) if mini is None else ranked([_of_mini(score) for score in predict(mini, of)])

    whole, left_out = whole_enough(chosen, scores, unanswered)
    if not whole.models:
        if all(model.missing == model.items for model in left_out):
            estimates_for(scores)  # raises the error that they are of another benchmark
        raise FathomError(
            f"{left_out[0]}, more than 2%: repeat the run of this subset to retry failed requests, and judge replies "
            "without a judgement; or give `unanswered` drop for an estimate from the available scores"
        )
    models = with_outcomes(estimates_for(whole), chosen, whole)
    if whole.other is None or np.array_equal(whole.other, whole.scores, equal_nan=True):
        return models, left_out
    other_way, _ = whole_enough(chosen, replace(whole, scores=whole.other), "drop" if unanswered == "zero" else "zero")
    others: dict[str, float] = {}
    for number in np.flatnonzero(~np.isnan(other_way.scores).all(axis=1)).tolist():
        with suppress(FathomError):  # no reply that the estimate needs was answered
            others |= {model.model: model.overall.value for model in estimates_for(other_way.of_models([number]))}
    return [replace(model, other=others.get(model.model)) for model in models], left_out


def _of_mini(mini_score: MiniScore) -> ModelEstimate:
    return ModelEstimate(
        model=mini_score.model,
        overall=Estimate(mini_score.predicted),
        categories={name: Estimate(value) for name, value in mini_score.categories.items()},
        items=mini_score.items,
        others={"direct": mini_score.direct, "weighted": mini_score.weighted},
        full=mini_score.full,
    )


OWN = "estimate"
"""Name of a method's own estimate, beside its others."""


@readable
@dataclass(frozen=True)
class Estimated:
    """Estimates of a benchmark's scores from those of a subset.

    Attributes:
        method: Method by which it was chosen.
        models: One for each model, the best first.
        agreement: How the estimates agree with the scores themselves, where they are known.
        left_out: Models that have no estimate, because too many of the subset's items are missing.
        unanswered: How replies count that were not answered.
    """

    subset: str
    method: str
    items: int
    models: Sequence[ModelEstimate]
    agreement: Sequence[RankCorrelation]
    left_out: Sequence[Unestimated] = ()
    unanswered: Unanswered = "zero"

    def table(self) -> pl.DataFrame:
        """One row for each model, with the ends of the intervals and with every category."""
        ends = (("", "value"), (" low", "low"), (" high", "high"))
        rows = [
            {
                "model": model.model,
                OWN: model.overall.value,
                "low": model.overall.low,
                "high": model.overall.high,
                **model.others,
                "full": model.full,
                "items": model.items,
                "other": model.other,
                **model.ended,
                **{
                    f"{name}{end}": getattr(part, side) for name, part in model.categories.items() for end, side in ends
                },
            }
            for model in self.models
        ]
        return pl.DataFrame(rows, infer_schema_length=None)


def read_chosen(subset: Path | None, published: Path | None) -> tuple[Subset, MiniBenchmark | None]:
    """The subset of a file or of MiniLongBench's released data, with its parameters where that method chose it."""
    if published is not None:
        mini = minilongbench.published(published)
        return mini.subset, mini
    assert subset is not None
    chosen = read_subset(subset)
    return chosen, minilongbench.read_mini(subset) if chosen.method == minilongbench.METHOD else None


def estimated(
    sources: Sequence[Path],
    subset: Path | None,
    published: Path | None = None,
    *,
    known: Path | None = None,
    unanswered: Unanswered = "zero",
) -> Estimated:
    """Estimate the scores of models on a whole benchmark.

    Args:
        sources: Scores on the subset's items, see ``read_matrix``.
        subset: File of the subset; None for the published one.
        published: Folder of MiniLongBench's released data.
        known: The scores that the subset was chosen by, where they are not beside it.
        unanswered: How replies count that were not answered.

    Raises:
        FathomError: A file cannot be read, or too much is missing of every model.
    """
    chosen, mini = read_chosen(subset, published)
    wanted = set() if published is not None else {member.item for member in chosen.members}
    scores = read_matrix(sources, wanted=wanted, unanswered=unanswered)
    by = None
    if mini is None and subset is not None:
        by = read_sampled(subset)[1] if known is None else read_matrix(known)
    models, left_out = of_subset(chosen, scores, by, mini, unanswered)
    agreed = _agreement(models, _groups(models, published))
    return Estimated(chosen.name, chosen.method, len(chosen.members), models, agreed, left_out, unanswered)


def _groups(models: Sequence[ModelEstimate], published: Path | None) -> dict[str, list[int]]:
    """All models; and those that the published benchmark was made with and tested with, where these are they."""
    groups = {"all": list(range(len(models)))}
    if published is None or not (published / MODELS).is_file():
        return groups
    names = read_models(published)
    places = {model.model: place for place, model in enumerate(models)}
    for group, numbers in zip(("test", "train"), reversed(read_split(published)), strict=True):
        if all(names[number] in places for number in numbers):
            groups[group] = [places[names[number]] for number in numbers]
    return groups


def _agreement(models: Sequence[ModelEstimate], groups: Mapping[str, Sequence[int]]) -> list[RankCorrelation]:
    truth = np.array([math.nan if model.full is None else model.full for model in models])
    estimates = {OWN: np.array([model.overall.value for model in models])}
    for name in models[0].others if models else ():
        estimates[name] = np.array([model.others[name] for model in models])
    known = {name: group for name, group in groups.items() if (~np.isnan(truth[list(group)])).sum() > 1}
    return agreement(truth, estimates, known)
