"""People share the work: assignments, who has a sample open, comments, and the filters of the queue."""

from __future__ import annotations

import re
from typing import Any

import pytest

from fathom.studio.assignments import OPEN_SECONDS, assign, assigned_to, at_work, keep_open, release
from fathom.studio.auditing import audit
from fathom.studio.comments import comment
from fathom.studio.lists import ListQuery
from fathom.studio.people import People
from fathom.studio.states import RefusedError
from fathom.studio.store import Store
from fathom.studio.types import ExpertPass, Select, SubmitForReview
from fathom.studio.web.app import make_app
from studio_browser import Browser
from studio_stores import IN_BOTH, PASSWORD, PEOPLE, create, person, quick_hasher, review, to_answer_review, usual_place

place = pytest.fixture(usual_place)


@pytest.fixture
def browser(studio: Store) -> Any:
    people = People(studio, hasher=quick_hasher())
    for name in PEOPLE:
        people.set_password(name, PASSWORD)
    app = make_app(studio, people)
    return lambda name: Browser(app).log_in(name)


def rows(page: str) -> list[str]:
    return re.findall(r'<tr>\s*<td><a href="/samples/([^"]+)"', page)


@IN_BOTH
def test_an_assignment_ends_with_the_step(studio: Store) -> None:
    sample = create(studio)
    assign(studio, sample, "bo", person("bo"))
    assert at_work(studio, ["s-1"])["s-1"].assigned == ("bo",)
    assign(studio, sample, "ann", person("eve"))
    assert (assigned_to(studio, "ann"), assigned_to(studio, "bo")) == (["s-1"], [])
    studio.act(Select("s-1", sample.version, "c1"), person("ann"))
    assert assigned_to(studio, "ann") == []
    assert audit(studio).problems == ()


@IN_BOTH
def test_only_who_can_do_the_step_gets_it_assigned(studio: Store) -> None:
    sample = create(studio)
    with pytest.raises(RefusedError, match="needs the role expert"):
        assign(studio, sample, "bo", person("ann"))
    with pytest.raises(RefusedError, match="ray cannot do what comes next"):
        assign(studio, sample, "ray", person("eve"))
    with pytest.raises(RefusedError, match="needs the role annotator"):
        assign(studio, sample, "ray", person("ray"))
    studio.act(Select("s-1", 1, "c1"), person("ann"))
    now = studio.act(SubmitForReview("s-1", 2), person("ann"))
    with pytest.raises(RefusedError, match="bo cannot do"):
        assign(studio, now, "bo", person("bo"))
    assign(studio, now, "ed", person("eve"))
    with pytest.raises(RefusedError, match="needs the role expert"):
        release(studio, now, "ed", person("ann"))
    release(studio, now, "ed", person("ed"))
    assert at_work(studio, ["s-1"])["s-1"].assigned == ()


@IN_BOTH
def test_nobody_learns_from_assignments_who_reviews(studio: Store, browser: Any) -> None:
    sample = to_answer_review(studio)
    with pytest.raises(RefusedError, match="needs the role administrator"):
        assign(studio, sample, "bo", person("eve"))
    for name in ("bo", "cy"):
        assign(studio, sample, name, person("ada"))
    assert at_work(studio, ["s-1"])["s-1"].assigned == ("bo", "cy")
    eve, bo = browser("eve"), browser("bo")
    assert "Assigned to somebody, somebody." in eve.page("/samples/s-1")
    assert "Assigned to you." in bo.page("/samples/s-1")
    assert "somebody; somebody" in eve.page("/")
    for name in ("bo", "ed"):
        with pytest.raises(RefusedError, match="needs the role administrator"):
            release(studio, sample, name, person("eve"))
    studio.act(review(sample), person("bo"))
    assert assigned_to(studio, "bo") == []
    assert "Assigned to you." not in bo.page("/samples/s-1")
    assert "Assigned to somebody, somebody." in eve.page("/samples/s-1"), "its end would tell who has reviewed"
    assign(studio, sample, "bo", person("ada"))  # is not refused: that would tell who has reviewed
    now = studio.act(review(sample, good=False), person("cy"))
    assert now.state == "adjudication"
    with pytest.raises(RefusedError, match="names are hidden now"):
        release(studio, now, "ed", person("ada"))


@IN_BOTH
def test_a_page_says_who_has_it_open_until_it_is_closed(studio: Store, browser: Any) -> None:
    create(studio)
    ann, bo = browser("ann"), browser("bo")
    assert bo.post("/samples/s-1/open").json() == {"open": []}
    assert ann.post("/samples/s-1/open").json() == {"open": ["bo"]}
    assert "bo has this open." in ann.page("/samples/s-1")
    assert "bo has it open" in ann.page("/")
    keep_open(studio, "s-1", "bo", lambda: 1000.0)
    assert at_work(studio, ["s-1"], lambda: 1000.0 + OPEN_SECONDS)["s-1"].open[-1] == "bo"
    assert "bo" not in at_work(studio, ["s-1"], lambda: 1001.0 + OPEN_SECONDS)["s-1"].open
    to_answer_review(studio, "s-2")
    bo.post("/samples/s-2/open")
    assert ann.post("/samples/s-2/open").json() == {"open": ["Somebody else"]}
    assert bo.post("/samples/nothing/open").status_code == 404
    assert browser("ray").post("/samples/s-1/open").status_code == 403


@IN_BOTH
def test_comments_are_blind_while_the_answer_is_reviewed(studio: Store, browser: Any) -> None:
    sample = to_answer_review(studio)
    comment(studio, sample, "I doubt the lamp.", person("bo"))
    ann, bo, eve = browser("ann"), browser("bo"), browser("eve")
    assert "I doubt the lamp." in bo.page("/samples/s-1")
    for other in (ann, eve, browser("ada")):
        assert "I doubt the lamp." not in other.page("/samples/s-1")
    studio.act(review(sample), person("bo"))
    studio.act(review(sample, good=False), person("cy"))
    page = eve.page("/samples/s-1")
    assert "I doubt the lamp." in page
    assert not re.search(r"<strong>bo</strong>", page)
    assert eve.send("/samples/s-1", "/samples/s-1/comments", comment="I see.").status_code == 303
    assert bo.send("/samples/s-1", "/samples/s-1/comments", comment=" ").status_code == 409
    assert "commented" in eve.page("/samples/s-1/history")
    assert audit(studio).problems == ()


@IN_BOTH
def test_the_queue_is_searched_and_filtered(studio: Store, browser: Any) -> None:
    for id in ("s-1", "s-2", "s-3"):
        create(studio, id)
    studio.act(Select("s-2", 1, "c1"), person("ann"))
    assert {one.id for one in studio.matches(ListQuery(words="LAMP who"))} == {"s-1", "s-2", "s-3"}
    assert [one.id for one in studio.matches(ListQuery(words="s-3"))] == ["s-3"]
    assert studio.matches(ListQuery(words="100%")) == []
    bo = browser("bo")
    assert set(rows(bo.page("/?words=lamp&task=qa&language=en&bucket=8192"))) == {"s-1", "s-2", "s-3"}
    assert "No sample is like that." in bo.page("/?words=boat")
    bo.send("/samples/s-3", "/samples/s-3/assigned", what="assign")
    assert rows(bo.page("/"))[0] == "s-3"
    assert rows(bo.page("/?assigned=me")) == ["s-3"]
    assert rows(browser("ann").page("/"))[-1] == "s-3", "what others have comes last"


@IN_BOTH
def test_assigned_samples_come_first_and_every_sample_is_on_one_page(
    studio: Store, browser: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [f"s-{number}" for number in range(1, 6)]
    for id in ids:
        create(studio, id)
    for id in ("s-4", "s-5"):
        assign(studio, studio.sample(id), "bo", person("bo"))
    monkeypatch.setattr("fathom.studio.web.samples.SHOWN", 3)
    bo = browser("bo")
    assert rows(bo.page("/")) == ["s-4", "s-5", "s-1"]
    assert rows(bo.page("/?offset=3")) == ["s-2", "s-3"]


@IN_BOTH
def test_what_waits_for_an_expert_is_named_for_an_expert(studio: Store, browser: Any) -> None:
    create(studio)
    studio.act(Select("s-1", 1, "c1"), person("ann"))
    studio.act(SubmitForReview("s-1", 2), person("ann"))
    ann = browser("ann")
    assert rows(ann.page("/?state=for_expert")) == ["s-1"]
    assert "Expert: pass or return" in ann.page("/?state=for_expert")
    assert "Waits for an expert: ada or ed or eve." in ann.page("/samples/s-1")
    studio.act(ExpertPass("s-1", 3), person("eve"))
    assert rows(ann.page("/?state=for_expert")) == []
