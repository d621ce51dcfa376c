"""Candidate answers: which parts of a thread can be gold or distractors, and which threads have similar questions."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from fathom.types import Document, Span

IN_COMMON = 0.4  # share of the tags, Ada-LEval, appendix A
UNTAGGED = "untagged"  # placeholder of Stack Exchange for a question without tags


@dataclass(frozen=True, slots=True)
class CandidateThread:
    """A thread as a source of candidates. Answers without text, or with an image, are excluded.

    Attributes:
        document: The thread.
        site: Its site.
        tags: Its tags.
        question: The question.
        gold: The accepted answer; None if there is none, or its text is incomplete.
        before: The answers given before the accepted one: distractors at every length.
        answers: All its answers: distractors of other questions.
    """

    document: Document
    site: str
    tags: frozenset[str]
    question: Span
    gold: Span | None
    before: tuple[Span, ...]
    answers: tuple[Span, ...]


def candidate_thread(document: Document) -> CandidateThread | None:
    """The candidates of a document; None if it is not a thread."""
    meta = document.meta
    images, accepted = meta.get("images"), meta.get("accepted")
    if "thread" not in meta or not isinstance(images, Sequence):
        return None
    question, *posts = (Span(document.id, start, end) for start, end in document.passages)
    whole = [post.end > post.start and not image for post, image in zip(posts, images, strict=True)]
    gold = posts[accepted] if isinstance(accepted, int) and whole[accepted] else None
    seen = {unspaced(document, gold)} if gold else set()
    before: list[Span] = []
    for number in range(accepted if isinstance(accepted, int) else 0):
        if whole[number] and (text := unspaced(document, posts[number])) not in seen:
            seen.add(text)
            before.append(posts[number])
    return CandidateThread(
        document=document,
        site=str(meta.get("site", "")),
        tags=_tags_of(document),
        question=question,
        gold=gold,
        before=tuple(before),
        answers=tuple(post for post, usable in zip(posts, whole, strict=True) if usable),
    )


def _tags_of(document: Document) -> frozenset[str]:
    """The tags of a thread, without the placeholder for none."""
    tags = document.meta.get("tags")
    return frozenset(map(str, tags)) - {UNTAGGED} if isinstance(tags, Sequence) else frozenset()


def unspaced(document: Document, span: Span) -> str:
    """The text of a span without blanks, to detect duplicates."""
    return "".join(document.text[span.start : span.end].split())


def in_common(one: frozenset[str], other: frozenset[str]) -> float:
    """Share of tags in common: common tags divided by the larger number of tags.

    The paper does not specify the base of its 40%. With the larger number, the measure is symmetric.
    """
    return len(one & other) / max(len(one), len(other), 1)


class ThreadIndex:
    """Finds the threads of the same site with tags in common."""

    def __init__(self, threads: Iterable[CandidateThread]) -> None:
        self._by_tag: dict[tuple[str, str], list[CandidateThread]] = {}
        for thread in threads:
            for tag in thread.tags:
                self._by_tag.setdefault((thread.site, tag), []).append(thread)

    def similar(self, thread: CandidateThread) -> Iterator[CandidateThread]:
        """Other threads of its site with at least 40% of their tags in common."""
        count = len(thread.tags)
        least = next((n for n in range(1, count + 1) if n / count >= IN_COMMON), 1)
        return (other for other in self._near(thread, least) if in_common(thread.tags, other.tags) >= IN_COMMON)

    def loose(self, thread: CandidateThread) -> Iterator[CandidateThread]:
        """Other threads of its site with a tag in common, but less than 40% of them."""
        return (other for other in self._near(thread, 1) if in_common(thread.tags, other.tags) < IN_COMMON)

    def _near(self, thread: CandidateThread, least: int) -> Iterator[CandidateThread]:
        """Other threads, each once, including all with ``least`` tags in common. Lazy: some callers stop early.

        Rare tags come first, and the most frequent ones are skipped: a thread with two tags in common has one among all
        but the most frequent.
        """
        listed = [(tag, self._by_tag.get((thread.site, tag), [])) for tag in thread.tags]
        listed.sort(key=lambda entry: (len(entry[1]), entry[0]))
        passed: set[str] = set()
        for tag, others in listed[: len(listed) - least + 1]:
            for other in others:
                if other is not thread and passed.isdisjoint(other.tags):
                    yield other
            passed.add(tag)
