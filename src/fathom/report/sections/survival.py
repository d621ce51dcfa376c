"""The section on facts of conversations: how many survive, by age, kind and number of compactions."""

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from fathom.analysis import CurvePoint, Survival, SurvivalPoint, survival
from fathom.analysis.survival import amounts, priced
from fathom.printing import printable, several
from fathom.report import parts, words
from fathom.report.charts import LayerChart, Line, Numbers, Size
from fathom.report.colours import MUTED
from fathom.report.curves import curve_chart
from fathom.report.drawing import interval_lines, length_axis, score_axis, series_of
from fathom.report.results import Measurement, Results, System, grouped, system_of
from fathom.report.section import Chart, Panels, Section
from fathom.report.table import Cell, Column, Fields, Table, table_of
from fathom.report.tally import rank_of

SURVIVAL = Measurement("survival", lambda rows, _: survival(rows.scored, seed=rows.seed), finish=priced)
ABOUT = (
    "Facts of conversations that are still answered rightly at their end, in percent with 95% intervals over "
    "conversations. Age is the number of tokens between a fact and the question. A compaction is a step in which a "
    "system around the model replaced what it had read by something shorter. A fact is asked for at every length."
)
ABOUT_SYSTEMS = (
    "Systems by the share of facts that they still answer rightly. Ranks hold for all systems together, and so do the "
    "intervals of the differences to the first one. Kept is the share of facts that each compaction keeps, with an "
    "interval from 20 conversations on."
)
ABOUT_PRICES = (
    "Tokens and dollars are means of one question, over all its requests. On the frontier are systems than which no "
    "other one, asked as many questions, is right as often for fewer dollars (tokens where nothing was paid), or more "
    "often for as few, by point estimates."
)
ABOUT_SESSIONS = (
    "Session tokens and dollars are means of what the transcribed conversations record of their own requests, without "
    "those that wrote summaries where the program does not record them; a dash where no usage or price is known."
)
FIGURES = (
    "Share of facts answered rightly, in percent with 95% intervals. Dashed steps join the systems on the frontier of "
    "right answers and dollars, or tokens."
)
TITLES = {"age": "By age", "kind": "By kind", "compactions": "By number of compactions"}


# Tables


def group_name(point: SurvivalPoint) -> str:
    """The group of a point: "rule", "2k–4k", "5–8"."""
    if point.by == "age":
        return f"{words.tokens(point.low)}–{words.tokens(point.high)}" if point.low else f"< {words.tokens(point.high)}"
    if point.by == "compactions":
        return str(point.low) if point.low == point.high else f"{point.low}–{point.high}"
    return printable(point.group) or "all"


def survival_tables(points: Sequence[SurvivalPoint], systems: Sequence[System] = ()) -> list[Table]:
    """One table for each way to group, with a row for each system.

    Args:
        points: Result of ``fathom.analysis.survival``.
        systems: Models in the order of the rows; by default that of ``points``.
    """
    order = list(systems or dict.fromkeys(map(system_of, points)))
    made = []
    grouped_points = grouped([point for point in points if point.by != "all"], lambda point: point.by)
    for number, (by, own) in enumerate(grouped_points.items()):
        cells = {(system_of(point), group_name(point)): point for point in own}
        names = [group_name(point) for point in sorted(own, key=lambda point: (point.low, point.group))]
        groups = list(dict.fromkeys(names))
        columns = (Column("System", number=False), *(Column(group) for group in groups))
        rows = tuple(
            (Cell(system.name), *(_cell(cells.get((system, group))) for group in groups))
            for system in order
            if any((system, group) in cells for group in groups)
        )
        about = "" if number else ABOUT
        made.append(Table(f"survival-{by}", "survival", TITLES[by], about, columns, rows, denominator="scored"))
    return made


def _cell(point: SurvivalPoint | None) -> Cell:
    if point is None:
        return Cell()
    return Cell(words.percent(point.score), words.bounds(point.interval), below=(several(point.questions, "question"),))


FIELDS: Fields[Survival] = (
    (Column("System", number=False), lambda system: Cell(system_of(system).name)),
    (Column("Rank"), lambda system: Cell(rank_of(system))),
    (Column("Right"), lambda system: Cell(words.percent(system.score), words.bounds(system.interval))),
    (
        Column("To the first", denominator="shared"),
        lambda system: Cell(
            words.change(system.difference) if system.difference_interval else "",
            words.bounds(system.difference_interval, signed=True),
        ),
    ),
    (
        Column("Kept", help="Share of facts that each compaction keeps, percent"),
        lambda system: Cell(words.percent(system.kept), words.bounds(system.kept_interval)),
    ),
    (
        Column("Compactions", help="Mean over facts"),
        lambda system: Cell(words.ABSENT if system.compactions is None else f"{system.compactions:.1f}"),
    ),
)
SESSIONS: Fields[Survival] = (
    (Column("Session tokens"), lambda system: Cell(words.count(system.session_tokens))),
    (Column("Session dollars"), lambda system: Cell(dollars(system.session_cost))),
)
PRICES: Fields[Survival | SurvivalPoint] = (
    (Column("Tokens in"), lambda system: Cell(words.count(system.tokens_in))),
    (Column("Tokens out"), lambda system: Cell(words.count(system.tokens_out))),
    (Column("Dollars"), lambda system: Cell(dollars(system.cost))),
    (
        Column("Frontier", number=False, help="Of right answers and dollars, or tokens"),
        lambda system: Cell() if system.frontier is None else Cell("yes" if system.frontier else "no"),
    ),
)


def dollars(cost: float | None) -> str:
    """What a question costs: "0.0123", or "0.000045" for small sums."""
    return words.ABSENT if cost is None else f"{cost:.4f}" if cost >= 0.001 or not cost else f"{cost:.6f}"


def price_tables(points: Sequence[SurvivalPoint]) -> list[Table]:
    """One table of what systems take beside what is right, the best first; none without tokens and dollars."""
    own = sorted((point for point in points if point.by == "all"), key=lambda point: -point.score)
    if not any(point.cost or point.tokens_in for point in own):
        return []
    fields: Fields[SurvivalPoint] = (
        (Column("System", number=False), lambda point: Cell(system_of(point).name)),
        (Column("Right"), lambda point: Cell(words.percent(point.score), words.bounds(point.interval))),
        *PRICES,
    )
    return [
        replace(
            table_of("survival-prices", "Right answers and their price", fields, own, denominator="scored"),
            section="survival",
            about=f"{ABOUT_PRICES}{unpriced(own)}",
        )
    ]


def unpriced(systems: Sequence[Survival | SurvivalPoint]) -> str:
    """A sentence on systems without a known price, "" if there is none."""
    lacking = [system_of(system).name for system in systems if system.cost is None]
    if not lacking:
        return ""
    return f" No price is known of {words.listed(lacking)}: `fathom analyze survival --price-of MODEL` takes a model's."


def systems_tables(systems: Sequence[Survival]) -> list[Table]:
    """One table of systems, the best first."""
    asked = several(systems[0].questions, "question")
    about = (
        f"{ABOUT_SYSTEMS} {ABOUT_PRICES} {asked} in {several(systems[0].clusters, 'conversation')}.{unpriced(systems)}"
    )
    fields: Fields[Survival] = (*FIELDS, *PRICES)
    if any(system.session_tokens is not None for system in systems):
        fields, about = (*fields, *SESSIONS), f"{about} {ABOUT_SESSIONS}"
    return [table_of("survival-systems", "Systems", fields, systems, about=about, denominator="scored")]


# Figures


def _charts(results: Results, size: Size, legend: int, titled: bool) -> list[tuple[str, LayerChart]]:
    """Share of facts by age, by number of compactions, and against what a question takes."""
    own = [point for point in results[SURVIVAL] if system_of(point) in results.systems]
    by = grouped(own, lambda point: point.by)
    charts = []
    if ages := by.get("age"):
        heading = "By age, up to so many tokens"
        curve = curve_chart(
            list(map(_of_age, ages)), results.systems, size, legend=legend, title=heading if titled else ""
        )
        charts.append((heading, curve))
    if compacted := by.get("compactions"):
        heading = "By number of compactions"
        most = max(point.high for point in compacted)
        numbers = sorted({0, *(2**power for power in range(most.bit_length()) if power % 2 == 0)})
        axis = Numbers(
            low=0.8, high=1.25 * (most + 1), ticks=[(each + 1, str(each)) for each in numbers], log=True, marks=True,
            title="Compactions",
        )  # fmt: skip
        at = [(point, 1 + (point.low + point.high) / 2) for point in compacted]
        charts.append((heading, _lines(at, axis, results.systems, size, legend, heading if titled else "")))
    own = by.get("all", [])
    if any(point.cost for point in own):
        heading, used = "Against the dollars of a question", [(point, point.cost) for point in own if point.cost]
        axis = _dollar_axis([at for _, at in used])
    else:
        heading = "Against the tokens of a question"
        used = [(point, at) for point, at in zip(own, amounts(own), strict=True) if at]
        axis = length_axis([max(1, round(at)) for _, at in used], size)
    if used:
        charts.append((heading, _lines(used, axis, results.systems, size, legend, heading if titled else "")))
    return charts


def _dollar_axis(values: Sequence[float]) -> Numbers:
    """Dollars on a logarithmic scale, labelled at powers of ten, and between them."""
    low, high = min(values) / 1.3, max(values) * 1.3
    ticks = [
        (at, f"${at:.10f}".rstrip("0").rstrip("."))
        for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
        for at in (factor * 10.0**power for factor in ((1, 3) if high < 100 * low else (1,)))
        if low <= at <= high
    ]
    return Numbers(low=low, high=high, ticks=ticks, log=True, marks=True, title="Dollars")


def _of_age(point: SurvivalPoint) -> CurvePoint:
    """The point at the end of its ages."""
    return CurvePoint(
        point.model,
        point.variant,
        "all",
        point.high,
        point.score,
        point.interval,
        point.questions,
        point.questions,
        None,
    )


def _lines(
    points: Sequence[tuple[SurvivalPoint, float]],
    axis: Numbers,
    systems: Sequence[System],
    size: Size,
    legend: int,
    title: str,
) -> LayerChart:
    """Scores with intervals, one line for each system."""
    records = [
        {
            "system": system_of(point).name,
            "at": at,
            "mean": point.score,
            "low": point.interval.low,
            "high": point.interval.high,
            "says": f"{system_of(point).name}, {group_name(point)}: {words.scored(point.score, point.interval)}",
        }
        for point, at in sorted(points, key=lambda placed: placed[1])
    ]
    return LayerChart(
        layers=[*_frontier([(point, at) for point, at in points if point.by == "all"]), *interval_lines(records)],
        size=size,
        x=axis,
        y=score_axis(),
        series=series_of([system.name for system in systems], columns=max(0, legend), dashed=True),
        title=title,
    )


def _frontier(points: Sequence[tuple[SurvivalPoint, float]]) -> list[Line]:
    """The steps of the highest score for a price, through the systems on the frontier, as ``priced`` compares them."""
    on_it = [(point, at) for point, at in points if point.frontier]
    lines = []
    for own in grouped(on_it, lambda placed: (placed[0].questions, placed[0].clusters)).values():
        ends = sorted((at, point.score) for point, at in own)
        corners = [corner for (_, score), (at, higher) in pairwise(ends) for corner in ((at, score), (at, higher))]
        records = [{"at": at, "mean": score} for at, score in [*ends[:1], *corners]]
        if corners:
            lines.append(Line(records=records, x="at", y="mean", colour=MUTED.light, width=1, dash=(4, 3)))
    return lines


PANELS = Panels(charts=_charts, label="Facts answered rightly", text=FIGURES, shared=True)


# The section


def _finding(results: Results) -> str:
    """What the best system loses with age."""
    ages = grouped([point for point in results[SURVIVAL] if point.by == "age"], system_of)
    for system in results.systems:
        if len(own := ages.get(system, [])) > 1:
            first, last = own[0], own[-1]
            return (
                f"{system.name} answers {words.percent(first.score)}% of facts of age {group_name(first)}, and "
                f"{words.percent(last.score)}% of those of age {group_name(last)}."
            )
    return ""


SECTION = Section(
    name="survival",
    title="Facts of conversations",
    finding=_finding,
    tables=lambda results: [*price_tables(results[SURVIVAL]), *survival_tables(results[SURVIVAL], results.systems)],
    page=lambda results, tables: [*PANELS.page(results), *parts.table_parts(tables)],
    measurements=(SURVIVAL,),
    charts=(
        Chart(
            kind="survival",
            draw=PANELS.draw,
            heading="Facts that are still answered rightly",
            caption="Bands and lines are 95% intervals",
            lacking="no question of these rows is about a fact of a conversation (build the suite `memory`)",
        ),
    ),
    studies={Survival: systems_tables, SurvivalPoint: survival_tables},
)
