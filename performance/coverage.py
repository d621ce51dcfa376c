"""How often do intervals include the truth, and how often are findings wrong? Simulated replies with known truth.

Every scenario of coverage_scenarios.py is simulated many times, and the public commands measure the rows, as users do
(coverage_figures.py). "Luck" is the correlation between right and wrong of an item at two lengths with the same true
score: with luck 1 the very same items fail at both.

The limits: 95% intervals include the truth in at least 92% of simulations (90% with at most five items), p-values below
.05 and gates that fail between equal models in at most 6%, tables of equal models with any adjusted p-value below .05
in at most 6%, rankings with any wrong range of ranks in at most 8%. A rate outside its limit by less than two standard
errors is "unsure": simulate more.

    python performance/coverage.py                                   # 1,000 simulations of each scenario: hours
    python performance/coverage.py --simulations 100 --json now.json
    python performance/coverage.py --only "luck 1" --commands report compare
    python performance/coverage.py --widths before.json after.json   # mean widths of two files beside each other
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # the processes share the cores

import numpy as np

from coverage_figures import COMMANDS, Kind, Outcome
from coverage_scenarios import SCENARIOS, Scenario, simulate
from fathom.stats.intervals import kept_draws

LIMITS: Mapping[Kind, float] = {
    "coverage": 0.92,
    "false alarms": 0.06,
    "families": 0.06,
    "rank ranges": 0.08,
    "power": 0.0,  # without a limit: how often a loss is found
}
FEW_ITEMS, COVERAGE_OF_FEW = 5, 0.90
KEPT = ExitStack()


@dataclass(frozen=True, slots=True)
class Rate:
    """How often a figure was right or wrong in the simulations of a scenario.

    Attributes:
        scenario: Name of the scenario.
        figure: Name of the figure.
        kind: What is counted.
        simulations: Number of simulations in which the program gave the figure.
        rate: Mean over simulations of the share that include the truth, or that are wrong.
        error: Standard error of the rate.
        width: Mean width of the intervals; None without intervals.
        limit: The limit.
        verdict: ``ok``, ``MISSED``, or ``unsure`` if it is within two standard errors of the limit.
    """

    scenario: str
    figure: str
    kind: Kind
    simulations: int
    rate: float
    error: float
    width: float | None
    limit: float
    verdict: str


def measured(number: int, commands: Sequence[str], simulation: int) -> list[Outcome]:
    """The outcomes of one simulation.

    Args:
        number: Number of the scenario.
        commands: Names of the commands that measure it.
        simulation: Number of the simulation.
    """
    scenario = SCENARIOS[number]
    with tempfile.TemporaryDirectory() as folder:
        # The seed is that of the name, so that other scenarios do not change it.
        made = simulate(scenario, [*scenario.name.encode(), simulation], Path(folder))
        return [outcome for name in commands for outcome in COMMANDS[name](made)]


def keep_draws() -> None:
    """Keeps the weights of a process for all its simulations: they depend on the number of items alone."""
    KEPT.enter_context(kept_draws())


def rates_of(scenario: Scenario, outcomes: Sequence[Sequence[Outcome]]) -> list[Rate]:
    shares: dict[tuple[str, Kind], list[float]] = {}
    widths: dict[tuple[str, Kind], list[float]] = {}
    for simulation in outcomes:
        own: dict[tuple[str, Kind], list[Outcome]] = {}
        for outcome in simulation:
            own.setdefault((outcome.figure, outcome.kind), []).append(outcome)
        for key, several in own.items():
            shares.setdefault(key, []).append(float(np.mean([outcome.value for outcome in several])))
            widths.setdefault(key, []).append(float(np.mean([outcome.width for outcome in several])))
    return [_rate(scenario, *key, np.array(values), float(np.mean(widths[key]))) for key, values in shares.items()]


def _rate(scenario: Scenario, figure: str, kind: Kind, values: np.ndarray, width: float) -> Rate:
    few = kind == "coverage" and min(scenario.items) <= FEW_ITEMS
    rate, limit = float(values.mean()), COVERAGE_OF_FEW if few else LIMITS[kind]
    error = float(values.std()) / math.sqrt(len(values))
    beyond = excess(kind, rate, limit)
    verdict = "ok" if beyond <= 1e-9 else "unsure" if beyond <= 2 * error else "MISSED"
    known = None if math.isnan(width) else width
    return Rate(scenario.name, figure, kind, len(values), rate, error, known, limit, verdict)


HEAD = f"{'figure':42} {'counted':13} {'n':>5} {'rate':>7} {'error':>6} {'width':>7} {'limit':>7}"


def line_of(rate: Rate) -> str:
    width = "" if rate.width is None else f"{rate.width:.3f}"
    return (
        f"{rate.figure:42} {rate.kind:13} {rate.simulations:5} {rate.rate:7.1%} {rate.error:6.1%} {width:>7} "
        f"{rate.limit:7.0%} {rate.verdict}"
    )


def print_table(rates: Sequence[Rate]) -> None:
    """All rates by scenario, then for each figure the scenario in which it is worst."""
    print(HEAD)
    for scenario in dict.fromkeys(rate.scenario for rate in rates):
        print(f"\n{scenario}")
        print("\n".join(line_of(rate) for rate in rates if rate.scenario == scenario))
    print(f"\nThe worst scenario of each figure\n{HEAD}")
    worst: dict[tuple[str, Kind], Rate] = {}
    for rate in sorted(rates, key=lambda rate: -excess(rate.kind, rate.rate, rate.limit)):
        worst.setdefault((rate.figure, rate.kind), rate)
    for key in dict.fromkeys((rate.figure, rate.kind) for rate in rates):
        print(f"{line_of(worst[key]):98} {worst[key].scenario}")
    counts = {verdict: sum(rate.verdict == verdict for rate in rates) for verdict in ("ok", "unsure", "MISSED")}
    print(f"\n{len(rates)} rates: " + ", ".join(f"{count} {verdict}" for verdict, count in counts.items()))


def excess(kind: Kind, rate: float, limit: float) -> float:
    """How far a rate is beyond its limit."""
    return limit - rate if kind in ("coverage", "power") else rate - limit


def read(path: Path) -> list[Rate]:
    """The rates in a file of ``--json``; none without the file."""
    return [Rate(**rate) for rate in json.loads(path.read_text("utf-8"))] if path.exists() else []


def print_widths(before: Path, after: Path) -> None:
    """Rates and mean widths of two files beside each other, for figures with intervals."""
    old, new = ({(rate.scenario, rate.figure, rate.kind): rate for rate in read(path)} for path in (before, after))
    print(f"{'figure':42} {'rate before':>11} {'after':>7} {'width before':>12} {'after':>7} {'ratio':>6}")
    scenario = ""
    for key in [key for key in old if key in new]:
        if key[0] != scenario:
            scenario = key[0]
            print(f"\n{scenario}")
        first, second = old[key], new[key]
        ends = ["", "", ""]
        if first.width and second.width:
            ends = [f"{first.width:.3f}", f"{second.width:.3f}", f"{second.width / first.width:.2f}"]
        name = key[1] if key[2] == "coverage" else f"{key[1]} ({key[2]})"
        print(f"{name:42} {first.rate:11.1%} {second.rate:7.1%} {ends[0]:>12} {ends[1]:>7} {ends[2]:>6}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--simulations", type=int, default=1000, help="simulations of each scenario")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only scenarios whose names match")
    parser.add_argument(
        "--commands", nargs="+", choices=list(COMMANDS), default=list(COMMANDS), help="only these commands"
    )
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--json", type=Path, help="write the rates to this file; those of other scenarios in it stay")
    parser.add_argument("--list", action="store_true", help="name the scenarios and stop")
    parser.add_argument("--show", type=Path, metavar="FILE", help="print the table of a file of --json and stop")
    parser.add_argument("--widths", type=Path, nargs=2, metavar="FILE", help="compare two files of --json and stop")
    given = parser.parse_args()
    if given.widths:
        return print_widths(*given.widths)
    if given.show:
        return print_table(read(given.show))
    chosen = [
        number
        for number, scenario in enumerate(SCENARIOS)
        if re.search(given.only, scenario.name) and not set(scenario.commands).isdisjoint(given.commands)
    ]
    names = [scenario.name for scenario in SCENARIOS]
    if given.list:
        return print("\n".join(names[number] for number in chosen))
    rates: list[Rate] = []
    with ProcessPoolExecutor(given.workers, initializer=keep_draws) as pool:
        for number in chosen:
            scenario, start = SCENARIOS[number], time.perf_counter()
            work = partial(measured, number, [name for name in scenario.commands if name in given.commands])
            simulations = range(math.ceil(scenario.share * given.simulations))
            rates += rates_of(scenario, list(pool.map(work, simulations, chunksize=2)))
            print(f"{scenario.name}: {time.perf_counter() - start:.0f} s", file=sys.stderr, flush=True)
            if given.json:
                others = [rate for rate in read(given.json) if rate.scenario != scenario.name]
                ordered = sorted(
                    [*others, *(rate for rate in rates if rate.scenario == scenario.name)],
                    key=lambda rate: names.index(rate.scenario) if rate.scenario in names else len(names),
                )
                given.json.write_text(json.dumps(list(map(asdict, ordered)), indent=1), encoding="utf-8")
    print_table(rates)


if __name__ == "__main__":
    main()
