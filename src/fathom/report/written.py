"""Writing a file whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from fathom.types import FathomError


def write(content: bytes, out: Path) -> Path:
    """Writes a file: readers see the old one or the whole new one, also when the process is killed between.

    Args:
        content: What the file shall hold.
        out: The file; its folder is made where it does not exist.

    Returns:
        ``out``.

    Raises:
        FathomError: The file cannot be written.
    """
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.", suffix=".part")
    except OSError as error:
        raise FathomError(f"{out}: cannot write: {error.strerror or error}") from error
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
        part.chmod(0o644)
        part.replace(out)
    except OSError as error:
        raise FathomError(f"{out}: cannot write: {error.strerror or error}") from error
    finally:
        part.unlink(missing_ok=True)
    return out
