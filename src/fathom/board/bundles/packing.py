"""The bytes of a bundle: they follow from its content, so that a reader can ask for these and no others."""

from __future__ import annotations

import dataclasses
import io
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from fathom.atomic import whole_file
from fathom.board.bundles.bundle import (
    DIGESTS,
    FORMAT,
    HEAD,
    JUDGEMENTS,
    REPLIES,
    ROWS,
    RULES,
    Bundle,
    JudgedReply,
    Result,
    Said,
    canonical,
    fields_of,
    hashed,
)
from fathom.rows.schema import SCHEMA
from fathom.types import Row

_FLOATS = frozenset(name for name, kind in SCHEMA.items() if kind.__name__ == "Float64")
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the first that a zip archive can say
_MADE_ON_UNIX = 3
_PLAIN_FILE = 0o100644 << 16


def row_record(part: int, row: Row, form: int = FORMAT) -> dict[str, Any]:
    """A row as a line of ``rows.jsonl`` says it, in a format of ``FORMATS``."""
    record: dict[str, Any] = {name: getattr(row, name) for name in fields_of(form)}
    for name in _FLOATS:
        record[name] = None if record[name] is None else float(record[name])
    return record | {"facets": dict(row.facets), "part": part}


def archive(bundle: Bundle) -> bytes:
    """The bytes of a bundle; equal bundles give equal bytes."""
    rows = (row_record(result.part, row, bundle.format) for result in bundle.results for row in result.rows)
    content = {ROWS: _lines(rows)}
    content[DIGESTS] = _lines(map(_digest, bundle.results))
    if bundle.judgements:
        content[JUDGEMENTS] = _lines(map(_judgement, bundle.judgements))
    if bundle.logs:
        content[REPLIES] = _lines(_reply(result, bundle.format) for result in bundle.results)
    return zipped({HEAD: (canonical(_head(bundle, content)) + "\n").encode()} | content)


def zipped(content: Mapping[str, bytes]) -> bytes:
    """An archive of files, stored in the given order, with nothing in it that does not follow from them."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as out:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.create_system, entry.external_attr = _MADE_ON_UNIX, _PLAIN_FILE
            out.writestr(entry, data)
    return stream.getvalue()


def write_bundle(bundle: Bundle, path: Path) -> None:
    """Write a bundle; a reader sees the old file or the whole new one.

    Raises:
        FathomError: The file cannot be written.
    """
    with whole_file(path, "wb") as stream:
        stream.write(archive(bundle))


def _head(bundle: Bundle, content: Mapping[str, bytes]) -> dict[str, Any]:
    return {
        "fathom": "bundle",
        "format": bundle.format,
        "model": bundle.model,
        "variant": bundle.variant,
        "created": bundle.created,
        "settings": bundle.settings,
        "versions": bundle.versions,
        "rules": RULES,
        "judges": bundle.judges,
        "parts": [dataclasses.asdict(part) for part in bundle.parts],
        "files": {name: {"bytes": len(data), "sha256": hashed(data)} for name, data in content.items()},
    }


def _lines(records: Iterable[Mapping[str, object]]) -> bytes:
    return "".join(canonical(record) + "\n" for record in records).encode()


def _key(result: Result) -> dict[str, object]:
    return {"part": result.part, "sample": result.rows[0].sample, "epoch": result.rows[0].epoch}


def _digest(result: Result) -> dict[str, object]:
    row = result.rows[0]
    return _key(result) | {"prompt_hash": row.prompt_hash, "reply_hash": result.reply_hash, "status": row.status}


def _reply(result: Result, form: int) -> dict[str, object]:
    said = result.said or Said((), "", "")
    record = _key(result) | {"targets": said.targets, "asked": said.asked, "text": said.text}
    return record | {"inputs": dict(said.inputs or {})} if form > 2 else record


def _judgement(found: JudgedReply) -> dict[str, object]:
    one = found.judgement
    about: dict[str, object] = {"part": found.part, "judge": found.judge, "key": found.key}
    return about | {
        "status": one.status,
        "parts": {name: float(value) for name, value in one.parts.items()},
        "detail": one.detail,
    }
