"""Mistakes that people make at a command line: each ends with 2, names its cause first, and says what to do."""

from __future__ import annotations

import json
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
from scripted_server import ScriptedServer, refusal

from command_line import Call
from fathom.storage.checksums import with_checksum
from made_documents import need_libraries, scanned_pdf

SRC = Path(__file__).parents[2] / "src"
WORLD = "--corpus world --tokenizer words --quiet"
DEAD = "--model-base-url http://127.0.0.1:9/v1 --window 8k --retries 0 --yes"

# Name of the mistake: the command, the words of the first line that name the cause, and those that say what to do.
MISTAKES = {
    "command": ("rnu", "no command 'rnu'", "did you mean run?"),
    "option": ("run suite --model fathom/lexical --lenghts 1k", "no option --lenghts", "did you mean --lengths?"),
    "value of an option": ("report run --format htlm", "--format htlm", "did you mean html?"),
    "length": ("build passkey --lengths 2q --out s", "--lengths 2q", "such as 4096, 8k or 1m"),
    "suite or task": ("build passky --out s", "unknown suite or task 'passky'", "did you mean passkey"),
    "folder of a suite": ("run ./siute --model fathom/lexical", "siute: no such suite folder", "did you mean suite?"),
    "provider": ("run suite --model opnai/gpt-4o", "unknown provider 'opnai'", "did you mean openai/gpt-4o?"),
    "no provider": ("run suite --model lexical", "no provider named", "did you mean fathom/lexical?"),
    "offline baseline": ("run suite --model fathom/lexcal", "'fathom/lexcal'", "did you mean fathom/lexical"),
    "no key": ("run suite --model openai/gpt-4o --yes", "no key", "set the environment variable OPENAI_API_KEY"),
    "bad key": (
        "run suite --model openai/x --yes --model-base-url SERVER",
        "the key is refused",
        "OPENAI_API_KEY, which is set: check it",
    ),
    "dead server": (f"run suite --model openai/x {DEAD}", "connection refused", "Start the server"),
    "path of documents": ("build passkey --corpus docs --out s", "'docs': no such file or folder", "mean documents?"),
    "empty folder": ("build passkey --corpus empty --out s", "contains no documents", "It needs files that end in"),
    "broken line": (
        "build passkey --corpus broken.jsonl --lengths 2k --out s",
        "broken.jsonl:2: not JSON",
        "give more",
    ),
    "CSV named JSONL": (
        "build passkey --corpus table.jsonl --lengths 2k --out s",
        "no document",
        "table.jsonl:1: not JSON",
    ),
    "corpus too small": ("build passkey --corpus documents --lengths 64k --out s", "too small", "drop the length"),
    "no questions": (
        "build single_doc_qa --corpus documents --lengths 1k --out s",
        "the task needs questions with answers",
        "--questions FILE",
    ),
    "document of a question": (
        "build single_doc_qa --corpus documents --questions questions.csv --lengths 1k --out s",
        "questions.csv",
        "did you mean 12.txt?",
    ),
    "PDF without text": ("build passkey --corpus scans --out s", "no document could be read", "OCR"),
    "length that was not built": (
        "run suite --model fathom/lexical --lengths 4k",
        "--lengths 4k",
        "choose among these",
    ),
    "another suite in the folder": ("build kv_retrieval --lengths 1k --out suite", "holds another suite", "--force"),
    "another run in the folder": (
        "run suite --model fathom/guess --out run",
        "model = 'fathom/lexical'",
        "another folder",
    ),
    "suite of a newer version": ("run new --model fathom/lexical", "written by a newer fathom", "upgrade with"),
    "results that are not there": ("report rnu", "rnu: no such run folder", "did you mean run?"),
    "a suite for results": ("report suite", "a suite, which has no replies yet", "fathom run suite --model"),
    "a table for results": ("report table.csv", "not a rows table", "fathom rows"),
    "no judge": ("judge run", "--judge PROVIDER/NAME is missing", "The model that judges"),
    "no second model": ("analyze compare run", "needs rows of two models", "name the runs of both"),
    "kind of a list": ("list suits", "KIND suits", "did you mean suites?"),
}


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    with ScriptedServer(lambda *_: refusal(401, "Incorrect API key provided")) as running:
        yield running.base_url


@pytest.fixture
def place(tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with documents, a suite and a run, as somebody has who begins."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for folder in ("documents", "empty", "scans"):
        Path(folder).mkdir()
    for number in range(20):
        Path(f"documents/{number}.txt").write_text(
            f"The code of item {number} is {number * 37}. It was given in May.\n"
        )
    Path("broken.jsonl").write_text('{"text": "One text."}\n{"text": "Another"\n{"text": "A third."}\n')
    Path("table.csv").write_text("text,author\nOne text,Somebody\n")
    Path("table.jsonl").write_text("text,author\nOne text,Somebody\n")
    Path("questions.csv").write_text("document,question,answer\n12.text,What is the code?,444\n")
    assert call(*f"build passkey --lengths 512,1k --items 2 --out suite {WORLD}".split())[0] == 0
    assert call(*["run", "suite", "--model", "fathom/lexical", "--out", "run", "--quiet", "--yes"])[0] == 0
    return tmp_path


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_first_and_its_message_says_what_to_do(
    name: str, place: Path, server: str, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    line, cause, advice = MISTAKES[name]
    if name == "PDF without text":
        need_libraries()
        (place / "scans" / "scan.pdf").write_bytes(scanned_pdf())
    if name == "bad key":
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    if name == "suite of a newer version":
        (place / "suite").rename("new")
        manifest = place / "new" / "manifest.json"
        manifest.write_text(json.dumps(with_checksum({**json.loads(manifest.read_text()), "format": 99})))
    code, _, told = call(*shlex.split(line.replace("SERVER", server)))
    if show := os.environ.get("SHOW_MISTAKES"):
        with Path(show).open("a") as stream:
            stream.write(f"## {name}\n$ fathom {line}\n{told}\n")
    assert code == 2, told
    first = next(text for text in told.splitlines() if text.startswith("fathom: "))
    assert cause in first
    assert advice in told
    assert "Traceback" not in told
    assert "this is a bug" not in told


def test_suggestions_come_from_one_function() -> None:
    files = [file for file in SRC.rglob("*.py") if "get_close_matches" in file.read_text("utf-8")]
    assert [file.relative_to(SRC).as_posix() for file in files] == ["fathom/plugins/names.py"]


@pytest.mark.slow
def test_one_is_no_plural(call: Call) -> None:
    said = ""
    for line in (
        f"build passkey --lengths 512 --items 1 --out suite {WORLD}",
        "run suite --model fathom/lexical --out run --yes",
        "rows run --out rows.parquet",
        "export suite --out samples.jsonl",
        "browse run --out pages",
    ):
        code, out, err = call(*line.split())
        assert code == 0, err
        said += out + err
    assert "1 sample\n" in said
    assert re.findall(r"(?<!of )(?<![.,\d])1 (?:samples|requests|rows|replies|files|items)\b", said) == []
