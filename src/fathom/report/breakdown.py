"""Tables of scores over questions: by groups (language, difficulty, length, ...), of repeats, and with thinking."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fathom.analysis import GroupScore, Repeats, ThinkingGain, Trend
from fathom.analysis.breakdown import place
from fathom.printing import printable
from fathom.report import words
from fathom.report.by_question import OVERALL, ByQuestion, order
from fathom.report.colours import heat_step
from fathom.report.position import ALPHA
from fathom.report.results import ALL, Results, System
from fathom.report.table import Cell, Column, Table
from fathom.report.tally import below_mean

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
THOUGHTS = Column("Tokens", help="Reasoning tokens of a reply with thinking, on average", denominator="received")
REQUIREMENT = ("Full", "Partial")
WHAT = {"mean": "Score", "best_of": "Best of {n}", "pass_at": "Pass at {n}"}
RUNS = (
    "Mean score in percent over all questions, for each repeat (run). The standard error of the mean, in percentage "
    "points, has two parts: the variation between questions, and the variation between replies to the same question. "
    "The interval under the mean is over questions of this kind and includes both parts; the interval under “from "
    "replies” is for the mean of these questions only."
)
UNEVEN = "Uneven questions have fewer scored replies than most questions have repeats."
BEST = (
    "Best of n is the mean over questions of their best of n replies; pass at n is the share of questions for which at "
    "least one of n replies passes: it has the full score or, for a summary, more than its threshold. The first figure "
    "is the expected value for n replies drawn at random, with its 95% interval; the small figure is the value for the "
    "first n replies, as in the paper."
)
PUBLISHED_REPEATS = (
    "As published, in percent: means of single runs, the best of the first n replies to a question, and the share of "
    "questions for which one of the first n passes."
)
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
    return tuple(f"{one[1]} {printable(one[2])}" for one in numbered if one)


def breakdown_tables(results: Results) -> list[Table]:
    """One table per dimension: a row per model in the order of the ranking, and a column per group.

    The mean over all questions is shown only if the report ranks models by it, or has published averages.
    """
    found = results.by_question
    alone = results.by_average and not found.published
    if alone:
        found = replace(found, systems=tuple(one for one in results.systems if one in found.systems))
    return [
        _table(found, dimension, results.systems, about(found) if number == 0 else "", overall=not alone)
        for number, dimension in enumerate(found.dimensions)
    ]


def score_tables(scores: Sequence[GroupScore]) -> list[Table]:
    """Tables of scores of groups for a terminal: one for each measure (best of 2, best of 3, ...) and dimension.

    Args:
        scores: Result of ``fathom.analysis.breakdown``, including the scores over all questions (``overall``).
    """
    tables: list[Table] = []
    for measure, n in dict.fromkeys((one.measure, 0 if one.measure == "mean" else one.n) for one in scores):
        part = tuple(one for one in scores if one.measure == measure and n in (0, one.n))
        found = ByQuestion(systems=order(part), scores=part)
        for dimension in dict.fromkeys(one.dimension for one in part if one.dimension != OVERALL) or (OVERALL,):
            table = _table(found, dimension, (), about(replace(found, scores=tuple(scores))) if not tables else "")
            heading = title(dimension, WHAT[measure].format(n=n)) if dimension != OVERALL else WHAT[measure].format(n=n)
            tables.append(replace(table, title=heading, detail=False))
    return tables


def cells_of(found: ByQuestion, dimension: str) -> dict[tuple[str, str], dict[str, GroupScore]]:
    """Mean scores of a dimension by system and group, ``all`` among them."""
    cells: dict[tuple[str, str], dict[str, GroupScore]] = {system: {} for system in found.systems}
    for one in found.scores:
        if one.dimension in (dimension, OVERALL) and (one.model, one.variant) in cells:
            cells[one.model, one.variant][one.group if one.dimension == dimension else ALL] = one
    return {system: groups for system, groups in cells.items() if set(groups) - {ALL} or dimension == OVERALL}


def groups_of(found: ByQuestion, dimension: str) -> list[str]:
    """The groups of a dimension, in the order of the paper."""
    return sorted({one.group for one in found.scores if one.dimension == dimension != OVERALL}, key=place)


def about(found: ByQuestion) -> str:
    """The text above these tables."""
    said = [ABOUT]
    if any(one.interval is not None for one in found.scores):
        said.append(INTERVALS)
    if tests := sum(one.p_value is not None for one in found.scores):
        said += [RESTS, words.adjustment(tests)]
    if found.published:
        said.append(PUBLISHED)
    return " ".join(said)


def _table(found: ByQuestion, dimension: str, systems: Sequence[System], first: str, *, overall: bool = True) -> Table:
    groups = groups_of(found, dimension)
    numbers = {System(*system): number for number, system in enumerate(systems)}
    differing = tuple(groups) == REQUIREMENT
    columns = (
        Column("Model", number=False),
        *([Column("Mean over questions", help="Every question has the same weight")] if overall else []),
        *(Column(label(dimension, group), help=_help(dimension, group)) for group in groups),
        *([Column("Partial − Full", help="Difference in percentage points")] if differing else []),
    )
    rows = tuple(
        (
            Cell(System(*system).name, series=numbers.get(System(*system))),
            *([_cell(scores.get(ALL), counts=True)] if overall else []),
            *(_cell(scores.get(group)) for group in groups),
            *([_difference(scores)] if differing else []),
        )
        for system, scores in cells_of(found, dimension).items()
    )
    name = f"breakdown-{dimension.replace('_', '-')}"
    names = "; ".join(legend(groups))
    said = " ".join(filter(None, (first, f"{names}." if names else "")))
    folded = dimension == "secondary_task"
    return Table(name, "breakdown", title(dimension), said, columns, rows, detail=folded, denominator="scored")


def _help(dimension: str, group: str) -> str:
    short = label(dimension, group)
    return next((name.removeprefix(f"{short} ") for name in legend([group])), "")


def _cell(one: GroupScore | None, counts: bool = False) -> Cell:
    if one is None:
        return Cell()
    below = (*clusters_of(one.questions, one.clusters), *below_mean(one)) if counts else _to_the_rest(one)
    note = words.sentence(one.note)
    return Cell(words.percent(one.score), words.bounds(one.interval), note, heat_step(one.score), below=below)


def clusters_of(questions: int | None, clusters: int | None) -> tuple[str, ...]:
    """What is resampled, if it is fewer than the questions: "300 questions in 100 clusters"."""
    if questions is None or clusters is None or clusters >= questions:
        return ()
    return (f"{words.several(questions, 'question')} in {words.several(clusters, 'cluster')}",)


def _to_the_rest(one: GroupScore) -> tuple[str, ...]:
    """The difference to the other groups if it is significant: most are not, and a page has hundreds of groups."""
    if one.p_adjusted is None or one.p_adjusted >= ALPHA:
        return ()
    p_value = words.chance_of(one.p_adjusted).removeprefix("p ")
    return (f"{words.change(one.difference)} to the rest", f"adjusted {p_value}")


def _difference(scores: Mapping[str, GroupScore]) -> Cell:
    full, partial = (scores.get(group) for group in REQUIREMENT)
    return Cell(words.change(partial.score - full.score)) if full and partial else Cell()


def repeats_tables(results: Results) -> list[Table]:
    """Runs and their errors, best of n and pass at n, and published ones."""
    found = results.by_question
    made = run_tables([one for one in found.repeats if one.runs > 1], results.systems)
    return [*made, _published(found)] if found.runs else made


def run_tables(found: Sequence[Repeats], systems: Sequence[System] = ()) -> list[Table]:
    """Runs and their errors, then best of n and pass at n, for the page and a terminal; no table without repeats.

    Args:
        found: Result of ``fathom.analysis.repeats``.
        systems: Models and variants in the order of their colours; others have no colour.
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
        Column("Mean over questions"),
        *(Column(f"Run {run}") for run in range(1, most + 1)),
        Column("Spread", help="The highest run minus the lowest, in percentage points"),
        Column("Standard error"),
        Column("from questions", help="Variation between questions of the same kind"),
        Column("from replies", help="Variation between replies to the same question"),
    )
    rows = tuple(
        (
            _name((one.model, one.variant), numbers),
            Cell(words.count(one.questions), below=(f"{words.count(one.uneven)} uneven",) if one.uneven else ()),
            Cell(words.percent(one.mean), words.bounds(one.interval), words.sentence(one.note), below=below_mean(one)),
            *_padded([Cell(words.percent(mean)) for mean in one.run_means], most),
            _spread(one.run_means),
            Cell(words.points(one.error)),
            Cell(words.points(one.error_questions)),
            Cell(words.points(one.error_replies), words.bounds(one.interval_replies)),
        )
        for one in found
    )
    about = f"{RUNS} {UNEVEN}" if any(one.uneven for one in found) else RUNS
    return Table("repeats", "repeats", "Runs and errors", about, columns, rows, denominator="scored")


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
    return Table("repeats-best", "repeats", "Best of n, pass at n", BEST, columns, rows, denominator="scored")


def _best(point: Trend) -> Cell:
    first = f"first: {words.percent(point.best_of)}"
    return Cell(words.percent(point.best_of_unbiased), words.bounds(point.best_of_interval), below=(first,))


def _pass(point: Trend) -> Cell:
    first = f"first: {words.percent(point.pass_at)}"
    return Cell(words.percent(point.pass_at_unbiased), words.bounds(point.pass_at_interval), below=(first,))


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
        Column("Spread", help="The highest run minus the lowest, in percentage points"),
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
    return Table(
        *("repeats-published", "repeats", "Repeats as published", PUBLISHED_REPEATS, columns, tuple(rows)),
        denominator="published",
    )


def _padded(cells: list[Cell], most: int) -> list[Cell]:
    return cells + [Cell()] * (most - len(cells))


def thinking_tables(results: Results) -> list[Table]:
    """One table with a row per model, the highest gain first: the gain over all questions, then by groups."""
    found = results.by_question.gains
    return [_whole(found, _adjustment(found))] if any(one.dimension == OVERALL for one in found) else []


def gain_tables(found: Sequence[ThinkingGain]) -> list[Table]:
    """Tables of gains for a terminal: one for each dimension, the highest gain first; no table without gains.

    Args:
        found: Result of ``fathom.analysis.thinking_gain``.
    """
    whole = {one.model: one.gain for one in found if one.dimension == OVERALL}
    ranked = sorted(found, key=lambda one: -whole.get(one.model, 0.0))
    made: list[Table] = []
    for dimension in dict.fromkeys(one.dimension for one in found):
        part = [one for one in ranked if one.dimension == dimension]
        family = "" if made else _adjustment(found)
        made.append(
            _whole(part, family) if dimension == OVERALL else _by_group(part, dimension, family, first=not made)
        )
    return made


def _whole(found: Sequence[ThinkingGain], family: str) -> Table:
    whole = {one.model: one for one in found if one.dimension == OVERALL}
    groups = sorted(
        {(one.dimension, one.group) for one in found if one.dimension != OVERALL},
        key=lambda pair: (list(NAMES).index(pair[0]), place(pair[1])),
    )
    gains = {(one.model, one.dimension, one.group): one for one in found}
    counted = any(one.tokens is not None for one in whole.values())
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
            Cell(printable(one.model)),
            Cell(printable(one.model_kind) or words.ABSENT),
            Cell(words.percent(one.without)),
            Cell(words.percent(one.thinking)),
            _gain(one),
            Cell(words.count(one.questions)),
            *([Cell(words.count(one.tokens))] if counted else []),
            *(_gain(gains.get((one.model, *pair))) for pair in groups),
        )
        for one in sorted(whole.values(), key=lambda one: -one.gain)
    )
    names = words.listed([NAMES[name] for name in dict.fromkeys(name for name, _ in groups)])
    groups_said = GROUPS.format(of=names) if names else ""
    said = (ABOUT_THINKING, groups_said, family, TOKENS if counted else "")
    about = " ".join(filter(None, said))
    return Table("thinking", "thinking", "Thinking", about, columns, rows, denominator="shared")


def _by_group(found: Sequence[ThinkingGain], dimension: str, family: str, *, first: bool) -> Table:
    """Gains in the groups of one dimension: a row per model, a column per group."""
    groups = sorted({one.group for one in found}, key=place)
    gains = {(one.model, one.group): one for one in found}
    counted = any(one.tokens is not None for one in found)
    columns = (Column("Model", number=False), *(Column(label(dimension, group)) for group in groups))
    rows = tuple(
        (Cell(printable(model)), *(_detailed(gains.get((model, group)), counted=counted) for group in groups))
        for model in dict.fromkeys(one.model for one in found)
    )
    names = "; ".join(legend(groups))
    said = (GAINS if first else "", family, TOKENS if first and counted else "", f"{names}." if names else "")
    name = f"thinking-{dimension.replace('_', '-')}"
    about = " ".join(filter(None, said))
    return Table(name, "thinking", title(dimension, "Gain"), about, columns, rows, denominator="shared")


def _detailed(one: ThinkingGain | None, *, counted: bool) -> Cell:
    """A gain with its scores and tokens."""
    if one is None:
        return Cell()
    scores = f"{words.percent(one.without)} → {words.percent(one.thinking)}"
    tokens = [f"{words.count(one.tokens)} tokens"] if counted else []
    below = (*_chances(one), scores, *tokens)
    return Cell(words.change(one.gain), words.bounds(one.interval, signed=True), below=below)


def _gain(one: ThinkingGain | None) -> Cell:
    return Cell(words.change(one.gain), words.bounds(one.interval, signed=True), below=_chances(one)) if one else Cell()


def _chances(one: ThinkingGain) -> tuple[str, ...]:
    return () if one.p_value is None or one.p_adjusted is None else words.chances_of(one.p_value, one.p_adjusted)


def _adjustment(found: Iterable[ThinkingGain]) -> str:
    tests = sum(one.p_value is not None for one in found)
    return words.adjustment(tests) if tests > 1 else ""
