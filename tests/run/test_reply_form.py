"""Replies that are to be JSON: servers that know ``response_format`` are asked for it, unless they refuse it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Act, ScriptedServer, completion, refusal

from engine_calls import judge
from fathom import api
from fathom.run.drafting import read_drafts
from judged_runs import GOOD, install_tasks, make_run, sample

FACT = "The ship Kessmoor carried 11 barrels of salt to the harbour of Venn in the spring of that year."
DRAFT = {"question": "How many barrels did the ship Kessmoor carry?", "answer": "11 barrels", "evidence": FACT}


class Server(ScriptedServer):
    """Drafts and answers; refuses parameters by their names."""

    def __init__(self, *refused: str, drafted: str = json.dumps({"questions": [DRAFT]})) -> None:
        super().__init__()
        self.refused, self.drafted = refused, drafted

    def act(self, body: dict[str, Any], number: int, before: int) -> Act:
        if name := next((name for name in self.refused if name in body), ""):
            return refusal(400, f"Unknown parameter: '{name}'.")
        prompt = body["messages"][0]["content"]
        if "Write " in prompt:
            return completion(self.drafted)
        return completion("11 barrels" if "<passage>" in prompt else "unanswerable")


def draft(tmp_path: Path, server: Server) -> Any:
    (tmp_path / "documents").mkdir(exist_ok=True)
    (tmp_path / "documents" / "a.md").write_text("The sea was calm on most days of that long winter. " * 5 + FACT)
    return api.draft(
        tmp_path / "documents",
        "openai/m",
        "openai/m",
        tmp_path / "questions.csv",
        per_document=1,
        model_base_url=server.base_url,
        retries=0,
    )


def test_drafts_are_held_to_their_schema(tmp_path: Path) -> None:
    with Server() as server:
        assert draft(tmp_path, server).kept == 1
    drafting, *checks = [request.get("response_format") for request in server.requests]
    assert drafting["json_schema"]["schema"]["required"] == ["questions"]  # type: ignore[index]
    assert checks == [None, None]


def test_a_server_that_refuses_the_form_is_asked_without_it(tmp_path: Path) -> None:
    with Server("response_format") as server:
        summary = draft(tmp_path, server)
    assert summary.kept == 1
    assert ["response_format" in request for request in server.requests] == [True, False, False, False]


def test_the_second_request_to_a_judge_is_held_to_json_and_the_first_may_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install_tasks(monkeypatch)
    run = make_run(tmp_path / "run", [(sample(1), "It is blue.")])
    with ScriptedServer(lambda number, before: completion(GOOD if before else "I like it.")) as server:
        judge(run, "openai/j", model_base_url=server.base_url, retries=0)
    assert [request.get("response_format") for request in server.requests] == [None, {"type": "json_object"}]


def test_a_rejected_reply_is_kept(tmp_path: Path) -> None:
    with Server(drafted="=I cannot do that.") as server:
        assert draft(tmp_path, server).kept == 0
    with (tmp_path / "questions.draft" / "rejected.csv").open(newline="") as stream:
        (row,) = csv.DictReader(stream)
    assert row["reply"] == "'=I cannot do that."


@pytest.mark.parametrize(
    "reply",
    [
        'Sure {here it is}:\n\n```json\n{"questions": [1]}\n```\n\nI hope {this} helps.',
        '```\n{"questions": [1]}\n```',
        'As asked:\n  ```JSON\n{"questions":\n [1]}\n  ```\nDone.',
        'First try:\n```json\n{"questions": [2]}\n```\nBetter:\n```json\n{"questions": [1]}\n```',
    ],
)
def test_json_in_a_fence_between_sentences_is_read(reply: str) -> None:
    assert read_drafts(reply) == [1]
