"""The methods that map relative positions.

A map has levels. For the pairs of a query i and a key j that a level covers, the query turns to ``query(i)`` and the
key to ``key(j)``, so that their relative position is ``query(i) - key(j)``. A pair that no level covers is not seen.
The functions of a level use arithmetic alone, so that they take arrays of numpy and tensors of torch.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fathom.extend.kinds import LENGTH, ORIGINAL, Family, Kind, Method, Parameter, Server, declared
from fathom.types import FathomError

Place: TypeAlias = Callable[[Any], Any]
MOST = 4096
"""The longest map that is made as a whole, in tokens."""


@dataclass(frozen=True, slots=True)
class Level:
    """Pairs of a query and a key, and the positions that both get.

    Of a level, the keys that a query sees are a range, whose ends do not fall from one query to the next, and the
    queries that see a key are a range; levels do not overlap. Attention in blocks rests on this (``check_levels``).

    Attributes:
        query: Position of query i.
        key: Position of key j.
        covers: Whether the level is that of (i, j), for j <= i.
    """

    query: Place
    key: Place
    covers: Callable[[Any, Any], Any]


def _window(method: Method) -> int:
    return method.whole("window")


def _not_there(_: Method, __: Server) -> str:
    return "maps of relative positions are not implemented there"


@dataclass(frozen=True, slots=True)
class PositionKind(Kind):
    """A method that maps relative positions.

    Attributes:
        farthest: The largest distance that its map gives, which has to be within the trained window.
        limit: The option that makes this distance smaller.
        exact: Tokens of the longest text of which it changes nothing.
        unserved: See ``Kind``; by default no server has it.
        config_key: What vLLM and SGLang call it in a model's configuration; "" where they do not have it.
        config_names: What its options are called there.
    """

    family: ClassVar[Family] = "positions"

    _: KW_ONLY
    levels: Callable[[Method], tuple[Level, ...]]
    farthest: Callable[[Method], int] = _window
    limit: str = "window"
    exact: Callable[[Method], int] = _window
    unserved: Callable[[Method, Server], str] = _not_there
    config_key: str = ""
    config_names: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=64)
def levels(method: Method) -> tuple[Level, ...]:
    """The levels of a method; of one that maps nothing, a single one.

    Args:
        method: With its values (``fathom.extend.methods.settled``).

    Raises:
        FathomError: They break the rule of ``Level``.
    """
    kind = method.kind
    if not isinstance(kind, PositionKind):
        return (Level(_same, _same, lambda i, j: i >= j),)
    made = kind.levels(method)
    check_levels(method.name, made, kind.farthest(method))
    return made


def check_levels(name: str, made: Sequence[Level], farthest: int) -> None:
    """Check the rule of ``Level`` at some places, up to four times the largest distance of a map.

    Args:
        name: Of the method.

    Raises:
        FathomError: They break it.
    """
    places = np.union1d(np.arange(48), np.linspace(0, 4 * farthest, 97).astype(np.int64))
    i, j = places[:, None], places[None, :]
    maps = [np.broadcast_to((j <= i) & level.covers(i, j), (len(places), len(places))) for level in made]
    if (np.sum(maps, axis=0) > 1).any():
        raise FathomError(f"method {name}: two levels cover one pair of a query and a key")
    for number, seen in enumerate(maps, start=1):
        some = seen[seen.any(axis=1)]
        starts, ends = some.argmax(axis=1), some[:, ::-1].argmax(axis=1)
        falls = (np.diff(starts) < 0).any() or (np.diff(ends) > 0).any()
        if falls or not (_are_ranges(seen) and _are_ranges(seen.T)):
            raise FathomError(
                f"method {name}: level {number} does not cover a range of keys of each query whose ends do not fall "
                "from one query to the next"
            )


def _are_ranges(rows: NDArray[np.bool_]) -> bool:
    """Whether what is true in each row is in one piece."""
    return bool(((np.diff(rows, axis=1, prepend=False) & rows).sum(axis=1) <= 1).all())


def relative_position(method: Method, i: Any, j: Any) -> NDArray[np.float64]:
    """The relative positions of queries i to keys j; NaN where a key is not seen.

    Args:
        method: With its values (``settled``).
        i: Places of queries, an array or a number.
        j: Places of keys, of a shape that goes with it.
    """
    i, j = np.asarray(i, dtype=np.float64), np.asarray(j, dtype=np.float64)
    relative = np.full(np.broadcast_shapes(i.shape, j.shape), np.nan)
    for level in levels(method):
        relative = np.where((j <= i) & level.covers(i, j), level.query(i) - level.key(j), relative)
    return relative


def relative_positions(method: Method, length: int) -> NDArray[np.float64]:
    """The map of a text: the relative position of each query to each key, shape (length, length).

    Raises:
        FathomError: The map would be too large.
    """
    if length > MOST:
        raise FathomError(f"a map of {length:,} tokens is too large; expected at most {MOST:,}")
    return relative_position(method, np.arange(length)[:, None], np.arange(length)[None, :])


def _same(place: Any) -> Any:
    return place


def _near(window: int) -> Level:
    return Level(_same, _same, lambda i, j: i - j < window)


def _rerope(method: Method) -> tuple[Level, ...]:
    window = method.whole("window")
    return _near(window), Level(lambda i: 0 * i + window, lambda j: 0 * j, lambda i, j: i - j >= window)


def _leaky(method: Method) -> tuple[Level, ...]:
    window, group = method.whole("window"), method.number("group")
    shift = window * (group - 1)
    return _near(window), Level(lambda i: (i + shift) / group, lambda j: j / group, lambda i, j: i - j >= window)


def _selfextend(method: Method) -> tuple[Level, ...]:
    window, group = method.whole("window"), method.number("group")
    shift = window - window / group
    return _near(window), Level(lambda i: i // group + shift, lambda j: j // group, lambda i, j: i - j >= window)


def _check_selfextend(method: Method) -> None:
    if method.whole("window") % method.whole("group"):
        raise FathomError(
            f"selfextend: window {method['window']} is not a multiple of group {method['group']}: prompts and replies "
            "would have different positions; give a window that is"
        )


def _grouped_reach(method: Method) -> int | None:
    """How far the trained window reaches if distances beyond ``window`` are divided by the group."""
    if method["original"] is None:
        return None
    window = method.whole("window")
    return int(window + (method.number("original") - window) * method.number("group"))


def _dca(method: Method) -> tuple[Level, ...]:
    """Keys keep their places within a chunk; queries of the next chunks go on counting, up to the largest distance."""
    most = method.whole("chunk")
    chunk = most - method.whole("local")

    def key(j: Any) -> Any:
        return j % chunk

    return (
        Level(key, key, lambda i, j: i // chunk == j // chunk),
        Level(lambda i: (i % chunk + chunk).clip(max=most), key, lambda i, j: i // chunk == j // chunk + 1),
        Level(lambda i: 0 * i + min(2 * chunk - 1, most), key, lambda i, j: i // chunk > j // chunk + 1),
    )


def _check_dca(method: Method) -> None:
    if None not in (method["chunk"], method["local"]) and method.whole("local") >= method.whole("chunk"):
        raise FathomError(f"dca: local {method['local']} must be less than chunk {method['chunk']}")


def _settle_dca(method: Method, window: int) -> Method:
    return method.but(
        chunk=window * 3 // 4 if method["chunk"] is None else method["chunk"],
        local=max(1, window // 8) if method["local"] is None else method["local"],
    )


def _streaming(method: Method) -> tuple[Level, ...]:
    """The last tokens at their distance; the first ones at their distance in the cache."""
    sinks, window = method.whole("sinks"), method.whole("window")
    return (
        Level(_same, _same, lambda i, j: i - j <= window),
        Level(lambda i: i.clip(max=sinks + window), _same, lambda i, j: (i - j > window) & (j < sinks)),
    )


_SELFEXTEND_LLAMA = (
    "the server has no such flags since build b3909; -gan and -gaw of the completion program move the cache in blocks, "
    "which is another map"
)
_STREAMING_LLAMA = "--keep with context shift is near, but drops half of the cache at once instead of a token at a time"
_LOG = "Multiply queries beyond the trained window by ln(position + 1)/ln(window)."
POSITIONS = declared(
    PositionKind(
        "rerope",
        "all keys beyond the window have its distance",
        "bojone/rerope (Su 2023)",
        (
            Parameter("window", "tokens", "Distances below this stay.", 512, least=1),
            Parameter("log", "switch", _LOG, True),
            ORIGINAL,
            LENGTH,
        ),
        levels=_rerope,
    ),
    PositionKind(
        "leaky",
        "distances beyond the window grow by 1 every group of tokens",
        "bojone/rerope, Leaky ReRoPE",
        (
            Parameter("window", "tokens", "Distances below this stay.", 512, least=1),
            Parameter("group", "number", "By how much further distances are divided.", 16, 1, former=("k",)),
            Parameter("log", "switch", _LOG, True),
            ORIGINAL,
            LENGTH,
        ),
        levels=_leaky,
        reach=_grouped_reach,
    ),
    PositionKind(
        "selfextend",
        "beyond the window, groups of tokens share a position",
        "Jin et al. 2024, SelfExtend; datamllab/LongLM",
        (
            Parameter("window", "tokens", "Distances below this stay; a multiple of the group.", 1024, least=1),
            Parameter("group", "whole", "Tokens that share a position.", 8, least=1),
            Parameter("log", "switch", _LOG, False),
            ORIGINAL,
            LENGTH,
        ),
        levels=_selfextend,
        check=_check_selfextend,
        reach=_grouped_reach,
        unserved=lambda method, server: _SELFEXTEND_LLAMA if server == "llamacpp" else _not_there(method, server),
    ),
    PositionKind(
        "dca",
        "positions within chunks; other chunks at the distance of one chunk",
        "An et al. 2024, ChunkLlama (DCA)",
        (
            Parameter("chunk", "tokens", "The largest distance; by default 3/4 of the window.", least=2),
            Parameter("local", "tokens", "Distances that stay exact; by default 1/8 of the window.", least=1),
            ORIGINAL,
            LENGTH,
        ),
        levels=_dca,
        farthest=lambda method: method.whole("chunk"),
        limit="chunk",
        exact=lambda method: method.whole("chunk") - method.whole("local"),
        check=_check_dca,
        bound=("chunk", "local"),
        settle=_settle_dca,
        unserved=lambda method, server: _not_there(method, server) if server == "llamacpp" else "",
        flags_note="only for architectures whose attention knows dual_chunk_attention_config, such as Qwen2",
        config_key="dual_chunk_attention_config",
        config_names={
            "chunk": "chunk_size",
            "local": "local_size",
            "original": "original_max_position_embeddings",
        },
    ),
    PositionKind(
        "streaming",
        "only the first tokens and the last ones are seen, at their places in the cache",
        "Xiao et al. 2023, StreamingLLM; mit-han-lab/streaming-llm",
        (
            Parameter("sinks", "tokens", "First tokens that stay.", 4, least=0),
            Parameter("window", "tokens", "Tokens before the present one that stay.", 512, least=1),
            ORIGINAL,
            LENGTH,
        ),
        levels=_streaming,
        farthest=lambda method: method.whole("sinks") + method.whole("window"),
        unserved=lambda method, server: _STREAMING_LLAMA if server == "llamacpp" else _not_there(method, server),
        note="StreamingLLM: tokens between the first and the last ones are not seen; memory still holds them",
    ),
)
