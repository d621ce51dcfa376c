"""Reads files of NumPy arrays that others may have written."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tokenize import TokenError
from typing import Any
from zipfile import BadZipFile, ZipFile

import numpy as np
from numpy.typing import NDArray

from fathom.storage.foreign import check_member, open_regular
from fathom.types import FathomError

_FORMAT: Any = np.lib.format  # without types


class Arrays:
    """The arrays of an ``.npz`` file, which are read when they are asked for."""

    def __init__(self, path: Path, archive: ZipFile) -> None:
        self._path, self._archive = path, archive
        self.names = [name.removesuffix(".npy") for name in archive.namelist()]

    def read(self, name: str) -> NDArray[np.generic]:
        """One of the arrays.

        Raises:
            FathomError: There is no array of that name, it contains Python objects, or it is larger than the file says.
        """
        if name not in self.names:
            raise FathomError(f"{self._path}: no array {name!r}; its arrays are {', '.join(self.names) or 'none'}")
        with _explained(self._path):
            member = self._archive.getinfo(f"{name}.npy")
            check_member(member)
            with self._archive.open(member) as stream:
                first = _FORMAT.read_magic(stream) == (1, 0)
                read = _FORMAT.read_array_header_1_0 if first else _FORMAT.read_array_header_2_0
                shape, _, dtype = read(stream)
            if int(np.prod(shape, dtype=object)) * dtype.itemsize > member.file_size:
                raise FathomError(f"{self._path}: cannot be read as arrays: {name!r} states more than the file has")
            with self._archive.open(member) as stream:
                array: NDArray[np.generic] = _FORMAT.read_array(stream, allow_pickle=False)
                return array


@contextmanager
def open_arrays(path: Path) -> Iterator[Arrays]:
    """The arrays of an ``.npz`` file, as long as it is open.

    Raises:
        FathomError: It is no such file.
    """
    with _explained(path):
        stream = open_regular(path)
    with stream:
        with _explained(path):
            archive = ZipFile(stream)
        yield Arrays(path, archive)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, EOFError, KeyError, TokenError, BadZipFile) as error:
        raise FathomError(f"{path}: cannot be read as arrays without Python objects: {error}") from error
