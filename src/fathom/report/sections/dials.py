"""The section on dials: how scores fall along them, twins, and what explains the loss with length."""

from collections.abc import Sequence
from itertools import chain

from fathom.analysis import DialLoss, DialPoint, dials
from fathom.analysis.dials import CONSTANT, WHOLE
from fathom.printing import printable
from fathom.report import words
from fathom.report.colours import heat_step
from fathom.report.results import ALL, Measurement, Results, System, grouped, system_of, task_title
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import ALPHA
from fathom.stats.ranks import with_adjusted

ABOUT = (
    "Mean score in percent at each setting of a dial, with 95% intervals. Below it is the difference to the first "
    "setting, in percentage points, with its interval and p-value: paired where items share their facts, as twins do."
)
ABOUT_LOSS = (
    "Points of score lost from the shortest length to a longer one, over the items with a score at both, with 95% "
    "intervals: in all; with all dials at their first settings (length alone); and what each dial adds to that. Parts "
    "come from a regression of each item's loss on the settings of its dials, and add up to the whole."
)
TOGETHER = "dials vary together, so that their parts cannot be separated: "
FEW = "fewer items than settings, so that the parts of these dials cannot be separated: "


def _adjusted(results: Sequence[DialPoint | DialLoss]) -> list[DialPoint | DialLoss]:
    """The points and then the losses of all models, with p-values adjusted among their own kind."""
    return [*with_adjusted(_points(results)), *with_adjusted(_losses(results))]


def _points(results: Sequence[DialPoint | DialLoss]) -> list[DialPoint]:
    return [each for each in results if isinstance(each, DialPoint)]


def _losses(results: Sequence[DialPoint | DialLoss]) -> list[DialLoss]:
    return [each for each in results if isinstance(each, DialLoss)]


ALONG: Measurement[DialPoint | DialLoss] = Measurement(
    "dials", lambda rows, _: chain(*dials(rows.scored, seed=rows.seed)), finish=_adjusted
)


def point_tables(points: Sequence[DialPoint], systems: Sequence[System] = ()) -> list[Table]:
    """Scores along dials: one table per model, a row per task, dial and setting, a column per length.

    Args:
        points: First result of ``fathom.analysis.dials``.
        systems: Models in the order of the tables; by default the order of ``points``.
    """
    groups, tables = grouped(points, system_of), list[Table]()
    for system in systems or groups:
        if system in groups:
            about = "" if tables else f"{ABOUT} {words.adjustment(_tests(points))}"
            tables.append(_point_table(groups[system], system, len(tables) + 1, about))
    return tables


def _tests(points: Sequence[DialPoint]) -> int:
    return sum(point.p_value is not None for point in points)


def _point_table(points: Sequence[DialPoint], system: System, number: int, about: str) -> Table:
    lengths = sorted({point.length for point in points}, key=lambda length: (length is None, length or 0))
    columns = (
        *(Column(name, number=False) for name in ("Task", "Dial", "Setting")),
        Column("Items"),
        *(Column("all lengths" if length is None else words.tokens(length)) for length in lengths),
    )
    rows, notable = list[tuple[Cell, ...]](), list[int]()
    for (task, dial, setting), line in grouped(points, lambda each: (each.task, each.dial, each.setting)).items():
        at = {point.length: point for point in line}
        if any(point.p_adjusted is not None and point.p_adjusted < ALPHA for point in line):
            notable.append(len(rows))
        left_out = ", ".join(map(words.tokens, line[0].left_out))
        note = f"a setting of {dial} has no score at {left_out}, which is left out" if left_out else ""
        names = (Cell(printable(task_title(task))), Cell(printable(dial), note=note), Cell(printable(setting)))
        items = words.count(max(point.items for point in line))
        rows.append((*names, Cell(items), *(_mean(at.get(each)) for each in lengths)))
    title = f"{system.name}: dials"
    return Table(f"dials-{number}", "dials", title, about, columns, tuple(rows), notable=tuple(notable),
                 denominator="scored")  # fmt: skip


def _mean(point: DialPoint | None) -> Cell:
    if point is None:
        return Cell()
    below: tuple[str, ...] = ()
    if point.difference is not None and point.p_value is not None and point.p_adjusted is not None:
        change = f"{words.change(point.difference)} {words.bounds(point.difference_interval, signed=True)}"
        below = (change, *words.chances_of(point.p_value, point.p_adjusted))
    return Cell(words.percent(point.mean), words.bounds(point.interval), heat=heat_step(point.mean), below=below)


def loss_tables(losses: Sequence[DialLoss], systems: Sequence[System] = ()) -> list[Table]:
    """What explains the loss with length: one table per model, a row per task and length, a column per part.

    Args:
        losses: Second result of ``fathom.analysis.dials``.
        systems: Models in the order of the tables; by default the order of ``losses``.
    """
    groups, tables = grouped(losses, system_of), list[Table]()
    for system in systems or groups:
        if system in groups:
            about = "" if tables else f"{ABOUT_LOSS} {words.adjustment(len(losses))}"
            tables.append(_loss_table(groups[system], system, len(tables) + 1, about))
    return tables


def _loss_table(losses: Sequence[DialLoss], system: System, number: int, about: str) -> Table:
    parts = list(dict.fromkeys(loss.part for loss in losses))
    titles = {WHOLE: "in all", CONSTANT: "length alone"}
    columns = (
        Column("Task", number=False),
        Column("Lengths", number=False),
        Column("Items"),
        *(Column(titles.get(part, part), group="Points lost") for part in parts),
    )
    rows: list[tuple[Cell, ...]] = []
    for (task, base, length), line in grouped(losses, lambda loss: (loss.task, loss.base, loss.length)).items():
        at = {loss.part: loss for loss in line}
        why = FEW if line[0].few else TOGETHER
        note = f"{why}{', '.join(line[0].together)}" if line[0].together else ""
        rows.append((
            Cell(printable(task_title(task)), note=note),
            Cell(f"{words.tokens(base)} to {words.tokens(length)}"),
            Cell(words.count(line[0].items)),
            *(_loss(at.get(part)) for part in parts),
        ))  # fmt: skip
    title = f"{system.name}: loss with length"
    return Table(f"dial-losses-{number}", "dials", title, about, columns, tuple(rows), denominator="shared")


def _loss(loss: DialLoss | None) -> Cell:
    if loss is None or loss.p_adjusted is None:
        return Cell()
    below = words.chances_of(loss.p_value, loss.p_adjusted)
    return Cell(words.change(loss.loss), words.bounds(loss.interval, signed=True), below=below)


def _tables(results: Results) -> list[Table]:
    along = results[ALONG]
    return [*point_tables(_points(along), results.systems), *loss_tables(_losses(along), results.systems)]


def _finding(results: Results) -> str:
    """The dial that explains most of the largest loss, or the largest fall along a dial."""
    parts = [loss for loss in _losses(results[ALONG]) if loss.part not in (WHOLE, CONSTANT) and loss.task != ALL]
    most = max(parts, key=lambda loss: loss.loss, default=None)
    if most is not None and most.loss > 0 and most.p_adjusted is not None and most.p_adjusted < ALPHA:
        return (
            f"{most.part} adds {words.percent(most.loss)} points to the loss from {words.tokens(most.base)} to "
            f"{words.tokens(most.length)} on {task_title(most.task)}{results.of_system(system_of(most))}."
        )
    falls = [point for point in _points(results[ALONG]) if point.difference is not None and point.length is None]
    if not falls:
        return ""
    largest = max(falls, key=lambda point: abs(point.difference or 0))
    return (
        f"Largest difference along a dial: {words.change(largest.difference)} points at {largest.dial} "
        f"{largest.setting} on {task_title(largest.task)}{results.of_system(system_of(largest))}."
    )


SECTION = Section(
    name="dials",
    title="Dials and twins",
    finding=_finding,
    tables=_tables,
    measurements=(ALONG,),
    studies={DialPoint: point_tables, DialLoss: loss_tables},
)
