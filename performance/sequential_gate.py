"""Errors and cost of `fathom gate --sequential` as users run it: rows of whole suites, all claims, Holm, every look.

    python performance/sequential_gate.py [STUDIES] [--decisions STUDIES] [--alpha ALPHA] [--matrix SCORES.parquet]

Every study makes the scores of two models with known truth. p-values are computed plainly here, and those of the first
studies of each scenario are compared with what ``sequential_gate`` makes of their rows. The largest money is kept, so
that its value at the end says whether a claim was significant at any look before. The table of decisions follows the
gate item by item, beside designs that fix their items beforehand and decide by the rules of the gate for one look;
these are granted the normal distribution of means. "Ended" is the ratio if a run ends, undecided, with as many items as
95% of the runs need: its error is then that of the fixed design of 95%.

A matrix has one column of scores for each model and one row for each item, with its ``task`` (as released with
MiniLongBench). Equal models are made of two real ones by tossing a coin for each item which of them is the candidate.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import polars as pl

from fathom.analysis.gate import Claim, net_loss_p_value
from fathom.analysis.sequential import sequential_gate
from fathom.rows import to_frame
from fathom.stats.bets import MONEY, STAKES
from fathom.stats.ranks import holm
from fathom.types import Row

NORMAL = NormalDist()
MARGIN = 0.03
ALPHAS = (0.05, 0.01)
CHECKED = 3
"""Studies of each scenario that ``sequential_gate`` decides too."""


@dataclass(frozen=True)
class Scenario:
    """What is simulated.

    Attributes:
        lengths: Number of lengths; all share an item's luck.
        tasks: Items of each task.
        ends: True scores at the shortest and the longest length.
        own: Share of luck that each model has for itself.
        kind: Scores are ``right`` or wrong, in fifths (``ties``), or ``graded``.
        documents: Items that share a document, and its luck.
    """

    name: str
    lengths: int
    tasks: tuple[int, ...]
    ends: tuple[float, float] = (0.8, 0.5)
    own: float = 0.4
    kind: str = "right"
    documents: int = 1


SCENARIOS = (
    Scenario("one length, one task", 1, (200,)),
    Scenario("five lengths, one task", 5, (150,)),
    Scenario("five lengths, four tasks", 5, (60, 40, 30, 20)),
    Scenario("models that hardly differ", 5, (75, 75), own=0.1),
    Scenario("near the ceiling", 5, (75, 75), ends=(0.99, 0.95)),
    Scenario("near the floor", 5, (75, 75), ends=(0.08, 0.04)),
    Scenario("ties (scores in fifths)", 5, (75, 75), kind="ties"),
    Scenario("graded scores", 5, (75, 75), kind="graded"),
    Scenario("eight items", 5, (8,)),
    Scenario("documents with five items", 3, (150,), documents=5),
)


def scores(rng: np.random.Generator, of: Scenario, loss: float) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scores of the candidate and the baseline on each task, items x lengths; the candidate loses ``loss`` everywhere.

    A loss is taken from scores at random in such a way that the true mean falls by exactly it.
    """
    drawn = []
    means = np.linspace(*of.ends, of.lengths)
    for items in of.tasks:
        document = np.repeat(rng.normal(size=(items // of.documents + 1, 1)), of.documents, axis=0)[:items]
        item = rng.normal(size=(items, 1)) if of.documents == 1 else 0.8 * document + 0.6 * rng.normal(size=(items, 1))
        shared = 0.8 * item + 0.6 * rng.normal(size=(items, of.lengths))
        sides = []
        for side in range(2):
            luck = (shared + of.own * rng.normal(size=(items, of.lengths))) / np.sqrt(1 + of.own**2)
            uniform = np.vectorize(NORMAL.cdf)(luck)  # uniform, and alike for both models
            if of.kind == "right":
                values = (uniform < means).astype(float)
            elif of.kind == "ties":
                values = np.round(5 * uniform ** ((1 - means) / means)) / 5
            else:
                values = uniform ** ((1 - means) / means)  # its mean is the true score
            if side == 0 and loss:
                values = values * (rng.random((items, of.lengths)) >= loss / exact_mean(of, means))
            sides.append(values)
        drawn.append((sides[0], sides[1]))
    return drawn


def exact_mean(of: Scenario, means: np.ndarray) -> np.ndarray:
    """The true mean of the scores at each length."""
    if of.kind != "ties":
        return means
    # P(round(5 u^e) >= k) = 1 - ((k - 1/2) / 5)^(1/e)
    exponent = means / (1 - means)
    steps = (np.arange(1, 6)[:, None] - 0.5) / 5
    return np.asarray((1 - steps**exponent).sum(axis=0) / 5)


def template(of: Scenario) -> pl.DataFrame:
    """Rows of one model without scores: their order is that of the flattened scores of each task."""
    rows = [
        Row(
            "s",
            f"task {task}",
            f"item {item}",
            f"{task}-{item}@{length}",
            "m",
            1024 * 2**length,
            0.0,
            facets={"cluster": f"{task}-{item // of.documents}"} if of.documents > 1 else {},
        )
        for task, items in enumerate(of.tasks)
        for item in range(items)
        for length in range(of.lengths)
    ]
    return to_frame(rows)


def filled(rows: pl.DataFrame, values: list[np.ndarray]) -> pl.DataFrame:
    """The rows with these scores."""
    return rows.with_columns(value=pl.Series(np.concatenate([each.ravel() for each in values])))


def errors(studies: int, rng: np.random.Generator) -> None:
    """Print how often equal models are ever called worse, and a loss of the margin ever passes."""
    print(f"| {studies:,} studies each | claims | worse at .05, ever | at .01 | passes at .05, ever | at .01 |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    for of in SCENARIOS:
        rows, order, counts = template(of), order_of(of), np.zeros(4)
        # So much can be lost everywhere: near the floor less than the margin, of which a pass is wrong too.
        loss = min(MARGIN, float(exact_mean(of, np.array([of.ends[1]]))[0]))
        for study in range(studies):
            equal, lost = scores(rng, of, 0.0), scores(rng, of, loss)
            worse, within = p_values(of, order, equal)[0], p_values(of, order, lost, loss)[1]
            counts += [*(worse.min() <= alpha for alpha in ALPHAS), *(within.max() <= alpha for alpha in ALPHAS)]
            if study < CHECKED:
                assert_as_the_gate(worse, sequential_gate(*sides_of(rows, equal), margin=MARGIN).claims, "p_worse")
                claims = sequential_gate(*sides_of(rows, lost), margin=loss).claims
                assert_as_the_gate(within, claims, "p_margin")
        shares = " | ".join(f"{100 * n / studies:.1f}%" for n in counts)
        print(f"| {of.name} | {len(worse)} | {shares} |", flush=True)


def assert_as_the_gate(found: np.ndarray, claims: Sequence[Claim], name: str) -> None:
    """Check that p-values are those of the gate, in any order of the claims."""
    assert np.allclose(np.sort(found), np.sort([getattr(claim, name) for claim in claims]))


def order_of(of: Scenario) -> list[int]:
    """The clusters of all tasks, one after the other, in the order of the bets."""
    from fathom.types.samples import place_of

    places = [
        place_of(f"task {task}", f"item {item}", f"{task}-{item // of.documents}" if of.documents > 1 else None)
        for task, items in enumerate(of.tasks)
        for item in range(0, items, of.documents)
    ]
    return sorted(range(len(places)), key=places.__getitem__)


def p_values(
    of: Scenario, order: Sequence[int], drawn: list[tuple[np.ndarray, np.ndarray]], margin: float = MARGIN
) -> tuple[np.ndarray, np.ndarray]:
    """The p-values of all claims after the last item, by plain computation: worse (with Holm), and within the margin.

    Every task counts the same, so that an item of a task with many items has a small stake.
    """
    each = [(own - other).reshape(-1, of.documents, of.lengths).mean(axis=1) for own, other in drawn]
    values = np.vstack(each)[order]
    task = np.repeat(np.arange(len(each)), [len(own) for own in each])[order]
    weights = np.array([1 / len(own) for own in each])[task] * min(map(len, each))
    claims = [(values.mean(axis=1), weights)] if of.lengths > 1 else []
    claims += [(values[:, length], weights) for length in range(of.lengths)]
    if len(each) > 1:
        claims += [(values[task == number].mean(axis=1), np.ones(len(own))) for number, own in enumerate(each)]

    def last(own: np.ndarray, bound: float, weight: np.ndarray, planned: float) -> float:
        return float(evidence(own[:, None], bound, planned, weight[:, None])[-1, 0])

    worse = np.array([last(-own, 0.0, weight, 3 * margin) for own, weight in claims])
    within = np.array([last(own, -margin, weight, margin) for own, weight in claims])
    return adjusted_of(worse), within


def adjusted_of(worse: np.ndarray) -> np.ndarray:
    """P-values by Holm's method, the first claim with half of the error: rejected one after the other."""
    rest = 0.5 / max(1, len(worse) - 1)
    left = {claim: (1.0 if len(worse) == 1 else 0.5) if claim == 0 else rest for claim in range(len(worse))}
    adjusted, largest = np.ones(len(worse)), 0.0
    while left:
        claim = min(left, key=lambda claim: worse[claim] / left[claim])
        largest = max(largest, min(1.0, worse[claim] / left[claim] * sum(left.values())))
        adjusted[claim] = largest
        del left[claim]
    return adjusted


def sides_of(rows: pl.DataFrame, drawn: list[tuple[np.ndarray, np.ndarray]]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows of the candidate and of the baseline."""
    return filled(rows, [own for own, _ in drawn]), filled(rows, [other for _, other in drawn])


# ---------------------------------------------------------------------------------------------------- decisions


def evidence(values: np.ndarray, bound: float, planned: float, weights: np.ndarray | None = None) -> np.ndarray:
    """One over the largest money so far after each item, for each column, by plain multiplication: p-values."""
    sizes = np.ones_like(values) if weights is None else weights
    gains = sizes * (values - bound)
    shares = STAKES / (1 + bound)
    money = sum(own * np.cumprod(1 + share * gains, axis=0) for own, share in zip(MONEY, shares, strict=True)) / 2
    number = np.arange(1, len(values) + 1)[:, None]
    size, square = np.cumsum(sizes, axis=0) / number, np.cumsum(sizes**2, axis=0) / number
    before = np.vstack([np.zeros((1, values.shape[1])), np.cumsum(gains**2, axis=0)[:-1]])
    stakes = np.minimum(0.75 * planned * size * number / (before + square / 4), shares[-1])
    money = money + np.cumprod(1 + stakes * gains, axis=0) / 2
    return np.asarray(1 / np.maximum.accumulate(np.maximum(money, 1.0), axis=0))


def columns_of(differences: np.ndarray) -> np.ndarray:
    """The values of the claims of one task: over all lengths, and at each."""
    overall = differences.mean(axis=1, keepdims=True)
    return overall if differences.shape[1] == 1 else np.hstack([overall, differences])


def decided_at(differences: np.ndarray, margin: float, alpha: float) -> tuple[float, str]:
    """After how many items the sequential gate first decides, and what; infinity if never.

    Args:
        differences: Candidate minus baseline, items x lengths, in the order of the bets.
    """
    values = columns_of(differences)
    worse, within = evidence(-values, 0.0, 3 * margin), evidence(values, -margin, margin)
    means = np.cumsum(values, axis=0) / np.arange(1, len(values) + 1)[:, None]
    passes = within.max(axis=1) <= alpha
    smallest = np.sort(worse, axis=1)
    some = smallest[:, 0] <= alpha  # otherwise nothing is rejected
    for n in np.flatnonzero(some | passes):
        adjusted = adjusted_of(worse[n])
        if ((adjusted <= alpha) & (means[n] < -margin) & (within[n] > alpha)).any():
            return float(n + 1), "FAIL"
        if passes[n]:
            return float(n + 1), "PASS"
    return np.inf, ""


def one_look(differences: np.ndarray, margin: float, alpha: float) -> str:
    """What the gate for one look decides of all items, with a normal distribution of the means."""
    values = columns_of(differences)
    means, n = values.mean(axis=0), len(values)
    errors = np.maximum(values.std(axis=0, ddof=1) / np.sqrt(n), 1e-12)
    worse = np.array([NORMAL.cdf(z) for z in means / errors])
    within = np.array(
        [
            max(NORMAL.cdf(-(mean + margin) / error), net_loss_p_value(float(mean), margin, n))
            for mean, error in zip(means, errors, strict=True)
        ]
    )
    if ((holm(worse, tests=len(worse)) <= alpha) & (means < -margin) & (within > alpha)).any():
        return "FAIL"
    return "PASS" if (within <= alpha).all() else ""


def fixed_items(draw: Callable[[int], np.ndarray], margin: float, alpha: float, answer: str, power: float) -> int:
    """The fewest items, to 3%, with which the gate for one look gives this answer with this probability."""

    def enough(items: int) -> bool:
        return float(np.mean([one_look(draw(items), margin, alpha) == answer for _ in range(600)])) >= power

    low, high = 8, 16
    while not enough(high):
        low, high = high, 2 * high
        if high > 30_000:
            return 0
    while high > 1.03 * low + 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def capped(right: np.ndarray, needed: np.ndarray) -> float:
    """The mean number of items if a run ends undecided when 95% of all have the right answer, as the fixed design."""
    return float(np.minimum(needed, np.quantile(right, 0.95, method="higher")).mean())


QUESTIONS = (  # loss, margin, right answer: 3 points between what is true and what is excluded
    ("no loss, margin 3", 0.0, 0.03, "PASS"),
    ("loss 4, margin 1", 0.04, 0.01, "FAIL"),
    ("loss 6, margin 3", 0.06, 0.03, "FAIL"),
    ("loss 12, margin 3", 0.12, 0.03, "FAIL"),
)
DESIGNS = (
    Scenario("one length", 1, (1,)),
    Scenario("five lengths", 5, (1,)),
    Scenario("one length, near the ceiling", 1, (1,), ends=(0.97, 0.93)),
    Scenario("one length, graded", 1, (1,), kind="graded"),
)


def decisions(studies: int, rng: np.random.Generator, alpha: float = 0.05) -> None:
    """Print items to a decision beside fixed designs, and power by number of items."""
    print(
        f"\n| {studies:,} studies each | question | right | wrong | mean | median "
        "| fixed, 80% | fixed, 95% | ratio | ended |"
    )
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    curves = []
    for of in DESIGNS:
        for question, loss, margin, answer in QUESTIONS:

            def draw(items: int, of: Scenario = of, loss: float = loss) -> np.ndarray:
                ((own, other),) = scores(rng, Scenario(**{**vars(of), "tasks": (items,)}), loss)
                return np.asarray(own - other)

            fixed = [fixed_items(draw, margin, alpha, answer, power) for power in (0.8, 0.95)]
            most = 3 * max(fixed)
            found = [decided_at(draw(most), margin, alpha) for _ in range(studies)]
            needed = np.array([min(at, most) for at, _ in found])
            right = np.array([at if given == answer else np.inf for at, given in found])
            wrong = np.mean([given not in (answer, "") for _, given in found])
            print(
                f"| {of.name} | {question} | {100 * np.mean(np.isfinite(right)):.0f}% | {100 * wrong:.1f}% "
                f"| {needed.mean():,.0f} | {np.median(needed):,.0f} | {fixed[0]:,} | {fixed[1]:,} "
                f"| {needed.mean() / fixed[1]:.2f} | {capped(right, needed) / fixed[1]:.2f} |",
                flush=True,
            )
            curves.append((of.name, question, fixed, right))
    looks = (0.25, 0.5, 0.75, 1, 1.5, 2)
    print("\nRight by this share of the items of the fixed design of 95%:\n")
    print(f"| | question | {' | '.join(f'{look:g}' for look in looks)} |")
    print(f"| --- | --- |{' ---: |' * len(looks)}")
    for name, question, fixed, right in curves:
        shares = " | ".join(f"{100 * np.mean(right <= look * fixed[1]):.0f}%" for look in looks)
        print(f"| {name} | {question} | {shares} |")


def agrees(rng: np.random.Generator) -> None:
    """Check that the paths here are those of the gate."""
    of = Scenario("", 3, (120,))
    rows, items = template(of), order_of(of)
    for loss in (0.0, 0.2):
        ((own, other),) = scores(rng, of, loss)
        ordered = (own - other)[items]
        candidate, baseline = sides_of(rows, [(own, other)])
        for n in (20, 60, 120):
            part = candidate.filter(pl.col("item").is_in([f"item {item}" for item in items[:n]]))
            claims = sequential_gate(part, baseline, margin=MARGIN).claims
            within = evidence(columns_of(ordered), -MARGIN, MARGIN)[n - 1]
            worse = adjusted_of(evidence(-columns_of(ordered), 0.0, 3 * MARGIN)[n - 1])
            assert np.allclose([claim.p_margin for claim in claims], within)
            assert np.allclose([claim.p_worse for claim in claims], worse)


# ---------------------------------------------------------------------------------------------------- real scores


def real(path: str, studies: int, rng: np.random.Generator) -> None:
    """Print false alarms of equal models made of real ones, and items to a decision between real ones."""
    table = pl.read_parquet(path)
    models = [name for name in table.columns if name not in ("item_index", "task", "task_index")]
    matrix = np.clip(table.select(models).to_numpy().T.astype(float), 0, 1)
    tasks = table["task"].cast(pl.String).to_list()
    names = sorted(set(tasks))
    groups = [np.flatnonzero(np.array(tasks) == name) for name in names]
    counts = np.zeros(2)
    for _ in range(studies):
        pair = matrix[rng.choice(len(matrix), 2, replace=False)]
        swapped = np.where(rng.random(matrix.shape[1]) < 0.5, pair, pair[::-1])
        kept = [rng.choice(group, 48, replace=False)[:, None] for group in groups]
        of = Scenario("", 1, (48,) * len(groups))
        drawn = [(swapped[0][own], swapped[1][own]) for own in kept]
        worse, _ = p_values(of, rng.permutation(48 * len(groups)).tolist(), drawn)
        counts += [worse.min() <= alpha for alpha in ALPHAS]
    print(
        f"\nReal scores of {len(models)} models, {len(names)} tasks, 48 items of each, {studies:,} "
        f"pairs: equal models are ever worse in {100 * counts[0] / studies:.1f}% at .05, "
        f"{100 * counts[1] / studies:.1f}% at .01"
    )
    print("\n| real pairs that differ by | pairs | found worse | mean items | fixed, 80% | fixed, 95% | ratio |")
    print("| --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    z = NORMAL.inv_cdf
    for low, high in ((0.02, 0.04), (0.04, 0.08), (0.08, 0.16)):
        lost, needed, fixed = [], [], []
        for _ in range(studies):
            first, second = rng.choice(len(matrix), 2, replace=False)
            values = matrix[first] - matrix[second]
            if not -high <= values.mean() < -low:
                continue
            order = rng.choice(len(values), 20_000)  # with replacement: the truth is the mean of the matrix
            reached = evidence(-values[order][:, None], 0.0, 3 * MARGIN)[:, 0] <= 0.05
            lost.append(reached.any())
            needed.append(float(np.argmax(reached)) + 1 if reached.any() else len(order))
            each = (values.std() / values.mean()) ** 2
            fixed.append([(z(0.95) + z(power)) ** 2 * each for power in (0.8, 0.95)])
        both = np.mean(fixed, axis=0)
        ratio = np.mean(np.array(needed) / np.array(fixed)[:, 1])
        print(
            f"| {100 * low:g} to {100 * high:g} points | {len(lost)} | {100 * np.mean(lost):.0f}% "
            f"| {np.mean(needed):,.0f} | {both[0]:,.0f} | {both[1]:,.0f} | {ratio:.2f} |"
        )


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", type=int, nargs="?", default=1000)
    parser.add_argument("--decisions", type=int, default=1000)
    parser.add_argument("--matrix")
    parser.add_argument("--alpha", type=float, default=0.05, help="level of the decisions")
    parser.add_argument("--seed", type=int, default=45)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    agrees(rng)
    if given.studies:
        errors(given.studies, rng)
    if given.decisions:
        decisions(given.decisions, rng, given.alpha)
    if given.matrix:
        real(given.matrix, max(given.studies, 100), rng)


if __name__ == "__main__":
    main()
