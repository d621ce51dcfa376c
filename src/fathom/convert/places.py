"""Names of models and tasks as file names, and files that are not overwritten by accident."""

import hashlib
import re
from pathlib import Path

from fathom.types import FathomError

LONGEST = 60


def file_name(text: str) -> str:
    """A text as a part of a file name, never a path: other texts have other names.

    Args:
        text: Any text, such as ``lab/model?window=4k``.

    Returns:
        Letters, digits, dots, dashes and underscores. A text that had to be changed ends with a part of its hash.
    """
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", text).strip(".-")[:LONGEST]
    if plain == text and plain:
        return plain
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:8]
    return f"{plain or 'name'}-{digest}"


def refuse_existing(place: Path, force: bool) -> None:
    """Refuse to replace a file.

    Raises:
        FathomError: It exists, and ``force`` is not set.
    """
    if place.is_symlink() or (place.exists() and not place.is_file()):
        raise FathomError(f"{place}: not a plain file; choose another `out`")
    if place.exists() and not force:
        raise FathomError(f"{place} exists; replace it with `force`, or choose another `out`")
