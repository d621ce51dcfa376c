"""The leaderboard: ``board_build`` and ``board_diff``; bundles of results, written of runs and checked."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.board.build import Built
    from fathom.board.bundles.bundle import Bundle
    from fathom.board.bundles.check import Checked
    from fathom.board.changes import Changes


def board_build(
    results: Iterable[Path | str],
    out: Path | str,
    *,
    published: bool = True,
    more: Iterable[Path | str] = (),
    boards: Iterable[str] = (),
    title: str | None = None,
    date: str | None = None,
    suites: Iterable[Path | str] = (),
    examples: bool = True,
    since: Path | str | None = None,
    rule: str = "official",
    unanswered: str = "zero",
    judge: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Built:
    """Build the static site of a leaderboard (command ``fathom board build``).

    Args:
        results: Run folders, rows files, bundles, and folders of bundles or runs; may be empty.
        out: Folder of the site; one that is there is replaced.
        published: Whether the published results of the papers are on it.
        more: Further files of published results.
        boards: Ids of the boards; empty for all that have a line.
        title: Title of the site.
        date: Its date, ``YYYY-MM-DD``; by default that of the newest result.
        suites: Folders of built suites, for example prompts.
        examples: Whether tasks are shown with example prompts.
        since: Another site: what has changed since then is told on the new one.
        rule: Scoring rule, ``strict`` or ``official``.
        unanswered: ``zero`` or ``drop``: how replies count that were not answered (``fathom.stats.outcomes``).
        judge: See ``rows``.
        progress: Told what is done and how much there is in all.

    Raises:
        FathomError: See ``fathom.board.build.build_site``.
    """
    from fathom.board.build import TITLE, Wanted, build_site
    from fathom.commands.reading import unanswered_of

    wanted = Wanted(
        results=tuple(map(Path, results)),
        published=published,
        more=tuple(map(Path, more)),
        boards=tuple(boards),
        title=TITLE if title is None else title,
        date=date or "",
        suites=tuple(map(Path, suites)),
        examples=examples,
        since=None if since is None else Path(since),
        rule=rule,
        unanswered=unanswered_of(unanswered),
        judge=judge,
    )
    return build_site(wanted, Path(out), progress)


def board_diff(old: Path | str, new: Path | str, out: Path | str | None = None) -> Changes:
    """What has changed between two sites, and why (command ``fathom board diff``).

    Args:
        old: Folder of a site, or its ``downloads/all.json``.
        new: Another one.
        out: A JSON file to write the changes into, or None.

    Raises:
        FathomError: One of them is no site, or the file cannot be written.
    """
    import json

    from fathom.atomic import whole_file
    from fathom.board.changes import changes, read_snapshot
    from fathom.printing import printable_json

    found = changes(read_snapshot(Path(old)), read_snapshot(Path(new)))
    if out is not None:
        written: Any = found.as_json()
        with whole_file(Path(out)) as stream:
            stream.write(printable_json(json.dumps(written, indent=2, ensure_ascii=False)) + "\n")
    return found


def board_bundle(runs: Iterable[Path | str], out: Path | str, *, judge: str | None = None, logs: bool = True) -> Bundle:
    """Write the results of runs into one file that others can check (command ``fathom board bundle``).

    Args:
        runs: Run folders of one model with the same settings.
        out: The ``.zip`` file.
        judge: Whose judgements are taken, see ``rows``.
        logs: Whether the replies go into it: without them nobody can compute the scores again.

    Raises:
        FathomError: A folder holds no run, the runs do not belong together, or what they hold cannot be in a bundle.
    """
    from fathom.board.bundles.bundle import archive, write_bundle
    from fathom.board.bundles.bundling import bundle_of
    from fathom.board.bundles.findings import RefusedError
    from fathom.board.bundles.opening import parse_bundle

    path, folders = Path(out), [Path(run) for run in runs]
    if path.suffix != ".zip":
        raise FathomError(f"--out {path}: a bundle is a .zip file")
    bundle = bundle_of(folders, judge=judge, logs=logs)
    try:
        parse_bundle(archive(bundle))
    except RefusedError as refused:
        raise FathomError(
            f"{', '.join(map(str, folders))}: no board would take a bundle of this: {refused}. Mend names "
            "in run.json, and run again with a smaller limit of tokens where replies are too long; then bundle it again"
        ) from None
    except UnicodeEncodeError as error:
        raise FathomError(
            f"{', '.join(map(str, folders))}: a gold answer, question or facet holds half a character "
            f"({error.object[error.start]!a}), which no bundle can; mend it in the suite, and run that again"
        ) from None
    write_bundle(bundle, path)
    return bundle


def board_check(bundle: Path | str, suites: Sequence[Path | str] = ()) -> Checked:
    """Check a bundle (command ``fathom board check``); see ``fathom.board.bundles.check.check``."""
    from fathom.board.bundles.check import check

    return check(Path(bundle), [Path(suite) for suite in suites])
