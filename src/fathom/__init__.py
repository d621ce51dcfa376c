"""fathom measures how reliably a language model uses long contexts.

    import fathom as fm

    fm.api.run("starter", model="openai/gpt-5", lengths=["8k", 32768], items=10)
    fm.api.analyze_curve("runs/starter/openai-gpt-5")

``fathom.api`` has one function for every command; ``fathom.types`` has the values that they take and return.
"""

import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

from fathom.plugins.former import install

if TYPE_CHECKING:
    from fathom import api as api
    from fathom import types as types

__version__ = "0.1.0"
_OFFERED = ("api", "types")
install()


def __getattr__(name: str) -> Any:
    if name in _OFFERED:
        return importlib.import_module(f"fathom.{name}")
    message = f"module 'fathom' has no attribute {name!r}"
    # ``from fathom import run`` asks here before it imports the package of this name.
    if not name.startswith("_") and importlib.util.find_spec(f"fathom.{name}") is None:
        from fathom.plugins.names import did_you_mean

        offered = [f"fathom.api.{function}" for function in vars(importlib.import_module("fathom.api"))]
        message += did_you_mean(f"fathom.api.{name}", offered, cutoff=0.8) or "; its functions are in fathom.api"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return ["__version__", *_OFFERED]
