"""The section on setups of one model: what they gain and cost, differences at each length, what was tried."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from fathom.analysis import VERDICTS
from fathom.analysis.setup_costs import Amount, ratio
from fathom.analysis.setups import Difference, SetupPoint, SetupResult, Timing, Trial, Tuned, verdict_levels
from fathom.report import parts, words
from fathom.report.drawing import style
from fathom.report.figure import Figure, drawn
from fathom.report.heatmaps import position_chart
from fathom.report.markdown import MODELS, escaped, table_lines
from fathom.report.results import Results, grouped
from fathom.report.section import Section
from fathom.report.sections.lengths import LENGTHS, length_cell
from fathom.report.sections.position import MAP, POSITION
from fathom.report.setup_charts import page_figures
from fathom.report.setups import (
    ZERO_SHOT,
    ComparedSetups,
    answer,
    numbers,
    on_frontier,
    quoted,
    setup_name,
    share_of,
    tokens_at,
)
from fathom.report.table import Cell, Column, Fields, Table, score_cell, table_of

THOUSAND = 1000
KINDS = {"none": "no method", "position": "positions", "cache": "KV cache", "system": "system"}
ABOUT = (
    "Differences to {base} in percentage points, paired by item, with 95% intervals; p-values are adjusted by Holm’s "
    "method for all setups of the table. The gain is the mean over the tested lengths beyond the window of {window} "
    "tokens. {rule} The base of effective lengths is the setup’s own mean up to the window. Times and cache are those "
    "of one request alone; costs are in US dollars for 1,000 replies."
)
BOTH = (
    "“Better” and “worse” need an adjusted p-value of at most {mean:.3g} for the gain, or of at most {lengths:.3g} at "
    "two adjacent tested lengths beyond the window; together the two rules are wrong in at most 5% of the tables of "
    "equal setups."
)
MEAN = "“Better” and “worse” need an adjusted p-value of at most {mean:.3g} for the gain."
DIFFERENCES = (
    "Score minus that of {base} in percentage points, paired by item, with its 95% interval, both scores, and the "
    "p-value adjusted for all setups of the table at this length."
)
COSTS = (
    "Mean of a reply, with 95% intervals over items. On the frontier are setups than which no other one of their table "
    "has a score as high with fewer tokens, or a higher one with as many; by point estimates. Times are medians of one "
    "request alone; cache is that of keys and values."
)
TRIED = (
    "Mean score in percent on tuning items, none of which is an item of the comparison. Hyper-parameters that are not "
    "listed were given by the user."
)
ABOUT_SECTION = (
    "Setups of one model on the same questions: methods for positions, for the KV cache, and systems around the model. "
    "Setups with unchanged weights and trained ones are never ranked against each other."
)
ABOUT_SCORES = (
    "Score in percent with 95% intervals, against the length of the whole prompt in tokens; the dashed line is the "
    "window."
)
ABOUT_TILES = " Each figure has one setup and the base."
ABOUT_DIFFERENCES = (
    "In percentage points with 95% intervals, paired by item. A filled point is significant after adjustment for all "
    "setups of its table."
)
ABOUT_TOKENS = (
    "Score in percent with 95% intervals, against the mean tokens of a question with its reply. Larger points are "
    "longer prompts."
)
ANSWERS = "From which length on each setup scores higher"
MORE = "Hyper-parameters tried, and published figures"
FEW = 6
"""Setups up to which the page does not fold what each brings."""
IN_MARKDOWN = ("Setup", "Gain", "Up to the window", "Verdict", "85% of base", "Tokens")
"""Columns of the main table that Markdown shows."""
COST = Column("Cost", help="US dollars for 1,000 replies")
FIRST_TOKEN = Column("First token", help="Median time to the first token")
SPEED = Column("Tokens/s", help="Median speed of the reply after its first token")
Field: TypeAlias = tuple[Column, Callable[[SetupResult], Cell]]


def _tables(results: Results) -> list[Table]:
    """All tables of a comparison of setups, in reading order; none without one."""
    compared = results.setups
    if compared is None:
        return []
    families = list(enumerate(compared.families, start=1))
    return [
        *(main_table(compared, title, family, number) for number, (title, family) in families),
        *(_differences(compared, title, family, number) for number, (title, family) in families),
        *(_costs(compared, title, family, number) for number, (title, family) in families),
        *([_tried(compared)] if compared.tuned else []),
        *(
            replace(table, name=f"setups-published-{number}", detail=True)
            for number, table in enumerate(compared.published, start=1)
        ),
    ]


def main_table(compared: ComparedSetups, title: str, family: Sequence[SetupResult], number: int) -> Table:
    """Gain, loss, verdict, effective lengths and costs at the longest length: one row per setup, the base first."""
    longest = max(compared.lengths)
    fields: list[Field] = [
        (Column("Setup", number=False), lambda result: _name(compared, result, details=True)),
        (
            Column("Gain", help="Mean difference over all tested lengths beyond the window"),
            lambda result: _difference(result.gain),
        ),
        (
            Column("Up to the window", help="Mean difference over the tested lengths up to the window"),
            lambda result: _difference(result.loss),
        ),
        (Column("Verdict", number=False), lambda result: _verdict(compared, result)),
        *(
            (replace(column, denominator="scored"), partial(_effective, place=place))
            for place, column in enumerate(LENGTHS)
        ),
    ]
    for column, cell in _spent(compared, family, longest):
        if any(cell(result).text != words.ABSENT for result in family):
            heading = f"At {words.tokens(longest)}"
            fields.append((replace(column, group=heading, denominator="received"), cell))
    at_lengths, in_mean = verdict_levels(sum(length > compared.window for length in compared.lengths))
    rule = (BOTH if at_lengths else MEAN).format(lengths=at_lengths, mean=in_mean)
    about = ABOUT.format(base=setup_name(compared.base), window=words.tokens(compared.window), rule=rule)
    table = table_of(
        f"setups-{number}",
        _title("", title, compared),
        fields,
        family,
        about=about if number == 1 else "",
        denominator="shared",
    )
    return replace(table, rows=(*table.rows, *_failed(compared, len(table.columns)))) if number == 1 else table


def _failed(compared: ComparedSetups, columns: int) -> list[tuple[Cell, ...]]:
    """A row for each setup that could not be asked, with the reason."""
    return [
        (
            Cell(setup_name(name)),
            *(Cell(), Cell()),
            Cell("failed", below=(setup_name(reason),)),  # in the column of verdicts
            *(Cell() for _ in range(4, columns)),
        )
        for name, reason in compared.failed.items()
    ]


def _title(what: str, family: str, compared: ComparedSetups) -> str:
    """The title of the table of a family, which is named if there are two."""
    if len(compared.families) < 2 and family == ZERO_SHOT:
        return what or "Setups"
    return f"{what}: {family.lower()}" if what else family


def _name(compared: ComparedSetups, result: SetupResult, *, details: bool = False) -> Cell:
    setup = result.setup
    kind = KINDS.get(setup.kind, setup_name(setup.kind))
    below = (kind, *map(setup_name, filter(None, (setup.trained, setup.chosen)))) if details else ()
    return Cell(setup_name(setup), series=compared.order.index(result), below=below)


def _difference(difference: Difference | None, *below: str) -> Cell:
    if difference is None:
        return Cell()
    p_value = words.chance_of(difference.adjusted) + ("" if difference.sign else ", not significant")
    interval = words.bounds(difference.interval, signed=True)
    return Cell(words.change(difference.difference), interval, below=(*below, p_value))


def _verdict(compared: ComparedSetups, result: SetupResult) -> Cell:
    if result.setup.name == compared.base:
        return Cell("base")
    return Cell(result.verdict, below=(setup_name(result.reason),) if result.reason else ())


def _effective(result: SetupResult, *, place: int) -> Cell:
    """The effective length under one of the definitions."""
    if not result.effective:
        return Cell()
    scored = [point.length for point in result.points if point.mean is not None]
    return replace(length_cell(result.effective[place], scored[0] if scored else 0), note="")


# Costs


def _timing(result: SetupResult, length: int) -> Timing | None:
    return next((timing for timing in result.timings if timing.length == length), None)


def _spent(compared: ComparedSetups, family: Sequence[SetupResult], length: int) -> list[Field]:
    """What a reply takes at a length."""
    tokens = tokens_at(family, length)

    def counted(result: SetupResult) -> Cell:
        amount = tokens.get(result.setup.name)
        if result.at(length) is None or amount is None:
            return Cell()
        base = ratio(amount, tokens.get(compared.base)) if result.setup.name != compared.base else None
        return Cell(words.count(amount.mean), below=(share_of(base),) if base is not None else ())

    def peak(result: SetupResult) -> Cell:
        timing = _timing(result, length)
        return Cell(words.size(timing.cache_bytes if timing else None))

    return [
        (Column("Tokens", help="Mean tokens of a reply, and their share of those of the base"), counted),
        (COST, lambda result: _money(result.at(length))),
        (FIRST_TOKEN, lambda result: _first_token(_timing(result, length))),
        (SPEED, lambda result: _speed(_timing(result, length))),
        (Column("Peak cache", help="Peak of keys and values"), peak),
    ]


def _costs(compared: ComparedSetups, title: str, family: Sequence[SetupResult], number: int) -> Table:
    """What a reply takes: one row per length and setup."""
    best = {length: on_frontier(family, length) for length in compared.lengths}
    records = [
        (result, point, _timing(result, length))
        for length in compared.lengths
        for result in family
        if (point := result.at(length)) is not None
    ]
    fields: Fields[tuple[SetupResult, SetupPoint, Timing | None]] = [
        (Column("Setup", number=False), lambda row: _name(compared, row[0])),
        (Column("Length"), lambda row: Cell(words.tokens(row[1].length))),
        (
            Column("Score", help="Percent", denominator="scored"),
            lambda row: score_cell(row[1].mean, row[1].interval, words.sentence(row[1].gap)),
        ),
        (
            Column("Frontier", number=False, help="Of score and tokens, by point estimates"),
            lambda row: Cell("yes") if row[1].setup in best[row[1].length] else Cell(),
        ),
        (Column("Tokens in"), lambda row: _amount(row[1].tokens_in, words.count)),
        (Column("Tokens out"), lambda row: _amount(row[1].tokens_out, words.count)),
        (COST, lambda row: _money(row[1])),
        (Column("Seconds", help="Of a request"), lambda row: _amount(row[1].seconds, words.moment)),
        (FIRST_TOKEN, lambda row: _first_token(row[2])),
        (SPEED, lambda row: _speed(row[2])),
        (Column("Cache", help="Keys and values after the prompt; below it their peak"), lambda row: _cache(row[2])),
        (
            Column("Kernel", number=False, help="Attention kernel of the times"),
            lambda row: Cell(setup_name(row[0].setup.kernel)) if row[0].setup.kernel and row[2] else Cell(),
        ),
    ]
    return table_of(
        f"setups-costs-{number}",
        _title("Score and cost", title, compared),
        fields,
        records,
        about=COSTS if number == 1 else "",
        notable=[place for place, row in enumerate(records) if row[1].length == max(compared.lengths)],
        denominator="received",
    )


def _amount(amount: Amount | None, write: Callable[[float | None], str]) -> Cell:
    if amount is None:
        return Cell()
    low, high = write(amount.interval.low), write(amount.interval.high)
    return Cell(write(amount.mean), f"[{low}, {high}]" if low != high else "")


def _money(point: SetupPoint | None) -> Cell:
    return Cell(words.money(THOUSAND * point.cost.mean)) if point is not None and point.cost is not None else Cell()


def _first_token(timing: Timing | None) -> Cell:
    return Cell(words.moment(timing.first_token_seconds if timing else None))


def _speed(timing: Timing | None) -> Cell:
    value = timing.tokens_per_second if timing else None
    return Cell() if value is None else Cell(f"{value:.0f}" if value >= 10 else f"{value:.1f}")


def _cache(timing: Timing | None) -> Cell:
    after, peak = (timing.cache_bytes_prompt, timing.cache_bytes) if timing else (None, None)
    return Cell(words.size(after), below=(f"peak {words.size(peak)}",) if peak is not None else ())


# Differences and hyper-parameters


def _differences(compared: ComparedSetups, title: str, family: Sequence[SetupResult], number: int) -> Table:
    """The difference to the base at each length: one row per setup, one column per length."""
    fields: list[Field] = [(Column("Setup", number=False), lambda result: _name(compared, result))]
    for length in compared.lengths:
        group = "Beyond the window" if length > compared.window else "Up to the window"
        fields.append((Column(words.tokens(length), group=group), partial(_at, compared=compared, length=length)))
    return table_of(
        f"setups-differences-{number}",
        _title("Differences at each length", title, compared),
        fields,
        [result for result in family if result.setup.name != compared.base],
        about=DIFFERENCES.format(base=setup_name(compared.base)) if number == 1 else "",
        denominator="shared",
    )


def _at(result: SetupResult, *, compared: ComparedSetups, length: int) -> Cell:
    point, base = result.at(length), compared.reference.at(length)
    if point is None or base is None:
        return Cell()
    if point.difference is None:
        own, other = words.sentence(point.gap), f"{base.setup}: {base.gap}." if base.gap else ""
        return Cell(note=setup_name(own or other))
    both = f"{words.percent(point.mean)} against {words.percent(base.mean)}"
    if point.limit:
        return Cell("cannot tell", below=(both, f"both at the {point.limit}"))
    return _difference(point.difference, both)


def _tried(compared: ComparedSetups) -> Table:
    """The hyper-parameters that were tried: one row per setup and value."""
    records = [(tuned, trial) for tuned in compared.tuned for trial in tuned.trials]
    fields: Fields[tuple[Tuned, Trial]] = [
        (Column("Setup", number=False), lambda row: Cell(setup_name(row[0].setup))),
        (Column("Value", number=False), lambda row: Cell(setup_name(row[1].value))),
        (Column("Items"), lambda row: Cell(words.count(row[0].items))),
        (Column("Up to the window"), lambda row: Cell(words.percent(row[1].short))),
        (Column("Beyond the window"), lambda row: Cell(words.percent(row[1].long))),
        (Column("Chosen", number=False), lambda row: Cell("yes" if row[1].chosen else words.ABSENT)),
    ]
    # The grid is a result of its own, so none of its rows is left out at first.
    every = range(len(records))
    return table_of(
        *("setups-tried", "Hyper-parameters tried", fields, records),
        about=TRIED,
        detail=True,
        notable=every,
        denominator="scored",
    )


# The section


def _page(results: Results, tables: Sequence[Table]) -> list[parts.PagePart]:
    compared = results.setups
    if compared is None:
        return []
    figures = page_figures(compared)
    answers = parts.Items([answer(result, compared.base) for result in compared.others])
    marks = {
        result.setup.name: parts.Mark(setup_name(result.setup), *style(n)[1:])
        for n, result in enumerate(compared.order)
    }

    def key(names: Iterable[str]) -> parts.Key:
        return parts.Key("Setups in the figures", [marks[name] for name in names])

    def tables_named(start: str) -> list[Table]:
        return [table for table in tables if table.name.startswith(start)]

    maps = _depth_maps(results, compared)
    spent: list[parts.PagePart] = []
    if figures.tokens:
        spent = [parts.Heading("Score against tokens"), key(figures.with_tokens), parts.Figures(figures.tokens, "pair")]
        spent.append(parts.Text(ABOUT_TOKENS))
    return [
        parts.Folded(ANSWERS, [answers]) if len(answers.texts) > FEW else answers,
        *(table for table in tables if table.name in ("setups-1", "setups-2")),
        parts.Heading("Score against length"),
        key([compared.base] if figures.tiled else marks),
        parts.Figures(figures.scores, "grid" if figures.tiled else "pair"),
        parts.Text(ABOUT_SCORES + ABOUT_TILES * figures.tiled),
        parts.Heading("Difference to the base"),
        parts.Figures(figures.differences),
        parts.Text(ABOUT_DIFFERENCES),
        *tables_named("setups-differences"),
        *([parts.Scale()] if maps else []),
        *maps,
        *spent,
        *tables_named("setups-costs"),
        parts.Space(),
        *parts.table_parts([table for table in tables if table.detail], MORE),
    ]


def _depth_maps(results: Results, compared: ComparedSetups) -> list[parts.PagePart]:
    """Score by length and depth of each setup, side by side, for each task whose evidence has a depth."""
    points = grouped(results[POSITION], lambda point: (point.task, point.model))
    body: list[parts.PagePart] = []
    for task in results.tasks:
        figures = [
            Figure(
                setup_name(result.setup),
                drawn(
                    position_chart(points[task, result.setup.name], results.lengths, MAP),
                    f"Score of {setup_name(result.setup)} on {task} by depth and length",
                ),
            )
            for result in compared.order
            if (task, result.setup.name) in points
        ]
        if figures:
            body += [parts.Heading(f"Score by depth and length: {task}"), parts.Figures(figures, "grid")]
    return body


def _finding(results: Results) -> str:
    compared = results.setups
    if compared is None:
        return ""
    counts = Counter(result.verdict for result in compared.others)
    verdicts = [f"{counts[verdict]} {verdict}" for verdict in VERDICTS if counts[verdict]]
    verdicts += [f"{len(compared.failed)} failed"] if compared.failed else []
    return words.sentence(f"Compared with {quoted(compared.base)}: {', '.join(verdicts)}") if verdicts else ""


def _markdown(results: Results) -> str:
    """What each setup brings, and the main table of each family in a few columns."""
    compared = results.setups
    if compared is None:
        return ""
    answers = [answer(result, compared.base) for result in compared.others]
    more = [f"- and {len(answers) - MODELS} more, which the page of the report has"] if len(answers) > MODELS else []
    paragraphs = [["**Setups compared**", *(f"- {escaped(sentence)}" for sentence in answers[:MODELS]), *more]]
    for number, (title, family) in enumerate(compared.families, start=1):
        whole = main_table(compared, title, family, number)
        places = [place for place, column in enumerate(whole.columns) if column.label in IN_MARKDOWN]
        table = replace(
            whole,
            columns=tuple(whole.columns[place] for place in places),
            rows=tuple(tuple(row[place] for place in places) for row in whole.rows[: MODELS + 1]),
        )
        paragraphs += [
            [f"{escaped(title)}:"],
            table_lines(table),
            [escaped(" ".join(filter(None, (table.about, table.divided_by))))],
        ]
    return "\n\n".join("\n".join(part) for part in paragraphs if part) + "\n"


SECTION = Section(
    name="setups",
    title="Setups compared",
    finding=_finding,
    about=ABOUT_SECTION,
    tables=_tables,
    page=_page,
    tables_class="setups",
    opened=lambda results: True,
    markdown=_markdown,
    numbers=lambda results: numbers(results.setups) if results.setups else None,
)
