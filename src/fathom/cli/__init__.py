"""The command ``fathom``: finds the command that is called, and says how it failed."""

import os
import sys
from contextlib import suppress

INTERRUPTED, CLOSED_PIPE = 130, 141
"""Exit codes of Ctrl-C (SIGINT), and of a reader of the output that has seen enough (SIGPIPE), as in shells."""


def main() -> None:
    """Run the command line; a user-fixable error is one message on standard error and exit code 2.

    A bug is one message too, and exit code 70; with the environment variable ``FATHOM_TRACEBACK`` set to
    1 its traceback goes before it.
    """
    try:
        from fathom.cli.memory import address_space, run_in_child, too_little

        limit = address_space()
        if limit is None:
            code: int | str = _run()
        else:
            code = too_little(limit) or run_in_child(_run, limit)
        sys.exit(_say(code) if isinstance(code, str) else code)
    except KeyboardInterrupt:
        sys.exit(_say("interrupted; the same command resumes", INTERRUPTED))


def _run() -> int:
    """Run the command line, and write out what was printed; the exit code."""
    try:
        _prepare_streams()
        code = _run_command()
        if sys.stdout is not None:
            sys.stdout.flush()  # here a full disk behind standard output shows
    except BrokenPipeError:
        code = CLOSED_PIPE
        _drop_output()
    except OSError as error:
        from fathom.cli.failures import explain

        code = _say(explain(error) or str(error))
        _drop_output()
    return code


def _run_command() -> int:
    from fathom.cli.app import command
    from fathom.cli.failures import BUG, about_bug, explain, has_caused, wanted_traceback
    from fathom.options.line import run_line
    from fathom.types import FathomError

    try:
        return run_line(command, sys.argv[1:])
    except FathomError as error:
        return _say(str(error), INTERRUPTED if has_caused(KeyboardInterrupt, error) else 2)
    except (BrokenPipeError, KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # also the panics of libraries written in Rust
        if has_caused(KeyboardInterrupt, error):
            raise KeyboardInterrupt from None
        explained = explain(error)
        if explained is None:
            from fathom.safety.secrets import redact

            print(redact(wanted_traceback(error)), end="", file=sys.stderr)
        return _say(explained or about_bug(error), 2 if explained else BUG)


def _prepare_streams() -> None:
    """Characters that a stream's encoding lacks are printed as ``\\u2212``, which JSON understands too."""
    import codecs

    def escaped(error: UnicodeError) -> tuple[str, int]:
        if not isinstance(error, UnicodeEncodeError):
            raise error
        units = error.object[error.start : error.end].encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2)), error.end

    codecs.register_error("fathom.escaped", escaped)
    for stream in (sys.stdout, sys.stderr):
        if (reconfigure := getattr(stream, "reconfigure", None)) is not None:
            reconfigure(errors="fathom.escaped")


def _say(message: str, code: int = 2) -> int:
    """Print a message, which nobody may read any more; the exit code."""
    from fathom.printing import printable
    from fathom.safety.secrets import redact

    lines = map(printable, redact(message).splitlines())
    try:
        print("fathom: " + "\n".join(lines), file=sys.stderr, flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as for standard output
    return code


def _drop_output() -> None:
    """What could not be written would be tried again at the end, and fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
