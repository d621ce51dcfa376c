"""A results bundle: the results of runs with hashes of everything they depend on, in one reproducible file.

The file is a zip archive without compression. Its entries, in order:

* ``bundle.json``: model, settings, versions, facts of each run, and the hash of every other file;
* ``rows.jsonl``: the rows of each reply, one per scoring rule;
* ``digests.jsonl``: one line per reply, with the hashes of the prompt and of the reply;
* ``judgements.jsonl``: judgements, if replies were judged;
* ``replies.jsonl``: the replies with their gold answers and other inputs of scorers. The last two are the logs, which
  are optional.

Each line is JSON in one canonical form, and the order of everything is fixed. So the same runs give the same bytes, and
a reader can require that a file is exactly what ``write_bundle`` writes. Texts that may name a machine (errors,
addresses, paths) and the reasoning of models are not included.
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

from fathom.printing import readable
from fathom.rows.schema import SCHEMA, to_frame
from fathom.runfile.judgements import Judgement
from fathom.storage.atomic import whole_file
from fathom.types import Facet, Json, Row

if TYPE_CHECKING:
    import polars as pl

FORMAT = 4
"""The newest is written, all are read. Up to format 3 rows do not record how often a sample was asked. Up to format 2
the inputs of scorers are among the facets of the rows. In format 1 rows do not record whether a reply was answered, and
only complete replies have a score."""
FORMATS = (1, 2, 3, FORMAT)
RULES = ("strict", "official")
"""Each reply has one row per rule, in this order."""
HEAD, ROWS, DIGESTS = "bundle.json", "rows.jsonl", "digests.jsonl"
JUDGEMENTS, REPLIES = "judgements.jsonl", "replies.jsonl"
FILES = (HEAD, ROWS, DIGESTS, JUDGEMENTS, REPLIES)
"""All files of a bundle, in the order of the archive."""
_FLOATS = frozenset(name for name, kind in SCHEMA.items() if kind.__name__ == "Float64")
_MOMENT = (1980, 1, 1, 0, 0, 0)  # the earliest time of a zip archive
_MADE_ON_UNIX = 3
_PLAIN_FILE = 0o100644 << 16


@dataclass(frozen=True, slots=True)
class ReplyLog:
    """The log of one reply, from which its scores can be recomputed.

    Attributes:
        targets: Gold answers.
        asked: The question without its context, or "".
        text: The reply without its reasoning; "" if unanswered.
        inputs: Further inputs of the scorer; None if they are among the facets of the rows.
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
        rows: Its row for each of ``RULES``.
        reply_hash: SHA-256 of the text of the reply, in hexadecimal digits.
        log: What was logged of it; None without logs.
    """

    part: int
    rows: tuple[Row, ...]
    reply_hash: str
    log: ReplyLog | None = None

    @property
    def order(self) -> tuple[int, str, int, str, int]:
        """Sort key of replies; unique."""
        row = self.rows[0]
        return self.part, row.task, row.length, row.sample, row.epoch


@dataclass(frozen=True, slots=True)
class JudgedReply:
    """The judgement of one reply by one judge.

    Attributes:
        part: Number of the run, from 0.
        judge: Name of the judge.
        key: Hash of the case (``fathom.runfile.judgements.case_key``).
    """

    part: int
    judge: str
    key: str
    judgement: Judgement

    @property
    def order(self) -> tuple[int, str, str]:
        """Sort key; unique."""
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
        samples: Number of samples with replies.
        replies: Number of replies; more than samples if these were repeated.
        statuses: Number of replies by status, without zeros.
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
        variant: What distinguishes its runs (``thinking``); "" if nothing.
        created: Day of the last reply, ``YYYY-MM-DD``.
        settings: How the model was asked; the same in all runs.
        versions: Versions of the packages that asked and scored.
        judges: Judges whose scores are in the rows.
        parts: The runs.
        results: The replies, in order.
        judgements: The judgements, in order; empty without logs.
        logs: Whether the replies are included.
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
        """The rows table of one rule of ``RULES``."""
        return to_frame(row for result in self.results for row in result.rows if row.rule == rule)

    @property
    def rows(self) -> pl.DataFrame:
        """The rows table of the rule ``strict``."""
        return self.rows_of()


def fields_of(form: int) -> tuple[str, ...]:
    """The fields of a row in a format of ``FORMATS``: a bundle has replies of a single model, so none names it."""
    since = {"served": FORMAT + 1, "answered": 2, "asked_again": 4}
    return tuple(name for name in SCHEMA if form >= since.get(name, 1))


def hashed(content: str | bytes) -> str:
    """The SHA-256 of a text (in UTF-8) or of bytes, in hexadecimal digits."""
    return sha256(content.encode("utf-8") if isinstance(content, str) else content).hexdigest()


def canonical(value: object) -> str:
    """The canonical JSON of a bundle: one line, sorted names, no spaces, text unescaped."""
    return _JSON.encode(value)


_JSON = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"), allow_nan=False)


def sample_set(rows: Iterable[Row]) -> str:
    """The hash of the set of samples; equal sets with equal gold answers have equal hashes.

    Args:
        rows: Rows in any order; repeats of a sample count once.
    """
    asked = {canonical([row.sample, row.task, row.length, row.language, row.target]) for row in rows}
    return hashed("\n".join(sorted(asked)))


def is_judge(judge: str, results: Iterable[Result]) -> bool:
    """Whether a judge scored any of these replies."""
    return any(row.grader.startswith(f"judge {judge} (") for result in results for row in result.rows)


def facts_of_part(rows: Sequence[Row], *, fingerprint: str, subset: str) -> Part:
    """The facts of one run, from its rows.

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
    """A row as in ``rows.jsonl``, in a format of ``FORMATS``."""
    record: dict[str, Any] = {name: getattr(row, name) for name in fields_of(form)}
    for name in _FLOATS:
        record[name] = None if record[name] is None else float(record[name])
    return record | {"facets": dict(row.facets), "part": part}


def archive(bundle: Bundle) -> bytes:
    """The bytes of a bundle; equal bundles have equal bytes."""
    rows = (row_record(result.part, row, bundle.format) for result in bundle.results for row in result.rows)
    content = {ROWS: _lines(rows)}
    content[DIGESTS] = _lines(map(_digest, bundle.results))
    if bundle.judgements:
        content[JUDGEMENTS] = _lines(map(_judgement, bundle.judgements))
    if bundle.logs:
        content[REPLIES] = _lines(_reply(result, bundle.format) for result in bundle.results)
    return zipped({HEAD: (canonical(_head(bundle, content)) + "\n").encode()} | content)


def zipped(content: Mapping[str, bytes]) -> bytes:
    """An archive of files in the given order, whose bytes depend only on them."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as out:
        for name, data in content.items():
            entry = zipfile.ZipInfo(name, _MOMENT)
            entry.create_system, entry.external_attr = _MADE_ON_UNIX, _PLAIN_FILE
            out.writestr(entry, data)
    return stream.getvalue()


def write_bundle(bundle: Bundle, path: Path) -> None:
    """Write a bundle atomically.

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
    log = result.log or ReplyLog((), "", "")
    record = _key(result) | {"targets": log.targets, "asked": log.asked, "text": log.text}
    return record | {"inputs": dict(log.inputs or {})} if form > 2 else record


def _judgement(judged: JudgedReply) -> dict[str, object]:
    judgement = judged.judgement
    about: dict[str, object] = {"part": judged.part, "judge": judged.judge, "key": judged.key}
    return about | {
        "status": judgement.status,
        "parts": {name: float(value) for name, value in judgement.parts.items()},
        "detail": judgement.detail,
    }
