"""Checksums and format numbers: what is read is what fathom wrote, or it is refused with the reason.

A JSON file carries a checksum of its own content; files beside it are named there with their SHA-256; a row of a store
carries the checksum of its values. Every such file says of which format it is: one that says so and has no checksum is
damaged, one that says nothing was written before there were any, and cannot be verified.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fathom.types import FathomError, Json

CHECKSUM = "checksum"
"""The field of a JSON file that holds the checksum of all other fields."""

_UPGRADE = "upgrade with `pip install -U fathom-eval`"


def check_format(where: object, found: object, newest: int, advice: str) -> int:
    """The format number of a file or folder, if this version can read it.

    Args:
        where: What is read, for the message.
        found: The number that it states.
        newest: The newest format that this version reads.
        advice: What to do where the number is none.

    Raises:
        FathomError: A newer version of fathom wrote it, or the number is none.
    """
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise FathomError(f"{where}: format {str(found)[:60]!r}, expected a number from 1 to {newest}; {advice}")
    if found > newest:
        raise FathomError(
            f"{where}: written by a newer fathom (format {found}; this one reads up to {newest}): {_UPGRADE}, or use "
            "the version that wrote it"
        )
    return found


def with_checksum(content: Mapping[str, Json]) -> dict[str, Json]:
    """The content of a JSON file, with the checksum of all of it as its last field."""
    plain = {name: value for name, value in content.items() if name != CHECKSUM}
    return plain | {CHECKSUM: _of_content(plain)}


def check_content(path: Path, content: Mapping[str, Any], advice: str) -> None:
    """Make sure that the content of a JSON file is what was written, however it is laid out.

    Raises:
        FathomError: It has another checksum, or none.
    """
    if content.get(CHECKSUM) != with_checksum(content)[CHECKSUM]:
        raise FathomError(f"{path}: damaged or edited (its content has not the checksum that it states); {advice}")


def _of_content(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_facts(path: Path) -> dict[str, Json]:
    """The size and the SHA-256 of a file, as a manifest states them.

    Raises:
        OSError: The file cannot be read.
    """
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return {"bytes": stream.tell(), "sha256": digest}


def check_file(path: Path, stated: object, advice: str) -> None:
    """Make sure that a file is, to the bit, the one that a manifest states.

    Args:
        path: The file.
        stated: What ``file_facts`` said of it.
        advice: What to do where it is another one.

    Raises:
        FathomError: It is not, or cannot be read.
    """
    try:
        there = file_facts(path)
    except FileNotFoundError:
        raise FathomError(f"{path}: no such file; {advice}") from None
    except OSError as error:
        raise FathomError(f"{path}: damaged ({error.strerror or error}); {advice}") from None
    if there != stated:
        expected = stated.get("bytes") if isinstance(stated, Mapping) else None
        why = "its checksum is not the one in the manifest"
        if there["bytes"] != expected:
            why = f"{there['bytes']:,} bytes; the manifest states {expected if expected is not None else 'nothing'}"
        raise FathomError(f"{path}: damaged ({why}); {advice}")


def row_checksum(values: Iterable[object]) -> int:
    """The checksum of a row of a store: 64 bits with a sign, which SQLite holds as a number.

    Equal numbers count as equal, whether a column holds them as whole ones or not, and NaN as nothing, as in SQLite.
    """
    text = json.dumps([_plain(value) for value in values])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), signed=True)


def _plain(value: object) -> object:
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, str | int) else repr(value)
