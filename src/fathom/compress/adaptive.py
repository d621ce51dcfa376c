"""Adaptive evaluation: choose the next items for one model, and stop at a wanted width or budget.

The design is updated for this model after every round: items whose score its abilities leave most uncertain become
more probable among those that are left. Every round alone gives an unbiased estimate: the scores known before it, and
those of its own items weighted by the inverse of the probabilities of its draw. The rounds are averaged with weights
that depend on their sizes alone, so that the average is unbiased too, whatever the rounds before showed. The estimate
is that of ``assisted`` with full trust in the correction, so that known models only make it more precise.
Because rounds end when the interval looks narrow, nominal intervals contain the truth too rarely; the factor by which
they must be wider is learned by evaluating every known model as if it were new (``stretch``). With ``proved`` items are
drawn one by one, and rounds end when an interval is narrow that holds by a theorem (``fathom.compress.proved``).

The idea of spending a budget where this model's factors are uncertain, with valid intervals, is that of Factorized
Active Querying (Wu, Nair and Candès 2026, arXiv:2601.20251); the method here, a growing sample without replacement of
items with any bounded score, is new.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.compress.abilities import Abilities, expected, learn
from fathom.compress.assisted import BELIEF, FEWEST, Estimates, Z, estimated, stretched
from fathom.compress.design import ADAPTIVE, Design, design, groups_of
from fathom.compress.estimates import ModelEstimate, estimate
from fathom.compress.matrix import ENDED, Floats, ScoreMatrix
from fathom.compress.proved import NOTHING, Drawn, after, draw_singly, interval_of
from fathom.compress.sampling import draw, inclusion, likeness_tree
from fathom.compress.tables import of_rows, write_sampled
from fathom.parallel.units import one_thread
from fathom.printing import readable
from fathom.rows.runs import load
from fathom.stats.intervals import Interval
from fathom.stats.outcomes import COUNTED, MISSING_AT_MOST, Unanswered, differ
from fathom.suites.subsetfile import read_subset, write_subset
from fathom.types import FathomError, Json, Member, Subset

FIRST = 100  # items of the first round: fewer say too little about a model's abilities and about the error
STEP = 20
SUBSET = "subset.json"
ROUND = "round-{:03d}"
DRAW = "rounds"
"""Mark of rounds that are drawn by ``next_items``; those of earlier versions have none."""
SINGLE = "one by one"
"""Mark of rounds that are drawn by ``proved.draw_singly``."""
_FLOOR = 0.02  # added to binary variances, so that items that known models all solve keep some weight
_MOST, _LEAST = 2.0, 0.5  # bounds of a model's own spread relative to that of known models


@dataclass(frozen=True)
class AdaptiveSettings:
    """What an evaluation is to reach, and how.

    Attributes:
        width: Half-width of the 95% interval of the whole score, at which to stop.
        budget: Most items to ask; a round that would exceed it is not started.
        first: Items of the first round.
        step: Items of every other.
        seed: Seed of the draws.
        unanswered: How replies count that were not answered.
        proved: Whether the width is that of the interval that holds by a theorem.
        bets: Half-width for which the bets of that interval are best; None for ``width``. It must not change once
            replies were seen.
    """

    width: float
    budget: int
    first: int = FIRST
    step: int = STEP
    seed: int = 0
    unanswered: Unanswered = "zero"
    proved: bool = False
    bets: float | None = None

    def proved_of(self, drawn: Drawn) -> Interval:
        """The interval that holds by a theorem."""
        return interval_of(drawn, self.width if self.bets is None else self.bets)


@dataclass(frozen=True)
class Progress:
    """State of an adaptive evaluation of one model.

    Attributes:
        items: Numbers of the n items asked so far, in the order of asking.
        scores: Its scores on them, shape (n,); NaN without a score.
        chances: Inverse of the weight of each of them in the average over the rounds, in (0, 1], shape (n,): the place
            of an inclusion probability (see ``next_items``).
        drawn: What is known of items that are drawn one by one.
        probabilities: Probabilities of the draws of the next round if items are drawn one by one.
    """

    items: NDArray[np.int64]
    scores: Floats
    chances: Floats
    drawn: Drawn = NOTHING
    probabilities: Floats | None = None


def start(design: Design) -> Progress:
    """The state before the first item."""
    return Progress(np.zeros(0, dtype=np.int64), np.zeros(0), np.zeros(0))


def next_items(
    design: Design, progress: Progress, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Items to ask next, and the probabilities of their draw.

    With N items, m of them asked so far, this round has the share ``a = N k / ((m + k) (N - m))`` in the average over
    rounds, which is optimal for equal probabilities. An item of it, drawn with probability q, has the weight ``a / q``;
    those of earlier rounds, whose scores are known in this one, have ``(1 - a) w + a`` in place of w. No q is above a,
    so that no weight is below 1.

    Args:
        design: The benchmark; its own budget is ignored.
        count: Number k of further items.

    Returns:
        Their numbers, ascending, fewer than ``count`` only if no more are left; and the inverse weights of all items
        that are then asked, in the order of asking, the next ``Progress.chances``.
    """
    whole, asked = len(design.matrix.items), len(progress.items)
    count = min(count, whole - asked)
    if not count:
        return np.zeros(0, dtype=np.int64), progress.chances
    sizes = _sizes(design, progress)
    share = whole * count / ((asked + count) * (whole - asked))
    unseen = np.ones(whole, dtype=bool)
    unseen[progress.items] = False
    chances = np.zeros(whole)
    chances[unseen] = inclusion(sizes[unseen], count / share)
    items = draw(share * chances, design.tree, rng)
    known = 1 / ((1 - share) / progress.chances + share)
    return items, np.minimum(np.concatenate([known, chances[items]]), 1.0)


def topped_up(
    design: Design, progress: Progress, wanted: Floats, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.int64], Floats]:
    """Items to ask next as up to fathom 0.1.0, only to resume evaluations that were started so: slightly biased.

    Args:
        wanted: What this returned in the round before; zeros in the first.
        count: Number of further items.

    Returns:
        Their numbers, and the inclusion probability of each item by the design, shape (N,).
    """
    more = np.maximum(inclusion(_sizes(design, progress), len(progress.items) + count), wanted)
    rise = np.clip((more - wanted) / np.maximum(1 - wanted, 1e-12), 1e-9, 1.0)
    unseen = np.setdiff1d(np.arange(len(more)), progress.items)
    chances = np.zeros(len(more))
    chances[unseen] = inclusion(rise[unseen], count)
    return draw(chances, design.tree, rng), more


def current(design: Design, progress: Progress, stretch: float) -> Estimates:
    """The estimates so far, one model by T targets.

    Args:
        progress: The state, with at least one item.
        stretch: Factor on the width, see ``stretch``.
    """
    calibration = stretched(design.targets.shares, stretch)
    shares, asked = design.targets.shares, progress.scores[None]
    return estimated(design.known, shares, progress.items, progress.chances, asked, calibration)


Rounds: TypeAlias = Generator[tuple[Progress, NDArray[np.int64]], Floats, Progress]


def rounds(
    design: Design, settings: AdaptiveSettings, *, stretch: float, rng: np.random.Generator, top_up: bool = False
) -> Rounds:
    """The rounds of an evaluation as a generator: it yields items to ask and is sent the scores on them.

    Args:
        settings: Width, budget and sizes of the rounds.
        stretch: See ``stretch``.
        top_up: Whether rounds are drawn by ``topped_up``.

    Yields:
        The state, and the numbers of the next items; it is sent their scores, NaN without a score.

    Returns:
        The final state.
    """
    progress, wanted = start(design), np.zeros(len(design.matrix.items))
    while len(progress.items) < settings.budget:
        asked, whole = len(progress.items), len(design.matrix.items)
        count = min(settings.step, whole - asked) if asked else min(settings.first, settings.budget)
        # No partial rounds: an evaluation with a larger budget could not resume from them.
        if not count or asked + count > settings.budget:
            break
        if settings.proved:
            items, drawn, chances = draw_singly(
                design, progress.items, progress.chances, _spread(design, progress), count, rng
            )
            progress = replace(progress, probabilities=drawn)
        elif top_up:
            items, wanted = topped_up(design, progress, wanted, count, rng)
            chances = wanted[np.concatenate([progress.items, items])]
        else:
            items, chances = next_items(design, progress, count, rng)
        scores = yield progress, items
        proof = _proof_after(design, progress, items, scores) if settings.proved else NOTHING
        progress = Progress(
            np.concatenate([progress.items, items]), np.concatenate([progress.scores, scores]), chances, proof
        )
        if _reached(design, progress, settings, stretch):
            break
    return progress


def _proof_after(design: Design, progress: Progress, items: NDArray[np.int64], scores: Floats) -> Drawn:
    """What the draws of a round add to the proof, with all that was expected before it."""
    how = {
        "scores": scores,
        "expected": expected(design.known, progress.items, progress.scores[None])[0],
        "spread": _spread(design, progress),
    }
    return after(progress.drawn, design, progress.items, items, **how)


def _reached(design: Design, progress: Progress, settings: AdaptiveSettings, stretch: float) -> bool:
    """Whether the interval that counts is as narrow as wanted."""
    if settings.proved:
        proved = settings.proved_of(progress.drawn)
        return (proved.high - proved.low) / 2 <= settings.width
    return half_width(current(design, progress, stretch)) <= settings.width


def drive(
    rounds: Rounds, ask: Callable[[NDArray[np.int64]], Floats], watch: Callable[[Progress], None] = lambda _: None
) -> Progress:
    """Runs all rounds.

    Args:
        rounds: See ``rounds``.
        ask: Given numbers of items, returns the model's scores on them.
        watch: Called with the state before every round and at the end.
    """
    try:
        progress, items = next(rounds)
        while True:
            watch(progress)
            progress, items = rounds.send(ask(items))
    except StopIteration as end:
        final: Progress = end.value
        watch(final)
        return final


def half_width(estimates: Estimates) -> float:
    """Half-width of the interval of the whole score of the first model; infinite without an estimate."""
    value = float((estimates.high[0, 0] - estimates.low[0, 0]) / 2)
    return value if np.isfinite(value) else np.inf


@one_thread("scipy.cluster.hierarchy")
def stretch(design: Design, settings: AdaptiveSettings, *, top_up: bool = False) -> float:
    """Factor by which intervals at the stop must be wider than nominal ones: each known model is evaluated as if new.

    Args:
        settings: Width, budget and sizes of the rounds.
        top_up: Whether rounds are drawn by ``topped_up``.

    Returns:
        A factor of 1 or more; 1 with fewer than five known models.
    """
    matrix = design.matrix
    if len(matrix.models) < FEWEST:
        return 1.0
    truth, squares = matrix.scores @ matrix.weights, 0.0
    for model in range(len(matrix.models)):
        others = np.delete(matrix.scores, model, axis=0)
        without = replace(design, known=learn(others, design.strata), tree=likeness_tree(others.T, groups_of(matrix)))
        rng = np.random.default_rng([design.seed, 2, model])
        end = drive(rounds(without, settings, stretch=1.0, rng=rng, top_up=top_up), matrix.scores[model].__getitem__)
        estimates = current(without, end, 1.0)
        error = half_width(estimates) / Z
        squares += float(((estimates.values[0, 0] - truth[model]) / error) ** 2) if error > 0 else 0.0
    return max(1.0, float(np.sqrt((squares + BELIEF) / (len(matrix.models) + BELIEF))))


def _sizes(design: Design, progress: Progress) -> Floats:
    """Sizes of all items for ``inclusion``, shape (N,)."""
    sizes: Floats = design.targets.shares[0] * _spread(design, progress)
    return sizes / np.sqrt(design.matrix.costs) if design.unit == "cost" else sizes


def _spread(design: Design, progress: Progress) -> Floats:
    """Spread of this model's score on each item: that of known models, scaled like a binary score of its mean."""
    known: Abilities = design.known
    scored = ~np.isnan(progress.scores)
    if not scored.any():
        return known.spread
    guess = expected(known, progress.items[scored], progress.scores[scored][None])[0]
    own, others = guess * (1 - guess) + _FLOOR, known.means * (1 - known.means) + _FLOOR
    spread: Floats = known.spread * np.clip(np.sqrt(own / others), _LEAST, _MOST)
    return spread


# Answers of a model


@dataclass(frozen=True, eq=False)
class Answers:
    """Scores of a model on the items of a round, under both choices of ``unanswered``, and outcomes of replies.

    The scores are NaN if a reply is missing, or with ``drop`` unanswered. ``ended`` has the columns of
    ``fathom.compress.matrix.ENDED``.
    """

    zero: Floats
    drop: Floats
    ended: NDArray[np.int64]


def answers_of(scores: ScoreMatrix, names: Sequence[str]) -> Answers:
    """The answers to some items, from the scores of one model's run (``fathom.compress.tables.of_rows``)."""
    assert scores.other is not None
    assert scores.ended is not None
    numbers = {name: number for number, name in enumerate(scores.items)}
    places = [numbers.get(name, -1) for name in names]
    present = np.array(places) >= 0
    return Answers(
        np.where(present, scores.scores[0, places], np.nan),
        np.where(present, scores.other[0, places], np.nan),
        np.where(present[:, None], scores.ended[0, places], 0),
    )


def counted(answers: Sequence[Answers], unanswered: Unanswered, name: str) -> Floats:
    """The scores of the last round: few missing ones of all rounds count 0; with more there is no estimate.

    Args:
        unanswered: How unanswered replies count.
        name: Name of the rounds, for the error.

    Raises:
        FathomError: Too many are missing.
    """
    if unanswered == "drop":
        return answers[-1].drop
    every = np.concatenate([answer.zero for answer in answers])
    missing = int(np.isnan(every).sum())
    if missing > MISSING_AT_MOST * len(every):
        raise FathomError(
            f"{name}: {missing:,} of the {len(every):,} items asked so far are missing, more than 2%: failed requests "
            "or replies without a judgement. The same command repeats failed requests; `unanswered` drop estimates "
            "from the answered items"
        )
    return np.nan_to_num(answers[-1].zero)


def subset_of(design: Design, progress: Progress, choices: Mapping[str, Json]) -> Subset:
    """All asked items, as a subset."""
    matrix = design.matrix
    members = tuple(
        Member(
            matrix.items[item],
            float(matrix.weights[item] / chance),
            matrix.tasks[item],
            chance,
        )
        for item, chance in zip(progress.items.tolist(), progress.chances.tolist(), strict=True)
    )
    return Subset(ADAPTIVE, members, ADAPTIVE, choices, {"models": list(matrix.models), "items": len(matrix.items)})


def estimate_of(
    model: str, subset: Subset, design: Design, progress: Progress, answers: Sequence[Answers], unanswered: Unanswered
) -> ModelEstimate:
    """The estimate of the model, with the one under the other choice and the outcomes of the replies.

    Raises:
        FathomError: No item was answered.
    """

    def made_of(scores: Floats) -> ModelEstimate | None:
        row = np.full((1, len(design.matrix.items)), np.nan)
        row[0, progress.items] = scores
        if np.isnan(row).all():
            return None
        matrix = replace(design.matrix, models=(model,), scores=row, other=None, ended=None)
        return next(iter(estimate(subset, matrix, design.matrix)), None)

    own = made_of(progress.scores)
    if own is None:
        raise FathomError(f"{model}: none of the {len(progress.items):,} items has an answered reply")
    ended = np.concatenate([answer.ended for answer in answers]).sum(axis=0).tolist()
    other = made_of(
        np.concatenate([np.nan_to_num(answer.zero) if unanswered == "drop" else answer.drop for answer in answers])
    )
    return replace(
        own, other=None if other is None else other.overall.value, ended=dict(zip(ENDED, ended, strict=True))
    )


# ------------------------------------------------------------------------------------------------ rounds of a model


@readable
@dataclass(frozen=True)
class AdaptiveResult:
    """Where an adaptive evaluation ended.

    Attributes:
        subset: File of the items that were asked; ``fathom compress estimate`` takes it with the rounds.
        rounds: Run folders, one a round.
        items: Items asked.
        of: Items of the whole benchmark.
        estimate: The estimate, with its interval.
        half_width: Of the interval.
        reached: Whether it is as narrow as wanted.
        unanswered: How replies count that were not answered.
        proved: The 95% interval that holds at every look by a theorem, if items were drawn one by one.
    """

    subset: Path
    rounds: Sequence[Path]
    items: int
    of: int
    estimate: ModelEstimate
    half_width: float
    reached: bool
    unanswered: Unanswered = "zero"
    proved: Interval | None = None

    def outcomes(self) -> str:
        """What became of the replies, in words; "" where all were answered in full."""
        estimate = self.estimate
        counts = [f"{estimate.ended[name]:,} {name}" for name in COUNTED if estimate.ended[name]]
        if not counts:
            return ""
        how, otherwise = ("count 0", "are left out") if self.unanswered == "zero" else ("left out", "count 0")
        other = "no estimate" if estimate.other is None else f"{100 * estimate.other:.2f}"
        both = f"; {other} where they {otherwise}" if differ(estimate.overall.value, estimate.other) else ""
        return f"of {estimate.ended['replies']:,} replies {', '.join(counts)}; those without an answer {how}{both}"


def evaluate(
    model: str,
    matrix: ScoreMatrix,
    settings: AdaptiveSettings,
    folder: Path,
    ask: Callable[[Path, Path], str],
    report: Callable[[int, float, float], None] | None = None,
) -> AdaptiveResult:
    """Evaluate one model in rounds; the same call again resumes.

    Args:
        matrix: Scores of known models on the items of the benchmark.
        settings: What is to be reached, and how.
        folder: Where the rounds are written.
        ask: Runs the subset in a file into a run folder; gives why it was stopped, or "".
        report: Called with the items asked, the estimate and the half-width, after every round.

    Raises:
        FathomError: A round was stopped, or asked other items than it would now, or a proof is wanted without
            unanswered replies.
    """
    if settings.proved and settings.unanswered != "zero":
        raise FathomError("`proved` counts unanswered replies as 0; leave out `unanswered`, or `proved`")
    settings = replace(settings, budget=min(settings.budget, len(matrix.items)), bets=_first_width(folder))
    made = design(matrix, settings.budget, seed=settings.seed)
    top_up = _is_topped_up(folder)
    factor = stretch(made, settings, top_up=top_up)
    choices: dict[str, Json] = {"unit": "items"}
    choices |= {name: getattr(settings, name) for name in ("seed", "width", "budget", "first", "step")}
    choices |= {} if top_up else {"draw": SINGLE if settings.proved else DRAW}
    asked: list[Path] = []
    answers: list[Answers] = []
    state = start(made)

    def proved_interval(progress: Progress) -> Interval | None:
        return settings.proved_of(progress.drawn) if settings.proved else None

    def ask_items(items: NDArray[np.int64]) -> Floats:
        names = [matrix.items[item] for item in items.tolist()]
        asked.append(folder / ROUND.format(len(asked) + 1))
        subset = _written(asked[-1], names, choices, state.probabilities)
        if stopped := ask(subset, asked[-1]):
            raise FathomError(f"{asked[-1]}: stopped: {stopped}; the same command resumes")
        answers.append(answers_of(of_rows(load([asked[-1]]), str(asked[-1]), names), names))
        return counted(answers, settings.unanswered, str(folder))

    def watch(progress: Progress) -> None:
        nonlocal state
        state = progress
        if report is not None and len(progress.items):
            estimates, proved = current(made, progress, factor), proved_interval(progress)
            if proved is None:
                report(len(progress.items), float(estimates.values[0, 0]), half_width(estimates))
            else:
                report(len(progress.items), (proved.low + proved.high) / 2, (proved.high - proved.low) / 2)

    rng = np.random.default_rng([settings.seed, 3])
    progress = drive(rounds(made, settings, stretch=factor, rng=rng, top_up=top_up), ask_items, watch)
    half, proved = half_width(current(made, progress, factor)), proved_interval(progress)
    shown = {} if proved is None else {"proved": [proved.low, proved.high]}
    subset = subset_of(made, progress, {**choices, **shown, "stretch": factor})
    write_sampled(subset, matrix, folder / SUBSET)
    return AdaptiveResult(
        folder / SUBSET,
        tuple(asked),
        len(progress.items),
        len(matrix.items),
        estimate_of(model, subset, made, progress, answers, settings.unanswered),
        half,
        _reached(made, progress, settings, factor),
        settings.unanswered,
        proved,
    )


def _started(folder: Path) -> Mapping[str, Json] | None:
    """The choices with which the first round in a folder was started; None before it."""
    first = (folder / ROUND.format(1)).with_suffix(".json")
    return read_subset(first).design if first.is_file() else None


def _is_topped_up(folder: Path) -> bool:
    """Whether the rounds in a folder were started by a version that drew by ``topped_up``."""
    choices = _started(folder)
    return choices is not None and choices.get("draw") not in (DRAW, SINGLE)


def _first_width(folder: Path) -> float | None:
    """The half-width with which the rounds in a folder were started, which the bets keep whatever is wanted later."""
    width = (_started(folder) or {}).get("width")
    return float(width) if isinstance(width, int | float) else None


def _written(folder: Path, names: Sequence[str], choices: Mapping[str, Json], chances: Floats | None) -> Path:
    """The file of the subset of a round, beside its folder; of single draws with their probabilities, in order."""
    drawn = [None] * len(names) if chances is None else chances.tolist()
    members = tuple(Member(name, 1.0, probability=chance) for name, chance in zip(names, drawn, strict=True))
    path = folder.with_suffix(".json")
    if not path.is_file():
        write_subset(Subset(folder.name, members, "adaptive round", choices), path)
    elif read_subset(path).members != members:
        raise FathomError(
            f"{path}: this round asked other items than it would now: the options, the known scores, the scores of "
            "an earlier round or the version of fathom have changed. Choose another `out`"
        )
    return path
