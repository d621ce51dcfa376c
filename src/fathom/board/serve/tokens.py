"""Tokens: who may submit, and who may decide. The store has only their hashes."""

import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias, get_args

from sqlalchemy import delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from fathom.board.serve.schema import TOKEN_DAYS, tokens
from fathom.board.serve.store import Store
from fathom.server.database import clear_errors, now
from fathom.server.tokens import NAME, is_same, key_of, new_token
from fathom.types import FathomError

Role: TypeAlias = Literal["submit", "moderate"]
ROLES: tuple[Role, ...] = get_args(Role)


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
        name: Letters, digits and ``._@-``, 64 at most.
        role: ``submit`` or ``moderate``.
        days: Its validity.

    Raises:
        FathomError: The name is invalid or has a token, the role is unknown, or the days are out of range.
    """
    if not NAME.fullmatch(name):
        raise FathomError(f"name {name!r}: expected letters, digits and ._@- (64 at most), beginning with one of them")
    if role not in ROLES:
        raise FathomError(f"`role` {role}: expected {' or '.join(ROLES)}")
    token, stored = new_token(days, time.time())
    try:
        with clear_errors(), store.engine.begin() as connection:
            connection.execute(insert(tokens).values(name=name, role=role, used="", **asdict(stored)))
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
    token, stored = new_token(days, time.time())
    change = update(tokens).where(tokens.c.name == name).values(used="", **asdict(stored))
    with clear_errors(), store.engine.begin() as connection:
        if not connection.execute(change).rowcount:
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
    if (key := key_of(token)) is None:
        return None
    with clear_errors(), store.reading.connect() as connection:
        row = connection.execute(select(tokens).where(tokens.c.key == key)).one_or_none()
    if row is None or not is_same(row.hash, token):
        return None
    present = now()
    if row.expires <= present:
        raise ExpiredError(row.expires)
    if row.used != (today := present[:10]):
        with suppress(FathomError), clear_errors(), store.engine.begin() as connection:  # not worth refusing a request
            connection.execute(update(tokens).where(tokens.c.key == key).values(used=today))
    return Holder(row.name, row.role)
