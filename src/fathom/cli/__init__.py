"""The command ``fathom``: finds the command that is called, and says how it failed."""

import os
import sys

from fathom.cli.failures import BUG, about_bug, explain, wanted_traceback
from fathom.printing import printable
from fathom.safety.secrets import redact
from fathom.types import FathomError


def main() -> None:
    """Run the command line; a user-fixable error is one message on standard error and exit code 2.

    A bug is one message too, and exit code 70; with the environment variable ``FATHOM_TRACEBACK`` set to
    1 its traceback goes before it.
    """
    from fathom.cli.app import command
    from fathom.options.line import run_line

    try:
        sys.exit(run_line(command, sys.argv[1:]))
    except FathomError as error:
        _end(str(error))
    except KeyboardInterrupt:
        _end("interrupted; the same command resumes", 130)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(141)
    except Exception as error:
        explained = explain(error)
        if explained is None:
            print(redact(wanted_traceback(error)), end="", file=sys.stderr)
        _end(explained or about_bug(error), 2 if explained else BUG)
    finally:
        _flush()


def _end(message: str, code: int = 2) -> None:
    lines = map(printable, redact(message).splitlines())
    print("fathom: " + "\n".join(lines), file=sys.stderr)
    sys.exit(code)


def _flush() -> None:
    """Write out what was printed: here a full disk behind standard output shows."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would be tried again at the end
        _end(explain(error) or str(error))
