"""Methods applied to a model of ``transformers``: first to its configuration, then to the loaded model."""

import itertools
import sys
from collections.abc import Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from fathom.extend.caches import evicts, is_apart, kind_of, stay
from fathom.extend.frequencies import Floats, FrequencyKind, frequencies, rope_parameters, with_rope_type
from fathom.extend.hf.attention import MappedAttention
from fathom.extend.hf.checks import (
    check_cache,
    check_extension,
    head_size,
    is_mapped,
    own_kind,
    rope_of,
    turns_by_length,
    window_of_method,
)
from fathom.extend.kinds import Method
from fathom.extend.methods import FULL
from fathom.extend.positions import PositionKind
from fathom.types import FathomError, Json

if TYPE_CHECKING:
    from fathom.extend.hf.caches import Engine

OWN_ATTENTION = "fathom's own, plain PyTorch"
WATCHED_ATTENTION = "sdpa, and plain PyTorch for what the cache keeps"
_IDENTITY = "fathom_identity"
_NUMBERS = itertools.count()
PROBE = (
    "The ferry leaves the harbour at nine. A keeper writes down who comes aboard and what they carry: flour, rope, "
    "letters, a lamp. In winter the river freezes below the bridge, and the same boat lies in the yard until spring."
)
"""The text on which mapped attention is compared with the model's own."""
_NOISE = 4
"""How many times the difference between two of the model's own ways to compute attention may be found."""
_TOGETHER = (
    "{} cache, question-aware: what stays is chosen from the whole prompt, with its question. The prompt is computed "
    "before keys and values are left out, so the first token of a reply is that of the full cache; only replies of "
    "several tokens show what is lost"
)
_APART = (
    "{} cache, question-agnostic (question=apart): what stays is chosen from what comes before a sample's question, "
    "which the choice has not seen; the question is read with what stayed, and nothing of it is left out"
)


@dataclass(frozen=True, slots=True)
class Rotary:
    """The rotary embedding of a model, as its configuration has it.

    Attributes:
        size: Coordinates of a head that turn.
        base: Its ``rope_theta``.
        inverse: Inverse frequencies that mapped attention uses; None where the model rotates by itself.
        factor: Their attention factor.
    """

    size: int
    base: float
    inverse: Floats | None = None
    factor: float = 1.0


@dataclass
class Extension:
    """Methods on their way to a model.

    Attributes:
        method: For positions, with all values.
        config: The changed configuration, to load the model with.
        window: Tokens that the model holds, prompt and reply together; None where nothing limits them.
        rotary: The model's rotary embedding.
        attention: Name of the attention to load it with; None for the model's own.
        cache: What is kept of keys and values.
    """

    method: Method
    config: Any
    window: int | None
    rotary: Rotary
    attention: str | None = None
    cache: Method = FULL
    _modules: list[Any] = field(default_factory=list, init=False)
    _state: Hashable = field(default=None, init=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results must know; of a model as it is, faults of transformers that it has."""
        note = _APART if is_apart(self.cache) else _TOGETHER
        of_cache = note.format(self.cache.name) if evicts(self.cache) else self.cache.kind.note
        if self.method.kind.family == "none":
            return *faults_of(self.config), *filter(None, (of_cache,))
        return tuple(filter(None, (self.method.kind.note, of_cache)))

    def record(self) -> dict[str, Json]:
        """The methods with all values and what follows for the model, for a manifest."""
        of_cache: dict[str, Json] = {} if self.cache == FULL else {"cache": self.cache.record()}
        return {**self.method.record(), "window": self.window, **of_cache}

    @property
    def kernel(self) -> str:
        """The attention that computes the model, in words; "" where it is the model's own."""
        if is_mapped(self.method):
            return OWN_ATTENTION
        return WATCHED_ATTENTION if evicts(self.cache) else ""

    def new_cache(self, ids: Sequence[int] = ()) -> Any:
        """An empty cache for a request.

        Args:
            ids: Tokens of what is thinned out, on which random draws depend.
        """
        return self.engine.new_cache(self.config.get_text_config(), ids)

    @property
    def engine(self) -> "Engine":
        """The engine that makes its caches."""
        return engine_of(self.cache)

    def check_prompt(self, tokens: int) -> None:
        """Check that the cache can choose what stays.

        Args:
            tokens: Tokens of what is thinned out.

        Raises:
            FathomError: So few stay that nothing is left to choose.
        """
        layers = self.config.get_text_config().num_hidden_layers
        for layer in (0, layers - 1) if kind_of(self.cache).counts else ():
            stay(self.cache, tokens, layer, layers)

    def thinning(self, model: Any) -> AbstractContextManager[None]:
        """What must last while the model reads what is thinned out; most caches need nothing."""
        return self.engine.thinning(model)

    def attach(self, model: Any, text: Sequence[int] = ()) -> None:
        """Finish a model that was loaded with the configuration.

        Args:
            text: Tokens of ``PROBE``, on which a map of positions is checked; by default the numbers from 1 on.

        Raises:
            FathomError: Its attention is not of the kind that maps of positions can replace.
        """
        self._modules = [
            module for module in model.modules() if hasattr(module, "inv_freq") and hasattr(module, "rope_type")
        ]
        if not self._modules:
            raise FathomError(f"{self.method.name}: no rotary embedding was found in the model")
        if is_mapped(self.method):
            self._compare(model, text)
        elif self.method.kind.per_request or self.method["form"] == "su":
            self._turn(*frequencies(self.method, self.rotary.size, self.rotary.base))
        elif self.method.kind.family == "frequencies":
            self._check_frequencies()
        _keep_cache(model)
        if evicts(self.cache):
            self.engine.try_on(model)

    def fit(self, tokens: int) -> Hashable:
        """Set what depends on the length of a request.

        Args:
            tokens: Prompt and reply together.

        Returns:
            A value; where it differs from that of the request before, caches cannot be shared.
        """
        kind = self.method.kind
        if not isinstance(kind, FrequencyKind) or kind.state is None:
            return None
        state = kind.state(self.method, self.rotary.size, self.rotary.base, tokens)
        if state != self._state:
            self._turn(*frequencies(self.method, self.rotary.size, self.rotary.base, tokens))
            self._state = state
        return state

    def _check_frequencies(self) -> None:
        """Check that the model has taken the frequencies of its configuration."""
        inverse, factor = frequencies(self.method, self.rotary.size, self.rotary.base)
        for module in self._modules:
            taken = module.inv_freq.float().cpu().numpy()
            same = taken.shape == inverse.shape and np.allclose(taken, inverse, rtol=1e-5, atol=0)
            if not same or abs(module.attention_scaling - factor) > 1e-6:
                raise FathomError(
                    f"{self.method.name}: a model of type {self.config.model_type} does not take its frequencies from "
                    "rope_parameters; choose a map of positions, such as rerope"
                )

    def _turn(self, inverse: Floats, factor: float) -> None:
        """Give the model's rotary embeddings other frequencies."""
        import torch

        for module in self._modules:
            module.inv_freq.copy_(torch.as_tensor(inverse))
            module.attention_scaling = factor

    def _compare(self, model: Any, text: Sequence[int]) -> None:
        """Compare the mapped attention with the model's own on a text so short that the map changes nothing.

        They may differ by what rounding does to this model on this text, which two attentions of its own show.
        """
        import torch

        if self.rotary.inverse is None or self.attention is None:
            return
        own, kind = self.attention, self.method.kind
        tokens = list(text or range(1, 33))
        limit = kind.exact(self.method) if isinstance(kind, PositionKind) else len(tokens)
        vocabulary = model.get_input_embeddings().weight.shape[0]
        ids = torch.tensor([tokens[:limit]], device=model.device) % vocabulary

        def logits(attention: str) -> Any:
            model.set_attn_implementation(attention)
            return model(ids, use_cache=False).logits.float()

        with torch.inference_mode():
            mapped = logits(own)
            try:
                self._turn(self.rotary.inverse, self.rotary.factor)
                plain = logits("eager")
                noise = float((logits("sdpa") - plain).abs().max()) if getattr(model, "_supports_sdpa", False) else 0.0
            finally:
                self._turn(np.zeros_like(self.rotary.inverse), 1.0)
                model.set_attn_implementation(own)
        rounded = max(1e-3, 8 * torch.finfo(model.dtype).eps) * float(plain.abs().max())
        allowed = max(_NOISE * noise, rounded)
        if not float((mapped - plain).abs().max()) <= allowed:
            raise FathomError(
                f"{self.method.name}: the attention of a model of type {self.config.model_type} is not of the usual "
                "kind, so that maps of positions would give wrong results; choose a method that changes frequencies"
            )


def engine_of(cache: Method) -> "Engine":
    """The engine that applies a method for the cache."""
    engine: Engine = import_module(f"fathom.extend.hf.{kind_of(cache).engine}").Engine(cache)
    return engine


def faults_of(config: Any) -> tuple[str, ...]:
    """What a reader must know of a model that is not extended, because transformers computes it in a faulty way."""
    text = config.get_text_config()
    kind = own_kind(text)
    if kind == "longrope" and str(text.model_type).startswith("phi"):  # which computes its cache anew
        return ()
    known = with_rope_type(kind)
    return (known.fault,) if known is not None and known.fault else ()


def plan_extension(config: Any, method: Method, cache: Method = FULL) -> Extension:
    """Check methods, and change the configuration of a model for them.

    Args:
        config: The configuration, which is changed.
        method: For positions, as the user gave it.
        cache: What is kept of keys and values.

    Returns:
        What the model is to be loaded with; call ``attach`` afterwards.

    Raises:
        FathomError: The model or its library cannot do it; the message says why.
    """
    text = config.get_text_config()
    made = check_extension(text, method)
    check_cache(text, cache)
    if cache != FULL:
        engine_of(cache).check()
    rope, window = rope_of(text), window_of_method(text, made)
    rotary, attention = Rotary(head_size(text), float(rope["rope_theta"])), None
    if is_mapped(made) and (why := kind_of(cache).no_maps):
        raise FathomError(f"{made.name}: {why}; leave out one")
    if is_mapped(made):
        rotary = replace(rotary, **_own_frequencies(text, made, rope, rotary))
        attention = _register(made, rotary)
    elif evicts(cache):
        attention = _register_watched(engine_of(cache))
    if (changed := _changed(made, rotary)) is not None:
        part = {name: rope[name] for name in ("partial_rotary_factor",) if name in rope}
        text.rope_parameters = {**changed, **part}
    if made["original"] is not None and hasattr(text, "original_max_position_embeddings"):
        text.original_max_position_embeddings = made["original"]  # some models prefer it to that of rope_parameters
    if window is not None and made.kind.family == "frequencies":
        text.max_position_embeddings = max(window, text.max_position_embeddings)
    return Extension(made, config, window, rotary, attention, cache)


def _keep_cache(model: Any) -> None:
    """Let a model of Phi's kind keep its cache beyond its original window.

    It would compute a new one there, because LongRoPE changes its frequencies, also where they do not change; and the
    new one would be full. By now all frequencies are computed.
    """
    text = model.config.get_text_config()
    if hasattr(text, "original_max_position_embeddings") and not turns_by_length(text):
        text.original_max_position_embeddings = sys.maxsize


def _changed(method: Method, rotary: Rotary) -> dict[str, Json] | None:
    """The ``rope_parameters`` that a model is loaded with; None for its own."""
    if method.kind.family == "none":
        return None
    if is_mapped(method):
        return {"rope_type": _IDENTITY, "rope_theta": rotary.base}
    if method.kind.per_request or method["form"] == "su":  # the loaded model gets its frequencies
        return {"rope_type": "default", "rope_theta": rotary.base}
    return rope_parameters(method, rotary.size, rotary.base)


def _own_frequencies(config: Any, method: Method, rope: Mapping[str, Any], rotary: Rotary) -> dict[str, Any]:
    """The frequencies and the attention factor that a map of positions uses: the model's own."""
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    kind = str(rope.get("rope_type", "default"))
    if kind == "default":
        inverse, factor = frequencies(method, rotary.size, rotary.base)
    else:
        given, factor = ROPE_INIT_FUNCTIONS[kind](config)
        inverse = given.numpy()
    return {"inverse": inverse, "factor": float(factor)}


def _register(method: Method, rotary: Rotary) -> str:
    """Register the attention that a model of this process is loaded with; returns its name."""
    import torch
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS, RotaryEmbeddingConfigMixin

    assert rotary.inverse is not None
    attention = MappedAttention(method, rotary.inverse, rotary.factor)

    def identity(config: Any, *_: Any, **__: Any) -> tuple[Any, float]:
        return torch.zeros(head_size(config) // 2), 1.0

    ROPE_INIT_FUNCTIONS[_IDENTITY] = identity
    # Without a function of this name every configuration would print a warning.
    setattr(RotaryEmbeddingConfigMixin, f"_validate_{_IDENTITY}_rope_parameters", lambda *_, **__: None)
    name = f"fathom_positions_{next(_NUMBERS)}"
    AttentionInterface.register(name, attention.attend)
    AttentionMaskInterface.register(name, attention.mask)
    return name


def _register_watched(engine: "Engine") -> str:
    """Register the attention of PyTorch that shows caches what to choose from; returns its name."""
    from transformers import AttentionInterface, AttentionMaskInterface
    from transformers.masking_utils import sdpa_mask

    AttentionInterface.register(engine.attention, engine.attend)
    AttentionMaskInterface.register(engine.attention, sdpa_mask)
    return engine.attention
