"""What models drafted: candidates, and what was rejected with the reason."""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from fathom.benchmarks.pro.official import fold
from fathom.plugins.names import folder_name
from fathom.studio.types import Candidate, Content, Sample


@dataclass(frozen=True, slots=True)
class RejectedDraft:
    """A candidate or a reply that could not be used.

    Attributes:
        drafter: Name of the model.
        reason: Why.
        text: What the model wrote, shortened.
    """

    drafter: str
    reason: str
    text: str = ""

    def __str__(self) -> str:
        return f"{self.drafter}: rejected: {self.reason}"


@dataclass(frozen=True, slots=True)
class Drafts:
    """What models drafted for one sample.

    Attributes:
        candidates: Usable candidates.
        rejected: Others.
        notes: What was left out of usable ones.
        cost: US dollars; None if a price is unknown.
    """

    candidates: tuple[Candidate, ...] = ()
    rejected: tuple[RejectedDraft, ...] = ()
    notes: tuple[str, ...] = ()
    cost: float | None = 0.0

    def __add__(self, other: "Drafts") -> "Drafts":
        cost = None if self.cost is None or other.cost is None else self.cost + other.cost
        return Drafts(
            self.candidates + other.candidates, self.rejected + other.rejected, self.notes + other.notes, cost
        )


def candidate_id(drafter: str, number: int, sample: Sample) -> str:
    """An id that no candidate of the sample has."""
    taken = {candidate.id for candidate in sample.candidates}
    name = folder_name(drafter)[:60]
    while (id := f"{name}-{number}") in taken:
        number += 1
    return id


def questions_of(samples: Iterable[Sample]) -> dict[str, set[str]]:
    """What samples and their candidates ask, folded, by document."""
    asked: dict[str, set[str]] = {}
    for sample in samples:
        contents = (sample.content, *(candidate.content for candidate in sample.candidates))
        questions = {fold(content.question) for content in contents} - {""}
        for document in sample.documents:
            asked.setdefault(document, set()).update(questions)
    return asked


def without_repeats(drafted: Drafts, earlier: Sequence[Candidate], elsewhere: Container[str] = ()) -> Drafts:
    """Candidates whose question no other one asks; ids are made unique.

    Args:
        earlier: Candidates of the same sample.
        elsewhere: What other samples over its documents ask, folded.
    """
    asked = {fold(candidate.content.question) for candidate in earlier}
    ids = {candidate.id for candidate in earlier}
    kept: list[Candidate] = []
    rejected = list(drafted.rejected)
    for candidate in drafted.candidates:
        question = fold(candidate.content.question)
        if question in asked or question in elsewhere:
            other = "candidate" if question in asked else "sample over the same document"
            rejected.append(
                RejectedDraft(candidate.drafter, f"another {other} asks the same", shortened_text(question))
            )
            continue
        asked.add(question)
        id, number = candidate.id, 2
        while id in ids:
            id, number = f"{candidate.id}.{number}", number + 1
        ids.add(id)
        kept.append(replace(candidate, id=id))
    return replace(drafted, candidates=tuple(kept), rejected=tuple(rejected))


def merged(content: Content, other: Content) -> Content:
    """Content with what another draft has beyond it: components of the answer, evidence, rationale and solution."""
    parts = {fold(component.text): component for component in content.components}
    for component in other.components:
        key = fold(component.text)
        known = parts.get(key)
        evidence = tuple(dict.fromkeys((*(known.evidence if known else ()), *component.evidence)))
        parts[key] = replace(known or component, evidence=evidence)
    return replace(
        content,
        components=tuple(parts.values()),
        rationale=_joined(content.rationale, other.rationale),
        solution=_joined(content.solution, other.solution),
    )


def _joined(*texts: str) -> str:
    return "\n\n".join(dict.fromkeys(filter(None, texts)))


def shortened_text(text: str, most: int = 400) -> str:
    """A text for a message."""
    return text if len(text) <= most else f"{text[: most - 1]}…"
