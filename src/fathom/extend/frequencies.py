"""The methods that change the frequencies of rotary positions, as ``transformers`` has them.

A pair of coordinates i of a head turns by ``inv_freq[i]`` radians from one position to the next. The attention factor
multiplies cosines and sines, so that scores are multiplied by its square.
"""

import math
from collections.abc import Callable, Hashable
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.extend.kinds import FACTOR, LENGTH, ORIGINAL, Family, Kind, Method, Parameter, Server, declared
from fathom.types import FathomError, Json

Floats: TypeAlias = NDArray[np.float32]
_MIXED_POWER = 0.75


def _factor_times_window(method: Method) -> int | None:
    if method["original"] is None or method["factor"] is None:
        return None
    return int(method.number("original") * method.number("factor"))


@dataclass(frozen=True, slots=True)
class FrequencyKind(Kind):
    """A method that changes frequencies.

    Attributes:
        compute: Inverse frequencies, shape (d/2,), and the attention factor; arguments as of ``frequencies``.
        reach: See ``Kind``; by default the factor times the trained window.
        state: Of methods whose frequencies depend on the length of a request: what they follow from, so that requests
            with equal values can share a cache. Arguments as of ``frequencies``.
        base: The base that gives the same frequencies, of methods for which there is one.
        rope_type: Its name in the ``rope_parameters`` of transformers; "" where it has none of its own.
        rope: What ``rope_parameters`` has besides the options that are given, for heads of so many coordinates.
        llama: Words of llama.cpp's command line; a base needs none.
        fault: What transformers computes in a faulty way for a model whose configuration has it; "" for nothing.
    """

    family: ClassVar[Family] = "frequencies"

    _: KW_ONLY
    compute: Callable[[Method, int, float, int | None], tuple[Floats, float]]
    reach: Callable[[Method], int | None] = _factor_times_window
    state: Callable[[Method, int, float, int], Hashable] | None = None
    base: Callable[[Method, int, float], float] | None = None
    rope_type: str = ""
    rope: Callable[[Method, int], dict[str, Json]] = lambda method, head_dim: {}
    llama: Callable[[Method], tuple[str, ...]] = lambda method: ()
    fault: str = ""

    @property
    def per_request(self) -> bool:
        """Whether the frequencies of a request depend on its length."""
        return self.state is not None


def plain_frequencies(head_dim: int, base: float) -> Floats:
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
    kind = method.kind
    if isinstance(kind, FrequencyKind):
        return kind.compute(method, head_dim, base, length)
    return plain_frequencies(head_dim, base), 1.0


def rope_parameters(method: Method, head_dim: int, base: float) -> dict[str, Json]:
    """The ``rope_parameters`` of transformers for a method that it has itself.

    Args:
        method: With its values (``settled``); one that changes frequencies, NTK in its form ``bloc97``.
        head_dim: Coordinates of a head that turn.
        base: The model's ``rope_theta``.
    """
    kind = method.kind
    assert isinstance(kind, FrequencyKind)
    if kind.base is not None:
        return {"rope_type": "default", "rope_theta": kind.base(method, head_dim, base)}
    parameters: dict[str, Json] = {"rope_type": kind.rope_type, "rope_theta": base}
    for parameter in kind.parameters:
        value = method[parameter.name]
        if value is not None and parameter not in (LENGTH, ORIGINAL):
            parameters[parameter.name] = list(value) if isinstance(value, tuple) else value
    parameters |= {name: value for name, value in kind.rope(method, head_dim).items() if name not in parameters}
    if "original" in kind.bound:
        parameters["original_max_position_embeddings"] = method["original"]
    return parameters


def with_rope_type(rope_type: str) -> FrequencyKind | None:
    """The method that transformers calls so; None if there is none."""
    return next((kind for kind in FREQUENCIES.values() if rope_type and kind.rope_type == rope_type), None)


def _turns(head_dim: int, base: float) -> Floats:
    # The exponent is rounded to float32 as torch does, which decides the last digits of the result.
    exponents = np.arange(0, head_dim, 2, dtype=np.float32) / np.float32(head_dim)
    return np.power(float(np.float32(base)), exponents.astype(np.float64)).astype(np.float32)


def _pi(method: Method, head_dim: int, base: float, _: int | None) -> tuple[Floats, float]:
    return plain_frequencies(head_dim, base) / np.float32(method.number("factor")), 1.0


def _ntk_base(head_dim: int, base: float, factor: float) -> float:
    """The base with which the slowest frequency is divided by the factor (NTK-aware)."""
    return float(base * factor ** (head_dim / (head_dim - 2)))


def _ntk(method: Method, head_dim: int, base: float, _: int | None) -> tuple[Floats, float]:
    factor = method.number("factor")
    if method["form"] == "su":
        return plain_frequencies(head_dim, base * factor) * np.float32(factor ** (-2 / head_dim)), 1.0
    if method["form"] == "mixed":
        half = head_dim // 2
        places = np.arange(1, half + 1, dtype=np.float64)
        slower: Floats = np.exp(-math.log(factor) / half**_MIXED_POWER * places**_MIXED_POWER).astype(np.float32)
        return plain_frequencies(head_dim, base) * slower, 1.0
    return plain_frequencies(head_dim, _ntk_base(head_dim, base, factor)), 1.0


def _ntk_unserved(method: Method, _: Server) -> str:
    return "" if method["form"] == "bloc97" else f"the form {method['form']} is not implemented there"


def _dynamic_base(method: Method, head_dim: int, base: float, length: int | None) -> float:
    """The base of dynamic NTK for a request of ``length`` tokens."""
    original, factor = method.whole("original"), method.number("factor")
    longer = max(length or original, original)
    return _ntk_base(head_dim, base, factor * longer / original - (factor - 1))


def _dynamic_unserved(_: Method, server: Server) -> str:
    if server == "llamacpp":
        return "the base of a request cannot depend on its length there"
    return "rope_type dynamic is static there: the base of factor x window for every request"


def _dynamic_reach(method: Method) -> int | None:
    return None if method.number("factor") == 1 else _factor_times_window(method)


def _yarn(method: Method, head_dim: int, base: float, _: int | None) -> tuple[Floats, float]:
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
    inverse = divided * (np.float32(1) - kept) + np.float32(1) / turns * kept
    return inverse.astype(np.float32), _yarn_attention(method, factor)


def _yarn_attention(method: Method, factor: float) -> float:
    def scale(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1.0

    if method["attention_factor"] is not None:
        return method.number("attention_factor")
    if method["mscale"] and method["mscale_all_dim"]:
        return scale(method.number("mscale")) / scale(method.number("mscale_all_dim"))
    return scale(1)


def _check_yarn(method: Method) -> None:
    if method.number("beta_fast") <= method.number("beta_slow"):
        raise FathomError("yarn: beta_fast must be more than beta_slow")
    if (method["mscale"] is None) != (method["mscale_all_dim"] is None):
        raise FathomError("yarn: give both mscale and mscale_all_dim, or neither")


def _yarn_unserved(method: Method, server: Server) -> str:
    if server == "llamacpp" and (method["truncate"] is False or method["mscale"] is not None):
        return "YaRN without truncate, or with mscale, is not implemented there"
    if server == "llamacpp" and method["attention_factor"] is not None:
        return "its --yarn-attn-factor is another quantity than attention_factor"
    if server == "sglang" and method["truncate"] is False:
        return "YaRN without truncate is not implemented there"
    return ""


def _yarn_llama(method: Method) -> tuple[str, ...]:
    ramp = [
        word
        for name, flag, usual in (("beta_fast", "--yarn-beta-fast", 32), ("beta_slow", "--yarn-beta-slow", 1))
        if method.number(name) != usual
        for word in (flag, f"{method.number(name):g}")
    ]
    factor, original = f"{method.number('factor'):g}", str(method["original"])
    return ("--rope-scaling", "yarn", "--rope-scale", factor, "--yarn-orig-ctx", original, *ramp)


def _llama3(method: Method, head_dim: int, base: float, _: int | None) -> tuple[Floats, float]:
    inverse = plain_frequencies(head_dim, base)
    factor, original = method.number("factor"), method.whole("original")
    low, high = method.number("low_freq_factor"), method.number("high_freq_factor")
    wavelength = np.float32(2 * math.pi) / inverse
    smooth = (np.float32(original) / wavelength - np.float32(low)) / np.float32(high - low)
    divided = inverse / np.float32(factor)
    between = (np.float32(1) - smooth) * divided + smooth * inverse
    changed = np.where(wavelength > original / low, divided, np.where(wavelength < original / high, inverse, between))
    return changed.astype(np.float32), 1.0


def _check_llama3(method: Method) -> None:
    if method.number("high_freq_factor") <= method.number("low_freq_factor"):
        raise FathomError("llama3: high_freq_factor must be more than low_freq_factor")


def _in_the_file(_: Method, server: Server) -> str:
    if server == "llamacpp":
        return "divisors are read from the GGUF file; convert a checkpoint whose configuration has them"
    return ""


def _check_longrope(method: Method) -> None:
    if not method.numbers("long_factor"):
        raise FathomError(
            "longrope needs long_factor, the divisors that were searched for the model (numbers, or a file with them)"
        )


def _is_long(method: Method, length: int | None) -> bool:
    """Whether LongRoPE uses the long factors for a request of ``length`` tokens."""
    return length is not None and length > method.whole("original")


def _longrope(method: Method, head_dim: int, base: float, length: int | None) -> tuple[Floats, float]:
    long = method.numbers("long_factor")
    short = method.numbers("short_factor") or (1.0,) * len(long)
    for name, divisors in (("long_factor", long), ("short_factor", short)):
        if len(divisors) != head_dim // 2:
            raise FathomError(
                f"longrope: {name} has {len(divisors)} numbers, but heads of {head_dim} have {head_dim // 2} "
                "frequencies; give one number for each"
            )
    chosen = np.asarray(long if _is_long(method, length) else short, dtype=np.float32)
    inverse = np.float32(1) / (chosen * _turns(head_dim, base))
    factor, original = method.number("factor"), method.whole("original")
    attention = 1.0 if factor <= 1 else math.sqrt(1 + math.log(factor) / math.log(original))
    return inverse, attention if method["attention_factor"] is None else method.number("attention_factor")


_ATTENTION = Parameter(
    "attention_factor", "number", "Factor of cosines and sines; by default it follows from the factor.", least=0
)
FREQUENCIES = declared(
    FrequencyKind(
        "pi",
        "all frequencies divided by the factor",
        "Chen et al. 2023, Position Interpolation",
        (FACTOR, ORIGINAL, LENGTH),
        compute=_pi,
        rope_type="linear",
        llama=lambda method: ("--rope-scaling", "linear", "--rope-scale", f"{method.number('factor'):g}"),
    ),
    FrequencyKind(
        "ntk",
        "a larger base, so that the slowest frequency is divided by the factor and the fastest stays",
        "bloc97 2023; jquesnelle/yarn; forms su and mixed: kexue.fm 9706 and bojone/rerope",
        (
            FACTOR,
            Parameter(
                "form",
                "name",
                "bloc97: the usual one. su: the fastest frequency is divided too. mixed: with log-scaled queries.",
                "bloc97",
                among=("bloc97", "su", "mixed"),
            ),
            ORIGINAL,
            LENGTH,
        ),
        compute=_ntk,
        base=lambda method, head_dim, base: _ntk_base(head_dim, base, method.number("factor")),
        unserved=_ntk_unserved,
    ),
    FrequencyKind(
        "dynamic",
        "NTK with a base that grows with the length of the request, beyond the window",
        "emozilla 2023; jquesnelle/yarn",
        (
            Parameter("factor", "number", "1 in its first form; larger ones overshoot.", 1.0, least=1),
            ORIGINAL,
            LENGTH,
        ),
        bound=("original",),
        compute=lambda method, head_dim, base, length: (
            plain_frequencies(head_dim, _dynamic_base(method, head_dim, base, length)),
            1.0,
        ),
        reach=_dynamic_reach,
        state=_dynamic_base,
        rope_type="dynamic",
        unserved=_dynamic_unserved,
        note=(
            "dynamic NTK: every request has the frequencies of its own length, prompt and reply together; "
            "transformers' own dynamic keeps those of the longest request before, and changes them within a reply"
        ),
        server_note=(
            "the server was started with dynamic NTK, which servers compute with one base for all requests, that of "
            "factor x window: it is NTK with a fixed factor"
        ),
        fault=(
            "the model's configuration has dynamic NTK, which transformers computes with the frequencies of the "
            "longest request before: scores depend on the order of requests. Give a checkpoint without it and "
            "extend=dynamic"
        ),
    ),
    FrequencyKind(
        "yarn",
        "slow frequencies divided by the factor, fast ones kept, a ramp between; sharper attention",
        "Peng et al. 2023, YaRN",
        (
            FACTOR,
            ORIGINAL,
            LENGTH,
            Parameter("beta_fast", "number", "Turns in the window from which frequencies stay.", 32.0, least=0),
            Parameter("beta_slow", "number", "Turns below which they are divided.", 1.0, least=0),
            Parameter("truncate", "switch", "Whether the ends of the ramp are whole numbers.", True),
            _ATTENTION,
            Parameter("mscale", "number", "With mscale_all_dim: a part of the attention factor.", least=0),
            Parameter("mscale_all_dim", "number", "With mscale: what it is divided by.", least=0),
        ),
        check=_check_yarn,
        bound=("original",),
        compute=_yarn,
        rope_type="yarn",
        unserved=_yarn_unserved,
        llama=_yarn_llama,
    ),
    FrequencyKind(
        "abf",
        "another base",
        "Xiong et al. 2023, Effective Long-Context Scaling",
        (Parameter("theta", "number", "The base.", 500_000.0, least=1), LENGTH),
        compute=lambda method, head_dim, base, length: (plain_frequencies(head_dim, method.number("theta")), 1.0),
        base=lambda method, head_dim, base: method.number("theta"),
    ),
    FrequencyKind(
        "llama3",
        "wavelengths beyond the window divided by the factor, short ones kept, a ramp between",
        "Llama 3.1",
        (
            Parameter("factor", "number", FACTOR.help, 8.0, least=1),
            Parameter("low_freq_factor", "number", "Turns below which frequencies are divided.", 1.0, least=0),
            Parameter("high_freq_factor", "number", "Turns from which they stay.", 4.0, least=0),
            ORIGINAL,
            LENGTH,
        ),
        check=_check_llama3,
        bound=("original",),
        compute=_llama3,
        rope_type="llama3",
        unserved=_in_the_file,
    ),
    FrequencyKind(
        "longrope",
        "each frequency divided by a number of its own, searched for the model",
        "Ding et al. 2024, LongRoPE; microsoft/LongRoPE",
        (
            Parameter("long_factor", "numbers", "Divisors beyond the window, one for each frequency.", least=0),
            Parameter("short_factor", "numbers", "Divisors within the window; by default 1.", least=0),
            FACTOR,
            ORIGINAL,
            LENGTH,
            _ATTENTION,
        ),
        check=_check_longrope,
        bound=("original",),
        compute=_longrope,
        state=lambda method, head_dim, base, length: _is_long(method, length),
        rope_type="longrope",
        rope=lambda method, head_dim: {"short_factor": [1.0] * (head_dim // 2)},
        unserved=_in_the_file,
        flags_note="long or short divisors are chosen once, from the longest length, not for each request",
        note=(
            "LongRoPE: short or long factors are chosen once for a request, by its length, prompt and reply together; "
            "transformers' own switches within a reply, while cached keys stay as they were"
        ),
        server_note=(
            "the server was started with LongRoPE: servers choose the short or the long divisors once, from the "
            "longest length that they are started for, not for each request"
        ),
        fault=(
            "the model's configuration has LongRoPE, which transformers switches within a reply: replies that cross "
            "the original window are wrong after their first token. Give a checkpoint without it and extend=longrope"
        ),
    ),
)
