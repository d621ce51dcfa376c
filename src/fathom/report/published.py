"""Sentences on published averages, and on what thinking adds."""

from __future__ import annotations

from fathom.report import words
from fathom.report.by_question import OVERALL, ByQuestion
from fathom.report.results import System

NAMED = 3


def averages_alone(found: ByQuestion) -> list[str]:
    """Sentences for a report on published averages alone: whose they are, the highest, and what thinking adds."""
    scores = {(one.model, one.variant): one.score for one in found.scores if one.dimension == OVERALL}
    highest = [
        f"{System(*system).name} ({words.percent(scores[system])}%)" for system in found.systems if system in scores
    ]
    return [
        f"These are published averages of {_models(found)}: the replies behind them are not here, and so no intervals.",
        f"The highest overall: {words.listed(highest[:NAMED])}." if highest else "",
        thinking(found),
    ]


def averages_beside(found: ByQuestion) -> str:
    """That published averages stand beside what was measured; "" where there are none."""
    if not found.published:
        return ""
    return f"Beside them stand published averages of {_models(found)}, which have no intervals."


def thinking(found: ByQuestion) -> str:
    """How many models gain by thinking; "" where fewer than two were asked in both modes."""
    gains = [one for one in found.gains if one.dimension == OVERALL]
    if len(gains) < 2:
        return ""
    higher = sum(one.gain > 0 for one in gains)
    most = max(gains, key=lambda one: one.gain)
    best = f"; {most.model} gains most, {words.change(most.gain)} points" if most.gain > 0 else ""
    verb = "scores" if higher == 1 else "score"
    return (
        f"Of {words.several(len(gains), 'model')} asked with and without thinking, {higher or 'none'} {verb} higher "
        f"with it{best}."
    )


def _models(found: ByQuestion) -> str:
    models = len({model for model, _ in found.published})
    modes = f" ({len(found.published)} with their modes)" if len(found.published) > models else ""
    return f"{words.several(models, 'model')}{modes}"
