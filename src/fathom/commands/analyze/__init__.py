"""Studies of runs: LongScore, curves, effective length, position, comparisons."""

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fathom.names import unknown

NAMES = (
    *("longscore", "steady", "curve", "length", "truncation", "answers", "counts", "compare", "agreement"),
    *("known", "position", "judge", "categories", "breakdown", "repeats", "neighbours", "thinking", "difficulty"),
)
"""The studies, in the order of the help."""


def analyze(study: str, sources: Iterable[Path | str], **options: Any) -> Sequence[Any]:
    """One study by its name; ``fathom.api.analyze_STUDY`` are the same functions with their options.

    Args:
        study: One of ``NAMES``.
        sources: Run folders and rows files.
        options: Those of the study.

    Raises:
        FathomError: There is no such study, or see there.
        TypeError: The study has no such option; the message names the nearest one.
    """
    if study not in NAMES:
        raise unknown("study", study, NAMES)
    function = getattr(importlib.import_module(f"{__name__}.{study}"), study)
    found: Sequence[Any] = function(sources, **options)
    return found
