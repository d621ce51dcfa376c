"""Measures the peak memory of a prompt with full and evicting caches, beside what is checked before weights are loaded.

Each cache is measured in a process of its own, on a model with random weights whose keys and values are larger than all
else. It needs torch and transformers: ``.venv-models/bin/python performance/cache_memory.py``.
"""

from __future__ import annotations

import subprocess
import sys

LAYERS, HEADS, SIZE, TOKENS = 24, 8, 64, 2048
CACHES = ("full", "snapkv&budget=256", "pyramid&budget=256", "h2o&budget=256", "recent&budget=256")
SCRIPT = """
import resource, sys
import torch
from transformers import LlamaConfig, LlamaForCausalLM
from fathom.extend.hf.calls import with_cache
from fathom.extend.hf.checks import held_tokens
from fathom.extend.hf.extension import plan_extension
from fathom.extend.methods import split_name

query, layers, heads, size, tokens = sys.argv[1], *map(int, sys.argv[2:])
config = LlamaConfig(
    vocab_size=64, hidden_size=64, intermediate_size=64, num_hidden_layers=layers, num_attention_heads=heads,
    num_key_value_heads=heads, head_dim=size, max_position_embeddings=tokens + 64,
)
extension = plan_extension(config, *split_name(f"hf/x?cache={query}")[1:])
own = {} if extension.attention is None else {"attn_implementation": extension.attention}
model = LlamaForCausalLM._from_config(config, **own).eval()
extension.attach(model)

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def read(number):
    ids = torch.arange(number)[None] % 64
    with torch.inference_mode():
        model.base_model(ids, **with_cache(model.base_model, extension.new_cache(ids[0].tolist())))

read(300)  # libraries take memory of their own
before = peak()
read(tokens)
counted = 2 * heads * size * 4 * held_tokens(layers, tokens, extension.cache)
print((peak() - before) / 2**20, counted / 2**20)
"""


def main() -> None:
    print(f"{LAYERS} layers, {HEADS} key heads of {SIZE}, float32, a prompt of {TOKENS:,} tokens; MiB")
    print(f"{'cache':24} {'grew by':>8} {'counted':>8}")
    for query in CACHES:
        shape = map(str, (LAYERS, HEADS, SIZE, TOKENS))
        done = subprocess.run([sys.executable, "-c", SCRIPT, query, *shape], capture_output=True, text=True, check=True)
        grown, counted = map(float, done.stdout.split())
        print(f"{query:24} {grown:8.0f} {counted:8.0f}", flush=True)


if __name__ == "__main__":
    main()
