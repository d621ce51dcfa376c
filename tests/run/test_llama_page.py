"""The commands of the guide to llama.cpp, run against a real server with a tiny model. Run by ``make test-models``
and, for the second server, ``make test-llama``."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import llama_server
import pytest
from llama_server import answering, free_port
from tiny_models import make_gguf

from command_line import Call
from fathom.rows import load
from fathom.run import replies
from test_docs import DOCS, blocks_of, command_lines

pytest.importorskip("gguf", reason="gguf is not installed; make test-models runs this")

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")

PAGE = DOCS / "how-to" / "llama-cpp.md"
REPLY = '{"fluency": 2, "correctness": 3}'
PORT = "8080"
# What would take long with a tiny model on a small machine.
SMALLER = {"2k,4k,8k,16k,32k": "1k", "10": "1", "34000": "6000"}


def servers() -> list[list[str]]:
    """The commands of the page that start a server."""
    lines = [
        words for block in blocks_of(PAGE) if block.info == ("sh", "needs=model") for words in command_lines(block)
    ]
    return [words for words in lines if "--port" in words]


def programs() -> list[list[str]]:
    """The commands of fathom on the page, in order."""
    lines = [
        words for block in blocks_of(PAGE) if block.info == ("sh", "needs=server") for words in command_lines(block)
    ]
    return [words for words in lines if words[0] == "fathom"]


def adapted(words: Sequence[str], port: int) -> list[str]:
    return [SMALLER.get(word, word.replace(PORT, str(port))) for word in words]


def test_the_page_has_both_servers() -> None:
    assert [words[0] for words in servers()] == ["llama-server", "python"]
    assert [words[1] for words in programs()] == ["doctor", "build", "run", "report", "judge"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("number", [0, 1], ids=["llama-server", "llama_cpp.server"])
def test_the_commands_of_the_page_work(
    number: int, tmp_path: Path, call: Call, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = servers()[number]
    if command[0] == "python":
        pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed; make test-llama runs this")
        command = [sys.executable, *command[1:]]
    elif shutil.which(command[0]) is None:
        pytest.importorskip("xllamacpp", reason="xllamacpp is not installed; make test-models runs this")
        command = [sys.executable, llama_server.__file__, *command[1:]]
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    make_gguf(tmp_path / "model.gguf", reply=REPLY)
    port = free_port()
    with answering(adapted(command, port), port, tmp_path / "server.log"):
        for words in programs():
            code, printed, told = call(*adapted(words, port)[1:])
            assert code == 0, f"{shlex.join(words)}\n{printed}\n{told}"
    stored = list(replies(tmp_path / "runs" / "my-model"))
    assert {(row.reply.status, row.reply.text) for row in stored} == {("ok", REPLY)}
    assert all(row.reply.tokens_in and row.reply.tokens_in > 1000 for row in stored)
    judged = load([tmp_path / "runs" / "my-model"])
    assert judged["grader"].str.contains("openai/my-model").any()
    assert (tmp_path / "report.html").stat().st_size > 10_000
