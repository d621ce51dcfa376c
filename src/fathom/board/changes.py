"""Changes between two sites, with reasons: new and removed entries, scores, ranks.

The reasons come from the facts that the sites record for each entry: the questions and their suite, the version of a
task, the rule and the grader, the version of fathom, and the settings of the model.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

from fathom.board.downloads import FORMAT
from fathom.plugins.names import system_name
from fathom.printing import readable, several
from fathom.storage.checksums import CHECKSUM, check_content, check_format
from fathom.storage.foreign import read_regular
from fathom.types import FathomError, Json

FILE = "downloads/all.json"
Which: TypeAlias = tuple[str, str, int | None]
"""A score: its kind, its name, and its length."""
Who: TypeAlias = tuple[str, str, str, str, int]
"""An entry: model, variant, provenance, title of its origin; and a number if several share these."""
Kind: TypeAlias = Literal["new board", "board gone", "new line", "line gone", "score", "rank"]
ROUNDING = 1.5e-5
"""Scores have five decimals in the files."""
MOST = 200
"""Most sentences that a site shows."""
NAMED = 3
"""Most tasks that are named."""
UNKNOWN = "no recorded reason: other replies, or a corrected scorer of the same version"
_FACTS = {
    "version": "task version",
    "rule": "rule",
    "metric": "metric",
    "grader": "grader",
    "fathom": "asked by fathom",
}
_APART = frozenset({"tasks", "suites", "versions"})


@dataclass(frozen=True, slots=True)
class Score:
    """A score and its number of questions."""

    value: float
    n: int | None


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """An entry as a site shows it."""

    key: str
    title: str
    origin: Mapping[str, Json]
    settings: Mapping[str, Json]
    rank: tuple[int, int] | None
    figures: Mapping[Which, Score]

    def facts(self, task: str) -> Mapping[str, Json]:
        """The recorded facts about the scores of a task."""
        tasks = self.settings.get("tasks")
        own = tasks.get(task) if isinstance(tasks, Mapping) else None
        return own if isinstance(own, Mapping) else {}

    @property
    def scored_by(self) -> Json:
        """The version of fathom that scored the replies; None if unknown."""
        versions = self.settings.get("versions")
        return versions.get("scored by") if isinstance(versions, Mapping) else None


@dataclass(frozen=True, slots=True)
class SnapshotBoard:
    """A board as a site shows it."""

    title: str
    entries: Mapping[Who, SnapshotEntry]


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The content of a site, and its date."""

    built: str
    boards: Mapping[str, SnapshotBoard]


def read_snapshot(path: Path) -> Snapshot:
    """The content of a site.

    Args:
        path: The folder of the site, or its ``downloads/all.json``.

    Raises:
        FathomError: There is no such file, or it is not from a site of fathom.
    """
    file = path / FILE if path.is_dir() else path
    try:
        return snapshot(read_regular(file), file)
    except OSError as error:
        raise FathomError(f"{file}: cannot be read: {error.strerror}; expected the folder of a site") from None
    except FathomError:
        raise
    except (ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise FathomError(
            f"{file}: not the downloads of a site ({type(error).__name__}: {error}); give the folder of a site or its "
            "downloads/all.json"
        ) from None


def snapshot(content: bytes, file: Path = Path(FILE)) -> Snapshot:
    """The content of the file ``all.json`` of a site.

    Args:
        file: Its path, for messages.

    Raises:
        FathomError: It is damaged, or from a newer version.
        ValueError: It is not JSON; as do KeyError and TypeError.
    """
    whole: dict[str, Any] = json.loads(content)
    advice = "build the site again"
    if check_format(file, whole["format"], FORMAT, advice) > 1 or CHECKSUM in whole:
        check_content(file, whole, advice)
    return Snapshot(str(whole["built"]), {str(board["id"]): _snapshot_board(board) for board in whole["boards"]})


def _snapshot_board(board: Mapping[str, Any]) -> SnapshotBoard:
    lines: dict[Who, SnapshotEntry] = {}
    for record in board["lines"]:
        origin = record["origin"]
        name = str(record["model"]), str(record["variant"]), str(origin["provenance"]), str(origin["title"])
        number = sum(who[:4] == name for who in lines)
        lines[(*name, number)] = _line(record)
    return SnapshotBoard(str(board["title"]), lines)


def _line(record: Mapping[str, Any]) -> SnapshotEntry:
    figures = {
        (str(figure), str(name), None if length is None else int(length)): Score(float(value), n)
        for figure, name, length, value, _, n, *_ in record["figures"]
    }
    rank = record["rank"]
    return SnapshotEntry(
        key=str(record["key"]),
        title=f"{system_name(str(record['model']), str(record['variant']))} ({record['origin']['provenance']})",
        origin=dict(record["origin"]),
        settings=dict(record["settings"]),
        rank=None if rank is None else (int(rank[0]), int(rank[1])),
        figures=figures,
    )


@dataclass(frozen=True, slots=True)
class Change:
    """One change.

    Attributes:
        board: Id of the board.
        line: Model, variant and provenance of the entry; "" for a board.
        key: Key of the entry in the newer site that has it.
        figure: For scores ``overall``, ``task``, ...; see ``fathom.board.downloads``.
        name: Task, category or other score.
        length: In tokens; None over all lengths.
        old: Score, or ranks as text; None if there was none.
        new: The same now.
        why: Reasons, the most informative first.
    """

    board: str
    kind: Kind
    line: str = ""
    key: str = ""
    figure: str = ""
    name: str = ""
    length: int | None = None
    old: float | str | None = None
    new: float | str | None = None
    why: tuple[str, ...] = ()


@readable
@dataclass(frozen=True, slots=True)
class Changes:
    """All changes from one site to another; ``old`` and ``new`` are their dates."""

    old: str
    new: str
    changes: tuple[Change, ...]

    def as_json(self) -> dict[str, Json]:
        """The same as JSON."""
        return {"old": self.old, "new": self.new, "changes": [asdict(change) for change in self.changes]}


def changes(old: Snapshot, new: Snapshot) -> Changes:
    """What has changed from one site to another, board by board."""
    changed: list[Change] = []
    for name in dict.fromkeys((*new.boards, *old.boards)):
        if name not in old.boards:
            changed.append(Change(name, "new board", new=_lines(len(new.boards[name].entries))))
        elif name not in new.boards:
            changed.append(Change(name, "board gone", old=_lines(len(old.boards[name].entries))))
        else:
            changed += _board(name, old.boards[name], new.boards[name])
    return Changes(old.built, new.built, tuple(changed))


def _board(name: str, old: SnapshotBoard, new: SnapshotBoard) -> Iterator[Change]:
    for who, line in new.entries.items():
        if who not in old.entries:
            yield Change(name, "new line", line.title, line.key, "overall", new=_overall(line))
    for who, line in old.entries.items():
        if who not in new.entries:
            yield Change(name, "line gone", line.title, line.key, "overall", old=_overall(line))
    both = [(old.entries[who], line) for who, line in new.entries.items() if who in old.entries]
    moved: set[str] = set()
    for before, now in both:
        scores = list(_scores(name, before, now))
        moved |= {now.key} if scores else set()
        yield from scores
    came, went = len(new.entries) - len(both), len(old.entries) - len(both)
    for before, now in both:
        if before.rank != now.rank:
            why = tuple(_rank_reasons(now, moved, came, went))
            yield Change(name, "rank", now.title, now.key, old=_ranks(before), new=_ranks(now), why=why)


def _overall(line: SnapshotEntry) -> float | None:
    figure = line.figures.get(("overall", "", None))
    return None if figure is None else figure.value


def _ranks(line: SnapshotEntry) -> str | None:
    if line.rank is None:
        return None
    low, high = line.rank
    return str(low) if low == high else f"{low} to {high}"


def _rank_reasons(line: SnapshotEntry, moved: set[str], came: int, went: int) -> Iterator[str]:
    if line.key in moved:
        yield "its scores changed"
    if others := len(moved - {line.key}):
        yield f"scores of {_lines(others)} changed"
    if came:
        yield f"{_lines(came)} added"
    if went:
        yield f"{_lines(went)} removed"


def _lines(count: int) -> str:
    return several(count, "entry")


# Scores


def _scores(board: str, old: SnapshotEntry, new: SnapshotEntry) -> Iterator[Change]:
    """Changed scores: those of tasks with their own reasons, means with the reasons of their tasks."""
    reasons: dict[str, tuple[str, ...]] = {}
    moved: list[tuple[Which, Score | None, Score | None]] = []
    for which in dict.fromkeys((*new.figures, *old.figures)):
        before, now = old.figures.get(which), new.figures.get(which)
        if not _same(before, now):
            moved.append((which, before, now))
            if which[0] == "task":
                reasons.setdefault(which[1], _reasons(which[1], old, new))
    every = _together(reasons) or _reasons("", old, new)
    for (figure, name, length), before, now in moved:
        why = reasons[name] if figure == "task" else every
        yield Change(
            board=board,
            kind="score",
            line=new.title,
            key=new.key,
            figure=figure,
            name=name,
            length=length,
            old=None if before is None else before.value,
            new=None if now is None else now.value,
            why=why + _counted(before, now),
        )


def _together(reasons: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """The reasons of several tasks, each with the tasks that it applies to."""
    tasks: dict[str, list[str]] = {}
    for task, own in reasons.items():
        for reason in own:
            tasks.setdefault(reason, []).append(task)
    return tuple(
        f"{', '.join(named) if len(named) <= NAMED else f'{len(named)} tasks'}: {reason}"
        for reason, named in tasks.items()
    )


def _same(old: Score | None, new: Score | None) -> bool:
    return old is not None and new is not None and abs(old.value - new.value) <= ROUNDING


def _counted(old: Score | None, new: Score | None) -> tuple[str, ...]:
    if old is None or new is None:
        return ("there was no score",) if old is None else ("there is no score now",)
    return () if old.n == new.n else (f"questions: {_in_words(old.n)}, now {_in_words(new.n)}",)


def _reasons(task: str, old: SnapshotEntry, new: SnapshotEntry) -> tuple[str, ...]:
    """Why scores of a task differ, or with "" those of the whole entry."""
    before, now = old.facts(task), new.facts(task)
    reasons = [*_data(old, new, before, now)]
    reasons += [_change(words, before.get(name), now.get(name)) for name, words in _FACTS.items()]
    reasons.append(_change("scored by fathom", old.scored_by, new.scored_by))
    names = dict.fromkeys((*old.settings, *new.settings))
    reasons += [_change(name, old.settings.get(name), new.settings.get(name)) for name in names if name not in _APART]
    reasons += [_change(name, old.origin.get(name), new.origin.get(name)) for name in ("table", "date", "url")]
    return tuple(filter(None, reasons)) or (UNKNOWN,)


def _data(old: SnapshotEntry, new: SnapshotEntry, before: Mapping[str, Json], now: Mapping[str, Json]) -> Iterator[str]:
    if before.get("questions") == now.get("questions"):
        return
    if changed := _change("suite", old.settings.get("suites"), new.settings.get("suites")):
        yield f"new data: {changed}"
    else:
        yield "other questions of the same suite were asked"


def _change(name: str, old: Json, new: Json) -> str:
    return "" if old == new else f"{name}: {_in_words(old)}, now {_in_words(new)}"


def _in_words(value: Json) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {str(part)[:16]}".strip() for name, part in value.items()) or "none"
    return "none" if value in (None, "") else str(value)


# Sentences


def sentences(changed: Changes, most: int = MOST) -> list[str]:
    """The changes of whole boards and entries as sentences; those of single tasks are in ``Changes``."""
    lines = [_sentence(change) for change in changed.changes if change.kind != "score" or change.figure == "overall"]
    left = len(lines) - most
    return lines if left <= 0 else [*lines[:most], f"... and {left:,} more"]


def _sentence(change: Change) -> str:
    why = f" ({'; '.join(change.why)})" if change.why else ""
    if change.kind in ("new board", "board gone"):
        return f"{change.board}: {change.kind}, {change.new or change.old}"
    if change.kind == "new line":
        return f"{change.board}: new: {change.line}, {_percent(change.new)}"
    if change.kind == "line gone":
        return f"{change.board}: gone: {change.line}, {_percent(change.old)}"
    if change.kind == "rank":
        return f"{change.board}: {change.line}: rank {change.old or 'none'}, now {change.new or 'none'}{why}"
    return f"{change.board}: {change.line}: {_percent(change.old)}, now {_percent(change.new)}{why}"


def _percent(value: float | str | None) -> str:
    return f"{100 * value:.2f}%" if isinstance(value, int | float) else "no overall score"


def counted(changed: Sequence[Change]) -> dict[str, int]:
    """Changes by kind."""
    counts: dict[str, int] = {}
    for change in changed:
        counts[change.kind] = counts.get(change.kind, 0) + 1
    return counts
