"""Refuses what cannot work, by the configuration alone: before the weights of a model are loaded."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fathom.extend.caches import kind_of, stay
from fathom.extend.frequencies import with_rope_type
from fathom.extend.kinds import Method
from fathom.extend.methods import FULL, reach, settled
from fathom.types import FathomError

_BYTES = {"float32": 4, "float64": 8}


def rope_of(config: Any) -> dict[str, Any]:
    """The rotary parameters of a configuration.

    Raises:
        FathomError: There are none, or layers have different ones.
    """
    rope = getattr(config, "rope_parameters", None)
    if not isinstance(rope, Mapping) or not rope:
        raise FathomError(
            f"{_kind(config)} has no rotary positions (rope_parameters in its configuration), which every method "
            "changes; choose another model"
        )
    if any(isinstance(value, Mapping) for value in rope.values()):
        raise FathomError(f"{_kind(config)} has different rotary positions by layer, which methods do not support")
    if rope.get("rope_theta") is None and "mrope_section" not in rope:
        raise FathomError(
            f"{_kind(config)} has no rope_theta in its rope_parameters, which every method needs; choose another model"
        )
    if "mrope_section" in rope:
        raise FathomError(f"{_kind(config)} has rotary positions of several dimensions, which methods do not support")
    return dict(rope)


def own_kind(config: Any) -> str:
    """The ``rope_type`` of a configuration; "default" where it says none.

    Args:
        config: The model's configuration (``get_text_config``).
    """
    rope = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    return str(rope.get("rope_type", rope.get("type")) or "default")


def turns_by_length(config: Any) -> bool:
    """Whether transformers changes the frequencies of a model with the length of the text, also within a reply.

    Args:
        config: The model's configuration (``get_text_config``).
    """
    return _turns_by_length(own_kind(config))


def head_size(config: Any) -> int:
    """Coordinates of a head that turn."""
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    return int(size * rope_of(config).get("partial_rotary_factor", 1.0))


def check_extension(config: Any, method: Method) -> Method:
    """Check that a method can be applied to a model.

    Args:
        config: The model's configuration (``get_text_config``).
        method: As the user gave it.

    Returns:
        The method with all values.

    Raises:
        FathomError: It cannot; the message says why.
    """
    rope, kind = rope_of(config), str(rope_of(config).get("rope_type", "default"))
    trained = getattr(config, "max_position_embeddings", None)
    if method.kind.family == "frequencies" and kind != "default":
        used = with_rope_type(kind)
        already = kind if used is None else used.name
        why = f"already uses {already}" if already == method.name else f"already uses {already}, and two do not add up"
        raise FathomError(
            f"{method.name}: {_kind(config)} {why}: its configuration has rope_type {kind}; leave out extend, or give "
            "a checkpoint whose configuration has none"
        )
    theta = method["theta"]
    if theta is not None and float(rope["rope_theta"]) == theta:
        raise FathomError(f"{method.name}: {_kind(config)} already uses rope_theta {theta:g}; give another theta")
    if is_mapped(method):
        if _turns_by_length(kind):
            raise FathomError(
                f"{method.name}: {_kind(config)} has rope_type {kind}, whose frequencies depend on the length; maps of "
                "positions need fixed ones"
            )
        _check_full_attention(config, method.name, "which cannot see beyond it")
    return settled(method, trained if isinstance(trained, int) else None)


def check_cache(config: Any, cache: Method) -> None:
    """Check that a model's cache can keep what a method says.

    Args:
        config: The model's configuration (``get_text_config``).

    Raises:
        FathomError: It cannot; the message says why.
    """
    if cache == FULL:
        return
    _check_full_attention(config, cache.name, "whose cache is of another kind")
    if own_kind(config) == "longrope" and hasattr(config, "original_max_position_embeddings"):
        raise FathomError(
            f"{cache.name}: {_kind(config)} with LongRoPE computes its whole cache anew beyond its original window; "
            "leave out cache"
        )
    if kind_of(cache).evicts and getattr(config, "attn_logit_softcapping", None):
        raise FathomError(f"{cache.name}: {_kind(config)} bounds its attention scores, which is not supported")


def is_mapped(method: Method) -> bool:
    """Whether a method needs attention of its own."""
    return method.kind.family == "positions" or method["form"] == "mixed"


def window_of_method(config: Any, method: Method) -> int | None:
    """Tokens that the model holds with a settled method; None where nothing limits them."""
    own = getattr(config, "max_position_embeddings", None)
    reached = reach(method)
    if reached is None and not method.kind.takes("original"):  # it says nothing of the window
        return own if isinstance(own, int) else None
    return reached


def check_memory(
    config: Any, window: int | None, dtype: str, weights: int, room: int | None, cache: Method = FULL
) -> None:
    """Check that the keys and values of a prompt that fills the window, and the weights, can be held.

    Args:
        config: The model's configuration.
        window: Tokens; None where nothing limits them.
        dtype: How keys and values are stored, such as ``bfloat16``.
        weights: Bytes of the weights.
        room: Bytes of free memory; None if unknown.
        cache: What is kept of keys and values.

    Raises:
        FathomError: They cannot.
    """
    if window is None or room is None:
        return
    size = getattr(config, "head_dim", None) or config.hidden_size // config.num_attention_heads
    heads = getattr(config, "num_key_value_heads", None) or config.num_attention_heads
    cached = 2 * heads * size * _BYTES.get(dtype, 2) * held_tokens(config.num_hidden_layers, window, cache)
    if cached + weights > room:
        raise FathomError(
            f"a window of {window:,} tokens needs {cached / 2**30:,.1f} GiB for keys and values and "
            f"{weights / 2**30:,.1f} GiB for weights, and {room / 2**30:,.1f} GiB are free; say with length=TOKENS how "
            "long requests will be at most, or give a smaller factor"
        )


def held_tokens(layers: int, tokens: int, cache: Method) -> int:
    """The most tokens of a prompt that all layers together hold at once.

    A cache that evicts thins out a layer before the next one is computed: at its peak it holds the whole prompt in one
    layer, and what stays in all others. Presses of kvpress may only mask keys, so theirs counts in full.

    Args:
        layers: How many there are.
        cache: What is kept.
    """
    if not kind_of(cache).counts:
        return layers * tokens
    stays = [stay(cache, tokens, layer, layers) for layer in range(layers)]
    return max(sum(stays[:layer]) + tokens for layer in range(layers))


def free_memory(root: Path = Path("/")) -> int | None:
    """Bytes of memory that are free, within the limit of a container too; None if unknown.

    What holds files that were read counts as free, because the system gives it back.

    Args:
        root: Where ``proc`` and ``sys`` are.
    """
    limits = []
    try:
        lines = dict(line.split(":", 1) for line in (root / "proc/meminfo").read_text("utf-8").splitlines())
        limits.append(int(lines["MemAvailable"].split()[0]) * 1024)
    except (OSError, KeyError, ValueError):
        try:
            limits.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        except (OSError, ValueError, AttributeError):
            return None
    try:
        most, used, parts = (
            (root / "sys/fs/cgroup" / f"memory.{name}").read_text("utf-8").strip()
            for name in ("max", "current", "stat")
        )
        sizes = dict(line.split() for line in parts.splitlines())
        if most != "max":
            files = sum(int(sizes[name]) for name in ("active_file", "inactive_file"))
            limits.append(int(most) - int(used) + files)
    except (OSError, KeyError, ValueError):
        pass
    return min(limits)


def _check_full_attention(config: Any, name: str, why: str) -> None:
    """Raise if a model has other attention than the usual one, of all tokens before."""
    layers = set(getattr(config, "layer_types", None) or ())
    if getattr(config, "sliding_window", None) or layers - {"full_attention"}:
        raise FathomError(
            f"{name}: {_kind(config)} has layers with a sliding window or other attention, {why}; if it was trained "
            "without one, switch it off with -M sliding_window=null"
        )
    if getattr(config, "kv_lora_rank", None):
        raise FathomError(f"{name}: the latent attention of {_kind(config)} is not supported")


def _turns_by_length(rope_type: str) -> bool:
    kind = with_rope_type(rope_type)
    return kind is not None and kind.per_request


def _kind(config: Any) -> str:
    return f"a model of type {getattr(config, 'model_type', '?')}"
