"""Submissions in the store: taken in, found, decided on. Each change is one transaction."""

import json
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, Row, delete, func, insert, select, text, update
from sqlalchemy.exc import DBAPIError, IntegrityError, SQLAlchemyError

from fathom.board.likeness import expected_alike, likeness, plain_name, unpacked
from fathom.board.serve.schema import (
    READING,
    decisions,
    engine_of,
    likenesses,
    migrate,
    pieces,
    prints,
    submissions,
)
from fathom.types import FathomError, Json

State: TypeAlias = Literal["pending", "accepted", "refused", "withdrawn"]
PIECE = 1 << 20
"""Bytes of a bundle in one row."""
LISTED = 1000
"""Submissions, or decisions, that one answer lists at most, the newest first."""
KEPT_DAYS = 30
"""Days for which the bytes of what was refused or withdrawn are kept, so that it can be undone."""
_SQLITE_FULL, _POSTGRES_FULL = "SQLITE_FULL", "53100"


class FullStoreError(FathomError):
    """There is no space left for what should be stored; nothing of it was."""


class StoreError(FathomError):
    """The database cannot be reached, or did not do what it was asked."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One bundle that somebody sent.

    Attributes:
        id: SHA-256 of its bytes, in hexadecimal digits: the same bundle is the same submission.
        submitter: Name of the holder of the token.
        received: When it came, in UTC.
        size: Bytes.
        state: ``pending`` until somebody decides.
        verdict: What the check said of it; see ``checking.Verdict``.
        reason: Why it was refused or accepted.
        decided_by: Who decided; "" where nobody has, or where the check refused it.
        decided: When, in UTC; "" before.
    """

    id: str
    submitter: str
    received: str
    size: int
    state: State
    verdict: Json
    reason: str = ""
    decided_by: str = ""
    decided: str = ""

    @property
    def model(self) -> str:
        """Name of its model; "" where it could not be read."""
        return str(self.verdict.get("model") or "") if isinstance(self.verdict, dict) else ""

    @property
    def stands(self) -> bool:
        """Whether the same bundle cannot be sent again: it waits, or a person has decided on it."""
        return self.state in ("pending", "accepted") or (self.state == "refused" and self.decided_by != "")


@dataclass(frozen=True, slots=True)
class Decision:
    """What somebody decided on a submission. Decisions are added, never changed.

    Attributes:
        number: Its number; later ones have higher numbers.
        submission: Id of the submission.
        decided: When, in UTC.
        decided_by: Who.
        action: The state that was chosen, or ``undone``.
        before: State of the submission before.
        after: And after it.
        reason: Why.
    """

    number: int
    submission: str
    decided: str
    decided_by: str
    action: str
    before: State
    after: State
    reason: str


@dataclass(frozen=True, slots=True)
class Alike:
    """Another submission that has the same replies, or the same name.

    Attributes:
        other: The other one.
        words: What they have in common.
    """

    other: Submission
    words: str


class KnownError(Exception):
    """The same bundle is there already."""

    def __init__(self, submission: Submission) -> None:
        super().__init__(submission.id)
        self.submission = submission


class LostError(FathomError):
    """The bytes of a submission are not kept any more."""


class WaitingError(FathomError):
    """A submitter has as many undecided submissions as one may have."""


def moment(seconds: float) -> str:
    """A time, in seconds since the epoch, as it stands in the store: in UTC."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(seconds))


def now() -> str:
    """The present time, as it stands in the store."""
    return moment(time.time())


class Store:
    """Submissions in a database; may be used by several threads, and by several servers at once.

    Args:
        place: A folder (SQLite) or the URL of a PostgreSQL database.

    Raises:
        FathomError: It cannot be opened.
    """

    def __init__(self, place: str) -> None:
        self.engine = engine_of(place)
        self.reading = self.engine.execution_options(**{READING: True})
        try:
            with clear_errors():
                migrate(self.engine)
        except FathomError:
            self.close()
            raise

    def close(self) -> None:
        """Give up all connections."""
        self.engine.dispose()

    def is_there(self) -> bool:
        """Whether the database answers."""
        try:
            with self.reading.connect() as connection:
                connection.execute(text("SELECT 1"))
            return True
        except SQLAlchemyError:
            return False

    def add(self, submission: Submission, bundle: Path | None, waiting: int, said: bytes = b"") -> None:
        """Take a submission in. When this returns, neither ``kill -9`` nor a power cut takes it away.

        Args:
            submission: What is known of it. An earlier one of the same bundle that does not stand is replaced.
            bundle: File of its bytes; None to keep none.
            waiting: How many undecided submissions its submitter may have, this one among them.
            said: Prints of its replies (``fathom.board.likeness``).

        Raises:
            KnownError: The same bundle stands already.
            WaitingError: The submitter must wait until something is decided.
            FullStoreError, StoreError: It was not stored.
        """
        try:
            with clear_errors(), self.engine.begin() as connection:
                row = connection.execute(
                    select(submissions).where(submissions.c.id == submission.id).with_for_update()
                ).one_or_none()
                if row is not None and _submission(row).stands:
                    raise KnownError(_submission(row))
                mine = (submissions.c.submitter == submission.submitter) & (submissions.c.state == "pending")
                there = connection.execute(select(func.count()).select_from(submissions).where(mine)).scalar_one()
                if submission.state == "pending" and there >= waiting:
                    raise WaitingError(f"{there} submissions of {submission.submitter} wait for a moderator already")
                if row is not None:  # locked; one that came since is not ours to replace
                    _forget(connection, submission.id)
                connection.execute(insert(submissions).values(_columns(submission)))
                for number, content in enumerate(_cut(bundle) if bundle else ()):
                    connection.execute(insert(pieces).values(submission=submission.id, number=number, content=content))
                if bundle:
                    connection.execute(insert(prints).values(submission=submission.id, content=said, compared=0))
        except IntegrityError:  # another connection was quicker with the same bundle
            if (first := self.find(submission.id)) is None:
                raise StoreError("the store did not take the submission; send it again") from None
            raise KnownError(first) from None

    def compare(self) -> None:
        """Find out which submissions hold the replies of others: those not compared yet, with all that are there.

        It comes after ``add``, and reads what is committed: of two that came at once, the later one finds the earlier.
        """
        with clear_errors(), self.reading.connect() as connection:
            new = list(connection.execute(select(prints.c.submission).where(prints.c.compared == 0)).scalars())
        for id in new:
            found = self._likenesses(id)
            with clear_errors(), self.engine.begin() as connection:
                for other, words in found.items():
                    pair = dict(zip(("one", "other"), sorted((id, other)), strict=True))
                    connection.execute(delete(likenesses).filter_by(**pair))
                    connection.execute(insert(likenesses).values(**pair, words=words))
                connection.execute(update(prints).where(prints.c.submission == id).values(compared=1))

    def _likenesses(self, id: str) -> dict[str, str]:
        """The submissions whose replies are those of this one, and what they have in common."""
        query = select(prints.c.content, submissions).join(submissions, submissions.c.id == prints.c.submission)
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(query.where(submissions.c.id == id)).one_or_none()
            if row is None:
                return {}
            mine, own, found = unpacked(row.content), _submission(row), {}
            for other in connection.execute(query.where(submissions.c.id != id)):
                theirs = _submission(other)
                names = own.model, theirs.model
                again = own.submitter == theirs.submitter and plain_name(own.model) == plain_name(theirs.model)
                if again or expected_alike(names):
                    continue
                compared = likeness(mine, unpacked(other.content))
                if compared.alike:
                    found[theirs.id] = str(compared)
        return found

    def alike(self, of: Sequence[Submission]) -> dict[str, list[Alike]]:
        """Submissions with the replies or the name of others, by id.

        Args:
            of: Those that are asked about.
        """
        ids = {one.id for one in of}
        with clear_errors(), self.reading.connect() as connection:
            pairs = connection.execute(select(likenesses)).all()
            standing = submissions.c.state.in_(("pending", "accepted"))
            there = {one.id: one for one in map(_submission, connection.execute(select(submissions).where(standing)))}
            more = {id for pair in pairs for id in (pair.one, pair.other)} - there.keys()
            if more:
                gone = connection.execute(select(submissions).where(submissions.c.id.in_(more)))
                there |= {one.id: one for one in map(_submission, gone)}
        found: dict[str, list[Alike]] = {id: [] for id in ids}
        for pair in pairs:
            for mine, other in ((pair.one, pair.other), (pair.other, pair.one)):
                if mine in ids and other in there:
                    found[mine].append(Alike(there[other], pair.words))
        named: dict[str, list[Submission]] = {}
        for one in there.values():
            if one.state in ("pending", "accepted") and (name := plain_name(one.model)):
                named.setdefault(name, []).append(one)
        for one in of:
            others = (other for other in named.get(plain_name(one.model), ()) if other.submitter != one.submitter)
            found[one.id] += (Alike(other, "the same name, sent by somebody else") for other in others)
        return found

    def find(self, id: str) -> Submission | None:
        """The submission with this id; None if there is none."""
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(select(submissions).where(submissions.c.id == id)).one_or_none()
        return None if row is None else _submission(row)

    def some(self, ids: Collection[str]) -> list[Submission]:
        """The submissions with these ids, in no order; those that are not there are left out."""
        with clear_errors(), self.reading.connect() as connection:
            return [
                _submission(row) for row in connection.execute(select(submissions).where(submissions.c.id.in_(ids)))
            ]

    def listed(self, *, submitter: str | None = None, state: State | None = None) -> list[Submission]:
        """Submissions, the newest first; at most ``LISTED``.

        Args:
            submitter: Only those of this person.
            state: Only those in this state.
        """
        query = select(submissions).order_by(submissions.c.received.desc(), submissions.c.id).limit(LISTED)
        if submitter is not None:
            query = query.where(submissions.c.submitter == submitter)
        if state is not None:
            query = query.where(submissions.c.state == state)
        with clear_errors(), self.reading.connect() as connection:
            return [_submission(row) for row in connection.execute(query)]

    def accepted(self) -> list[str]:
        """Ids of the accepted submissions, ascending."""
        query = select(submissions.c.id).where(submissions.c.state == "accepted").order_by(submissions.c.id)
        with clear_errors(), self.reading.connect() as connection:
            return list(connection.execute(query).scalars())

    def decide(self, id: str, before: Sequence[State], after: State, *, by: str, reason: str) -> bool:
        """Change the state of a submission, and keep who did it, when and why.

        The bytes of one that is refused or withdrawn are kept for ``KEPT_DAYS`` days, so that it can be undone; with a
        later decision they go.

        Args:
            id: The submission.
            before: States from which this may be.
            after: The new state.
            by: Who decides.
            reason: Why.

        Returns:
            Whether it was in one of the states ``before``; if not, nothing is changed.
        """
        with clear_errors(), self.engine.begin() as connection:
            present = _state(connection, id)
            if present is None or present not in before:
                return False
            _change(connection, id, after, present, after, by, reason)
            _purge(connection)
        return True

    def undo(self, id: str, number: int, *, by: str, reason: str) -> bool:
        """Undo the last decision on a submission: it is again in the state in which it was before.

        Args:
            id: The submission.
            number: The decision, so that of two who undo at once, one does.
            by: Who undoes it.
            reason: Why.

        Returns:
            Whether that was the last decision; if not, nothing is changed.

        Raises:
            LostError: The bytes are needed again, and deleted.
        """
        with clear_errors(), self.engine.begin() as connection:
            present = _state(connection, id)
            last = connection.execute(
                select(decisions).where(decisions.c.submission == id).order_by(decisions.c.number.desc()).limit(1)
            ).one_or_none()
            if last is None or last.number != number or last.after != present:
                return False
            kept = connection.execute(select(pieces.c.number).where(pieces.c.submission == id).limit(1)).one_or_none()
            if kept is None and last.before in ("pending", "accepted"):
                raise LostError(
                    f"its bytes were kept for {KEPT_DAYS} days and are deleted; who sent it may send it again"
                )
            _change(connection, id, "undone", last.after, last.before, by, reason)
        return True

    def decisions(self, ids: Sequence[str] | None = None) -> list[Decision]:
        """Decisions, the newest first; at most ``LISTED`` where they are of all submissions.

        Args:
            ids: Only those on these submissions.
        """
        query = select(decisions).order_by(decisions.c.number.desc())
        query = query.limit(LISTED) if ids is None else query.where(decisions.c.submission.in_(ids))
        with clear_errors(), self.reading.connect() as connection:
            return [Decision(**row._mapping) for row in connection.execute(query)]

    def content(self, id: str) -> Iterator[bytes]:
        """The bytes of a bundle, in pieces; none where it is not kept."""
        number = 0
        while True:
            query = select(pieces.c.content).where(pieces.c.submission == id, pieces.c.number == number)
            with clear_errors(), self.reading.connect() as connection:
                content: bytes | None = connection.execute(query).scalar_one_or_none()
            if content is None:
                return
            yield content
            number += 1


@contextmanager
def clear_errors() -> Iterator[None]:
    """Failures of the database in words that hold no statement and no parameters.

    Raises:
        FullStoreError: There is no space left.
        StoreError: Anything else, but for a row that is there already (``IntegrityError``).
    """
    try:
        yield
    except IntegrityError:
        raise
    except DBAPIError as error:
        said = str(error.orig).strip().splitlines()[0] if str(error.orig).strip() else type(error.orig).__name__
        code = getattr(error.orig, "sqlite_errorname", None) or getattr(error.orig, "sqlstate", None)
        if code in (_SQLITE_FULL, _POSTGRES_FULL):
            raise FullStoreError("no space is left in the store; nothing was changed") from error
        words = (
            f"the store does not answer as it should: {said}; see that it runs and is whole, and that --store names it"
        )
        raise StoreError(words) from error
    except SQLAlchemyError as error:  # no free connection within its time
        raise StoreError(f"the store does not answer: {type(error).__name__}") from error


def _state(connection: Connection, id: str) -> State | None:
    """The state of a submission that nobody else can change until the transaction ends."""
    query = select(submissions.c.state).where(submissions.c.id == id).with_for_update()
    state: State | None = connection.execute(query).scalar_one_or_none()
    return state


def _change(connection: Connection, id: str, action: str, before: State, after: State, by: str, reason: str) -> None:
    made = {"reason": reason, "decided_by": by, "decided": now()}
    shown = dict.fromkeys(made, "") if after == "pending" else made  # nobody has decided on it
    connection.execute(update(submissions).where(submissions.c.id == id).values(state=after, **shown))
    made |= {"submission": id, "action": action}
    connection.execute(insert(decisions).values(**made, before=before, after=after))


def _purge(connection: Connection) -> None:
    """Delete the bytes of what was refused or withdrawn long ago."""
    gone = submissions.c.state.in_(("refused", "withdrawn")) & (submissions.c.decided < _ago(KEPT_DAYS))
    connection.execute(delete(pieces).where(pieces.c.submission.in_(select(submissions.c.id).where(gone))))


def _forget(connection: Connection, id: str) -> None:
    """Delete all of a submission but the decisions on it."""
    connection.execute(delete(pieces).where(pieces.c.submission == id))
    connection.execute(delete(prints).where(prints.c.submission == id))
    connection.execute(delete(likenesses).where((likenesses.c.one == id) | (likenesses.c.other == id)))
    connection.execute(delete(submissions).where(submissions.c.id == id))


def _ago(days: float) -> str:
    return moment(time.time() - days * 86_400)


def _cut(bundle: Path) -> Iterator[bytes]:
    with bundle.open("rb") as stream:
        while content := stream.read(PIECE):
            yield content


def _columns(submission: Submission) -> dict[str, object]:
    columns = {name: getattr(submission, name) for name in submissions.c.keys()}  # noqa: SIM118 - columns, not names
    # ASCII: PostgreSQL's text holds no NUL, which the text of a bundle may.
    return columns | {"verdict": json.dumps(submission.verdict)}


def _submission(row: Row[Any]) -> Submission:
    columns = {name: row._mapping[name] for name in submissions.c.keys()}  # noqa: SIM118 - columns, not names
    return Submission(**columns | {"verdict": json.loads(columns["verdict"])})
