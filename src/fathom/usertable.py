"""Tables in TOML that come with the package and that users extend: prices, settings of models."""

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
        where: What to call it in messages.
        entry: Makes an entry of what stands under its name, given what to call it in messages.

    Raises:
        FathomError: The text is not TOML, or an entry is wrong.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FathomError(f"{where}: not valid TOML: {error}") from None
    return {name: entry(value, f"{where}: [{name!r}]") for name, value in table.items()}


def users_table(variable: str, file: str, entry: Callable[[object, str], Entry]) -> dict[str, Entry]:
    """The entries of the user's own table; none where there is no such file.

    Args:
        variable: Environment variable that may name the file.
        file: Its name in the user's folder of settings otherwise.
        entry: See ``read_table``.

    Raises:
        FathomError: The file that the variable names is not there, or the table cannot be read.
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
