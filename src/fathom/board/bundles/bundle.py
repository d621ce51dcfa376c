"""A results bundle: what runs found, with hashes of all that it rests on, in one file whose bytes follow from it.

The file is a zip archive whose entries are stored as they are, in this order:

* ``bundle.json``: model, settings, versions, facts of each run, and the hash of every other file;
* ``rows.jsonl``: the rows of each reply, one by each scoring rule;
* ``digests.jsonl``: one line a reply, with the hashes of the prompt and of the reply;
* ``judgements.jsonl``: what judges found, where they were asked, and
* ``replies.jsonl``: the replies with their gold answers and what else scorers need. The last two are the logs, which
  may be left out.

Each line is JSON in one fixed form, and everything stands in one order. So equal runs give equal bytes, and a reader
can ask that a file be what ``write_bundle`` writes, to the byte. Texts that may name a machine (errors,
addresses, paths) are not in it, and neither is what models thought.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.atomic import whole_file
from fathom.printing import readable
from fathom.rows.schema import SCHEMA, to_frame
from fathom.run.judgements import Judgement
from fathom.types import Facet, Json, Row

if TYPE_CHECKING:
    import polars as pl

FORMAT = 3
"""Of what is written; the others are read. Up to format 2 what a scorer needs is among the facets of the rows. In
format 1 rows do not say whether a reply was answered, and only whole replies have a score."""
FORMATS = (1, 2, FORMAT)
RULES = ("strict", "official")
"""Each reply has a row by each of them, in this order."""
HEAD, ROWS, DIGESTS = "bundle.json", "rows.jsonl", "digests.jsonl"
JUDGEMENTS, REPLIES = "judgements.jsonl", "replies.jsonl"
FILES = (HEAD, ROWS, DIGESTS, JUDGEMENTS, REPLIES)
"""All that a bundle can hold, in the order of the archive."""
_FLOATS = frozenset(name for name, kind in SCHEMA.items() if kind.__name__ == "Float64")
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the first that a zip archive can say
_MADE_ON_UNIX = 3
_PLAIN_FILE = 0o100644 << 16


@dataclass(frozen=True, slots=True)
class Said:
    """The log of one reply: what its scores can be computed from again.

    Attributes:
        targets: Gold answers.
        asked: The bare question, or "".
        text: The reply without its reasoning; "" where it was not answered.
        inputs: What the scorer needs besides; None where it is among the facets of the rows.
    """

    targets: tuple[str, ...]
    asked: str
    text: str
    inputs: Mapping[str, Facet] | None = None


@dataclass(frozen=True, slots=True)
class Result:
    """One reply.

    Attributes:
        part: Number of the run, from 0.
        rows: Its row by each of ``RULES``.
        reply_hash: SHA-256 of the text of the reply, in hexadecimal digits.
        said: Its log; None where logs are left out.
    """

    part: int
    rows: tuple[Row, ...]
    reply_hash: str
    said: Said | None = None

    @property
    def order(self) -> tuple[int, str, int, str, int]:
        """What replies are sorted by; no two are alike."""
        row = self.rows[0]
        return self.part, row.task, row.length, row.sample, row.epoch


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """What one judge made of one reply.

    Attributes:
        part: Number of the run, from 0.
        judge: Name of the judge.
        key: Hash of the case (``fathom.run.judgements.case_key``).
        judgement: What it made of it.
    """

    part: int
    judge: str
    key: str
    judgement: Judgement

    @property
    def order(self) -> tuple[int, str, str]:
        """What they are sorted by; no two are alike."""
        return self.part, self.judge, self.key


@dataclass(frozen=True, slots=True)
class Part:
    """The facts of one run.

    Attributes:
        suite: Name of the suite.
        fingerprint: Hash of the suite's content.
        tokenizer: The suite's tokenizer.
        subset: Hash of the subset that was asked; "" for the whole suite.
        tasks: Tasks with replies, sorted.
        lengths: Lengths with replies, ascending, in tokens.
        samples: Samples with replies.
        replies: Replies; more than samples where these were asked repeatedly.
        statuses: Replies by status, those that occur.
        sample_set: See ``sample_set``.
    """

    suite: str
    fingerprint: str
    tokenizer: str
    subset: str
    tasks: tuple[str, ...]
    lengths: tuple[int, ...]
    samples: int
    replies: int
    statuses: Mapping[str, int]
    sample_set: str


@readable
@dataclass(frozen=True)
class Bundle:
    """The content of a bundle.

    Attributes:
        model: Name of the model.
        variant: What tells its runs apart (``thinking``); "" if nothing.
        created: Day of the last reply, ``YYYY-MM-DD``.
        settings: How the model was asked; the same in all runs.
        versions: Of the packages that asked and scored.
        judges: Judges whose scores are in the rows.
        parts: The runs.
        results: The replies, in order.
        judgements: What the judges found, in order; empty where logs are left out.
        logs: Whether the replies are there.
        format: One of ``FORMATS``.
    """

    model: str
    variant: str
    created: str
    settings: Mapping[str, Json]
    versions: Mapping[str, str]
    judges: tuple[str, ...]
    parts: tuple[Part, ...]
    results: tuple[Result, ...]
    judgements: tuple[JudgedReply, ...] = ()
    logs: bool = False
    format: int = FORMAT

    def rows_of(self, rule: str = "strict") -> pl.DataFrame:
        """The rows table by one rule of ``RULES``."""
        return to_frame(row for result in self.results for row in result.rows if row.rule == rule)

    @property
    def rows(self) -> pl.DataFrame:
        """The rows table by the rule ``strict``."""
        return self.rows_of()


def fields_of(form: int) -> tuple[str, ...]:
    """The fields of a row in a format of ``FORMATS``."""
    return tuple(name for name in SCHEMA if form > 1 or name != "answered")


def hashed(content: str | bytes) -> str:
    """The SHA-256 of a text (in UTF-8) or of bytes, in hexadecimal digits."""
    return sha256(content.encode("utf-8") if isinstance(content, str) else content).hexdigest()


def canonical(value: object) -> str:
    """The one form that JSON has in a bundle: a line, names sorted, no spaces, text as it is."""
    return _JSON.encode(value)


_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sample_set(rows: Iterable[Row]) -> str:
    """The hash of which samples were asked: equal sets of samples with equal gold answers give equal hashes.

    Args:
        rows: Rows in any order; repeats of a sample count once.
    """
    asked = {canonical([row.sample, row.task, row.length, row.language, row.target]) for row in rows}
    return hashed("\n".join(sorted(asked)))


def is_judge(judge: str, results: Iterable[Result]) -> bool:
    """Whether a judge scored any of these replies."""
    return any(row.grader.startswith(f"judge {judge} (") for result in results for row in result.rows)


def facts_of_part(rows: Sequence[Row], *, fingerprint: str, subset: str) -> Part:
    """What the rows of one run say of it.

    Args:
        rows: One row of each reply, at least one.
        fingerprint: Hash of the suite's content.
        subset: Hash of the subset that was asked; "" for the whole suite.
    """
    return Part(
        suite=rows[0].suite,
        fingerprint=fingerprint,
        tokenizer=rows[0].tokenizer,
        subset=subset,
        tasks=tuple(sorted({row.task for row in rows})),
        lengths=tuple(sorted({row.length for row in rows})),
        samples=len({row.sample for row in rows}),
        replies=len(rows),
        statuses=dict(sorted(Counter(str(row.status) for row in rows).items())),
        sample_set=sample_set(rows),
    )


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
