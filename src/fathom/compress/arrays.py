"""Reads files of NumPy arrays that others may have written."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np

from fathom.storage.foreign import check_member, open_regular
from fathom.types import FathomError


@contextmanager
def open_arrays(path: Path) -> Iterator[Mapping[str, Any]]:
    """The arrays of an ``.npz`` file by name, which are read when they are asked for.

    Raises:
        FathomError: It is no such file, contains Python objects, or expands to more than a file of its size may.
    """
    try:
        with open_regular(path) as stream, np.load(stream, allow_pickle=False) as arrays:
            if not isinstance(arrays, np.lib.npyio.NpzFile):
                raise ValueError("one array, expected an archive of arrays")
            assert arrays.zip is not None  # while it is open
            for member in arrays.zip.infolist():
                check_member(member)
            yield arrays
    except (OSError, ValueError, EOFError, BadZipFile) as error:
        raise FathomError(f"{path}: cannot be read as arrays without Python objects: {error}") from error
