"""Results of LongBench Pro's released code become rows: single replies where they are kept, else the averages.

The code writes ``MODEL/MODE_context-N_bon-K_evaluation.jsonl``, one scored reply a line, and ``..._summary.json``, the
averages, where MODE is ``thinking`` or ``nonthinking``, N is the length that prompts were cut to and K the number of
repeats. ``model_info.json`` above them says what kind of model each is. The summaries of 46 models are published at
https://github.com/caskcsg/longcontext (folder ``LongBench-Pro/output``); their replies are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path, PurePosixPath

import polars as pl

from fathom.records import TABLES, File, checked_records, find_files, split_name, unread
from fathom.rows.longbench_pro_fields import Published, choice_of, mapping_of, shown, text_of
from fathom.rows.longbench_pro_replies import replies_of
from fathom.rows.longbench_pro_summaries import averages_of
from fathom.rows.schema import check_rows, to_frame
from fathom.types import FathomError

INFO = "model_info.json"
KINDS = ("Thinking", "Mixed", "Instruct")
COLLECTED, SUMMARY, REPLIES = "summaries", "_summary", "_evaluation"
NAMES = f"{SUMMARY}.json or {REPLIES}.jsonl"
START = "MODE_context-N_bon-K"
_NAME = re.compile(
    r"(?P<mode>thinking|nonthinking)_context-(?P<context>\d{1,12})_bon-(?P<repeats>\d{1,6})(_summary|_evaluation)"
)


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
    replies: File | None
    summary: Mapping[str, object]


def rows_from_longbench_pro(path: Path, tell: Callable[[str], None] | None = None) -> pl.DataFrame:
    """Reads results of LongBench Pro's released code.

    Args:
        path: A folder with ``MODEL/MODE_context-N_bon-K_evaluation.jsonl`` or ``..._summary.json`` at any depth, or
            with ``summaries.jsonl``, whose lines have ``model``, ``file`` (the name of a summary) and ``summary`` (what
            is in it); or one such file, or a ZIP archive of them. Any format of ``fathom.records.TABLES`` will do.
        tell: Told which files of a folder are not read.

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
    for found in _found(path, tell):
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
            f"{path}: no results of LongBench Pro here; expected MODEL/{START}{SUMMARY}.json, "
            f"MODEL/{START}{REPLIES}.jsonl or {COLLECTED}.jsonl"
        )
    chosen = [replies.get(key) or summaries[key] for key in sorted({*replies, *summaries})]
    return pl.concat([_frame(found) for found in chosen])


def _frame(found: _Found) -> pl.DataFrame:
    if found.replies is None:
        rows = averages_of(found.summary, found.published, found.place)
    else:
        rows = replies_of(checked_records(found.replies), found.published)
    frame = check_rows(to_frame(rows), found.place)
    if frame.is_empty():
        raise FathomError(f"{found.place}: there is no reply in it")
    return frame


# ------------------------------------------------------------------------------------------------------ finding


def _found(path: Path, tell: Callable[[str], None] | None) -> Iterator[_Found]:
    if not path.exists():
        raise FathomError(f"{path}: no such file or folder")
    # The folder's own name may be that of the model.
    path = path.resolve() if path.name in ("", "..") else path
    found = find_files(path, TABLES)
    infos = {file.name.parent: file for file in found.files if file.name.name == INFO}
    others = []
    for file in found.files:
        if file.stem == COLLECTED:
            yield from _collected(file, _info(file, infos))
        elif file.stem.endswith((SUMMARY, REPLIES)):
            yield _single(file, _info(file, infos))
        elif file.name.name != INFO:
            others.append(str(file.name))
    if tell is not None:
        for problem in (*found.problems, *found.unread, *unread(path, others, f"their names do not end in {NAMES}")):
            tell(str(problem))


def _info(file: File, infos: Mapping[PurePosixPath, File]) -> tuple[PurePosixPath, File | None]:
    """The folder that names of models start from, and the file there or above it that says what kinds they are."""
    folder = file.name.parent
    above = next((one for one in (folder, *folder.parents) if one in infos), None)
    if above is not None:
        return above, infos[above]
    # One file or one model alone may be read: what is known of all models is beside or above it then.
    if file.inside or folder.parts:
        return PurePosixPath(), None
    here = file.path.absolute().parent
    places = [here / INFO] if file.stem == COLLECTED else [here / INFO, here.parent / INFO]
    return PurePosixPath(), next((File.at(place) for place in places if place.is_file()), None)


def _single(file: File, info: tuple[PurePosixPath, File | None]) -> _Found:
    model = file.name.parent.relative_to(info[0]).as_posix()
    published = _published(file.folder if model == "." else model, file.name.name, info[1], str(file))
    if file.stem.endswith(SUMMARY):
        return _Found(str(file), published, None, _object(file))
    return _Found(str(file), published, file, {})


def _collected(file: File, info: tuple[PurePosixPath, File | None]) -> Iterator[_Found]:
    for place, record in checked_records(file):
        name = text_of(record, "file", place).rpartition("/")[2]
        published = _published(text_of(record, "model", place), name, info[1], place)
        yield _Found(place, published, None, mapping_of(record, "summary", place))


def _published(model: str, name: str, info: File | None, place: str) -> Published:
    named = _NAME.fullmatch(split_name(name)[0])
    if not named:
        raise FathomError(
            f"{place}: the file's name is {shown(name)}, expected {START}{SUMMARY}.json or {START}{REPLIES}.jsonl, "
            "where MODE is thinking or nonthinking"
        )
    kind = ""
    known = _object(info) if info else {}
    if model in known:
        kind = choice_of(mapping_of(known, model, str(info)), "type", KINDS, f"{info}: {model}").lower()
    return Published(model, named["mode"] == "thinking", int(named["context"]), int(named["repeats"]), kind)


def _object(file: File) -> Mapping[str, object]:
    """The one object that a file holds."""
    found = list(islice(checked_records(file), 2))
    if len(found) != 1:
        raise FathomError(f"{file}: expected one JSON object, found {'several' if found else 'nothing'}")
    return found[0][1]
