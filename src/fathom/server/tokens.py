"""Tokens of servers: a public part, by which a store finds them, and a secret. Stores have only their hashes."""

import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass

from fathom.server.database import moment
from fathom.types import FathomError

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
"""Names of those who hold tokens or accounts."""
_MOST_DAYS = 3650
_TOKEN = re.compile(r"fathom-([0-9a-f]{16})-[A-Za-z0-9_-]{43}")
_LIKE_A_TOKEN = re.compile(r"(fathom-[0-9a-f]{16}-)[A-Za-z0-9_-]+")


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store has of a token.

    Attributes:
        key: Its public part.
        made: Time of creation, in UTC.
        expires: Time of expiry, in UTC.
    """

    key: str
    hash: str
    made: str
    expires: str


def new_token(days: float, present: float) -> tuple[str, Stored]:
    """A token, and what a store has of it.

    Args:
        present: The present time in seconds since the epoch.

    Raises:
        FathomError: The days are out of range.
    """
    if not 0 < days <= _MOST_DAYS:
        raise FathomError(f"`days` {days:g}: expected more than 0, and at most {_MOST_DAYS:,}")
    key = secrets.token_hex(8)
    token = f"fathom-{key}-{secrets.token_urlsafe(32)}"
    return token, Stored(key, hash_of(token), moment(present), moment(present + days * 86_400))


def key_of(token: str) -> str | None:
    """The public part of a token; None if it is none."""
    match = _TOKEN.fullmatch(token)
    return match[1] if match else None


def without_tokens(text: str) -> str:
    """A text with ``***`` for the secret part of each token in it, also of one that was cut."""
    return _LIKE_A_TOKEN.sub(r"\1***", text)


def is_same(hashed: str, token: str) -> bool:
    """Whether a hash is that of a token, compared in constant time."""
    return hmac.compare_digest(hashed, hash_of(token))


def hash_of(secret: str) -> str:
    """The hash of a random secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
