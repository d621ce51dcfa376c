"""Corpus specifications: ``PATH?name=value&...`` or ``world?seed=3``."""

from pathlib import Path
from urllib.parse import parse_qsl

from fathom.documents.records import READABLE
from fathom.types import FathomError

WORLD = "world"


def parse_spec(spec: str) -> tuple[str, dict[str, str]]:
    """Split a corpus specification into its name and its query.

    A file whose name contains a ``?`` takes precedence over a query; so does the longest existing path before one.

    Args:
        spec: ``PATH``, ``PATH?text=input&title=name``, ``world`` or ``world?language=zh&seed=3``. Values may be
            percent-encoded.

    Returns:
        The path or the name of a generated corpus, and the query as a dictionary.

    Raises:
        FathomError: The specification is empty, or its query is not ``name=value`` pairs joined by ``&``.
    """
    if not spec.strip():
        raise FathomError(f"The corpus is empty: name a folder, a file that ends in {READABLE}, or 'world'.")
    if _exists(spec):
        return spec, {}
    cuts = [at for at, letter in enumerate(spec) if letter == "?"]
    if not cuts:
        return spec, {}
    cut = next((at for at in reversed(cuts) if _exists(spec[:at])), cuts[0])
    name, query = spec[:cut], spec[cut + 1 :]
    return name, _parse_query(spec, query)


def is_world(spec: str) -> bool:
    """Whether the specification is the generated corpus; a folder of that name is given as ``./world``."""
    return spec.partition("?")[0] == WORLD


def path_of(name: str) -> Path:
    """The path of a name, with ``~`` expanded if possible."""
    try:
        return Path(name).expanduser()
    except RuntimeError:
        return Path(name)


def _exists(path: str) -> bool:
    # A null character or an over-long name is not a valid path and raises.
    try:
        return bool(path) and path != WORLD and path_of(path).exists()
    except (OSError, ValueError):
        return False


def _parse_query(spec: str, query: str) -> dict[str, str]:
    pairs = {}
    for piece in filter(None, query.split("&")):
        parsed = parse_qsl(piece, keep_blank_values=True)
        if "=" not in piece or not parsed:
            raise FathomError(
                f"Corpus {spec!r}: cannot read {piece!r} in its query; write name=value pairs joined by &, "
                "as in FILE.jsonl?text=input&title=name."
            )
        key, value = parsed[0]
        if key in pairs:
            raise FathomError(f"Corpus {spec!r}: its query names {key!r} twice; give it once.")
        pairs[key] = value
    return pairs
