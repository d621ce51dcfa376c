"""Fetch data sources from the Hugging Face hub: pinned revisions, compared with their checksums."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.data.shared import Names, Suite, data_sources
from fathom.commands.shared import Json, Terminal
from fathom.options.declare import command, given, hidden, opt, unset
from fathom.options.values import MaybePath
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.documents.sources.fetching import Fetched, Progress


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
    progress: Annotated["Progress | None", hidden("Called with the progress of each download.")] = None
    fetched: Annotated[Callable[["Fetched"], None] | None, hidden("Called with each file once it is there.")] = None


@command(FetchOptions)
def data_fetch(options: FetchOptions) -> "list[Fetched]":
    """Fetch data sources from the Hugging Face hub: pinned revisions, compared with their checksums.

    The same command again downloads only what is missing or changed, and resumes a download that was interrupted.

    Files are at OWNER--NAME/PATH in the folder; data.lock.json there records revisions and checksums.

    HF_TOKEN opens gated data sets, HF_ENDPOINT names a mirror of the hub. Needs the extra hub of fathom-eval.
    """
    from fathom.documents.sources.fetching import fetch
    from fathom.documents.sources.lock import data_folder

    wanted = data_sources(options.names, options.suite)
    if not wanted:
        raise FathomError("name data sources to fetch (see `fathom list data`), or those of a suite: `suite` hundred")
    return fetch(wanted, options.folder or data_folder(), progress=options.progress, fetched=options.fetched)


def main(line: FetchOptions) -> None:
    """Fetch, and print the files; those that came are shown also where another source failed."""
    from fathom.documents.sources.lock import data_folder
    from fathom.options.terminal import download_bar, print_json, print_records

    folder = Path(line.folder or data_folder())
    files: list[Fetched] = []
    try:
        with download_bar(line.quiet) as progress:
            data_fetch.body(line.but(progress=progress, fetched=files.append))
    finally:
        if line.as_json:
            print_json(files)
        elif files:
            print_records([_record(file, folder) for file in files], denominator="none")
            print(f"files are in {folder}")


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
