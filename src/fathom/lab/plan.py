"""What is compared: setups as users name them, and the ways of those that are to be tuned."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from math import isnan
from urllib.parse import parse_qsl

from fathom.extend.methods import CACHE, CACHES, FULL, KEY, METHODS, NONE, SYSTEMS, WHOLE, split_name, system_of
from fathom.models.hugging_face import is_local
from fathom.plugins.names import unknown
from fathom.types import FathomError

TRIALS = 8
"""The most values that are tried for one setup, so that none is tuned more than others."""
MOST_LOST = 0.02
"""What tuned values may lose at lengths up to the window, against the base."""
_BETWEEN = "|"
MATCHED = "matched"
"""The value of a factor that is another one at each length: the length divided by the window, 1 within it."""
_BYTES = {"kib": 2**10, "mib": 2**20, "gib": 2**30, "kb": 10**3, "mb": 10**6, "gb": 10**9}


@dataclass(frozen=True, slots=True)
class Sizes:
    """Lengths that methods depend on, in tokens.

    Attributes:
        window: The window that the model was trained with.
        longest: The longest prompt.
        reserve: Room for the longest reply, and for what the chat template adds.
        given: Whether the user says the window; the configuration of a model may have another.
        lengths: All lengths of the suite, and the longest prompt of each.
        token_bytes: Bytes of the keys and values of one token, in all layers; 0 if unknown.
    """

    window: int
    longest: int
    reserve: int
    given: bool = False
    lengths: Mapping[int, int] = field(default_factory=dict)
    token_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Way:
    """One complete way to ask a model.

    Attributes:
        model: Its name, with methods for positions and cache.
        system: The system around it.
        values: The values that are tried, such as ``factor=8``; "" if none are.
        base_url: Address of a server that is started for this setup; None for that of all.
        server_command: The command line with which its server was started; None if the user does not say.
        at: The model's name at each length, where it differs (``factor=matched``); ``model`` is that at the longest.
    """

    model: str
    system: str = WHOLE.name
    values: str = ""
    base_url: str | None = None
    server_command: str | None = None
    at: tuple[tuple[int, str], ...] = ()

    @property
    def parts(self) -> tuple[tuple["Way", tuple[int, ...]], ...]:
        """The ways of all lengths, with their lengths; of a way that is the same at all of them itself, without any."""
        if not self.at:
            return ((self, ()),)
        models = dict.fromkeys(model for _, model in self.at)
        return tuple(
            (replace(self, model=model, at=()), tuple(length for length, own in self.at if own == model))
            for model in models
        )


@dataclass(frozen=True, slots=True)
class RequestedSetup:
    """A setup that the user wants to compare.

    Attributes:
        name: As shown.
        kind: What it changes: ``none``, ``position``, ``cache``, ``system``, or several of these.
        ways: One, or the values to choose from.
        trained: What its weights were trained with for it; "" if they are those of the model.
    """

    name: str
    kind: str
    ways: tuple[Way, ...]
    trained: str = ""

    @property
    def tuned(self) -> bool:
        """Whether its values are to be chosen."""
        return len(self.ways) > 1


def read_setup(text: str, model: str, sizes: Sizes) -> RequestedSetup:
    """A setup as users name it.

    Args:
        text: ``METHOD?OPTION=VALUE&...``, with ``+`` between methods of different kinds, as in
            ``yarn?factor=8+snapkv?budget=1k``, and with ``|`` between values to choose from, as in ``factor=4|8``.
        model: The model's name, without methods.
        sizes: For options that are not given: the factor is that to the longest prompt.

    Raises:
        FathomError: A method or an option is unknown, or the model cannot use it; or there are too many values.
    """
    named = [part.strip() for part in text.split("+")]
    parts = dict(_part(part, text) for part in named)
    if len(parts) < len(named):
        raise FathomError(f"setup {text!r}: two methods of one kind")
    local = is_local(model)
    if not local and (inside := [name for family, (name, _) in parts.items() if family != "system"]):
        raise FathomError(
            f"setup {text!r}: {inside[0]} changes a model in this process (hf/PATH); start a server with the flags of "
            f"`fathom lab flags {inside[0]}`, and give its address with `server` NAME=URL"
        )
    grids = [(family, key, value.split(_BETWEEN)) for family, (_, own) in parts.items() for key, value in own.items()]
    ways = []
    for values in product(*(values for _, _, values in grids)):
        chosen = {(family, key): value for (family, key, _), value in zip(grids, values, strict=True)}
        given = {family: (name, {key: chosen[family, key] for key in own}) for family, (name, own) in parts.items()}
        tried = [f"{key}={value}" for (_, key, several), value in zip(grids, values, strict=True) if len(several) > 1]
        ways.append(_way(model, given, sizes, " ".join(tried)))
    if len(ways) > TRIALS:
        raise FathomError(f"setup {text!r}: {len(ways)} combinations of values; {TRIALS} at most")
    names = [(family, name) for family, (name, _) in parts.items()]
    return RequestedSetup(_setup_name(names, grids), _kind(parts), tuple(ways))


def _setup_name(parts: Iterable[tuple[str, str]], grids: Sequence[tuple[str, str, list[str]]]) -> str:
    """The name of a setup: what is fixed, and that the rest is tuned."""
    names = []
    for family, name in parts:
        fixed = (f"{key}={values[0]}" for own, key, values in grids if own == family and len(values) == 1)
        names.append(" ".join([name, *fixed]))
    return " + ".join(names) + (", tuned" if any(len(values) > 1 for _, _, values in grids) else "")


def changes_model(text: str) -> bool:
    """Whether a setup changes the model itself, which must then be in this process."""
    return any(part.strip().partition("?")[0] in {**METHODS, **CACHES} for part in text.split("+"))


def trained(text: str) -> RequestedSetup:
    """A setup of other weights, as ``MODEL: what they were trained with``.

    Raises:
        FathomError: One of the two is missing, or the name of the model is wrong.
    """
    model, colon, words = text.partition(": ")
    if not colon or not model.strip() or not words.strip():
        raise FathomError(
            f"`trained` {text!r}: expected MODEL: WHAT IT WAS TRAINED WITH, as in 'hf/my-model-32k: 400 steps of 32k "
            "tokens on books'"
        )
    _, method, cache = split_name(model) if is_local(model) else (model, NONE, FULL)
    kind = " and ".join(filter(None, ("" if method == NONE else "position", "" if cache == FULL else "cache")))
    return RequestedSetup(model.strip(), kind or "none", (Way(model.strip()),), words.strip())


def best_way(
    scores: Sequence[Mapping[int, float]], base: Mapping[int, float], window: int
) -> tuple[int, list[tuple[float, float]]]:
    """The way with the best mean score beyond the window, among those that lose little within it.

    Args:
        scores: For each way its mean score at each length, NaN without one.
        base: The same for the base.
        window: The model's window, in tokens.

    Returns:
        The number of the best, from 0, and the mean scores of all up to the window and beyond. If all lose more than
        ``MOST_LOST``, it is the one that loses least. Of equals, the first.
    """
    parts = [_halves(score, window) for score in scores]
    within = _halves(base, window)[0]

    def lost(number: int) -> float:
        own = parts[number][0]
        return 0.0 if isnan(own) or isnan(within) else within - own

    able = [number for number in range(len(parts)) if lost(number) <= MOST_LOST + 1e-9]
    if able:
        best = max(able, key=lambda number: (-1.0 if isnan(parts[number][1]) else parts[number][1], -number))
    else:
        best = min(range(len(parts)), key=lambda number: (lost(number), number))
    return best, parts


def _halves(scores: Mapping[int, float], window: int) -> tuple[float, float]:
    """Mean scores up to the window and beyond it; NaN if one is missing or there is no such length."""
    parts = [[score for length, score in scores.items() if (length > window) == beyond] for beyond in (False, True)]
    within, beyond = (sum(part) / len(part) if part else float("nan") for part in parts)
    return within, beyond


def _part(part: str, text: str) -> tuple[str, tuple[str, dict[str, str]]]:
    """A method by its kind: its name and its options."""
    name, _, query = part.partition("?")
    known = {**METHODS, **CACHES, **SYSTEMS}
    if name not in known:
        raise unknown("method", name, known, see="fathom lab methods")
    pairs = parse_qsl(query, keep_blank_values=True)
    if len(dict(pairs)) < len(pairs) or bool(query) != bool(pairs):
        raise FathomError(f"setup {text!r}: expected options as in yarn?factor=8, each once")
    family = "cache" if name in CACHES else "system" if name in SYSTEMS else "position"
    return family, (name, dict(pairs))


def _kind(parts: Mapping[str, tuple[str, Mapping[str, str]]]) -> str:
    nothing = (NONE.name, FULL.name, WHOLE.name)
    return " and ".join(family for family, (name, _) in parts.items() if name not in nothing) or "none"


def _way(model: str, given: Mapping[str, tuple[str, Mapping[str, str]]], sizes: Sizes, values: str) -> Way:
    system, around = given.get("system", (WHOLE.name, {}))
    named = system_of(_with_query(system, around)).words
    if not is_local(model) or (system != WHOLE.name and len(given) == 1):
        return Way(model, named, values)  # which keeps to the model's own window
    method, own = given.get("position", (NONE.name, {}))
    if own.get("factor") == MATCHED:
        at = []
        for length, longest in sorted(sizes.lengths.items()):
            fixed = {**own, "factor": f"{max(1.0, longest / sizes.window):g}"}
            matched = _way(model, {**given, "position": (method, fixed)}, replace(sizes, longest=longest), values)
            at.append((length, matched.model))
        return Way(at[-1][1], named, values, at=tuple(at))
    query = _with_query(f"{KEY}={method}", _filled(method, own, sizes), "&")
    if "cache" in given:
        cache, kept = given["cache"]
        kept = {key: _in_tokens(value, sizes) if key == "budget" else value for key, value in kept.items()}
        query = f"{query}&{_with_query(f'{CACHE}={cache}', kept, '&')}"
    name = f"{model}?{query}"
    split_name(name)  # checks the options
    return Way(name, named, values)


def _in_tokens(budget: str, sizes: Sizes) -> str:
    """A budget in tokens; of one in bytes, such as 4MiB, as many as these bytes hold of keys and values.

    Raises:
        FathomError: The bytes hold no token, or it is unknown what a token takes.
    """
    number, unit = budget.rstrip("BbKkMmGgIi"), budget[len(budget.rstrip("BbKkMmGgIi")) :].lower()
    if unit not in _BYTES:
        return budget
    try:
        tokens = int(float(number) * _BYTES[unit] / sizes.token_bytes)
    except (ValueError, ZeroDivisionError):
        tokens = 0
    if tokens < 1:
        raise FathomError(
            f"budget={budget}: expected tokens, or bytes that hold at least one token of {sizes.token_bytes:,} bytes"
        )
    return str(tokens)


def _filled(method: str, given: Mapping[str, str], sizes: Sizes) -> dict[str, str]:
    """Options of a method for positions, with those that follow from the lengths."""
    takes = {parameter.name: parameter for parameter in METHODS[method].parameters}
    more = {}
    if "factor" in takes and takes["factor"].default is None:
        more["factor"] = f"{max(1.0, sizes.longest / sizes.window):g}"
    if sizes.given and "original" in takes:
        more["original"] = str(sizes.window)
    if "length" in takes:
        more["length"] = str(sizes.longest + sizes.reserve)
    return {**more, **given}


def _with_query(name: str, given: Mapping[str, str], mark: str = "?") -> str:
    query = "&".join(f"{key}={value}" for key, value in given.items())
    return f"{name}{mark}{query}" if query else name
