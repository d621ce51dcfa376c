"""Measures memory and time of the log-probabilities of a text's tokens, beside the logits of all tokens at once.

A model with random weights, few layers and a vocabulary of real size: its logits are larger than all else. Each figure
comes from a process of its own. It needs torch and transformers:
``.venv-models/bin/python performance/likelihood_memory.py``.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

WIDTH, LAYERS, HEADS = 64, 2, 4
KINDS = ("plain", "dynamic", "parts")
MOST_AT_ONCE = 5 * 2**30
"""Bytes of logits up to which the plain way is measured, not computed: it takes twice as many."""
SCRIPT = """
import asyncio, json, resource, sys, time
from random import Random
import torch
from fathom.run.likelihood.local import LocalModel

folder, kind, way, tokens = *sys.argv[1:4], int(sys.argv[4])
model = LocalModel(f"hf/{folder}", {"device": "cpu"})
vocabulary = len(model._tokenizer)
rng = Random(0)
text = " ".join(f"w{rng.randrange(vocabulary)}" for _ in range(tokens))

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def ours(text):
    return asyncio.run(model.score(text)).logprobs[1:]

def at_once(text):
    ids = model._tokenizer(text, return_tensors="pt")["input_ids"]
    with torch.inference_mode():
        logits = model._model(ids, use_cache=False).logits[0].float()
        return (logits[:-1].gather(1, ids[0, 1:, None])[:, 0] - logits[:-1].logsumexp(dim=1)).tolist()

model._window = None  # dynamic NTK reads beyond its own
if kind == "parts":
    model._way = "parts"
score = ours if way == "ours" else at_once
score(text[:2000])  # libraries take memory of their own
asyncio.run(model.close())
before, start = peak(), time.monotonic()
found = score(text)
assert len(found) == tokens - 1
took = time.monotonic() - start
print(json.dumps({"grew": peak() - before, "seconds": took, "sample": found[:: max(1, tokens // 4096)]}))
"""


@dataclass
class Measured:
    """Bytes by which the peak grew, the time, and some of the log-probabilities."""

    grew: float
    seconds: float
    sample: list[float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tokens", default="8192,32768,131072", help="lengths of the text")
    parser.add_argument("--vocabulary", type=int, default=32_000, help="tokens of the vocabulary")
    parser.add_argument("--kinds", default=",".join(KINDS), help="which models")
    arguments = parser.parse_args()
    lengths, vocabulary = [int(one) for one in arguments.tokens.split(",")], arguments.vocabulary
    print(f"{LAYERS} layers, width {WIDTH}, {vocabulary:,} tokens in the vocabulary, float32, sdpa; MiB, seconds")
    print(f"{'model':8} {'tokens':>8} {'grew by':>8} {'seconds':>8} {'at once':>9} {'seconds':>8} {'apart by':>9}")
    with tempfile.TemporaryDirectory() as place:
        for kind in arguments.kinds.split(","):
            folder = make(Path(place) / kind, kind, max(lengths), vocabulary)
            for tokens in lengths:
                ours = measured(folder, kind, "ours", tokens)
                logits = 4 * vocabulary * tokens
                row = f"{kind:8} {tokens:8,} {ours.grew / 2**20:8,.0f} {ours.seconds:8.1f}"
                if logits <= MOST_AT_ONCE:
                    plain = measured(folder, kind, "at_once", tokens)
                    apart = max(abs(a - b) for a, b in zip(ours.sample, plain.sample, strict=True))
                    print(f"{row} {plain.grew / 2**20:9,.0f} {plain.seconds:8.1f} {apart:9.1e}", flush=True)
                else:
                    print(f"{row} {'(' + format(logits / 2**20, ',.0f') + ')':>9} {'':8} {'':9}", flush=True)
    print("in brackets: bytes of the logits alone, which were not computed")


def make(folder: Path, kind: str, longest: int, vocabulary: int) -> Path:
    """Write a model with random weights, and a tokenizer with one token for each word.

    Args:
        folder: The folder to be written.
        kind: ``plain``; ``dynamic``: with dynamic NTK, whose window is a quarter of the longest text; ``parts``: as
            plain, for the way of models that cannot read chunks.
        longest: Tokens of the longest text.
        vocabulary: Tokens of the vocabulary.
    """
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

    words = Tokenizer(models.WordLevel({f"w{number}": number for number in range(vocabulary)}, unk_token="w0"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    PreTrainedTokenizerFast(tokenizer_object=words).save_pretrained(folder)
    torch.manual_seed(0)
    trained = longest // 4 if kind == "dynamic" else longest
    dynamic = {"rope_parameters": {"rope_type": "dynamic", "rope_theta": 10_000.0, "factor": 4.0}}
    config = LlamaConfig(
        vocab_size=vocabulary, hidden_size=WIDTH, intermediate_size=2 * WIDTH, num_hidden_layers=LAYERS,
        num_attention_heads=HEADS, num_key_value_heads=HEADS, max_position_embeddings=trained, initializer_range=0.3,
        **(dynamic if kind == "dynamic" else {}),
    )  # fmt: skip
    LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def measured(folder: Path, kind: str, way: str, tokens: int) -> Measured:
    command = [sys.executable, "-c", SCRIPT, str(folder), kind, way, str(tokens)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr)
    return Measured(**json.loads(done.stdout))


if __name__ == "__main__":
    main()
