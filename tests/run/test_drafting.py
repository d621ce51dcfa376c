from __future__ import annotations

import csv
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scripted_server import Act, ScriptedServer, completion

from fathom import api
from fathom.documents.corpus import read_corpus
from fathom.run.drafting import passages_of, read_drafts
from fathom.suites.suitefile import open_suite
from fathom.types import Document, FathomError, Reply
from judged_runs import Judge

pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter is deprecated:DeprecationWarning")

FILLER = "The sea was calm and the sky was grey, as on most days of that long and uneventful winter by the shore. "


def fact(number: int) -> str:
    return f"The ship Kessmoor {number} carried {number + 11} barrels of salt."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    documents = tmp_path / "documents"
    documents.mkdir()
    for number in range(3):
        (documents / f"{number}.md").write_text(FILLER * 3 + fact(number) + "\n" + FILLER * 3)
    (documents / "short.txt").write_text("Too short to ask about.")
    return documents


def reply(*entries: object) -> str:
    return f"```json\n{json.dumps({'questions': list(entries)})}\n```"


def entry(number: int, **more: object) -> dict[str, object]:
    asked = f"How many barrels of salt did the ship Kessmoor {number} carry?"
    return {"question": asked, "answer": f"{number + 11} barrels", "evidence": fact(number)} | more


def good(prompt: str) -> str:
    """Drafts a question about the fact, and answers it from the text only."""
    ship = re.search(r"Kessmoor (\d)", prompt)
    assert ship
    if "<passage>" not in prompt:
        return "unanswerable"
    if "Write " in prompt:
        return reply(entry(int(ship[1])))
    return f"{int(ship[1]) + 11} barrels"


def model_of(monkeypatch: pytest.MonkeyPatch, says: Callable[[str], str]) -> Judge:
    there = Judge(says=says)
    monkeypatch.setattr(sys.modules["fathom.run.cases.model"], "open_client", lambda settings, tokenizer: there)
    return there


def draft(folder: Path, **more: Any) -> Any:
    settings: dict[str, Any] = {
        "out": folder.parent / "questions.csv",
        "per_document": 1,
        "backoff": 0.0,
        "max_connections": 1,
    } | more
    return api.draft(folder, "lab/writer", "lab/checker", **settings)


def table(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_an_error_names_the_file_of_replies(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*statements: object) -> None:
        raise FathomError("questions.draft/judgements.sqlite cannot be written")

    model_of(monkeypatch, good)
    monkeypatch.setattr("fathom.runfile.judgements.JudgementStore._do_together", full)
    with pytest.raises(FathomError, match=r"questions\.draft/judgements\.sqlite cannot be written"):
        draft(folder)


@pytest.mark.slow
def test_questions_that_need_their_text_are_kept_and_become_a_suite(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = model_of(monkeypatch, good)
    summary = draft(folder)
    assert (summary.kept, summary.documents, summary.rejected) == (3, 3, {})
    assert len(model.prompts) == 9  # a draft, and two checks of each question
    rows = table(folder.parent / "questions.csv")
    assert rows[0] == {
        "document": "0.md",
        "question": "How many barrels of salt did the ship Kessmoor 0 carry?",
        "answer": "11 barrels",
        "evidence": fact(0),
        "page": "",
        "drafted": "lab/writer",
        "checked": "lab/checker",
    }
    for number in range(9):
        (folder / f"filler{number}.txt").write_text(f"{number} gulls were counted on the pier. " * 30)
    built = api.build(
        "single_doc_qa",
        folder.parent / "suite",
        corpus=folder,
        questions=folder.parent / "questions.csv",
        lengths="256",
        tokenizer="words",
    )
    assert {sample.facets["drafted"] for sample in open_suite(built.folder).samples()} == {"lab/writer"}
    assert any("3 drafted by lab/writer" in note for note in built.manifest["notes"])
    api.run(built.folder, "fathom/lexical", out=folder.parent / "run")
    api.report(folder.parent / "run", out=folder.parent / "report.html")
    page = (folder.parent / "report.html").read_text("utf-8")
    assert re.search(r"Questions drafted by</th>\s*<td[^>]*>\s*lab/writer", page)
    assert "Some questions were drafted by a model: lab/writer." in page


def test_repeating_asks_for_nothing_that_is_there(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = draft_with(folder, monkeypatch, good)
    model = model_of(monkeypatch, good)
    assert draft(folder) == first
    assert model.prompts == []
    (folder / "new.md").write_text(FILLER * 3 + fact(7))
    plans: list[Any] = []

    def confirm(plan: object) -> bool:
        plans.append(plan)
        return True

    assert draft(folder, confirm=confirm).kept == 4
    assert len(model.prompts) == 3
    assert (plans[0].passages, plans[0].requests) == (1, 3)
    assert "questions about 4 documents: 1 passage to draft; about 3 requests" in str(plans[0])


def draft_with(folder: Path, monkeypatch: pytest.MonkeyPatch, says: Callable[[str], str], **more: Any) -> Any:
    model_of(monkeypatch, says)
    return draft(folder, **more)


@pytest.mark.parametrize(
    ("drafted", "reason"),
    [
        ("I cannot do that.", "the model's reply is not the JSON object that was requested"),
        ('{"questions": "none"}', "the model's reply is not the JSON object that was requested"),
        ('{"questions": [', "the model's reply is not the JSON object that was requested"),
        (reply("How many?"), "question, answer or evidence is missing"),
        (reply({"question": "How many?", "answer": 3, "evidence": "x"}), "question, answer or evidence is missing"),
        (reply(entry(0, answer=" ")), "question, answer or evidence is missing"),
        (reply(entry(0, evidence="The ship carried salt.")), "the evidence is not in the text word for word"),
        (reply(entry(0, evidence="- ")), "the evidence is not in the text word for word"),
        (reply(entry(0, answer="salt " * 30)), "the answer is too long"),
        (reply(entry(0, question="=HYPERLINK(1)")), "the question or the answer looks like a formula"),
    ],
)
def test_drafts_that_cannot_be_used_are_rejected_with_a_reason(
    folder: Path, monkeypatch: pytest.MonkeyPatch, drafted: str, reason: str
) -> None:
    def says(prompt: str) -> str:
        return drafted if "Kessmoor 0" in prompt and "Write " in prompt else good(prompt)

    summary = draft_with(folder, monkeypatch, says)
    assert (summary.kept, summary.rejected) == (2, {reason: 1})
    (row,) = table(folder.parent / "questions.draft" / "rejected.csv")
    assert row["reason"] == reason
    assert not any(field.startswith(("=", "+", "-", "@")) for field in row.values())
    assert f"rejected: {reason}: 1" in summary.hints


@pytest.mark.parametrize(
    ("open_reply", "closed_reply", "reason"),
    [
        ("11 barrels", "It was 11 barrels", "the checking model answers it without the text"),
        ("unanswerable", "unanswerable", "the checking model does not give this answer from the text"),
        ("", "", "the checking model does not give this answer from the text"),
    ],
)
def test_questions_that_fail_the_check_are_rejected(
    folder: Path, monkeypatch: pytest.MonkeyPatch, open_reply: str, closed_reply: str, reason: str
) -> None:
    def says(prompt: str) -> str:
        if "Kessmoor 0" not in prompt or "Write " in prompt:
            return good(prompt)
        return open_reply if "<passage>" in prompt else closed_reply

    summary = draft_with(folder, monkeypatch, says)
    assert (summary.kept, summary.rejected) == (2, {reason: 1})


def test_a_table_that_was_edited_is_not_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    draft_with(folder, monkeypatch, good)
    out = folder.parent / "questions.csv"
    out.write_text(out.read_text() + "0.md,Mine?,yes,,,,\n")
    with pytest.raises(FathomError, match=r"was changed, or not written by this command; choose another `out`"):
        draft(folder)
    assert "Mine?" in out.read_text()


def test_nothing_is_sent_unless_confirmed_or_beyond_a_limit(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = model_of(monkeypatch, good)
    assert draft(folder, confirm=lambda plan: False).stopped == "not confirmed"
    with pytest.raises(FathomError, match=r"`max_cost` 1: the price of 'lab/writer' is unknown.*nothing was sent"):
        draft(folder, max_cost=1.0)
    with pytest.raises(FathomError, match="an offline baseline cannot write"):
        api.draft(folder, "fathom/guess", "lab/checker", folder.parent / "q.csv")
    with pytest.raises(FathomError, match=r"must end in \.csv"):
        draft(folder, out=folder.parent / "q.txt")
    with pytest.raises(FathomError, match=r"drafting needs about [\d,]+ tokens, more than `max_tokens_total` 150"):
        draft(folder, max_tokens_total=150)
    assert model.prompts == []
    model.says = lambda prompt: Reply("ok", good(prompt), tokens_in=4_000, tokens_out=10)
    with pytest.raises(FathomError, match=r"`max_tokens_total` is 5,000; all finished replies are kept"):
        draft(folder, max_tokens_total=5_000)
    assert len(model.prompts) == 2
    assert draft(folder).kept == 3
    assert len(model.prompts) == 9


def test_unread_files_stop_a_drafting(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model_of(monkeypatch, good)
    (folder / "old.doc").write_text("x")
    with pytest.raises(FathomError, match=r"1 of 5 files were not read"):
        draft(folder)
    summary = draft(folder, allow_unread=True)
    assert summary.kept == 3
    assert summary.hints[0].endswith("not read (save it as .docx or .pdf): old.doc")


def test_passages_are_spread_over_a_document() -> None:
    text = " ".join(f"Sentence {number} says something about the sea." for number in range(2_000))
    document = Document("id", text, "a.txt")
    passages = passages_of(document, 4)
    assert [passage.count for passage in passages] == [1, 1, 1, 1]
    assert all(200 < len(passage.text) <= 8_000 for passage in passages)
    assert passages[0].start < len(text) / 4 < len(text) * 3 / 4 < passages[-1].end
    assert [passage.count for passage in passages_of(Document("id", "word " * 100, "a.txt"), 3)] == [3]
    assert passages_of(Document("id", "short", "a.txt"), 3) == []


def test_replies_are_read_strictly() -> None:
    assert read_drafts('<think>{"questions": [1]}</think> Here: {"questions": [2]} Done.') == [2]
    assert read_drafts("[1]") is None
    assert read_drafts('{"questions": {"a": 1}}') is None
    assert read_drafts("{" * 100_000) is None


@pytest.mark.slow
def test_a_server_behind_the_command(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.testing import CliRunner

    from fathom.cli.app import command

    monkeypatch.chdir(folder.parent)

    def script(number: int, asked_before: int) -> Act:
        return completion(good(server.texts[-1]))

    with ScriptedServer(script) as server:
        line = ["draft", "documents", "-m", "openai/writer", "--checker", "openai/checker", "--out", "questions.csv"]
        line += ["--model-base-url", server.base_url, "--per-document", "1", "--max-connections", "1", "--yes"]
        found = CliRunner().invoke(command, line)
    assert found.exit_code == 0, found.output
    assert "questions.csv: 3 questions about 3 documents, 0 rejected" in found.output
    assert len(read_corpus("documents").documents) == 4
