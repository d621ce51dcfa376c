"""Types shared by all others: JSON, facets, and user-fixable errors."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from operator import attrgetter
from typing import Any, TypeAlias, TypeVar

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Facet: TypeAlias = str | int | float | bool
Class = TypeVar("Class", bound=type)


class FathomError(Exception):
    """A user-fixable error: the message says what is wrong and what to do. Commands exit with code 2."""

    def _render_traceback_(self) -> list[str]:
        """What a notebook shows: the message; the lines of fathom's code would say nothing more to its reader."""
        return [f"{type(self).__name__}: {self}"]


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
