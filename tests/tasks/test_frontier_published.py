from __future__ import annotations

from pathlib import Path

import pytest

from engine_calls import configure
from fathom import api
from fathom.benchmarks.aa_lcr.tasks import verdict_steps, verdict_value
from fathom.score.judge import Case
from fathom.suites.build import build
from fathom.suites.registry import get_suite
from fathom.suites.suitefile import open_suite
from fathom.tokens.length import render
from made_frontier import write_frontier

# Suites with published records, and how many samples four records of each of their data sets make.
SUITES = {"mrcr": 16, "graphwalks": 8, "babilong": 80, "aa_lcr": 4}


@pytest.mark.slow
@pytest.mark.parametrize("name", SUITES)
def test_records_in_the_published_form_load_build_run_and_report(tmp_path: Path, name: str) -> None:
    data = write_frontier(tmp_path / "data")
    tasks = [task for task in get_suite(name).tasks if "published" in task or task == "aa_lcr"]
    suite = build(configure(",".join(tasks), data=[str(data)], lengths=(1024, 2048)), tmp_path / "suite").folder
    assert len(list(open_suite(suite).samples())) == SUITES[name]
    api.run(suite, "fathom/guess", out=tmp_path / "run")
    rows = api.rows(tmp_path / "run")
    assert len(rows) == SUITES[name]
    if name != "aa_lcr":
        assert api.rows(tmp_path / "run", rule="official")["value"].null_count() == 0
    api.report(tmp_path / "run", out=tmp_path / "report.html")
    assert (tmp_path / "report.html").is_file()


def test_a_conversation_keeps_its_messages_in_their_order(tmp_path: Path) -> None:
    data = write_frontier(tmp_path / "data")
    suite = open_suite(
        build(configure("mrcr_published_2", data=[str(data)], lengths=(1024,)), tmp_path / "suite").folder
    )
    sample = next(suite.samples())
    assert render(sample, suite.texts()).startswith("User:\nWrite a verse about tapirs.\n\nAssistant:\nVerse 0")
    assert sample.facets["form"] == "one message"


def test_the_documents_of_a_question_are_found_in_the_archive_beside_the_table(tmp_path: Path) -> None:
    data = write_frontier(tmp_path / "data")
    suite = open_suite(build(configure("aa_lcr", data=[str(data)], lengths=(4096,)), tmp_path / "suite").folder)
    sample = next(suite.samples())
    prompt = render(sample, suite.texts())
    assert prompt.count("On page 0 of volume 0") == 2
    assert sample.targets == ("Keeper 0 of all",)


def test_a_verdict_is_one_request_and_an_empty_reply_needs_none() -> None:
    asking = verdict_steps(Case("Who kept 0?", "Keeper 0", ("Keeper 0 of all",)))
    request = next(asking)
    assert "Keeper 0 of all" in request.prompt
    with pytest.raises(StopIteration) as end:
        asking.send('{"correct": 1}')
    assert [verdict_value(end.value.value, rule) for rule in ("official", "strict")] == [1, 1]
    with pytest.raises(StopIteration) as end:
        next(verdict_steps(Case("Who kept 0?", " ", ("Keeper",))))
    assert verdict_value(end.value.value, "strict") == 0
