"""The store of submissions: adding, finding, deciding. Each change is one transaction."""

import json
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from sqlalchemy import Connection, Row, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from fathom.board.likeness import expected_alike, likeness, plain_name, unpacked
from fathom.board.serve.schema import (
    BOARD,
    decisions,
    likenesses,
    pieces,
    prints,
    submissions,
)
from fathom.server.database import Database, StoreError, clear_errors, moment, now
from fathom.types import FathomError, Json

State: TypeAlias = Literal["pending", "accepted", "refused", "withdrawn"]
PIECE = 1 << 20
"""Bytes of a bundle in one row."""
LISTED = 1000
"""Maximum number of submissions, or decisions, in one response, the newest first."""
KEPT_DAYS = 30
"""Days for which the bytes of refused or withdrawn submissions are kept, so that this can be undone."""


@dataclass(frozen=True, slots=True)
class Submission:
    """One submitted bundle.

    Attributes:
        id: SHA-256 of its bytes, in hexadecimal digits: the same bundle is the same submission.
        submitter: Name of the token's holder.
        received: Time of its receipt, in UTC.
        size: Bytes.
        state: ``pending`` until a decision.
        verdict: Result of the check, see ``checking``.
        reason: Reason of the decision.
        decided_by: Who decided; "" if pending or refused by the check.
        decided: Time of the decision, in UTC; "" before.
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
        """Name of its model; "" if it could not be read."""
        return str(self.verdict.get("model") or "") if isinstance(self.verdict, dict) else ""

    @property
    def stands(self) -> bool:
        """Whether the same bundle cannot be sent again: it is pending, or a person has decided on it."""
        return self.state in ("pending", "accepted") or (self.state == "refused" and self.decided_by != "")


@dataclass(frozen=True, slots=True)
class Decision:
    """A decision on a submission. Decisions are added, never changed.

    Attributes:
        number: Its number; later ones have higher numbers.
        submission: Id of the submission.
        decided: Time, in UTC.
        decided_by: Who decided.
        action: The chosen state, or ``undone``.
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
    """Another submission with the same replies or name.

    Attributes:
        other: The other one.
        words: What they have in common.
    """

    other: Submission
    words: str


class KnownError(Exception):
    """The same bundle was submitted before."""

    def __init__(self, submission: Submission) -> None:
        super().__init__(submission.id)
        self.submission = submission


class LostError(FathomError):
    """The bytes of a submission were deleted."""


class WaitingError(FathomError):
    """A submitter has the maximum number of pending submissions."""


class Store(Database):
    """Submissions in a database, for several threads and several servers at once.

    Args:
        place: A folder (SQLite) or the URL of a PostgreSQL database.

    Raises:
        FathomError: It cannot be opened.
    """

    def __init__(self, place: str) -> None:
        super().__init__(place, BOARD)

    def add(self, submission: Submission, bundle: Path | None, waiting: int, reply_prints: bytes = b"") -> None:
        """Adds a submission durably: it survives ``kill -9`` and a power failure after this returns.

        Args:
            submission: Its facts. An earlier one of the same bundle is replaced unless it ``stands``.
            bundle: File of its bytes; None to keep none.
            waiting: Maximum number of pending submissions of its submitter, including this one.
            reply_prints: Prints of its replies (``fathom.board.likeness``).

        Raises:
            KnownError: The same bundle was submitted before.
            WaitingError: The submitter has too many pending submissions.
            FullStoreError, StoreError: It was not stored.
            StoreError: The database failed; nothing is stored.
        """
        try:
            with clear_errors(), self.engine.begin() as connection:
                row = connection.execute(
                    select(submissions).where(submissions.c.id == submission.id).with_for_update()
                ).one_or_none()
                if row is not None and _submission(row).stands:
                    raise KnownError(_submission(row))
                mine = (submissions.c.submitter == submission.submitter) & (submissions.c.state == "pending")
                pending = connection.execute(select(func.count()).select_from(submissions).where(mine)).scalar_one()
                if submission.state == "pending" and pending >= waiting:
                    raise WaitingError(f"{pending} submissions of {submission.submitter} are already pending")
                if row is not None:  # locked; a newer one must not be replaced
                    _forget(connection, submission.id)
                connection.execute(insert(submissions).values(_columns(submission)))
                for number, content in enumerate(_cut(bundle) if bundle else ()):
                    connection.execute(insert(pieces).values(submission=submission.id, number=number, content=content))
                if bundle:
                    connection.execute(
                        insert(prints).values(submission=submission.id, content=reply_prints, compared=0)
                    )
        except IntegrityError:  # another connection added the same bundle first
            if (first := self.find(submission.id)) is None:
                raise StoreError("the submission was not stored; send it again") from None
            raise KnownError(first) from None

    def compare(self) -> None:
        """Compares the replies of new submissions with those of all others.

        It is called after ``add`` and reads committed data, so that of two simultaneous ones the later finds the other.
        """
        with clear_errors(), self.reading.connect() as connection:
            new = list(connection.execute(select(prints.c.submission).where(prints.c.compared == 0)).scalars())
        for id in new:
            alike = self._likenesses(id)
            with clear_errors(), self.engine.begin() as connection:
                for other, words in alike.items():
                    pair = dict(zip(("one", "other"), sorted((id, other)), strict=True))
                    connection.execute(delete(likenesses).filter_by(**pair))
                    connection.execute(insert(likenesses).values(**pair, words=words))
                connection.execute(update(prints).where(prints.c.submission == id).values(compared=1))

    def _likenesses(self, id: str) -> dict[str, str]:
        """Submissions with the same replies as this one, and what they have in common."""
        query = select(prints.c.content, submissions).join(submissions, submissions.c.id == prints.c.submission)
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(query.where(submissions.c.id == id)).one_or_none()
            if row is None:
                return {}
            mine, own, alike = unpacked(row.content), _submission(row), {}
            for other in connection.execute(query.where(submissions.c.id != id)):
                theirs = _submission(other)
                names = own.model, theirs.model
                again = own.submitter == theirs.submitter and plain_name(own.model) == plain_name(theirs.model)
                if again or expected_alike(names):
                    continue
                compared = likeness(mine, unpacked(other.content))
                if compared.alike:
                    alike[theirs.id] = str(compared)
        return alike

    def alike(self, of: Sequence[Submission]) -> dict[str, list[Alike]]:
        """Submissions with the same replies or name as others, by id."""
        ids = {submission.id for submission in of}
        with clear_errors(), self.reading.connect() as connection:
            pairs = connection.execute(select(likenesses)).all()
            standing = submissions.c.state.in_(("pending", "accepted"))
            by_id = {
                submission.id: submission
                for submission in map(_submission, connection.execute(select(submissions).where(standing)))
            }
            more = {id for pair in pairs for id in (pair.one, pair.other)} - by_id.keys()
            if more:
                gone = connection.execute(select(submissions).where(submissions.c.id.in_(more)))
                by_id |= {submission.id: submission for submission in map(_submission, gone)}
        similar: dict[str, list[Alike]] = {id: [] for id in ids}
        for pair in pairs:
            for mine, other in ((pair.one, pair.other), (pair.other, pair.one)):
                if mine in ids and other in by_id:
                    similar[mine].append(Alike(by_id[other], pair.words))
        named: dict[str, list[Submission]] = {}
        for candidate in by_id.values():
            if candidate.state in ("pending", "accepted") and (name := plain_name(candidate.model)):
                named.setdefault(name, []).append(candidate)
        for asked in of:
            others = (other for other in named.get(plain_name(asked.model), ()) if other.submitter != asked.submitter)
            similar[asked.id] += (Alike(other, "the same name, from another submitter") for other in others)
        return similar

    def find(self, id: str) -> Submission | None:
        """The submission with this id; None without one."""
        with clear_errors(), self.reading.connect() as connection:
            row = connection.execute(select(submissions).where(submissions.c.id == id)).one_or_none()
        return None if row is None else _submission(row)

    def some(self, ids: Collection[str]) -> list[Submission]:
        """The submissions with these ids, in no order; missing ones are left out."""
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
        """Changes the state of a submission, and records who did it, when and why.

        The bytes of a refused or withdrawn one are kept for ``KEPT_DAYS`` days, so that it can be undone; later
        decisions delete them.

        Args:
            before: Allowed present states.
            after: The new state.

        Returns:
            Whether its state was one of ``before``; otherwise nothing is changed.
        """
        with clear_errors(), self.engine.begin() as connection:
            present = _state(connection, id)
            if present is None or present not in before:
                return False
            _change(connection, id, after, present, after, by, reason)
            _purge(connection)
        return True

    def undo(self, id: str, number: int, *, by: str, reason: str) -> bool:
        """Undoes the last decision on a submission, which restores its state before it.

        Args:
            number: The decision, so that only one of two simultaneous calls undoes it.
            by: Who undoes it.

        Returns:
            Whether that was the last decision; otherwise nothing is changed.

        Raises:
            LostError: The bytes are needed again but were deleted.
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
                raise LostError(f"its bytes were deleted after {KEPT_DAYS} days; the submitter can send it again")
            _change(connection, id, "undone", last.after, last.before, by, reason)
        return True

    def decisions(self, ids: Sequence[str] | None = None) -> list[Decision]:
        """Decisions, the newest first; at most ``LISTED`` if they are of all submissions.

        Args:
            ids: Only those on these submissions.
        """
        query = select(decisions).order_by(decisions.c.number.desc())
        query = query.limit(LISTED) if ids is None else query.where(decisions.c.submission.in_(ids))
        with clear_errors(), self.reading.connect() as connection:
            return [Decision(**row._mapping) for row in connection.execute(query)]

    def content(self, id: str) -> Iterator[bytes]:
        """The bytes of a bundle, in pieces; none if deleted."""
        number = 0
        while True:
            query = select(pieces.c.content).where(pieces.c.submission == id, pieces.c.number == number)
            with clear_errors(), self.reading.connect() as connection:
                content: bytes | None = connection.execute(query).scalar_one_or_none()
            if content is None:
                return
            yield content
            number += 1


def _state(connection: Connection, id: str) -> State | None:
    """The state of a submission, locked until the transaction ends."""
    query = select(submissions.c.state).where(submissions.c.id == id).with_for_update()
    state: State | None = connection.execute(query).scalar_one_or_none()
    return state


def _change(connection: Connection, id: str, action: str, before: State, after: State, by: str, reason: str) -> None:
    made = {"reason": reason, "decided_by": by, "decided": now()}
    shown = dict.fromkeys(made, "") if after == "pending" else made  # a pending one has no decision
    connection.execute(update(submissions).where(submissions.c.id == id).values(state=after, **shown))
    made |= {"submission": id, "action": action}
    connection.execute(insert(decisions).values(**made, before=before, after=after))


def _purge(connection: Connection) -> None:
    """Deletes the bytes of submissions that were refused or withdrawn long ago."""
    gone = submissions.c.state.in_(("refused", "withdrawn")) & (submissions.c.decided < _ago(KEPT_DAYS))
    connection.execute(delete(pieces).where(pieces.c.submission.in_(select(submissions.c.id).where(gone))))


def _forget(connection: Connection, id: str) -> None:
    """Deletes a submission except the decisions on it."""
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
    # ASCII, because PostgreSQL's text cannot contain NUL, which the text of a bundle may.
    return columns | {"verdict": json.dumps(submission.verdict)}


def _submission(row: Row[Any]) -> Submission:
    columns = {name: row._mapping[name] for name in submissions.c.keys()}  # noqa: SIM118 - columns, not names
    return Submission(**columns | {"verdict": json.loads(columns["verdict"])})
