"""Reads untrusted bundles: refuses everything but the exact bytes that ``fathom.board.bundles.bundle`` writes.

First the archive: its directory is checked before anything is read, no entry may be compressed, and no name becomes a
path, so that it can neither expand nor escape. Then the lines: sizes and digits are limited before they are parsed as
JSON. Then the values: ``fields`` describes each of them. Last, the file must equal what would be written from these
values, which catches everything else.
"""

import io
import json
import math
import stat
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any, NoReturn

from fathom.board.bundles.bundle import (
    DIGESTS,
    FILES,
    FORMAT,
    HEAD,
    JUDGEMENTS,
    REPLIES,
    ROWS,
    RULES,
    Bundle,
    JudgedReply,
    Part,
    ReplyLog,
    Result,
    archive,
    canonical,
    facts_of_part,
    hashed,
    is_judge,
    zipped,
)
from fathom.board.bundles.fields import (
    DIGEST_FIELDS,
    HEAD_FIELDS,
    JUDGEMENT_FIELDS,
    REPLY_FIELDS,
    ROW_FIELDS,
    Check,
    wrong_field,
)
from fathom.board.bundles.findings import RefusedError
from fathom.printing import printable
from fathom.rows.schema import SCHEMA
from fathom.runfile.judgements import Judgement
from fathom.storage.checksums import check_format
from fathom.storage.foreign import open_regular
from fathom.types import FathomError, Row

_FIELDS: Mapping[str, Mapping[str, Check]] = {
    DIGESTS: DIGEST_FIELDS,
    JUDGEMENTS: JUDGEMENT_FIELDS,
}
_END = struct.Struct("<4s4H2LH")  # the last record of a zip archive
_END_SIGNATURE, _ZIP64_SIGNATURE, _ZIP64_SIZE = b"PK\x05\x06", b"PK\x06\x07", 20
_DIRECTORY = 4_096  # bytes: five entries with short names take about 300
_ENCRYPTED = 0x1
_DIGITS = 25  # of a number: a double needs 17 and its exponent
_SHOWN = 60  # characters of an invalid value in a message
_SCORES = ("value", "valid", "answer", "metric", "grader", "rule", "detail")
"""Fields that differ between the rows of one reply."""
_EMPTY = hashed("")
_SAYING_NOTHING = ("content_filter", "model_length", "not_sent")


@dataclass(frozen=True, slots=True)
class Limits:
    """Maximum sizes of a bundle; a server may set lower ones.

    Attributes:
        file_bytes: Of the whole file. A reply with its rows and its log takes about two kilobytes.
        line_bytes: Of one line: the longest reply in letters of four bytes, its answer, and the JSON around them.
        head_bytes: Of ``bundle.json``: names of tasks, settings, versions.
        replies: Lines of ``digests.jsonl``.
        seconds: For recomputing scores: the time of scorers grows faster than the length of texts.
    """

    file_bytes: int = 64 * 2**20
    line_bytes: int = 4 * 2**20
    head_bytes: int = 2**20
    replies: int = 50_000
    seconds: float = 900.0


LIMITS = Limits()


def read_bundle(path: Path, limits: Limits = LIMITS) -> Bundle:
    """Reads a bundle; checks its form and its hashes, but not its scores (``fathom.board.bundles.check``).

    Args:
        path: The file.
        limits: Maximum sizes.

    Raises:
        RefusedError: It is not a file that ``fathom board bundle`` writes; the message names file, line and field.
        FathomError: The file cannot be read.
    """
    return parse_bundle(read_limited(path, limits), limits)


def read_limited(path: Path, limits: Limits = LIMITS) -> bytes:
    """The bytes of a file of limited size.

    Raises:
        RefusedError: It is too large, or a folder, device or pipe.
        FathomError: The file cannot be read.
    """
    try:
        if not path.is_file():
            if path.exists():
                raise RefusedError("file", f"{path.name}: this is not a file; expected a bundle, which is a .zip file")
            raise FathomError(f"{path}: no such file")
        with open_regular(path) as stream:
            data = stream.read(limits.file_bytes + 1)
    except OSError as error:
        raise FathomError(f"{path}: cannot be read: {error.strerror or error}") from None
    if len(data) > limits.file_bytes:
        raise RefusedError(
            "size", f"more than {limits.file_bytes:,} bytes; leave the logs out (--no-logs) or bundle fewer runs"
        )
    return data


def parse_bundle(data: bytes, limits: Limits = LIMITS) -> Bundle:
    """The bundle in these bytes; see ``read_bundle``.

    Raises:
        RefusedError: They are not a bundle.
    """
    content = _content(data, limits)
    head = _record(HEAD, 0, content[HEAD], HEAD_FIELDS)
    _check_files(head, content)
    fields = {**_FIELDS, ROWS: ROW_FIELDS[head["format"]], REPLIES: REPLY_FIELDS[head["format"]]}
    records = {name: list(_lines(name, content[name], limits, fields[name])) for name in content if name != HEAD}
    bundle = assembled(Records(head, records))
    if archive(bundle) != data:
        raise RefusedError(
            "form", "the bytes are not those that `fathom board bundle` writes for this content; send the original file"
        )
    return bundle


# The archive


def _content(data: bytes, limits: Limits) -> dict[str, bytes]:
    """The files of an archive by name, in order."""
    _check_end(data)
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as opened:
            entries = opened.infolist()
            _check_entries(entries, len(data))
            content = {entry.filename: opened.read(entry) for entry in entries}
    except RefusedError:
        raise
    # zipfile raises unrelated exceptions for damaged archives; all mean that it cannot be read.
    except (zipfile.BadZipFile, OSError, EOFError, ValueError, RuntimeError, struct.error, OverflowError) as error:
        raise RefusedError("damaged", f"damaged archive ({printable(str(error))[:200]}); send the file again") from None
    if len(content[HEAD]) > limits.head_bytes:
        raise RefusedError("size", f"{HEAD}: more than {limits.head_bytes:,} bytes")
    if zipped(content) != data:
        raise RefusedError(
            "repacked",
            "the archive has other content than its files, or another program packed it; send the file that "
            "`fathom board bundle` wrote",
        )
    return content


def _check_end(data: bytes) -> None:
    """Checks that the directory is small before zipfile reads it: each entry costs more memory than bytes."""
    if len(data) < _END.size or not data.startswith(b"PK"):
        raise RefusedError("damaged", "this is not a zip archive; expected a file that `fathom board bundle` wrote")
    signature, _, _, _, entries, size, _, comment = _END.unpack(data[-_END.size :])
    if signature != _END_SIGNATURE or comment:
        raise RefusedError("damaged", "the archive is truncated or has data after its end; send the file again")
    if data[-_END.size - _ZIP64_SIZE :].startswith(_ZIP64_SIGNATURE):
        raise RefusedError("damaged", "this is a zip64 archive, for more than 4 GB; a bundle is smaller")
    if entries > len(FILES) or size > _DIRECTORY:
        raise RefusedError("entry", f"the archive has {entries:,} entries; a bundle has at most {len(FILES)}")


def _check_entries(entries: Sequence[zipfile.ZipInfo], size: int) -> None:
    names = [entry.orig_filename for entry in entries]
    for entry, name in zip(entries, names, strict=True):
        shown = printable(name[:_SHOWN])
        if entry.flag_bits & _ENCRYPTED:
            raise RefusedError("encrypted", f"{shown}: encrypted; the files of a bundle are not")
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise RefusedError("link", f"{shown}: a symbolic link; a bundle contains only files")
        if PurePosixPath(name).is_absolute() or ".." in name or "\\" in name or ":" in name:
            raise RefusedError("path", f"{shown}: a path outside the archive")
        if name not in FILES:
            raise RefusedError("entry", f"{shown}: not a file of a bundle; expected {', '.join(FILES)}")
        if entry.compress_type != zipfile.ZIP_STORED or entry.compress_size != entry.file_size:
            raise RefusedError(
                "compressed", f"{shown}: compressed ({entry.file_size:,} bytes); files of a bundle are not"
            )
    if sum(entry.file_size for entry in entries) > size:
        raise RefusedError("size", "the stated sizes of the files exceed the size of the archive")
    if len(set(names)) < len(names):
        raise RefusedError("entry", "the archive contains a file twice")
    if names != [name for name in FILES if name in names]:
        raise RefusedError("entry", f"the files are in the wrong order; expected {', '.join(FILES)}")
    missing = [name for name in (HEAD, ROWS, DIGESTS) if name not in names]
    if missing:
        raise RefusedError("entry", f"{', '.join(missing)} missing from the archive")
    if any(earlier.header_offset >= later.header_offset for earlier, later in pairwise(entries)):
        raise RefusedError("damaged", "files of the archive share their bytes; send the file again")


def _check_files(head: Mapping[str, Any], content: Mapping[str, bytes]) -> None:
    """Checks the stated sizes and hashes."""
    stated, present = head["files"], {name: data for name, data in content.items() if name != HEAD}
    if set(stated) != set(present):
        raise RefusedError("hashes", f"{HEAD}: files are {', '.join(stated)}, but the archive has {', '.join(present)}")
    for name, data in present.items():
        if stated[name]["bytes"] != len(data):
            raise RefusedError("hashes", f"{name}: {len(data):,} bytes, but {HEAD} states {stated[name]['bytes']:,}")
        if stated[name]["sha256"] != hashed(data):
            raise RefusedError(
                "hashes", f"{name}: its SHA-256 differs from that in {HEAD}: the file was changed afterwards"
            )


# The lines


def _lines(name: str, data: bytes, limits: Limits, fields: Mapping[str, Check]) -> Iterator[dict[str, Any]]:
    if data and not data.endswith(b"\n"):
        raise RefusedError("form", f"{name}: its last line has no end; the file is truncated")
    # A reply has two rows, and one judgement by each of two kinds of judges.
    most, count = limits.replies * (2 if name in (ROWS, JUDGEMENTS) else 1), data.count(b"\n")
    if count > most:
        raise RefusedError("size", f"{name}: {count:,} lines; at most {most:,} are allowed")
    for at, line in enumerate(data.split(b"\n")[:-1], start=1):
        if len(line) > limits.line_bytes:
            raise RefusedError(
                "size", f"{name}: line {at}: {len(line):,} bytes; at most {limits.line_bytes:,} are allowed"
            )
        yield _record(name, at, line, fields)


def _record(name: str, at: int, line: bytes, fields: Mapping[str, Check]) -> dict[str, Any]:
    """One line as an object with valid fields."""
    where = f"{name}: line {at}" if at else name
    try:
        text = line.decode("utf-8")
        record = json.loads(text, parse_int=_whole, parse_float=_decimal, parse_constant=_constant)
    except UnicodeDecodeError as error:
        raise RefusedError("form", f"{where}: not UTF-8 at byte {error.start}") from None
    except RecursionError:
        raise RefusedError("form", f"{where}: nested too deeply") from None
    except ValueError as error:
        raise RefusedError("form", f"{where}: invalid JSON: {printable(str(error))[:200]}") from None
    if name == HEAD and isinstance(record, dict):
        _check_format(record)
    wrong = wrong_field(record, fields)
    if wrong is not None:
        field, expected = wrong
        value = record if field is None else record.get(field)
        raise RefusedError("fields", f"{where}: {printable(field or 'it')} is {_printable(value)}; expected {expected}")
    if canonical(record) != text.removesuffix("\n" if not at else ""):
        raise RefusedError("form", f"{where}: not in the form that `fathom board bundle` writes")
    return dict(record)


def _check_format(head: Mapping[str, Any]) -> None:
    """Checks the format first, because a newer one has fields that this version does not know."""
    try:
        check_format(HEAD, head.get("format"), FORMAT, "bundle the runs again")
    except FathomError as error:
        raise RefusedError("fields", str(error)) from None


def _printable(value: object) -> str:
    """A value for a message; lists and objects may be nested more deeply than Python can print."""
    if value is None or isinstance(value, str | int | float):
        return "null" if value is None else ascii(value)[:_SHOWN]
    return "a list" if isinstance(value, list) else "an object"


def _whole(digits: str) -> int:
    # Python refuses to read thousands of digits, and is slow below that.
    return int(digits) if len(digits) <= _DIGITS else _too_long(digits)


def _decimal(digits: str) -> float:
    value = float(digits) if len(digits) <= _DIGITS else _too_long(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits} is not a finite number")
    return value


def _too_long(digits: str) -> NoReturn:
    raise ValueError(f"a number of {len(digits):,} digits")


def _constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


@dataclass(frozen=True, slots=True)
class Records:
    """The parsed objects of a bundle: ``bundle.json``, and the lines of the other files."""

    head: Mapping[str, Any]
    lines: Mapping[str, Sequence[Mapping[str, Any]]]


def assembled(records: Records) -> Bundle:
    """The content of a bundle.

    Args:
        records: Its objects.

    Raises:
        RefusedError: Lines are missing, too many or in the wrong order, or contradict each other.
    """
    head = records.head
    results = _results(records)
    _check_order(ROWS, [result.order for result in results], len(RULES))
    _check_unique(results)
    parts = tuple(
        Part(**{**part, "tasks": tuple(part["tasks"]), "lengths": tuple(part["lengths"])}) for part in head["parts"]
    )
    _check_parts(parts, results)
    _check_names(head, results)
    judgements = tuple(
        JudgedReply(
            record["part"],
            record["judge"],
            record["key"],
            Judgement(record["status"], record["parts"], record["detail"]),
        )
        for record in records.lines.get(JUDGEMENTS, ())
    )
    _check_order(JUDGEMENTS, [judgement.order for judgement in judgements], 1)
    return Bundle(
        model=head["model"],
        variant=head["variant"],
        created=head["created"],
        settings=head["settings"],
        versions=head["versions"],
        judges=tuple(head["judges"]),
        parts=parts,
        results=results,
        judgements=judgements,
        logs=REPLIES in records.lines,
        format=head["format"],
    )


def _results(records: Records) -> tuple[Result, ...]:
    rows, digests, replies = (records.lines.get(name, ()) for name in (ROWS, DIGESTS, REPLIES))
    if not digests or len(rows) != len(RULES) * len(digests):
        raise RefusedError(
            "counts", f"{ROWS}: {len(rows):,} lines for {len(digests):,} of {DIGESTS}; expected {len(RULES)} each"
        )
    if REPLIES in records.lines and len(replies) != len(digests):
        raise RefusedError("counts", f"{REPLIES}: {len(replies):,} lines, but {len(digests):,} in {DIGESTS}")
    results = []
    for at, digest in enumerate(digests):
        own_rows = rows[len(RULES) * at : len(RULES) * (at + 1)]
        _check_rows(at, digest, own_rows)
        log = _log_of(at, digest, replies[at]) if replies else None
        for number, row in enumerate(own_rows):
            wrong = _wrong_end(row, digest["reply_hash"], log) if "answered" in row else _wrong_end_of_format_1(row)
            if wrong:
                raise RefusedError("rows", f"{ROWS}: line {len(RULES) * at + number + 1}: {wrong}")
        results.append(Result(digest["part"], tuple(map(_row, own_rows)), digest["reply_hash"], log))
    return tuple(results)


def _check_rows(at: int, digest: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Checks that the rows of a reply are adjacent and differ only in their scores."""
    facts = {name: value for name, value in rows[0].items() if name not in _SCORES}
    for number, (row, rule) in enumerate(zip(rows, RULES, strict=True)):
        where = f"{ROWS}: line {len(RULES) * at + number + 1}"
        if row["rule"] != rule:
            raise RefusedError(
                "counts", f"{where}: rule is {row['rule']}, expected {rule}: each reply has a row by each rule"
            )
        for name, value in facts.items():
            if canonical(row[name]) != canonical(value):
                raise RefusedError("rows", f"{where}: {name} differs from that of the same reply by another rule")
        for name in digest:
            if name in row and row[name] != digest[name]:
                raise RefusedError("digests", f"{where}: {name} differs from that of line {at + 1} of {DIGESTS}")


def _wrong_end(row: Mapping[str, Any], reply_hash: str, log: ReplyLog | None) -> str:
    """What contradicts the outcome of a reply; "" if nothing does.

    Only answered replies have text, so that no non-empty reply can be declared unanswered.
    """
    status, answered, stop = row["status"], row["answered"], row["stop"]
    if answered and status not in ("ok", "incomplete"):
        return f"answered is true, but a reply with status {status} has no text; expected false"
    if answered == (reply_hash == _EMPTY):
        state = "has text" if not answered else "is empty"
        return f"answered is {str(answered).lower()}, but by its hash in {DIGESTS} the reply {state}"
    if answered and log is not None and not log.text.strip():
        return f"answered is true, but in {REPLIES} the reply has no visible text; expected false"
    if answered and (stop in _SAYING_NOTHING or (status == "incomplete" and stop != "max_tokens")):
        return f"status is {status}, impossible for a reply with text and the stop {printable(stop)[:_SHOWN]!r}"
    scored = row["value"], row["valid"]
    if status in ("error", "overflow") and scored != (None, False):
        return f"a reply with status {status} has no score, expected null"
    nothing = status in ("ok", "incomplete", "refused") and not answered
    return "an unanswered reply has the score 0.0 and no valid answer" if nothing and scored != (0.0, False) else ""


def _wrong_end_of_format_1(row: Mapping[str, Any]) -> str:
    if row["status"] != "ok" and (row["value"] is not None or row["valid"]):
        return f"a reply with status {row['status']} has no score, expected null"
    return ""


def _row(record: Mapping[str, Any]) -> Row:
    return Row(**{name: record[name] for name in SCHEMA if name in record})


def _log_of(at: int, digest: Mapping[str, Any], reply: Mapping[str, Any]) -> ReplyLog:
    for name in ("part", "sample", "epoch"):
        if reply[name] != digest[name]:
            raise RefusedError("digests", f"{REPLIES}: line {at + 1}: {name} differs from that in {DIGESTS}")
    if hashed(reply["text"]) != digest["reply_hash"]:
        raise RefusedError("digests", f"{REPLIES}: line {at + 1}: the hash of the text differs from that in {DIGESTS}")
    return ReplyLog(tuple(reply["targets"]), reply["asked"], reply["text"], reply.get("inputs"))


def _check_order(name: str, orders: Sequence[tuple[Any, ...]], lines: int) -> None:
    for at, (before, after) in enumerate(pairwise(orders), start=1):
        if not before < after:
            what = "the same as the line before" if before == after else "out of order"
            raise RefusedError("duplicates" if before == after else "form", f"{name}: line {lines * at + 1}: {what}")


def _check_unique(results: Sequence[Result]) -> None:
    """Checks that runs of one suite have no sample in common, which a mean would count twice."""
    seen: set[tuple[str, str, int]] = set()
    for at, result in enumerate(results):
        row = result.rows[0]
        key = row.suite, row.sample, row.epoch
        if key in seen:
            raise RefusedError(
                "duplicates",
                f"{ROWS}: line {len(RULES) * at + 1}: sample {row.sample}, epoch {row.epoch} of suite {row.suite} is "
                "included twice; bundle only one of the runs with it",
            )
        seen.add(key)


def _check_parts(parts: Sequence[Part], results: Sequence[Result]) -> None:
    """Checks the stated facts of each run against its rows."""
    by_part: dict[int, list[Row]] = {}
    for result in results:
        by_part.setdefault(result.part, []).append(result.rows[0])
    if sorted(by_part) != list(range(len(parts))):
        raise RefusedError("counts", f"bundle.json: {len(parts)} runs are stated, but the rows are of {len(by_part)}")
    for number, stated in enumerate(parts):
        facts = facts_of_part(by_part[number], fingerprint=stated.fingerprint, subset=stated.subset)
        for name, value in asdict(stated).items():
            if canonical(value) != canonical(asdict(facts)[name]):
                raise RefusedError("counts", f"bundle.json: parts: {name} of run {number + 1} contradicts its rows")


def _check_names(head: Mapping[str, Any], results: Sequence[Result]) -> None:
    if head["judges"] != [judge for judge in head["judges"] if is_judge(judge, results)]:
        raise RefusedError("judges", "bundle.json: judges names a judge that scored no row")
    for at, result in enumerate(results):
        part, row = head["parts"][result.part], result.rows[0]
        expected = (head["model"], head["variant"], part["suite"], part["tokenizer"])
        if (row.model, row.variant, row.suite, row.tokenizer) != expected:
            raise RefusedError(
                "rows",
                f"{ROWS}: line {len(RULES) * at + 1}: model, variant, suite or tokenizer differs from bundle.json",
            )
