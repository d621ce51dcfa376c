"""Policies in the store, in the pages and in commands: who is kept, what is said before, and what is in the log."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from fathom.studio.auditing import audit
from fathom.studio.lists import ListQuery
from fathom.studio.people import People
from fathom.studio.states import RefusedError
from fathom.studio.store import Store
from fathom.studio.types import Adjudicate, Create, Edit, Select, Standardise
from fathom.studio.web.app import make_app
from studio_browser import Browser
from studio_stores import (
    DOCUMENT,
    IN_BOTH,
    PASSWORD,
    content,
    create,
    person,
    prompts,
    quick_hasher,
    review,
    to_answer_review,
    usual_place,
)

place = pytest.fixture(usual_place)
PROMPTS = prompts("Who lit the lamp?")
LogIn = Callable[..., dict[str, Browser]]


@pytest.fixture
def log_in(studio: Store) -> LogIn:
    """Browsers of some people; the accounts of all others but the administrator are switched off."""

    def only(*names: str) -> dict[str, Browser]:
        people = People(studio, hasher=quick_hasher())
        for account in people.listed():
            if account.name in (*names, "ada"):
                people.set_password(account.name, PASSWORD)
            else:
                people.change(account.name, active=False)
        app = make_app(studio, people)
        return {name: Browser(app).log_in(name) for name in (*names, "ada")}

    return only


@IN_BOTH
def test_the_last_expert_is_kept_out_of_the_review_and_decides(studio: Store, log_in: LogIn) -> None:
    at = log_in("ann", "bo", "cy")
    assert at["ada"].send("/users", "/policy", policy="four").status_code == 303
    create(studio)
    at["ann"].send("/samples/s-1", "/samples/s-1/select", candidate="c1")
    assert "You cannot edit it. You are the last one who could do a later step" in at["ada"].page("/samples/s-1")
    with pytest.raises(RefusedError, match="leave this one to somebody else, such as ann"):
        studio.act(Edit("s-1", 2, content("Ida")), person("ada"))
    studio.act(Edit("s-1", 2, content("Ida")), person("ann"))
    at["ann"].send("/samples/s-1", "/samples/s-1/edit", then="submit")
    assert "Waits for an expert: ada." in at["ann"].page("/samples/s-1")
    at["ada"].send("/samples/s-1", "/samples/s-1/pass")
    for name, fixed in (("ann", False), ("ada", True)):
        assert ('rows="7" readonly' in at[name].page("/samples/s-1")) == fixed, "who may not edit, changes no prompt"
    studio.act(Standardise("s-1", studio.sample("s-1").version, *PROMPTS), person("ann"))
    assert "/samples/s-1" not in at["ada"].page("/")
    assert "You are the last one who could do a later step" in at["ada"].page("/samples/s-1")
    sample = studio.sample("s-1")
    with pytest.raises(RefusedError, match="somebody who has not reviewed it"):
        studio.act(review(sample), person("ada"))
    for name in ("bo", "cy"):
        assert "/samples/s-1" in at[name].page("/")
        studio.act(review(sample, good=name == "bo"), person(name))
    assert "/samples/s-1" in at["ada"].page("/")
    studio.act(Adjudicate("s-1", studio.sample("s-1").version, "accept", "right"), person("ada"))
    assert audit(studio).problems == ()


@IN_BOTH
def test_the_last_expert_leaves_a_sample_without_drafts_to_who_can_write_it(studio: Store, log_in: LogIn) -> None:
    at = log_in("ann")
    studio.set_policy("two")
    studio.act(Create("s-1", "qa", "en", 8192, (DOCUMENT,)), person("ann"))
    page = at["ada"].page("/samples/s-1")
    assert "There is no draft yet. You are the last one who could do a later step" in page
    assert "Assign to me" not in page
    assert "Assign to me" in at["ann"].page("/samples/s-1")


@IN_BOTH
def test_where_nobody_is_left_another_round_begins_by_the_present_policy(studio: Store, log_in: LogIn) -> None:
    sample = to_answer_review(studio)
    at = log_in("ann", "bo")
    for name in ("ann", "ada"):
        studio.act(review(sample, good=name == "ann"), person(name))
    assert "Nobody is left to decide" not in at["ann"].page("/")
    assert "/samples/s-1/reconstruct" not in at["ann"].forms("/samples/s-1")
    at["ada"].send("/users", "/policy", policy="three")
    assert "Nobody is left to decide" in at["bo"].page("/")
    assert at["bo"].send("/samples/s-1", "/samples/s-1/reconstruct").status_code == 303
    after = studio.sample("s-1")
    assert (after.state, after.round, after.policy) == ("selected", 2, "three")
    assert "Nobody is left to decide" not in at["bo"].page("/")
    assert audit(studio).problems == ()


@IN_BOTH
def test_two_people_need_one_review_and_no_adjudication(studio: Store, log_in: LogIn) -> None:
    at = log_in("ann")
    studio.set_policy("two")
    create(studio)
    studio.act(Select("s-1", 1, "c1"), person("ann"))
    studio.act(Edit("s-1", 2, content("Ida")), person("ann"))
    at["ann"].send("/samples/s-1", "/samples/s-1/edit", then="submit")
    at["ada"].send("/samples/s-1", "/samples/s-1/pass")
    studio.act(Standardise("s-1", studio.sample("s-1").version, *PROMPTS), person("ann"))
    assert "Somebody reviews the answer." in at["ann"].page("/samples/s-1")
    assert studio.act(review(studio.sample("s-1"), good=False), person("ada")).state == "reconstruct"
    at["ann"].send("/samples/s-1", "/samples/s-1/reconstruct")
    assert audit(studio).problems == ()


@IN_BOTH
def test_the_queue_says_whom_a_studio_lacks(studio: Store, log_in: LogIn) -> None:
    at = log_in("ann")
    studio.set_policy("three")
    assert "needs 3 people who annotate, review or decide, and has 2" in at["ann"].page("/")
    refused = at["ada"].post("/policy", policy="")
    assert refused.status_code == 400
    assert at["ann"].post("/policy", policy="two").status_code == 403
    at["ada"].send("/users", "/policy", policy="two")
    assert "This studio" not in at["ann"].page("/")


def test_init_chooses_a_policy_and_the_command_changes_it(call: Call, monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = call("studio", "init", "--policy", "two")
    assert code == 0
    assert "policy: two people" in err
    assert json.loads(call("studio", "policy", "--json")[1])["lacks"].startswith("2 people who annotate")
    call("studio", "users", "add", "ann")
    code, out, _ = call("studio", "policy", "three")
    assert (code, out[:7]) == (0, "three: ")
    assert "the policy needs 3 people" in out
    with closing(Store("studio-store")) as store:
        assert store.staff().policy == "three"
        assert audit(store).problems == ()


@IN_BOTH
def test_what_somebody_is_kept_from_leaves_no_gap_in_their_queue(studio: Store, log_in: LogIn) -> None:
    log_in("ann", "bo", "cy")
    studio.set_policy("four")
    for id in ("s-1", "s-2", "s-3"):
        to_answer_review(studio, id, expert="ada")
    create(studio, "s-4")
    create(studio, "s-5")
    asked = ListQuery(("drafted", "answer_review"), waiting_for="ada", limit=1)
    assert [one.id for one in studio.matches(asked)] == ["s-4"]
    assert [one.id for one in studio.matches(replace(asked, offset=1))] == ["s-5"]
    assert [one.id for one in studio.matches(replace(asked, waiting_for="bo"))] == ["s-1"]
