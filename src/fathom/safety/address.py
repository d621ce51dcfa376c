"""Checks addresses of servers before anything is sent to them."""

from urllib.parse import urlsplit

from fathom.safety.secrets import hide_in_text
from fathom.types import FathomError

EXAMPLE = "http://127.0.0.1:8000/v1"


def check_address(url: str, option: str = "model_base_url") -> None:
    """Check that an address names a server.

    Args:
        option: The option that gave it, for the message, as Python names it.

    Raises:
        FathomError: It is empty, or has no scheme, no host or an invalid port.
    """
    try:
        parts = urlsplit(url)
        parts.hostname.encode("idna") if parts.hostname else b""
        wrong = (
            "no scheme: it begins with http:// or https://"
            if parts.scheme not in ("http", "https")
            else "no host"
            if not parts.hostname
            else "port 0"
            if parts.port == 0
            else "invalid characters"
            if not url.isprintable() or " " in url
            else ""
        )
    except ValueError as error:  # an invalid port, an unclosed bracket, a host that no name server knows
        wrong = str(error)
    if wrong:
        raise FathomError(f"`{option}` {hide_in_text(url)!r}: {wrong}; expected an address such as {EXAMPLE}")
