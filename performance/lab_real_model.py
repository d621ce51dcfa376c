"""``fathom lab compare`` on a real model, SmolLM2-135M, with llama.cpp's own YaRN on the same prompts beside it.

    python performance/lab_real_model.py FOLDER [--items 2] [--long-items 1] [--device cpu]

Needs the environment of ``make test-models``. The model is saved for transformers once (270 MB). The task
is a number in a sentence that repeats, from 1k to 32k tokens: ``--items`` samples with the evidence alone and at each
length to 8k, ``--long-items`` at 16k and 32k. The window is 8,192 tokens, so that methods get a factor of 4.05. A
second call resumes.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from fathom import api
from fathom.lab import Comparison
from fathom.models.local_model import default_file
from fathom.suites.subsetfile import write_subset
from fathom.types import Member, Subset
from small_model import save_small_model

TASK = "ruler_niah_single_1"
SHORT, LONG = (1024, 2048, 4096, 8192), (16384, 32768)
SETUPS = (
    *(f"{name}?factor=4.05" for name in ("pi", "ntk", "dynamic", "yarn")),
    *("abf?theta=1000000&length=33k", "selfextend?window=1024&group=8&length=33k", "rerope?window=4096&length=33k"),
    *("dca?length=33k", "streaming?window=4096&length=33k"),
    *(f"yarn?factor=4.05+{cache}" for cache in ("snapkv?budget=2048", "fp8")),
)
SERVER = """
import os, sys, threading, xllamacpp
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_ctx, params.n_parallel, params.cache_ram_mib = sys.argv[1], 0, 34000, 1, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = os.cpu_count()
if sys.argv[2] == "yarn":
    params.rope_scaling_type = xllamacpp.llama_rope_scaling_type.LLAMA_ROPE_SCALING_TYPE_YARN
    params.rope_freq_scale, params.yarn_orig_ctx = 1 / 4.05, 8192
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"""


@contextmanager
def llama(method: str) -> Iterator[str]:
    """The address of llama.cpp's server with YaRN at a factor of 4.05 (``yarn``), or without a method (``none``)."""
    command = [sys.executable, "-c", SERVER, str(default_file()), method]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            assert server.stdout is not None
            yield next(line.strip() for line in iter(server.stdout.readline, "") if line.startswith("http")) + "/v1"
        finally:
            server.kill()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--items", type=int, default=2)
    parser.add_argument("--long-items", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    model, suite, few = (given.folder / name for name in ("smollm2", "suite", "few.json"))
    if not model.exists():
        save_small_model(model)
    api.build(
        TASK,
        suite,
        lengths=[*SHORT, *LONG],
        languages=["en"],
        items=max(given.items, given.long_items),
        seed=11,
        tokenizer=str(model / "tokenizer.json"),
        alone=True,
    )
    counts = {**dict.fromkeys(SHORT, given.items), **dict.fromkeys(LONG, given.long_items)}
    asked = {"alone": given.items} | {str(length): many for length, many in counts.items()}
    chosen = (Member(f"{TASK}/en/{item:04}@{end}", 1.0) for end, many in asked.items() for item in range(many))
    write_subset(Subset("few at long lengths", tuple(chosen), "by hand", {}, {}), few)
    same: dict[str, Any] = {"subset": few, "repeats": 0, "max_connections": 1, "timeout": 3600}
    hf = {"device": given.device, "attn_implementation": "blocks"}
    show(api.lab_compare(suite, f"hf/{model}", SETUPS, out=given.folder / "lab", model_args=hf, **same))
    with llama("none") as address, llama("yarn") as extended:
        server = {"yarn": extended}
        llamas = given.folder / "llama"
        show(
            api.lab_compare(
                suite, "openai/SmolLM2", model_base_url=address, server=server, window=34000, out=llamas, **same
            )
        )


def show(comparisons: Sequence[Comparison]) -> None:
    """Print the scores of each setup by length, and where the page is."""
    for found in comparisons:
        for one in found.results:
            means = " ".join("-" if point.mean is None else f"{point.mean:.2f}" for point in one.points)
            print(f"{one.setup.name:36} {means}  {one.verdict}")
        print(found.folder / "report.html")


if __name__ == "__main__":
    main()
