"""What submitted results have in common with others on a site: their replies, or the name of their model.

Replies are compared by ``fathom.board.likeness``. Names are compared on the same board, without case, punctuation and
provider. The note on the entry states both with numbers and leaves the judgement to people.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from fathom.board.likeness import Prints, expected_alike, likeness, plain_name
from fathom.board.model import Entry
from fathom.plugins.names import system_name

if TYPE_CHECKING:
    from fathom.board.results import Batch

Name: TypeAlias = tuple[str, str]
"""Model and variant."""


def with_flags(
    results: Sequence[tuple[Batch, Mapping[str, Sequence[Entry]]]], others: Mapping[str, Sequence[Entry]]
) -> list[dict[str, list[Entry]]]:
    """Adds notes to submitted entries on what they have in common with others.

    Args:
        results: Results with their entries by the id of the board.
        others: Published entries, by the id of the board.

    Returns:
        The entries of ``results``, in the same order.
    """
    submitted = [place for place, (batch, _) in enumerate(results) if batch.provenance == "submitted"]
    prints = [batch.prints() for batch, _ in results] if submitted else []
    flagged = []
    for place, (batch, by_board) in enumerate(results):
        lines = {board: list(entries) for board, entries in by_board.items()}
        if batch.provenance == "submitted":
            copies = list(_copies(place, prints))
            for board, entries in lines.items():
                rivals = [*others.get(board, ()), *_measured(results, board)]
                lines[board] = [_noted(entry, [*_same_names(entry, rivals), *copies]) for entry in entries]
        flagged.append(lines)
    return flagged


def _copies(place: int, prints: Sequence[Mapping[Name, Prints]]) -> Iterator[str]:
    """What the replies of one bundle have in common with those of all other results."""
    for (mine, own_variant), own in prints[place].items():
        for at, others in enumerate(prints):
            for (model, variant), other in others.items():
                again = (plain_name(model), variant) == (plain_name(mine), own_variant)
                if at == place or again or expected_alike((mine, model)):
                    continue
                if (compared := likeness(own, other)).alike:
                    yield f"The same replies as {system_name(model, variant)}: {compared}."


def _measured(results: Sequence[tuple[Batch, Mapping[str, Sequence[Entry]]]], board: str) -> Iterator[Entry]:
    for batch, by_board in results:
        if batch.provenance != "submitted":
            yield from by_board.get(board, ())


def _same_names(entry: Entry, others: Sequence[Entry]) -> Iterator[str]:
    """Entries with the same name, once for each provenance."""
    name = plain_name(entry.model)
    kinds = {other.origin.provenance: other for other in others if name and plain_name(other.model) == name}
    for kind, match in kinds.items():
        yield f"The same name as the {kind} entry {match.model}; that it is the same model is not verified."


def _noted(entry: Entry, notes: Sequence[str]) -> Entry:
    note = " ".join(filter(None, (*notes, entry.origin.note)))
    return replace(entry, origin=replace(entry.origin, note=note))
