"""What the tables and the summary say, against the numbers themselves."""

from __future__ import annotations

import polars as pl
import pytest
from report_rows import LENGTHS, READERS, make_rows

from fathom.analysis import compare
from fathom.report.measure import measure
from fathom.report.results import ALL, Results, System
from fathom.report.sections.lengths import EFFECTIVE
from fathom.report.summary import summary
from fathom.report.table import Table
from fathom.report.tables import tables, tables_of
from fathom.stats.outcomes import OUTCOMES, counted
from fathom.types import FathomError

pytestmark = pytest.mark.slow  # all look at what takes long to make

SHORT = (2048, 4096, 8192)
ACME = System("acme/long-1", "thinking")
ORCA = System("orca/small-7b", "")


@pytest.fixture(scope="module")
def results() -> Results:
    return measure(make_rows())


@pytest.fixture(scope="module")
def found(results: Results) -> dict[str, Table]:
    return {table.name: table for table in tables_of(results)}


def column(table: Table, label: str) -> dict[str, str]:
    """The texts of one column by the heading of their row."""
    place = [one.label for one in table.columns].index(label)
    return {row[0].text: str(row[place]) for row in table.rows}


def said(results: Results) -> str:
    return str(summary(results))


def test_every_row_has_a_cell_for_every_column_and_names_are_unique(results: Results) -> None:
    all_tables = tables_of(results)
    assert len({table.name for table in all_tables}) == len(all_tables)
    for table in all_tables:
        assert all(len(row) == len(table.columns) for row in table.rows), table.name


def test_the_average_score_is_the_mean_over_tasks_then_lengths() -> None:
    rows = make_rows(models=1, tasks=3, lengths=SHORT, failures=False, items=6)
    cells = rows.group_by("task", "length").agg(pl.col("value").mean())
    mean = cells["value"].mean()
    assert isinstance(mean, float)
    (table,) = [table for table in tables(rows) if table.name == "headline"]
    assert column(table, "Average score")[ACME.name].startswith(f"{100 * mean:.1f} [")


def test_figures_of_the_heat_table_are_plain_means(found: dict[str, Table]) -> None:
    rows = make_rows()
    table = found["scores-1"]
    assert table.title == ACME.name
    cell = rows.filter((pl.col("model") == ACME.model) & (pl.col("task") == "passkey") & (pl.col("length") == 65536))
    mean = cell["value"].mean()
    assert isinstance(mean, float)
    assert column(table, "64k")["passkey"].startswith(f"{100 * mean:.1f} [")


def test_models_that_do_not_differ_share_a_range_of_ranks() -> None:
    rows = make_rows(models=1, tasks=2, lengths=SHORT, failures=False, items=8)
    twins = pl.concat([rows, rows.with_columns(model=pl.lit("acme/twin"))])
    measured = measure(twins)
    table = tables_of(measured)[0]
    assert set(column(table, "Rank").values()) == {"1–2"}
    assert "are not significantly different" in said(measured)


def test_models_that_differ_have_ranks_of_their_own() -> None:
    rows = make_rows(models=1, tasks=2, lengths=SHORT, failures=False, items=8)
    worse = rows.with_columns(model=pl.lit("zzz/none"), value=pl.lit(0.0))
    measured = measure(pl.concat([worse, rows]))
    assert column(tables_of(measured)[0], "Rank") == {ACME.name: "1", "zzz/none · thinking": "2"}
    assert "The average scores of all models are significantly different." in said(measured)


def test_headline_ranks_and_comparison_say_the_same() -> None:
    """One engine: the gap of the page is that of ``compare``, and the ranks follow from the gaps of all pairs."""
    measured = measure(rows := make_rows(failures=False, items=8))
    headline = tables_of(measured)[0]
    differences = column(headline, "Difference")
    for place, one in enumerate(measured.ranking[:-1]):
        gap = one.gaps[place + 1]
        assert gap is not None
        said = f"{100 * gap.difference:+.1f} ["
        assert differences[System(one.model, one.variant).name].startswith(said)
        assert ("not significant" in differences[System(one.model, one.variant).name]) is not one.significant[place + 1]
    for one in measured.ranking:
        for gap, other in zip(one.gaps, measured.ranking, strict=True):
            if other == one or gap is None:
                continue
            pairs = compare(rows, one.model, other.model, variant_a=one.variant, variant_b=other.variant)
            (found,) = [each for each in pairs if (each.task, each.length) == (ALL, None)]
            assert (gap.difference, gap.p_value) == pytest.approx((found.difference, found.p_value))
            assert (gap.interval.low, gap.interval.high) == pytest.approx((found.interval.low, found.interval.high))


def test_a_length_that_is_not_measured_leaves_no_average_and_no_rank(results: Results, found: dict[str, Table]) -> None:
    headline = found["headline"]
    assert column(headline, "Rank")[ORCA.name] == "–"
    assert column(headline, "Average score")[ORCA.name].split()[0] == "–"
    assert results.systems[-1] == ORCA
    assert any("64k (20 of 20 prompts did not fit)" in note for note in headline.notes)
    assert f"{ORCA.name} has no score on any task at 64k" in said(results)


def test_a_model_with_fewer_lengths_is_ranked_on_what_both_were_asked() -> None:
    rows = make_rows(failures=False)
    measured = measure(rows.filter((pl.col("model") != ORCA.model) | (pl.col("length") <= 32_768)))
    headline, lexical = tables_of(measured)[0], measured.systems[-1]
    assert column(headline, "Rank") == {ACME.name: "1", ORCA.name: "2–3", lexical.name: "2–3"}
    shared = measure(rows.filter(pl.col("length") <= 32_768)).average
    difference = (shared[ORCA, ALL].mean or 0) - (shared[lexical, ALL].mean or 0)
    compared = column(headline, "Difference")[ORCA.name]
    assert compared.startswith(f"{100 * difference:+.1f} [")
    assert compared.endswith("on 42 of 48 cells, up to 32k")
    assert any("Leaves out 64k" in note for note in headline.notes)
    assert f"{ORCA.name} was not asked: any task at 64k." in said(measured)


def test_absent_is_a_dash_with_its_reason_and_not_a_zero(results: Results, found: dict[str, Table]) -> None:
    table = found[f"scores-{results.systems.index(ORCA) + 1}"]
    assert set(column(table, "64k").values()) == {"–"}
    assert "Not measured: 20 of 20 prompts did not fit." in table.notes


def test_an_undefined_longscore_shows_its_reason(results: Results, found: dict[str, Table]) -> None:
    one = results.longscore[ACME, "passage_count"]
    assert one.undefined
    table = found[f"longscore-{results.systems.index(ACME) + 1}"]
    row = next(row for row in table.rows if row[0].text == "passage_count")
    place = [column.label for column in table.columns].index("Mean")
    assert row[place].text == "undefined"
    assert row[place].note.casefold().rstrip(".") == one.undefined.casefold().rstrip(".")
    assert row[place].note in table.notes
    assert {cell.text for cell in row[place + 1 : place + 5]} == {"–"}


def test_effective_length_of_a_reader_behind_a_window(results: Results, found: dict[str, Table]) -> None:
    system = System("fathom/lexical?window=8k", "")
    one = results.effective[system, ALL, "own_base"]
    assert one.interval is not None
    assert one.interval.low <= 8192 <= one.interval.high
    text = column(found["effective"], "85% of base")[system.name]
    assert column(found["headline"], "Keeps 85% of base up to")[system.name] == text
    absolute = column(found["effective"], "85.6 (RULER)")[system.name]
    assert column(found["headline"], "Keeps 85.6 (RULER) up to")[system.name] == absolute


def test_a_reader_that_never_fades_is_said_to_pass_the_longest_length() -> None:
    rows = make_rows(models=1, tasks=1, failures=False, items=30, depths=False).with_columns(value=pl.lit(1.0))
    measured = measure(rows)
    assert column(tables_of(measured)[0], "Keeps 85% of base up to")[ACME.name].startswith("≥ 64k")
    assert not measured.drops


def test_summary_counts_and_chance(results: Results) -> None:
    rows = make_rows()
    silent = (pl.col("status") == "refused") | ((pl.col("status") == "incomplete") & pl.col("value").is_null())
    unanswered, missing = rows.filter(silent).height, rows.filter(pl.col("status") == "error").height
    assert said(results).startswith("acme/long-1 · thinking keeps 85% of its score ")
    assert "Three models were measured on 6 tasks at 8 lengths from 1k to 64k tokens: " in said(results)
    assert f"{rows.height:,} replies, {rows['value'].count():,} scored." in said(results)
    assert f"{unanswered} replies left unanswered count 0" in said(results)
    assert "120 prompts did not fit" in said(results)
    assert f"{missing} requests failed: resume the run" in said(results)
    assert f"{rows.filter(pl.col('truncated') > 0).height} prompts were truncated" in said(results)


def test_counts_add_up(found: dict[str, Table]) -> None:
    rows = make_rows()
    counts = found["counts"]
    for model, variant, *_ in READERS:
        own = rows.filter(pl.col("model") == model)
        name = System(model, variant).name
        assert column(counts, "Replies")[name] == f"{own.height:,}"
        assert column(counts, "Scored")[name] == f"{own['value'].count():,}"
        ended = counted(own)["outcome"].to_list()
        assert sum(ended.count(kind) for kind in OUTCOMES) == own.height
        for kind in ("cut", "unanswered", "overflow", "missing"):
            label = {"cut": "truncated"}.get(kind, kind)
            assert column(counts, label.capitalize())[name] == f"{ended.count(kind):,}"
            number = f"{ended.count(kind)} {label}"
            assert (number in column(found["longscore"], "Scored")[name]) is (ended.count(kind) > 0)
    assert column(counts, "Cost")["fathom/lexical?window=8k"] == "–"


def test_every_table_of_scores_carries_the_counts(results: Results) -> None:
    for table in tables_of(results):
        if table.section in ("headline", "scores", "longscore", "effective"):
            labels = [column.label for column in table.columns]
            assert "Chance" in labels, table.name
            assert labels[-1] == "Scored", table.name


def test_replies_without_a_full_answer_are_counted_below_the_scored_ones(found: dict[str, Table]) -> None:
    rows = make_rows()
    system = System("fathom/lexical?window=8k", "")
    own = rows.filter(pl.col("model") == system.model)
    ended = counted(own)["outcome"].to_list()
    expected = (
        f"{ended.count('unanswered')} unanswered",
        f"{ended.count('cut')} truncated",
        f"{own.filter(pl.col('value').is_not_null() & ~pl.col('valid')).height} invalid",
        f"{own.filter(pl.col('truncated') > 0).height} prompts truncated",
    )
    for name in ("longscore", "effective"):
        (row,) = [row for row in found[name].rows if row[0].text == system.name]
        # No price is known, and nothing is said of it here; the table of counts has a dash.
        assert row[-1].below == expected
    paid = [row for row in found["headline"].rows if row[0].text == ACME.name]
    cost = rows.filter(pl.col("model") == ACME.model)["cost"].sum()
    assert paid[0][-1].below[-1] == f"${cost:,.2f}"
    for task, table in (("passkey", "scores-1"), ("passkey", "longscore-1"), ("passkey", "effective-1")):
        cell = rows.filter((pl.col("model") == ACME.model) & (pl.col("task") == task))
        silent = counted(cell)["outcome"].to_list().count("unanswered")
        assert column(found[table], "Scored")[task].startswith(f"{cell['value'].count()} {silent} unanswered")


def test_counts_say_each_fact_once() -> None:
    def counted(models: int, tasks: int, lengths: tuple[int, ...] = LENGTHS) -> dict[str, Table]:
        rows = make_rows(models=models, tasks=tasks, lengths=lengths, items=2)
        return {table.name: table for table in tables(rows) if table.section == "counts"}

    def short(models: int, tasks: int) -> set[str]:
        return set(counted(models, tasks, (2048,)))

    alone = counted(models=1, tasks=2)
    assert set(alone) == {"counts", "counts-1-length"}
    assert [row[0].text for row in alone["counts"].rows] == ["kv_retrieval", "counting_stars", "all tasks"]
    assert [row[0].text for row in alone["counts-1-length"].rows] == ["1k", "2k", "4k", "6k", "8k", "16k", "32k", "64k"]
    assert set(counted(models=1, tasks=1)) == {"counts", "counts-1-length"}
    assert short(models=1, tasks=1) == short(models=1, tasks=3) == {"counts"}
    assert short(models=2, tasks=1) == {"counts"}
    assert short(models=2, tasks=2) == {"counts", "counts-1-task", "counts-2-task"}


def test_what_is_unanswered_is_explained_and_counts_0(found: dict[str, Table]) -> None:
    assert "Unanswered replies are refusals, empty replies" in found["counts"].about
    rows = make_rows(models=1, tasks=1, items=3).with_columns(
        value=pl.lit(None, dtype=pl.Float64), status=pl.lit("incomplete")
    )
    scores = {table.name: table for table in tables(rows)}["scores-1"]
    assert column(scores, "All lengths")["kv_retrieval"].startswith("0.0")
    dropped = {table.name: table for table in tables(rows, unanswered="drop")}["scores-1"]
    assert column(dropped, "All lengths")["kv_retrieval"].startswith("–")


def test_both_means_are_shown_where_they_differ_by_half_a_point() -> None:
    rows = make_rows(models=1, tasks=1, failures=False).with_columns(value=pl.lit(1.0))
    silent = pl.int_range(pl.len()) % 10 == 0
    rows = rows.with_columns(status=pl.when(silent).then(pl.lit("refused")).otherwise("status"))
    zero, drop = (measure(rows, unanswered=choice) for choice in ("zero", "drop"))
    assert "answered only: 100.0" in column(tables_of(zero)[0], "Average score")[ACME.name]
    assert "unanswered as 0: 90.0" in column(tables_of(drop)[0], "Average score")[ACME.name]
    assert "Unanswered replies are left out of the means (--unanswered drop)" in tables_of(drop)[0].about


def test_settings_say_what_the_rows_say(found: dict[str, Table]) -> None:
    values = column(found["settings"], "Value")
    assert values["Suite"] == "first-light"
    assert values["Tokenizer of the lengths"] == "tekken"
    assert values["Scoring rule"] == "strict"
    assert values["Task single_doc_qa"] == "version 1, scored by token_f1"


def test_nothing_scored_at_all() -> None:
    rows = make_rows(models=2, tasks=2, items=3).with_columns(
        value=pl.lit(None, dtype=pl.Float64), status=pl.lit("error"), chance=pl.lit(None, dtype=pl.Float64)
    )
    measured = measure(rows)
    assert "has no scored replies and therefore no score" in said(measured)
    assert "The chance level is unknown." in said(measured)
    assert set(column(tables_of(measured)[0], "Average score").values()) == {"–"}


def test_a_missing_cell_is_named() -> None:
    rows = make_rows(models=1, tasks=3, failures=False, items=4)
    holed = rows.filter(~((pl.col("task") == "passkey") & (pl.col("length") == LENGTHS[3])))
    found = {table.name: table for table in tables(holed)}
    table = found["scores-1"]
    assert column(table, "6k")["passkey"] == "not asked"
    assert any("Some tasks have no score here" in note for note in table.notes)
    assert any(note.startswith("Leaves out 6k,") for note in found["headline"].notes)
    rest = holed.filter(pl.col("length") != LENGTHS[3]).group_by("task", "length").agg(pl.col("value").mean())
    mean = rest["value"].mean()
    assert isinstance(mean, float)
    assert column(found["headline"], "Average score")[ACME.name].startswith(f"{100 * mean:.1f} [")


def test_no_rows_is_an_error_for_the_user() -> None:
    with pytest.raises(FathomError, match="no rows"):
        tables(make_rows(models=1, tasks=1, items=1).clear())


@pytest.mark.parametrize("grows", [True, False], ids=["improves", "fades"])
def test_the_headline_says_up_to_which_length_the_base_is_kept(grows: bool) -> None:
    """A system that improves with length keeps its base, however low it scores before it."""
    lengths = (1024, 2048, 4096, 6144, 8192, 16384)
    rows = make_rows(models=1, tasks=1, lengths=lengths, items=20, failures=False, depths=False)
    place = pl.col("length").replace_strict({length: n for n, length in enumerate(lengths)}, return_dtype=pl.Int64)
    right = 8 + 2 * place if grows else 20 - 3 * place
    number = pl.col("item").str.extract(r"(\d+)$").cast(pl.Int64)
    measured = measure(rows.with_columns(value=(number < right).cast(pl.Float64)))
    headline = tables_of(measured)[0]
    labels = [column.label for column in headline.columns]
    place_of = labels.index("Keeps 85% of base up to")
    assert labels[place_of : place_of + 3] == ["Keeps 85% of base up to", "Keeps 85.6 (RULER) up to", "LongScore"]
    kept, absolute = (column(headline, label)[ACME.name].split(" [")[0] for label in labels[place_of : place_of + 2])
    change = column(headline, "LongScore")[ACME.name]
    assert (kept, absolute, change[0]) == (("≥ 16k", "< 1k", "+") if grows else ("4k", "1k", "−"))
    assert EFFECTIVE.finding(measured).startswith(f"Keeps 85% of the base score up to {kept}")
