"""The pages of progress and quality: the same numbers as the command, audits, ratings, and what nobody may see."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from fastapi import FastAPI

from command_line import Call
from fathom.studio.auditing import audit
from fathom.studio.people import People
from fathom.studio.policies import POLICIES
from fathom.studio.quality import DIMENSIONS, table
from fathom.studio.quotas import Design
from fathom.studio.states import RATING, RefusedError
from fathom.studio.store import Store
from fathom.studio.types import AddPredictions, Note, Prediction, Sample, SetDifficulty
from fathom.studio.web.app import make_app
from fathom.studio.web.visit import Settings
from studio_browser import Browser
from studio_stores import OPERATOR, PASSWORD, PEOPLE, person, quick_hasher, review, to_answer_review, usual_place

DESIGN = Design(("qa", "own"), ("en",), (8192, 16384), 2, audit_one_in=1, rate_one_in=1, raters=2, hourly=60)
LEVELS = dict.fromkeys(DIMENSIONS, "yes")


place = pytest.fixture(usual_place)


@pytest.fixture
def people(studio: Store) -> People:
    found = People(studio, hasher=quick_hasher())
    for name in PEOPLE:
        found.set_password(name, PASSWORD)
    return found


@pytest.fixture
def app(studio: Store, people: People) -> Any:
    return make_app(studio, people, Settings(design=DESIGN))


@pytest.fixture
def browser(app: FastAPI) -> Callable[[str], Browser]:
    return lambda name: Browser(app).log_in(name)


def accepted(store: Store, id: str = "s-1") -> Sample:
    now = to_answer_review(store, id)
    store.act(review(now), person("bo"))
    return store.act(review(now), person("cy"))


@pytest.mark.slow
def test_progress_is_shown_to_everybody(browser: Any, studio: Store) -> None:
    empty = browser("ray").page("/progress")
    assert "No answer has two reviews yet" in empty
    accepted(studio)
    now = to_answer_review(studio, "s-2")
    studio.act(review(now, good=False), person("bo"))
    page = browser("ray").page("/progress")
    assert "1 <small>of 8</small>" in page
    assert '<th scope="row">qa</th><td class="number shade-2">1 <small>+1</small></td>' in page
    assert "No document is available in: en 8k, en 16k" in page
    assert "60.00" not in page.partition("Time and cost")[0]
    assert ">reviews: pass or problem</th><td" in page
    one_pair = page.partition("reviews: pass or problem")[2]
    assert one_pair.startswith('</th><td class="number">1</td>'), "the review of s-2 is not decided"
    assert "waiting for an audit: 1" in page
    assert "to_audit" not in page
    assert "/?state=to_audit" in browser("ed").page("/progress")
    assert '<th scope="row">qa</th><td class="number shade-1">1</td>' in browser("ray").page(
        "/progress?state=answer_review"
    )
    for odd in ("?state=x", "?hourly=x", "?hourly=-1", "?hourly=nan", "?hourly=inf"):
        assert "People, $" in browser("ray").page(f"/progress{odd}")
    assert "People, $" not in browser("ray").page("/progress?hourly=0")


def test_documents_that_are_there_are_proposed(browser: Any, studio: Store) -> None:
    from fathom.studio.types import ReviewDocument
    from studio_stores import DOCUMENT, OPERATOR

    studio.review_document(ReviewDocument(DOCUMENT, "available"), OPERATOR)
    page = browser("ray").page("/progress")
    words = re.sub(r"<[^>]+>", "", page)
    assert "fathom studio draft --task own --language en --bucket 8k --samples 2 --models MODELS" in words
    assert "No document is available in: en 16k." in page


def test_the_page_says_which_audits_nobody_here_can_do(browser: Any, studio: Store, people: People) -> None:
    for name in ("eve", "ed"):
        people.change(name, active=False)
    now = to_answer_review(studio, expert="ada")
    for name in ("bo", "ada"):
        studio.act(review(now), person(name))
    assert "waiting for an audit: 1, 1 of which nobody here can audit" in browser("ann").page("/progress")
    people.change("eve", active=True)
    assert "nobody here can audit" not in browser("ann").page("/progress")


def test_with_two_people_no_audit_is_drawn_and_the_policy_says_so(browser: Any, studio: Store) -> None:
    studio.set_policy("two")
    studio.act(review(to_answer_review(studio)), person("eve"))
    studio.set_policy("three")
    studio.act(review(to_answer_review(studio, "s-2")), person("bo"))
    page = browser("ann").page("/progress")
    assert "is drawn: 1 so far" in page, "the second one, whose policy has audits"
    assert "none is drawn" not in page
    studio.set_policy("two")
    assert "none is drawn, because both have worked on each sample" in browser("ann").page("/progress")
    assert "no sample is drawn for an audit" in POLICIES["two"].words
    assert [row["waiting"] for row in table(studio, "audit", DESIGN)] == [1]


@pytest.mark.slow
def test_the_queue_of_audits(browser: Any, studio: Store) -> None:
    accepted(studio)
    for name, there in (("ed", True), ("ada", True), ("eve", True)):
        assert ("/samples/s-1" in browser(name).page("/?state=to_audit")) == there, name
    assert "to audit" not in browser("ann").page("/")
    assert "for you" in browser("ann").page("/?state=to_audit")
    now = to_answer_review(studio, "s-2")
    studio.act(review(now), person("eve"))
    studio.act(review(now), person("ed"))
    assert "/samples/s-2" not in browser("ed").page("/?state=to_audit")
    assert "/samples/s-2" in browser("ada").page("/?state=to_audit&task=qa")
    assert "/samples/s-2" not in browser("ada").page("/?state=to_audit&task=own")
    ed = browser("ed")
    rate(ed, "s-1")
    assert ed.send("/samples/s-1", "/samples/s-1/audit", verdict="problem", wrong="answer").status_code == 409
    answer = ed.send("/samples/s-1", "/samples/s-1/audit", verdict="problem", wrong="answer", reason="It was Bo.")
    assert answer.status_code == 303
    assert "/samples/s-1" not in ed.page("/?state=to_audit")
    assert "waiting for an adjudication: 1" in ed.page("/progress")
    ada = browser("ada")
    ada.send("/samples/s-1", "/samples/s-1/adjudicate", decision="reconstruct", reason="Yes.")
    page = ada.page("/progress")
    assert '<th scope="row">answers</th><td class="number">0 of 1</td>' in page
    assert '<th scope="row">attributes</th><td class="number">1 of 1</td>' in page
    assert audit(studio).problems == ()


def rate(one: Browser, id: str, **levels: str) -> Any:
    return one.send(f"/quality/{id}", f"/quality/{id}", **(LEVELS | levels))


@pytest.mark.slow
def test_ratings_are_blind(browser: Any, studio: Store) -> None:
    now = accepted(studio)
    answer = Prediction("lab/closed", ("Ida", "at six"), closed_book=True, score=1.0)
    studio.act(AddPredictions("s-1", now.version, (answer,)), OPERATOR)
    studio.act(SetDifficulty("s-1", now.version, "Extreme"), OPERATOR)
    ed, ada, ray = browser("ed"), browser("ada"), browser("ray")
    origin = ("selected by ann", "model/a", "bo: ", ">selected a draft<", ">bo<", "answers it without", "Extreme")
    seen = ray.page("/samples/s-1") + ray.page("/samples/s-1/history")
    assert "selected by ann" in seen
    assert ">selected a draft<" in seen
    assert "<td>ann</td>" in ray.page("/?state=accepted")
    assert '<th scope="row">by models</th>' in ray.page("/quality")
    assert "tokens, English" in ed.page("/quality/s-1")
    pages = ("/quality/s-1", "/samples/s-1", "/samples/s-1/history", "/?state=accepted", "/?state=to_audit", "/quality")
    for path in pages:
        page = ed.page(path)
        assert [words for words in (*origin, "<td>ann</td>", "by models</th>") if words in page] == [], path
    assert rate(ed, "s-1", difficulty="no").headers["location"] == "/quality?done=rate"
    assert "selected by ann" in ed.page("/samples/s-1")
    assert "answers it without" in ed.page("/samples/s-1"), "who audits sees it"
    assert ">selected a draft<" in ed.page("/samples/s-1/history")
    for one in (ed, ada, ray):
        page = one.page("/quality")
        assert "No sample has all its ratings yet" in page
        assert "is hard enough" not in page
    assert "no" not in ada.forms("/quality/s-1")["/quality/s-1"].values()
    assert rate(ada, "s-1").status_code == 303
    page = ray.page("/quality")
    assert "is hard enough" in page
    assert "0.500" in page
    (first, second) = studio.notes(topic=RATING)
    assert (first.person, second.person) == ("ed", "ada")
    assert json.loads(first.note.body) == LEVELS | {"difficulty": "no"}
    assert audit(studio).problems == ()


def test_who_may_not_rate(browser: Any, studio: Store) -> None:
    accepted(studio)
    to_answer_review(studio, "s-2")
    eve, ann, ed = browser("eve"), browser("ann"), browser("ed")
    assert "Nothing waits for your rating" in eve.page("/quality"), "eve passed it before"
    for one, id, status in ((eve, "s-1", 409), (ann, "s-1", 403), (ed, "s-2", 409), (ed, "none", 404)):
        assert one.client.get(f"/quality/{id}").status_code == status
        assert one.post(f"/quality/{id}", version="6", **LEVELS).status_code == status
    assert rate(ed, "s-1").status_code == 303
    assert ed.client.get("/quality/s-1").status_code == 409
    assert ed.post("/quality/s-1", version="6", **LEVELS).status_code == 409
    assert len(studio.notes(topic=RATING)) == 1
    with pytest.raises(RefusedError, match="needs the role expert"):
        studio.note(Note(RATING, "s-1", json.dumps(LEVELS)), person("ann"))


def test_an_incomplete_or_outdated_rating_is_asked_again(browser: Any, studio: Store) -> None:
    accepted(studio)
    ed = browser("ed")
    answer = rate(ed, "s-1", task="maybe")
    assert answer.status_code == 400
    assert "for every question" in answer.text
    assert 'name="difficulty" value="yes" required checked' in answer.text
    answer = rate(ed, "s-1", version="1")
    assert answer.status_code == 409
    assert "look again" in answer.text
    assert studio.notes(topic=RATING) == []


def test_the_next_sample_to_rate_follows(browser: Any, studio: Store) -> None:
    for number in range(3):
        accepted(studio, f"s-{number}")
    ed = browser("ed")
    assert "3 wait for you" in ed.page("/quality")
    assert rate(ed, "s-1").headers["location"] == "/quality/s-0?done=rate"


def test_the_history_has_time_and_cost_of_decided_states(browser: Any, studio: Store) -> None:
    now = to_answer_review(studio)
    studio.act(review(now, seconds=3600), person("bo"))
    page = browser("ray").page("/samples/s-1/history")
    assert "Time and cost" in page
    assert "answer review</th>" not in page
    studio.act(review(now), person("cy"))
    assert "answer review</th>" in browser("ray").page("/samples/s-1/history")


@pytest.mark.slow
def test_tables_of_the_command(browser: Any, call: Call, studio: Store, place: str, tmp_path: Any) -> None:
    accepted(studio)
    for name in ("ed", "ada"):
        rate(browser(name), "s-1", task="partly" if name == "ed" else "yes")
    file = tmp_path / "design.toml"
    file.write_text(
        'tasks = ["T3.2"]\nlanguages = ["en"]\nlengths = ["8k"]\naudit_one_in = 1\nrate_one_in = 1\nraters = 2\n'
    )

    def table(by: str) -> list[dict[str, Any]]:
        code, out, err = call("studio", "stats", "--store", place, "--by", by, "--design", str(file), "--json")
        assert code == 0, err
        found: list[dict[str, Any]] = json.loads(out)
        assert call("studio", "stats", "--store", place, "--by", by, "--design", str(file))[0] == 0
        return found

    wanted, own = table("quota")
    assert (wanted["task"], wanted["missing"]) == ("T3.2 Single-Hop Fact QA", 5)
    assert (own["task"], own["wanted"], own["done"]) == ("qa", 0, 1)
    assert [(one["judged"], one["pairs"], one["differ"]) for one in table("agreement")] == [
        ("review", 1, 0.0), ("component", 2, 0.0)
    ]  # fmt: skip
    assert (table("audit")[0]["drawn"], table("audit")[0]["share"]) == (1, None)
    ratings = {(one["origin"], one["dimension"]): one["mean"] for one in table("quality")}
    assert (ratings["all", "task"], ratings["models", "task"], ratings["all", "correctness"]) == (0.75, 0.75, 1)
    assert table("origin")[0]["minutes"] == pytest.approx((60 + 120 + 5 + 60) / 60, abs=0.001)
    assert table("task")[0]["group"] == "qa"
