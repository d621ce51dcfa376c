"""``import fathom``: what it offers, what a wrong name says, and how results show themselves."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import assert_type

import polars as pl
import pytest
from simulated import row

import fathom as fm
from fathom.analysis import curve
from fathom.analysis.curve import CurvePoint
from fathom.report.studies import StudyResults
from fathom.rows import to_frame


@pytest.mark.slow
def test_import_offers_the_functions_and_loads_nothing() -> None:
    code = "import sys, fathom as fm; fm.api.run; print([n for n in ('polars', 'numpy', 'altair') if n in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert {"api", "types"} <= set(dir(fm))


def test_a_wrong_name_says_what_was_meant() -> None:
    with pytest.raises(AttributeError, match=r"did you mean fathom\.api\.analyze_curve\?"):
        fm.analyse_curve  # noqa: B018
    with pytest.raises(AttributeError, match=r"its functions are in fathom\.api"):
        fm.zzz  # noqa: B018
    with pytest.raises(TypeError, match="did you mean lengths"):
        fm.api.run("starter", "fathom/guess", lenghts=["8k"])  # type: ignore[call-arg]


def _a_type_checker_sees_every_option() -> None:
    """Only for mypy in `make lint`, to which a ``type: ignore`` without its error is an error."""
    fm.api.run("starter", model="fathom/guess", lengths=["8k", 32768])
    fm.api.run("starter", model="fathom/guess", lenghts="8k")  # type: ignore[call-arg]
    fm.api.analyze_curve("run", base="natural")  # type: ignore[arg-type]
    assert_type(fm.api.analyze_curve("run"), StudyResults[CurvePoint])


def test_results_show_themselves() -> None:
    rows = to_frame(
        [row(0.5, model="<b>m</b>", item=item, length=length) for item in range(4) for length in (1024, 2048)]
    )
    found = StudyResults(curve(rows))
    assert "50.0" in repr(found)
    assert "1k" in repr(found)
    page = found._repr_html_()
    assert "&lt;b&gt;m&lt;/b&gt;" in page
    assert "<b>m" not in page
    frame = found.frame()
    assert isinstance(frame, pl.DataFrame)
    assert set(frame["mean"]) == {0.5}
    assert {"interval_low", "interval_high"} <= set(frame.columns)
    assert repr(StudyResults([])) == "no results"


@pytest.mark.slow
def test_what_a_run_gives_is_read_line_by_line(tmp_path: Path) -> None:
    built = fm.api.build("passkey", tmp_path / "suite", lengths=["1k"], items=2, corpus="world")
    summary = fm.api.run(built.folder, "fathom/guess", out=tmp_path / "run")
    assert repr(summary).splitlines()[0] == "RunSummary"
    assert "progress  finished 2, total 2" in repr(summary)
    assert "<th>folder</th>" in summary._repr_html_()  # type: ignore[attr-defined]
    tables = fm.api.report(tmp_path / "run", out=tmp_path / "report.html")
    assert "At a glance" in repr(tables)
    assert "<h3>At a glance</h3>" in tables._repr_html_()
