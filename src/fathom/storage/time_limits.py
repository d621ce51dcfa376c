"""Ends work on one foreign text that takes longer than its size explains.

What reads texts of others takes linear time, which tests check. This is for what they miss: one reply or document must
not stop all others. Time is processor time, so that a busy machine changes nothing.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

SECONDS = 60.0
"""For a text of any size."""
AGAIN = 1.0
"""Seconds until code that has caught the end of its time is told again."""
CHARACTERS_PER_SECOND = 10_000
"""The least speed beyond it; readers are a hundred times faster."""


class TooLongError(Exception):
    """Reading took longer than it may; the message says so."""


@contextmanager
def within_time(size: int) -> Iterator[None]:
    """Limit the time of what is read within it, as far as the platform can: in the main thread, and not on Windows.

    Args:
        size: Characters of the text.

    Raises:
        TooLongError: Time is up. Code that catches it is told again each second, and what it returns does not count.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
        yield
        return
    if signal.getitimer(signal.ITIMER_VIRTUAL)[0]:  # of the caller
        yield
        return
    seconds = SECONDS + size / CHARACTERS_PER_SECOND
    too_long = TooLongError(f"took more than {seconds:,.0f} seconds of processor time for {size:,} characters")
    stopped = False

    def stop(number: int, frame: object) -> None:
        nonlocal stopped
        stopped = True
        raise too_long

    before = signal.signal(signal.SIGVTALRM, stop)
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, seconds, AGAIN)
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0.0)
        signal.signal(signal.SIGVTALRM, before)
    if stopped:  # what was caught on the way is no result
        raise too_long
