"""Files of tasks that somebody edits: written by a command, and used in drafts, prompts and on the sample page."""

from __future__ import annotations

import json
import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from test_studio_drafting import candidate

from command_line import Call
from fathom import api
from fathom.studio import asking as asking_module
from fathom.studio.people import People
from fathom.studio.store import Store
from fathom.studio.types import ExpertPass, Person, Select, SubmitForReview
from fathom.studio.web.app import make_app
from fathom.types import Reply
from made_studio import made_text
from studio_stores import PASSWORD, PEOPLE, quick_hasher

EDITS = {
    'requirement = "full"': 'requirement = "partial"',
    "guideline = \"\"\"\n": 'guideline = """\nOnly about harbours. ',
    '[en]\ntask = "': '[en]\ntask = "Mind the tide. ',
}  # fmt: skip


@pytest.fixture
def place(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A studio whose task T5.1 has an edited file."""
    monkeypatch.setenv("FATHOM_CACHE", str(tmp_path / "cache"))
    place = str(tmp_path / "store")
    api.studio_init(place, administrator="root", tokenizer="words")
    code, out, err = call("studio", "tasks", "--store", place, "--write", "T5.1")
    assert (code, "restart the server" in err) == (0, True)
    file = tmp_path / "store" / "tasks" / "t5_1.toml"
    assert f"  {file}" in out
    text = file.read_text("utf-8")
    for old, new in EDITS.items():
        assert old in text
        text = text.replace(old, new)
    file.write_text(text, encoding="utf-8")
    return place


def served(place: str, monkeypatch: pytest.MonkeyPatch) -> Any:
    """What ``fathom studio serve`` serves."""
    found: list[Any] = []
    monkeypatch.setattr("fathom.studio.web.server.serve", lambda store, settings, service: found.append(settings))
    api.studio_serve(place)
    return found[0]


@pytest.mark.slow
def test_an_edited_file_is_used_in_drafts_prompts_and_on_the_page(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    class Client:
        window, policy = None, "refuse"

        async def complete(self, prompt: str, call: object) -> Reply:
            asked.append(prompt)
            return Reply("ok", json.dumps({"candidates": [candidate()]}))

        async def close(self) -> None:
            pass

    monkeypatch.setattr(asking_module, "open_client", lambda settings, tokenizer: Client())
    (tmp_path / "a.txt").write_text(made_text(1), encoding="utf-8")
    added = api.studio_add_documents(tmp_path / "a.txt", place, tolerance=0.9, available=True)
    bucket = added.taken[0].document.bucket
    (id,) = api.studio_draft(place, task="T5.1", models="openai/a", bucket=bucket).samples
    assert "Only about harbours." in asked[0]
    assert "a few parts of the text only" in asked[0]
    with closing(Store(place)) as store:
        people = People(store, hasher=quick_hasher())
        for name, role in PEOPLE.items():
            store.set_person(Person(name, role))
            people.set_password(name, PASSWORD)
        app = make_app(store, people, served(place, monkeypatch))
        ann = TestClient(app, follow_redirects=False, headers={"accept": "text/html"})
        assert ann.post("/login", data={"name": "ann", "password": PASSWORD}).status_code == 303
        assert "Only about harbours." in ann.get(f"/samples/{id}").text
        now = store.sample(id)
        now = store.act(Select(id, now.version, now.candidates[0].id), Person("ann", "annotator"))
        now = store.act(SubmitForReview(id, now.version), Person("ann", "annotator"))
        store.act(ExpertPass(id, now.version), Person("eve", "expert"))
        page = ann.get(f"/samples/{id}").text
        assert len(re.findall(r"Mind the tide\.", page)) == 2, "both prompts"


def test_a_file_with_a_mistake_is_named(call: Call, place: str, tmp_path: Path) -> None:
    file = tmp_path / "store" / "tasks" / "t5_1.toml"
    file.write_text(file.read_text("utf-8").replace("metric", "metrik"), encoding="utf-8")
    for words in (("tasks",), ("serve",), ("draft", "--task", "T5.1", "--models", "fathom/lexical", "--yes")):
        code, _, err = call("studio", *words, "--store", place)
        assert (code, "t5_1.toml: unknown field 'metrik'" in err) == (2, True), err
    code, _, err = call("studio", "tasks", "--store", place, "--write", "all")
    assert (code, "t5_1.toml: unknown field 'metrik'" in err) == (2, True), err
    assert len(list(file.parent.iterdir())) == 25


def test_where_files_can_be_written(call: Call, tmp_path: Path) -> None:
    code, _, err = call("studio", "tasks", "--store", tmp_path / "none", "--write", "all")
    assert (code, "there is no studio" in err) == (2, True)
    assert not (tmp_path / "none").exists()
    database = "postgresql://nobody@127.0.0.1:1/none"
    code, _, err = call("studio", "tasks", "--store", database, "--write", "all")
    assert (code, "name one with --tasks" in err) == (2, True)
    code, out, _ = call("studio", "tasks", "--store", database, "--tasks", tmp_path / "own", "--write", "T1.1")
    assert (code, len(out.splitlines())) == (0, 25)
    assert [one.name for one in (tmp_path / "own").iterdir()] == ["t1_1.toml"]
    code, _, err = call("studio", "tasks", "--tasks", tmp_path / "gone")
    assert (code, "fathom studio tasks --write all" in err) == (2, True)
