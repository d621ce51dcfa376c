"""What servers are started with for the same method: flags of vLLM, SGLang and llama.cpp.

The flags are those of the servers' sources and documentation; no server was started with them here.
"""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from fathom.extend.frequencies import ntk_base
from fathom.extend.methods import METHODS, Method, make_method, reach
from fathom.types import FathomError, Json

Server: TypeAlias = Literal["vllm", "sglang", "llamacpp"]
SERVERS: tuple[Server, ...] = ("vllm", "sglang", "llamacpp")
_LONGER = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_NO_MAP = "maps of relative positions are not implemented there"
_NO_LLAMA: Mapping[str, str] = {
    "dynamic": "the base of a request cannot depend on its length there",
    "longrope": "divisors are read from the GGUF file; convert a checkpoint whose configuration has them",
    "llama3": "divisors are read from the GGUF file; convert a checkpoint whose configuration has them",
    "selfextend": (
        "the server has no such flags since build b3909; -gan and -gaw of the completion program move the cache in "
        "blocks, which is another map"
    ),
    "streaming": "--keep with context shift is near, but drops half of the cache at once instead of a token at a time",
}


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
        server: Which server.
        head_dim: Coordinates of a head that turn.
        base: The model's ``rope_theta``.
    """
    if method.name == "none":
        return ServerFlags(server, (), {})
    if server == "llamacpp":
        return _llama(method, head_dim, base)
    return _python(method, server, head_dim, base)


def _python(method: Method, server: Server, head_dim: int, base: float) -> ServerFlags:
    """Flags of vLLM and SGLang, which read the configuration of transformers."""
    held = reach(method)
    if method.name == "dca":
        sizes: dict[str, Json] = {
            "chunk_size": method.whole("chunk"),
            "local_size": method.whole("local"),
            "original_max_position_embeddings": method["original"],
        }
        return ServerFlags(
            server,
            _overriding(server, {"dual_chunk_attention_config": sizes}, held),
            _longer(server, held),
            "only for architectures whose attention knows dual_chunk_attention_config, such as Qwen2",
        )
    if method.kind.family == "positions":
        return ServerFlags(server, None, {}, _NO_MAP)
    if method.name == "dynamic":
        return ServerFlags(
            server, None, {}, "rope_type dynamic is static there: the base of factor x window for every request"
        )
    if method.name == "ntk" and method["form"] != "bloc97":
        return ServerFlags(server, None, {}, f"the form {method['form']} is not implemented there")
    parameters = rope_parameters(method, head_dim, base)
    note = ""
    if method.name == "longrope":
        note = "long or short divisors are chosen once, from the longest length, not for each request"
    if server == "sglang":
        if method["truncate"] is False:
            return ServerFlags(server, None, {}, "YaRN without truncate is not implemented there")
        return ServerFlags(server, _overriding(server, {"rope_scaling": parameters}, held), _longer(server, held), note)
    return ServerFlags(server, _overriding(server, {"rope_parameters": parameters}, held), {}, note)


def rope_parameters(method: Method, head_dim: int, base: float) -> dict[str, Json]:
    """The ``rope_parameters`` of transformers for a method that it has itself.

    Args:
        method: With its values (``settled``); one of the family ``frequencies``, NTK in its form ``bloc97``.
        head_dim: Coordinates of a head that turn.
        base: The model's ``rope_theta``.
    """
    if method.name == "ntk":
        return {"rope_type": "default", "rope_theta": ntk_base(head_dim, base, method.number("factor"))}
    if method.name == "abf":
        return {"rope_type": "default", "rope_theta": method.number("theta")}
    kinds = {"pi": "linear"}
    names = [one.name for one in method.kind.parameters if one.name not in ("length", "original")]
    found: dict[str, Json] = {"rope_type": kinds.get(method.name, method.name), "rope_theta": base}
    for name in names:
        value = method[name]
        if value is not None:
            found[name] = list(value) if isinstance(value, tuple) else value
    if method.name == "longrope" and "short_factor" not in found:
        found["short_factor"] = [1.0] * (head_dim // 2)
    if method.name in ("yarn", "llama3", "longrope"):
        found["original_max_position_embeddings"] = method["original"]
    return found


_TYPES = {"linear": "pi"}
_NOTES: Mapping[str, str] = {
    "dynamic": (
        "the server was started with dynamic NTK, which servers compute with one base for all requests, that of factor "
        "x window: it is NTK with a fixed factor"
    ),
    "longrope": (
        "the server was started with LongRoPE: servers choose the short or the long divisors once, from the longest "
        "length that they are started for, not for each request"
    ),
}
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
    note = None if method is None else _NOTES.get(method.name)
    return () if note is None else (note,)


def _given(words: Sequence[str]) -> dict[str, str]:
    """The options of a command line, with the word after each; the last of those given twice."""
    found: dict[str, str] = {}
    for word, after in zip(words, (*words[1:], ""), strict=True):
        name, equals, value = word.partition("=")
        if name.startswith("-"):
            found[name] = value if equals else after
    return found


def _of_overrides(changes: Mapping[str, Any]) -> tuple[str, dict[str, object]]:
    """The method of changes to a model's configuration, and its options."""
    chunks = changes.get("dual_chunk_attention_config")
    if chunks:
        names = {"chunk": "chunk_size", "local": "local_size", "original": "original_max_position_embeddings"}
        return "dca", {name: chunks.get(theirs) for name, theirs in names.items()}
    rope = changes.get("rope_parameters") or changes.get("rope_scaling") or {}
    kind = rope.get("rope_type", rope.get("type", ""))
    if kind == "default":
        return ("abf", {"theta": rope["rope_theta"]}) if "rope_theta" in rope else ("", {})
    name = _TYPES.get(kind, kind)
    known = {one.name for one in METHODS[name].parameters} if name in METHODS else set()
    options: dict[str, object] = {key: value for key, value in rope.items() if key in known}
    return name, options | {"original": rope.get("original_max_position_embeddings")}


def _of_llama(given: Mapping[str, str]) -> tuple[str, dict[str, object]]:
    """The method of llama.cpp's flags, and its options."""
    kind = given.get("--rope-scaling", "none")
    if kind != "none":
        options: dict[str, object] = {name: given[flag] for flag, name in _LLAMA.items() if flag in given}
        if "--rope-freq-scale" in given:
            options["factor"] = 1 / float(given["--rope-freq-scale"])
        return _TYPES.get(kind, kind), options
    return ("abf", {"theta": given["--rope-freq-base"]}) if "--rope-freq-base" in given else ("", {})


def _overriding(server: Server, changes: Mapping[str, Json], held: int | None) -> tuple[str, ...]:
    text = json.dumps(changes)
    if server == "vllm":
        return ("--hf-overrides", text, *(() if held is None else ("--max-model-len", str(held))))
    return ("--json-model-override-args", text, *(() if held is None else ("--context-length", str(held))))


def _longer(server: Server, held: int | None) -> dict[str, str]:
    return {_LONGER: "1"} if server == "sglang" and held is not None else {}


def _llama(method: Method, head_dim: int, base: float) -> ServerFlags:
    why = _NO_LLAMA.get(method.name, _NO_MAP if method.kind.family == "positions" else "")
    if method.name == "ntk" and method["form"] != "bloc97":
        why = f"the form {method['form']} is not implemented there"
    if method["truncate"] is False or method["mscale"] is not None:
        why = "YaRN without truncate, or with mscale, is not implemented there"
    if why:
        return ServerFlags("llamacpp", None, {}, why)
    held = reach(method)
    words = () if held is None else ("-c", str(held))
    if method.name == "pi":
        return ServerFlags(
            "llamacpp", (*words, "--rope-scaling", "linear", "--rope-scale", f"{method.number('factor'):g}"), {}
        )
    if method.name in ("ntk", "abf"):
        new = method.number("theta") if method.name == "abf" else ntk_base(head_dim, base, method.number("factor"))
        return ServerFlags("llamacpp", (*words, "--rope-freq-base", f"{new:.9g}"), {})
    ramp = []
    for name, flag, usual in (("beta_fast", "--yarn-beta-fast", 32), ("beta_slow", "--yarn-beta-slow", 1)):
        if method.number(name) != usual:
            ramp += [flag, f"{method.number(name):g}"]
    if method["attention_factor"] is not None:
        return ServerFlags("llamacpp", None, {}, "its --yarn-attn-factor is another quantity than attention_factor")
    factor, original = f"{method.number('factor'):g}", str(method["original"])
    yarn = ("--rope-scaling", "yarn", "--rope-scale", factor, "--yarn-orig-ctx", original, *ramp)
    return ServerFlags("llamacpp", (*words, *yarn), {})
