"""Study runs: LongScore, curves, effective length, position, comparisons."""

import importlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from fathom.plugins.names import unknown

NAMES = (
    *("longscore", "retention", "curve", "length", "truncation", "answers", "counts", "compare", "agreement"),
    *("closed-book", "position", "judge", "categories", "breakdown", "repeats", "adjacent", "thinking", "difficulty"),
)
"""The studies, in the order of the help."""
FORMER = {"steady": "retention", "neighbours": "adjacent", "known": "closed-book"}
"""Former names of studies, which keep working."""


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
    name = FORMER.get(study, study).replace("_", "-")
    if name not in NAMES:
        raise unknown("study", study, NAMES)
    module = name.replace("-", "_")
    function = getattr(importlib.import_module(f"{__name__}.{module}"), f"analyze_{module}")
    found: Sequence[Any] = function(sources, **options)
    return found
