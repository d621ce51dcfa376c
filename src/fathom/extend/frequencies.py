"""Inverse frequencies and attention factors of the methods that change frequencies, as ``transformers`` has them.

A pair of coordinates i of a head turns by ``inv_freq[i]`` radians from one position to the next. The attention factor
multiplies cosines and sines, so that scores are multiplied by its square.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.extend.methods import Method
from fathom.types import FathomError

Floats: TypeAlias = NDArray[np.float32]
_MIXED_POWER = 0.75


def plain(head_dim: int, base: float) -> Floats:
    """Inverse frequencies without any method: base^(-2i/d), shape (d/2,).

    Args:
        head_dim: Coordinates of a head that turn, an even number.
        base: The model's ``rope_theta``.
    """
    return np.float32(1) / _turns(head_dim, base)


def frequencies(method: Method, head_dim: int, base: float, length: int | None = None) -> tuple[Floats, float]:
    """Inverse frequencies, shape (d/2,), and the attention factor of a method.

    Args:
        method: With its values (``settled``). Maps of positions do not change frequencies.
        head_dim: Coordinates of a head that turn, an even number.
        base: The model's ``rope_theta``.
        length: Tokens of the request, prompt and reply together, for ``dynamic`` and ``longrope``; by default the
            trained window.

    Raises:
        FathomError: The size of the head or the base is wrong, or divisors are not one for each frequency.
    """
    if head_dim < 4 or head_dim % 2:
        raise FathomError(f"head size {head_dim}: expected an even number of at least 4")
    if not 1 < base < math.inf:
        raise FathomError(f"base {base:g}: expected a number above 1, such as 10000")
    name = method.name
    if name == "pi":
        return plain(head_dim, base) / np.float32(method.number("factor")), 1.0
    if name == "ntk":
        return _ntk(method, head_dim, base), 1.0
    if name == "dynamic":
        return plain(head_dim, dynamic_base(method, head_dim, base, length)), 1.0
    if name == "abf":
        return plain(head_dim, method.number("theta")), 1.0
    if name == "yarn":
        return _yarn(method, head_dim, base)
    if name == "llama3":
        return _llama3(method, plain(head_dim, base)), 1.0
    if name == "longrope":
        return _longrope(method, head_dim, base, length)
    return plain(head_dim, base), 1.0


def ntk_base(head_dim: int, base: float, factor: float) -> float:
    """The base with which the slowest frequency is divided by the factor (NTK-aware)."""
    return float(base * factor ** (head_dim / (head_dim - 2)))


def dynamic_base(method: Method, head_dim: int, base: float, length: int | None) -> float:
    """The base of dynamic NTK for a request of ``length`` tokens."""
    original, factor = method.whole("original"), method.number("factor")
    longer = max(length or original, original)
    return ntk_base(head_dim, base, factor * longer / original - (factor - 1))


def is_long(method: Method, length: int | None) -> bool:
    """Whether LongRoPE uses the long factors for a request of ``length`` tokens."""
    return length is not None and length > method.whole("original")


def _turns(head_dim: int, base: float) -> Floats:
    # The exponent is rounded to float32 as torch does, which decides the last digits of the result.
    exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    return np.power(float(np.float32(base)), exponents.astype(np.float64)).astype(np.float32)


def _ntk(method: Method, head_dim: int, base: float) -> Floats:
    factor = method.number("factor")
    if method["form"] == "su":
        return plain(head_dim, base * factor) * np.float32(factor ** (-2 / head_dim))
    if method["form"] == "mixed":
        half = head_dim // 2
        places = np.arange(1, half + 1, dtype=np.float64)
        slower: Floats = np.exp(-math.log(factor) / half**_MIXED_POWER * places**_MIXED_POWER).astype(np.float32)
        return plain(head_dim, base) * slower
    return plain(head_dim, ntk_base(head_dim, base, factor))


def _yarn(method: Method, head_dim: int, base: float) -> tuple[Floats, float]:
    factor, original = method.number("factor"), method.whole("original")

    def place(turns: float) -> float:
        """The frequency that makes so many turns in the trained window."""
        return head_dim * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = place(method.number("beta_fast")), place(method.number("beta_slow"))
    if method["truncate"]:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, head_dim - 1)
    if low == high:
        high += 0.001
    ramp = (np.arange(head_dim // 2, dtype=np.float32) - np.float32(low)) / np.float32(high - low)
    kept = np.float32(1) - np.clip(ramp, 0, 1)
    turns = _turns(head_dim, base)
    divided = np.float32(1) / (np.float32(factor) * turns)
    found = divided * (np.float32(1) - kept) + np.float32(1) / turns * kept
    return found.astype(np.float32), _yarn_attention(method, factor)


def _yarn_attention(method: Method, factor: float) -> float:
    def scale(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    if method["attention_factor"] is not None:
        return method.number("attention_factor")
    if method["mscale"] and method["mscale_all_dim"]:
        return scale(method.number("mscale")) / scale(method.number("mscale_all_dim"))
    return scale(1)


def _llama3(method: Method, inverse: Floats) -> Floats:
    factor, original = method.number("factor"), method.whole("original")
    low, high = method.number("low_freq_factor"), method.number("high_freq_factor")
    wavelength = np.float32(2 * math.pi) / inverse
    smooth = (np.float32(original) / wavelength - np.float32(low)) / np.float32(high - low)
    divided = inverse / np.float32(factor)
    between = (np.float32(1) - smooth) * divided + smooth * inverse
    found = np.where(wavelength > original / low, divided, np.where(wavelength < original / high, inverse, between))
    return found.astype(np.float32)


def _longrope(method: Method, head_dim: int, base: float, length: int | None) -> tuple[Floats, float]:
    long = method.numbers("long_factor")
    short = method.numbers("short_factor") or (1.0,) * len(long)
    for name, divisors in (("long_factor", long), ("short_factor", short)):
        if len(divisors) != head_dim // 2:
            raise FathomError(
                f"longrope: {name} has {len(divisors)} numbers, but heads of {head_dim} have {head_dim // 2} "
                "frequencies; give one number for each"
            )
    chosen = np.asarray(long if is_long(method, length) else short, dtype=np.float32)
    inverse = np.float32(1) / (chosen * _turns(head_dim, base))
    factor, original = method.number("factor"), method.whole("original")
    attention = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
    return inverse, attention if method["attention_factor"] is None else method.number("attention_factor")
