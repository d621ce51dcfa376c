"""The version of fathom that is stored with results."""

from importlib.metadata import PackageNotFoundError, version


def fathom_version() -> str:
    """The installed version, or ``0`` if the package runs from source without being installed."""
    try:
        return version("fathom-eval")
    except PackageNotFoundError:
        return "0"
