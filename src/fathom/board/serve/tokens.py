"""Tokens of people: who may submit, and who may decide. The store holds their hashes only."""

import hashlib
import hmac
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from fathom.board.serve.schema import TOKEN_DAYS, tokens
from fathom.board.serve.store import Store, clear_errors, moment, now
from fathom.types import FathomError

Role: TypeAlias = Literal["submit", "moderate"]
ROLES: tuple[Role, ...] = get_args(Role)
_MOST_DAYS = 3650
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TOKEN = re.compile(r"fathom-([0-9a-f]{16})-[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Holder:
    """Somebody with a token.

    Attributes:
        name: As it stands with submissions.
        role: ``submit``, or ``moderate``, which includes it.
    """

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; nobody knows the token itself but its holder.

    Attributes:
        name: Of its holder.
        role: ``submit`` or ``moderate``.
        made: When, in UTC.
        expires: When it stops being valid, in UTC.
        used: Day of its last use; "" before.
    """

    name: str
    role: Role
    made: str
    expires: str
    used: str

    @property
    def expired(self) -> bool:
        """Whether it is not valid any more."""
        return self.expires <= now()


class ExpiredError(Exception):
    """A token was right, and is not valid any more."""


def make_token(store: Store, name: str, role: str, days: float = TOKEN_DAYS) -> str:
    """Make a token for somebody; only its hash is kept, so that this is the one time that it can be seen.

    Args:
        store: The store that it is for.
        name: Letters, digits and ``._@-``, 64 at most.
        role: ``submit`` or ``moderate``.
        days: How long it is valid.

    Raises:
        FathomError: The name cannot be one or has a token, the role is not known, or the days are none.
    """
    if not _NAME.fullmatch(name):
        raise FathomError(f"name {name!r}: expected letters, digits and ._@- (64 at most), beginning with one of them")
    if role not in ROLES:
        raise FathomError(f"--role {role}: expected {' or '.join(ROLES)}")
    token, values = _new(days)
    try:
        with clear_errors(), store.engine.begin() as connection:
            connection.execute(insert(tokens).values(name=name, role=role, used="", **values))
    except IntegrityError:
        raise FathomError(
            f"{name} has a token already; fathom board token rotate {name} makes another in its place, "
            f"fathom board token revoke {name} ends it"
        ) from None
    return token


def rotate(store: Store, name: str, days: float = TOKEN_DAYS) -> str:
    """Make another token for somebody in place of the present one, which ends at once.

    Raises:
        FathomError: Nobody of that name has a token, or the days are none.
    """
    token, values = _new(days)
    with clear_errors(), store.engine.begin() as connection:
        if not connection.execute(update(tokens).where(tokens.c.name == name).values(used="", **values)).rowcount:
            raise FathomError(f"{name} has no token in this store")
    return token


def listed(store: Store) -> list[Token]:
    """All tokens by the names of their holders."""
    columns = (tokens.c.name, tokens.c.role, tokens.c.made, tokens.c.expires, tokens.c.used)
    with clear_errors(), store.reading.connect() as connection:
        return [Token(*row) for row in connection.execute(select(*columns).order_by(tokens.c.name))]


def revoke(store: Store, name: str) -> None:
    """Make the token of somebody invalid, at once. What they have submitted stays.

    Raises:
        FathomError: Nobody of that name has a token.
    """
    with clear_errors(), store.engine.begin() as connection:
        if not connection.execute(delete(tokens).where(tokens.c.name == name)).rowcount:
            raise FathomError(f"{name} has no token in this store")


def holder_of(store: Store, token: str) -> Holder | None:
    """Whose token this is; None if it is nobody's. The day of its use is kept.

    Raises:
        ExpiredError: It was somebody's.
    """
    # Looked up by the part that is no secret; the secret is compared in a time that does not depend on it.
    if not (match := _TOKEN.fullmatch(token)):
        return None
    with clear_errors(), store.reading.connect() as connection:
        row = connection.execute(select(tokens).where(tokens.c.key == match[1])).one_or_none()
    if row is None or not hmac.compare_digest(row.hash, _hash(token)):
        return None
    present = now()
    if row.expires <= present:
        raise ExpiredError(row.expires)
    if row.used != (today := present[:10]):
        with suppress(FathomError), clear_errors(), store.engine.begin() as connection:  # no reason to refuse anybody
            connection.execute(update(tokens).where(tokens.c.key == match[1]).values(used=today))
    return Holder(row.name, row.role)


def _new(days: float) -> tuple[str, dict[str, str]]:
    """A token, and what the store keeps of it."""
    if not 0 < days <= _MOST_DAYS:
        raise FathomError(f"--days {days:g}: expected more than 0, and at most {_MOST_DAYS:,}")
    key = secrets.token_hex(8)
    token = f"fathom-{key}-{secrets.token_urlsafe(32)}"
    present = time.time()
    times = {"made": moment(present), "expires": moment(present + days * 86_400)}
    return token, {"key": key, "hash": _hash(token), **times}


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
