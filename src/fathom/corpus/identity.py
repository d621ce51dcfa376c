"""The name of a document: a hash of its text, so that equal texts are one document."""

from __future__ import annotations

import hashlib


def document_id(text: str) -> str:
    """Identify a text by its content.

    Args:
        text: The text, in its final form.

    Returns:
        The first 16 hexadecimal digits (64 bits) of the SHA-256 of the UTF-8 text.
    """
    return hashlib.sha256(text.encode()).hexdigest()[:16]
