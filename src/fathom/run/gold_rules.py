"""Rules that find gold texts to be read: turns of dialogues, garbled questions, boilerplate and markup, second answers.

They need no model. What they find is a suspicion, and what they do not find may be faulty: their precision, and how
many known faults they find, are in ``docs/explanation/measurements/gold.md``. Rules on words are for English.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple, TypeAlias

from fathom.suites.tasks.evidence import content_words

Kind: TypeAlias = Literal["turn", "garbled", "boilerplate", "markup", "second answer"]
LONGEST_TURN = 14
"""Words of a question in which a pronoun has nothing to stand for."""
BOILERPLATE = 0.34
"""Share of the sentences of an article that are about a web page, from which it is no article."""
MARKUP = 0.1
"""Tags for each word of a passage from which it is named: it is read as a web page is written."""
_ASKS = re.compile(
    r"\?|\b(who|whom|whose|who's|what|what's|when|where|which|why|how|know|can you|could you)\b|"
    r"(?:^|[.!:;,]|\bto|\bplease) ?(name|list|tell|give|describe|explain|summari[sz]e|identify|write|discuss|provide|"
    r"state|outline|compare|show|highlight|complete|fill)\b",
    re.I,
)
_REPLY = re.compile(
    r"(yes|yeah|yep|no|nope|ok|okay|thanks|thank you|great|sure|also|another|and|but|so|then|i see|alright|that's)\b",
    re.I,
)
_BARE = re.compile(r"(is|are|was|were|do|does|did|has|have|had|in|on|at|from)\b", re.I)
_POINTS = re.compile(
    r"\b(do|for|on|about|with|of|get|is|was|have|out|to) (this|that|these|those|it|them)\b(?! \w+ (is|was))", re.I
)
_AT_END = re.compile(r"\b(this|that|these|those|it|them)\W*$", re.I)
_WHEN_ASKED = re.compile(r"\b(last|this|next) (year|season|month|week)('s)?\b|\b(right now|these days)\b", re.I)
_GENERIC = content_words("requirements requirement information available eligibility eligible details detail tell help")
_BROKEN = re.compile(
    r"\ufffd|â€|Ã[\u0080-\u00bf]|\b(BIBREF|TABREF|FIGREF|SECREF|INLINEFORM|xcite|xmath)|\?\?|[a-z]{26,}|"
    r"\b(the|a|an|of|to|in|is|was|for) \2\b|\b(has|have|does|do) (is|are|was)\b|"
    r"\b(what|who|when|where) (was|is|are) (where|when|who)\b|\b(of|by|from|in) who (was|is|in)\b",
    re.I,
)
_WEB = re.compile(
    r"internet archive|wayback|\bcrawl(s|ed|er|ing)?\b.*\b(pages?|domain|seed|archive|data|web)\b|archive\.org|"
    r"javascript|\b(use|uses|accept) cookies\b|newsletter|sign up|click here|all rights reserved|"
    r"terms of (use|service)|privacy policy|to the version that was live",
    re.I,
)
_TAG = re.compile(r"</?[a-z]\w*(?:[ =][^<>]{0,80})?/?>", re.I)
_DIGITS = "one two three four five six seven eight nine ten"
_WORDS = {word: str(number) for number, word in enumerate(_DIGITS.split(), 1)}
_NUMBER = re.compile(rf"\d[\d,.]*\d|\d|\b(?:{'|'.join(_WORDS)})\b", re.I)
_SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|\n+")


class Suspicion(NamedTuple):
    """Why a gold text should be read.

    Attributes:
        kind: The rule.
        reason: A sentence that does not quote the text.
    """

    kind: Kind
    reason: str


def suspicion(question: str, answers: Sequence[str], passages: Sequence[str], *, summary: bool) -> Suspicion | None:
    """The first suspicion about a gold text.

    Args:
        question: The question or request; "" for a summary of the whole text.
        answers: Its gold answers, or reference summaries.
        summary: Whether a summary is asked for.

    Returns:
        The suspicion; None if no rule applies.
    """
    rules: Sequence[Callable[[], Suspicion | None]] = (
        lambda: None if summary else _turn(question, answers),
        lambda: _garbled(question),
        lambda: _boilerplate(passages),
        lambda: None if summary else _second(question, answers, passages),
        lambda: _markup(passages),
    )
    return next((result for rule in rules if (result := rule()) is not None), None)


def _turn(question: str, answers: Sequence[str]) -> Suspicion | None:
    """A turn of a dialogue that is no question by itself."""
    text = " ".join(question.split())
    if not re.search(r"[a-z]{2}", text, re.I) or not answers:
        return None

    def turn(reason: str) -> Suspicion:
        return Suspicion("turn", reason)

    if all(answer.rstrip().endswith("?") and answer.strip() not in question for answer in answers):
        return turn("the answer asks back")
    if _REPLY.match(text) and ("?" not in text or len(text.split()) <= LONGEST_TURN):
        return turn("begins as a reply to a turn before it")
    if not _ASKS.search(text) and not re.match(
        r"(is|are|was|were|do|does|did|has|have|had|in|on|at|from)\b", text, re.I
    ):
        return turn("asks nothing")
    alone = len(text.split()) <= LONGEST_TURN and not re.search(r"[.?!] ", text)
    if alone and (_POINTS.search(text) or _AT_END.search(text)):
        return turn("a pronoun refers to a turn before it")
    if not content_words(text) - _GENERIC:
        return turn("names nothing that it asks about")
    if _WHEN_ASKED.search(text):
        return turn("depends on when it is asked")
    return None


def _garbled(question: str) -> Suspicion | None:
    if _BROKEN.search(question) or question.count("(") != question.count(")") or question.count('"') % 2:
        return Suspicion("garbled", "the question has broken characters, repeated words or open brackets")
    return None


def _boilerplate(passages: Sequence[str]) -> Suspicion | None:
    """Gold articles most of whose sentences are about a web page."""
    for number, passage in enumerate(passages, start=1):
        sentences = [sentence for sentence in _SENTENCE.split(passage) if len(sentence.split()) > 2]
        web = sum(bool(_WEB.search(sentence)) for sentence in sentences)
        if sentences and web / len(sentences) >= BOILERPLATE:
            which = "" if len(passages) == 1 else f" {number} of {len(passages)}"
            reason = f"{web} of {len(sentences)} sentences of the gold article{which} are about a web page"
            return Suspicion("boilerplate", reason)
    return None


def _markup(passages: Sequence[str]) -> Suspicion | None:
    """Passages with many tags, such as empty items of lists."""
    for passage in passages:
        tags, words = len(_TAG.findall(passage)), len(_TAG.sub(" ", passage).split())
        if tags and tags >= MARKUP * words:
            return Suspicion("markup", f"the gold passage has {tags:,} tags and {words:,} words")
    return None


def _second(question: str, answers: Sequence[str], passages: Sequence[str]) -> Suspicion | None:
    """A sentence with another number and more words of the question than any with the gold number."""
    if len(passages) > 1 or not all(_NUMBER.search(answer) and len(answer.split()) <= 4 for answer in answers):
        return None
    asked = content_words(question)
    values = {number for answer in answers for number in _numbers(answer)}
    best, other = 0, 0
    for sentence in _sentences(passages):
        shared = len(asked & content_words(sentence))
        numbers = _numbers(sentence)
        if numbers & values:
            best = max(best, shared)
        elif numbers:
            other = max(other, shared)
    if best and other > best and other >= 0.6 * len(asked):
        reason = "another sentence has more words of the question and another number"
        return Suspicion("second answer", reason)
    return None


def _numbers(text: str) -> set[str]:
    """The numbers in a text, words as digits."""
    return {_WORDS.get(number.casefold(), number) for number in _NUMBER.findall(text)}


def _sentences(passages: Sequence[str]) -> Iterator[str]:
    for passage in passages:
        yield from _SENTENCE.split(passage)
