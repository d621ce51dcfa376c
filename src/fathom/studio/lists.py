"""Lists of samples and their counts, as queries, and kept until the next entry of the log."""

import json
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from sqlalchemy import ColumnElement, Connection, Row, Select, false, func, or_, select

from fathom.studio import staffing
from fathom.studio.log import POLICY
from fathom.studio.records import from_json
from fathom.studio.schema import documents, entries, head, people, samples, unique
from fathom.studio.staffing import Staff, why_not_now
from fathom.studio.states import DECIDED_BY_OTHERS, DONE
from fathom.studio.types import Person, PolicyName, Sample, SetPolicy, State, SubmitReview, SubmitVerdicts

Kind = TypeVar("Kind")
MOST_KEPT = 256
"""Lists that are kept until the next action."""
MOST_WORDS = 8
"""Words of a search that count."""
MOST_IDS = 1000
"""Ids that are given to one query; databases limit them."""
_UNASKED: tuple[State, ...] = ("drafted", "selected", "reconstruct", "rejected")
"""States in which a question may still become another one, or is given up."""
END = select(head.c.hash)
"""The hash of the last entry of the log."""


@dataclass(frozen=True, slots=True)
class ListedSample:
    """A sample as lists show it.

    Attributes:
        bucket: Its length bucket.
        author: Who selected it; "" while names are hidden.
        title: Beginning of the question.
        updated: Time of the last action.
    """

    id: str
    task: str
    language: str
    bucket: int
    state: State
    version: int
    author: str
    round: int
    title: str
    updated: str


@dataclass(frozen=True, slots=True)
class ListQuery:
    """Which samples a list has.

    Attributes:
        states: Only in these states; all if there is none.
        task: Only of this task.
        language: Only in this language.
        bucket: Only of this length.
        waiting_for: Without those that this person may not decide on; those that they selected come first.
        ids: Only these.
        without: Without these.
        words: Only with all these words at the beginning of the question, in any case, or with this id.
        offset: How many to leave out.
        limit: Maximum length of the list.
    """

    states: tuple[State, ...] = ()
    task: str = ""
    language: str = ""
    bucket: int = 0
    waiting_for: str = ""
    ids: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    words: str = ""
    offset: int = 0
    limit: int = 50


class HeadCache:
    """What follows from the log up to now, kept until the next entry, because most requests only look."""

    def __init__(self) -> None:
        self._cache: dict[tuple[str, Hashable], object] = {}

    def get(self, connection: Connection, end: str, asked: Hashable, read: Callable[[Connection], Kind]) -> Kind:
        """What was read since the last entry, or is read now.

        Args:
            connection: Connection that only reads.
            end: Hash of the last entry that it sees.
        """
        key = (end, asked)
        if (result := self._cache.get(key)) is None:
            result = read(connection)
            if len(self._cache) >= MOST_KEPT:
                self._cache.clear()
            self._cache[key] = result
        return cast(Kind, result)


def tasks(connection: Connection) -> list[tuple[str, str, int]]:
    """Tasks, languages and lengths of which there are samples, in order."""
    key = (samples.c.task, samples.c.language, samples.c.bucket)
    return [(row[0], row[1], row[2]) for row in connection.execute(select(*key).distinct().order_by(*key))]


def counts(connection: Connection) -> dict[State, int]:
    """Number of samples by state."""
    query = select(samples.c.state, func.count()).group_by(samples.c.state)
    return {row[0]: row[1] for row in connection.execute(query)}


def available(connection: Connection) -> dict[tuple[str, int], int]:
    """Number of available documents by language and length bucket, without those nearly equal to another."""
    key = (documents.c.language, documents.c.bucket)
    query = select(*key, func.count()).where(documents.c.state == "available", unique()).group_by(*key)
    return {(row[0], row[1]): row[2] for row in connection.execute(query)}


def listed(connection: Connection, asked: ListQuery) -> list[ListedSample]:
    """Samples as lists show them, the longest untouched first."""
    wanted = {"task": asked.task, "language": asked.language, "bucket": asked.bucket}
    chosen = [samples.c[name] == value for name, value in wanted.items() if value]
    if asked.ids:
        chosen.append(samples.c.id.in_(asked.ids))
    if asked.without:
        chosen.append(samples.c.id.not_in(asked.without))
    for word in asked.words.split()[:MOST_WORDS]:
        chosen.append(samples.c.title.icontains(word, autoescape=True) | (samples.c.id == word))
    if asked.waiting_for:
        return _waiting(connection, asked, chosen)
    if asked.states:
        chosen.append(samples.c.state.in_(asked.states))
    return [_sample_of(row) for row in connection.execute(_list(*chosen).offset(asked.offset).limit(asked.limit))]


def over_documents_of(connection: Connection, sample: Sample, *, accepted: bool = False) -> list[Sample]:
    """Samples over a document of another one that were handed over, by id.

    Args:
        accepted: Only those that are accepted.
    """
    shared = [samples.c.body.contains(json.dumps(id), autoescape=True) for id in sample.documents]
    state = samples.c.state.in_(DONE) if accepted else samples.c.state.not_in(_UNASKED)
    query = select(samples.c.body).where(state, or_(false(), *shared), samples.c.id != sample.id).order_by(samples.c.id)
    return [from_json(Sample, body) for body in connection.execute(query).scalars()]


def staff(connection: Connection) -> Staff:
    """The people of a studio, and its policy."""
    own = (entries.c.subject == POLICY) & (entries.c.kind == SetPolicy.__name__)
    query = select(entries.c.body).where(own).order_by(entries.c.number.desc()).limit(1)
    body = connection.execute(query).scalar_one_or_none()
    policy: PolicyName = "" if body is None else from_json(SetPolicy, body).policy
    rows = connection.execute(select(people.c.name, people.c.role, people.c.active).order_by(people.c.name))
    return Staff(policy, tuple(Person(row.name, row.role, bool(row.active)) for row in rows))


def stuck(connection: Connection) -> list[ListedSample]:
    """Samples with which nobody can go on, the longest untouched first; none where no policy was chosen."""
    present = staff(connection)
    if not present.policy:
        return []
    query = select(samples.c.id, samples.c.state, samples.c.involved).where(samples.c.state.in_(DECIDED_BY_OTHERS))
    ids = [
        row.id
        for row in connection.execute(query)
        if staffing.stuck(row.state, row.involved.strip("|").split("|"), present)
    ]
    return [_sample_of(row) for row in connection.execute(_list(samples.c.id.in_(ids)))] if ids else []


def _waiting(connection: Connection, asked: ListQuery, chosen: list[ColumnElement[bool]]) -> list[ListedSample]:
    """Samples that wait for somebody: their own ones first, without those that others must decide on."""
    most = read = asked.offset + asked.limit
    while True:
        rows = _undecided(connection, asked, chosen, read)
        left = _without_kept(connection, rows, asked.waiting_for)
        if len(left) >= most or len(rows) < read:
            return left[asked.offset : most]
        read *= 2


def _undecided(
    connection: Connection, asked: ListQuery, chosen: list[ColumnElement[bool]], most: int
) -> list[ListedSample]:
    """The first samples of a list of those on which somebody may decide."""
    name = asked.waiting_for
    involved = samples.c.involved.contains(f"|{name}|", autoescape=True) & samples.c.state.in_(DECIDED_BY_OTHERS)
    mine = _list(samples.c.author == name, samples.c.state.in_(asked.states), ~involved, *chosen).limit(most)
    rows = list(connection.execute(mine))
    if len(rows) < most:
        # A query for each state reads an index and as few rows as are shown, however many samples there are.
        present = connection.execute(select(samples.c.state).distinct()).scalars().all()
        others = [samples.c.author != name, ~involved, *chosen]
        rest = [
            row
            for state in asked.states
            if state in present
            for row in connection.execute(_list(samples.c.state == state, *others).limit(most - len(rows)))
        ]
        rows += sorted(rest, key=lambda row: (row.updated, row.id))
    return [_sample_of(row) for row in rows[:most]]


def _without_kept(connection: Connection, rows: list[ListedSample], name: str) -> list[ListedSample]:
    """Samples of a list without those whose answer somebody cannot review, because they are kept for a later step."""
    ids = [row.id for row in rows if row.state == "answer_review"]
    present = staff(connection)
    me = next((person for person in present.people if person.name == name), None)
    if not ids or not present.policy or me is None:
        return rows
    chosen = (samples.c.id.in_(ids[at : at + MOST_IDS]) for at in range(0, len(ids), MOST_IDS))
    bodies = (body for part in chosen for body in connection.execute(select(samples.c.body).where(part)).scalars())
    kept = {
        sample.id
        for sample in (from_json(Sample, body) for body in bodies)
        if all(why_not_now(sample, kind, me, present) for kind in (SubmitVerdicts, SubmitReview))
    }
    return [row for row in rows if row.id not in kept]


def _list(*chosen: ColumnElement[bool]) -> Select[Any]:
    columns = [samples.c[name] for name in ListedSample.__dataclass_fields__]
    return select(*columns).where(*chosen).order_by(samples.c.updated, samples.c.id)


def _sample_of(row: Row[Any]) -> ListedSample:
    listed = ListedSample(**row._mapping)
    return listed if listed.state != "adjudication" else ListedSample(**{**row._mapping, "author": ""})
