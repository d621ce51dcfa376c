"""Serve the small model that needs no key, or a file of llama.cpp, for other programs."""

import shlex
from collections.abc import Callable
from dataclasses import KW_ONLY
from typing import Annotated

from fathom.options.declare import Options, arg, at_least, command, hidden, opt


class ServeLocalOptions(Options):
    model: Annotated[str, arg("local, for SmolLM2-135M-Instruct, or local/FILE.gguf.")] = "local"
    _: KW_ONLY
    port: Annotated[int, opt("Port to listen on, on this machine only; 0 for one that is free.", metavar="NUMBER")] = 0
    context: Annotated[
        int | None,
        opt("Tokens for prompt and reply; by default the model's window.", metavar="TOKENS", check=at_least(1)),
    ] = None
    threads: Annotated[
        int | None, opt("Threads; by default the cores that it may use.", metavar="NUMBER", check=at_least(1))
    ] = None
    ready: Annotated[
        Callable[[str, str], None] | None, hidden("Called with the model's name and the address once it answers.")
    ] = None


@command(ServeLocalOptions)
def serve_local(options: ServeLocalOptions) -> None:
    """Serve a model on this machine with llama.cpp, for any program that speaks OpenAI's protocol, until Ctrl-C.

    `fathom run --model local` does this itself. Needs the extra local of fathom-eval.
    """
    from fathom.models.local_model import find_model
    from fathom.models.local_server import LocalServer
    from fathom.types import FathomError

    given = {"context": options.context, "threads": options.threads}
    model = find_model(options.model, {name: value for name, value in given.items() if value is not None}, "`context` ")
    server = LocalServer(model, options.port)
    try:
        address = server.start()
        if options.ready:
            options.ready(model.served_as, address)
        server.wait()
        raise FathomError(f"model {model.name}: {server.ended()}")
    except KeyboardInterrupt:
        return
    finally:
        server.close()


def main(line: ServeLocalOptions) -> None:
    """Serve, and say where."""
    from fathom.printing import printable

    def say(name: str, address: str) -> None:
        model = shlex.quote(f"openai/{name}")
        print(printable(f"{name} is at {address}"))
        print(printable(f"  fathom run SUITE --model {model} --model-base-url {address}"), flush=True)

    serve_local.body(line.but(ready=say))
