"""Which methods llama.cpp's server applies: python performance/llama_methods.py MODEL.gguf.

Asks one prompt of a server without a method, one with YaRN and one with SelfExtend (``grp_attn_n``, ``grp_attn_w``),
each in a process of its own, and prints the log-probabilities of the first tokens: a method that is applied changes
them. The prompt is longer than the window of SelfExtend. Needs xllamacpp.
"""

import json
import subprocess
import sys
import urllib.request

PROMPT = "The pass key is 48213. " + "The grass is green. The sky is blue. Here we go. There and back again. " * 60
SERVER = """
import sys, threading, xllamacpp
kind, path = sys.argv[1:]
params = xllamacpp.CommonParams()
params.model.path, params.port, params.n_ctx, params.n_parallel, params.cache_ram_mib = path, 0, 4096, 1, 0
params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
if kind == "yarn":
    params.rope_scaling_type = xllamacpp.llama_rope_scaling_type.LLAMA_ROPE_SCALING_TYPE_YARN
    params.rope_freq_scale, params.yarn_orig_ctx = 0.25, 8192
if kind == "selfextend":
    params.grp_attn_n, params.grp_attn_w = 8, 512
server = xllamacpp.Server(params)
print(server.listening_address, flush=True)
threading.Event().wait()
"""


def main(path: str) -> None:
    """Print a line for each server."""
    asked = {"prompt": PROMPT + "The pass key is", "n_predict": 6, "temperature": 0, "n_probs": 1}
    for kind in ("none", "yarn", "selfextend"):
        command = [sys.executable, "-c", SERVER, kind, path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
            try:
                assert server.stdout is not None
                lines = iter(server.stdout.readline, "")
                address = next(line.strip() for line in lines if line.startswith("http"))
                request = urllib.request.Request(
                    f"{address}/completion", json.dumps(asked).encode(), {"Content-Type": "application/json"}
                )
                with urllib.request.urlopen(request, timeout=3600) as answer:
                    reply = json.load(answer)
            finally:
                server.kill()
        shown = " ".join(f"{token['logprob']:.4f}" for token in reply["completion_probabilities"])
        print(f"{kind}: {reply['tokens_evaluated']:,} tokens, {reply['content']!r}: {shown}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
