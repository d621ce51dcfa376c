"""The sections of a report, in their order."""

from fathom.report.section import Section
from fathom.report.sections import (
    answers,
    breakdown,
    categories,
    ceilings,
    counts,
    dials,
    graders,
    hundred,
    known,
    lengths,
    position,
    published,
    reading,
    recovery,
    repeats,
    rules,
    scores,
    settings,
    setups,
    survival,
    truncation,
)

SECTIONS: tuple[Section, ...] = (
    setups.SECTION,
    scores.SECTION,
    lengths.CURVES,
    categories.SECTION,
    breakdown.BREAKDOWN,
    breakdown.THINKING,
    rules.SECTION,
    published.SECTION,
    repeats.SECTION,
    lengths.LONGSCORE,
    lengths.EFFECTIVE,
    hundred.SECTION,
    position.SECTION,
    survival.SECTION,
    answers.SECTION,
    dials.SECTION,
    truncation.SECTION,
    ceilings.SECTION,
    recovery.SECTION,
    known.SECTION,
    graders.SECTION,
    counts.SECTION,
    settings.SECTION,
    reading.SECTION,
)
MEASUREMENTS = tuple(measurement for section in SECTIONS for measurement in section.measurements)
"""What sections measure on the rows of each model."""
CHARTS = {chart.kind: chart for section in SECTIONS for chart in section.charts}
"""The figures that can be drawn into files, by kind."""
STUDIES = {kind: tables for section in SECTIONS for kind, tables in section.studies.items()}
"""Tables of results of ``fathom.analysis``, by their type."""
