"""Reads TOML: one reader for all files that users write, with one message for what is wrong."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

from fathom.storage.encodings import decode
from fathom.storage.foreign import content_of
from fathom.types import FathomError

_LONG_KEY = re.compile(r"(?m)(?:^|[{\[,])[ \t]*+(?:(?:[\w-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){64}")
"""A key of more parts than any file has: tomllib takes quadratic time for it, and its tables are nested as deeply."""


def parse_toml(content: bytes | str, where: str) -> dict[str, Any]:
    """The table of a TOML file, in UTF-8 or, as Windows programs may save it, UTF-16, also with a byte order mark.

    Args:
        where: Its name, for the message.

    Raises:
        FathomError: It is not valid TOML.
    """
    try:
        text = content.removeprefix("\ufeff") if isinstance(content, str) else decode(content)
        if match := _LONG_KEY.search(text):
            raise RecursionError(f"line {text.count(chr(10), 0, match.start()) + 1}")
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # ValueError also for a number of more than 4,300 digits
        raise FathomError(f"{where}: not valid TOML: {_reason(error)}; correct the file") from None


def read_toml(path: Path, where: str = "") -> dict[str, Any]:
    """The table of a TOML file.

    Args:
        where: Its name for the message, if that is not the path.

    Raises:
        FathomError: It cannot be read, or is not valid TOML.
    """
    return parse_toml(content_of(path, where), where or str(path))


def packaged_toml(package: str, name: str) -> dict[str, Any]:
    """The table of a TOML file that is beside the modules of a package of fathom: texts and tables that are no code.

    Args:
        package: ``__package__`` of the module that needs it.
    """
    return parse_toml((files(package) / name).read_bytes(), name)


def _reason(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        line = error.object.count(b"\n", 0, error.start) + 1
        return f"line {line} is not {error.encoding.upper()} (byte 0x{error.object[error.start]:02x}); save it as UTF-8"
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)
