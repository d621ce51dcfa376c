"""Print the inverse frequencies and the attention factor of a method."""

import math
from dataclasses import KW_ONLY, dataclass
from typing import Annotated, Any

from fathom.commands.lab.shared import Heads, MaybeTokens, MethodName, Sizes, method_of
from fathom.commands.shared import Json
from fathom.options.declare import command, opt, unset
from fathom.printing import readable


class FrequenciesOptions(Heads, Sizes, Json):
    method: MethodName
    _: KW_ONLY
    length: Annotated[MaybeTokens, opt("Tokens of the request, prompt and reply together.")] = unset


@readable
@dataclass(frozen=True)
class Frequencies:
    """Inverse frequencies of a method.

    Attributes:
        method: Name, options and source.
        head_dim: Coordinates of a head that turn.
        base: The model's ``rope_theta``.
        length: Tokens of the request; None if not given.
        attention_factor: Factor of cosines and sines.
        inv_freq: Radians from one position to the next, one for each pair of coordinates, as float32.
    """

    method: dict[str, Any]
    head_dim: int
    base: float
    length: int | None
    attention_factor: float
    inv_freq: tuple[float, ...]


@command(FrequenciesOptions)
def lab_frequencies(options: FrequenciesOptions) -> Frequencies:
    """Print the inverse frequencies and the attention factor of a method."""
    from fathom.extend.frequencies import frequencies

    method = method_of(options.method, options, factor=options.factor, length=options.length)
    inverse, attention = frequencies(method, options.head_dim, options.base, options.length)
    return Frequencies(
        method=method.record(),
        head_dim=options.head_dim,
        base=options.base,
        length=options.length,
        attention_factor=attention,
        inv_freq=tuple(map(float, inverse)),
    )


def main(line: FrequenciesOptions) -> None:
    """Print a table of wavelengths, or JSON."""
    from fathom.extend.frequencies import plain_frequencies
    from fathom.options.terminal import print_json, print_records

    result = lab_frequencies.body(line)
    if line.as_json:
        return print_json(result)
    before = plain_frequencies(result.head_dim, result.base)
    print_records(
        [
            {
                "pair": pair,
                "wavelength without": f"{2 * math.pi / old:,.1f}",
                "wavelength with": f"{2 * math.pi / new:,.1f}",
                "divided by": f"{old / new:.4g}",
                "inv freq": f"{new:.8g}",
            }
            for pair, (old, new) in enumerate(zip(map(float, before), result.inv_freq, strict=True))
        ],
        denominator="none",
    )
    print(f"attention factor {result.attention_factor:.6g}; wavelengths in tokens")
