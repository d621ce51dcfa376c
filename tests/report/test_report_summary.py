"""The summary: what was not measured comes first, one ranking, the same figures on the page, in Markdown and JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import polars as pl
import pytest
from report_rows import make_rows

import fathom as fm
from command_line import Call
from fathom.report.made import Report, measured
from fathom.report.markdown import escaped
from fathom.report.summary import WHOLE, summary
from fathom.report.table import LONG, Replies, Table
from fathom.report.tables import tables_of
from fathom.rows import to_frame, write_rows
from made_results_board import row as made_row

pytestmark = pytest.mark.slow  # most look at whole reports

HOSTILE = "<b>x</b>|[a](http://evil.example)\n# @team `code` ![i](u) &lt;_y_"


@pytest.fixture(scope="module")
def made() -> Report:
    return measured(
        make_rows(), notes=["orca is unfinished, 3 of 9 replies so far"], made=[("Command", "fathom report")]
    )


@pytest.fixture(scope="module")
def perfect() -> Report:
    return measured(make_rows(models=2, tasks=2, items=4, lengths=(2048, 8192), failures=False))


# ------------------------------------------------------------------------------------------------------ not measured


def test_questions_of_other_data_than_the_benchmarks_are_named() -> None:
    rows = [
        made_row(task, f"{task}/{n}", float(n % 2), 4096, suite="leader", facets={"form": form})
        for task, form in (("leader_musique", "authors"), ("leader_qmsum", "longbench"), ("find", "authors"))
        for n in range(4)
    ]
    said = list(map(str, measured(to_frame(rows)).summary.unmeasured))
    assert [one for one in said if "data of the benchmark" in one] == [
        "Not the data of the benchmark, so that scores are not comparable: MuSiQue (made from the authors' files, "
        "without LongBench's records: about 2,900 tokens instead of 18,600)."
    ]


def test_what_was_not_measured_is_said_in_order(made: Report) -> None:
    said = list(map(str, made.summary.unmeasured))
    assert said[0] == "orca is unfinished, 3 of 9 replies so far."
    assert said[1].startswith("orca/small-7b has no score on any task at 64k")
    kinds = (
        "failed: resume the run",
        "not fit the window",
        "truncated to fit",
        "left unanswered",
        "truncated at the output cap",
    )
    assert [next(number for number, one in enumerate(said) if kind in one) for kind in kinds] == [2, 3, 4, 5, 6]


def test_cells_that_were_not_asked_are_named() -> None:
    rows = make_rows(models=2, tasks=3, lengths=(2048, 4096, 8192), items=4, failures=False)
    other = pl.col("model") != "acme/long-1"
    without = rows.filter(other | ((pl.col("task") != "passkey") & (pl.col("length") < 8192)))
    said = list(map(str, summary(measured(without).results).unmeasured))
    assert said[0] == "acme/long-1 · thinking was not asked: any task at 8k and passkey at 2k and 4k."


def test_many_cells_are_counted() -> None:
    rows = make_rows(models=2, tasks=8, lengths=(2048, 8192), items=2, failures=False)
    lost = (pl.col("model") == "acme/long-1") & (pl.col("length") == 8192) & (pl.col("task") != "passkey")
    said = list(map(str, summary(measured(rows.filter(~lost)).results).unmeasured))
    assert said[0].startswith("acme/long-1 · thinking was not asked: kv_retrieval at 8k, counting_stars at 8k")
    assert said[0].endswith(" and 4 more.")


def test_everything_measured_is_said_too(perfect: Report) -> None:
    rows = make_rows(models=1, tasks=2, items=3, lengths=(2048, 8192), failures=False)
    whole = measured(rows)
    assert whole.summary.unmeasured == ()
    assert WHOLE in whole.html()
    assert WHOLE in whole.markdown()


# ------------------------------------------------------------------------------------------------------- one ranking


def headings(tables: tuple[Table, ...]) -> Iterator[str]:
    return (column.label for table in tables for column in table.columns)


def test_the_page_has_one_ranking_and_one_average(made: Report) -> None:
    assert list(headings(made)).count("Rank") == 1
    assert list(headings(made)).count("Average score") == 1
    assert "Mean over questions" not in headings(made)
    assert "All" not in headings(made)


def test_the_summary_comes_first_on_the_page(made: Report) -> None:
    text = made.html()
    places = [text.index(f">{title}<") for title in ("Not measured", "At a glance", "Score against length", "Scores")]
    assert places == sorted(places)
    assert text.index('<details class="section"') > text.index('id="headline"')


def test_sections_are_folded_with_a_line_on_each(made: Report) -> None:
    text = made.html()
    sections = re.findall(r'<details class="section" id="section-([a-z]+)"( open)?>', text)
    assert [name for name, opened in sections if opened] == ["scores"]
    assert {"longscore", "effective", "position", "counts", "settings", "reading"} <= {name for name, _ in sections}
    lines = dict(re.findall(r'<h2>([^<]+)</h2> <span class="finding">([^<]+)</span>', text))
    assert (
        lines["LongScore"] == "−23.1 (acme/long-1 · thinking), −78.6 (fathom/lexical?window=8k), undefined for 1 model."
    )
    assert lines["Position"] == "No difference between positions is significant after adjustment."
    assert lines["Scores"].startswith("Lowest (acme/long-1 · thinking): ")


def test_long_tables_show_their_notable_rows_and_have_all(made: Report) -> None:
    (table,) = [one for one in made if one.name == "position-1"]
    assert len(table.rows) > LONG
    assert 0 < len(table.first_rows) <= 8
    text = made.html()
    first, whole = (
        text.split(f'<table id="{name}"')[1].split("</table>")[0] for name in ("position-1-notable", "position-1")
    )
    assert first.count("<tr>") == 1 + len(table.first_rows)
    assert whole.count("<tr>") == 1 + len(table.rows)
    assert f"Show all {len(table.rows)} rows" in text


def test_short_tables_are_whole(perfect: Report) -> None:
    assert 'class="notable"' not in perfect.html().split('id="section-settings"')[0]


# --------------------------------------------------------------------------------------------------- Markdown and JSON


def test_markdown_has_the_figures_of_the_page_and_fits_a_message(made: Report) -> None:
    text = made.markdown()
    assert len(text.splitlines()) <= 40
    assert text.index("**Not measured**") < text.index("| Model | Rank |") < text.index("**Largest drops**")
    ranking = made.summary.ranking
    assert ranking is not None
    for row in ranking.rows:
        for cell in row:
            assert escaped(cell.text) in text
            assert cell.interval in text
    assert "tekken" in text
    assert "Command: `fathom report`" in text


def test_markdown_of_many_models_is_as_short() -> None:
    rows = make_rows(models=13, items=2, lengths=(2048, 4096, 8192, 16384))
    text = measured(rows, notes=[f"run {number} is unfinished" for number in range(30)]).markdown()
    assert len(text.splitlines()) <= 40
    assert "3 more models in the page of the report." in text
    assert "more, which the page of the report has" in text


def test_markdown_is_text_whatever_models_are_called() -> None:
    rows = make_rows(models=2, tasks=2, items=3, lengths=(2048, 8192)).with_columns(
        model=pl.lit(HOSTILE) + pl.col("model"), task=pl.lit(HOSTILE) + pl.col("task")
    )
    text = measured(rows, title=HOSTILE, made=[("Command", "fathom report `x`\n# y")]).markdown()
    assert "<b>" not in text
    assert not re.search(r"(?<!\\)\]\(", text)
    assert "@team" not in text
    assert not [line for line in text.splitlines() if line.startswith("# ")]
    table = [line for line in text.splitlines() if line.startswith("|")]
    assert len({len(re.findall(r"(?<!\\)\|", line)) for line in table}) == 1
    assert len(text.splitlines()) <= 40


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("p < 0.001 [1.0, 2.0]", "p < 0.001 [1.0, 2.0]"),
        ("a_b c&d=e", "a_b c&d=e"),
        ("_a_ *b* ~c~", "\\_a\\_ \\*b\\* \\~c\\~"),
        ("<i> &amp; &#60;", "&lt;i> &amp;amp; &amp;#\u200b60;"),
        ("[a](b) [c]: d", "\\[a\\](b) [c\\]: d"),
        ("@x #12 http://y www.z", "@\u200bx #\u200b12 http:\u200b//y www\u200b.z"),
    ],
)
def test_markdown_escapes_what_means_something(text: str, expected: str) -> None:
    assert escaped(text) == expected


def test_json_has_the_same_numbers(made: Report, call: Call, tmp_path: Path) -> None:
    write_rows(make_rows(), tmp_path / "rows.parquet")
    code, out, _ = call("report", tmp_path / "rows.parquet", "--format", "json")
    assert code == 0
    found = json.loads(out)
    assert found["score"] == "average score"
    first, rest = found["ranking"][0], found["ranking"][1:]
    ranked = made.results.ranking[0]
    assert (first["model"], first["rank"], first["score"]) == (ranked.model, [1, 1], pytest.approx(ranked.mean))
    assert first["effective_length"]["tokens"] == 32768
    assert rest[-1]["rank"] is rest[-1]["score"] is None
    assert found["drops"][0]["difference"] == pytest.approx(made.results.drops[0].difference)
    assert {one["length"] for one in found["scores"]} == set(made.results.lengths)
    assert any("no score on any task at 64k" in one for one in found["not_measured"])


# ------------------------------------------------------------------------------------------------------------ command


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs")
    built = fm.api.build("passkey,kv_retrieval", folder / "suite", lengths=["1k", "2k"], items=3, corpus="world")
    for model, name in (("fathom/lexical", "lexical"), ("fathom/guess", "guess run")):
        fm.api.run(built.folder, model, out=folder / name)
    return folder


def test_the_command_writes_markdown_where_people_expect_it(
    runs: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    sources = (runs / "lexical", runs / "guess run")
    code, printed, _ = call("report", *sources, "--format", "markdown")
    assert code == 0
    assert printed.startswith("### Long-context reliability\n")
    assert "Command: `fathom report lexical 'guess run'`" in printed  # no paths of this machine
    options = ("--seed", "3", "--unanswered", "drop", "--title", "Other")
    other = call("report", *sources, "--format", "markdown", *options)[1]
    assert "report lexical 'guess run' --seed 3 --unanswered drop`" in other
    assert other.startswith("### Other\n")
    assert re.search(r"Fingerprint of the suite: [0-9a-f]{16}\b", printed)
    assert list(tmp_path.iterdir()) == []
    assert call("report", *sources, "--format", "markdown", "--out", "-")[1] == printed
    assert call("report", *sources, "--out", "summary.md", "-q")[:2] == (0, "summary.md\n")
    assert Path("summary.md").read_text(encoding="utf-8") == printed
    page = call("report", *sources, "--out", "-")[1]
    assert page.startswith("<!DOCTYPE html>")
    tables = fm.api.report(list(sources), out=tmp_path / "page.html")
    assert tables.markdown() == printed
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page


def test_the_terminal_shows_the_summary_and_on_request_every_table(runs: Path, call: Call, tmp_path: Path) -> None:
    words = ("report", runs / "lexical", runs / "guess run", "--out", tmp_path / "report.html")
    short, long = call(*words)[1], call(*words, "--tables")[1]
    assert short.index("Not measured") < short.index("At a glance")
    assert "Effective context length" not in short
    assert "Effective context length" in long
    assert call(*words, "--quiet")[1] == f"{tmp_path / 'report.html'}\n"


# -------------------------------------------------------------------------------------------------------------- links


def links(text: str) -> list[str]:
    return re.findall(r'<a (?:class="replies" )?href="([^"#]+#[^"]*)"', text)


def test_every_score_leads_to_its_replies() -> None:
    asked: list[Replies] = []

    def link(replies: Replies) -> str:
        asked.append(replies)
        return f"to/index.html#{len(asked)}"

    made = measured(make_rows(models=2, tasks=3, items=4), link=link)
    text = made.html()
    wanted = {cell.replies for table in made for row in table.rows for cell in row if cell.replies}
    assert wanted <= set(asked)
    for system in made.results.systems:
        for task in made.results.tasks:
            for length in made.results.lengths:
                assert Replies(*system, task, length) in wanted
    cells = [cell for table in made if table.section == "scores" for row in table.rows for cell in row]
    assert all(cell.replies for cell in cells if cell.heat is not None)
    failed = {one.status for one in wanted}
    assert {"overflow", "incomplete", "error", ""} >= failed > {""}
    assert len(links(text)) == len(asked)
    assert "fathom browse RUN" not in text


def test_without_pages_of_replies_nothing_is_a_link_and_the_page_says_how(perfect: Report) -> None:
    assert links(perfect.html()) == []
    assert "<code>fathom browse RUN</code>" in perfect.html()


def test_the_command_writes_the_replies_beside_the_page(
    runs: Path, call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out = ("--out", "deep/report.html", "--replies", "all replies", "-q")
    code, _, err = call("report", runs / "lexical", runs / "guess run", *out)
    assert code == 0, err
    assert (tmp_path / "all replies" / "index.html").exists()
    found = links((tmp_path / "deep" / "report.html").read_text(encoding="utf-8"))
    assert {urlsplit(one).path for one in found} == {"../all%20replies/index.html"}
    filters = [parse_qs(urlsplit(one).fragment.replace("&amp;", "&")) for one in found]
    assert {"model": ["fathom/lexical"], "task": ["passkey"], "length": ["1024"]} in filters


def test_rows_files_have_replies_without_prompts(call: Call, tmp_path: Path) -> None:
    write_rows(make_rows(models=1, tasks=1, items=2), tmp_path / "rows.parquet")
    out = ("--out", tmp_path / "page.html", "--replies", tmp_path / "replies")
    assert call("report", tmp_path / "rows.parquet", *out)[0] == 0
    assert (tmp_path / "replies" / "index.html").exists()


def test_the_page_is_not_written_into_the_folder_of_replies(runs: Path, call: Call, tmp_path: Path) -> None:
    for out in ("replies/index.html", "replies/deep/page.html"):
        code, _, err = call("report", runs / "lexical", "--out", tmp_path / out, "--replies", tmp_path / "replies")
        assert code == 2
        assert "the folder is replaced, so write" in err
    assert list(tmp_path.iterdir()) == []


def test_tables_of_the_report_are_those_of_its_results(made: Report) -> None:
    assert tuple(made) == tables_of(made.results)
