"""Commands ``fathom data ...``: public data sets that suites are made from, fetched and checked."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fathom import api
from fathom.cli.arguments import AsJson, Quiet
from fathom.commands.terminal import print_records

if TYPE_CHECKING:
    from fathom.sources.fetching import Fetched, Progress
    from fathom.sources.lock import Checked

app = typer.Typer(
    help="Public data sets that suites are made from: fetch them from the Hugging Face hub, and check them.",
    no_args_is_help=True,
)

Names = Annotated[list[str] | None, typer.Argument(help="Data sources (see `fathom list data`).")]
OfSuite = Annotated[str | None, typer.Option("--suite", help="All data sources of this suite, such as hundred.")]


@app.command()
def fetch(
    names: Names = None,
    suite: OfSuite = None,
    to: Annotated[
        Path | None,
        typer.Option(help="Folder to write; by default the data folder in fathom's cache, where build finds them."),
    ] = None,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Fetch data sources from the Hugging Face hub: pinned revisions, compared with their checksums.

    The same command again downloads only what is missing or changed, and goes on where a download was cut.

    Files lie at OWNER--NAME/PATH in the folder; data.lock.json there records revisions and checksums.

    HF_TOKEN opens gated data sets, HF_ENDPOINT names a mirror of the hub. Needs the extra hub of fathom-eval.
    """
    from fathom.sources.lock import data_folder

    folder = to or data_folder()
    files: list[Fetched] = []
    try:
        with _download_bar(quiet) as progress:
            api.data_fetch(names or (), folder, suite=suite, progress=progress, fetched=files.append)
    finally:  # what came is shown also where another source failed
        if as_json:
            print_records([_plain(file) for file in files], as_json)
        elif files:
            print_records([_line(file, folder) for file in files], as_json)
            print(f"files lie in {folder}")


@app.command()
def verify(
    names: Names = None,
    suite: OfSuite = None,
    folder: Annotated[
        Path | None, typer.Option("--in", help="Folder to check; by default the data folder in fathom's cache.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare fetched files with their checksums; exit 1 if one is changed or missing. Needs no network.

    Without names, all data sources that the folder has something of.

    A file is unrecorded where no checksum of it is known: fetch compares it with the hub and records it.
    """
    from fathom.sources.lock import data_folder

    place = folder or data_folder()
    checked = api.data_verify(names or (), place, suite=suite)
    print_records([_plain(one) if as_json else _finding(one, place) for one in checked], as_json)
    wrong = [one for one in checked if one.status in ("changed", "missing")]
    for one in wrong:
        if one.detail:
            print(f"{one.path}: {one.detail}", file=sys.stderr)
    if wrong:
        again = " ".join(dict.fromkeys(one.source for one in wrong))
        print(
            f"{len(wrong)} of {len(checked)} files are changed or missing; fetch them with `fathom data fetch {again}"
            f"{f' --to {folder}' if folder else ''}`",
            file=sys.stderr,
        )
        raise typer.Exit(1)


def _plain(record: Fetched | Checked) -> dict[str, Any]:
    return {**dataclasses.asdict(record), "path": str(record.path)}


def _line(file: Fetched, folder: Path) -> dict[str, object]:
    from rich.filesize import decimal

    return {
        "source": file.source,
        "file": file.path.relative_to(folder),
        "size": decimal(file.size),
        "downloaded": decimal(file.received) if file.received else "was there",
        "revision": file.revision[:12],
        "licence": file.licence,
    }


def _finding(one: Checked, folder: Path) -> dict[str, object]:
    return {
        "source": one.source,
        "status": one.status,
        "file": one.path.relative_to(folder),
        "revision": one.revision[:12] or "-",
        "licence": one.licence,
    }


@contextmanager
def _download_bar(quiet: bool) -> Iterator[Progress | None]:
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
