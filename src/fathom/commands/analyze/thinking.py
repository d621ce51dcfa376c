"""Gain from thinking, over the questions that models answered with and without it."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING

from fathom.commands.analyze.shared import Dimensions, Study, on_line, study, study_rows
from fathom.options.declare import unset

if TYPE_CHECKING:
    from fathom.analysis import ThinkingGain


class ThinkingOptions(Study):
    _: KW_ONLY
    by: Dimensions = unset


@study(ThinkingOptions)
def analyze_thinking(options: ThinkingOptions) -> "list[ThinkingGain]":
    """Gain from thinking, over the questions that models answered with and without it."""
    from fathom.analysis import thinking_gain

    return thinking_gain(study_rows(options), by=options.by or ("overall",), seed=options.seed)


main = on_line(
    analyze_thinking, empty="no model of these rows has scores both with thinking and without; run it with both modes"
)
