"""Tiers: which models stand for strong, middling and weak ones when questions are labelled by difficulty."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from fathom.analysis.questions import Asked
from fathom.names import system_name, unknown
from fathom.types import FathomError

TIERS = ("high", "mid", "low")
_EXPECTED = 'expected three lists of models, for instance high = ["model a", "model b"], and mid and low likewise'


def read_tiers(path: Path) -> dict[str, tuple[str, ...]]:
    """Reads tiers from a TOML file with the lists ``high``, ``mid`` and ``low``.

    Raises:
        FathomError: It cannot be read, or see ``checked_tiers``.
    """
    try:
        with path.open("rb") as stream:
            given = tomllib.load(stream)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise FathomError(f"{path}: cannot be read as TOML: {reason}; {_EXPECTED}") from error
    return checked_tiers(given, f"{path}: ")


def checked_tiers(given: Mapping[str, object], source: str = "") -> dict[str, tuple[str, ...]]:
    """Tiers with the three lists of names that they must have.

    Args:
        given: The lists by the name of their tier.
        source: Where they are from, for messages.

    Raises:
        FathomError: A tier is missing, unknown, empty or no list of texts, or a model is named twice.
    """
    if other := sorted(set(given) - set(TIERS)):
        raise FathomError(f"{source}unknown tier {other[0]!r}; {_EXPECTED}")
    tiers: dict[str, tuple[str, ...]] = {}
    for tier in TIERS:
        names = given.get(tier)
        if names is None:
            raise FathomError(f"{source}no tier {tier!r}; {_EXPECTED}")
        if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
            raise FathomError(f"{source}tier {tier!r} is no list of texts; {_EXPECTED}")
        if not names:
            raise FathomError(f"{source}tier {tier!r} names no model; {_EXPECTED}")
        tiers[tier] = tuple(names)
    _check_once(((tier, name) for tier in TIERS for name in tiers[tier]), source)
    return tiers


def models_of(tiers: Mapping[str, Sequence[str]], known: Sequence[Asked]) -> dict[str, tuple[Asked, ...]]:
    """The replies of the models of each tier.

    Args:
        tiers: Names as ``checked_tiers`` gives them: of a model that has one variant, with its provider or without, or
            ``model · variant``.
        known: What models were asked.

    Raises:
        FathomError: There is no such model, it has several variants or providers, or two names are of the same one.
    """
    full = {system_name(one.model, one.variant): one for one in known}
    chosen = {tier: tuple(_find(name, full) for name in names) for tier, names in tiers.items()}
    _check_once((tier, system_name(one.model, one.variant)) for tier, models in chosen.items() for one in models)
    return chosen


def _find(name: str, full: Mapping[str, Asked]) -> Asked:
    if name in full:
        return full[name]
    variants = [key for key, one in full.items() if one.model == name]
    # Papers name models without their providers.
    variants = variants or [
        key
        for key, one in full.items()
        if name in (last := one.model.rpartition("/")[2], system_name(last, one.variant))
    ]
    if len(variants) > 1:
        raise FathomError(f"model {name!r} has several variants: name one of them, {', '.join(map(repr, variants))}")
    if not full:
        raise FathomError(
            f"no reply of model {name!r}, or of any other, has a score: questions cannot be labelled from averages"
        )
    if not variants:
        raise unknown("model", name, full, "fathom analyze counts")
    return full[variants[0]]


def _check_once(named: Iterable[tuple[str, str]], source: str = "") -> None:
    seen: dict[str, str] = {}
    for tier, name in named:
        if name in seen:
            where = f"in the tiers {seen[name]!r} and {tier!r}" if seen[name] != tier else f"twice in the tier {tier!r}"
            raise FathomError(f"{source}model {name!r} is {where}; name it once")
        seen[name] = tier
