"""The command line: what it prints, what it refuses, and with which exit code."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from fathom.cli import main
from made import write_corpus

SMALL = ["--lengths", "1k,2k", "--items", "3", "--quiet"]


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    monkeypatch.chdir(tmp_path)
    return Call(monkeypatch, capsys)


class Call:
    """Calls the command as a shell would."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.monkeypatch, self.capsys = monkeypatch, capsys

    def __call__(self, *words: str) -> tuple[int, str, str]:
        """Exit code, standard output, standard error."""
        self.monkeypatch.setattr(sys, "argv", ["fathom", *words])
        code: object = 0
        try:
            main()
        except SystemExit as end:
            code = end.code
        printed = self.capsys.readouterr()
        return int(str(code or 0)), printed.out, printed.err


@pytest.mark.slow
def test_from_documents_to_a_report(call: Call, tmp_path: Path) -> None:
    corpus = str(write_corpus(tmp_path, 60))
    code, out, _ = call("build", "starter", "-o", "suite", "--corpus", corpus, *SMALL)
    assert (code, "36 samples" in out) == (0, True)
    assert "already built" in call("build", "starter", "-o", "suite", "--corpus", corpus, *SMALL)[1]

    shown = json.loads(call("show", "suite", "kv_retrieval/en/0001", "--json")[1])
    assert shown["item"] == "kv_retrieval/en/0001"
    assert "Value:" in call("show", "suite", "--text")[1]

    lines = call("export", "suite", "--lengths", "1k")[1].splitlines()
    assert len(lines) == 18
    assert {"id", "item", "task", "length", "tokens", "prompt", "targets", "facets"} <= set(json.loads(lines[0]))
    assert call("export", "suite", "-o", "all.jsonl")[0] == 0
    assert len(Path("all.jsonl").read_text(encoding="utf-8").splitlines()) == 36

    for model in ("fathom/lexical", "fathom/guess"):
        code, out, err = call("run", "suite", "-m", model)
        assert code == 0
        assert "36 of 36 replies (36 ok)" in out
        assert "free of charge" in err
    runs = ["runs/suite/fathom-lexical", "runs/suite/fathom-guess"]
    assert json.loads(call("status", runs[0], "--json")[1])["finished"] == 36
    assert "36 of 36" in call("status", runs[0])[1]

    assert "72 rows" in call("rows", *runs, "-o", "rows.parquet")[1]
    found = json.loads(call("analyze", "curve", "rows.parquet", "--json")[1])
    assert {point["length"] for point in found} == {1024, 2048}
    for study in ("longscore", "curve", "length", "position", "counts", "compare"):
        assert call("analyze", study, *runs)[0] == 0
        assert json.loads(call("analyze", study, *runs, "--json")[1])
    code, out, _ = call("report", *runs, "-o", "report.html")
    assert code == 0
    assert "At a glance" in out
    assert Path("report.html").read_text(encoding="utf-8").lower().startswith("<!doctype html>")
    assert call("plot", "curve", *runs, "-o", "curve.svg")[0] == 0
    assert "<svg" in Path("curve.svg").read_text(encoding="utf-8")


def test_a_suite_run_by_name_is_built_first_and_only_once(call: Call) -> None:
    words = ["run", "passkey", "-m", "fathom/lexical", "--lengths", "1k", "--items", "2", "-q"]
    assert "2 of 2 replies" in call(*words)[1]
    before = {path: path.stat().st_mtime_ns for path in Path("builds").rglob("*.parquet")}
    assert "2 of 2 replies" in call(*words)[1]
    assert before == {path: path.stat().st_mtime_ns for path in Path("builds").rglob("*.parquet")}


def test_scoring_a_file_from_outside(call: Call, tmp_path: Path) -> None:
    rows = [
        {"prediction": "Paris", "answers": ["Paris"], "score": 1.0},
        {"prediction": "Rome", "answers": ["Paris"], "score": 0.5, "case_id": "wrong"},
    ]
    Path("rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = call("score", "rows.jsonl", "--metric", "100longbench/qa_f1")
    assert code == 0
    assert [json.loads(line)["score"] for line in out.splitlines()] == [1.0, 0.0]
    code, out, err = call("score", "rows.jsonl", "--metric", "100longbench/qa_f1", "--check")
    assert code == 1
    assert "wrong" in out
    assert "1 of 2 rows differ" in err


@pytest.mark.slow
def test_lists(call: Call) -> None:
    for kind in ("suites", "tasks", "metrics", "boards", "models"):
        assert call("list", kind)[0] == 0
        assert json.loads(call("list", kind, "--json")[1])
    assert "kv_retrieval" in call("list", "tasks")[1]
    assert "fathom/lexical" in call("list", "models")[1]
    assert "starter" in call("list", "suites")[1]
    assert "LongBench Pro" in call("list", "boards")[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["build", "nosuch", "-o", "x"], "unknown suite or task 'nosuch'"),
        (["build", "kv_retreival", "-o", "x"], "did you mean kv_retrieval"),
        (["build", "passkey", "-o", "x", "--lengths", "8q"], "length '8q'"),
        (["build", "passkey", "-o", "x", "--lengths", ""], "at least one length"),
        (["build", "passkey", "-o", "x", "--corpus", "nowhere"], "nowhere"),
        (["build", "passkey", "-o", "x", "--depth", "deep"], "--depths deep: expected random"),
        (["show", "nowhere"], "not a built suite"),
        (["export", "nowhere"], "not a built suite"),
        (["run", "nowhere", "-m", "fathom/guess"], "unknown suite or task 'nowhere'"),
        (["run", "passkey", "-m", "fathom/nobody", "--lengths", "1k", "-q"], "unknown offline baseline"),
        (["run", "passkey", "-m", "fathom/guess", "-G", "top_p"], "NAME=VALUE"),
        (["status", "nowhere"], "nowhere"),
        (["rows", "nowhere"], "nowhere"),
        (["rows", ".", "--from", "elsewhere"], "choose fathom, inspect, lm-eval"),
        (["report", "nowhere"], "nowhere"),
        (["score", "nowhere.jsonl"], "no such file"),
        (["list", "nonsense"], "expected suites, tasks, metrics, boards, models"),
    ],
)
def test_what_cannot_be_done_is_one_message_and_exit_code_2(call: Call, words: list[str], message: str) -> None:
    code, out, err = call(*words)
    assert code == 2
    assert message in err
    assert err.startswith("fathom: ")
    assert "Traceback" not in err + out


def test_options_that_would_be_ignored_are_refused(call: Call, tmp_path: Path) -> None:
    corpus = str(write_corpus(tmp_path, 60))
    call("build", "passkey", "-o", "suite", "--corpus", corpus, *SMALL)
    code, _, err = call("run", "suite", "-m", "fathom/guess", "--items", "5")
    assert (code, "--items" in err) == (2, True)


@pytest.mark.slow
def test_a_paid_model_is_not_started_where_nobody_can_answer(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    corpus = str(write_corpus(tmp_path, 60))
    call("build", "passkey", "-o", "suite", "--corpus", corpus, *SMALL)
    code, _, err = call("run", "suite", "-m", "openai/gpt-4o-mini")
    assert code == 2
    assert "give --yes in non-interactive use" in err
    assert "$0.00 to" in err
    code, _, err = call("run", "suite", "-m", "openai/gpt-4o-mini", "--yes", "--max-cost", "0.00001")
    assert code == 2
    assert not (tmp_path / "runs").exists() or not list((tmp_path / "runs").rglob("replies.sqlite"))


@pytest.mark.slow
def test_positions_without_any_depth_say_so(call: Call) -> None:
    out = ("--out", "run", "--corpus", "world", "--tokenizer", "words", "--yes")
    assert call("run", "passage_count", "--model", "fathom/lexical", *SMALL, *out)[0] == 0
    code, _, told = call("analyze", "position", "run")
    assert code == 0
    assert "no reply in these rows has a score and a depth" in told


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full, which is always full")
def test_a_full_disk_behind_standard_output_is_one_message() -> None:
    command = [sys.executable, "-c", "from fathom.cli import main; main()", "list", "models"]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "standard output or a file cannot be written: No space left" in done.stderr


def test_a_command_that_starts_loads_no_library_of_numbers() -> None:
    """Each command loads what it needs; ``fathom --version`` needs none of them."""
    heavy = {"numpy", "polars", "altair", "pydantic", "httpx", "inspect_ai"}
    code = f"import sys, fathom.cli.app; print(sorted({heavy!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.slow
def test_tables_and_decisions_load_nothing_that_draws(call: Call) -> None:
    out = ("--out", "run", "--corpus", "world", "--tokenizer", "words", "--yes")
    assert call("run", "passage_count", "--model", "fathom/lexical", *SMALL, *out)[0] == 0
    code = """
import sys
from fathom.cli import main
drawing = {"fathom.report.sections", "fathom.report.svg", "fathom.report.vegalite"}
for line in ("rows run", "gate run --baseline run", "analyze curve run"):
    sys.argv = ["fathom", *line.split()]
    try:
        main()
    except SystemExit:
        print(line, sorted(drawing & set(sys.modules)))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "rows run []" in done.stdout
    assert "gate run --baseline run []" in done.stdout
    assert "analyze curve run ['fathom.report.sections']" in done.stdout
