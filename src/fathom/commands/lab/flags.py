"""Print the flags with which servers use a method."""

import shlex
from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Annotated, Literal

from fathom.commands.lab.shared import Heads, Maps, MaybeTokens, MethodName, method_of
from fathom.options.declare import command, opt, unset

if TYPE_CHECKING:
    from fathom.extend.servers import ServerFlags


class FlagsOptions(Heads, Maps):
    method: MethodName
    _: KW_ONLY
    server: Annotated[
        Literal["all", "vllm", "sglang", "llamacpp"], opt("Which server: all, vllm, sglang or llamacpp.")
    ] = "all"
    length: Annotated[MaybeTokens, opt("The longest request, prompt and reply together.")] = unset


@command(FlagsOptions)
def lab_flags(options: FlagsOptions) -> "list[ServerFlags]":
    """Print the flags with which servers use a method.

    Where a server has no flags that give the same method, it says why.
    """
    from fathom.extend.servers import SERVERS, flags

    names = ("factor", "length", "window", "group", "chunk", "local", "sinks")
    method = method_of(options.method, options, **{name: getattr(options, name) for name in names})
    servers = [server for server in SERVERS if options.server in ("all", server)]
    return [flags(method, server, options.head_dim, options.base) for server in servers]


def main(line: FlagsOptions) -> None:
    """Print a line for each server, or JSON."""
    from fathom.options.terminal import print_json, tell_below

    every = lab_flags.body(line)
    if line.as_json:
        return print_json(every)
    for given in every:
        if given.words is None:
            print(f"{given.server}: none: {given.note}")
            continue
        variables = [f"{name}={value}" for name, value in given.environment.items()]
        print(f"{given.server}: {' '.join([*variables, shlex.join(given.words)]).strip() or 'nothing to set'}")
        if given.note:
            tell_below(given.note)
