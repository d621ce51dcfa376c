"""``fathom board serve`` and ``token`` as people run them: real bundles, the real check, the real site."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from fathom import api
from fathom.board.serve import server
from fathom.board.serve.checking import Policy
from fathom.board.serve.limits import Limits
from fathom.board.serve.store import Store
from fathom.board.serve.tokens import holder_of, make_token
from fathom.server.listening import Service
from loopback_board import get, post
from processes import MAIN, start_program, until


@contextmanager
def served(folder: Path, *words: str) -> Iterator[str]:
    """The command as a process of its own; gives its address. Its words go to a file: a pipe could be full."""
    log = folder / "log"
    with log.open("wb") as stream:
        order = ("board", "serve", "--port", "0", *words)
        process = start_program(MAIN, *order, cwd=folder, stderr=stream.fileno(), env=os.environ | {"LANG": "C"})
    try:
        until(lambda: "\n" in log.read_text("utf-8") or process.poll() is not None)
        found = re.search(r"http://\S+/(?=,)", log.read_text("utf-8"))
        assert found, log.read_text("utf-8")
        yield found[0]
    finally:
        process.kill()
        process.wait()


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
    assert "other content" in said("--any-suite", "--port", "0", "--out", "full")
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert "pip install 'fathom-eval[board]'" in said("--any-suite")


def test_options_say_what_bundles_must_have_and_what_one_may_ask(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
    monkeypatch.setattr(server, "serve", lambda *given, **named: asked.append((given, named)))
    monkeypatch.setenv("FATHOM_BOARD_STORE", "of-the-variable")
    words = ("--suite", "suite", "--without-logs", "--max-size", "0.5", "--per-hour", "3", "--no-published")
    assert call("board", "serve", "run", *words)[0] == 0
    api.board_serve(["run"], store="own", suites="suite", without_logs=True, max_size=0.5, per_hour=3, published=False)
    limits, policy = Limits(1 << 19, per_hour=3), Policy((Path("suite"),), without_logs=True)
    page = server.Page((Path("run"),), models=None, title=None, published=False)
    assert [given for given, _ in asked] == [
        ("of-the-variable", Path("board-site"), page),
        ("own", Path("board-site"), page),
    ]
    for _, named in asked:
        assert (named["limits"], named["policy"]) == (limits, policy)
        assert replace(named["service"], ready=None) == Service("127.0.0.1", 8000)
    whole = Limits(idle_seconds=1)
    api.board_serve(policy=policy, limits=whole)
    assert (asked[-1][1]["policy"], asked[-1][1]["limits"]) == (policy, whole)
    code, _, err = call("board", "serve", "--max-size", "65")
    assert (code, "--max-size 65: expected a number from 0 to 64" in err) == (2, True)


def test_words_of_the_command_for_tokens(call: Call) -> None:
    assert call("board", "token", "add", "ann", "--days", "2")[2].startswith("valid for 2 days")
    assert json.loads(call("board", "token", "list", "--json")[1])[0]["name"] == "ann"
    assert call("board", "token", "rotate", "ann")[0] == 0
    assert call("board", "token", "revoke", "ann")[1] == "the token of ann is not valid any more\n"
    assert api.board_tokens("board-store") == []
    for words in (["add"], ["list", "ann"], ["ann", "mo"]):
        code, _, err = call("board", "token", *words)
        assert (code, "expected list, or add, rotate or revoke NAME" in err) == (2, True)
    assert "--role boss: expected submit, moderate" in call("board", "token", "ann", "--role", "boss")[2]


@pytest.mark.slow
@pytest.mark.parametrize("place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True)
def test_a_run_becomes_a_line_of_the_site(store: Store, place: str, call: Call, tmp_path: Path) -> None:
    order = ("--items", "1", "--lengths", "2k", "--corpus", "world")
    assert call("build", "hundred", "--out", "suite", *order)[0] == 0
    assert call("run", "suite", "--model", "fathom/guess", "--out", "run", "--quiet")[0] == 0
    assert call("board", "bundle", "run", "--out", "bundle.zip")[0] == 0
    data = (tmp_path / "bundle.zip").read_bytes()
    tokens = {who: {"Authorization": f"Bearer {make_token(store, who, role)}"} for who, role in ROLES.items()}
    with served(
        tmp_path, "--store", place, "--suite", "suite", "--title", "Boards of ours", "--no-published"
    ) as address:
        api = f"{address}api/submissions"
        headers = {**tokens["ann"], "Content-Type": "application/zip"}
        sent = post(api, content=data, headers=headers)
        assert sent.status_code == 201, sent.text
        one = sent.json()
        assert (one["state"], one["model"]) == ("pending", "fathom/guess")
        assert {found["level"] for found in one["findings"]} == {"verified", "unverified"}
        assert post(api, content=data[:-1], headers=headers).status_code == 422

        accept = post(f"{api}/{one['id']}/accept", headers=tokens["mo"], json={"reason": "right"})
        assert accept.json()["state"] == "accepted"
        state: dict[str, Any] = {}

        def settled() -> bool:
            time.sleep(0.05)  # the server has a site to build
            state.update(get(f"{address}api/site", headers=tokens["mo"]).json())
            return bool(state["current"] or state["error"])

        until(settled)
        assert state == {"building": False, "current": True, "error": ""}
        assert "Boards of ours" in get(f"{address}data/site.js").text
        board = get(f"{address}data/boards/hundred.js").text
        found = json.loads(board.removeprefix('fathom.add("boards/hundred", ').rstrip().removesuffix(");"))
        (line,) = (line for line in found["entries"] if line["model"] == "fathom/guess")
        assert found["origins"][line["origin"]]["provenance"] == "submitted"
        assert len(found["entries"]) == 1


ROLES = {"ann": "submit", "mo": "moderate"}
