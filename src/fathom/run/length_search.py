"""The effective length of a model, searched: rounds of a few questions at the length that tells most.

Every question is asked at one length only, so that scores are independent; questions are in an order as good as random
(``place_of``), and tasks take turns at random, so that each has the same share at every length. Questions that share a
document count once.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fathom.models.prices import Price
from fathom.printing import readable
from fathom.rows.runs import load
from fathom.run.preflight import Forecast, Preflight
from fathom.stats.intervals import Interval
from fathom.stats.length_search import LengthSearch
from fathom.stats.outcomes import scored_rows
from fathom.suites.subsetfile import read_subset, write_subset
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import format_length, named_lengths
from fathom.types import FathomError, Json, Member, Subset
from fathom.types.samples import is_whole, place_of

ROUND = "round-{:03d}"
METHOD = "length search"
SPENT = "the budget is spent"


@dataclass(frozen=True, slots=True)
class SearchSettings:
    """What a search is to reach, and how.

    Attributes:
        threshold: The score that a length must reach, in (0, 1).
        within: Ratio of the ends of the interval at which to stop.
        budget: Most questions to ask.
        step: Questions of a round.
        seed: Seed of the order of tasks.
    """

    threshold: float
    within: float
    budget: int
    step: int
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Remaining:
    """The most that a search may still ask: all questions at the dearest length.

    Attributes:
        questions: Number of questions.
        tokens: Tokens of a prompt at that length, on average.
    """

    questions: int
    tokens: int
    length: int

    def forecast(self, plan: Preflight, price: Price) -> Preflight:
        """What all of it takes.

        Args:
            plan: The forecast of a round, which says how many requests a question takes, and tokens of replies.
            price: The model's prices.
        """
        each = plan.requests / (plan.total - plan.finished)
        requests = round(self.questions * each)
        tokens_in, tokens_out = requests * self.tokens, -(-requests * plan.tokens_out // plan.requests)
        costs = price.cost(tokens_in, 0, longest=self.tokens), price.cost(tokens_in, tokens_out, longest=self.tokens)
        whole = Forecast(self.length, requests, tokens_in, tokens_out, 0, *costs)
        return replace(plan, total=plan.finished + self.questions, lengths=(whole,), cached=None)


@dataclass(frozen=True, slots=True)
class AskedLength:
    """What was asked at one length.

    Attributes:
        length: In tokens.
        questions: Number of questions.
        score: Their mean score; None if none has one.
    """

    length: int
    questions: int
    score: float | None


@readable
@dataclass(frozen=True, slots=True)
class LengthFound:
    """Where a search ended.

    Attributes:
        estimate: The effective length in tokens: median of the posterior.
        interval: 95% interval in tokens, at any look: from a length that reaches the threshold to one that does not. 0:
            the shortest may fail; infinity: the longest may pass.
        threshold: The score that a length must reach.
        lengths: What was asked.
        tokens: Tokens of all prompts.
        reached: Whether the interval is as narrow as wanted, or lies between neighbouring lengths.
        ended: Why the search ended, in words.
        falling: Whether scores may fall with length, which the interval supposes.
        rounds: Run folders, one a round.
    """

    estimate: float
    interval: Interval
    threshold: float
    lengths: tuple[AskedLength, ...]
    tokens: int
    reached: bool
    ended: str
    falling: bool
    rounds: tuple[Path, ...]

    def __str__(self) -> str:
        low = "0" if self.interval.low == 0 else format_length(int(self.interval.low))
        high = "∞" if self.interval.high == float("inf") else format_length(int(self.interval.high))
        asked = sum(own.questions for own in self.lengths)
        text = (
            f"effective length about {format_length(round(self.estimate))} [{low}, {high}] tokens at a score of "
            f"{100 * self.threshold:g}, after {asked:,} questions and {self.tokens:,} prompt tokens"
        )
        text += f"; {self.ended}" if self.ended else ""
        return text if self.falling else f"{text}; the scores do not fall with length, so the interval says nothing"


class _Questions:
    """The questions of a suite that are left, by task; each is asked at one length."""

    def __init__(self, folder: Path, seed: int) -> None:
        units: dict[str, dict[bytes, dict[int, tuple[str, int]]]] = defaultdict(lambda: defaultdict(dict))
        self.tokens: dict[int, list[int]] = defaultdict(list)
        for sample in open_suite(folder).samples(parts=False):
            if is_whole(sample.length, sample.facets):
                place = place_of(sample.task, sample.item, sample.facets.get("cluster"))
                units[sample.task][place].setdefault(sample.length, (sample.id, sample.tokens))
                self.tokens[sample.length].append(sample.tokens)
        lengths = {task: {length for unit in own.values() for length in unit} for task, own in units.items()}
        self.lengths = sorted(set.intersection(*lengths.values())) if lengths else []
        if len(self.lengths) < 2:
            which = named_lengths(self.lengths) if self.lengths else "none"
            raise FathomError(f"{folder}: a search needs two lengths or more that all tasks have; there is {which}")
        self._left = {task: [own[place] for place in sorted(own)] for task, own in sorted(units.items())}
        self._rng = np.random.default_rng([seed, 45])

    def costs(self) -> list[float]:
        """The mean tokens of a prompt at each length."""
        return [float(np.mean(self.tokens[length])) for length in self.lengths]

    def take(self, count: int, length: int) -> list[tuple[str, int]]:
        """Questions of random tasks at a length, with their tokens; fewer if a task that is drawn has none left."""
        tasks, taken = list(self._left), list[tuple[str, int]]()
        for _ in range(count):
            left = self._left[tasks[int(self._rng.integers(len(tasks)))]]
            number = next((number for number, unit in enumerate(left) if length in unit), None)
            if number is None:
                break
            taken.append(left.pop(number)[length])
        return taken


def search_length(
    suite: Path,
    settings: SearchSettings,
    folder: Path,
    ask: Callable[[Path, Path, Remaining], str],
    report: Callable[[LengthFound], None] | None = None,
) -> LengthFound:
    """Search the length up to which a model reaches a score; the same call again resumes.

    Args:
        suite: A suite with the lengths among which to search.
        settings: What is to be reached, and how.
        folder: Where the rounds are written.
        ask: Runs the subset in a file into a run folder, told the most that is ahead; gives why it was stopped, or "".
        report: Called after every round.

    Raises:
        FathomError: The budget is less than a round, the suite has fewer than two lengths that all tasks have, a round
            was stopped, or it asked other questions than it would now.
    """
    if settings.budget < settings.step:
        raise FathomError(f"`budget` {settings.budget} is less than a round of `step` {settings.step} questions")
    questions = _Questions(suite, settings.seed)
    search = LengthSearch(questions.lengths, settings.threshold, np.array(questions.costs()))
    choices: dict[str, Json] = {name: getattr(settings, name) for name in ("threshold", "within", "step", "seed")}
    counts, sums = np.zeros(len(questions.lengths), dtype=int), np.zeros(len(questions.lengths))
    dearest = max((round(cost), length) for cost, length in zip(questions.costs(), questions.lengths, strict=True))
    tokens, rounds, ended = 0, list[Path](), ""

    def state() -> LengthFound:
        asked = tuple(
            AskedLength(length, int(count), float(total / count))
            for length, count, total in zip(questions.lengths, counts, sums, strict=True)
            if count
        )
        return LengthFound(
            search.estimate, search.interval, settings.threshold, asked, tokens, search.is_within(settings.within),
            ended, search.falling, tuple(rounds),
        )  # fmt: skip

    while not ended:
        left = settings.budget - int(counts.sum())
        if left < settings.step:  # part of a round would be another one with a larger budget
            ended = SPENT
            break
        place = search.next_length(settings.within)
        drawn = questions.take(settings.step, questions.lengths[place])
        if len(drawn) < settings.step:
            ended = "a task has no question left"
        if not drawn:
            break
        rounds.append(folder / ROUND.format(len(rounds) + 1))
        names = [name for name, _ in drawn]
        subset = _written(rounds[-1], names, choices)
        if stopped := ask(subset, rounds[-1], Remaining(left - left % settings.step, *dearest)):
            raise FathomError(f"{rounds[-1]}: stopped: {stopped}; the same command resumes")
        for low, high in _scores(rounds[-1], names):
            search.add(place, low, high)
            counts[place] += 1
            sums[place] += (low + high) / 2
        tokens += sum(size for _, size in drawn)
        if not search.falling:
            ended = "every place of a fall is excluded"
        elif search.is_within(settings.within):
            ended = "the interval is as narrow as wanted"
        if report is not None:
            report(state())
    return state()


def _scores(folder: Path, names: Sequence[str]) -> list[tuple[float, float]]:
    """The lowest and highest that each score may be: a prompt that does not fit scores 0, a missing reply anything."""
    rows = scored_rows(load([folder]))
    known: Mapping[str, tuple[str, float | None]] = {
        sample: (status, value) for sample, status, value in rows.select("sample", "status", "value").iter_rows()
    }
    scores = []
    for name in names:
        status, value = known.get(name, ("error", None))
        if value is None:
            scores.append((0.0, 0.0 if status == "overflow" else 1.0))
        else:
            within = min(max(value, 0.0), 1.0)
            scores.append((within, within))
    return scores


def _written(folder: Path, names: Sequence[str], choices: Mapping[str, Json]) -> Path:
    """The file of the subset of a round, beside its folder.

    Raises:
        FathomError: There is one with other questions.
    """
    members = tuple(Member(name, 1.0) for name in names)
    path = folder.with_suffix(".json")
    if not path.is_file():
        write_subset(Subset(folder.name, members, METHOD, choices), path)
    elif read_subset(path).members != members:
        raise FathomError(
            f"{path}: this round asked other questions than it would now: the options, the suite, the scores of an "
            "earlier round or the version of fathom have changed. Choose another `out`"
        )
    return path
