"""Measures whether a function of a text takes time in proportion to its length."""

from collections.abc import Callable
from time import process_time


def seconds(read: Callable[[str], object], text: str) -> float:
    """The time that a function takes for a text, in seconds."""
    start = process_time()
    read(text)
    return process_time() - start


def assert_linear(name: str, time: Callable[[str], float], piece: str, end: str = "") -> None:
    """Check that four times the text take less than nine times as long; a square would take 16 times.

    Args:
        name: What is measured, for the message.
        time: The time that a text takes, in seconds.
        piece: What the text repeats.
        end: Its end.
    """
    short, long = ((piece * size)[:size] + end for size in (1_500, 6_000))
    if time(long) > 0.004:  # the square of 6,000 steps would take more
        ratio = min(time(long) for _ in range(3)) / min(time(short) for _ in range(3))
        assert ratio < 9, (name, piece, ratio)
