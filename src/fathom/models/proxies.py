"""What the environment says of the way to a server: keys, and proxies that variables name."""

import os
from importlib.util import find_spec
from urllib.parse import urlsplit
from urllib.request import proxy_bypass

from fathom.safety.secrets import strip_keys
from fathom.types import FathomError

LOCAL = frozenset({"localhost", "127.0.0.1", "::1", "0.0.0.0"})


def check_access(model: str, base_url: str | None) -> None:
    """Strip the keys in the environment, and check that requests to a model can be sent; every client begins with this.

    Args:
        model: ``PROVIDER/NAME``.
        base_url: The address of its server; None for the provider's own.

    Raises:
        FathomError: Its key cannot be sent, or its proxy cannot be used.
    """
    strip_keys(model)
    check_proxy(base_url)


def proxy_variable(url: str) -> str:
    """The environment variable that sends requests to an address through a proxy; "" if none does.

    Args:
        url: The address of a server.
    """
    parts = urlsplit(url)
    host = parts.hostname or ""
    # As urllib reads them: small letters come first, and an empty one switches the proxy off.
    names = [name for plain in (f"{parts.scheme}_proxy", "all_proxy") for name in (plain, plain.upper())]
    name = next((name for name in names if name in os.environ), "")
    if not os.environ.get(name):
        return ""
    return "" if not name or proxy_bypass(host) else name


def check_proxy(url: str | None) -> str:
    """Check that the proxy for an address can be used.

    Args:
        url: The address of a server; None for a provider's own.

    Returns:
        A note, without a full stop, if requests to this machine go through a proxy; else "".

    Raises:
        FathomError: It is a SOCKS proxy, for which a library is missing.
    """
    address = url or "https://provider"
    name, host = proxy_variable(address), urlsplit(address).hostname or ""
    if not name:
        return ""
    excepted = f"NO_PROXY={host}" if url else "NO_PROXY"
    if os.environ[name].lower().startswith("socks") and find_spec("socksio") is None:
        raise FathomError(
            f"{name} names a SOCKS proxy, for which a library is missing: install it with `pip install socksio`, unset "
            f"{name}, or set {excepted} to reach the server without it"
        )
    if host in LOCAL:
        return f"requests to {host} go through the proxy of {name}; set {excepted} if the server is on this machine"
    return ""
