"""Drafters answer each other's candidates; other drafts come back or are merged; where none fits, the next comes."""

from __future__ import annotations

import json
from typing import Any

import pytest

from fathom.studio.asking import Asking
from fathom.studio.auditing import audit
from fathom.studio.people import People
from fathom.studio.store import AT_SERVER, Store
from fathom.studio.trials import TRIAL, read_trial, to_try, trial_counts
from fathom.studio.types import AddCandidates, Candidate, Create, NoneFits, Reject, Select, StudioDocument
from fathom.studio.web.app import make_app
from fathom.studio.work import DraftPlan, planned, predict_samples
from made_studio import TASKS, made_document, made_sample, made_text
from studio_browser import Browser
from studio_stores import (
    DOCUMENT,
    IN_BOTH,
    PASSWORD,
    PEOPLE,
    content,
    create,
    person,
    quick_hasher,
    to_answer_review,
    usual_place,
)

place = pytest.fixture(usual_place)
BASELINES = ("fathom/lexical", "fathom/guess")


@pytest.fixture
def browser(studio: Store) -> Any:
    people = People(studio, hasher=quick_hasher())
    for name in PEOPLE:
        people.set_password(name, PASSWORD)
    app = make_app(studio, people)
    return lambda name: Browser(app).log_in(name)


def with_drafts(studio: Store) -> None:
    """A drafted sample with a right candidate of a model, and one of a baseline."""
    text = made_text(1)
    studio.add_document(made_document(text), text)
    made = made_sample("s-9", (text,))
    drafts = tuple(Candidate(f"c{at}", name, made.content) for at, name in enumerate(("model/a", "fathom/guess")))
    studio.act(Create("s-9", made.task, "en", 8192, made.documents, drafts), AT_SERVER)


def test_drafters_answer_the_candidates_of_others_once_and_only_counts_are_kept(studio: Store) -> None:
    with_drafts(studio)
    models = [Asking(name) for name in BASELINES]
    for closed_book in (False, True):
        done = predict_samples(studio, TASKS, models, states=("drafted",), closed_book=closed_book)
        assert (done.done, done.failed) == (3, ()), "not its own candidate"
        again = predict_samples(studio, TASKS, models, states=("drafted",), closed_book=closed_book)
        assert again.done == 0
    notes = studio.notes(topic=TRIAL, subject="s-9")
    assert {(read_trial(note).candidate, read_trial(note).model) for note in notes} == {
        ("c0", "fathom/lexical"),
        ("c0", "fathom/guess"),
        ("c1", "fathom/lexical"),
    }
    counts = trial_counts(notes)
    assert (counts["c0"].asked, counts["c0"].asked_closed, counts["c1"].asked) == (2, 2, 1)
    assert studio.sample("s-9").predictions == ()
    assert to_try([studio.sample("s-9")], notes, "model/b")[0].content == studio.sample("s-9").candidates[0].content
    assert audit(studio).problems == ()


def test_counts_are_seen_before_a_draft_is_selected_and_never_after(studio: Store, browser: Any) -> None:
    with_drafts(studio)
    predict_samples(studio, TASKS, [Asking(name) for name in BASELINES], states=("drafted",))
    ann = browser("ann")
    assert "of 2 other drafters answer it like this with the text" in ann.page("/samples/s-9")
    assert "answered a draft" in ann.page("/samples/s-9/history")
    studio.act(Select("s-9", 1, "c0"), person("ann"))
    assert "other drafters" not in ann.page("/samples/s-9")


@IN_BOTH
def test_another_draft_is_brought_back_or_merged(studio: Store, browser: Any) -> None:
    create(studio)
    other = content("Bo", "at six")
    studio.act(AddCandidates("s-1", 1, (Candidate("c3", "model/c", other),)), AT_SERVER)
    ann = browser("ann")
    ann.send("/samples/s-1", "/samples/s-1/select", candidate="c1")
    assert "Other drafts (2)" in ann.page("/samples/s-1")
    assert ann.send("/samples/s-1", "/samples/s-1/select", candidate="c2").status_code == 303
    back = studio.sample("s-1")
    assert ([part.text for part in back.content.components], back.writers, back.version) == (["Ida"], (), 3)
    assert ann.send("/samples/s-1", "/samples/s-1/select", candidate="c2").status_code == 409
    assert ann.send("/samples/s-1", "/samples/s-1/merge", candidate="c3").status_code == 303
    both = studio.sample("s-1")
    assert [part.text for part in both.content.components] == ["Ida", "Bo", "at six"]
    assert both.writers == ("ann",), "merging is writing"
    assert ann.send("/samples/s-1", "/samples/s-1/merge", candidate="c3").status_code == 409
    assert ann.send("/samples/s-1", "/samples/s-1/merge", candidate="c9").status_code == 404
    assert audit(studio).problems == ()


@IN_BOTH
@pytest.mark.parametrize("form", ["select", "merge"])
def test_what_was_typed_before_another_draft_comes_is_shown(studio: Store, browser: Any, form: str) -> None:
    create(studio)
    ann, page = browser("ann"), "/samples/s-1"
    ann.send(page, f"{page}/select", candidate="c2")
    studio.save_draft("ann", "s-1", "edit", 2, json.dumps({"solution": "I typed this.", "component-0": "Ida"}))
    assert ann.send(page, f"{page}/{form}", candidate="c1").status_code == 303
    shown = ann.page(page)
    assert "What you typed and what is stored now" in shown
    assert '<td class="said">I typed this.</td><td class="said">Find the lamp.</td>' in shown
    ann.send(page, f"{page}/edit", solution="I typed this.")
    assert "What you typed" not in ann.page(page)


@IN_BOTH
def test_where_no_draft_fits_the_next_document_comes(studio: Store, browser: Any) -> None:
    more = StudioDocument("d2", "The boat", "en", "made", "CC0", 700, 8192, "available")
    studio.add_document(more, "The boat left at noon.")
    create(studio)
    bo = browser("bo")
    answer = bo.send("/samples/s-1", "/samples/s-1/none_fits")
    assert studio.sample("s-1").state == "rejected"
    id = answer.headers["location"].partition("/samples/")[2].partition("?")[0]
    begun = studio.sample(id)
    assert (begun.state, begun.documents, begun.task) == ("drafted", ("d2",), "qa")
    studio.act(Create("s-3", "qa", "en", 8192, (DOCUMENT,)), person("cy"))
    again = bo.send(f"/samples/{id}", f"/samples/{id}/none_fits")
    assert again.headers["location"] == "/samples/s-3?done=none_fits", "a draft that waits comes first"
    last = bo.send("/samples/s-3", "/samples/s-3/none_fits")
    assert last.headers["location"] == "/?done=no_document"
    to_answer_review(studio, "s-8")
    assert "/samples/s-8/none_fits" not in bo.forms("/samples/s-8")
    assert audit(studio).problems == ()


def add(studio: Store, *ids: str, tokens: int, bucket: int) -> None:
    for id in ids:
        document = StudioDocument(id, id, "en", "made", "CC0", tokens, bucket, "available")
        studio.add_document(document, f"The boat {id} left at noon.")


@IN_BOTH
def test_where_no_draft_fits_the_next_sample_is_as_long_and_has_as_many_documents(studio: Store, browser: Any) -> None:
    add(studio, "a", "b", tokens=300, bucket=0)
    add(studio, *"cdefgh", tokens=2700, bucket=0)
    studio.act(Create("s-1", "qa", "en", 0, ("a",)), person("ann"))
    studio.act(Create("s-2", "qa", "en", 8192, ("c", "d", "e")), person("ann"))
    create(studio, "s-8")
    bo = browser("bo")

    def next_of(id: str) -> str:
        to: str = bo.send(f"/samples/{id}", f"/samples/{id}/none_fits").headers["location"]
        return to.removeprefix("/samples/").removesuffix("?done=none_fits")

    begun = studio.sample(next_of("s-1"))
    assert (begun.bucket, begun.documents) == (0, ("b",)), "not one that is in a bucket"
    group = studio.sample(next_of("s-2"))
    assert group.bucket == 8192
    assert {"f", "g", "h"} <= set(group.documents) <= set("abfgh")
    assert next_of(group.id) == "/?done=no_document"


def test_a_document_on_which_no_draft_fitted_is_not_the_next_one_of_its_task(studio: Store) -> None:
    add(studio, "d1", "d2", tokens=700, bucket=8192)
    plans = [DraftPlan("T5.2", bucket=8192, seed=seed) for seed in range(8)]
    task = planned(plans[0], studio, TASKS)[0].task
    for id, end in (("s-1", NoneFits("s-1", 1)), ("s-2", Reject("s-2", 1, "no"))):
        studio.act(Create(id, task, "en", 8192, (f"d{id[-1]}",)), person("ann"))
        studio.act(end, person("eve"))
    assert {planned(plan, studio, TASKS)[0].documents for plan in plans} == {("d2",)}
