"""Checksums and format numbers: files that fathom did not write, or that changed, are refused with the reason.

A JSON file carries a checksum of its own content; its manifest names other files with their SHA-256; a row of a store
carries the checksum of its values. Every such file states its format: one with a format but no checksum is damaged, one
without either predates checksums and cannot be verified.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fathom.storage.foreign import open_regular
from fathom.types import FathomError, Json

CHECKSUM = "checksum"
"""The field of a JSON file with the checksum of all other fields."""

_UPGRADE = "upgrade with `pip install -U fathom-eval`"


def check_format(where: object, stated: object, newest: int, advice: str) -> int:
    """Check the format number of a file or folder.

    Args:
        where: The file, for the message.
        newest: The newest format that this version reads.
        advice: What to do if the number is invalid.

    Raises:
        FathomError: A newer version of fathom wrote it, or the number is invalid.
    """
    if not isinstance(stated, int) or isinstance(stated, bool) or stated < 1:
        raise FathomError(f"{where}: format {str(stated)[:60]!r}, expected a number from 1 to {newest}; {advice}")
    if stated > newest:
        raise FathomError(
            f"{where}: written by a newer fathom (format {stated}; this one reads up to {newest}): {_UPGRADE}, or use "
            "the version that wrote it"
        )
    return stated


def with_checksum(content: Mapping[str, Json]) -> dict[str, Json]:
    """The content of a JSON file, with its checksum as the last field."""
    plain = {name: value for name, value in content.items() if name != CHECKSUM}
    return plain | {CHECKSUM: _of_content(plain)}


def check_content(path: object, content: Mapping[str, Any], advice: str) -> None:
    """Check the content of a JSON file against its checksum, regardless of formatting.

    Raises:
        FathomError: The checksum differs or is missing.
    """
    if content.get(CHECKSUM) != with_checksum(content)[CHECKSUM]:
        raise FathomError(f"{path}: damaged or edited (its checksum does not match its content); {advice}")


def _of_content(content: Mapping[str, Any]) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def file_facts(path: Path) -> dict[str, Json]:
    """The size and the SHA-256 of a file, for a manifest.

    Raises:
        OSError: The file cannot be read.
    """
    with open_regular(path) as stream:
        digest = hashlib.file_digest(stream, "sha256").hexdigest()
        return {"bytes": stream.tell(), "sha256": digest}


def check_file(path: Path, stated: object, advice: str) -> None:
    """Check a file against the size and checksum in a manifest.

    Args:
        stated: The result of ``file_facts`` when it was written.
        advice: What to do if it differs.

    Raises:
        FathomError: It differs, or cannot be read.
    """
    try:
        facts = file_facts(path)
    except FileNotFoundError:
        raise FathomError(f"{path}: no such file; {advice}") from None
    except OSError as error:
        raise FathomError(f"{path}: damaged ({error.strerror or error}); {advice}") from None
    if facts != stated:
        _check_size(path, path.stat().st_size, stated, advice)
        raise FathomError(f"{path}: damaged (its checksum is not the one in the manifest); {advice}")


def check_size(path: Path, stated: object, advice: str) -> None:
    """Check only the size of a file that is known to be intact elsewhere; the arguments are those of ``check_file``.

    Raises:
        FathomError: It differs, or the file is missing.
    """
    try:
        size = path.stat().st_size
    except OSError as error:
        raise FathomError(f"{path}: cannot be read: {error.strerror or error}; {advice}") from None
    _check_size(path, size, stated, advice)


def _check_size(path: Path, size: int, stated: object, advice: str) -> None:
    expected = stated.get("bytes") if isinstance(stated, Mapping) else None
    if size != expected:
        why = f"{size:,} bytes; the manifest states {expected if expected is not None else 'nothing'}"
        raise FathomError(f"{path}: damaged ({why}); {advice}")


def row_checksum(values: Iterable[object]) -> int:
    """The checksum of a row of a store: 64 bits with a sign, as an SQLite integer.

    As in SQLite, equal numbers are equal whether integer or not, and NaN is null.
    """
    text = json.dumps([_as_stored(value) for value in values])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), signed=True)


def _as_stored(value: object) -> object:
    if isinstance(value, float):
        return None if value != value else int(value) if value.is_integer() else value
    if isinstance(value, bool):
        return int(value)
    return value if value is None or isinstance(value, str | int) else repr(value)
