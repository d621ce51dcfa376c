"""Damaged bundles: bytes that are no archive, and archives that no program of ours has packed."""

from __future__ import annotations

import io
import stat
import struct
import warnings
import zipfile
import zlib
from random import Random

from fathom.board.bundles.bundle import DIGESTS, HEAD, REPLIES, ROWS, zipped
from made_bundles import files_of

HOSTILE_ENTRIES = ("../rows.jsonl", "/etc/passwd", "..\\rows.jsonl", "C:\\rows.jsonl", "rows.jsonl/", "rows.parquet",
                   "a/../../b", "bundle.json\x00.exe", "BUNDLE.JSON", "code.py", "\u202enosj.eldnub")  # fmt: skip

# ------------------------------------------------------------------------------------------------- the bytes


def flipped(rng: Random, data: bytes) -> bytes:
    """A bit is another one."""
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ 1 << rng.randrange(8)]) + data[at + 1 :]


def cut(rng: Random, data: bytes) -> bytes:
    """The end is missing."""
    return data[: rng.randrange(len(data))]


def grown(rng: Random, data: bytes) -> bytes:
    """Something stands before, after or within it."""
    at = rng.choice([0, len(data), rng.randrange(len(data))])
    return data[:at] + rng.randbytes(rng.randint(1, 200)) + data[at:]


def torn(rng: Random, data: bytes) -> bytes:
    """A range is gone, zero, doubled or something else."""
    start = rng.randrange(len(data) - 1)
    end = min(len(data), start + rng.randint(1, 2_000))
    middle = data[start:end]
    other = rng.choice([b"", bytes(len(middle)), middle + middle, rng.randbytes(len(middle)), middle[::-1]])
    found = data[:start] + other + data[end:]
    return found if found != data else data[:-1]


def noise(rng: Random, data: bytes) -> bytes:
    """No bundle at all."""
    start = rng.choice([b"", b"PK\x03\x04", b"PK\x05\x06", data[:30], b"\x1f\x8b", b"%PDF-1.7"])
    return start + rng.randbytes(rng.randrange(500))


# ------------------------------------------------------------------------------------------------- the archive


def packed_otherwise(rng: Random, data: bytes) -> bytes:
    """The same files in an archive of another kind."""
    files = list(files_of(data).items())
    kind = rng.choice(
        ["deflated", "time", "order", "comment", "extra", "missing", "twice", "mode", "encrypted", "zip64"]
    )
    if kind == "order":
        files = files[::-1]
    if kind == "missing":
        files.pop(rng.randrange(len(files)))
    if kind == "twice":
        files.append(rng.choice(files))
    stream, method = io.BytesIO(), zipfile.ZIP_DEFLATED if kind == "deflated" else zipfile.ZIP_STORED
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(stream, "w", method) as out:
            out.comment = b"hello" if kind == "comment" else b""
            for name, text in files:
                entry = zipfile.ZipInfo(name, (1999, 1, 1, 0, 0, 0) if kind == "time" else (1980, 1, 1, 0, 0, 0))
                entry.compress_type, entry.create_system, entry.external_attr = method, 3, 0o100644 << 16
                if kind == "extra":
                    entry.extra = b"\x01\x02\x02\x00ab"
                if kind == "mode":
                    entry.external_attr = rng.choice([stat.S_IFLNK | 0o777, 0o100755, stat.S_IFDIR | 0o755]) << 16
                with out.open(entry, "w", force_zip64=kind == "zip64") as file:
                    file.write(text)
    packed = bytearray(stream.getvalue())
    if kind == "encrypted":
        at = packed.rindex(b"PK\x01\x02")
        packed[at + 8] |= 1
    return bytes(packed)


def strange_entry(rng: Random, data: bytes) -> bytes:
    """A file too many, with a name that leads elsewhere, or one in the place of another."""
    files, name = files_of(data), rng.choice(HOSTILE_ENTRIES)
    old = rng.choice(["", *files])
    named = {name if one == old else one: text for one, text in files.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a name that ends early is there twice
        return zipped(named | ({} if old else {name: b"{}"}))


def bomb(rng: Random, data: bytes) -> bytes:
    """An archive that swells, or says that it does not."""
    files = files_of(data) | {rng.choice([ROWS, DIGESTS, REPLIES]): b" " * rng.choice([2_000_000, 9_000_000])}
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as out:
        for name, text in files.items():
            out.writestr(zipfile.ZipInfo(name), text, zipfile.ZIP_DEFLATED)  # with a time that stands still
    packed = bytearray(stream.getvalue())
    if rng.random() < 0.5:  # what the directory declares is not so
        at = packed.index(b"PK\x01\x02", packed.index(b"PK\x01\x02") + 4)
        struct.pack_into("<L", packed, at + 24, rng.choice([10, 2**32 - 2]))
    return bytes(packed)


def many_entries(rng: Random, data: bytes) -> bytes:
    """An archive of more files than anybody wants to look at."""
    return zipped(files_of(data) | {f"{number}.json": b"" for number in range(rng.randint(1, 300))})


def overlapping(rng: Random, data: bytes) -> bytes:
    """Two entries of the directory share their bytes."""
    packed = bytearray(data)
    first = packed.index(b"PK\x01\x02")
    second = packed.index(b"PK\x01\x02", first + 4)
    packed[second + 42 : second + 46] = packed[first + 42 : first + 46]
    struct.pack_into("<L", packed, second + 16, rng.choice([0, zlib.crc32(files_of(data)[HEAD])]))
    return bytes(packed)
