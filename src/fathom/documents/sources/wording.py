"""Texts of prompts that are not ours: their placeholders, and a whole prompt in its two parts around the context."""

import hashlib
import json
from collections.abc import Mapping
from string import Formatter

from fathom.types import FathomError

GAP = "\n\n"
"""The empty line that prompts have around their context."""
CONTEXT = "{context}"


def fields_of(text: str) -> frozenset[str]:
    """The placeholders of a text for ``str.format``."""
    return frozenset(name for _, name, _, _ in Formatter().parse(text) if name)


def format_string(template: str, names: frozenset[str]) -> str:
    """A template for ``str.format`` in which only some names are placeholders; all other braces are text."""
    escaped = template.replace("{", "{{").replace("}", "}}")
    for name in names:
        escaped = escaped.replace("{{" + name + "}}", "{" + name + "}")
    return escaped


def around_context(prompt: str, where: str, context_end: str = "") -> dict[str, str]:
    """A whole prompt as the texts ``intro`` and ``question``, without the empty lines next to the context.

    Args:
        prompt: The prompt with ``{context}``.
        where: File and task, for messages.
        context_end: What the authors' contexts end with.

    Raises:
        FathomError: There is no context, or no empty line before or after it.
    """
    before, gap, after = prompt.partition(CONTEXT)
    if not gap or CONTEXT in after:
        raise FathomError(f"{where}: expected {CONTEXT} once in the prompt")
    after = context_end + after
    if not before.endswith(GAP) or not after.startswith(GAP):
        raise FathomError(f"{where}: expected an empty line before and after {CONTEXT}, as contexts are set off by one")
    return {"intro": before.removesuffix(GAP), "question": after.removeprefix(GAP)}


def checksum_of(texts: Mapping[str, str]) -> str:
    """SHA-256 of texts by name."""
    return hashlib.sha256(json.dumps(dict(texts), sort_keys=True).encode(errors="replace")).hexdigest()
