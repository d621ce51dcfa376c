"""Replies of runs and rows files, by sample, with the reasons for their scores."""

from __future__ import annotations

import json
import shutil
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from command_line import Call
from fathom import api
from fathom.browse.facts import facts_of_replies
from fathom.browse.pages import Pages, differ
from fathom.browse.reasons import judge_replies, reasons
from fathom.browse.replies import Answered, read_replies
from fathom.rows.scoring import read_judged
from fathom.runfile.judgements import Judgement, JudgementStore, case_key, case_of, hashed, replies_by_prompt
from fathom.score.judge import get_rubric
from fathom.types import FathomError, Reply
from made_replies import Made, document, make_run, make_runs, make_suite, passkey


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return make_runs(tmp_path_factory.mktemp("replies"))


def reason(found: Answered) -> str:
    return " ".join(reasons(found.row, found.stored)[0].words)


# ------------------------------------------------------------------------------------------- runs and suites


@pytest.mark.slow
def test_two_runs_stand_side_by_side_under_their_sample(made: Made) -> None:
    found = read_replies(made.runs)
    assert [run.model for run in found.runs] == ["fathom/lexical", "fathom/guess"]
    assert all([reply.run for reply in entry.replies] == [0, 1] for entry in found.entries)
    assert len(found.suites) == 1
    assert found.notes == ()
    values = {differ(entry) for entry in found.entries}
    assert values == {True, False}
    for entry in found.entries:
        one, other = (each.row.value for each in entry.replies)
        assert one is not None
        assert other is not None
        assert differ(entry) == (abs(one - other) >= 0.5)


@pytest.mark.slow
def test_samples_come_by_task_length_and_number(made: Made, tmp_path: Path) -> None:
    rows = [entry.row for entry in read_replies(made.runs[:1]).entries]
    assert [(row.task, row.length) for row in rows] == sorted((row.task, row.length) for row in rows)
    named = [replace(passkey(), id=f"passkey/en/{name}@1024", item=name) for name in ("10", "9", "2")]
    run = make_run(tmp_path / "run", [(one, Reply("ok", "1")) for one in named])
    assert [entry.sample.split("/")[2] for entry in read_replies([run]).entries] == ["2@1024", "9@1024", "10@1024"]


def test_runs_of_one_model_with_equal_settings_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, [(passkey(), Reply("ok", text))]) for name, text in (("a", "12345"), ("b", "1"))]
    found = read_replies(runs)
    assert [(run.model, run.variant) for run in found.runs] == [("lab/m", "a"), ("lab/m", "b")]
    assert [reply.row.value for reply in found.entries[0].replies] == [1, 0]


def test_a_suite_that_moved_is_found_by_its_fingerprint_or_missed(made: Made, tmp_path: Path) -> None:
    run = shutil.copytree(made.runs[0], tmp_path / "run")
    about = json.loads((run / "run.json").read_text("utf-8"))
    about["suite"]["path"] = "not/here"
    about.pop("checksum")
    (run / "run.json").write_text(json.dumps(about | {"format": 1}))
    lost = read_replies([run])
    assert lost.suites == {}
    (note,) = lost.notes
    assert "was not found (it is not at not/here)" in note
    assert "--suite" in note
    moved = shutil.copytree(made.suite, tmp_path / "elsewhere")
    assert read_replies([run], [moved]).notes == ()
    # Another build of the suite is not its suite.
    other = make_suite(tmp_path / "other", [passkey()])
    assert "was not found" in read_replies([run], [other]).notes[0]


@pytest.mark.slow
def test_rows_files_have_scores_and_say_that_they_have_no_texts(made: Made, tmp_path: Path) -> None:
    api.rows(list(made.runs), out=tmp_path / "rows.parquet")
    found = read_replies([tmp_path / "rows.parquet"])
    assert [run.model for run in found.runs] == ["fathom/lexical", "fathom/guess"]
    assert "rows have no texts" in found.notes[0]
    assert {reply.stored for entry in found.entries for reply in entry.replies} == {None}
    with_runs = read_replies(made.runs)
    assert [entry.sample for entry in found.entries] == [entry.sample for entry in with_runs.entries]
    for mine, theirs in zip(found.entries, with_runs.entries, strict=True):
        assert [reply.row.value for reply in mine.replies] == [reply.row.value for reply in theirs.replies]
    # With the suite, rows are shown with their prompts.
    detail = Pages(read_replies([tmp_path / "rows.parquet"], [made.suite])).value("samples/0")
    assert isinstance(detail, dict)
    assert detail["prompt"]


def test_a_path_without_replies_is_refused(made: Made, tmp_path: Path) -> None:
    with pytest.raises(FathomError, match="a suite, which has no replies; give a run of it"):
        read_replies([made.suite])
    with pytest.raises(FathomError, match="no such run folder"):
        read_replies([tmp_path / "none"])
    with pytest.raises(FathomError, match="no reply to look at"):
        read_replies([make_run(tmp_path / "empty", [])])


def test_an_unfinished_run_says_so_and_lists_what_is_not_asked_yet(made: Made, tmp_path: Path) -> None:
    run = shutil.copytree(made.runs[0], tmp_path / "part")
    with closing(sqlite3.connect(run / "replies.sqlite")) as db, db:
        gone = db.execute("DELETE FROM replies WHERE task = 'passkey'").rowcount
    found = read_replies([run])
    missing = [reply for entry in found.entries for reply in entry.replies if reply.row.stop == "not_asked"]
    assert len(missing) == gone == 28
    assert {reason(one) for one in missing} == {"Not scored: this sample was not asked yet."}
    assert "unfinished" in found.notes[0]
    pages = Pages(found).value("list")
    assert isinstance(pages, dict)
    assert "not asked" in pages["replies"]["status"]


# ------------------------------------------------------------------------------------------------ reasons


RULE = "the rule “exact match”"
GOLD = "gold answer “12345”."


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (Reply("ok", "It is 12345."), f"Full score: {RULE} took “12345” from the reply, which matches the {GOLD}"),
        (Reply("ok", "54321"), f"Scored 0: {RULE} took “54321” from the reply, which does not match the {GOLD}"),
        (
            Reply("ok", "No idea"),
            f"Scored 0: {RULE} found no answer of the requested form in the reply. Expected: {GOLD}",
        ),
        (Reply("ok", "  "), "Scored 0: the reply has no visible text."),
        (Reply("refused", error="flagged"), "Scored 0: the model refused (flagged)."),
        (Reply("incomplete", "12345"), "The reply was stopped by its output cap; what there is of it was scored. Full"),
        (Reply("incomplete", "", reasoning="hm"), "Scored 0: the output cap was reached before any visible text."),
        (Reply("error", error="HTTP 500"), "Not scored: the request failed (HTTP 500)."),
        (Reply("overflow", error="too long"), "Not scored: the prompt did not fit the model's window (too long)."),
    ],
)
def test_every_outcome_has_its_reason(tmp_path: Path, reply: Reply, words: str) -> None:
    found = read_replies([make_run(tmp_path / "run", [(passkey(), reply)])])
    assert reason(found.entries[0].replies[0]).startswith(words)


def test_of_several_gold_answers_one_has_to_match(tmp_path: Path) -> None:
    sample = passkey(targets=("12345", "23456"))
    run = make_run(tmp_path / "run", [(sample, Reply("ok", "23456")), (sample, Reply("ok", "34567"))])
    first, second = (reason(reply) for reply in read_replies([run]).entries[0].replies)
    assert first.endswith("which matches one of the gold answers “12345”, “23456”.")
    assert second.endswith("which matches none of the gold answers “12345”, “23456”.")


def test_reasons_agree_with_the_scores_of_whole_runs(made: Made) -> None:
    for entry in read_replies(made.runs).entries:
        for reply in entry.replies:
            value, words = reply.row.value, reason(reply)
            assert value is not None
            expected = "Full score" if value == 1 else "Scored 0" if value == 0 else "Partial score"
            assert words.startswith(expected)
            if value == 1 and reply.row.metric == "accuracy":
                assert reply.row.answer in reply.stored.targets if reply.stored else True


def test_other_rules_follow_the_score_that_counts(made: Made) -> None:
    found = read_replies(made.runs[:1])
    one = next(entry.replies[0] for entry in found.entries if entry.row.task == "single_doc_qa")
    by_rule = [("strict", True), ("official", False)]
    assert [(each.rule, each.counts) for each in reasons(one.row, one.stored)] == by_rule


def test_a_reply_that_a_judge_scored_shows_what_the_judge_said(tmp_path: Path) -> None:
    sample = replace(
        passkey(), id="single_doc_qa/en/0@1024", item="single_doc_qa/en/0", task="single_doc_qa", asked="Who?"
    )
    run = make_run(tmp_path / "run", [(sample, Reply("ok", "12345"))])
    stored = read_replies([run]).entries[0].replies[0].stored
    assert stored is not None
    rubric, case = get_rubric("qa"), case_of(stored)
    steps, store = rubric.steps(case), JudgementStore(run, "lab/judge")
    text = json.dumps({"fluency": 1, "correctness": 2})
    wanted = next(steps)
    store.keep(hashed(wanted.prompt), 1, wanted.step, Reply("ok", text), None)
    with pytest.raises(StopIteration) as end:
        steps.send(text)
    store.finish(case_key(rubric, case), rubric, Judgement("ok", end.value.value))
    store.close()
    found = read_replies([run])
    one = found.entries[0].replies[0]
    (judged,) = read_judged(run, ["lab/judge"])
    assert [(each.judge, each.text) for each in judge_replies(stored, judged, replies_by_prompt(run, "lab/judge"))] == [
        ("lab/judge", text)
    ]
    by_rule = [(each.rule, each.counts) for each in reasons(one.row, one.stored, found.runs[0].judged)]
    assert by_rule == [("judge", True), ("strict", False), ("official", False)]
    assert reason(one).startswith("The judge's score is ")
    assert "it did not see the context" in reason(one)
    shown = facts_of_replies(run, "")
    assert shown["replies"][0]["judge"][0]["text"] == text


# --------------------------------------------------------------------------------------------------- show


def test_show_prints_prompt_reply_and_reason_of_a_run(made: Made, call: Call) -> None:
    code, out, _ = call("show", made.runs[0], "passkey/en/0000@1024/d0.5")
    assert code == 0
    assert "Full score: the rule “exact match” took" in out
    assert "hundred/" in call("show", made.runs[0], "kv_retrieval/en/0000@1024/d0.5")[1]
    shown = json.loads(call("show", made.runs[0], "passkey/en/0000@1024/d0.5", "--json")[1])
    prompt = api.show(made.suite, "passkey/en/0000@1024/d0.5", text=True)["prompt"]
    assert shown["replies"][0]["reply"] in prompt
    assert shown["replies"][0]["score"] == 1
    text = call("show", made.runs[0], "passkey/en/0000@1024/d0.5", "--text")[1]
    assert text.startswith(prompt)
    assert text.endswith(f"=== reply: score 1 ===\n{shown['replies'][0]['reply']}\n")


def test_show_takes_items_and_refuses_unknown_ones(made: Made) -> None:
    assert api.show(made.runs[0], "passkey/en/0001")["id"].startswith("passkey/en/0001@")
    assert api.show(made.runs[0])["replies"]
    with pytest.raises(FathomError, match="no reply to 'nothing' to look at"):
        api.show(made.runs[0], "nothing")


def test_show_without_the_suite_has_the_reply_and_no_prompt(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", [(passkey(), Reply("ok", "12345")), (passkey(), Reply("ok", "1"))])
    shown = api.show(run)
    assert [reply["score"] for reply in shown["replies"]] == [1, 0]
    assert "was not found" in shown["notes"][0]
    with pytest.raises(FathomError, match="--suite"):
        api.show(run, text=True)


@pytest.mark.slow
def test_the_prompt_of_a_recipe_is_the_one_shown(made: Made) -> None:
    """Literal texts and pieces of the documents, joined, are the prompt that the model got."""
    pages = Pages(read_replies(made.runs[:1]))
    for number, entry in enumerate(pages.replies.entries):
        detail = pages.value(f"samples/{number}")
        assert isinstance(detail, dict)
        prompt = detail["prompt"]
        assert isinstance(prompt, dict)
        parts = prompt["parts"]
        size = prompt["piece"]
        text = ""
        for part in parts:
            if "s" not in part:
                text += part["t"]
                continue
            start, end = part["s"], part["s"] + part["n"]
            pieces = "".join(
                str(pages.value(f"texts/{piece}")) for piece in range(start // size, (end - 1) // size + 1)
            )
            text += pieces[start - start // size * size :][: part["n"]]
        assert text == api.show(made.suite, entry.sample, text=True)["prompt"]


def test_documents_are_cut_into_pieces_that_join_to_all_of_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fathom.browse.pages.PIECE", 7)
    texts = [document("a" * 3 + "\U0001f600" + "b" * 9), document("c"), document("d" * 20)]
    suite = make_suite(tmp_path / "suite", [passkey(0, ("Q",))], texts)
    run = make_run(tmp_path / "run", [(passkey(), Reply("ok", "1"))])
    pages = Pages(read_replies([run], [suite]))
    found = ""
    for piece in range(100):
        try:
            found += str(pages.value(f"texts/{piece}"))
        except KeyError:
            break
    assert found == "".join(text.text for text in texts)
    assert piece == -(-len(found) // 7)


@pytest.mark.slow
def test_a_truncated_prompt_without_its_gold_text_says_so(tmp_path: Path) -> None:
    how: dict[str, Any] = {"lengths": "2k", "items": 3, "languages": "en", "depths": "0,0.5", "truncate": "512"}
    api.build("passkey,kv_retrieval,passage_retrieval", tmp_path / "suite", **how)
    api.run(tmp_path / "suite", "fathom/lexical", out=tmp_path / "run")
    pages = Pages(read_replies([tmp_path / "run"]))
    said: set[tuple[bool, bool, bool]] = set()
    for number, entry in enumerate(pages.replies.entries):
        detail = pages.value(f"samples/{number}")
        assert isinstance(detail, dict)
        prompt = detail["prompt"]
        assert isinstance(prompt, dict)
        gold = any(part["k"] == "gold" for part in prompt["parts"])
        noted = "The gold text is not in this prompt" in str(prompt.get("note"))
        said.add(("/cut" in entry.sample, gold, noted))
        if entry.row.task != "passage_retrieval":
            whole = api.show(tmp_path / "suite", entry.sample, text=True)["prompt"]
            assert gold == (entry.row.target in whole)
    assert said == {(False, True, False), (True, True, False), (True, False, True)}


def test_a_run_that_asks_for_thoughts_has_that_end_of_the_prompt(tmp_path: Path) -> None:
    sample = replace(passkey(0, ("Read.\n\n", "What?")), thinking="\n\nThink, then say what.", thinking_tokens=9)
    suite = make_suite(tmp_path / "suite", [sample])
    run = make_run(tmp_path / "run", [(sample, Reply("ok", "12345", reasoning="Hm."))])
    about = json.loads((run / "run.json").read_text("utf-8"))
    thinking = {"mode": "on", "kind": "instruct", "prompt": "thinking", "switch": "none", "truncation": None}
    (run / "run.json").write_text(json.dumps(about | {"thinking": thinking, "variant": "thinking"}))
    found = read_replies([run], [suite])
    assert found.runs[0].thinking
    detail = Pages(found).value("samples/0")
    assert isinstance(detail, dict)
    assert detail["prompt"]["thinking"] == sample.thinking
    assert api.show(run, suites=[suite], text=True)["prompt"].endswith("Think, then say what.")
