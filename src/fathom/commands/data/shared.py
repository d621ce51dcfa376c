"""What the commands of data sets share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, TypeAlias

from fathom.options.declare import Read, arg, opt
from fathom.options.values import names_of
from fathom.types import FathomError

if TYPE_CHECKING:
    from fathom.documents.sources.source import Source

Names: TypeAlias = Annotated[
    Read[Sequence[str] | str, tuple[str, ...]], arg("Data sources (see `fathom list data`).", many=True, read=names_of)
]
Suite: TypeAlias = Annotated[str | None, opt("All data sources of this suite, such as hundred.", metavar="NAME")]


def data_sources(names: Sequence[str], suite: str | None) -> "list[Source]":
    """The data sources of these names, and those of a suite.

    Raises:
        FathomError: A name is not known, or the suite has no data sources.
    """
    from fathom.documents.sources.registry import sources
    from fathom.plugins.names import unknown
    from fathom.suites.registry import get_suite

    known = sources()
    wanted = list(names)
    if suite is not None:
        wanted += [name for some in get_suite(suite).sources.values() for name in some]
        if not wanted:
            raise FathomError(f"`suite` {suite}: it has no data sources; `fathom build {suite}` needs none")
    for name in wanted:
        if name not in known:
            raise unknown("data source", name, known, see="fathom list data")
    return [known[name] for name in dict.fromkeys(wanted)]
