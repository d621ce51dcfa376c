"""Figures for each annotator, and who they are together (LongBench Pro, appendix C with its figure 11).

What somebody says about themselves is voluntary, is in no log, and can be deleted; it is shown as counts only.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Literal, TypeAlias, get_args

from pydantic import StringConstraints
from sqlalchemy import delete, insert, select

from fathom.server.database import clear_errors
from fathom.storage.validation import Text
from fathom.studio.histories import History
from fathom.studio.records import as_record, canonical, from_json, from_record
from fathom.studio.schema import profiles
from fathom.studio.store import Store
from fathom.studio.types import Person

Age: TypeAlias = Literal["", "under 23", "23 to 27", "28 to 32", "over 32"]
Gender: TypeAlias = Literal["", "woman", "man", "another"]
Experience: TypeAlias = Literal["", "under a year", "1 to 3 years", "over 3 years"]
Degree: TypeAlias = Literal["", "none", "bachelor", "master", "doctorate"]
CHOICES: Mapping[str, tuple[str, ...]] = {
    "age": get_args(Age),
    "gender": get_args(Gender),
    "experience": get_args(Experience),
    "degree": get_args(Degree),
}
"""What can be chosen in a profile; the subject is written."""


@dataclass(frozen=True, slots=True)
class Profile:
    """What somebody says about themselves; "" for what they do not say.

    Attributes:
        experience: With annotation.
        subject: What they studied.
    """

    age: Age = ""
    gender: Gender = ""
    experience: Experience = ""
    degree: Degree = ""
    subject: Annotated[Text, StringConstraints(strip_whitespace=True, max_length=60)] = ""


def profile_of(store: Store, name: str) -> Profile:
    """What somebody said about themselves."""
    row = store.row(select(profiles.c.body).where(profiles.c.person == name))
    return Profile() if row is None else from_json(Profile, row.body)


def save_profile(store: Store, name: str, profile: Profile) -> None:
    """Store what somebody says about themselves; an empty profile is deleted.

    Raises:
        RecordError: A field is invalid.
    """
    checked = from_record(Profile, as_record(profile))
    with clear_errors(), store.engine.begin() as connection:
        connection.execute(delete(profiles).where(profiles.c.person == name))
        if checked != Profile():
            connection.execute(insert(profiles).values(person=name, body=canonical(as_record(checked))))


def background(store: Store) -> list[dict[str, object]]:
    """How many active people who annotate, review or decide are of each role, age, gender, and so on."""
    people = [person for person in store.staff().people if person.active and person.role != "reader"]
    stated = {row.person: from_json(Profile, row.body) for row in store.rows(select(profiles))}
    tables = {"role": Counter(person.role for person in people)} | {
        field.name: Counter(getattr(stated.get(person.name, Profile()), field.name) for person in people)
        for field in fields(Profile)
    }
    return [
        {"about": about, "value": value or "not said", "people": count}
        for about, counts in tables.items()
        for value, count in sorted(counts.items(), key=lambda item: (not item[0], _order(about, item[0])))
    ]


def _order(about: str, value: str) -> tuple[int, str]:
    choices = CHOICES.get(about, ())
    return (choices.index(value) if value in choices else 0), value


@dataclass(frozen=True, slots=True)
class AnnotatorFigures:
    """What one person did. Reviews count once their round is decided.

    Attributes:
        samples: Samples on which they worked.
        selected: Drafts that they selected.
        written: Times that they wrote or edited.
        passed: Of what they handed over, what an expert passed,
        returned: and what an expert returned.
        reviews: Answers that they reviewed.
        problems: Reviews that found a problem.
        upheld: Reviews that an expert upheld in adjudication,
        overruled: and those that an expert overruled.
        decided: Samples that they passed, returned, adjudicated, audited or rejected.
        hours: Their time, as measured by the pages.
    """

    name: str
    role: str
    samples: int
    selected: int
    written: int
    passed: int
    returned: int
    reviews: int
    problems: int
    upheld: int
    overruled: int
    decided: int
    hours: float


_DECISIONS = ("ExpertPass", "ExpertReturn", "Adjudicate", "Audit", "Reject")


def annotators(histories: Iterable[History], people: Iterable[Person]) -> list[AnnotatorFigures]:
    """Figures for each person who annotates, reviews or decides, or did so, by name."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    seconds: defaultdict[str, float] = defaultdict(float)
    for history in histories:
        for effort in history.efforts:
            counts[effort.person].update(dict(effort.counts))
            counts[effort.person]["samples"] += 1
            seconds[effort.person] += effort.seconds
    return [
        _figures(person, counts[person.name], seconds[person.name])
        for person in sorted(people, key=lambda person: person.name)
        if person.role != "reader" or person.name in counts
    ]


def _figures(person: Person, did: Counter[str], seconds: float) -> AnnotatorFigures:
    return AnnotatorFigures(
        name=person.name,
        role=person.role,
        samples=did["samples"],
        selected=did["Select"],
        written=did["Write"] + did["Edit"],
        passed=did["passed"],
        returned=did["returned"],
        reviews=did["SubmitReview"],
        problems=did["problem"],
        upheld=did["upheld"],
        overruled=did["overruled"],
        decided=sum(did[kind] for kind in _DECISIONS),
        hours=round(seconds / 3600, 3),
    )
