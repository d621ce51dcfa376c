"""What benchmarks, other packages, plugins and users declare: found, loaded and named."""

from typing import Any


def __getattr__(name: str) -> Any:
    from fathom.plugins.former import moved

    return moved("fathom.plugins", name, "fathom.plugins.loading")
