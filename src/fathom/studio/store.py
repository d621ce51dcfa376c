"""The store of the studio. Each action is one transaction, which appends to the log and updates the tables."""

import hashlib
import json
import secrets
import threading
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import Any, TypeVar

from sqlalchemy import (
    ColumnElement,
    CompoundSelect,
    Connection,
    Row,
    Select,
    Table,
    bindparam,
    delete,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.exc import IntegrityError

from fathom.server.database import Database, StoreError, clear_errors, now
from fathom.studio import lists
from fathom.studio.checks import added_evidence, check_action, check_document, check_draft, check_evidence, check_names
from fathom.studio.faults import Fault, faults_against, faults_of_sample, repeats, with_standard_prompts
from fathom.studio.lists import HeadCache, ListedSample, ListQuery
from fathom.studio.log import INTAKE, Entry, Head, NoteEntry, new_entry
from fathom.studio.records import as_record, from_json, from_record
from fathom.studio.schema import (
    STUDIO,
    document_row,
    documents,
    drafts,
    entries,
    entries_of,
    head,
    note_row,
    notes,
    people,
    sample_row,
    samples,
    sketches,
    texts,
    unique,
)
from fathom.studio.staffing import Staff, check_staff
from fathom.studio.states import (
    RefusedError,
    StaleError,
    apply,
    check_intake,
    check_new_document,
    check_note,
    check_right,
    review_document,
)
from fathom.studio.tasks import StudioTask, studio_tasks, tasks_folder
from fathom.studio.types import (
    OPERATOR,
    Action,
    AddDocument,
    Create,
    DocumentState,
    ExpertPass,
    Note,
    Person,
    PolicyName,
    Reconstruct,
    Reopen,
    ReviewDocument,
    Sample,
    SetIntake,
    SetPerson,
    SetPolicy,
    Standardise,
    State,
    StudioDocument,
    SubmitForReview,
)
from fathom.types import FathomError

Kind = TypeVar("Kind")
PAGE = 1000
"""Maximum length of a list."""
NEARLY_EQUAL = "nearly_equal"
"""Available documents that are nearly equal to another, as a state to look for."""
AT_SERVER = Person(OPERATOR, "administrator")
"""Who acts in commands on the server's machine."""


_SAMPLE = select(samples.c.body).where(samples.c.id == bindparam("id"))
_DOCUMENT = select(documents.c.body).where(documents.c.id == bindparam("id"))
_DRAFTS = select(drafts).where(drafts.c.person == bindparam("person"), drafts.c.subject == bindparam("subject"))
"""Composing a query takes longer than its answer, so those of most pages are kept."""


class MissingError(FathomError):
    """There is no such thing."""


class FaultyError(RefusedError):
    """The sample has faults, with which it cannot go on; nothing was changed."""

    def __init__(self, sample: Sample, faults: Sequence[Fault]) -> None:
        super().__init__(f"sample {sample.id}: {'. '.join(map(str, faults))}")
        self.faults = tuple(faults)


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


class _OneState(threading.local):
    """What the queries of a thread share within ``Store.one_state``.

    Attributes:
        until: What ends it; None outside.
        connection: The connection; None before the first query.
        end: Hash of the last entry of the log; "" until it is needed.
    """

    until: ExitStack | None = None
    connection: Connection | None = None
    end: str = ""


class Store(Database):
    """The studio in a database, for several threads and several servers at once.

    Args:
        place: A folder (SQLite) or the URL of a PostgreSQL database.

    Raises:
        FathomError: It cannot be opened.
    """

    def __init__(self, place: str) -> None:
        super().__init__(place, STUDIO)
        self._place = place
        self._kept = HeadCache()
        self._state = _OneState()
        self._text = lru_cache(maxsize=16)(self._read_text)

    @cached_property
    def tasks(self) -> Mapping[str, StudioTask]:
        """The tasks by which samples are checked: those of the package and of the store's folder, unless set."""
        return studio_tasks(tasks_folder(self._place))

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
            StoreError: The database failed; nothing is stored.
        """
        kind: type[Action] = type(action)
        checked = from_record(kind, as_record(action))
        self._check(checked)
        try:
            with clear_errors(), self.engine.begin() as connection:
                end = _locked(connection)
                row = connection.execute(select(samples.c.body).where(samples.c.id == checked.sample)).one_or_none()
                before = None if row is None else from_json(Sample, row.body)
                staff = lists.staff(connection)
                if isinstance(checked, Create | Reconstruct):
                    checked = replace(checked, policy=staff.policy)
                if isinstance(checked, Standardise) and before is not None:
                    checked = with_standard_prompts(checked, before, self.tasks)
                entry = new_entry(end, now(), by.name, checked)
                try:
                    person = _person(connection, by)
                    after = apply(before, checked, person, entry.at)
                    check_staff(before, checked, person, staff)
                    if isinstance(checked, Reopen) and not (before and faults_of_sample(before, self.tasks)):
                        raise RefusedError(f"sample {after.id}: it has no fault; audit it if something is wrong")
                    faults = faults_against(before, checked, after, self.tasks)
                    accepts = before is not None and after.state == "accepted" != before.state
                    if (accepts or isinstance(checked, SubmitForReview | ExpertPass)) and not faults:
                        others = lists.over_documents_of(connection, after, accepted=accepts)
                        faults = tuple(repeats(after, others))
                    if faults:
                        raise FaultyError(after, faults)
                except (StaleError, RefusedError):
                    if before is not None and _is_repeated(connection, entry):
                        return before
                    raise
                known = {id for id in after.documents if _exists(connection, documents, id)}
                if unknown := [id for id in after.documents if id not in known]:
                    raise RefusedError(f"sample {after.id}: there is no document {unknown[0][:60]!r}; add it first")
                _append(connection, entry)
                _put(connection, samples, sample_row(after))
        except IntegrityError:
            raise StoreError("the action was not stored; send it again") from None
        return after

    def add_document(
        self, document: StudioDocument, content: str, by: Person = AT_SERVER, sketch: tuple[int, bytes] | None = None
    ) -> StudioDocument:
        """Adds a document with its text.

        Args:
            by: Who adds it; see ``states.check_new_document``.
            sketch: Version and content of its sketch; None for none.

        Returns:
            The document; the earlier one if one with this id exists.

        Raises:
            FathomError: It is too long, or a field is invalid.
        """
        document = from_record(StudioDocument, as_record(document))
        check_document(document, content)
        data = content.encode()
        with clear_errors(), self.engine.begin() as connection:
            end = _locked(connection)
            check_new_document(document, _person(connection, by))
            row = connection.execute(select(documents.c.body).where(documents.c.id == document.id)).one_or_none()
            if row is not None:
                return from_json(StudioDocument, row.body)
            _append(connection, new_entry(end, now(), by.name, AddDocument(document, hashlib.sha256(data).hexdigest())))
            _put(connection, documents, document_row(document))
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

    def set_policy(self, policy: PolicyName, by: Person = AT_SERVER) -> None:
        """Chooses how samples are reviewed that begin a round from now on.

        Raises:
            RefusedError: It is not allowed.
        """
        action = from_record(SetPolicy, {"policy": policy})
        with clear_errors(), self.engine.begin() as connection:
            end = _locked(connection)
            check_right("administrator", _person(connection, by), operator=True)
            _append(connection, new_entry(end, now(), by.name, action))

    def review_document(self, action: ReviewDocument, by: Person, was: DocumentState | None = None) -> StudioDocument:
        """Records the compliance review of a document, or that it is exhausted.

        Args:
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
                raise _no_document(action.document)
            before = from_json(StudioDocument, row.body)
            if was is not None and before.state != was:
                raise RefusedError(f"document {before.id}: somebody else has reviewed it: it is {before.state} now")
            after = review_document(before, action, _person(connection, by))
            _append(connection, new_entry(end, now(), by.name, action))
            _put(connection, documents, document_row(after))
        return after

    def note(self, note: Note, by: Person) -> NoteEntry:
        """Records anything else that somebody said, such as a rating.

        Raises:
            RefusedError: It is not allowed.
        """
        note = from_record(Note, as_record(note))
        check_names(note)
        json.loads(note.body)
        with clear_errors(), self.engine.begin() as connection:
            end = _locked(connection)
            check_note(note, _person(connection, by))
            entry = new_entry(end, now(), by.name, note)
            _append(connection, entry)
            made = NoteEntry(entry.number, entry.at, by.name, note)
            connection.execute(insert(notes).values(**note_row(made)))
        return made

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
                unset = {"password": "", "changed": "", "initial": 0}
                connection.execute(insert(people).values(name=person.name, **unset, **values))

    # Reading

    @contextmanager
    def one_state(self) -> Iterator[None]:
        """Lets all queries of this thread read one state, over one connection: what is written meanwhile is not seen.

        Not within another one.

        Raises:
            StoreError: The database failed.
        """
        state = self._state
        try:
            with clear_errors(), ExitStack() as state.until:
                yield
        finally:
            state.until, state.connection, state.end = None, None, ""

    def leave_state(self) -> None:
        """Lets the next query within ``one_state`` read another state; to call before writing there.

        A thread that held one connection and waited for another could wait for threads that do the same.
        """
        state = self._state
        if state.until is not None:
            state.until.close()
            state.connection, state.end = None, ""

    @contextmanager
    def reader(self) -> Iterator[Connection]:
        """A connection that only reads: that of ``one_state``, or one of its own.

        Raises:
            StoreError: The database failed.
        """
        state = self._state
        with clear_errors():
            if state.until is None:
                with self.reading.connect() as connection:
                    yield connection
            else:
                state.connection = state.connection or state.until.enter_context(self.reading.connect())
                yield state.connection

    def rows(
        self, query: Select[Any] | CompoundSelect[Any], values: Mapping[str, Any] | None = None
    ) -> Sequence[Row[Any]]:
        """The rows of a query, with values for its parameters."""
        with self.reader() as connection:
            return connection.execute(query, values).all()

    def row(self, query: Select[Any], values: Mapping[str, Any] | None = None) -> Row[Any] | None:
        """The only row of a query, with values for its parameters; None if there is none."""
        with self.reader() as connection:
            return connection.execute(query, values).one_or_none()

    def sample(self, id: str) -> Sample:
        """A sample with everything that was said about it; see ``states.visible``.

        Raises:
            MissingError: There is none.
        """
        row = self.row(_SAMPLE, {"id": id})
        if row is None:
            raise MissingError(f"there is no sample {id[:60]!r}; look for it in the queue")
        return from_json(Sample, row.body)

    def samples(self, *, states: Collection[State] = (), ids: Collection[str] = ()) -> Iterator[Sample]:
        """Whole samples in the order of their ids, for exports and statistics.

        Args:
            states: Only in these states.
        """
        query = select(samples.c.body).order_by(samples.c.id)
        if states:
            query = query.where(samples.c.state.in_(states))
        if ids:
            query = query.where(samples.c.id.in_(ids))
        with self.reader() as connection:
            for row in connection.execute(query):
                yield from_json(Sample, row.body)

    def listed(
        self,
        *,
        states: Collection[State] = (),
        task: str = "",
        language: str = "",
        bucket: int = 0,
        waiting_for: str = "",
        ids: Collection[str] = (),
        offset: int = 0,
        limit: int = 50,
    ) -> list[ListedSample]:
        """Samples as lists show them, the longest untouched first.

        Args:
            states: Only in these states.
            task: Only of this task.
            language: Only in this language.
            bucket: Only of this length.
            waiting_for: Without those that this person may not decide on; those that they selected come first.
            offset: How many to leave out.
        """
        only = ListQuery(tuple(states), task, language, bucket, waiting_for, tuple(ids), offset=offset, limit=limit)
        return self.matches(only)

    def matches(self, asked: ListQuery) -> list[ListedSample]:
        """Samples as lists show them, the longest untouched first."""
        asked = replace(asked, limit=min(asked.limit, PAGE))
        return list(self._at_head(asked, lambda connection: lists.listed(connection, asked)))

    def counts(self) -> dict[State, int]:
        """Number of samples by state."""
        return dict(self._at_head("counts", lists.counts))

    def combinations(self) -> list[tuple[str, str, int]]:
        """Tasks, languages and lengths of which there are samples, in order."""
        return list(self._at_head("combinations", lists.tasks))

    def available(self) -> dict[tuple[str, int], int]:
        """Number of available documents by language and length bucket, without those nearly equal to another."""
        return dict(self._at_head("available", lists.available))

    def staff(self) -> Staff:
        """The people and the policy."""
        return self._at_head("staff", lists.staff)

    def stuck(self) -> list[ListedSample]:
        """Samples with which nobody can go on but by another round, or another person, the longest untouched first."""
        return list(self._at_head("stuck", lists.stuck))

    def _at_head(self, asked: Hashable, read: Callable[[Connection], Kind]) -> Kind:
        with self.reader() as connection:
            end = self._state.end or connection.execute(lists.END).scalar_one()
            if self._state.until is not None:
                self._state.end = end
            return self._kept.get(connection, end, asked, read)

    def undecided(self, ids: Collection[str]) -> set[str]:
        """Those of these samples whose answer review is not decided yet."""
        if not ids:
            return set()
        query = select(samples.c.id).where(
            samples.c.id.in_(ids), samples.c.state.in_(("answer_review", "adjudication"))
        )
        return {row.id for row in self.rows(query)}

    def document(self, id: str) -> StudioDocument:
        """A document without its text.

        Raises:
            MissingError: There is none.
        """
        row = self.row(_DOCUMENT, {"id": id})
        if row is None:
            raise _no_document(id)
        return from_json(StudioDocument, row.body)

    def documents(
        self, *, state: str = "", language: str = "", bucket: int = 0, offset: int = 0, limit: int | None = None
    ) -> list[StudioDocument]:
        """Documents without their texts, in the order of their ids.

        Args:
            state: Only in this state, or ``NEARLY_EQUAL``; see ``_in_state``.
            language: Only in this language.
            bucket: Only of this length.
            offset: How many to leave out.
        """
        query = select(documents.c.body).order_by(documents.c.id).offset(offset).limit(limit)
        if state:
            query = query.where(*_in_state(state))
        for name, value in {"language": language, "bucket": bucket}.items():
            if value:
                query = query.where(documents.c[name] == value)
        return [from_json(StudioDocument, row.body) for row in self.rows(query)]

    def document_ids(self, *, state: str = "") -> list[str]:
        """Ids of documents in order.

        Args:
            state: Only in this state.
        """
        query = select(documents.c.id).order_by(documents.c.id)
        if state:
            query = query.where(*_in_state(state))
        key = ("document ids", state)
        return list(self._at_head(key, lambda connection: list(connection.execute(query).scalars())))

    def intake(self) -> SetIntake:
        """How documents are measured."""
        with self.reader() as connection:
            return _intake(connection)

    def sketches(self, version: int) -> dict[str, bytes]:
        """Stored sketches of one version by the document's id; those of other documents are to be made."""
        query = select(sketches.c.document, sketches.c.content).where(sketches.c.version == version)
        return {row.document: bytes(row.content) for row in self.rows(query)}

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
        return [NoteEntry(row.number, row.at, row.person, from_json(Note, row.body)) for row in self.rows(query)]

    def log(self, *, subject: str = "", before: int = 0, limit: int = PAGE) -> list[Entry]:
        """Entries of the log, the newest first.

        Args:
            subject: Only about this.
            before: Only with a lower number; 0 for all.
        """
        query = select(entries).order_by(entries.c.number.desc()).limit(limit)
        if subject:
            query = query.where(entries.c.subject == subject)
        if before:
            query = query.where(entries.c.number < before)
        return [Entry(**row._mapping) for row in self.rows(query)]

    def entries(self) -> Iterator[Entry]:
        """All entries of the log in order, as they are at this moment."""
        with self.reader() as connection:
            yield from entries_of(connection)

    def head(self) -> Head:
        """The end of the log, to note elsewhere."""
        (row,) = self.rows(select(head.c.number, head.c.hash))
        return Head(row.number, row.hash)

    # Unsent drafts

    def save_draft(self, person: str, subject: str, form: str, version: int, body: str) -> str:
        """Keeps what somebody typed, and returns the time.

        Raises:
            FathomError: It is too large.
        """
        check_draft(subject, form, body)
        with clear_errors(), self.engine.begin() as connection:
            made = {"person": person, "subject": subject, "form": form}
            connection.execute(delete(drafts).filter_by(**made))
            connection.execute(insert(drafts).values(**made, version=version, saved=(at := now()), body=body))
        return at

    def draft(self, person: str, subject: str, form: str) -> Draft | None:
        """What somebody typed last; None if it was sent or nothing was typed."""
        return self.drafts(person, subject).get(form)

    def drafts(self, person: str, subject: str) -> dict[str, Draft]:
        """What somebody typed last about a sample and did not send, by form."""
        rows = self.rows(_DRAFTS, {"person": person, "subject": subject})
        return {row.form: Draft(row.version, row.saved, row.body) for row in rows}

    def drop_drafts(self, person: str, subject: str) -> None:
        """Forgets what somebody typed about a sample."""
        with clear_errors(), self.engine.begin() as connection:
            connection.execute(delete(drafts).filter_by(person=person, subject=subject))

    def _check(self, action: Action) -> None:
        check_action(action)
        if passages := added_evidence(action):
            own = action.documents if isinstance(action, Create) else self.sample(action.sample).documents
            for passage in passages:
                check_evidence(passage, own, self.text)

    def _read_text(self, document: str) -> str:
        row = self.row(select(texts.c.content).where(texts.c.document == document))
        if row is None:
            raise _no_document(document)
        return bytes(row.content).decode()


def new_id() -> str:
    """An id for a new sample."""
    return f"s-{secrets.token_hex(6)}"


def _no_document(id: str) -> MissingError:
    return MissingError(f"there is no document {id[:60]!r}; look for it in the list")


def _in_state(state: str) -> list[ColumnElement[bool]]:
    """Documents in a state; one that is nearly equal to another is not called available."""
    if state == NEARLY_EQUAL:
        return [documents.c.state == "available", ~unique()]
    return [documents.c.state == state, *([unique()] if state == "available" else [])]


def _locked(connection: Connection) -> Head:
    """The end of the log, locked until the transaction ends, so that actions happen one after the other."""
    row = connection.execute(select(head.c.number, head.c.hash).with_for_update()).one()
    return Head(row.number, row.hash)


def _append(connection: Connection, entry: Entry) -> None:
    connection.execute(insert(entries), as_record(entry))
    connection.execute(update(head), {"number": entry.number, "hash": entry.hash})


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


def _exists(connection: Connection, table: Table, id: str) -> bool:
    return connection.execute(select(table.c.id).where(table.c.id == id)).one_or_none() is not None


def _put(connection: Connection, table: Table, columns: dict[str, Any]) -> None:
    change = update(table).where(table.c.id == bindparam("there"))
    if not connection.execute(change, columns | {"there": columns["id"]}).rowcount:
        connection.execute(insert(table), columns)


def _put_sketch(connection: Connection, document: str, version: int, content: bytes) -> None:
    connection.execute(delete(sketches).where(sketches.c.document == document))
    connection.execute(insert(sketches).values(document=document, version=version, content=content))


def _intake(connection: Connection) -> SetIntake:
    own = (entries.c.subject == INTAKE) & (entries.c.kind == SetIntake.__name__)
    query = select(entries.c.body).where(own).order_by(entries.c.number.desc()).limit(1)
    body = connection.execute(query).scalar_one_or_none()
    return SetIntake() if body is None else from_json(SetIntake, body)
