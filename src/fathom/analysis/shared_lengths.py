"""Lengths that all models have: averages over different lengths cannot be compared.

100-LongBench prints 256k for five of eight models only, and averages each over its own lengths; the order of two models
changes if both are averaged over the same ones.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from fathom.analysis.base import BASE_LENGTHS
from fathom.analysis.profile import Profile, at_columns
from fathom.plugins.names import listed
from fathom.tokens.length import format_length, named_lengths
from fathom.types import FathomError


@dataclass(frozen=True, slots=True)
class SharedLengths:
    """The lengths of one task beyond the base.

    Attributes:
        lengths: Those that every model has, ascending.
        others: The remaining ones, each with the models that have it.
    """

    lengths: tuple[int, ...]
    others: tuple[tuple[int, tuple[str, ...]], ...]


def shared_lengths(averaged: Iterable[tuple[str, str, Sequence[int]]]) -> dict[str, SharedLengths]:
    """The shared lengths of every task.

    Args:
        averaged: Name of the model, task and its lengths beyond the base; only models that have an average.
    """
    by_task: dict[str, dict[str, set[int]]] = {}
    for model, task, lengths in averaged:
        by_task.setdefault(task, {}).setdefault(model, set()).update(lengths)
    return {task: _shared(models) for task, models in by_task.items()}


def _shared(models: Mapping[str, set[int]]) -> SharedLengths:
    common = set.intersection(*models.values())
    rest = sorted(set.union(*models.values()) - common)
    others = tuple((length, tuple(name for name, own in models.items() if length in own)) for length in rest)
    return SharedLengths(tuple(sorted(common)), others)


def uneven_notes(shared: Mapping[str, SharedLengths], averaged: str) -> dict[str, str]:
    """For every task whose models have different lengths, a sentence that names them.

    Args:
        shared: Result of :func:`shared_lengths`.
        averaged: What the averages are over: its "{lengths}" is replaced by the shared lengths in the format of
            options, its "{named}" by their names for a sentence.
    """
    notes = {task: _note(lengths, averaged) for task, lengths in shared.items() if lengths.others}
    if len(notes) == len(shared) and len(set(notes.values())) == 1:
        return notes
    return {task: f"{task}: {text}" for task, text in notes.items()}


def _note(shared: SharedLengths, averaged: str) -> str:
    by_models: dict[tuple[str, ...], list[int]] = {}
    for length, models in shared.others:
        by_models.setdefault(models, []).append(length)
    extra = ", ".join(f"{named_lengths(lengths)} only by {listed(models)}" for models, lengths in by_models.items())
    option = ",".join(map(format_length, shared.lengths)) or "no length"
    named = named_lengths(shared.lengths) if shared.lengths else "no length"
    return f"not all models have the same lengths ({extra}): {averaged.format(lengths=option, named=named)}"


def at_lengths(ready: Sequence[Profile], lengths: Sequence[int]) -> list[Profile]:
    """Profiles at some lengths only; base lengths stay.

    Args:
        ready: The profiles.
        lengths: Lengths in tokens.

    Raises:
        FathomError: No profile has one of the lengths.
    """
    tested = sorted({int(length) for profile in ready for length in profile.lengths})
    missing = [format_length(length) for length in lengths if length not in tested]
    if missing or not lengths:
        named = named_lengths(tested)
        raise FathomError(f"`lengths`: no score at {', '.join(missing) or 'no length'}; lengths with scores: {named}")
    return [_at(profile, lengths) for profile in ready]


def _at(profile: Profile, lengths: Sequence[int]) -> Profile:
    base = profile.base.lengths if profile.base is not None else BASE_LENGTHS
    keep = np.isin(profile.lengths, [*lengths, *base])
    return at_columns(profile, keep)
