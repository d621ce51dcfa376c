"""The tables of setups: what they gain and cost, differences at each length, what a reply takes, what was tried."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from fathom.analysis.setup_costs import Amount, ratio
from fathom.analysis.setups import Difference, SetupPoint, SetupResult, Timing, verdict_levels
from fathom.report import words
from fathom.report.lengths import LENGTHS, length_cell
from fathom.report.setups import ZERO_SHOT, ComparedSetups, on_frontier, share_of, shown, tokens_at
from fathom.report.table import Cell, Column, Table

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
Value = Callable[[SetupPoint | None, Timing | None], Cell]


def setup_tables(compared: ComparedSetups | None) -> list[Table]:
    """All tables of a comparison of setups, in reading order; none without one.

    Args:
        compared: The comparison.
    """
    if compared is None:
        return []
    families = list(enumerate(compared.families, start=1))
    return [
        *(main_table(compared, title, family, number) for number, (title, family) in families),
        *(differences(compared, title, family, number) for number, (title, family) in families),
        *(costs(compared, title, family, number) for number, (title, family) in families),
        *([tried(compared)] if compared.tuned else []),
        *(
            replace(table, name=f"setups-published-{number}", section="setups", detail=True)
            for number, table in enumerate(compared.published, start=1)
        ),
    ]


def main_table(compared: ComparedSetups, title: str, family: Sequence[SetupResult], number: int) -> Table:
    """Gain, loss, verdict, effective lengths and costs at the longest length: one row per setup, the base first."""
    longest = max(compared.lengths)
    spent = [
        (column, value)
        for column, value in _spent(compared, family, longest)
        if any(value(one.at(longest), _timing(one, longest)).text != words.ABSENT for one in family)
    ]
    columns = (
        Column("Setup", number=False),
        Column("Gain", help="Mean difference over all tested lengths beyond the window"),
        Column("Up to the window", help="Mean difference over the tested lengths up to the window"),
        Column("Verdict", number=False),
        *(replace(column, denominator="scored") for column in LENGTHS),
        *(replace(column, group=f"At {words.tokens(longest)}", denominator="received") for column, _ in spent),
    )
    at_lengths, in_mean = verdict_levels(sum(length > compared.window for length in compared.lengths))
    rule = (BOTH if at_lengths else MEAN).format(lengths=at_lengths, mean=in_mean)
    about = ABOUT.format(base=shown(compared.base), window=words.tokens(compared.window), rule=rule)
    rows = tuple(
        (
            _named(compared, one),
            _difference(one.gain),
            _difference(one.loss),
            _verdict(compared, one),
            *_effective(one),
            *(value(one.at(longest), _timing(one, longest)) for _, value in spent),
        )
        for one in family
    )
    named, about = _title("", title, compared), about * (number == 1)
    return Table(f"setups-{number}", "setups", named, about, columns, rows, denominator="shared")


def _title(what: str, family: str, compared: ComparedSetups) -> str:
    """The title of the table of a family, which is named if there are two."""
    if len(compared.families) < 2 and family == ZERO_SHOT:
        return what or "Setups"
    return f"{what}: {family.lower()}" if what else family


def _named(compared: ComparedSetups, one: SetupResult) -> Cell:
    order = (compared.reference, *compared.others)
    setup = one.setup
    about = [KINDS.get(setup.kind, shown(setup.kind)), *map(shown, filter(None, (setup.trained, setup.chosen)))]
    return Cell(shown(setup), series=order.index(one), below=tuple(about))


def _short_name(compared: ComparedSetups, one: SetupResult) -> Cell:
    return replace(_named(compared, one), below=())


def _difference(found: Difference | None, *below: str) -> Cell:
    if found is None:
        return Cell()
    p_value = f"{words.chance_of(found.adjusted)}"
    said = p_value if found.sign else f"{p_value}, not significant"
    interval = words.bounds(found.interval, signed=True)
    return Cell(words.change(found.difference), interval, below=(*below, said))


def _verdict(compared: ComparedSetups, one: SetupResult) -> Cell:
    if one.setup.name == compared.base:
        return Cell("base")
    return Cell(one.verdict, below=(shown(one.reason),) if one.reason else ())


def _effective(one: SetupResult) -> list[Cell]:
    scored = [point.length for point in one.points if point.mean is not None]
    if not one.effective:
        return [Cell()] * len(LENGTHS)
    return [replace(length_cell(each, scored[0] if scored else 0), note="") for each in one.effective]


# Costs


def _timing(one: SetupResult, length: int) -> Timing | None:
    return next((timing for timing in one.timings if timing.length == length), None)


def _spent(compared: ComparedSetups, family: Sequence[SetupResult], length: int) -> list[tuple[Column, Value]]:
    """Columns of what a reply takes, and the cell of each."""
    tokens = tokens_at(family, length)

    def counted(point: SetupPoint | None, timing: Timing | None) -> Cell:
        amount = tokens.get(point.setup) if point is not None else None
        if point is None or amount is None:
            return Cell()
        base = ratio(amount, tokens.get(compared.base)) if point.setup != compared.base else None
        return Cell(words.count(amount.mean), below=(share_of(base),) if base is not None else ())

    return [
        (Column("Tokens", help="Mean tokens of a reply, and their share of those of the base"), counted),
        (
            Column("Cost", help="US dollars for 1,000 replies"),
            lambda point, _: _money(point.cost if point is not None else None),
        ),
        *_timed(),
    ]


def _timed() -> list[tuple[Column, Value]]:
    return [
        (
            Column("First token", help="Median time to the first token"),
            lambda _, timing: Cell(words.moment(timing.first_token_seconds if timing else None)),
        ),
        (
            Column("Tokens/s", help="Median speed of the reply after its first token"),
            lambda _, timing: Cell(_speed(timing.tokens_per_second if timing else None)),
        ),
        (
            Column("Peak cache", help="Peak of keys and values"),
            lambda _, timing: Cell(words.size(timing.cache_bytes if timing else None)),
        ),
    ]


def costs(compared: ComparedSetups, title: str, family: Sequence[SetupResult], number: int) -> Table:
    """What a reply takes: one row per length and setup."""
    columns = (
        Column("Setup", number=False),
        Column("Length"),
        Column("Score", help="Percent", denominator="scored"),
        Column("Frontier", number=False, help="Of score and tokens, by point estimates"),
        Column("Tokens in"),
        Column("Tokens out"),
        Column("Cost", help="US dollars for 1,000 replies"),
        Column("Seconds", help="Of a request"),
        Column("First token", help="Median time to the first token"),
        Column("Tokens/s", help="Median speed of the reply after its first token"),
        Column("Cache", help="Keys and values after the prompt; below it their peak"),
        Column("Kernel", number=False, help="Attention kernel of the times"),
    )
    rows: list[tuple[Cell, ...]] = []
    notable: list[int] = []
    for length in compared.lengths:
        best = on_frontier(family, length)
        for one in family:
            if (point := one.at(length)) is None:
                continue
            notable += [len(rows)] if length == max(compared.lengths) else []
            rows.append(_cost_row(compared, one, point, best))
    named = _title("Score and cost", title, compared)
    about = COSTS * (number == 1)
    return Table(
        *(f"setups-costs-{number}", "setups", named, about, columns, tuple(rows)),
        notable=tuple(notable),
        denominator="received",
    )


def _cost_row(compared: ComparedSetups, one: SetupResult, point: SetupPoint, best: frozenset[str]) -> tuple[Cell, ...]:
    timing = _timing(one, point.length)
    score = Cell(words.percent(point.mean), words.bounds(point.interval), words.sentence(point.gap))
    after, peak = (timing.cache_bytes_prompt, timing.cache_bytes) if timing else (None, None)
    return (
        _short_name(compared, one),
        Cell(words.tokens(point.length)),
        score,
        Cell("yes") if point.setup in best else Cell(),
        _amount(point.tokens_in, words.count),
        _amount(point.tokens_out, words.count),
        _money(point.cost),
        _amount(point.seconds, words.moment),
        Cell(words.moment(timing.first_token_seconds if timing else None)),
        Cell(_speed(timing.tokens_per_second if timing else None)),
        Cell(words.size(after), below=(f"peak {words.size(peak)}",) if peak is not None else ()),
        Cell(shown(one.setup.kernel)) if one.setup.kernel and timing else Cell(),
    )


def _amount(amount: Amount | None, write: Callable[[float | None], str]) -> Cell:
    if amount is None:
        return Cell()
    low, high = write(amount.interval.low), write(amount.interval.high)
    return Cell(write(amount.mean), f"[{low}, {high}]" if low != high else "")


def _money(cost: Amount | None) -> Cell:
    return Cell(words.money(THOUSAND * cost.mean)) if cost is not None else Cell()


def _speed(value: float | None) -> str:
    return words.ABSENT if value is None else f"{value:.0f}" if value >= 10 else f"{value:.1f}"


# Differences and hyper-parameters


def differences(compared: ComparedSetups, title: str, family: Sequence[SetupResult], number: int) -> Table:
    """The difference to the base at each length: one row per setup, one column per length."""
    columns = (
        Column("Setup", number=False),
        *(
            Column(words.tokens(length), group="Beyond the window" if length > compared.window else "Up to the window")
            for length in compared.lengths
        ),
    )
    rows = tuple(
        (
            _short_name(compared, one),
            *(_at(one.at(length), compared.reference.at(length)) for length in compared.lengths),
        )
        for one in family
        if one.setup.name != compared.base
    )
    about = DIFFERENCES.format(base=shown(compared.base))
    named = _title("Differences at each length", title, compared)
    about *= number == 1
    return Table(f"setups-differences-{number}", "setups", named, about, columns, rows, denominator="shared")


def _at(point: SetupPoint | None, base: SetupPoint | None) -> Cell:
    if point is None or base is None:
        return Cell()
    if point.difference is None:
        own, other = words.sentence(point.gap), f"{base.setup}: {base.gap}." if base.gap else ""
        return Cell(note=shown(own or other))
    both = f"{words.percent(point.mean)} against {words.percent(base.mean)}"
    if point.limit:
        return Cell("cannot tell", below=(both, f"both at the {point.limit}"))
    return _difference(point.difference, both)


def tried(compared: ComparedSetups) -> Table:
    """The hyper-parameters that were tried: one row per setup and value."""
    columns = (
        Column("Setup", number=False),
        Column("Value", number=False),
        Column("Items"),
        Column("Up to the window"),
        Column("Beyond the window"),
        Column("Chosen", number=False),
    )
    rows = tuple(
        (
            Cell(shown(one.setup)),
            Cell(shown(trial.value)),
            Cell(words.count(one.items)),
            Cell(words.percent(trial.short)),
            Cell(words.percent(trial.long)),
            Cell("yes" if trial.chosen else words.ABSENT),
        )
        for one in compared.tuned
        for trial in one.trials
    )
    # The grid is a result of its own, so none of its rows is left out at first.
    notable = tuple(range(len(rows)))
    return Table(
        *("setups-tried", "setups", "Hyper-parameters tried", TRIED, columns, rows),
        detail=True,
        notable=notable,
        denominator="scored",
    )
