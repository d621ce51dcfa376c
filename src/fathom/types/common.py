"""Types shared by all others: JSON, facets, and user-fixable errors."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Facet: TypeAlias = str | int | float | bool
Class = TypeVar("Class", bound=type)
_OPTION = re.compile(r"`([a-z][a-z0-9_]*)`")


class FathomError(Exception):
    """A user-fixable error: the message says what is wrong and what to do. Commands exit with code 2.

    A message names options as Python does, in backticks: ```window` 3: ...``. The command line shows ``--window``.
    """

    def renamed(self, **names: str) -> "FathomError":
        """The same error of a layer in which options have other names: ``renamed(model_base_url="judge_base_url")``."""
        return FathomError(with_options(str(self), lambda name: f"`{names.get(name, name)}`"))

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message; the lines of fathom's code would say nothing more to its reader."""
        return [f"{type(self).__name__}: {self}"]


class StoppedError(FathomError):
    """Work was stopped, by a limit or by hand: what would come next must not begin either."""


def with_options(message: str, named: Callable[[str], str]) -> str:
    """A message with each option in it, which stands in backticks, named in another way.

    Args:
        named: Gives the words for an option from its name in Python.
    """
    return _OPTION.sub(lambda match: named(match[1]), message)


def as_flags(message: str) -> str:
    """A message as pages that commands write show it: ``--base-url`` for ```base_url```."""
    return with_options(message, lambda name: f"--{name.replace('_', '-')}")


def earlier_names(**names: str) -> Callable[[Class], Class]:
    """Decorate a dataclass so that earlier names of fields still work: ``earlier_names(card="candidate")``."""

    def decorate(decorated: Class) -> Class:
        init = vars(decorated)["__init__"]

        @wraps(init)
        def renaming(self: object, *args: Any, **given: Any) -> None:
            renamed = {names[name]: given.pop(name) for name in names if name in given}
            init(self, *args, **given | renamed)

        properties = {earlier: property(attrgetter(name)) for earlier, name in names.items()}
        for name, value in {"__init__": renaming, **properties}.items():
            setattr(decorated, name, value)
        return decorated

    return decorate
