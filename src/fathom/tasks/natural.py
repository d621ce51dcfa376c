"""What tasks over the records of a published benchmark share: prompts of the length that they have.

A record stands once in a build, at the smallest length that holds its prompt; one that is longer than the longest
length loses its middle there, as LongBench does it (section 4.1; ``fathom.compose.truncate`` says where the cut lies).
"""

from collections.abc import Sequence

from fathom.types import Arranged, Document, Ending, Measure, Part, Scene, Whole

# Tokens can change where two parts meet: so many at most over all joins of a prompt.
JOINS = 16


def stands_at(parts: Sequence[Part], document: Document, scene: Scene) -> int:
    """The smallest length of the build that holds a prompt; the longest one where none does.

    Args:
        parts: The whole prompt.
        document: The one document that it borrows from.
        scene: Lengths and counter.
    """
    tokens = most_tokens(parts, document, scene)
    return next((length for length in scene.lengths if tokens <= length), scene.lengths[-1])


def most_tokens(parts: Sequence[Part], document: Document, scene: Scene) -> int:
    """The most tokens that a prompt can have; it has at most ``JOINS`` fewer.

    Args:
        parts: The whole prompt.
        document: The one document that it borrows from.
        scene: Counter.
    """
    return JOINS + sum(
        scene.counter.count(part) if isinstance(part, str) else scene.counter.between(document, part.start, part.end)
        for part in parts
    )


def natural(parts: Sequence[Part], ending: Ending, *, even: bool = False) -> Whole:
    """The plan of a finished prompt.

    Args:
        parts: The whole prompt; where it is cut, what stands before its first borrowed text and after its last one
            stays.
        ending: What is asked; its ``question`` is the end of the prompt.
        even: Whether a cut leaves half the tokens on either side, instead of ending with a paragraph or sentence.
    """

    def arrange(length: int, measure: Measure) -> Arranged:
        return Arranged(tuple(parts), ending)

    return Whole(arrange, cut="even" if even else "tidy")
