"""A model's card: measured rows with how they came about, printed rows, and whether these are reproduced."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest

from command_line import Call
from fathom import api
from fathom.analysis.card import CardRow, How, check_printed, read_printed, with_both_rules
from fathom.analysis.grid import ALL
from fathom.stats.intervals import Interval
from fathom.types import FathomError

MAKER = {"date": "2026-11", "source": "The maker's page"}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("card")
    api.build("passkey", folder / "suite", lengths=[1024, 2048], items=5, languages=["en"])
    api.run(folder / "suite", "fathom/lexical", folder / "run")
    return folder / "run"


def written(path: Path, *rows: dict[str, str]) -> Path:
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as stream:
        lines = csv.DictWriter(stream, names, restval="")
        lines.writeheader()
        lines.writerows(rows)
    return path


def row(score: float | None, n: int | None = 100, interval: Interval | None = None, **more: object) -> CardRow:
    how = How(scorer=str(more.get("scorer", "")))
    return CardRow("measured" if interval else "printed", "MRCR v2", ALL, 8192, score, interval, n, how=how)


def test_a_row_says_how_its_score_came_about(run: Path) -> None:
    made = api.card("fathom/lexical", [run])
    first = made.card.rows[0]
    assert (first.benchmark, first.length, first.n, first.score, first.cost) == ("passkey", 1024, 5, 1.0, 0.0)
    assert first.interval is not None
    manifest = json.loads((run / "run.json").read_text("utf-8"))
    assert first.how.version == f"suite {manifest['suite']['fingerprint'][:8]}"
    assert first.how.date == manifest["started"][:10]
    assert (first.how.prompt, first.how.source) == ("own", "run")
    assert "rule strict" in first.how.scorer


def test_a_measured_row_names_the_released_rule_that_scored_it(tmp_path: Path) -> None:
    api.build("kv_retrieval", tmp_path / "suite", lengths=[1024], items=2, languages=["en"])
    api.run(tmp_path / "suite", "fathom/lexical", tmp_path / "run")
    (made,) = api.card("fathom/lexical", [tmp_path / "run"]).card.rows
    assert made.how.scorer.endswith("rule strict and official")
    assert made.how.port == "hundred/last_uuid"


@pytest.mark.slow
def test_every_format_has_the_same_scores(run: Path, tmp_path: Path) -> None:
    printed = written(
        tmp_path / "p.csv",
        {"model": "fathom/lexical", "benchmark": "passkey", "task": "passkey", "length": "1k", "value": "90", **MAKER},
    )
    for suffix, word in ((".html", "90.0"), (".md", "90.0"), (".json", "0.9"), (".txt", "90.0")):
        out = tmp_path / f"card{suffix}"
        made = api.card("fathom/lexical", [run], out, printed=[printed])
        text = out.read_text("utf-8")
        assert made.sentence.split(";")[0] in text
        assert word in text
        assert "2026-11" in text


@pytest.mark.slow
def test_a_card_of_printed_scores_alone_names_their_source_and_date() -> None:
    made = api.card("GPT-5")
    assert {card_row.benchmark for card_row in made.card.rows} == {"aa-lcr", "graphwalks", "mrcr", "pro"}
    assert all(card_row.how.source and card_row.how.date for card_row in made.card.rows)
    assert not [check for check in made.card.checks if check.measured]


def test_a_printed_row_is_reproduced_within_one_standard_error_of_the_difference() -> None:
    # By plain arithmetic: standard errors .04 (of 100 questions at .8) and .03 are together .05.
    half = 0.03 * 1.959963984540054
    for score, wanted in ((0.849, True), (0.751, True), (0.851, False), (0.749, False)):
        own = row(score, interval=Interval(score - half, score + half))
        (check,) = check_printed([row(0.8)], [own])
        assert check.reproduced is wanted
        assert check.errors == pytest.approx(abs(score - 0.8) / math.hypot(0.04, 0.03))


def test_without_a_number_of_questions_the_error_is_that_of_the_measured_score() -> None:
    own = row(0.84, interval=Interval(0.84 - 0.0588, 0.84 + 0.0588))
    (check,) = check_printed([row(0.8, n=None)], [own])
    assert check.errors == pytest.approx(0.04 / 0.03, rel=1e-3)


def test_other_benchmarks_tasks_and_lengths_are_not_compared() -> None:
    own = row(0.8, interval=Interval(0.7, 0.9))
    others = [
        CardRow("printed", "MRCR v1", ALL, 8192, 0.8, None, 100),
        CardRow("printed", "MRCR v2", "two_needles", 8192, 0.8, None, 100),
        CardRow("printed", "MRCR v2", ALL, 4096, 0.8, None, 100),
    ]
    assert [check.measured for check in check_printed(others, [own])] == [None] * 3
    (check,) = check_printed([CardRow("printed", "mrcr-V2", ALL, None, 0.8, None, 100)], [own])
    assert check.measured is own


def test_the_official_rule_is_what_printed_scores_are_checked_with() -> None:
    strict = row(0.5, interval=Interval(0.4, 0.6), scorer="ratio, rule strict")
    official = row(0.8, interval=Interval(0.7, 0.9), scorer="ratio, rule official")
    assert with_both_rules([strict], [official]) == [strict, official]
    (check,) = check_printed([row(0.8)], with_both_rules([strict], [official]))
    assert check.measured is official


def test_equal_scores_under_both_rules_are_one_row() -> None:
    strict = row(0.5, interval=Interval(0.4, 0.6), scorer="ratio, rule strict")
    (only,) = with_both_rules([strict], [row(0.5, interval=Interval(0.4, 0.6), scorer="ratio, rule official")])
    assert only.how.scorer == "ratio, rule strict and official"
    lacking = row(None, interval=Interval(0.0, 1.0), scorer="ratio, rule official")
    assert with_both_rules([strict], [lacking]) == [strict]


@pytest.mark.slow
def test_check_fails_if_a_printed_score_is_not_reproduced(run: Path, tmp_path: Path, call: Call) -> None:
    own = {"model": "fathom/lexical", "benchmark": "passkey", "task": "passkey", "length": "1k", **MAKER}
    for value, code in (("100", 0), ("10", 1)):
        printed = written(tmp_path / f"{value}.csv", {**own, "value": value, "n": "500"})
        assert call("card", "fathom/lexical", run, "--printed", printed, "--check")[0] == code
        assert call("card", "fathom/lexical", run, "--printed", printed)[0] == 0


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"value": "-1"}, "value = '-1', expected percent"),
        ({"value": "nan"}, "value = 'nan', expected percent"),
        ({"value": "50", "date": "last year"}, "date = 'last year'"),
        ({"value": "50", "source": ""}, "source is empty"),
        ({"value": "50", "n": "0"}, "n = '0'"),
        ({"value": "50", "length": "eight"}, "length = 'eight'"),
        ({"value": "50", "url": "javascript:alert(1)"}, "url = 'javascript:alert(1)'"),
        ({"value": "50", "score": "1"}, "unexpected column 'score'"),
    ],
)
def test_a_wrong_field_of_a_printed_row_is_named(tmp_path: Path, fields: dict[str, str], words: str) -> None:
    path = written(tmp_path / "p.csv", {"model": "m", "benchmark": "ruler", **MAKER, **fields})
    with pytest.raises(FathomError) as raised:
        read_printed(path)
    assert words in str(raised.value)
    assert str(path) in str(raised.value)


def test_texts_of_printed_rows_are_data_on_the_page(run: Path, tmp_path: Path) -> None:
    printed = written(
        tmp_path / "p.csv",
        {"model": "fathom/lexical", "benchmark": "<script>alert(1)</script>", "value": "50", **MAKER},
    )
    page = tmp_path / "card.html"
    api.card("fathom/lexical", [run], page, printed=[printed])
    assert "<script>alert(1)" not in page.read_text("utf-8").split("application/json")[0]


def test_an_unknown_model_is_an_error_that_names_those_that_ran(run: Path) -> None:
    with pytest.raises(FathomError, match="fathom/lexical"):
        api.card("fathom/lexicl", [run])
    with pytest.raises(FathomError, match="no board has a printed score"):
        api.card("nobody/nothing")


@pytest.mark.slow
def test_scores_stand_beside_those_without_faulty_items(run: Path, tmp_path: Path) -> None:
    rows = api.rows(run)
    item = rows.filter(length=1024)["item"][0]
    errata = tmp_path / "faulty.csv"
    errata.write_text(f"task,item,target,rule,fault,reason,source,date\npasskey,{item},*,,wrong,two keys,me,2026\n")
    first = api.card("fathom/lexical", [run], errata=[errata]).card.rows[0]
    assert (first.faulty, first.without, first.n) == (1, 1.0, 5)
    assert "without 1 faulty" in api.card("fathom/lexical", [run], errata=[errata]).markdown()
    assert api.card("fathom/lexical", [run]).card.rows[0].without is None


def test_scores_printed_before_a_benchmark_changed_are_stale_and_say_what_changed(tmp_path: Path) -> None:
    printed = written(
        tmp_path / "p.csv",
        *(
            {"model": "m", "benchmark": name, "value": "60", "source": "page", "date": date}
            for name, date in (
                ("OpenAI MRCR v2", "2025-11"),
                ("OpenAI MRCR v2", "2025-12-06"),
                ("Google MRCR v2", "2025-11"),
                ("AA-LCR", "2026-08"),
                ("RULER", "2025-09"),
                ("RULER", "2026-07-01"),
                ("Graphwalks", "2026-02-26"),
            )
        ),
    )
    made = api.card("m", printed=[printed])
    stale = [row.how.stale for row in made.card.rows]
    assert ["before 2025-12-05" in stale[0], "16 of 100" in stale[3], "prefix" in stale[5]] == [True] * 3
    assert [bool(text) for text in stale] == [True, False, False, True, False, True, True]
    assert "4 of them are stale" in made.sentence
    assert "stale: before 2025-12-05" in made.markdown()


def test_results_of_other_programs_are_rows_that_name_the_program(tmp_path: Path) -> None:
    line = {"target": "7", "resps": [["7"]], "filtered_resps": ["7"], "filter": "none", "exact_match": 1.0}
    folder = tmp_path / "results"
    folder.mkdir()
    lines = "".join(json.dumps({**line, "doc_id": number, "doc": {"q": number}}) + "\n" for number in range(4))
    (folder / "samples_gsm_2026-01-02T03-04-05.000000.jsonl").write_text(lines)
    name = api.rows(folder)["model"][0]
    (row,) = api.card(name, [folder]).card.rows[:1]
    assert (row.how.port, row.n) == ("lm-evaluation-harness", 4)
    assert row.how.source.startswith("samples_gsm")
