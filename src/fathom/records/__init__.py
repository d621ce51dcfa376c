"""Records from files, whatever their format: one reader and one walk through folders for all who read them."""

from __future__ import annotations

from fathom.records.finding import (
    ARCHIVE,
    EXAMPLES_PER_FILE,
    FORMATS,
    READABLE,
    TABLES,
    TEXTS,
    File,
    Listed,
    Problem,
    Problems,
    find_files,
    format_of,
    path_text,
    split_name,
    unread,
    walk,
)
from fathom.records.reading import Fault, Record, checked_records, read_records, unpacked
from fathom.records.streams import COMPRESSED, DamagedError, read_chunks, read_lines, read_whole

__all__ = [
    "ARCHIVE",
    "COMPRESSED",
    "EXAMPLES_PER_FILE",
    "FORMATS",
    "READABLE",
    "TABLES",
    "TEXTS",
    "DamagedError",
    "Fault",
    "File",
    "Listed",
    "Problem",
    "Problems",
    "Record",
    "checked_records",
    "find_files",
    "format_of",
    "path_text",
    "read_chunks",
    "read_lines",
    "read_records",
    "read_whole",
    "split_name",
    "unpacked",
    "unread",
    "walk",
]
