"""Fetch data sources from the Hugging Face hub: pinned revisions, compared with their checksums."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.data.shared import Names, Suite, data_sources
from fathom.commands.shared import Json, MaybePath, Terminal
from fathom.options.declare import command, given, hidden, opt, unset
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.sources.fetching import Fetched, Progress


class FetchOptions(Terminal, Json):
    names: Names = given(())
    folder: Annotated[
        MaybePath,
        opt(
            "Folder to write; by default the data folder in fathom's cache, where build finds them.",
            flag="--to",
            metavar="FOLDER",
        ),
    ] = unset
    _: KW_ONLY
    suite: Suite = None
    progress: Annotated["Progress | None", hidden("Told how far a download is.")] = None
    fetched: Annotated[
        Callable[["Fetched"], None] | None,
        hidden("Told of each file once it is there, also where another source fails."),
    ] = None


@command(FetchOptions)
def data_fetch(options: FetchOptions) -> "list[Fetched]":
    """Fetch data sources from the Hugging Face hub: pinned revisions, compared with their checksums.

    The same command again downloads only what is missing or changed, and resumes a download that was interrupted.

    Files are at OWNER--NAME/PATH in the folder; data.lock.json there records revisions and checksums.

    HF_TOKEN opens gated data sets, HF_ENDPOINT names a mirror of the hub. Needs the extra hub of fathom-eval.
    """
    from fathom.sources.fetching import fetch
    from fathom.sources.lock import data_folder

    wanted = data_sources(options.names, options.suite)
    if not wanted:
        raise FathomError("name data sources to fetch (see `fathom list data`), or those of a suite: --suite hundred")
    return fetch(wanted, options.folder or data_folder(), progress=options.progress, fetched=options.fetched)


def main(line: FetchOptions) -> None:
    """Fetch, and print the files; those that came are shown also where another source failed."""
    from fathom.sources.lock import data_folder
    from fathom.terminal import print_json, print_records

    folder = Path(line.folder or data_folder())
    files: list[Fetched] = []
    try:
        with _download_bar(line.quiet) as progress:
            data_fetch.body(line.but(progress=progress, fetched=files.append))
    finally:
        if line.as_json:
            print_json(files)
        elif files:
            print_records([_record(file, folder) for file in files])
            print(f"files lie in {folder}")


def _record(file: "Fetched", folder: Path) -> dict[str, object]:
    from rich.filesize import decimal

    return {
        "source": file.source,
        "file": file.path.relative_to(folder),
        "size": decimal(file.size),
        "downloaded": decimal(file.received) if file.received else "was there",
        "revision": file.revision[:12],
        "licence": file.licence,
    }


@contextmanager
def _download_bar(quiet: bool) -> "Iterator[Progress | None]":
    """A bar in bytes on standard error; None where nobody looks at it."""
    if quiet or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        job, shown = bar.add_task("asking the hub", total=None), ""

        def show(what: str, done: int, total: int | None) -> None:
            nonlocal shown
            if what != shown:  # another file: its speed is its own
                shown = what
                bar.reset(job, description=what, total=total)
            bar.update(job, completed=done, total=total)

        yield show
