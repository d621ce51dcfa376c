"""The names by which a model of ``transformers`` takes a cache and returns it.

They are ``cache``, and ``past_key_values`` before version 5.24 and in models with code of their own.
"""

import inspect
from typing import Any

NAMES = ("cache", "past_key_values")


def with_cache(model: Any, cache: Any) -> dict[str, Any]:
    """The argument with which a model, or its ``generate``, is given a cache; nothing for None.

    Args:
        model: The model, or its base model.
        cache: A cache of ``transformers``, or None.
    """
    if cache is None:
        return {}
    known = inspect.signature(model.forward).parameters
    return {next((name for name in NAMES if name in known), NAMES[-1]): cache}


def cache_in(output: Any) -> Any:
    """The cache that a model or its ``generate`` returned; None if there is none."""
    return next((cache for name in NAMES if (cache := getattr(output, name, None)) is not None), None)
