"""CPU seconds of a prompt in a model of Hugging Face, by setup: python performance/mapped_attention.py MODEL [TOKENS].

One thread, random tokens, each setup after a short prompt. Compare two versions of the code, or ``sdpa`` and
``blocks``, in the same minutes: the figures are ratios.
"""

import sys
import time

import torch

from fathom.models.hugging_face import load_model

SETUPS: tuple[tuple[str, dict[str, str]], ...] = (
    ("none", {}),
    ("none", {"attn_implementation": "blocks"}),
    ("extend=rerope&window=1k", {}),
    ("extend=selfextend&window=1k", {}),
    ("extend=streaming", {}),
)


def main(model: str, tokens: int = 4096) -> None:
    """Print a line for each setup."""
    torch.set_num_threads(1)
    ids = torch.randint(100, 40_000, (1, tokens), generator=torch.Generator().manual_seed(0))
    for setup, arguments in SETUPS:
        name = f"hf/{model}" if setup == "none" else f"hf/{model}?{setup}"
        try:
            loaded = load_model(name, {"device": "cpu", **arguments})
        except Exception as error:  # an earlier version without this attention
            print(setup, arguments, f"{type(error).__name__}")
            continue
        with torch.inference_mode():
            loaded.model.base_model(ids[:, :256])
            start = time.process_time()
            loaded.model.base_model(ids)
        print(setup, *arguments.values(), f"{time.process_time() - start:.1f}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:3]))
