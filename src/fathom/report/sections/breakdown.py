"""The sections on groups of questions, such as languages and difficulties: breakdowns, and gains by thinking."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fathom.analysis import GroupScore, ThinkingGain
from fathom.analysis.breakdown import place
from fathom.printing import printable
from fathom.report import parts, words
from fathom.report.by_question import OVERALL, ByQuestion, order
from fathom.report.charts import LayerChart, Size
from fathom.report.colours import CHANGE, change_step, heat_step
from fathom.report.figure import drawn
from fathom.report.heatmaps import Tile, heat_map, scored_tile
from fathom.report.results import ALL, Results, System, grouped
from fathom.report.section import Chart, Section
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import ALPHA, below_mean, clusters_of, mean_interval

NAMES = {
    "language": "language",
    "difficulty": "difficulty",
    "length": "length",
    "contextual_requirement": "context that the question needs",
    "primary_task": "primary task",
    "secondary_task": "secondary task",
}
"""Names of the dimensions in running text, in the order of the report."""
LANGUAGES = {"en": "English", "zh": "Chinese"}
_NUMBERED = re.compile(r"(T\d+(?:\.\d+)?)\.? +(.+)")
ABOUT = (
    "Mean score in percent over the questions of a group. Every question has the same weight, whatever its task and "
    "length; its repeats are averaged first. A dash means that there is no score, which is different from 0."
)
INTERVALS = (
    "Ranges are 95% intervals. They resample clusters: an item with all its questions and lengths, or all items of a "
    "document where the suite names it. The intervals under “Scores” and “At a glance” "
    "resample within each task and give tasks equal weight, so that the two differ slightly."
)
PUBLISHED = (
    "Scores without an interval are published averages, of which no replies are available; a failed reply counts as 0 "
    "in them."
)
RESTS = (
    "Under a score: its difference to the mean over the questions of all other groups, in percentage points, if it is "
    "significant (adjusted p below 0.05)."
)
ABOUT_MAPS = "Scores in percent without decimals; the model with the highest overall score comes first."
REQUIREMENT = ("Full", "Partial")
WHAT = {"mean": "Score", "best_of": "Best of {n}", "pass_at": "Pass at {n}"}
CELL = Size(46, 19)
WIDEST = 330
DIFFERENCE = "Partial − Full"
IN_LINE = 3
"""Names of tasks in one line under the heading."""
MAPPED = ("length", "primary_task", "contextual_requirement")
"""Dimensions with heat maps."""


def title(dimension: str, what: str = "Score") -> str:
    """The heading of scores by a dimension."""
    return f"{what} by {NAMES.get(dimension, printable(dimension).replace('_', ' '))}"


def label(dimension: str, group: str) -> str:
    """The name of a group of questions; numbered tasks are shortened to their number."""
    if dimension == "language":
        return LANGUAGES.get(group, printable(group))
    if dimension.endswith("_task") and (numbered := _NUMBERED.fullmatch(group)):
        return numbered[1]
    return printable(group).replace("_", " ")


def legend(groups: Iterable[str]) -> tuple[str, ...]:
    """The full names of numbered tasks: "T1 Retrieval & Ranking"; nothing for other groups."""
    numbered = [_NUMBERED.fullmatch(group) for group in groups]
    return tuple(f"{name[1]} {printable(name[2])}" for name in numbered if name)


# Tables


def _tables(results: Results) -> list[Table]:
    """One table per dimension: a row per model in the order of the ranking, and a column per group.

    The mean over all questions is shown only if the report ranks models by it, or has published averages.
    """
    measured = results.by_question
    alone = results.by_average and not measured.published
    if alone:
        measured = replace(measured, systems=tuple(system for system in results.systems if system in measured.systems))
    measured = replace(measured, scores=tuple(_with_interval(results, score) for score in measured.scores))
    return [
        _table(measured, dimension, results.systems, "" if number else about(measured), overall=not alone)
        for number, dimension in enumerate(measured.dimensions)
    ]


def _with_interval(results: Results, score: GroupScore) -> GroupScore:
    """The same with the interval that the report has for this mean."""
    if score.dimension not in (OVERALL, "length") or score.interval is None:
        return score
    return replace(score, interval=mean_interval(results, score))


def score_tables(scores: Sequence[GroupScore]) -> list[Table]:
    """Tables of scores of groups for a terminal: one for each measure (best of 2, best of 3, ...) and dimension.

    Args:
        scores: Result of ``fathom.analysis.breakdown``, including the scores over all questions (``overall``).
    """
    tables: list[Table] = []
    for measure, n in dict.fromkeys((score.measure, 0 if score.measure == "mean" else score.n) for score in scores):
        part = tuple(score for score in scores if score.measure == measure and n in (0, score.n))
        measured = ByQuestion(systems=order(part), scores=part)
        dimensions = dict.fromkeys(score.dimension for score in part if score.dimension != OVERALL) or (OVERALL,)
        for dimension in dimensions:
            table = _table(measured, dimension, (), "" if tables else about(replace(measured, scores=tuple(scores))))
            what = WHAT[measure].format(n=n)
            heading = what if dimension == OVERALL else title(dimension, what)
            tables.append(replace(table, title=heading, detail=False))
    return tables


def cells_of(measured: ByQuestion, dimension: str) -> dict[tuple[str, str], dict[str, GroupScore]]:
    """Mean scores of a dimension by system and group, ``all`` among them."""
    cells: dict[tuple[str, str], dict[str, GroupScore]] = {system: {} for system in measured.systems}
    for score in measured.scores:
        if score.dimension in (dimension, OVERALL) and (score.model, score.variant) in cells:
            cells[score.model, score.variant][score.group if score.dimension == dimension else ALL] = score
    return {system: groups for system, groups in cells.items() if set(groups) - {ALL} or dimension == OVERALL}


def groups_of(measured: ByQuestion, dimension: str) -> list[str]:
    """The groups of a dimension, in the order of the paper."""
    groups = {score.group for score in measured.scores if score.dimension == dimension != OVERALL}
    return sorted(groups, key=place)


def about(measured: ByQuestion) -> str:
    """The text above these tables."""
    sentences = [ABOUT]
    if any(score.interval is not None for score in measured.scores):
        sentences.append(INTERVALS)
    if tests := sum(score.p_value is not None for score in measured.scores):
        sentences += [RESTS, words.adjustment(tests)]
    if measured.published:
        sentences.append(PUBLISHED)
    return " ".join(sentences)


def _table(
    measured: ByQuestion, dimension: str, systems: Sequence[System], first: str, *, overall: bool = True
) -> Table:
    groups = groups_of(measured, dimension)
    numbers = {System(*system): number for number, system in enumerate(systems)}
    differing = tuple(groups) == REQUIREMENT
    columns = (
        Column("Model", number=False),
        *([Column("Mean over questions", help="Every question has the same weight")] if overall else []),
        *(Column(label(dimension, group), help=_help(dimension, group)) for group in groups),
        *([Column(DIFFERENCE, help="Difference in percentage points")] if differing else []),
    )
    rows = tuple(
        (
            Cell(System(*system).name, series=numbers.get(System(*system))),
            *([_cell(scores.get(ALL), counts=True)] if overall else []),
            *(_cell(scores.get(group)) for group in groups),
            *([Cell(words.change(_difference(scores)))] if differing else []),
        )
        for system, scores in cells_of(measured, dimension).items()
    )
    name, names = f"breakdown-{dimension.replace('_', '-')}", "; ".join(legend(groups))
    text = " ".join(filter(None, (first, f"{names}." if names else "")))
    folded = dimension == "secondary_task"
    return Table(name, "", title(dimension), text, columns, rows, detail=folded, denominator="scored")


def _help(dimension: str, group: str) -> str:
    short = label(dimension, group)
    return next((name.removeprefix(f"{short} ") for name in legend([group])), "")


def _cell(score: GroupScore | None, counts: bool = False) -> Cell:
    if score is None:
        return Cell()
    clusters = clusters_of(score.questions, score.clusters)
    below = (*clusters, *below_mean(score)) if counts else _to_the_rest(score)
    interval, note = words.bounds(score.interval), words.sentence(score.note)
    return Cell(words.percent(score.score), interval, note, heat_step(score.score), below=below)


def _to_the_rest(score: GroupScore) -> tuple[str, ...]:
    """The difference to the other groups if it is significant: most are not, and a page has hundreds of groups."""
    if score.p_adjusted is None or score.p_adjusted >= ALPHA:
        return ()
    p_value = words.chance_of(score.p_adjusted).removeprefix("p ")
    return (f"{words.change(score.difference)} to the rest", f"adjusted {p_value}")


def _difference(scores: Mapping[str, GroupScore]) -> float | None:
    """The score of questions that need a part of the context minus that of those that need all; None without both."""
    full, partial = (scores.get(group) for group in REQUIREMENT)
    return partial.score - full.score if full and partial else None


# Heat maps


def group_map(measured: ByQuestion, dimension: str, *, titled: bool = False) -> LayerChart | None:
    """Scores of models by groups of questions; None without groups.

    Args:
        measured: What was measured over questions.
        titled: Whether the chart has a title.

    Returns:
        A chart with a row per model, the highest overall score first, and a column per group after the mean over all
        questions; scores in percent without decimals.
    """
    cells, groups = cells_of(measured, dimension), groups_of(measured, dimension)
    if not cells:
        return None
    names = {group: label(dimension, group) for group in groups}
    columns, differing = ["all", *names.values()], tuple(groups) == REQUIREMENT
    tiles = [
        tile for system, scores in cells.items() for tile in _tiles(System(*system).name, scores, names, differing)
    ]
    if differing:
        columns.append(DIFFERENCE)
    width = (2 if differing else 1) * CELL.width
    full_names = legend(groups)
    return heat_map(
        tiles,
        columns,
        [System(*system).name for system in cells],
        Size(width * len(columns), CELL.height * len(cells)),
        title=f"{title(dimension)}, percent" if titled else "",
        note=[" · ".join(full_names[start : start + IN_LINE]) for start in range(0, len(full_names), IN_LINE)]
        if titled
        else (),
        widest=WIDEST,
    )


def _tiles(line: str, scores: Mapping[str, GroupScore], names: Mapping[str, str], differing: bool) -> Iterable[Tile]:
    for group, score in scores.items():
        yield scored_tile("all" if group == ALL else names[group], line, score.score)
    change = _difference(scores)
    if differing and change is not None:
        yield Tile(DIFFERENCE, line, CHANGE[change_step(change)].light, words.change(change))


def _draw(results: Results, dimension: str) -> list[LayerChart]:
    chart = group_map(results.by_question, dimension, titled=True)
    return [chart] if chart is not None else []


# The section


def _maps(measured: ByQuestion) -> list[parts.PagePart]:
    """The heat maps for the page, if there are models to compare."""
    if len(measured.systems) < 2:
        return []
    body: list[parts.PagePart] = []
    for dimension in MAPPED:
        if (chart := group_map(measured, dimension)) is not None:
            heading = title(dimension)
            drawing = drawn(chart, f"{heading}; figures in the tables above", whole=True)
            body += [parts.Heading(heading), parts.Drawing(heading, drawing)]
    return body


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    body = parts.table_parts(tables, more="By secondary task")
    maps = _maps(results.by_question) if tables else []
    return [*body, parts.Folded("Heat maps", [parts.Text(ABOUT_MAPS), *maps])] if maps else body


def _finding(results: Results) -> str:
    names = [title(name, "").removeprefix(" by ") for name in results.by_question.dimensions]
    return f"By {words.listed(names)}."


BREAKDOWN = Section(
    name="breakdown",
    title="Breakdown",
    finding=_finding,
    tables=_tables,
    page=_page,
    tables_class="heat even",
    charts=(
        Chart(
            kind="lengths-heatmap",
            draw=lambda results: _draw(results, "length"),
            lacking="no rows can be grouped by the length of questions (those of LongBench Pro can)",
        ),
        Chart(
            kind="tasks-heatmap",
            draw=lambda results: _draw(results, "primary_task"),
            lacking="no question has a primary task (those of LongBench Pro have)",
        ),
        Chart(
            kind="requirement-heatmap",
            draw=lambda results: _draw(results, "contextual_requirement"),
            lacking="no question names the context that it needs (those of LongBench Pro do)",
        ),
    ),
    studies={GroupScore: score_tables},
)


# ------------------------------------------------------------------------------------------------------------ thinking

ABOUT_THINKING = (
    "Scores in percent without and with thinking over the questions that were asked in both modes, and the gain in "
    "percentage points, paired by question, with its 95% interval. A published average has no interval."
)
GROUPS = "The other columns show the gain on the questions of each {of}."
TOKENS = "Tokens are the mean number of reasoning tokens over all replies with thinking, including truncated ones."
GAINS = (
    "Gain by thinking in percentage points on the questions of a group that were asked in both modes, with its 95% "
    "interval. The small figures are the scores in percent without and with thinking. A published average has no "
    "interval."
)
THOUGHTS = Column("Tokens", help="Reasoning tokens of a reply with thinking, on average", denominator="received")


def gain_tables(gains: Sequence[ThinkingGain]) -> list[Table]:
    """Tables of gains for a terminal: one for each dimension, the highest gain first; no table without gains.

    Args:
        gains: Result of ``fathom.analysis.thinking_gain``.
    """
    whole = {gain.model: gain.gain for gain in gains if gain.dimension == OVERALL}
    ranked = sorted(gains, key=lambda gain: -whole.get(gain.model, 0.0))
    tables: list[Table] = []
    for dimension in dict.fromkeys(gain.dimension for gain in gains):
        part = [gain for gain in ranked if gain.dimension == dimension]
        family, first = "" if tables else _adjustment(gains), not tables
        tables.append(_whole(part, family) if dimension == OVERALL else _by_group(part, dimension, family, first))
    return tables


def _thinking_tables(results: Results) -> list[Table]:
    """One table with a row per model, the highest gain first: the gain over all questions, then by groups."""
    gains = results.by_question.gains
    return [_whole(gains, _adjustment(gains))] if any(gain.dimension == OVERALL for gain in gains) else []


def _whole(gains: Sequence[ThinkingGain], family: str) -> Table:
    whole = {gain.model: gain for gain in gains if gain.dimension == OVERALL}
    groups = sorted(
        {(gain.dimension, gain.group) for gain in gains if gain.dimension != OVERALL},
        key=lambda pair: (list(NAMES).index(pair[0]), place(pair[1])),
    )
    at = {(gain.model, gain.dimension, gain.group): gain for gain in gains}
    counted = any(gain.tokens is not None for gain in whole.values())
    columns = (
        Column("Model", number=False),
        Column("Kind", number=False, help="Whether the model thinks always, never or on request"),
        Column("Without"),
        Column("With"),
        Column("Gain"),
        Column("Questions", help="Asked in both modes"),
        *([THOUGHTS] if counted else []),
        *(Column(label(*pair), group=f"Gain by {NAMES[pair[0]]}") for pair in groups),
    )
    rows = tuple(
        (
            Cell(printable(gain.model)),
            Cell(printable(gain.model_kind) or words.ABSENT),
            Cell(words.percent(gain.without)),
            Cell(words.percent(gain.thinking)),
            _gain(gain),
            Cell(words.count(gain.questions)),
            *([Cell(words.count(gain.tokens))] if counted else []),
            *(_gain(at.get((gain.model, *pair))) for pair in groups),
        )
        for gain in sorted(whole.values(), key=lambda gain: -gain.gain)
    )
    names = words.listed([NAMES[name] for name in dict.fromkeys(name for name, _ in groups)])
    sentences = (ABOUT_THINKING, GROUPS.format(of=names) if names else "", family, TOKENS if counted else "")
    about = " ".join(filter(None, sentences))
    return Table("thinking", "", "Thinking", about, columns, rows, denominator="shared")


def _by_group(gains: Sequence[ThinkingGain], dimension: str, family: str, first: bool) -> Table:
    """Gains in the groups of one dimension: a row per model, a column per group."""
    groups = sorted({gain.group for gain in gains}, key=place)
    counted = any(gain.tokens is not None for gain in gains)
    columns = (Column("Model", number=False), *(Column(label(dimension, group)) for group in groups))
    rows = []
    for model, own in grouped(gains, lambda gain: gain.model).items():
        at = {gain.group: gain for gain in own}
        rows.append((Cell(printable(model)), *(_detailed(at.get(group), counted=counted) for group in groups)))
    names = "; ".join(legend(groups))
    sentences = (GAINS if first else "", family, TOKENS if first and counted else "", f"{names}." if names else "")
    name = f"thinking-{dimension.replace('_', '-')}"
    about = " ".join(filter(None, sentences))
    return Table(name, "", title(dimension, "Gain"), about, columns, tuple(rows), denominator="shared")


def _detailed(gain: ThinkingGain | None, *, counted: bool) -> Cell:
    """A gain with its scores and tokens."""
    if gain is None:
        return Cell()
    scores = f"{words.percent(gain.without)} → {words.percent(gain.thinking)}"
    return _gain(gain, scores, *([f"{words.count(gain.tokens)} tokens"] if counted else []))


def _gain(gain: ThinkingGain | None, *below: str) -> Cell:
    if gain is None:
        return Cell()
    p_values: tuple[str, ...] = ()
    if gain.p_value is not None and gain.p_adjusted is not None:
        p_values = words.chances_of(gain.p_value, gain.p_adjusted)
    return Cell(words.change(gain.gain), words.bounds(gain.interval, signed=True), below=(*p_values, *below))


def _adjustment(gains: Iterable[ThinkingGain]) -> str:
    tests = sum(gain.p_value is not None for gain in gains)
    return words.adjustment(tests) if tests > 1 else ""


def sentence_on_thinking(measured: ByQuestion) -> str:
    """How many models gain by thinking; "" if fewer than two were asked in both modes."""
    gains = [gain for gain in measured.gains if gain.dimension == OVERALL]
    if len(gains) < 2:
        return ""
    higher = sum(gain.gain > 0 for gain in gains)
    most = max(gains, key=lambda gain: gain.gain)
    best = f"; {most.model} gains most, {words.change(most.gain)} points" if most.gain > 0 else ""
    verb = "scores" if higher == 1 else "score"
    return (
        f"Of {words.several(len(gains), 'model')} asked with and without thinking, {higher or 'none'} {verb} higher "
        f"with it{best}."
    )


THINKING = Section(
    name="thinking",
    title="Thinking",
    finding=lambda results: sentence_on_thinking(results.by_question),
    tables=_thinking_tables,
    studies={ThinkingGain: gain_tables},
)
