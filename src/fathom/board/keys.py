"""Unique, safe keys from arbitrary names, for addresses and file names."""

import re
import unicodedata
from collections.abc import Iterable
from hashlib import sha256

LONGEST = 60
_OTHER = re.compile(r"[^a-z0-9]+")
_MARK = 8


def slug(text: str) -> str:
    """A name as letters, digits and dashes, at most 60; its hash if it has no such letters."""
    plain = unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()
    return _OTHER.sub("-", plain.lower())[:LONGEST].strip("-") or f"x-{_hash(text)}"


def keys(names: Iterable[tuple[str, ...]]) -> list[str]:
    """A unique key for each name.

    The first of several names with the same letters has the plain key. The others end in a hash of the full name, so
    that a key does not depend on how many there are.

    Args:
        names: Names in parts, of which the first one or two are readable; equal names get different keys too.

    Returns:
        One key each, of the form ``[a-z0-9][a-z0-9-]{0,79}``.
    """
    taken: dict[str, None] = {}
    for name in names:
        plain = slug(" ".join(name[:2]))
        key, more = plain, 0
        while key in taken:
            key = f"{plain}-{_hash(repr((name, more)))}"
            more += 1
        taken[key] = None
    return list(taken)


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_MARK]
