"""The site: boards from results and published scores, as a folder of files that any web server can serve."""

import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from fathom.board import shown
from fathom.board.board_data import board_files
from fathom.board.caveats import graded_otherwise
from fathom.board.changes import Snapshot, changes, read_snapshot, sentences, snapshot
from fathom.board.derived import derived
from fathom.board.downloads import downloads, plain_page
from fathom.board.examples import examples
from fathom.board.measured import measured
from fathom.board.model import Entry
from fathom.board.model_facts import read_model_facts
from fathom.board.published import published, read_published
from fathom.board.results import Batch, read_results
from fathom.board.sameness import with_flags
from fathom.board.site_data import board_summary, index_file, model_files, newest, site_file
from fathom.board.table import Table, model_keys, table
from fathom.board.tasks_data import levels, tasks_data
from fathom.parallel.units import MOST_PROCESSES, Progress, cores, one_thread, run_units
from fathom.plugins.names import unknown
from fathom.printing import readable
from fathom.stats.intervals import kept_draws
from fathom.stats.outcomes import Unanswered
from fathom.suites.registry import boards as known_boards
from fathom.suites.suitefile.fresh import fresh_folder
from fathom.types import FathomError, Json
from fathom.types.boards import Board
from fathom.types.choices import Rule, rule_or_default
from fathom.web import assets, site_place

TITLE = "Long-context leaderboards"
STRICT_BESIDE = (
    "runs are scored by the rule strict, published entries by the papers' own: compare them with --rule official"
)
OFFICIAL_BESIDE = (
    "runs are scored by the rule official, not strict as in score, rows and reports, because published entries are "
    "beside them: --rule strict scores them strictly"
)
MANY_PAIRS = 50_000
"""Pairs of entries from which several processes are worth their start: a pair takes 0.4 ms."""
MARK = "data/site.js"
_OURS = 'fathom.add("site",'
_DATE = re.compile(r"\d{4}-(0\d|1[0-2])-([0-2]\d|3[01])")


@dataclass(frozen=True, slots=True)
class SiteSettings:
    """What to build a site from.

    Attributes:
        results: Run folders, rows files, bundles, and folders of bundles or runs.
        published: Whether the published results of the package are included.
        more: Further files of published results (``fathom.board.published``).
        boards: Ids of the boards; empty for all with an entry. A suite without a board gets one.
        date: Its date, ``YYYY-MM-DD``; "" for that of the newest result.
        suites: Folders of built suites, for example prompts.
        examples: Whether tasks are shown with example prompts.
        since: Another site, or its ``downloads/all.json``, to list changes against; None for no list.
        rule: Scoring rule for runs and bundles; None for strict, or with published results official.
        unanswered: How unanswered replies count, see ``fathom.stats.outcomes``.
        judge: Judge whose scores are used for runs, see ``fathom.rows.load``.
        models: A file of facts about models (``fathom.board.model_facts``); they replace what entries state themselves.
    """

    results: tuple[Path, ...] = ()
    published: bool = True
    more: tuple[Path, ...] = ()
    boards: tuple[str, ...] = ()
    title: str = TITLE
    date: str = ""
    suites: tuple[Path, ...] = ()
    examples: bool = True
    since: Path | None = None
    rule: Rule | None = None
    unanswered: Unanswered = "zero"
    judge: str | None = None
    models: Path | None = None


@readable
@dataclass(frozen=True, slots=True)
class Built:
    """What was built.

    Attributes:
        out: The folder.
        built: Date of the site.
        boards: Boards with their numbers of entries, models and tasks.
        files: Number of files.
        size: Total size in bytes.
        notes: Caveats about the results.
        rule: Scoring rule of runs and bundles; "" if there are none.
    """

    out: Path
    built: str
    boards: tuple[Mapping[str, Json], ...]
    files: int
    size: int
    notes: tuple[str, ...]
    rule: str = ""


@one_thread()
def build_site(settings: SiteSettings, out: Path, progress: Progress | None = None) -> Built:
    """Builds a site atomically; the same inputs give the same bytes.

    Args:
        settings: What to build it from.
        out: The folder; an existing site of fathom is replaced. Other files at its top (``CNAME``, ``.git``) are kept.
        progress: Called with the number of finished steps and of all steps.

    Raises:
        FathomError: Results cannot be read, no board has an entry, or the folder contains other files.
    """
    place = _place(settings, out)
    since = read_snapshot(settings.since) if settings.since is not None else None
    beside = settings.published or bool(settings.more)
    rule = rule_or_default(settings.rule, compared=beside) if settings.results else ""
    batches = list(read_results(settings.results, rule, settings.judge)) if rule else []
    boards = _boards(settings, batches)
    steps = _Steps(3 + 2 * len(boards), progress)
    steps.done()
    with kept_draws():
        entries, notes = _entries(settings, boards, batches)
        if beside and rule == "strict":
            notes.append(STRICT_BESIDE)
        elif rule == "official" and settings.rule is None:
            notes.append(OFFICIAL_BESIDE)
        steps.done()
        tables = _tables([board for board in boards if board.id in entries], entries, steps)
    built = settings.date or newest(tables)
    saved = downloads(tables, built)
    with fresh_folder(place) as folder:
        _copy_assets(folder)
        for name, value in _data(settings, tables, batches, built, saved["all.json"], since):
            _write(folder / "data" / f"{name}.js", shown.script(name, value).encode("ascii"))
        for board_table in tables:
            for name, value in board_files(board_table):
                _write(folder / "data" / f"{name}.js", shown.script(name, value).encode("ascii"))
            steps.done()
        for name, content in saved.items():
            _write(folder / "downloads" / name, content)
        _write(folder / "downloads" / "index.html", plain_page(tables, settings.title))
        sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
        _keep_others(place, folder)
    steps.finish()
    return Built(out, built, tuple(map(board_summary, tables)), len(sizes), sum(sizes), tuple(notes), rule)


def _tables(boards: Sequence[Board], entries: Mapping[str, Sequence[Entry]], steps: "_Steps") -> list[Table]:
    """The boards in their order, those of many entries made in processes of this machine."""
    given = {board.id: (board, entries[board.id]) for board in boards}
    pairs = sum(len(own) ** 2 // 2 for _, own in given.values())
    work = partial(_table, model_keys(entries))
    workers = cores(MOST_PROCESSES) if pairs >= MANY_PAIRS else 1
    return run_units(given, work, workers=workers, progress=lambda *_: steps.done())


def _table(keys: Mapping[str, str], board_entries: tuple[Board, Sequence[Entry]]) -> Table:
    with kept_draws():  # in a process of its own
        return table(*board_entries, keys)


def _boards(settings: SiteSettings, batches: Sequence[Batch]) -> tuple[Board, ...]:
    """The wanted boards, of the declared ones and those derived from results."""
    declared = tuple(known_boards().values())
    known = {board.id: board for board in (*declared, *derived((batch.rows for batch in batches), declared))}
    for name in settings.boards:
        if name not in known:
            raise unknown("board", name, known, see="fathom list boards")
    return tuple(known[name] for name in dict.fromkeys(settings.boards or known))


def _place(settings: SiteSettings, out: Path) -> Path:
    """The folder of the site; ``out`` may be a link, which is kept."""
    if settings.date and not _DATE.fullmatch(settings.date):
        raise FathomError(f"`date` {settings.date!r}: expected a date as YYYY-MM-DD")
    return site_place(out, "site", MARK, _OURS)


def _entries(
    settings: SiteSettings, boards: Sequence[Board], batches: Sequence[Batch]
) -> tuple[dict[str, list[Entry]], list[str]]:
    """All entries by the id of their board, boards in order, and caveats about them."""
    by_board: dict[str, list[Entry]] = {board.id: [] for board in boards}
    notes: list[str] = []
    for given in [*([published()] if settings.published else []), *map(read_published, settings.more)]:
        for name, entries in given.items():
            by_board.get(name, []).extend(entries)  # boards that are not wanted are left out
    results = [measured(boards, batch, settings.unanswered) for batch in batches]
    notes += (note for result in results for note in result.notes)
    for lines in with_flags(
        [(batch, result.entries) for batch, result in zip(batches, results, strict=True)], by_board
    ):
        for name, own in lines.items():
            by_board[name] += own
    facts = {} if settings.models is None else read_model_facts(settings.models)
    filled = {
        name: [replace(entry, facts=facts[entry.model]) if entry.model in facts else entry for entry in entries]
        for name, entries in by_board.items()
        if entries
    }
    for board in boards:
        notes += (f"{board.id}: {sentence}" for sentence in graded_otherwise(board, filled.get(board.id, ())))
    if not filled:
        none = "the given results have no rows" if settings.results else "no results were given"
        why = "; ".join(notes) or f"{none}, and there are no published results for these boards"
        raise FathomError(f"no entries for {', '.join(by_board)}: {why}")
    return filled, list(dict.fromkeys(notes))


def _data(
    settings: SiteSettings,
    tables: Sequence[Table],
    batches: Sequence[Batch],
    built: str,
    content: bytes,
    since: Snapshot | None,
) -> Iterator[tuple[str, Json]]:
    """The data files that belong to no single board."""
    change_list: Json = None
    if since is not None:
        changed = changes(since, snapshot(content))
        change_list = {"old": changed.old, "new": changed.new, "lines": list(sentences(changed))}
    yield "site", site_file(tables, title=settings.title, built=built, changes=change_list)
    yield "index", index_file(tables)
    boards = [board_table.board for board_table in tables]
    names = list(dict.fromkeys(task for board in boards for task in board.tasks))
    shown_first = examples(names, settings.suites) if settings.examples else {}
    yield "tasks", tasks_data(boards, levels(batches), shown_first)
    yield from model_files(tables)


def _copy_assets(folder: Path) -> None:
    for name, content in assets("fathom.board", "site"):
        _write(folder / name, content)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _keep_others(out: Path, folder: Path) -> None:
    """Copies other files of the old site's folder: settings of a host, a repository."""
    for path in sorted(out.iterdir()) if out.is_dir() else ():
        place = folder / path.name
        if place.exists():
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.copytree(path, place, symlinks=True)
        else:
            shutil.copy2(path, place, follow_symlinks=False)


@dataclass(slots=True)
class _Steps:
    """Counts finished steps."""

    total: int
    progress: Progress | None
    count: int = 0

    def done(self) -> None:
        self.count += 1
        if self.progress is not None:
            self.progress(min(self.count, self.total), self.total)

    def finish(self) -> None:
        self.count = self.total - 1
        self.done()
