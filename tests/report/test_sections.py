"""Promises about all sections of the report."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import fathom.report
from fathom.report.parts import PagePart
from fathom.report.plot import KINDS
from fathom.report.sections import CHARTS, MEASUREMENTS, SECTIONS


def test_names_are_unique() -> None:
    charts = [chart.kind for section in SECTIONS for chart in section.charts]
    studies = [kind for section in SECTIONS for kind in section.studies]
    sections, measurements = [section.name for section in SECTIONS], [measurement.name for measurement in MEASUREMENTS]
    named: list[list[str]] = [sections, measurements, list(map(str, charts)), list(map(str, studies))]
    for values in named:
        assert len(values) == len(set(values))


def test_every_kind_of_figure_belongs_to_a_section() -> None:
    assert set(CHARTS) == set(KINDS)


def test_the_template_knows_every_part_of_a_page() -> None:
    template = Path(fathom.report.__file__).parent / "templates" / "page.html.j2"
    text = template.read_text("utf-8")
    assert [part.__name__ for part in get_args(PagePart) if f'kind == "{part.__name__}"' not in text] == []
