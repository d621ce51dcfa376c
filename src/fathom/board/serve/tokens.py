"""Tokens: who may submit, and who may decide. The store has only their hashes."""

import hashlib
import hmac
import re
import secrets
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, get_args

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from fathom.board.serve.schema import TOKEN_DAYS, tokens
from fathom.board.serve.store import Store
from fathom.server.database import clear_errors, moment, now
from fathom.types import FathomError

Role: TypeAlias = Literal["submit", "moderate"]
ROLES: tuple[Role, ...] = get_args(Role)
_MOST_DAYS = 3650
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_TOKEN = re.compile(r"fathom-([0-9a-f]{16})-[A-Za-z0-9_-]{43}")


@dataclass(frozen=True, slots=True)
class Holder:
    """The holder of a token.

    Attributes:
        name: Shown with submissions.
        role: ``submit``, or ``moderate``, which includes it.
    """

    name: str
    role: Role


@dataclass(frozen=True, slots=True)
class Token:
    """Facts about a token; only its holder knows the token itself.

    Attributes:
        name: Name of its holder.
        role: ``submit`` or ``moderate``.
        made: Time of creation, in UTC.
        expires: Time of expiry, in UTC.
        used: Day of its last use; "" before.
    """

    name: str
    role: Role
    made: str
    expires: str
    used: str

    @property
    def expired(self) -> bool:
        """Whether it has expired."""
        return self.expires <= now()

    def as_record(self) -> dict[str, object]:
        """The facts for a table."""
        return asdict(self) | {"used": self.used or "never", "valid": not self.expired}


class ExpiredError(Exception):
    """The token has expired."""


def make_token(store: Store, name: str, role: str, days: float = TOKEN_DAYS) -> str:
    """Makes a token and returns it; only its hash is stored.

    Args:
        store: The store.
        name: Letters, digits and ``._@-``, 64 at most.
        role: ``submit`` or ``moderate``.
        days: Its validity.

    Raises:
        FathomError: The name is invalid or has a token, the role is unknown, or the days are out of range.
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
            f"{name} already has a token; `fathom board token rotate {name}` replaces it, "
            f"`fathom board token revoke {name}` revokes it"
        ) from None
    return token


def rotate(store: Store, name: str, days: float = TOKEN_DAYS) -> str:
    """Replaces somebody's token; the old one is invalid at once.

    Raises:
        FathomError: The name has no token, or the days are out of range.
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
    """Revokes a token at once. Its submissions stay.

    Raises:
        FathomError: The name has no token.
    """
    with clear_errors(), store.engine.begin() as connection:
        if not connection.execute(delete(tokens).where(tokens.c.name == name)).rowcount:
            raise FathomError(f"{name} has no token in this store")


def holder_of(store: Store, token: str) -> Holder | None:
    """The holder of a token, and records the day of its use; None for an unknown token.

    Raises:
        ExpiredError: It has expired.
    """
    # Found by the public part; the secret is compared in constant time.
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
        with suppress(FathomError), clear_errors(), store.engine.begin() as connection:  # not worth refusing a request
            connection.execute(update(tokens).where(tokens.c.key == match[1]).values(used=today))
    return Holder(row.name, row.role)


def _new(days: float) -> tuple[str, dict[str, str]]:
    """A token, and its record in the store."""
    if not 0 < days <= _MOST_DAYS:
        raise FathomError(f"--days {days:g}: expected more than 0, and at most {_MOST_DAYS:,}")
    key = secrets.token_hex(8)
    token = f"fathom-{key}-{secrets.token_urlsafe(32)}"
    present = time.time()
    times = {"made": moment(present), "expires": moment(present + days * 86_400)}
    return token, {"key": key, "hash": _hash(token), **times}


def _hash(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
