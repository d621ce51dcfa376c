"""Presses of NVIDIA's kvpress, which leave out keys and values by hooks of its own (``cache=kvpress&press=NAME``)."""

import dataclasses
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from transformers.cache_utils import Cache

from fathom.extend.hf import caches
from fathom.extend.hf.caches import SeenLayer, after_context
from fathom.extend.hf.calls import with_cache
from fathom.plugins.extras import install
from fathom.plugins.names import unknown
from fathom.types import FathomError

INSTALL = install("kvpress")
_TRIED = 256
"""Tokens of the text on which a press is tried."""
_NO_PRESS = ("ScorerPress",)  # what others derive from


def press_class(name: str) -> Any:
    """A press by its name, one that needs a ratio and nothing else.

    Raises:
        FathomError: kvpress is not installed, has no such press, or the press needs more than a ratio.
    """
    try:
        import kvpress
    except ImportError as error:
        raise FathomError(
            "cache=kvpress needs NVIDIA's kvpress, which needs transformers before 5.3. Make an environment of its own "
            f"for it: python -m venv .venv-kvpress, then .venv-kvpress/bin/{INSTALL}"
        ) from error
    presses = {key: kind for key, kind in vars(kvpress).items() if isinstance(kind, type) and hasattr(kind, "compress")}
    able = [key for key, kind in presses.items() if key not in _NO_PRESS and _needs_a_ratio_alone(kind)]
    if name not in presses:
        raise unknown("press", name, able, see="the documentation of kvpress")
    if name not in able:
        raise FathomError(
            f"kvpress: {name} needs more than a ratio, which a name cannot give; choose one of "
            f"{', '.join(sorted(able))}"
        )
    return presses[name]


def _needs_a_ratio_alone(press: type) -> bool:
    if not dataclasses.is_dataclass(press):
        return False
    fields = {field.name: field for field in dataclasses.fields(press) if field.init}
    missing = dataclasses.MISSING
    needed = [
        name for name, option in fields.items() if option.default is missing and option.default_factory is missing
    ]
    return "compression_ratio" in fields and not set(needed) - {"compression_ratio"}


class Engine(caches.Engine):
    """Has a press leave out keys and values; the press reads attention itself."""

    attention = "fathom_pressed"

    def check(self) -> None:
        """Check that kvpress has the press.

        Raises:
            FathomError: See ``press_class``.
        """
        press_class(str(self.method["press"]))

    def new_cache(self, config: Any, ids: Sequence[int] = ()) -> Any:
        """An empty cache for one request, from which a press can take."""
        return Cache(layers=[SeenLayer() for _ in range(config.num_hidden_layers)])

    @contextmanager
    def thinning(self, model: Any) -> Iterator[None]:
        """While this lasts, a text that the model begins to read is thinned out."""
        press = press_class(str(self.method["press"]))(compression_ratio=self.method.number("ratio"))
        for module in model.modules():
            if hasattr(module, "masked_key_indices"):
                module.masked_key_indices = None  # which some presses leave behind
        with press(model):
            yield

    def try_on(self, model: Any) -> None:
        """Try the press on a short text with a reply.

        Raises:
            FathomError: It fails, or leaves nothing out.
        """
        vocabulary = model.get_input_embeddings().weight.shape[0]
        ids, cache = torch.arange(1, _TRIED + 1, device=model.device)[None] % vocabulary, self.new_cache(model.config)
        name = self.method["press"]
        try:
            with torch.inference_mode(), self.thinning(model):
                model(ids, **with_cache(model, cache))
            with torch.inference_mode():
                model(ids[:, :1], **with_cache(model, cache))
        except Exception as error:  # presses raise errors of many kinds for what they need besides
            raise FathomError(
                f"kvpress: {name} does not work with this model: {type(error).__name__}: {str(error)[:200]}; choose "
                "another press"
            ) from error
        masked = any(getattr(module, "masked_key_indices", None) is not None for module in model.modules())
        if self.method.number("ratio") and not masked and all(layer.keys.shape[2] > _TRIED for layer in cache.layers):
            raise FathomError(f"kvpress: {name} left nothing out of a text of {_TRIED} tokens; choose another press")

    def attend(
        self, module: Any, query: Any, key: Any, value: Any, attention_mask: Any, **more: Any
    ) -> tuple[Any, Any]:
        """The attention of PyTorch, as kvpress has changed it; arguments as of ``caches.attend``.

        Layers may have different numbers of keys, so a question after them gets a mask for each layer.
        """
        from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

        mask = after_context(query, key, attention_mask)
        output: tuple[Any, Any] = ALL_ATTENTION_FUNCTIONS["sdpa"](module, query, key, value, mask, **more)
        return output
