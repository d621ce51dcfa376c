"""Offline readers: plain functions that answer a prompt without a model.

They see the prompt and are told which kind of answer it asks for (``Task.answer``), and nothing else.

``fathom/guess`` shows what chance gives, ``fathom/lexical`` what matching words gives; either of them behind a window
of known size checks the instrument itself. ``fathom/longest``, ``fathom/first`` and ``fathom/copy`` take shortcuts
where there are candidates or an example, and guess elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from fathom.names import unknown
from fathom.run.model import Reader
from fathom.run.readers.guess import guess
from fathom.run.readers.lexical import read
from fathom.run.readers.shortcuts import copy, first, longest

_READERS: Mapping[str, tuple[Reader, str]] = MappingProxyType(
    {
        "fathom/guess": (guess, "a valid answer at random"),
        "fathom/lexical": (
            read,
            "the best sentence, passage or answer by BM25; parts in order by the words at their edges",
        ),
        "fathom/longest": (longest, "the longest of the answers to choose among, else a guess"),
        "fathom/first": (
            first,
            "the first of the answers, or the parts in the order in which they stand, else a guess",
        ),
        "fathom/copy": (copy, "the example that the instructions show, else a guess"),
    }
)


def readers() -> Mapping[str, str]:
    """One line about each offline reader, by name."""
    return {name: line for name, (_, line) in _READERS.items()}


def get_reader(name: str) -> Reader:
    """The offline reader of that name: takes a prompt, the kind of answer it asks for and a random generator.

    Raises:
        FathomError: There is none; the message names those that there are.
    """
    if name not in _READERS:
        raise unknown("offline reader", name, _READERS, see="fathom list models")
    return _READERS[name][0]
