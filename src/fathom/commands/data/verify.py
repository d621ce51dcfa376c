"""Compare fetched files with their checksums; exit 1 if one is changed or missing. Needs no network."""

import sys
from dataclasses import KW_ONLY
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fathom.commands.data.shared import Names, Suite, data_sources
from fathom.commands.shared import Json
from fathom.options.declare import command, given, opt, unset
from fathom.options.values import MaybePath
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.documents.sources.lock import Checked


class VerifyOptions(Json):
    names: Names = given(())
    folder: Annotated[
        MaybePath, opt("Folder to check; by default the data folder in fathom's cache.", flag="--in", metavar="FOLDER")
    ] = unset
    _: KW_ONLY
    suite: Suite = None


@command(VerifyOptions)
def data_verify(options: VerifyOptions) -> "list[Checked]":
    """Compare fetched files with their checksums; exit 1 if one is changed or missing. Needs no network.

    Without names, all data sources of which the folder has a file.

    A file is unrecorded where no checksum of it is known: fetch compares it with the hub and records it.
    """
    from fathom.documents.sources.lock import data_folder, recorded, verify
    from fathom.documents.sources.registry import sources

    place = options.folder or data_folder()
    wanted = data_sources(options.names, options.suite) or recorded(list(sources().values()), place)
    if not wanted:
        raise FathomError(f"{place}: no data sources were fetched there; `fathom data fetch --suite hundred` does it")
    return verify(wanted, place)


def main(line: VerifyOptions) -> int:
    """Print the status of each file; 1 if one is changed or missing."""
    from fathom.documents.sources.lock import data_folder
    from fathom.options.terminal import print_json, print_records

    checked = data_verify.body(line)
    if line.as_json:
        print_json(checked)
    else:
        print_records([_record(file, Path(line.folder or data_folder())) for file in checked], denominator="none")
    wrong = [file for file in checked if file.status in ("changed", "missing")]
    for file in wrong:
        if file.detail:
            print(f"{file.path}: {file.detail}", file=sys.stderr)
    if wrong:
        again = " ".join(dict.fromkeys(file.source for file in wrong))
        print(
            f"{len(wrong)} of {len(checked)} files are changed or missing; fetch them with `fathom data fetch {again}"
            f"{f' --to {line.folder}' if line.folder else ''}`",
            file=sys.stderr,
        )
    return int(bool(wrong))


def _record(checked: "Checked", folder: Path) -> dict[str, object]:
    return {
        "source": checked.source,
        "status": checked.status,
        "file": checked.path.relative_to(folder),
        "revision": checked.revision[:12] or "-",
        "licence": checked.licence,
    }
