"""The notebooks of the documentation: executed, and what they show is what is stored in them.

python tests/test_notebooks.py [NAME...]    # executes them here, and stores what they show
"""

from __future__ import annotations

import copy
import importlib.util
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import executed_notebooks as notebooks

NOTEBOOKS = sorted(notebooks.TUTORIALS.glob("*.ipynb"))
LONGEST = 25
"""Lines of a cell with code; %%writefile may have more."""
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)(?:#[^)\s]*)?\)")


def by_name(path: Path) -> str:
    return path.stem


def can_run(path: Path) -> bool:
    return all(importlib.util.find_spec(name) for name in ("nbclient", "ipykernel", *notebooks.needed(path)))


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("path", [path for path in NOTEBOOKS if not notebooks.needed(path)], ids=by_name)
def test_a_notebook_shows_what_it_showed(path: Path, tmp_path: Path) -> None:
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    assert notebooks.differences(notebooks.read(path), notebooks.executed(path, tmp_path)) == []


def test_an_output_that_is_no_longer_true_is_found() -> None:
    stored = notebooks.read(notebooks.TUTORIALS / "choose-a-model.ipynb")
    assert notebooks.differences(stored, stored) == []
    changed = copy.deepcopy(stored)
    (printed,) = next(cell for cell in changed["cells"] if "".join(cell["source"]).startswith("at_16k"))["outputs"]
    printed["text"] = ["PASS - no loss\n"]
    found = [line for line in notebooks.differences(changed, stored) if line.startswith(("-stdout", "+stdout"))]
    assert [line[:13] for line in found] == ["-stdout: PASS", "+stdout: FAIL"]
    # An error of fathom is its message, without the lines of its code.
    (error,) = next(cell for cell in stored["cells"] if "windw" in "".join(cell["source"]))["outputs"]
    assert error["traceback"] == [
        "FathomError: model 'fathom/lexical?windw=4k': unknown option 'windw'; expected window, truncate; did you "
        "mean window?"
    ]


@pytest.mark.slow
def test_an_error_that_is_not_announced_fails(tmp_path: Path) -> None:
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    made = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("raise ValueError('not announced')")])
    nbformat.write(made, tmp_path / "made.ipynb")
    with pytest.raises(AssertionError, match="not announced"):
        notebooks.executed(tmp_path / "made.ipynb", tmp_path)


def cell(html: str) -> dict[str, Any]:
    return {"outputs": [{"output_type": "display_data", "data": {"text/html": html}}]}


def test_only_times_ids_and_versions_may_differ() -> None:
    def same(one: str, other: str) -> bool:
        return notebooks.shown(cell(one)) == notebooks.shown(cell(other))

    assert same("counts ok 300, seconds 2.225", "counts ok 300, seconds 14.1")
    assert not same("counts ok 300, seconds 2.225", "counts ok 299, seconds 2.225")
    assert same("<td>0.0264 s</td>", "<td>12 s</td>")
    assert not same("<td>0.0264</td>", "<td>0.0265</td>")
    assert same("fingerprint 689a4a85ffbdbcb6, 3 tasks", "fingerprint 7abd9560fcbe1ffe, 3 tasks")
    assert not same("fingerprint 689a4a85ffbdbcb6, 3 tasks", "fingerprint 689a4a85ffbdbcb6, 4 tasks")
    assert same("made with fathom 0.1.0", "made with fathom 0.2.0")
    assert not same("a score of 0.1.0", "a score of 0.2.0")


def test_words_of_a_drawing_are_compared_and_its_lines_are_not() -> None:
    from fathom.report.charts import LayerChart, Line, Numbers, Size
    from fathom.report.svg import image

    def drawn(score: float, width: int, name: str) -> list[str]:
        records = [{"length": length, "score": score} for length in (1, 2)]
        line = Line(records=records, x="length", y="score", colour="#000000")
        ends = Numbers(low=0, high=2)
        chart = LayerChart(layers=[line], size=Size(width, 100), x=ends, y=ends, title=name)
        return notebooks.shown(cell(image(chart, "drawing")))

    assert drawn(0.5, 300, "large") == drawn(0.5, 301, "large") != drawn(0.5, 300, "small")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=by_name)
def test_a_stored_notebook_is_fit_to_be_read(path: Path) -> None:
    found = notebooks.read(path)
    text = path.read_text("utf-8")
    assert len(text) < 400_000
    for private in (str(notebooks.ROOT), str(Path.home()), tempfile.gettempdir() + "/", "site-packages"):
        assert private not in text
    first, *others = found["cells"]
    assert "".join(first["source"]).startswith("# ")
    assert [one["id"] for one in found["cells"]] == [f"cell-{number}" for number in range(1, len(others) + 2)]
    for one in others:
        source = "".join(one["source"])
        if one["cell_type"] == "markdown":
            for target in LINK.findall(source):
                assert "://" in target or (path.parent / target).exists(), target
            continue
        assert source.startswith("%%writefile") or len(source.splitlines()) <= LONGEST, source
        for output in one["outputs"]:
            assert output.get("name") != "stderr", output
            assert (output["output_type"] == "error") == ("raises-exception" in one["metadata"].get("tags", ()))


if __name__ == "__main__":
    wanted = [path for path in NOTEBOOKS if not sys.argv[1:] or path.stem in sys.argv[1:]]
    with tempfile.TemporaryDirectory() as scratch:
        notebooks.remake(list(filter(can_run, wanted)), Path(scratch))
