"""What repeats of the same questions say: how far runs differ, and what the best of several would reach."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fathom.analysis import Repeats, Trend
from fathom.report import words
from fathom.report.by_question import ByQuestion
from fathom.report.results import Results, System
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import beneath_mean

RUNS = (
    "Mean score in percent over all questions, each repeat (run) for itself. The standard error of the mean, in "
    "percentage points, has two parts: what other questions of the same kind would change, and what asking the same "
    "questions again would. Beneath the mean stands its interval over questions of the kind, with both parts; beneath "
    "the second part that of the mean of these very questions."
)
UNEVEN = "Uneven questions have fewer scored replies than most questions have repeats."
BEST = (
    "Best of n is the mean over questions of their best of n replies; pass at n is the share of questions of which one "
    "of n replies passes: it has the full score, or for a summary more than its threshold. The first figure is what n "
    "of a question's replies, drawn at random, can be expected to give, with its 95% interval; beneath it stands what "
    "the first n give, as the paper has it."
)
PUBLISHED = (
    "As published: means of single runs, the best of a question's first n replies, and the share of questions of which "
    "one of the first n passes, in percent."
)


def repeats_tables(results: Results) -> list[Table]:
    """Runs and their errors, best of n and pass at n, and the same as others have published them."""
    found = results.by_question
    made = run_tables([one for one in found.repeats if one.runs > 1], results.systems)
    return [*made, _published(found)] if found.runs else made


def run_tables(found: Sequence[Repeats], systems: Sequence[System] = ()) -> list[Table]:
    """Runs and their errors, then best of n and pass at n, for the page and a terminal; none of none.

    Args:
        found: What ``fathom.analysis.repeats`` gave.
        systems: Models and variants in the order of their colours; those that are not among them have none.
    """
    if not found:
        return []
    numbers = {tuple(system): number for number, system in enumerate(systems)}
    return [_runs(found, numbers), _trends(found, numbers)]


def _name(system: tuple[str, str], numbers: dict[tuple[str, ...], int]) -> Cell:
    return Cell(System(*system).name, series=numbers.get(system))


def _runs(found: Sequence[Repeats], numbers: dict[tuple[str, ...], int]) -> Table:
    most = max(len(one.run_means) for one in found)
    columns = (
        Column("Model", number=False),
        Column("Questions"),
        Column("Mean"),
        *(Column(f"Run {run}") for run in range(1, most + 1)),
        Column("Spread", help="The highest run less the lowest, in percentage points"),
        Column("Standard error"),
        Column("from questions", help="What other questions of the same kind would change"),
        Column("from replies", help="What asking the same questions again would change"),
    )
    rows = tuple(
        (
            _name((one.model, one.variant), numbers),
            Cell(words.count(one.questions), beneath=(f"{words.count(one.uneven)} uneven",) if one.uneven else ()),
            Cell(
                words.percent(one.mean), words.bounds(one.interval), words.sentence(one.note), beneath=beneath_mean(one)
            ),
            *_padded([Cell(words.percent(mean)) for mean in one.run_means], most),
            _spread(one.run_means),
            Cell(words.points(one.error)),
            Cell(words.points(one.error_questions)),
            Cell(words.points(one.error_replies), words.bounds(one.interval_replies)),
        )
        for one in found
    )
    about = f"{RUNS} {UNEVEN}" if any(one.uneven for one in found) else RUNS
    return Table("repeats", "repeats", "Runs and errors", about, columns, rows)


def _spread(means: Sequence[float]) -> Cell:
    known = [mean for mean in means if not math.isnan(mean)]
    return Cell(words.percent(max(known) - min(known))) if len(known) > 1 else Cell()


def _trends(found: Sequence[Repeats], numbers: dict[tuple[str, ...], int]) -> Table:
    most = max(len(one.trend) for one in found)
    columns = (
        Column("Model", number=False),
        *(Column(f"{name} {n}") for name in ("Best of", "Pass at") for n in range(1, most + 1)),
    )
    rows = tuple(
        (
            _name((one.model, one.variant), numbers),
            *_padded([_best(point) for point in one.trend], most),
            *_padded([_pass(point) for point in one.trend], most),
        )
        for one in found
    )
    return Table("repeats-best", "repeats", "Best of n, pass at n", BEST, columns, rows)


def _best(point: Trend) -> Cell:
    first = f"first: {words.percent(point.best_of)}"
    return Cell(words.percent(point.best_of_unbiased), words.bounds(point.best_of_interval), beneath=(first,))


def _pass(point: Trend) -> Cell:
    first = f"first: {words.percent(point.pass_at)}"
    return Cell(words.percent(point.pass_at_unbiased), words.bounds(point.pass_at_interval), beneath=(first,))


def _published(found: ByQuestion) -> Table:
    systems = [system for system in found.systems if system in found.published]
    runs = sorted({int(one.group) for one in found.runs if one.group.isdecimal()})
    numbers = sorted({one.n for one in found.trends if (one.model, one.variant) in found.published})
    means = {(one.model, one.variant, one.group): one.score for one in found.runs}
    trends = {
        (one.model, one.variant, one.measure, one.n): one.score
        for one in found.trends
        if (one.model, one.variant) in found.published
    }
    columns = (
        Column("Model", number=False),
        *(Column(f"Run {run}") for run in runs),
        Column("Spread", help="The highest run less the lowest, in percentage points"),
        *(Column(f"{name} {n}") for name in ("Best of", "Pass at") for n in numbers),
    )
    rows = []
    for system in systems:
        known = [mean for run in runs if (mean := means.get((*system, str(run)))) is not None]
        rows.append(
            (
                Cell(System(*system).name),
                *(Cell(words.percent(means.get((*system, str(run))))) for run in runs),
                Cell(words.percent(max(known) - min(known)) if known else words.ABSENT),
                *(
                    Cell(words.percent(trends.get((*system, measure, n))))
                    for measure in ("best_of", "pass_at")
                    for n in numbers
                ),
            )
        )
    return Table("repeats-published", "repeats", "Repeats as published", PUBLISHED, columns, tuple(rows))


def _padded(cells: list[Cell], most: int) -> list[Cell]:
    return cells + [Cell()] * (most - len(cells))
