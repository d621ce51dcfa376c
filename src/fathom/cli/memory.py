"""Limits of address space (``ulimit -v``): libraries in C and Rust end the process where memory is refused.

So under such a limit the command runs in a child, whose end the parent can explain.
"""

import os
import resource
import signal
from collections.abc import Callable

LEAST = 1_500_000_000
"""Bytes of address space. With less, polars ends the process or hangs as soon as it starts its threads."""
_NATIVE = frozenset({signal.SIGABRT, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGTRAP})


def address_space() -> int | None:
    """The limit of this process's address space, in bytes; None for no limit."""
    limits = [resource.getrlimit(kind)[0] for kind in (resource.RLIMIT_AS, resource.RLIMIT_DATA)]
    return min((limit for limit in limits if limit != resource.RLIM_INFINITY), default=None)


def too_little(limit: int) -> str:
    """What is wrong with a limit under which nothing can run; "" if something can."""
    if limit >= LEAST:
        return ""
    return (
        f"this shell allows {limit // 1_000_000:,} MB of address space, and libraries need {LEAST // 1_000_000:,}; "
        "raise the limit (ulimit -v, ulimit -d), or remove it"
    )


def run_in_child(run: Callable[[], int], limit: int) -> int | str:
    """Run a function in a child process.

    Args:
        run: Returns the exit code.
        limit: Bytes of address space, for the message.

    Returns:
        In both processes the exit code; a message if a library has ended the child. Another signal that ends it ends
        this process too.
    """
    child = os.fork()  # nothing is printed and no thread is started yet
    if not child:
        return run()
    # Ctrl-C goes to both, and the child says what became of its work.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda number, frame: os.kill(child, number))
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code >= 0:
        return code
    if -code in _NATIVE:
        return (
            f"a library ended the process ({signal.Signals(-code).name}), as they do where memory is refused: this "
            f"shell allows {limit // 1_000_000:,} MB of address space. Raise the limit (ulimit -v, ulimit -d), or make "
            "the work smaller"
        )
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
    return 128 - code
