"""The store of the studio. Each action is one transaction, which appends to the log and updates the tables."""

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Collection, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar, cast

from sqlalchemy import ColumnElement, Connection, Row, Select, Table, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from fathom.server.database import Database, StoreError, clear_errors, now
from fathom.studio.log import INTAKE, Entry, Head, NoteEntry, new_entry
from fathom.studio.records import as_record, canonical, checked_text, from_record
from fathom.studio.schema import STUDIO, documents, drafts, entries, head, notes, people, samples, sketches, texts
from fathom.studio.states import (
    DECIDED_BY_OTHERS,
    RefusedError,
    StaleError,
    apply,
    check_intake,
    check_new_document,
    check_note,
    check_right,
    involved,
    review_document,
)
from fathom.studio.types import (
    OPERATOR,
    Action,
    AddCandidates,
    AddDocument,
    Component,
    ComponentVerdict,
    Create,
    DocumentState,
    Edit,
    Evidence,
    Note,
    Person,
    ReviewDocument,
    Sample,
    SetIntake,
    SetPerson,
    State,
    StudioDocument,
    SubmitReview,
    Write,
)
from fathom.types import FathomError

Kind = TypeVar("Kind")
MOST_BYTES = 4 << 20
"""Maximum size of one action, as JSON."""
MOST_CHARACTERS = 20_000_000
"""Maximum size of the text of a document."""
PAGE = 1000
MOST_KEPT = 256
"""Lists that are kept until the next action."""
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,63}")
_DOCUMENT_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{0,127}")
AT_SERVER = Person(OPERATOR, "administrator")
"""Who acts in commands on the server's machine."""


class MissingError(FathomError):
    """There is no such thing."""


@dataclass(frozen=True, slots=True)
class Listed:
    """A sample as lists show it.

    Attributes:
        id: Its id.
        task: Its task.
        language: Its language.
        bucket: Its length bucket.
        state: Its state.
        version: Its version.
        author: Who selected it; "" while names are hidden.
        round: Its round.
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
class Draft:
    """A form that somebody began to fill in.

    Attributes:
        version: Version of the sample that they saw.
        saved: Time, in UTC.
        body: The form's values as JSON text.
    """

    version: int
    saved: str
    body: str


class Store(Database):
    """The studio in a database, for several threads and several servers at once.

    Args:
        place: A folder (SQLite) or the URL of a PostgreSQL database.

    Raises:
        FathomError: It cannot be opened.
    """

    def __init__(self, place: str) -> None:
        super().__init__(place, STUDIO)
        self._kept: dict[tuple[str, Hashable], object] = {}
        self._text = lru_cache(maxsize=16)(self._read_text)

    # Actions

    def act(self, action: Action, by: Person) -> Sample:
        """Does something to a sample; it survives ``kill -9`` and a power failure after this returns.

        The same action by the same person again, for instance after a lost response, changes nothing and is no error.

        Args:
            action: What to do.
            by: Who acts. Their role is read from the store.

        Raises:
            RefusedError: It is not allowed.
            StaleError: Somebody else changed the sample since.
            RecordError: A field is invalid.
        """
        kind: type[Action] = type(action)
        checked = from_record(kind, as_record(action))
        self._check(checked)
        try:
            with clear_errors(), self.engine.begin() as connection:
                end = _locked(connection)
                row = connection.execute(select(samples.c.body).where(samples.c.id == checked.sample)).one_or_none()
                before = None if row is None else _value(Sample, row.body)
                entry = new_entry(end, now(), by.name, checked)
                try:
                    after = apply(before, checked, _person(connection, by), entry.at)
                except (StaleError, RefusedError):
                    if before is not None and _is_repeated(connection, entry):
                        return before
                    raise
                known = {id for id in after.documents if _there(connection, documents, id)}
                if unknown := [id for id in after.documents if id not in known]:
                    raise RefusedError(f"sample {after.id}: there is no document {unknown[0][:60]!r}; add it first")
                _append(connection, entry)
                _put(connection, samples, _sample_columns(after))
        except IntegrityError:
            raise StoreError("the action was not stored; send it again") from None
        return after

    def add_document(
        self, document: StudioDocument, content: str, by: Person = AT_SERVER, sketch: tuple[int, bytes] | None = None
    ) -> StudioDocument:
        """Adds a document with its text.

        Args:
            document: Its facts.
            content: Its text.
            by: Who adds it; see ``states.check_new_document``.
            sketch: Version and content of its sketch; None for none.

        Returns:
            The document; the earlier one if one with this id exists.

        Raises:
            FathomError: It is too long, or a field is invalid.
        """
        document = from_record(StudioDocument, as_record(document))
        if not _DOCUMENT_ID.fullmatch(document.id):
            raise RefusedError(f"document {document.id[:60]!r}: expected an id of letters, digits and ._:-")
        checked_text(content, f"document {document.id}: the text", MOST_CHARACTERS)
        data = content.encode()
        with clear_errors(), self.engine.begin() as connection:
            end = _locked(connection)
            check_new_document(document, _person(connection, by))
            row = connection.execute(select(documents.c.body).where(documents.c.id == document.id)).one_or_none()
            if row is not None:
                return _value(StudioDocument, row.body)
            _append(connection, new_entry(end, now(), by.name, AddDocument(document, hashlib.sha256(data).hexdigest())))
            _put(connection, documents, _document_columns(document))
            connection.execute(insert(texts).values(document=document.id, content=data))
            if sketch is not None:
                _put_sketch(connection, document.id, *sketch)
        return document

    def set_intake(self, action: SetIntake, by: Person = AT_SERVER) -> None:
        """Records how documents are measured from now on.

        Raises:
            RefusedError: It is not allowed.
        """
        action = from_record(SetIntake, as_record(action))
        with clear_errors(), self.engine.begin() as connection:
            end = _locked(connection)
            filled = connection.execute(select(documents.c.id).limit(1)).one_or_none() is not None
            check_intake(action, _intake(connection), _person(connection, by), filled=filled)
            _append(connection, new_entry(end, now(), by.name, action))

    def review_document(self, action: ReviewDocument, by: Person, was: DocumentState | None = None) -> StudioDocument:
        """Records the compliance review of a document, or that it is exhausted.

        Args:
            action: The review.
            by: Who acts.
            was: The state that they saw; None if it does not matter.

        Raises:
            RefusedError: It is not allowed, or somebody else has reviewed it since.
            MissingError: There is no such document.
        """
        action = from_record(ReviewDocument, as_record(action))
        with clear_errors(), self.engine.begin() as connection:
            end = _locked(connection)
            row = connection.execute(select(documents.c.body).where(documents.c.id == action.document)).one_or_none()
            if row is None:
                raise MissingError(f"there is no document {action.document[:60]!r}; look for it in the list")
            before = _value(StudioDocument, row.body)
            if was is not None and before.state != was:
                raise RefusedError(f"document {before.id}: somebody else has reviewed it: it is {before.state} now")
            after = review_document(before, action, _person(connection, by))
            _append(connection, new_entry(end, now(), by.name, action))
            _put(connection, documents, _document_columns(after))
        return after

    def note(self, note: Note, by: Person) -> NoteEntry:
        """Records anything else that somebody said, such as a rating.

        Raises:
            RefusedError: It is not allowed.
        """
        note = from_record(Note, as_record(note))
        if not _ID.fullmatch(note.topic) or not _DOCUMENT_ID.fullmatch(note.subject):
            raise RefusedError("topic and subject of a note: expected letters, digits and ._:-")
        json.loads(note.body)
        with clear_errors(), self.engine.begin() as connection:
            end = _locked(connection)
            check_note(note, _person(connection, by))
            entry = new_entry(end, now(), by.name, note)
            _append(connection, entry)
            made = {"number": entry.number, "topic": note.topic, "subject": note.subject, "person": by.name}
            connection.execute(insert(notes).values(**made, at=entry.at, body=canonical(as_record(note))))
        return NoteEntry(entry.number, entry.at, by.name, note)

    def set_person(self, person: Person, by: Person = AT_SERVER) -> None:
        """Adds an account, or changes its role or whether it is active; see ``fathom.studio.people``.

        Raises:
            RefusedError: It is not allowed.
        """
        with clear_errors(), self.engine.begin() as connection:
            end = _locked(connection)
            check_right("administrator", _person(connection, by), operator=True)
            others = (people.c.role == "administrator") & (people.c.active == 1) & (people.c.name != person.name)
            rest = connection.execute(select(func.count()).select_from(people).where(others)).scalar_one()
            was = _person(connection, person)
            if was.active and was.role == "administrator" and not rest and not _leads(person):
                raise RefusedError(f"{person.name} is the last administrator; make somebody else one first")
            _append(connection, new_entry(end, now(), by.name, SetPerson(person)))
            values = {"role": person.role, "active": int(person.active)}
            if not connection.execute(update(people).where(people.c.name == person.name).values(**values)).rowcount:
                connection.execute(insert(people).values(name=person.name, password="", changed="", **values))

    # Reading

    def sample(self, id: str) -> Sample:
        """A sample with everything that was said about it; see ``states.visible``.

        Raises:
            MissingError: There is none.
        """
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(select(samples.c.body).where(samples.c.id == id)).one_or_none()
        if row is None:
            raise MissingError(f"there is no sample {id[:60]!r}; look for it in the queue")
        return _value(Sample, row.body)

    def samples(self, *, states: Collection[State] = (), ids: Collection[str] = ()) -> Iterator[Sample]:
        """Whole samples in the order of their ids, for exports and statistics.

        Args:
            states: Only in these states.
            ids: Only these.
        """
        query = select(samples.c.body).order_by(samples.c.id)
        if states:
            query = query.where(samples.c.state.in_(states))
        if ids:
            query = query.where(samples.c.id.in_(ids))
        with clear_errors(), self.reading.connect() as connection:
            for row in connection.execute(query):
                yield _value(Sample, row.body)

    def listed(
        self,
        *,
        states: Collection[State] = (),
        task: str = "",
        language: str = "",
        bucket: int = 0,
        author: str = "",
        waiting_for: str = "",
        offset: int = 0,
        limit: int = 50,
    ) -> list[Listed]:
        """Samples as lists show them, the longest untouched first.

        Args:
            states: Only in these states.
            task: Only of this task.
            language: Only in this language.
            bucket: Only of this length.
            author: Only of this person.
            waiting_for: Without those that this person may not decide on; those that they selected come first.
            offset: How many to leave out.
            limit: Maximum number.
        """
        wanted = {"task": task, "language": language, "bucket": bucket, "author": author}
        chosen = [samples.c[name] == value for name, value in wanted.items() if value]
        if author:
            chosen.append(samples.c.state != "adjudication")
        limit = min(limit, PAGE)

        def read(connection: Connection) -> list[Listed]:
            if waiting_for:
                return _waiting(connection, waiting_for, states, chosen, offset, limit)
            some = [samples.c.state.in_(states)] if states else []
            return [_listed(row) for row in connection.execute(_list(*chosen, *some).offset(offset).limit(limit))]

        asked = (tuple(states), *wanted.items(), waiting_for, offset, limit)
        return list(self._at_head(asked, read))

    def counts(self) -> dict[State, int]:
        """Number of samples by state."""
        query = select(samples.c.state, func.count()).group_by(samples.c.state)
        return dict(self._at_head("counts", lambda connection: {row[0]: row[1] for row in connection.execute(query)}))

    def _at_head(self, asked: Hashable, read: Callable[[Connection], Kind]) -> Kind:
        """What follows from the log up to now; kept until the next entry, because most requests only look."""
        with clear_errors(), self.reading.connect() as connection:
            key = (connection.execute(select(head.c.hash)).scalar_one(), asked)
            if (found := self._kept.get(key)) is None:
                found = read(connection)
                if len(self._kept) >= MOST_KEPT:
                    self._kept.clear()
                self._kept[key] = found
            return cast(Kind, found)

    def undecided(self, ids: Collection[str]) -> set[str]:
        """Those of these samples whose answer review is not decided yet."""
        if not ids:
            return set()
        query = select(samples.c.id).where(
            samples.c.id.in_(ids), samples.c.state.in_(("answer_review", "adjudication"))
        )
        with clear_errors(), self.reading.connect() as connection:
            return set(connection.execute(query).scalars())

    def document(self, id: str) -> StudioDocument:
        """A document without its text.

        Raises:
            MissingError: There is none.
        """
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(select(documents.c.body).where(documents.c.id == id)).one_or_none()
        if row is None:
            raise MissingError(f"there is no document {id[:60]!r}; look for it in the list")
        return _value(StudioDocument, row.body)

    def documents(
        self, *, state: str = "", language: str = "", bucket: int = 0, offset: int = 0, limit: int | None = None
    ) -> list[StudioDocument]:
        """Documents without their texts, in the order of their ids.

        Args:
            state: Only in this state.
            language: Only in this language.
            bucket: Only of this length.
            offset: How many to leave out.
            limit: Maximum number.
        """
        query = select(documents.c.body).order_by(documents.c.id).offset(offset).limit(limit)
        for name, value in {"state": state, "language": language, "bucket": bucket}.items():
            if value:
                query = query.where(documents.c[name] == value)
        with clear_errors(), self.reading.connect() as connection:
            return [_value(StudioDocument, row.body) for row in connection.execute(query)]

    def document_ids(self, *, state: str = "") -> list[str]:
        """Ids of documents in order.

        Args:
            state: Only in this state.
        """
        query = select(documents.c.id).order_by(documents.c.id)
        if state:
            query = query.where(documents.c.state == state)
        key = ("document ids", state)
        return list(self._at_head(key, lambda connection: list(connection.execute(query).scalars())))

    def intake(self) -> SetIntake:
        """How documents are measured."""
        with clear_errors(), self.reading.connect() as connection:
            return _intake(connection)

    def sketches(self, version: int) -> dict[str, bytes]:
        """Stored sketches of one version by the document's id; those of other documents are to be made."""
        query = select(sketches.c.document, sketches.c.content).where(sketches.c.version == version)
        with clear_errors(), self.reading.connect() as connection:
            return {row.document: bytes(row.content) for row in connection.execute(query)}

    def keep_sketch(self, document: str, version: int, content: bytes) -> None:
        """Stores the sketch of a document."""
        with clear_errors(), self.engine.begin() as connection:
            _put_sketch(connection, document, version, content)

    def text(self, document: str) -> str:
        """The text of a document.

        Raises:
            MissingError: There is none.
        """
        return self._text(document)

    def notes(self, *, topic: str = "", subject: str = "") -> list[NoteEntry]:
        """Notes in the order of the log.

        Args:
            topic: Only of this kind.
            subject: Only about this.
        """
        query = select(notes).order_by(notes.c.number)
        if topic:
            query = query.where(notes.c.topic == topic)
        if subject:
            query = query.where(notes.c.subject == subject)
        with clear_errors(), self.reading.connect() as connection:
            return [
                NoteEntry(row.number, row.at, row.person, _value(Note, row.body)) for row in connection.execute(query)
            ]

    def log(self, *, subject: str = "", before: int = 0, limit: int = PAGE) -> list[Entry]:
        """Entries of the log, the newest first.

        Args:
            subject: Only about this.
            before: Only with a lower number; 0 for all.
            limit: Maximum number.
        """
        query = select(entries).order_by(entries.c.number.desc()).limit(limit)
        if subject:
            query = query.where(entries.c.subject == subject)
        if before:
            query = query.where(entries.c.number < before)
        with clear_errors(), self.reading.connect() as connection:
            return [Entry(**row._mapping) for row in connection.execute(query)]

    def entries(self) -> Iterator[Entry]:
        """All entries of the log in order, as they are at this moment."""
        with clear_errors(), self.reading.connect() as connection:
            yield from entries_of(connection)

    def head(self) -> Head:
        """The end of the log, to note elsewhere."""
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(select(head.c.number, head.c.hash)).one()
        return Head(row.number, row.hash)

    # Unsent drafts

    def save_draft(self, person: str, subject: str, form: str, version: int, body: str) -> str:
        """Keeps what somebody typed, and returns the time.

        Raises:
            FathomError: It is too large.
        """
        if not _DOCUMENT_ID.fullmatch(subject) or not _ID.fullmatch(form) or form != form[:32]:
            raise RefusedError("a draft needs the id of a sample and the name of a form; reload the page")
        if len(body) > MOST_BYTES:
            raise RefusedError(f"the draft has more than {MOST_BYTES:,} characters; shorten it")
        at = now()
        own = (drafts.c.person == person) & (drafts.c.subject == subject) & (drafts.c.form == form)
        with clear_errors(), self.engine.begin() as connection:
            connection.execute(delete(drafts).where(own))
            made = {"person": person, "subject": subject, "form": form, "version": version, "saved": at}
            connection.execute(insert(drafts).values(**made, body=body))
        return at

    def draft(self, person: str, subject: str, form: str) -> Draft | None:
        """What somebody typed last; None if it was sent or nothing was typed."""
        own = (drafts.c.person == person) & (drafts.c.subject == subject) & (drafts.c.form == form)
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(select(drafts).where(own)).one_or_none()
        return None if row is None else Draft(row.version, row.saved, row.body)

    def drop_drafts(self, person: str, subject: str) -> None:
        """Forgets what somebody typed about a sample."""
        own = (drafts.c.person == person) & (drafts.c.subject == subject)
        with clear_errors(), self.engine.begin() as connection:
            connection.execute(delete(drafts).where(own))

    # Checks

    def _check(self, action: Action) -> None:
        """Checks what the workflow cannot know: sizes, ids, and evidence against the texts."""
        if len(canonical(as_record(action))) > MOST_BYTES:
            raise RefusedError(f"sample {action.sample[:60]!r}: more than {MOST_BYTES:,} bytes; shorten it")
        if not _ID.fullmatch(action.sample):
            raise RefusedError(f"sample {action.sample[:60]!r}: expected an id of letters, digits and ._:-, at most 64")
        if isinstance(action, Create):
            checked_text(action.task, "task", 128)
            checked_text(action.language, "language", 16)
        found = list(_evidence(action))
        if found:
            own = action.documents if isinstance(action, Create) else self.sample(action.sample).documents
            for one in found:
                self._check_evidence(one, own)

    def _check_evidence(self, evidence: Evidence, own: Sequence[str]) -> None:
        where = f"evidence {evidence.start}-{evidence.end}"
        if evidence.document not in own:
            raise RefusedError(f"{where}: the sample has no document {evidence.document[:60]!r}; mark it in another")
        content = self.text(evidence.document)
        if not evidence.start < evidence.end <= len(content):
            raise RefusedError(f"{where}: outside of the document, which has {len(content)} characters; mark it again")
        if content[evidence.start : evidence.end] != evidence.quote:
            raise RefusedError(f"{where}: its quote is not what the document says there; mark it again")

    def _read_text(self, document: str) -> str:
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(select(texts.c.content).where(texts.c.document == document)).one_or_none()
        if row is None:
            raise MissingError(f"there is no document {document[:60]!r}; look for it in the list")
        return bytes(row.content).decode()


def new_id() -> str:
    """An id for a new sample."""
    return f"s-{secrets.token_hex(6)}"


def entries_of(connection: Connection) -> Iterator[Entry]:
    """All entries of the log in order."""
    for row in connection.execute(select(entries).order_by(entries.c.number).execution_options(yield_per=PAGE)):
        yield Entry(**row._mapping)


def _evidence(value: object) -> Iterator[Evidence]:
    """Evidence that somebody adds with an action."""
    match value:
        case Create() | AddCandidates():
            for candidate in value.candidates:
                yield from _of_components(candidate.content.components)
        case Write() | Edit():
            yield from _of_components(value.content.components)
        case SubmitReview():
            yield from _of_components((*value.verdicts, *value.missing))


def _of_components(components: Sequence[Component | ComponentVerdict]) -> Iterator[Evidence]:
    for one in components:
        yield from one.evidence


def _locked(connection: Connection) -> Head:
    """The end of the log, locked until the transaction ends, so that actions happen one after the other."""
    row = connection.execute(select(head.c.number, head.c.hash).with_for_update()).one()
    return Head(row.number, row.hash)


def _append(connection: Connection, entry: Entry) -> None:
    connection.execute(insert(entries).values(as_record(entry)))
    connection.execute(update(head).values(number=entry.number, hash=entry.hash))


def _is_repeated(connection: Connection, entry: Entry) -> bool:
    """Whether the same person has done the very same already: the response was lost, and they sent it again."""
    same = (entries.c.subject == entry.subject) & (entries.c.person == entry.person) & (entries.c.kind == entry.kind)
    query = select(entries.c.body).where(same).order_by(entries.c.number.desc()).limit(1)
    return connection.execute(query).scalar_one_or_none() == entry.body


def _person(connection: Connection, by: Person) -> Person:
    """A person with their present role."""
    if by.name == OPERATOR:
        return by
    row = connection.execute(select(people.c.role, people.c.active).where(people.c.name == by.name)).one_or_none()
    return Person(by.name, row.role, bool(row.active)) if row else Person(by.name, "reader", active=False)


def _leads(person: Person) -> bool:
    return person.active and person.role == "administrator"


def _there(connection: Connection, table: Table, id: str) -> bool:
    return connection.execute(select(table.c.id).where(table.c.id == id)).one_or_none() is not None


def _put(connection: Connection, table: Table, columns: dict[str, Any]) -> None:
    if not connection.execute(update(table).where(table.c.id == columns["id"]).values(**columns)).rowcount:
        connection.execute(insert(table).values(**columns))


def _put_sketch(connection: Connection, document: str, version: int, content: bytes) -> None:
    connection.execute(delete(sketches).where(sketches.c.document == document))
    connection.execute(insert(sketches).values(document=document, version=version, content=content))


def _intake(connection: Connection) -> SetIntake:
    own = (entries.c.subject == INTAKE) & (entries.c.kind == SetIntake.__name__)
    query = select(entries.c.body).where(own).order_by(entries.c.number.desc()).limit(1)
    body = connection.execute(query).scalar_one_or_none()
    return SetIntake() if body is None else _value(SetIntake, body)


def _sample_columns(sample: Sample) -> dict[str, Any]:
    names = ("id", "task", "language", "bucket", "state", "version", "author", "round", "updated")
    title = " ".join((sample.content.question or _first_question(sample)).split())[:120]
    more = {"title": title, "involved": "".join(f"|{name}" for name in sorted(involved(sample))) + "|"}
    return {name: getattr(sample, name) for name in names} | more | {"body": canonical(as_record(sample))}


def _first_question(sample: Sample) -> str:
    return next((one.content.question for one in sample.candidates), "")


def _document_columns(document: StudioDocument) -> dict[str, Any]:
    names = ("id", "language", "bucket", "state")
    return {name: getattr(document, name) for name in names} | {"body": canonical(as_record(document))}


def _waiting(
    connection: Connection,
    name: str,
    states: Collection[State],
    chosen: Sequence[ColumnElement[bool]],
    offset: int,
    limit: int,
) -> list[Listed]:
    """Samples that wait for somebody: their own ones first, without those that others must decide on."""
    involved = samples.c.involved.contains(f"|{name}|", autoescape=True) & samples.c.state.in_(DECIDED_BY_OTHERS)
    most = offset + limit
    mine = _list(samples.c.author == name, samples.c.state.in_(states), ~involved, *chosen).limit(most)
    found = list(connection.execute(mine))
    if len(found) < most:
        # A query for each state reads an index and as few rows as are shown, however many samples there are.
        there = connection.execute(select(samples.c.state).distinct()).scalars().all()
        others = [samples.c.author != name, ~involved, *chosen]
        rest = [
            row
            for state in states
            if state in there
            for row in connection.execute(_list(samples.c.state == state, *others).limit(most - len(found)))
        ]
        found += sorted(rest, key=lambda row: (row.updated, row.id))
    return [_listed(row) for row in found[offset:most]]


def _list(*chosen: ColumnElement[bool]) -> Select[Any]:
    columns = [samples.c[name] for name in Listed.__dataclass_fields__]
    return select(*columns).where(*chosen).order_by(samples.c.updated, samples.c.id)


def _listed(row: Row[Any]) -> Listed:
    found = Listed(**row._mapping)
    return found if found.state != "adjudication" else Listed(**{**row._mapping, "author": ""})


def _value(kind: type[Kind], body: str) -> Kind:
    return from_record(kind, json.loads(body))


def sample_row(sample: Sample) -> dict[str, Any]:
    """The columns of a sample, to compare them with a replay."""
    return _sample_columns(sample)


def document_row(document: StudioDocument) -> dict[str, Any]:
    """The columns of a document, to compare them with a replay."""
    return _document_columns(document)
