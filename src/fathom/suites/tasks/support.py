"""Lexical support: how much of a gold text is in the passage that it is asked of.

Grusky et al. (2018, section 3.2) call the share of a summary's words that are in extractive fragments of its article
*coverage*. Here the words are the distinct content words (``fathom.suites.tasks.evidence.content_words``), which leaves
out function words and the order, so that a paraphrase is not penalized more than it has to be. Coverage alone mixes two
things: how abstractive a reference is, and what a truncated document lost of it. So the words that the passage has are
also compared with those that the whole document has: *kept*.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from fathom.suites.tasks.evidence import content_words

KEPT = 0.75
"""Minimum share, of a reference's words in the document, that are in the passage: at most a quarter is lost."""
COVERED = 0.25
"""Minimum share of a reference's words that are in the passage. Measured on Multi-News and L-Eval, see
``docs/explanation/measurements/gold.md``: what is below is about something else."""
_SHORT = re.compile(r"[A-Za-z0-9]+|[^\W_]")
_JUDGED = frozenset({"yes", "no", "true", "false", "unanswerable", "是", "否", "不是", "对", "错"})


@dataclass(frozen=True, slots=True)
class Support:
    """Distinct words of a reference, counted.

    Attributes:
        document: How many of them are in the whole document.
        passage: How many of them are in the passage.
    """

    words: int
    document: int
    passage: int

    @property
    def coverage(self) -> float:
        """Share of the reference's words that are in the passage, in [0, 1]; 1 for a reference without words."""
        return self.passage / self.words if self.words else 1.0

    @property
    def words_kept(self) -> float:
        """Share, of the reference's words in the document, that are in the passage, in [0, 1]; 1 if none are in it."""
        return self.passage / self.document if self.document else 1.0

    @property
    def fault(self) -> str:
        """``cut`` if the passage lost more than a quarter of the words, ``absent`` if it has hardly any, else ""."""
        return "cut" if self.words_kept < KEPT else "absent" if self.coverage < COVERED else ""


def support(reference: str, passage: str, document: str) -> Support:
    """The support of a reference in a passage of a document.

    A reference that has no content word, such as an abbreviation, is measured by all its words. One that judges, such
    as *yes*, has none: words do not tell whether a text supports it.

    Args:
        reference: A gold answer or summary.
        passage: The text that is asked about, a part of ``document`` or all of it.

    Returns:
        Counts of the reference's distinct words, of which those in the passage count as in the document too.
    """
    return _counted(reference, _words_of(passage), _words_of(document))


def best_support(references: Iterable[str], passage: str, document: str) -> Support:
    """The support of the reference with the most of it, of several that are equally acceptable.

    Args:
        references: Gold answers, at least one.
        passage: See ``support``.
        document: See ``support``.

    Returns:
        The counts of the reference without a fault and with the highest coverage, in this order; a reference without
        words counts only if all are.
    """
    inside, everywhere = _words_of(passage), _words_of(document)
    supports = [_counted(reference, inside, everywhere) for reference in references]
    return max(
        supports, key=lambda support: (bool(support.words), not support.fault, support.coverage, support.words_kept)
    )


class _Words:
    """The words of a text, each kind found when it is first needed."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._content: frozenset[str] | None = None
        self._all: frozenset[str] | None = None

    def content(self) -> frozenset[str]:
        if self._content is None:
            self._content = content_words(self._text)
        return self._content

    def all(self) -> frozenset[str]:
        if self._all is None:
            self._all = _all_words(self._text)
        return self._all


# The questions about a document are measured one after the other.
_words_of = lru_cache(maxsize=8)(_Words)


def _all_words(text: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _SHORT.findall(text))


def _counted(reference: str, passage: _Words, document: _Words) -> Support:
    words = content_words(reference)
    if words:
        inside, everywhere = passage.content(), document.content()
    else:
        words = _all_words(reference)
        if reference.strip().rstrip(".。!").lower() in _JUDGED or not words:
            return Support(0, 0, 0)
        inside, everywhere = passage.all(), document.all()
    supported = words & inside
    return Support(len(words), len(words & everywhere | supported), len(supported))
