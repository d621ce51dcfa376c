"""Setups of one model compared: methods for positions, for the cache, and systems around the model.

All setups are asked the samples of one nested suite and compared with one of them, the base: usually the whole prompt
without any method. Differences are paired by item, and the items have the same weights for all setups. Setups with
unchanged weights and setups that were trained are two families: p-values are adjusted by Holm's method within a family,
and no result depends on the other one.

A sample that one setup was asked and another was not is a missing reply of the latter (``fathom.stats.outcomes``), and
prompts that were not sent because they do not fit are ``overflow``. A setup that refuses long prompts therefore has no
score there, and is not called better.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np
import polars as pl

from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.compare import Pairing, pair_up
from fathom.analysis.curve import CurvePoint, curve_of
from fathom.analysis.effective import EffectiveLength, effective_length_of
from fathom.analysis.grid import ALL
from fathom.analysis.profile import Profile, profiles
from fathom.analysis.setup_costs import NOTHING, Amount, Spent, ratio, spent_by
from fathom.plugins.names import listed
from fathom.stats.differences import PAIRED_REPLICATES, Gap
from fathom.stats.intervals import LEVEL, Interval
from fathom.stats.outcomes import Unanswered, scored_rows
from fathom.stats.ranks import holm
from fathom.tokens.length import format_length
from fathom.types import FathomError

Limit: TypeAlias = Literal["", "floor", "ceiling"]
Verdict: TypeAlias = Literal["", "better", "worse", "no difference shown", "cannot tell"]
VERDICTS: tuple[Verdict, ...] = ("better", "worse", "no difference shown", "cannot tell")
ERROR = 1 - LEVEL
"""Family-wise error of each table at each length, and of its verdicts."""
_FULL = 1 - 1e-9
_SAMPLE = ["suite", "task", "sample", "length"]
_UNKNOWN = ("value", "answer", "tokens_in", "tokens_out", "tokens_reasoning", "cost", "seconds", "answered")
"""Columns that are empty in the row of a sample that was not asked."""


@dataclass(frozen=True, slots=True)
class Setup:
    """One setup of a model.

    Attributes:
        name: Its name as shown, unique; that of its rows in ``model``.
        kind: ``none``, ``position``, ``cache`` or ``system``, or a mixture in words.
        trained: What the weights were fine-tuned with; "" if they are unchanged.
        chosen: How hyper-parameters were chosen ("factor=8 of 4, 8, 16, on 20 other items"); "" if the user gave them.
        kernel: Name of the attention kernel, for times; "" if unknown.
    """

    name: str
    kind: str
    trained: str = ""
    chosen: str = ""
    kernel: str = ""


@dataclass(frozen=True, slots=True)
class Timing:
    """Speed and cache of one setup at one length, in batches of one.

    Attributes:
        setup: Name of the setup.
        length: Length in tokens.
        first_token_seconds: Median time to the first token.
        tokens_per_second: Median speed of the reply after its first token.
        cache_bytes_prompt: Keys and values after the prompt.
        cache_bytes: Peak of keys and values.
        repeats: Requests that the medians are over.
    """

    setup: str
    length: int
    first_token_seconds: float | None
    tokens_per_second: float | None
    cache_bytes_prompt: int | None
    cache_bytes: int | None
    repeats: int


@dataclass(frozen=True, slots=True)
class Trial:
    """One tried value of hyper-parameters.

    Attributes:
        value: The value ("factor=8").
        short: Mean score on the tuning items at lengths up to the window; None without one.
        long: The same beyond the window.
        chosen: Whether it was chosen.
    """

    value: str
    short: float | None
    long: float | None
    chosen: bool = False


@dataclass(frozen=True, slots=True)
class Tuned:
    """The hyper-parameters that were tried for one setup.

    Attributes:
        setup: Name of the setup.
        items: Items that they were chosen on, none of them an item of the comparison.
        trials: All that were tried, in the order of the grid.
    """

    setup: str
    items: int
    trials: tuple[Trial, ...]


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean difference to the base, paired by item.

    Attributes:
        difference: Mean of the setup minus mean of the base.
        interval: Its 95% interval, for itself.
        p_value: Two-sided p-value, for itself.
        adjusted: The p-value, adjusted by Holm's method for the setups of its family.
    """

    difference: float
    interval: Interval
    p_value: float
    adjusted: float

    @property
    def sign(self) -> int:
        """1 if the setup is higher, -1 if it is lower, 0 if no difference is shown after adjustment."""
        return self.sign_at(ERROR)

    def sign_at(self, level: float) -> int:
        """The same, where the adjusted p-value is at most ``level``."""
        if self.adjusted > level:
            return 0
        return 1 if self.difference > 0 else -1


@dataclass(frozen=True, slots=True)
class SetupPoint:
    """One setup at one length.

    Attributes:
        setup: Name of the setup.
        length: Length in tokens.
        mean: Mean score over tasks, in [0, 1]; None without a score.
        interval: Its 95% interval.
        items: Items with a reply.
        chance: Expected score of a valid answer drawn at random; None if unknown.
        gap: Why there is no score ("18 of 20 prompts did not fit"); "" otherwise.
        difference: Difference to the base at this length; None for the base, or without a score of one of both.
        limit: ``floor`` if neither score differs from guessing, ``ceiling`` if both are 1: a difference could not show.
        spent: What a reply took on average.
    """

    setup: str
    length: int
    mean: float | None
    interval: Interval | None
    items: int
    chance: float | None = None
    gap: str = ""
    difference: Difference | None = None
    limit: Limit = ""
    spent: Spent = NOTHING

    @property
    def tokens_in(self) -> Amount | None:
        """Tokens of the prompt; mean of a reply."""
        return self.spent.tokens_in

    @property
    def tokens_out(self) -> Amount | None:
        """Tokens of the reply; mean of a reply."""
        return self.spent.tokens_out

    @property
    def cost(self) -> Amount | None:
        """US dollars; mean of a reply."""
        return self.spent.cost

    @property
    def seconds(self) -> Amount | None:
        """Seconds of a request; mean of a reply."""
        return self.spent.seconds


@dataclass(frozen=True, slots=True)
class SetupResult:
    """One setup over all lengths.

    Attributes:
        points: Its points, lengths ascending.
        gain: Difference to the base averaged over all tested lengths beyond the window; None for the base, without such
            lengths, or if one of both has no score at one of them.
        loss: The same over the tested lengths up to the window; below 0 if the setup costs score there.
        verdict: ``better`` or ``worse``: beyond the window the difference is significant at two adjacent tested
            lengths or in ``gain``, at the levels of :func:`verdict_levels`. ``cannot tell``: a setup or the base has
            no score, both are at floor or ceiling everywhere, or the two rules contradict each other. "" for the base.
        reason: What the verdict rests on ("higher at 16k and 32k, and in the mean beyond the window").
        effective: Effective lengths under the definitions of ``fathom.analysis.effective``; the base of a setup is its
            own mean over the tested lengths up to the window.
        first_better: Shortest tested length from which on the score is significantly higher than that of the base, at
            it and at all longer ones; None without one.
        tokens_ratio: Tokens of a reply divided by those of the base, at ``first_better``; None if unknown.
        dollars_ratio: The same of its cost.
        timings: Measured times, lengths ascending.
    """

    setup: Setup
    points: tuple[SetupPoint, ...]
    gain: Difference | None = None
    loss: Difference | None = None
    verdict: Verdict = ""
    reason: str = ""
    effective: tuple[EffectiveLength, ...] = ()
    first_better: int | None = None
    tokens_ratio: float | None = None
    dollars_ratio: float | None = None
    timings: tuple[Timing, ...] = ()

    def at(self, length: int) -> SetupPoint | None:
        """Its point at a length; None without one."""
        return next((point for point in self.points if point.length == length), None)


def compare_setups(
    rows: pl.DataFrame,
    setups: Sequence[Setup],
    base: str,
    window: int,
    *,
    timings: Sequence[Timing] = (),
    unanswered: Unanswered = "zero",
    seed: int = 0,
    replicates: int = PAIRED_REPLICATES,
) -> list[SetupResult]:
    """Compares setups of one model with a base on the samples of one suite.

    Tested lengths are those at which every task has samples. The three families of tests (each length, ``gain`` and
    ``loss``) are adjusted for all setups with unchanged weights together, and for all trained ones together.

    Args:
        rows: A rows table whose ``model`` is the name of a setup, and ``variant`` "".
        setups: The setups, the base among them.
        base: Name of the base.
        window: Trained window of the model, in tokens.
        timings: Measured times.
        replicates: Number of replicates of differences.

    Returns:
        One result for each setup, in their order.

    Raises:
        FathomError: Two setups have one name, the base is none of them, one has no rows, a timing names another one,
            or the window is below 1.
    """
    _check(rows, setups, base, window, timings)
    names = [setup.name for setup in setups]
    counted = scored_rows(_with_absent(rows.filter(pl.col("model").is_in(names)), names), unanswered)
    tested = _tested(counted)
    short = [length for length in tested if length <= window]
    ready = {profile.model: profile for profile in profiles(counted, seed=seed) if profile.task == ALL}
    spent = spent_by(counted, seed)
    points = {name: _points(ready[name], tested, spent) for name in names}
    compared = []
    for family in families(setups, base):
        pairings = {
            setup.name: pair_up(
                counted.filter(pl.col("model").is_in([setup.name, base])),
                (setup.name, ""),
                (base, ""),
                seed=seed,
                replicates=replicates,
            )
            for setup in family
        }
        compared += _family(family, pairings, points, base, window)
    own = {result.setup.name: result for result in compared}
    first = next(setup for setup in setups if setup.name == base)
    results = [own.get(setup.name, SetupResult(first, tuple(points[base].values()))) for setup in setups]
    return [
        replace(
            result,
            effective=tuple(effective_length_of([ready[result.setup.name]], short or BASE_LENGTHS)),
            timings=tuple(
                sorted((own for own in timings if own.setup == result.setup.name), key=lambda own: own.length)
            ),
        )
        for result in results
    ]


def families(setups: Iterable[Setup], base: str) -> list[list[Setup]]:
    """The setups with unchanged weights, and those that were trained, both without the base."""
    others = [setup for setup in setups if setup.name != base]
    return [[setup for setup in others if not setup.trained], [setup for setup in others if setup.trained]]


# What is compared


def _check(rows: pl.DataFrame, setups: Sequence[Setup], base: str, window: int, timings: Sequence[Timing]) -> None:
    names = [setup.name for setup in setups]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise FathomError(f"two setups have the name {twice[0]!r}: names must differ")
    if base not in names:
        raise FathomError(f"the base {base!r} is no setup; the setups are {', '.join(map(repr, names)) or 'none'}")
    if window < 1:
        raise FathomError(f"window {window}: expected the trained window in tokens, 1 or more")
    present = set(rows.filter(pl.col("variant") == "")["model"])
    absent = [name for name in names if name not in present]
    if absent:
        known = ", ".join(map(repr, sorted(present))) or "none"
        raise FathomError(f"no rows of the setup {absent[0]!r} without a variant; the rows have {known}")
    strange = sorted({timing.setup for timing in timings} - set(names))
    if strange:
        raise FathomError(f"a timing is of {strange[0]!r}, which is no setup")


def _with_absent(rows: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """The rows, and for each setup a missing reply to every sample that only others were asked."""
    own = rows.filter(pl.col("variant") == "")
    samples = own.unique(_SAMPLE, keep="first", maintain_order=True)
    empty = [pl.lit(None, dtype=own.schema[name]).alias(name) for name in _UNKNOWN if name in own.columns]
    parts = [own]
    for name in names:
        absent = samples.join(own.filter(pl.col("model") == name), on=_SAMPLE, how="anti", maintain_order="left")
        parts.append(absent.with_columns(*empty, model=pl.lit(name), status=pl.lit("error"), detail=pl.lit("not run")))
    return pl.concat(parts)


def _tested(counted: pl.DataFrame) -> list[int]:
    """Lengths at which every task has samples."""
    tasks = counted["task"].n_unique()
    complete = counted.group_by("length").agg(pl.col("task").n_unique()).filter(pl.col("task") == tasks)
    return sorted(complete["length"].to_list())


def _points(profile: Profile, tested: Sequence[int], spent: Mapping[tuple[str, int], Spent]) -> dict[int, SetupPoint]:
    curve = {point.length: point for point in curve_of([profile]) if point.length in tested}
    return {length: _point(curve[length], spent.get((profile.model, length), NOTHING)) for length in tested}


def _point(point: CurvePoint, spent: Spent) -> SetupPoint:
    usable = point.complete and not point.gap
    gap = "" if usable else point.gap or "a task has no score"
    mean, interval = (point.mean, point.interval) if usable else (None, None)
    return SetupPoint(point.model, point.length, mean, interval, point.items, point.chance, gap, spent=spent)


# Differences


def _family(
    family: Sequence[Setup],
    pairings: Mapping[str, Pairing],
    points: Mapping[str, Mapping[int, SetupPoint]],
    base: str,
    window: int,
) -> list[SetupResult]:
    """Results of the setups of one family."""
    lengths = list(points[base])
    at = {length: _differences(pairings, points, base, [length]) for length in lengths}
    gains = _differences(pairings, points, base, [length for length in lengths if length > window])
    losses = _differences(pairings, points, base, [length for length in lengths if length <= window])
    made = []
    for setup in family:
        compared = tuple(
            _compared(point, points[base][length], at[length].get(setup.name))
            for length, point in points[setup.name].items()
        )
        gain = gains.get(setup.name)
        verdict, reason = _verdict([point for point in compared if point.length > window], points[base], gain)
        first = _first_better(compared)
        own, other = (NOTHING if first is None else points[name][first].spent for name in (setup.name, base))
        ratios = ratio(*own.comparable(other)), ratio(own.cost, other.cost)
        made.append(SetupResult(setup, compared, gain, losses.get(setup.name), verdict, reason, (), first, *ratios))
    return made


def _differences(
    pairings: Mapping[str, Pairing],
    points: Mapping[str, Mapping[int, SetupPoint]],
    base: str,
    lengths: Sequence[int],
) -> dict[str, Difference]:
    """The mean differences of the setups of a family over some lengths, without those that lack a score there."""
    gaps: dict[str, Gap] = {}
    for name, pairing in pairings.items():
        scored = all(points[side][length].mean is not None for side in (name, base) for length in lengths)
        gap = pairing.over(lengths) if scored else None
        if gap is not None:
            gaps[name] = gap
    adjusted = holm(np.array([gap.p_value for gap in gaps.values()]), tests=len(pairings)).tolist()
    return {
        name: Difference(gap.difference, gap.interval, gap.p_value, p_value)
        for (name, gap), p_value in zip(gaps.items(), adjusted, strict=True)
    }


def _compared(own: SetupPoint, base: SetupPoint, difference: Difference | None) -> SetupPoint:
    return replace(own, difference=difference, limit=_limit(own, base, difference))


def _limit(own: SetupPoint, base: SetupPoint, difference: Difference | None) -> Limit:
    if difference is None or own.mean is None or base.mean is None:
        return ""
    if min(own.mean, base.mean) >= _FULL:
        return "ceiling"
    # A difference that is significant for itself shows that one of both is above guessing.
    guessing = all(point.interval is not None and point.interval.low <= (point.chance or 0.0) for point in (own, base))
    return "floor" if guessing and difference.p_value > 1 - LEVEL else ""


def _first_better(points: Sequence[SetupPoint]) -> int | None:
    first = None
    for point in reversed(points):
        if point.difference is None or point.difference.sign < 1:
            break
        first = point.length
    return first


# Verdicts


def _verdict(
    beyond: Sequence[SetupPoint], base: Mapping[int, SetupPoint], gain: Difference | None
) -> tuple[Verdict, str]:
    """The verdict on a setup from its points beyond the window, and what it rests on."""
    if not beyond:
        return "cannot tell", "no tested length is beyond the window"
    shown = {sign: where for sign in (1, -1) if (where := _evidence(beyond, gain, sign))}
    refused = [f"{format_length(point.length)}: {point.gap}" for point in beyond if point.gap]
    if len(shown) == 2:
        return "cannot tell", f"{shown[1]}, but {shown[-1]}"
    if 1 in shown:
        return ("cannot tell", f"{shown[1]}, but no score at {'; '.join(refused)}") if refused else ("better", shown[1])
    if -1 in shown:
        return "worse", shown[-1]
    unscored = [(point.length, base[point.length].gap) for point in beyond if base[point.length].gap]
    lacking = refused or [f"{format_length(length)} for the base: {gap}" for length, gap in unscored]
    if lacking:
        return "cannot tell", f"no score at {'; '.join(lacking)}"
    if all(point.limit for point in beyond):
        limits = [f"{point.limit} at {format_length(point.length)}" for point in beyond]
        return "cannot tell", f"both at {listed(limits)}"
    return "no difference shown", ""


def _evidence(beyond: Sequence[SetupPoint], gain: Difference | None, sign: int) -> str:
    """Where a difference of this sign is shown, by both rules; "" if nowhere."""
    at_lengths, in_mean = verdict_levels(len(beyond))
    signs = [point.difference.sign_at(at_lengths) if point.difference is not None else 0 for point in beyond]
    at: list[int] = []
    for place in range(len(beyond) - 1):
        if signs[place] == signs[place + 1] == sign:
            at += [point.length for point in beyond[place : place + 2] if point.length not in at]
    word = "higher" if sign > 0 else "lower"
    shown_at = [f"{word} at {listed(list(map(format_length, at)))}"] if at else []
    if gain is not None and gain.sign_at(in_mean) == sign:
        shown_at.append("in the mean beyond the window" if shown_at else f"{word} in the mean beyond the window")
    return ", and ".join(shown_at)


def verdict_levels(lengths: int) -> tuple[float, float]:
    """The levels of adjusted p-values from which verdicts are made: at two adjacent lengths, and in the mean.

    Both rules together have an error of 5% at most, whatever the dependence between lengths, so each has one half.
    Any two adjacent lengths contain every other length: of three lengths the second, of five the second or the fourth.
    An error of the first rule is therefore an error at one of ``lengths // 2`` lengths, by which its half is divided.

    Args:
        lengths: Tested lengths beyond the window; with one of them there is only the mean.
    """
    if lengths < 2:
        return 0.0, ERROR
    return ERROR / 2 / (lengths // 2), ERROR / 2
