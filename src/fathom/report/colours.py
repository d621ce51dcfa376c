"""Colours of the page and of its figures, each in a light and a dark form.

Figures are drawn in the light form and stand alone in it; on the page each light colour becomes a CSS variable of
the same name, so that one drawing serves both themes. The series colours keep 4.5:1 against the paper of their
theme and stay apart for the three common kinds of colour blindness; dashes and marker shapes say the same again.
"""

from __future__ import annotations

from typing import NamedTuple


class Colour(NamedTuple):
    """One colour in both themes, as ``#rrggbb``."""

    light: str
    dark: str


SERIES: tuple[Colour, ...] = (
    Colour("#0b6bb0", "#6db8f2"),
    Colour("#c24a00", "#ff9a5c"),
    Colour("#00805c", "#4fd0a5"),
    Colour("#a63f86", "#ea9fd4"),
    Colour("#7d6500", "#dcc055"),
    Colour("#474d5a", "#c3c9d4"),
)
# Ten steps from no score to full score. Ink stays readable (4.9:1 or more) on every step of its theme.
HEAT: tuple[Colour, ...] = (
    Colour("#f1f8fb", "#1a2227"),
    Colour("#deeef6", "#1c2933"),
    Colour("#cae5f1", "#1e313f"),
    Colour("#b7dbed", "#1f394b"),
    Colour("#a4d0e8", "#204258"),
    Colour("#90c6e4", "#214a65"),
    Colour("#7dbce0", "#215272"),
    Colour("#6ab1dc", "#205b80"),
    Colour("#56a6d8", "#1f648e"),
    Colour("#419bd4", "#1c6d9c"),
)
PAPER = Colour("#fffffe", "#12151a")
INK = Colour("#16181d", "#e9ebef")
MUTED = Colour("#5b616e", "#a2a9b6")
GRID = Colour("#e3e6eb", "#2b303a")
GHOST = Colour("#c5cad3", "#434a57")

NAMES: dict[str, Colour] = {
    "paper": PAPER,
    "ink": INK,
    "muted": MUTED,
    "grid": GRID,
    "ghost": GHOST,
    **{f"series-{n}": colour for n, colour in enumerate(SERIES)},
    **{f"heat-{n}": colour for n, colour in enumerate(HEAT)},
}


def heat_step(value: float) -> int:
    """The step of ``HEAT``, 0 to 9, for a score in [0, 1]."""
    return min(len(HEAT) - 1, max(0, int(value * len(HEAT))))


def css_variables(theme: str) -> str:
    """CSS declarations ``--NAME: #rrggbb;`` of every colour in ``theme`` ("light" or "dark")."""
    return " ".join(f"--{name}: {getattr(colour, theme)};" for name, colour in NAMES.items())
