"""Tables of studies and of the report fit a terminal of 80 columns, with long names, many lengths and large numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from command_line import Call
from fathom.commands.analyze import NAMES
from fathom.rows import to_frame, write_rows
from fathom.types import Facet, Row

MODELS = ("anthropic/claude-opus-4-20250514", "openai-compatible/meta-llama-3.1-405b-instruct-turbo-fp8")
TASKS = ("multi_document_question_answering", "passage_retrieval")
LENGTHS = tuple(1024 * 2**power for power in range(1, 10))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = []
    for number, model in enumerate(MODELS):
        for task in TASKS:
            for item in range(6):
                name = f"{task}/{item}"
                for place, length in enumerate((0, *LENGTHS)):
                    facets: dict[str, Facet] = {"depth": (item % 3) / 2, "category": f"category {item % 2}"}
                    value = float((item + place * number) % 3 > 0) if length else float(item == 5)
                    more = {"answer": "x", "tokens_in": 10**7, "cost": 1234.5, "chance": 0.25}
                    side: dict[str, Facet] = {} if length else {"context": "none"}
                    made.append(
                        Row("s", task, name, f"{name}@{length}", model, length, value, facets=facets | side, **more)  # type: ignore[arg-type]
                    )
    path = tmp_path_factory.mktemp("rows") / "rows.parquet"
    write_rows(to_frame(made), path)
    return path


@pytest.mark.slow
@pytest.mark.parametrize(
    "study", [name for name in NAMES if name not in ("judge", "difficulty", "truncation", "thinking")]
)
def test_studies_fit_80_columns(study: str, rows: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = call("analyze", study, rows)
    assert code == 0, err
    assert out.strip()
    # Lines of prose have no gaps; a terminal folds them.
    assert [line for line in out.splitlines() if len(line.rstrip()) > 80 and "  " in line.strip()] == []
    assert "…" not in out


@pytest.mark.slow
def test_the_report_fits_80_columns(rows: Path, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    code, out, err = call("report", rows, "--out", tmp_path / "report.html", "--tables")
    assert code == 0, err
    assert [line for line in out.splitlines()[1:] if len(line.rstrip()) > 80] == []


@pytest.mark.slow
@pytest.mark.parametrize("words", [("analyze", "curve"), ("analyze", "counts"), ("report", "--tables")])
def test_names_are_whole_in_a_pipe(
    words: tuple[str, ...], rows: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    code, out, err = call(*words, rows)
    assert code == 0, err
    assert all(any(model in line for line in out.splitlines()) for model in MODELS)
    assert [line for line in out.splitlines() if line != line.rstrip() and len(line) > 1000] == []
