"""Published benchmarks: generated tasks beside published records, and means with and without faulty items."""

from collections.abc import Sequence

from fathom.analysis.faulty_items import WithAndWithout, faulty_items, with_and_without
from fathom.analysis.published import PublishedAndGenerated, published_and_generated, published_twins, record_tasks
from fathom.printing import printable
from fathom.report import words
from fathom.report.results import Measurement, Results, System, system_of
from fathom.report.section import Section
from fathom.report.table import Cell, Column, Fields, Table, count_cell, table_of
from fathom.report.words import ABSENT
from fathom.stats.intervals import Interval
from fathom.stats.ranks import with_adjusted
from fathom.types.choices import ALPHA

ABOUT = (
    "Scores in percent with 95% intervals. A generated task asks for the same ability as the published records, over "
    "texts that are not in the published records; its items are the same at every length. The difference, published "
    "minus generated, is in percentage points and not paired: what knowing the records brings, or their form, or "
    "easier items."
)
NAMED = 3
"""Models that a sentence names."""
ABOUT_FAULTY = "Mean scores in percent over all replies, and over those to items that are not known to be faulty."
BESIDE = Measurement(
    "published",
    lambda rows, _: published_and_generated(rows.scored, published_twins(), unanswered=rows.unanswered, seed=rows.seed),
    finish=with_adjusted,
)
FAULTY = Measurement("faulty", lambda rows, _: with_and_without(rows.scored, faulty_items()))


def beside_tables(results: Sequence[PublishedAndGenerated], systems: Sequence[System] = ()) -> list[Table]:
    """Published records beside generated tasks; no table without any.

    Args:
        results: Those of ``fathom.analysis.published_and_generated``.
        systems: Models and variants in the order of their colours; others have no colour.
    """
    if not results:
        return []
    series = {system: number for number, system in enumerate(systems)}
    fields: Fields[PublishedAndGenerated] = (
        (
            Column("Model", number=False),
            lambda result: Cell(system_of(result).name, series=series.get(system_of(result))),
        ),
        (
            Column("Task", number=False),
            lambda result: Cell(printable(result.task), below=(printable(result.records),)),
        ),
        (
            Column("Length"),
            lambda result: Cell("all" if result.length is None else words.length(result.length)),
        ),
        (Column("Difference", help="Published minus generated, in percentage points"), _difference),
        (
            Column("Published", help="On the records of the publishers"),
            lambda result: _side(result.published, result.published_interval, result.items[1]),
        ),
        (
            Column("Generated", help="On generated items"),
            lambda result: _side(result.generated, result.generated_interval, result.items[0]),
        ),
    )
    if len({system_of(result) for result in results}) == 1:
        fields = fields[1:]
    about = " ".join((ABOUT, *([words.adjustment(len(results))] if len(results) > 1 else [])))
    notable = [place for place, result in enumerate(results) if result.length is None or _significant(result)]
    title = "Published records and generated items"
    return [table_of("published", title, fields, results, about=about, notable=notable, denominator="scored")]


def _side(mean: float, interval: Interval | None, items: int) -> Cell:
    return Cell(words.percent(mean), words.bounds(interval), below=(words.several(items, "item"),))


def _difference(result: PublishedAndGenerated) -> Cell:
    adjusted = result.p_value if result.p_adjusted is None else result.p_adjusted
    return Cell(
        words.change(result.difference),
        words.bounds(result.interval, signed=True),
        below=words.chances_of(result.p_value, adjusted),
    )


def _significant(result: PublishedAndGenerated) -> bool:
    return (result.p_value if result.p_adjusted is None else result.p_adjusted) < ALPHA


def faulty_tables(results: Sequence[WithAndWithout]) -> list[Table]:
    """The table of means with and without faulty items; none without any.

    Args:
        results: Result of ``fathom.analysis.faulty_items.with_and_without``.
    """
    fields: Fields[WithAndWithout] = (
        (Column("Model", number=False), lambda result: Cell(system_of(result).name)),
        (Column("Task", number=False), lambda result: Cell(printable(result.task))),
        (Column("Rule", number=False), lambda result: Cell(result.rule)),
        (Column("Replies"), lambda result: Cell(words.count(result.replies))),
        (Column("Faulty", help="Those to faulty items"), lambda result: count_cell(result.faulty)),
        (Column("Score", help="Mean score in percent"), lambda result: Cell(words.percent(result.mean))),
        (Column("Without", help="Mean score without them"), lambda result: Cell(words.percent(result.without))),
    )
    if not results:
        return []
    return [table_of("faulty", "Faulty items", fields, results, about=ABOUT_FAULTY, denominator="scored")]


def _finding(results: Results) -> str:
    apart = [result for result in results[BESIDE] if _significant(result)]
    if apart:
        largest = max(apart, key=lambda result: abs(result.difference))
        at = "all lengths" if largest.length is None else words.length(largest.length)
        return (
            f"Largest difference: published − generated {words.change(largest.difference)} points on {largest.task} at "
            f"{at}{results.of_system(system_of(largest))}."
        )
    same = "No difference between published and generated items is significant after adjustment."
    marked = sum(result.faulty for result in results[FAULTY])
    faulty = f"{words.several(marked, 'reply', 'replies')} to items known to be faulty." if marked else ""
    return " ".join(filter(None, (same if results[BESIDE] else "", faulty)))


def sentence_on_forms(results: Results) -> str:
    """That the score is over generated tasks and published records alike, and the mean of each; "" if it is not."""
    if not results[BESIDE]:
        return ""
    records = record_tasks()
    forms = [[task for task in results.tasks if (task in records) == published] for published in (False, True)]
    means = [
        f"generated alone {generated}, published alone {published}{results.of_system(system)}"
        for system in results.systems[:NAMED]
        if ABSENT not in (pair := [_mean_over(results, system, tasks) for tasks in forms])
        for generated, published in [pair]
    ]
    both = f"{words.several(len(forms[0]), 'generated task')} and {words.several(len(forms[1]), 'task')}"
    first = f"The score is over {both} of published records, which models may know"
    return ": ".join(filter(None, (first, "; ".join(means)))) + "."


def _mean_over(results: Results, system: System, tasks: Sequence[str]) -> str:
    """The mean of the average scores of some tasks in percent; a dash if one has none."""
    scores = [results.average.get((system, task)) for task in tasks]
    means = [score.mean for score in scores if score is not None and score.mean is not None]
    return words.percent(sum(means) / len(means) if len(means) == len(tasks) else None)


SECTION = Section(
    name="published",
    title="Published records",
    finding=_finding,
    tables=lambda results: [*beside_tables(results[BESIDE], results.systems), *faulty_tables(results[FAULTY])],
    measurements=(BESIDE, FAULTY),
    studies={PublishedAndGenerated: beside_tables, WithAndWithout: faulty_tables},
)
