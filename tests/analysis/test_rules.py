"""Both rules: the same replies under fathom's own rule and the released code's, and what is lost to format."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from fathom import api
from fathom.analysis import RowsOfRules, rule_gaps
from fathom.report.made import measured, with_values
from fathom.report.sections.rules import BY_RULES, rule_tables
from fathom.rows import load
from fathom.types import FathomError

sys.path.insert(0, str(Path(__file__).parents[1] / "report"))
from pro_rows import make_pro


def with_lost(lost: float = 0.2) -> RowsOfRules:
    """Replies in Chinese lose something under the released code, and have the wrong form."""
    rows = make_pro().with_columns(value=pl.col("value").clip(0.3, 1.0), valid=pl.col("language") != "zh")
    less = pl.when(pl.col("language") == "zh").then(pl.col("value") - lost).otherwise(pl.col("value"))
    return RowsOfRules(rows, rows.with_columns(value=less, rule=pl.lit("official")))


@pytest.mark.slow
def test_what_is_lost_to_format_is_the_score_under_our_rule_less_that_of_the_released_code() -> None:
    gaps = {(gap.model, gap.variant, gap.dimension, gap.group): gap for gap in rule_gaps(with_lost())}
    for variant in ("thinking", "non-thinking"):
        whole, zh, en = (
            gaps["deep-1", variant, *group] for group in (("overall", "all"), ("language", "zh"), ("language", "en"))
        )
        assert zh.lost == pytest.approx(0.2)
        assert en.lost == 0
        assert whole.lost == pytest.approx(0.1)
        assert whole.strict - whole.official == pytest.approx(whole.lost)
        assert (zh.wrong_form, en.wrong_form, whole.wrong_form) == (1, 0, 0.5)
        assert whole.questions == 50
        assert zh.p_adjusted is not None
        assert zh.p_adjusted < 0.05
        assert zh.interval is not None
        assert zh.interval.low <= 0.2 <= zh.interval.high


@pytest.mark.slow
def test_the_25_secondary_tasks_are_rows_with_a_column_for_each_model_and_mode() -> None:
    *tables, tasks = rule_tables(rule_gaps(with_lost()))
    assert [table.title for table in tables] == [
        "deep-1 · thinking: both rules",
        "deep-1 · non-thinking: both rules",
        "small-7b · non-thinking: both rules",
    ]
    groups = [row[0].text for row in tables[0].rows]
    assert groups[:3] == ["all", "English", "Chinese"]
    assert {"Easy", "Extreme", "Full context", "Partial context", "8k"} <= set(groups)
    assert len(tasks.rows) == 25
    assert [row[0].text.split(" ")[0] for row in tasks.rows][:3] == ["T1.1", "T1.2", "T2.1"]
    assert [row[0].text.split(" ")[0] for row in tasks.rows][-1] == "T11.2"
    assert len(tasks.columns) == 2 + 3
    # Each task has a question in English and one in Chinese.
    assert {text.split(" ")[1] for row in tasks.rows for cell in row[2:] for text in cell.below} == {"(+10.0)"}


def test_rows_of_one_language_or_without_a_difficulty_have_no_such_groups() -> None:
    both = with_lost()
    english = RowsOfRules(*(rows.filter(pl.col("language") == "en") for rows in both))
    bare = [rows.with_columns(facets=pl.lit('{"dataset":"x"}')) for rows in english]
    assert {gap.dimension for gap in rule_gaps(RowsOfRules(*bare))} == {"overall", "language", "length"}
    assert {gap.group for gap in rule_gaps(english, by=["language"])} == {"en"}
    assert rule_gaps(RowsOfRules(both.strict.clear(), both.official.clear())) == []


@pytest.mark.slow
def test_names_of_models_and_groups_are_text_on_the_page() -> None:
    rows = RowsOfRules(*(each.with_columns(model=pl.lit("<b>x</b>")) for each in with_lost()))
    page = with_values(measured(rows.strict), BY_RULES, rule_gaps(rows)).html()
    assert "<b>x</b>" not in page
    assert "Both rules" in page
    assert "By secondary task under both rules" in page
    assert "Both rules" not in measured(rows.strict).html()


@pytest.mark.slow
def test_a_report_on_runs_of_the_world_has_both_rules_and_rows_files_have_one(tmp_path: Path) -> None:
    api.build("world_t3_2,world_t5_1", tmp_path / "s", lengths="8k", items=2, tokenizer="words", languages="en")
    api.run(tmp_path / "s", model="fathom/guess", out=tmp_path / "r")
    gaps = api.analyze_rules([tmp_path / "r"])
    assert {gap.group for gap in gaps if gap.dimension == "secondary_task"} == {
        "T3.2 Single-Hop Fact QA",
        "T5.1 Full-Sentence Citation Alignment",
    }
    strict, official = (load([tmp_path / "r"], rule=rule) for rule in ("strict", "official"))
    asked = pl.col("length") > 0
    whole = next(gap for gap in gaps if gap.dimension == "overall")
    assert whole.strict == pytest.approx(strict.filter(asked)["value"].mean())
    assert whole.official == pytest.approx(official.filter(asked)["value"].mean())
    made = api.report([tmp_path / "r"], out=tmp_path / "r.html")
    assert made.results[BY_RULES]
    assert "Both rules" in (tmp_path / "r.html").read_text("utf-8")
    api.rows([tmp_path / "r"], out=tmp_path / "r.parquet")
    assert api.analyze_rules([tmp_path / "r.parquet"]) == []


def test_a_group_with_a_cell_without_a_score_is_left_out_as_in_other_sections() -> None:
    both = with_lost()
    lost = (pl.col("task") == both.strict["task"][0]) & (pl.col("model") == "deep-1")
    missing = [
        rows.with_columns(
            value=pl.when(lost).then(None).otherwise(pl.col("value")),
            status=pl.when(lost).then(pl.lit("error")).otherwise(pl.col("status")),
        )
        for rows in both
    ]
    gaps = rule_gaps(RowsOfRules(*missing), by=["overall", "secondary_task"])
    assert {gap.model for gap in gaps if gap.dimension == "overall"} == {"small-7b"}
    assert sum(gap.model == "deep-1" and gap.variant == "thinking" for gap in gaps) == 24


@pytest.mark.slow
def test_a_report_says_if_nothing_is_lost_to_format() -> None:
    rows = with_lost(0.0)
    page = with_values(measured(rows.strict), BY_RULES, rule_gaps(rows)).html()
    assert "Nothing is lost to format under the released code." in page
    rows = with_lost()
    page = with_values(measured(rows.strict), BY_RULES, rule_gaps(rows)).html()
    assert "Most is lost to format under the released code (" in page


@pytest.mark.slow
def test_a_run_beside_its_own_rows_counts_once_and_rows_under_the_released_rule_are_not_taken_for_both(
    tmp_path: Path,
) -> None:
    api.build("world_t3_2", tmp_path / "s", lengths="8k", items=2, tokenizer="words", languages="en")
    run, rows, official = tmp_path / "r", tmp_path / "rows.parquet", tmp_path / "official.parquet"
    api.run(tmp_path / "s", model="fathom/guess", out=run)
    api.rows([run], out=rows)
    api.rows([run], out=official, rule="official")
    assert api.analyze_rules([run, rows]) == api.analyze_rules([run]) != []
    assert api.report([run, rows], out=tmp_path / "r.html").results[BY_RULES]
    assert api.analyze_rules([official]) == []
    assert not api.report([official], out=tmp_path / "o.html").results[BY_RULES]
    with pytest.raises(FathomError, match="nonsense"):
        api.analyze_rules([run], by=["nonsense"])
