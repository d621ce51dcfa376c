"""Shared code of tasks on published records: prompts of fixed length.

A record appears once in a build, at the smallest length that holds its prompt; a longer one is truncated in the middle,
as in LongBench (section 4.1; see ``fathom.suites.compose.truncate`` for the position).
"""

from collections.abc import Sequence

from fathom.suites.compose.texts import measure
from fathom.types import Arranged, Document, Ending, Measure, Part, Resources, Whole

# Token counts can change where two parts are joined: at most so many over all joins of a prompt.
JOINS = 16


def stands_at(parts: Sequence[Part], document: Document, resources: Resources) -> int:
    """The smallest length of the build that holds a prompt; the longest one if none does.

    Args:
        resources: Lengths and counter.
    """
    tokens = most_tokens(parts, document, resources)
    return next((length for length in resources.lengths if tokens <= length), resources.lengths[-1])


def most_tokens(parts: Sequence[Part], document: Document, resources: Resources) -> int:
    """The maximum tokens of a prompt; it has at most ``JOINS`` fewer.

    Args:
        resources: Counter.
    """
    added = sum(
        resources.counter.count(part)
        if isinstance(part, str)
        else resources.counter.between(document, part.start, part.end)
        for part in parts
    )
    return JOINS + min(added, measure(parts, {document.id: document}, resources.counter))


def natural(parts: Sequence[Part], ending: Ending, *, even: bool = False) -> Whole:
    """The plan of a finished prompt.

    Args:
        parts: The whole prompt; truncation keeps the text before its first and after its last document text.
        ending: Its ending; ``question`` is the end of the prompt.
        even: Whether truncation leaves half the tokens on either side, instead of ending with a paragraph or sentence.
    """

    def arrange(length: int, measure: Measure) -> Arranged:
        return Arranged(tuple(parts), ending)

    return Whole(arrange, cut="even" if even else "tidy")
