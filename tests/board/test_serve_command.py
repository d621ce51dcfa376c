"""``fathom board serve`` and ``token`` as people run them: real bundles, the real check, the real site."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from command_line import Call
from fathom.board.serve.store import Store
from fathom.board.serve.tokens import holder_of, make_token
from processes import until

os.environ["NO_PROXY"] = os.environ["no_proxy"] = "127.0.0.1,localhost"


@contextmanager
def served(folder: Path, *words: str) -> Iterator[str]:
    """The command as a process of its own; gives its address."""
    command = [sys.executable, "-c", "from fathom.cli import main; main()", "board", "serve", "--port", "0", *words]
    with subprocess.Popen(
        command, cwd=folder, stderr=subprocess.PIPE, text=True, env=os.environ | {"LANG": "C"}
    ) as process:
        assert process.stderr is not None
        try:
            found = re.search(r"http://\S+/(?=,)", process.stderr.readline())
            assert found, process.stderr.read()
            yield found[0]
        finally:
            process.kill()


def test_a_token_is_shown_once(call: Call, tmp_path: Path) -> None:
    code, out, err = call("board", "token", "ann", "--role", "moderate")
    token = out.strip()
    assert (code, "hash only" in err) == (0, True)
    store = Store("board-store")
    holder = holder_of(store, token)
    store.close()
    assert holder is not None
    assert (holder.name, holder.role) == ("ann", "moderate")
    assert call("board", "token", "ann")[0] == 2
    assert call("board", "token", "ann", "--revoke")[:2] == (0, "the token of ann is not valid any more\n")
    assert call("board", "token", "ann", "--revoke")[0] == 2


def test_what_cannot_be_served_is_said(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*words: str) -> str:
        code, _, err = call("board", "serve", *words)
        assert code == 2
        return err

    assert "--any-suite" in said()
    assert "no-such" in said("--suite", "no-such")
    assert "cannot listen" in said("--any-suite", "--host", "203.0.113.7")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("")
    assert "something else" in said("--any-suite", "--port", "0", "--out", "full")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'fathom-eval[board]'" in said("--any-suite")


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
def test_a_run_becomes_a_line_of_the_site(store: Store, place: str, call: Call, tmp_path: Path) -> None:
    order = ("--items", "1", "--lengths", "2k", "--corpus", "world")
    assert call("build", "hundred", "--out", "suite", *order)[0] == 0
    assert call("run", "suite", "--model", "fathom/guess", "--out", "run", "--quiet")[0] == 0
    assert call("board", "bundle", "run", "--out", "bundle.zip")[0] == 0
    data = (tmp_path / "bundle.zip").read_bytes()
    tokens = {who: {"Authorization": f"Bearer {make_token(store, who, role)}"} for who, role in ROLES.items()}
    with served(tmp_path, "--store", place, "--suite", "suite", "--title", "Boards of ours") as address:
        api = f"{address}api/submissions"
        headers = {**tokens["ann"], "Content-Type": "application/zip"}
        sent = httpx.post(api, content=data, headers=headers, timeout=None)
        assert sent.status_code == 201, sent.text
        one = sent.json()
        assert (one["state"], one["model"]) == ("pending", "fathom/guess")
        assert {found["level"] for found in one["findings"]} == {"verified", "unverified"}
        assert httpx.post(api, content=data[:-1], headers=headers, timeout=None).status_code == 422

        accept = httpx.post(f"{api}/{one['id']}/accept", headers=tokens["mo"], json={"reason": "right"}, timeout=None)
        assert accept.json()["state"] == "accepted"
        state: dict[str, Any] = {}

        def settled() -> bool:
            state.update(httpx.get(f"{address}api/site", headers=tokens["mo"], timeout=None).json())
            return bool(state["current"] or state["error"])

        until(settled)
        assert state == {"building": False, "current": True, "error": ""}
        assert "Boards of ours" in httpx.get(f"{address}data/site.js", timeout=None).text
        board = httpx.get(f"{address}data/boards/hundred.js", timeout=None).text
        found = json.loads(board.removeprefix('fathom.add("boards/hundred", ').rstrip().removesuffix(");"))
        (line,) = (line for line in found["entries"] if line["model"] == "fathom/guess")
        assert found["origins"][line["origin"]]["provenance"] == "submitted"


ROLES = {"ann": "submit", "mo": "moderate"}
