"""Fixtures of the studio's tests: stores in SQLite and in a real PostgreSQL, people and samples."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fathom.studio.types import (
    Candidate,
    Component,
    ComponentVerdict,
    Content,
    Create,
    Evidence,
    ExpertPass,
    Person,
    Role,
    Sample,
    Select,
    Standardise,
    StudioDocument,
    SubmitForReview,
    SubmitReview,
)

if TYPE_CHECKING:
    from argon2 import PasswordHasher

    from fathom.studio.store import Store

TEXT = "The lamp was lit by Ida at six.\nNobody saw the boat before noon.\n" * 40
DOCUMENT = hashlib.sha256(TEXT.encode()).hexdigest()[:32]
PEOPLE: dict[str, Role] = {
    "ann": "annotator",
    "bo": "annotator",
    "cy": "annotator",
    "eve": "expert",
    "ed": "expert",
    "ada": "administrator",
    "ray": "reader",
}
PASSWORD = "a lamp at six o'clock"


OPERATOR = Person("operator", "administrator")


def person(name: str) -> Person:
    """Somebody in the store of tests."""
    return Person(name, PEOPLE[name])


def prompts(question: str) -> tuple[str, str]:
    """The prompts of a question that are without fault."""
    thinking = "Reason step by step, then write [Answer] and the answer."
    return f"{question}\n{thinking}", f"{question}\nWrite [Answer] and the answer."


def content(*components: str, question: str = "Who lit the lamp?") -> Content:
    """A question with its own prompts and an answer whose first component has evidence."""
    evidence = (Evidence(DOCUMENT, 20, 23, "Ida"),)
    texts = components or ("Ida", "at six")
    parts = tuple(Component(text, evidence if at == 0 else ()) for at, text in enumerate(texts))
    return Content(question, parts, "It needs one passage.", "Find the lamp.", "partial", *prompts(question))


def fill(store: Store) -> None:
    """People and a document."""
    for name, role in PEOPLE.items():
        store.set_person(Person(name, role), OPERATOR)
    store.add_document(StudioDocument(DOCUMENT, "The lamp", "en", "made", "CC0", 700, 8192), TEXT)


def create(store: Store, id: str = "s-1") -> Sample:
    """A drafted sample with two candidates; another id asks another question, as samples over one document must."""
    question = "Who lit the lamp?" if id == "s-1" else f"Who lit the lamp of {id}?"
    candidates = (
        Candidate("c1", "model/a", content(question=question), 0.02, 3.0),
        Candidate("c2", "model/b", content("Ida", question=question), 0.01, 2.0),
    )
    return store.act(Create(id, "qa", "en", 8192, (DOCUMENT,), candidates), OPERATOR)


def to_answer_review(store: Store, id: str = "s-1", expert: str = "eve") -> Sample:
    """A sample that awaits two reviews, selected by ann and passed by an expert."""
    now = create(store, id)
    now = store.act(Select(id, now.version, "c1", seconds=60.0), person("ann"))
    now = store.act(SubmitForReview(id, now.version), person("ann"))
    now = store.act(ExpertPass(id, now.version, seconds=120.0), person(expert))
    return store.act(Standardise(id, now.version, *prompts(now.content.question), seconds=5.0), person("ann"))


def review(sample: Sample, *, good: bool = True, seconds: float = 30.0) -> SubmitReview:
    """A review of a sample with two components."""
    verdicts = tuple(ComponentVerdict("right") for _ in sample.content.components)
    if good:
        return SubmitReview(sample.id, sample.version, verdicts, (), "pass", seconds=seconds)
    wrong = (replace(verdicts[0], mark="wrong", note="It was Bo."), *verdicts[1:])
    return SubmitReview(sample.id, sample.version, wrong, (Component("at noon"),), "problem", seconds=seconds)


def usual_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where the store is: a folder, or what a test asks for that depends on the database; a fixture ``place``."""
    if getattr(request, "param", "sqlite") == "sqlite":
        return str(tmp_path / "store")
    url: str = request.getfixturevalue("new_database")
    return url


IN_BOTH = pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgresql", marks=[pytest.mark.slow, pytest.mark.long])], indirect=True
)
"""For tests of pages that depend on the database; `make test` has the whole pipeline in PostgreSQL."""


@pytest.fixture
def studio(place: str) -> Iterator[Store]:
    """A store with people and a document, in SQLite and in PostgreSQL."""
    from fathom.studio.store import Store

    with closing(Store(place)) as opened:
        fill(opened)
        yield opened


def quick_hasher() -> PasswordHasher:
    """Hashes passwords quickly, which real ones must not be."""
    from argon2 import PasswordHasher

    return PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)
