"""The type of the fixture ``call``, which calls the command as a shell would."""

from __future__ import annotations

from collections.abc import Callable

Call = Callable[..., tuple[int, str, str]]
"""Words of the command line to exit code, standard output and standard error."""
