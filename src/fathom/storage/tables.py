"""What Parquet and Arrow files share as tables that are read in parts."""

import struct
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

WIDE = "decimals of more than 128 bits"


class DamagedTableError(ValueError):
    """A table that is not valid."""


class StoredTable:
    """A table in a file.

    Attributes:
        size: Bytes of the file.
        names: Names of the columns.
        maps: Names of the keys of the maps in a column, which is read as lists of objects of two.
        binary: Names of the fields within a column that are bytes and no texts.
        unread: Names of the columns that polars does not read, with what they have.
    """

    size: int
    names: list[str]
    maps: Mapping[str, set[str]]
    binary: Mapping[str, set[str]]
    unread: Mapping[str, str]


@contextmanager
def decoding() -> Iterator[None]:
    """Raise whatever polars raises as one error, also where it panics, which is no ``Exception``.

    Raises:
        DamagedTableError: What is decoded is damaged.
    """
    from polars.exceptions import PanicException, PolarsError

    try:
        yield
    except DamagedTableError:
        raise
    except (PolarsError, PanicException, struct.error, LookupError, TypeError, ValueError, OverflowError) as error:
        raise DamagedTableError(" ".join(str(error).split())[:300] or type(error).__name__) from error
