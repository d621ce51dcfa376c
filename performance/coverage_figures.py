"""Figures of the public commands on simulated replies: intervals, p-values, verdicts and ranks. See coverage.py."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import polars as pl

from coverage_scenarios import CUMULATIVE, DIFFICULTY, GRID, MARGIN, NODES, NORMAL, REPLY, WEIGHTS, Scenario, Simulated
from fathom import api
from fathom.analysis import PositionPoint, Setup, compare_setups
from fathom.analysis.two_models import two_models as compare_two
from fathom.board.measured import measured as measured_entries
from fathom.board.results import Batch
from fathom.board.table import table as board_table
from fathom.rows.table import RowsTable
from fathom.types.boards import Board, Category, Part

Kind: TypeAlias = Literal["coverage", "false alarms", "families", "rank ranges", "power"]
ALL = "all"
ADJUSTED = ("p_adjusted", "adjusted")
"""Names of adjusted p-values in versions of the program that have them."""
LONGEST_BASE = 6144
"""Lengths up to this one, in tokens, are base lengths."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """One figure of one simulated study.

    Attributes:
        figure: Its name.
        kind: What is counted.
        value: Whether an interval includes the truth, or whether a finding is wrong.
        width: Width of the interval; NaN without one.
    """

    figure: str
    kind: Kind
    value: bool
    width: float = math.nan


def covers(figure: str, interval: Any, truth: float) -> Iterator[Outcome]:
    if interval is not None:
        included = interval.low - 1e-9 <= truth <= interval.high + 1e-9
        yield Outcome(figure, "coverage", included, interval.high - interval.low)


def alarm(figure: str, wrong: bool) -> Outcome:
    return Outcome(figure, "false alarms", wrong)


def adjusted(measure: Any) -> float:
    """The p-value of a table of many: adjusted in versions of the program that do."""
    candidates = (getattr(measure, name, None) for name in ADJUSTED)
    return float(next((value for value in candidates if value is not None), measure.p_value))


def family(figure: str, measures: Iterable[Any]) -> Outcome:
    return Outcome(figure, "families", any(adjusted(measure) < 0.05 for measure in measures))


def rank_ranges(figure: str, ranges: Iterable[tuple[float, tuple[int, int]]]) -> Outcome:
    """Whether any range of ranks lacks a rank that the true scores leave open.

    Args:
        figure: Name of the figure.
        ranges: True score of each model, and its best and worst rank.
    """
    ranges = list(ranges)
    wrong = any(
        best > 1 + sum(other > true + 1e-9 for other, _ in ranges)
        or worst < len(ranges) - sum(other < true - 1e-9 for other, _ in ranges)
        for true, (best, worst) in ranges
    )
    return Outcome(figure, "rank ranges", wrong)


def number_of(name: str) -> int:
    """The number of a model or a task: 3 of "m03"."""
    return int(name.lstrip("mt"))


# ---------------------------------------------------------------------------------------------------- commands


def report(made: Simulated) -> Iterator[Outcome]:
    """Everything in the report: average scores, cells, LongScore, effective lengths, drops, ranks and their pairs."""
    scenario = made.scenario
    results = api.report([made.file], out="-", format="json").results
    several = len(scenario.items) > 1
    for (system, task), score in results.average.items():
        own = scenario.truth[number_of(system.model)]
        if task == ALL:
            yield from covers("report: average score", score.interval, own.mean())
        elif several:
            yield from covers("report: average of a task", score.interval, own[number_of(task)].mean())
    for (system, task, length), point in results.curve.items():
        own = scenario.truth[number_of(system.model), :, scenario.lengths.index(length)]
        if task != ALL:
            yield from covers("report: one task at a length", point.interval, own[number_of(task)])
        elif several:
            yield from covers("report: tasks at a length", point.interval, own.mean())
    for (system, task), ratio in results.longscore.items():
        if task == ALL:
            yield from longscores(scenario, scenario.truth[number_of(system.model)].mean(axis=0), ratio)
    for (system, task, definition), reach in results.effective.items():
        if task == ALL:
            curve = scenario.truth[number_of(system.model)].mean(axis=0)
            yield from effective(scenario, curve, definition, reach)
    yield from drops(scenario, results.drops)
    yield from ranking(scenario, results.ranked)


def base_of(scenario: Scenario, curve: np.ndarray) -> float:
    """True mean at the base lengths; NaN without one."""
    base = np.array(scenario.lengths) <= LONGEST_BASE
    return float(curve[base].mean()) if base.any() else math.nan


def longscores(scenario: Scenario, curve: np.ndarray, score: Any) -> Iterator[Outcome]:
    base = base_of(scenario, curve)
    yield from covers("LongScore: base", score.base_interval, base)
    true = {length: float(value / base - 1) for length, value in zip(scenario.lengths, curve, strict=True)}
    beyond = [value for length, value in true.items() if length > LONGEST_BASE]
    yield from covers("LongScore: mean", score.average_interval, sum(beyond) / max(len(beyond), 1))
    for point in score.points:
        yield from covers("LongScore: at a length", point.interval, true[point.length])


def effective(scenario: Scenario, curve: np.ndarray, definition: str, reach: Any) -> Iterator[Outcome]:
    base = base_of(scenario, curve)
    thresholds = {"ruler": 0.856, "own_base": 0.85 * base, "half_base": 0.5 * base}
    if definition in thresholds and not math.isnan(thresholds[definition]):
        name = f"effective length: {definition}"
        yield from reaches(name, reach.interval, scenario.lengths, curve >= thresholds[definition] - 1e-12)


def reaches(figure: str, interval: Any, lengths: Sequence[float], passing: np.ndarray) -> Iterator[Outcome]:
    """Whether an interval of a length extends from the last length that passes to the first that fails; in octaves."""
    if interval is None:
        return
    ends = [0.0, *map(float, lengths), math.inf]
    last = int(np.cumprod(passing).sum())
    included = interval.low <= ends[last] and interval.high >= ends[last + 1]
    width = math.log2(min(interval.high, 2 * lengths[-1]) / max(interval.low, lengths[0] / 2))
    yield Outcome(f"{figure} (octaves)", "coverage", included, width)


def drops(scenario: Scenario, losses: Sequence[Any]) -> Iterator[Outcome]:
    falls = np.diff(scenario.truth, axis=2).any()
    if not falls and len(scenario.lengths) > 1:
        yield Outcome("largest drops: any of a flat curve", "families", bool(losses))
    for drop in losses if falls else ():
        own = scenario.truth[number_of(drop.model), number_of(drop.task)]
        before, after = (own[scenario.lengths.index(length)] for length in (drop.shortest, drop.length))
        yield from covers("largest drops: the loss", drop.interval, float(after - before))


def ranking(scenario: Scenario, ranked: Sequence[Any]) -> Iterator[Outcome]:
    if len(ranked) < 2:
        return
    truths = [float(scenario.truth[number_of(entry.model)].mean()) for entry in ranked]
    ranges = zip(truths, ((entry.best, entry.worst) for entry in ranked), strict=True)
    yield rank_ranges("report: ranks", ranges)
    for place, entry in enumerate(ranked):
        for other in range(place + 1, len(ranked)):
            gap = entry.gaps[other]
            if gap is None:
                continue
            yield from covers("report: difference of two", gap.interval, truths[place] - truths[other])
            if scenario.equal:
                yield alarm("report: difference of two", gap.p_value < 0.05)


def compare(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    comparisons = api.analyze_compare([made.file])
    several = len(scenario.items) > 1
    for comparison in comparisons:
        if several and comparison.task != ALL:
            name = "one task, all lengths" if comparison.length is None else "one task at a length"
        elif comparison.task == ALL or not several:
            name = "all lengths" if comparison.length is None else "at a length"
        first, second = (scenario.truth[number_of(model)] for model in (comparison.model_a, comparison.model_b))
        gaps = first - second if comparison.task == ALL else (first - second)[number_of(comparison.task)][None]
        gap = gaps.mean() if comparison.length is None else gaps[:, scenario.lengths.index(comparison.length)].mean()
        yield from covers(f"compare: {name}", comparison.interval, float(gap))
        if scenario.equal:
            yield alarm(f"compare: {name}", comparison.p_value < 0.05)
    if scenario.equal:
        yield family("compare: any of the table", comparisons)


def two_models(made: Simulated) -> Iterator[Outcome]:
    """What `fathom compare A B` says of m01 and m00: each length for itself, and the band of all of them together."""
    scenario = made.scenario
    gaps = (scenario.truth[0] - scenario.truth[1]).mean(axis=0)
    result = compare_two(*(made.rows.filter(model=name) for name in ("m01", "m00")))
    if result.overall is not None:
        yield from covers("two models: all lengths", result.overall.interval, float(gaps.mean()))
    held = []
    for own, true in zip(result.lengths, gaps.tolist(), strict=True):
        yield from covers("two models: at a length", own.interval, true)
        held += list(covers("two models: band", own.band, true))
    width = float(np.mean([outcome.width for outcome in held]))
    yield Outcome("two models: band", "coverage", all(outcome.value for outcome in held), width)
    if scenario.equal:
        yield Outcome("two models: any length", "families", any(own.significant for own in result.lengths))


def adjacent(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    entries = api.analyze_adjacent([made.file])
    truths = [scenario.by_question(number_of(entry.model)) for entry in entries]
    for place, entry in enumerate(entries):
        yield from covers("adjacent: score", entry.interval, truths[place])
        if entry.gap_interval is not None:
            yield from covers("adjacent: gap", entry.gap_interval, truths[place] - truths[place + 1])
            if scenario.equal:
                yield alarm("adjacent: gap", not entry.tied)
    yield rank_ranges("adjacent: ranks", zip(truths, ((entry.best, entry.worst) for entry in entries), strict=True))


def breakdown(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    by = ("overall", "language", "length")
    equal = []
    for score in api.analyze_breakdown([made.file], by=by):
        column = None
        if score.dimension == "length":
            column = scenario.lengths.index(int(score.group.removesuffix("k")) * 1024)
        elif score.dimension == "language" and len(scenario.items) > 1:
            continue  # the shares of tasks differ between languages
        true = scenario.by_question(number_of(score.model), column)
        yield from covers(f"breakdown: {score.dimension}", score.interval, true)
        p_value = getattr(score, "p_value", None)  # versions before had none
        if p_value is None:
            continue
        truths = [scenario.by_question(number_of(score.model), other) for other in range(len(scenario.asked))]
        gap = 0.0 if column is None else true - float(np.mean(truths[:column] + truths[column + 1 :]))
        yield from covers(f"breakdown: difference, {score.dimension}", score.difference_interval, gap)
        if abs(gap) < 1e-9:
            equal.append(score)
            yield alarm(f"breakdown: difference, {score.dimension}", p_value < 0.05)
    if equal:
        yield family("breakdown: any difference of equal groups", equal)


def best_of_n(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    for score in api.analyze_breakdown([made.file], by=("overall", "length"), measures=("best_of", "pass_at")):
        yield from covers(f"breakdown: {score.measure}, {score.dimension}", score.interval, any_of(scenario, score.n))


def any_of(scenario: Scenario, n: int) -> float:
    """True probability that one of n repeats is right; the true scores must be the same everywhere."""
    threshold = -NORMAL.inv_cdf(float(scenario.truth.flat[0]))
    high = (math.sqrt(1 - REPLY) * NODES - threshold) / math.sqrt(REPLY)
    return float(WEIGHTS @ (1 - (1 - np.interp(high, GRID, CUMULATIVE)) ** n))


def repeats(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    for result in api.analyze_repeats([made.file]):
        model = number_of(result.model)
        yield from covers("repeats: mean", result.interval, scenario.by_question(model))
        if scenario.epochs > 1:
            yield from covers("repeats: mean on these questions", result.interval_replies, made.drawn[model])
            for trend in result.trend:
                yield from covers("repeats: best of n", trend.best_of_interval, any_of(scenario, trend.n))
                yield from covers("repeats: pass at n", trend.pass_at_interval, any_of(scenario, trend.n))


def retention(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    lengths = np.array(scenario.lengths, dtype=float)
    beyond = lengths > LONGEST_BASE
    at = np.append(lengths[~beyond].mean(), lengths[beyond])
    for result in api.analyze_retention([made.file]):
        curve = scenario.truth[number_of(result.model)].mean(axis=0)
        base = base_of(scenario, curve)
        if result.task != ALL:
            continue
        kept = curve[beyond] / base
        points = zip(result.points, kept.tolist(), strict=True)
        for name, estimate, true in (
            ("base", result.base, base),
            ("mean", result.retention, float(kept.mean())),
            ("log-ratio", result.log_ratio, float(np.log(kept).mean())),
            ("area", result.area, area(at, np.append(base, curve[beyond]))),
            *(("at a length", point.retention, true) for point, true in points),
        ):
            if estimate is not None:
                yield from covers(f"retention: {name}", estimate.interval, true)
        for name, reach, share in (("L85", result.l85, 0.85), ("L50", result.l50, 0.5)):
            if reach is not None:
                yield from reaches(f"retention: {name}", reach.interval, at.tolist(), np.append(1.0, kept) >= share)


def area(lengths: np.ndarray, curve: np.ndarray) -> float:
    """Mean of a curve that is linear in log length."""
    steps = np.diff(np.log2(lengths))
    return float(((curve[1:] + curve[:-1]) / 2 * steps).sum() / steps.sum())


def categories(made: Simulated) -> Iterator[Outcome]:
    scenario = made.scenario
    group_of = np.arange(len(scenario.items)) % 2
    for score in api.analyze_categories([made.file]):
        own = scenario.truth[number_of(score.model)].mean(axis=1)
        means = [own[group_of == group].mean() for group in range(2)]
        if score.task != ALL:
            yield from covers("categories: one task", score.interval, own[number_of(score.task)])
        elif score.group == ALL:
            yield from covers("categories: all", score.interval, float(np.mean(means)))
        else:
            yield from covers("categories: one category", score.interval, float(means[int(score.group[1:])]))


def gate(made: Simulated) -> Iterator[Outcome]:
    """The gate of two equal sides: candidate m00 against m01."""
    decided = _gate(made)
    yield alarm("gate: FAIL of equal sides", decided.decision == "FAIL")
    for claim in decided.claims:
        yield from covers("gate: difference", claim.interval, 0.0)


def gate_at_margin(made: Simulated) -> Iterator[Outcome]:
    yield alarm("gate: PASS at a loss of the margin", _gate(made).decision == "PASS")


def gate_of_a_loss(made: Simulated) -> Iterator[Outcome]:
    yield Outcome("gate: FAIL at a loss at one length", "power", _gate(made).decision == "FAIL")


def _gate(made: Simulated) -> Any:
    return api.gate(candidate=made.of_model(0), baseline=made.of_model(1), margin=MARGIN)


def board(made: Simulated) -> Iterator[Outcome]:
    """The board of the models: its downloads, and the files of its pairs."""
    scenario, site = made.scenario, made.file.with_name("site")
    api.board_build([made.file], out=site, published=False, examples=False)
    (table,) = json.loads((site / "downloads" / "all.json").read_text(encoding="utf-8"))["boards"]
    truths = {line["key"]: float(scenario.truth[number_of(line["model"])].mean()) for line in table["lines"]}
    columns = {name: place for place, name in enumerate(table["columns"])}
    for line in table["lines"]:
        for figure in line["figures"]:
            value = {name: figure[place] for name, place in columns.items() if place < len(figure)}
            if value["figure"] in ("overall", "length") and value["low"] is not None:
                at = value["length"]
                own = scenario.truth[number_of(line["model"])].mean(axis=0)
                true = truths[line["key"]] if at is None else float(own[scenario.lengths.index(at)])
                included = value["low"] - 1e-5 <= true <= value["high"] + 1e-5
                width = value["high"] - value["low"]
                yield Outcome(f"board: {value['figure']} score", "coverage", included, width)
    ranges = ((truths[line["key"]], tuple(line["rank"])) for line in table["lines"] if line["rank"])
    yield rank_ranges("board: ranks", ranges)
    keys = [line["key"] for line in table["lines"]]
    for place, key in enumerate(keys):
        text = (site / "data" / "pairs" / table["id"] / f"{key}.js").read_text(encoding="utf-8")
        _, lows, highs, p_values, *_ = json.loads(text[text.index("{") : text.rindex("}") + 1])["overall"]
        for other in range(place + 1, len(keys)):
            gap = truths[key] - truths[keys[other]]
            included = lows[other] - 1 <= gap * 1e5 <= highs[other] + 1
            yield Outcome("board: difference of two", "coverage", included, (highs[other] - lows[other]) / 1e5)
            if scenario.equal:
                yield alarm("board: difference of two", p_values[other] < 5000)


def board_parts(made: Simulated) -> Iterator[Outcome]:
    """Differences by category and by length: with the same items, with half of them in common, and with none."""
    scenario = made.scenario
    tasks = [f"t{number}" for number in range(len(scenario.items))]
    categories = tuple(Category(f"c{n}", f"c{n}", (Part(tuple(tasks[n::2])),)) for n in range(2))
    counted = {task: tuple(scenario.lengths) for task in tasks}
    declared = Board("made", "Made", ("s",), "", "", categories, tuple(scenario.lengths), counted=counted)
    number = pl.col("item").str.split("-").list.last().cast(pl.Int64)
    count = min(scenario.items)
    asked = {
        "the same items": (number >= 0, number >= 0),
        "half in common": (number < count * 2 // 3, number >= count // 3),
        "other items": (number < count // 2, number >= count // 2),
    }
    for name, sides in asked.items():
        rows = pl.concat([made.rows.filter(model=f"m{n:02}").filter(own) for n, own in enumerate(sides)])
        (entries,) = measured_entries([declared], Batch(RowsTable(rows))).entries.values()
        table = board_table(declared, entries, {"m00": "m00", "m01": "m01"})
        first, second = (scenario.truth[number_of(line.entry.model)] for line in table.entries)
        for part, pairs in table.parts.items():
            kind, _, own = part.partition("/")
            gaps = (
                (first - second)[int(own[1:]) :: 2]
                if kind == "category"
                else (first - second)[:, [scenario.lengths.index(int(own))]]
            )
            gap = pairs[0, 1].gap
            yield from covers(f"board: by {kind}, {name}", gap.interval, float(gaps.mean()))


def setups(made: Simulated) -> Iterator[Outcome]:
    """Equal setups compared with a base, as `fathom lab compare` does with its rows."""
    scenario = made.scenario
    given = [Setup(f"m{number:02}", "position" if number else "none") for number in range(scenario.models)]
    results = compare_setups(made.rows, given, "m00", 8192)[1:]
    yield alarm("setups: any verdict", any(result.verdict in ("better", "worse") for result in results))
    yield alarm("setups: any first length", any(result.first_better is not None for result in results))
    for result in results:
        for name in ("gain", "loss"):
            yield from covers(f"setups: {name}", getattr(result, name).interval, 0.0)
        for point in result.points:
            if point.difference is not None:
                yield from covers("setups: difference at a length", point.difference.interval, 0.0)
    for place in range(len(scenario.lengths)):
        yield family("setups: any at a length", (result.points[place].difference for result in results))


def thinking(made: Simulated) -> Iterator[Outcome]:
    for gain in api.analyze_thinking([made.file], by=("overall", "language", "length")):
        for outcome in covers(f"thinking: gain, {gain.dimension}", gain.interval, 0.0):
            p_value = getattr(gain, "p_value", None)
            wrong = not outcome.value if p_value is None else p_value < 0.05
            yield from (outcome, alarm(outcome.figure, wrong))


def position(made: Simulated) -> Iterator[Outcome]:
    contrasts = []
    for point in api.analyze_position([made.file]):
        if isinstance(point, PositionPoint):
            yield from covers("position: depth", point.interval, float(made.scenario.truth.flat[0]))
            continue
        yield from covers("position: contrast", point.interval, 0.0)
        if point.p_value is not None:
            contrasts.append(point)
            yield alarm("position: contrast", point.p_value < 0.05)
    yield family("position: any contrast", contrasts)


def truncation(made: Simulated) -> Iterator[Outcome]:
    for result in api.analyze_truncation([made.file]):
        name = "all tasks" if result.task == ALL else "one task"
        true = float(made.scenario.truth.flat[0])
        yield from covers(f"truncation: whole, {name}", result.full_interval, true)
        yield from covers(f"truncation: truncated, {name}", result.interval, true)
        yield from covers(f"truncation: difference, {name}", result.difference_interval, 0.0)
        yield from covers(f"truncation: share, {name}", result.share_interval, 1.0)
        yield alarm(f"truncation: difference, {name}", result.p_value < 0.05)


def alike(scenario: Scenario) -> float:
    """True probability that two models have the same score of 0 or 1."""
    true = float(scenario.truth.flat[0])
    high = (math.sqrt(DIFFICULTY) * NODES + NORMAL.inv_cdf(true)) / math.sqrt(1 - DIFFICULTY)
    both = float(WEIGHTS @ np.interp(high, GRID, CUMULATIVE) ** 2)
    return 1 - 2 * true + 2 * both


def judge(made: Simulated) -> Iterator[Outcome]:
    """The scores of m00 are those of the judge, the scores of m01 the labels."""
    labels = made.file.with_name("labels.csv")
    with labels.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(("sample", "score"))
        writer.writerows(made.rows.filter(model="m01").select("sample", "value").rows())
    for quality in api.analyze_judge([made.of_model(0)], labels=labels):
        if quality.by in ("all", "length"):
            yield from covers(f"judge: bias, {quality.by}", quality.bias_interval, 0.0)
            yield from covers(f"judge: same score, {quality.by}", quality.exact_interval, alike(made.scenario))


def agreement(made: Simulated) -> Iterator[Outcome]:
    for result in api.analyze_agreement([made.file]):
        name = "all lengths" if result.length is None else "at a length"
        yield from covers(f"agreement: {name}", result.interval, alike(made.scenario))


def answers(made: Simulated) -> Iterator[Outcome]:
    for point in api.analyze_answers([made.file]):
        yield from covers("answers: accuracy", point.accuracy.interval, float(made.scenario.truth.flat[0]))


def closed_book(made: Simulated) -> Iterator[Outcome]:
    for result in api.analyze_closed_book([made.file]):
        yield from covers("closed-book: score", result.interval, float(made.scenario.truth[0, 0, 1]))


COMMANDS: Mapping[str, Callable[[Simulated], Iterator[Outcome]]] = {
    "report": report,
    "compare": compare,
    "two models": two_models,
    "adjacent": adjacent,
    "breakdown": breakdown,
    "best of n": best_of_n,
    "repeats": repeats,
    "retention": retention,
    "categories": categories,
    "gate": gate,
    "gate at the margin": gate_at_margin,
    "gate of a loss": gate_of_a_loss,
    "board": board,
    "board parts": board_parts,
    "setups": setups,
    "thinking": thinking,
    "position": position,
    "truncation": truncation,
    "judge": judge,
    "agreement": agreement,
    "answers": answers,
    "closed-book": closed_book,
}
