"""llama.cpp's own server as a process, which ends when the process that started it does, however that ends.

``python -m fathom.models.llama_process MODEL.gguf NAME PORT CONTEXT THREADS`` prints its address once it answers. Its
standard input is a pipe to the process that started it: the system closes that when the process is killed, too.
"""

import os
import sys
import threading


def main() -> None:
    """Serve until standard input ends."""
    path, name, port, context, threads = sys.argv[1:]
    threading.Thread(target=_end_with_parent, daemon=True).start()
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path, params.model_alias = path, {name}
    params.port, params.n_ctx, params.n_parallel = int(port), int(context), 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
    params.cache_ram_mib = 0  # by default up to 8 GiB of memory for prompts of earlier requests
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    threading.Event().wait()


def _end_with_parent() -> None:
    while os.read(0, 1024):
        pass
    os._exit(0)


if __name__ == "__main__":
    main()
