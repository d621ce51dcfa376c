"""Options that several commands of the lab have."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

from fathom.commands.shared import Json
from fathom.options.declare import Options, Read, arg, at_least, opt, unset
from fathom.options.values import Pairs

if TYPE_CHECKING:
    from fathom.extend.methods import Method


def tokens(given: int | str) -> int:
    """A number of tokens, also a small one."""
    from fathom.extend.methods import tokens_of

    return tokens_of(given)


def several(given: Sequence[str] | str) -> tuple[str, ...]:
    """One text or several."""
    return (given,) if isinstance(given, str) else tuple(given)


MethodName: TypeAlias = Annotated[str, arg("The method, as in `fathom lab methods`.")]
MaybeTokens: TypeAlias = Annotated[
    Read[int | str | None, int | None], opt(metavar="TOKENS", read=tokens, check=at_least(1))
]


class Sizes(Options, kw_only=True):
    """Method."""

    original: Annotated[MaybeTokens, opt("The window that the model was trained with.")] = unset
    option: Annotated[
        Pairs, opt("Another option of the method, such as beta_fast=16. May be given more than once.", "-O")
    ] = unset


class Maps(Sizes, Json, kw_only=True):
    """Method."""

    window: Annotated[MaybeTokens, opt("Distances below this stay exact (rerope, leaky, selfextend, streaming).")] = (
        unset
    )
    group: Annotated[
        float | None,
        opt("Tokens that share a position (selfextend), or the divisor (leaky).", former=("--k",), check=at_least(1)),
    ] = None
    chunk: Annotated[MaybeTokens, opt("The largest distance (dca).")] = unset
    local: Annotated[MaybeTokens, opt("Distances that stay exact at the edge of a chunk (dca).")] = unset
    sinks: Annotated[int | None, opt("First tokens that stay (streaming).", check=at_least(0))] = None


class Heads(Options, kw_only=True):
    """Model."""

    head_dim: Annotated[int, opt("Coordinates of a head that turn.", check=at_least(4))] = 128
    base: Annotated[float, opt("The model's rope_theta.", check=at_least(1, above=True))] = 10_000.0
    factor: Annotated[float | None, opt("How many times the window becomes longer; default: length/original.")] = None


def method_of(name: str, options: Sizes, **given: Any) -> "Method":
    """The method with the values that the command has and those that follow from them.

    Args:
        given: Values of further options; None leaves one out.

    Raises:
        FathomError: The method is unknown, or takes no such option or value.
    """
    from fathom.extend.methods import METHODS, make_method, settled

    values = {"original": options.original, **given, **(options.option or {})}
    kind = METHODS.get(name)
    # These describe the model and the request, and every command takes them; a method may not need them.
    unneeded = {"original", "length"} - {parameter.name for parameter in kind.parameters} if kind else set()
    made = make_method(name, {key: value for key, value in values.items() if key not in unneeded})
    return settled(made, None)
