"""Results of LongBench Pro's released code become rows: single replies where they are kept, else the averages.

The code writes ``MODEL/MODE_context-N_bon-K_evaluation.jsonl``, one scored reply a line, and ``..._summary.json``, the
averages, where MODE is ``thinking`` or ``nonthinking``, N is the length that prompts were cut to and K the number of
repeats. ``model_info.json`` above them says what kind of model each is. The summaries of 46 models are published at
https://github.com/caskcsg/longcontext (folder ``LongBench-Pro/output``); their replies are not.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from fathom.records import DamagedError, read_chunks, read_lines
from fathom.rows.longbench_pro_fields import Published, choice_of, mapping_of, shown, text_of
from fathom.rows.longbench_pro_replies import replies_of
from fathom.rows.longbench_pro_summaries import averages_of
from fathom.rows.schema import check_rows, to_frame
from fathom.types import FathomError

INFO = "model_info.json"
KINDS = ("Thinking", "Mixed", "Instruct")
COLLECTED = ("summaries.jsonl", "summaries.jsonl.gz", "summaries.jsonl.zst")
SUMMARY = "_summary.json"
REPLIES = ("_evaluation.jsonl", "_evaluation.jsonl.gz", "_evaluation.jsonl.zst")
START = "MODE_context-N_bon-K"
_NAME = re.compile(r"(?P<mode>thinking|nonthinking)_context-(?P<context>\d{1,12})_bon-(?P<repeats>\d{1,6})")


@dataclass(frozen=True, slots=True)
class _Found:
    """A file of replies or a summary.

    Attributes:
        place: File, and line where summaries are collected, for messages.
        published: What is known of the model and how it was asked.
        replies: The file with the replies; None for a summary.
        summary: The summary; empty for replies.
    """

    place: str
    published: Published
    replies: Path | None
    summary: Mapping[str, object]


def rows_from_longbench_pro(path: Path) -> pl.DataFrame:
    """Reads results of LongBench Pro's released code.

    Args:
        path: A folder with ``MODEL/MODE_context-N_bon-K_evaluation.jsonl`` or ``..._summary.json`` at any depth, or
            with ``summaries.jsonl``, whose lines have ``model``, ``file`` (the name of a summary) and ``summary`` (what
            is in it); or one such file. Lines of JSON may be compressed (``.gz``, ``.zst``).

    Returns:
        A rows table. Single replies are ordinary rows under the names of our tasks, one repeat an epoch. Where a model
        has none in a mode, each average of its summary is a row of length 0 with the facet ``aggregate``, which
        breakdowns alone read. ``variant`` is the mode, ``thinking`` or ``non-thinking``.

    Raises:
        FathomError: There are no such results, a model has two of one mode, or a file is damaged: the message names it
            and what is wrong.
    """
    replies: dict[tuple[str, str], _Found] = {}
    summaries: dict[tuple[str, str], _Found] = {}
    for found in _found(path):
        known = replies if found.replies is not None else summaries
        key = found.published.model, found.published.variant
        if key in known:
            raise FathomError(
                f"{found.place}: a second file of model {shown(key[0])}, {key[1]} (the first: {known[key].place}); "
                "keep one of them here"
            )
        known[key] = found
    if not replies and not summaries:
        raise FathomError(
            f"{path}: no results of LongBench Pro here; expected MODEL/{START}{SUMMARY}, MODEL/{START}{REPLIES[0]} or "
            f"{COLLECTED[0]}"
        )
    chosen = [replies.get(key) or summaries[key] for key in sorted({*replies, *summaries})]
    return pl.concat([_frame(found) for found in chosen])


def _frame(found: _Found) -> pl.DataFrame:
    if found.replies is None:
        rows = averages_of(found.summary, found.published, found.place)
    else:
        rows = replies_of(_lines(found.replies), found.published)
    frame = check_rows(to_frame(rows), found.place)
    if frame.is_empty():
        raise FathomError(f"{found.place}: there is no reply in it")
    return frame


# ------------------------------------------------------------------------------------------------------ finding


def _found(path: Path) -> Iterator[_Found]:
    if not path.exists():
        raise FathomError(f"{path}: no such file or folder")
    # The folder's own name may be that of the model.
    path = path.resolve() if path.name in ("", "..") else path
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    infos: dict[Path, Mapping[str, object]] = {}
    for file in files:
        if not file.is_file() or not file.name.endswith((SUMMARY, *REPLIES, *COLLECTED)):
            continue
        root = _root(file, path)
        if root not in infos:
            infos[root] = _object(root / INFO) if (root / INFO).is_file() else {}
        yield from _collected(file, root, infos[root]) if file.name in COLLECTED else _single(file, root, infos[root])


def _root(file: Path, path: Path) -> Path:
    """The folder that names of models start from: the one above with ``model_info.json``, else the one that is read."""
    top = path if path.is_dir() else file.parent
    above = file.parents[: file.parents.index(top) + 1] if top in file.parents else ()
    within = next((folder for folder in above if (folder / INFO).is_file()), None)
    # One model alone may be read: the others' folder is above then.
    beyond = top.parent if within is None and file.parent == top and file.name not in COLLECTED else None
    return within or beyond or top


def _single(file: Path, root: Path, info: Mapping[str, object]) -> Iterator[_Found]:
    model = file.parent.relative_to(root).as_posix()
    published = _published(file.absolute().parent.name if model == "." else model, file.name, root, info, str(file))
    if file.name.endswith(SUMMARY):
        yield _Found(str(file), published, None, _object(file))
    else:
        yield _Found(str(file), published, file, {})


def _collected(file: Path, root: Path, info: Mapping[str, object]) -> Iterator[_Found]:
    for place, record in _lines(file):
        name = text_of(record, "file", place).rpartition("/")[2]
        published = _published(text_of(record, "model", place), name, root, info, place)
        yield _Found(place, published, None, mapping_of(record, "summary", place))


def _published(model: str, name: str, root: Path, info: Mapping[str, object], place: str) -> Published:
    named = _NAME.match(name)
    if not named or name[named.end() :] not in (SUMMARY, *REPLIES):
        raise FathomError(
            f"{place}: the file's name is {shown(name)}, expected {START}{SUMMARY} or {START}{REPLIES[0]}, where MODE "
            "is thinking or nonthinking"
        )
    kind = ""
    if model in info:
        kind = choice_of(mapping_of(info, model, str(root / INFO)), "type", KINDS, f"{root / INFO}: {model}").lower()
    return Published(model, named["mode"] == "thinking", int(named["context"]), int(named["repeats"]), kind)


# ------------------------------------------------------------------------------------------------------ reading


def _object(file: Path) -> Mapping[str, object]:
    try:
        text = b"".join(read_chunks(file))
    except DamagedError as error:
        raise FathomError(f"{file}: the file {error}") from None
    return _parsed(text, str(file))


def _lines(file: Path) -> Iterator[tuple[str, Mapping[str, object]]]:
    """The objects of a file, one a line, each with its place."""
    number = 0
    try:
        for number, line in enumerate(read_lines(file), start=1):
            if line.strip():
                place = f"{file}: line {number}"
                yield place, _parsed(line, place)
    except DamagedError as error:
        raise FathomError(f"{file}: line {number + 1}: the file {error}") from None


def _parsed(text: bytes, place: str) -> Mapping[str, object]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FathomError(f"{place}: not JSON: {error}") from None
    if not isinstance(value, dict):
        raise FathomError(f"{place}: expected a JSON object, found {shown(value)}")
    return value
