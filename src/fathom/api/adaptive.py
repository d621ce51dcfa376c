"""Adaptive evaluation of one model: ``compress_adaptive``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.types import FathomError, Json, Member, Subset

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fathom.compress.adaptive import Progress
    from fathom.compress.design import Design
    from fathom.compress.estimates import ModelEstimate
    from fathom.compress.matrix import Floats
    from fathom.stats.outcomes import Unanswered

SUBSET = "subset.json"
BUDGET = 500


@dataclass(frozen=True)
class Adapted:
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
    """

    subset: Path
    rounds: Sequence[Path]
    items: int
    of: int
    estimate: ModelEstimate
    half_width: float
    reached: bool
    unanswered: Unanswered = "zero"


def compress_adaptive(
    suite: Path | str,
    model: str,
    known: Path | str,
    out: Path | str,
    *,
    width: float = 0.02,
    budget: int = BUDGET,
    first: int | None = None,
    step: int | None = None,
    seed: int = 0,
    unanswered: str = "zero",
    told: Callable[[int, float, float], None] | None = None,
    **settings: Any,
) -> Adapted:
    """Evaluate a model on as few items as a narrow interval takes (command ``fathom compress adaptive``).

    Every round is a run folder of its own beside its subset; the same call again goes on where the last one stopped.

    Args:
        suite: A suite folder.
        model: As for ``fathom.api.run``.
        known: Scores of known models on the suite's items, as ``fathom.compress.tables.read_matrix`` takes them.
        out: Folder for the rounds; made if absent.
        width: Half-width of the 95% interval at which to stop.
        budget: Most items to ask.
        first: Items of the first round.
        step: Items of every other.
        seed: Seed of the draws, and of the model.
        unanswered: ``zero``: what was not answered counts 0, and so do missing items, of which 2% may be. ``drop``:
            the estimate is from what was answered.
        told: Called after every round with (items asked, estimate, half-width).
        settings: Everything else that ``fathom.api.run`` takes.

    Raises:
        FathomError: See ``fathom.api.run``; or a number makes no sense, the folder holds rounds of other choices, or
            too many items are missing.
    """
    import numpy as np

    from fathom.commands.reading import unanswered_of
    from fathom.compress import adaptive
    from fathom.compress.design import design
    from fathom.compress.tables import read_matrix

    counting = unanswered_of(unanswered)
    first = adaptive.FIRST if first is None else first
    step = adaptive.STEP if step is None else step
    if not 0 < width < 0.5:
        raise FathomError(f"--width {width:g}: expected a half-width between 0 and 0.5, for instance 0.02")
    if min(budget, first) < 2 or step < 1:
        raise FathomError(f"--budget {budget}, --first {first}, --step {step}: expected 2, 2 and 1 or more")
    matrix = read_matrix(known)
    budget = min(budget, len(matrix.items))
    made = design(matrix, budget, seed=seed)
    stretch = adaptive.stretch(made, width=width, budget=budget, first=first, step=step)
    folder = Path(out)
    choices: dict[str, Json] = {
        "budget": budget,
        "unit": "items",
        "seed": seed,
        "width": width,
        "first": first,
        "step": step,
    }
    asked: list[Path] = []
    answers: list[_Answers] = []

    def ask(items: NDArray[np.int64]) -> Floats:
        names = [matrix.items[item] for item in items.tolist()]
        asked.append(folder / f"round-{len(asked) + 1:03d}")
        answers.append(_asked(Path(suite), model, names, asked[-1], choices, {"seed": seed, **settings}))
        return _counted(folder, answers, counting)

    def watch(progress: Progress) -> None:
        if told is not None and len(progress.items):
            found = adaptive.current(made, progress, stretch)
            told(len(progress.items), float(found.values[0, 0]), adaptive.half_width(found))

    dice = np.random.default_rng([seed, 3])
    plan = adaptive.rounds(made, width=width, budget=budget, stretch=stretch, rng=dice, first=first, step=step)
    progress = adaptive.drive(plan, ask, watch)
    found = adaptive.current(made, progress, stretch)
    subset = _write(folder / SUBSET, made, progress, {**choices, "stretch": stretch})
    half = adaptive.half_width(found)
    return Adapted(
        folder / SUBSET,
        tuple(asked),
        len(progress.items),
        len(matrix.items),
        _estimate(model, subset, made, progress, answers, counting),
        half,
        half <= width,
        counting,
    )


@dataclass(frozen=True, eq=False)
class _Answers:
    """What a model said to the items of a round: scores by both choices of ``unanswered``, and how replies ended.

    The scores are NaN where a reply is missing, or by ``drop`` was not answered. ``ended`` has the columns of
    ``fathom.compress.matrix.ENDED``.
    """

    zero: Floats
    drop: Floats
    ended: NDArray[np.int64]


def _counted(folder: Path, answers: Sequence[_Answers], unanswered: Unanswered) -> Floats:
    """The scores of the last round: few missing ones of all rounds count 0, and with more there is no estimate."""
    import numpy as np

    from fathom.stats.outcomes import MISSING_AT_MOST

    if unanswered == "drop":
        return answers[-1].drop
    every = np.concatenate([one.zero for one in answers])
    missing = int(np.isnan(every).sum())
    if missing > MISSING_AT_MOST * len(every):
        raise FathomError(
            f"{folder}: {missing:,} of the {len(every):,} items asked so far are missing, more than 2%: requests that "
            "failed, or replies that nobody has judged. The same command asks failed requests again; --unanswered drop "
            "estimates from what was answered"
        )
    return np.nan_to_num(answers[-1].zero)


def _asked(
    suite: Path,
    model: str,
    names: Sequence[str],
    folder: Path,
    choices: Mapping[str, Json],
    settings: Mapping[str, Any],
) -> _Answers:
    """The scores of a model on some items: the run goes on where it stopped, or is over already."""
    import numpy as np

    from fathom.commands.run import run
    from fathom.compress.tables import of_rows
    from fathom.rows.runs import load
    from fathom.subsetfile import read_subset, write_subset

    members = tuple(Member(name, 1.0) for name in names)
    subset = Subset(folder.name, members, "adaptive round", choices)
    path = folder.with_suffix(".json")
    if not path.is_file():
        write_subset(subset, path)
    elif read_subset(path).members != members:
        raise FathomError(
            f"{path}: this round asked other items than it would now: the options, the known scores, the scores of "
            "an earlier round or the version of fathom have changed. Choose another --out"
        )
    summary = run(suite, model, folder, subset=path, **settings)
    if summary.stopped:
        raise FathomError(f"{folder}: stopped: {summary.stopped}; the same command goes on from there")
    scores = of_rows(load([folder]), str(folder), names)
    assert scores.other is not None
    assert scores.ended is not None
    numbers = {name: number for number, name in enumerate(scores.items)}
    places = [numbers.get(name, -1) for name in names]
    there = np.array(places) >= 0
    return _Answers(
        np.where(there, scores.scores[0, places], np.nan),
        np.where(there, scores.other[0, places], np.nan),
        np.where(there[:, None], scores.ended[0, places], 0),
    )


def _write(path: Path, made: Design, progress: Progress, choices: Mapping[str, Json]) -> Subset:
    from fathom.compress.design import ADAPTIVE
    from fathom.compress.tables import write_sampled

    matrix = made.matrix
    members = tuple(
        Member(
            matrix.items[item],
            float(matrix.weights[item] / progress.chances[item]),
            matrix.tasks[item],
            float(progress.chances[item]),
        )
        for item in progress.items.tolist()
    )
    subset = Subset(ADAPTIVE, members, ADAPTIVE, choices, {"models": list(matrix.models), "items": len(matrix.items)})
    write_sampled(subset, matrix, path)
    return subset


def _estimate(
    model: str,
    subset: Subset,
    made: Design,
    progress: Progress,
    answers: Sequence[_Answers],
    unanswered: Unanswered,
) -> ModelEstimate:
    """The estimate, with the one by the other choice and what became of the replies."""
    from dataclasses import replace

    import numpy as np

    from fathom.compress.estimates import estimate
    from fathom.compress.matrix import ENDED

    def made_of(scores: Floats) -> ModelEstimate | None:
        row = np.full((1, len(made.matrix.items)), np.nan)
        row[0, progress.items] = scores
        if np.isnan(row).all():
            return None
        matrix = replace(made.matrix, models=(model,), scores=row, other=None, ended=None)
        return next(iter(estimate(subset, matrix, made.matrix)), None)

    found = made_of(progress.scores)
    if found is None:
        raise FathomError(f"{model}: none of the {len(progress.items):,} items that were asked was answered")
    ended = np.concatenate([one.ended for one in answers]).sum(axis=0).tolist()
    others = np.concatenate([np.nan_to_num(one.zero) if unanswered == "drop" else one.drop for one in answers])
    other = made_of(others)
    return replace(
        found, other=None if other is None else other.overall.value, ended=dict(zip(ENDED, ended, strict=True))
    )
