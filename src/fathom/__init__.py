"""fathom measures how reliably a language model uses long contexts.

    import fathom as fm

    fm.api.run("starter", model="openai/gpt-5", lengths=["8k", 32768], items=10)
    fm.api.analyze_curve("runs/starter/openai-gpt-5")

``fathom.api`` has one function for every command; ``fathom.types`` has the values that they take and return.
"""

import difflib
import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fathom import api as api
    from fathom import types as types

__version__ = "0.1.0"
_OFFERED = ("api", "types")


def __getattr__(name: str) -> Any:
    if name in _OFFERED:
        return importlib.import_module(f"fathom.{name}")
    message = f"module 'fathom' has no attribute {name!r}"
    if not name.startswith("_") and (near := difflib.get_close_matches(name, __getattr__("api").__all__, n=1)):
        message += f"; did you mean fathom.api.{near[0]}?"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return [*globals(), *_OFFERED]
