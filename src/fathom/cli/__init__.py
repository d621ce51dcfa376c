"""The command ``fathom``: parses, calls one function of ``fathom.api``, prints."""

from __future__ import annotations

import errno
import os
import sys

from fathom.printing import printable
from fathom.types import FathomError


def _printable(message: str) -> str:
    return "\n".join(map(printable, message.splitlines()))


def main() -> None:
    """Run the command line; a failure that the user can mend is one message on standard error and exit code 2."""
    from fathom.cli.app import app

    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except FathomError as error:
        print(f"fathom: {_printable(str(error))}", file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print("fathom: interrupted; the same command goes on where it stopped", file=sys.stderr)
        sys.exit(130)
    except BrokenPipeError:  # the reader of a pipe has seen enough
        sys.stderr.close()
        sys.exit(141)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        print("fathom: standard output cannot be written: no space left; free some, then run it again", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is left would be tried again at the end
        sys.exit(2)
