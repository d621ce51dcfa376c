"""``drive``: run a coroutine to its end, from a program or a notebook."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fathom.types import FathomError

Outcome = TypeVar("Outcome")


def drive(task: Coroutine[Any, Any, Outcome]) -> Outcome:
    """Run a coroutine to its end, also from within a running loop.

    Raises:
        FathomError: It was interrupted.
    """
    try:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(task)
        # A notebook has a loop of its own, and loops do not nest.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, task).result()
    except KeyboardInterrupt:
        raise FathomError(
            "interrupted; all replies that came are kept. Run the same command again to go on from here"
        ) from None
