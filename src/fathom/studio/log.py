"""The log of everything that anybody did: append-only, each entry with the hash of the one before.

An entry's hash covers its content and the previous hash, so an edited, deleted, inserted or reordered entry breaks the
chain at a known number. The chain has no secret: who can write to the database can also replace the end of the log by
another one with correct hashes, or all of it. To notice that, note the head (number and hash of the last entry)
elsewhere from time to time, and compare with ``check_head``.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import cast

from fathom.studio.records import RecordError, as_record, canonical, from_json
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
from fathom.studio.types import (
    EVENTS,
    OPERATOR,
    Action,
    AddDocument,
    Create,
    Event,
    Note,
    Person,
    PolicyName,
    Reconstruct,
    ReviewDocument,
    Sample,
    SetIntake,
    SetPerson,
    SetPolicy,
    StudioDocument,
)
from fathom.types import FathomError

INTAKE = "intake"
"""Subject of entries on how documents are measured."""
POLICY = "policy"
"""Subject of entries on how samples are reviewed."""
START = "0" * 64
"""The hash before the first entry."""


class BrokenLogError(FathomError):
    """The log was changed, or does not lead to a permitted state."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry.

    Attributes:
        number: 1 for the first.
        at: Time, in UTC.
        person: Who acted.
        kind: Name of the event's class.
        subject: Id of the sample, document or account.
        body: The event as canonical JSON.
        previous: Hash of the entry before.
    """

    number: int
    at: str
    person: str
    kind: str
    subject: str
    body: str
    previous: str
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """The end of a log; ``number`` entries lead to ``hash``."""

    number: int = 0
    hash: str = START

    def __str__(self) -> str:
        return f"{self.number}:{self.hash}"


@dataclass(frozen=True, slots=True)
class NoteEntry:
    """A note with its place in the log."""

    number: int
    at: str
    person: str
    note: Note


@dataclass
class Replayed:
    """What a log leads to, by id."""

    samples: dict[str, Sample] = field(default_factory=dict)
    documents: dict[str, StudioDocument] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    people: dict[str, Person] = field(default_factory=dict)
    notes: list[NoteEntry] = field(default_factory=list)
    intake: SetIntake = field(default_factory=SetIntake)
    policy: PolicyName = ""

    def person(self, name: str) -> Person:
        """Who acts under a name; an unknown one may do nothing."""
        if name == OPERATOR:
            return Person(OPERATOR, "administrator")
        return self.people.get(name, Person(name, "reader", active=False))


def new_entry(head: Head, at: str, person: str, event: Event) -> Entry:
    """The next entry.

    Args:
        head: The end of the log.
        at: Time.
        event: What they do.
    """
    body = canonical(as_record(event))
    entry = Entry(head.number + 1, at, person, type(event).__name__, subject_of(event), body, head.hash, "")
    return replace(entry, hash=hash_of(entry))


def hash_of(entry: Entry) -> str:
    """The hash of an entry's content and of the hash before it."""
    content = [entry.number, entry.at, entry.person, entry.kind, entry.subject, entry.body]
    return hashlib.sha256(f"{entry.previous}\n{canonical(content)}".encode()).hexdigest()


def subject_of(event: Event) -> str:
    """Id of what an event is about."""
    match event:
        case AddDocument():
            return event.document.id
        case ReviewDocument():
            return event.document
        case SetPerson():
            return event.person.name
        case SetIntake():
            return INTAKE
        case SetPolicy():
            return POLICY
        case Note():
            return event.subject
    return event.sample


def event_of(entry: Entry) -> Event:
    """The event of an entry.

    Raises:
        BrokenLogError: It is none.
    """
    try:
        return from_json(EVENTS[entry.kind], entry.body)
    except (KeyError, RecordError) as error:
        raise BrokenLogError(f"entry {entry.number}: it cannot be read: {error}; {_ADVICE}") from error


def verified(entries: Iterable[Entry]) -> Iterator[Entry]:
    """The entries of a log in order, each after its hash was checked.

    Raises:
        BrokenLogError: One was edited, inserted, deleted or moved.
    """
    head = Head()
    for entry in entries:
        if entry.number != head.number + 1:
            raise BrokenLogError(f"entry {head.number + 1} is missing: entry {entry.number} follows; {_ADVICE}")
        if entry.previous != head.hash:
            raise BrokenLogError(f"entry {entry.number}: it does not follow entry {head.number}; {_ADVICE}")
        if hash_of(entry) != entry.hash:
            raise BrokenLogError(f"entry {entry.number}: it was changed after it was written; {_ADVICE}")
        head = Head(entry.number, entry.hash)
        yield entry


def step(world: Replayed, entry: Entry) -> None:
    """Applies one entry; whatever the workflow forbids is refused here too.

    Raises:
        BrokenLogError: It is not permitted.
    """
    event = event_of(entry)
    try:
        _apply(world, entry, event)
    except (RefusedError, StaleError) as error:
        raise _refused(entry, error) from error


def _refused(entry: Entry, error: FathomError) -> BrokenLogError:
    return BrokenLogError(f"entry {entry.number} ({entry.kind} by {entry.person}): {error}; {_ADVICE}")


def _apply(world: Replayed, entry: Entry, event: Event) -> None:
    by = world.person(entry.person)
    match event:
        case AddDocument():
            check_new_document(event.document, by)
            if event.document.id in world.documents:
                raise RefusedError(f"document {event.document.id}: it exists already")
            world.documents[event.document.id] = event.document
            world.digests[event.document.id] = event.digest
        case ReviewDocument():
            if (document := world.documents.get(event.document)) is None:
                raise RefusedError(f"document {event.document}: there is none")
            world.documents[event.document] = review_document(document, event, by)
        case SetIntake():
            check_intake(event, world.intake, by, filled=bool(world.documents))
            world.intake = event
        case SetPolicy():
            check_right("administrator", by, operator=True)
            world.policy = event.policy
        case SetPerson():
            check_right("administrator", by, operator=True)
            world.people[event.person.name] = event.person
        case Note():
            check_note(event, by)
            world.notes.append(NoteEntry(entry.number, entry.at, entry.person, event))
        case _:
            if isinstance(event, Create | Reconstruct) and event.policy != world.policy:
                raise RefusedError(f"sample {event.sample}: the policy was {world.policy!r}, not {event.policy!r}")
            before = world.samples.get(event.sample)
            check_staff(before, event, by, Staff(world.policy, tuple(world.people.values())))
            world.samples[event.sample] = apply(before, event, by, entry.at)


def replay(entries: Iterable[Entry]) -> tuple[Replayed, Head]:
    """What a log leads to, and its end.

    Raises:
        BrokenLogError: The chain is broken, or an entry is not permitted.
    """
    world, head = Replayed(), Head()
    for entry in verified(entries):
        step(world, entry)
        head = Head(entry.number, entry.hash)
    return world, head


def steps_of_sample(entries: Iterable[Entry]) -> Iterator[tuple[Entry, Action, Sample]]:
    """Each action on one sample, with the sample after it.

    Rights were checked when the entries were written, and ``replay`` checks them again; here names are enough.

    Args:
        entries: The actions on the sample, in order.

    Raises:
        BrokenLogError: One is not permitted.
    """
    sample = None
    for entry in entries:
        action = cast(Action, event_of(entry))
        try:
            sample = apply(sample, action, Person(entry.person, "administrator"), entry.at)
        except (RefusedError, StaleError) as error:
            raise _refused(entry, error) from error
        yield entry, action, sample


def head_of(text: str) -> Head:
    """A head as ``str`` writes it.

    Raises:
        FathomError: It is none.
    """
    number, _, digest = text.strip().partition(":")
    if not number.isdecimal() or len(digest) != 64 or not set(digest) <= set("0123456789abcdef"):
        raise FathomError(
            f"{text[:80]!r} is not the head of a log; expected NUMBER:HASH, as `fathom studio audit` prints"
        )
    return Head(int(number), digest)


_ADVICE = "restore a backup (`fathom studio restore`), and find out who can write to the database"
