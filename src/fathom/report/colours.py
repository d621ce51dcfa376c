"""Colours of the page and of its figures, each in a light and a dark form.

Figures are drawn in the light form; on the page each light colour becomes a CSS variable of the same name, so that one
drawing serves both themes. The series colours have a contrast of at least 4.5:1 and remain distinct for the three
common kinds of colour blindness; dashes and marker shapes carry the same information.
"""

from bisect import bisect_right
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
# Ten steps from no score to full score. Text has a contrast of 4.9:1 or more on every step of its theme.
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
# From the greatest loss over no change to the greatest gain; contrast as on the heat scale.
CHANGE: tuple[Colour, ...] = (
    Colour("#e89a63", "#834b29"),
    Colour("#efb287", "#683f27"),
    Colour("#f4c8a8", "#503424"),
    Colour("#f8dcc7", "#3b2a1f"),
    Colour("#fbeee4", "#2a211c"),
    Colour("#f4f4f2", "#1d2025"),
    Colour("#e6f1f8", "#1b252e"),
    Colour("#cfe4f2", "#1c2f3e"),
    Colour("#b3d5ec", "#1c3b51"),
    Colour("#93c4e5", "#1d4966"),
    Colour("#6eb0dc", "#1d587c"),
)
CHANGES = (0.025, 0.1, 0.2, 0.35, 0.55)
"""Relative changes at which the steps of ``CHANGE`` begin, on either side."""
# From the weakest to the strongest base ability, with increasing contrast. The hue changes too, so that eight lines
# remain distinct.
ABILITY: tuple[Colour, ...] = (
    Colour("#d98200", "#7d5fb8"),
    Colour("#d3620d", "#a364c4"),
    Colour("#c53b3b", "#cc6ab4"),
    Colour("#a8286b", "#e8789a"),
    Colour("#7d2a8c", "#f58f7c"),
    Colour("#4f3399", "#fbae63"),
    Colour("#243a73", "#fdd06f"),
    Colour("#06202e", "#fbf4b4"),
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
    **{f"change-{n}": colour for n, colour in enumerate(CHANGE)},
    **{f"ability-{n}": colour for n, colour in enumerate(ABILITY)},
}


def heat_step(value: float) -> int:
    """The step of ``HEAT``, 0 to 9, for a score in [0, 1]."""
    return min(len(HEAT) - 1, max(0, int(value * len(HEAT))))


def change_step(change: float) -> int:
    """The step of ``CHANGE``, 0 to 10, for a relative change; 5 is close to no change."""
    steps = bisect_right(CHANGES, abs(change))
    return len(CHANGES) + (steps if change > 0 else -steps)


def ability_step(rank: int, models: int) -> int:
    """The step of ``ABILITY`` for a model's rank from the weakest, 0, to the strongest, ``models - 1``."""
    return round((len(ABILITY) - 1) * rank / (models - 1)) if models > 1 else len(ABILITY) - 1


def css_variables(theme: str) -> str:
    """CSS declarations ``--NAME: #rrggbb;`` of every colour in ``theme`` ("light" or "dark")."""
    return " ".join(f"--{name}: {getattr(colour, theme)};" for name, colour in NAMES.items())
