"""Tokenizers; tokens of documents and of their parts; lengths as people write them."""

from typing import Any


def __getattr__(name: str) -> Any:
    from fathom.plugins.former import moved

    return moved("fathom.tokens", name, "fathom.tokens.tokenizers")
