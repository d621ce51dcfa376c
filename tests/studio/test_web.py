"""The pages: the whole pipeline through forms, rights of each role on each route, and what attackers try."""

from __future__ import annotations

import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fathom.studio.auditing import audit
from fathom.studio.people import MOST_FAILURES, People
from fathom.studio.states import RefusedError
from fathom.studio.store import Store
from fathom.studio.tasks import standard_prompts
from fathom.studio.types import (
    Adjudicate,
    Create,
    ExpertPass,
    Reconstruct,
    ReviewDocument,
    Role,
    StudioDocument,
    SubmitForReview,
)
from fathom.studio.web.app import ROUTES, make_app
from fathom.studio.web.visit import Settings
from made_studio import OWN
from studio_browser import Browser, Forms
from studio_stores import (
    DOCUMENT,
    OPERATOR,
    PASSWORD,
    PEOPLE,
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

QA = replace(OWN, name="qa")


@pytest.fixture
def store(studio: Store) -> Store:
    studio.review_document(ReviewDocument(DOCUMENT, "available"), OPERATOR)
    return studio


@pytest.fixture
def people(store: Store) -> People:
    found = People(store, hasher=quick_hasher())
    for name in PEOPLE:
        found.set_password(name, PASSWORD)
    return found


@pytest.fixture
def app(store: Store, people: People) -> Any:
    return make_app(store, people, Settings(tasks={"qa": QA}))


@pytest.fixture
def browser(app: Any) -> Any:
    return lambda name: Browser(app).log_in(name)


@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)], indirect=True)
@pytest.mark.slow
def test_the_whole_pipeline_through_forms(browser: Any, store: Store) -> None:
    ann, bo, cy, eve, ed = map(browser, ("ann", "bo", "cy", "eve", "ed"))
    answer = ann.send(f"/documents/{DOCUMENT}", "/samples", task="qa")
    place = answer.headers["location"]
    id = place.rpartition("/")[2]
    evidence = json.dumps([{"document": DOCUMENT, "start": 20, "end": 23, "quote": "Ida"}])
    fields = {
        "question": "Who lit it?",
        "component_0": "Ida",
        "component_evidence_0": evidence,
        "component_1": "at six",
    }
    assert ann.send(place, f"{place}/write", **fields).status_code == 303
    assert ann.send(place, f"{place}/edit", rationale="One passage.").status_code == 303
    assert (
        ann.send(place, f"{place}/edit", solution="Look for the lamp.", then="submit")
        .headers["location"]
        .startswith("/")
    )
    assert store.sample(id).state == "expert_review"
    back = eve.forms(place)[f"{place}/pass"] | {"reason": "Unclear."}
    assert eve.client.post(f"{place}/return", data=back).status_code == 303
    assert "Unclear." in ann.page(place)
    ann.send(place, f"{place}/edit", question="Who lit the lamp?", then="submit")
    assert eve.send(place, f"{place}/pass").status_code == 303
    form = ann.forms(place)[f"{place}/standardise"]
    assert (form["prompt_thinking"], form["prompt_answering"]) == standard_prompts(QA, "en", "Who lit the lamp?")
    ann.send(place, f"{place}/standardise")
    assert "Two people review" in ann.page(place)
    review = {"mark_0": "right", "mark_1": "right"}
    wrong = {"mark_0": "wrong", "note_0": "It was Bo", "mark_1": "right", "missing_0": "at noon"}
    assert bo.send(place, f"{place}/review", **review).status_code == 303
    seen = cy.page(place)
    assert "Reviews</h2>" not in seen
    assert cy.send(place, f"{place}/review", **wrong).status_code == 303
    seen = ed.page(place)
    assert "Reviewer 1" in seen
    assert "It was Bo" in seen
    assert not re.search(r">\s*(bo|cy)\b", seen)
    assert "bo" not in [one.person for one in store.log()] or "(hidden)" in browser("ada").page("/log")
    ed.send(place, f"{place}/adjudicate", decision="reconstruct", reason="Bo is right.")
    ann.send(place, f"{place}/reconstruct")
    ann.send(place, f"{place}/edit", component_0="Bo", then="submit")
    eve.send(place, f"{place}/pass")
    ann.send(place, f"{place}/standardise")
    for one in (bo, cy):
        assert one.send(place, f"{place}/review", **review).status_code == 303
    assert store.sample(id).state == "accepted"
    eve.send(place, f"{place}/audit", verdict="pass")
    done = store.sample(id)
    assert (done.state, done.round, done.writers, len(done.reviews)) == ("audited", 2, ("ann",), 4)
    assert "adjudicated" in ann.page(f"{place}/history")
    assert audit(store).problems == ()


def test_a_stale_edit_shows_both_versions_and_loses_nothing(browser: Any, store: Store) -> None:
    create(store)
    ann, bo = browser("ann"), browser("bo")
    ann.send("/samples/s-1", "/samples/s-1/select")
    theirs = bo.forms("/samples/s-1")["/samples/s-1/edit"]
    ann.send("/samples/s-1", "/samples/s-1/edit", question="Ann's question?")
    answer = bo.client.post("/samples/s-1/edit", data=theirs | {"question": "Bo's question?"})
    assert answer.status_code == 409
    assert "Somebody else changed this sample" in answer.text
    assert "Ann&#39;s question?" in answer.text
    merged = Forms(answer.text).found["/samples/s-1/edit"]
    assert merged["question"] == "Bo's question?"
    assert store.sample("s-1").content.question == "Ann's question?"
    assert bo.client.post("/samples/s-1/edit", data=merged).status_code == 303
    assert store.sample("s-1").content.question == "Bo's question?"


def test_another_question_has_no_prompts_of_the_earlier_one(browser: Any, store: Store) -> None:
    """A later round would export the question that was rejected."""
    now = to_answer_review(store)
    for name in ("bo", "cy"):
        store.act(review(now, good=False), person(name))
    now = store.sample("s-1")
    now = store.act(Adjudicate("s-1", now.version, "reconstruct", "It was Bo."), person("ed"))
    store.act(Reconstruct("s-1", now.version), person("ann"))
    ann = browser("ann")
    page = "/samples/s-1"
    ann.send(page, f"{page}/edit", rationale="Another.")
    assert store.sample("s-1").content.prompt_thinking == prompts("Who lit the lamp?")[0]
    sent = ann.forms(page)[f"{page}/edit"] | {"question": "Who else?"}
    for _ in range(2):  # again after a lost response
        assert ann.client.post(f"{page}/edit", data=sent).status_code == 303
    assert "The question does not stand in the prompt that asks for reasoning first" in ann.page(page)
    now = store.sample("s-1")
    with pytest.raises(RefusedError, match="does not stand in the prompt"):
        store.act(SubmitForReview("s-1", now.version), person("ann"))
    form = ann.forms(page)[f"{page}/edit"] | {"prompt_thinking": "", "prompt_answering": ""}
    assert ann.client.post(f"{page}/edit", data=form).status_code == 303
    now = store.sample("s-1")
    assert (now.content.question, now.content.prompt_thinking, now.content.prompt_answering) == ("Who else?", "", "")
    now = store.act(SubmitForReview("s-1", now.version), person("ann"))
    store.act(ExpertPass("s-1", now.version), person("eve"))
    assert ann.forms(page)[f"{page}/standardise"]["prompt_thinking"] == standard_prompts(QA, "en", "Who else?")[0]


def test_save_and_hand_over_hands_over_what_was_saved(browser: Any, store: Store, monkeypatch: Any) -> None:
    create(store)
    ann, bo = browser("ann"), browser("bo")
    ann.send("/samples/s-1", "/samples/s-1/select")
    sent = ann.forms("/samples/s-1")["/samples/s-1/edit"] | {"question": "Ann's question?", "then": "submit"}
    act = store.act

    def racing(action: Any, by: Any) -> Any:
        if isinstance(action, SubmitForReview) and by.name == "ann":  # bo is quicker
            monkeypatch.undo()
            assert bo.send("/samples/s-1", "/samples/s-1/edit", question="Bo's half question").status_code == 303
        return act(action, by)

    monkeypatch.setattr(store, "act", racing)
    answer = ann.client.post("/samples/s-1/edit", data=sent)
    assert answer.status_code == 409
    assert "Somebody else changed this sample" in answer.text
    assert store.sample("s-1").state == "selected", "nobody hands over what they have not seen"


def test_save_and_hand_over_is_finished_after_a_crash_between_both(browser: Any, store: Store) -> None:
    create(store)
    ann = browser("ann")
    ann.send("/samples/s-1", "/samples/s-1/select")
    asked = dict(zip(("prompt_thinking", "prompt_answering"), prompts("Ann's question?"), strict=True))
    sent = ann.forms("/samples/s-1")["/samples/s-1/edit"] | {"question": "Ann's question?", **asked}
    assert ann.client.post("/samples/s-1/edit", data=sent).status_code == 303
    for _ in range(2):  # the browser sends the same again, and once more
        answer = ann.client.post("/samples/s-1/edit", data=sent | {"then": "submit"})
        assert answer.headers["location"] == "/?done=submit"
    assert store.sample("s-1").state == "expert_review"
    assert len(store.log(subject="s-1")) == 4


def test_an_unchanged_sample_is_just_handed_over(browser: Any, store: Store) -> None:
    create(store)
    ann = browser("ann")
    ann.send("/samples/s-1", "/samples/s-1/select")
    assert ann.send("/samples/s-1", "/samples/s-1/edit", then="submit").headers["location"] == "/?done=submit"
    assert (store.sample("s-1").state, store.sample("s-1").writers) == ("expert_review", ())


def test_changed_prompts_go_to_the_expert_and_who_changed_them_has_written(browser: Any, store: Store) -> None:
    create(store)
    ann, eve, page = browser("ann"), browser("eve"), "/samples/s-1"
    ann.send(page, f"{page}/select")
    ann.send(page, f"{page}/edit", then="submit")
    assert "What models are asked" in eve.page(page)
    eve.send(page, f"{page}/pass")
    form = ann.forms(page)[f"{page}/standardise"]
    changed = form | {"prompt_thinking": form["prompt_thinking"].replace("step by step", "slowly"), "then": "submit"}
    refused = ann.client.post(f"{page}/standardise", data=changed)
    assert (refused.status_code, "others than those that were reviewed" in refused.text) == (409, True)
    assert Forms(refused.text).found[f"{page}/standardise"]["prompt_thinking"] == changed["prompt_thinking"]
    assert 'formaction="/samples/s-1/edit" name="then" value="submit"' in refused.text
    assert ann.client.post(f"{page}/edit", data=changed).headers["location"] == "/?done=submit"
    now = store.sample("s-1")
    assert (now.state, now.writers, now.content.prompt_thinking) == (
        "expert_review",
        ("ann",),
        changed["prompt_thinking"],
    )
    assert "slowly" in eve.page(page)
    eve.send(page, f"{page}/pass")
    assert ann.send(page, f"{page}/standardise").status_code == 303
    assert "slowly" in browser("bo").page(page), "reviewers see it"
    assert f"{page}/review" not in ann.forms(page)


@pytest.mark.slow
def test_of_many_edits_at_two_servers_one_wins_and_the_others_merge(app: Any, store: Store, place: str) -> None:
    create(store)
    Browser(app).log_in("ann").send("/samples/s-1", "/samples/s-1/select")
    with closing(Store(place)) as second, ThreadPoolExecutor(6) as pool:
        apps = [app, make_app(second, People(second, hasher=quick_hasher()))]
        browsers = [Browser(apps[number % 2]).log_in("ann") for number in range(6)]
        forms = [one.forms("/samples/s-1")["/samples/s-1/edit"] for one in browsers]
        begin = threading.Barrier(6)

        def edit(number: int) -> Any:
            begin.wait()
            form = forms[number] | {"question": f"Question {number}?"}
            return browsers[number].client.post("/samples/s-1/edit", data=form)

        answers = list(pool.map(edit, range(6)))
    assert sorted(one.status_code for one in answers) == [303, *[409] * 5]
    winner = next(number for number, one in enumerate(answers) if one.status_code == 303)
    assert store.sample("s-1").content.question == f"Question {winner}?"
    for number, one in enumerate(answers):
        if number != winner:
            assert "Somebody else changed this sample" in one.text
            assert f"Question {winner}?" in one.text
            assert Forms(one.text).found["/samples/s-1/edit"]["question"] == f"Question {number}?"


def test_rows_of_the_queue_show_the_present(browser: Any, store: Store) -> None:
    sample = to_answer_review(store)
    ed = browser("ed")
    path = "/?state=adjudication"
    for one in ("bo", "cy"):
        assert "/samples/s-1" not in ed.page(path)
        store.act(review(sample, good=one == "bo"), person(one))
    assert "<td></td>" in ed.page(path), "names are hidden until it is decided"
    now = store.sample("s-1")
    store.act(Adjudicate("s-1", now.version, "reconstruct", "Bo is right."), person("ed"))
    assert "/samples/s-1" not in ed.page(path)
    page = ed.page("/?state=reconstruct")
    assert "<td>ann</td>" in page
    assert "?state=reconstruct&amp;task=qa" in page


def test_drafts_are_restored_and_forgotten_when_sent(browser: Any, store: Store) -> None:
    create(store)
    ann = browser("ann")
    ann.send("/samples/s-1", "/samples/s-1/select")
    version = store.sample("s-1").version
    body = '{"question": "Half a quest", "component-0": "Ida", "component-1": "new"}'
    headers = {"x-csrf": ann.csrf}
    answer = ann.client.post("/drafts/s-1/edit", json={"version": str(version), "body": body}, headers=headers)
    assert answer.status_code == 200
    page = ann.page("/samples/s-1")
    assert "Restored what you typed" in page
    form = Forms(page).found["/samples/s-1/edit"]
    assert (form["question"], form["component-1"]) == ("Half a quest", "new")
    assert "Half a quest" not in browser("bo").page("/samples/s-1")
    ann.send("/samples/s-1", "/samples/s-1/edit")
    assert "Restored" not in ann.page("/samples/s-1")
    for wrong in ("[]", "{", '{"a": 1}', "[" * 100_000):
        answer = ann.client.post("/drafts/s-1/edit", json={"version": "1", "body": wrong}, headers=headers)
        assert answer.status_code == 400, wrong[:9]


RANK: dict[Role, int] = {"reader": 0, "annotator": 1, "expert": 2, "administrator": 3}


@pytest.mark.slow
@pytest.mark.parametrize("route", ROUTES, ids=lambda one: f"{one.method} {one.path}")
def test_each_route_for_each_role(route: Any, app: Any, store: Store) -> None:
    to_answer_review(store)
    parts = {
        "{id}": DOCUMENT if "documents" in route.path else "s-1",
        "{name}": "nobody",
        "{form}": "edit",
        "{subject}": "s-1",
    }
    path = route.path
    for name, value in parts.items():
        path = path.replace(name, value)
    for name in ("", "ray", "ann", "eve", "ada"):
        browser = Browser(app)
        if name:
            browser.log_in(name)
        if route.method == "POST" and route.path != "/login" and name:
            wrongs: list[dict[str, str]] = [{"csrf": "x" * 43}, {}]
            for wrong in wrongs:
                assert browser.client.post(path, data=wrong).status_code == 403, "without the CSRF secret"
        answer = browser.client.get(path) if route.method == "GET" else browser.post(path)
        allowed = route.least is None or (name != "" and RANK[PEOPLE[name]] >= RANK[route.least])
        if allowed:
            assert answer.status_code not in ((403, 500) if route.path == "/login" else (401, 403, 500))
        elif not name:
            assert answer.status_code == (303 if route.method == "GET" else 401)
        else:
            assert answer.status_code == 403


def test_there_is_no_route_beside_the_listed_ones(app: Any) -> None:
    from starlette.routing import Route

    paths = {(method, one.path) for one in app.app.routes if isinstance(one, Route) for method in one.methods or ()}
    open_to_all = ("/healthz", "/health/live", "/health/ready", "/static/{name}")
    listed = {(one.method, one.path) for one in ROUTES} | {("GET", path) for path in open_to_all}
    assert {one for one in paths if one[0] != "HEAD"} == listed


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.test"},
        {"origin": "null"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
    ],
)
def test_forms_of_other_sites_are_refused(browser: Any, app: Any, headers: dict[str, str]) -> None:
    ann = browser("ann")
    assert ann.client.post("/logout", data={"csrf": ann.csrf}, headers=headers).status_code == 403
    login = {"name": "ann", "password": PASSWORD}
    assert Browser(app).client.post("/login", data=login, headers=headers).status_code == 403
    ann.page("/")


def test_cookies_and_headers(app: Any, people: People) -> None:
    answer = Browser(app).client.post("/login", data={"name": "ann", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=lax" in cookie
    assert "Path=/" in cookie
    policy = answer.headers["content-security-policy"]
    assert "script-src 'self';" in policy
    assert "unsafe" not in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    secure = make_app(people.store, people, Settings(secure=True))
    assert (
        "Secure"
        in Browser(secure).client.post("/login", data={"name": "ann", "password": PASSWORD}).headers["set-cookie"]
    )


def test_a_login_makes_a_new_session_and_ends_the_old_one(browser: Any, app: Any, people: People) -> None:
    ann = browser("ann")
    old = ann.client.cookies["fathom-studio"]
    ann.log_in("ann")
    assert ann.client.cookies["fathom-studio"] != old
    thief = Browser(app)
    thief.client.cookies.set("fathom-studio", old)
    assert thief.client.get("/account").status_code == 303
    fixed = Browser(app)
    fixed.client.cookies.set("fathom-studio", "chosen-by-an-attacker")
    fixed.client.post("/login", data={"name": "ann", "password": PASSWORD})
    secrets = [one.value for one in fixed.client.cookies.jar if one.name == "fathom-studio"]
    assert any(one != "chosen-by-an-attacker" for one in secrets)
    assert people.session("chosen-by-an-attacker") is None
    ann.post("/logout")
    assert ann.client.get("/account").status_code == 303


def test_logins_are_throttled(app: Any) -> None:
    anyone = Browser(app)
    for _ in range(MOST_FAILURES):
        answer = anyone.client.post("/login", data={"name": "ann", "password": "wrong"})
        assert answer.status_code == 401
        assert "name or password is wrong" in answer.text
    answer = anyone.client.post("/login", data={"name": "ann", "password": PASSWORD})
    assert answer.status_code == 429
    assert "wait" in answer.text


def test_tokens_work_without_cookies_and_csrf(app: Any, people: People, store: Store) -> None:
    create(store)
    token = people.make_token("ann")
    client = TestClient(app, follow_redirects=False)
    good = {"authorization": f"Bearer {token}"}
    assert client.get("/samples/s-1", headers=good).status_code == 200
    answer = client.post("/samples/s-1/select", json={"version": "1", "candidate": "c1"}, headers=good)
    assert answer.status_code == 303
    assert store.sample("s-1").author == "ann"
    for wrong in ("Bearer x", "Basic YTpi", "Bearer", f"Bearer {token[:-1]}x"):
        assert client.get("/", headers={"authorization": wrong}).status_code == 401


EVIL = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>{{ 7*7 }}\u202e"


def test_hostile_text_is_shown_as_text(browser: Any, store: Store) -> None:
    from fathom.studio.types import Candidate

    document = StudioDocument("evil", EVIL, "en", EVIL, EVIL, 10, 8192, domain=EVIL)
    store.add_document(document, EVIL * 3)
    store.review_document(ReviewDocument("evil", "available", EVIL), OPERATOR)
    bad = replace(
        content(EVIL), question=EVIL, rationale=EVIL, solution=EVIL, components=(content(EVIL).components[0],)
    )
    bad = replace(bad, components=(replace(bad.components[0], evidence=()),))
    store.act(Create("s-9", EVIL[:100], "en", 8192, ("evil",), (Candidate("c", EVIL, bad),)), OPERATOR)
    ann, ada = browser("ann"), browser("ada")
    pages = [ann.page("/samples/s-9")]
    ann.send("/samples/s-9", "/samples/s-9/select")
    pages += [
        ann.page("/samples/s-9"),
        ann.page("/"),
        ann.page("/documents"),
        ann.page("/documents/evil"),
        ada.page("/log"),
    ]
    for page in pages:
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "49" not in re.sub(r"\d{3,}", "", page).split("{{ 7*7 }}")[0][-20:]
    answer = ann.client.get("/documents/evil/text")
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_an_unknown_page_is_named_once(browser: Any) -> None:
    answer = browser("ada").client.get("/nowhere", headers={"Accept": "text/html"})
    assert (answer.status_code, answer.text.lower().count("not found")) == (404, 1)
    assert "there is no such page" in answer.text


@pytest.mark.slow
@pytest.mark.parametrize(
    "path",
    ["/samples/../../etc/passwd", "/samples/%2e%2e", "/static/..%2fapp.py", "/static/studio.py", "/documents/x/text",
     "/samples/%00", "/samples/s-1%0aX", "/none", "/docs", "/openapi.json", "/static/", "/samples/" + "x" * 3000],
)  # fmt: skip
def test_paths_that_lead_nowhere(browser: Any, path: str) -> None:
    answer = browser("ada").client.get(path)
    assert answer.status_code in (404, 405)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"a=1", "text/plain", 400),
        (b"\xff=\xfe", "application/x-www-form-urlencoded", 400),
        (b"a=%ff", "application/x-www-form-urlencoded", 400),
        (b"{", "application/json", 400),
        (b'{"a": 1}', "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"x" * (9 << 20), "application/x-www-form-urlencoded", 413),
        (b"&".join(b"a%d=" % number for number in range(20_001)), "application/x-www-form-urlencoded", 400),
        (b"a=1", "multipart/form-data; boundary=x", 400),
    ],
)
def test_bodies_that_are_no_forms(browser: Any, body: bytes, kind: str, status: int) -> None:
    ann = browser("ann")
    answer = ann.client.post("/samples", content=body, headers={"content-type": kind, "x-csrf": ann.csrf})
    assert answer.status_code == status


@pytest.mark.parametrize("text", ["a\0", "a\ud800"])
@pytest.mark.parametrize(
    ("path", "field"),
    [("/login", "name"), ("/samples", "document"), ("/samples", "task"), ("/samples/s-1/select", "candidate"),
     ("/samples/s-1/reject", "reason"), ("/drafts/s-1/edit", "body"), ("/users", "name"), ("/users/%00", "what"),
     ("/samples/%00/edit", "question"), ("/account/password", "old"), (f"/documents/{DOCUMENT}", "reason")],
)  # fmt: skip
def test_characters_that_are_no_text(browser: Any, store: Store, path: str, field: str, text: str) -> None:
    create(store)
    ada = browser("ada")
    form = {"document": DOCUMENT, "task": "qa", "version": "9" * 15, "state": "excluded", "role": "reader"}
    form |= {"what": "off", "password": text, "new": text, "again": text}
    form |= {field: json.dumps({text: text}) if field == "body" else text}
    headers = {"content-type": "application/json", "x-csrf": ada.csrf}
    assert ada.client.post(path, content=json.dumps(form), headers=headers).status_code < 500
    for page in ("/samples/s-1", "/log", "/users", f"/documents/{DOCUMENT}"):
        assert "\0" not in ada.page(page)
    assert audit(store).problems == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"version": "x"},
        {"version": "-1"},
        {"version": "9" * 99},
        {"component-0": "Ida", "component-evidence-0": "{"},
        {"component-0": "Ida", "component-evidence-0": '[{"document": 5}]'},
        {"component-0": "Ida", "component-evidence-0": '[{"document": "x", "start": 0, "end": 1, "quote": "T"}]'},
        {"component-99999999": "x"},
        {"requirement": "none"},
        {"question": "x" * 300_000},
    ],
)
def test_forms_with_wrong_fields(browser: Any, store: Store, fields: dict[str, str]) -> None:
    create(store)
    ann = browser("ann")
    ann.send("/samples/s-1", "/samples/s-1/select")
    before = store.sample("s-1")
    form = ann.forms("/samples/s-1")["/samples/s-1/edit"]
    answer = ann.client.post("/samples/s-1/edit", data=form | fields)
    if "component-99999999" in fields:
        assert answer.status_code == 409
    assert answer.status_code in (400, 409)
    assert store.sample("s-1") == before
    assert 'role="alert"' in answer.text


def test_users_are_managed_by_administrators(browser: Any, store: Store, app: Any) -> None:
    ada = browser("ada")
    answer = ada.send("/users", "/users", name="zoe", role="expert")
    match = re.search(r"password of zoe is <code>([\w-]+)</code>", answer.text)
    assert match
    zoe = Browser(app).log_in("zoe", match[1])
    assert "needs" not in zoe.page("/")
    assert ada.post("/users/zoe", what="role", role="reader").status_code == 303
    assert zoe.client.get("/").status_code == 303, "sessions end when a role changes"
    assert ada.post("/users/ada", what="off").status_code == 400
    assert ada.post("/users/zoe", what="off").status_code == 303
    assert Browser(app).client.post("/login", data={"name": "zoe", "password": match[1]}).status_code == 401
    for wrong in ({"what": "nothing"}, {"what": "role", "role": "owner"}):
        assert ada.post("/users/zoe", **wrong).status_code == 400


def test_a_password_is_changed_on_the_page(browser: Any, app: Any) -> None:
    ann, other = browser("ann"), browser("ann")
    new = "another good sentence"
    for fields, words in (
        ({"old": PASSWORD, "new": new, "again": "x"}, "differ"),
        ({"old": "wrong", "new": new, "again": new}, "old password is wrong"),
        ({"old": PASSWORD, "new": "short", "again": "short"}, "expected 12"),
    ):
        answer = ann.post("/account/password", **fields)
        assert answer.status_code == 400
        assert words in answer.text
    assert ann.post("/account/password", old=PASSWORD, new=new, again=new).status_code == 303
    ann.page("/account")
    assert other.client.get("/account").status_code == 303
    Browser(app).log_in("ann", new)


@pytest.mark.slow
def test_the_queue_shows_what_waits_for_each_person(browser: Any, store: Store) -> None:
    sample = to_answer_review(store)
    create(store, "s-2")
    assert "/samples/s-1" in browser("bo").page("/")
    store.act(review(sample), person("bo"))
    assert "/samples/s-1" not in browser("bo").page("/")
    assert "/samples/s-1" in browser("cy").page("/")
    assert "/samples/s-1" in browser("bo").page("/?state=answer_review")
    for wrong in (
        "/?state=nonsense",
        "/?offset=-1",
        "/?offset=99999999999999999999",
        "/?task=%00",
        "/?task=%ed%a0%80",
        "/documents?state=%00",
        "/log?before=x",
    ):
        browser("ada").page(wrong)


def test_a_database_that_fails_is_a_page_that_says_so(browser: Any, store: Store) -> None:
    from sqlalchemy import text

    ann = browser("ann")
    with store.engine.begin() as connection:
        connection.execute(text("ALTER TABLE samples RENAME TO gone"))
    answer = ann.client.get("/")
    assert answer.status_code == 503
    assert "what you typed is kept" in answer.text
    assert "gone" not in answer.text


words = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["s-1", "s-2", DOCUMENT, "ann", "edit", "review", "0", "1", "2", "-1", "1e9", "[]", "{}", "null", EVIL]
    ),
)
names = st.sampled_from(
    ["version", "seconds", "question", "component-0", "component-1", "component-evidence-0", "missing-0", "mark-0",
     "mark-1", "note-0", "reason", "decision", "verdict", "candidate", "prompt_thinking", "prompt_answering", "task",
     "document", "state", "what", "role", "name", "old", "new", "again", "then", "requirement", "problem", "body"]
)  # fmt: skip


@pytest.mark.slow
@settings(max_examples=300, suppress_health_check=list(HealthCheck))
@given(
    st.sampled_from([one for one in ROUTES if one.path not in ("/logout", "/account/password", "/login")]),
    st.lists(words, min_size=3, max_size=3),
    st.dictionaries(names, words, max_size=8),
    st.booleans(),
)
def test_no_request_is_an_internal_error(
    everybody: tuple[Browser, ...], route: Any, parts: list[str], fields: dict[str, str], form: bool
) -> None:
    path = route.path
    for name, value in zip(("{id}", "{form}", "{name}"), parts, strict=True):
        path = path.replace(name, quote(value.encode("utf-8", "replace").decode(), safe=""))
    fields = {name: one.encode("utf-8", "replace").decode() for name, one in fields.items()}
    path = path.replace("{subject}", "s-1")
    for one in everybody:
        if route.method == "GET":
            answer = one.client.get(path, params=fields)
        elif form:
            answer = one.post(path, **fields)
        else:
            answer = one.client.post(path, json=fields, headers={"x-csrf": one.csrf})
        assert answer.status_code < 500, (path, fields, answer.text)
        assert "<script>alert" not in answer.text


@pytest.fixture
def everybody(browser: Any, store: Store) -> tuple[Browser, ...]:
    to_answer_review(store)
    create(store, "s-2")
    return browser("ann"), browser("ada")


def test_direction_controls_are_named_in_texts_and_kept_in_fields() -> None:
    from fathom.studio.web.visit import with_shown_directions

    page = '<p title="a\u202eb">a\u202eb</p><textarea name="x">a\u202eb</textarea><p>\u2066c'
    shown = with_shown_directions(page)
    assert shown == (
        '<p title="a\u202eb">a<mark>U+202E</mark>b</p><textarea name="x">a\u202eb</textarea><p><mark>U+2066</mark>c'
    )
    assert with_shown_directions("<p>plain</p>") == "<p>plain</p>"
