"""The lines of a bundle become its content; each says nothing that another one contradicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any

from fathom.board.bundles.bundle import (
    DIGESTS,
    JUDGEMENTS,
    REPLIES,
    ROWS,
    RULES,
    Bundle,
    JudgedReply,
    Part,
    Result,
    Said,
    canonical,
    facts_of_part,
    hashed,
    is_judge,
)
from fathom.board.bundles.findings import RefusedError
from fathom.printing import printable
from fathom.rows.schema import SCHEMA
from fathom.run.judgements import Judgement
from fathom.types import Row

_SCORES = ("value", "valid", "answer", "metric", "grader", "rule", "detail")
"""Fields in which the rows of one reply differ."""
_EMPTY = hashed("")
_SAYING_NOTHING = ("content_filter", "model_length", "not_sent")
_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Records:
    """The objects of a bundle, each with the right fields: ``bundle.json``, and the lines of the other files."""

    head: Mapping[str, Any]
    lines: Mapping[str, Sequence[Mapping[str, Any]]]


def assembled(records: Records) -> Bundle:
    """The content of a bundle.

    Args:
        records: Its objects.

    Raises:
        RefusedError: Lines are missing, too many or not in order, or one contradicts another.
    """
    head = records.head
    results = _results(records)
    _check_order(ROWS, [result.order for result in results], len(RULES))
    _check_unique(results)
    parts = tuple(
        Part(**{**one, "tasks": tuple(one["tasks"]), "lengths": tuple(one["lengths"])}) for one in head["parts"]
    )
    _check_parts(parts, results)
    _check_names(head, results)
    judgements = tuple(
        JudgedReply(one["part"], one["judge"], one["key"], Judgement(one["status"], one["parts"], one["detail"]))
        for one in records.lines.get(JUDGEMENTS, ())
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
        found = rows[len(RULES) * at : len(RULES) * (at + 1)]
        _check_rows(at, digest, found)
        said = _said(at, digest, replies[at]) if replies else None
        for number, row in enumerate(found):
            wrong = _wrong_end(row, digest["reply_hash"], said) if "answered" in row else _wrong_end_of_format_1(row)
            if wrong:
                raise RefusedError("rows", f"{ROWS}: line {len(RULES) * at + number + 1}: {wrong}")
        results.append(Result(digest["part"], tuple(map(_row, found)), digest["reply_hash"], said))
    return tuple(results)


def _check_rows(at: int, digest: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """The rows of a reply stand together, and differ in their scores alone."""
    facts = {name: value for name, value in rows[0].items() if name not in _SCORES}
    for number, (row, rule) in enumerate(zip(rows, RULES, strict=True)):
        where = f"{ROWS}: line {len(RULES) * at + number + 1}"
        if row["rule"] != rule:
            raise RefusedError(
                "counts", f"{where}: rule is {row['rule']}, expected {rule}: each reply has a row by each rule"
            )
        for name, value in facts.items():
            if canonical(row[name]) != canonical(value):
                raise RefusedError("rows", f"{where}: {name} is not that of the same reply by another rule")
        for name in digest:
            if name in row and row[name] != digest[name]:
                raise RefusedError("digests", f"{where}: {name} is not that of line {at + 1} of {DIGESTS}")


def _wrong_end(row: Mapping[str, Any], reply_hash: str, said: Said | None) -> str:
    """What in the end of a reply contradicts something else; "" if nothing does.

    Text is kept of replies that were answered only, so that no reply can be called unanswered that is not empty.
    """
    status, answered, stop = row["status"], row["answered"], row["stop"]
    if answered and status not in ("ok", "incomplete"):
        return f"answered is true, but a reply with status {status} says nothing; expected false"
    if answered == (reply_hash == _EMPTY):
        there = "has text" if not answered else "is empty"
        return f"answered is {str(answered).lower()}, but by the hash in {DIGESTS} the reply {there}"
    if answered and said is not None and not said.text.strip():
        return f"answered is true, but in {REPLIES} the reply shows nothing; expected false"
    if answered and (stop in _SAYING_NOTHING or (status == "incomplete" and stop != "max_tokens")):
        return f"status is {status}, but no such reply with text has the stop {printable(stop)[:_SHOWN]!r}"
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


def _said(at: int, digest: Mapping[str, Any], reply: Mapping[str, Any]) -> Said:
    for name in ("part", "sample", "epoch"):
        if reply[name] != digest[name]:
            raise RefusedError("digests", f"{REPLIES}: line {at + 1}: {name} is not that of the same line of {DIGESTS}")
    if hashed(reply["text"]) != digest["reply_hash"]:
        raise RefusedError("digests", f"{REPLIES}: line {at + 1}: the text has not the hash that {DIGESTS} gives")
    return Said(tuple(reply["targets"]), reply["asked"], reply["text"], reply.get("inputs"))


def _check_order(name: str, orders: Sequence[tuple[Any, ...]], lines: int) -> None:
    for at, (before, after) in enumerate(pairwise(orders), start=1):
        if not before < after:
            what = "the same as that before" if before == after else "out of order"
            raise RefusedError("duplicates" if before == after else "form", f"{name}: line {lines * at + 1}: {what}")


def _check_unique(results: Sequence[Result]) -> None:
    """Runs of one suite have no sample in common: a mean would count it twice."""
    seen: set[tuple[str, str, int]] = set()
    for at, result in enumerate(results):
        row = result.rows[0]
        key = row.suite, row.sample, row.epoch
        if key in seen:
            raise RefusedError(
                "duplicates",
                f"{ROWS}: line {len(RULES) * at + 1}: sample {row.sample}, epoch {row.epoch} of suite {row.suite} is "
                "there twice; bundle one of the runs that hold it",
            )
        seen.add(key)


def _check_parts(parts: Sequence[Part], results: Sequence[Result]) -> None:
    """What is stated of each run is what its rows say."""
    by_part: dict[int, list[Row]] = {}
    for result in results:
        by_part.setdefault(result.part, []).append(result.rows[0])
    if sorted(by_part) != list(range(len(parts))):
        raise RefusedError("counts", f"bundle.json: {len(parts)} runs are stated, but there are rows of {len(by_part)}")
    for number, stated in enumerate(parts):
        there = facts_of_part(by_part[number], fingerprint=stated.fingerprint, subset=stated.subset)
        for name, value in asdict(stated).items():
            if canonical(value) != canonical(asdict(there)[name]):
                raise RefusedError("counts", f"bundle.json: parts: {name} of run {number + 1} is not what its rows say")


def _check_names(head: Mapping[str, Any], results: Sequence[Result]) -> None:
    if head["judges"] != [judge for judge in head["judges"] if is_judge(judge, results)]:
        raise RefusedError("judges", "bundle.json: judges names one by whom no row is scored")
    for at, result in enumerate(results):
        part, row = head["parts"][result.part], result.rows[0]
        expected = (head["model"], head["variant"], part["suite"], part["tokenizer"])
        if (row.model, row.variant, row.suite, row.tokenizer) != expected:
            raise RefusedError(
                "rows",
                f"{ROWS}: line {len(RULES) * at + 1}: model, variant, suite or tokenizer is not that of bundle.json",
            )
