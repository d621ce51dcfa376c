"""Public data sets that suites are made from: ``data fetch`` and ``data verify``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.sources.fetching import Fetched
    from fathom.sources.fetching import Progress as FetchProgress
    from fathom.sources.lock import Checked
    from fathom.sources.source import Source


def data_fetch(
    names: Sequence[str] = (),
    folder: Path | str | None = None,
    *,
    suite: str | None = None,
    progress: FetchProgress | None = None,
    fetched: Callable[[Fetched], None] | None = None,
) -> list[Fetched]:
    """Fetch data sources from the Hugging Face hub (command ``fathom data fetch``).

    Args:
        names: Names of data sources.
        folder: Where to; the data folder in fathom's cache by default, where ``build`` finds them.
        suite: A suite whose sources are fetched too.
        progress: Told how far a download is.
        fetched: Told of each file once it is there, also where another source fails.

    Returns:
        The files of the sources, whether they were downloaded now or were there.

    Raises:
        FathomError: No source is named, a name is not known, or see ``fathom.sources.fetching.fetch``.
    """
    from fathom.sources.fetching import fetch
    from fathom.sources.lock import data_folder

    wanted = _data_sources(names, suite)
    if not wanted:
        raise FathomError("name data sources to fetch (see `fathom list data`), or those of a suite: --suite hundred")
    return fetch(wanted, Path(folder or data_folder()), progress=progress, fetched=fetched)


def data_verify(
    names: Sequence[str] = (), folder: Path | str | None = None, *, suite: str | None = None
) -> list[Checked]:
    """Compare fetched files with their checksums, without the network (command ``fathom data verify``).

    Args:
        names: Names of data sources; with no suite either, all that the folder has something of.
        folder: The data folder; the one in fathom's cache by default.
        suite: A suite whose sources are checked too.

    Raises:
        FathomError: A name is not known, nothing was fetched, or a file cannot be read.
    """
    from fathom.sources.lock import data_folder, recorded, verify
    from fathom.sources.registry import sources

    place = Path(folder or data_folder())
    wanted = _data_sources(names, suite) or recorded(list(sources().values()), place)
    if not wanted:
        raise FathomError(f"{place}: no data sources were fetched there; `fathom data fetch --suite hundred` does it")
    return verify(wanted, place)


def _data_sources(names: Sequence[str], suite: str | None) -> list[Source]:
    from fathom.names import unknown
    from fathom.registry import get_suite
    from fathom.sources.registry import sources

    known = sources()
    wanted = list(names)
    if suite is not None:
        wanted += [name for some in get_suite(suite).sources.values() for name in some]
        if not wanted:
            raise FathomError(f"--suite {suite}: it has no data sources; `fathom build {suite}` needs none")
    for name in wanted:
        if name not in known:
            raise unknown("data source", name, known, see="fathom list data")
    return [known[name] for name in dict.fromkeys(wanted)]
