"""Pictures of the docs: each is made by a script, and those that are cheap are made again and compared."""

from __future__ import annotations

import re
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "performance"))

import docs_charts

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
SCRIPTS = {
    "compression/*.svg": "docs_charts.py",
    "pro/lengths.svg": "docs_charts.py",
    "board-*.png": "board_pictures.py",
    "studio-*.png": "studio_pictures.py",
    "browse.png": "browse.py",
    "report.png": "page_pictures.py",
}
"""The script in ``performance/`` that makes each picture."""
MEASURED = {
    "recovery-steps.svg",
    "frontier-local.png",
    "report-local.png",
    "lab.png",
    "lab-real-model.png",
    "lab-systems.png",
    "hundred-longscore.png",
}
"""Pictures of measurements that the pages describe, which no script repeats."""
NAMES = sorted(path.relative_to(IMAGES).as_posix() for path in IMAGES.rglob("*") if path.suffix in (".svg", ".png"))


@pytest.mark.parametrize("name", docs_charts.with_numbers())
def test_a_chart_of_the_docs_is_what_its_numbers_give_today(name: str, tmp_path: Path) -> None:
    docs_charts.draw(name, tmp_path)
    again, shown = tmp_path / f"{name}.svg", IMAGES / "compression" / f"{name}.svg"
    assert again.read_bytes() == shown.read_bytes(), "draw it again: python performance/docs_charts.py"


def test_every_picture_of_the_docs_is_made_by_a_script_or_shows_a_measurement() -> None:
    made = {name for name in NAMES if any(fnmatch(name, pattern) for pattern in SCRIPTS)}
    assert made | MEASURED == set(NAMES)
    assert not made & MEASURED
    assert {script for script in SCRIPTS.values() if not (ROOT / "performance" / script).is_file()} == set()


def test_every_picture_of_the_docs_is_shown_on_a_page() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    shown = {name for page in pages for name in re.findall(r"images/([\w./-]+)\)", page.read_text("utf-8"))}
    assert shown == set(NAMES)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith(".svg")])
def test_every_chart_of_the_docs_is_fathoms_own_drawing(name: str) -> None:
    text = (IMAGES / name).read_text("utf-8")
    assert "vega" not in text
    assert len(text) < 40_000
