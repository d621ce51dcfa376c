"""One figure as a file, for a paper or a slide."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import get_args

import polars as pl

from fathom.analysis import Filtered, Profile
from fathom.report.charts import Chart, ConcatChart
from fathom.report.figure import check_format, save
from fathom.report.measure import measure, measure_profiles
from fathom.report.results import Results, System, system_of
from fathom.report.sections import CHARTS
from fathom.stats.outcomes import Unanswered
from fathom.types import FathomError
from fathom.types.choices import Figure

KINDS: tuple[Figure, ...] = get_args(Figure)


def plot(
    source: pl.DataFrame | Filtered | Sequence[Profile],
    kind: Figure,
    out: Path,
    *,
    models: Sequence[str] = (),
    seed: int = 0,
    unanswered: Unanswered = "zero",
) -> Path:
    """Draws one figure.

    Args:
        source: A rows table (``fathom.rows``), the result of the closed-book filter, or the profiles of a
            published table of scores.
        kind: ``curve``: score against length with bands; ``task-curves``: the same, task by task;
            ``length-shares``: the same with the share of samples at each length, and the mean over all; ``scores``:
            heat maps of task by length; ``position``: heat maps of depth by length; ``position-lines``: score against
            depth with intervals, one line per length; ``needle``: heat maps of depth by length, cell by cell, if
            depths are a grid; ``answers``: accuracy with chance and shortcuts, validity and
            copied examples against length, task by task; ``truncation``: score against the length that prompts were
            truncated to, up to the whole prompt, task by task; ``tasks``: average score per task;
            ``longscore``: LongScore against length, task by task; ``longscore-heatmap``: LongScore by model and length;
            ``lengths-heatmap``, ``tasks-heatmap`` and ``requirement-heatmap``: scores of models by length, by primary
            task, and by how much of the context is needed; ``best-of-n`` and ``pass-at-n``: against the number of
            replies to each question. The last five take published averages too.
        out: A ``.svg``, ``.png``, ``.pdf`` or ``.html`` file, or ``.json`` for the Vega-Lite specification.
        models: Only these models, in this order; by default all, for ``best-of-n`` and ``pass-at-n`` the highest.
        seed: Seed of the bootstrap.
        unanswered: How unanswered replies count (``fathom.stats.outcomes``).

    Returns:
        ``out``.

    Raises:
        FathomError: Unknown kind, format or model, nothing to draw, or the file cannot be written.
    """
    if kind not in KINDS:
        raise FathomError(f"Unknown kind of figure {kind!r}: choose one of {', '.join(KINDS)}.")
    check_format(out)
    if isinstance(source, pl.DataFrame | Filtered):
        results = measure(source, seed=seed, unanswered=unanswered)
    else:
        results = measure_profiles(source)
    return save(chart_of(chosen(results, models) if models else results, kind), out)


def chosen(results: Results, models: Sequence[str]) -> Results:
    """The results of some models, in the order in which they are named.

    Raises:
        FathomError: A model is not in the results.
    """
    known = dict.fromkeys((*results.systems, *(System(*system) for system in results.by_question.systems)))
    systems: dict[System, None] = {}
    for name in models:
        matches = [system for system in known if name in (system.model, system.name)]
        if not matches:
            raise FathomError(f"there is no model {name!r}: choose from {', '.join(system.name for system in known)}")
        systems |= dict.fromkeys(matches)
    return replace(
        results,
        systems=tuple(system for system in systems if system in results.systems),
        average={key: score for key, score in results.average.items() if key[0] in systems},
        curve={key: point for key, point in results.curve.items() if key[0] in systems},
        longscore={key: score for key, score in results.longscore.items() if key[0] in systems},
        by_question=results.by_question.only(list(systems)),
        of_sections={
            name: tuple(value for value in values if not hasattr(value, "model") or system_of(value) in systems)
            for name, values in results.of_sections.items()
        },
    )


def chart_of(results: Results, kind: Figure) -> Chart:
    """The chart of one kind, over all that was measured.

    Raises:
        FathomError: There is nothing to draw.
    """
    chart = CHARTS[kind]
    panels = list(chart.draw(results))
    if not panels:
        raise FathomError(f"Nothing to draw for {kind!r}: {chart.lacking}.")
    if len(panels) == 1:
        return panels[0]
    columns = min(chart.columns, len(panels))
    if not chart.heading:
        return ConcatChart(concat=panels, columns=columns, spacing=28)
    note = [chart.caption] if chart.caption else []
    return ConcatChart(concat=panels, columns=columns, title=chart.heading, note=note, shared=True)
