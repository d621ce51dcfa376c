"""What the commands of the leaderboard's server and of the studio share."""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from fathom.options.declare import Option, Options, Read, hidden, opt

Host: TypeAlias = Annotated[str, opt("Address to listen on.", metavar="ADDRESS")]
Port: TypeAlias = Annotated[int, opt("Port to listen on; 0 for one that is free.", metavar="NUMBER")]
Proxies: TypeAlias = Annotated[
    Read[Iterable[str] | str, tuple[str, ...]],
    opt(
        "Address of a web server in front, whose X-Forwarded-For and -Proto are believed; may be given several times.",
        flag="--proxy",
        metavar="ADDRESS",
        many=True,
    ),
]
Ready: TypeAlias = Annotated[Callable[[str], None] | None, hidden("Called with the address once the server listens.")]
BackupFile: TypeAlias = Annotated[Path | str, opt("The file; its SHA-256 is written beside it.", "-o", metavar="FILE")]


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    return "" if not text or (host and port.isascii() and port.isdecimal()) else "expected ADDRESS:PORT"


class Monitored(Options, kw_only=True):
    """Monitoring."""

    metrics: Annotated[
        str,
        opt(
            "Address and port for Prometheus, such as 127.0.0.1:9100; whoever reaches it can read the metrics.",
            metavar="ADDRESS:PORT",
            check=_address,
        ),
    ] = ""
    log_format: Annotated[
        Literal["text", "json"], opt("Logs on standard error: lines of text, or a JSON object a line.")
    ] = "text"


def store_option(variable: str) -> Option:
    """The option ``--store``.

    Args:
        variable: Environment variable that may hold it instead.
    """
    return opt(
        "A folder (SQLite), or the URL of a PostgreSQL database: postgresql+psycopg://USER@HOST:5432/NAME. Set "
        f"{variable} instead if it holds a password, which must not be on the command line.",
        metavar="STORE",
        env=variable,
    )
