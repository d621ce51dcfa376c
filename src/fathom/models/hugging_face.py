"""Loads a Hugging Face model into this process, for runs, judges and likelihoods (``hf/PATH``).

``hf/PATH?extend=METHOD`` applies a method that makes it read beyond its window, and ``hf/PATH?cache=METHOD`` one that
keeps less of its keys and values (``fathom.extend``).
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fathom.extend.methods import FULL, NONE, Method, split_name
from fathom.models.failures import Failure, shorten
from fathom.options.terminal import no_widgets
from fathom.plugins.extras import install
from fathom.types import FathomError, Json

if TYPE_CHECKING:
    from fathom.extend.hf.extension import Extension

PREFIX = "hf/"
INSTALL = install("hf")
PLACES = ("device", "device_map", "max_memory", "batch_size", "prefill_chunk_size")
"""Arguments that say where and how many prompts are computed at once; a run may be resumed with others."""
OWN_CODE = "trust_remote_code"  # named by all messages of transformers about models that come with code
# Arguments of the model that are not passed on to `from_pretrained`.
_OWN = ("device", "dtype", "torch_dtype", "tokenizer", "tokenizer_path", "model_path", "auto_model_class")


@dataclass(frozen=True, slots=True)
class Loaded:
    """A model with its tokenizer.

    Attributes:
        name: As the user wrote it.
        model: The model of ``transformers``, ready to be asked.
        window: Tokens that it holds, prompt and reply together, by its configuration and the method that extends it;
            None if they do not say.
        extension: The method that makes it read beyond its window; None if there is none.
    """

    name: str
    model: Any
    tokenizer: Any
    window: int | None
    extension: "Extension | None" = None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results must know of how the model is computed."""
        from fathom.extend.hf.extension import faults_of

        return faults_of(self.model.config) if self.extension is None else self.extension.notes

    @property
    def turns_by_length(self) -> bool:
        """Whether transformers itself changes the model's frequencies with the length of the text."""
        from fathom.extend.hf.checks import turns_by_length

        return turns_by_length(self.model.config.get_text_config())

    def fit(self, tokens: int) -> Hashable:
        """Prepare the model for a request of so many tokens, prompt and reply together.

        Returns:
            A value; where it differs from that of the request before, their caches cannot be shared.
        """
        if self.turns_by_length:
            return object()  # keys of the request before may have been turned by other frequencies
        return None if self.extension is None else self.extension.fit(tokens)

    def chat_text(self, prompt: str, template: str | None, **more: Json) -> str:
        """A prompt as the only message of a conversation, by the chat template."""
        messages = [{"role": "user", "content": prompt}]
        options = {"tokenize": False, "add_generation_prompt": True, **more}
        return str(self.tokenizer.apply_chat_template(messages, chat_template=template, **options))


def is_local(model: str) -> bool:
    """Whether a model name names a Hugging Face model in this process."""
    return model.startswith(PREFIX)


def load_model(name: str, arguments: Mapping[str, Json] | None = None) -> Loaded:
    """Load a causal language model and its tokenizer.

    Args:
        name: ``hf/`` and a folder or a name on the hub, with ``?extend=METHOD`` if it is to be extended.
        arguments: ``device``, ``dtype``, ``model_path``, ``tokenizer``, ``auto_model_class``; all others go to
            ``from_pretrained`` of ``transformers``.

    Raises:
        FathomError: A library, the model or its tokenizer is missing, there is not enough memory, or the model cannot
            be extended by the method.
    """
    given = dict(arguments or {})
    tokenizer = load_tokenizer(name, given)
    import torch
    import transformers

    from fathom.extend.hf.attention import BLOCKS, register_blocks

    place = _place(name, given)
    extension = plan(name, given)
    options = {
        "dtype": _dtype(name, given.get("dtype") or given.get("torch_dtype")),
        "use_safetensors": True,
        "trust_remote_code": False,
        **_placed(given.get("device"), torch),
        **{key: value for key, value in given.items() if key not in _OWN},
    }
    kind = str(given.get("auto_model_class") or "AutoModelForCausalLM")
    loader = getattr(transformers, kind, None) if kind.startswith("AutoModel") else None
    if loader is None:
        raise FathomError(f"model {name}: auto_model_class={kind}: expected a class such as AutoModelForCausalLM")
    if extension is not None:
        # What changed the configuration is in it; models take no such argument.
        options = {
            key: option for key, option in options.items() if key == "dtype" or not hasattr(extension.config, key)
        }
        options["config"] = extension.config
        if extension.attention is not None:
            options["attn_implementation"] = extension.attention
    if options.get("attn_implementation") == BLOCKS:
        register_blocks()
    try:
        model = loader.from_pretrained(place, **options).eval()
    except Exception as error:  # libraries raise errors of many kinds for damaged files
        raise FathomError(f"model {name}: {_why(error)}") from error
    if extension is None:
        return Loaded(name, model, tokenizer, window_of(model.config))
    from fathom.extend.hf.extension import PROBE

    try:
        extension.attach(model, tokenizer(PROBE, add_special_tokens=False)["input_ids"])
    except FathomError as error:
        raise FathomError(f"model {name}: {error}") from None
    return Loaded(name, model, tokenizer, extension.window, extension)


def plan(name: str, arguments: Mapping[str, Json]) -> "Extension | None":
    """What a model is to be loaded with for the method in its name, checked before its weights are loaded.

    Args:
        name: As for ``load_model``.
        arguments: As for ``load_model``.

    Returns:
        None if the name has no method.

    Raises:
        FathomError: The model cannot be extended by the method, or not in this memory.
    """
    method, cache = method_of(name), cache_of(name)
    for rope in (arguments.get(key) for key in ("rope_scaling", "rope_parameters")):
        if isinstance(rope, Mapping) and "rope_theta" not in rope:
            raise FathomError(
                f"model {name}: -M rope_scaling and rope_parameters replace all of the configuration's, and "
                "transformers loses its rope_theta; write rope_theta into them, or use extend=METHOD"
            )
    if method is NONE and cache == FULL:
        return None
    from transformers import __version__

    if int(__version__.split(".")[0]) < 5:
        raise FathomError(f"model {name}: extend and cache need transformers 5 or later, not {__version__}: {INSTALL}")
    from fathom.extend.hf.attention import BLOCKS
    from fathom.extend.hf.checks import check_memory, is_mapped
    from fathom.extend.hf.extension import plan_extension

    try:
        config = _configuration(name, arguments)
        extension = plan_extension(config, method, cache)
        if extension.attention is not None and arguments.get("attn_implementation") not in (None, BLOCKS):
            named = method.name if is_mapped(extension.method) else cache.name
            raise FathomError(f"{named} has an attention of its own; leave out -M attn_implementation")
        text = config.get_text_config()
        given = arguments.get("dtype") or arguments.get("torch_dtype")
        dtype = str(text.dtype or "float32") if given in (None, "auto") else str(given)
        room = _room(arguments)
        check_memory(text, extension.window, dtype.removeprefix("torch."), _bytes(name, arguments), room, cache)
    except FathomError as error:
        raise FathomError(f"model {name}: {error}") from None
    return extension


def method_of(name: str) -> Method:
    """The method for positions that a model's name asks for.

    Raises:
        FathomError: It is unknown, or has an unknown option or a wrong value.
    """
    return split_name(name)[1] if is_local(name) else NONE


def cache_of(name: str) -> Method:
    """The method for the cache that a model's name asks for.

    Raises:
        FathomError: It is unknown, or has an unknown option or a wrong value.
    """
    return split_name(name)[2] if is_local(name) else FULL


def trained_window(name: str, arguments: Mapping[str, Json]) -> int | None:
    """Tokens that a model holds by its configuration; None if that does not say.

    Args:
        name: As for ``load_model``.
        arguments: As for ``load_model``.

    Raises:
        FathomError: The configuration cannot be read.
    """
    return window_of(_configuration(name, arguments))


def bytes_of_token(name: str, arguments: Mapping[str, Json]) -> int:
    """Bytes of the keys and values of one token in all layers of a model, by its configuration.

    Args:
        name: As for ``load_model``.
        arguments: As for ``load_model``.

    Raises:
        FathomError: The configuration cannot be read.
    """
    text = _configuration(name, arguments).get_text_config()
    given = arguments.get("dtype") or arguments.get("torch_dtype")
    dtype = str(text.dtype or "float32") if given in (None, "auto") else str(given)
    size = getattr(text, "head_dim", None) or text.hidden_size // text.num_attention_heads
    heads = getattr(text, "num_key_value_heads", None) or text.num_attention_heads
    return int(2 * heads * size * text.num_hidden_layers * (4 if dtype.endswith("32") else 2))


def turns_by_length(name: str, arguments: Mapping[str, Json]) -> bool:
    """Whether transformers itself changes the frequencies of a model with the length, by its configuration.

    Args:
        name: As for ``load_model``.
        arguments: As for ``load_model``.

    Returns:
        False also where the configuration cannot be read, which loading tells.
    """
    try:
        from fathom.extend.hf import checks

        return checks.turns_by_length(_configuration(name, arguments).get_text_config())
    except (ImportError, FathomError):
        return False


def _configuration(name: str, arguments: Mapping[str, Json]) -> Any:
    """The configuration of a model, with the arguments that change it."""
    from transformers import AutoConfig

    others = {key: value for key, value in arguments.items() if key not in _OWN}
    try:
        place, options = _place(name, arguments), {"trust_remote_code": False, **others}
        return AutoConfig.from_pretrained(place, return_unused_kwargs=True, **options)[0]
    except FathomError:
        raise
    except Exception as error:
        raise FathomError(f"its configuration cannot be read: {_line(error)}") from error


def _bytes(name: str, arguments: Mapping[str, Json]) -> int:
    """The size of a model's weights on disk; 0 for one on the hub."""
    folder = Path(_place(name, arguments))
    return sum(file.stat().st_size for file in folder.glob("*.safetensors")) if folder.is_dir() else 0


def weights_of(name: str) -> list[list[str | int]]:
    """The files of a local model's weights, with size and time of the last change; none for other models."""
    folder = Path(split_name(name)[0].removeprefix("hf/")) if is_local(name) else Path()
    files = sorted(folder.glob("*.safetensors")) if is_local(name) else []
    return [[file.name, (stat := file.stat()).st_size, stat.st_mtime_ns] for file in files]


def _room(arguments: Mapping[str, Json]) -> int | None:
    """Bytes of memory that are free where the model is to be; None if unknown."""
    import torch

    from fathom.extend.hf.checks import free_memory

    device = str(arguments.get("device") or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device == "cpu":
        return free_memory()
    if device.startswith("cuda") or (device == "auto" and torch.cuda.is_available()):
        chosen = range(torch.cuda.device_count()) if device == "auto" else [torch.device(device)]
        return sum(int(torch.cuda.mem_get_info(gpu)[0]) for gpu in chosen)
    return None


def load_tokenizer(name: str, arguments: Mapping[str, Json]) -> Any:
    """Load only the tokenizer of a model, which takes no time; the arguments are those of ``load_model``.

    Raises:
        FathomError: A library, the model's folder or its tokenizer is missing.
    """
    try:
        import torch  # noqa: F401

        with no_widgets():
            from transformers import AutoTokenizer
        from transformers.utils.logging import disable_progress_bar, set_verbosity_error
    except ImportError as error:
        raise FathomError(f"model {name}: needs torch and transformers: {INSTALL}") from error
    disable_progress_bar()
    set_verbosity_error()
    other = arguments.get("tokenizer") or arguments.get("tokenizer_path")
    place = str(other or _place(name, arguments))
    # The tokenizer of another folder has its own revision.
    shared = ("trust_remote_code", "token", "cache_dir", *(() if other else ("revision",)))
    options = {"trust_remote_code": False, **{key: arguments[key] for key in shared if key in arguments}}
    advice = "give the folder or the name of one with -M tokenizer=PATH"
    folder = Path(place)
    if folder.is_dir() and not any(any(folder.glob(pattern)) for pattern in ("*token*", "vocab*")):
        raise FathomError(f"model {name}: {folder} has no tokenizer; {advice}")
    try:
        return AutoTokenizer.from_pretrained(place, **options)
    except Exception as error:
        if OWN_CODE in str(error):
            raise FathomError(f"model {name}: {_why(error)}") from error
        if not folder.is_dir() and not other:
            raise FathomError(
                f"model {name}: there is no folder {folder}, and no such model could be loaded from the hub: "
                f"{_line(error)}; correct the path, or the name on the hub"
            ) from error
        raise FathomError(f"model {name}: its tokenizer cannot be loaded: {_line(error)}; {advice}") from error


def window_of(config: Any) -> int | None:
    """Tokens that a model holds by its configuration; None if that does not say."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    positions = getattr(text, "max_position_embeddings", None)
    if not isinstance(positions, int) or positions < 1:
        return None
    scaling = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None)
    if isinstance(scaling, Mapping) and scaling.get("rope_type", scaling.get("type")) == "yarn":
        # YaRN is often added to a configuration that still has the length of the pretraining.
        factor, first = scaling.get("factor"), scaling.get("original_max_position_embeddings")
        if isinstance(factor, int | float) and isinstance(first, int):
            positions = max(positions, int(first * factor))
    return positions


def window_words(config: Any) -> str:
    """What a configuration says of the window, in words; "" if nothing."""
    text = config.get_text_config() if hasattr(config, "get_text_config") else config
    if (window := window_of(text)) is None:
        return ""
    parts = [f"{window:,} tokens by its configuration"]
    rope = getattr(text, "rope_parameters", None) or getattr(text, "rope_scaling", None) or {}
    kind, factor = rope.get("rope_type", rope.get("type")), rope.get("factor")
    if kind not in (None, "default"):
        parts.append(f"with rope_type {kind}" + (f" and factor {factor:g}" if isinstance(factor, int | float) else ""))
    if kind in ("linear", "dynamic") and isinstance(factor, int | float):
        parts.append(f"if they are those of the pretraining, give --window {int(window * factor)}")
    slides = getattr(text, "sliding_window", None)
    layers = getattr(text, "layer_types", None) or ()
    if slides and ("sliding_attention" in layers or not layers):
        number = sum(layer == "sliding_attention" for layer in layers)
        which = f"{number} of its {len(layers)} layers see" if layers else "its layers see"
        parts.append(f"{which} only the last {slides:,} tokens")
    return "; ".join(parts)


def failure_of_model(error: Exception, tokens: int) -> Failure:
    """The failure of a computation, with advice if memory was not enough.

    Args:
        error: What the library raised.
        tokens: Tokens of the prompt.
    """
    if out_of_memory(error):
        return Failure(
            "bad",
            f"out of memory for a prompt of {tokens:,} tokens. Use smaller batches (-M batch_size=1), smaller numbers "
            "(-M dtype=bfloat16), all GPUs (-M device=auto), or leave out the longest prompts (`lengths`)",
        )
    return Failure("bad", shorten(f"{type(error).__name__}: {error}", 300))


def out_of_memory(error: BaseException) -> bool:
    """Whether a computation failed because memory was not enough, on a GPU or without one."""
    words = ("not enough memory", "out of memory", "can't allocate memory")
    return type(error).__name__ == "OutOfMemoryError" or any(word in str(error) for word in words)


def _place(name: str, arguments: Mapping[str, Json]) -> str:
    """The folder of a model, or its name on the hub."""
    path = str(arguments.get("model_path") or split_name(name)[0].removeprefix(PREFIX))
    folder = Path(path).expanduser()
    if folder.is_file():
        hint = "; a GGUF file is served by llama.cpp" if folder.suffix == ".gguf" else ""
        raise FathomError(f"model {name}: {folder} is a file; give the folder that holds the model{hint}")
    if folder.is_dir():
        if not (folder / "config.json").exists():
            raise FathomError(
                f"model {name}: {folder} holds no model: config.json is missing; give the folder that "
                "save_pretrained() or the hub's download wrote"
            )
        return str(folder)
    if path.startswith(("/", "~", ".")) or path.count("/") > 1:
        raise FathomError(
            f"model {name}: there is no folder {folder}; give the folder of the model, or its name on the hub"
        )
    return path


def _placed(device: Json, torch: Any) -> dict[str, Json]:
    """Where the weights go: ``device_map`` needs accelerate, and a CPU needs no map."""
    if device is None:
        device = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    return {} if device == "cpu" else {"device_map": device}


def _dtype(name: str, given: Json) -> Json:
    known = ("auto", "bfloat16", "float16", "float32")
    if given is None:
        return "auto"
    if given not in known:
        raise FathomError(f"model {name}: dtype={given}: expected one of {', '.join(known)}")
    return given


def _why(error: Exception) -> str:
    if out_of_memory(error):
        return (
            "not enough memory for its weights. Use smaller numbers (-M dtype=bfloat16), all GPUs (-M device=auto), a "
            "smaller model, or a server with a quantized one"
        )
    if OWN_CODE in str(error):
        return "it comes with Python code of its own, which is run only with -M trust_remote_code=true"
    if "accelerate" in str(error):
        return f"loading to a GPU needs accelerate: {INSTALL}"
    return f"loading failed: {_line(error)}"


def _line(error: Exception) -> str:
    lines = str(error).splitlines()
    return shorten(lines[0] if lines and lines[0] else type(error).__name__, 300)
