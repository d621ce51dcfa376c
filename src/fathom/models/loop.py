"""``drive``: run a coroutine from a program or a notebook; ``in_thread``: a function that can be told to end."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from fathom.types import StoppedError

Outcome = TypeVar("Outcome")


KEPT = "interrupted; all replies so far are kept. Run the same command again to resume"


def drive(task: Coroutine[Any, Any, Outcome], interrupted: str = KEPT) -> Outcome:
    """Run a coroutine to completion, also from within a running event loop.

    Args:
        interrupted: The message if it is interrupted.

    Raises:
        StoppedError: It was interrupted.
    """
    try:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return asyncio.run(task)
        # A notebook already runs an event loop, and loops do not nest.
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, task).result()
    except KeyboardInterrupt:
        raise StoppedError(interrupted) from None


async def in_thread(work: Callable[[], None], ended: threading.Event) -> None:
    """Run a function in a thread; if this is cancelled, tell it to end and wait until it has.

    Args:
        work: The function, which looks at ``ended`` now and then.
        ended: Set if its results are of no use any more.
    """
    running = asyncio.ensure_future(asyncio.to_thread(work))
    try:
        await asyncio.shield(running)
    except asyncio.CancelledError:
        ended.set()
        await asyncio.wait([running])
        raise
