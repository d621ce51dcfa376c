"""Tables fit terminals of 60, 80 and 120 columns, with long names and many lengths; pipes get them whole."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.cells import cell_len

from command_line import Call
from fathom.api import build, run
from fathom.commands.analyze import NAMES
from fathom.report.table import Table
from fathom.report.terminal import show
from fathom.rows import to_frame, write_rows
from fathom.types import Facet, Row

MODELS = ("anthropic/claude-opus-4-20250514", "openai-compatible/meta-llama-3.1-405b-instruct-turbo-fp8")
TASKS = ("multi_document_question_answering", "passage_retrieval")
WIDTHS = 60, 80, 120
LENGTHS = tuple(1024 * 2**power for power in range(1, 10))


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = []
    for number, model in enumerate(MODELS):
        for task in TASKS:
            for item in range(6):
                name = f"{task}/{item}"
                alone: dict[str, Facet] = {"context": "alone"}
                made.append(Row("s", task, name, f"{name}@alone", model, 0, 1.0, facets=alone, chance=0.25))
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


Printed = dict[int, str]
"""What is printed at each width."""


@pytest.fixture
def printed(call: Call, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Printed]:
    """Calls a command, and shows the tables that it made at each width: they are measured once."""

    def printed(*words: str | Path) -> Printed:
        tables: list[tuple[Sequence[Table], bool]] = []

        def kept(made: Sequence[Table], *, details: bool = False) -> None:
            tables.append((made, details))
            show(made, details=details)

        monkeypatch.setattr("fathom.report.studies.show", kept)
        monkeypatch.setattr("fathom.report.terminal.show", kept)
        monkeypatch.setenv("COLUMNS", str(WIDTHS[0]))
        code, out, err = call(*words)
        assert code == 0, err
        assert tables
        found = {WIDTHS[0]: out}
        for width in WIDTHS[1:]:
            monkeypatch.setenv("COLUMNS", str(width))
            for made, details in tables:
                show(made, details=details)
            found[width] = capsys.readouterr().out
        return found

    return printed


OTHER_ROWS = frozenset(
    (
        "judge",
        "second-judge",
        "difficulty",
        "truncation",
        "thinking",
        "faulty",
        "survival",
        "published",
        "dials",
        "rules",
        "helmet",
    )
)
"""Studies that need other rows than those of an ordinary run."""


@pytest.mark.slow
@pytest.mark.parametrize(
    "study",
    [name for name in NAMES if name not in OTHER_ROWS],
)
def test_studies_fit_their_terminal(study: str, rows: Path, printed: Callable[..., Printed]) -> None:
    for width, out in printed("analyze", study, rows).items():
        assert out.strip()
        # Lines of prose have no gaps; a terminal folds them.
        assert [line for line in out.splitlines() if len(line.rstrip()) > width and "  " in line.strip()] == []
        assert "…" not in out


@pytest.mark.slow
def test_the_report_fits_its_terminal(rows: Path, tmp_path: Path, printed: Callable[..., Printed]) -> None:
    for width, out in printed("report", rows, "--out", tmp_path / "report.html", "--tables").items():
        assert [line for line in out.splitlines()[1:] if len(line.rstrip()) > width] == []


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


LISTS = ("suites", "tasks", "metrics", "boards", "models", "settings", "data", "")
OTHERS = ("lab methods", "lab published", "forecast suite", "status run", "show suite")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, rows: Path) -> Path:
    """A folder with a suite, a run and rows."""
    folder = tmp_path_factory.mktemp("made")
    build("passkey", folder / "suite", lengths="512,1k", items=1, tokenizer="words")
    run(folder / "suite", "fathom/lexical?window=16k&truncate=middle", out=folder / "run")
    (folder / "rows.parquet").write_bytes(rows.read_bytes())
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 80, 120, None])
@pytest.mark.parametrize("line", [*(f"list {kind}".strip() for kind in LISTS), *OTHERS])
def test_a_table_is_no_wider_than_its_terminal_and_breaks_no_name(
    line: str, width: int | None, made: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made)
    monkeypatch.setenv("COLUMNS", str(width)) if width else monkeypatch.delenv("COLUMNS")
    code, out, err = call(*line.split())
    assert code == 0, err
    lines = [text.rstrip() for text in out.splitlines()]
    # Sentences above and below a table are folded by the terminal.
    tabular = [text for text in lines if "  " in text.strip()]
    assert [text for text in tabular if width and cell_len(text) > width] == []
    assert "…" not in out
    if line.startswith("list"):
        shown = set(out.split())
        records = json.loads(call(*line.split(), "--json")[1])
        every = [str(record[next(iter(records[0]))]) for record in records]
        assert [name for name in every if len(name) <= 20 and name not in shown] == []
        if width is None:
            assert [name for name in every if name not in out] == []
