"""The page of a sample: reviews in two steps, claims of models, and who sees what models said."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, event, given, settings
from hypothesis import strategies as st
from test_states import ONWARD, made

from fathom.studio.auditing import audit
from fathom.studio.critique import CRITIQUE, CRITIQUE_DECISION, Claim, Critique, Objection
from fathom.studio.people import People
from fathom.studio.records import as_record, canonical
from fathom.studio.states import RULES, RefusedError, StaleError, sees_claims
from fathom.studio.store import Store
from fathom.studio.types import (
    Action,
    AddPredictions,
    Adjudicate,
    Component,
    Edit,
    Evidence,
    ExpertPass,
    Note,
    Prediction,
    Sample,
    Select,
    SubmitForReview,
    SubmitReview,
    SubmitVerdicts,
    Write,
)
from fathom.studio.web.app import make_app
from fathom.studio.web.visit import Settings, mined_key
from studio_browser import Browser, Forms
from studio_stores import (
    DOCUMENT,
    OPERATOR,
    PASSWORD,
    PEOPLE,
    TEXT,
    create,
    fill,
    person,
    quick_hasher,
    review,
    to_answer_review,
)

NOON, QUAY = "before noon <b>", "at the quay"
ANSWERS = (
    Prediction("model/a", ("ida", QUAY, NOON)),
    Prediction("model/b", ("At six", NOON)),
    Prediction("model/a", ("Ida",), closed_book=True, score=1.0),
    Prediction("model/b", ("Secret guess",), closed_book=True, score=0.0),
)
CLAIMED, OBJECTED = "The claim of a model <i>", "The objection of another"
CLAIMS = (
    Claim("wrong", 0, "", CLAIMED),
    Claim("missing", None, "noon", CLAIMED, (Evidence(DOCUMENT, 20, 23, "Ida"),)),
)
PAGE = "/samples/s-1"
RIGHT = {"mark_0": "right", "mark_1": "right"}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with closing(Store(str(tmp_path_factory.mktemp("studio") / "all"))) as opened:
        fill(opened)
        yield opened


@pytest.fixture(scope="module")
def team(store: Store) -> dict[str, Browser]:
    """Everybody's browser."""
    people = People(store, hasher=quick_hasher())
    for name in PEOPLE:
        people.set_password(name, PASSWORD)
    app: Any = make_app(store, people, Settings())
    return {name: Browser(app).log_in(name) for name in PEOPLE}


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Any]:
    """A store of its own for one test, with a sample in answer review; and browsers."""
    with closing(Store(str(tmp_path / "store"))) as opened:
        fill(opened)
        to_answer_review(opened)
        people = People(opened, hasher=quick_hasher())
        for name in PEOPLE:
            people.set_password(name, PASSWORD)
        app: Any = make_app(opened, people, Settings())
        yield opened, lambda name: Browser(app).log_in(name)


def answer(store: Store, id: str = "s-1", answers: tuple[Prediction, ...] = ANSWERS) -> None:
    store.act(AddPredictions(id, store.sample(id).version, answers), OPERATOR)


def criticise(store: Store, id: str = "s-1") -> int:
    objections = (Objection("fails", OBJECTED), Objection("holds", OBJECTED))
    found = Critique(id, store.sample(id).version, "model/c", CLAIMS, "model/d", objections)
    return store.note(Note(CRITIQUE, id, canonical(as_record(found))), OPERATOR).number


def seen(browser: Browser, path: str = PAGE) -> str:
    return browser.page(path).replace("&lt;", "<").replace("&gt;", ">")


def test_a_review_in_two_steps(own: Any) -> None:
    store, browser = own
    answer(store)
    bo = browser("bo")
    form = bo.forms(PAGE)
    assert f"{PAGE}/verdicts" in form
    assert f"{PAGE}/review" not in form
    assert NOON not in seen(bo)
    typed = {"mark_0": "wrong", "note_0": "It was Bo.", "mark_1": "right", "missing_0": "AT THE QUAY"}
    sent = bo.send(PAGE, f"{PAGE}/verdicts", **typed)
    assert sent.headers["location"] == f"{PAGE}?done=verdicts"
    assert store.sample("s-1").reviews == ()
    page = seen(bo)
    assert f"{NOON} <small>2 of 2 models" in page
    assert f'data-find="{QUAY}"' not in page, "the reviewer found it without the models"
    assert "model/a" not in page
    assert "Secret guess" not in page
    assert (
        bo.forms(PAGE)[f"{PAGE}/review"] | {"mark-0": "wrong", "note-0": "It was Bo."}
        == bo.forms(PAGE)[f"{PAGE}/review"]
    )
    key = mined_key(NOON)
    without = bo.send(PAGE, f"{PAGE}/review")
    assert without.status_code == 400
    assert "which models found, is missing; choose one" in without.text
    evidence = json.dumps([{"document": DOCUMENT, "start": 20, "end": 23, "quote": "Ida"}])
    taken = {f"mined-{key}": "missing", f"mined-evidence-{key}": evidence, "mark_0": "right"}
    assert bo.send(PAGE, f"{PAGE}/review", **taken).status_code == 303
    sample = store.sample("s-1")
    (first,), (last,) = sample.first_verdicts, sample.reviews
    assert [one.mark for one in first.verdicts] == ["wrong", "right"]
    assert [one.mark for one in last.verdicts] == ["right", "right"]
    assert [one.text for one in last.missing] == ["AT THE QUAY", NOON]
    assert last.missing[1].evidence[0].quote == "Ida"
    assert last.verdict == "problem"
    cy = browser("cy")
    assert NOON not in seen(cy)
    cy.send(PAGE, f"{PAGE}/verdicts", **RIGHT)
    no = {f"mined-{mined_key(one)}": "not missing" for one in (NOON, QUAY)}
    assert cy.send(PAGE, f"{PAGE}/review", **no).status_code == 303
    sample = store.sample("s-1")
    assert (sample.state, sample.reviews[1].not_missing) == ("adjudication", (NOON, QUAY))
    page = seen(browser("ed"))
    assert "(wrong before the models' answers)" in page.replace("&#39;", "'")
    assert page.count(NOON) == 2, "missing for one of them, not for the other"
    assert QUAY not in page, "nobody says that it is missing"
    assert audit(store).problems == ()


def test_models_that_answer_meanwhile_lose_nothing(own: Any) -> None:
    store, browser = own
    bo = browser("bo")
    form = bo.forms(PAGE)[f"{PAGE}/review"] | {"mark-0": "right", "mark-1": "unsure", "note-1": "Half past?"}
    answer(store)
    refused = bo.client.post(f"{PAGE}/review", data=form | {"missing-0": "on the pier", "reason": "Odd."})
    assert refused.status_code == 409
    assert "send your own verdicts first" in refused.text
    again = Forms(refused.text).found[f"{PAGE}/verdicts"]
    kept = ("mark-1", "note-1", "missing-0", "reason")
    assert [again[name] for name in kept] == ["unsure", "Half past?", "on the pier", "Odd."]
    assert bo.client.post(f"{PAGE}/verdicts", data=again).status_code == 303
    assert bo.forms(PAGE)[f"{PAGE}/review"]["missing-0"] == "on the pier"


def test_a_draft_of_the_second_step_is_restored_by_what_it_is_about(own: Any) -> None:
    store, browser = own
    answer(store, answers=ANSWERS[:1])
    bo = browser("bo")
    bo.send(PAGE, f"{PAGE}/verdicts", **RIGHT)
    key = mined_key(NOON)
    evidence = json.dumps([{"document": DOCUMENT, "start": 20, "end": 23, "quote": "Ida"}])
    typed = {"mark-0": "right", "mark-1": "wrong", f"mined-{key}": "missing", f"mined-evidence-{key}": evidence}
    body = {"version": str(store.sample("s-1").version), "body": json.dumps(typed)}
    assert bo.client.post("/drafts/s-1/review", json=body, headers={"x-csrf": bo.csrf}).status_code == 200
    answer(store, answers=(Prediction("model/z", ("another", NOON)), Prediction("model/y", ("another", NOON))))
    form = bo.forms(PAGE)[f"{PAGE}/review"]
    assert (form[f"mined-{key}"], form[f"mined-evidence-{key}"]) == ("missing", evidence)
    assert f"mined-{mined_key('another')}" not in form
    assert form["mark-1"] == "wrong"


def test_without_answers_of_models_one_step_is_enough(own: Any) -> None:
    store, browser = own
    answer(store, answers=ANSWERS[2:])  # without the text
    assert browser("bo").send(PAGE, f"{PAGE}/review", **RIGHT).status_code == 303
    assert store.sample("s-1").reviews[0].verdict == "pass"


def test_names_of_reviewers_are_hidden_in_both_steps(own: Any) -> None:
    store, browser = own
    answer(store)
    number = criticise(store)
    bo = browser("bo")
    bo.send(PAGE, f"{PAGE}/verdicts", **RIGHT)
    decided = bo.post(f"{PAGE}/claims", critique=str(number), claim="0", decision="holds", reason="So it is.")
    assert decided.status_code == 303
    for name, path in (("ada", "/log"), ("cy", f"{PAGE}/history"), ("ada", f"{PAGE}/history")):
        page = browser(name).page(path)
        assert "sent first verdicts" in page
        assert re.search(r"<td>bo</td><td>(sent first verdicts|decided on a claim)", page) is None
    cy = browser("cy")
    cy.send(PAGE, f"{PAGE}/verdicts", **RIGHT)
    assert CLAIMED in seen(cy)
    assert "So it is." not in seen(cy)


def test_claims_are_not_seen_before_the_own_verdicts(own: Any) -> None:
    store, browser = own
    criticise(store)
    reviewers = [browser(name) for name in ("bo", "cy", "eve")]
    assert not any(CLAIMED in seen(one) for one in reviewers), "one step: their verdicts are the whole review"
    answer(store)
    assert not any(CLAIMED in seen(one) for one in reviewers), "the first of two steps"
    reviewers[0].send(PAGE, f"{PAGE}/verdicts", **RIGHT)
    assert [CLAIMED in seen(one) for one in reviewers] == [True, False, False]


@pytest.mark.slow
def test_an_adjudicator_sees_decisions_on_claims_without_names(own: Any) -> None:
    store, browser = own
    number = criticise(store)
    answer(store)
    for name in ("bo", "cy"):
        one = browser(name)
        one.send(PAGE, f"{PAGE}/verdicts", **RIGHT)
        if name == "bo":
            one.post(f"{PAGE}/claims", critique=str(number), claim="0", decision="holds", reason="So it is.")
        store.act(review(store.sample("s-1"), good=False), person(name))
    for path in (PAGE, f"{PAGE}/history", "/"):
        page = browser("ed").page(path)
        assert [name for name in ("ann", "bo", "cy", "eve") if f">{name}<" in page] == [], path
    page = seen(browser("ed"))
    assert "So it is." in page
    assert "<strong>Somebody: holds.</strong>" in page
    assert "bo" not in re.findall(r"<strong>(\w+): ", page)


def test_people_decide_on_claims(own: Any) -> None:
    store, browser = own
    ann, eve = browser("ann"), browser("eve")
    create(store, "s-2")
    page = "/samples/s-2"
    ann.send(page, f"{page}/select")
    old = criticise(store, "s-2")
    now = store.sample("s-2")
    store.act(Edit("s-2", now.version, replace(now.content, rationale="Another.")), person("ann"))
    number = criticise(store, "s-2")
    text = seen(ann, page)
    assert text.index("Missing: ") < text.index("Wrong: ") < text.index("About version 2; the sample was edited since.")
    assert "2 claims of models" in text
    assert CLAIMED in text
    assert "<i>" not in ann.page(page)
    about = {"critique": str(number), "claim": "1", "decision": "holds"}
    for wrong in ({}, {"reason": " "}, {"reason": "x", "decision": "maybe"}, {"reason": "x", "claim": "9"},
                  {"reason": "x", "critique": "1"}):  # fmt: skip
        assert ann.post(f"{page}/claims", **about | wrong).status_code == 409
    said = ann.post(f"{page}/claims", **about, reason="Noon <u>", version=str(now.version + 1))
    assert said.headers["location"] == f"{page}?done=claim#claims"
    ann.post(f"{page}/claims", critique=str(old), claim="0", decision="does_not_hold", reason="Old.")
    assert "Noon <u>" in seen(ann, page)
    assert "1 claim of models" in seen(ann, page)
    store.act(SubmitForReview("s-2", store.sample("s-2").version), person("ann"))
    text = seen(eve, page)
    assert "ann: holds." in text
    assert eve.post(f"{page}/claims", **about | {"decision": "does_not_hold"}, reason="No.").status_code == 303
    assert CLAIMED not in seen(ann, page)
    assert ann.post(f"{page}/claims", **about, reason="Too late.").status_code == 409
    notes = [json.loads(one.note.body) for one in store.notes(topic=CRITIQUE_DECISION, subject="s-2")]
    assert [(one["critique"], one["claim"], one["decision"]) for one in notes] == [
        (number, 1, "holds"), (old, 0, "does_not_hold"), (number, 1, "does_not_hold")
    ]  # fmt: skip
    assert notes[0]["version"] == now.version + 1
    assert audit(store).problems == ()


def test_who_decides_on_the_question_sees_what_models_know(own: Any) -> None:
    store, browser = own
    words = "1 of 2 models answer it without the text. They know the answer or guess it"
    answer(store)
    for name in PEOPLE:
        assert "without the text" not in browser(name).page(PAGE)
    create(store, "s-2")
    store.act(Select("s-2", 1, "c1"), person("ann"))
    answer(store, "s-2")
    assert words in browser("ann").page("/samples/s-2")
    assert "without the text" not in browser("ray").page("/samples/s-2")
    store.act(SubmitForReview("s-2", 2), person("ann"))
    assert words in browser("eve").page("/samples/s-2")
    assert "without the text" not in browser("bo").page("/samples/s-2")


moves = st.tuples(
    st.sampled_from(list(PEOPLE)), st.sampled_from([*RULES, AddPredictions]), st.integers(0, 9), st.booleans()
)


def _random(kind: type[Action], sample: Sample, negative: bool) -> Action:
    action = made(kind, sample)
    if isinstance(action, AddPredictions):
        return replace(action, predictions=ANSWERS)
    if isinstance(action, Adjudicate) and negative:
        return replace(action, decision="reconstruct")
    if isinstance(action, SubmitReview):
        action = replace(action, not_missing=(QUAY,))
        return replace(action, verdict="problem", note="no", missing=(Component("else"),)) if negative else action
    return action


@pytest.mark.slow
@settings(
    max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), phases=(Phase.explicit, Phase.generate)
)
@given(st.lists(moves, min_size=8, max_size=40), st.booleans())
def test_nobody_sees_what_models_said_before_their_own_verdicts(
    store: Store, team: dict[str, Browser], did: list[tuple[str, type[Action], int, bool]], late: bool
) -> None:
    id = f"s-{store.head().number}"
    sample = to_answer_review(store, id) if late else create(store, id)
    if late:
        criticise(store, id)
        answer(store, id)
    for name, kind, choice, negative in did:
        onward = ONWARD[sample.state]
        kind = onward[choice % len(onward)] if choice and onward else kind
        try:
            sample = store.act(_random(kind, sample, negative), person(name))
        except (RefusedError, StaleError):
            continue
        if kind in (Select, Write, ExpertPass):
            criticise(store, id)
    event(f"{sample.state} in round {sample.round}")
    for name, browser in team.items():
        pages = [seen(browser, f"/samples/{id}"), seen(browser, f"/samples/{id}/history"), seen(browser, "/")]
        pages += [seen(browser, "/log")] if name == "ada" else []
        text = "".join(pages)
        judged = sample.judged_by(name) is not None
        if judged:
            event("after their verdicts")
        assert judged or not any(secret in text for secret in (NOON, QUAY)), (sample.state, name)
        assert "Secret guess" not in text
        assert sees_claims(sample, person(name)) == (CLAIMED in text) == (OBJECTED in text)
        if sample.state in ("standardised", "answer_review") and not judged:
            assert CLAIMED not in text
            assert OBJECTED not in text


def test_first_verdicts_are_checked_like_a_review(own: Any) -> None:
    store, browser = own
    answer(store)
    bo = browser("bo")
    for fields in ({"mark_0": "right"}, {**RIGHT, "problem": "1"}, {**RIGHT, "mark_0": "maybe"}):
        assert bo.send(PAGE, f"{PAGE}/verdicts", **fields).status_code in (400, 409)
    assert store.sample("s-1").first_verdicts == ()
    assert browser("ann").send(PAGE, f"{PAGE}/verdicts", **RIGHT).status_code == 303, "selecting is not writing"
    sample = store.sample("s-1")
    once = SubmitVerdicts("s-1", sample.version, review(sample).verdicts, (), "pass")
    store.act(once, person("bo"))
    assert store.act(once, person("bo")) == store.sample("s-1"), "sent again after a lost response"
    assert len(store.sample("s-1").first_verdicts) == 2
    wrong = replace(once, missing=(Component("x", (Evidence(DOCUMENT, 0, 3, TEXT[1:4]),)),), verdict="problem")
    with pytest.raises(RefusedError, match="mark it again"):
        store.act(wrong, person("cy"))
