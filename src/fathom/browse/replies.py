"""Replies of several runs, scored, by the sample that they reply to; and the suites with its prompts."""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any

from fathom.plugins import loading
from fathom.rows.runs import labels, scored_rows, unfinished
from fathom.rows.schema import read_rows
from fathom.rows.scoring import Judged, choose_judges, read_judged
from fathom.runfile.judgements import judges
from fathom.runfile.manifest import no_run, read_manifest
from fathom.runfile.store import StoredReply, replies, unasked
from fathom.suites.suitefile import BuiltSuite, is_suite, open_suite
from fathom.types import FathomError, Row
from fathom.types.common import as_flags

Tell = Callable[[str], None]
_NUMBER = re.compile(r"(\d+)")


@dataclass(frozen=True)
class Run:
    """The replies of one model: a run folder, or the rows of one model in a rows file.

    Attributes:
        model: The model's name.
        variant: Its variant, as in a table of rows; "" for none.
        folder: The run folder; None for rows files.
        notes: What readers need to know: unfinished, without texts, without prompts.
        thinking: Whether prompts end with the request for thoughts.
        by_likelihood: Whether answers were chosen by likelihood, so that the model wrote nothing.
        judged: Judgements of its replies, by all judges.
        chosen: Names of the judges whose scores count.
        rule: Scoring rule.
    """

    model: str
    variant: str
    name: str
    folder: Path | None = None
    notes: tuple[str, ...] = ()
    thinking: bool = False
    by_likelihood: bool = False
    judged: tuple[Judged, ...] = ()
    chosen: tuple[str, ...] = ()
    rule: str = "strict"


@dataclass(frozen=True, slots=True)
class Answered:
    """One scored reply.

    Attributes:
        run: Index of its run.
        stored: The reply with its texts; None for rows files, which have none.
    """

    run: int
    row: Row
    stored: StoredReply | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A sample with the replies of all runs.

    Attributes:
        sample: Its id.
        suite: Name of its suite, as in a table of rows.
        replies: By run and epoch; at least one.
    """

    sample: str
    suite: str
    replies: tuple[Answered, ...]

    @property
    def row(self) -> Row:
        """The row of the first reply, for the facts of the sample."""
        return self.replies[0].row


@dataclass(frozen=True)
class Replies:
    """Everything that there is to look at.

    Attributes:
        runs: The runs in the order given.
        entries: Samples by suite, task, length and id.
        suites: The built suites by their name in rows, as far as they were found.
    """

    runs: tuple[Run, ...]
    entries: tuple[Entry, ...]
    suites: Mapping[str, BuiltSuite]

    @property
    def title(self) -> str:
        """The title of their pages."""
        names = list(dict.fromkeys(run.model for run in self.runs))
        shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
        return f"Replies of {shown}"

    @property
    def notes(self) -> tuple[str, ...]:
        """What readers need to know of the runs."""
        return tuple(dict.fromkeys(f"{run.name}: {note}" for run in self.runs for note in run.notes))


def read_replies(
    paths: Sequence[Path],
    suites: Sequence[Path] = (),
    *,
    rule: str = "strict",
    judge: str | None = None,
    name: str = "",
) -> Replies:
    """Read and score the replies of runs.

    Args:
        paths: Run folders, and rows files.
        suites: Built suites with the prompts; those that runs name are found by themselves if they did not move.
        rule: Scoring rule, ``strict`` or ``official``.
        judge: See ``fathom.rows.load``.
        name: Only the sample with that id, or those of that item; "" for all.

    Raises:
        FathomError: A path cannot be read, or there is no reply.
    """
    for path in paths:
        if not path.exists():
            raise no_run(path)
        if is_suite(path):
            raise FathomError(
                f"{path}: a suite, which has no replies; give a run of it. `fathom show` shows its prompts"
            )
    folders = [path for path in paths if path.is_dir()]
    for folder in folders:
        loading.use_again(read_manifest(folder)["suite"].get("plugins"), folder)
    named = labels(paths)
    chosen = choose_judges(folders, judge)
    given = [open_suite(Path(suite)) for suite in suites]
    opened: dict[str, BuiltSuite] = {}
    runs: list[Run] = []
    every_reply: list[Answered] = []
    for path in dict.fromkeys(paths):
        if path in named:
            run, answered = _from_folder(path, named[path], chosen, rule, given, opened, name)
            every_reply += (Answered(len(runs), row, stored) for row, stored in answered)
            runs.append(run)
        else:
            for run, rows in _from_rows(path):
                every_reply += (Answered(len(runs), row) for row in rows if name in ("", row.sample, row.item))
                runs.append(run)
    if not every_reply:
        of = f" to {name!r}" if name else ""
        raise FathomError(f"{', '.join(map(str, paths))}: no reply{of} to look at; run `fathom run` first")
    for suite in given:  # of rows files, only the name is known
        opened.setdefault(str(suite.manifest["suite"]), suite)
    return Replies(tuple(runs), _by_sample(every_reply), opened)


def _from_folder(
    folder: Path,
    label: tuple[str, str, str],
    chosen: Sequence[str],
    rule: str,
    given: Sequence[BuiltSuite],
    opened: dict[str, BuiltSuite],
    name: str,
) -> tuple[Run, list[tuple[Row, StoredReply]]]:
    manifest = read_manifest(folder)
    suite, model, variant = label
    notes = [sentence.partition(": its scores")[0] for sentence in unfinished([folder])]
    system: Mapping[str, Any] | None = manifest.get("system")
    if system:
        notes.append(
            f"the model was not sent the prompts as shown, but what the system {system['method']} made of them; "
            "texts of requests before the last are shown as reasoning"
        )
    if suite not in opened:
        try:
            opened[suite] = find_suite(folder, manifest, given)
        except FathomError as error:
            notes.append(as_flags(str(error)))
    judged = read_judged(folder, judges(folder))
    counted = [judge for judge in judged if judge.name in chosen]
    stored = [reply for reply in chain(replies(folder), unasked(folder)) if name in ("", reply.sample, reply.item)]
    rows = scored_rows(stored, manifest | {"variant": variant}, rule, counted)
    thinking: Mapping[str, Any] = manifest.get("thinking") or {}
    run = Run(
        model=model,
        variant=variant,
        name=folder.resolve().name,
        folder=folder,
        notes=tuple(notes),
        thinking=thinking.get("prompt") == "thinking",
        by_likelihood=str(manifest.get("variant") or "").startswith("likelihood"),
        judged=judged,
        chosen=tuple(chosen),
        rule=rule,
    )
    return run, [(replace(row, suite=suite), reply) for row, reply in zip(rows, stored, strict=True)]


def _from_rows(path: Path) -> list[tuple[Run, list[Row]]]:
    frame = read_rows(path)
    note = "rows have no texts: replies, reasoning and prompts are in the run folder that they were made from"
    by_system: dict[tuple[str, str], list[Row]] = {}
    for record in frame.iter_rows(named=True):
        try:
            facets = json.loads(record["facets"] or "{}")
        except ValueError:
            facets = {}
        row = Row(**{**record, "facets": facets if isinstance(facets, dict) else {}})
        by_system.setdefault((row.model, row.variant), []).append(row)
    return [(Run(model, variant, path.name, notes=(note,)), rows) for (model, variant), rows in by_system.items()]


def find_suite(folder: Path, manifest: Mapping[str, Any], given: Sequence[BuiltSuite] = ()) -> BuiltSuite:
    """The suite that a run was made with.

    Args:
        given: Suites that the user named.

    Raises:
        FathomError: It is not where it was, and none of the given ones is it.
    """
    fingerprint = manifest["suite"]["fingerprint"]
    for suite in given:
        if suite.manifest["fingerprint"] == fingerprint:
            return suite
    path = str(manifest["suite"].get("path") or "")
    changed = None
    if path:
        above = folder.resolve().parents
        for place in dict.fromkeys((Path(path), *(parent / path for parent in above))):
            if is_suite(place):
                suite = open_suite(place)
                if suite.manifest["fingerprint"] == fingerprint:
                    return suite
                changed = changed or place
    name = manifest["suite"]["name"]
    why = f"{changed} holds another build of it" if changed else f"it is not at {path}" if path else "it has no path"
    raise FathomError(f"prompts are missing: the suite {name} was not found ({why}); name its folder with `suite`")


def _by_sample(replies_read: Iterable[Answered]) -> tuple[Entry, ...]:
    grouped: dict[tuple[str, str], list[Answered]] = {}
    for reply in replies_read:
        grouped.setdefault((reply.row.suite, reply.row.sample), []).append(reply)
    entries = (
        Entry(sample, suite, tuple(sorted(answered, key=lambda item: (item.run, item.row.epoch))))
        for (suite, sample), answered in grouped.items()
    )
    return tuple(sorted(entries, key=_order))


def _order(entry: Entry) -> tuple[str, str, int, list[tuple[int, str]]]:
    pieces = _NUMBER.split(entry.sample)
    natural = [(int(piece), "") if place % 2 else (0, piece) for place, piece in enumerate(pieces)]
    return entry.suite, entry.row.task, entry.row.length, natural
