"""A page reads one state of the store over one connection."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import event, update

from fathom.server.database import StoreError
from fathom.studio.assignments import assign, assigned_to
from fathom.studio.people import People
from fathom.studio.schema import sessions
from fathom.studio.store import MissingError, Store
from fathom.studio.types import Person, Select, SubmitForReview
from fathom.studio.web.app import make_app
from studio_browser import Browser
from studio_stores import IN_BOTH, PASSWORD, PEOPLE, create, person, quick_hasher, review, to_answer_review, usual_place

place = pytest.fixture(usual_place)


@pytest.fixture
def ann(studio: Store) -> Browser:
    people = People(studio, hasher=quick_hasher())
    for name in PEOPLE:
        people.set_password(name, PASSWORD)
    return Browser(make_app(studio, people)).log_in("ann")


def held(store: Store) -> list[int]:
    """How many connections are in use after each that is taken or given back from now on."""
    counts = [0]
    event.listen(store.engine, "checkout", lambda *_: counts.append(counts[-1] + 1))
    event.listen(store.engine, "checkin", lambda *_: counts.append(counts[-1] - 1))
    return counts


@IN_BOTH
def test_what_others_do_meanwhile_is_seen_after_the_state(studio: Store) -> None:
    create(studio)
    with studio.one_state(), ThreadPoolExecutor(1) as others:
        before = (studio.counts(), studio.sample("s-1").state, studio.head())
        others.submit(studio.act, Select("s-1", 1, "c1"), person("ann")).result()
        assert (studio.counts(), studio.sample("s-1").state, studio.head()) == before
        assert others.submit(studio.counts).result() == {"selected": 1}
        studio.leave_state()
        assert studio.counts() == {"selected": 1}
        others.submit(studio.act, SubmitForReview("s-1", 2), person("ann")).result()
        assert studio.counts() == {"selected": 1}
    assert studio.counts() == {"expert_review": 1}


@IN_BOTH
def test_an_error_ends_the_state(studio: Store) -> None:
    with pytest.raises(MissingError), studio.one_state():
        studio.sample("s-1")
    assert studio.pool()["used"] == 0
    create(studio)
    assert studio.counts() == {"drafted": 1}


@IN_BOTH
def test_a_failed_query_in_a_state_is_a_clear_error_and_the_next_state_works(studio: Store) -> None:
    with pytest.raises(StoreError, match="database error"), studio.one_state(), studio.reader() as connection:
        connection.exec_driver_sql("SELECT nothing FROM nowhere")
    with studio.one_state():
        assert studio.counts() == {}


@IN_BOTH
@pytest.mark.parametrize("path", ["/", "/?state=drafted", "/?assigned=me", "/samples/s-1", "/samples/s-1/history"])
def test_a_page_takes_one_connection_once(studio: Store, ann: Browser, path: str) -> None:
    create(studio)
    assign(studio, studio.sample("s-1"), "ann", person("ann"))
    counts = held(studio)
    assert 'href="/samples/s-1"' in ann.page(path) or path == "/samples/s-1"
    assert counts == [0, 1, 0]


@IN_BOTH
def test_a_request_that_notes_the_time_of_its_session_never_holds_two_connections(studio: Store, ann: Browser) -> None:
    create(studio)
    with studio.engine.begin() as connection:
        connection.execute(update(sessions).values(used=sessions.c.used - 100))
    counts = held(studio)
    assert "Who lit the lamp?" in ann.page("/?state=drafted")
    assert counts == [0, 1, 0, 1, 0, 1, 0]


@IN_BOTH
def test_a_page_without_a_login_needs_no_connection(studio: Store) -> None:
    browser = Browser(make_app(studio, People(studio, hasher=quick_hasher())))
    counts = held(studio)
    assert "Password" in browser.page("/login")
    assert counts == [0]


@IN_BOTH
def test_names_with_the_wildcards_of_patterns_are_names_like_others(studio: Store) -> None:
    for name in ("a_n", "aXn"):
        People(studio, hasher=quick_hasher()).add(name, "annotator", PASSWORD)
    sample = to_answer_review(studio)
    for name in ("a_n", "aXn"):
        assign(studio, sample, name, person("ada"))
    studio.act(review(sample), Person("aXn", "annotator"))
    assert (assigned_to(studio, "a_n"), assigned_to(studio, "aXn")) == (["s-1"], [])
