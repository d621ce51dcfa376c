"""What servers are started with for the same method: flags of vLLM, SGLang and llama.cpp.

The flags are those of the servers' sources and documentation; no server was started with them here.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from fathom.extend.frequencies import FrequencyKind, rope_parameters, with_rope_type
from fathom.extend.kinds import Method, Server
from fathom.extend.methods import METHODS, make_method, reach
from fathom.extend.positions import POSITIONS, PositionKind
from fathom.types import FathomError, Json

SERVERS: tuple[Server, ...] = get_args(Server)
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"


@dataclass(frozen=True, slots=True)
class ServerFlags:
    """How a server is started for a method.

    Attributes:
        server: ``vllm``, ``sglang`` or ``llamacpp``.
        words: Words of its command line; None where there are none for this method.
        environment: Variables to be set.
        note: Why there are none, or what to know of them.
    """

    server: Server
    words: tuple[str, ...] | None
    environment: Mapping[str, str]
    note: str = ""


def flags(method: Method, server: Server, head_dim: int, base: float) -> ServerFlags:
    """The flags of a server for a method.

    Args:
        method: With its values (``settled``).
        head_dim: Coordinates of a head that turn.
        base: The model's ``rope_theta``.
    """
    kind, reached = method.kind, reach(method)
    if kind.family == "none":
        return ServerFlags(server, (), {})
    if why := kind.unserved(method, server):
        return ServerFlags(server, None, {}, why)
    if server == "llamacpp":
        return ServerFlags(
            server, (*(() if reached is None else ("-c", str(reached))), *_llama(method, head_dim, base)), {}
        )
    if isinstance(kind, PositionKind):
        changes: dict[str, Json] = {
            kind.config_key: {theirs: method[name] for name, theirs in kind.config_names.items()}
        }
    else:
        part = "rope_scaling" if server == "sglang" else "rope_parameters"
        changes = {part: rope_parameters(method, head_dim, base)}
    return ServerFlags(server, _overriding(server, changes, reached), _longer(server, reached), kind.flags_note)


def _llama(method: Method, head_dim: int, base: float) -> tuple[str, ...]:
    """The words of llama.cpp's command line for a method that it has."""
    kind = method.kind
    assert isinstance(kind, FrequencyKind)
    if kind.base is None:
        return kind.llama(method)
    return "--rope-freq-base", f"{kind.base(method, head_dim, base):.9g}"


_LLAMA = {
    "--rope-scale": "factor",
    "--yarn-orig-ctx": "original",
    "--yarn-beta-fast": "beta_fast",
    "--yarn-beta-slow": "beta_slow",
}
_OVERRIDES = ("--hf-overrides", "--json-model-override-args")


def method_of_command(line: str) -> Method | None:
    """The method whose flags a server was started with, as ``flags`` gives them.

    NTK with a fixed factor is another base, so it comes out as ``abf``.

    Args:
        line: The server's command line.

    Returns:
        The method with the options that the line says; None if it says none, or nothing that is understood.
    """
    try:
        given = _given(shlex.split(line.replace("\\\n", " ")))
        overrides = [json.loads(given[name]) for name in _OVERRIDES if name in given]
        name, options = _of_overrides(overrides[0]) if overrides else _of_llama(given)
        return make_method(name, options) if name else None
    except (FathomError, ValueError, ZeroDivisionError, TypeError, AttributeError, RecursionError):
        return None


def notes_of_command(line: str) -> tuple[str, ...]:
    """What a reader of the results must know of the method that a server was started with.

    Args:
        line: The server's command line.
    """
    method = method_of_command(line)
    return (method.kind.server_note,) if method is not None and method.kind.server_note else ()


def _given(words: Sequence[str]) -> dict[str, str]:
    """The options of a command line, with the word after each; the last of those given twice."""
    options: dict[str, str] = {}
    for word, after in zip(words, (*words[1:], ""), strict=True):
        name, equals, value = word.partition("=")
        if name.startswith("-"):
            options[name] = value if equals else after
    return options


def _of_overrides(changes: Mapping[str, Any]) -> tuple[str, dict[str, object]]:
    """The method of changes to a model's configuration, and its options."""
    for mapped in POSITIONS.values():
        if mapped.config_key and (sizes := changes.get(mapped.config_key)):
            return mapped.name, {name: sizes.get(theirs) for name, theirs in mapped.config_names.items()}
    rope = changes.get("rope_parameters") or changes.get("rope_scaling") or {}
    rope_type = rope.get("rope_type", rope.get("type", ""))
    if rope_type == "default":
        return ("abf", {"theta": rope["rope_theta"]}) if "rope_theta" in rope else ("", {})
    name = _method_name(rope_type)
    known = {parameter.name for parameter in METHODS[name].parameters} if name in METHODS else set()
    options: dict[str, object] = {key: value for key, value in rope.items() if key in known}
    return name, options | {"original": rope.get("original_max_position_embeddings")}


def _method_name(rope_type: str) -> str:
    """The name of a method that transformers and llama.cpp call so."""
    kind = with_rope_type(rope_type)
    return rope_type if kind is None else kind.name


def _of_llama(given: Mapping[str, str]) -> tuple[str, dict[str, object]]:
    """The method of llama.cpp's flags, and its options."""
    kind = given.get("--rope-scaling", "none")
    if kind != "none":
        options: dict[str, object] = {name: given[flag] for flag, name in _LLAMA.items() if flag in given}
        if "--rope-freq-scale" in given:
            options["factor"] = 1 / float(given["--rope-freq-scale"])
        return _method_name(kind), options
    return ("abf", {"theta": given["--rope-freq-base"]}) if "--rope-freq-base" in given else ("", {})


def _overriding(server: Server, changes: Mapping[str, Json], reached: int | None) -> tuple[str, ...]:
    text = json.dumps(changes)
    if server == "vllm":
        return ("--hf-overrides", text, *(() if reached is None else ("--max-model-len", str(reached))))
    return ("--json-model-override-args", text, *(() if reached is None else ("--context-length", str(reached))))


def _longer(server: Server, reached: int | None) -> dict[str, str]:
    return {_LONGER: "1"} if server == "sglang" and reached is not None else {}
