"""TOML tables included in the package that users can extend: prices, settings of models."""

import os
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from fathom.types import FathomError

Entry = TypeVar("Entry")


def read_table(text: str, where: str, entry: Callable[[object, str], Entry]) -> dict[str, Entry]:
    """The entries of a table by name.

    Args:
        text: The table as TOML.
        where: Its name in messages.
        entry: Converts the value under a name, given its location for messages.

    Raises:
        FathomError: The text is not TOML, or an entry is invalid.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FathomError(f"{where}: not valid TOML: {error}") from None
    return {name: entry(value, f"{where}: [{name!r}]") for name, value in table.items()}


def users_table(variable: str, file: str, entry: Callable[[object, str], Entry]) -> dict[str, Entry]:
    """The entries of the user's own table, if the file exists.

    Args:
        variable: Environment variable that may name the file.
        file: Its default name in the user's configuration folder.
        entry: See ``read_table``.

    Raises:
        FathomError: The file named by the variable does not exist, or the table cannot be read.
    """
    named = os.environ.get(variable)
    path = Path(named) if named else Path.home() / ".config" / "fathom" / file
    if not path.is_file():
        if named:
            raise FathomError(f"{variable}={named}: no such file")
        return {}
    try:
        return read_table(path.read_text("utf-8"), str(path), entry)
    except (OSError, UnicodeDecodeError) as error:
        raise FathomError(f"{path}: cannot be read: {error}") from None
