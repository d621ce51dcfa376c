"""TOML tables included in the package that users can extend: prices, settings of models."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeVar

from fathom.storage.toml import parse_toml, read_toml
from fathom.types import FathomError

Entry = TypeVar("Entry")


def read_table(content: str | bytes, where: str, entry: Callable[[object, str], Entry]) -> dict[str, Entry]:
    """The entries of a table by name.

    Args:
        content: The table as TOML.
        where: Its name in messages.
        entry: Converts the value under a name, given its location for messages.

    Raises:
        FathomError: The content is not TOML, or an entry is invalid.
    """
    return _entries(parse_toml(content, where), where, entry)


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
    return _entries(read_toml(path), str(path), entry)


def _entries(table: Mapping[str, object], where: str, entry: Callable[[object, str], Entry]) -> dict[str, Entry]:
    return {name: entry(value, f"{where}: [{name!r}]") for name, value in table.items()}
