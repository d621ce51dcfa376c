"""Figures for each annotator, and who they are together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from fathom.storage.validation import RecordError
from fathom.studio.annotators import Profile, annotators, background, profile_of, save_profile
from fathom.studio.comments import comment
from fathom.studio.histories import Histories
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import Adjudicate, ExpertReturn, Select, SubmitForReview
from fathom.studio.web.app import make_app
from studio_browser import Browser
from studio_stores import IN_BOTH, PASSWORD, PEOPLE, create, person, quick_hasher, review, to_answer_review, usual_place

place = pytest.fixture(usual_place)


def figures(store: Store) -> dict[str, Any]:
    return {row.name: row for row in annotators(Histories(store).all().values(), store.staff().people)}


@IN_BOTH
def test_reviews_count_once_they_are_decided(studio: Store) -> None:
    sample = to_answer_review(studio)
    studio.act(review(sample), person("bo"))
    rows = figures(studio)
    assert (rows["bo"].samples, rows["bo"].reviews, rows["bo"].hours) == (0, 0, 0)
    assert (rows["ann"].selected, rows["ann"].passed, rows["eve"].decided) == (1, 1, 1)
    now = studio.act(review(sample, good=False), person("cy"))
    assert figures(studio)["cy"].reviews == 0, "an expert has not decided yet"
    studio.act(Adjudicate("s-1", now.version, "reconstruct", "no"), person("ed"))
    rows = figures(studio)
    assert (rows["bo"].problems, rows["bo"].upheld, rows["bo"].overruled) == (0, 0, 1)
    assert (rows["cy"].problems, rows["cy"].upheld, rows["cy"].overruled) == (1, 1, 0)
    assert rows["cy"].hours == round(30 / 3600, 3)
    assert "ray" not in rows


@IN_BOTH
def test_what_an_expert_returned_counts_for_who_handed_it_over(studio: Store) -> None:
    create(studio)
    studio.act(Select("s-1", 1, "c1"), person("ann"))
    studio.act(SubmitForReview("s-1", 2), person("bo"))
    studio.act(ExpertReturn("s-1", 3, "unclear"), person("eve"))
    rows = figures(studio)
    assert (rows["bo"].returned, rows["ann"].returned) == (1, 0)


@IN_BOTH
def test_profiles_are_counted_and_can_be_deleted(studio: Store) -> None:
    save_profile(studio, "ann", Profile(age="23 to 27", subject=" Law "))
    save_profile(studio, "eve", Profile(degree="master", subject="Law"))
    assert profile_of(studio, "ann").subject == "Law"
    counts = {(row["about"], row["value"]): row["people"] for row in background(studio)}
    assert counts["subject", "Law"] == 2
    assert counts["age", "not said"] == 5
    assert counts["role", "annotator"] == 3
    save_profile(studio, "ann", Profile())
    assert profile_of(studio, "ann") == Profile()
    with pytest.raises(RecordError):
        save_profile(studio, "ann", Profile(age="17"))  # type: ignore[arg-type]


def test_everybody_sees_their_own_figures_and_experts_all(studio: Store) -> None:
    people = People(studio, hasher=quick_hasher())
    for name in PEOPLE:
        people.set_password(name, PASSWORD)
    app = make_app(studio, people)
    to_answer_review(studio)
    ann, eve, ada = (Browser(app).log_in(name) for name in ("ann", "eve", "ada"))
    assert '<th scope="row">ann</th>' in ann.page("/annotators")
    assert '<th scope="row">eve</th>' not in ann.page("/annotators")
    assert '<th scope="row">bo</th>' in eve.page("/annotators")
    assert ann.send("/account", "/account/profile", age="28 to 32", subject="History").status_code == 303
    assert ann.post("/account/profile", age="17").status_code == 400
    assert "History" not in eve.page("/annotators")
    assert "History" in ada.page("/annotators")
    assert Browser(app).log_in("ray").client.get("/annotators").status_code == 403


def test_the_command_prints_them(studio: Store, call: Call, tmp_path: Path) -> None:
    sample = to_answer_review(studio)
    comment(studio, sample, "Is it dark?", person("bo"))
    place = str(tmp_path / "store")
    rows = json.loads(call("studio", "stats", "--store", place, "--by", "annotator", "--json")[1])
    assert next(row for row in rows if row["name"] == "ann")["selected"] == 1
    assert "annotator" in call("studio", "stats", "--store", place, "--by", "background")[1]
    (row,) = json.loads(call("studio", "stats", "--store", place, "--by", "comment", "--json")[1])
    assert (row["sample"], row["by"], row["comment"]) == ("s-1", "bo", "Is it dark?")
