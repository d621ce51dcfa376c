"""What pages of several packages share: scripts, colours, and the rules for the folders that they are written to."""

import json
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

from fathom.types import FathomError, Json

# Characters that are harmless in a script but not in an editor or a terminal, and halves of characters, which UTF-8
# cannot encode.
_ESCAPED = re.compile("[\u007f-\u009f\u200b\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff<]")


def script(name: str, value: Json) -> bytes:
    """A data file of a page: one line that calls ``fathom.add``.

    Args:
        name: Name of the file without its suffix.
        value: What it holds.
    """
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # In a script this name would set the prototype instead of a value.
    text = text.replace('"__proto__":', '"__proto__ ":')
    escaped = _ESCAPED.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
    return f"fathom.add({json.dumps(name)}, {escaped});\n".encode()


def assets(package: str, folder: str) -> Iterator[tuple[str, bytes]]:
    """The fixed files of a site: the shared ones, and those of a package.

    Args:
        package: The package, for instance ``fathom.board``.
        folder: Its folder with the page.
    """
    for place in (files("fathom.web"), files(package).joinpath(folder)):
        for asset in sorted(place.iterdir(), key=lambda file: file.name):
            if asset.is_file() and not asset.name.endswith(".py"):
                yield asset.name, asset.read_bytes()


def site_place(out: Path, kind: str, mark: str, first: str) -> Path:
    """The folder that a site is written to; ``out`` may be a link, which is kept.

    Args:
        out: What the user named.
        kind: What such a folder holds, for messages.
        mark: A file that every such site has.
        first: How that file begins.

    Raises:
        FathomError: It is a file, the working directory, or a folder with other files.
    """
    try:
        place = out.resolve()
        if _is_there(place):
            _check(out, place, kind, mark, first)
    except (OSError, RuntimeError) as error:  # RuntimeError: circular links, before Python 3.13
        raise FathomError(f"`out` {out}: cannot be read ({error}); choose another folder") from None
    return place


def _is_there(place: Path) -> bool:
    """Whether there is such a file or folder; unlike `Path.exists`, says that links are circular."""
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def _check(out: Path, place: Path, kind: str, mark: str, first: str) -> None:
    if not place.is_dir():
        raise FathomError(f"`out` {out}: this is a file; give a folder")
    if any(place.iterdir()) and not _is_ours(place / mark, first):
        raise FathomError(
            f"`out` {out}: the folder has other files and no {kind} of fathom ({mark} is missing); give a new or "
            f"empty folder, or a {kind} to replace"
        )
    if Path.cwd().is_relative_to(place):  # replacing it would remove the working directory
        raise FathomError(f"`out` {out}: this is the current folder; run the command from another, with `out` {place}")


def _is_ours(path: Path, first: str) -> bool:
    try:
        return path.read_text("utf-8").startswith(first)
    except (OSError, UnicodeDecodeError):
        return False
