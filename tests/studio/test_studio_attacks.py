"""What attackers try on the pages: of others, of other sites, with hostile texts, paths, headers and bodies."""

from __future__ import annotations

import http.client
import json
import logging
import re
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from fastapi.testclient import TestClient

from chromium import browsers, load
from fathom.studio.auditing import audit
from fathom.studio.people import MOST_FAILURES, People
from fathom.studio.store import Store
from fathom.studio.types import (
    AddPredictions,
    Candidate,
    Component,
    ComponentVerdict,
    Content,
    Create,
    Person,
    Prediction,
    ReviewDocument,
    Select,
    StudioDocument,
    SubmitReview,
)
from fathom.studio.web import visit
from fathom.studio.web.app import ROUTES, make_app
from fathom.studio.web.visit import POLICY, Settings
from loopback_studio import serving
from studio_browser import Browser
from studio_stores import (
    DOCUMENT,
    IN_BOTH,
    OPERATOR,
    PASSWORD,
    PEOPLE,
    create,
    fill,
    person,
    prompts,
    quick_hasher,
    review,
    to_answer_review,
    usual_place,
)

PAGES = [one.path for one in ROUTES if one.method == "GET"]
FORMS = [one.path for one in ROUTES if one.method == "POST"]


place = pytest.fixture(usual_place)


@pytest.fixture
def people(studio: Store) -> People:
    studio.review_document(ReviewDocument(DOCUMENT, "available"), OPERATOR)
    found = People(studio, hasher=quick_hasher())
    for name in PEOPLE:
        found.set_password(name, PASSWORD)
    return found


@pytest.fixture
def app(studio: Store, people: People) -> Any:
    return make_app(studio, people)


@pytest.fixture
def browser(app: Any) -> Any:
    return lambda name: Browser(app).log_in(name)


def addresses(*samples: str, document: str = DOCUMENT) -> Iterator[str]:
    """The addresses of all pages about these samples and a document."""
    for path in PAGES:
        if "{id}" not in path:
            yield path
        elif path.startswith("/samples"):
            yield from (path.replace("{id}", one) for one in samples)
        else:
            yield path.replace("{id}", document)


# ------------------------------------------------------------------------------------- what belongs to others


SECRET = "only-cy-wrote-this"


@pytest.mark.slow
def test_no_page_shows_a_review_before_ones_own(browser: Any, studio: Store, people: People) -> None:
    sample = to_answer_review(studio)
    verdicts = (ComponentVerdict("wrong", SECRET), ComponentVerdict("right"))
    missing = (Component(f"{SECRET} too"),)
    studio.act(SubmitReview("s-1", sample.version, verdicts, missing, "problem", SECRET), person("cy"))
    studio.act(AddPredictions("s-1", sample.version, (Prediction("m", ("Ida",), score=0.25),)), OPERATOR)
    kinds = ({"accept": "text/html"}, {"accept": "application/json"}, {"if-none-match": "*", "range": "bytes=0-"})
    for name in ("ray", "ann", "bo", "ada"):
        one = browser(name)
        token = {"authorization": f"Bearer {people.make_token(name)}"}
        answers = [one.client.get(path, headers=kind) for path in addresses("s-1") for kind in (*kinds, token)]
        # What is refused, stale or wrong shows the page again.
        for form in ("review", "edit", "adjudicate", "select", "nothing"):
            answers += [one.post(f"/samples/s-1/{form}", version=version) for version in ("1", str(sample.version))]
            answers.append(one.client.post(f"/samples/s-1/{form}", json={"version": "1"}, headers={"x-csrf": one.csrf}))
        for answer in answers:
            assert SECRET not in answer.text, answer.url
            assert "0.25" not in answer.text, answer.url
        for path in ("/samples/s-1", "/samples/s-1/history"):
            shown = re.sub(r"<tr>(?:(?!</tr>).)*Create(?:(?!</tr>).)*</tr>", "", one.page(path), flags=re.DOTALL)
            # Administrators choose whom to assign it to, of all who are able, also of those who have reviewed.
            shown = re.sub(r'<select name="name".*?</select>', "", shown, flags=re.DOTALL)
            assert not re.search(r">\s*cy\s*<", shown), (name, path)
    assert SECRET in browser("cy").page("/samples/s-1")


@pytest.mark.slow
def test_unsent_drafts_are_of_one_person(browser: Any, studio: Store) -> None:
    sample = to_answer_review(studio)
    bo, cy = browser("bo"), browser("cy")
    fields = {"version": str(sample.version), "body": json.dumps({"note-0": SECRET})}
    assert bo.post("/drafts/s-1/review", **fields).status_code == 200
    for name in ("ray", "cy", "ada"):
        assert all(SECRET not in browser(name).client.get(path).text for path in addresses("s-1"))
    assert cy.post("/drafts/s-1/review", **fields | {"body": '{"note-0": "mine"}', "person": "bo"}).status_code == 200
    assert SECRET in bo.page("/samples/s-1")
    assert cy.post("/drafts/s-1/anything", **fields).status_code == 404
    assert cy.post("/drafts/s-2/review", **fields).status_code == 404


@pytest.mark.slow
def test_a_known_tag_and_a_cookie_of_nobody_open_nothing(app: Any, studio: Store) -> None:
    to_answer_review(studio)
    client = TestClient(app, follow_redirects=False)
    for route in PAGES + FORMS:
        path = re.sub(r"{\w+}", "s-1" if "samples" in route else DOCUMENT, route)
        headers = {
            "if-none-match": f'"{DOCUMENT}"',
            "cookie": "fathom-studio=; fathom-studio=x",
            "x-forwarded-user": "ada",
        }
        answers = [client.get(path, headers=headers), client.post(path, headers=headers)]
        assert {one.status_code for one in answers} <= ({200, 401} if path == "/login" else {401, 404, 405})
        assert all("Ida" not in one.text for one in answers)


def test_fields_that_no_form_has_change_nothing(browser: Any, studio: Store) -> None:
    create(studio)
    ann = browser("ann")
    form = ann.forms("/samples/s-1")["/samples/s-1/select"]
    more = {"by": "eve", "person": "eve", "state": "accepted", "role": "administrator", "author": "eve", "round": "9"}
    assert ann.client.post("/samples/s-1/select?version=9&candidate=c1", data=form | more).status_code == 303
    done = studio.sample("s-1")
    assert (done.author, done.state, done.round, done.version) == ("ann", "selected", 1, 2)
    assert done.content == done.candidates[1].content, "what the form says, not the address"
    assert studio.log(limit=1)[0].person == "ann"


@pytest.mark.slow
def test_steps_cannot_be_skipped(browser: Any, studio: Store) -> None:
    create(studio)
    everybody = {name: browser(name) for name in ("ann", "eve", "ada")}
    for form in ("edit", "submit", "pass", "return", "standardise", "review", "adjudicate", "reconstruct", "audit"):
        for one in everybody.values():
            fields = {"version": "1", "reason": "x", "decision": "accept", "verdict": "pass", "question": "?"}
            prompts = {"prompt_thinking": "x", "prompt_answering": "x"}
            assert one.post(f"/samples/s-1/{form}", **fields, **prompts).status_code in (403, 409)
    assert studio.sample("s-1").state == "drafted"
    sample = to_answer_review(studio, "s-2")
    marks = {"mark-0": "right", "mark-1": "right", "version": str(sample.version)}
    assert browser("bo").post("/samples/s-2/review", **marks).status_code == 303
    assert len(studio.sample("s-2").reviews) == 1
    assert browser("bo").post("/samples/s-2/review", **marks | {"mark-0": "unsure"}).status_code == 409
    assert len(studio.sample("s-2").reviews) == 1


# -------------------------------------------------------------------------------------------- other sites


def test_secrets_of_other_sessions_are_refused(browser: Any, app: Any, people: People) -> None:
    ann, again, bo = browser("ann"), browser("ann"), browser("bo")
    for secret in (again.csrf, bo.csrf, "", " ", ann.csrf[:-1], ann.csrf.upper(), ann.csrf + "x", "\u00e9"):
        assert ann.client.post("/logout", data={"csrf": secret}).status_code == 403
        assert ann.client.post("/logout", json={"csrf": secret}).status_code == 403
    assert ann.client.post(f"/logout?csrf={ann.csrf}").status_code == 403, "not in the address"
    ann.client.cookies.set("csrf", ann.csrf)
    assert ann.client.post("/logout").status_code == 403, "not in a cookie"
    old = ann.csrf
    ann.log_in("ann")
    assert ann.client.post("/logout", data={"csrf": old}).status_code == 403
    ann.page("/account")


def test_kinds_of_bodies_that_any_site_may_send_are_no_forms(browser: Any) -> None:
    for kind in ("text/plain", "multipart/form-data; boundary=b", "", "application/xml", "text/json"):
        ann = browser("ann")
        body = json.dumps({"csrf": ann.csrf}) if "json" in kind else f"csrf={ann.csrf}"
        answer = ann.client.post("/logout", content=body, headers={"content-type": kind})
        assert answer.status_code in (400, 403)
        ann.page("/account")


def test_other_methods_do_nothing(browser: Any, studio: Store) -> None:
    for method in ("PUT", "PATCH", "DELETE", "TRACE", "OPTIONS", "HEAD", "PROPFIND"):
        create(studio)
        ann = browser("ann")
        for path in ("/", "/samples/s-1", "/samples/s-1/select", "/logout"):
            answer = ann.client.request(method, path, headers={"origin": "http://evil.test", "x-csrf": ann.csrf})
            assert answer.status_code == 405
            assert not [name for name in answer.headers if name.startswith("access-control")]


def test_a_page_is_no_form_whatever_its_headers_say(browser: Any, studio: Store) -> None:
    create(studio)
    ann = browser("ann")
    for name in ("x-http-method-override", "x-method-override", "x-http-method"):
        ann.client.get("/samples/s-1?_method=POST", headers={name: "POST", "x-csrf": ann.csrf})
        answer = ann.client.get("/samples/s-1/select?version=1&candidate=c1&_method=POST", headers={name: "POST"})
        assert answer.status_code == 405
    assert studio.sample("s-1").state == "drafted"


# ------------------------------------------------------------------------------------------ hostile texts


EVILS = (
    "<script>window.__owned=1</script>",
    '"><img src=x onerror="window.__owned=1">',
    "' onmouseover='window.__owned=1' x='",
    "</textarea></title></pre><svg/onload=window.__owned=1>",
    "javascript:window.__owned=1",
    "{{ 7*7 }}{% for x in () %}${window.__owned=1}<!--",
    "</script><base href=//evil.test/><iframe srcdoc='<script>window.__owned=1</script>'>",
)
EVIL = " ".join(EVILS)


def evil_store(store: Store) -> None:
    """Hostile texts wherever people, models and files can put them."""
    evil = StudioDocument(
        "evil", EVIL, "en", EVIL, EVIL, 10, 8192, domain=EVIL, format=EVIL, duplicate_of=DOCUMENT, reason=EVIL
    )
    store.add_document(evil, f"{EVIL}\n" * 30)
    store.review_document(ReviewDocument("evil", "available", EVIL), OPERATOR)
    for id in ("s-drafted", "s-review", "s-split"):
        asked = f"{EVIL} {id}"  # samples over one document ask different questions
        bad = Content(asked, (Component(EVIL), Component(EVIL)), EVIL, EVIL, "full", *prompts(asked))
        drafts = tuple(Candidate(f"{one}{at}", EVIL, bad) for at, one in enumerate((EVILS[1], EVILS[2])))
        store.act(Create(id, EVIL[:128], "en", 8192, ("evil",), drafts), OPERATOR)
    for id in ("s-review", "s-split"):
        store.act(Select(id, 1, f"{EVILS[1]}0"), person("ann"))
        _pass_on(store, id)
    now = store.sample("s-review")
    store.act(AddPredictions(now.id, now.version, (Prediction(EVIL, (EVIL, EVIL)),)), OPERATOR)
    now = store.sample("s-split")
    store.act(review(now), person("bo"))
    wrong = tuple(ComponentVerdict("wrong", EVIL) for _ in now.content.components)
    store.act(SubmitReview(now.id, now.version, wrong, (Component(EVIL),), "problem", EVIL), person("cy"))
    store.set_person(Person("zoe", "reader"), OPERATOR)


def _pass_on(store: Store, id: str) -> None:
    from fathom.studio.types import ExpertPass, ExpertReturn, Standardise, SubmitForReview

    now = store.act(SubmitForReview(id, store.sample(id).version), person("ann"))
    now = store.act(ExpertReturn(id, now.version, EVIL), person("eve"))
    now = store.act(SubmitForReview(id, now.version), person("ann"))
    now = store.act(ExpertPass(id, now.version, EVIL), person("eve"))
    store.act(Standardise(id, now.version, *prompts(now.content.question)), person("ann"))


class Parts(HTMLParser):
    """What a page would do: elements and attributes that run or load something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.bad: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in ("base", "iframe", "object", "embed", "img", "style", "svg", "template"):
            self.bad.append(tag)
        if tag in ("script", "link") and not values.get("src", values.get("href", "")).startswith("/static/"):
            self.bad.append(f"{tag} {values}")
        for name, value in values.items():
            goes = name in ("href", "src", "action", "formaction")
            if name.startswith("on") or name in ("style", "srcdoc") or (goes and not re.match(r"/(?!/)|#", value)):
                self.bad.append(f"{tag} {name}={value}")


@pytest.mark.slow
def test_hostile_texts_are_only_text_on_every_page(browser: Any, app: Any, studio: Store, people: People) -> None:
    evil_store(studio)
    samples = ("s-drafted", "s-review", "s-split")
    seen = 0
    for name in ("ray", "ann", "bo", "eve", "ed", "ada"):
        one = browser(name)
        answers = [one.client.get(path) for path in addresses(*samples, document="evil")]
        answers += [
            one.client.get(f"{path}?state={quote(EVIL)}&task={quote(EVIL)}&done={quote(EVIL)}")
            for path in ("/", "/documents")
        ]
        # Names, answers and notes that were typed come back on the page of a refused form.
        fields = {"version": "1", "name": EVIL, "question": EVIL, "component-0": EVIL, "reason": EVIL, "note-0": EVIL}
        answers += [
            one.post(f"/samples/{id}/{form}", **fields) for id in samples for form in ("edit", "review", "pass")
        ]
        answers += [one.post("/users", **fields), one.post("/documents/evil", state=EVIL, reason=EVIL)]
        for answer in answers:
            if answer.status_code == 303:
                continue
            if answer.headers["content-type"].startswith("text/html"):
                assert Parts(answer.text).bad == [], answer.url
                assert "<!--" not in answer.text.partition("<body")[2].partition("__owned")[0]
                seen += "__owned" in answer.text
            else:
                assert answer.headers["x-content-type-options"] == "nosniff"
                assert answer.headers["content-type"].startswith(("text/plain", "application/json"))
    assert seen > 30
    page = Browser(app).client.post("/login", data={"name": EVIL, "password": EVIL})
    assert Parts(page.text).bad == []
    assert "__owned" in page.text


chromium = pytest.fixture(scope="module")(browsers)


@pytest.mark.slow
@pytest.mark.browser
def test_hostile_texts_do_not_run_in_a_browser(chromium: Any, tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    with closing(Store(place)) as store:
        fill(store)
        evil_store(store)
        secret = People(store, hasher=quick_hasher()).new_session("ada")
    with serving(place) as (address, _):
        context = chromium.new_context()
        context.add_cookies([{"name": "fathom-studio", "value": secret, "url": address}])
        tab = context.new_page()
        asked: list[str] = []
        tab.on("request", lambda sent: asked.append(sent.url))
        tab.on("dialog", lambda dialog: asked.append(f"dialog {dialog.message}"))
        for path in addresses("s-drafted", "s-review", "s-split", document="evil"):
            if path.endswith("/login"):
                continue
            load(tab, f"{address}{path}")
            for element in tab.query_selector_all("summary"):
                element.click()
            assert tab.evaluate("window.__owned") is None, path
            has_texts = path.startswith(("/samples/", "/documents")) and not path.endswith("/history")
            assert not has_texts or "__owned" in tab.content(), path
        assert [one for one in asked if not one.startswith(address)] == []
        context.close()


# ------------------------------------------------------------------------------- paths, headers and bodies


@pytest.mark.slow
def test_raw_paths_lead_nowhere(tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    with closing(Store(place)) as store:
        fill(store)
    wrong = [
        f"/static/{one}"
        for one in (
            "../visit.py", "..%2fvisit.py", "%2e%2e/visit.py", "%252e%252e%252fvisit.py", "..\\visit.py",
            "..%5cvisit.py",
            "%2e%2e%2f%2e%2e%2f%2e%2e%2f%2e%2e%2fetc/passwd", "studio.css%00.js", ".%00./visit.py",
            "%c0%ae%c0%ae/visit.py",
            "%ef%bc%8e%ef%bc%8e/visit.py", "studio.css/", "/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd",
            "studio.css;.html", "pages", "__init__.py", "%00", "%ff%fe", "studio.css%0d%0aX-Y:%20z",
        )
    ]  # fmt: skip
    wrong += [
        "//evil.test/static/studio.css",
        "/samples/%2e%2e%2flogin",
        "/samples/..%252f..%252flog",
        "/users/",
        "/login/",
    ]
    with serving(place) as (address, _):
        host = address.removeprefix("http://")
        for path in wrong:
            connection = http.client.HTTPConnection(host)
            connection.putrequest("GET", path, skip_host=True)
            connection.putheader("Host", "evil.test")
            connection.endheaders()
            answer = connection.getresponse()
            text = answer.read().decode("utf-8", "replace")
            assert answer.status in (400, 401, 404, 405), path
            assert "evil.test" not in str(answer.headers), "no redirection to what the request names"
            assert "import" not in text
            assert "root:" not in text
            connection.close()


@pytest.mark.slow
def test_a_redirection_leads_to_this_server(browser: Any) -> None:
    for end in ("%0d%0aSet-Cookie:%20a=b", "//evil.test", "https://evil.test", "%00", "<script>"):
        ann = browser("ann")
        for path in (f"/?done={end}", f"/login?done={end}&next={end}&to={end}", f"/account?done={end}"):
            answer = ann.client.get(path)
            assert "set-cookie" not in answer.headers
            assert answer.headers.get("location", "/") in ("/", "/login")
            assert f"done={end}" not in answer.text
        for to in ("//evil.test", "https://evil.test", "/\\evil.test", "/users\r\nX: y", "/users/../login"):
            answer = ann.client.post("/account/confirm", data={"csrf": ann.csrf, "password": PASSWORD, "to": to})
            assert re.fullmatch(r"/(account|users)\?done=confirmed", answer.headers["location"])
            ann.csrf = ann.forms("/account")["/logout"]["csrf"]


def test_a_host_of_an_attacker_is_in_no_answer(app: Any, people: People) -> None:
    headers = {
        "host": "evil.test",
        "x-forwarded-host": "evil.test",
        "x-forwarded-proto": "https",
        "forwarded": "host=evil.test",
    }
    one = Browser(app)
    for path in ("/", "/login", "/login/", "/none", "/static/", "/samples"):
        answer = one.client.get(path, headers=headers)
        assert "evil" not in answer.text + str(answer.headers)


def test_texts_that_are_none_are_refused(browser: Any, app: Any, studio: Store) -> None:
    create(studio)
    ann, anyone = browser("ann"), Browser(app).client
    ann.send("/samples/s-1", "/samples/s-1/select")
    for text in ("\ud800", "a\udfffb", "\x00"):
        body = json.dumps({"csrf": text, "name": text, "password": text, "question": text, "version": "2"})
        sent: dict[str, Any] = {"content": body, "headers": {"content-type": "application/json"}}
        assert anyone.post("/login", **sent).status_code in (400, 401)
        sent["headers"]["x-csrf"] = ann.csrf
        for path in ("/samples/s-1/edit", "/samples", "/account/password", "/documents/x", "/account/confirm"):
            assert ann.client.post(path, **sent).status_code in (400, 404, 409), path
        # A draft is a text within a text.
        fields = {"version": "2", "body": json.dumps({"question": text})}
        assert ann.post("/drafts/s-1/edit", **fields).status_code == (200 if text == "\x00" else 400)
        ann.page("/samples/s-1")


ODD_PATHS = (
    "/samples/%00",
    "/samples/%00/history",
    "/documents/%00/text",
    "/?state=%00&task=%00",
    "/documents?language=%00&state=%00&offset=99999999",
    "/log?before=%00",
    "/log?before=999999999",
)


@IN_BOTH
def test_numbers_and_characters_that_a_database_cannot_hold(browser: Any, studio: Store) -> None:
    create(studio)
    ada = browser("ada")
    for path in ODD_PATHS:
        assert ada.client.get(path).status_code in (200, 404), path
    assert ada.post("/drafts/s-1/edit", version="99999999999999", body="{}").status_code == 200
    assert ada.post("/users", name="x\x00", role="reader").status_code == 400
    assert ada.post("/users/%00", what="off").status_code == 404
    assert Browser(ada.app).client.post("/login", data={"name": "\x00", "password": "\x00"}).status_code == 401


def test_large_bodies_are_refused_early(browser: Any, app: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {f"component-{number}": "" for number in range(visit.MOST_FIELDS + 1)}
    ann = browser("ann")
    for path in ("/samples", "/drafts/s-1/edit", "/documents/x"):
        answer = ann.client.post(path, json=fields, headers={"x-csrf": ann.csrf})
        assert answer.status_code == 400
        answer = ann.client.post(path, json={"a": "x" * (9 << 20)}, headers={"x-csrf": ann.csrf})
        assert answer.status_code == 413
    anyone = Browser(app).client
    large = "x" * (visit.MOST_BEFORE_LOGIN + 1)
    assert anyone.post("/login", data={"name": "ann", "password": large}).status_code == 413
    assert anyone.post("/samples", data={"task": large}).status_code == 401


@pytest.mark.slow
def test_slow_clients_stop_nobody(tmp_path: Path) -> None:
    place = str(tmp_path / "store")
    with closing(Store(place)) as store:
        fill(store)
    with serving(place, header_seconds=2) as (address, _):
        host, _, port = address.removeprefix("http://").partition(":")
        begun = []
        for number in range(80):  # more than one address may have open
            one = socket.create_connection((host, int(port)))
            one.sendall(b"POST /login HTTP/1.1\r\nHost: x\r\nX-Slow: " + b"a" * number)
            begun.append(one)
        with closing(http.client.HTTPConnection(host, int(port))) as connection:
            connection.request("GET", "/healthz")
            assert connection.getresponse().status == 200
        for one in begun:
            with one:
                try:
                    while one.recv(1 << 16):
                        pass
                except ConnectionError:
                    pass


# ------------------------------------------------------------------------------------ headers and messages


def test_every_answer_has_the_headers(browser: Any, app: Any, studio: Store) -> None:
    to_answer_review(studio)
    ada = browser("ada")
    answers = [ada.client.get(path) for path in addresses("s-1")]
    answers += [
        ada.client.get(path) for path in ("/none", "/static/studio.css", "/static/none", "/healthz", "/samples/x")
    ]
    answers += [ada.client.post("/logout"), ada.client.put("/"), TestClient(app).post("/samples"), ada.post("/users")]
    answers += [ada.client.post("/samples", content=b"x" * (9 << 20), headers={"x-csrf": ada.csrf})]
    assert {one.status_code for one in answers} >= {200, 303, 400, 401, 403, 404, 405, 413}
    for answer in answers:
        assert {name: answer.headers[name] for name in POLICY} == POLICY
        # Only what is the same for everybody, and texts whose right is checked each time, may be kept.
        kept = answer.headers["cache-control"]
        public = answer.url.path.startswith("/static/")
        assert kept == "no-store" or (public and kept == "no-cache") or answer.url.path.endswith("/text")
        assert answer.content == b"" or "content-type" in answer.headers
        assert "server" not in answer.headers
    text = ada.client.get(f"/documents/{DOCUMENT}/text")
    assert text.headers["cache-control"] == "private, no-cache"


def test_over_https_cookies_are_bound_to_the_host(studio: Store, people: People) -> None:
    one = Browser(make_app(studio, people, Settings(secure=True)), base="https://studio.test")
    answer = one.client.post("/login", data={"name": "ann", "password": PASSWORD})
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith("__Host-fathom-studio=")
    assert {"HttpOnly", "Secure", "Path=/", "SameSite=lax"} <= {part.strip() for part in cookie.split(";")}
    assert "domain" not in cookie.lower()
    assert "max-age=31536000" in answer.headers["strict-transport-security"]
    secret = one.client.cookies["__Host-fathom-studio"]
    other = TestClient(one.app, "https://studio.test", follow_redirects=False, headers={"accept": "text/html"})
    assert other.get("/account", headers={"cookie": f"fathom-studio={secret}"}).status_code == 303
    assert other.get("/account", headers={"cookie": f"__Host-fathom-studio={secret}"}).status_code == 200
    one.csrf = one.forms("/account")["/logout"]["csrf"]
    answer = one.post("/logout")
    assert answer.headers["set-cookie"].startswith('__Host-fathom-studio=""')
    assert "Secure" in answer.headers["set-cookie"]
    assert answer.headers["clear-site-data"] == '"cache"'
    assert one.client.get("/account").status_code == 303


@IN_BOTH
def test_an_internal_error_says_nothing_of_the_inside(
    browser: Any, studio: Store, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    ann = browser("ann")

    def broken(*_: object, **__: object) -> None:
        raise ValueError("secret of the inside")

    monkeypatch.setattr(type(studio), "matches", broken)
    for accept in ("text/html", "application/json"):
        answer = ann.client.get("/", headers={"accept": accept})
        assert answer.status_code == 500
        assert "secret" not in answer.text
        assert "Traceback" not in answer.text
        assert answer.headers["content-security-policy"] == POLICY["Content-Security-Policy"]
    assert "secret of the inside" in caplog.text, "the log of the server has it"
    ann.page("/account")


def test_the_log_of_the_server_has_logins_and_no_secrets(
    browser: Any, app: Any, people: People, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    ann = browser("ann")
    anyone = TestClient(app)
    anyone.post("/login", data={"name": "ann", "password": "a wrong password"})
    anyone.post("/login", data={"name": "typed-as-name", "password": "x"})
    anyone.get("/none%0a2026-01-01 login of ada from 10.0.0.1%1b[2J")
    browser("ray").client.get("/users")
    ann.post("/account/password", old=PASSWORD, new="nine other plain words", again="nine other plain words")
    said = [one.getMessage() for one in caplog.records if one.name.startswith("fathom")]
    assert "login of ann from testclient" in said
    assert "login of ann from testclient: refused" in said
    assert "login of (no account) from testclient: refused" in said
    assert "new password of ann by ann" in said
    assert any(re.fullmatch(r"testclient ray GET /users 403 [\d.]+s", one) for one in said)
    assert all("\n" not in one and "\x1b" not in one for one in said)
    whole = "\n".join(said)
    secrets = (
        PASSWORD,
        "a wrong password",
        "typed-as-name",
        "nine other",
        ann.csrf,
        ann.client.cookies["fathom-studio"],
    )
    assert not [one for one in secrets if one in whole]


# ------------------------------------------------------------------------------------------------ accounts


@pytest.mark.slow
def test_an_ended_session_opens_nothing(browser: Any, app: Any, people: People) -> None:
    ends: dict[str, Any] = {
        "logout": lambda one: one.post("/logout"),
        "role": lambda _: people.change("ann", role="reader"),
        "off": lambda _: people.change("ann", active=False),
        "password": lambda _: people.set_password("ann", PASSWORD),
        "others": lambda _: people.log_out_everywhere("ann"),
    }
    for what, end in ends.items():
        people.change("ann", role="annotator", active=True)
        ann = browser("ann")
        cookie = {"cookie": f"fathom-studio={ann.client.cookies['fathom-studio']}"}
        end(ann)
        thief = TestClient(app, follow_redirects=False, headers=cookie)
        for path in addresses("s-1"):
            if path != "/login":
                assert thief.get(path).status_code == 401, (what, path)
        assert thief.post("/samples", data={"csrf": ann.csrf, "document": DOCUMENT, "task": "qa"}).status_code == 401


def test_a_role_counts_as_it_is_now(browser: Any, studio: Store, people: People) -> None:
    """Also for a session that another server would still believe."""
    create(studio)
    token = {"authorization": f"Bearer {people.make_token('eve')}"}
    studio.set_person(Person("eve", "reader"), OPERATOR)
    client = TestClient(make_app(studio, people))
    assert client.post("/samples/s-1/reject", json={"version": "1", "reason": "x"}, headers=token).status_code == 403
    assert studio.sample("s-1").state == "drafted"


def test_tokens_of_the_wrong_kind_open_nothing(app: Any, people: People) -> None:
    client = TestClient(app, follow_redirects=False)
    good, other = people.make_token("ann"), people.make_token("bo")
    key, secret = other.split("-", 2)[1:]
    session = people.new_session("ann")
    mixed = f"fathom-{good.split('-')[1]}-{secret}"
    for wrong in (mixed, good.upper(), f"{good} ", good.replace("fathom", "fathom "), session, key, secret, ""):
        expected = 200 if wrong.strip() == good else 401
        assert client.get("/", headers={"authorization": f"Bearer {wrong}"}).status_code == expected, wrong
    assert client.get(f"/?token={good}&access_token={good}").status_code == 401, "not in the address"
    assert client.get("/", headers={"cookie": f"fathom-studio={good}"}).status_code == 401
    headers = {"authorization": f"Bearer {good}"}
    people.revoke_tokens("ann")
    assert client.get("/", headers=headers).status_code == 401
    late = People(people.store, lambda: 4_000_000_000.0, quick_hasher())
    expired = TestClient(make_app(people.store, late), follow_redirects=False)
    assert expired.get("/", headers={"authorization": f"Bearer {other}"}).status_code == 401
    people.change("bo", active=False)
    assert client.get("/", headers={"authorization": f"Bearer {other}"}).status_code == 401


def test_each_login_takes_the_same_work(people: People, monkeypatch: pytest.MonkeyPatch) -> None:
    people.change("bo", active=False)
    people.store.set_person(Person("zoe", "reader"), OPERATOR)  # without a password
    people._hash_of_nobody()
    calls: list[str] = []
    verify = type(people._hasher).verify
    monkeypatch.setattr(type(people._hasher), "verify", lambda *of: calls.append("") or verify(*of))  # type: ignore[func-returns-value]
    for at, name in enumerate(("ann", "bo", "zoe", "nobody", "a b", "", "x" * 500), start=1):
        with pytest.raises(Exception, match="name or password is wrong"):
            people.log_in(name, "wrong words", f"10.0.0.{at}")
        assert len(calls) == at, name


def at_once(app: Any, count: int, path: str, fields: dict[str, str], cookie: str = "") -> list[Any]:
    """The answers to one form that is sent so many times at once."""
    gate = threading.Barrier(count)
    headers = {"cookie": cookie} if cookie else {}
    with TestClient(app, follow_redirects=False) as client, ThreadPoolExecutor(count) as pool:

        def send(_: int) -> Any:
            gate.wait(60)
            return client.post(path, data=fields, headers=headers)

        return list(pool.map(send, range(count)))


@IN_BOTH
def test_failures_at_once_are_counted(app: Any) -> None:
    found = [one.status_code for one in at_once(app, 20, "/login", {"name": "ann", "password": "wrong"})]
    assert set(found) <= {401, 429}
    assert found.count(401) <= MOST_FAILURES + Settings().hashes


@IN_BOTH
def test_a_form_that_is_sent_twice_counts_once(browser: Any, app: Any, studio: Store) -> None:
    sample = to_answer_review(studio)
    bo = browser("bo")
    before = len(studio.log())
    fields = {"mark-0": "right", "mark-1": "right", "version": str(sample.version), "csrf": bo.csrf}
    cookie = f"fathom-studio={bo.client.cookies['fathom-studio']}"
    assert {one.status_code for one in at_once(app, 8, "/samples/s-1/review", fields, cookie)} == {303}
    assert len(studio.log()) == before + 1
    assert len(studio.sample("s-1").reviews) == 1
    assert audit(studio).problems == ()


@IN_BOTH
def test_logins_at_once_are_sessions_of_their_own(app: Any, people: People) -> None:
    found = at_once(app, 6, "/login", {"name": "ann", "password": PASSWORD})
    assert len({one.headers["set-cookie"] for one in found}) == 6
    assert 1 <= len(people.sessions("ann")) <= 6  # the cookie of one may have come along with the next


def test_changes_of_accounts_need_a_recent_password(studio: Store, people: People) -> None:
    clock = {"now": 1_800_000_000.0}
    known = People(studio, lambda: clock["now"], quick_hasher())
    ada = Browser(make_app(studio, known)).log_in("ada")
    assert ada.post("/users", name="yan", role="reader").status_code == 200
    clock["now"] += 31 * 60
    wrong: list[tuple[str, dict[str, str]]] = [
        ("/users", {"name": "zoe", "role": "administrator"}),
        ("/users/yan", {"what": "password"}),
        ("/account/sessions", {}),
    ]
    for path, fields in wrong:
        answer = ada.post(path, **fields)
        assert answer.status_code == 403
        assert "give your password again" in answer.text
    assert "give your password again" in ada.page("/users")
    assert ada.post("/account/confirm", password="wrong words here").status_code == 400
    old = ada.client.cookies["fathom-studio"]
    answer = ada.post("/account/confirm", password=PASSWORD, to="/users")
    assert answer.headers["location"] == "/users?done=confirmed"
    assert known.session(old) is None, "another session began"
    ada.csrf = ada.forms("/users")["/logout"]["csrf"]
    assert ada.post("/users", name="zoe", role="reader").status_code == 200


def test_people_see_their_sessions_and_end_them(browser: Any, people: People) -> None:
    phone, desk, other = browser("ann"), browser("ann"), browser("bo")
    assert desk.page("/account").count("/account/sessions") == 3
    (theirs,) = people.sessions("bo")
    desk.post("/account/sessions", id=theirs.id)
    other.page("/account")
    phone.page("/account")
    assert desk.post("/account/sessions").status_code == 303
    assert phone.client.get("/account").status_code == 303
    desk.page("/account")
    (mine,) = people.sessions("ann")
    desk.post("/account/sessions", id=mine.id)
    assert desk.client.get("/account").status_code == 303
    ada = browser("ada")
    assert ada.post("/users/bo", what="sessions").status_code == 303
    assert other.client.get("/account").status_code == 303


def test_a_person_sends_so_many_forms_an_hour(studio: Store, people: People) -> None:
    create(studio)
    ann = Browser(make_app(studio, people, Settings(per_hour=3))).log_in("ann")
    fields = {"version": "1", "body": "{}"}
    for _ in range(3):
        assert ann.post("/drafts/s-1/write", **fields).status_code == 200
    answer = ann.post("/drafts/s-1/write", **fields)
    assert answer.status_code == 429
    assert int(answer.headers["retry-after"]) > 0
    Browser(ann.app).log_in("bo").page("/")
