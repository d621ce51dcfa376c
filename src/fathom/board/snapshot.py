"""Another site read back from its downloads, to be compared."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from fathom.board.downloads import FORMAT
from fathom.checksums import CHECKSUM, check_content, check_format
from fathom.names import system_name
from fathom.types import FathomError, Json

FILE = "downloads/all.json"
Which: TypeAlias = tuple[str, str, int | None]
"""A figure: its kind, its name, and its length."""
Who: TypeAlias = tuple[str, str, str, str, int]
"""A line: model, variant, provenance, title of its origin; and a number where there are several of these."""


@dataclass(frozen=True, slots=True)
class Score:
    """A score and the questions behind it."""

    value: float
    n: int | None


@dataclass(frozen=True, slots=True)
class SnapshotLine:
    """A line as a site shows it."""

    key: str
    title: str
    origin: Mapping[str, Json]
    settings: Mapping[str, Json]
    rank: tuple[int, int] | None
    figures: Mapping[Which, Score]

    def facts(self, task: str) -> Mapping[str, Json]:
        """What is on record of how the scores of a task came about."""
        tasks = self.settings.get("tasks")
        own = tasks.get(task) if isinstance(tasks, Mapping) else None
        return own if isinstance(own, Mapping) else {}

    @property
    def scored_by(self) -> Json:
        """The version of fathom that scored the replies; None where that is not on record."""
        versions = self.settings.get("versions")
        return versions.get("scored by") if isinstance(versions, Mapping) else None


@dataclass(frozen=True, slots=True)
class SnapshotBoard:
    """A board as a site shows it."""

    title: str
    lines: Mapping[Who, SnapshotLine]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What a site shows, and its date."""

    built: str
    boards: Mapping[str, SnapshotBoard]


def read_snapshot(path: Path) -> Snapshot:
    """What a site shows.

    Args:
        path: The folder of the site, or its ``downloads/all.json``.

    Raises:
        FathomError: There is no such file, or it is not one of ours.
    """
    file = path / FILE if path.is_dir() else path
    try:
        return snapshot(file.read_bytes(), file)
    except OSError as error:
        raise FathomError(f"{file}: cannot be read: {error.strerror}; expected the folder of a site") from None
    except FathomError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FathomError(
            f"{file}: not the downloads of a site ({type(error).__name__}: {error}); give the "
            "folder of a site, or its downloads/all.json"
        ) from None


def snapshot(content: bytes, file: Path = Path(FILE)) -> Snapshot:
    """What the file ``all.json`` of a site says.

    Args:
        content: Its bytes.
        file: Where it is, for messages.

    Raises:
        FathomError: It is damaged, or a newer version wrote it.
        ValueError: It is not JSON; as do KeyError and TypeError.
    """
    whole: dict[str, Any] = json.loads(content)
    advice = "build the site again"
    if check_format(file, whole["format"], FORMAT, advice) > 1 or CHECKSUM in whole:
        check_content(file, whole, advice)
    return Snapshot(str(whole["built"]), {str(board["id"]): _board(board) for board in whole["boards"]})


def _board(board: Mapping[str, Any]) -> SnapshotBoard:
    lines: dict[Who, SnapshotLine] = {}
    for record in board["lines"]:
        origin = record["origin"]
        name = str(record["model"]), str(record["variant"]), str(origin["provenance"]), str(origin["title"])
        number = sum(who[:4] == name for who in lines)
        lines[(*name, number)] = _line(record)
    return SnapshotBoard(str(board["title"]), lines)


def _line(record: Mapping[str, Any]) -> SnapshotLine:
    figures = {
        (str(figure), str(name), None if length is None else int(length)): Score(float(value), n)
        for figure, name, length, value, _, n, *_ in record["figures"]
    }
    rank = record["rank"]
    return SnapshotLine(
        key=str(record["key"]),
        title=f"{system_name(str(record['model']), str(record['variant']))} ({record['origin']['provenance']})",
        origin=dict(record["origin"]),
        settings=dict(record["settings"]),
        rank=None if rank is None else (int(rank[0]), int(rank[1])),
        figures=figures,
    )
