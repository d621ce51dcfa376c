"""Which of several models is the best, asked in rounds: a model that is shown to be beaten is asked no more.

All models get the same items, in the random order of a run that stops early, each at all its lengths. After a round
every two models are compared by bets that may be looked at any time (``fathom.analysis.best``), so that the error holds
for all rounds together. The run folder of a model is that of an unfinished run of the whole suite: ``fathom run`` goes
on with it, and ``fathom analyze best`` reads it.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fathom.analysis.best import BestCandidate, best_models
from fathom.plugins.names import folder_name
from fathom.printing import readable
from fathom.rows.runs import is_run, load
from fathom.run.executors import DirectExecutor
from fathom.run.request import RunRequest, request_of
from fathom.run.runner import Callbacks, execute
from fathom.runfile.settings import RunSettings
from fathom.stats.outcomes import not_asked
from fathom.suites.suitefile import open_suite
from fathom.types import FathomError, Json, Sample
from fathom.types.samples import is_whole, place_of


@dataclass(frozen=True, slots=True)
class RoundSettings:
    """How long models are asked.

    Attributes:
        alpha: Probability with which a model that is the best may ever be dropped.
        per_round: Items of a round.
        budget: Most items; None for those of the suite.
    """

    alpha: float = 0.05
    per_round: int = 20
    budget: int | None = None


@readable
@dataclass(frozen=True, slots=True)
class BestFound:
    """Where the rounds ended.

    Attributes:
        models: The models from the highest score to the lowest, with ranges of ranks that hold at any look.
        runs: Run folders, in the order in which the models were given.
        items: Items that each of these was asked.
        tokens: Tokens of the prompts that were sent.
        spared: Tokens of the prompts that dropped models were not sent, of those that the last ones got.
        reached: Whether a single model is left.
    """

    models: tuple[BestCandidate, ...]
    runs: tuple[Path, ...]
    items: tuple[int, ...]
    tokens: int
    spared: int
    reached: bool

    def __str__(self) -> str:
        """The models that may be the best, and what was spared."""
        left = [" ".join(filter(None, (own.model, own.variant))) for own in self.models if own.may_be_best]
        if self.reached:
            sentence = f"{left[0]} is the best"
        elif left:
            sentence = f"{len(left)} may be the best: {', '.join(left)}"
        else:
            sentence = "the comparisons contradict each other: each model was shown to be beaten by another"
        share = f" ({100 * self.spared / (self.tokens + self.spared):.0f}%)" if self.tokens else ""
        return f"{sentence}, after {max(self.items):,} items; {self.spared:,} prompt tokens spared{share}"


class _Part(DirectExecutor):
    """A run of which only some samples are asked now."""

    random = True

    def __init__(self, out: Path, request: RunRequest, ids: Sequence[str]) -> None:
        super().__init__(out, request)
        self._ids = ids

    def in_order(self) -> Iterator[Sample]:
        """These samples."""
        return map(self.request.sample, self._ids)


def find_best(
    suite: Path,
    models: Mapping[str, RunSettings],
    settings: RoundSettings,
    folder: Path,
    *,
    command: Mapping[str, Json] | None = None,
    callbacks: Callbacks | None = None,
    report: Callable[[BestFound], None] | None = None,
) -> BestFound:
    """Ask several models in rounds until one is left; the same call again resumes.

    Args:
        suite: A suite folder.
        models: How each model is asked, by its name.
        settings: How long.
        folder: Where the run folders are.
        command: See ``fathom.run.run``.
        callbacks: Functions of the caller; what is ahead of a model is confirmed once, for the whole suite.
        report: Called after every round.

    Raises:
        FathomError: There are fewer than two models, two have one folder, or a run cannot start or go on.
    """
    runs = {name: folder / folder_name(name) for name in models}
    if len(models) < 2:
        raise FathomError(f"the best of several models is asked for, and there is one: {', '.join(models)}")
    if len(set(runs.values())) < len(models):
        raise FathomError(f"the best of several models is asked for; {', '.join(models)} need folders of their own")
    built = open_suite(suite)
    requests = {name: request_of(built, name, how, command) for name, how in models.items()}
    units = _units(next(iter(requests.values())))
    most = len(units) if settings.budget is None else min(settings.budget, len(units))
    # What the folders have already, whatever the size of the rounds before.
    rows = {name: load([run]) for name, run in runs.items() if is_run(run)}
    asked = {name: _asked(rows[name], units) if name in rows else 0 for name in runs}
    left, confirmed = list(models), set[str]()
    if all(asked.values()):
        left = _left(rows, best_models(pl.concat(rows.values()), alpha=settings.alpha)) or left
    number = min(asked[name] for name in left) or settings.per_round
    given = callbacks or Callbacks()
    while True:
        number = min(most, number)
        for name in left:
            ids = [sample for unit in units[:number] for sample, _ in unit]
            calls = Callbacks(None if name in confirmed else given.confirm, given.progress, given.tell)
            done = execute(requests[name], _Part(runs[name], requests[name], ids), calls)
            if done.stopped:
                raise FathomError(f"{runs[name]}: stopped: {done.stopped}; the same command resumes")
            confirmed.add(name)
        rows = {name: load([run]) for name, run in runs.items()}
        asked = {name: _asked(own, units) for name, own in rows.items()}
        ranked = best_models(pl.concat(rows.values()), alpha=settings.alpha)
        left = _left(rows, ranked)
        state = _state(ranked, runs, asked, units)
        if report is not None:
            report(state)
        if len(left) < 2 or number == most:
            return state
        number += settings.per_round


def _left(rows: Mapping[str, pl.DataFrame], ranked: Sequence[BestCandidate]) -> list[str]:
    """The models that may be the best."""
    may = {(own.model, own.variant) for own in ranked if own.may_be_best}
    return [name for name, own in rows.items() if own.select("model", "variant").row(0) in may]


def _asked(rows: pl.DataFrame, units: Sequence[Sequence[tuple[str, int]]]) -> int:
    """Items of which all samples were asked."""
    samples = set(rows.filter(~not_asked().fill_null(False))["sample"])
    return sum(all(sample in samples for sample, _ in unit) for unit in units)


def _state(
    ranked: Sequence[BestCandidate],
    runs: Mapping[str, Path],
    asked: Mapping[str, int],
    units: Sequence[Sequence[tuple[str, int]]],
) -> BestFound:
    sizes = [sum(tokens for _, tokens in unit) for unit in units]
    sent = [sum(sizes[:number]) for number in asked.values()]
    return BestFound(
        tuple(ranked),
        tuple(runs.values()),
        tuple(asked.values()),
        sum(sent),
        len(sent) * max(sent) - sum(sent),
        sum(own.may_be_best for own in ranked) == 1,
    )


def _units(request: RunRequest) -> list[list[tuple[str, int]]]:
    """The samples of each item, or of all items of a document, with their tokens, in the order of the bets."""
    units: dict[bytes, list[tuple[str, int]]] = defaultdict(list)
    for sample in request.facts():
        if is_whole(sample.length, sample.facets):
            place = place_of(sample.task, sample.item, sample.facets.get("cluster"))
            units[place].append((sample.id, sample.tokens))
    return [units[place] for place in sorted(units)]
